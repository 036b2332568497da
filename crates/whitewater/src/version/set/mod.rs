//! All column families' current versions, and the manifest that records them.
//!
//! Only [`VersionSet::log_and_apply`] writes the manifest, under the manifest lock. It does not
//! decide what changes; flushes, compactions and the column-family calls do.
//!
//! Invariants:
//! * I1: a version is installed only after the edit that makes it is durable in the manifest
//!   that CURRENT names.
//! * I2: while it is unknown whether a failed write reached the disk, the files it names stay,
//!   and so does every manifest that CURRENT may name.
//! * I3: numbers recorded (next file, last sequence, log numbers, largest column family) never
//!   go down.

use super::builder::VersionBuilder;
use super::paths::DataPaths;
use super::replay::{self, Replay, Unlisted};
use super::tracked::TrackedLogs;
use super::{FileHold, ObsoleteFiles, Version};
use crate::options::CfOptions;
use crate::stats::{Histogram, Statistics, time};
use crate::version::table_cache::OpenWith;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::fs::{Fs, WritableFile};
use whitewater_storage::key::{InternalComparator, SequenceNumber};
use whitewater_storage::manifest::{VersionEdit, set_current};
use whitewater_storage::planted;
use whitewater_storage::wal::LogWriter;
use whitewater_storage::{Error, Result, filename};

pub(crate) use super::replay::{ManifestTail, list_column_families};

/// One column family as the manifest describes it.
#[derive(Clone, Debug)]
pub(crate) struct CfVersion {
    pub id: u32,
    pub name: String,
    pub comparator: String,
    /// WALs with smaller numbers contain nothing of this column family.
    pub log_number: u64,
    pub current: Arc<Version>,
}

/// The state in the manifest when the database was opened.
#[derive(Debug, Clone)]
pub(crate) struct Recovered {
    /// The column families by id, without dropped ones.
    pub column_families: BTreeMap<u32, CfVersion>,
    pub last_sequence: SequenceNumber,
    pub min_log_number_to_keep: u64,
    pub db_id: Option<String>,
    pub tracked: TrackedLogs,
}

/// Which logs a database needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeededLogs {
    /// Logs from that number on may have writes that are in no table.
    pub first: u64,
    /// Logs from that number on may have prepared sections. At most `first`.
    pub kept: u64,
}

impl NeededLogs {
    pub const ALL: NeededLogs = NeededLogs { first: 0, kept: 0 };
}

impl Recovered {
    /// Which logs are needed.
    pub fn needed_logs(&self) -> NeededLogs {
        NeededLogs {
            first: self.first_log(),
            kept: self.first_kept_log(),
        }
    }

    /// The paths of column family `id`, which exists.
    pub fn paths_of(&self, id: u32) -> &DataPaths {
        &self.column_families[&id].current.open_with.paths
    }

    /// The smallest number of a log that a column family needs.
    pub fn first_log(&self) -> u64 {
        let cfs = self.column_families.values();
        let min = cfs.map(|cf| cf.log_number).min().unwrap_or(0);
        min.max(self.min_log_number_to_keep)
    }

    /// The smallest number of a log that may have the prepared section of a transaction that
    /// is not decided. At most [`first_log`](Self::first_log). RocksDB does not record it when it
    /// opens a database with prepared transactions: then it is 0.
    pub fn first_kept_log(&self) -> u64 {
        self.min_log_number_to_keep
    }
}

