//! Allocators for caches. There are none, as in a RocksDB that was built without jemalloc: the one
//! function that makes one fails as it does there, so that there is nothing to give to a cache.

use crate::border::{ErrPtr, error, exports};
use crate::options::{rocksdb_hyper_clock_cache_options_t, rocksdb_lru_cache_options_t};
use whitewater::ErrorKind;

/// An allocator, of which there are none.
pub enum rocksdb_memory_allocator_t {}

exports! {
    fn rocksdb_jemalloc_nodump_allocator_create(
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_memory_allocator_t>> {
        errptr.run(|| Err(error(ErrorKind::NotSupported, "Not compiled with JEMALLOC")))
    }
    fn rocksdb_memory_allocator_destroy(_allocator: Option<Box<rocksdb_memory_allocator_t>>) {}
    fn rocksdb_lru_cache_options_set_memory_allocator(
        _options: Option<&rocksdb_lru_cache_options_t>,
        _allocator: Option<&rocksdb_memory_allocator_t>,
    ) {}
    fn rocksdb_hyper_clock_cache_options_set_memory_allocator(
        _options: Option<&rocksdb_hyper_clock_cache_options_t>,
        _allocator: Option<&rocksdb_memory_allocator_t>,
    ) {}
}
