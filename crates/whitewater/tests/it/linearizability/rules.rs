//! Rules that every read must keep, whatever the length of the history.
//!
//! The search decides short histories exactly. These rules are implied by
//! linearizability, look at one or two reads at a time, cost next to nothing,
//! hold for histories of any length, and name what is wrong:
//!
//! * a read sees each batch whole or not at all;
//! * reads put writes into one order, and so do snapshots' sequence numbers;
//! * a read sees what was acknowledged before it, or what replaced it;
//! * a read sees no write that began after it, nor, if it is of a snapshot,
//!   one that began when the sequence number had passed the snapshot's;
//! * a snapshot or an iterator shows the same each time.

use super::history::{History, Kind, Op, Read, Slots, Violation, What};
use std::collections::HashMap;

/// The number of later reads that each read is compared with.
const NEIGHBOURS: usize = 16;

/// Where a value can come from: when its write was called and ended, in tickets and in sequence
/// numbers.
#[derive(Debug, Clone, Copy)]
struct Source<'a> {
    call: u64,
    end: u64,
    /// Its number is above this, and at most that.
    above: u64,
    most: u64,
    /// `None`: the value was there at first.
    op: Option<&'a Op>,
}

impl Source<'_> {
    fn is_over_before(&self, later: &Source<'_>) -> bool {
        self.end < later.call
            || (later.op.is_some() && self.op.is_none())
            || self.most <= later.above
    }
}

const INITIAL: Source<'_> = Source {
    call: 0,
    end: 0,
    above: 0,
    most: 0,
    op: None,
};

/// Writes by slot and value.
struct Sources<'a> {
    by_value: HashMap<(usize, u32), Vec<Source<'a>>>,
    /// By slot: the end of a write, and the latest call among writes that ended by then.
    ended: Vec<Vec<(u64, u64)>>,
    /// The same in sequence numbers.
    numbered: Vec<Vec<(u64, u64)>>,
}

impl<'a> Sources<'a> {
    fn new(history: &'a History) -> Self {
        let slots = history.initial.len();
        let mut by_value: HashMap<(usize, u32), Vec<Source<'a>>> = HashMap::new();
        for (slot, value) in history.initial.iter().enumerate() {
            by_value.entry((slot, *value)).or_default().push(INITIAL);
        }
        let mut ended = vec![Vec::new(); slots];
        let mut numbered = vec![Vec::new(); slots];
        for op in &history.ops {
            let What::Write(written) = &op.what else {
                continue;
            };
            for (slot, value) in written {
                by_value.entry((*slot, *value)).or_default().push(Source {
                    call: op.call,
                    end: op.end,
                    above: op.latest.0,
                    most: op.latest.1,
                    op: Some(op),
                });
                ended[*slot].push((op.end, op.call));
                numbered[*slot].push((op.latest.1, op.latest.0));
            }
        }
        for list in ended.iter_mut().chain(&mut numbered) {
            list.sort_unstable();
            let mut highest = 0;
            for (_, begun) in list {
                highest = highest.max(*begun);
                *begun = highest;
            }
        }
        Sources {
            by_value,
            ended,
            numbered,
        }
    }

    fn of(&self, slot: usize, value: u32) -> &[Source<'a>] {
        self.by_value.get(&(slot, value)).map_or(&[], Vec::as_slice)
    }

