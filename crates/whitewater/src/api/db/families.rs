//! Creating and dropping column families.

use super::{DBCommon, DBInner, MultiThreaded, SingleThreaded, ThreadMode};
use crate::api::column_family::{BoundColumnFamily, ColumnFamily, ColumnFamilyHandle};
use crate::api::options::Options;
use crate::column_family::ColumnFamilyData;
use crate::options::CfOptions;
use std::sync::Arc;
use whitewater_storage::Error;

fn unknown(name: &str) -> Error {
    Error::invalid(format_args!("Invalid column family: {name}"))
}

/// The handle of a column family that was created in `db`.
pub(super) fn created<T: ThreadMode, D: DBInner>(
    db: &DBCommon<T, D>,
    cf: Arc<ColumnFamilyData>,
) -> ColumnFamilyHandle {
    db.inner.family_created(cf.id);
    ColumnFamilyHandle::new(db.engine(), cf)
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    fn create(&self, name: &str, opts: &Options) -> Result<ColumnFamilyHandle, Error> {
        self.create_of(name, opts.cf_options()?)
    }

    fn create_of(&self, name: &str, options: CfOptions) -> Result<ColumnFamilyHandle, Error> {
        let cf = self.engine().create_cf(name, options)?;
        Ok(created(self, cf))
    }

    fn create_many<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        opts: &Options,
    ) -> Result<Vec<(String, ColumnFamilyHandle)>, Error> {
        let options = opts.cf_options()?;
        let names = names.into_iter().map(|name| name.as_ref().to_owned());
        let families = names.map(|name| (name, options.clone())).collect();
        let cfs = self.engine().create_cfs(families)?.into_iter();
        Ok(cfs.map(|cf| (cf.name.clone(), created(self, cf))).collect())
    }

    fn drop_family(&self, handle: &ColumnFamilyHandle) -> Result<(), Error> {
        self.engine().drop_cf(handle.data())?;
        self.inner.family_dropped(handle.id());
        Ok(())
    }
}

impl<D: DBInner> DBCommon<SingleThreaded, D> {
    /// Creates the column family `name`.
    ///
    /// # Errors
    /// `InvalidArgument` when it exists or an option is out of range,
    /// `NotSupported` for options that are not built in.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{DBWithThreadMode, Options, SingleThreaded};
    ///
    /// let mut db = DBWithThreadMode::<SingleThreaded>::open_default(dir.path())?;
    /// db.create_cf("users", &Options::default())?;
    /// let users = db.cf_handle("users").expect("created above");
    /// db.put_cf(users, "7", "ada")?;
    /// assert_eq!(db.get_cf(users, "7")?, Some(b"ada".to_vec()));
    /// db.drop_cf("users")?;
    /// assert!(db.cf_handle("users").is_none());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_cf<N: AsRef<str>>(&mut self, name: N, opts: &Options) -> Result<(), Error> {
        let name = name.as_ref();
        let handle = self.create(name, opts)?;
        let cfs = &mut self.cfs.cfs;
        cfs.insert(name.to_owned(), ColumnFamily { handle });
        Ok(())
    }

    /// Creates column families with the same options: all of them, or none if that fails. Each
    /// call of `create_cf` writes a file with the options of all column families, and this writes
    /// one. RocksDB's `CreateColumnFamilies`; not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`create_cf`](Self::create_cf), and when a name comes twice.
    pub fn create_cfs<N: AsRef<str>>(
        &mut self,
        names: impl IntoIterator<Item = N>,
        opts: &Options,
    ) -> Result<(), Error> {
        for (name, handle) in self.create_many(names, opts)? {
            self.cfs.cfs.insert(name, ColumnFamily { handle });
        }
        Ok(())
    }

    /// Drops the column family `name`.
    ///
    /// # Errors
    /// `InvalidArgument` when there is no handle of that name, and for the
    /// default column family.
    pub fn drop_cf(&mut self, name: &str) -> Result<(), Error> {
        let cf = self.cfs.cfs.get(name).ok_or_else(|| unknown(name))?;
        self.drop_family(&cf.handle)?;
        // Deletes what only the handle kept.
        self.cfs.cfs.remove(name);
        Ok(())
    }

    /// The handle of the column family `name`, if it was named at open or created since. Openings
    /// that take no names, such as `open`, name none, not even `default`.
    pub fn cf_handle(&self, name: &str) -> Option<&ColumnFamily> {
        self.cfs.cfs.get(name)
    }
}

