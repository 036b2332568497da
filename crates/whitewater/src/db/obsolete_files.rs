//! Deleting files: files that nothing needs, and tables on request.

use super::Engine;
use super::archive::{archive_log, archive_part, replaced_up_to};
use super::failure::Source;
use super::missed_logs::{has_writes, move_to_lost};
use super::state::DbState;
use crate::column_family::ColumnFamilyData;
use crate::compact::pick;
use crate::info_log::event::Event;
use crate::stats::Ticker;
use crate::thread_pools::pool::Waiting;
use crate::version::TableFile;
use crate::version::range::KeyRange;
use crate::version::set::{CfVersion, VersionSet};
use crate::version::table_cache::OpenTable;
use crate::write::wal::Synced;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use whitewater_concurrent::system::{self, Mutex, RwLock, RwLockReadGuard};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::{Error, ErrorKind, Result, planted};

/// How long the files that a thread has released are left to that thread.
const LEFT_TO_OTHERS: Duration = Duration::from_millis(10);

/// Whether obsolete files are deleted.
///
/// Lock order: before the manifest lock. Held (shared) while files are deleted, so that no
/// file is being deleted once deletions were disabled.
#[derive(Debug, Default)]
pub(crate) struct Deletions {
    /// How many callers have disabled deletions.
    disabled: RwLock<usize>,
    /// Logs below this number are to be deleted. Written and read by threads that delete
    /// logs or would if they were allowed to (relaxed). Publishes nothing.
    logs_below: AtomicU64,
    /// Logs that resumptions have replaced while deletions were disabled, to be deleted. A
    /// leaf lock.
    replaced_logs: Mutex<Vec<PathBuf>>,
}

impl Deletions {
    /// Returns how many callers have disabled deletions. The number stays the same while
    /// the guard is held.
    pub fn disabled(&self) -> RwLockReadGuard<'_, usize> {
        self.disabled.read()
    }

    /// Whether obsolete files are currently deleted.
    pub fn are_enabled(&self) -> bool {
        *self.disabled.read() == 0
    }

    /// Keeps obsolete files, and the manifests of `versions`, until [`Self::enable`] was called as
    /// often as this.
    fn disable(&self, versions: &VersionSet) {
        let mut disabled = self.disabled.write();
        *disabled += 1;
        if *disabled == 1 {
            versions.keep_obsolete_manifests(true);
        }
    }

    /// Ends one [`Self::disable`], if there is one; returns whether deletions are enabled now.
    fn enable(&self, versions: &VersionSet) -> bool {
        let mut disabled = self.disabled.write();
        if *disabled == 1 {
            versions.keep_obsolete_manifests(false);
        }
        *disabled = disabled.saturating_sub(1);
        *disabled == 0
    }

    /// Notes that logs below `number` are to be deleted later.
    fn put_off_logs(&self, number: u64) {
        self.logs_below.fetch_max(number, Ordering::Relaxed);
    }

    /// Notes that `logs`, which a resumption has replaced, are to be deleted later.
    fn put_off_replaced(&self, logs: Vec<PathBuf>) {
        self.replaced_logs.lock().extend(logs);
    }

    /// Returns what was put off: below which number logs are to be deleted (0: none), and
    /// replaced logs.
    fn take_put_off(&self) -> (u64, Vec<PathBuf>) {
        let below = self.logs_below.swap(0, Ordering::Relaxed);
        (below, std::mem::take(&mut *self.replaced_logs.lock()))
    }
}

