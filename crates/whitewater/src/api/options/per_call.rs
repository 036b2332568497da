//! Options of single reads, writes, flushes and compactions.

use super::enums::{BottommostLevelCompaction, DBCompressionType};
use crate::api::db::DBAccess;
use crate::api::iter_range::IterateBounds;
use crate::api::snapshot::SnapshotWithThreadMode;
use crate::db::ManualSpec;
use crate::db::compact_files::FilesSpec;
use crate::db::ingest::IngestSpec;
use crate::options::read::{ReadSpec, ReadTier, WriteSpec};
use std::time::Duration;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::sst::IoPriority;

/// Options of reads.
///
/// ```
/// use whitewater::{DB, IteratorMode, PrefixRange, ReadOptions};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db = DB::open_default(path)?;
/// for key in ["a1", "b1", "b2", "c1"] {
///     db.put(key, b"")?;
/// }
/// let mut readopts = ReadOptions::default();
/// readopts.set_iterate_range(PrefixRange("b"));
/// assert_eq!(db.iterator_opt(IteratorMode::Start, readopts).count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct ReadOptions {
    pub(crate) spec: ReadSpec,
}

impl ReadOptions {
    pub(crate) fn clear_snapshot(&mut self) {
        self.spec.snapshot = None;
    }

    /// Made ready for an iterator: a tailing one reads at no snapshot.
    pub(crate) fn settle(&mut self) {
        if self.spec.tailing {
            self.clear_snapshot();
        }
    }

    /// Whether blocks read go into the block cache, and blocks found there count
    /// as used. Scans of cold data may want to leave it alone. Default true.
    pub fn fill_cache(&mut self, v: bool) {
        self.spec.fill_cache = v;
    }

    /// Reads at `snapshot`. Default: at the time of the call.
    ///
    /// Reads of another database, or of another opening of this one, fail as
    /// `InvalidArgument` then.
    pub fn set_snapshot<D: DBAccess>(&mut self, snapshot: &SnapshotWithThreadMode<'_, D>) {
        self.spec.snapshot = snapshot.guard();
    }

