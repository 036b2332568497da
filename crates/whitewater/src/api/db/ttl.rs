//! Opening a database whose values expire.

use super::{DBCommon, DBInner, DBWithThreadMode, MultiThreaded, ThreadMode};
use crate::api::column_family::{ColumnFamilyDescriptor, ColumnFamilyTtl};
use crate::api::options::Options;
use crate::db::Engine;
use crate::db::ttl::TimeToLive;
use std::path::Path;
use std::time::Duration;
use whitewater_storage::Error;

/// Seconds as RocksDB keeps them; longer is as long as can be.
fn seconds(ttl: Duration) -> i32 {
    i32::try_from(ttl.as_secs()).unwrap_or(i32::MAX)
}

/// Opening with a time to live, in RocksDB's format: every value and merge
/// operand is stored with the second at which it was written, which reads take
/// off again. Compactions drop values that are older than their time to live,
/// so reads may show them for a while longer. A merge gives its result the time
/// of the merge.
///
/// Time to live is in seconds, a fraction is cut off; zero is forever, and what
/// is beyond 68 years counts as that. It may be another one at each opening. The
/// clock is [`set_clock`](Options::set_clock)'s. Column families created later
/// have values that live forever, unless
/// [`create_cf_with_ttl`](DBCommon::create_cf_with_ttl) creates them.
///
/// A database that was written so must be opened so: opened otherwise, values
/// show their last four bytes; and one that was not makes reads fail with
/// `Corruption`.
///
/// Every form fails as those of [`open`](DBWithThreadMode::open).
impl<T: ThreadMode> DBWithThreadMode<T> {
    /// Opens the database in `path`; `opts` are also those of the default column
    /// family. No handles are kept.
    ///
    /// ```
    /// use std::time::Duration;
    /// use whitewater::{DB, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// let db = DB::open_with_ttl(&opts, path, Duration::from_secs(3600))?;
    /// db.put(b"session", b"ada")?;
    /// assert_eq!(db.get(b"session")?.as_deref(), Some(&b"ada"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As listed above.
    pub fn open_with_ttl<P: AsRef<Path>>(
        opts: &Options,
        path: P,
        ttl: Duration,
    ) -> Result<Self, Error> {
        Self::open_cf_descriptors_with_ttl(opts, path, None, ttl)
    }

    /// Opens the named column families, with default options, and the default
    /// one.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_with_ttl<P, I, N>(
        opts: &Options,
        path: P,
        cfs: I,
        ttl: Duration,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_defaults(cfs);
        Self::open_cf_descriptors_with_ttl(opts, path, cfs, ttl)
    }

    /// Opens column families by descriptor, each with its own
    /// [time to live](ColumnFamilyTtl). The default one is opened with default
    /// options when it is not among them.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_descriptors_with_ttl<P, I>(
        opts: &Options,
        path: P,
        cfs: I,
        ttl: Duration,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let path = path.as_ref();
        Self::open_described(opts, path, cfs, |mut db_options, families| {
            db_options.stamps_values = true;
            let families = families.into_iter().map(|(name, mut options, own)| {
                let ttl = match own {
                    ColumnFamilyTtl::Disabled => i32::MAX,
                    ColumnFamilyTtl::Duration(own) => seconds(own),
                    ColumnFamilyTtl::SameAsDb => seconds(ttl),
                };
                TimeToLive::give(&mut options, ttl, &db_options.clock);
                (name, options)
            });
            let families = families.collect();
            db_options.fs.create_dir_all(path)?;
            Engine::open(path, db_options, families)
        })
    }
}

impl<D: DBInner> DBCommon<MultiThreaded, D> {
    /// Creates the column family `name`, whose values have a time to live of their own, in a
    /// database that was opened with one. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `InvalidArgument` if the database was opened without a time to live, and as
    /// `create_cf`.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use std::time::Duration;
    /// use whitewater::{DBWithThreadMode, MultiThreaded, Options};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// let (day, hour) = (Duration::from_secs(86400), Duration::from_secs(3600));
    /// let db = DBWithThreadMode::<MultiThreaded>::open_with_ttl(&options, dir.path(), day)?;
    /// db.create_cf_with_ttl("sessions", &options, hour)?;
    /// let sessions = db.cf_handle("sessions").expect("created above");
    /// db.put_cf(&sessions, "7", "ada")?;
    /// assert_eq!(db.get_cf(&sessions, "7")?.as_deref(), Some(&b"ada"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_cf_with_ttl<N: AsRef<str>>(
        &self,
        name: N,
        opts: &Options,
        ttl: Duration,
    ) -> Result<(), Error> {
        let mut options = opts.cf_options()?;
        self.engine().give_ttl(&mut options, seconds(ttl))?;
        self.create_shared(name.as_ref(), options)
    }
}
