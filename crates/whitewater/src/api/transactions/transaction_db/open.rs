//! Opening, listing and destroying databases with transactions.

use super::{TransactionDB, TransactionDBInner};
use crate::api::column_family::ColumnFamilyDescriptor;
use crate::api::db::{DBCommon, EngineHandle, ThreadMode};
use crate::api::options::Options;
use crate::api::transactions::TransactionDBOptions;
use crate::db::Engine;
use crate::txn::database::TransactionDb;
use std::path::Path;
use whitewater_storage::Error;

/// Opening. Every form fails as opening a [`DB`](crate::DB) does, and with `NotSupported` for
/// options that the [write policy](TransactionDBOptions::set_write_policy) cannot be combined
/// with. Transactions that were prepared and not decided are kept:
/// [`prepared_transactions`](TransactionDB::prepared_transactions).
impl<T: ThreadMode> TransactionDB<T> {
    /// Opens the database in the directory `path` with default options, creating it when there is
    /// none.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::TransactionDB;
    ///
    /// let db: TransactionDB = TransactionDB::open_default(path)?;
    /// db.put("river", "blue")?;
    /// # assert!(db.get("river")?.is_some());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_default<P: AsRef<Path>>(path: P) -> Result<Self, Error> {
        let mut opts = Options::default();
        opts.create_if_missing(true);
        Self::open(&opts, &TransactionDBOptions::default(), path)
    }

    /// Opens the database in the directory `path`; `opts` are also those of the default column
    /// family.
    ///
    /// # Errors
    /// As listed above.
    pub fn open<P: AsRef<Path>>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
    ) -> Result<Self, Error> {
        Self::open_cf(opts, txn_db_opts, path, None::<&str>)
    }

    /// Opens the database with the named column families, with default options, and the default
    /// one.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{Options, TransactionDB, TransactionDBOptions};
    ///
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.create_missing_column_families(true);
    /// let of_transactions = TransactionDBOptions::default();
    /// let db: TransactionDB = TransactionDB::open_cf(&opts, &of_transactions, path, ["users"])?;
    /// let users = db.cf_handle("users").expect("opened above");
    /// let transaction = db.transaction();
    /// transaction.put_cf(&users, "7", "ada")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get_cf(&users, "7")?.as_deref(), Some(&b"ada"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn open_cf<P, I, N>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = N>,
        N: AsRef<str>,
    {
        let cfs = ColumnFamilyDescriptor::with_defaults(cfs);
        Self::open_cf_descriptors(opts, txn_db_opts, path, cfs)
    }

    /// Opens the database with column families by descriptor. The default one is opened with
    /// default options when it is not among them.
    ///
    /// # Errors
    /// As listed above.
    pub fn open_cf_descriptors<P, I>(
        opts: &Options,
        txn_db_opts: &TransactionDBOptions,
        path: P,
        cfs: I,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        I: IntoIterator<Item = ColumnFamilyDescriptor>,
    {
        let path = path.as_ref();
        let db = DBCommon::open_around(opts, path, cfs, |mut db_options, families| {
            TransactionDb::prepare_options(&mut db_options, &txn_db_opts.spec)?;
            db_options.fs.create_dir_all(path)?;
            let families = families.into_iter();
            let families = families.map(|(name, options, _)| (name, options)).collect();
            let engine = EngineHandle(Engine::open(path, db_options, families)?);
            let shared = TransactionDb::new(engine.0.clone(), txn_db_opts.spec.clone());
            Ok(TransactionDBInner { engine, shared })
        })?;
        Ok(TransactionDB { db })
    }

    /// Names of the column families of the database in `path`, which may be open.
    ///
    /// # Errors
    /// `IOError` when there is no database, `Corruption` when it is damaged.
    pub fn list_cf<P: AsRef<Path>>(opts: &Options, path: P) -> Result<Vec<String>, Error> {
        DBCommon::<T, TransactionDBInner>::list_cf(opts, path)
    }

    /// Removes the database in `path`. Files that are not the database's stay, and the directory
    /// with them.
    ///
    /// # Errors
    /// `IOError` naming the lock file when the database is open.
    pub fn destroy<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        DBCommon::<T, TransactionDBInner>::destroy(opts, path)
    }

    /// Makes the database in `path` usable again when its CURRENT or its manifest is lost or
    /// damaged, as [`DB::repair`](crate::DBCommon::repair) does.
    ///
    /// # Errors
    /// The same.
    pub fn repair<P: AsRef<Path>>(opts: &Options, path: P) -> Result<(), Error> {
        DBCommon::<T, TransactionDBInner>::repair(opts, path)
    }
}
