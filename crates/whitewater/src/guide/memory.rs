//! Where memory goes, and how to limit it.
//!
//! | what | how much, by default | limit |
//! |---|---|---|
//! | memtables | per column family up to 2 of 64 MiB | [`set_write_buffer_size`](crate::Options::set_write_buffer_size), [`set_max_write_buffer_number`](crate::Options::set_max_write_buffer_number); for all together [`WriteBufferManager`](crate::WriteBufferManager) |
//! | block caches | 32 MiB per column family | one shared [`Cache`](crate::Cache) |
//! | values of blob files | none is cached | one [`Cache`](crate::Cache), which may be the block cache, with [`set_blob_cache`](crate::Options::set_blob_cache) |
//! | rows, for single look-ups | none is cached | one [`Cache`](crate::Cache), which may be the block cache, with [`set_row_cache`](crate::Options::set_row_cache) |
//! | indexes and filters of open tables | all of them, outside the cache | [`set_cache_index_and_filter_blocks`](crate::BlockBasedOptions::set_cache_index_and_filter_blocks), [`set_max_open_files`](crate::Options::set_max_open_files) |
//! | iterators | the memtables and blocks that they are reading | drop them soon |
//! | memory of freed memtables, kept for new ones | 256 MiB at most, for two or three seconds | |
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
//! and caches. For one column family there are the properties
//! [`SIZE_ALL_MEM_TABLES`](crate::properties::SIZE_ALL_MEM_TABLES),
//! [`ESTIMATE_TABLE_READERS_MEM`](crate::properties::ESTIMATE_TABLE_READERS_MEM) and
//! [`BLOCK_CACHE_USAGE`](crate::properties::BLOCK_CACHE_USAGE). A memtable that an iterator holds
//! counts in `SIZE_ALL_MEM_TABLES` after its flush, and not in
//! [`CUR_SIZE_ALL_MEM_TABLES`](crate::properties::CUR_SIZE_ALL_MEM_TABLES). If the two differ for
//! long, look for an iterator that was not dropped.