    /// The first key an iterator may stand on. Default none.
    pub fn set_iterate_lower_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.spec.bounds.set_lower(key.into());
    }

    /// The first key past those an iterator may stand on. Default none.
    pub fn set_iterate_upper_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.spec.bounds.set_upper(key.into());
    }

    /// Sets both bounds of iterators; an open end clears that bound. Default none.
    pub fn set_iterate_range(&mut self, range: impl IterateBounds) {
        let (lower, upper) = range.into_bounds();
        self.spec.bounds = Bounds::new(lower, upper);
    }

    /// Iterates over all keys in order, whatever the prefix extractor and the
    /// memtable. Default false.
    ///
    /// Without it, an iterator of a column family whose memtables group keys
    /// by prefix ([`MemtableFactory`](crate::MemtableFactory)) ends with the
    /// prefix of the key it was sent to by a seek, if that key has one; with
    /// it, or sent to the first or last key, the memtable is sorted for it,
    /// which costs time and memory. Other memtables always have all keys in
    /// order. `prefix_same_as_start` still ends the iteration if set as well.
    pub fn set_total_order_seek(&mut self, v: bool) {
        self.spec.total_order_seek = v;
    }

    /// Whether an iterator ends (is no longer valid) outside the prefix of
    /// the key it was sent to; sent to the first or last key, outside the
    /// prefix of the key found there. Has no effect without a
    /// [prefix extractor](crate::Options::set_prefix_extractor) and after a
    /// seek to a key that has no prefix. Default false.
    ///
    /// A seek then asks the filters of memtables and tables for the prefix,
    /// where there are any, and reads nothing of those without it. Iterators
    /// that show all keys ask no filter: unlike RocksDB's, they show them
    /// without `total_order_seek`, too.
    ///
    /// ```
    /// use whitewater::{DB, Options, ReadOptions, SliceTransform};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
    /// let db = DB::open(&opts, path)?;
    /// for key in ["a1", "b1", "b2", "c1"] {
    ///     db.put(key, b"")?;
    /// }
    /// let mut readopts = ReadOptions::default();
    /// readopts.set_prefix_same_as_start(true);
    /// let mut it = db.raw_iterator_opt(readopts);
    /// it.seek("b");
    /// it.next();
    /// assert_eq!(it.key(), Some(&b"b2"[..]));
    /// it.next();
    /// assert!(!it.valid());
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_prefix_same_as_start(&mut self, v: bool) {
        self.spec.prefix_same_as_start = v;
    }

    /// Internal keys (old versions, deletions) one move of an iterator may
    /// skip before it fails with `Incomplete`. Keys that a range deletion covers do
    /// not count, nor do old versions that are skipped at once in a memtable. Default 0, no limit.
    pub fn set_max_skippable_internal_keys(&mut self, num: u64) {
        self.spec.max_skippable_internal_keys = num;
    }

    /// Whether the files that only an iterator kept are left to a background thread
    /// when it is dropped. Default false: they are deleted before the drop returns.
    pub fn set_background_purge_on_iterator_cleanup(&mut self, v: bool) {
        self.spec.background_purge = v;
    }

    /// What is looked at. Default [`ReadTier::All`].
    ///
    /// ```
    /// use whitewater::{DB, ReadOptions, ReadTier};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let db = DB::open_default(path)?;
    /// db.put("flushed", "1")?;
    /// db.flush()?;
    /// db.put("new", "2")?;
    /// let mut readopts = ReadOptions::default();
    /// readopts.set_read_tier(ReadTier::Memtable);
    /// assert_eq!(db.get_opt("flushed", &readopts)?, None);
    /// assert_eq!(db.get_opt("new", &readopts)?, Some(b"2".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_read_tier(&mut self, tier: ReadTier) {
        self.spec.tier = tier;
    }

    /// Whether ranges that were deleted are read as if they were not, as far
    /// as no compaction has removed them. Default false.
    #[deprecated = "range deletions cost reads nothing where there are none"]
    pub fn set_ignore_range_deletions(&mut self, v: bool) {
        self.spec.ignore_range_deletions = v;
    }

    /// A moment, in microseconds since 1970, after which reads fail with
    /// `TimedOut`: 0, the default, is none. It is looked at before a file is
    /// opened or read, between the keys of a `multi_get`, and now and then
    /// while an iterator passes over keys that it does not show. What is found
    /// in memory is found also later.
    pub fn set_deadline(&mut self, microseconds: u64) {
        self.spec.deadline = microseconds;
    }

    /// How long one read of a file may take, in microseconds: one that took
    /// longer fails with `TimedOut` once it is done, for it is not interrupted.
    /// Default 0, no limit. (RocksDB hands the number to its file system, the
    /// usual one of which makes no use of it.)
    pub fn set_io_timeout(&mut self, microseconds: u64) {
        self.spec.io_timeout = microseconds;
    }

    /// The time to read at, where keys have timestamps
    /// ([`set_comparator_with_ts`](crate::Options::set_comparator_with_ts)):
    /// versions with newer timestamps are not seen. Reads of such column families
    /// need it, and of others must not have it: both fail with `InvalidArgument`,
    /// as do a timestamp of the wrong size and one below the
    /// [limit of the history](crate::DBCommon::increase_full_history_ts_low).
    /// Default none.
    pub fn set_timestamp<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.spec.timestamp = Some(ts.into());
    }

    /// Has iterators show all versions with timestamps from `ts` to the one
    /// given to [`set_timestamp`](Self::set_timestamp), newest first, and
    /// deletions, too, which have empty values. A merge is shown as what it
    /// results in; range deletions are not shown, nor is what those up to that
    /// time have deleted. Their keys are internal ones: the user key, its
    /// timestamp and eight bytes of sequence number and type, as in RocksDB.
    /// Default none: the newest version of each key is shown under the key
    /// without its timestamp.
    pub fn set_iter_start_ts<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.spec.iter_start_ts = Some(ts.into());
    }

    /// Makes a tailing iterator: it looks at the database as it is whenever it
    /// is sent somewhere by a seek, and once more when [`next`] finds the end.
    /// In between it keeps to what it saw. A snapshot means nothing to it.
    /// Default false.
    ///
    /// (RocksDB's shows some of what is written in between, too, refuses to go
    /// backward, and fails where ranges were deleted.)
    ///
    /// ```
    /// use whitewater::{DB, ReadOptions};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let db = DB::open_default(path)?;
    /// let mut readopts = ReadOptions::default();
    /// readopts.set_tailing(true);
    /// let mut it = db.raw_iterator_opt(readopts);
    /// db.put("event 1", "")?;
    /// it.seek_to_first();
    /// db.put("event 2", "")?;
    /// it.next();
    /// assert_eq!(it.key(), Some(&b"event 2"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`next`]: crate::DBRawIteratorWithThreadMode::next
    pub fn set_tailing(&mut self, v: bool) {
        self.spec.tailing = v;
    }

    /// Whether blocks stay in memory as long as an iterator lives that has
    /// stood in them. A hint without effect: what an iterator hands out may be
    /// kept until it moves, by its type. Default false.
    pub fn set_pin_data(&mut self, _v: bool) {}

    /// Whether reading ahead stops at the upper bound and where the cache has
    /// the blocks. A hint without effect so far. Default false.
    pub fn set_auto_readahead_size(&mut self, _v: bool) {}

    /// Whether blocks read from files are checked against their checksums.
    /// Default true.
    pub fn set_verify_checksums(&mut self, v: bool) {
        self.spec.verify_checksums = v;
    }

    /// Bytes an iterator reads ahead of itself; 0, the default, lets the table
    /// decide.
    pub fn set_readahead_size(&mut self, v: usize) {
        self.spec.readahead_size = v;
    }

    /// At which priority reads of table and blob files ask the rate limiter, if the database has
    /// one that limits reads ([`set_ratelimiter_with_mode`]). Reads that open such files do not.
    /// Waiting for it counts as part of the read ([`set_io_timeout`](Self::set_io_timeout)), and
    /// neither that nor a deadline cuts the wait short. `None`, the default, does not ask.
    ///
    /// [`set_ratelimiter_with_mode`]: crate::Options::set_ratelimiter_with_mode
    pub fn set_rate_limiter_priority(&mut self, priority: Option<IoPriority>) {
        self.spec.io_priority = priority;
    }

    /// Whether blocks are read for an iterator in the background. A `seek` then has the blocks of
    /// all its tables read at the same time, and while the iterator works on what was read ahead,
    /// the system reads what follows it. Seeks that keep to a prefix, movements backward and those
    /// to the first or last key do not announce blocks. Nothing else changes. Default false.
    ///
    /// The system reads, so it has an effect on Linux and Apple systems. With direct reads, threads
    /// of the process read the blocks of a seek, and nothing is read behind them
    /// ([`set_use_direct_reads`](crate::Options::set_use_direct_reads)).
    ///
    /// `multi_get` needs no option for this: it has the blocks of up to 16 keys read at the same
    /// time, in the level where a thread's last look-ups have mostly ended, unless `max_open_files`
    /// limits the open tables.
    pub fn set_async_io(&mut self, v: bool) {
        self.spec.async_io = v;
    }
}

