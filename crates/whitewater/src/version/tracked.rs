//! Logs that the manifest says must be there.
//!
//! With `track_and_verify_wals_in_manifest`, a log that was switched out and
//! synced to its end is added with its size, and logs that recovery does not
//! need are deleted, both in the manifest. RocksDB's rule for an addition that
//! comes after the deletion of its log: it does not count.

use std::collections::BTreeMap;
use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::{Error, Result, filename};

/// What the manifest says about logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrackedLogs {
    /// Number and synced size in bytes.
    logs: BTreeMap<u64, u64>,
    /// Logs below this were deleted.
    min: u64,
}

impl TrackedLogs {
    /// Takes in what `edit` says.
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
    }

    /// Takes in that logs below `min` were deleted.
    pub fn delete_below(&mut self, min: u64) {
        self.min = self.min.max(min);
        self.logs = self.logs.split_off(&self.min);
    }

    /// Whether an addition of log `number` counts.
    pub fn counts(&self, number: u64) -> bool {
        number >= self.min
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// The edit that says all of it.
    pub fn snapshot(&self) -> Option<[VersionEdit; 2]> {
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
            [additions, deletion]
        })
    }

    /// Checks that the logs are in `dir`, as long as they were.
    ///
    /// # Errors
    /// `Corruption` naming the first log that is not.
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
