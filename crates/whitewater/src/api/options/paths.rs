//! Setters of the directories of tables.

use super::Options;
use crate::options::paths::DbPath;
use std::path::Path;
use whitewater_storage::{Error, Result};

/// A directory for tables, for [`Options::set_db_paths`] and [`Options::set_cf_paths`].
#[derive(Debug, Clone)]
pub struct DBPath {
    pub(crate) inner: DbPath,
}

impl DBPath {
    /// The directory `path`, which compactions try to keep below `target_size` bytes.
    ///
    /// # Errors
    /// `InvalidArgument` for a path with a NUL byte.
    pub fn new<P: AsRef<Path>>(path: P, target_size: u64) -> Result<Self, Error> {
        let path = path.as_ref().to_path_buf();
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(Error::invalid(format_args!(
                "Could not create path for storing sst files at location: {}",
                path.display()
            )));
        }
        let inner = DbPath { path, target_size };
        Ok(DBPath { inner })
    }
}

fn inner(paths: &[DBPath]) -> Vec<DbPath> {
    paths.iter().map(|path| path.inner.clone()).collect()
}

/// The directories of tables. They are made when the database is opened, or the column family
/// created, and belong to the database: tables and blob files in them that it does not know are
/// deleted when it is opened.
impl Options {
    /// The directories of tables, four at most. Newer data goes to the first ones, older data
    /// moves to the later ones with compactions. Default empty: all tables are in the directory of
    /// the database. Fixed while the database is open.
    ///
    /// * Flushes, ingestions and blob files go to the first path.
    /// * With leveled compaction, a level is in the first path whose target size can still hold
    ///   all of it, after the levels above (level 0 counts as large as level 1). With universal
    ///   compaction, a table goes to the first path that has room for it, and for what will be
    ///   merged into it next. What fits nowhere goes to the last path. FIFO compaction takes one
    ///   path only, and refuses more as `NotSupported`.
    /// * Target sizes are estimates, and a column family knows nothing of others in its paths: a
    ///   path can grow larger.
    /// * Manual compactions write to the first path, or to
    ///   [`set_target_path_id`](crate::CompactOptions::set_target_path_id).
    ///
    /// With several paths, `level_compaction_dynamic_level_bytes` is `false`, as in RocksDB, and
    /// checkpoints and backups are refused as `NotSupported` as soon as a file is outside the
    /// database's own directory. Logs, manifest and options file stay in the database's directory,
    /// which has tables only if it is one of the paths.
    ///
    /// An options file does not have the paths. The manifest has a table's path by its position
    /// in this list, so each opening has to give the same directories in the same order; only the
    /// target sizes may change. A table that is not where its path says fails the opening and is
    /// named. If there are fewer paths than that, it is looked for in the last one, so that the
    /// files of several directories can be moved into one.
    ///
    /// ```
    /// use whitewater::{DB, DBPath, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let (flash, disk) = (dir.path().join("flash"), dir.path().join("disk"));
    /// # let path = dir.path().join("db");
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.set_db_paths(&[DBPath::new(&flash, 10 << 30)?, DBPath::new(&disk, 2 << 40)?]);
    /// let db = DB::open(&opts, path)?;
    /// db.put("k", "v")?;
    /// db.flush()?;
    /// assert_eq!(db.live_files()?[0].db_path, flash);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_db_paths(&mut self, paths: &[DBPath]) {
        self.db.db_paths = inner(paths);
    }

    /// The directories of this column family's tables, as
    /// [`set_db_paths`](Self::set_db_paths) for all of them. Default empty: those of the database.
    /// Fixed while the database is open.
    ///
    /// Column families may share directories; target sizes are then those of each of them alone.
    pub fn set_cf_paths(&mut self, paths: &[DBPath]) {
        self.cf.cf_paths = inner(paths);
    }
}
