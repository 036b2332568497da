//! Backups of databases.
//!
//! A [`BackupEngine`] keeps any number of backups of a database in a directory, in RocksDB's
//! format. Tables that several backups have are there once, so that a new backup copies only what
//! is new. Names and semantics are those of the `rocksdb` crate; what RocksDB has only in C++ has
//! the names that it has there.
//!
//! `options`: how backups are made, one backup is made, and one is restored.
//!
//! # Examples
//! ```
//! use whitewater::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
//! use whitewater::{DB, Env};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db = DB::open_default(dir.path().join("db"))?;
//! let options = BackupEngineOptions::new(dir.path().join("backups"))?;
//! let mut engine = BackupEngine::open(&options, &Env::new()?)?;
//!
//! db.put("key", "then")?;
//! engine.create_new_backup(&db)?;
//! db.put("key", "now")?;
//! engine.create_new_backup(&db)?;
//! let backups = engine.get_backup_info();
//! assert_eq!(backups.iter().map(|b| b.backup_id).collect::<Vec<_>>(), [1, 2]);
//!
//! drop(db);
//! let path = dir.path().join("db");
//! engine.restore_from_backup(&path, &path, &RestoreOptions::default(), 1)?;
//! assert_eq!(DB::open_default(&path)?.get("key")?.as_deref(), Some(&b"then"[..]));
//! # Ok(())
//! # }
//! ```

mod options;

pub use crate::backups::excluded::MaybeExcludeBackupFile;
pub use crate::backups::restore::RestoreMode;
pub use options::{BackupEngineOptions, CreateBackupOptions, RestoreOptions, ShareFilesNaming};

use super::db::{DBCommon, DBInner, ThreadMode};
use super::env::Env;
use super::transactions::TransactionDB;
use crate::backups::{Backups, Creation, Stop};
use crate::db::Engine;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::backup::Meta;

/// What is known of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupEngineInfo {
    /// When it was made, in seconds since 1970.
    pub timestamp: i64,
    /// Its number. Later backups have larger ones.
    pub backup_id: u32,
    /// The size of its files in bytes. Files that several backups have count in each of them.
    pub size: u64,
    /// The number of its files, without that of its metadata.
    pub num_files: u32,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupFileInfo {
    /// Its path in the directory of backups.
    pub relative_filename: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its CRC-32C, not masked, if the metadata have it.
    pub checksum: Option<u32>,
}

/// A directory of backups.
///
/// Several engines may read one directory at a time. While one of them changes it, no other may.
/// What an engine knows of the directory is what was there when it was opened or began its last
/// change, and what it has done since.
///
/// With [`BackupEngineOptions::set_sync`], which is the default, a power cut leaves a directory in
/// which every backup is whole that was made, and from which nothing has vanished that was not to
/// be deleted. What an interrupted call leaves behind is deleted by the next change. After a sync
/// of a directory has failed, all changes fail until another engine is opened.
pub struct BackupEngine {
    backups: Backups,
}

impl fmt::Debug for BackupEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupEngine").finish_non_exhaustive()
    }
}

/// Ends the making of backups, from any thread; see [`BackupEngine::stopper`].
#[derive(Clone)]
pub struct BackupStopper {
    stop: Stop,
}

impl fmt::Debug for BackupStopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupStopper").finish_non_exhaustive()
    }
}

impl BackupStopper {
    /// Makes the backup that is being made, if there is one, end with an error soon, and all
    /// later ones of that engine at once. Returns without waiting for it.
    pub fn stop_backup(&self) {
        self.stop.stop();
    }
}

/// A database that backups can be made of: a [`DB`](crate::DB), an
/// [`OptimisticTransactionDB`](crate::OptimisticTransactionDB) or a [`TransactionDB`]. Not meant to
/// be implemented.
pub trait BackupSource {
    #[doc(hidden)]
    fn source(&self) -> Source<'_>;
}

/// The engine of a database. Opaque.
#[derive(Debug)]
pub struct Source<'db>(&'db Arc<Engine>);

impl<T: ThreadMode, D: DBInner> BackupSource for DBCommon<T, D> {
    fn source(&self) -> Source<'_> {
        Source(self.engine())
    }
}

impl<T: ThreadMode> BackupSource for TransactionDB<T> {
    fn source(&self) -> Source<'_> {
        Source(self.engine())
    }
}

/// Opening.
impl BackupEngine {
    /// Opens a directory of backups, and makes it if there is none. `env` is where databases are
    /// restored to, and where the backups are unless
    /// [`BackupEngineOptions::set_backup_env`] says otherwise. A backup is made of a database
    /// wherever that is.
    ///
    /// # Errors
    /// `IOError`. A backup that is damaged is no error; see
    /// [`get_corrupted_backups`](Self::get_corrupted_backups).
    pub fn open(opts: &BackupEngineOptions, env: &Env) -> Result<Self, Error> {
        let backups = Backups::open(opts.inner.clone(), env.fs.clone())?;
        Ok(BackupEngine { backups })
    }

