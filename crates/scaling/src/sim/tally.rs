//! What a run counts.

use super::line::Blame;
use std::collections::BTreeMap;

/// Counts of a run, or of a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Read-modify-writes on words that the real build counts, too
    /// (`count-rmw`): those of `crates/concurrent`.
    pub counted_rmw: u64,
    /// All read-modify-writes.
    pub rmw: u64,
    /// Calls that sleep on a futex.
    pub futex_waits: u64,
    /// Calls that wake.
    pub futex_wakes: u64,
    /// Log writes.
    pub log_writes: u64,
    /// Syncs of the log.
    pub syncs: u64,
    /// A thread gave its core up to wait.
    pub voluntary: u64,
    /// A thread lost its core, or yielded it to another.
    pub involuntary: u64,
    /// By name of line, what its transfers cost.
    pub lines: BTreeMap<&'static str, Blame>,
}

impl Tally {
    /// What came since `before`.
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

    /// Transfers of all lines.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.lines.values().map(|blame| blame.transfers).sum()
    }

    /// Time waited for all lines.
    #[must_use]
    pub fn waited(&self) -> u64 {
        self.lines.values().map(|blame| blame.waited).sum()
    }
}
