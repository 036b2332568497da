//! Creating and dropping column families of a database with transactions.

use super::TransactionDB;
use crate::api::column_family::{BoundColumnFamily, ColumnFamily};
use crate::api::db::{MultiThreaded, SingleThreaded};
use crate::api::options::Options;
use std::sync::Arc;
use whitewater_storage::Error;

impl TransactionDB<SingleThreaded> {
    /// Creates the column family `name`.
    ///
    /// # Errors
    /// `InvalidArgument` when it exists or an option is out of range, `NotSupported` for options
    /// that are not built in.
    pub fn create_cf<N: AsRef<str>>(&mut self, name: N, opts: &Options) -> Result<(), Error> {
        self.db.create_cf(name, opts)
    }

    /// Creates column families with the same options: all of them, or none if that fails. Not in
    /// the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`create_cf`](Self::create_cf), and when a name comes twice.
    pub fn create_cfs<N: AsRef<str>>(
        &mut self,
        names: impl IntoIterator<Item = N>,
        opts: &Options,
    ) -> Result<(), Error> {
        self.db.create_cfs(names, opts)
    }

    /// The handle of the column family `name`, if it was named at open or created since. Openings
    /// that take no names, such as `open`, name none, not even `default`.
    pub fn cf_handle(&self, name: &str) -> Option<&ColumnFamily> {
        self.db.cf_handle(name)
    }

    /// Drops the column family `name`.
    ///
    /// # Errors
    /// `InvalidArgument` when there is no handle of that name, and for the default column family.
    pub fn drop_cf(&mut self, name: &str) -> Result<(), Error> {
        self.db.drop_cf(name)
    }
}

impl TransactionDB<MultiThreaded> {
    /// Creates the column family `name`.
    ///
    /// # Errors
    /// `InvalidArgument` when it exists or an option is out of range, `NotSupported` for options
    /// that are not built in.
    pub fn create_cf<N: AsRef<str>>(&self, name: N, opts: &Options) -> Result<(), Error> {
        self.db.create_cf(name, opts)
    }

    /// Creates column families with the same options: all of them, or none if that fails. Not in
    /// the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`create_cf`](Self::create_cf), and when a name comes twice.
    pub fn create_cfs<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        opts: &Options,
    ) -> Result<(), Error> {
        self.db.create_cfs(names, opts)
    }

    /// The handle of the column family `name`, if it was named at open or created since. Openings
    /// that take no names, such as `open`, name none, not even `default`.
    pub fn cf_handle(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
        self.db.cf_handle(name)
    }

    /// Drops the column family `name`. Its locks are gone then, and those who wait for one fail
    /// with `InvalidArgument`. Transactions that have written to it fail when they are committed.
    ///
    /// # Errors
    /// `InvalidArgument` when there is no handle of that name, and for the default column family.
    pub fn drop_cf(&self, name: &str) -> Result<(), Error> {
        self.db.drop_cf(name)
    }
}