    /// Opens a directory of backups to look at them, verify and restore them. Nothing is written
    /// to it. RocksDB's `BackupEngineReadOnly`.
    ///
    /// # Errors
    /// `IOError`, also if there is no such directory; `InvalidArgument` with
    /// [`BackupEngineOptions::set_destroy_old_data`].
    pub fn open_read_only(opts: &BackupEngineOptions, env: &Env) -> Result<Self, Error> {
        let backups = Backups::open_read_only(opts.inner.clone(), env.fs.clone())?;
        Ok(BackupEngine { backups })
    }
}

/// Making backups.
impl BackupEngine {
    /// Makes a backup of what the database holds at a moment during the call. Writes go on
    /// meanwhile. Memtables are not flushed; their logs are in the backup, with prepared
    /// transactions. Writes without a log are lost; see
    /// [`create_new_backup_flush`](Self::create_new_backup_flush).
    ///
    /// # Errors
    /// As [`create_new_backup_opt`](Self::create_new_backup_opt).
    pub fn create_new_backup<T: ThreadMode, D: DBInner>(
        &mut self,
        db: &DBCommon<T, D>,
    ) -> Result<(), Error> {
        self.create_new_backup_flush(db, false)
    }

    /// [`create_new_backup`](Self::create_new_backup) that flushes memtables first, if
    /// `flush_before_backup` says so.
    ///
    /// # Errors
    /// As [`create_new_backup_opt`](Self::create_new_backup_opt).
    pub fn create_new_backup_flush<T: ThreadMode, D: DBInner>(
        &mut self,
        db: &DBCommon<T, D>,
        flush_before_backup: bool,
    ) -> Result<(), Error> {
        let how = Creation {
            flush: flush_before_backup,
            ..Creation::default()
        };
        self.backups.create(db.engine(), &how)?;
        Ok(())
    }

    /// Makes a backup of any kind of database as the options say, and returns its number.
    /// RocksDB's `CreateNewBackupWithMetadata`. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `Incomplete` after [`BackupStopper::stop_backup`]; `InvalidArgument` for more than 1 MiB of
    /// metadata; `NotSupported` if the engine or the database is read-only; `Corruption` naming a
    /// table whose content has changed; `Aborted` if the progress callback panics; the failure
    /// that stopped the database; `IOError`. There is no new backup then.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions};
    /// use whitewater::{Env, TransactionDB};
    ///
    /// let db: TransactionDB = TransactionDB::open_default(dir.path().join("db"))?;
    /// db.put("river", "blue")?;
    /// let options = BackupEngineOptions::new(dir.path().join("backups"))?;
    /// let mut engine = BackupEngine::open(&options, &Env::new()?)?;
    /// let mut how = CreateBackupOptions::default();
    /// how.set_app_metadata("before the upgrade");
    /// let id = engine.create_new_backup_opt(&how, &db)?;
    /// assert_eq!(engine.get_app_metadata(id)?, b"before the upgrade");
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_new_backup_opt<S: BackupSource>(
        &mut self,
        opts: &CreateBackupOptions,
        db: &S,
    ) -> Result<u32, Error> {
        let how = Creation {
            flush: opts.flush_before_backup,
            app_metadata: &opts.app_metadata,
            progress: opts.progress_callback.as_deref(),
            exclude: opts.exclude_files_callback.as_deref(),
        };
        self.backups.create(db.source().0, &how)
    }

    /// What ends the making of backups from another thread. It is for good: an engine makes no
    /// backups after it.
    pub fn stopper(&self) -> BackupStopper {
        BackupStopper {
            stop: self.backups.stop().clone(),
        }
    }
}

/// Deleting backups.
impl BackupEngine {
    /// Deletes the oldest backups until `num_backups_to_keep` are left. Damaged ones do not count
    /// and stay.
    ///
    /// # Errors
    /// `NotSupported` if the engine is read-only; `IOError`. What remains to be deleted is deleted
    /// by the next change.
    pub fn purge_old_backups(&mut self, num_backups_to_keep: usize) -> Result<(), Error> {
        self.backups.purge(num_backups_to_keep)
    }

    /// Deletes a backup, which may be damaged. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `NotFound`; as [`purge_old_backups`](Self::purge_old_backups).
    pub fn delete_backup(&mut self, backup_id: u32) -> Result<(), Error> {
        self.backups.delete(backup_id)
    }

    /// Deletes files that interrupted calls have left. Every change does it, too. Files that
    /// damaged backups name stay, until these are deleted. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`purge_old_backups`](Self::purge_old_backups).
    pub fn garbage_collect(&mut self) -> Result<(), Error> {
        self.backups.collect()
    }
}

