//! Backups of whole databases: made, restored, listed, verified and deleted.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use whitewater::backup::{
    BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreMode, RestoreOptions,
};
use whitewater::{Env, Error, ErrorKind};

use super::failure::{Failure, Result};
use super::open;
use super::session::Session;

/// The directory of backups, as an argument.
#[derive(Debug, Args)]
struct Directory {
    /// The directory of backups.
    #[arg(value_name = "BACKUP_DIR", required_unless_present = "backup_dir")]
    dir: Option<PathBuf>,
    /// The same directory, by ldb's name of the flag.
    #[arg(long, hide = true, conflicts_with = "dir")]
    backup_dir: Option<PathBuf>,
}

impl Directory {
    fn options(&self) -> Result<BackupEngineOptions> {
        let dir = self.dir.as_ref().or(self.backup_dir.as_ref());
        let dir = dir.ok_or_else(|| Failure::usage("which directory of backups?"))?;
        Ok(BackupEngineOptions::new(dir)?)
    }

    /// The engine for what only reads the directory.
    fn to_read(&self, threads: i32) -> Result<BackupEngine> {
        let mut options = self.options()?;
        options.set_max_background_operations(threads);
        Ok(BackupEngine::open_read_only(&options, &Env::new()?)?)
    }

    /// The engine for changes of a directory that must be there.
    fn to_change(&self) -> Result<BackupEngine> {
        self.to_read(1)?;
        Ok(BackupEngine::open(&self.options()?, &Env::new()?)?)
    }
}

/// Tells what is not there from what failed.
fn negative(e: Error) -> Failure {
    match e.kind() {
        ErrorKind::NotFound => Failure::negative(e),
        _ => e.into(),
    }
}

/// Adds a backup of the database to a directory of backups.
///
/// Tables that an earlier backup has are not copied again. The directory has RocksDB's format.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db backup /backups/db
  ww --db /data/db backup /backups/db --metadata 'before the upgrade' --num-threads 4")]
pub struct Backup {
    #[command(flatten)]
    directory: Directory,
    /// Flush memtables first, so that the backup has no logs to replay.
    #[arg(long)]
    flush: bool,
    /// A note that is kept with the backup.
    #[arg(long, value_name = "TEXT")]
    metadata: Option<String>,
    /// How many files to copy at the same time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    num_threads: i32,
    /// The most bytes to read per second; 0 is no limit.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    rate_limit: u64,
}

impl Backup {
    /// Runs the command.
    ///
    /// # Errors
    /// Reading or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let opened = open::to_write(session, false)?;
        let mut options = self.directory.options()?;
        options.set_max_background_operations(self.num_threads);
        options.set_backup_rate_limit(self.rate_limit);
        let mut engine = BackupEngine::open(&options, &Env::new()?)?;
        let mut how = CreateBackupOptions::default();
        how.set_flush_before_backup(self.flush);
        if let Some(text) = &self.metadata {
            how.set_app_metadata(text);
        }
        let id = engine.create_new_backup_opt(&how, &opened.db)?;
        session.either(format_args!("backup {id}"), json!({ "backup_id": id }))
    }
}

/// Which tables of the database that is there stay.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Keep {
    /// No table stays.
    None,
    /// Tables and blob files stay that have the checksum of the backup's file.
    Checksum,
    /// Tables stay whose number, session and size are those of the backup's file.
    Session,
}

/// Makes a database of a backup, in place of what is there.
///
/// Files of the database that is there are deleted. It must not be open. Without --id, the latest
/// backup is restored.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db restore /backups/db
  ww --db /data/db restore /backups/db --id 3 --keep checksum")]
pub struct Restore {
    #[command(flatten)]
    directory: Directory,
    /// The number of the backup.
    #[arg(long, value_name = "N")]
    id: Option<u32>,
    /// The directory of logs, if it is not the database's.
    #[arg(long, value_name = "PATH")]
    wal_dir: Option<PathBuf>,
    /// Keep logs that are there.
    #[arg(long)]
    keep_log_files: bool,
    /// Which tables of the database that is there to keep.
    #[arg(long, value_enum, default_value = "none")]
    keep: Keep,
    /// How many files to copy at the same time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    num_threads: i32,
}