/// The current versions and the manifest.
///
/// Lock order: the manifest lock inside is taken before the database mutex. `log_and_apply`
/// holds it from reading the current versions until the new ones are installed, so edits apply
/// in the order in which they are recorded. The lock of `next_epoch` is a leaf: it is held for
/// a look-up, never across I/O.
#[derive(Debug)]
pub(crate) struct VersionSet {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    max_manifest_file_size: u64,
    /// Whether the set knows all column families, and so may write a manifest.
    writes: bool,
    /// The statistics that time syncs of the manifest.
    statistics: Option<Arc<Statistics>>,
    obsolete: Arc<ObsoleteFiles>,
    /// The next number for a file of any kind.
    /// Written by: `new_file_number` (any thread) and recovery. Read by: the same and manifest
    /// writes. Publishes nothing.
    next_file: AtomicU64,
    /// The number of the manifest in force.
    /// Written by: rollover, under the manifest lock. Read by: any thread. Publishes nothing.
    manifest_number: AtomicU64,
    /// The largest column family id ever used.
    /// Written by: `new_column_family_id` (any thread) and, under the manifest lock, additions.
    /// Read by: the same. Publishes nothing.
    max_column_family: AtomicU32,
    /// Logs with smaller numbers may be deleted.
    /// Written by: `log_and_apply`, under the manifest lock. Read by: threads that delete logs; one
    /// that reads a stale value deletes less. Publishes nothing.
    min_log_number_to_keep: AtomicU64,
    /// The next epoch number of each column family. It may be requested while a manifest write
    /// runs.
    next_epoch: Mutex<BTreeMap<u32, u64>>,
    manifest: Mutex<Manifest>,
}

/// The state that the manifest lock guards.
#[derive(Debug)]
struct Manifest {
    /// `None` until the first write after open, and after a failed write: the next write then
    /// starts a new file.
    writer: Option<LogWriter>,
    families: BTreeMap<u32, Family>,
    /// The paths of all column families since the database was opened, dropped ones included: a
    /// job may end after its column family was dropped.
    paths: BTreeMap<u32, DataPaths>,
    last_sequence: SequenceNumber,
    db_id: Option<String>,
    tracked: TrackedLogs,
    /// Manifests to delete once a newer one is in force (upholds I2).
    stale: Vec<u64>,
    /// Manifests that were replaced by newer ones, and are not deleted yet.
    obsolete: Vec<u64>,
    /// Whether `obsolete` manifests are kept, because file deletions are disabled.
    keep_obsolete: bool,
    /// Holds of the files that failed writes named (upholds I2).
    quarantine: Vec<FileHold>,
}

/// A column family and what is needed to make its versions.
#[derive(Debug, Clone)]
struct Family {
    version: CfVersion,
    comparator: InternalComparator,
    num_levels: usize,
    open_with: OpenWith,
}

/// A change that was checked and can be recorded and installed.
struct Change {
    edits: Vec<VersionEdit>,
    /// Families with their new states; `None` is a dropped one.
    families: BTreeMap<u32, Option<Family>>,
    last_sequence: SequenceNumber,
}

impl VersionSet {
    /// Creates an empty database in `dir`: MANIFEST-000001 and CURRENT.
    pub fn create_database(fs: &Arc<dyn Fs>, dir: &Path, db_id: &str) -> Result<()> {
        let first = VersionEdit {
            db_id: Some(db_id.to_owned()),
            log_number: Some(0),
            next_file_number: Some(2),
            last_sequence: Some(0),
            ..VersionEdit::default()
        };
        let file = fs.create(&filename::manifest(dir, 1))?;
        let mut writer = LogWriter::new(file, 0, false);
        writer.add_record(&[&first.encode()])?;
        writer.sync()?;
        fs.sync_dir(dir)?;
        set_current(&**fs, dir, 1)
    }

    /// Replays the manifest that CURRENT names. `options_of` returns the options of a column family
    /// by name, or `None` if the opener did not list it.
    ///
    /// # Errors
    /// `InvalidArgument` naming column families that were not listed, or whose comparator differs;
    /// `Corruption` with file and offset.
    pub fn recover(
        fs: Arc<dyn Fs>,
        dir: PathBuf,
        max_manifest_file_size: u64,
        obsolete: Arc<ObsoleteFiles>,
        options_of: &dyn Fn(&str) -> Option<Arc<CfOptions>>,
    ) -> Result<(VersionSet, Recovered)> {
        let size = max_manifest_file_size;
        let replay = Replay::read(&*fs, &dir)?;
        Self::replayed(
            replay,
            fs,
            dir,
            size,
            obsolete,
            Unlisted::Refuse,
            options_of,
        )
    }

