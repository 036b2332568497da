//! The space of tables and blob files, and the rate of deletions.

use crate::sst_file_manager::{DELETE_CHUNK, MAX_TRASH_RATIO, Manager};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Knows the size of all tables and blob files of the databases that it was given to, limits it,
/// and limits the rate at which obsolete ones are deleted. Not in the `rocksdb` crate; RocksDB's
/// names. Clones are the same manager. See
/// [`Options::set_sst_file_manager`](crate::Options::set_sst_file_manager).
///
/// *Space*: when a flush ends and all files together have reached
/// [`set_max_allowed_space_usage`](Self::set_max_allowed_space_usage), the database refuses writes
/// with an `IOError` of [`is_space_limit`](crate::Error::is_space_limit), of severity `HardError`.
/// A compaction that reaches it does the same; one that has no room to begin is put off, and fails
/// with `CompactionTooLarge` if a caller asked for it. Once there is room again, for example
/// because the limit was raised, the database resumes by itself
/// ([`set_max_bgerror_resume_count`](crate::Options::set_max_bgerror_resume_count)), as it does
/// when a full disk has room for a memtable again.
///
/// *Deletions*: with a rate, an obsolete file is renamed to `NAME.trash`, and a thread deletes
/// trash, oldest first, cutting pieces off large files. That spares devices on which the deletion
/// of a large file holds up other operations. Trash that is left when the process ends is deleted
/// when the database is opened again. A file that has other names, as in a checkpoint, is deleted
/// as a whole. Do not read a database as a secondary instance or for reading only while its files
/// are cut: obsolete tables that are still read there get shorter. Logs are deleted at once.
///
/// ```
/// use whitewater::{DB, Options, SstFileManager};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let manager = SstFileManager::new();
/// manager.set_max_allowed_space_usage(10 << 30);
/// manager.set_delete_rate_bytes_per_second(64 << 20);
/// let mut opts = Options::default();
/// opts.create_if_missing(true);
/// opts.set_sst_file_manager(&manager);
/// let db = DB::open(&opts, dir.path())?;
/// db.put("k", "v")?;
/// db.flush()?;
/// assert!(manager.get_total_size() > 0);
/// assert!(!manager.is_max_allowed_space_reached());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SstFileManager {
    pub(super) manager: Arc<Manager>,
}

impl SstFileManager {
    /// A manager without limits: files are deleted at once.
    pub fn new() -> Self {
        Self::with_deletion(0, MAX_TRASH_RATIO, DELETE_CHUNK)
    }

    /// A manager that deletes `rate_bytes_per_sec` bytes per second, in pieces of
    /// `bytes_max_delete_chunk` bytes (0: whole files; RocksDB's default is 64 MiB). A file that is
    /// deleted in pieces is damaged for who has it open still: where secondary instances read the
    /// database, delete whole files. See
    /// [`set_delete_rate_bytes_per_second`](Self::set_delete_rate_bytes_per_second) and
    /// [`set_max_trash_db_ratio`](Self::set_max_trash_db_ratio).
    pub fn with_deletion(
        rate_bytes_per_sec: i64,
        max_trash_db_ratio: f64,
        bytes_max_delete_chunk: u64,
    ) -> Self {
        let manager = Manager::new(
            rate_bytes_per_sec,
            max_trash_db_ratio,
            bytes_max_delete_chunk,
        );
        SstFileManager {
            manager: Arc::new(manager),
        }
    }

    /// Limits the size of all files to `bytes`. 0, the default, is no limit.
    pub fn set_max_allowed_space_usage(&self, bytes: u64) {
        self.manager.set_max_allowed_space(bytes);
    }

    /// Has compactions leave `bytes` of the space that is allowed or free, for flushes and logs.
    /// Default 0: after a full disk they leave room for a memtable.
    pub fn set_compaction_buffer_size(&self, bytes: u64) {
        self.manager.set_compaction_buffer(bytes);
    }

    /// Whether the files take all the space that is allowed.
    pub fn is_max_allowed_space_reached(&self) -> bool {
        self.manager.is_full()
    }

    /// The same, counting what running compactions may still write: as much as they read.
    pub fn is_max_allowed_space_reached_including_compactions(&self) -> bool {
        self.manager.is_full_with_compactions()
    }

    /// The size of all files, trash included, in bytes.
    pub fn get_total_size(&self) -> u64 {
        self.manager.total_size()
    }

    /// All files, trash included, and their sizes in bytes.
    pub fn get_tracked_files(&self) -> HashMap<PathBuf, u64> {
        self.manager.tracked_files()
    }

    /// See [`set_delete_rate_bytes_per_second`](Self::set_delete_rate_bytes_per_second).
    pub fn get_delete_rate_bytes_per_second(&self) -> i64 {
        self.manager.delete_rate()
    }

    /// Has at most `bytes` per second deleted. With 0, the default, or less, files are deleted at
    /// once, by the thread that finds them obsolete.
    pub fn set_delete_rate_bytes_per_second(&self, bytes: i64) {
        self.manager.set_delete_rate(bytes);
    }

    /// See [`set_max_trash_db_ratio`](Self::set_max_trash_db_ratio).
    pub fn get_max_trash_db_ratio(&self) -> f64 {
        self.manager.max_trash_ratio()
    }

    /// The part of all files that trash may be; while it is more, files are deleted at once.
    /// Default 0.25.
    pub fn set_max_trash_db_ratio(&self, ratio: f64) {
        self.manager.set_max_trash_ratio(ratio);
    }

    /// The size of all trash in bytes.
    pub fn get_total_trash_size(&self) -> u64 {
        self.manager.trash_size()
    }

    /// Waits until all trash is deleted.
    pub fn wait_for_empty_trash(&self) {
        self.manager.wait_for_empty_trash();
    }
}

impl Default for SstFileManager {
    fn default() -> Self {
        Self::new()
    }
}
