//! The bindings to real engines, written once: the engine crate and the
//! `rocksdb` crate have the same names and signatures.

use super::engine::Result;
use super::flags::Flags;

/// Makes a module with a `Database` that implements
/// [`Engine`](super::engine::Engine) over one of the crates.
///
macro_rules! engine_binding {
    ($module:ident, $package:ident, $title:expr, $own_options:path, $counted:literal) => {
        #[doc = concat!("The binding to the crate `", stringify!($package), "`.")]
        pub mod $module {
            use std::ops::Deref;
            use std::path::Path;

            use $package::{
                BlockBasedOptions, BottommostLevelCompaction, Cache, ChecksumType, CompactOptions,
                DB, DBCompressionType, DBPinnableSlice, DBRawIterator, DEFAULT_COLUMN_FAMILY_NAME,
                LruCacheOptions, MergeOperands, Options, PerfContext, Range, ReadOptions,
                SliceTransform, WriteBatch, WriteBufferManager, WriteOptions,
            };

            use crate::bench::engine::{Batch, Bounds, Cursor, Engine, Failure, Result, Snapshot};
            use crate::bench::flags::{Compression, Flags, MergeOperator};
            use crate::bench::levels::{self, $module as own_levels};
            use crate::bench::merge;

            /// An open database.
            pub struct Database {
                db: DB,
                reads: ReadOptions,
                how: Reads,
                multiread_batched: bool,
            }

            /// A value that was read, as the call that read it hands it over.
            pub enum Read<'a> {
                Pinned(DBPinnableSlice<'a>),
                Copied(Vec<u8>),
            }

            impl Deref for Read<'_> {
                type Target = [u8];

                fn deref(&self) -> &[u8] {
                    match self {
                        Self::Pinned(value) => value,
                        Self::Copied(value) => value,
                    }
                }
            }

            /// A snapshot, and how it is read.
            pub struct View<'a> {
                snapshot: $package::Snapshot<'a>,
                how: Reads,
            }

            impl Snapshot for View<'_> {
                fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
                    Ok(self.snapshot.get_opt(key, self.how.options())?)
                }
            }

            /// How reads are done.
            #[derive(Clone, Copy)]
            struct Reads {
                verify_checksums: bool,
                prefix_same_as_start: bool,
                total_order_seek: bool,
                readahead: usize,
            }

            impl Reads {
                fn options(self) -> ReadOptions {
                    let mut reads = ReadOptions::default();
                    reads.set_verify_checksums(self.verify_checksums);
                    reads.set_prefix_same_as_start(self.prefix_same_as_start);
                    reads.set_total_order_seek(self.total_order_seek);
                    reads.set_readahead_size(self.readahead);
                    reads
                }
            }

            impl Engine for Database {
                type Batch = WriteBatch;
                type WriteMode = WriteOptions;
                type Value<'a> = Read<'a>;
                type Cursor<'a> = DBRawIterator<'a>;
                type Snapshot<'a> = View<'a>;

                const COUNTED: bool = $counted;

                fn title() -> String {
                    ($title).to_owned()
                }

                fn open(directory: &Path, flags: &Flags) -> Result<Self> {
                    let options = options(flags)?;
                    // Batched reads want the handle of a family, which only
                    // this way of opening gives for the default one.
                    let named = flags
                        .multiread_batched
                        .then(|| (DEFAULT_COLUMN_FAMILY_NAME, options.clone()));
                    let db = DB::open_cf_with_opts(&options, directory, named)?;
                    let how = Reads {
                        verify_checksums: flags.verify_checksum,
                        prefix_same_as_start: flags.prefix_same_as_start,
                        total_order_seek: flags.total_order_seek,
                        readahead: usize::try_from(flags.readahead_size)?,
                    };
                    let reads = how.options();
                    Ok(Self {
                        db,
                        reads,
                        how,
                        multiread_batched: flags.multiread_batched,
                    })
                }

                fn destroy(directory: &Path, flags: &Flags) -> Result<()> {
                    DB::destroy(&options(flags)?, directory)?;
                    Ok(())
                }

                fn write_mode(sync: bool, flags: &Flags) -> WriteOptions {
                    let mut mode = WriteOptions::default();
                    mode.set_sync(sync);
                    mode.disable_wal(flags.disable_wal);
                    mode.set_memtable_insert_hint_per_batch(flags.memtable_insert_hint_per_batch);
                    mode
                }

                fn put(&self, key: &[u8], value: &[u8], mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.put_opt(key, value, mode)?)
                }

                fn merge(&self, key: &[u8], operand: &[u8], mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.merge_opt(key, operand, mode)?)
                }

                fn delete(&self, key: &[u8], mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.delete_opt(key, mode)?)
                }

                fn write(&self, batch: WriteBatch, mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.write_opt(batch, mode)?)
                }

                fn get(&self, key: &[u8]) -> Result<Option<Read<'_>>> {
                    Ok(self.db.get_pinned_opt(key, &self.reads)?.map(Read::Pinned))
                }

                fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Read<'_>>>> {
                    if self.multiread_batched {
                        let family = self
                            .db
                            .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
                            .ok_or_else(|| Failure("the default family has no handle".into()))?;
                        let found = self.db.batched_multi_get_cf_opt(
                            family,
                            keys.iter().copied(),
                            false,
                            &self.reads,
                        );
                        let found = found.into_iter().map(|one| Ok(one?.map(Read::Pinned)));
                        return found.collect();
                    }
                    let found = self.db.multi_get_opt(keys, &self.reads);
                    found
                        .into_iter()
                        .map(|one| Ok(one?.map(Read::Copied)))
                        .collect()
                }

                fn snapshot(&self) -> View<'_> {
                    View {
                        snapshot: self.db.snapshot(),
                        how: self.how,
                    }
                }

                fn cursor_within(&self, bounds: Bounds) -> DBRawIterator<'_> {
                    let mut reads = self.how.options();
                    if let Some(key) = bounds.lower {
                        reads.set_iterate_lower_bound(key);
                    }
                    if let Some(key) = bounds.upper {
                        reads.set_iterate_upper_bound(key);
                    }
                    self.db.raw_iterator_opt(reads)
                }

                fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Vec<u64> {
                    let ranges: Vec<_> = ranges
                        .iter()
                        .map(|(begin, end)| Range::new(begin, end))
                        .collect();
                    self.db.get_approximate_sizes(&ranges)
                }

                fn flush(&self) -> Result<()> {
                    Ok(self.db.flush()?)
                }

                fn compact(&self, bottommost: bool) {
                    let mut how = CompactOptions::default();
                    if bottommost {
                        let force = BottommostLevelCompaction::ForceOptimized;
                        how.set_bottommost_level_compaction(force);
                    }
                    self.db
                        .compact_range_opt(None::<&[u8]>, None::<&[u8]>, &how);
                }

                fn measure_this_thread(level: i32) -> Result<()> {
                    $package::perf::set_perf_stats(own_levels::perf(level)?);
                    PerfContext::default().reset();
                    Ok(())
                }

                fn measured() -> String {
                    PerfContext::default().report(true)
                }

                fn property(&self, name: &str) -> Option<String> {
                    self.db.property_value(name).ok().flatten()
                }
            }

            impl Batch for WriteBatch {
                fn with_capacity(bytes: usize) -> Self {
                    Self::with_capacity_bytes(bytes)
                }

                fn put(&mut self, key: &[u8], value: &[u8]) {
                    WriteBatch::put(self, key, value);
                }

                fn delete(&mut self, key: &[u8]) {
                    WriteBatch::delete(self, key);
                }

                fn single_delete(&mut self, key: &[u8]) {
                    WriteBatch::single_delete(self, key);
                }

                fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
                    WriteBatch::delete_range(self, begin, end);
                }
            }

            impl Cursor for DBRawIterator<'_> {
                fn seek_to_first(&mut self) {
                    DBRawIterator::seek_to_first(self);
                }

                fn seek_to_last(&mut self) {
                    DBRawIterator::seek_to_last(self);
                }

                fn seek(&mut self, key: &[u8]) {
                    DBRawIterator::seek(self, key);
                }

                fn next(&mut self) {
                    DBRawIterator::next(self);
                }

                fn prev(&mut self) {
                    DBRawIterator::prev(self);
                }

                fn item(&self) -> Option<(&[u8], &[u8])> {
                    DBRawIterator::item(self)
                }

                fn status(&self) -> Result<()> {
                    Ok(DBRawIterator::status(self)?)
                }
            }

            fn options(flags: &Flags) -> Result<Options> {
                let mut options = Options::default();
                options.create_if_missing(!flags.use_existing_db);
                options.set_max_open_files(flags.open_files);
                options.set_paranoid_checks(flags.paranoid_checks);
                options.set_max_total_wal_size(flags.max_total_wal_size);
                if !flags.wal_dir.is_empty() {
                    options.set_wal_dir(&flags.wal_dir);
                }
                set_logs(&mut options, flags)?;
                set_memtables(&mut options, flags);
                if let prefix @ 1.. = usize::try_from(flags.prefix_size)? {
                    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(prefix));
                }
                let cache = cache(flags);
                set_write_buffers(&mut options, flags, cache.as_ref());
                $own_options(&mut options, flags)?;
                set_jobs(&mut options, flags);
                set_levels(&mut options, flags);
                set_compression(&mut options, flags)?;
                options.set_block_based_table_factory(&tables(flags, cache.as_ref())?);
                set_merge_operator(&mut options, flags.merge()?);
                // Refused here, before threads ask for it.
                own_levels::perf(flags.perf_level)?;
                if flags.statistics {
                    options.enable_statistics();
                    options.set_statistics_level(own_levels::statistics(flags.stats_level)?);
                } else if flags.contention {
                    options.enable_statistics();
                    if let Ok(level) = own_levels::statistics(levels::TICKERS) {
                        options.set_statistics_level(level);
                    }
                }
                Ok(options)
            }

            fn set_logs(options: &mut Options, flags: &Flags) -> Result<()> {
                options.set_wal_ttl_seconds(flags.wal_ttl_seconds);
                options.set_wal_size_limit_mb(flags.wal_size_limit_mb);
                options.set_manual_wal_flush(flags.manual_wal_flush);
                options.set_wal_bytes_per_sync(flags.wal_bytes_per_sync);
                options.set_wal_compression_type(match flags.wal_compression()? {
                    Compression::Zstd => DBCompressionType::Zstd,
                    _ => DBCompressionType::None,
                });
                options
                    .set_track_and_verify_wals_in_manifest(flags.track_and_verify_wals_in_manifest);
                Ok(())
            }

            fn set_memtables(options: &mut Options, flags: &Flags) {
                options.set_write_buffer_size(
                    usize::try_from(flags.write_buffer_size).unwrap_or(usize::MAX),
                );
                options.set_max_write_buffer_number(flags.max_write_buffer_number);
                options
                    .set_min_write_buffer_number_to_merge(flags.min_write_buffer_number_to_merge);
                options.set_arena_block_size(usize::try_from(flags.arena_block_size).unwrap_or(0));
                if flags.memtable_use_huge_page {
                    // The size RocksDB's program asks for.
                    options.set_memtable_huge_page_size(2 << 20);
                }
                options.set_memtable_prefix_bloom_ratio(flags.memtable_bloom_size_ratio);
                options.set_memtable_whole_key_filtering(flags.memtable_whole_key_filtering);
                options.set_inplace_update_support(flags.inplace_update_support);
                options.set_inplace_update_locks(
                    usize::try_from(flags.inplace_update_num_locks).unwrap_or(usize::MAX),
                );
                options.set_max_successive_merges(
                    usize::try_from(flags.max_successive_merges).unwrap_or(0),
                );
                options.set_allow_concurrent_memtable_write(flags.allow_concurrent_memtable_write);
                options.set_enable_write_thread_adaptive_yield(
                    flags.enable_write_thread_adaptive_yield,
                );
            }

            #[expect(deprecated, reason = "the setters behind the flags of the same names")]
            fn set_jobs(options: &mut Options, flags: &Flags) {
                options.set_max_background_jobs(flags.max_background_jobs);
                options.set_max_background_flushes(flags.max_background_flushes);
                options.set_max_background_compactions(flags.max_background_compactions);
                options.set_disable_auto_compactions(flags.disable_auto_compactions);
            }

            fn set_levels(options: &mut Options, flags: &Flags) {
                options.set_level_zero_file_num_compaction_trigger(
                    flags.level0_file_num_compaction_trigger,
                );
                options
                    .set_level_zero_slowdown_writes_trigger(flags.level0_slowdown_writes_trigger);
                options.set_level_zero_stop_writes_trigger(flags.level0_stop_writes_trigger);
                options.set_num_levels(flags.num_levels);
                options.set_max_bytes_for_level_base(flags.max_bytes_for_level_base);
                options.set_max_bytes_for_level_multiplier(flags.max_bytes_for_level_multiplier);
                options.set_target_file_size_base(flags.target_file_size_base.unsigned_abs());
                options.set_target_file_size_multiplier(flags.target_file_size_multiplier);
                options.set_level_compaction_dynamic_level_bytes(
                    flags.level_compaction_dynamic_level_bytes,
                );
                options.set_max_compaction_bytes(flags.max_compaction_bytes);
                options.set_soft_pending_compaction_bytes_limit(
                    usize::try_from(flags.soft_pending_compaction_bytes_limit)
                        .unwrap_or(usize::MAX),
                );
                options.set_hard_pending_compaction_bytes_limit(
                    usize::try_from(flags.hard_pending_compaction_bytes_limit)
                        .unwrap_or(usize::MAX),
                );
            }

            fn set_compression(options: &mut Options, flags: &Flags) -> Result<()> {
                /// Of zlib; RocksDB's default.
                const WINDOW_BITS: i32 = -14;
                let own = Flags::default();
                let kind = compression(flags)?;
                options.set_compression_type(kind);
                if let Ok(first) = usize::try_from(flags.min_level_to_compress) {
                    let levels = 0..usize::try_from(flags.num_levels)?;
                    let kinds: Vec<_> = levels
                        .map(|level| match level < first {
                            true => DBCompressionType::None,
                            false => kind,
                        })
                        .collect();
                    options.set_compression_per_level(&kinds);
                }
                let (level, dictionary) =
                    (flags.compression_level, flags.compression_max_dict_bytes);
                if (level, dictionary) != (own.compression_level, own.compression_max_dict_bytes) {
                    options.set_compression_options(WINDOW_BITS, level, 0, dictionary);
                }
                Ok(())
            }

            fn compression(flags: &Flags) -> Result<DBCompressionType> {
                Ok(match flags.compression()? {
                    Compression::None => DBCompressionType::None,
                    Compression::Snappy => DBCompressionType::Snappy,
                    Compression::Zlib => DBCompressionType::Zlib,
                    Compression::Bzip2 => DBCompressionType::Bz2,
                    Compression::Lz4 => DBCompressionType::Lz4,
                    Compression::Lz4hc => DBCompressionType::Lz4hc,
                    Compression::Zstd => DBCompressionType::Zstd,
                })
            }

            fn cache(flags: &Flags) -> Option<Cache> {
                match usize::try_from(flags.cache_size) {
                    Ok(0) | Err(_) => None,
                    Ok(bytes) if flags.cache_numshardbits >= 0 => {
                        let mut options = LruCacheOptions::default();
                        options.set_capacity(bytes);
                        options.set_num_shard_bits(flags.cache_numshardbits);
                        Some(Cache::new_lru_cache_opts(&options))
                    }
                    Ok(bytes) => Some(Cache::new_lru_cache(bytes)),
                }
            }

            fn set_write_buffers(options: &mut Options, flags: &Flags, cache: Option<&Cache>) {
                let size = usize::try_from(flags.db_write_buffer_size).unwrap_or(0);
                let manager = match cache {
                    Some(cache) if flags.cost_write_buffer_to_cache => {
                        WriteBufferManager::new_write_buffer_manager_with_cache(
                            size,
                            false,
                            cache.clone(),
                        )
                    }
                    _ if size > 0 => WriteBufferManager::new_write_buffer_manager(size, false),
                    _ => return,
                };
                options.set_write_buffer_manager(&manager);
            }

            fn tables(flags: &Flags, cache: Option<&Cache>) -> Result<BlockBasedOptions> {
                let mut tables = BlockBasedOptions::default();
                tables.set_block_size(usize::try_from(flags.block_size)?);
                tables.set_block_restart_interval(flags.block_restart_interval);
                tables.set_index_block_restart_interval(flags.index_block_restart_interval);
                tables.set_whole_key_filtering(flags.whole_key_filtering);
                tables.set_format_version(flags.format_version);
                tables.set_checksum_type(match flags.checksum_type {
                    0 => ChecksumType::NoChecksum,
                    1 => ChecksumType::CRC32c,
                    2 => ChecksumType::XXHash,
                    3 => ChecksumType::XXHash64,
                    _ => ChecksumType::XXH3,
                });
                if flags.bloom_bits > 0 {
                    tables.set_bloom_filter(flags.bloom_bits.into(), false);
                }
                match cache {
                    None => tables.disable_cache(),
                    Some(cache) => tables.set_block_cache(cache),
                }
                Ok(tables)
            }

            fn set_merge_operator(options: &mut Options, operator: Option<MergeOperator>) {
                let (name, function): (_, fn(&[u8], Option<&[u8]>, &MergeOperands) -> _) =
                    match operator {
                        None => return,
                        Some(MergeOperator::Put) => ("PutOperator", |_, existing, operands| {
                            Some(merge::put(existing, operands.iter()))
                        }),
                        Some(MergeOperator::UInt64Add) => {
                            ("UInt64AddOperator", |_, existing, operands| {
                                Some(merge::uint64_add(existing, operands.iter()))
                            })
                        }
                        Some(MergeOperator::StringAppend) => {
                            ("StringAppendOperator", |_, existing, operands| {
                                Some(merge::string_append(existing, operands.iter()))
                            })
                        }
                        Some(MergeOperator::Max) => ("MaxOperator", |_, existing, operands| {
                            Some(merge::max(existing, operands.iter()))
                        }),
                        Some(MergeOperator::BytesXor) => ("BytesXOR", |_, existing, operands| {
                            Some(merge::bytes_xor(existing, operands.iter()))
                        }),
                    };
                options.set_merge_operator_associative(name, function);
            }
        }
    };
}

