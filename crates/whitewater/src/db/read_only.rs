//! Opening a database to read it as it is, beside other readers and even a writer.
//!
//! The content of the logs stays in memtables. Nothing is read again later: later writes of
//! other engines do not show. Nor does what is prepared and not decided.

use super::Engine;
use super::data_dirs::DataDirs;
use super::missed_logs::{Logs, Places};
use super::open::{Opening, Wanted, check_dir, check_tables_present, check_wanted};
use super::reader::{ManifestStamp, PATIENCE, PAUSE, Role};
use super::recover::{LogReplay, Replayed, Tables};
use crate::info_log::InfoLog;
use crate::options::write_policy::WritePolicy;
use crate::options::{CfOptions, DbOptions};
use crate::version::ObsoleteFiles;
use crate::version::set::{Recovered, VersionSet};
use crate::version::table_cache::TableCache;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_concurrent::system;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::key::InternalComparator;
use whitewater_storage::{Error, ErrorKind, Result};

/// What was read of a database, all at one moment.
struct State {
    /// The write policy of the logs.
    policy: WritePolicy,
    versions: VersionSet,
    obsolete: Arc<ObsoleteFiles>,
    recovered: Recovered,
    replayed: Replayed,
}

impl Engine {
    /// Opens the database in `dir` to read the listed column families and "default". Takes
    /// no lock and writes no file.
    ///
    /// # Errors
    /// `InvalidArgument` for options that cannot be honoured and for column families that
    /// do not exist; `IOError` when there is no database; `Corruption` naming file and
    /// offset, and when there is a log although `error_if_log_file_exist` is set;
    /// `TryAgain` when for ten seconds a writer deletes logs faster than they can be read.
    pub fn open_read_only(
        dir: &Path,
        mut options: DbOptions,
        column_families: Vec<(String, CfOptions)>,
        error_if_log_file_exist: bool,
    ) -> Result<Arc<Engine>> {
        check_dir(dir)?;
        let wanted = check_wanted(&options, column_families)?;
        let fs = options.fs.clone();
        let wal_dir = options.wal_dir.clone().unwrap_or_else(|| dir.to_path_buf());
        if error_if_log_file_exist {
            check_no_logs(&*fs, &wal_dir)?;
        }
        let log = InfoLog::without_file(dir, &options);
        let state = read_state(&fs, dir, &wal_dir, &options, &wanted, &log)?;
        let db_id = state.recovered.db_id.clone();
        let db_id = db_id.unwrap_or_else(|| identity(&*fs, dir));
        options.write_policy = state.policy;
        let opening = Opening {
            fs,
            data_dirs: DataDirs::default(),
            dir,
            wal_dir,
            limiter: options.limiter(),
            options,
            wanted,
            db_id,
            info_log: log,
            versions: state.versions,
            obsolete: state.obsolete,
            budget_client: None,
            logs: Logs::Found,
            moved: false,
        };
        let Replayed {
            memtables,
            last_sequence,
            sections,
            ..
        } = state.replayed;
        let role = Role::ReadOnly;
        let engine = opening.into_reader(&state.recovered, memtables, last_sequence, role)?;
        engine.hide_undecided(&sections);
        Ok(engine)
    }
}

/// Opens every table and blob file of `recovered` for good, so that they can be read after
/// they were deleted. With a limit on open tables, checks that they exist instead.
///
/// # Errors
/// Errors of opening a file.
pub(super) fn open_tables(
    fs: &Arc<dyn Fs>,
    options: &DbOptions,
    wanted: &Wanted,
    recovered: &Recovered,
) -> Result<()> {
    if options.max_open_files >= 0 {
        return check_tables_present(&**fs, recovered);
    }
    // The cache itself keeps nothing: the tables stay open in their files.
    let opener = TableCache::new(fs.clone(), -1);
    for cf in recovered.column_families.values() {
        let comparator = InternalComparator::new(wanted[&cf.name].comparator.clone());
        for file in cf.current.levels.iter().flatten() {
            opener.open(file, &comparator, &cf.current.open_with)?;
        }
        for blobs in cf.current.blobs.iter() {
            opener.open_blob(&blobs.file)?;
        }
    }
    Ok(())
}

