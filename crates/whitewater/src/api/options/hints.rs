//! Options that tune how RocksDB works inside, and what becomes of them here.
//!
//! Each is a hint without effect, as its documentation says with the reason. All are
//! kept, so that options files have them; LOG names those that are set to something
//! else than what happens.

use super::Options;

/// Hints, and what else is decided here.
impl Options {
    /// Hint: files are made durable by fdatasync, which covers their content and length; fsync adds
    /// times, which nothing depends on. Directories are always synced by fsync.
    ///
    /// **Option `use_fsync`**: default `false`; fixed while the database is open.
    pub fn set_use_fsync(&mut self, useit: bool) {
        self.db.use_fsync = useit;
    }

    /// What [`set_use_fsync`](Self::set_use_fsync) set.
    pub fn get_use_fsync(&self) -> bool {
        self.db.use_fsync
    }

    /// Hint: child processes do not inherit files in any case.
    ///
    /// **Option `is_fd_close_on_exec`**: default `true`; fixed while the database is open.
    pub fn set_is_fd_close_on_exec(&mut self, enabled: bool) {
        self.db.is_fd_close_on_exec = enabled;
    }

    /// Hint: mutexes here spin before they sleep in any case.
    ///
    /// **Option `use_adaptive_mutex`**: default `false`; fixed while the database is open.
    pub fn set_use_adaptive_mutex(&mut self, enabled: bool) {
        self.db.use_adaptive_mutex = enabled;
    }

    /// Hint: there is one sequence of writes, which has no queue, and what takes no place in it has
    /// nothing to wait for.
    ///
    /// **Option `two_write_queues`**: default `false`; fixed while the database is open.
    ///
    /// RocksDB demands it for [`WritePolicy::WritePrepared`](crate::WritePolicy) together with
    /// [`Options::set_unordered_write`], which need nothing more here. Not in the `rocksdb` crate.
    pub fn set_two_write_queues(&mut self, two: bool) {
        self.db.two_write_queues = two;
    }

    /// Hint: the cache of open tables chooses its shards itself.
    ///
    /// **Option `table_cache_numshardbits`**: base-2 logarithm, default 6; fixed while the database
    /// is open.
    pub fn set_table_cache_num_shard_bits(&mut self, nbits: i32) {
        self.db.table_cache_numshardbits = nbits;
    }

    /// Hint: opening reads no tables for statistics in any case.
    ///
    /// **Option `skip_stats_update_on_db_open`**: default `false`; fixed while the database is
    /// open.
    pub fn set_skip_stats_update_on_db_open(&mut self, skip: bool) {
        self.db.skip_stats_update_on_db_open = skip;
    }

    /// Hint: opening compares the sizes of tables with the manifest's in any case, as RocksDB does
    /// from 10.5 on.
    ///
    /// It is not kept: options files have the default, and the `rocksdb` crate has no such
    /// setter from 0.25 on. It exists for dependencies that ask for an older version of that crate.
    #[deprecated(note = "without effect, and removed from RocksDB")]
    pub fn set_skip_checking_sst_file_sizes_on_db_open(&mut self, _value: bool) {}

    /// Hint: the manifest grows as it is written.
    ///
    /// **Option `manifest_preallocation_size`**: bytes, default 4 MiB; can be changed while the
    /// database is open.
    pub fn set_manifest_preallocation_size(&mut self, size: usize) {
        self.db.manifest_preallocation_size = size;
    }

    /// Whether figures of the allocator jemalloc follow the statistics in LOG
    /// ([`set_stats_dump_period_sec`](Self::set_stats_dump_period_sec)). They say something in
    /// programs that allocate with it (`Jemalloc`). Without the cargo feature `jemalloc`, a line
    /// says that there are none, as RocksDB has none without that allocator.
    ///
    /// **Option `dump_malloc_stats`**: default `false`; fixed while the database is open.
    pub fn set_dump_malloc_stats(&mut self, enabled: bool) {
        self.db.dump_malloc_stats = enabled;
    }

    /// Hint: the tables that there are at open are opened by their first readers.
    ///
    /// **Option `max_file_opening_threads`**: threads, default 16; fixed while the database is
    /// open.
    pub fn set_max_file_opening_threads(&mut self, nthreads: i32) {
        self.db.max_file_opening_threads = nthreads;
    }

    /// Hint: writers of files choose their buffers themselves.
    ///
    /// **Option `writable_file_max_buffer_size`**: bytes, default 1 MiB; can be changed while the
    /// database is open.
    pub fn set_writable_file_max_buffer_size(&mut self, nbytes: u64) {
        self.db.writable_file_max_buffer_size = nbytes;
    }

