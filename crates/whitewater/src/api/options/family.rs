//! Setters of column family options.

use super::Options;
use super::cache::BlockCacheChoice;
use super::enums::MemtableFactory;
use super::table::BlockBasedOptions;
use super::table_format::{CuckooTableOptions, PlainTableFactoryOptions};
use crate::api::c_str::CStrLike;
use crate::api::compaction_filter::{CompactionFilterCallback, CompactionFilterFn, SharedFilter};
use crate::api::compaction_filter_factory::{CompactionFilterFactory, SharedFactory};
use crate::api::merge_operator::{MergeFn, MergeFunctions};
use crate::api::slice_transform::SliceTransform;
use std::cmp::Ordering;
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::Error;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::key::{Comparator, UserComparator};
use whitewater_storage::sst::{CompressionType, DataBlockIndexType, FilterPolicy, TableFormat};
use whitewater_storage::timestamp::BytewiseWithU64Timestamp;

/// An order of keys given by a function.
struct NamedOrder<F> {
    name: String,
    compare: F,
}

impl<F: Fn(&[u8], &[u8]) -> Ordering + Send + Sync + 'static> Comparator for NamedOrder<F> {
    fn name(&self) -> &str {
        &self.name
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.compare)(a, b)
    }
}

/// An order of keys with timestamps given by functions.
struct NamedVersionOrder {
    name: String,
    timestamp_size: usize,
    compare: Box<CompareFn>,
    compare_ts: Box<CompareTsFn>,
    compare_without_ts: Box<CompareWithoutTsFn>,
}

impl NamedVersionOrder {
    /// Whether a key that must have a timestamp is long enough for it. Only a
    /// damaged file has others; the functions need not expect them.
    fn fits(&self, key: &[u8]) -> bool {
        key.len() >= self.timestamp_size
    }
}

impl Comparator for NamedVersionOrder {
    fn name(&self) -> &str {
        &self.name
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.fits(a) && self.fits(b) {
            (self.compare)(a, b)
        } else {
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        }
    }
    fn timestamp_size(&self) -> usize {
        self.timestamp_size
    }
    fn compare_timestamps(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.fits(a) && self.fits(b) {
            (self.compare_ts)(a, b)
        } else {
            a.len().cmp(&b.len())
        }
    }
    fn compare_without_timestamps(
        &self,
        a: &[u8],
        a_has_timestamp: bool,
        b: &[u8],
        b_has_timestamp: bool,
    ) -> Ordering {
        if (!a_has_timestamp || self.fits(a)) && (!b_has_timestamp || self.fits(b)) {
            (self.compare_without_ts)(a, a_has_timestamp, b, b_has_timestamp)
        } else {
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        }
    }
}

/// A function that orders two timestamps, older ones first.
pub type CompareTsFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// A function that orders two keys without their timestamps, which each has if
/// the flag behind it is set.
pub type CompareWithoutTsFn = dyn Fn(&[u8], bool, &[u8], bool) -> Ordering + Send + Sync;

/// A function that orders keys.
pub type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// Options of a column family.
impl Options {
    /// Sets sizes of buffers and levels so that memtables take about `memtable_memory_budget`
    /// bytes, and leaves levels 0 and 1 uncompressed and the others to LZ4 (where it is not built
    /// in, to Snappy). Set [`num_levels`](Self::set_num_levels) before.
    pub fn optimize_level_style_compaction(&mut self, memtable_memory_budget: usize) {
        let cf = &mut self.cf;
        let budget = memtable_memory_budget as u64;
        cf.write_buffer_size = memtable_memory_budget / 4;
        cf.min_write_buffer_number_to_merge = 2;
        cf.max_write_buffer_number = 6;
        cf.level0_file_num_compaction_trigger = 2;
        cf.target_file_size_base = budget / 8;
        cf.max_bytes_for_level_base = budget;
        let built_in = |ty: &CompressionType| ty.missing_feature().is_none();
        let fast = [CompressionType::Lz4, CompressionType::Snappy];
        let fast = fast.into_iter().find(built_in).unwrap_or_default();
        let by_level = |level| match level {
            0 | 1 => CompressionType::None,
            _ => fast,
        };
        cf.compression_per_level = (0..cf.num_levels).map(by_level).collect();
    }

    /// Options for a column family that is only asked for single keys: a block
    /// cache of `block_cache_size_mb` MiB, data blocks with a hash index (0.75
    /// entries per bucket), filters of 10 bits per key in tables, and one of
    /// whole keys in memtables.
    pub fn optimize_for_point_lookup(&mut self, block_cache_size_mb: u64) {
        let bytes = block_cache_size_mb.saturating_mul(1 << 20);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.block_cache = BlockCacheChoice::Shared(BlockCache::new(bytes));
        let table = &mut self.cf.table;
        table.data_block_index_type = DataBlockIndexType::BinaryAndHash;
        table.data_block_hash_table_util_ratio = 0.75;
        table.filter_policy = Some(FilterPolicy::Bloom { bits_per_key: 10.0 });
        self.cf.memtable_prefix_bloom_size_ratio = 0.02;
        self.cf.memtable_whole_key_filtering = true;
    }

