//! Flushes, resumptions, numbers and properties of a database with transactions.

use super::TransactionDB;
use crate::api::c_str::CStrLike;
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::db::{MultiThreaded, ThreadMode};
use crate::api::options::FlushOptions;
use whitewater_storage::Error;

/// Flushes, resumptions and numbers.
impl<T: ThreadMode> TransactionDB<T> {
    /// Lets writes go on after a failure that stopped them, as
    /// [`DB::resume`](crate::DBCommon::resume) does. Transactions can be used on then: a prepared
    /// one whose decision has failed is prepared as before.
    ///
    /// # Errors
    /// The same.
    pub fn resume(&self) -> Result<(), Error> {
        self.db.resume()
    }

    /// The sequence number of the last write. With
    /// [`WritePolicy::WritePrepared`](crate::WritePolicy::WritePrepared) that may be one which is
    /// prepared and not decided.
    pub fn latest_sequence_number(&self) -> u64 {
        self.db.latest_sequence_number()
    }

    /// Hands logged bytes to the operating system, and makes them durable when `sync` is set, as
    /// [`DB::flush_wal`](crate::DBCommon::flush_wal) does.
    ///
    /// # Errors
    /// `IOError` when the log cannot be written.
    pub fn flush_wal(&self, sync: bool) -> Result<(), Error> {
        self.db.flush_wal(sync)
    }

    /// Makes all writes wait, those of transactions, too, until
    /// [`unlock_wal`](Self::unlock_wal), as [`DB::lock_wal`](crate::DBCommon::lock_wal) does.
    ///
    /// # Errors
    /// The same.
    pub fn lock_wal(&self) -> Result<(), Error> {
        self.db.lock_wal()
    }

    /// Ends one [`lock_wal`](Self::lock_wal) of this thread.
    ///
    /// # Errors
    /// `Aborted` when this thread has not locked the log, or not as often.
    pub fn unlock_wal(&self) -> Result<(), Error> {
        self.db.unlock_wal()
    }

    /// [`flush`](Self::flush) with options.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_opt(&self, flushopts: &FlushOptions) -> Result<(), Error> {
        self.db.flush_opt(flushopts)
    }

    /// Writes the memtables of the default column family to a table file.
    ///
    /// # Errors
    /// `IOError` when the table cannot be written.
    pub fn flush(&self) -> Result<(), Error> {
        self.db.flush()
    }

    /// [`flush_cf`](Self::flush_cf) with options.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_cf_opt(
        &self,
        cf: &impl AsColumnFamilyRef,
        flushopts: &FlushOptions,
    ) -> Result<(), Error> {
        self.db.flush_cf_opt(cf, flushopts)
    }

    /// Flushes several column families; with
    /// [`set_atomic_flush`](crate::Options::set_atomic_flush) at once.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_cfs_opt(
        &self,
        cfs: &[&impl AsColumnFamilyRef],
        opts: &FlushOptions,
    ) -> Result<(), Error> {
        self.db.flush_cfs_opt(cfs, opts)
    }

    /// Writes the memtables of `cf` to a table file.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_cf(&self, cf: &impl AsColumnFamilyRef) -> Result<(), Error> {
        self.db.flush_cf(cf)
    }
}

/// Properties.
impl TransactionDB<MultiThreaded> {
    /// The value of the property `name` (see [`properties`](crate::properties)) for the default
    /// column family; `None` for one that does not exist.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not UTF-8 or has a NUL byte inside.
    pub fn property_value(&self, name: impl CStrLike) -> Result<Option<String>, Error> {
        self.db.property_value(name)
    }

    /// The value of a property that is a number, as [`property_value`](Self::property_value).
    ///
    /// # Errors
    /// As [`property_value`](Self::property_value), and for properties that are not a number.
    pub fn property_int_value(&self, name: impl CStrLike) -> Result<Option<u64>, Error> {
        self.db.property_int_value(name)
    }
}