    /// The same as [`VersionSet::recover`] for a reader: column families that were not listed are
    /// skipped, and nothing is ever recorded.
    ///
    /// # Errors
    /// The same as [`VersionSet::recover`].
    pub fn recover_to_read(
        fs: Arc<dyn Fs>,
        dir: PathBuf,
        obsolete: Arc<ObsoleteFiles>,
        options_of: &dyn Fn(&str) -> Option<Arc<CfOptions>>,
    ) -> Result<(VersionSet, Recovered)> {
        let tail = ManifestTail::read(&*fs, &dir)?;
        Self::at(&tail, fs, dir, obsolete, options_of)
    }

    /// The same as [`VersionSet::recover_to_read`], from a manifest that was already replayed.
    ///
    /// # Errors
    /// The same as [`VersionSet::recover`].
    pub fn at(
        tail: &ManifestTail,
        fs: Arc<dyn Fs>,
        dir: PathBuf,
        obsolete: Arc<ObsoleteFiles>,
        options_of: &dyn Fn(&str) -> Option<Arc<CfOptions>>,
    ) -> Result<(VersionSet, Recovered)> {
        let (replay, size) = (tail.replay.clone(), u64::MAX);
        Self::replayed(replay, fs, dir, size, obsolete, Unlisted::Skip, options_of)
    }

    fn replayed(
        replay: Replay,
        fs: Arc<dyn Fs>,
        dir: PathBuf,
        max_manifest_file_size: u64,
        obsolete: Arc<ObsoleteFiles>,
        unlisted: Unlisted,
        options_of: &dyn Fn(&str) -> Option<Arc<CfOptions>>,
    ) -> Result<(VersionSet, Recovered)> {
        let options = replay::check_options(&replay.families, unlisted, options_of)?;
        let next_file = replay.next_file_number();
        let last_sequence = replay.last_sequence();
        let path = filename::manifest(&dir, replay.manifest_number);
        let mut families = BTreeMap::new();
        for (id, replayed) in replay.families {
            let Some(options) = options.get(&id) else {
                continue; // skipped
            };
            let mut family = Family::new(id, &replayed.name, options, &dir);
            family.version.log_number = replayed.log_number;
            let files = family.finish(replayed.files, &obsolete);
            family.version.current = files.map_err(|e| e.in_file(&path, None))?;
            families.insert(id, family);
        }
        let recovered = Recovered {
            column_families: (families.iter())
                .map(|(id, f)| (*id, f.version.clone()))
                .collect(),
            last_sequence,
            min_log_number_to_keep: replay.min_log_number_to_keep,
            db_id: replay.db_id.clone(),
            tracked: replay.tracked.clone(),
        };
        let set = VersionSet {
            fs,
            dir,
            max_manifest_file_size,
            writes: unlisted == Unlisted::Refuse,
            statistics: None,
            obsolete,
            next_file: AtomicU64::new(next_file),
            manifest_number: AtomicU64::new(replay.manifest_number),
            max_column_family: AtomicU32::new(replay.max_column_family),
            min_log_number_to_keep: AtomicU64::new(replay.min_log_number_to_keep),
            next_epoch: Mutex::new(
                families
                    .iter()
                    .map(|(id, f)| (*id, f.next_epoch()))
                    .collect(),
            ),
            manifest: Mutex::new(Manifest {
                writer: None,
                paths: (families.iter())
                    .map(|(id, f)| (*id, f.open_with.paths.clone()))
                    .collect(),
                families,
                last_sequence,
                db_id: replay.db_id,
                tracked: replay.tracked,
                stale: Vec::new(),
                obsolete: Vec::new(),
                keep_obsolete: false,
                quarantine: Vec::new(),
            }),
        };
        Ok((set, recovered))
    }