    /// Options for loading much data at once: writes are never held back for
    /// compactions, and there are none until
    /// [`compact_range`](crate::DB::compact_range). Then open the database with
    /// other options.
    pub fn prepare_for_bulk_load(&mut self) {
        const NEVER: i32 = 1 << 30;
        let cf = &mut self.cf;
        cf.level0_file_num_compaction_trigger = NEVER;
        cf.level0_slowdown_writes_trigger = NEVER;
        cf.level0_stop_writes_trigger = NEVER;
        cf.soft_pending_compaction_bytes_limit = 0;
        cf.hard_pending_compaction_bytes_limit = 0;
        cf.disable_auto_compactions = true;
        cf.max_compaction_bytes = 1 << 60;
        cf.num_levels = 2;
        cf.max_write_buffer_number = 6;
        cf.min_write_buffer_number_to_merge = 1;
        cf.target_file_size_base = 256 << 20;
        self.db.max_background_flushes = 4;
        self.db.max_background_compactions = 2;
    }

    /// Size at which a memtable is switched and flushed.
    ///
    /// **Option `write_buffer_size`**: bytes, 64 KiB to 64 GiB (others are moved inside), default
    /// 64 MiB; can be changed while the database is open.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// let mut options = whitewater::Options::default();
    /// options.set_write_buffer_size(128 << 20);
    /// // Later, while the database is open:
    /// db.set_options(&[("write_buffer_size", "256M")])?;
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_write_buffer_size(&mut self, size: usize) {
        self.cf.write_buffer_size = size;
    }

    /// Bytes of one block of a memtable's arena. 0, the default, is an eighth of the write buffer
    /// and 1 MiB at most. Smaller blocks than 4 KiB are not made. A radix tree reserves room for
    /// all of a write buffer at once and has no use for the number.
    ///
    /// **Option `arena_block_size`**: bytes, 0 to 1 GiB (others are moved inside), default 0; can
    /// be changed while the database is open.
    pub fn set_arena_block_size(&mut self, size: usize) {
        self.cf.arena_block_size = size;
    }

    /// Size of the huge pages to make memtables of, in bytes: a power of two,
    /// such as 2 MiB. 0, the default, is none.
    ///
    /// **Option `memtable_huge_page_size`**: bytes, default 0; can be changed while the database is
    /// open.
    ///
    /// A page larger than half a write buffer is not used for it: it would be
    /// full as soon as it had one.
    ///
    /// Linux gives out only as many as its administrator has reserved. Where
    /// there are none left, none of this size, or it is another system,
    /// memtables are made of transparent huge pages, as with
    /// [`set_memtable_transparent_huge_pages`](Self::set_memtable_transparent_huge_pages).
    pub fn set_memtable_huge_page_size(&mut self, size: usize) {
        self.cf.memtable_huge_page_size = size;
    }

    /// Whether the system is advised (`madvise`) to make memtables of transparent huge pages:
    /// fewer, larger pages make random access cheaper. Only write buffers of 40 MiB and more are,
    /// as a page of 2 MiB that is hardly used would be more than a twentieth of a smaller one. The
    /// first MiB of a memtable has plain pages, so that one of few entries takes some KiB. Not an
    /// option of the `rocksdb` crate.
    ///
    /// **Option `memtable_transparent_huge_pages`**: default `true`; can be changed while the
    /// database is open.
    pub fn set_memtable_transparent_huge_pages(&mut self, advise: bool) {
        self.cf.memtable_transparent_huge_pages = advise;
    }

    /// What keeps the entries of memtables sorted. By default the fastest that can serve the
    /// comparator, see [`MemtableFactory`].
    ///
    /// **Option `memtable_factory`**: default `auto`; fixed while the database is open.
    pub fn set_memtable_factory(&mut self, factory: MemtableFactory) {
        self.cf.memtable = factory.into();
    }

    /// What part of a key is its prefix.
    ///
    /// **Option `prefix_extractor`**: default none; can be changed while the database is open.
    ///
    /// Iterators may then keep to the keys that share the prefix of the one
    /// they were sent to (see
    /// [`ReadOptions::set_prefix_same_as_start`](crate::ReadOptions::set_prefix_same_as_start)),
    /// memtables that hash by prefix need it, and filters of tables hold the
    /// prefixes. It may be another one, or none, at the next opening: each
    /// table says which one it was written with, and its filter is not asked
    /// for the prefixes of another. A function of the user must keep to what
    /// its name stood for when tables were written. While the database is
    /// open, it changes to one of RocksDB's built-in ones or none, and not at all where
    /// memtables hash by prefix.
    pub fn set_prefix_extractor(&mut self, prefix_extractor: SliceTransform) {
        match prefix_extractor.extractor {
            Ok(extractor) => {
                self.cf.prefix_extractor = Some(extractor);
                self.accept("prefix_extractor");
            }
            Err(e) => self.refuse("prefix_extractor", e),
        }
    }

