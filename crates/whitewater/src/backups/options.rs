//! How backups are made, and where.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::backup::{Schema, names};
use whitewater_storage::fs::Fs;

/// How shared files are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Naming {
    /// By the session that wrote the table, where the table says which; otherwise by checksum
    /// and size.
    pub by_session: bool,
    /// With the size, also if the session is in the name.
    pub with_size: bool,
}

/// RocksDB's `BackupEngineOptions`.
#[derive(Clone)]
pub(crate) struct BackupOptions {
    pub dir: PathBuf,
    /// The file system of the backups, if it is not that of the databases.
    pub fs: Option<Arc<dyn Fs>>,
    pub share_table_files: bool,
    pub share_files_with_checksum: bool,
    pub naming: Naming,
    pub sync: bool,
    pub destroy_old_data: bool,
    pub backup_log_files: bool,
    /// Bytes per second; 0 is no limit.
    pub backup_rate_limit: u64,
    /// Bytes per second; 0 is no limit.
    pub restore_rate_limit: u64,
    /// Files that are copied at the same time, at least 1.
    pub max_background_operations: usize,
    /// Bytes between two calls of the progress callback, at least 1.
    pub callback_trigger_interval_size: u64,
    pub schema: Schema,
    /// Backups that a read-only engine opens.
    pub max_valid_backups_to_open: usize,
}

impl BackupOptions {
    /// The defaults, for backups in `dir`.
    pub fn new(dir: PathBuf) -> Self {
        BackupOptions {
            dir,
            fs: None,
            share_table_files: true,
            share_files_with_checksum: true,
            naming: Naming {
                by_session: true,
                with_size: true,
            },
            sync: true,
            destroy_old_data: false,
            backup_log_files: true,
            backup_rate_limit: 0,
            restore_rate_limit: 0,
            max_background_operations: 1,
            callback_trigger_interval_size: 4 << 20,
            schema: Schema::One,
            max_valid_backups_to_open: usize::MAX,
        }
    }

    /// The folder of the files that backups share, if they do.
    pub fn shared_folder(&self) -> Option<&'static str> {
        match (self.share_table_files, self.share_files_with_checksum) {
            (false, _) => None,
            (true, true) => Some(names::SHARED_CHECKSUM),
            (true, false) => Some(names::SHARED),
        }
    }
}

impl fmt::Debug for BackupOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupOptions")
            .field("dir", &self.dir)
            .field("share_table_files", &self.share_table_files)
            .field("sync", &self.sync)
            .finish_non_exhaustive()
    }
}
