//! Logs that the manifest says must exist, or that may be elsewhere.
//!
//! With `track_and_verify_wals_in_manifest`, two facts are recorded in the manifest: a log that
//! was switched out and synced to its end, with its size; and that logs are deleted which
//! recovery does not need. As in RocksDB, an addition that comes after the deletion of its log
//! does not count.
//!
//! An opening that finds no log where the manifest needs some continues without it, as in
//! RocksDB, but records their numbers as *missed*: with another `wal_dir`, or once a file
//! system is mounted again, they may turn up.
//!
//! With `WRITE_PREPARED`, tables may go by a decision that only a log has (X4 of `snapshots`), and
//! the manifest tells up to where that log counts: what recovery leaves out before that is refused.
//! It tells, too, from which log on there are sections whose data tables may have: damage in such a
//! log stops who is told no policy.
//!
//! Invariant T1: a log whose number was missed is never deleted as obsolete. It is replayed, or
//! the opening that finds it fails.

use std::collections::BTreeMap;
use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::{Error, Result, filename};

/// The largest number of ranges of missed logs that are remembered. A user who deletes the logs
/// before each opening adds a range each time. The oldest are forgotten first.
const MAX_RANGES: usize = 1000;

/// The manifest's record of logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrackedLogs {
    /// The synced size in bytes of each log, by number.
    logs: BTreeMap<u64, u64>,
    /// Logs with smaller numbers were deleted.
    min: u64,
    /// The ranges of missed logs: the first number, and the one behind the last.
    missed: Vec<(u64, u64)>,
    /// The last decision on a prepared section that tables go by: the number of its record, and
    /// that of its log. 0 before the first.
    decided_to: (SequenceNumber, u64),
    /// The first log with a section whose operations may be in tables undecided; 0 without one.
    undecided_from: u64,
}

impl TrackedLogs {
    /// Applies what `edit` says about logs.
    pub fn apply(&mut self, edit: &VersionEdit) {
        for (number, size) in &edit.wal_additions {
            if let Some(size) = *size
                && self.counts(*number)
            {
                let known = self.logs.entry(*number).or_insert(size);
                *known = size.max(*known);
            }
        }
        if let Some(min) = edit.wal_deletion {
            self.delete_below(min);
        }
        if let Some(missed) = &edit.logs_missed {
            self.missed.clone_from(missed);
        }
        self.decided_to = self.decided_to.max(edit.decided_to.unwrap_or_default());
        self.undecided_from = edit.undecided_from.unwrap_or(self.undecided_from);
    }

    /// The first log with a prepared section whose operations may be in tables before it is
    /// decided; 0 if there is none.
    pub fn undecided_from(&self) -> u64 {
        self.undecided_from
    }

    /// The last decision on a prepared section that tables go by and that is durable in a log: the
    /// number of its record, and that of the log; 0 before the first.
    pub fn decided_to(&self) -> (SequenceNumber, u64) {
        self.decided_to
    }

    /// The end of the range of missed logs that contains `number`.
    pub fn missed(&self, number: u64) -> Option<u64> {
        let ranges = self.missed.iter();
        let has = ranges.filter(|(first, end)| (*first..*end).contains(&number));
        has.map(|(_, end)| *end).max()
    }

    /// Whether a log with number `first` or a larger one was missed.
    pub fn has_missed_from(&self, first: u64) -> bool {
        self.missed.iter().any(|(_, end)| first < *end)
    }

