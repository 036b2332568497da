//! Opening a database to follow another instance that writes it.

use super::{DBCommon, DBInner, DBWithThreadMode, ThreadMode};
use crate::api::column_family::ColumnFamilyDescriptor;
use crate::api::options::Options;
use crate::db::Engine;
use std::path::Path;
use whitewater_storage::Error;

/// Following: a secondary instance shows what the primary, in this process or
/// another, has written up to the last
/// [`try_catch_up_with_primary`](DBCommon::try_catch_up_with_primary). It takes
/// no lock and changes none of the primary's files; only its LOG is written, in
/// `secondary_path`, which is created. Each secondary instance needs a path of
/// its own.
///
/// What it shows is a prefix of what the primary wrote, batches whole. Writes
/// that the primary has not handed to the operating system, or not logged and
/// not flushed, do not show.
///
/// Only column families that are named are followed; one that the primary drops
/// keeps its last content for those who have its handle, and those it creates
/// later show when the secondary is reopened.
///
/// Whatever would change the database fails with `NotSupported`. So do reads at
/// a snapshot: compactions of the primary do not know of it. An iterator keeps
/// what it saw when it was made.
///
/// With [`max_open_files`](Options::set_max_open_files) -1 (the default) all
/// tables are opened when they are caught up with, and stay readable when the
/// primary deletes them. With a limit, a read that needs a deleted one fails
/// with an `IOError` naming it, until the next catching up.
///
/// Every form fails as those of
/// [`open_for_read_only`](DBWithThreadMode::open_for_read_only).
impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Follows the database in `primary_path`; `opts` are also those of the
    /// default column family. No handles are kept.
    ///
    /// ```
    /// use whitewater::{DB, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let (path, own) = (dir.path().join("db"), dir.path().join("secondary"));
    /// let primary = DB::open_default(&path)?;
    /// let secondary = DB::open_as_secondary(&Options::default(), &path, &own)?;
    /// primary.put(b"k", b"v")?;
    /// assert_eq!(secondary.get(b"k")?, None);
    /// secondary.try_catch_up_with_primary()?;
    /// assert_eq!(secondary.get(b"k")?.as_deref(), Some(&b"v"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As listed above.
    pub fn open_as_secondary<P: AsRef<Path>>(
        opts: &Options,
        primary_path: P,
        secondary_path: P,
    ) -> Result<Self, Error> {
        Self::open_cf_as_secondary(opts, primary_path, secondary_path, None::<&str>)
    }

    /// Follows the named column families, with default options, and the default
    /// one.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_as_secondary<P, I, N>(
        opts: &Options,
        primary_path: P,
        secondary_path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_defaults(cfs);
        Self::open_cf_descriptors_as_secondary(opts, primary_path, secondary_path, cfs)
    }

    /// Follows column families by descriptor. The default one is opened with
    /// default options when it is not among them.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_descriptors_as_secondary<P, I>(
        opts: &Options,
        path: P,
        secondary_path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let (path, own) = (path.as_ref(), secondary_path.as_ref());
        Self::open_with(opts, path, cfs, |db_options, families| {
            Engine::open_secondary(path, own, db_options, families)
        })
    }
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Shows what the primary has written since the last call, or since this
    /// secondary instance was opened. Reads go on meanwhile.
    ///
    /// # Errors
    /// `NotSupported` from a database that was not opened as a secondary;
    /// `TryAgain` when the primary deletes logs again and again before they are
    /// read; those of reading. What was shown before still is.
    pub fn try_catch_up_with_primary(&self) -> Result<(), Error> {
        self.engine().try_catch_up_with_primary()
    }
}
