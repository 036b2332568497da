//! Making a database usable again when its CURRENT or manifest is lost or damaged.
//!
//! Each table says itself which column family it belongs to, so a manifest can be made from
//! what is in the directory:
//!
//! 1. Every table is read completely. Damaged ones are left out.
//! 2. The logs are written as tables. Damaged records are left out.
//! 3. Tables whose key ranges overlap are merged, entry by entry, unless one of them is
//!    newer than the other as a whole: level 0, where all tables go, is read newest table
//!    first.
//! 4. A new manifest names the tables, and CURRENT names that manifest.
//! 5. Files that were left out or replaced are moved to the directory `lost`.
//!
//! * Q1: no existing file is changed or moved before the new manifest is in force. Files
//!   that a repair wrote before that are found again by another repair.
//! * Q2: entries are copied, never folded or dropped, except for copies of the same entry.
//!   So a repair that finds tables of another repair beside their sources sees each entry
//!   once.
//! * Q3: no table is accepted with an age or a column family that is a guess.
//! * Q4: a database that lacks nothing keeps all its values, and gets no others.
//! * Q5: every guess is in the info log, after "Repair: guess:".
//!
//! The old manifest is the one that CURRENT names, or else the newest that has an edit after the
//! tables that it begins with: one without was perhaps never finished. It is needed as far
//! as it can be read: the same entry can be in a log as it was written, and in a table
//! folded with others or with the number 0, so that the two cannot be recognized as the
//! same entry. If all tables that the manifest names exist, then
//! * logs are left out that a column family no longer needs according to the manifest. That
//!   holds even if the manifest has lost its end: what was flushed stays flushed.
//! * tables that it gave up are left out, and tables that it never named, which are
//!   leftovers of a flush or compaction that did not finish. But a table counts if it has
//!   entries that neither the manifest's tables nor the logs hold, as the manifest may have
//!   lost its end (a guess).
//!
//! If tables are missing or damaged, or there is no manifest, everything that exists counts
//! (a guess). This includes tables that a compaction has replaced, so that what it dropped
//! may come back, and what it folded may count twice; and logs whose entries may be in
//! tables, too. RocksDB reads no old manifest, and always does this.
//!
//! A table that was ingested has entries with the number 0. The number that they count as,
//! and their column family, are in the manifest. An ingested table that no manifest names
//! is moved to `lost` unchanged, and can be ingested again. RocksDB treats such tables as
//! older than all others, and assigns them to the default column family or to the one they
//! were written for.
//!
//! Prepared transactions on which no log decides are not applied. They are logged again in a new
//! log, the only one that the new manifest needs, and so stay prepared. One whose decision was in a
//! record that is damaged stays prepared, too.
//!
//! Records after damage in a log count, even after a gap that the death of the process
//! left, where opening the database stops.
//!
//! A table's values in blob files are checked, too; what cannot be read is lost, value by value
//! (`blobs`).
//!
//! `tables` reads the tables, `logs` writes the logs as tables, `sections` keeps prepared
//! transactions, `old` reads the old manifests.

mod blobs;
mod logs;
mod old;
mod sections;
mod tables;

use super::Engine;
use super::missed_logs::{Places, move_to_lost};
use super::open::{DEFAULT_CF, check_dir};
use super::read_only::identity;
use crate::info_log::{InfoLog, dump};
use crate::options::{CfOptions, DbOptions};
use crate::read::merging::merging_iterator;
use crate::session_id::new_session_id;
use crate::snapshots::Live;
use crate::table_writer::{MAX_INDEX_SIZE, OutputContext, OutputSpec, write_verbatim};
use crate::version::ObsoleteFiles;
use crate::version::paths::DataPaths;
use crate::version::set::{NeededLogs, VersionSet};
use blobs::{FoundBlobs, KeptBlobs};
use logs::Span;
use old::{OldManifest, Recorded};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tables::FoundTable;
use whitewater_storage::batch::replay::ReplayedSections;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::{InternalComparator, SequenceNumber};
use whitewater_storage::manifest::{FileMetaData, VersionEdit, read_current, set_current};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{External, IoPriority};
use whitewater_storage::wal::LogWriter;
use whitewater_storage::{Error, ErrorKind, Result};

/// A column family as the repair has found it.
#[derive(Debug, Default)]
struct FoundFamily {
    name: String,
    tables: Vec<FoundTable>,
}

