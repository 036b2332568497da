//! What was called, when, and what it returned.
//!
//! A *slot* is one key of one column family. Every write has a number that no other write has, and
//! stores it in each slot that it writes. 0 stands for an absent slot, so a delete writes 0. Times
//! are tickets of one [`Clock`]: a call that ended with a smaller ticket than another call began
//! with was over before it. The times of a read are those of the call that chose its moment. For a
//! snapshot or an iterator that is the call that made it, however late it is read.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots and the values in them, each slot at most once.
pub type Slots = Vec<(usize, u32)>;

/// Gives tickets. Every thread takes one before and after each call. AcqRel pairs with itself: a
/// call stays between its tickets, and tickets order the calls. On x86-64 a locked instruction does
/// that anyway. Orderings that are too weak for other machines are for the model checkers to find.
#[derive(Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn tick(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}

/// A write or a read.
#[derive(Debug, Clone)]
pub enum What {
    /// What is in the slots after it.
    Write(Slots),
    Read(Read),
}

/// What a read saw.
#[derive(Debug, Clone)]
pub struct Read {
    /// The call, for messages.
    pub how: &'static str,
    pub seen: Slots,
    /// The sequence number of a snapshot.
    pub sequence: Option<u64>,
    /// What was seen when a snapshot or an iterator was read again.
    pub again: Vec<(&'static str, Slots)>,
}

/// One call.
#[derive(Debug, Clone)]
pub struct Op {
    pub thread: usize,
    /// Tickets taken before and after.
    pub call: u64,
    pub end: u64,
    /// `latest_sequence_number` before and after.
    pub latest: (u64, u64),
    pub what: What,
}

impl Op {
    /// What the operation says about each of its slots.
    pub fn slots(&self) -> &Slots {
        match &self.what {
            What::Write(slots) => slots,
            What::Read(read) => &read.seen,
        }
    }

    pub fn slots_mut(&mut self) -> &mut Slots {
        match &mut self.what {
            What::Write(slots) => slots,
            What::Read(read) => &mut read.seen,
        }
    }

    pub fn is_read(&self) -> bool {
        matches!(self.what, What::Read(_))
    }

    /// What the operation writes to `slot`, or saw in it.
    pub fn at(&self, slot: usize) -> Option<u32> {
        let found = self.slots().iter().find(|(s, _)| *s == slot);
        found.map(|(_, value)| *value)
    }
}

/// All calls since a moment at which no call was running.
#[derive(Debug, Clone)]
pub struct History {
    /// What was in each slot at that moment.
    pub initial: Vec<u32>,
    pub ops: Vec<Op>,
}

impl History {
    /// The part about `slots`, with unknown values of the others. All parts of a linearizable
    /// history are linearizable.
    pub fn of_slots(&self, keep: impl Fn(usize) -> bool) -> History {
        let mut part = self.clone();
        for op in &mut part.ops {
            op.slots_mut().retain(|(slot, _)| keep(*slot));
        }
        part.ops.retain(|op| !op.slots().is_empty());
        part
    }

    /// The number of calls that overlap a write of another thread.
    pub fn overlapping(&self) -> usize {
        let mut ops: Vec<&Op> = self.ops.iter().collect();
        ops.sort_by_key(|op| op.call);
        let (mut met, mut open) = (0, Vec::<&Op>::new());
        for op in ops {
            open.retain(|before| before.end > op.call);
            met += usize::from(open.iter().any(|before| !before.is_read() || !op.is_read()));
            open.push(op);
        }
        met
    }
}

fn value(slot: usize, value: u32) -> String {
    match value {
        0 => format!("s{slot}=-"),
        u32::MAX => format!("s{slot}=GARBAGE"),
        number => format!("s{slot}={number}"),
    }
}

fn list(slots: &Slots) -> String {
    let texts: Vec<_> = slots.iter().map(|(s, v)| value(*s, *v)).collect();
    texts.join(" ")
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>6}..{:<6} thread {}: ",
            self.call, self.end, self.thread
        )?;
        match &self.what {
            What::Write(slots) => write!(f, "write {}", list(slots)),
            What::Read(read) => {
                write!(f, "{} sees {}", read.how, list(&read.seen))?;
                if let Some(sequence) = read.sequence {
                    write!(f, " (at sequence {sequence})")?;
                }
                for (how, seen) in read.again.iter().filter(|(_, s)| *s != read.seen) {
                    write!(f, "\n{:>16} later, by {how}: {}", "", list(seen))?;
                }
                Ok(())
            }
        }
    }
}

/// At most this many calls are shown.
const SHOWN: usize = 60;

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = |slot| self.ops.iter().any(|op| op.at(slot).is_some());
        let initial = self.initial.iter().copied().enumerate();
        let initial = initial.filter(|(slot, _)| about(*slot)).collect();
        writeln!(f, "at first: {}", list(&initial))?;
        let mut ops: Vec<_> = self.ops.iter().collect();
        ops.sort_by_key(|op| op.call);
        for op in ops.iter().take(SHOWN) {
            writeln!(f, "{op}")?;
        }
        if ops.len() > SHOWN {
            writeln!(f, "... and {} more", ops.len() - SHOWN)?;
        }
        Ok(())
    }
}

/// How a history is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A value that was never written.
    Unknown,
    /// A write that began after the read had ended, or after its snapshot.
    Future,
    /// A value that an acknowledged write had replaced.
    Stale,
    /// A part of a batch.
    Torn,
    /// Two reads that put writes into opposite orders.
    Disagree,
    /// A snapshot or an iterator that shows two states.
    Moved,
    /// No total order explains it, says the checker.
    Order,
}

/// A history that is wrong, and what shows it.
#[derive(Debug, Clone)]
pub struct Violation {
    pub kind: Kind,
    pub text: String,
    /// The calls that show it, as few as were found.
    pub history: History,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}\n{}", self.kind, self.text, self.history)
    }
}