impl Engine {
    /// Notes that a job begins to delete the files that it made obsolete.
    pub(crate) fn begin_purge(&self) -> Purge<'_> {
        self.lock_state().purges += 1;
        Purge(self)
    }

    /// Keeps obsolete files until [`Engine::enable_file_deletions`] was called as often as
    /// this.
    pub(crate) fn disable_file_deletions(&self) {
        self.files.deletions.disable(&self.files.versions);
    }

    /// Ends one [`Engine::disable_file_deletions`], if there is one. When the last one
    /// ends, deletes what has become obsolete meanwhile.
    pub(crate) fn enable_file_deletions(&self) {
        if !self.files.deletions.enable(&self.files.versions) {
            return;
        }
        let (below, replaced) = self.files.deletions.take_put_off();
        if below > 0 {
            self.purge_obsolete_logs(below);
        }
        self.delete_replaced_logs(replaced);
        self.purge_obsolete_files();
    }

    /// Deletes logs that a resumption has replaced. A log that cannot be deleted is not
    /// needed, as the next open finds out.
    pub(super) fn delete_replaced_logs(&self, logs: Vec<PathBuf>) {
        let disabled = self.files.deletions.disabled();
        if *disabled > 0 {
            self.files.deletions.put_off_replaced(logs);
            return;
        }
        if logs.is_empty() {
            return;
        }
        if let Err(e) = self.track_deleted(self.files.versions.min_log_number_to_keep()) {
            // The manifest may say that these logs must exist.
            self.info_log
                .warn(&format!("replaced logs are not deleted: {e}"));
            return;
        }
        for path in logs {
            if let Err(e) = self.files.fs.remove(&path) {
                self.info_log
                    .warn(&format!("deleting an old log failed: {e}"));
            }
        }
    }

    /// Deletes released files, if there may be any. Cheap if no file was released since the last
    /// time. If the options say that callers must not wait for it, a background thread does it. A
    /// background thread also closes these tables and removes their blocks from the cache, for
    /// which a reader does not wait: that may take hundreds of milliseconds.
    pub(crate) fn purge_what_was_let_go(&self) {
        if self.options.avoid_unnecessary_blocking_io {
            return self.purge_later();
        }
        if !self.files.obsolete.heed_files() {
            return;
        }
        if self.state.lock().closing {
            // There is no such thread any longer.
            return self.purge_obsolete_files();
        }
        self.delete_obsolete_files();
        self.purge_later();
    }

    /// Makes a flush thread delete released files, if there are any.
    pub(crate) fn purge_later(&self) {
        if self.files.obsolete.have_come() {
            self.state.lock().purge_asked = true;
            self.background.work.notify_all();
        }
    }

    /// Whether a flush thread deletes released files now. Sets [`DbState::purge_due`], until
    /// which that is left to others: jobs and iterators purge what they release. Look-ups do not,
    /// so that none of them waits for it. A look-up may be the last that holds a version, above
    /// all if its thread had to give up the processor; without this, the tables of that version,
    /// and their blocks in the cache, stayed until the next job.
    pub(super) fn purge_is_due(&self, state: &mut DbState) -> bool {
        let asked = std::mem::take(&mut state.purge_asked);
        if !self.files.obsolete.have_come() {
            state.purge_due = None;
            return asked;
        }
        let now = system::now();
        let due = *state.purge_due.get_or_insert(now + LEFT_TO_OTHERS);
        let is_due = asked || due <= now;
        if is_due {
            state.purge_due = None;
        }
        is_due
    }

    /// Purges after the last handle of a dropped column family was dropped. A database that
    /// is closing has released everything already.
    pub(crate) fn purge_after_handle(&self) {
        if self.files.obsolete.have_come() && !self.state.lock().closing {
            self.purge_what_was_let_go();
        }
    }

    /// Deletes tables and blob files that no version names, and removes the tables' blocks
    /// from the cache. Failures are logged and retried later.
    pub(crate) fn purge_obsolete_files(&self) {
        let evict = |open: Arc<OpenTable>| open.table.evict_blocks();
        self.files.obsolete.take_open().into_iter().for_each(evict);
        self.delete_obsolete_files();
        self.files.obsolete.take_open().into_iter().for_each(evict);
    }

    /// The part of [`Engine::purge_obsolete_files`] that deletes. Tables that were open are left to
    /// the other part.
    fn delete_obsolete_files(&self) {
        let disabled = self.files.deletions.disabled();
        if *disabled > 0 {
            return;
        }
        // The content of the manifest may be uncertain: keep everything.
        let mut keeps = self.state.lock().failure.stop().is_some();
        planted!(FailedEditForgotten => keeps = false);
        if keeps {
            return;
        }
        let mut failed = Vec::new();
        let obsolete = self.files.obsolete.take();
        let job = if obsolete.is_empty() {
            0
        } else {
            self.background.next_job()
        };
        for file in obsolete {
            let number = file.number;
            if let Some(open) = self.files.tables.remove(number) {
                self.files.obsolete.add_open(open);
            }
            let path = file.table_path();
            match self.files.fs.remove(&path) {
                Ok(()) => {
                    if self.options.sst_file_manager.is_none() {
                        // The manager counts what it deletes.
                        self.tick(Ticker::FilesDeletedImmediately, 1);
                    }
                    self.note_deleted(&file, job, Ok(()));
                    Event::new(job, "table_file_deletion")
                        .number("file_number", number)
                        .log(&self.info_log);
                }
                Err(e) if e.is_missing_file() => {
                    // Databases from LevelDB's time name their tables .ldb.
                    let _ = self.files.fs.remove(&path.with_extension("ldb"));
                }
                Err(e) => {
                    self.info_log
                        .warn(&format!("deleting {} failed: {e}", path.display()));
                    self.note_deleted(&file, job, Err(e));
                    failed.push(file);
                }
            }
        }
        self.files.obsolete.put_back(failed);
        self.purge_obsolete_blobs();
        self.purge_archive();
    }

    /// The part of [`Engine::purge_obsolete_files`] for blob files.
    fn purge_obsolete_blobs(&self) {
        let mut failed = Vec::new();
        for file in self.files.obsolete.take_blobs() {
            drop(self.files.tables.remove(file.number));
            let path = file.blob_path();
            match self.files.fs.remove(&path) {
                Ok(()) => Event::new(self.background.next_job(), "blob_file_deletion")
                    .number("file_number", file.number)
                    .log(&self.info_log),
                Err(e) if e.is_missing_file() => {}
                Err(e) => {
                    self.info_log
                        .warn(&format!("deleting {} failed: {e}", path.display()));
                    failed.push(file);
                }
            }
        }
        self.files.obsolete.put_back_blobs(failed);
    }

    /// Deletes logs below `min_needed`, a number that the manifest has recorded. If there
    /// is an archive, they are moved there.
    pub(crate) fn purge_obsolete_logs(&self, min_needed: u64) {
        if self.options.archives_logs() {
            // A switch that is under way may still have to trim its old log, and the
            // archive decides by sizes.
            if self.commit.generations.is_switching() {
                // Flushes of other databases continue meanwhile.
                let _waiting = Waiting::begin();
                self.commit.generations.await_switch();
            }
        }
        self.purge_logs_between_switches(min_needed);
    }

    /// [`Engine::purge_obsolete_logs`] while no switch is under way.
    pub(super) fn purge_logs_between_switches(&self, min_needed: u64) {
        self.delete_logs(min_needed);
        // The next write above the limit attends to the logs again.
        self.set_log_limit(&self.lock_state());
    }

    fn delete_logs(&self, min_needed: u64) {
        // Locked after the right to switch: an ingestion deletes files while it holds that
        // right.
        let disabled = self.files.deletions.disabled();
        if *disabled > 0 {
            self.files.deletions.put_off_logs(min_needed);
            return;
        }
        if let Err(e) = self.track_deleted(min_needed) {
            // The manifest says that these logs must exist.
            self.info_log
                .warn(&format!("old logs are not deleted: {e}"));
            return;
        }
        for number in self.commit.wal.forget_below(min_needed) {
            let done = if self.options.archives_logs() {
                archive_log(&*self.files.fs, self.commit.wal.dir(), number)
            } else {
                self.files
                    .fs
                    .remove(&filename::wal(self.commit.wal.dir(), number))
            };
            if let Err(e) = done {
                self.info_log
                    .warn(&format!("deleting an old log failed: {e}"));
            }
        }
        self.purge_archive();
    }

    /// Records in the manifest the logs that were synced to their end, if the options ask
    /// for that.
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

    /// Records that logs below `min_needed` no longer need to exist.
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
        self.files
            .versions
            .log_and_apply(vec![edit], last, &[], &mut |_| ())
    }

    /// Drops the tables of `cf` below level 0 that have no key outside `[from, to]`,
    /// together with their entries, even if snapshots see them. Tables that a compaction
    /// reads stay.
    pub fn delete_files_in_range(
        &self,
        cf: &Arc<ColumnFamilyData>,
        from: &[u8],
        to: &[u8],
    ) -> Result<()> {
        let user = &cf.comparator.user;
        let (from, to) = (user.first_version(from), user.last_version(to));
        let range = KeyRange::closed(Some(&from), Some(&to));
        let picked = {
            let state = self.lock_state();
            Self::check_healthy(&state)?;
            let Some(current) = state.cfs.get(&cf.id) else {
                return Err(Error::new(
                    ErrorKind::ColumnFamilyDropped,
                    format_args!("column family {}", cf.name),
                ));
            };
            pick::pick_within(&current.version, &cf.comparator.user, range)
        };
        if picked.is_empty() {
            return Ok(());
        }
        self.drop_tables(cf, picked)
    }

    /// Drops the table of the number `number`, with its entries, if no deeper level has tables
    /// and none of its own level 0 is older.
    pub fn delete_table(&self, number: u64) -> Result<()> {
        let (cf, picked) = {
            let state = self.lock_state();
            Self::check_healthy(&state)?;
            let mut families = state.cfs.values();
            let found = families
                .find_map(|cf| Some((&cf.data, pick::pick_last(&cf.version, number).transpose()?)));
            let unknown = || Error::invalid("File not found");
            let (cf, picked) = found.ok_or_else(unknown)?;
            (cf.clone(), picked?)
        };
        self.drop_tables(&cf, vec![picked])
    }

    /// Drops tables, which are marked, with their levels.
    fn drop_tables(
        &self,
        cf: &Arc<ColumnFamilyData>,
        picked: Vec<(usize, Arc<TableFile>)>,
    ) -> Result<()> {
        let edit = VersionEdit {
            column_family: cf.id,
            deleted_files: (picked.iter())
                .map(|(level, f)| (*level as u32, f.meta.number))
                .collect(),
            ..VersionEdit::default()
        };
        let last = self.latest_sequence_number();
        // Tombstones go, and what they hide may not (E3 of `empty_ranges`).
        let _suspended = self.commit.empty_ranges.suspend();
        let mut install = |changed: &[CfVersion]| {
            // Declared before the guard, so it is dropped after the mutex is free.
            let mut old = Vec::new();
            let mut state = self.lock_state();
            for new in changed {
                let Some(cf) = state.cfs.get_mut(&new.id) else {
                    continue;
                };
                old.push(cf.set_version(new.current.clone()));
                cf.publish();
            }
            self.recompute_stall(&mut state, changed.iter().map(|new| new.id));
        };
        let recorded = (self.files.versions).log_and_apply(vec![edit], last, &[], &mut install);
        {
            let mut state = self.lock_state();
            picked.iter().for_each(|(_, f)| f.set_job(None));
            if let Some(cf) = state.cfs.get_mut(&cf.id) {
                cf.score_levels();
            }
        }
        if let Err(e) = recorded {
            self.report(Source::Manifest, &e, "dropping tables");
            return Err(e);
        }
        self.info_log
            .write(&format!("[{}] Dropped {} tables", cf.name, picked.len()));
        drop(picked);
        self.log_stalls();
        self.background.work.notify_all();
        self.purge_obsolete_files();
        Ok(())
    }
}

