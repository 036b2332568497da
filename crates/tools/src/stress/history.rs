//! The history of all writes, and whether a recovered database is a prefix of it.
//!
//! The prefix is determined for each thread separately, since only one thread writes each
//! slot. The threads' prefixes must then agree with real time: a write that ended before
//! another began precedes it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use super::journal::{Entry, Journal, Outcome};
use super::key_model::{Held, Shape, Slot, Version};
use super::model::{Change, Expected};

/// A write and its times.
#[derive(Debug, Clone)]
pub struct Record {
    changes: Vec<Change>,
    began: u64,
    /// When the write ended and with which outcome; `None` while it runs.
    ended: Option<(u64, Outcome)>,
}

/// A journal that keeps all threads' writes with their times.
pub struct History {
    /// A logical clock that all threads agree on. Written by: each thread that begins or
    /// ends a write, and each power cut. Read by: the same. Publishes nothing.
    clock: AtomicU64,
    threads: Vec<Mutex<Vec<Record>>>,
}

impl History {
    /// An empty history of the threads of `shape` and of its transient column families.
    pub fn new(shape: Shape) -> Self {
        let threads = 0..shape.threads + shape.transient;
        History {
            clock: AtomicU64::new(0),
            threads: threads.map(|_| Mutex::default()).collect(),
        }
    }

    /// The current logical time.
    pub fn now(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst)
    }

    /// What the whole history makes of an empty database, once no write is running.
    pub fn outcome(&self) -> Expected {
        let mut expected = Expected::default();
        for record in self.records().iter().flatten() {
            match record.ended {
                Some((_, Outcome::Failed)) | None => expected.maybe_apply(&record.changes),
                Some((_, Outcome::Refused)) => {}
                Some(_) => expected.apply(&record.changes),
            }
        }
        expected
    }

    /// A copy of each thread's writes so far.
    pub fn records(&self) -> Vec<Vec<Record>> {
        let threads = self.threads.iter();
        let copies = threads.map(|t| t.lock().unwrap_or_else(PoisonError::into_inner).clone());
        copies.collect()
    }
}

impl Journal for History {
    fn put(&self, entry: Entry) -> io::Result<()> {
        let records = |thread: u32| {
            let records = self.threads[thread as usize].lock();
            records.unwrap_or_else(PoisonError::into_inner)
        };
        match entry {
            Entry::Begin(thread, changes) | Entry::Loose(thread, changes) => {
                records(thread).push(Record {
                    changes,
                    began: self.now(),
                    ended: None,
                })
            }
            Entry::End(thread, outcome) => {
                let now = self.now();
                if let Some(last) = records(thread).last_mut() {
                    last.ended = Some((now, outcome));
                    if outcome == Outcome::Refused {
                        last.changes.clear();
                    }
                }
            }
            Entry::Wrong(_) => {}
        }
        Ok(())
    }
}

/// The part of `records` that concerns the column family `number`.
pub fn of_family(records: &[Vec<Record>], number: u32) -> Vec<Vec<Record>> {
    let mut records = records.to_vec();
    for record in records.iter_mut().flatten() {
        record.changes.retain(|change| change.slot.family == number);
    }
    records
}

/// The transient column families that may exist at some time after `before`, in a database
/// that began with the content `first`.
pub fn transient_after(
    records: &[Vec<Record>],
    shape: Shape,
    first: &BTreeMap<Slot, Version>,
    before: u64,
) -> Expected {
    let mut expected = Expected::exactly(first);
    for record in records[shape.threads as usize..].iter().flatten() {
        match record.ended {
            Some((at, Outcome::Acked)) if at < before => expected.apply(&record.changes),
            _ => expected.maybe_apply(&record.changes),
        }
    }
    expected
}

/// Checks that some prefix of `records` turns `first` into `content`, in an order that all
/// threads agree on. The prefix must include every write that ended before the time
/// `before` with an outcome for which `survives` is true.
///
/// # Errors
/// The writes that are missing, or the content that no prefix explains.
pub fn check_prefix(
    records: &[Vec<Record>],
    shape: Shape,
    first: &BTreeMap<Slot, Version>,
    content: &BTreeMap<Slot, Version>,
    before: u64,
    survives: impl Fn(Outcome) -> bool,
) -> Result<(), String> {
    let mut prefixes = Vec::new();
    let records = &records[..shape.threads as usize];
    for (thread, records) in (0..).zip(records) {
        let is_mine = |slot: &Slot| shape.is_of(thread, *slot) && slot.is_in(content);
        let prefix = Prefix::find(records, first, content, is_mine);
        prefixes.push(prefix.map_err(|e| format!("thread {thread}: {e}"))?);
    }
    one_order(records, &prefixes, before, survives)
}

/// How many of a thread's writes are in the prefix. The two bounds differ where the last
/// writes change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prefix {
    least: usize,
    most: usize,
}

