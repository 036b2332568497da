//! Setters of column family options.

use super::Options;
use super::enums::{DBCompressionType, MemtableFactory};
use super::table::BlockBasedOptions;
use crate::api::c_str::CStrLike;
use crate::api::merge_operator::{MergeFn, MergeFunctions};
use crate::api::slice_transform::SliceTransform;
use std::cmp::Ordering;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::key::{Comparator, UserComparator};
use whitewater_storage::sst::CompressionType;

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

/// A function that orders keys.
pub type CompareFn = dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync;

/// RocksDB's number for "the codec's default level".
const DEFAULT_LEVEL: i32 = 32_767;

/// Options of a column family.
impl Options {
    /// Sets sizes of buffers and levels so that memtables take about
    /// `memtable_memory_budget` bytes, and leaves levels 0 and 1 uncompressed
    /// and the others to LZ4. Set [`num_levels`](Self::set_num_levels) before.
    pub fn optimize_level_style_compaction(&mut self, memtable_memory_budget: usize) {
        let cf = &mut self.cf;
        let budget = memtable_memory_budget as u64;
        cf.write_buffer_size = memtable_memory_budget / 4;
        cf.min_write_buffer_number_to_merge = 2;
        cf.max_write_buffer_number = 6;
        cf.level0_file_num_compaction_trigger = 2;
        cf.target_file_size_base = budget / 8;
        cf.max_bytes_for_level_base = budget;
        let by_level = |level| match level {
            0 | 1 => CompressionType::None,
            _ => CompressionType::Lz4,
        };
        cf.compression_per_level = (0..cf.num_levels).map(by_level).collect();
    }

    /// Size at which a memtable is switched and flushed. 64 KiB to 64 GiB,
    /// default 64 MiB; values outside are moved inside.
    pub fn set_write_buffer_size(&mut self, size: usize) {
        self.cf.write_buffer_size = size;
    }

    /// Bytes of one block of a memtable's arena. At most 1 GiB; 0, the
    /// default, is an eighth of the write buffer and 1 MiB at most. Smaller
    /// blocks than 4 KiB are not made. A radix tree reserves room for all of a
    /// write buffer at once and has no use for the number.
    pub fn set_arena_block_size(&mut self, size: usize) {
        self.cf.arena_block_size = size;
    }

    /// Size of the huge pages to make memtables of, in bytes: a power of two,
    /// such as 2 MiB. Default 0, none.
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

    /// Whether the system is advised (`madvise`) to make memtables of
    /// transparent huge pages: fewer, larger pages make random access cheaper.
    /// Only write buffers of 40 MiB and more are, as a page of 2 MiB that is
    /// hardly used would be more than a twentieth of a smaller one. Default
    /// true. Not an option of the `rocksdb` crate.
    pub fn set_memtable_transparent_huge_pages(&mut self, advise: bool) {
        self.cf.memtable_transparent_huge_pages = advise;
    }

    /// What keeps the entries of memtables sorted. By default the fastest that
    /// can serve the comparator, see [`MemtableFactory`]. Cannot change while
    /// the database is open.
    pub fn set_memtable_factory(&mut self, factory: MemtableFactory) {
        self.cf.memtable = factory.into();
    }

    /// What part of a key is its prefix. Default none.
    ///
    /// Iterators may then keep to the keys that share the prefix of the one
    /// they were sent to (see
    /// [`ReadOptions::set_prefix_same_as_start`](crate::ReadOptions::set_prefix_same_as_start)),
    /// and memtables that hash by prefix need it. It may be another one, or
    /// none, at the next opening: each table says which one it was written
    /// with. Cannot be changed while the database is open.
    pub fn set_prefix_extractor(&mut self, prefix_extractor: SliceTransform) {
        match prefix_extractor.extractor {
            Ok(extractor) => self.cf.prefix_extractor = Some(extractor),
            Err(e) => self.refuse(e),
        }
    }

    /// Share of the write buffer that each memtable spends on a Bloom filter,
    /// so that a look-up of a key it does not hold, or an iterator sent to a
    /// prefix it does not hold, does not search it. 0 to 0.25, values outside
    /// are moved inside; 0, the default, is no filter. The filter holds
    ///
    /// * whole keys with
    ///   [`set_memtable_whole_key_filtering`](Self::set_memtable_whole_key_filtering):
    ///   asked by look-ups;
    /// * prefixes with a [prefix extractor](Self::set_prefix_extractor): asked
    ///   by iterators that keep to a prefix
    ///   ([`ReadOptions::set_prefix_same_as_start`](crate::ReadOptions::set_prefix_same_as_start)),
    ///   and by look-ups if whole keys are not in it.
    ///
    /// With neither there is none. Its memory counts as the memtable's. Cannot
    /// be changed while the database is open. The structure is that of
    /// RocksDB's `DynamicBloom`; the text form is RocksDB's
    /// `memtable_prefix_bloom_size_ratio`.
    pub fn set_memtable_prefix_bloom_ratio(&mut self, ratio: f64) {
        self.cf.memtable_prefix_bloom_size_ratio = ratio;
    }

