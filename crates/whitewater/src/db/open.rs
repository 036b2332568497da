//! Opening, listing and destroying databases.

use super::Engine;
use super::archive;
use super::commit_path::CommitPath;
use super::data_dirs::{self, DataDirs};
use super::direct_io;
use super::files::{Files, Opened};
use super::internal_stats::db_text::{DbStats, Figures};
use super::missed_logs::{self, Logs, Places};
use super::observers::Observers;
use super::obsolete_files::{Needed, remove_leftovers};
use super::reader::Role;
use super::recover::{LogReplay, Replayed, Tables};
use super::stalls::DbStall;
use super::state::{CfState, DbState};
use super::trim_history::check_time;
use super::two_phase::{self, PreparedSection};
use crate::column_family::ColumnFamilyData;
use crate::db::background::{self, Background};
use crate::info_log::{InfoLog, dump};
use crate::memtable::{Home, Memtable};
use crate::options::paths::DbPath;
use crate::options::{CfOptions, DbOptions};
use crate::rate_limiter::Client;
use crate::session_id::{new_session_id, new_uuid};
use crate::slow_operations::SlowOperations;
use crate::snapshots::SnapshotList;
use crate::sst_file_manager::files::{TrackedFs, remove_trash};
use crate::sst_file_manager::trash::is_trash;
use crate::trace;
use crate::version::new_tables::NewTables;
use crate::version::set::{CfVersion, Recovered, VersionSet};
use crate::version::table_cache::{FileReads, OpenWith, TableCache};
use crate::version::tracked::TrackedLogs;
use crate::version::{ObsoleteFiles, TableFile};
use crate::write::generation::{End, Generation};
use crate::write::wal::{Wal, WalOptions};
use crate::write_buffer_manager::{BudgetClient, Flusher};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::names::NamesFs;
use whitewater_storage::fs::{Fs, read_file, write_file_atomically};
use whitewater_storage::key::InternalComparator;
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::planted;
use whitewater_storage::sst::CompressionType;
use whitewater_storage::wal::Segment;
use whitewater_storage::{Error, Result};

/// The column family that every database has.
pub(crate) const DEFAULT_CF: &str = "default";

/// `fs` of the database in `dir`, of which the manager of files knows, if there is one. The caller
/// holds the lock file. What slow deletions have left is deleted.
fn with_manager(
    fs: Arc<dyn Fs>,
    dir: &Path,
    options: &DbOptions,
) -> (Arc<dyn Fs>, Option<Arc<TrackedFs>>) {
    let Some(manager) = &options.sst_file_manager else {
        remove_trash(&*fs, dir);
        return (fs, None);
    };
    let statistics = options.statistics.clone();
    let tracked = Arc::new(TrackedFs::new(fs, dir, manager.clone(), statistics));
    (tracked.clone(), Some(tracked))
}

/// The column families that the caller asked for: options by name.
pub(super) type Wanted = BTreeMap<String, Arc<CfOptions>>;

impl Engine {
    /// Opens the database in `dir` with the listed column families; "default" is added if
    /// it is not among them.
    ///
    /// # Errors
    /// `InvalidArgument` for options that cannot be honoured, a database that does not
    /// exist (or that exists, with `error_if_exists`), and column families that exist but
    /// are not listed or are listed but do not exist; `IOError` when the lock is held
    /// already; `Corruption` naming file and offset; `NotSupported` for a database with prepared
    /// transactions, without `allow_2pc`, which it leaves as it is.
    pub fn open(
        dir: &Path,
        options: DbOptions,
        column_families: Vec<(String, CfOptions)>,
    ) -> Result<Arc<Engine>> {
        Self::open_upto(dir, options, column_families, None)
    }