impl<D: DBInner> DBCommon<MultiThreaded, D> {
    /// Creates the column family `name`.
    ///
    /// # Errors
    /// `InvalidArgument` when it exists or an option is out of range,
    /// `NotSupported` for options that are not built in.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{DBWithThreadMode, MultiThreaded, Options};
    ///
    /// let db = DBWithThreadMode::<MultiThreaded>::open_default(dir.path())?;
    /// db.create_cf("users", &Options::default())?;
    /// let users = db.cf_handle("users").expect("created above");
    /// db.put_cf(&users, "7", "ada")?;
    /// assert_eq!(db.get_cf(&users, "7")?, Some(b"ada".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_cf<N: AsRef<str>>(&self, name: N, opts: &Options) -> Result<(), Error> {
        self.create_shared(name.as_ref(), opts.cf_options()?)
    }

    /// Creates column families with the same options: all of them, or none if that fails. Each
    /// call of `create_cf` writes a file with the options of all column families, and this writes
    /// one. RocksDB's `CreateColumnFamilies`; not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As `create_cf`, and when a name comes twice.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{DBWithThreadMode, MultiThreaded, Options};
    ///
    /// let db = DBWithThreadMode::<MultiThreaded>::open_default(dir.path())?;
    /// db.create_cfs((0..100).map(|shard| format!("shard-{shard}")), &Options::default())?;
    /// let shard = db.cf_handle("shard-42").expect("created above");
    /// db.put_cf(&shard, "7", "ada")?;
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_cfs<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        opts: &Options,
    ) -> Result<(), Error> {
        // Held over the creation, as for one.
        let mut cfs = self.cfs.cfs.write();
        for (name, handle) in self.create_many(names, opts)? {
            cfs.insert(name, MultiThreaded::share(handle));
        }
        Ok(())
    }

    pub(super) fn create_shared(&self, name: &str, options: CfOptions) -> Result<(), Error> {
        // Held over the creation, so that a second creator that sees no handle
        // does not come between.
        let mut cfs = self.cfs.cfs.write();
        let handle = self.create_of(name, options)?;
        cfs.insert(name.to_owned(), MultiThreaded::share(handle));
        Ok(())
    }

    /// Drops the column family `name`. Handles to it live on; its files go with the
    /// last of them.
    ///
    /// # Errors
    /// `InvalidArgument` when there is no handle of that name, and for the
    /// default column family.
    pub fn drop_cf(&self, name: &str) -> Result<(), Error> {
        self.drop_if(name, |_| true)
    }

    /// Drops the column family of `handle`, and no other one of its name.
    ///
    /// # Errors
    /// As [`drop_cf`](Self::drop_cf); `InvalidArgument` if it was dropped, or is one of another
    /// database.
    #[doc(hidden)]
    pub fn drop_cf_of(&self, handle: &ColumnFamilyHandle) -> Result<(), Error> {
        let is_it = |named: &ColumnFamilyHandle| Arc::ptr_eq(named.data(), handle.data());
        self.drop_if(handle.family_name(), is_it)
    }

    fn drop_if(
        &self,
        name: &str,
        is_it: impl FnOnce(&ColumnFamilyHandle) -> bool,
    ) -> Result<(), Error> {
        let mut cfs = self.cfs.cfs.write();
        let cf = cfs.get(name).filter(|cf| is_it(&cf.handle));
        let cf = cf.ok_or_else(|| unknown(name))?;
        self.drop_family(&cf.handle)?;
        let handle = cfs.remove(name);
        drop(cfs);
        // Deletes what only the handle kept, if nobody else has it.
        drop(handle);
        Ok(())
    }

    /// The handle of the column family `name`, if it was named at open or created since. Openings
    /// that take no names, such as `open`, name none, not even `default`.
    pub fn cf_handle(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
        // The binding shortens the lifetime from 'static to that of the borrow.
        let handle: Arc<BoundColumnFamily<'_>> = self.cfs.cfs.read().get(name)?.clone();
        Some(handle)
    }
}