/// Restoring backups.
impl BackupEngine {
    /// Makes the database in `db_dir` what it was when the latest backup was made that is not
    /// damaged. Logs go to `wal_dir`, which is `db_dir` unless the database has a directory for
    /// them.
    ///
    /// The directories are made if need be. Files of the database that is there are deleted;
    /// files with other names stay. The database cannot be opened from the first deletion until
    /// everything is restored.
    ///
    /// # Errors
    /// `NotFound` if there is no backup; as [`restore_from_backup`](Self::restore_from_backup).
    pub fn restore_from_latest_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
    ) -> Result<(), Error> {
        self.backups
            .restore(None, db_dir.as_ref(), wal_dir.as_ref(), opts.inner, &[])
    }

    /// [`restore_from_latest_backup`](Self::restore_from_latest_backup) of a certain backup.
    ///
    /// # Errors
    /// `NotFound` if there is no such backup or one of its files is missing; `Corruption` if it is
    /// damaged; `IOError`, also if the database is open; `InvalidArgument` if the backup
    /// leaves files out that no other backup of this directory has.
    pub fn restore_from_backup<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
        backup_id: u32,
    ) -> Result<(), Error> {
        let (db_dir, wal_dir) = (db_dir.as_ref(), wal_dir.as_ref());
        self.backups
            .restore(Some(backup_id), db_dir, wal_dir, opts.inner, &[])
    }

    /// [`restore_from_backup`](Self::restore_from_backup) of a backup that leaves files out
    /// ([`CreateBackupOptions::set_exclude_files_callback`]): they are taken from the directories
    /// of `alternates`, the first that has one, or from other backups of this directory. RocksDB's
    /// `RestoreOptions::alternate_dirs`. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`restore_from_backup`](Self::restore_from_backup); `InvalidArgument` naming a file that
    /// is nowhere. Nothing has changed then.
    pub fn restore_from_backup_with<D: AsRef<Path>, W: AsRef<Path>>(
        &mut self,
        db_dir: D,
        wal_dir: W,
        opts: &RestoreOptions,
        backup_id: u32,
        alternates: &[&BackupEngine],
    ) -> Result<(), Error> {
        let (db_dir, wal_dir) = (db_dir.as_ref(), wal_dir.as_ref());
        let others: Vec<&Backups> = alternates.iter().map(|engine| &engine.backups).collect();
        self.backups
            .restore(Some(backup_id), db_dir, wal_dir, opts.inner, &others)
    }
}

/// Looking at backups.
impl BackupEngine {
    /// Checks that each file of a backup is there and has the size that it had when the engine
    /// was opened or the backup was made.
    ///
    /// # Errors
    /// `NotFound` if there is no such backup or a file is missing; `Corruption` naming the file;
    /// `IOError`.
    pub fn verify_backup(&self, backup_id: u32) -> Result<(), Error> {
        self.backups.verify(backup_id, false)
    }

    /// [`verify_backup`](Self::verify_backup) that also reads all files and compares their
    /// checksums. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// The same.
    pub fn verify_backup_with_checksum(&self, backup_id: u32) -> Result<(), Error> {
        self.backups.verify(backup_id, true)
    }

    /// The backups that are not damaged, oldest first.
    pub fn get_backup_info(&self) -> Vec<BackupEngineInfo> {
        let backups = self.backups.catalog().valid().iter();
        backups.map(|(id, meta)| info(*id, meta)).collect()
    }

    /// The numbers of backups that are damaged, oldest first: metadata that cannot be read, files
    /// that are missing or have another size. [`verify_backup`](Self::verify_backup) says what is
    /// wrong. Not in the `rocksdb` crate.
    pub fn get_corrupted_backups(&self) -> Vec<u32> {
        self.backups.catalog().damaged().collect()
    }

    /// What [`CreateBackupOptions::set_app_metadata`] added to a backup. Not in the `rocksdb`
    /// crate.
    ///
    /// # Errors
    /// `NotFound`; `Corruption` or `NotSupported` if the backup is damaged.
    pub fn get_app_metadata(&self, backup_id: u32) -> Result<Vec<u8>, Error> {
        Ok(self.backups.catalog().get(backup_id)?.app_metadata.clone())
    }

    /// The paths of files that a backup leaves out. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`get_app_metadata`](Self::get_app_metadata).
    pub fn get_excluded_files(&self, backup_id: u32) -> Result<Vec<String>, Error> {
        Ok(self.backups.catalog().get(backup_id)?.excluded.clone())
    }

    /// The files of a backup. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`get_app_metadata`](Self::get_app_metadata).
    pub fn get_backup_files(&self, backup_id: u32) -> Result<Vec<BackupFileInfo>, Error> {
        let files = self.backups.catalog().get(backup_id)?.files.iter();
        let info = files.map(|file| BackupFileInfo {
            relative_filename: file.path.clone(),
            size: file.size.unwrap_or_default(),
            checksum: file.crc,
        });
        Ok(info.collect())
    }
}

fn info(backup_id: u32, meta: &Meta) -> BackupEngineInfo {
    BackupEngineInfo {
        timestamp: meta.timestamp,
        backup_id,
        size: meta.files.iter().filter_map(|file| file.size).sum(),
        num_files: u32::try_from(meta.files.len()).unwrap_or(u32::MAX),
    }
}