    /// Whether whole keys go into the memtables' Bloom filter, which
    /// [`set_memtable_prefix_bloom_ratio`](Self::set_memtable_prefix_bloom_ratio)
    /// makes. Default false. Cannot be changed while the database is open.
    pub fn set_memtable_whole_key_filtering(&mut self, whole_key_filter: bool) {
        self.cf.memtable_whole_key_filtering = whole_key_filter;
    }

    /// Bytes of the checksum that memtables keep with each entry, over key,
    /// value, type and sequence number: 0 (none, the default), 1, 2, 4 or 8;
    /// other numbers are refused at open as `NotSupported`.
    ///
    /// The checksum is made from the bytes of the write batch, before anything
    /// is copied. It is checked by every look-up and iterator that comes upon
    /// the entry, and by the flush; range deletions are checked when they are
    /// sorted for reading and when they are flushed. A mismatch is an error of
    /// kind `Corruption` that names the column family and the key. In a flush
    /// it stops writes, as other failures of background work do. Cannot be
    /// changed while the database is open (RocksDB can, for memtables to
    /// come). The text form is RocksDB's `memtable_protection_bytes_per_key`.
    pub fn set_memtable_protection_bytes_per_key(&mut self, bytes: u32) {
        self.cf.memtable_protection_bytes_per_key = bytes;
    }

    /// Whether a put overwrites the value of its key in the active memtable, if
    /// the newest entry of the key there is a value that is not shorter,
    /// instead of adding an entry. For keys that are put again and again:
    /// the memtable does not grow. Default false.
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
    /// A single value is always read whole. The log has all writes. One thread
    /// inserts at a time: with
    /// [`set_allow_concurrent_memtable_write`](Self::set_allow_concurrent_memtable_write),
    /// which is on by default, or a commit protocol that needs it (ordered,
    /// unordered), opening is refused as `InvalidArgument`. Cannot be changed
    /// while the database is open. The callback that RocksDB can be given is
    /// not in the `rocksdb` crate and not here.
    pub fn set_inplace_update_support(&mut self, enabled: bool) {
        self.cf.inplace_update_support = enabled;
    }

    /// Locks of a memtable with
    /// [in-place updates](Self::set_inplace_update_support), by hash of the
    /// key: who reads a value waits for who overwrites one of the same lock.
    /// 1 to 16777216, default 10000; 32 bytes each, which do not count as the
    /// memtable's size. Cannot be changed while the database is open (RocksDB
    /// can, for memtables to come). The text form is RocksDB's
    /// `inplace_update_num_locks`.
    pub fn set_inplace_update_locks(&mut self, num: usize) {
        self.cf.inplace_update_num_locks = num;
    }

    /// Merge operands of one key that may lie on each other in the active
    /// memtable. A merge that finds as many is stored as the value it comes to,
    /// so that reads need not apply them all. Default 0, no limit.
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
    /// With unordered commit the database is not opened: `InvalidArgument`.
    /// Cannot be changed while the database is open (RocksDB can).
    pub fn set_max_successive_merges(&mut self, num: usize) {
        self.cf.max_successive_merges = num;
    }

    /// Memtables in memory before writes stop. 2 or more, default 2.
    pub fn set_max_write_buffer_number(&mut self, nbuf: i32) {
        self.cf.max_write_buffer_number = nbuf;
    }

    /// The same as
    /// [`set_min_write_buffer_number_to_merge`](Self::set_min_write_buffer_number_to_merge),
    /// as it is in the `rocksdb` crate.
    pub fn set_min_write_buffer_number(&mut self, nbuf: i32) {
        self.cf.min_write_buffer_number_to_merge = nbuf;
    }

    /// Full memtables that one flush waits for. Default 1.
    pub fn set_min_write_buffer_number_to_merge(&mut self, to_merge: i32) {
        self.cf.min_write_buffer_number_to_merge = to_merge;
    }

    /// Levels of tables. 2 to 64, default 7.
    pub fn set_num_levels(&mut self, n: i32) {
        self.cf.num_levels = usize::try_from(n).unwrap_or(0);
    }

    /// Tables in level 0 that start a compaction. Default 4.
    pub fn set_level_zero_file_num_compaction_trigger(&mut self, n: i32) {
        self.cf.level0_file_num_compaction_trigger = n;
    }

    /// Tables in level 0 that slow writes down. Default 20.
    pub fn set_level_zero_slowdown_writes_trigger(&mut self, n: i32) {
        self.cf.level0_slowdown_writes_trigger = n;
    }

    /// Tables in level 0 that stop writes. Default 36.
    pub fn set_level_zero_stop_writes_trigger(&mut self, n: i32) {
        self.cf.level0_stop_writes_trigger = n;
    }

    /// Bytes that wait for compaction at which writes are slowed down; 0 is no
    /// limit. Default 64 GiB.
    pub fn set_soft_pending_compaction_bytes_limit(&mut self, limit: usize) {
        self.cf.soft_pending_compaction_bytes_limit = limit as u64;
    }