    /// [`Engine::open`] which removes from column families with timestamps what is newer than
    /// `upto`, if that is set.
    ///
    /// # Errors
    /// Those of [`Engine::open`]; `InvalidArgument` for a time that the keys cannot have.
    // Long: the steps of an opening, in their order.
    pub fn open_upto(
        dir: &Path,
        options: DbOptions,
        column_families: Vec<(String, CfOptions)>,
        upto: Option<&[u8]>,
    ) -> Result<Arc<Engine>> {
        check_dir(dir)?;
        let _span = trace::opening(dir);
        let wanted = check_wanted(&options, column_families)?;
        if let Some(upto) = upto {
            check_time(&wanted, upto)?;
        }
        // New for each opening: directory syncs that failed in an earlier one no longer
        // count.
        let names = Arc::new(NamesFs::new(options.fs.clone()));
        let fs: Arc<dyn Fs> = names.clone();
        // Checked before anything is created, and again under the lock, since another
        // process may have created the database meanwhile.
        check_existence(&*fs, dir, &options)?;
        fs.create_dir_all(dir)?;
        let wal_dir = options.wal_dir.clone().unwrap_or_else(|| dir.to_path_buf());
        fs.create_dir_all(&wal_dir)?;
        let lock = fs.lock(&filename::lock(dir))?;
        // These are the directories that are synced later, even if they are renamed
        // meanwhile.
        names.hold(dir)?;
        names.hold(&wal_dir)?;
        let (fs, tracked) = with_manager(fs, dir, &options);
        let data_dirs = DataDirs::new(names, tracked);
        let exists = check_existence(&*fs, dir, &options)?;
        direct_io::check(&*fs, dir, &options)?;
        let log = InfoLog::create(&fs, dir, &options);
        dump::opening(&log, &options, &wanted);
        let places = Places::find(&*fs, dir, &wal_dir)?;
        for family in wanted.values() {
            data_dirs.prepare(dir, &family.paths)?;
        }
        for path in data_dirs.all() {
            direct_io::check(&*fs, &path, &options)?;
        }
        let identity = load_identity(&*fs, dir)?;
        let has_identity = identity.is_some();
        let db_id = identity.unwrap_or_else(|| new_uuid().to_string());
        if !exists {
            data_dirs.check_empty()?;
            VersionSet::create_database(&fs, dir, &db_id)?;
            log.write("Created a new database");
        }

        let obsolete = Arc::new(ObsoleteFiles::default());
        if options.archives_logs() {
            fs.create_dir_all(&filename::archive(&wal_dir))?;
        }
        let (versions, recovered) = VersionSet::recover(
            fs.clone(),
            dir.to_path_buf(),
            options.max_manifest_file_size,
            obsolete.clone(),
            &|name| wanted.get(name).cloned(),
        )?;
        check_tables_present(&*fs, &recovered)?;
        if options.track_and_verify_wals_in_manifest {
            recovered.tracked.verify(&*fs, &wal_dir)?;
        }
        let logs = if exists {
            places.check(recovered.needed_logs())?
        } else {
            Logs::Found
        };
        let moved = places.have_changed() || logs == Logs::Missed;
        let missing = missing_families(&options, &wanted, &recovered)?;
        // The manifest's id is the authority; IDENTITY is a copy for people.
        let db_id = recovered.db_id.clone().unwrap_or(db_id);
        let budget_client = options.budget().map(BudgetClient::new);
        let statistics = options.statistics.clone();
        let opening = Opening {
            fs,
            data_dirs,
            dir,
            wal_dir,
            limiter: options.limiter(),
            options,
            wanted,
            db_id: db_id.clone(),
            info_log: log,
            versions: versions.counting(statistics.as_ref()),
            obsolete,
            budget_client,
            logs,
            moved,
        };
        let (engine, unprepared) = opening.finish(recovered, lock)?;
        // Last, so that an opening that fails does not make a copy a database of its own
        // (`missed_logs`).
        let started = if has_identity {
            Ok(())
        } else {
            write_identity(&*engine.files.fs, dir, &db_id)
        };
        let started = started.and_then(|()| {
            // No thread is there yet that would end a stall.
            engine.commit.gate.set_open(true);
            engine.roll_back_unprepared(unprepared)?;
            engine.commit.gate.set_open(false);
            Ok(())
        });
        if let Err(e) = started.and_then(|()| engine.start(missing, upto)) {
            // Threads may be running and hold the engine, and so the lock.
            engine.close();
            return Err(e);
        }
        Ok(engine)
    }

    /// The steps of an opening that need the engine.
    fn start(
        self: &Arc<Self>,
        missing: Vec<(String, Arc<CfOptions>)>,
        upto: Option<&[u8]>,
    ) -> Result<()> {
        self.start_events()?;
        if missing.is_empty() {
            self.write_options_file();
        } else {
            self.add_cfs(missing)?;
        }
        if let Some(upto) = upto {
            self.trim_history(upto)?;
        }
        self.set_log_limit(&self.lock_state());
        self.start_scrubbing()?;
        background::start(self)
    }