impl Prefix {
    /// Finds the number of `records` that turn `before` into `after`.
    fn find(
        records: &[Record],
        before: &BTreeMap<Slot, Version>,
        after: &BTreeMap<Slot, Version>,
        is_mine: impl Fn(&Slot) -> bool,
    ) -> Result<Prefix, String> {
        let held = |content: &BTreeMap<Slot, Version>, slot| content.get(&slot).copied();
        let touched = records
            .iter()
            .flat_map(|r| r.changes.iter().map(|c| c.slot));
        let slots = before.keys().chain(after.keys()).copied().chain(touched);
        let mut now: BTreeMap<Slot, Held> = slots
            .filter(is_mine)
            .map(|slot| (slot, held(before, slot)))
            .collect();
        let differs = |slot: Slot, held_now: Held| held(after, slot) != held_now;
        let mut differ = now
            .iter()
            .filter(|&(&slot, &held)| differs(slot, held))
            .count();
        let mut nearest = (differ, 0);
        let mut found: Option<Prefix> = None;
        for n in 0..=records.len() {
            if differ == 0 {
                let least = found.map_or(n, |p| p.least);
                found = Some(Prefix { least, most: n });
            }
            nearest = nearest.min((differ, n));
            for change in records.get(n).iter().flat_map(|r| &r.changes) {
                if let Some(held) = now.get_mut(&change.slot) {
                    differ -= usize::from(differs(change.slot, *held));
                    differ += usize::from(differs(change.slot, change.held));
                    *held = change.held;
                }
            }
        }
        found.ok_or_else(|| {
            let (differ, n) = nearest;
            format!(
                "no prefix of {} writes: after {n} of them {differ} slots differ, {:?} being next",
                records.len(),
                records.get(n)
            )
        })
    }
}

/// Checks that everything the threads lost is later than everything that other threads
/// kept, and later than everything that had to survive by the time `before`.
fn one_order(
    records: &[Vec<Record>],
    prefixes: &[Prefix],
    before: u64,
    survives: impl Fn(Outcome) -> bool,
) -> Result<(), String> {
    // The latest write that survived or had to survive.
    let mut kept: Option<&Record> = None;
    for (records, prefix) in records.iter().zip(prefixes) {
        let there = records[..prefix.least].last();
        let had_to = records.iter().rev().find(|r| {
            let ended = r.ended;
            ended.is_some_and(|(at, outcome)| at < before && survives(outcome))
        });
        let last = [kept, there, had_to].into_iter().flatten();
        kept = last.max_by_key(|r| r.began);
        if let Some(had_to) = had_to
            && records[prefix.most..]
                .iter()
                .any(|r| r.began <= had_to.began)
        {
            return Err(format!(
                "{:?} are lost, at least from {} on of {}, with {had_to:?}",
                records.get(prefix.most),
                prefix.most,
                records.len()
            ));
        }
    }
    let Some(kept) = kept else { return Ok(()) };
    for (records, prefix) in records.iter().zip(prefixes) {
        if let Some(lost) = records.get(prefix.most)
            && let Some((ended, outcome)) = lost.ended
            && outcome != Outcome::Failed
            && ended < kept.began
        {
            return Err(format!("{lost:?} is lost, but not the later {kept:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Slot = Slot { family: 0, key: 1 };
    const OTHER: Slot = Slot { family: 0, key: 2 };

    fn record(slot: Slot, held: Held, began: u64, outcome: Outcome) -> Record {
        Record {
            changes: vec![Change { slot, held }],
            began,
            ended: Some((began + 1, outcome)),
        }
    }

    fn find(records: &[Record], after: &[(Slot, Version)]) -> Result<(usize, usize), String> {
        let after = after.iter().copied().collect();
        let found = Prefix::find(records, &BTreeMap::new(), &after, |_| true);
        found.map(|p| (p.least, p.most))
    }

    #[test]
    fn prefixes_are_found_and_holes_are_not() {
        let records = [
            record(SLOT, Some(1), 0, Outcome::Acked),
            record(OTHER, Some(2), 2, Outcome::Acked),
            record(SLOT, Some(3), 4, Outcome::Acked),
            record(OTHER, Some(2), 6, Outcome::Acked),
        ];
        assert_eq!(find(&records, &[]), Ok((0, 0)));
        assert_eq!(find(&records, &[(SLOT, 1)]), Ok((1, 1)));
        assert_eq!(find(&records, &[(SLOT, 1), (OTHER, 2)]), Ok((2, 2)));
        // The last write changes nothing, so the prefix may include it or not.
        assert_eq!(find(&records, &[(SLOT, 3), (OTHER, 2)]), Ok((3, 4)));
        assert!(find(&records, &[(OTHER, 2)]).is_err());
        assert!(find(&records, &[(SLOT, 3)]).is_err());
        assert!(find(&records, &[(SLOT, 7)]).is_err());
    }

    #[test]
    fn what_is_lost_comes_after_what_is_kept() {
        let first = record(SLOT, Some(1), 0, Outcome::Acked);
        let second = record(OTHER, Some(1), 2, Outcome::Acked);
        let beside = Record {
            ended: Some((9, Outcome::Acked)),
            ..first.clone()
        };
        let order = |lost: &Record, kept: &Record| {
            let records = [vec![lost.clone()], vec![kept.clone()]];
            let prefixes = [(0, 0), (1, 1)].map(|(least, most)| Prefix { least, most });
            one_order(&records, &prefixes, 100, |outcome| {
                outcome == Outcome::Synced
            })
        };
        assert_eq!(order(&second, &first), Ok(()));
        assert_eq!(order(&beside, &second), Ok(()));
        assert!(order(&first, &second).is_err());
        // A synced write may not be lost, nor any write before it.
        let synced = record(SLOT, Some(1), 4, Outcome::Synced);
        assert!(order(&synced, &first).is_err());
        let records = [vec![first], vec![synced]];
        let none = [Prefix { least: 0, most: 0 }; 2];
        let is_synced = |outcome| outcome == Outcome::Synced;
        assert!(one_order(&records, &none, 100, is_synced).is_err());
        // Before the sync ended, both may be lost.
        assert_eq!(one_order(&records, &none, 5, is_synced), Ok(()));
    }
}
