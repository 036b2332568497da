//! Setters of database options.

use super::Options;
use super::cache::Cache;
use super::enums::{DBCompressionType, DBRecoveryMode, WalAccess};
use super::sst_file_manager::SstFileManager;
use super::write_buffer_manager::WriteBufferManager;
use crate::api::env::Env;
use crate::clock::Clock;
use crate::options::commit_protocol::CommitProtocol;
use crate::options::file_checksum::FileChecksum;
use crate::rate_limiter::{RateLimiter, RateLimiterMode};
use crate::stats::{Histogram, HistogramData, Statistics, StatsLevel, Ticker};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use whitewater_storage::Error;
use whitewater_storage::fs::Fs;

/// The niceness of RocksDB's low priority.
const LOW_PRIORITY: i32 = 19;

/// Options of the whole database. When a database is opened with column
/// families, those of the first argument count.
impl Options {
    /// Create the database when there is none.
    ///
    /// **Option `create_if_missing`**: default `false`; fixed while the database is open.
    pub fn create_if_missing(&mut self, create_if_missing: bool) {
        self.db.create_if_missing = create_if_missing;
    }

    /// Create column families that are named at open and do not exist.
    ///
    /// **Option `create_missing_column_families`**: default `false`; fixed while the database is
    /// open.
    pub fn create_missing_column_families(&mut self, create_missing_cfs: bool) {
        self.db.create_missing_column_families = create_missing_cfs;
    }

    /// Refuse to open a database that exists.
    ///
    /// **Option `error_if_exists`**: default `false`; fixed while the database is open.
    pub fn set_error_if_exists(&mut self, enabled: bool) {
        self.db.error_if_exists = enabled;
    }

    /// Keep the last level of each column family free for tables that are [ingested
    /// behind](crate::IngestExternalFileOptions::set_ingest_behind) everything there is.
    ///
    /// **Option `allow_ingest_behind`**: default `false`; fixed while the database is open.
    ///
    /// To be set from a column family's first write on: compactions give
    /// entries the sequence number 0 otherwise, and nothing can come in behind
    /// those. With it
    ///
    /// * no compaction reads or writes the last level, manual ones neither, and
    ///   there are at least 3 levels, if need be one more than was asked for;
    /// * deletions stay, for they may have to hide what comes in later, and
    ///   sequence numbers, too, which takes room; only a single deletion goes
    ///   once it has met its value, and then hides nothing;
    /// * other ingested tables stay above the last level.
    ///
    /// Without it again, the last level is compacted like others, and what was
    /// kept goes. This holds for universal and leveled compaction (RocksDB
    /// supports it for universal compaction only); column families with FIFO
    /// compaction are as without it.
    pub fn set_allow_ingest_behind(&mut self, val: bool) {
        self.db.allow_ingest_behind = val;
    }

