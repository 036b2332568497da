//! What a run counts.

use super::line::Blame;
use std::collections::BTreeMap;

/// The counts of a run, or of a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Read-modify-write operations on words that the real build counts, too (`count-rmw`):
    /// those of `crates/concurrent`.
    pub counted_rmw: u64,
    /// All read-modify-write operations.
    pub rmw: u64,
    /// Futex calls that sleep.
    pub futex_waits: u64,
    /// Futex calls that wake.
    pub futex_wakes: u64,
    /// Writes to the log.
    pub log_writes: u64,
    /// Syncs of the log.
    pub syncs: u64,
    /// Voluntary context switches: a thread gave up its core in order to wait.
    pub voluntary: u64,
    /// Involuntary context switches: a thread lost its core, or yielded it to another.
    pub involuntary: u64,
    /// The cost of transfers, by the name of the line.
    pub lines: BTreeMap<&'static str, Blame>,
}

impl Tally {
    /// The counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Tally) -> Tally {
        let lines = self.lines.iter().map(|(&name, blame)| {
            let old = before.lines.get(name).copied().unwrap_or_default();
            let since = Blame {
                transfers: blame.transfers - old.transfers,
                waited: blame.waited - old.waited,
            };
            (name, since)
        });
        Tally {
            counted_rmw: self.counted_rmw - before.counted_rmw,
            rmw: self.rmw - before.rmw,
            futex_waits: self.futex_waits - before.futex_waits,
            futex_wakes: self.futex_wakes - before.futex_wakes,
            log_writes: self.log_writes - before.log_writes,
            syncs: self.syncs - before.syncs,
            voluntary: self.voluntary - before.voluntary,
            involuntary: self.involuntary - before.involuntary,
            lines: lines.collect(),
        }
    }

    /// The transfers of all lines.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.lines.values().map(|blame| blame.transfers).sum()
    }

    /// The time waited for all lines.
    #[must_use]
    pub fn waited(&self) -> u64 {
        self.lines.values().map(|blame| blame.waited).sum()
    }
}