struct Repair<'a> {
    fs: Arc<dyn Fs>,
    dir: &'a Path,
    wal_dir: PathBuf,
    /// Where the tables of all column families are.
    paths: DataPaths,
    db: &'a DbOptions,
    options: &'a CfOptions,
    comparator: InternalComparator,
    log: InfoLog,
    /// Allocates file numbers, and does nothing else.
    numbers: VersionSet,
    db_id: String,
    session_id: String,
    families: BTreeMap<u32, FoundFamily>,
    /// The manifest that CURRENT names; if that cannot be read, the newest one that was finished,
    /// or else the newest one that can be read.
    old: OldManifest,
    /// The other manifests, newest first.
    older: Vec<OldManifest>,
    /// Whether all tables that `old` names exist.
    complete: bool,
    /// For each column family with tables, the number of the newest entry there that was
    /// not ingested.
    in_tables: BTreeMap<u32, SequenceNumber>,
    /// The numbers that the logs hold, once they were needed.
    logged: Option<Vec<Span>>,
    last_sequence: SequenceNumber,
    /// The transactions that were met in the logs and are not decided.
    sections: ReplayedSections,
    /// The last number read from the logs.
    read_to: SequenceNumber,
    /// The blob files.
    blobs: Arc<FoundBlobs>,
    /// Files that are to be moved to `lost`.
    lost: Vec<PathBuf>,
}

impl Engine {
    /// Repairs the database in `dir`; all its column families have `cf_options`.
    ///
    /// # Errors
    /// `IOError` when there is no such directory, when the database is open, and for
    /// failures of the file system; `InvalidArgument` for options that cannot be honoured,
    /// for tables in another key order, and for files in directories that the options do not name.
    pub fn repair(dir: &Path, options: &DbOptions, cf_options: &CfOptions) -> Result<()> {
        check_dir(dir)?;
        options.validate()?;
        let mut cf_options = cf_options.clone();
        options.inform(&mut cf_options);
        let cf_options = &cf_options;
        cf_options.validate()?;
        options.check_family(cf_options)?;
        let fs = options.fs.clone();
        fs.list(dir)?;
        let _lock = fs.lock(&filename::lock(dir))?;
        let wal_dir = options.wal_dir.clone().unwrap_or_else(|| dir.to_path_buf());
        // Refused here, because logs that the repair does not find count for nothing after
        // it.
        Places::find(&*fs, dir, &wal_dir)?.check(NeededLogs::ALL)?;
        let log = InfoLog::create(&fs, dir, options);
        let wanted = BTreeMap::from([(DEFAULT_CF.to_owned(), Arc::new(cf_options.clone()))]);
        dump::opening(&log, options, &wanted);
        let mut repair = Repair {
            wal_dir,
            dir,
            paths: DataPaths::new(&cf_options.paths, dir),
            db: options,
            options: cf_options,
            comparator: InternalComparator::new(cf_options.comparator.clone()),
            log,
            numbers: numbers()?,
            db_id: String::new(),
            session_id: new_session_id(),
            families: BTreeMap::new(),
            old: OldManifest::default(),
            older: Vec::new(),
            complete: false,
            in_tables: BTreeMap::new(),
            logged: None,
            last_sequence: 0,
            sections: ReplayedSections::default(),
            read_to: 0,
            blobs: Arc::default(),
            lost: Vec::new(),
            fs,
        };
        let outcome = repair.run();
        if let Err(e) = &outcome {
            repair.log.write(&format!("Repair failed: {e}"));
        }
        outcome
    }
}

/// A version set that belongs to no database, used to allocate numbers.
fn numbers() -> Result<VersionSet> {
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    let dir = Path::new("/numbers");
    fs.create_dir_all(dir)?;
    VersionSet::create_database(&fs, dir, "")?;
    let obsolete = Arc::new(ObsoleteFiles::default());
    let default = |_: &str| Some(Arc::default());
    let (set, _) = VersionSet::recover(fs, dir.to_path_buf(), u64::MAX, obsolete, &default)?;
    Ok(set)
}