    /// Share of the write buffer that each memtable spends on a Bloom filter,
    /// so that a look-up of a key it does not hold, or an iterator sent to a
    /// prefix it does not hold, does not search it. 0, the default, is no filter. The filter holds
    ///
    /// **Option `memtable_prefix_bloom_size_ratio`**: 0 to 0.25 (others are moved inside), default
    /// 0; can be changed while the database is open.
    ///
    /// * whole keys with
    ///   [`set_memtable_whole_key_filtering`](Self::set_memtable_whole_key_filtering):
    ///   asked by look-ups;
    /// * prefixes with a [prefix extractor](Self::set_prefix_extractor): asked
    ///   by iterators that keep to a prefix
    ///   ([`ReadOptions::set_prefix_same_as_start`](crate::ReadOptions::set_prefix_same_as_start)),
    ///   and by look-ups if whole keys are not in it.
    ///
    /// With neither there is none. Its memory counts as the memtable's. A change holds for
    /// memtables to come. The structure is that of RocksDB's `DynamicBloom`; the text form is
    /// RocksDB's `memtable_prefix_bloom_size_ratio`.
    pub fn set_memtable_prefix_bloom_ratio(&mut self, ratio: f64) {
        self.cf.memtable_prefix_bloom_size_ratio = ratio;
    }

    /// Whether whole keys go into the memtables' Bloom filter, which
    /// [`set_memtable_prefix_bloom_ratio`](Self::set_memtable_prefix_bloom_ratio) makes. A change
    /// holds for memtables to come. Not for a [comparator](Self::set_comparator) that calls
    /// different bytes equal.
    ///
    /// **Option `memtable_whole_key_filtering`**: default `false`; can be changed while the
    /// database is open.
    pub fn set_memtable_whole_key_filtering(&mut self, whole_key_filter: bool) {
        self.cf.memtable_whole_key_filtering = whole_key_filter;
    }

    /// Bytes of the checksum that memtables keep with each entry, over key,
    /// value, type and sequence number: 0 (none, the default), 1, 2, 4 or 8;
    /// other numbers are refused at open as `NotSupported`.
    ///
    /// **Option `memtable_protection_bytes_per_key`**: bytes, default 0; can be changed while the
    /// database is open.
    ///
    /// The checksum is made from the bytes of the write batch, before anything is copied. It is
    /// checked by every look-up and iterator that comes upon the entry, and by the flush; range
    /// deletions are checked when they are sorted for reading and when they are flushed. A mismatch
    /// is an error of kind `Corruption` that names the column family and the key. In a flush it
    /// stops writes, as other failures of background work do. A change holds for memtables to come.
    pub fn set_memtable_protection_bytes_per_key(&mut self, bytes: u32) {
        self.cf.memtable_protection_bytes_per_key = bytes;
    }

    /// Whether each table that a flush, a compaction or a recovery has written is read again from
    /// its file, and compared with the entries that were to be written. One that differs is not
    /// used: the flush or compaction fails with `Corruption`, and nothing is lost. Doubles the
    /// reading and part of the work of these jobs. A change holds for the next job. Together with
    /// [`WriteOptions::set_protection_bytes_per_key`] and
    /// [`set_memtable_protection_bytes_per_key`], an entry is compared with what was asked for on
    /// all its way from the call that wrote it into a table.
    ///
    /// **Option `paranoid_file_checks`**: default `false`; can be changed while the database is
    /// open.
    ///
    /// [`WriteOptions::set_protection_bytes_per_key`]: crate::WriteOptions::set_protection_bytes_per_key
    /// [`set_memtable_protection_bytes_per_key`]: Self::set_memtable_protection_bytes_per_key
    pub fn set_paranoid_file_checks(&mut self, on: bool) {
        self.cf.paranoid_file_checks = on;
    }

    /// Whether a put overwrites the value of its key in the active memtable, if the newest entry of
    /// the key there is a value that is not shorter, instead of adding an entry. For keys that are
    /// put again and again: the memtable does not grow.
    ///
    /// **Option `inplace_update_support`**: default `false`; fixed while the database is open.
    ///
    /// It gives up what other column families keep:
    ///
    /// * There are no snapshots: reads of the column family that are given one
    ///   fail with `NotSupported`. (RocksDB returns none for the whole
    ///   database, and its `rocksdb` crate then reads what is newest.)
    /// * An iterator shows each value as it is when it comes to it. Batches
    ///   are not seen as a whole, and a value may be seen before its write has
    ///   returned.
    /// * A write that fails while it is inserted may have left values.
    ///
    /// A single value is always read whole. The log has all writes. One thread inserts at a time:
    /// with [`set_allow_concurrent_memtable_write`](Self::set_allow_concurrent_memtable_write),
    /// which is on by default, or a commit protocol that needs it (ordered, unordered), opening is
    /// refused as `InvalidArgument`. The callback that RocksDB can be given is not in the `rocksdb`
    /// crate and not here.
    pub fn set_inplace_update_support(&mut self, enabled: bool) {
        self.cf.inplace_update_support = enabled;
    }

