//! How much memory databases and caches use.

use crate::border::{ErrPtr, exports, given};
use crate::db::{Slot, on_db, rocksdb_t};
use crate::options::rocksdb_cache_t;
use std::sync::Arc;
use whitewater::Cache;
use whitewater::perf::{MemoryUsage, MemoryUsageBuilder};

/// What is to be measured.
#[derive(Default)]
pub struct rocksdb_memory_consumers_t {
    dbs: Vec<Arc<Slot>>,
    caches: Vec<Cache>,
}

/// What was measured.
pub struct rocksdb_memory_usage_t(MemoryUsage);

exports! {
    fn rocksdb_memory_consumers_create() -> Option<Box<rocksdb_memory_consumers_t>> {
        Some(Box::default())
    }
    fn rocksdb_memory_consumers_destroy(_consumers: Option<Box<rocksdb_memory_consumers_t>>) {}
    fn rocksdb_memory_consumers_add_db(
        consumers: Option<&mut rocksdb_memory_consumers_t>, db: Option<&rocksdb_t>,
    ) {
        if let Some((consumers, db)) = consumers.zip(db) {
            consumers.dbs.push(db.slot.clone());
        }
    }
    fn rocksdb_memory_consumers_add_cache(
        consumers: Option<&mut rocksdb_memory_consumers_t>, cache: Option<&rocksdb_cache_t>,
    ) {
        if let Some((consumers, cache)) = consumers.zip(cache) {
            consumers.caches.push(cache.options.clone());
        }
    }
    fn rocksdb_approximate_memory_usage_create(
        consumers: Option<&rocksdb_memory_consumers_t>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_memory_usage_t>> {
        errptr.run(|| {
            let consumers = given(consumers)?;
            let dbs = consumers.dbs.iter().map(|slot| slot.open());
            let dbs = dbs.collect::<Result<Vec<_>, _>>()?;
            let mut builder = MemoryUsageBuilder::new()?;
            for db in &dbs {
                on_db!(*db, db => builder.add_db(db));
            }
            consumers.caches.iter().for_each(|cache| builder.add_cache(cache));
            Ok(Some(Box::new(rocksdb_memory_usage_t(builder.build()?))))
        })
    }
    fn rocksdb_approximate_memory_usage_destroy(_usage: Option<Box<rocksdb_memory_usage_t>>) {}
    fn rocksdb_approximate_memory_usage_get_mem_table_total(
        usage: Option<&rocksdb_memory_usage_t>,
    ) -> u64 {
        usage.map_or(0, |usage| usage.0.approximate_mem_table_total())
    }
    fn rocksdb_approximate_memory_usage_get_mem_table_unflushed(
        usage: Option<&rocksdb_memory_usage_t>,
    ) -> u64 {
        usage.map_or(0, |usage| usage.0.approximate_mem_table_unflushed())
    }
    fn rocksdb_approximate_memory_usage_get_mem_table_readers_total(
        usage: Option<&rocksdb_memory_usage_t>,
    ) -> u64 {
        usage.map_or(0, |usage| usage.0.approximate_mem_table_readers_total())
    }
    fn rocksdb_approximate_memory_usage_get_cache_total(
        usage: Option<&rocksdb_memory_usage_t>,
    ) -> u64 {
        usage.map_or(0, |usage| usage.0.approximate_cache_total())
    }
}