impl Repair<'_> {
    fn run(&mut self) -> Result<()> {
        let (tables, logs) = self.find_files()?;
        self.sections = ReplayedSections::new(self.numbering_of(&logs)?);
        self.db_id = match &self.old.db_id {
            Some(id) => id.clone(),
            None => identity(&*self.fs, self.dir),
        };
        self.families = self.old.families();
        let default = self.families.entry(0).or_default();
        DEFAULT_CF.clone_into(&mut default.name);
        self.last_sequence = self.old.last_sequence;
        self.scan_tables(&tables, &logs)?;
        self.note_what_is_in_tables()?;
        for number in &logs {
            self.convert_log(*number)?;
        }
        let mut replaced = Vec::new();
        let mut families = std::mem::take(&mut self.families);
        for (id, family) in &mut families {
            self.arrange(*id, family, &mut replaced)?;
        }
        let blobs = self.settle_blobs(&mut families, &mut replaced)?;
        self.fs.sync_dir(self.paths.first())?;
        let blob_files: usize = blobs.values().map(|kept| kept.files.len()).sum();
        let kept = self.keep_sections()?;
        self.write_manifest(&families, blobs, &logs, kept)?;
        self.lost.extend(replaced);
        self.move_lost()?;
        let tables: usize = families.values().map(|family| family.tables.len()).sum();
        self.log.write(&format!(
            "Repaired: {} column families, {tables} tables, {blob_files} blob files, last sequence number {}, {} files lost",
            families.len(),
            self.last_sequence,
            self.lost.len()
        ));
        Ok(())
    }

    /// Returns the existing tables and logs, ascending. Reads the old manifests.
    fn find_files(&mut self) -> Result<(Vec<PathBuf>, Vec<u64>)> {
        let (mut tables, mut logs, mut manifests) = (Vec::new(), Vec::new(), Vec::new());
        let mut blobs = Vec::new();
        self.find_tables_elsewhere(&mut tables, &mut blobs)?;
        for name in self.fs.list(self.dir)? {
            let Some(ty) = filename::parse(&name) else {
                continue;
            };
            if ty
                .number()
                .is_some_and(|n| n > filename::MAX_NUMBER_AT_OPEN)
            {
                let e = Error::corruption("file number out of range");
                return Err(e.in_file(&self.dir.join(&name), None));
            }
            match ty {
                FileType::Table(number) => {
                    let path = self.dir.join(&name);
                    self.path_id_of(&path)?;
                    tables.push((number, path));
                }
                FileType::Manifest(number) => manifests.push(number),
                FileType::Wal(_) if self.wal_dir != self.dir => continue,
                FileType::Wal(_) => {}
                FileType::Blob(number) => {
                    blobs.push((number, self.blob_file_in(self.dir, number)?));
                }
                FileType::Options(number) | FileType::Temp(number) => {
                    self.numbers.mark_file_number_used(number);
                    continue;
                }
                _ => continue,
            }
        }
        for name in self.fs.list(&self.wal_dir)? {
            if let Some(FileType::Wal(number)) = filename::parse(&name) {
                if number > filename::MAX_NUMBER_AT_OPEN {
                    let e = Error::corruption("file number out of range");
                    return Err(e.in_file(&self.wal_dir.join(&name), None));
                }
                logs.push(number);
            }
        }
        tables.sort();
        tables.dedup_by(|again, first| {
            let same = again.0 == first.0 && again.1.parent() != first.1.parent();
            if same {
                // Two paths have a table with this number.
                self.lost.push(again.1.clone());
            }
            same
        });
        logs.sort_unstable();
        manifests.sort_unstable();
        let all = tables.iter().map(|(number, _)| number);
        for number in all.chain(&logs).chain(&manifests) {
            self.numbers.mark_file_number_used(*number);
        }
        self.read_manifests(&manifests)?;
        blobs.sort();
        self.open_blobs(&blobs)?;
        Ok((tables.into_iter().map(|(_, path)| path).collect(), logs))
    }

    /// Adds the tables and blob files in other directories than the database's.
    ///
    /// # Errors
    /// `InvalidArgument` for blob files in another path than the first; `Corruption` for numbers
    /// out of range; those of the file system.
    fn find_tables_elsewhere(
        &self,
        tables: &mut Vec<(u64, PathBuf)>,
        blobs: &mut Vec<(u64, PathBuf)>,
    ) -> Result<()> {
        let dirs: BTreeSet<&Path> = self.paths.dirs().map(|dir| &**dir).collect();
        for dir in dirs.into_iter().filter(|dir| *dir != self.dir) {
            for name in self.fs.list(dir)? {
                let path = dir.join(&name);
                match filename::parse(&name) {
                    Some(FileType::Table(n) | FileType::Blob(n))
                        if n > filename::MAX_NUMBER_AT_OPEN =>
                    {
                        let e = Error::corruption("file number out of range");
                        return Err(e.in_file(&path, None));
                    }
                    Some(FileType::Table(number)) => tables.push((number, path)),
                    Some(FileType::Blob(number)) => {
                        blobs.push((number, self.blob_file_in(dir, number)?));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The path of blob file `number`, which was found in `dir`.
    ///
    /// # Errors
    /// `InvalidArgument` if that is not the first path: no manifest could name it.
    fn blob_file_in(&self, dir: &Path, number: u64) -> Result<PathBuf> {
        let path = filename::blob(dir, number);
        if dir == &**self.paths.first() {
            return Ok(path);
        }
        let what = "the directory of the blob file is not the first of db_paths or cf_paths";
        Err(Error::invalid(what).in_file(&path, None))
    }

    /// The id of the path that the table `table` is in.
    ///
    /// # Errors
    /// `InvalidArgument` if it is in none: no manifest could name it.
    fn path_id_of(&self, table: &Path) -> Result<u32> {
        let mut dirs = self.paths.dirs();
        let id = dirs.position(|dir| table.parent() == Some(&**dir));
        let id = id.ok_or_else(|| {
            Error::invalid("the directory of the table is not among db_paths or cf_paths")
                .in_file(table, None)
        })?;
        Ok(id as u32)
    }

    /// Reads the old manifests, whose numbers are ascending.
    fn read_manifests(&mut self, numbers: &[u64]) -> Result<()> {
        let current = match read_current(&*self.fs, self.dir) {
            Ok(path) => Some(path),
            Err(e) if e.is_missing_file() || is_damage(e.kind()) => None,
            Err(e) => return Err(e),
        };
        let mut all = Vec::new();
        for number in numbers.iter().rev() {
            let path = filename::manifest(self.dir, *number);
            let mut manifest = OldManifest::read(&*self.fs, &path, &self.log)?;
            manifest.number = *number;
            manifest.in_force = current.as_ref() == Some(&path);
            all.push(manifest);
            self.lost.push(path);
        }
        let in_force = all.iter().position(|m| m.in_force && m.is_known());
        // A manifest that was never in force may be a part of what it was to begin with.
        let complete = || all.iter().position(|m| m.goes_on);
        let newest = || all.iter().position(OldManifest::is_known);
        if let Some(at) = in_force.or_else(complete).or_else(newest) {
            self.old = all.remove(at);
        }
        self.older = all;
        Ok(())
    }

    fn note_what_is_in_tables(&mut self) -> Result<()> {
        for (id, family) in &self.families {
            for found in &family.tables {
                let newest = self.in_tables.entry(*id).or_default();
                if found.table.properties().external()? == External::No {
                    *newest = found.meta.largest_seqno.max(*newest);
                }
            }
        }
        Ok(())
    }

    /// What the newest manifest that names table `number` of `size` bytes says of it. The
    /// newest manifest of all may be one that was never finished.
    fn recorded(&self, number: u64, size: u64) -> Option<Recorded> {
        let newest_first = std::iter::once(&self.old).chain(&self.older);
        newest_first.into_iter().find_map(|m| m.table(number, size))
    }

    fn family(&mut self, id: u32, name: &str) -> &mut FoundFamily {
        let family = self.families.entry(id).or_default();
        if family.name.is_empty() {
            name.clone_into(&mut family.name);
        }
        family
    }

    /// Merges tables of a column family so that, wherever two of them overlap, the one with
    /// the larger last number is newer as a whole. Tables with lost values are written again, too.
    fn arrange(
        &self,
        id: u32,
        family: &mut FoundFamily,
        replaced: &mut Vec<PathBuf>,
    ) -> Result<()> {
        let found = std::mem::take(&mut family.tables);
        for group in tables::overlapping(found, &self.comparator) {
            if tables::are_in_order(&group) && group.iter().all(|t| t.lost.is_empty()) {
                family.tables.extend(group);
                continue;
            }
            let mut newest_first: Vec<&FoundTable> = group.iter().collect();
            newest_first.sort_by_key(|t| std::cmp::Reverse((t.meta.largest_seqno, t.meta.number)));
            let sources = newest_first.iter().map(|t| t.entries()).collect();
            let tombstones: Vec<RangeTombstone> = group
                .iter()
                .flat_map(|t| t.table.range_tombstones().iter().cloned())
                .collect();
            let source = merging_iterator(self.comparator.clone(), sources);
            let written = self.write(id, &family.name, source, tombstones)?;
            self.log.write(&format!(
                "Repair: {} tables of [{}] that overlap or have lost values became {}",
                group.len(),
                family.name,
                written.len()
            ));
            replaced.extend(group.into_iter().map(|t| t.path));
            family.tables.extend(written);
        }
        family
            .tables
            .sort_by_key(|t| (t.meta.largest_seqno, t.meta.number));
        Ok(())
    }

    /// Writes entries and range tombstones unchanged.
    fn write(
        &self,
        id: u32,
        name: &str,
        source: BoxedIterator,
        tombstones: Vec<RangeTombstone>,
    ) -> Result<Vec<FoundTable>> {
        let ctx = OutputContext {
            fs: &self.fs,
            paths: &self.paths,
            versions: &self.numbers,
            db: self.db,
            options: self.options,
            comparator: &self.comparator,
            cf_id: id,
            cf_name: name,
            db_id: &self.db_id,
            session_id: &self.session_id,
            live: &Live::default(),
            limiter: None,
            gate: None,
            now: self.db.clock.now(),
            cancel: &AtomicBool::new(false),
        };
        let spec = OutputSpec {
            level: 0,
            flush: false,
            priority: IoPriority::Low,
            bottommost: false,
            path_id: 0,
            compression: self.options.flush_compression(),
            max_file_size: self.options.target_file_size(1),
            max_index_size: MAX_INDEX_SIZE,
            epoch_number: 0,
            oldest_ancester_time: 0,
            inline_below: 0,
            grandparents: &[],
            history_low: &[],
            history_upto: &[],
        };
        let files = write_verbatim(&ctx, &spec, source, tombstones)?;
        let open = |meta: FileMetaData| {
            let path = self.paths.table(&meta);
            FoundTable::reopen(&*self.fs, path, meta, &self.comparator)
        };
        files.into_iter().map(open).collect()
    }

    /// Puts a manifest in force that names the tables of `families`, which hold what is in
    /// `logs`, their blob files `blobs`, and the logs `kept`.
    fn write_manifest(
        &self,
        families: &BTreeMap<u32, FoundFamily>,
        mut blobs: BTreeMap<u32, KeptBlobs>,
        logs: &[u64],
        kept: Option<NeededLogs>,
    ) -> Result<()> {
        let number = self.numbers.new_file_number();
        let needed = kept.unwrap_or(NeededLogs {
            first: number,
            kept: number,
        });
        let path = filename::manifest(self.dir, number);
        let largest_family = families.keys().max().copied().unwrap_or(0);
        let mut edits = vec![VersionEdit {
            db_id: (!self.db_id.is_empty()).then(|| self.db_id.clone()),
            max_column_family: Some(largest_family.max(self.old.max_column_family)),
            ..VersionEdit::default()
        }];
        edits.extend(self.old.missed_but(logs));
        for (id, family) in families {
            edits.push(VersionEdit {
                comparator: Some(self.comparator.user.name().to_owned()),
                column_family: *id,
                column_family_add: (*id != 0).then(|| family.name.clone()),
                ..VersionEdit::default()
            });
            let files = family.tables.iter().zip(1..).map(|(table, epoch)| {
                let meta = FileMetaData {
                    epoch_number: epoch,
                    ..table.meta.clone()
                };
                (0, meta)
            });
            let blobs = blobs.remove(id).unwrap_or_default();
            edits.push(VersionEdit {
                column_family: *id,
                blob_files: blobs.files,
                blob_garbage: blobs.garbage,
                // No other log is needed.
                log_number: Some(needed.first),
                min_log_number_to_keep: (*id == 0).then_some(needed.kept),
                new_files: files.collect(),
                ..VersionEdit::default()
            });
        }
        // Another repair sees by this edit that all tables are named.
        edits.push(VersionEdit {
            next_file_number: Some(number + 1),
            last_sequence: Some(self.last_sequence),
            ..VersionEdit::default()
        });
        let mut writer = LogWriter::new(self.fs.create(&path)?, 0, false);
        for edit in &edits {
            writer.add_record(&[&edit.encode()])?;
        }
        writer.sync()?;
        self.fs.sync_dir(self.dir)?;
        set_current(&*self.fs, self.dir, number)
    }

    /// Upholds Q1: called when the new manifest is in force.
    fn move_lost(&self) -> Result<()> {
        for path in &self.lost {
            match move_to_lost(&*self.fs, path) {
                Err(e) if e.is_missing_file() => {}
                moved => {
                    let name = moved?;
                    self.log.write(&format!("Repair: moved {}", name.display()));
                }
            }
        }
        Ok(())
    }
}

/// Whether an error concerns the content of a file, not the reading of it.
fn is_damage(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Corruption | ErrorKind::NotSupported)
}
