//! Deleting files that nothing needs any more.

use super::{Engine, options_file};
use std::collections::BTreeSet;
use std::path::Path;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;

impl Engine {
    /// Deletes table files that no version names any more. Failures are
    /// logged and tried again later.
    pub(crate) fn purge_obsolete_files(&self) {
        if self.state.lock().failure.stop().is_some() {
            // What the manifest holds is in doubt: keep everything.
            return;
        }
        let mut failed = Vec::new();
        for number in self.obsolete.take() {
            self.tables.evict(number);
            let path = filename::table(&self.dir, number);
            match self.fs.remove(&path) {
                Ok(()) => {}
                Err(e) if e.is_missing_file() => {
                    // Databases of LevelDB's time call their tables .ldb.
                    let _ = self.fs.remove(&path.with_extension("ldb"));
                }
                Err(e) => {
                    self.log
                        .write(&format!("deleting {} failed: {e}", path.display()));
                    failed.push(number);
                }
            }
        }
        self.obsolete.put_back(failed);
    }

    /// Deletes logs below `min_needed`, which the manifest has recorded.
    pub(crate) fn purge_obsolete_logs(&self, min_needed: u64) {
        for path in self.wal.forget_below(min_needed) {
            if let Err(e) = self.fs.remove(&path) {
                self.log.write(&format!("deleting an old log failed: {e}"));
            }
        }
    }

    /// Keeps the options file that RocksDB left true about column families.
    pub(crate) fn follow_families(&self) {
        let live = {
            let state = self.state.lock();
            state.cfs.values().map(|cf| cf.data.name.clone()).collect()
        };
        let number = |newest| {
            self.versions.mark_file_number_used(newest);
            self.versions.new_file_number()
        };
        let followed = options_file::follow_families(&*self.fs, &self.dir, &live, number);
        if let Err(e) = followed {
            self.log
                .write(&format!("updating the options file failed: {e}"));
        }
    }
}

/// Deletes what a crash may have left in `dir`: tables that no version names,
/// old manifests, temporary files, logs below `min_log`.
pub(crate) fn remove_leftovers(
    fs: &dyn Fs,
    dir: &Path,
    wal_dir: &Path,
    live_tables: &BTreeSet<u64>,
    manifest: u64,
    min_log: u64,
) -> Vec<String> {
    let mut removed = Vec::new();
    for (place, wals) in [(dir, wal_dir == dir), (wal_dir, true)] {
        for name in fs.list(place).unwrap_or_default() {
            let obsolete = match filename::parse(&name) {
                Some(FileType::Table(n)) => place == dir && !live_tables.contains(&n),
                Some(FileType::Manifest(n)) => place == dir && n != manifest,
                Some(FileType::Temp(_)) => place == dir,
                Some(FileType::Wal(n)) => wals && n < min_log,
                _ => false,
            };
            if obsolete && fs.remove(&place.join(&name)).is_ok() {
                removed.push(name);
            }
        }
    }
    removed
}