engine_binding!(
    own,
    whitewater,
    concat!("Whitewater: version ", env!("CARGO_PKG_VERSION")),
    crate::bench::binding::whitewater_options,
    true
);

/// Options that only this engine has.
fn whitewater_options(options: &mut whitewater::Options, flags: &Flags) -> Result<()> {
    if let Some(factory) = flags.memtable_factory()? {
        options.set_memtable_factory(factory);
    }
    let bytes = u32::try_from(flags.memtable_protection_bytes_per_key)?;
    options.set_memtable_protection_bytes_per_key(bytes);
    options.set_enable_pipelined_write(flags.enable_pipelined_write);
    options.set_unordered_write(flags.unordered_write);
    if let Some(protocol) = flags.protocol()? {
        options.set_commit_protocol(protocol);
    }
    options.set_max_write_batch_group_size_bytes(usize::try_from(
        flags.max_write_batch_group_size_bytes,
    )?);
    options.set_delayed_write_rate(flags.delayed_write_rate);
    options.set_write_thread_max_yield_usec(flags.write_thread_max_yield_usec);
    options.set_write_thread_slow_yield_usec(flags.write_thread_slow_yield_usec);
    Ok(())
}

#[cfg(feature = "peer-rocksdb")]
engine_binding!(
    peer,
    rocksdb,
    "RocksDB:    as bundled by the rocksdb crate 0.25",
    crate::bench::binding::rocksdb_options,
    false
);