    /// The edit after which logs `first` to `end` count as missed, too.
    pub fn with_missed(&self, first: u64, end: u64) -> VersionEdit {
        let overlaps = |range: &(u64, u64)| range.0 <= end && first <= range.1;
        let (near, mut rest): (Vec<_>, Vec<_>) = self.missed.iter().copied().partition(overlaps);
        let ranges = near.into_iter().chain([(first, end)]);
        rest.extend(ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))));
        rest.drain(..rest.len().saturating_sub(MAX_RANGES));
        VersionEdit {
            logs_missed: Some(rest),
            ..VersionEdit::default()
        }
    }

    /// The edit after which `logs`, which have been replayed, and those before them in their ranges
    /// no longer count as missed; `None` if none did.
    pub fn without(&self, logs: &[u64]) -> Option<VersionEdit> {
        let behind = |&(first, end): &(u64, u64)| {
            let found = logs.iter().filter(|n| (first..end).contains(n)).max();
            (found.map_or(first, |n| n + 1), end)
        };
        let mut rest: Vec<_> = self.missed.iter().map(behind).collect();
        rest.retain(|(first, end)| first < end);
        (rest != self.missed).then(|| VersionEdit {
            logs_missed: Some(rest),
            ..VersionEdit::default()
        })
    }

    /// The edit that records which logs were missed, if any were.
    pub fn missed_edit(&self) -> Option<VersionEdit> {
        (!self.missed.is_empty()).then(|| VersionEdit {
            logs_missed: Some(self.missed.clone()),
            ..VersionEdit::default()
        })
    }

    /// Forgets the missed logs, for a copy of the database that has all its logs with it.
    pub fn forget_missed(&mut self) {
        self.missed.clear();
    }

    /// Records that logs below `min` were deleted.
    pub fn delete_below(&mut self, min: u64) {
        self.min = self.min.max(min);
        self.logs = self.logs.split_off(&self.min);
    }

    /// Whether an addition of log `number` counts.
    pub fn counts(&self, number: u64) -> bool {
        number >= self.min
    }

    /// Whether there are no tracked logs.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// The edits that record the whole state.
    pub fn snapshot(&self) -> Option<[VersionEdit; 4]> {
        (*self != TrackedLogs::default()).then(|| {
            let logs = self.logs.iter();
            let additions = VersionEdit {
                wal_additions: logs.map(|(number, size)| (*number, Some(*size))).collect(),
                ..VersionEdit::default()
            };
            let deletion = VersionEdit {
                wal_deletion: (self.min > 0).then_some(self.min),
                ..VersionEdit::default()
            };
            let missed = VersionEdit {
                logs_missed: (!self.missed.is_empty()).then(|| self.missed.clone()),
                ..VersionEdit::default()
            };
            let decided = VersionEdit {
                decided_to: Some(self.decided_to).filter(|(number, _)| *number > 0),
                undecided_from: Some(self.undecided_from).filter(|log| *log > 0),
                ..VersionEdit::default()
            };
            [additions, deletion, missed, decided]
        })
    }

    /// Checks that each log is in `dir` and has at least its recorded size.
    ///
    /// # Errors
    /// `Corruption` naming the first log that is missing or too short.
    pub fn verify(&self, fs: &dyn Fs, dir: &Path) -> Result<()> {
        for (number, synced) in &self.logs {
            let path = filename::wal(dir, *number);
            let size = match fs.file_size(&path) {
                Err(e) if e.is_missing_file() => {
                    let text = format!("Missing WAL with log number: {number}.");
                    return Err(Error::corruption(text).in_file(&path, None));
                }
                other => other?,
            };
            if size < *synced {
                let text = format!(
                    "Size mismatch: WAL (log number: {number}) in MANIFEST is {synced} bytes , \
                     but actually is {size} bytes on disk."
                );
                return Err(Error::corruption(text).in_file(&path, Some(size)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(missed: &[(u64, u64)]) -> TrackedLogs {
        TrackedLogs {
            missed: missed.to_vec(),
            ..TrackedLogs::default()
        }
    }

    #[test]
    fn missed_logs_are_ranges_that_grow_together() {
        let after = |edit: VersionEdit| edit.logs_missed.unwrap();
        assert_eq!(after(tracked(&[]).with_missed(3, 9)), [(3, 9)]);
        let two = tracked(&[(3, 9), (20, 30)]);
        assert_eq!(after(two.with_missed(40, 41)), [(3, 9), (20, 30), (40, 41)]);
        assert_eq!(after(two.with_missed(5, 35)), [(3, 35)]);
        assert_eq!((two.missed(8), two.missed(9)), (Some(9), None));
    }

    #[test]
    fn logs_that_were_replayed_are_not_missed_any_more() {
        let two = tracked(&[(3, 9), (20, 30)]);
        assert_eq!(two.without(&[2, 10]), None);
        let after = |logs: &[u64]| two.without(logs).unwrap().logs_missed.unwrap();
        assert_eq!(after(&[4, 6]), [(7, 9), (20, 30)]);
        assert_eq!(after(&[8, 29]), [(0, 0); 0]);
    }
}
