//! Setters of database options.

use super::Options;
use super::enums::{DBRecoveryMode, WalAccess};
use super::write_buffer_manager::WriteBufferManager;
use crate::stats::{Histogram, HistogramData, Statistics, StatsLevel, Ticker};
use crate::write::CommitProtocol;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::fs::Fs;

/// Options of the whole database. When a database is opened with column
/// families, those of the first argument count.
impl Options {
    /// Create the database when there is none. Default false.
    pub fn create_if_missing(&mut self, create_if_missing: bool) {
        self.db.create_if_missing = create_if_missing;
    }

    /// Create column families that are named at open and do not exist. Default
    /// false.
    pub fn create_missing_column_families(&mut self, create_missing_cfs: bool) {
        self.db.create_missing_column_families = create_missing_cfs;
    }

    /// Refuse to open a database that exists. Default false.
    pub fn set_error_if_exists(&mut self, enabled: bool) {
        self.db.error_if_exists = enabled;
    }

    /// Check more, and stop writes after a failed background job. Default
    /// true, which is all there is: opening with false is refused as
    /// `NotSupported`.
    pub fn set_paranoid_checks(&mut self, enabled: bool) {
        self.db.paranoid_checks = enabled;
    }

    /// The file system the database lives in. Default the operating system's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use whitewater::{DB, Options, fs};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.set_fs(Arc::new(fs::os::OsFs));
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let db = DB::open(&opts, path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_fs(&mut self, fs: Arc<dyn Fs>) {
        self.db.fs = fs;
    }

    /// Threads for flushes and compactions: `parallelism`, at least 1.
    pub fn increase_parallelism(&mut self, parallelism: i32) {
        self.db.max_background_jobs = parallelism;
    }

    /// Threads for flushes and compactions together. 1 to 1024, default 2.
    pub fn set_max_background_jobs(&mut self, jobs: i32) {
        self.db.max_background_jobs = jobs;
    }

    /// Threads for flushes; -1, the default, is a quarter of the background
    /// jobs.
    #[deprecated(note = "RocksDB decides this by set_max_background_jobs")]
    pub fn set_max_background_flushes(&mut self, n: i32) {
        self.db.max_background_flushes = n;
    }

    /// Threads for compactions; -1, the default, is the background jobs that
    /// do not flush.
    #[deprecated(note = "RocksDB decides this by set_max_background_jobs")]
    pub fn set_max_background_compactions(&mut self, n: i32) {
        self.db.max_background_compactions = n;
    }

    /// Table files kept open, 20 or more; -1, the default, keeps all of them
    /// open.
    pub fn set_max_open_files(&mut self, nfiles: i32) {
        self.db.max_open_files = nfiles;
    }

    /// Let the writers of a group insert into the memtable in parallel.
    /// Default true.
    pub fn set_allow_concurrent_memtable_write(&mut self, allow: bool) {
        self.db.allow_concurrent_memtable_write = allow;
    }

    /// Let waiting writers yield for a while before they sleep. Default true.
    pub fn set_enable_write_thread_adaptive_yield(&mut self, enabled: bool) {
        self.db.enable_write_thread_adaptive_yield = enabled;
    }

    /// How concurrent writes are committed; not in the `rocksdb` crate.
    /// Default: what [`Options::set_enable_pipelined_write`] or
    /// [`Options::set_unordered_write`] select, and
    /// [`CommitProtocol::Ordered`] where neither does
    /// ([`CommitProtocol::Grouped`] without concurrent memtable writes).
    ///
    /// Opening fails with `InvalidArgument` where the protocol contradicts the
    /// other options. Cannot be changed at run time.
    pub fn set_commit_protocol(&mut self, protocol: CommitProtocol) {
        self.db.commit_protocol = Some(protocol);
    }

    /// Log one group of writes while the one before it is inserted into the
    /// memtables: [`CommitProtocol::Pipelined`], with the guarantees of the
    /// default. Default: false.
    ///
    /// Opening fails with `InvalidArgument` together with
    /// [`Options::set_unordered_write`].
    pub fn set_enable_pipelined_write(&mut self, enabled: bool) {
        self.db.enable_pipelined_write = enabled;
    }

    /// Publish writes when they are logged, and insert them after that:
    /// [`CommitProtocol::Unordered`]. Default: false.
    ///
    /// Gives up, while writes are under way, immutable snapshots (entries
    /// with sequence numbers up to a snapshot's still arrive) and batches that
    /// are read whole. A write that has returned is seen by its caller and
    /// everybody the caller tells. See the protocol for the rest.
    ///
    /// Opening fails with `InvalidArgument` together with
    /// [`Options::set_enable_pipelined_write`], or without concurrent memtable
    /// writes.
    pub fn set_unordered_write(&mut self, unordered: bool) {
        self.db.unordered_write = unordered;
    }

    /// How records get into the write-ahead log; not in the `rocksdb` crate.
    /// Default: [`WalAccess::Auto`]. Cannot be changed at run time.
    pub fn set_wal_access(&mut self, access: WalAccess) {
        self.db.wal_access = access.into();
    }

    /// Calls `hook` at the points of a write's way, with a sequence number. For
    /// tests: the hook may block whoever is there, or panic.
    #[cfg(feature = "failpoints")]
    pub fn set_failpoints(&mut self, hook: impl Fn(crate::Point, u64) + Send + Sync + 'static) {
        self.db.hook = crate::write::points::Hook::new(Arc::new(hook));
    }

    /// How long a waiting writer yields at most. Microseconds, default 100.
    pub fn set_write_thread_max_yield_usec(&mut self, usec: u64) {
        self.db.write_thread_max_yield_usec = usec;
    }

    /// A yield that takes this long says that the cores are busy; a few of
    /// them end the yielding. Microseconds, default 3.
    pub fn set_write_thread_slow_yield_usec(&mut self, usec: u64) {
        self.db.write_thread_slow_yield_usec = usec;
    }

    /// Most bytes of batches that are committed as one group. Default 1 MiB.
    pub fn set_max_write_batch_group_size_bytes(&mut self, size: usize) {
        self.db.max_write_batch_group_size_bytes = size;
    }

    /// Counts the memory of this database's memtables in `write_buffer_manager`,
    /// and keeps to its limit, together with all other databases it is given
    /// to. Default none. Cannot be changed while the database is open; the
    /// manager's limit can.
    pub fn set_write_buffer_manager(&mut self, write_buffer_manager: &WriteBufferManager) {
        self.db.write_buffer_manager = Some(write_buffer_manager.budget.clone());
    }

    /// Memory of the memtables of all column families together at which one is
    /// flushed, as by a [`WriteBufferManager`] of this database alone that
    /// stalls nobody. Bytes; 0, the default, is no limit. Has no effect with a
    /// [`set_write_buffer_manager`](Self::set_write_buffer_manager). Cannot be
    /// changed while the database is open.
    pub fn set_db_write_buffer_size(&mut self, size: usize) {
        self.db.db_write_buffer_size = size;
    }

    /// Rate of writes while they are slowed down. Bytes per second; 0, the
    /// default, is 16 MiB.
    pub fn set_delayed_write_rate(&mut self, bytes_per_second: u64) {
        self.db.delayed_write_rate = bytes_per_second;
    }

    /// Size at which a new manifest is begun. Bytes, default 1 GiB.
    pub fn set_max_manifest_file_size(&mut self, size: usize) {
        self.db.max_manifest_file_size = size as u64;
    }

    /// Size of all live logs together at which the column family that holds
    /// the oldest one is flushed. Bytes; 0, the default, is four times the
    /// write buffers.
    pub fn set_max_total_wal_size(&mut self, size: u64) {
        self.db.max_total_wal_size = size;
    }

    /// What recovery does about damaged logs. Default
    /// [`PointInTime`](DBRecoveryMode::PointInTime).
    pub fn set_wal_recovery_mode(&mut self, mode: DBRecoveryMode) {
        self.db.wal_recovery_mode = mode.into();
    }

    /// The directory of the logs. Default the database's.
    pub fn set_wal_dir<P: AsRef<Path>>(&mut self, path: P) {
        let path = path.as_ref();
        self.db.wal_dir = (!path.as_os_str().is_empty()).then(|| path.to_path_buf());
    }

    /// Logs kept to be written again, which saves the file system work. 0 to
    /// 1024, default 0. Only with the recovery modes `PointInTime` and
    /// `SkipAnyCorruptedRecord`; 0 with others.
    pub fn set_recycle_log_file_num(&mut self, num: usize) {
        self.db.recycle_log_file_num = num;
    }

    /// Info logs kept. 1 or more, default 1000.
    pub fn set_keep_log_file_num(&mut self, nfiles: usize) {
        self.db.keep_log_file_num = nfiles;
    }

    /// Collects statistics, in an object that clones of these options and
    /// databases opened with them share.
    pub fn enable_statistics(&mut self) {
        self.db.statistics = Some(Arc::new(Statistics::default()));
    }

    /// What was collected since [`enable_statistics`](Self::enable_statistics):
    /// one line for each ticker, `name COUNT : n`, and each histogram,
    /// `name P50 : x P95 : x P99 : x P100 : x COUNT : n SUM : n`, that this
    /// engine collects. `None` when statistics are off.
    pub fn get_statistics(&self) -> Option<String> {
        self.db.statistics.as_ref().map(|s| s.to_string())
    }

    /// How much statistics collect from now on, for everybody who shares them.
    /// Default [`StatsLevel::ExceptDetailedTimers`]. Without effect before
    /// [`enable_statistics`](Self::enable_statistics).
    pub fn set_statistics_level(&self, level: StatsLevel) {
        if let Some(statistics) = &self.db.statistics {
            statistics.set_level(level);
        }
    }

    /// A ticker's count; 0 when statistics are off.
    pub fn get_ticker_count(&self, ticker: Ticker) -> u64 {
        let statistics = self.db.statistics.as_ref();
        statistics.map_or(0, |s| s.ticker(ticker))
    }

    /// A histogram; empty when statistics are off.
    ///
    /// ```
    /// use whitewater::statistics::{Histogram, StatsLevel, Ticker};
    /// use whitewater::{DB, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.enable_statistics();
    /// opts.set_statistics_level(StatsLevel::ExceptTimers);
    /// let db = DB::open(&opts, dir.path())?;
    /// db.put(b"stream", b"white")?;
    /// db.get(b"stream")?;
    /// assert_eq!(opts.get_ticker_count(Ticker::NumberKeysWritten), 1);
    /// assert_eq!(opts.get_histogram_data(Histogram::BytesPerRead).max(), 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_histogram_data(&self, histogram: Histogram) -> HistogramData {
        let statistics = self.db.statistics.as_ref();
        statistics.map_or_else(HistogramData::new, |s| s.histogram(histogram))
    }
}