    /// Locks of a memtable with [in-place updates](Self::set_inplace_update_support), by hash of
    /// the key: who reads a value waits for who overwrites one of the same lock. They take 32 bytes
    /// each, which do not count as the memtable's size. A change holds for memtables to come.
    ///
    /// **Option `inplace_update_num_locks`**: 0 to 16777216 (others are moved inside), default
    /// 10000; can be changed while the database is open.
    pub fn set_inplace_update_locks(&mut self, num: usize) {
        self.cf.inplace_update_num_locks = num;
    }

    /// Merge operands of one key that may lie on each other in the active
    /// memtable. A merge that finds as many is stored as the value it comes to,
    /// so that reads need not apply them all. 0, the default, is no limit.
    ///
    /// **Option `max_successive_merges`**: default 0; can be changed while the database is open.
    ///
    /// The value is read from memory only: where no memtable has it, and a
    /// table may, the operand is stored as such, however many there are; so it
    /// is when the operator fails, or there is none. (RocksDB also looks into
    /// the block cache. Its `strict_max_successive_merges`, which reads from
    /// disk, is not in the `rocksdb` crate and not here.) A table that is not
    /// open may be opened to ask its filter.
    ///
    /// The log has the merge as it was written, and what replay makes of it is
    /// not limited. A batch with merges in such a column family is inserted
    /// when all writes before it are, and with grouped commit its group is
    /// inserted by one thread, so that the outcome never depends on timing. With
    /// ordered commit each synced write of that kind waits for the sync of the
    /// one before; grouped commit shares syncs. The
    /// operator then runs inside a write, and must not write to the database.
    /// Every merge looks at the entries of its key, which takes longest with
    /// `MemtableFactory::Vector`.
    ///
    /// With unordered commit the database is not opened: `InvalidArgument`. A change holds for
    /// memtables to come.
    pub fn set_max_successive_merges(&mut self, num: usize) {
        self.cf.max_successive_merges = num;
    }

    /// Memtables in memory before writes stop.
    ///
    /// **Option `max_write_buffer_number`**: 2 or more (others are moved inside), default 2; can be
    /// changed while the database is open.
    pub fn set_max_write_buffer_number(&mut self, nbuf: i32) {
        self.cf.max_write_buffer_number = nbuf;
    }

    /// The same as
    /// [`set_min_write_buffer_number_to_merge`](Self::set_min_write_buffer_number_to_merge),
    /// as it is in the `rocksdb` crate.
    ///
    /// **Option `min_write_buffer_number_to_merge`**: 1 or more (others are moved inside), default
    /// 1; fixed while the database is open.
    pub fn set_min_write_buffer_number(&mut self, nbuf: i32) {
        self.cf.min_write_buffer_number_to_merge = nbuf;
    }

    /// Full memtables that one flush waits for.
    ///
    /// **Option `min_write_buffer_number_to_merge`**: 1 or more (others are moved inside), default
    /// 1; fixed while the database is open.
    pub fn set_min_write_buffer_number_to_merge(&mut self, to_merge: i32) {
        self.cf.min_write_buffer_number_to_merge = to_merge;
    }

    /// The part of a memtable's size below which what is left of full memtables stays in memory
    /// instead of being flushed to a table (mempurge). This helps where the same keys are written
    /// again and again: what was overwritten is never written to a table.
    ///
    /// When full memtables are due, a sample of their entries tells how much of them is still
    /// needed: for reads, snapshots and undecided transactions. If that is less than `threshold`
    /// memtables (`write_buffer_size`), it is copied to one memtable, which waits in memory with
    /// the next ones that become full. If it does not fit into one, or is needed in full, a table
    /// is written as ever. 0 and less is never, 1 is RocksDB's recommendation; a threshold above
    /// the number of memtables that are due tries in any case.
    ///
    /// Nothing depends on it for durability: logs are kept until their writes are in tables. So
    /// more of them have to be read when the database is opened, up to `max_total_wal_size`; logs
    /// that exceed it make tables of purged memtables, too. So does every flush that is asked for:
    /// by [`flush`](crate::DB::flush), by closing, by a
    /// [`WriteBufferManager`](crate::WriteBufferManager).
    ///
    /// The purged memtable counts as one of `max_write_buffer_number`. With 2, writes stop when a
    /// memtable becomes full, until it is purged or flushed; 3 or more avoids that. Column
    /// families with timestamps or `inplace_update_support`, and all with `atomic_flush`, are
    /// flushed as if it were 0. A change holds from the next flush on. LOG has lines about each
    /// purge; listeners and statistics are told of flushes to tables only.
    ///
    /// **Option `experimental_mempurge_threshold`**: default 0; can be changed while the database
    /// is open.
    pub fn set_experimental_mempurge_threshold(&mut self, threshold: f64) {
        self.cf.experimental_mempurge_threshold = threshold;
    }

