//! How backups are made and restored.

use crate::api::env::Env;
use crate::backups::excluded::{ExcludeFiles, MaybeExcludeBackupFile};
use crate::backups::options::{BackupOptions, Naming};
use crate::backups::restore::{Restoration, RestoreMode};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::backup::Schema;

/// How a [`BackupEngine`](super::BackupEngine) makes backups, and where.
#[derive(Debug, Clone)]
pub struct BackupEngineOptions {
    pub(super) inner: BackupOptions,
}

/// How files that backups share are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShareFilesNaming {
    /// `NUMBER_CRC32C_SIZE.sst`. The whole table must be read to know its name.
    LegacyCrc32cAndFileSize,
    /// `NUMBER_sSESSION.sst`, with the session of the database that wrote the table. Tables that
    /// do not say which one it was, and blob files, have the other kind of names.
    #[default]
    UseDbSessionId,
}

impl BackupEngineOptions {
    /// The default options, for backups in the directory `backup_dir`.
    ///
    /// # Errors
    /// None; the signature is the `rocksdb` crate's.
    pub fn new<P: AsRef<Path>>(backup_dir: P) -> Result<Self, Error> {
        Ok(BackupEngineOptions {
            inner: BackupOptions::new(backup_dir.as_ref().to_path_buf()),
        })
    }

    /// Sets how many files may be copied or checked at the same time. Numbers below 1 count as 1,
    /// numbers above 1024 as 1024. Default: 1.
    pub fn set_max_background_operations(&mut self, max_background_operations: i32) {
        self.inner.max_background_operations = max_background_operations.clamp(1, 1024) as usize;
    }

    /// Sets whether files and their names are made durable. Without, a power cut may damage
    /// backups that were made and databases that were restored before it. Default: `true`.
    pub fn set_sync(&mut self, sync: bool) {
        self.inner.sync = sync;
    }

    /// Whether files and their names are made durable.
    pub fn get_sync(&mut self) -> bool {
        self.inner.sync
    }

    /// Sets the environment that the backups are in. Default: that of the engine. Not in the
    /// `rocksdb` crate, as are all options below.
    pub fn set_backup_env(&mut self, env: &Env) {
        self.inner.fs = Some(env.fs.clone());
    }

    /// Sets whether backups share tables and blob files. Without, each backup copies everything.
    /// Default: `true`.
    pub fn set_share_table_files(&mut self, share_table_files: bool) {
        self.inner.share_table_files = share_table_files;
    }

    /// Sets whether names of shared files tell different files with one number apart. Without,
    /// a backup of a database that was restored from an older backup, or of another database, may
    /// take another table for its own. Default: `true`.
    pub fn set_share_files_with_checksum(&mut self, share_files_with_checksum: bool) {
        self.inner.share_files_with_checksum = share_files_with_checksum;
    }

    /// Sets how shared files are called, and whether their size in bytes is in the name in any
    /// case. Backups with other names stay as they are. Default: by session, with the size.
    pub fn set_share_files_with_checksum_naming(
        &mut self,
        naming: ShareFilesNaming,
        include_file_size: bool,
    ) {
        self.inner.naming = Naming {
            by_session: naming == ShareFilesNaming::UseDbSessionId,
            with_size: include_file_size,
        };
    }

    /// Sets whether opening the engine deletes all backups that are there. Default: `false`.
    pub fn set_destroy_old_data(&mut self, destroy_old_data: bool) {
        self.inner.destroy_old_data = destroy_old_data;
    }

    /// Sets whether backups have the logs. Without, a backup lacks what is only in memtables,
    /// unless they are flushed first or the logs are elsewhere
    /// ([`RestoreOptions::set_keep_log_files`]). Column families are of different moments then,
    /// unless [`Options::set_atomic_flush`](crate::Options::set_atomic_flush) flushes them
    /// together.
    /// Default: `true`.
    pub fn set_backup_log_files(&mut self, backup_log_files: bool) {
        self.inner.backup_log_files = backup_log_files;
    }

    /// Sets the most bytes per second that are read to make and verify backups; 0 is no limit.
    /// Default: 0.
    pub fn set_backup_rate_limit(&mut self, bytes_per_second: u64) {
        self.inner.backup_rate_limit = bytes_per_second;
    }