    /// Bytes that wait for compaction at which writes stop; 0 is no limit.
    /// Default 256 GiB.
    pub fn set_hard_pending_compaction_bytes_limit(&mut self, limit: usize) {
        self.cf.hard_pending_compaction_bytes_limit = limit as u64;
    }

    /// Size of a table in level 1. Bytes, default 64 MiB.
    pub fn set_target_file_size_base(&mut self, size: u64) {
        self.cf.target_file_size_base = size;
    }

    /// How much larger tables are from level to level. Default 1.
    pub fn set_target_file_size_multiplier(&mut self, multiplier: i32) {
        self.cf.target_file_size_multiplier = multiplier;
    }

    /// Size of level 1. Bytes, default 256 MiB.
    pub fn set_max_bytes_for_level_base(&mut self, size: u64) {
        self.cf.max_bytes_for_level_base = size;
    }

    /// How much larger each level is than the one above. Default 10.
    pub fn set_max_bytes_for_level_multiplier(&mut self, mul: f64) {
        self.cf.max_bytes_for_level_multiplier = mul;
    }

    /// Choose level sizes from the size of the last level, which wastes less
    /// space. Default true.
    pub fn set_level_compaction_dynamic_level_bytes(&mut self, v: bool) {
        self.cf.level_compaction_dynamic_level_bytes = v;
    }

    /// Most input bytes of one compaction; 0, the default, is 25 tables.
    pub fn set_max_compaction_bytes(&mut self, nbytes: u64) {
        self.cf.max_compaction_bytes = nbytes;
    }

    /// Compact only when asked to. Default false.
    pub fn set_disable_auto_compactions(&mut self, disable: bool) {
        self.cf.disable_auto_compactions = disable;
    }

    /// Compression of tables. Default Snappy.
    pub fn set_compression_type(&mut self, t: DBCompressionType) {
        self.cf.compression = t.into();
    }

    /// Compression of the last level that holds data. Default: as set for the
    /// level.
    pub fn set_bottommost_compression_type(&mut self, t: DBCompressionType) {
        self.cf.bottommost_compression = Some(t.into());
    }

    /// Compression by level; the last one is that of all deeper levels too.
    /// Default: the same for all.
    pub fn set_compression_per_level(&mut self, level_types: &[DBCompressionType]) {
        self.cf.compression_per_level = level_types.iter().map(|t| (*t).into()).collect();
    }

    /// The level of the codec (32767 is its default). `_window_bits` and
    /// `_strategy` are zlib's. Dictionaries are not built in: with
    /// `max_dict_bytes` other than 0 opening is refused.
    pub fn set_compression_options(
        &mut self,
        _window_bits: i32,
        level: i32,
        _strategy: i32,
        max_dict_bytes: i32,
    ) {
        self.cf.compression_level = (level != DEFAULT_LEVEL).then_some(level);
        if max_dict_bytes != 0 {
            self.refuse(Error::not_supported(format_args!(
                "option compression_opts.max_dict_bytes = {max_dict_bytes}: \
                 dictionaries are not built in"
            )));
        }
    }

    /// How tables are laid out and cached.
    pub fn set_block_based_table_factory(&mut self, factory: &BlockBasedOptions) {
        self.cf.table = factory.table.clone();
        self.block_cache = factory.cache.clone();
    }

    /// The order of keys, by a name that is stored and checked at open. Every
    /// opening must use the same order.
    ///
    /// The function must be `Send` and `Sync`, as it is called by many threads;
    /// the `rocksdb` crate does not ask for that.
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

    /// Orders keys bytewise in reverse: greatest first. RocksDB knows the order
    /// as `rocksdb.ReverseBytewiseComparator`, so either engine opens what the
    /// other has written. Unlike the same order given as a function, it is
    /// served by the radix tree. The `rocksdb` crate has no such method.
    pub fn set_reverse_bytewise_comparator(&mut self) {
        self.cf.comparator = UserComparator::ReverseBytewise;
    }

    /// Sets a merge operator whose operands are of the kind of values, so that
    /// one function combines operands with a value and with each other. See
    /// [`merge_operator`](crate::merge_operator).
    pub fn set_merge_operator_associative<F: MergeFn + Clone>(
        &mut self,
        name: impl CStrLike,
        full_merge_fn: F,
    ) {
        self.set_merge_operator(name, full_merge_fn.clone(), full_merge_fn);
    }

    /// Sets a merge operator: `full_merge_fn` combines a value with operands,
    /// `partial_merge_fn` operands with each other (and may return `None`).
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
    /// [`set_merge_operator_associative`](Self::set_merge_operator_associative).
    #[deprecated(note = "use `set_merge_operator_associative` instead")]
    pub fn add_merge_operator<F: MergeFn + Clone>(&mut self, name: &str, merge_fn: F) {
        self.set_merge_operator_associative(name, merge_fn);
    }
}