/// What an opening knows about files.
pub(crate) struct Needed<'a> {
    /// Tables and blob files that versions name.
    pub live: &'a BTreeSet<u64>,
    pub manifest: u64,
    /// Logs below this number are not needed.
    pub min_log: u64,
    /// Whether logs below `min_log` may have been missed by earlier openings (L3 of
    /// `missed_logs`).
    pub moved: bool,
    /// The directories of tables and blob files, besides the database's own.
    pub data_dirs: &'a [PathBuf],
    /// Logs that this opening has replayed, so that they are not missed.
    pub replayed: &'a [u64],
    /// Whether logs that are not needed are moved to the archive.
    pub archive: bool,
    /// Logs of which recovery dropped everything after an offset: the offset by log number.
    pub cut: &'a BTreeMap<u64, u64>,
}

/// Deletes what a crash may have left in `dir`: tables and blob files that no version names,
/// old manifests, temporary files, old logs; and such tables and blob files in other directories.
pub(crate) fn remove_leftovers(
    fs: &dyn Fs,
    dir: &Path,
    wal_dir: &Path,
    needed: &Needed<'_>,
) -> Vec<String> {
    let mut removed = Vec::new();
    // `None` if it cannot be determined; then the logs are kept.
    let replaced = if needed.archive {
        replaced_up_to(fs, wal_dir).ok()
    } else {
        Some(u64::MAX)
    };
    // A directory may be listed twice: for the logs, and for tables.
    let places = [(dir, wal_dir == dir, true), (wal_dir, true, wal_dir == dir)];
    let others = needed.data_dirs.iter().map(|d| (d.as_path(), false, true));
    for (place, wals, data) in places.into_iter().chain(others) {
        for name in fs.list(place).unwrap_or_default() {
            let (obsolete, log) = match filename::parse(&name) {
                Some(FileType::Table(n) | FileType::Blob(n)) => {
                    (data && !needed.live.contains(&n), None)
                }
                Some(FileType::Manifest(n)) => (place == dir && n != needed.manifest, None),
                Some(FileType::Temp(_)) => (place == dir, None),
                Some(FileType::Wal(n)) => (wals && n < needed.min_log, Some(n)),
                _ => (false, None),
            };
            if !obsolete {
                continue;
            }
            let path = place.join(&name);
            let passed_over = |n: &u64| needed.moved && !needed.replayed.contains(n);
            if let Some(number) = log.filter(passed_over)
                && has_writes(fs, &path, number).unwrap_or(true)
            {
                if let Ok(to) = move_to_lost(fs, &path) {
                    removed.push(format!("{name} (to {})", to.display()));
                }
                continue;
            }
            let done = match log.map(|number| (number, replaced)) {
                Some((_, None)) => continue,
                Some((number, Some(replaced))) if number > replaced => {
                    match needed.cut.get(&number) {
                        None => archive_log(fs, wal_dir, number),
                        Some(&len) => archive_part(fs, wal_dir, number, len),
                    }
                }
                _ => fs.remove(&path),
            };
            if done.is_ok() {
                removed.push(name);
            }
        }
    }
    removed
}

/// While this exists, a job deletes files that it made obsolete. Dropped without the
/// database mutex.
#[must_use = "files are being deleted while it lives"]
pub(crate) struct Purge<'a>(&'a Engine);

impl<'a> Purge<'a> {
    /// For a job that is counted in `DbState::purges` already.
    pub fn of(engine: &'a Engine) -> Self {
        Purge(engine)
    }
}

impl Drop for Purge<'_> {
    fn drop(&mut self) {
        self.0.lock_state().purges -= 1;
        self.0.background.job_has_ended();
    }
}