/// The peer has the memtable asked for where it knows it, else its skip list,
/// and the commit protocol; its default for one it does not know.
///
/// # Errors
/// For memtable checksums, bounds of groups and yields, and the rate of delayed
/// writes, which its crate does not offer.
#[cfg(feature = "peer-rocksdb")]
fn rocksdb_options(options: &mut rocksdb::Options, flags: &Flags) -> Result<()> {
    use whitewater::{CommitProtocol, MemtableFactory};
    let own = Flags::default();
    for (name, differs) in [
        (
            "memtable_protection_bytes_per_key",
            flags.memtable_protection_bytes_per_key != own.memtable_protection_bytes_per_key,
        ),
        (
            "delayed_write_rate",
            flags.delayed_write_rate != own.delayed_write_rate,
        ),
        (
            "max_write_batch_group_size_bytes",
            flags.max_write_batch_group_size_bytes != own.max_write_batch_group_size_bytes,
        ),
        (
            "write_thread_max_yield_usec",
            flags.write_thread_max_yield_usec != own.write_thread_max_yield_usec,
        ),
        (
            "write_thread_slow_yield_usec",
            flags.write_thread_slow_yield_usec != own.write_thread_slow_yield_usec,
        ),
    ] {
        if differs {
            return Err(super::engine::Failure(format!(
                "--{name}: the rocksdb crate cannot set it"
            )));
        }
    }
    let (pipelined, unordered) = match flags.protocol()? {
        None => (flags.enable_pipelined_write, flags.unordered_write),
        Some(protocol) => (
            protocol == CommitProtocol::Pipelined,
            protocol == CommitProtocol::Unordered,
        ),
    };
    options.set_enable_pipelined_write(pipelined);
    options.set_unordered_write(unordered);
    let factory = match flags.memtable_factory()? {
        None | Some(MemtableFactory::SkipList | MemtableFactory::Art) => return Ok(()),
        Some(MemtableFactory::Vector) => rocksdb::MemtableFactory::Vector,
        Some(MemtableFactory::HashSkipList {
            bucket_count,
            height,
            branching_factor,
        }) => rocksdb::MemtableFactory::HashSkipList {
            bucket_count,
            height,
            branching_factor,
        },
        Some(MemtableFactory::HashLinkList { bucket_count }) => {
            rocksdb::MemtableFactory::HashLinkList { bucket_count }
        }
    };
    // RocksDB lets one thread at a time insert into these.
    options.set_allow_concurrent_memtable_write(false);
    options.set_memtable_factory(factory);
    Ok(())
}
