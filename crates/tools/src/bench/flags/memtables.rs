//! Memtables, and how writes get into them.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! memtables {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Memtables and the write path" {
                memtablerep: String = "auto",
                    "The memtable: skip_list, art (a radix tree), vector, prefix_hash, hash_linkedlist, or auto (the engine's own choice).";
                hash_bucket_count: i64 = 1 << 20, "The number of buckets of the memtables prefix_hash and hash_linkedlist.";
                write_buffer_size: i64 = 64 << 20, "The size of a memtable in bytes at which it is flushed.";
                max_write_buffer_number: i32 = 2, "The number of memtables in memory, including the active one, at which writes stop.";
                min_write_buffer_number_to_merge: i32 = 1, "The number of full memtables that a flush waits for.";
                arena_block_size: i64 = 0, "The size of a block of a memtable's arena in bytes; 0: the database chooses.";
                memtable_use_huge_page: bool = false, "Allocate memtables in reserved huge pages of 2 MiB if there are some.";
                memtable_insert_hint_per_batch: bool = false, "Start the search for each entry of a batch where the previous one was inserted. (Not a RocksDB flag.)";
                db_write_buffer_size: i64 = 0, "The size of all memtables together in bytes at which one is flushed; 0: no limit.";
                cost_write_buffer_to_cache: bool = false, "Charge the memory of memtables to the block cache.";
                memtable_bloom_size_ratio: f64 = 0.0, "The share of a memtable that its Bloom filter takes, up to 0.25; 0: no filter.";
                memtable_whole_key_filtering: bool = false, "Put whole keys into the memtable's Bloom filter.";
                memtable_protection_bytes_per_key: i32 = 0, "The size in bytes of the checksum of each memtable entry: 0 (none), 1, 2, 4 or 8.";
                write_batch_protection_bytes_per_key: u64 = 0u64, "The size in bytes of the checksum of each operation of a write, from the call on: 0 (none) or 8.";
                inplace_update_support: bool = false, "Overwrite values in the active memtable; needs --allow_concurrent_memtable_write=false.";
                inplace_update_num_locks: u64 = 10_000u64, "The number of locks for values that are overwritten in a memtable.";
                max_successive_merges: i32 = 0, "The number of successive merge operands of a key in a memtable after which the next one is stored as a value; 0: no limit.";
                experimental_mempurge_threshold: f64 = 0.0, "The part of a memtable's size below which what is left of full memtables stays in memory instead of being flushed; 0: flush always.";
                allow_concurrent_memtable_write: bool = true, "Let several writers insert into the memtable concurrently.";
                enable_write_thread_adaptive_yield: bool = true, "Let waiting writers yield for a while before they block.";
                write_thread_max_yield_usec: u64 = 100u64, "The longest time in microseconds that a waiting writer yields.";
                write_thread_slow_yield_usec: u64 = 3u64, "The duration of a yield in microseconds that counts as a sign of busy cores.";
                enable_pipelined_write: bool = false, "Log one group of writes while the previous one is inserted.";
                unordered_write: bool = false, "Publish writes when they are logged and insert them later; snapshots may change.";
                commit_protocol: String = "",
                    "How writes are committed: ordered, grouped, pipelined or unordered. Empty: as the previous two flags say, otherwise ordered. RocksDB uses its own protocol for ordered. (Not a RocksDB flag.)";
                max_write_batch_group_size_bytes: u64 = 1u64 << 20, "The largest size in bytes of batches that are committed as one group. (Not a RocksDB flag.)";
            }
        ] $($rest)* }
    };
}

pub(super) use memtables;