    /// Returns the names of the column families of the database in `dir`.
    pub fn list_column_families(dir: &Path, options: &DbOptions) -> Result<Vec<String>> {
        check_dir(dir)?;
        crate::version::set::list_column_families(&*options.fs, dir)
    }

    /// Removes the files of the database in `dir`, and all tables and blob files in `db_paths` and
    /// the `cf_paths` of `family`, then the directories if nothing else is in them. Succeeds if
    /// there is no database.
    ///
    /// # Errors
    /// `IOError` when the database is open or one of its directories cannot be read;
    /// `InvalidArgument` for an empty path.
    pub fn destroy(dir: &Path, options: &DbOptions, family: &CfOptions) -> Result<()> {
        check_dir(dir)?;
        let fs = &*options.fs;
        if !fs.exists(dir)? {
            return Ok(());
        }
        let lock = fs.lock(&filename::lock(dir))?;
        let paths = options.db_paths.iter().chain(&family.cf_paths);
        for DbPath { path, .. } in paths.filter(|p| p.path != dir) {
            data_dirs::destroy(fs, path)?;
        }
        let mut dirs = vec![dir.to_path_buf()];
        dirs.extend(options.wal_dir.clone().filter(|d| d != dir));
        for place in &dirs {
            archive::destroy(fs, place)?;
            let names = match fs.list(place) {
                // A directory for logs may be missing.
                Err(e) if e.is_missing_file() => Vec::new(),
                names => names?,
            };
            for name in names {
                let goes = match filename::parse(&name) {
                    None if place == dir => is_trash(Path::new(&name)),
                    None | Some(FileType::Lock) => false,
                    Some(FileType::Wal(_)) => true,
                    // A directory for logs may be the directory of another database.
                    Some(_) => place == dir,
                };
                if goes {
                    fs.remove(&place.join(&name))?;
                }
            }
        }
        drop(lock);
        fs.remove(&filename::lock(dir))?;
        if fs.list(dir)?.is_empty() {
            fs.remove_dir(dir)?;
        }
        Ok(())
    }
}

/// What is known before the logs are replayed.
pub(super) struct Opening<'a> {
    pub fs: Arc<dyn Fs>,
    pub data_dirs: DataDirs,
    pub dir: &'a Path,
    pub wal_dir: PathBuf,
    pub options: DbOptions,
    pub wanted: Wanted,
    pub db_id: String,
    pub info_log: InfoLog,
    pub versions: VersionSet,
    pub obsolete: Arc<ObsoleteFiles>,
    pub budget_client: Option<Arc<BudgetClient>>,
    pub limiter: Option<Arc<Client>>,
    pub logs: Logs,
    /// Whether the last opening may have had its logs in another directory, or its logs are
    /// gone.
    pub moved: bool,
}