    /// Allocates the next unused file number.
    pub fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Relaxed)
    }

    /// The next unused file number: no file has this number or a larger one yet.
    pub fn next_file_number(&self) -> u64 {
        self.next_file.load(Relaxed)
    }

    /// Makes sure that file numbers allocated from now on exceed `number`.
    pub fn mark_file_number_used(&self, number: u64) {
        self.next_file.fetch_max(number.saturating_add(1), Relaxed);
    }

    /// The number of the manifest in force.
    pub fn manifest_number(&self) -> u64 {
        self.manifest_number.load(Relaxed)
    }

    /// Makes the set time syncs of the manifest from now on.
    #[must_use]
    pub fn counting(mut self, statistics: Option<&Arc<Statistics>>) -> Self {
        self.statistics = statistics.cloned();
        self
    }

    /// Allocates the next epoch number for a level-0 table of column family `cf`.
    pub fn new_epoch_number(&self, cf: u32) -> u64 {
        match self.next_epoch.lock().get_mut(&cf) {
            Some(next) => {
                let epoch = *next;
                *next = epoch.saturating_add(1);
                epoch
            }
            // The column family was dropped in the meantime, so nothing will be recorded.
            None => 1,
        }
    }

    /// Allocates the id of a column family that is about to be added. Ids are never reused.
    ///
    /// # Errors
    /// `Aborted` when no id is left.
    pub fn new_column_family_id(&self) -> Result<u32> {
        self.max_column_family
            .fetch_update(Relaxed, Relaxed, |max| max.checked_add(1))
            .map(|max| max + 1)
            .map_err(|_| {
                let kind = whitewater_storage::ErrorKind::Aborted;
                Error::new(kind, "no id is left for another column family")
            })
    }

    /// The largest column family id ever used.
    pub fn max_column_family(&self) -> u32 {
        self.max_column_family.load(Relaxed)
    }

    /// The number below which logs may be deleted, as recorded in the manifest.
    pub fn min_log_number_to_keep(&self) -> u64 {
        self.min_log_number_to_keep.load(Relaxed)
    }

    /// Records `edits` (as an atomic group when there are several), syncs, builds the next versions
    /// and passes them to `install` while still holding the manifest lock; a dropped column family
    /// is not among them. `last_sequence` is written into the record. Rolls the manifest over when
    /// it has grown past its limit, and on the first call after open. Edits that add column
    /// families create them with the options in `new`, in this order.
    ///
    /// This call owns the files that edits add from its beginning. On an error, it retires them
    /// through the queue of obsolete files as soon as no manifest on disk can name them. The caller
    /// must not delete them.
    ///
    /// # Errors
    /// An error means that nothing was installed. After a failed append or sync the next call
    /// starts a new manifest, since the old one's tail is unknown.
    pub fn log_and_apply(
        &self,
        edits: Vec<VersionEdit>,
        last_sequence: SequenceNumber,
        new: &[Arc<CfOptions>],
        install: &mut dyn FnMut(&[CfVersion]),
    ) -> Result<()> {
        if !self.writes {
            return Err(Error::not_supported("writing the manifest of another"));
        }
        let mut guard = self.manifest.lock();
        let manifest = &mut *guard;
        let mut holds = self.hold_new(manifest, &edits);
        let change = self.prepare(manifest, edits, last_sequence, new)?;
        if let Err(e) = self.record(manifest, &change.edits) {
            manifest.writer = None;
            planted!(FailedEditForgotten => holds.clear());
            manifest.quarantine.append(&mut holds);
            return Err(e);
        }
        let installed = self.adopt(manifest, change);
        install(&installed);
        Ok(())
    }

    /// Keeps the files that `edits` add from being deleted.
    fn hold_new(&self, manifest: &Manifest, edits: &[VersionEdit]) -> Vec<FileHold> {
        let mut holds = Vec::new();
        for edit in edits {
            let known = manifest.paths.get(&edit.column_family).cloned();
            let paths = known.unwrap_or_else(|| DataPaths::new(&[], &self.dir));
            let tables = edit.new_files.iter();
            holds.extend(tables.map(|(_, f)| self.obsolete.hold(f.number, paths.dir(f.path_id))));
            let blobs = edit.blob_files.iter();
            holds.extend(blobs.map(|b| self.obsolete.hold_blob(b.number, paths.first())));
        }
        holds
    }

    /// Checks edits and builds the versions that they make. Nothing is written.
    fn prepare(
        &self,
        manifest: &Manifest,
        mut edits: Vec<VersionEdit>,
        last_sequence: SequenceNumber,
        new: &[Arc<CfOptions>],
    ) -> Result<Change> {
        if edits.is_empty() {
            edits.push(VersionEdit::default());
        }
        let grouped = edits.len() > 1;
        let last_sequence = last_sequence.max(manifest.last_sequence);
        let mut families: BTreeMap<u32, Option<Family>> = BTreeMap::new();
        let mut builders: BTreeMap<u32, VersionBuilder> = BTreeMap::new();
        let mut additions = Additions::new(manifest, new, &self.dir);
        for edit in &mut edits {
            let id = edit.column_family;
            edit.last_sequence = Some(last_sequence);
            if edit.is_about_logs() {
                edit.wal_additions
                    .retain(|(number, _)| manifest.tracked.counts(*number));
                continue; // readers ignore all other fields of such an edit
            }
            if edit.column_family_add.is_some() || edit.column_family_drop {
                if grouped && edit.column_family_drop {
                    return Err(Error::invalid("column family change in an atomic group"));
                }
                let family = if edit.column_family_drop {
                    drop_family(manifest, edit)?
                } else {
                    Some(additions.add(edit)?)
                };
                families.insert(id, family);
                continue;
            }
            if let Entry::Vacant(unchanged) = families.entry(id) {
                let known = manifest.families.get(&id);
                unchanged.insert(Some(known.ok_or_else(|| unknown_family(id))?.clone()));
            }
            let Some(Some(family)) = families.get_mut(&id) else {
                return Err(unknown_family(id));
            };
            if let Some(log) = &mut edit.log_number {
                *log = family.version.log_number.max(*log);
                family.version.log_number = *log;
            }
            edit.prev_log_number = Some(0);
            if let Some(low) = &edit.full_history_ts_low {
                check_history(&family.comparator, &family.version.current.history_low, low)?;
            }
            if changes_files(edit) || edit.full_history_ts_low.is_some() {
                let base = || VersionBuilder::on(family.version.current.clone());
                builders.entry(id).or_insert_with(base).apply(edit)?;
            }
        }
        for (id, builder) in builders {
            if let Some(Some(family)) = families.get_mut(&id) {
                family.version.current = family.finish(builder, &self.obsolete)?;
            }
        }
        Ok(Change {
            edits,
            families,
            last_sequence,
        })
    }

    /// Makes `edits` durable, in a new manifest if one is due.
    fn record(&self, manifest: &mut Manifest, edits: &[VersionEdit]) -> Result<()> {
        match &mut manifest.writer {
            Some(writer) if writer.len() < self.max_manifest_file_size => {
                let next_file = self.next_file.load(Relaxed);
                let max_cf = edits[0]
                    .column_family_drop
                    .then(|| self.max_column_family());
                write_edits(writer, edits, next_file, max_cf)?;
                self.sync(writer)
            }
            _ => self.roll_over(manifest, edits),
        }
    }

    fn sync(&self, writer: &mut LogWriter) -> Result<()> {
        let statistics = self.statistics.as_deref();
        let _timer = time(statistics, Histogram::ManifestFileSyncMicros);
        writer.sync()
    }

    /// Writes a new manifest (the state before `edits`, then `edits`) and puts it in force. The old
    /// manifests are deleted after that.
    fn roll_over(&self, manifest: &mut Manifest, edits: &[VersionEdit]) -> Result<()> {
        let number = self.new_file_number();
        let path = filename::manifest(&self.dir, number);
        let writer = match self.write_manifest(&path, manifest, edits) {
            Ok(writer) => writer,
            Err(e) => {
                // CURRENT does not name the new manifest, so a leftover is harmless.
                let _ = self.fs.remove(&path);
                return Err(e);
            }
        };
        if let Err(e) = set_current(&*self.fs, &self.dir, number) {
            manifest.stale.push(number);
            return Err(e);
        }
        manifest.writer = Some(writer);
        manifest
            .stale
            .push(self.manifest_number.swap(number, Relaxed));
        // `CURRENT` durably names the new one, so none of them is needed again.
        let stale = std::mem::take(&mut manifest.stale);
        manifest.obsolete.extend(stale);
        if !manifest.keep_obsolete {
            self.remove_obsolete(manifest);
        }
        manifest.quarantine.clear();
        Ok(())
    }

    /// Deletes obsolete manifests. One that cannot be deleted now is tried again at the next
    /// rollover.
    fn remove_obsolete(&self, manifest: &mut Manifest) {
        manifest.obsolete.retain(|number| {
            let path = filename::manifest(&self.dir, *number);
            matches!(self.fs.remove(&path), Err(e) if !e.is_missing_file())
        });
    }

    /// Sets whether obsolete manifests are kept. None is being deleted once this has returned with
    /// `true`; with `false` those that were kept are deleted.
    pub fn keep_obsolete_manifests(&self, keep: bool) {
        let mut manifest = self.manifest.lock();
        manifest.keep_obsolete = keep;
        if !keep {
            self.remove_obsolete(&mut manifest);
        }
    }

    fn write_manifest(
        &self,
        path: &Path,
        manifest: &Manifest,
        edits: &[VersionEdit],
    ) -> Result<LogWriter> {
        let file = self.fs.create(path)?;
        let writer = self.write_state(file, manifest, &manifest.tracked, edits)?;
        // The file's name must be durable before CURRENT can mention it.
        self.fs.sync_dir(&self.dir)?;
        Ok(writer)
    }

    /// The number of the manifest in force, how many of its bytes describe the current state, and
    /// the versions in it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn in_force(&self) -> Result<(u64, u64, Vec<Arc<Version>>)> {
        let manifest = self.manifest.lock();
        let number = self.manifest_number();
        let bytes = match &manifest.writer {
            Some(writer) => writer.len(),
            // None since a failed write, or since the opening.
            None => self.fs.file_size(&filename::manifest(&self.dir, number))?,
        };
        let versions = manifest.families.values();
        let versions = versions.map(|f| f.version.current.clone()).collect();
        Ok((number, bytes, versions))
    }

    /// Writes a manifest of the current state into a directory of `fs`, durably but for its name.
    /// Returns its number and the versions in it. Logs below `min_log` are not in that directory,
    /// and need not be.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write_copy(
        &self,
        fs: &dyn Fs,
        dir: &Path,
        min_log: u64,
    ) -> Result<(u64, Vec<Arc<Version>>)> {
        let manifest = self.manifest.lock();
        let number = self.manifest_number();
        let nothing_new = VersionEdit {
            last_sequence: Some(manifest.last_sequence),
            ..VersionEdit::default()
        };
        let mut tracked = manifest.tracked.clone();
        if !tracked.is_empty() {
            tracked.delete_below(min_log);
        }
        tracked.forget_missed();
        let path = filename::manifest(dir, number);
        self.write_state(fs.create(&path)?, &manifest, &tracked, &[nothing_new])?;
        let versions = manifest.families.values();
        Ok((
            number,
            versions.map(|f| f.version.current.clone()).collect(),
        ))
    }

    /// Writes a manifest of the state before `edits`, with the logs in `tracked`, then `edits`, to
    /// `file`, durably except for its name.
    fn write_state(
        &self,
        file: Box<dyn WritableFile>,
        manifest: &Manifest,
        tracked: &TrackedLogs,
        edits: &[VersionEdit],
    ) -> Result<LogWriter> {
        let mut writer = LogWriter::new(file, 0, false);
        if manifest.db_id.is_some() {
            let id = VersionEdit {
                db_id: manifest.db_id.clone(),
                ..VersionEdit::default()
            };
            writer.add_record(&[&id.encode()])?;
        }
        for edit in tracked.snapshot().iter().flatten() {
            writer.add_record(&[&edit.encode()])?;
        }
        let keep = self.min_log_number_to_keep();
        for family in manifest.families.values() {
            for edit in family.snapshot(keep, manifest.last_sequence) {
                writer.add_record(&[&edit.encode()])?;
            }
        }
        let next_file = self.next_file.load(Relaxed);
        write_edits(
            &mut writer,
            edits,
            next_file,
            Some(self.max_column_family()),
        )?;
        self.sync(&mut writer)?;
        Ok(writer)
    }

    /// Makes a recorded change the current state and returns the new versions.
    fn adopt(&self, manifest: &mut Manifest, change: Change) -> Vec<CfVersion> {
        manifest.last_sequence = change.last_sequence;
        for edit in &change.edits {
            manifest.tracked.apply(edit);
            if let Some(keep) = edit.min_log_number_to_keep {
                self.min_log_number_to_keep.fetch_max(keep, Relaxed);
            }
            if edit.db_id.is_some() {
                manifest.db_id.clone_from(&edit.db_id);
            }
        }
        planted!(InputsDeletedInUse => {
            let inputs = change.edits.iter().flat_map(|e| &e.deleted_files);
            let dir: Arc<Path> = Arc::from(self.dir.as_path());
            self.obsolete.put_back(inputs.map(|(_, number)| super::ObsoleteFile {
                number: *number,
                dir: dir.clone(),
            }));
        });
        let mut next_epoch = self.next_epoch.lock();
        let mut installed = Vec::new();
        for (id, family) in change.families {
            let Some(family) = family else {
                next_epoch.remove(&id);
                planted!(FamilyIdUsedAgain => self.max_column_family.fetch_min(id - 1, Relaxed));
                planted!(DroppedFamilyComesBack => continue);
                manifest.families.remove(&id);
                continue;
            };
            self.max_column_family.fetch_max(id, Relaxed);
            let next = next_epoch.entry(id).or_insert(1);
            *next = family.next_epoch().max(*next);
            installed.push(family.version.clone());
            manifest.paths.insert(id, family.open_with.paths.clone());
            manifest.families.insert(id, family);
        }
        installed
    }
}