/// Options of writes.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    pub(crate) spec: WriteSpec,
}

impl WriteOptions {
    /// The defaults.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Whether a write returns only once it survives a power cut. Without it,
    /// it survives the death of the process. Default false.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WriteOptions;
    ///
    /// let mut synced = WriteOptions::default();
    /// synced.set_sync(true);
    /// db.put_opt("order", "42", &synced)?;
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_sync(&mut self, sync: bool) {
        self.spec.sync = sync;
    }

    /// Whether the log is left out: the write is lost if the process dies
    /// before a flush. Default false. Not together with
    /// [`set_sync`](Self::set_sync).
    pub fn disable_wal(&mut self, disable: bool) {
        self.spec.disable_wal = disable;
    }

    /// Whether writes to column families that do not exist (or no longer do) are
    /// passed over instead of failing the batch. Default false.
    pub fn set_ignore_missing_column_families(&mut self, ignore: bool) {
        self.spec.ignore_missing_column_families = ignore;
    }

    /// Whether a write that would have to wait for flushes or compactions
    /// fails at once with `Incomplete`, whatever other writes wait. Default false.
    pub fn set_no_slowdown(&mut self, no_slowdown: bool) {
        self.spec.no_slowdown = no_slowdown;
    }

    /// Whether a write gives way when compactions are behind, which is before
    /// other writes are slowed down: such writes together then get 1 MiB per
    /// second, or a quarter of the rate at which the last slowdown ended. With
    /// [`set_no_slowdown`](Self::set_no_slowdown) it fails with `Incomplete`
    /// instead. Default false.
    pub fn set_low_pri(&mut self, v: bool) {
        self.spec.low_pri = v;
    }

    /// Whether each entry of a batch is looked for in the memtable from the
    /// place of the one before it on. Pays when keys that follow each other are
    /// near each other, costs a little when they are not. Only skip lists make
    /// use of it. Default false: then only direct neighbours are noticed.
    pub fn set_memtable_insert_hint_per_batch(&mut self, v: bool) {
        self.spec.insert_hint = v;
    }

