//! Opening, listing and destroying databases.

use super::{DBCommon, DBInner, DBWithThreadMode, DBWithThreadModeInner, EngineHandle, ThreadMode};
use crate::api::column_family::{
    ColumnFamilyDescriptor, ColumnFamilyHandle, ColumnFamilyTtl, DEFAULT_COLUMN_FAMILY_NAME,
};
use crate::api::options::Options;
use crate::db::Engine;
use crate::options::{CfOptions, DbOptions};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::{Error, Result};

/// Name, options and time to live of a column family.
pub(crate) type Described = (String, CfOptions, ColumnFamilyTtl);

/// Opening. Every form fails with
/// * `InvalidArgument` when the database does not exist and may not be created,
///   exists and must not, or has column families that are not listed, and for
///   options out of range;
/// * `NotSupported` for options that are not built in;
/// * `IOError` when the database is open already, here or in another process;
/// * `Corruption` naming the file that is damaged.
impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Opens the database in the directory `path` with default options,
    /// creating it when there is none.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::DB;
    ///
    /// let db = DB::open_default(path)?;
    /// db.put("river", "blue")?;
    /// drop(db); // closes it
    /// assert_eq!(DB::open_default(path)?.get("river")?, Some(b"blue".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, path)
    }

    /// Opens the database in the directory `path`; `opts` are also those of
    /// the default column family. No handles are kept: `cf_handle` knows only
    /// column families created later.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{DB, Options};
    ///
    /// let mut options = Options::default();
    /// assert!(DB::open(&options, path).is_err()); // there is none
    /// options.create_if_missing(true);
    /// options.increase_parallelism(4);
    /// let db = DB::open(&options, path)?;
    /// assert_eq!(db.path(), path);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Self, Error> {
        Self::open_cf(opts, path, None::<&str>)
    }

    /// Opens the database with the named column families, with default
    /// options, and the default one.
    ///
    /// ```
    /// use whitewater::{DB, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.create_missing_column_families(true);
    /// let db = DB::open_cf(&opts, path, ["users", "orders"])?;
    /// let users = db.cf_handle("users").expect("opened above");
    /// db.put_cf(&users, b"1", b"ada")?;
    /// assert_eq!(db.get(b"1")?, None);
    /// assert_eq!(db.get_cf(&users, b"1")?.as_deref(), Some(&b"ada"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_defaults(cfs);
        Self::open_cf_descriptors(opts, path, cfs)
    }

    /// Opens the database with column families by name and options.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{DB, Options};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.create_missing_column_families(true);
    /// let mut of_queue = Options::default();
    /// of_queue.set_write_buffer_size(8 << 20);
    /// let db = DB::open_cf_with_opts(&options, path, [("queue", of_queue)])?;
    /// assert!(db.cf_handle("queue").is_some());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_cf_with_opts<P, I, N>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = (N, Options)>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_options(cfs);
        Self::open_cf_descriptors(opts, path, cfs)
    }

    /// Opens the database with column families by descriptor. The default one
    /// is opened with default options when it is not among them.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{ColumnFamilyDescriptor, DB, DBCompressionType, Options};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.create_missing_column_families(true);
    /// let mut of_archive = Options::default();
    /// of_archive.set_compression_type(DBCompressionType::Zstd);
    /// let families = [ColumnFamilyDescriptor::new("archive", of_archive)];
    /// let db = DB::open_cf_descriptors(&options, path, families)?;
    /// assert!(db.cf_handle("archive").is_some());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_cf_descriptors<P, I>(opts: &Options, path: P, cfs: I) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let path = path.as_ref();
        Self::open_with(opts, path, cfs, |db_options, families| {
            db_options.fs.create_dir_all(path)?;
            Engine::open(path, db_options, families)
        })
    }

    /// Opens the database with column families by descriptor, as it was at the time `trim_ts`: from
    /// column families whose comparator has timestamps, all is removed that has a later one,
    /// deletions and range deletions included. The default column family is opened with
    /// default options when it is not among them. RocksDB's `OpenAndTrimHistory`; not in the
    /// `rocksdb` crate.
    ///
    /// All tables of these column families are read, and those that hold something newer are
    /// written again before this returns, so that it needs as much room. That is recorded at once:
    /// if this fails or the process ends meanwhile, nothing was removed. (RocksDB compacts
    /// level by level, and may leave a newer value without the deletion of it.) Tables that
    /// hold nothing newer stay.
    ///
    /// What was below the limit of the history
    /// ([`increase_full_history_ts_low`](crate::DBCommon::increase_full_history_ts_low)) when
    /// tables were compacted may be gone: a `trim_ts` below that limit leaves of a key what is
    /// there.
    ///
    /// # Errors
    /// As listed above, and `InvalidArgument` when the size of `trim_ts` is not that of the
    /// timestamps of a column family.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{ColumnFamilyDescriptor, DB, Options, ReadOptions};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_u64_timestamp_comparator();
    /// let families = || [ColumnFamilyDescriptor::new("default", options.clone())];
    /// let db = DB::open_cf_descriptors(&options, path, families())?;
    /// let default = db.cf_handle("default").expect("it is always there");
    /// db.put_cf_with_ts(&default, "river", 7u64.to_le_bytes(), "blue")?;
    /// db.put_cf_with_ts(&default, "river", 9u64.to_le_bytes(), "brown")?;
    /// drop(db);
    ///
    /// let db = DB::open_and_trim_history(&options, path, families(), 8u64.to_le_bytes())?;
    /// let default = db.cf_handle("default").expect("it is always there");
    /// let mut now = ReadOptions::default();
    /// now.set_timestamp(10u64.to_le_bytes());
    /// assert_eq!(db.get_cf_opt(&default, "river", &now)?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_and_trim_history<P, I, S>(
        opts: &Options,
        path: P,
        cfs: I,
        trim_ts: S,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
        S: AsRef<[u8]>,
    {
        let path = path.as_ref();
        Self::open_with(opts, path, cfs, |db_options, families| {
            db_options.fs.create_dir_all(path)?;
            Engine::open_upto(path, db_options, families, Some(trim_ts.as_ref()))
        })
    }

    /// Opens the database in `path` by `open`, which gets its options and those
    /// of the column families.
    pub(super) fn open_with(
        opts: &Options,
        path: &Path,
        cfs: impl IntoIterator<Item = ColumnFamilyDescriptor>,
        open: impl FnOnce(DbOptions, Vec<(String, CfOptions)>) -> Result<Arc<Engine>>,
    ) -> Result<Self, Error> {
        Self::open_described(opts, path, cfs, |db_options, families| {
            let families = families.into_iter();
            let families = families.map(|(name, options, _)| (name, options));
            open(db_options, families.collect())
        })
    }

    /// [`Self::open_with`], with the times to live.
    pub(super) fn open_described(
        opts: &Options,
        path: &Path,
        cfs: impl IntoIterator<Item = ColumnFamilyDescriptor>,
        open: impl FnOnce(DbOptions, Vec<Described>) -> Result<Arc<Engine>>,
    ) -> Result<Self, Error> {
        Self::open_around(opts, path, cfs, |db_options, families| {
            let engine = EngineHandle(open(db_options, families)?);
            Ok(DBWithThreadModeInner { engine })
        })
    }
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Opens the database in `path` by `open`, which gets its options and those of the
    /// column families, and returns what the handle is made around.
    pub(crate) fn open_around(
        opts: &Options,
        path: &Path,
        cfs: impl IntoIterator<Item = ColumnFamilyDescriptor>,
        open: impl FnOnce(DbOptions, Vec<Described>) -> Result<D>,
    ) -> Result<Self, Error> {
        let mut cfs: Vec<_> = cfs.into_iter().collect();
        let keep_handles = !cfs.is_empty();
        if !cfs.iter().any(|cf| cf.name == DEFAULT_COLUMN_FAMILY_NAME) {
            // Without a list, the options are the default column family's too.
            let options = if keep_handles {
                Options::default()
            } else {
                opts.clone()
            };
            cfs.push(ColumnFamilyDescriptor::new(
                DEFAULT_COLUMN_FAMILY_NAME,
                options,
            ));
        }

        let db_options = opts.db_options()?;
        let families = cfs
            .into_iter()
            .map(|cf| Ok((cf.name, cf.options.cf_options()?, cf.ttl)))
            .collect::<Result<Vec<_>>>()?;
        let inner = open(db_options, families)?;

        let engine = &inner.inner().0;
        let mut handles = BTreeMap::new();
        if keep_handles {
            for cf in engine.column_families() {
                handles.insert(cf.name.clone(), ColumnFamilyHandle::new(engine, cf));
            }
        }
        Ok(DBCommon {
            inner,
            cfs: T::new_cf_map_internal(handles),
            path: path.to_path_buf(),
        })
    }
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Names of the column families of the database in `path`, which may be
    /// open.
    ///
    /// # Errors
    /// `IOError` when there is no database, `Corruption` when it is damaged.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// # let path = dir.path();
    /// use whitewater::{DB, Options};
    ///
    /// let mut names = DB::list_cf(&Options::default(), path)?;
    /// names.sort();
    /// assert_eq!(names, ["default", "users"]);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn list_cf<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Vec<String>, Error> {
        Engine::list_column_families(path.as_ref(), &opts.db_options()?)
    }

    /// Removes the database in `path`. Files that are not the database's stay,
    /// and the directory with them.
    ///
    /// # Errors
    /// `IOError` naming the lock file when the database is open.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = &dir.path().join("db");
    /// use whitewater::{DB, Options};
    ///
    /// drop(DB::open_default(path)?);
    /// DB::destroy(&Options::default(), path)?;
    /// assert!(DB::open(&Options::default(), path).is_err());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn destroy<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        Engine::destroy(path.as_ref(), &opts.db_options()?, &opts.cf_options()?)
    }

    /// Makes the database in `path` usable again when its CURRENT or its manifest
    /// is lost or damaged: a new manifest is made of the tables and logs that can
    /// be read. `opts` apply to all column families, whose names the tables know;
    /// one that only a log knows by its number `N` is called `recovered_N`.
    ///
    /// All tables are in level 0 then, so that the next opening compacts them.
    /// What could not be read, the old manifests and the logs, which have become
    /// tables, are in the directory `lost`, and so are tables that were ingested if no
    /// manifest is left that says where they belong and how old they are: they can be
    /// ingested again. (RocksDB takes them for older than all others.)
    ///
    /// A database that lacks nothing keeps all its values. That takes its manifest,
    /// which says what is in tables and what is in logs. If that is gone, or names
    /// tables that are missing or damaged, everything counts that is there: what was
    /// deleted or overwritten may come back, and merge operands may count twice. LOG
    /// says what is such a guess, in lines with `Repair: guess:`. (RocksDB never
    /// reads the old manifest, and guesses always.) Of a damaged table all is missing.
    /// Of a damaged blob file only the values are missing that cannot be read, and LOG names it. A
    /// repair that was interrupted can be repeated.
    ///
    /// # Errors
    /// `IOError` when there is no such directory or the database is open;
    /// `InvalidArgument` when `opts` have another comparator than the tables, for
    /// options out of range, and for tables and blob files in directories that the paths
    /// in `opts` do not name. Nothing has changed then.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{DB, Options};
    ///
    /// let db = DB::open_default(path)?;
    /// db.put("river", "blue")?;
    /// drop(db);
    /// std::fs::remove_file(path.join("CURRENT")).expect("it is there");
    /// DB::repair(&Options::default(), path)?;
    /// assert_eq!(DB::open_default(path)?.get("river")?, Some(b"blue".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn repair<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        Engine::repair(path.as_ref(), &opts.db_options()?, &opts.cf_options()?)
    }

    /// The directory the database was opened in, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