    /// Levels of tables. 1 (with levels of growing size 2) to 64, default 7. A
    /// database that uses more is not opened.
    ///
    /// **Option `num_levels`**: 1 to 64 (others are moved inside), default 7; fixed while the
    /// database is open.
    pub fn set_num_levels(&mut self, n: i32) {
        self.cf.num_levels = usize::try_from(n).unwrap_or(0);
    }

    /// Tables in level 0 that start a compaction.
    ///
    /// **Option `level0_file_num_compaction_trigger`**: default 4; can be changed while the
    /// database is open.
    pub fn set_level_zero_file_num_compaction_trigger(&mut self, n: i32) {
        self.cf.level0_file_num_compaction_trigger = n;
    }

    /// Tables in level 0 that slow writes down.
    ///
    /// **Option `level0_slowdown_writes_trigger`**: 1 or more (others are moved inside), default
    /// 20; can be changed while the database is open.
    pub fn set_level_zero_slowdown_writes_trigger(&mut self, n: i32) {
        self.cf.level0_slowdown_writes_trigger = n;
    }

    /// Tables in level 0 that stop writes.
    ///
    /// **Option `level0_stop_writes_trigger`**: 1 or more (others are moved inside), default 36;
    /// can be changed while the database is open.
    pub fn set_level_zero_stop_writes_trigger(&mut self, n: i32) {
        self.cf.level0_stop_writes_trigger = n;
    }

    /// Bytes that wait for compaction at which writes are slowed down; 0 is no limit.
    ///
    /// **Option `soft_pending_compaction_bytes_limit`**: bytes, default 64 GiB; can be changed
    /// while the database is open.
    pub fn set_soft_pending_compaction_bytes_limit(&mut self, limit: usize) {
        self.cf.soft_pending_compaction_bytes_limit = limit as u64;
    }

    /// Bytes that wait for compaction at which writes stop; 0 is no limit.
    ///
    /// **Option `hard_pending_compaction_bytes_limit`**: bytes, default 256 GiB; can be changed
    /// while the database is open.
    pub fn set_hard_pending_compaction_bytes_limit(&mut self, limit: usize) {
        self.cf.hard_pending_compaction_bytes_limit = limit as u64;
    }

    /// Size of a table in level 1.
    ///
    /// **Option `target_file_size_base`**: bytes, default 64 MiB; can be changed while the database
    /// is open.
    pub fn set_target_file_size_base(&mut self, size: u64) {
        self.cf.target_file_size_base = size;
    }

    /// How much larger tables are from level to level.
    ///
    /// **Option `target_file_size_multiplier`**: 1 or more (others are moved inside), default 1;
    /// can be changed while the database is open.
    pub fn set_target_file_size_multiplier(&mut self, multiplier: i32) {
        self.cf.target_file_size_multiplier = multiplier;
    }

    /// Size of level 1.
    ///
    /// **Option `max_bytes_for_level_base`**: bytes, default 256 MiB; can be changed while the
    /// database is open.
    pub fn set_max_bytes_for_level_base(&mut self, size: u64) {
        self.cf.max_bytes_for_level_base = size;
    }

    /// How much larger each level is than the one above.
    ///
    /// **Option `max_bytes_for_level_multiplier`**: above 0 (others are refused), default 10; can
    /// be changed while the database is open.
    pub fn set_max_bytes_for_level_multiplier(&mut self, mul: f64) {
        self.cf.max_bytes_for_level_multiplier = mul;
    }

    /// Further factors: level n + 1 is larger than level n by the n-th of these, too, from level 1
    /// on, for what is left out by 1. Without effect when sizes are chosen from the last level
    /// ([`set_level_compaction_dynamic_level_bytes`](Self::set_level_compaction_dynamic_level_bytes)),
    /// as in RocksDB. A negative factor is refused at open.
    ///
    /// **Option `max_bytes_for_level_multiplier_additional`**: default none; can be changed while
    /// the database is open.
    pub fn set_max_bytes_for_level_multiplier_additional(&mut self, level_values: &[i32]) {
        self.cf.max_bytes_for_level_multiplier_additional = level_values.to_vec();
    }

    /// Choose level sizes from the size of the last level, which wastes less space.
    ///
    /// **Option `level_compaction_dynamic_level_bytes`**: default `true`; fixed while the database
    /// is open.
    pub fn set_level_compaction_dynamic_level_bytes(&mut self, v: bool) {
        self.cf.level_compaction_dynamic_level_bytes = v;
    }

    /// Most input bytes of one compaction; 0, the default, is 25 tables.
    ///
    /// **Option `max_compaction_bytes`**: bytes, default 0; can be changed while the database is
    /// open.
    pub fn set_max_compaction_bytes(&mut self, nbytes: u64) {
        self.cf.max_compaction_bytes = nbytes;
    }

    /// Compact only when asked to.
    ///
    /// **Option `disable_auto_compactions`**: default `false`; can be changed while the database is
    /// open.
    pub fn set_disable_auto_compactions(&mut self, disable: bool) {
        self.cf.disable_auto_compactions = disable;
    }