    /// The source of a value that has only one.
    fn only(&self, slot: usize, value: u32) -> Option<&Source<'a>> {
        match self.of(slot, value) {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// The latest beginning among those that ended before `moment`.
fn begun(list: &[(u64, u64)], moment: u64) -> Option<u64> {
    let n = list.partition_point(|(end, _)| *end < moment);
    n.checked_sub(1).map(|last| list[last].1)
}

/// Checks only the last rule.
///
/// # Errors The first view that shows two states.
pub fn views_stay(history: &History) -> Result<(), Violation> {
    history.ops.iter().try_for_each(|op| match &op.what {
        What::Read(read) => {
            stays(read).map_err(|(kind, text)| violation(history, &[op], kind, text))
        }
        What::Write(_) => Ok(()),
    })
}

/// Checks all rules.
///
/// # Errors
/// The first that is broken, with the reads and writes that show it.
pub fn check(history: &History) -> Result<(), Violation> {
    let sources = Sources::new(history);
    let mut reads: Vec<(&Op, &Read)> = Vec::new();
    for op in &history.ops {
        if let What::Read(read) = &op.what {
            reads.push((op, read));
        }
    }
    reads.sort_by_key(|(op, _)| op.call);
    for (op, read) in &reads {
        stays(read)
            .and_then(|()| values_are_current(&sources, op, read))
            .and_then(|()| batches_are_whole(&sources, read))
            .map_err(|(kind, text)| violation(history, &[op], kind, text))?;
    }
    one_order(history, &sources, &reads)?;
    order_of_snapshots(history, &reads)
}

type Finding = Result<(), (Kind, String)>;

/// The reads, the writes of what they saw, and the writes of what was in their slots otherwise at
/// about that time.
fn violation(history: &History, reads: &[&Op], kind: Kind, text: String) -> Violation {
    let mut ops: Vec<Op> = reads.iter().map(|op| (*op).clone()).collect();
    for op in history.ops.iter().filter(|op| !op.is_read()) {
        let seen = |(slot, value): &(usize, u32)| {
            reads
                .iter()
                .any(|r| r.at(*slot) == Some(*value) && *value != 0)
        };
        let beside = |r: &&Op| op.call < r.end && r.call < op.end;
        if op.slots().iter().any(seen) || reads.iter().any(beside) {
            ops.push(op.clone());
        }
    }
    Violation {
        kind,
        text,
        history: History {
            initial: history.initial.clone(),
            ops,
        },
    }
}

fn stays(read: &Read) -> Finding {
    match read.again.iter().find(|(_, seen)| *seen != read.seen) {
        None => Ok(()),
        Some((how, seen)) => {
            let other: Slots = seen
                .iter()
                .filter(|s| !read.seen.contains(s))
                .copied()
                .collect();
            Err((
                Kind::Moved,
                format!("{} read again by {how} shows {other:?}", read.how),
            ))
        }
    }
}

fn values_are_current(sources: &Sources<'_>, op: &Op, read: &Read) -> Finding {
    for (slot, value) in &read.seen {
        let all = sources.of(*slot, *value);
        let fail = |kind, text: &str| Err((kind, format!("slot {slot} = {value}: {text}")));
        if all.is_empty() {
            return fail(Kind::Unknown, "nobody wrote it");
        }
        let mut possible = all.iter().filter(|s| s.call < op.end).peekable();
        if possible.peek().is_none() {
            return fail(Kind::Future, "written only after the read");
        }
        let replaced = begun(&sources.ended[*slot], op.call);
        if possible.all(|s| replaced.is_some_and(|call| s.end < call)) {
            return fail(Kind::Stale, "had been replaced before the read");
        }
        if let Some(sequence) = read.sequence {
            let mut possible = all
                .iter()
                .filter(|s| s.op.is_none() || s.above < sequence)
                .peekable();
            if possible.peek().is_none() {
                return fail(
                    Kind::Future,
                    "has a higher sequence number than the snapshot",
                );
            }
            let replaced = begun(&sources.numbered[*slot], sequence + 1);
            if possible.all(|s| replaced.is_some_and(|above| s.most <= above)) {
                return fail(
                    Kind::Stale,
                    "had been replaced at the snapshot's sequence number",
                );
            }
        }
    }
    Ok(())
}

/// A read that sees a batch in one slot sees in the batch's other slots that batch, or what can be
/// later. It does not see what was over before, nor what the read shows to be earlier because the
/// batch replaced it.
fn batches_are_whole(sources: &Sources<'_>, read: &Read) -> Finding {
    for (slot, value) in read.seen.iter().filter(|(_, value)| *value != 0) {
        let Some(batch) = sources.only(*slot, *value) else {
            continue;
        };
        let Some(op) = batch.op else { continue };
        for (other, wrote) in op.slots() {
            let Some((_, found)) = read.seen.iter().find(|(s, _)| s == other) else {
                continue;
            };
            let later = |s: &Source<'_>| {
                !s.is_over_before(batch) && s.op.is_some_and(|op| op.at(*slot).is_none())
            };
            if found != wrote && !sources.of(*other, *found).iter().any(later) {
                let text = format!(
                    "{} sees the batch {value} in slot {slot}, but in slot {other}, which it wrote, {found}",
                    read.how
                );
                return Err((Kind::Torn, text));
            }
        }
    }
    Ok(())
}

/// No two reads put writes into opposite orders, by the clock.
fn one_order(
    history: &History,
    sources: &Sources<'_>,
    reads: &[(&Op, &Read)],
) -> Result<(), Violation> {
    for (n, (op, one)) in reads.iter().enumerate() {
        for (next, two) in reads.iter().skip(n + 1).take(NEIGHBOURS) {
            let (mut first, mut second) = (None, None);
            for (slot, left) in &one.seen {
                let Some((_, right)) = two.seen.iter().find(|(s, _)| s == slot) else {
                    continue;
                };
                let both = (sources.only(*slot, *left), sources.only(*slot, *right));
                if let (true, (Some(l), Some(r))) = (left != right, both) {
                    if l.is_over_before(r) {
                        first = Some(*slot);
                    } else if r.is_over_before(l) {
                        second = Some(*slot);
                    }
                }
            }
            if let (Some(first), Some(second)) = (first, second) {
                let text = format!(
                    "slot {first} says the first read is earlier, slot {second} the second"
                );
                return Err(violation(history, &[op, next], Kind::Disagree, text));
            }
        }
    }
    Ok(())
}

/// Snapshots in the order of their sequence numbers see more and more: no slot goes back to an
/// earlier value, and snapshots at one number see the same.
fn order_of_snapshots(history: &History, reads: &[(&Op, &Read)]) -> Result<(), Violation> {
    let mut snapshots: Vec<(u64, &Op, &Read)> = Vec::new();
    for (op, read) in reads {
        snapshots.extend(read.sequence.map(|sequence| (sequence, *op, *read)));
    }
    snapshots.sort_by_key(|(sequence, ..)| *sequence);
    for slot in 0..history.initial.len() {
        // Values that were replaced, with the snapshot that saw the next one.
        let mut left: HashMap<u32, &Op> = HashMap::new();
        let mut last: Option<(u64, u32)> = None;
        for (sequence, op, read) in &snapshots {
            let Some((_, value)) = read.seen.iter().find(|(s, _)| *s == slot) else {
                continue;
            };
            if let Some((before, had)) = last.filter(|(_, had)| had != value) {
                let same = before == *sequence;
                left.insert(had, op);
                let back = (*value != 0).then(|| left.get(value)).flatten();
                if same || back.is_some() {
                    let text =
                        format!("slot {slot} = {value} at {sequence}, but {had} at {before}");
                    let other = back.copied().unwrap_or(op);
                    return Err(violation(history, &[op, other], Kind::Disagree, text));
                }
            }
            last = Some((*sequence, *value));
        }
    }
    Ok(())
}
