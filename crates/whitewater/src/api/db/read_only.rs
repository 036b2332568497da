//! Opening a database to read it.

use super::{DBWithThreadMode, ThreadMode};
use crate::api::column_family::ColumnFamilyDescriptor;
use crate::api::options::Options;
use crate::db::Engine;
use std::path::Path;
use whitewater_storage::Error;

/// Opening to read. The database is not locked and not written to: its
/// directory may be one that cannot be written to, there is no LOG, and any
/// number of such instances, here and in other processes, may be open beside
/// one that writes. What the logs hold is read into memory. Later writes of
/// others do not show.
///
/// Only the column families to be read need be named. Reads, iterators,
/// snapshots and properties are as ever. Writes, flushes, compactions, changes
/// of column families and all else that would change files fail with
/// `NotSupported`, as do `get_updates_since` and `resume`.
///
/// While another one writes, tables that it deletes can still be read if they
/// are open: with [`max_open_files`](Options::set_max_open_files) -1 (the
/// default) all of them are opened here. Otherwise a read that needs a deleted
/// one fails, naming it.
///
/// `create_if_missing` and `create_missing_column_families` are ignored: nothing
/// is created.
///
/// Every form fails with
/// * `IOError` when the database does not exist;
/// * `InvalidArgument` when a named column family does not exist, and for
///   options out of range;
/// * `Corruption` naming the file that is damaged, and, with
///   `error_if_log_file_exist`, when there is a write-ahead log;
/// * `TryAgain` when another one writes so much that logs are deleted again and
///   again before they are read.
impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Opens the database in `path`; `opts` are also those of the default column
    /// family. No handles are kept.
    ///
    /// ```
    /// use whitewater::{DB, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let writer = DB::open_default(path)?;
    /// writer.put(b"k", b"v")?;
    /// let reader = DB::open_for_read_only(&Options::default(), path, false)?;
    /// assert_eq!(reader.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// assert!(reader.put(b"k", b"w").is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As listed above.
    pub fn open_for_read_only<P: AsRef<Path>>(
        opts: &Options,
        path: P,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error> {
        Self::open_cf_for_read_only(opts, path, None::<&str>, error_if_log_file_exist)
    }

    /// Opens the named column families, with default options, and the default
    /// one.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_for_read_only<P, I, N>(
        opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_defaults(cfs);
        Self::open_cf_descriptors_read_only(opts, path, cfs, error_if_log_file_exist)
    }

    /// Opens column families by name and options, and the default one.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_with_opts_for_read_only<P, I, N>(
        db_opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = (N, Options)>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_options(cfs);
        Self::open_cf_descriptors_read_only(db_opts, path, cfs, error_if_log_file_exist)
    }

    /// Opens column families by descriptor. The default one is opened with
    /// default options when it is not among them.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_descriptors_read_only<P, I>(
        opts: &Options,
        path: P,
        cfs: I,
        error_if_log_file_exist: bool,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let path = path.as_ref();
        Self::open_with(opts, path, cfs, |db_options, families| {
            Engine::open_read_only(path, db_options, families, error_if_log_file_exist)
        })
    }
}