    /// Whether tables of the last level that holds data get no filter: good when most look-ups find
    /// their key, as a filter there only spares those that do not. Holds for tables that
    /// compactions write from now on.
    ///
    /// **Option `optimize_filters_for_hits`**: default `false`; fixed while the database is open.
    pub fn set_optimize_filters_for_hits(&mut self, optimize_for_hits: bool) {
        self.cf.optimize_filters_for_hits = optimize_for_hits;
    }

    /// How tables are laid out and cached. Default: [`BlockBasedOptions::default`]. The parts
    /// that can be changed while the database is open say so.
    ///
    /// **Option `table_factory`**: default `BlockBasedTable`; fixed while the database is open.
    pub fn set_block_based_table_factory(&mut self, factory: &BlockBasedOptions) {
        self.cf.table = factory.table.clone();
        self.cf.table_factory = TableFormat::BlockBased;
        self.block_cache = factory.cache.clone();
    }

    /// Writes new tables as plain tables: all entries in one run, without checksums and without
    /// compression. Existing tables are read and compacted, whatever their format.
    ///
    /// **Option `table_factory`**: default `BlockBasedTable`; fixed while the database is open.
    ///
    /// Every kind of entry but range deletions fits: `delete_range` is `NotSupported`, as in
    /// RocksDB. A job that meets older range deletions writes block-based tables. So do all jobs
    /// after the next call of
    /// [`set_block_based_table_factory`](Self::set_block_based_table_factory). Keys must have the
    /// length that [`user_key_length`](PlainTableFactoryOptions::user_key_length) says, and a
    /// table has up to 2 GiB: a flush that would exceed that fails as `NotSupported`, and
    /// everything stays in the log until the database is opened with block-based tables.
    ///
    /// RocksDB reads these tables only with a plain table factory or an adaptive one, and seeks
    /// only within a prefix. Here the blocks that a table is divided into go through the block
    /// cache, iterators move in both directions over all keys, and opening a table reads it once.
    ///
    /// ```
    /// use whitewater::{KeyEncodingType, Options, PlainTableFactoryOptions, SliceTransform};
    ///
    /// let mut opts = Options::default();
    /// opts.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
    /// opts.set_plain_table_factory(&PlainTableFactoryOptions {
    ///     user_key_length: 0,
    ///     bloom_bits_per_key: 10,
    ///     hash_table_ratio: 0.75,
    ///     index_sparseness: 16,
    ///     huge_page_tlb_size: 0,
    ///     encoding_type: KeyEncodingType::Prefix,
    ///     full_scan_mode: false,
    ///     store_index_in_file: false,
    /// });
    /// ```
    pub fn set_plain_table_factory(&mut self, options: &PlainTableFactoryOptions) {
        self.cf.table_factory = TableFormat::Plain(options.format());
    }

    /// Writes new tables as cuckoo tables: a hash table of keys and values, without checksums and
    /// without compression. Existing tables are read and compacted, whatever their format.
    ///
    /// **Option `table_factory`**: default `BlockBasedTable`; fixed while the database is open.
    ///
    /// All keys of a table must have one length, all values one, and there is no more than one
    /// version of a key: no merges, no snapshots that keep an older version. A flush of anything
    /// else fails as `NotSupported`, as in RocksDB; everything stays in the log until the database
    /// is opened with block-based tables. `delete_range` is `NotSupported`, and a job that meets
    /// older range deletions writes block-based tables.
    ///
    /// RocksDB reads these tables only with
    /// [`set_allow_mmap_reads`](Self::set_allow_mmap_reads) and with a cuckoo table factory or an
    /// adaptive one. Here opening a table reads and sorts it once, and the blocks that it is
    /// divided into go through the block cache.
    ///
    /// ```
    /// use whitewater::{CuckooTableOptions, Options};
    ///
    /// let mut factory = CuckooTableOptions::default();
    /// factory.set_hash_ratio(0.8);
    /// factory.set_use_module_hash(false);
    /// let mut opts = Options::default();
    /// opts.set_cuckoo_table_factory(&factory);
    /// ```
    pub fn set_cuckoo_table_factory(&mut self, factory: &CuckooTableOptions) {
        self.cf.table_factory = TableFormat::Cuckoo(factory.0);
    }

