//! Flushes, compactions and background work.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::options::{CompactOptions, FlushOptions, WaitForCompactOptions};
use crate::db::ColumnFamilyData;
use std::sync::Arc;
use whitewater_storage::Error;

/// Flushes, compactions and background work.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Hands logged bytes to the operating system, and makes them durable when
    /// `sync` is set: all writes so far then survive a power cut. Without
    /// `sync` there is something to do only with
    /// [`Options::set_manual_wal_flush`](crate::Options::set_manual_wal_flush).
    ///
    /// # Errors
    /// `IOError` when the log cannot be written.
    pub fn flush_wal(&self, sync: bool) -> Result<(), Error> {
        self.engine().flush_wal(sync)
    }

    /// [`flush`](Self::flush) with options.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_opt(&self, flushopts: &FlushOptions) -> Result<(), Error> {
        let engine = self.engine();
        engine.flush(&[engine.default_cf().clone()], flushopts.wait)
    }

    /// Writes the memtables of the default column family to a table file.
    ///
    /// # Errors
    /// `IOError` when the table cannot be written.
    pub fn flush(&self) -> Result<(), Error> {
        self.flush_opt(&FlushOptions::default())
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
        let cf = cf.inner().data().clone();
        self.engine().flush(&[cf], flushopts.wait)
    }

    /// Flushes several column families.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_cfs_opt(
        &self,
        cfs: &[&impl AsColumnFamilyRef],
        opts: &FlushOptions,
    ) -> Result<(), Error> {
        let cfs: Vec<_> = cfs.iter().map(|cf| cf.inner().data().clone()).collect();
        self.engine().flush(&cfs, opts.wait)
    }

    /// Writes the memtables of `cf` to a table file.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_cf(&self, cf: &impl AsColumnFamilyRef) -> Result<(), Error> {
        self.flush_cf_opt(cf, &FlushOptions::default())
    }

    /// Compacts the keys from `start` to `end`, both inclusive, of the default
    /// column family; `None` is no limit. Returns when it is done. Does not
    /// say whether it failed;
    /// [`try_compact_range_opt`](Self::try_compact_range_opt) does.
    pub fn compact_range<S: AsRef<[u8]>, E: AsRef<[u8]>>(&self, start: Option<S>, end: Option<E>) {
        self.compact_range_opt(start, end, &CompactOptions::default());
    }

    /// [`compact_range`](Self::compact_range) with options.
    pub fn compact_range_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) {
        // The signature has no room for the failure; see `compact_range`.
        let _ = self.try_compact_range_opt(start, end, opts);
    }

    /// [`compact_range`](Self::compact_range) of `cf`.
    pub fn compact_range_cf<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
    ) {
        self.compact_range_cf_opt(cf, start, end, &CompactOptions::default());
    }

    /// [`compact_range_cf`](Self::compact_range_cf) with options.
    pub fn compact_range_cf_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) {
        // The signature has no room for the failure; see `compact_range`.
        let _ = self.try_compact_range_cf_opt(cf, start, end, opts);
    }

    /// [`compact_range_opt`](Self::compact_range_opt) that reports failures.
    ///
    /// # Errors
    /// `IOError` or `Corruption` when a table cannot be read or written,
    /// `ShutdownInProgress` after background work was cancelled.
    pub fn try_compact_range_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) -> Result<(), Error> {
        self.compact(self.engine().default_cf(), start, end, opts)
    }

    /// [`compact_range_cf_opt`](Self::compact_range_cf_opt) that reports
    /// failures.
    ///
    /// # Errors
    /// As [`try_compact_range_opt`](Self::try_compact_range_opt).
    pub fn try_compact_range_cf_opt<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) -> Result<(), Error> {
        self.compact(cf.inner().data(), start, end, opts)
    }

    fn compact<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &Arc<ColumnFamilyData>,
        start: Option<S>,
        end: Option<E>,
        opts: &CompactOptions,
    ) -> Result<(), Error> {
        let (start, end) = (start.as_ref(), end.as_ref());
        self.engine().compact_range(
            cf,
            start.map(AsRef::as_ref),
            end.map(AsRef::as_ref),
            opts.bottommost,
        )
    }

    /// Goes on after a failure that stopped writes, in place of opening the
    /// database anew. Writes that were reported as failed are gone for good
    /// then: they are not visible, now or after opening the database anew. What
    /// is in memtables is flushed, which takes that long, and writers wait.
    /// Reads go on. Does nothing if nothing has failed; a flush or compaction
    /// that is going to be tried again is tried at once.
    ///
    /// Not in the `rocksdb` crate; RocksDB's name. RocksDB also resumes by
    /// itself after some failures of the log; here, only flushes and
    /// compactions are tried again unasked.
    ///
    /// ```
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = whitewater::DB::open_default(dir.path())?;
    /// if let Err(e) = db.put(b"key", b"value") {
    ///     eprintln!("{e}, {}", e.severity());
    ///     // Once there is room on the disk again:
    ///     db.resume()?;
    ///     db.put(b"key", b"value")?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The failure itself when it is fatal or unrecoverable
    /// ([`Error::severity`]), as after a failed manifest write, the failed sync
    /// of a directory, or damage to stored data, and, with
    /// [`CommitProtocol::Unordered`](crate::CommitProtocol::Unordered), after a
    /// comparator or prefix extractor panicked in an insert: the write was
    /// visible by then, and only opening anew brings back all of it; `IOError` when the disk still
    /// fails. The database is as it was before then. `ShutdownInProgress` after
    /// [`cancel_all_background_work`](Self::cancel_all_background_work).
    pub fn resume(&self) -> Result<(), Error> {
        self.engine().resume()
    }

    /// Waits until no flush or compaction is running or due.
    ///
    /// # Errors
    /// `TimedOut` when that takes longer than the options allow; the failure
    /// of a background job.
    pub fn wait_for_compact(&self, opts: &WaitForCompactOptions) -> Result<(), Error> {
        self.engine().wait_for_compact(opts.flush, opts.timeout)
    }

    /// Stops flushes and compactions for good, for instance before closing;
    /// waits for those that run when `wait` is set.
    pub fn cancel_all_background_work(&self, wait: bool) {
        self.engine().cancel_all_background_work(wait);
    }
}