impl Opening<'_> {
    /// Returns the engine, and the transactions that are to be rolled back before it is used.
    // Long: the steps after recovery, in their order, and what each failure undoes.
    fn finish(
        self,
        recovered: Recovered,
        lock: Box<dyn whitewater_storage::fs::FileLock>,
    ) -> Result<(Arc<Engine>, Vec<PreparedSection>)> {
        let session_id = new_session_id();
        let replay = LogReplay {
            fs: &self.fs,
            dir: self.dir,
            wal_dir: &self.wal_dir,
            options: &self.options,
            versions: &self.versions,
            log: &self.info_log,
            db_id: &self.db_id,
            session_id: &session_id,
            recovered: &recovered,
            wanted: &self.wanted,
            budget_client: self.budget_client.as_ref(),
            tables: Tables::Write,
            now: self.options.clock.now(),
        };
        let mut replayed = {
            let _span = trace::recovery(self.dir);
            replay.run(replay.open_logs()?)?
        };
        let buffer = self
            .wanted
            .values()
            .map(|o| o.write_buffer_size)
            .max()
            .unwrap_or(0) as u64;
        let wal = Wal::new(
            self.fs.clone(),
            self.wal_dir.clone(),
            WalOptions {
                recycle_limit: self.options.recycle_log_file_num,
                expected: buffer + buffer / 10,
                shared: self.options.wal_access.into(),
                manual_flush: self.options.manual_wal_flush,
                bytes_per_sync: self.options.wal_bytes_per_sync,
                compressed: self.options.wal_compression == CompressionType::Zstd,
            },
        );
        if self.options.archives_logs() {
            // Synced as a flush does it, before the logs become obsolete.
            for log in &replayed.logs {
                let path = filename::wal(&self.wal_dir, *log);
                self.fs.open_append(&path)?.sync()?;
            }
        }
        if self.logs == Logs::Missed {
            let next = self.versions.next_file_number();
            self.versions
                .mark_file_number_used(next + missed_logs::MARGIN);
        }
        let mut sections = std::mem::take(&mut replayed.sections);
        let inserted = self.options.write_policy.inserts_undecided() && !sections.is_empty();
        let sections_log = inserted.then(|| self.versions.new_file_number());
        let wal_number = self.versions.new_file_number();
        let mut first_log = sections_log.unwrap_or(wal_number);
        planted!(SectionsLogNotKept => first_log = wal_number);
        let tables = self.table_cache(&session_id);
        let record = || {
            let opened = self.open_recovered(&recovered, &replayed, &tables)?;
            self.record_recovery(&recovered, &replayed, opened, (first_log, wal_number))
        };
        // Recorded before there is a new log, which the next opening would find (L2 of
        // `missed_logs`).
        let early = match self.logs {
            Logs::Missed => Some(record()?),
            Logs::Found => None,
        };
        let mut end = End {
            last: replayed.last_sequence,
            offset: 0,
        };
        if let Some(number) = sections_log {
            end.offset = two_phase::recovered::log_apart(&wal, number, end, &mut sections)?;
        }
        let log = wal.create(wal_number)?;
        end.offset = wal.install(&log, end)?;
        end = match sections_log {
            Some(_) => End {
                // Found again with the log of the sections, so that it is not missed.
                offset: wal.begin_with_all(&log, end.offset, &[])?,
                ..end
            },
            None => two_phase::recovered::log_again(&wal, &log, end, &mut sections)?,
        };
        let current = match early {
            Some(current) => current,
            None => record()?,
        };

        let mut state = DbState {
            stalls: DbStall::new(self.options.delayed_write_rate),
            options: Arc::new(self.options.clone()),
            ..DbState::default()
        };
        for cf in current.values() {
            let options = self.wanted[&cf.name].clone();
            let mem = Memtable::new(
                &options,
                Home {
                    family: &cf.name,
                    budget_client: self.budget_client.as_ref(),
                },
                wal_number,
                state.next_memtable_id,
            );
            mem.begin_after(end.last);
            state.next_memtable_id += 1;
            let data = ColumnFamilyData::new(
                cf.id,
                cf.name.clone(),
                options,
                mem.clone(),
                cf.current.clone(),
                state.shared_by_readers(&tables),
            );
            state
                .cfs
                .insert(cf.id, CfState::new(data, mem, cf.current.clone()));
        }
        let min_log = match self.logs {
            Logs::Found => first_log,
            Logs::Missed => recovered.first_log(),
        };
        self.clean_up(&state, min_log, &replayed);
        let default_cf =
            state.cfs.get(&0).map(|cf| cf.data.clone()).ok_or_else(|| {
                Error::corruption("the manifest dropped the default column family")
            })?;
        let engine = self.into_engine(
            state,
            wal,
            default_cf,
            tables,
            (log, end),
            Some(lock),
            Role::Primary,
        );
        engine.hide_undecided(&sections);
        let unprepared = engine.adopt_sections(sections)?;
        let ids: Vec<u32> = engine.lock_state().cfs.keys().copied().collect();
        engine.recompute_stall(&mut engine.state.lock(), ids);
        engine.log_stalls();
        if let Some(budget_client) = &engine.commit.budget_client {
            let flusher: Arc<dyn Flusher> = engine.clone();
            budget_client.set_flusher(Arc::downgrade(&flusher));
        }
        Ok((engine, unprepared))
    }

    /// Makes the names of the tables that replay wrote durable, and opens them.
    fn open_recovered(
        &self,
        recovered: &Recovered,
        replayed: &Replayed,
        tables: &TableCache,
    ) -> Result<NewTables> {
        let families = replayed.tables.keys();
        let dirs = families.map(|id| recovered.paths_of(*id).first());
        data_dirs::sync_all(&*self.fs, dirs)?;
        let mut opened = NewTables::default();
        for (id, written) in &replayed.tables {
            let cf = &recovered.column_families[id];
            let files: Vec<_> = written.files.iter().map(|f| (0, f.clone())).collect();
            let comparator = InternalComparator::new(self.wanted[&cf.name].comparator.clone());
            opened.open(tables, &files, &comparator, &cf.current.open_with)?;
        }
        Ok(opened)
    }

    /// Records what replay wrote: from here on the replayed logs are obsolete. If logs that
    /// are needed are missing, records that, too (L2 of `missed_logs`). All of this is one
    /// step: when a log is no longer recorded as missed, its tables are recorded. Logs from
    /// `first_log` on are kept, and column families need those from `wal_number` on.
    fn record_recovery(
        &self,
        recovered: &Recovered,
        replayed: &Replayed,
        mut opened: NewTables,
        (first_log, wal_number): (u64, u64),
    ) -> Result<BTreeMap<u32, CfVersion>> {
        let last = replayed.last_sequence;
        let (tracked, mut edits) = self.record_missed(recovered, &replayed.logs, wal_number);
        // Missed logs can still be replayed for column families that have nothing newer in
        // tables.
        let waits = |cf: &&CfVersion| {
            !replayed.tables.contains_key(&cf.id) && tracked.has_missed_from(cf.log_number)
        };
        let families = recovered.column_families.values();
        let none_waits = !families.clone().any(|cf| waits(&cf));
        let undecided_from = if first_log < wal_number { first_log } else { 0 };
        let differs = undecided_from != recovered.tracked.undecided_from();
        edits.extend(families.filter(|cf| !waits(cf)).map(|cf| {
            VersionEdit {
                column_family: cf.id,
                log_number: Some(wal_number),
                min_log_number_to_keep: (cf.id == 0 && none_waits).then_some(first_log),
                undecided_from: (cf.id == 0 && none_waits && differs).then_some(undecided_from),
                new_files: replayed
                    .tables
                    .get(&cf.id)
                    .map_or_else(Vec::new, |written| {
                        written.files.iter().map(|f| (0, f.clone())).collect()
                    }),
                blob_files: (replayed.tables.get(&cf.id))
                    .map_or_else(Vec::new, |written| written.blob_files.clone()),
                ..VersionEdit::default()
            }
        }));
        let mut current = recovered.column_families.clone();
        self.versions
            .log_and_apply(edits, last, &[], &mut |changed| {
                opened.hand_over(changed);
                for cf in changed {
                    current.insert(cf.id, cf.clone());
                }
            })?;
        if !recovered.tracked.is_empty() && self.logs == Logs::Found {
            // Recorded before the logs are deleted.
            let deleted = VersionEdit {
                wal_deletion: Some(first_log),
                ..VersionEdit::default()
            };
            self.versions
                .log_and_apply(vec![deleted], last, &[], &mut |_| ())?;
        }
        Ok(current)
    }

    /// Returns which logs count as missed after `replayed` were replayed, and the edit that
    /// records this, unless the manifest says so already.
    fn record_missed(
        &self,
        recovered: &Recovered,
        replayed: &[u64],
        wal_number: u64,
    ) -> (TrackedLogs, Vec<VersionEdit>) {
        let mut tracked = recovered.tracked.clone();
        let mut edit = tracked.without(replayed);
        if let Some(edit) = &edit {
            tracked.apply(edit);
        }
        if self.logs == Logs::Missed {
            let first = recovered.first_log();
            self.info_log.warn(&format!(
                "Recovery: no log in {} has a number from {first} on. If there are such logs \
                 elsewhere, what was written to them is not in the database until it is opened \
                 with the right wal_dir.",
                self.wal_dir.display()
            ));
            tracked.apply(edit.insert(tracked.with_missed(first, wal_number)));
        }
        (tracked, edit.into_iter().collect())
    }

    fn clean_up(&self, state: &DbState, min_log: u64, replayed: &Replayed) {
        let versions = || state.cfs.values().map(|cf| &cf.version);
        let tables = versions().flat_map(|v| v.levels.iter().flatten());
        let blobs = versions().flat_map(|v| v.blobs.iter());
        let live: BTreeSet<u64> = (tables.map(|f| f.meta.number))
            .chain(blobs.map(|b| b.file.meta.number))
            .collect();
        let removed = remove_leftovers(
            &*self.fs,
            self.dir,
            &self.wal_dir,
            &Needed {
                live: &live,
                data_dirs: &self.data_dirs.all(),
                manifest: self.versions.manifest_number(),
                min_log,
                moved: self.moved,
                replayed: &replayed.logs,
                archive: self.options.archives_logs(),
                cut: &replayed.cut_logs,
            },
        );
        if !removed.is_empty() {
            self.info_log
                .write(&format!("Removed leftovers: {}", removed.join(" ")));
        }
    }

    /// A table cache for the engine of the session `session_id`.
    pub(super) fn table_cache(&self, session_id: &str) -> Arc<TableCache> {
        let o = &self.options;
        let tables = TableCache::new(self.fs.clone(), o.max_open_files)
            .with_reads(FileReads {
                direct: o.use_direct_reads,
                advise_random: o.advise_random_on_open,
            })
            .with_row_cache(o.row_cache.as_ref())
            .in_session(session_id)
            .counting(o.statistics.as_ref())
            .limited_by(self.limiter.as_ref());
        Arc::new(tables)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of an engine, once each"
    )]
    // Long: one line for each field of the engine.
    pub(super) fn into_engine(
        self,
        state: DbState,
        wal: Wal,
        default_cf: Arc<ColumnFamilyData>,
        tables: Arc<TableCache>,
        (first_log, end): (Arc<Segment>, End),
        lock: Option<Box<dyn whitewater_storage::fs::FileLock>>,
        role: Role,
    ) -> Arc<Engine> {
        let o = &self.options;
        let files = Files::new(Opened {
            dir: self.dir.to_path_buf(),
            fs: self.fs,
            data_dirs: self.data_dirs,
            db_id: self.db_id,
            session_id: tables.session().to_owned(),
            versions: self.versions,
            tables,
            obsolete: self.obsolete,
            lock,
        });
        let first = Generation::new(state.memtable_map(), first_log, end.offset, end);
        let commit = CommitPath::new(
            o,
            self.budget_client,
            wal,
            (first, end.last),
            state.empty_ranges.clone(),
        );
        let stats = DbStats::new(Figures::at_open(end.last, o.statistics.as_deref()));
        let info_log = Arc::new(self.info_log);
        Arc::new(Engine {
            role,
            latencies: state.latencies.clone(),
            slow: Arc::new(SlowOperations::new(
                self.options.slow_operation_micros,
                info_log.clone(),
            )),
            files,
            commit,
            background: Background::new(self.limiter),
            options: self.options,
            info_log,
            observers: Observers::new(stats),
            snapshots: Arc::new(SnapshotList::default()),
            state: Mutex::new(state),
            options_change: Mutex::default(),
            default_cf,
        })
    }
}