impl Family {
    fn new(id: u32, name: &str, options: &CfOptions, dir: &Path) -> Self {
        let open_with = OpenWith::new(options, dir);
        Family {
            version: CfVersion {
                id,
                name: name.to_owned(),
                comparator: options.comparator.name().to_owned(),
                log_number: 0,
                current: Arc::new(Version::empty(options.num_levels, open_with.clone())),
            },
            comparator: InternalComparator::new(options.comparator.clone()),
            num_levels: options.num_levels,
            open_with,
        }
    }

    fn finish(
        &self,
        builder: VersionBuilder,
        obsolete: &Arc<ObsoleteFiles>,
    ) -> Result<Arc<Version>> {
        let with = self.open_with.clone();
        let version = builder.finish(&self.comparator, self.num_levels, with, obsolete)?;
        Ok(Arc::new(version))
    }

    fn next_epoch(&self) -> u64 {
        let files = self.version.current.levels.iter().flatten();
        let largest = files.map(|f| f.meta.epoch_number).max().unwrap_or(0);
        largest.saturating_add(1)
    }

    /// The edits that create this family from nothing.
    fn snapshot(&self, min_log: u64, last_sequence: SequenceNumber) -> [VersionEdit; 2] {
        let v = &self.version;
        let identity = VersionEdit {
            comparator: Some(v.comparator.clone()),
            column_family: v.id,
            column_family_add: (v.id != 0).then(|| v.name.clone()),
            ..VersionEdit::default()
        };
        let files = v
            .current
            .levels
            .iter()
            .enumerate()
            .flat_map(|(level, files)| {
                let described = move |f: &Arc<super::TableFile>| (level as u32, f.meta.clone());
                files.iter().map(described)
            });
        let blobs = &v.current.blobs;
        let mut content = VersionEdit {
            column_family: v.id,
            log_number: Some(v.log_number),
            new_files: files.collect(),
            blob_files: (blobs.iter()).map(|b| b.file.meta.clone()).collect(),
            blob_garbage: blobs.iter().filter_map(|b| b.garbage()).collect(),
            min_log_number_to_keep: (v.id == 0 && min_log > 0).then_some(min_log),
            last_sequence: Some(last_sequence),
            full_history_ts_low: (!v.current.history_low.is_empty())
                .then(|| v.current.history_low.clone()),
            ..VersionEdit::default()
        };
        planted!(PathForgotten => {
            content.new_files.iter_mut().for_each(|(_, f)| f.path_id = 0);
        });
        [identity, content]
    }
}

