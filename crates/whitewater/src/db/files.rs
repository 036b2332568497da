//! The files of a database: where they are, which of them are needed, and who may delete
//! them.
//!
//! Invariants:
//! * D1: a table or blob file is deleted once no version names it ([`ObsoleteFiles`]), or by
//!   the job that wrote it, if that job fails. No obsolete file is deleted while deletions
//!   are disabled ([`Deletions`]).
//! * D2: the lock file is held until the log is closed, so that no other process opens a
//!   database that this one still writes.
//!
//! Lock order: the lock of options files, then [`Deletions`] (shared), then the manifest
//! lock of [`VersionSet`]; the others are leaves. Only the first two and the manifest lock
//! are held across I/O.

use super::archive::LastPurge;
use super::data_dirs::DataDirs;
use super::obsolete_files::Deletions;
use super::options_file::OptionsFiles;
use super::pending_outputs::{Pending, PendingOutputs};
use crate::version::ObsoleteFiles;
use crate::version::paths::DataPaths;
use crate::version::set::VersionSet;
use crate::version::table_cache::TableCache;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::Result;
use whitewater_storage::fs::{FileLock, Fs};
use whitewater_storage::manifest::{BlobFileMetaData, FileMetaData};

/// See the [module](self).
pub(crate) struct Files {
    pub(super) dir: PathBuf,
    pub(super) fs: Arc<dyn Fs>,
    /// Other directories of tables and blob files.
    pub(super) data_dirs: DataDirs,
    /// The database's id, as in its IDENTITY file.
    pub(super) db_id: String,
    /// The id of this opening, which tables are signed with, too.
    pub(super) session_id: String,
    pub(super) versions: VersionSet,
    /// Open tables.
    pub(super) tables: Arc<TableCache>,
    pub(super) obsolete: Arc<ObsoleteFiles>,
    pub(super) pending: PendingOutputs,
    pub(super) deletions: Deletions,
    pub(super) last_purge: LastPurge,
    pub(super) options_files: OptionsFiles,
    /// The lock file, from the opening until the database is closed. `None` if another
    /// process may write the database.
    lock: Mutex<Option<Box<dyn FileLock>>>,
}

/// What an opening has found or made.
pub(super) struct Opened {
    pub dir: PathBuf,
    pub fs: Arc<dyn Fs>,
    pub data_dirs: DataDirs,
    pub db_id: String,
    pub session_id: String,
    pub versions: VersionSet,
    pub tables: Arc<TableCache>,
    pub obsolete: Arc<ObsoleteFiles>,
    pub lock: Option<Box<dyn FileLock>>,
}

impl Files {
    /// The files of a database that is being opened.
    pub(super) fn new(opened: Opened) -> Self {
        Files {
            dir: opened.dir,
            fs: opened.fs,
            data_dirs: opened.data_dirs,
            db_id: opened.db_id,
            session_id: opened.session_id,
            versions: opened.versions,
            tables: opened.tables,
            obsolete: opened.obsolete,
            pending: PendingOutputs::default(),
            deletions: Deletions::default(),
            last_purge: LastPurge::default(),
            options_files: OptionsFiles::default(),
            lock: Mutex::new(opened.lock),
        }
    }

    /// Removes files that a job has written for a column family with these paths and that are not
    /// going to be recorded. What cannot be removed is found as an orphan at the next open.
    pub fn remove_outputs(
        &self,
        paths: &DataPaths,
        tables: &[FileMetaData],
        blob_files: &[BlobFileMetaData],
    ) {
        let tables = tables.iter().map(|table| paths.table(table));
        let blob_files = blob_files.iter().map(|file| paths.blob(file.number));
        for path in tables.chain(blob_files) {
            let _ = self.fs.remove(&path);
        }
    }

    /// Makes the names of the files in the database's own directory durable.
    ///
    /// # Errors
    /// Those of the file system, of this sync or of the first one that failed.
    pub fn sync_dir(&self) -> Result<()> {
        self.fs.sync_dir(&self.dir)
    }

    /// Registers a job that is about to create files.
    pub fn expect_outputs(&self) -> Pending<'_> {
        self.pending.expect(self.versions.next_file_number())
    }

    /// Lets go of the lock file (D2); returns whether it was held.
    pub fn unlock(&self) -> bool {
        self.lock.lock().take().is_some()
    }
}