/// Refuses an empty path before anything is done with it: files would go to the working
/// directory, which the caller did not name.
pub(super) fn check_dir(dir: &Path) -> Result<()> {
    if dir.as_os_str().is_empty() {
        Err(Error::invalid("the path of the database is empty"))
    } else {
        Ok(())
    }
}

/// Validates options and adds the default column family.
pub(super) fn check_wanted(
    options: &DbOptions,
    families: Vec<(String, CfOptions)>,
) -> Result<Wanted> {
    options.validate()?;
    let mut wanted = Wanted::new();
    for (name, mut cf) in families {
        options.inform(&mut cf);
        cf.validate()?;
        options.check_family(&cf)?;
        if wanted.insert(name.clone(), Arc::new(cf)).is_some() {
            return Err(Error::invalid(format_args!(
                "column family {name} is listed twice"
            )));
        }
    }
    wanted.entry(DEFAULT_CF.to_owned()).or_insert_with(|| {
        let mut cf = CfOptions::default();
        options.inform(&mut cf);
        Arc::new(cf)
    });
    Ok(wanted)
}

/// Returns whether the database exists. Refuses what the options forbid.
fn check_existence(fs: &dyn Fs, dir: &Path, options: &DbOptions) -> Result<bool> {
    if fs.exists(&filename::current(dir))? {
        if options.error_if_exists {
            return Err(Error::invalid(format_args!(
                "{}: exists (error_if_exists is true)",
                dir.display()
            )));
        }
        return Ok(true);
    }
    if !options.create_if_missing {
        return Err(Error::invalid(format_args!(
            "{}: does not exist (create_if_missing is false)",
            filename::current(dir).display()
        )));
    }
    // Nor may a new database read another one's logs, which would be deleted as its own.
    if let Some(wal_dir) = options.wal_dir.as_deref().filter(|d| *d != dir)
        && let Some(number) = archive::logs_in(fs, wal_dir)?.first()
    {
        return Err(Error::corruption(
            "while creating a database: its wal_dir contains a log, of another one perhaps",
        )
        .in_file(&filename::wal(wal_dir, *number), None));
    }
    // Never put an empty database over data whose CURRENT was lost. A crash in the middle
    // of creation leaves nothing but the first manifest.
    if fs.exists(dir)? {
        for name in fs.list(dir)? {
            let data = match filename::parse(&name) {
                Some(FileType::Table(_) | FileType::Blob(_) | FileType::Wal(_)) => true,
                Some(FileType::Manifest(number)) => number != 1,
                _ => false,
            };
            if data {
                return Err(Error::corruption(format_args!(
                    "CURRENT is missing, but {name} is there"
                ))
                .in_file(&filename::current(dir), None));
            }
        }
    }
    Ok(false)
}