    /// Bytes of a checksum that each entry gets as the write begins: 0 (none)
    /// or 8; writes with others fail with `InvalidArgument`. The entries are
    /// compared with it before anything of the write is done, and again when
    /// they were logged; one that differs fails the write with `Corruption`,
    /// the second time all later ones, too. Where
    /// memtables have checksums, too
    /// ([`set_memtable_protection_bytes_per_key`]), theirs are made of these,
    /// so that what is read and what is flushed is known to be what was
    /// written. A batch may have checksums from its beginning
    /// ([`WriteBatchWithTransaction::with_protection`]). Default 0.
    ///
    /// [`set_memtable_protection_bytes_per_key`]: crate::Options::set_memtable_protection_bytes_per_key
    /// [`WriteBatchWithTransaction::with_protection`]: crate::WriteBatchWithTransaction::with_protection
    pub fn set_protection_bytes_per_key(&mut self, bytes: usize) {
        self.spec.protection_bytes_per_key = bytes;
    }
}

/// Options of flushes.
#[derive(Debug, Clone)]
pub struct FlushOptions {
    pub(crate) wait: bool,
}

impl Default for FlushOptions {
    fn default() -> Self {
        FlushOptions { wait: true }
    }
}

impl FlushOptions {
    /// The defaults.
    pub fn new() -> FlushOptions {
        FlushOptions::default()
    }

    /// Whether the call returns only when the flush is done. Default true.
    pub fn set_wait(&mut self, wait: bool) {
        self.wait = wait;
    }
}

/// Options of [ingestions](crate::DBCommon::ingest_external_file).
#[derive(Debug, Clone, Default)]
pub struct IngestExternalFileOptions {
    pub(crate) spec: IngestSpec,
}

impl IngestExternalFileOptions {
    /// Whether the files are moved instead of copied: linked into the
    /// database's directory, and their old names removed once that has
    /// succeeded. Copied still, where no link can be made. Default false.
    pub fn set_move_files(&mut self, v: bool) {
        self.spec.move_files = v;
    }

    /// Whether snapshots taken before do not see what is ingested. Needs a
    /// sequence number for the tables if there are snapshots
    /// ([`set_allow_global_seqno`](Self::set_allow_global_seqno)). Default true.
    pub fn set_snapshot_consistency(&mut self, v: bool) {
        self.spec.snapshot_consistency = v;
    }

    /// Whether tables may be given a sequence number. Without one, an ingestion
    /// is refused whose keys are in the range of something in the database, or
    /// while there are snapshots that must not see it; one that is taken during
    /// the call may see it from some moment on. Default true.
    pub fn set_allow_global_seqno(&mut self, v: bool) {
        self.spec.allow_global_seqno = v;
    }

    /// Whether memtables with keys in the tables' ranges may be flushed first,
    /// while writers wait. Otherwise such an ingestion is refused. Default true.
    pub fn set_allow_blocking_flush(&mut self, v: bool) {
        self.spec.allow_blocking_flush = v;
    }

    /// Whether the tables go below everything there is, as if they had been
    /// written first: of keys that exist, or are deleted, nothing changes. They
    /// go to the last level, with the sequence number 0, so snapshots taken
    /// before see them, too. Default false.
    ///
    /// Refused as `InvalidArgument` by databases without
    /// [`allow_ingest_behind`](crate::Options::set_allow_ingest_behind), for
    /// ranges of keys that overlap a table of the last level, and when another
    /// table has entries with the number 0, because the option was not set from
    /// the start; as `NotSupported` for tables that overlap each other, with
    /// user-defined timestamps and with FIFO compaction.
    pub fn set_ingest_behind(&mut self, v: bool) {
        self.spec.ingest_behind = v;
    }
}

/// Options of manual compactions.
#[derive(Debug, Clone, Default)]
pub struct CompactOptions {
    pub(crate) spec: ManualSpec,
}

impl CompactOptions {
    /// Whether no automatic compaction of the database starts meanwhile.
    /// Default false: none starts only while the call has to wait for those that
    /// have its tables.
    pub fn set_exclusive_manual_compaction(&mut self, v: bool) {
        self.spec.exclusive = v;
    }

    /// Whether the files of the deepest level with data are then moved to the
    /// level given to [`set_target_level`](Self::set_target_level). Default
    /// false.
    ///
    /// The call fails as `NotSupported` when levels between the two, or the
    /// target, hold data, or several files would have to leave or enter level 0.
    pub fn set_change_level(&mut self, v: bool) {
        self.spec.change_level = v;
    }

