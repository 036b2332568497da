//! Where memory goes, and how to limit it.
//!
//! The parts, and the options that limit them. *Reported as* is the part's name in the property
//! [`MEMORY`](crate::properties::MEMORY).
//!
//! | what | how much, by default | limited by | reported as |
//! |---|---|---|---|
//! | memtables that take writes or wait for their flush | per column family up to 2 of 64 MiB | [`set_write_buffer_size`](crate::Options::set_write_buffer_size), [`set_max_write_buffer_number`](crate::Options::set_max_write_buffer_number); of all column families [`set_db_write_buffer_size`](crate::Options::set_db_write_buffer_size) (none); of several databases [`WriteBufferManager`](crate::WriteBufferManager) | `active-memtables`, `immutable-memtables` |
//! | Bloom filters of memtables | none | [`set_memtable_prefix_bloom_ratio`](crate::Options::set_memtable_prefix_bloom_ratio), a part of the write buffer | in its memtable |
//! | flushed memtables that iterators hold | as long as they are held | drop iterators soon | `flushed-memtables` |
//! | memory of freed memtables, kept for new ones | with the memtables an eighth more than these have used at once lately, at most 256 MiB; gone within three seconds without use | the limits of memtables | `kept-for-memtables` |
//! | the next huge page of memtables and of cached data blocks, made ready ahead of time | 2 MiB in the process while they grow, and two seconds more | | `kept-for-memtables` |
//! | what prepared transactions have logged | what they wrote, until they are decided | decide them soon | `prepared-transactions` |
//! | the block cache: data blocks and what each entry costs | 32 MiB per column family | one shared [`Cache`](crate::Cache), whose capacity includes an estimate of each entry's cost; memory of evicted blocks, kept for new ones, is up to 1/64 more | `caches` |
//! | memory of cached data blocks that tables deleted or caches evicted, kept for others | about a quarter of what cached blocks take at most, a moment after more was freed or is needed | the capacity of caches | `kept-for-cached-blocks` |
//! | indexes and filters of open tables | all of them, outside the cache | [`set_cache_index_and_filter_blocks`](crate::BlockBasedOptions::set_cache_index_and_filter_blocks) puts them into the block cache; [`set_max_open_files`](crate::Options::set_max_open_files) (no limit) closes tables | `table-readers`, or `caches` |
//! | values of blob files | none is cached | one [`Cache`](crate::Cache), which may be the block cache, with [`set_blob_cache`](crate::Options::set_blob_cache) | `caches` |
//! | rows, for single look-ups | none is cached | one [`Cache`](crate::Cache), which may be the block cache, with [`set_row_cache`](crate::Options::set_row_cache) | `caches` |
//! | the log: its mapped pages | some 12 MiB, which are the system's page cache, too | | `logs` |
//! | the log: records that wait for a flush | none; 1 MiB with [`set_manual_wal_flush`](crate::Options::set_manual_wal_flush) | | `logs` |
//! | the log: a buffer per thread that writes | the largest record, at most 128 KiB | | |
//! | what is known of files | some 300 bytes and two keys per table, in all versions in use | drop iterators soon; larger tables with [`set_target_file_size_base`](crate::Options::set_target_file_size_base) | `file-metadata` |
//! | ranges that are known to be empty | 32 at most, two keys each | | |
//! | a flush or compaction that runs | 256 KiB per table that is read ([`set_compaction_readahead_size`](crate::Options::set_compaction_readahead_size) with direct reads), and the output's index, filter and buffer: some MiB each | [`set_max_background_jobs`](crate::Options::set_max_background_jobs) (2), [`set_max_subcompactions`](crate::Options::set_max_subcompactions) (1) | |
//! | with [direct reads](crate::Options::set_use_direct_reads), blocks that are read in the background | 16 MiB in the process; what nobody has used is gone after half a second | | |
//! | iterators | the memtables and blocks that they are reading, a buffer per source; of those that are gone, cursors and buffers of some KiB for each core and column family | drop them soon | |
//! | statistics, if they are on | counters for each processor, and histograms | [`enable_statistics`](crate::Options::enable_statistics) | |
//! | threads | what they use of their stacks, and what the allocator keeps for each | [`set_max_background_jobs`](crate::Options::set_max_background_jobs), the program's own threads | |
//!
//! Cached data blocks have memory of their own, of 2 MiB at a time, beyond the first 16 MiB in huge
//! pages where the system has them (`madvise`): look-ups then wait less for the processor's TLB.
//!
//! What was freed on the heap stays with the allocator at first. The GNU C library would keep most
//! of it, so a thread has it give the memory back (`malloc_trim`) half a second after 8 MiB or more
//! of cached blocks were freed at once: those of tables that a compaction has deleted, of a cache
//! that was made smaller, or of one that was dropped. That concerns all of the process's heap. It
//! takes some milliseconds, in which other threads may wait for memory, and at most a twentieth
//! of the time. Other allocators have ways of their own and are left alone.
//!
//! # One limit for everything
//!
//! Most of this memory can have one limit: share a cache between all column families and
//! databases, and let a write buffer manager charge memtables to it.
//!
//! ```
//! use whitewater::{BlockBasedOptions, Cache, DB, Options, WriteBufferManager};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let cache = Cache::new_lru_cache(256 << 20);
//! let memtables =
//!     WriteBufferManager::new_write_buffer_manager_with_cache(64 << 20, false, cache.clone());
//!
//! let mut tables = BlockBasedOptions::default();
//! tables.set_block_cache(&cache);
//! tables.set_cache_index_and_filter_blocks(true);
//!
//! let mut options = Options::default();
//! options.create_if_missing(true);
//! options.set_block_based_table_factory(&tables);
//! options.set_write_buffer_manager(&memtables);
//! let db = DB::open(&options, dir.path())?;
//!
//! db.put("river", vec![0; 1 << 20])?;
//! assert!(memtables.get_usage() > 1 << 20);
//! assert!(cache.get_usage() >= memtables.get_usage());
//! # Ok(())
//! # }
//! ```
//!
//! The manager flushes the column family with the oldest entries when memtables near the limit.
//! With `allow_stall` it also makes writers wait, so that the limit holds while flushes are slow.
//!
//! The cache's capacity is not a strict limit: blocks that are being read stay in memory even if
//! the cache has no room for them.
//! [`set_strict_capacity_limit`](crate::LruCacheOptions::set_strict_capacity_limit) makes it
//! strict. A read that finds no room then fails with an error for which
//! [`Error::is_memory_limit`](crate::Error::is_memory_limit) is true.
//!
//! # Measuring it
//!
//! [`perf::MemoryUsageBuilder`](crate::perf::MemoryUsageBuilder) adds up the memory of databases
//! and caches. Its [`approximate_total`](crate::perf::MemoryUsage::approximate_total) is all that
//! has a name in the table above; a test holds it to a tenth of what the system says. The property
//! [`MEMORY`](crate::properties::MEMORY) has the parts of one database, also for `ww properties
//! whitewater.memory` and `db_bench --benchmarks=...,memory`.
//!
//! ```
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! use whitewater::{DB, properties};
//!
//! let db = DB::open_default(dir.path())?;
//! db.put("river", vec![0; 1 << 20])?;
//! let parts = db.property_map_value(properties::MEMORY)?.unwrap();
//! assert!(parts["active-memtables"].parse::<u64>().unwrap() > 1 << 20);
//! # Ok(())
//! # }
//! ```
//!
//! For one column family there are the properties
//! [`SIZE_ALL_MEM_TABLES`](crate::properties::SIZE_ALL_MEM_TABLES),
//! [`ESTIMATE_TABLE_READERS_MEM`](crate::properties::ESTIMATE_TABLE_READERS_MEM) and
//! [`BLOCK_CACHE_USAGE`](crate::properties::BLOCK_CACHE_USAGE). A memtable that an iterator holds
//! counts in `SIZE_ALL_MEM_TABLES` after its flush, and not in
//! [`CUR_SIZE_ALL_MEM_TABLES`](crate::properties::CUR_SIZE_ALL_MEM_TABLES). If the two differ for
//! long, look for an iterator that was not dropped.