/// The id in the IDENTITY file, if there is one.
pub(super) fn load_identity(fs: &dyn Fs, dir: &Path) -> Result<Option<String>> {
    let path = filename::identity(dir);
    if !fs.exists(&path)? {
        return Ok(None);
    }
    let text = read_file(fs, &path, 4096)?;
    let id = String::from_utf8_lossy(&text).trim().to_owned();
    Ok(Some(id).filter(|id| !id.is_empty()))
}

fn write_identity(fs: &dyn Fs, dir: &Path, id: &str) -> Result<()> {
    let (temporary, path) = (filename::temp(dir, 0), filename::identity(dir));
    write_file_atomically(fs, &temporary, &path, id.as_bytes())
}

/// Checks that every table that the manifest names exists and has its size, and that every
/// blob file exists.
pub(super) fn check_tables_present(fs: &dyn Fs, recovered: &Recovered) -> Result<()> {
    for cf in recovered.column_families.values() {
        for file in cf.current.levels.iter().flatten() {
            let path = file.path();
            let size = match fs.file_size(&path) {
                Err(e) if e.is_missing_file() => match fs.file_size(&path.with_extension("ldb")) {
                    Ok(size) => size,
                    Err(_) => return Err(missing_table(&cf.name, file, &cf.current.open_with)),
                },
                other => other?,
            };
            if size != file.meta.size {
                return Err(Error::corruption(format_args!(
                    "table of {size} bytes where the manifest says {}",
                    file.meta.size
                ))
                .in_file(&path, Some(size.min(file.meta.size))));
            }
        }
        for blobs in cf.current.blobs.iter() {
            let path = blobs.file.path();
            if !fs.exists(&path)? {
                return Err(
                    Error::corruption("a blob file that the manifest names is missing")
                        .in_file(&path, None),
                );
            }
        }
    }
    Ok(())
}