    /// The order of keys, by a name that is stored and checked at open. Every
    /// opening must use the same order.
    ///
    /// The function must be `Send` and `Sync`, as it is called by many threads.
    /// The `rocksdb` crate does not ask for that, and so lets safe code race (see
    /// `docs/decisions/0013-comparators-are-shared.md`). Functions, and closures
    /// that capture what threads may share, compile in the place where they are
    /// boxed. A box that has forgotten it does not; its type has to say so:
    ///
    /// ```compile_fail,E0308
    /// # use std::cmp::Ordering;
    /// # let mut opts = whitewater::Options::default();
    /// let order: Box<dyn Fn(&[u8], &[u8]) -> Ordering> = Box::new(|a, b| b.cmp(a));
    /// opts.set_comparator("backwards", order);
    /// ```
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # let mut opts = whitewater::Options::default();
    /// let order: Box<dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync> = Box::new(|a, b| b.cmp(a));
    /// opts.set_comparator("backwards", order);
    /// ```
    ///
    /// A closure that captures what threads may not share is refused by the name of
    /// what it captures:
    ///
    /// ```compile_fail,E0277
    /// # let mut opts = whitewater::Options::default();
    /// let calls = std::rc::Rc::new(std::cell::Cell::new(0));
    /// opts.set_comparator(
    ///     "counting",
    ///     Box::new(move |a, b| {
    ///         calls.set(calls.get() + 1);
    ///         a.cmp(b)
    ///     }),
    /// );
    /// ```
    ///
    /// The function must not call the database: it is called under locks that such
    /// a call would wait for.
    ///
    /// Keys that compare as equal are one key, whatever their bytes: it is shown
    /// as it was last written, or last merged into (with
    /// [in-place updates](Self::set_inplace_update_support) as it was written
    /// when its entry was made). But what hashes keys goes by their bytes. With
    /// an order that calls different bytes equal
    ///
    /// * a filter with whole keys
    ///   ([`set_bloom_filter`](crate::BlockBasedOptions::set_bloom_filter),
    ///   [`set_memtable_whole_key_filtering`](Self::set_memtable_whole_key_filtering))
    ///   hides a key from look-ups under another spelling: do not ask for one;
    /// * keys that are equal must have the same
    ///   [prefix](Self::set_prefix_extractor), or none.
    ///
    /// Whether an order does so cannot be known, so neither is refused; RocksDB
    /// does not refuse them, either. Hash tables in data blocks
    /// ([`BinaryAndHash`](crate::DataBlockIndexType::BinaryAndHash)) are left out
    /// with every order that is not built in.
    ///
    /// ```
    /// use whitewater::Options;
    ///
    /// let mut opts = Options::default();
    /// opts.set_comparator(
    ///     "by_length",
    ///     Box::new(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b))),
    /// );
    /// ```
    pub fn set_comparator(&mut self, name: impl CStrLike, compare_fn: Box<CompareFn>) {
        if let Some(name) = self.name("comparator", name) {
            self.cf.comparator = UserComparator::Custom(Arc::new(NamedOrder {
                name,
                compare: compare_fn,
            }));
        }
    }

    /// Has keys ordered by their bytes, as by default.
    #[doc(hidden)]
    pub fn reset_comparator(&mut self) {
        self.cf.comparator = UserComparator::Bytewise;
    }

    /// Sets a function that decides which values stay when they are compacted;
    /// see [`compaction_filter`](crate::compaction_filter). Threads that compact
    /// at the same time take turns in calling it; a factory gives each its own.
    /// Default none. Cannot change while the database is open.
    pub fn set_compaction_filter<F>(&mut self, name: impl CStrLike, filter_fn: F)
    where
        F: CompactionFilterFn + Send + 'static,
    {
        match name.into_c_string() {
            Ok(name) => {
                self.cf.compaction_filter = Some(Arc::new(SharedFilter {
                    name: name.to_string_lossy().into_owned(),
                    filter: Mutex::new(CompactionFilterCallback { name, filter_fn }),
                }));
                self.accept("compaction_filter");
            }
            Err(e) => self.refuse(
                "compaction_filter",
                Error::invalid(format_args!("name of option compaction_filter: {e}")),
            ),
        }
    }

    /// Sets what makes a filter for each compaction; see
    /// [`compaction_filter_factory`](crate::compaction_filter_factory). Without
    /// effect when [`set_compaction_filter`](Self::set_compaction_filter) was
    /// called too. Unlike in the `rocksdb` crate it must be `Send`, as other
    /// threads call it. Default none. Cannot change while the database is open.
    pub fn set_compaction_filter_factory<F>(&mut self, factory: F)
    where
        F: CompactionFilterFactory + Send + 'static,
    {
        self.cf.compaction_filter_factory = Some(Arc::new(SharedFactory {
            name: factory.name().to_string_lossy().into_owned(),
            factory: Mutex::new(factory),
        }));
    }