    /// Hint: with false, RocksDB checks less, and goes on after failures that stop it otherwise.
    /// Here, damage is never passed over in silence, and writes stop after a failed background job
    /// in any case.
    ///
    /// **Option `paranoid_checks`**: default `true`; fixed while the database is open.
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
        self.set_env(&Env::with_fs(fs));
    }

    /// Where the database lives: the environment's file system, and whose threads
    /// work for it. [`set_fs`](Self::set_fs) makes an environment, too; the last call
    /// of either counts. Default the operating system's, and the threads of the
    /// process. Where the environment has
    /// [lowered](Env::lower_thread_pool_cpu_priority) the priority of threads,
    /// that comes with it on Linux, as with
    /// [`set_background_nice`](Self::set_background_nice). Cannot be changed
    /// while the database is open.
    pub fn set_env(&mut self, env: &Env) {
        self.db.fs = env.fs.clone();
        self.db.pools = env.pools.clone();
        if env.lowered.flushes && cfg!(target_os = "linux") {
            self.db.flush_nice = LOW_PRIORITY;
        }
        if env.lowered.compactions && cfg!(target_os = "linux") {
            self.db.compaction_nice = LOW_PRIORITY;
        }
    }

    /// How much of the processors' time background threads give up to others that want it: the
    /// niceness of threads that flush, and of those that compact, above that of the thread that
    /// opens the database, or later raises `max_background_jobs`. Without effect but on Linux,
    /// where others have no such priorities. Not in the `rocksdb` crate, where the methods of
    /// [`Env`] set 19, and 0 is the default.
    ///
    /// **Option `flush_nice`**: steps of priority, 0 to 19 (others are moved inside), default 5;
    /// fixed while the database is open.
    ///
    /// **Option `compaction_nice`**: steps of priority, 0 to 19 (others are moved inside), default
    /// 5; fixed while the database is open.
    ///
    /// With 0, threads share busy cores evenly: where one thread writes without pause, and a flush
    /// and a compaction run for it, each of the three gets a third. With 5 a background thread gets
    /// a third of what one of yours gets, with 10 a tenth, with 19 next to nothing. Compactions
    /// then come later and do more at a time, up to the limits at which writes are slowed down and
    /// stopped. That happens where other threads keep all cores busy for long, and the sooner the
    /// higher the number. Set 0 where a database has to keep up beside many such threads.
    ///
    /// Read-triggered compactions
    /// ([`set_read_triggered_compaction_threshold`](Self::set_read_triggered_compaction_threshold))
    /// are 5 steps less nice, down to 0, since reads are slower until they end. One thread of the
    /// environment runs them, one at a time; while it is busy, they run like others. They count
    /// among the compactions that `max_background_jobs` allows.
    ///
    /// Flushes and compactions on the caller's thread, like
    /// [`compact_range`](crate::DBCommon::compact_range), have its priority.
    pub fn set_background_nice(&mut self, flushes: i32, compactions: i32) {
        self.db.flush_nice = flushes;
        self.db.compaction_nice = compactions;
    }

    /// Flushes and compactions at a time: `parallelism`, at least 1.
    ///
    /// **Option `max_background_jobs`**: 1 to 1024 (others are moved inside), default 2; can be
    /// changed while the database is open.
    pub fn increase_parallelism(&mut self, parallelism: i32) {
        self.db.max_background_jobs = parallelism;
    }

    /// Flushes and compactions at a time, together. The threads are those of the environment
    /// ([`Env`]), which has as many for either as the open database that wants most, unless it was
    /// told a number.
    ///
    /// **Option `max_background_jobs`**: 1 to 1024 (others are moved inside), default 2; can be
    /// changed while the database is open.
    pub fn set_max_background_jobs(&mut self, jobs: i32) {
        self.db.max_background_jobs = jobs;
    }

    /// Threads for flushes; -1, the default, is a quarter of the background
    /// jobs.
    ///
    /// **Option `max_background_flushes`**: -1 to 1024 (others are moved inside), default -1; can
    /// be changed while the database is open.
    #[deprecated(note = "RocksDB decides this by set_max_background_jobs")]
    pub fn set_max_background_flushes(&mut self, n: i32) {
        self.db.max_background_flushes = n;
    }

    /// Threads for compactions; -1, the default, is the background jobs that
    /// do not flush.
    ///
    /// **Option `max_background_compactions`**: -1 to 1024 (others are moved inside), default -1;
    /// can be changed while the database is open.
    #[deprecated(note = "RocksDB decides this by set_max_background_jobs")]
    pub fn set_max_background_compactions(&mut self, n: i32) {
        self.db.max_background_compactions = n;
    }

    /// Threads that one compaction is shared out among, at most: its keys are
    /// cut into parts of about equal bytes, none smaller than a table, and each
    /// is merged by a thread of its own. They come on top of the background
    /// jobs' threads. With leveled compaction those out of level 0 and those
    /// that a caller asked for are cut, others are not; with universal
    /// compaction all that write to another level than 0. A change holds for compactions
    /// that begin later.
    ///
    /// **Option `max_subcompactions`**: 1 to 1024 (others are moved inside), default 1; can be
    /// changed while the database is open.
    pub fn set_max_subcompactions(&mut self, num: u32) {
        self.db.max_subcompactions = num;
    }

    /// How much of each table a compaction reads ahead. Where the system caches files, it is told
    /// to read that much, and at most 256 KiB are held in memory at a time; with direct reads all
    /// of it is. With 0, reads grow from 16 KiB to 256 KiB as blocks follow each other. A change
    /// holds for compactions that begin later.
    ///
    /// **Option `compaction_readahead_size`**: bytes, 0 to 1 GiB (others are moved inside), default
    /// 2 MiB; can be changed while the database is open.
    pub fn set_compaction_readahead_size(&mut self, compaction_readahead_size: usize) {
        self.db.compaction_readahead_size = compaction_readahead_size;
    }

    /// Table files kept open, 20 or more; -1, the default, keeps all of them
    /// open. Then flushes, compactions and recoveries open the tables that they have written, and
    /// with a limit their first readers do.
    ///
    /// **Option `max_open_files`**: -1 or more (others are moved inside), default -1; can be
    /// changed while the database is open.
    pub fn set_max_open_files(&mut self, nfiles: i32) {
        self.db.max_open_files = nfiles;
    }

    /// Let the writers of a group insert into the memtable in parallel.
    ///
    /// **Option `allow_concurrent_memtable_write`**: default `true`; fixed while the database is
    /// open.
    pub fn set_allow_concurrent_memtable_write(&mut self, allow: bool) {
        self.db.allow_concurrent_memtable_write = allow;
    }

    /// Let waiting writers yield for a while before they sleep.
    ///
    /// **Option `enable_write_thread_adaptive_yield`**: default `true`; fixed while the database is
    /// open.
    pub fn set_enable_write_thread_adaptive_yield(&mut self, enabled: bool) {
        self.db.enable_write_thread_adaptive_yield = enabled;
    }

    /// How concurrent writes are committed; not in the `rocksdb` crate.
    /// Default: what [`Options::set_enable_pipelined_write`] or
    /// [`Options::set_unordered_write`] select, and
    /// [`CommitProtocol::Ordered`] where neither does
    /// ([`CommitProtocol::Grouped`] without concurrent memtable writes).
    ///
    /// **Option `commit_protocol`**: default none; fixed while the database is open.
    ///
    /// Opening fails with `InvalidArgument` where the protocol contradicts the other options.
    pub fn set_commit_protocol(&mut self, protocol: CommitProtocol) {
        self.db.commit_protocol = Some(protocol);
    }

    /// Log one group of writes while the one before it is inserted into the memtables:
    /// [`CommitProtocol::Pipelined`], with the guarantees of the default.
    ///
    /// **Option `enable_pipelined_write`**: default `false`; fixed while the database is open.
    ///
    /// Opening fails with `InvalidArgument` together with
    /// [`Options::set_unordered_write`].
    pub fn set_enable_pipelined_write(&mut self, enabled: bool) {
        self.db.enable_pipelined_write = enabled;
    }

    /// Publish writes when they are logged, and insert them after that:
    /// [`CommitProtocol::Unordered`].
    ///
    /// **Option `unordered_write`**: default `false`; fixed while the database is open.
    ///
    /// Gives up, while writes are under way, immutable snapshots (entries
    /// with sequence numbers up to a snapshot's still arrive) and batches that
    /// are read whole, and the order of a merged key's operands: an older one
    /// may appear after a newer one was read. A write that has returned is seen by its caller and
    /// everybody the caller tells. See the protocol for the rest.
    ///
    /// Opening fails with `InvalidArgument` together with
    /// [`Options::set_enable_pipelined_write`], or without concurrent memtable
    /// writes.
    pub fn set_unordered_write(&mut self, unordered: bool) {
        self.db.unordered_write = unordered;
    }

    /// How records get into the write-ahead log; not in the `rocksdb` crate.
    ///
    /// **Option `wal_access`**: default `auto`; fixed while the database is open.
    pub fn set_wal_access(&mut self, access: WalAccess) {
        self.db.wal_access = access.into();
    }

    /// Calls `hook` at the points of a write's way, with a sequence number. For tests: the hook
    /// may block the thread that calls it, or panic. By default there is none. Fixed while the
    /// database is open.
    #[cfg(feature = "failpoints")]
    pub fn set_failpoints(&mut self, hook: impl Fn(crate::Point, u64) + Send + Sync + 'static) {
        self.db.hook.set(Arc::new(hook));
    }

    /// Keeps the database stopped after a failure that stopped writes, until it is
    /// [resumed](crate::DBCommon::resume). For tests that look at it meanwhile. By default it
    /// resumes by itself. Fixed while the database is open.
    #[cfg(feature = "failpoints")]
    pub fn stay_stopped(&mut self) {
        self.db.hook.stay_stopped();
    }

    /// How long a waiting writer yields at most.
    ///
    /// **Option `write_thread_max_yield_usec`**: microseconds, default 100; fixed while the
    /// database is open.
    pub fn set_write_thread_max_yield_usec(&mut self, usec: u64) {
        self.db.write_thread_max_yield_usec = usec;
    }

    /// A yield that takes this long says that the cores are busy; a few of them end the yielding.
    ///
    /// **Option `write_thread_slow_yield_usec`**: microseconds, default 3; fixed while the database
    /// is open.
    pub fn set_write_thread_slow_yield_usec(&mut self, usec: u64) {
        self.db.write_thread_slow_yield_usec = usec;
    }

    /// Bytes of a table after which the system is asked to begin writing them
    /// back while more is written, so that the sync at the end has less to do
    /// and does not disturb others as much. Up to 1 MiB at the end is left
    /// alone. A hint; without effect on tables written past the page cache.
    /// 0, the default, is never, or 1 MiB with a rate limiter. A change
    /// holds for tables that are begun later.
    ///
    /// **Option `bytes_per_sync`**: bytes, default 0; can be changed while the database is open.
    pub fn set_bytes_per_sync(&mut self, nbytes: u64) {
        self.db.bytes_per_sync = nbytes;
    }

    /// Whether flushes and compactions write tables past the system's page cache (`O_DIRECT`),
    /// which then keeps what readers need. How they read is up to
    /// [`set_use_direct_reads`](Self::set_use_direct_reads). Where the file system cannot do that,
    /// opening the database fails with `NotSupported`.
    ///
    /// **Option `use_direct_io_for_flush_and_compaction`**: default `false`; fixed while the
    /// database is open.
    pub fn set_use_direct_io_for_flush_and_compaction(&mut self, enabled: bool) {
        self.db.use_direct_io_for_flush_and_compaction = enabled;
    }

    /// Tells the operating system that tables and blob files are read in no order, so that it reads
    /// nothing ahead by itself (Linux: `posix_fadvise`). Where only a part of the files fits into
    /// memory, what it would read ahead takes the place of what is read again. Iterators and
    /// compactions ask for what they will read next, whatever this says.
    ///
    /// **Option `advise_random_on_open`**: default `true`; fixed while the database is open.
    pub fn set_advise_random_on_open(&mut self, advise: bool) {
        self.db.advise_random_on_open = advise;
    }

    /// Whether tables are read past the system's page cache (`O_DIRECT`): only the block cache
    /// keeps what was read. Threads of the process (`ww-prefetch`, at most 16) read blocks in the
    /// background for `multi_get` and for seeks with
    /// [`set_async_io`](crate::ReadOptions::set_async_io). They begin with the first such read, and
    /// hold at most 16 MiB that was not used yet. Where the file system cannot do that, opening the
    /// database fails with `NotSupported`.
    ///
    /// **Option `use_direct_reads`**: default `false`; fixed while the database is open.
    pub fn set_use_direct_reads(&mut self, enabled: bool) {
        self.db.use_direct_reads = enabled;
    }

    /// Lets flushes and compactions write `rate_bytes_per_sec` at most, together
    /// with those of all databases opened with clones of these options.
    ///
    /// Every `refill_period_us` (100,000 is usual) that many bytes for the
    /// period become available; what is not used is not saved up. Flushes come
    /// before compactions, but for every `fairness`-th period (10 is usual, at
    /// most 100). Jobs that stalled writers wait for come first. All three must
    /// be positive, or the database is not opened. By default there is no
    /// limit. Cannot change while the database is open.
    ///
    /// # Examples
    /// ```
    /// use whitewater::Options;
    ///
    /// let mut options = Options::default();
    /// options.set_ratelimiter(64 << 20, 100_000, 10); // 64 MiB per second
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_ratelimiter(
        &mut self,
        rate_bytes_per_sec: i64,
        refill_period_us: i64,
        fairness: i32,
    ) {
        let mode = RateLimiterMode::KWritesOnly;
        let (rate, period) = (rate_bytes_per_sec, refill_period_us);
        self.set_ratelimiter_with_mode(rate, period, fairness, mode, false);
    }

    /// [`set_ratelimiter`](Self::set_ratelimiter) with a rate that follows
    /// demand: it begins at half of `rate_bytes_per_sec`, and is adapted every
    /// hundred periods, between a twentieth of that and all of it. By default there is no
    /// limit. Fixed while the database is open.
    pub fn set_auto_tuned_ratelimiter(
        &mut self,
        rate_bytes_per_sec: i64,
        refill_period_us: i64,
        fairness: i32,
    ) {
        let mode = RateLimiterMode::KWritesOnly;
        let (rate, period) = (rate_bytes_per_sec, refill_period_us);
        self.set_ratelimiter_with_mode(rate, period, fairness, mode, true);
    }

    /// [`set_ratelimiter`](Self::set_ratelimiter), or with `auto_tuned`
    /// [`set_auto_tuned_ratelimiter`](Self::set_auto_tuned_ratelimiter), for writes, for reads, or
    /// for both together.
    ///
    /// Compactions read at the priority that they have when they begin. Other reads ask the limiter
    /// if their options say so ([`ReadOptions::set_rate_limiter_priority`]). A read of more bytes
    /// than come with one refill is made in parts. What is read to open a database or a file, to
    /// verify it or to copy it is not limited, and neither are logs, the manifest, and what the
    /// system reads ahead. By default there is no limit. Fixed while the database is open.
    ///
    /// [`ReadOptions::set_rate_limiter_priority`]: crate::ReadOptions::set_rate_limiter_priority
    ///
    /// # Examples
    /// ```
    /// use whitewater::{Options, RateLimiterMode};
    ///
    /// let mut options = Options::default();
    /// let mode = RateLimiterMode::KAllIo;
    /// options.set_ratelimiter_with_mode(64 << 20, 100_000, 10, mode, false);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_ratelimiter_with_mode(
        &mut self,
        rate_bytes_per_sec: i64,
        refill_period_us: i64,
        fairness: i32,
        mode: RateLimiterMode,
        auto_tuned: bool,
    ) {
        let (rate, period) = (rate_bytes_per_sec, refill_period_us);
        let positive = |n: i64| u64::try_from(n).ok().filter(|n| *n > 0);
        match (positive(rate), positive(period), positive(fairness.into())) {
            (Some(rate), Some(period), Some(fairness)) => {
                let fairness = fairness.min(100);
                let limiter = RateLimiter::new(rate, period, fairness, auto_tuned, mode);
                self.db.rate_limiter = Some(limiter);
                self.accept("rate_limiter");
            }
            _ => self.refuse(
                "rate_limiter",
                Error::invalid(format_args!(
                    "option rate_limiter: rate {rate}, period {period} and fairness {fairness} \
                     must be positive"
                )),
            ),
        }
    }

    /// Most bytes of batches that are committed as one group, up to 64 MiB; more counts as that.
    /// One larger batch is a group by itself.
    ///
    /// **Option `max_write_batch_group_size_bytes`**: bytes, 1 or more (others are moved inside),
    /// default 1 MiB; fixed while the database is open.
    pub fn set_max_write_batch_group_size_bytes(&mut self, size: usize) {
        self.db.max_write_batch_group_size_bytes = size;
    }

    /// Caches rows in `cache`: what a table holds of a key that was looked up, so that the next
    /// look-up of the key does not search the table. Iterators do not use it, and neither do
    /// look-ups in tables with range deletions and in databases with transactions that insert
    /// before they commit. A row is cached when it is read and
    /// [`fill_cache`](crate::ReadOptions::fill_cache) is set; keys that a table does not hold have
    /// no row. Reads at snapshots that do not see all of a table have rows of their own.
    ///
    /// The cache may be one of its own or a block cache, and may serve other databases, too. Rows
    /// count with their keys and values in its [usage](Cache::get_usage), and are evicted as blocks
    /// are. The tickers `RowCacheHit` and `RowCacheMiss` count look-ups in tables. Default none;
    /// fixed while the database is open.
    ///
    /// ```
    /// use whitewater::{Cache, DB, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let rows = Cache::new_lru_cache(16 << 20);
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.set_row_cache(&rows);
    /// let db = DB::open(&opts, path)?;
    /// db.put("river", "blue")?;
    /// db.flush()?;
    /// db.get("river")?; // reads the table
    /// db.get("river")?; // finds the row
    /// assert!(rows.get_usage() > 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_row_cache(&mut self, cache: &Cache) {
        self.db.row_cache = Some(cache.inner.clone());
    }

    /// Counts the memory of this database's memtables in `write_buffer_manager`,
    /// and keeps to its limit, together with all other databases it is given
    /// to. Default none. Cannot be changed while the database is open; the
    /// manager's limit can.
    pub fn set_write_buffer_manager(&mut self, write_buffer_manager: &WriteBufferManager) {
        self.db.write_buffer_manager = Some(write_buffer_manager.budget.clone());
    }

    /// Has `manager` know the tables and blob files of this database, limit their space and delete
    /// them, together with those of all other databases it is given to. Default none: files are
    /// deleted at once. Cannot be changed while the database is open; the manager's limits can.
    /// Not in the `rocksdb` crate; RocksDB's name.
    pub fn set_sst_file_manager(&mut self, manager: &SstFileManager) {
        self.db.sst_file_manager = Some(manager.manager.clone());
    }

    /// Switches the memtables of all column families together when one is full, and records all
    /// their tables in the manifest at once. After a crash, what was written without the log
    /// ([`disable_wal`](crate::WriteOptions::disable_wal)) is there as it was at one moment, in all
    /// column families; otherwise each would go by its own last flush. A flush on request takes
    /// just the column families it was asked for, together: so let it be all that are written to
    /// together. Incompatible with pipelined writes.
    ///
    /// **Option `atomic_flush`**: default `false`; fixed while the database is open.
    pub fn set_atomic_flush(&mut self, atomic_flush: bool) {
        self.db.atomic_flush = atomic_flush;
    }

    /// Memory of the memtables of all column families together at which one is flushed, as by a
    /// [`WriteBufferManager`] of this database alone that stalls nobody. 0, the default, is no
    /// limit. Has no effect with a [`set_write_buffer_manager`](Self::set_write_buffer_manager).
    ///
    /// **Option `db_write_buffer_size`**: bytes, default 0; fixed while the database is open.
    pub fn set_db_write_buffer_size(&mut self, size: usize) {
        self.db.db_write_buffer_size = size;
    }

    /// Rate of writes when they begin to be slowed down, and the highest one while they are. By
    /// RocksDB's rules it falls by a fifth whenever a flush or compaction ends and left more to be
    /// compacted, by two fifths when writes were stopped or nearly are, but not below 16 KiB, and
    /// rises when less is left or a slowdown has ended. 0, the default, is the rate limiter's rate,
    /// if there is one, or 16 MiB.
    ///
    /// **Option `delayed_write_rate`**: bytes per second, default 0; can be changed while the
    /// database is open.
    pub fn set_delayed_write_rate(&mut self, bytes_per_second: u64) {
        self.db.delayed_write_rate = bytes_per_second;
    }

    /// How often in a row the database tries by itself to go on after an I/O error, such as a full
    /// disk: to repeat a flush or compaction, or to [resume](crate::DBCommon::resume) after an
    /// error that stopped writes. After that, writes are refused until `resume` is called. With 0,
    /// it never tries. Not in the `rocksdb` crate; RocksDB's name.
    ///
    /// **Option `max_bgerror_resume_count`**: default 2147483647; fixed while the database is open.
    pub fn set_max_bgerror_resume_count(&mut self, count: i32) {
        // A negative number is none, as in RocksDB.
        self.db.max_bgerror_resume_count = u32::try_from(count).unwrap_or(0);
    }

    /// How long to wait before such a try, at most: the first comes after a sixty-fourth of it,
    /// and each one after that waits twice as long. Not in the `rocksdb` crate; RocksDB's name.
    ///
    /// **Option `bgerror_resume_retry_interval`**: microseconds, default 1000000; fixed while the
    /// database is open.
    pub fn set_bgerror_resume_retry_interval(&mut self, micros: u64) {
        self.db.bgerror_resume_retry_interval = micros;
    }

    /// Size at which a new manifest is begun.
    ///
    /// **Option `max_manifest_file_size`**: bytes, 1 or more (others are moved inside), default 1
    /// GiB; fixed while the database is open.
    pub fn set_max_manifest_file_size(&mut self, size: usize) {
        self.db.max_manifest_file_size = size as u64;
    }

    /// Size of all live logs together at which the column family that holds
    /// the oldest one is flushed. 0, the default, is four times the
    /// write buffers.
    ///
    /// **Option `max_total_wal_size`**: bytes, default 0; can be changed while the database is
    /// open.
    pub fn set_max_total_wal_size(&mut self, size: u64) {
        self.db.max_total_wal_size = size;
    }

    /// What recovery does about damaged logs.
    ///
    /// **Option `wal_recovery_mode`**: default `kPointInTimeRecovery`; fixed while the database is
    /// open.
    pub fn set_wal_recovery_mode(&mut self, mode: DBRecoveryMode) {
        self.db.wal_recovery_mode = mode.into();
    }

    /// Whether an opening keeps what transactions have prepared and not decided,
    /// in logs that stay until then.
    ///
    /// **Option `allow_2pc`**: default `false`; fixed while the database is open.
    ///
    /// Without it, an opening that finds a prepared transaction fails with
    /// `NotSupported` and leaves the database as it is. It opens when all
    /// transactions were committed or rolled back; RocksDB then demands that all
    /// of them were flushed, too. Nothing of a prepared transaction shows in
    /// reads. Read-only and secondary instances need no such option.
    ///
    /// Not in the `rocksdb` crate.
    pub fn set_allow_2pc(&mut self, allow: bool) {
        self.db.allow_2pc = allow;
    }

    /// The directory of the logs. Default the database's.
    ///
    /// **Option `wal_dir`**: default none; fixed while the database is open.
    ///
    /// Logs of before are not looked for elsewhere. Opening fails with
    /// `InvalidArgument`, and names them, if the database's own directory, or the
    /// one that its newest options file names, has logs with writes that are in no
    /// table yet: set that directory, or move the logs to the new one. RocksDB
    /// opens without these writes.
    ///
    /// An opening that finds no logs at all goes on without, as where a copy came
    /// without them, and says so in LOG. They are replayed by the next opening that
    /// finds them; once the database was flushed without them, that one fails and
    /// names them.
    pub fn set_wal_dir<P: AsRef<Path>>(&mut self, path: P) {
        let path = path.as_ref();
        self.db.wal_dir = (!path.as_os_str().is_empty()).then(|| path.to_path_buf());
    }

    /// Logs kept to be written again, which saves the file system work. Only with the recovery
    /// modes `PointInTime` and `SkipAnyCorruptedRecord`; 0 with others.
    ///
    /// **Option `recycle_log_file_num`**: files, 0 to 1024 (others are moved inside), default 0;
    /// fixed while the database is open.
    pub fn set_recycle_log_file_num(&mut self, num: usize) {
        self.db.recycle_log_file_num = num;
    }

    /// Age at which archived logs are deleted. 0, the default, is no limit.
    ///
    /// **Option `WAL_ttl_seconds`**: seconds, default 0; fixed while the database is open.
    ///
    /// With this or [`set_wal_size_limit_mb`](Self::set_wal_size_limit_mb),
    /// logs that recovery no longer needs are moved to the directory
    /// `archive` beside the logs, where
    /// [`get_updates_since`](crate::DBCommon::get_updates_since) finds them,
    /// and not recycled. As in RocksDB, the archive is looked at after flushes
    /// and compactions, at most every half of this time, or every ten minutes
    /// if that is less, and a log's age is counted from the last write to its
    /// file.
    pub fn set_wal_ttl_seconds(&mut self, secs: u64) {
        self.db.wal_ttl_seconds = secs;
    }

    /// Size of the archived logs at which the oldest are deleted. 0, the default, is no limit.
    ///
    /// **Option `WAL_size_limit_MB`**: MiB, default 0; fixed while the database is open.
    ///
    /// As in RocksDB, so many of the newest logs stay as would fit if all were
    /// as large as the largest one, and the archive is looked at every ten
    /// minutes at most (see [`set_wal_ttl_seconds`](Self::set_wal_ttl_seconds)).
    pub fn set_wal_size_limit_mb(&mut self, size: u64) {
        self.db.wal_size_limit_mb = size;
    }

    /// The checksum of each whole table file that the manifest gets, as RocksDB's
    /// `file_checksum_gen_factory` does; not in the `rocksdb` crate.
    ///
    /// **Option `file_checksum_gen_factory`**: default none; fixed while the database is open.
    ///
    /// [`verify_file_checksums`](crate::DBCommon::verify_file_checksums) and scrubbing
    /// compare. Tables that were written without it have none until they are
    /// compacted, and those that a repair has found neither. Tables are read once
    /// more when they are ingested.
    pub fn set_file_checksum(&mut self, checksum: FileChecksum) {
        self.db.file_checksum_gen_factory = checksum;
    }

    /// Reads all tables when the database is opened and every so many seconds from then on, to find
    /// damage before it is needed; not in the `rocksdb` crate. 0, the default, is never.
    ///
    /// **Option `scrub_period_sec`**: seconds, default 0; fixed while the database is open.
    ///
    /// What is damaged is told in LOG, and by
    /// [`scrub_progress`](crate::DBCommon::scrub_progress). The database goes on.
    pub fn set_scrub_period_sec(&mut self, period: u32) {
        self.db.scrub_period_sec = period;
    }

    /// How fast tables are read for that, in the long run.
    ///
    /// **Option `scrub_bytes_per_second`**: bytes per second, 1 to 1024 GiB (others are refused),
    /// default 8 MiB; fixed while the database is open.
    pub fn set_scrub_bytes_per_second(&mut self, rate: u64) {
        self.db.scrub_bytes_per_second = rate;
    }

    /// What time it is, for the age of archived logs, of tables and of values
    /// ([`open_with_ttl`](crate::DBWithThreadMode::open_with_ttl)); not in the
    /// `rocksdb` crate. Default the system's clock. The age of a log is the
    /// difference to the time that the file system has noted; tables know when
    /// they were written by this clock. It is read with a lock of the database
    /// held, and must not call the database. Fixed while the database is open.
    pub fn set_clock<F>(&mut self, now: F)
    where
        F: Fn() -> SystemTime + Send + Sync + 'static,
    {
        self.db.clock = Clock::new(now);
    }

    /// Keep log records in the memory of the process.
    ///
    /// **Option `manual_wal_flush`**: default `false`; fixed while the database is open.
    ///
    /// They are handed to the operating system by
    /// [`flush_wal`](crate::DBCommon::flush_wal), by synced writes, when a log
    /// is switched (a full memtable, a flush) or the database closed, and when
    /// there is more than 1 MiB of them. If the process dies before, it loses
    /// them, though they were acknowledged: what is recovered is a prefix of
    /// the writes, as always.
    pub fn set_manual_wal_flush(&mut self, is_enabled: bool) {
        self.db.manual_wal_flush = is_enabled;
    }

    /// Log bytes after which the system is asked to begin writing them back, so that a sync finds
    /// less to do.
    ///
    /// **Option `wal_bytes_per_sync`**: bytes, default 0; can be changed while the database is
    /// open.
    ///
    /// A pure hint: it makes nothing durable, and where there is no such call
    /// (it is `posix_fadvise` on Linux) it does nothing. It is given by a writer
    /// that is done, while others go on, or, where there are leaders, by one of
    /// them.
    pub fn set_wal_bytes_per_sync(&mut self, nbytes: u64) {
        self.db.wal_bytes_per_sync = nbytes;
    }

    /// Compression of log records: `None`, the default, or `Zstd`. Others are
    /// corrected to `None`, as in RocksDB. Logs are read whatever they were written
    /// with. RocksDB reads
    /// compressed logs from version 7.2 on; before 8.0 it fails at records, its
    /// own among them, that are longer than two of the log's blocks (of 32 KiB)
    /// when compressed.
    ///
    /// **Option `wal_compression`**: default `kNoCompression`; fixed while the database is open.
    pub fn set_wal_compression_type(&mut self, t: DBCompressionType) {
        self.db.wal_compression = t.into();
    }

    /// Record logs that were synced to their end in the manifest, and refuse to open the database,
    /// as `Corruption` naming the log, when one of them is missing or shorter.
    ///
    /// **Option `track_and_verify_wals_in_manifest`**: default `false`; fixed while the database is
    /// open.
    pub fn set_track_and_verify_wals_in_manifest(&mut self, val: bool) {
        self.db.track_and_verify_wals_in_manifest = val;
    }

    /// What [`set_track_and_verify_wals_in_manifest`](Self::set_track_and_verify_wals_in_manifest)
    /// was given.
    pub fn get_track_and_verify_wals_in_manifest(&self) -> bool {
        self.db.track_and_verify_wals_in_manifest
    }

    /// Info logs kept.
    ///
    /// **Option `keep_log_file_num`**: files, 1 or more (others are refused), default 1000; fixed
    /// while the database is open.
    pub fn set_keep_log_file_num(&mut self, nfiles: usize) {
        self.db.keep_log_file_num = nfiles;
    }

    /// Collects statistics, in an object that clones of these options and databases opened
    /// with them share. By default none are collected. Fixed while the database is open, but
    /// for [the level](Self::set_statistics_level).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::statistics::Ticker;
    /// use whitewater::{DB, Options};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.enable_statistics();
    /// let db = DB::open(&options, dir.path())?;
    /// db.put("river", "blue")?;
    /// assert_eq!(options.get_ticker_count(Ticker::NumberKeysWritten), 1);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
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