/// The error for a table that the manifest names and that is not where it should be.
fn missing_table(family: &str, file: &TableFile, open_with: &OpenWith) -> Error {
    let (id, paths) = (file.meta.path_id, open_with.paths.count());
    let e = if id as usize >= paths {
        Error::invalid(format_args!(
            "the table is in path {id} of column family {family}, but db_paths and cf_paths give \
             it {paths}: open the database with all of its paths"
        ))
    } else if paths > 1 {
        Error::corruption(format_args!(
            "a table that the manifest names is missing from path {id} of column family {family}"
        ))
    } else {
        Error::corruption("a table that the manifest names is missing")
    };
    e.in_file(&file.path(), None)
}

/// The column families that were asked for and do not exist yet.
fn missing_families(
    options: &DbOptions,
    wanted: &Wanted,
    recovered: &Recovered,
) -> Result<Vec<(String, Arc<CfOptions>)>> {
    let known: BTreeSet<&str> = recovered
        .column_families
        .values()
        .map(|cf| cf.name.as_str())
        .collect();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|(name, _)| !known.contains(name.as_str()))
        .map(|(name, o)| (name.clone(), o.clone()))
        .collect();
    match missing.first() {
        Some((name, _)) if !options.create_missing_column_families => Err(Error::invalid(
            format_args!("Column family not found: {name}"),
        )),
        _ => Ok(missing),
    }
}