/// Reads manifest and logs until they belong together (R3 of `reader`).
fn read_state(
    fs: &Arc<dyn Fs>,
    dir: &Path,
    wal_dir: &Path,
    options: &DbOptions,
    wanted: &Wanted,
    log: &InfoLog,
) -> Result<State> {
    let begun = system::now();
    while system::since(begun) < PATIENCE {
        let before = ManifestStamp::take(&**fs, dir);
        match try_read(fs, dir, wal_dir, options, wanted, log, before.as_ref().ok()) {
            Ok(Some(state)) => return Ok(state),
            Ok(None) => {}
            // Nothing was written meanwhile, so another attempt would fail in the same way.
            Err(e) if ManifestStamp::take(&**fs, dir) == before => return Err(e),
            Err(_) => {}
        }
        system::sleep(PAUSE);
    }
    Err(Error::new(
        ErrorKind::TryAgain,
        format_args!("{}: changes faster than it can be read", dir.display()),
    ))
}

/// Returns `None` when the writer has deleted logs meanwhile.
fn try_read(
    fs: &Arc<dyn Fs>,
    dir: &Path,
    wal_dir: &Path,
    options: &DbOptions,
    wanted: &Wanted,
    log: &InfoLog,
    before: Option<&ManifestStamp>,
) -> Result<Option<State>> {
    let obsolete = Arc::new(ObsoleteFiles::default());
    let (versions, recovered) =
        VersionSet::recover_to_read(fs.clone(), dir.to_path_buf(), obsolete.clone(), &|name| {
            wanted.get(name).cloned()
        })?;
    check_families(wanted, &recovered)?;
    open_tables(fs, options, wanted, &recovered)?;
    if options.track_and_verify_wals_in_manifest {
        recovered.tracked.verify(&**fs, wal_dir)?;
    }
    Places::find(&**fs, dir, wal_dir)?.check(recovered.needed_logs())?;
    let replay = |options: &DbOptions| {
        let replay = LogReplay {
            fs,
            dir,
            wal_dir,
            options,
            versions: &versions,
            log,
            db_id: "",
            session_id: "",
            recovered: &recovered,
            wanted,
            budget_client: None,
            tables: Tables::Keep,
            now: options.clock.now(),
        };
        let logs = replay.open_logs()?;
        if ManifestStamp::take(&**fs, dir).ok().as_ref() != before {
            return Ok(None);
        }
        let replayed = replay.run(logs)?;
        Ok(Some((options.write_policy, replayed)))
    };
    let replayed = replay(options).or_else(|e| match other_policy(options.write_policy, &e) {
        Some(policy) => {
            let mut options = options.clone();
            options.write_policy = policy;
            replay(&options)
        }
        None => Err(e),
    });
    let Some((policy, replayed)) = replayed? else {
        return Ok(None);
    };
    // A log that was recycled while it was read may have looked shorter than it was; then
    // its name is gone.
    for number in &replayed.logs {
        if !fs.exists(&filename::wal(wal_dir, *number))? {
            return Ok(None);
        }
    }
    Ok(Some(State {
        policy,
        versions,
        obsolete,
        recovered,
        replayed,
    }))
}

/// The write policy to read logs with, after reading them as those of `policy` has failed with
/// `e`: nobody tells who only reads, and a section tells how the logs with it are numbered.
pub(super) fn other_policy(policy: WritePolicy, e: &Error) -> Option<WritePolicy> {
    let refused = e.kind() == ErrorKind::NotSupported;
    (refused && policy == WritePolicy::WriteCommitted).then_some(WritePolicy::WritePrepared)
}

/// # Errors
/// `InvalidArgument` naming a column family that was listed and does not exist.
pub(super) fn check_families(wanted: &Wanted, recovered: &Recovered) -> Result<()> {
    for name in wanted.keys() {
        if !(recovered.column_families.values()).any(|cf| cf.name == *name) {
            return Err(Error::invalid(format_args!(
                "Column family not found: {name}"
            )));
        }
    }
    Ok(())
}

fn check_no_logs(fs: &dyn Fs, wal_dir: &Path) -> Result<()> {
    let is_log = |name: &String| matches!(filename::parse(name), Some(FileType::Wal(_)));
    match fs.list(wal_dir)?.into_iter().find(is_log) {
        None => Ok(()),
        Some(name) => {
            let path: PathBuf = wal_dir.join(name);
            Err(Error::corruption(
                "The db was opened in readonly mode with error_if_wal_file_exists flag but a WAL \
                 file already exists",
            )
            .in_file(&path, None))
        }
    }
}

/// The id in the IDENTITY file; empty if there is none.
pub(super) fn identity(fs: &dyn Fs, dir: &Path) -> String {
    let text = read_file(fs, &filename::identity(dir), 4096).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}
