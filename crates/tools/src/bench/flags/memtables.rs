//! Memtables, and how writes get into them.

/// Hands the rows so far and these to the next group.
macro_rules! memtables {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Memtables and the write path" {
                memtablerep: String = "auto",
                    "Memtable: skip_list, art (a radix tree), vector, prefix_hash, hash_linkedlist, or auto: the engine's own choice.";
                hash_bucket_count: i64 = 1 << 20, "Buckets of the memtables prefix_hash and hash_linkedlist.";
                write_buffer_size: i64 = 64 << 20, "Bytes of a memtable before it is flushed.";
                max_write_buffer_number: i32 = 2, "Memtables in memory, active one included, before writes stop.";
                min_write_buffer_number_to_merge: i32 = 1, "Full memtables to gather before a flush.";
                arena_block_size: i64 = 0, "Bytes of a block of a memtable's arena; 0 lets the database choose.";
                memtable_use_huge_page: bool = false, "Make memtables of reserved huge pages of 2 MiB, where there are some.";
                memtable_insert_hint_per_batch: bool = false, "Insert each entry of a batch from the place of the one before on (not a flag of RocksDB's).";
                db_write_buffer_size: i64 = 0, "Bytes of all memtables together at which one is flushed; 0: no limit.";
                cost_write_buffer_to_cache: bool = false, "Charge the memory of memtables to the block cache.";
                memtable_bloom_size_ratio: f64 = 0.0, "Share of a memtable for a Bloom filter, up to 0.25; 0: none.";
                memtable_whole_key_filtering: bool = false, "Put whole keys into the memtable's Bloom filter.";
                memtable_protection_bytes_per_key: i32 = 0, "Bytes of the checksum of each memtable entry: 0 (none), 1, 2, 4 or 8.";
                write_batch_protection_bytes_per_key: u64 = 0u64, "Bytes of the checksum of each operation of a write, from the call on: 0 (none) or 8.";
                inplace_update_support: bool = false, "Overwrite values in the active memtable; needs --allow_concurrent_memtable_write=false.";
                inplace_update_num_locks: u64 = 10_000u64, "Locks of the values that are overwritten in a memtable.";
                max_successive_merges: i32 = 0, "Merge operands of a key on each other in a memtable on which the next is stored as a value; 0: no limit.";
                allow_concurrent_memtable_write: bool = true, "Let several writers insert into the memtable at once.";
                enable_write_thread_adaptive_yield: bool = true, "Let waiting writers yield for a while before they block.";
                write_thread_max_yield_usec: u64 = 100u64, "Microseconds that a waiting writer yields at most.";
                write_thread_slow_yield_usec: u64 = 3u64, "Microseconds of a yield which say that cores are busy.";
                enable_pipelined_write: bool = false, "Log one group of writes while the one before it is inserted.";
                unordered_write: bool = false, "Publish writes when they are logged, and insert them after that: snapshots may change.";
                commit_protocol: String = "",
                    "How writes are committed: ordered, grouped, pipelined or unordered. Empty: by the two flags before, else ordered. RocksDB takes its own for ordered. (Not a RocksDB flag.)";
                max_write_batch_group_size_bytes: u64 = 1u64 << 20, "Bytes of batches committed as one group, at most. (Not a RocksDB flag.)";
            }
        ] $($rest)* }
    };
}

pub(super) use memtables;
