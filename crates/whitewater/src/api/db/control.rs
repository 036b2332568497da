//! Flushes, compactions and background work.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::options::{CompactOptions, CompactionOptions, FlushOptions, WaitForCompactOptions};
use crate::column_family::ColumnFamilyData;
use crate::db::integrity::Checks;
use crate::db::scrub::ScrubProgress;
use crate::listener::FlushReason;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::filename::{self, FileType};

/// Flushes, compactions and background work.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Hands logged bytes to the operating system, and makes them durable when
    /// `sync` is set: all writes so far then survive a power cut. Without
    /// `sync` there is something to do only with
    /// [`Options::set_manual_wal_flush`](crate::Options::set_manual_wal_flush).
    ///
    /// # Errors
    /// `IOError` when the log cannot be written.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.put("stream", "white")?;
    /// db.flush_wal(true)?; // both survive a power failure
    /// # assert!(db.get("river")?.is_some());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn flush_wal(&self, sync: bool) -> Result<(), Error> {
        self.engine().flush_wal(sync)
    }

    /// Makes all writes wait until [`unlock_wal`](Self::unlock_wal), so that what the database
    /// holds stays as it is. When it returns, all writes before it are finished and in the files
    /// of the log, which are not extended, deleted or replaced until then. RocksDB's `LockWAL`,
    /// which the `rocksdb` crate does not have.
    ///
    /// Calls nest, also those of several threads: writes go on after as many calls of
    /// [`unlock_wal`](Self::unlock_wal), each by the thread that has locked. Reads, checkpoints,
    /// backups and lists of files work meanwhile. Checkpoints and backups copy the log instead of
    /// flushing, unless there are writes that are not in the log. What needs new memtables or
    /// changes column families waits like a write: [`flush`](Self::flush), ingestion,
    /// [`resume`](Self::resume); a flush that does not wait fails with `TryAgain`. Compactions,
    /// and flushes that were due, go on, and files that they make obsolete are kept.
    ///
    /// A write with [`WriteOptions::set_no_slowdown`](crate::WriteOptions::set_no_slowdown) fails
    /// with `Incomplete` instead of waiting; if it had begun to when the log was locked, it waits.
    /// Writes, and all calls that would wait, fail with `Aborted` on a thread that has locked.
    /// Closing the database, and
    /// [`cancel_all_background_work`](Self::cancel_all_background_work), end the lock.
    ///
    /// # Errors
    /// The failure that has stopped writes; `IOError` when the log cannot be written (with
    /// [`Options::set_manual_wal_flush`](crate::Options::set_manual_wal_flush)). The log is not
    /// locked then.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.lock_wal()?;
    /// let logs = db.get_sorted_wal_files()?; // to be copied
    /// assert!(db.put("stream", "white").is_err()); // would wait for its own thread
    /// db.unlock_wal()?;
    /// db.put("stream", "white")?;
    /// # assert_eq!(logs.len(), 1);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn lock_wal(&self) -> Result<(), Error> {
        self.engine().lock_wal()
    }

    /// Ends one [`lock_wal`](Self::lock_wal) of this thread. The last one of all threads lets
    /// writes go on.
    ///
    /// # Errors
    /// `Aborted` when this thread has not locked the log, or not as often.
    pub fn unlock_wal(&self) -> Result<(), Error> {
        self.engine().unlock_wal()
    }

    /// [`flush`](Self::flush) with options.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::FlushOptions;
    ///
    /// db.put("river", "blue")?;
    /// let mut options = FlushOptions::default();
    /// options.set_wait(false); // a background thread goes on
    /// db.flush_opt(&options)?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn flush_opt(&self, flushopts: &FlushOptions) -> Result<(), Error> {
        let engine = self.engine();
        engine.flush(
            &[engine.default_cf().clone()],
            FlushReason::ManualFlush,
            flushopts.wait,
        )
    }

    /// Writes the memtables of the default column family to a table file.
    ///
    /// # Errors
    /// `IOError` when the table cannot be written.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::properties::NUM_ENTRIES_ACTIVE_MEM_TABLE;
    ///
    /// db.put("river", "blue")?;
    /// db.flush()?;
    /// assert_eq!(db.live_files()?.len(), 1);
    /// assert_eq!(db.property_int_value(NUM_ENTRIES_ACTIVE_MEM_TABLE)?, Some(0));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
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
        self.engine()
            .flush(&[cf], FlushReason::ManualFlush, flushopts.wait)
    }

    /// Flushes several column families; with
    /// [`set_atomic_flush`](crate::Options::set_atomic_flush) at once, so that
    /// either all of them or none are flushed after a crash.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_cfs_opt(
        &self,
        cfs: &[&impl AsColumnFamilyRef],
        opts: &FlushOptions,
    ) -> Result<(), Error> {
        let cfs: Vec<_> = cfs.iter().map(|cf| cf.inner().data().clone()).collect();
        self.engine()
            .flush(&cfs, FlushReason::ManualFlush, opts.wait)
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
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// for round in 0..3 {
    ///     db.put("river", round.to_string())?;
    ///     db.flush()?;
    /// }
    /// assert_eq!(db.live_files()?.len(), 3);
    /// db.compact_range(None::<&[u8]>, None::<&[u8]>);
    /// assert_eq!(db.live_files()?.len(), 1);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
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
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::{BottommostLevelCompaction, CompactOptions};
    ///
    /// db.put("river", "blue")?;
    /// let mut options = CompactOptions::default();
    /// options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    /// db.try_compact_range_opt(Some("a"), Some("z"), &options)?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
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

    /// Compacts the named tables of the default column family into the level `output_level`.
    /// Names are those of [`live_files`](crate::DBCommon::live_files), or end with them. Returns
    /// the paths of the tables that were written, or moved.
    ///
    /// What has to go along does: older tables of level 0, and tables of levels down to the output
    /// level that overlap. Memtables are not flushed. Automatic compactions go on: with dynamic
    /// level targets, they soon move tables out of levels that the data is too small for. Like
    /// RocksDB's `CompactFiles`; not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `InvalidArgument` for no file, one that is not a live table of the column family, one of a
    /// deeper level, and a level that does not exist or that the compaction style does not use;
    /// `Aborted` if one of the tables is being compacted, or another compaction writes to the same
    /// place: the caller may try again. Others as
    /// [`try_compact_range_opt`](Self::try_compact_range_opt).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{CompactionOptions, DB, Options};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_disable_auto_compactions(true);
    /// let db = DB::open(&options, path)?;
    /// db.put("river", "blue")?;
    /// db.flush()?;
    /// let names = db.live_files()?.into_iter().map(|file| file.name);
    /// let made = db.compact_files(&CompactionOptions::default(), names, 3)?;
    /// assert_eq!(made.len(), 1);
    /// assert_eq!(db.live_files()?[0].level, 3);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn compact_files<I>(
        &self,
        opts: &CompactionOptions,
        input_file_names: I,
        output_level: i32,
    ) -> Result<Vec<PathBuf>, Error>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        self.compact_named(
            self.engine().default_cf(),
            opts,
            input_file_names,
            output_level,
        )
    }

    /// The same as [`compact_files`](Self::compact_files), for a column family.
    ///
    /// # Errors
    /// As [`compact_files`](Self::compact_files).
    pub fn compact_files_cf<I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        opts: &CompactionOptions,
        input_file_names: I,
        output_level: i32,
    ) -> Result<Vec<PathBuf>, Error>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        self.compact_named(cf.inner().data(), opts, input_file_names, output_level)
    }

    fn compact_named<I>(
        &self,
        cf: &Arc<ColumnFamilyData>,
        opts: &CompactionOptions,
        names: I,
        output_level: i32,
    ) -> Result<Vec<PathBuf>, Error>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let names: Vec<I::Item> = names.into_iter().collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        self.engine()
            .compact_files(cf, &names, output_level, &opts.spec)
    }

    /// Makes background threads compact the tables of the default column family that overlap the
    /// keys from `start` to `end`, both inclusive, `None` being open, as soon as nothing is more
    /// urgent; but not those of the deepest level with data. Returns at once, and flushes nothing.
    /// The suggestion is forgotten when the database is closed. Like RocksDB's experimental
    /// `SuggestCompactRange`; not in the `rocksdb` crate.
    ///
    /// # Errors
    /// The failure that stopped writes; `NotSupported` from an instance that only reads.
    pub fn suggest_compact_range<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        start: Option<S>,
        end: Option<E>,
    ) -> Result<(), Error> {
        let (start, end) = (start.as_ref(), end.as_ref());
        let cf = self.engine().default_cf();
        let (start, end) = (start.map(AsRef::as_ref), end.map(AsRef::as_ref));
        self.engine().suggest_compact_range(cf, start, end)
    }

    /// The same as [`suggest_compact_range`](Self::suggest_compact_range), for a column family.
    ///
    /// # Errors
    /// As [`suggest_compact_range`](Self::suggest_compact_range).
    pub fn suggest_compact_range_cf<S: AsRef<[u8]>, E: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        start: Option<S>,
        end: Option<E>,
    ) -> Result<(), Error> {
        let (start, end) = (start.as_ref(), end.as_ref());
        let (start, end) = (start.map(AsRef::as_ref), end.map(AsRef::as_ref));
        self.engine()
            .suggest_compact_range(cf.inner().data(), start, end)
    }

    /// Moves all tables of level 0 of the default column family to `target_level` as they are,
    /// for instance after a load of sorted keys. Automatic compactions may take them further down,
    /// as after [`compact_files`](Self::compact_files). Like RocksDB's experimental `PromoteL0`;
    /// not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `InvalidArgument` for a level that does not exist, when tables of level 0 overlap or are
    /// being compacted, and when a level down to the target has data; `Aborted` while another
    /// compaction of the column family runs.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// use whitewater::{DB, Options};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_disable_auto_compactions(true);
    /// let db = DB::open(&options, path)?;
    /// db.put("river", "blue")?;
    /// db.flush()?;
    /// db.promote_l0(3)?;
    /// assert_eq!(db.live_files()?[0].level, 3);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn promote_l0(&self, target_level: i32) -> Result<(), Error> {
        let cf = self.engine().default_cf();
        self.engine().promote_l0(cf, target_level)
    }

    /// The same as [`promote_l0`](Self::promote_l0), for a column family.
    ///
    /// # Errors
    /// As [`promote_l0`](Self::promote_l0).
    pub fn promote_l0_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        target_level: i32,
    ) -> Result<(), Error> {
        self.engine().promote_l0(cf.inner().data(), target_level)
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
            &opts.spec,
        )
    }

    /// Goes on after a failure that stopped writes, in place of opening the
    /// database. Writes that were reported as failed are gone for good
    /// then: they are not visible, now or after reopening the database. What
    /// is in memtables is flushed, which takes that long, and writers wait.
    /// Reads go on. Does nothing if nothing has failed. A flush that has failed
    /// and is going to be tried again is tried at once, and waited for; a
    /// compaction is tried at once. After `Ok`, no write fails with an error of
    /// before.
    ///
    /// After an I/O error, the database resumes by itself, too, a moment later; see
    /// [`set_max_bgerror_resume_count`](crate::Options::set_max_bgerror_resume_count). A call of
    /// `resume` does not wait for that moment. Not in the `rocksdb` crate; RocksDB's name.
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
    /// ([`Error::severity`]), as after the failed sync
    /// of a directory, or damage to stored data, and, with
    /// [`CommitProtocol::Unordered`](crate::CommitProtocol::Unordered), after a
    /// comparator or prefix extractor panicked in an insert: the write was
    /// visible by then, and only reopening brings back all of it; `IOError` when the disk still
    /// fails. The database is as it was before then. `ShutdownInProgress` after
    /// [`cancel_all_background_work`](Self::cancel_all_background_work).
    pub fn resume(&self) -> Result<(), Error> {
        self.engine().resume()
    }

    /// Changes options of the default column family while the database is open:
    /// names and values as RocksDB writes them. All are changed, or none.
    ///
    /// Options of tables stand inside `block_based_table_factory`. Sizes of
    /// memtables hold for those begun later; a smaller `write_buffer_size` also
    /// for the active one. Flushes and compactions keep to the options that
    /// they began with. Values are corrected, taken as hints or refused as at open
    /// ([`Options`](crate::Options) has the rule). K, M, G and T behind a number are
    /// powers of 1024. Options that have parts (`compaction_options_fifo`,
    /// `compression_opts`) take some of them in braces, or one behind a dot.
    ///
    /// ```
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = whitewater::DB::open_default(dir.path())?;
    /// db.set_options(&[
    ///     ("disable_auto_compactions", "true"),
    ///     ("block_based_table_factory", "{block_size=16384}"),
    /// ])?;
    /// let e = db.set_options(&[("num_levels", "3")]).unwrap_err();
    /// assert!(e.to_string().contains("num_levels"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` naming the option that is unknown, cannot be changed
    /// while the database is open, or has a value that cannot be honoured; also
    /// for no options at all. `NotSupported` when the database was opened to be
    /// read only.
    pub fn set_options(&self, opts: &[(&str, &str)]) -> Result<(), Error> {
        let engine = self.engine();
        engine.set_options(engine.default_cf(), opts)
    }

    /// [`set_options`](Self::set_options) of `cf`.
    ///
    /// # Errors
    /// As [`set_options`](Self::set_options); `InvalidArgument`, too, when `cf`
    /// was dropped.
    pub fn set_options_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        opts: &[(&str, &str)],
    ) -> Result<(), Error> {
        self.engine().set_options(cf.inner().data(), opts)
    }

    /// Changes options of the database while it is open, as
    /// [`set_options`](Self::set_options) does those of a column family: how
    /// many threads work in the background, limits on logs and open files,
    /// rates.
    ///
    /// Not in the `rocksdb` crate; RocksDB's `SetDBOptions`.
    ///
    /// # Errors
    /// As [`set_options`](Self::set_options).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.set_db_options(&[("max_background_jobs", "8"), ("bytes_per_sync", "1M")])?;
    /// let e = db.set_db_options(&[("wal_dir", "elsewhere")]).unwrap_err();
    /// assert!(e.to_string().contains("wal_dir"));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_db_options(&self, opts: &[(&str, &str)]) -> Result<(), Error> {
        self.engine().set_db_options(opts)
    }

    /// Moves up the limit of the history of `cf`, whose keys have timestamps:
    /// of a key's versions with timestamps below `ts`, compactions keep only the
    /// newest from now on, with the operands of merges below it in one, and drop
    /// what range deletions below it cover. Reads below it are refused. Recorded
    /// in the manifest.
    ///
    /// # Errors
    /// `InvalidArgument` when the keys of `cf` have no timestamps, or of another
    /// size, and for a limit below the one there is; `IOError` when it cannot be
    /// recorded.
    pub fn increase_full_history_ts_low<S: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        ts: S,
    ) -> Result<(), Error> {
        let cf = cf.inner().data();
        self.engine().increase_full_history_ts_low(cf, ts.as_ref())
    }

    /// The limit of the history of `cf`; empty where none was set.
    ///
    /// # Errors
    /// `InvalidArgument` when the keys of `cf` have no timestamps.
    pub fn get_full_history_ts_low(&self, cf: &impl AsColumnFamilyRef) -> Result<Vec<u8>, Error> {
        self.engine().full_history_ts_low(cf.inner().data())
    }

    /// Waits until no flush or compaction is running or due, and the files that
    /// those made obsolete are deleted: tables, and logs that nothing needs any
    /// more. Kept are what readers still use, logs that are archived or kept for
    /// reuse, and everything while
    /// [deletions are disabled](Self::disable_file_deletions).
    ///
    /// # Errors
    /// `TimedOut` when that takes longer than the options allow; the failure
    /// of a background job.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WaitForCompactOptions;
    ///
    /// db.put("river", "blue")?;
    /// let mut options = WaitForCompactOptions::default();
    /// options.set_flush(true);
    /// options.set_timeout(60_000_000); // a minute
    /// db.wait_for_compact(&options)?;
    /// assert_eq!(db.live_files()?.len(), 1);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn wait_for_compact(&self, opts: &WaitForCompactOptions) -> Result<(), Error> {
        self.engine().wait_for_compact(opts.flush, opts.timeout)
    }

    /// Drops the tables of the default column family, but for those of level 0,
    /// that have no key outside `from` to `to`, both inclusive: a quick way to
    /// free room. Other keys of the range stay; delete them, too, if they are to
    /// go. What older versions of dropped keys deeper levels hold outside of such
    /// tables may come to light, and snapshots lose what is dropped.
    ///
    /// # Errors
    /// `IOError` when it cannot be recorded.
    pub fn delete_file_in_range<K: AsRef<[u8]>>(&self, from: K, to: K) -> Result<(), Error> {
        let engine = self.engine();
        engine.delete_files_in_range(engine.default_cf(), from.as_ref(), to.as_ref())
    }

    /// [`delete_file_in_range`](Self::delete_file_in_range) of `cf`.
    ///
    /// # Errors
    /// As [`delete_file_in_range`](Self::delete_file_in_range).
    pub fn delete_file_in_range_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        from: K,
        to: K,
    ) -> Result<(), Error> {
        let cf = cf.inner().data();
        self.engine()
            .delete_files_in_range(cf, from.as_ref(), to.as_ref())
    }

    /// Drops the table `name`, as [`live_files`](Self::live_files) names it, with its entries: one
    /// of the last level that has tables, or the oldest of level 0 if no other level has any.
    /// Snapshots lose what is dropped. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such table, or another one; `Busy` while it is compacted;
    /// `IOError` when it cannot be recorded.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "white")?;
    /// db.flush()?;
    /// let table = db.live_files()?.remove(0);
    /// db.delete_file(&table.name)?;
    /// assert_eq!(db.get("river")?, None);
    /// assert!(db.delete_file(&table.name).is_err()); // it is gone
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn delete_file(&self, name: &str) -> Result<(), Error> {
        match filename::parse(name.trim_start_matches('/')) {
            Some(FileType::Table(number)) => self.engine().delete_table(number),
            _ => Err(Error::invalid(format_args!("{name} is no table"))),
        }
    }

    /// Keeps files that are no longer needed, so that they can be copied;
    /// files are kept until [`enable_file_deletions`](Self::enable_file_deletions)
    /// was called as often as this. When it returns, no file is being deleted.
    ///
    /// # Errors
    /// None so far.
    pub fn disable_file_deletions(&self) -> Result<(), Error> {
        self.engine().disable_file_deletions();
        Ok(())
    }

    /// Ends one [`disable_file_deletions`](Self::disable_file_deletions). The
    /// last one deletes what is no longer needed. Does nothing if deletions
    /// are not disabled.
    ///
    /// # Errors
    /// None so far.
    pub fn enable_file_deletions(&self) -> Result<(), Error> {
        self.engine().enable_file_deletions();
        Ok(())
    }

    /// Reads every block of every table, past the cache, and checks its checksum, the
    /// order of keys, the index and the numbers in the properties. RocksDB's
    /// `VerifyChecksum`, which the `rocksdb` crate does not have.
    ///
    /// Tables that are written meanwhile may be left out. Nothing is locked; it takes
    /// as long as reading the whole database.
    ///
    /// # Errors
    /// `Corruption` that names the first damaged file; those of reading.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.flush()?;
    /// db.verify_checksum()?;
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn verify_checksum(&self) -> Result<(), Error> {
        self.engine().verify_tables(Checks {
            blocks: true,
            file: false,
        })
    }

    /// Checks the checksum of every table as a whole, where the manifest has one
    /// ([`Options::set_file_checksum`](crate::Options::set_file_checksum)), so that
    /// files that were exchanged are found, too. Others are passed over. RocksDB's
    /// `VerifyFileChecksums`, which the `rocksdb` crate does not have.
    ///
    /// # Errors
    /// `Corruption` that names the first file that is not the one that was written;
    /// those of reading.
    pub fn verify_file_checksums(&self) -> Result<(), Error> {
        self.engine().verify_tables(Checks {
            blocks: false,
            file: true,
        })
    }

    /// How far the reading of all tables is that
    /// [`Options::set_scrub_period_sec`](crate::Options::set_scrub_period_sec) asks
    /// for, and what it has found; not in the `rocksdb` crate.
    pub fn scrub_progress(&self) -> ScrubProgress {
        self.engine().scrub_progress()
    }

    /// Stops flushes and compactions for good, for instance before closing;
    /// waits for those that run when `wait` is set. Writes that bypassed the log
    /// are flushed first.
    ///
    /// On a thread of the database, and in the middle of a flush or a write,
    /// that is, in a compaction filter or merge operator, it waits for nothing:
    /// where there are such writes, another thread does all that, a moment later.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.cancel_all_background_work(true);
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..])); // reads go on
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn cancel_all_background_work(&self, wait: bool) {
        self.engine().cancel_all_background_work(wait);
    }
}
