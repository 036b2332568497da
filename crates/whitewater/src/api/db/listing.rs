//! Lists of the files of a database, as in RocksDB's C++ API. Programs use them to copy or to watch
//! it.

use super::{DBCommon, DBInner, ThreadMode};
use crate::db::listing::{FileChecksumInfo, LiveFileStorageInfo, WalFile};
use crate::external::exported::LiveFileMetaData;
use whitewater_storage::Error;

/// What [`DBCommon::get_live_files_storage_info`] does and tells.
#[derive(Debug, Clone, Default)]
pub struct LiveFilesStorageInfoOptions {
    include_checksum_info: bool,
    wal_size_for_flush: u64,
}

impl LiveFilesStorageInfoOptions {
    /// Whether the list has the checksums of whole tables, where the manifest has them. Default
    /// `false`.
    pub fn set_include_checksum_info(&mut self, include: bool) {
        self.include_checksum_info = include;
    }

    /// Flushes memtables first if the logs have this many bytes or more, so that fewer logs need
    /// to be copied. Default 0: always.
    pub fn set_wal_size_for_flush(&mut self, bytes: u64) {
        self.wal_size_for_flush = bytes;
    }
}

/// Lists of files. Files in them may be deleted at any time unless
/// [`disable_file_deletions`](DBCommon::disable_file_deletions) was called before.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// The names of the files that make up the database but for its logs, within its directory and
    /// with a leading slash, and how many bytes of the manifest belong to it: the manifest grows,
    /// and what comes later may name files that are not in the list. With `flush_memtable`,
    /// memtables are flushed first.
    ///
    /// # Errors
    /// Errors of the flush and of the file system; the failure that stopped the database.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.disable_file_deletions()?;
    /// let (files, manifest_size) = db.get_live_files(true)?;
    /// assert!(files.contains(&"/CURRENT".to_owned()) && manifest_size > 0);
    /// db.enable_file_deletions()?;
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_live_files(&self, flush_memtable: bool) -> Result<(Vec<String>, u64), Error> {
        self.engine().live_file_names(flush_memtable)
    }

    /// The files that make up the database at this moment, logs included, with all that a copy of
    /// it needs to know.
    ///
    /// # Errors
    /// As [`get_live_files`](Self::get_live_files).
    pub fn get_live_files_storage_info(
        &self,
        opts: &LiveFilesStorageInfoOptions,
    ) -> Result<Vec<LiveFileStorageInfo>, Error> {
        self.engine()
            .live_files_storage_info(opts.wal_size_for_flush, opts.include_checksum_info)
    }

    /// The table files in use, of all column families, with all that the manifest says of them.
    ///
    /// # Errors
    /// Errors of opening a table.
    pub fn get_live_files_metadata(&self) -> Result<Vec<LiveFileMetaData>, Error> {
        self.engine().live_files_metadata()
    }

    /// The checksums of the tables in use, in the order of their numbers. They are empty for
    /// tables that were written without
    /// [`set_file_checksum`](crate::Options::set_file_checksum).
    pub fn get_live_files_checksum_info(&self) -> Vec<FileChecksumInfo> {
        self.engine().live_files_checksums()
    }

    /// The logs that exist, archived ones included, from the oldest to the one that writes go to.
    ///
    /// # Errors
    /// `NotSupported` for a read-only or secondary instance; errors of the file system.
    pub fn get_sorted_wal_files(&self) -> Result<Vec<WalFile>, Error> {
        self.engine().sorted_wal_files()
    }

    /// The log that writes go to.
    ///
    /// # Errors
    /// `NotSupported` for a read-only or secondary instance; errors of the file system.
    pub fn get_current_wal_file(&self) -> Result<WalFile, Error> {
        self.engine().current_wal_file()
    }

    /// When the oldest table in use was created, in seconds since 1970: 0 if that is unknown of a
    /// table, `u64::MAX` if there is none. RocksDB wants `max_open_files` to be -1 for it.
    pub fn get_creation_time_of_oldest_file(&self) -> u64 {
        self.engine().creation_time_of_oldest_file()
    }

    /// The id of this opening of the database, as tables have it among their properties. Empty for
    /// a read-only or secondary instance.
    pub fn get_db_session_id(&self) -> String {
        self.engine().session_id().to_owned()
    }
}