impl Restore {
    /// Runs the command.
    ///
    /// # Errors
    /// There is no such backup, it is damaged, the database is open, or reading or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let db = session.db()?;
        let mut engine = self.directory.to_read(self.num_threads)?;
        let logs = self.wal_dir.as_deref().unwrap_or(db);
        let mut how = RestoreOptions::default();
        how.set_keep_log_files(self.keep_log_files);
        how.set_mode(match self.keep {
            Keep::None => RestoreMode::PurgeAllFiles,
            Keep::Checksum => RestoreMode::VerifyChecksum,
            Keep::Session => RestoreMode::KeepLatestDbSessionIdFiles,
        });
        let restored = match self.id {
            Some(id) => engine.restore_from_backup(db, logs, &how, id),
            None => engine.restore_from_latest_backup(db, logs, &how),
        };
        restored.map_err(negative)?;
        session.ok()
    }
}

/// Lists backups.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww list-backups /backups/db
  ww list-backups /backups/db --json")]
pub struct List {
    #[command(flatten)]
    directory: Directory,
}

impl List {
    /// Runs the command.
    ///
    /// # Errors
    /// Reading fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let engine = self.directory.to_read(1)?;
        let mut rows = Vec::new();
        for info in engine.get_backup_info() {
            let metadata = engine.get_app_metadata(info.backup_id)?;
            rows.push(vec![
                json!(info.backup_id),
                json!(info.timestamp),
                json!(info.size),
                json!(info.num_files),
                json!(String::from_utf8_lossy(&metadata)),
            ]);
        }
        let names = ["backup", "timestamp", "size", "files", "metadata"];
        session.table(&names, &rows)?;
        for id in engine.get_corrupted_backups() {
            let why = engine.verify_backup(id).err();
            let why = why.map_or_else(String::new, |e| e.to_string());
            let mut fields = Map::new();
            fields.insert("backup".to_owned(), json!(id));
            fields.insert("damaged".to_owned(), json!(why));
            session.either(format_args!("{id}: damaged: {why}"), Value::Object(fields))?;
        }
        Ok(())
    }
}

/// Checks that the files of backups are there and have their sizes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww verify-backup /backups/db
  ww verify-backup /backups/db --id 3 --checksums --num-threads 4")]
pub struct Verify {
    #[command(flatten)]
    directory: Directory,
    /// The number of the backup; by default all are checked.
    #[arg(long, value_name = "N")]
    id: Option<u32>,
    /// Read all files and compare their checksums.
    #[arg(long)]
    checksums: bool,
    /// How many files to read at the same time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    num_threads: i32,
}

impl Verify {
    /// Runs the command.
    ///
    /// # Errors
    /// A backup is damaged, there is no such backup, or reading fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let engine = self.directory.to_read(self.num_threads)?;
        let ids = match self.id {
            Some(id) => vec![id],
            None => {
                let valid = engine.get_backup_info().into_iter();
                let mut ids: Vec<u32> = valid.map(|info| info.backup_id).collect();
                ids.extend(engine.get_corrupted_backups());
                ids.sort_unstable();
                ids
            }
        };
        for id in ids {
            let checked = match self.checksums {
                true => engine.verify_backup_with_checksum(id),
                false => engine.verify_backup(id),
            };
            checked.map_err(|e| Failure::negative(format_args!("backup {id}: {e}")))?;
        }
        session.ok()
    }
}

/// Deletes a backup, and the files that no other backup has.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww delete-backup /backups/db --id 3")]
pub struct Delete {
    #[command(flatten)]
    directory: Directory,
    /// The number of the backup.
    #[arg(long, value_name = "N")]
    id: u32,
}

impl Delete {
    /// Runs the command.
    ///
    /// # Errors
    /// There is no such backup, or deleting fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let mut engine = self.directory.to_change()?;
        engine.delete_backup(self.id).map_err(negative)?;
        session.ok()
    }
}

/// Deletes the oldest backups, and the files that no other backup has.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww purge-backups /backups/db --keep 7")]
pub struct Purge {
    #[command(flatten)]
    directory: Directory,
    /// How many backups to keep. Damaged ones do not count, and stay.
    #[arg(long, value_name = "N")]
    keep: usize,
}

impl Purge {
    /// Runs the command.
    ///
    /// # Errors
    /// Deleting fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        self.directory.to_change()?.purge_old_backups(self.keep)?;
        session.ok()
    }
}