/// Whether `edit` leads to a new version.
fn changes_files(edit: &VersionEdit) -> bool {
    !edit.new_files.is_empty()
        || !edit.deleted_files.is_empty()
        || !edit.blob_files.is_empty()
        || !edit.blob_garbage.is_empty()
}

/// Refuses to move the limit of the history back.
fn check_history(comparator: &InternalComparator, current: &[u8], low: &[u8]) -> Result<()> {
    if !current.is_empty() && comparator.user.compare_timestamps(low, current).is_lt() {
        return Err(Error::invalid(format_args!(
            "Current full_history_ts_low: {current:02x?} is higher than provided ts: {low:02x?}"
        )));
    }
    Ok(())
}

/// Appends `edits`, as an atomic group when there are several.
fn write_edits(
    writer: &mut LogWriter,
    edits: &[VersionEdit],
    next_file: u64,
    max_column_family: Option<u32>,
) -> Result<()> {
    let start = writer.len();
    for (i, edit) in edits.iter().enumerate() {
        let mut edit = edit.clone();
        edit.next_file_number = Some(next_file);
        if i == 0 {
            edit.max_column_family = max_column_family;
        }
        if edits.len() > 1 {
            edit.remaining_in_group = Some((edits.len() - 1 - i) as u32);
            edit.group_start = Some(start);
        }
        writer.add_record(&[&edit.encode()])?;
    }
    Ok(())
}