    /// Sets the most bytes per second that are read to restore backups; 0 is no limit.
    /// Default: 0.
    pub fn set_restore_rate_limit(&mut self, bytes_per_second: u64) {
        self.inner.restore_rate_limit = bytes_per_second;
    }

    /// Sets the number of bytes, at least 1, after which the callback of
    /// [`CreateBackupOptions::set_progress_callback`] is called. Default: 4 MiB.
    pub fn set_callback_trigger_interval_size(&mut self, bytes: u64) {
        self.inner.callback_trigger_interval_size = bytes.max(1);
    }

    /// Sets the form of the metadata. 1: all versions of RocksDB read it. 2: RocksDB reads it
    /// since 6.19; it has the sizes of files, so that cut files are noticed when the engine is
    /// opened. Default: 1.
    ///
    /// # Errors
    /// `InvalidArgument` for other numbers.
    pub fn set_schema_version(&mut self, schema_version: i32) -> Result<(), Error> {
        self.inner.schema = match schema_version {
            1 => Schema::One,
            2 => Schema::Two,
            other => {
                let what = format!("schema version {other} of backups");
                return Err(Error::invalid(what));
            }
        };
        Ok(())
    }

    /// Sets how many backups, the latest ones, an engine opens that is
    /// [read-only](super::BackupEngine::open_read_only). Others open all. Default: all.
    pub fn set_max_valid_backups_to_open(&mut self, max_valid_backups_to_open: usize) {
        self.inner.max_valid_backups_to_open = max_valid_backups_to_open;
    }
}

/// How one backup is made. Not in the `rocksdb` crate.
#[derive(Clone, Default)]
pub struct CreateBackupOptions {
    pub(super) flush_before_backup: bool,
    pub(super) app_metadata: Vec<u8>,
    pub(super) progress_callback: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) exclude_files_callback: Option<Arc<ExcludeFiles>>,
}

impl fmt::Debug for CreateBackupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateBackupOptions")
            .field("flush_before_backup", &self.flush_before_backup)
            .field("app_metadata", &self.app_metadata)
            .finish_non_exhaustive()
    }
}

impl CreateBackupOptions {
    /// Sets whether memtables are flushed first. Default: `false`.
    pub fn set_flush_before_backup(&mut self, flush_before_backup: bool) {
        self.flush_before_backup = flush_before_backup;
    }

    /// Sets what is noted with the backup, at most 1 MiB. Default: nothing.
    pub fn set_app_metadata<M: AsRef<[u8]>>(&mut self, app_metadata: M) {
        self.app_metadata = app_metadata.as_ref().to_vec();
    }

    /// Sets a function that is called each time
    /// [`BackupEngineOptions::set_callback_trigger_interval_size`] more bytes were read, by any
    /// of the threads that copy. Default: none.
    pub fn set_progress_callback(&mut self, callback: impl Fn() + Send + Sync + 'static) {
        self.progress_callback = Some(Arc::new(callback));
    }

    /// Sets a function that is called once, before any table is copied, with all files that the
    /// backup would share with others, and that says which to leave out, because they are known to
    /// be in another directory of backups. The backup names them, and
    /// [`restore_from_backup_with`](super::BackupEngine::restore_from_backup_with) finds them.
    /// Needs [`BackupEngineOptions::set_schema_version`] 2. Default: none; nothing is left out.
    pub fn set_exclude_files_callback(
        &mut self,
        callback: impl Fn(&mut [MaybeExcludeBackupFile]) + Send + Sync + 'static,
    ) {
        self.exclude_files_callback = Some(Arc::new(callback));
    }
}

/// How a backup is restored.
#[derive(Debug, Clone, Default)]
pub struct RestoreOptions {
    pub(super) inner: Restoration,
}

impl RestoreOptions {
    /// Sets whether logs that are there stay. Those in the directory `archive` are moved to that
    /// of the logs. Logs of the backup are restored if they are not there. For backups without
    /// logs ([`BackupEngineOptions::set_backup_log_files`]). Default: `false`.
    pub fn set_keep_log_files(&mut self, keep_log_files: bool) {
        self.inner.keep_log_files = keep_log_files;
    }

    /// Sets which tables of the database that is there may stay. Default:
    /// [`RestoreMode::PurgeAllFiles`]. Not in the `rocksdb` crate.
    pub fn set_mode(&mut self, mode: RestoreMode) {
        self.inner.mode = mode;
    }
}