    /// Whether all iterators, and handles of dropped column families, leave files that only they
    /// kept to a background thread, as with
    /// [`ReadOptions::set_background_purge_on_iterator_cleanup`].
    ///
    /// **Option `avoid_unnecessary_blocking_io`**: default `false`; fixed while the database is
    /// open.
    ///
    /// [`ReadOptions::set_background_purge_on_iterator_cleanup`]: crate::ReadOptions::set_background_purge_on_iterator_cleanup
    pub fn set_avoid_unnecessary_blocking_io(&mut self, val: bool) {
        self.db.avoid_unnecessary_blocking_io = val;
    }

    /// Hint: the id of the database is written to the manifest in any case.
    ///
    /// **Option `write_dbid_to_manifest`**: default `true`; fixed while the database is open.
    pub fn set_write_dbid_to_manifest(&mut self, val: bool) {
        self.db.write_dbid_to_manifest = val;
    }

    /// What [`set_write_dbid_to_manifest`](Self::set_write_dbid_to_manifest)
    /// set.
    pub fn get_write_dbid_to_manifest(&self) -> bool {
        self.db.write_dbid_to_manifest
    }

    /// Hint: tables are read by positioned reads, through the system's cache or past it. With
    /// [`set_use_direct_reads`](Self::set_use_direct_reads), opening with true fails as
    /// `NotSupported`, as in RocksDB.
    ///
    /// **Option `allow_mmap_reads`**: default `false`; fixed while the database is open.
    pub fn set_allow_mmap_reads(&mut self, is_enabled: bool) {
        self.db.allow_mmap_reads = is_enabled;
    }

    /// Hint: tables are written by appending; for logs there is
    /// [`set_wal_access`](Self::set_wal_access). With
    /// [`set_use_direct_io_for_flush_and_compaction`](Self::set_use_direct_io_for_flush_and_compaction),
    /// opening with true fails as `NotSupported`, as in RocksDB.
    ///
    /// **Option `allow_mmap_writes`**: default `false`; fixed while the database is open.
    pub fn set_allow_mmap_writes(&mut self, is_enabled: bool) {
        self.db.allow_mmap_writes = is_enabled;
    }

    /// Hint: obsolete files are deleted as soon as they are obsolete. The default is six hours.
    ///
    /// **Option `delete_obsolete_files_period_micros`**: microseconds, default 21600000000; can be
    /// changed while the database is open.
    pub fn set_delete_obsolete_files_period_micros(&mut self, micros: u64) {
        self.db.delete_obsolete_files_period_micros = micros;
    }

    /// Hint: statistics are not kept over time.
    ///
    /// **Option `stats_persist_period_sec`**: seconds, default 600; can be changed while the
    /// database is open.
    pub fn set_stats_persist_period_sec(&mut self, period: u32) {
        self.db.stats_persist_period_sec = period;
    }

    /// Whether tables are read and written through the operating system's cache: the opposite of
    /// [`set_use_direct_reads`](Self::set_use_direct_reads) and
    /// [`set_use_direct_io_for_flush_and_compaction`](Self::set_use_direct_io_for_flush_and_compaction),
    /// which it sets. Default true.
    #[deprecated(note = "RocksDB replaced this with direct I/O options")]
    pub fn set_allow_os_buffer(&mut self, is_allow: bool) {
        self.set_use_direct_reads(!is_allow);
        self.set_use_direct_io_for_flush_and_compaction(!is_allow);
    }

    /// Whether the Bloom filter of a [plain table](Self::set_plain_table_factory) keeps the bits of
    /// a key in one cache line, if it is not 0. A hint without effect on other filters: those of
    /// memtables always do.
    ///
    /// **Option `bloom_locality`**: default 0; fixed while the database is open.
    pub fn set_bloom_locality(&mut self, v: u32) {
        self.cf.bloom_locality = v;
    }

    /// Hint: with [`enable_statistics`](Self::enable_statistics), histograms have the times of
    /// flushes' and compactions' reads, writes and syncs in any case; nothing else does.
    ///
    /// **Option `report_bg_io_stats`**: default `false`; can be changed while the database is open.
    pub fn set_report_bg_io_stats(&mut self, enable: bool) {
        self.cf.report_bg_io_stats = enable;
    }

    /// Hint: iterators step over eight versions of a key and then seek, or pass all at once where
    /// a memtable can.
    ///
    /// **Option `max_sequential_skip_in_iterations`**: default 8; can be changed while the database
    /// is open.
    pub fn set_max_sequential_skip_in_iterations(&mut self, num: u64) {
        self.cf.max_sequential_skip_in_iterations = num;
    }

    /// Hint: memtables are let go of once they are flushed and not read. RocksDB keeps some for the
    /// transactions it checks against them.
    ///
    /// **Option `max_write_buffer_size_to_maintain`**: bytes, default 0; fixed while the database
    /// is open.
    pub fn set_max_write_buffer_size_to_maintain(&mut self, size: i64) {
        self.cf.max_write_buffer_size_to_maintain = size;
    }
}