fn unknown_family(id: u32) -> Error {
    Error::new(
        whitewater_storage::ErrorKind::ColumnFamilyDropped,
        format_args!("column family {id}"),
    )
}

fn drop_family(manifest: &Manifest, edit: &VersionEdit) -> Result<Option<Family>> {
    let id = edit.column_family;
    if id == 0 {
        return Err(Error::invalid("Can't drop default column family"));
    }
    if manifest.families.contains_key(&id) {
        Ok(None)
    } else {
        Err(unknown_family(id))
    }
}

/// The column families that a change adds.
struct Additions<'a> {
    manifest: &'a Manifest,
    /// The names of all column families, once one has been added.
    names: HashSet<String>,
    /// The options of those that are still to come.
    options: std::slice::Iter<'a, Arc<CfOptions>>,
    dir: &'a Path,
}

impl<'a> Additions<'a> {
    fn new(manifest: &'a Manifest, options: &'a [Arc<CfOptions>], dir: &'a Path) -> Self {
        Additions {
            manifest,
            names: HashSet::new(),
            options: options.iter(),
            dir,
        }
    }

    fn add(&mut self, edit: &mut VersionEdit) -> Result<Family> {
        let (id, name) = (edit.column_family, edit.column_family_add.clone());
        let (Some(name), Some(options)) = (name, self.options.next()) else {
            return Err(Error::invalid("a column family is added without options"));
        };
        if self.names.is_empty() {
            let known = self.manifest.families.values();
            self.names.extend(known.map(|f| f.version.name.clone()));
        }
        if self.manifest.families.contains_key(&id) || !self.names.insert(name.clone()) {
            return Err(Error::invalid("Column family already exists"));
        }
        let mut family = Family::new(id, &name, options, self.dir);
        family.version.log_number = edit.log_number.unwrap_or(0);
        edit.comparator = Some(family.version.comparator.clone());
        Ok(family)
    }
}

#[cfg(test)]
mod tests;
