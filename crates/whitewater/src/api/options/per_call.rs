//! Options of single reads, writes, flushes and compactions.

use super::enums::BottommostLevelCompaction;
use crate::api::db::DBAccess;
use crate::api::iter_range::IterateBounds;
use crate::api::snapshot::SnapshotWithThreadMode;
use crate::db::Bottommost;
use crate::options::read::{ReadSpec, WriteSpec};
use std::time::Duration;

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

    /// Whether blocks read go into the block cache. Scans of cold data may
    /// want to leave it alone. Default true.
    pub fn fill_cache(&mut self, v: bool) {
        self.spec.fill_cache = v;
    }

    /// Reads at `snapshot`. Default: at the time of the call.
    pub fn set_snapshot<D: DBAccess>(&mut self, snapshot: &SnapshotWithThreadMode<'_, D>) {
        self.spec.snapshot = Some(snapshot.guard());
    }

    /// The first key an iterator may stand on. Default none.
    pub fn set_iterate_lower_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.spec.lower_bound = Some(key.into());
    }

    /// The first key past those an iterator may stand on. Default none.
    pub fn set_iterate_upper_bound<K: Into<Vec<u8>>>(&mut self, key: K) {
        self.spec.upper_bound = Some(key.into());
    }

    /// Sets both bounds of iterators; an open end clears that bound.
    pub fn set_iterate_range(&mut self, range: impl IterateBounds) {
        (self.spec.lower_bound, self.spec.upper_bound) = range.into_bounds();
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

    /// Whether an iterator ends (is not valid any more) outside the prefix of
    /// the key it was sent to; sent to the first or last key, outside the
    /// prefix of the key found there. Has no effect without a
    /// [prefix extractor](crate::Options::set_prefix_extractor) and after a
    /// seek to a key that has no prefix. Default false.
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
    /// skip before it fails with `Incomplete`. Default 0, no limit.
    pub fn set_max_skippable_internal_keys(&mut self, num: u64) {
        self.spec.max_skippable_internal_keys = num;
    }

    /// Whether files are deleted in the background when the iterator that kept
    /// them is dropped. A hint: they always are.
    pub fn set_background_purge_on_iterator_cleanup(&mut self, _v: bool) {}

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

    /// Lets an iterator read in the background. A hint without effect so far.
    pub fn set_async_io(&mut self, _v: bool) {}
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
    pub fn set_sync(&mut self, sync: bool) {
        self.spec.sync = sync;
    }

    /// Whether the log is left out: the write is lost if the process dies
    /// before a flush. Default false. Not together with
    /// [`set_sync`](Self::set_sync).
    pub fn disable_wal(&mut self, disable: bool) {
        self.spec.disable_wal = disable;
    }

    /// Whether writes to column families that do not exist (any more) are
    /// passed over instead of failing the batch. Default false.
    pub fn set_ignore_missing_column_families(&mut self, ignore: bool) {
        self.spec.ignore_missing_column_families = ignore;
    }

    /// Whether a write that would have to wait for flushes or compactions
    /// fails at once with `Incomplete`, whoever else waits. Default false.
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

/// Options of manual compactions.
#[derive(Debug, Clone, Default)]
pub struct CompactOptions {
    pub(crate) bottommost: Bottommost,
}

impl CompactOptions {
    /// Whether the bottommost level is rewritten too. Default
    /// `IfHaveCompactionFilter`.
    pub fn set_bottommost_level_compaction(&mut self, lvl: BottommostLevelCompaction) {
        self.bottommost = lvl.into();
    }
}

/// Options of [`DBCommon::wait_for_compact`](crate::DBCommon::wait_for_compact).
#[derive(Debug, Clone, Default)]
pub struct WaitForCompactOptions {
    pub(crate) flush: bool,
    pub(crate) timeout: Option<Duration>,
}

impl WaitForCompactOptions {
    /// Whether memtables are flushed first. Default false.
    pub fn set_flush(&mut self, v: bool) {
        self.flush = v;
    }

    /// How long to wait, in microseconds; 0, the default, is no limit.
    pub fn set_timeout(&mut self, microseconds: u64) {
        self.timeout = (microseconds > 0).then(|| Duration::from_micros(microseconds));
    }
}