    /// The level that [`set_change_level`](Self::set_change_level) moves files
    /// to; -1, the default, and other negative numbers are the least one that
    /// can be reached over empty levels and is meant to hold as much. A level
    /// that does not exist is refused by the call as `InvalidArgument`.
    pub fn set_target_level(&mut self, lvl: i32) {
        self.spec.target_level = usize::try_from(lvl).ok();
    }

    /// The path that the result is written to, by its position in
    /// [`set_cf_paths`](crate::Options::set_cf_paths) or
    /// [`set_db_paths`](crate::Options::set_db_paths). Default 0. The call refuses
    /// a path that does not exist as `InvalidArgument`. Files that are only moved
    /// to another level are in this path already.
    ///
    /// Not in the `rocksdb` crate.
    pub fn set_target_path_id(&mut self, id: u32) {
        self.spec.target_path_id = id;
    }

    /// Moves up the limit of the history first, as
    /// [`increase_full_history_ts_low`](crate::DBCommon::increase_full_history_ts_low)
    /// does. Default empty, which does not.
    pub fn set_full_history_ts_low<S: Into<Vec<u8>>>(&mut self, ts: S) {
        self.spec.history_low = ts.into();
    }

    /// Whether the bottommost level is rewritten too. Default `IfHaveCompactionFilter`: if the
    /// column family has a compaction filter or a factory of them, but not the tables that this
    /// compaction has made. Only with levels of growing size: universal compaction always merges
    /// everything.
    pub fn set_bottommost_level_compaction(&mut self, lvl: BottommostLevelCompaction) {
        self.spec.bottommost = lvl.into();
    }
}

/// Options of [`DBCommon::compact_files`](crate::DBCommon::compact_files), with the names of
/// RocksDB's C++ interface. Not in the `rocksdb` crate.
#[derive(Debug, Clone, Default)]
pub struct CompactionOptions {
    pub(crate) spec: FilesSpec,
}

impl CompactionOptions {
    /// The codec of the tables that are written. Default: that of the column family's options for
    /// the level. A codec that is not built in is refused by the call as `NotSupported`.
    pub fn set_compression(&mut self, codec: DBCompressionType) {
        self.spec.compression = Some(codec.into());
    }

    /// The size at which a table ends and another one begins. Bytes; default `u64::MAX`, one
    /// table. Level 0 always gets one table.
    pub fn set_output_file_size_limit(&mut self, bytes: u64) {
        self.spec.output_file_size_limit = Some(bytes.max(1));
    }

    /// The largest number of threads of this compaction, 1,024 at most. Default 0: as many as
    /// [`Options::set_max_subcompactions`](crate::Options::set_max_subcompactions) says.
    pub fn set_max_subcompactions(&mut self, num: u32) {
        self.spec.max_subcompactions = num;
    }

    /// Whether files of one level that overlap nothing on their way are moved to the output level
    /// as they are, if they are in the path of the output. Default false: all are rewritten.
    pub fn set_allow_trivial_move(&mut self, allow: bool) {
        self.spec.allow_trivial_move = allow;
    }

    /// The path of the tables that are written, by its position in
    /// [`Options::set_cf_paths`](crate::Options::set_cf_paths) or
    /// [`Options::set_db_paths`](crate::Options::set_db_paths). Default -1: the only one; where
    /// there are several, the call is refused as `NotSupported`.
    pub fn set_output_path_id(&mut self, id: i32) {
        self.spec.output_path_id = u32::try_from(id).ok();
    }
}

/// Options of [`DBCommon::wait_for_compact`](crate::DBCommon::wait_for_compact).
#[derive(Debug, Clone, Default)]
pub struct WaitForCompactOptions {
    pub(crate) flush: bool,
    pub(crate) timeout: Option<Duration>,
}

impl WaitForCompactOptions {
    /// Whether to give up when background work is paused. Default false. A
    /// hint without effect: nothing pauses background work here but its end,
    /// and then the call always gives up, with `ShutdownInProgress`.
    pub fn set_abort_on_pause(&mut self, _v: bool) {}

    /// Whether memtables are flushed first. Default false.
    pub fn set_flush(&mut self, v: bool) {
        self.flush = v;
    }

    /// How long to wait, in microseconds; 0, the default, is no limit.
    pub fn set_timeout(&mut self, microseconds: u64) {
        self.timeout = (microseconds > 0).then(|| Duration::from_micros(microseconds));
    }
}
