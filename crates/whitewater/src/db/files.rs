//! Deleting files that nothing needs any more.

use super::archive::{archive_log, archive_part};
use super::{Engine, options_file};
use crate::write::log::Synced;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use whitewater_storage::Result;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::manifest::VersionEdit;

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
        self.purge_archive();
    }

    /// Deletes logs below `min_needed`, which the manifest has recorded. With an archive, they go there.
    pub(crate) fn purge_obsolete_logs(&self, min_needed: u64) {
        if let Err(e) = self.track_deleted(min_needed) {
            // The manifest says that they must be there.
            self.log.write(&format!("old logs are not deleted: {e}"));
            return;
        }
        if self.options.archives_logs() {
            // A switch that is under way may still have to cut its old log,
            // and the archive goes by sizes.
            drop(self.switching.read());
        }
        for number in self.wal.forget_below(min_needed) {
            let done = match self.options.archives_logs() {
                true => archive_log(&*self.fs, self.wal_dir(), number),
                false => self.fs.remove(&filename::wal(self.wal_dir(), number)),
            };
            if let Err(e) = done {
                self.log.write(&format!("deleting an old log failed: {e}"));
            }
        }
        self.purge_archive();
    }

    /// Records logs that were synced to their end in the manifest, if that is
    /// asked for.
    pub(crate) fn track_synced(&self, logs: Vec<Synced>) -> Result<()> {
        if logs.is_empty() || !self.options.track_and_verify_wals_in_manifest {
            return Ok(());
        }
        let additions = logs.into_iter().map(|(number, size)| (number, Some(size)));
        self.record_logs(VersionEdit {
            wal_additions: additions.collect(),
            ..VersionEdit::default()
        })
    }

    /// Records that logs below `min_needed` need not be there any more.
    fn track_deleted(&self, min_needed: u64) -> Result<()> {
        if !self.options.track_and_verify_wals_in_manifest {
            return Ok(());
        }
        self.record_logs(VersionEdit {
            wal_deletion: Some(min_needed),
            ..VersionEdit::default()
        })
    }

    fn record_logs(&self, edit: VersionEdit) -> Result<()> {
        let last = self.latest_sequence_number();
        self.versions
            .log_and_apply(vec![edit], last, None, &mut |_| ())
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

/// What is known about files at open.
pub(crate) struct Needed<'a> {
    /// Tables that versions name.
    pub live_tables: &'a BTreeSet<u64>,
    pub manifest: u64,
    /// Logs below this are not needed.
    pub min_log: u64,
    /// Whether such logs go to the archive.
    pub archive: bool,
    /// Logs of which recovery dropped what comes after an offset.
    pub cut: &'a BTreeMap<u64, u64>,
}

/// Deletes what a crash may have left in `dir`: tables that no version names,
/// old manifests, temporary files, old logs.
pub(crate) fn remove_leftovers(
    fs: &dyn Fs,
    dir: &Path,
    wal_dir: &Path,
    needed: &Needed<'_>,
) -> Vec<String> {
    let mut removed = Vec::new();
    for (place, wals) in [(dir, wal_dir == dir), (wal_dir, true)] {
        for name in fs.list(place).unwrap_or_default() {
            let (obsolete, log) = match filename::parse(&name) {
                Some(FileType::Table(n)) => {
                    (place == dir && !needed.live_tables.contains(&n), None)
                }
                Some(FileType::Manifest(n)) => (place == dir && n != needed.manifest, None),
                Some(FileType::Temp(_)) => (place == dir, None),
                Some(FileType::Wal(n)) => (wals && n < needed.min_log, Some(n)),
                _ => (false, None),
            };
            if !obsolete {
                continue;
            }
            let done = match log.filter(|_| needed.archive) {
                Some(number) => match needed.cut.get(&number) {
                    None => archive_log(fs, wal_dir, number),
                    Some(&len) => archive_part(fs, wal_dir, number, len),
                },
                None => fs.remove(&place.join(&name)),
            };
            if done.is_ok() {
                removed.push(name);
            }
        }
    }
    removed
}