    /// Sets an order of keys that end with a timestamp of `timestamp_size` bytes
    /// each (at least 1): versions of one key. Default: none have. Cannot change
    /// once the column family was created; the name is checked at open.
    ///
    /// * `compare_fn` orders keys with their timestamps: of one key, newer
    ///   versions come first.
    /// * `compare_ts_fn` orders timestamps, older ones first.
    /// * `compare_without_ts_fn` orders keys without their timestamps.
    ///
    /// They must agree with each other, and take timestamps of zero bytes for
    /// the oldest and of bytes 255 for the newest, as RocksDB asks, too. Unlike
    /// in the `rocksdb` crate they must be `Send` and `Sync`. They must not call
    /// the database: they are called under locks that such a call would wait for.
    ///
    /// Writes go with [`put_with_ts`](crate::DBCommon::put_with_ts) and its like,
    /// reads with [`ReadOptions::set_timestamp`](crate::ReadOptions::set_timestamp).
    /// The timestamps of a key must not go back from write to write. Single
    /// deletions are refused as `NotSupported`, and so are prefix extractors,
    /// in-place updates, `max_successive_merges` and TTL at open.
    ///
    /// ```
    /// use std::cmp::Ordering;
    /// use whitewater::{DB, Options, ReadOptions};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// fn split(key: &[u8]) -> (&[u8], &[u8]) {
    ///     key.split_at(key.len() - 8)
    /// }
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.set_comparator_with_ts(
    ///     "big_endian_time",
    ///     8,
    ///     Box::new(|a, b| split(a).0.cmp(split(b).0).then(split(b).1.cmp(split(a).1))),
    ///     Box::new(|a, b| a.cmp(b)),
    ///     Box::new(|a, a_has, b, b_has| {
    ///         let key = |key, has| if has { split(key).0 } else { key };
    ///         key(a, a_has).cmp(key(b, b_has))
    ///     }),
    /// );
    /// let db = DB::open(&opts, path)?;
    /// db.put_with_ts("river", 1900u64.to_be_bytes(), "3690 km")?;
    /// db.put_with_ts("river", 1980u64.to_be_bytes(), "3530 km")?;
    /// let mut then = ReadOptions::default();
    /// then.set_timestamp(1950u64.to_be_bytes());
    /// assert_eq!(db.get_opt("river", &then)?, Some(b"3690 km".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_comparator_with_ts(
        &mut self,
        name: impl CStrLike,
        timestamp_size: usize,
        compare_fn: Box<CompareFn>,
        compare_ts_fn: Box<CompareTsFn>,
        compare_without_ts_fn: Box<CompareWithoutTsFn>,
    ) {
        if timestamp_size == 0 {
            return self.refuse(
                "comparator",
                Error::invalid("option comparator: timestamps of 0 bytes, use set_comparator"),
            );
        }
        if let Some(name) = self.name("comparator", name) {
            self.cf.comparator = UserComparator::Custom(Arc::new(NamedVersionOrder {
                name,
                timestamp_size,
                compare: compare_fn,
                compare_ts: compare_ts_fn,
                compare_without_ts: compare_without_ts_fn,
            }));
        }
    }

    /// Orders keys bytewise, each with a version: a timestamp of 8 bytes, a
    /// little-endian `u64`. RocksDB knows the order as
    /// `leveldb.BytewiseComparator.u64ts`. As
    /// [`set_comparator_with_ts`](Self::set_comparator_with_ts) otherwise. The
    /// `rocksdb` crate has no such method. By default keys have no versions.
    pub fn set_u64_timestamp_comparator(&mut self) {
        self.cf.comparator = UserComparator::Custom(Arc::new(BytewiseWithU64Timestamp));
        self.accept("comparator");
    }

    /// Orders keys bytewise in reverse: greatest first. RocksDB knows the order
    /// as `rocksdb.ReverseBytewiseComparator`, so either engine opens what the
    /// other has written. Unlike the same order given as a function, it is
    /// served by the radix tree. The `rocksdb` crate has no such method. By default the
    /// order is bytewise, smallest first.
    pub fn set_reverse_bytewise_comparator(&mut self) {
        self.cf.comparator = UserComparator::ReverseBytewise;
        self.accept("comparator");
    }

    /// Sets a merge operator whose operands are of the kind of values, so that
    /// one function combines operands with a value and with each other. See
    /// [`merge_operator`](crate::merge_operator). Default none. Fixed while the database is
    /// open.
    pub fn set_merge_operator_associative<F: MergeFn + Clone>(
        &mut self,
        name: impl CStrLike,
        full_merge_fn: F,
    ) {
        self.set_merge_operator(name, full_merge_fn.clone(), full_merge_fn);
    }

    /// Sets a merge operator: `full_merge_fn` combines a value with operands,
    /// `partial_merge_fn` operands with each other (and may return `None`). Default none. Fixed
    /// while the database is open.
    pub fn set_merge_operator<F: MergeFn, PF: MergeFn>(
        &mut self,
        name: impl CStrLike,
        full_merge_fn: F,
        partial_merge_fn: PF,
    ) {
        if let Some(name) = self.name("merge_operator", name) {
            self.cf.merge_operator = Some(Arc::new(MergeFunctions {
                name,
                full: full_merge_fn,
                partial: partial_merge_fn,
            }));
        }
    }

    /// The old name of
    /// [`set_merge_operator_associative`](Self::set_merge_operator_associative). Default none.
    #[deprecated(note = "use `set_merge_operator_associative` instead")]
    pub fn add_merge_operator<F: MergeFn + Clone>(&mut self, name: &str, merge_fn: F) {
        self.set_merge_operator_associative(name, merge_fn);
    }
}
