//! Keys and values, and what benchmarks do with them.

/// Hands the rows so far and these to the next group.
macro_rules! workload {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Keys, values and operations" {
                key_size: i32 = 16, "Bytes of each key.";
                value_size: i32 = 100, "Bytes of each value.";
                compression_ratio: f64 = 0.5,
                    "Size, relative to the original, to which the generated values can be compressed.";
                batch_size: i64 = 1, "Entries of each write batch.";
                sync: bool = false, "Wait for the log to reach the disk on every write.";
                disable_wal: bool = false, "Write nothing to the log.";
                verify_checksum: bool = true, "Verify checksums of blocks read from files.";
                use_existing_keys: bool = false,
                    "Take the keys that are in the database, all held in memory, in place of made ones; num is their number. Needs use_existing_db.";
                value_size_distribution_type: String = "fixed",
                    "Sizes of values: fixed (value_size), uniform or normal between value_size_min and value_size_max.";
                value_size_min: i32 = 100, "Bytes of the smallest value, unless sizes are fixed.";
                value_size_max: i32 = 102_400, "Bytes of the largest value, unless sizes are fixed.";
                read_random_exp_range: f64 = 0.0,
                    "Skew of keys read at random: key number num * exp(-r), r uniform from 0 to this. 0: no skew.";
                multiread_stride: i64 = 0,
                    "Numbers between the keys of a batch of multireadrandom, and of readrandom with batch_size. 0: each at random.";
                multiread_batched: bool = false, "Let multireadrandom read batches by the call that hands values over without a copy.";
                seek_nexts: i32 = 0, "Entries read after each seek of seekrandom.";
                max_scan_distance: i64 = 0,
                    "Numbers of keys after the sought one (before it with reverse_iterator) at which an iterator of seekrandom is bounded. 0: no bound.";
                reverse_iterator: bool = false, "Let seekrandom read backwards.";
                prefix_same_as_start: bool = false, "Let iterators end with the prefix of the key they seek.";
                total_order_seek: bool = false, "Let iterators see all keys in order, whatever the memtable.";
                merge_operator: String = "",
                    "Merge operator of the database: put, uint64add, stringappend, max or bytesxor. Empty: none.";
                merge_keys: i64 = -1, "Number of keys that mergerandom merges into; negative: num.";
                readwritepercent: i32 = 90, "Percentage of reads of readrandomwriterandom and randomwithverify.";
                deletepercent: i32 = 2, "Percentage of deletions of randomwithverify.";
                mergereadpercent: i32 = 70, "Percentage of merges of readrandommergerandom.";
                numdistinct: i64 = 1000, "Different keys of randomwithverify and randomreplacekeys.";
                use_single_deletes: bool = true, "Let randomreplacekeys delete by single deletions.";
                stddev: f64 = 2000.0, "Standard deviation of the keys that randomreplacekeys picks.";
                key_id_range: i32 = 100_000, "Different ids of timeseries.";
                time_range: u64 = 100_000u64, "Entries of timeseries written after one that make it expire.";
                expire_style: String = "none",
                    "What removes expired entries of timeseries: none, delete: num_deletion_threads of the readers, or compaction_filter: compactions.";
                num_deletion_threads: i32 = 1, "Readers of timeseries that delete, with expire_style=delete.";
                benchmark_write_rate_limit: u64 = 0u64, "Bytes per second that fills, and writers beside readers, write at most; 0: no limit.";
                benchmark_read_rate_limit: u64 = 0u64, "Operations per second that readers of random keys do at most, all together; 0: no limit.";
                writes_per_range_tombstone: i64 = 0, "Writes of a fill, or of a writer beside readers, for each range deletion; 0: none.";
                writes_before_delete_range: i64 = 0, "Writes before the first range deletion.";
                range_tombstone_width: i64 = 100, "Numbers of keys that a range deletion covers.";
                max_num_range_tombstones: i64 = 0, "Range deletions of a thread at most.";
                expand_range_tombstones: bool = false, "Delete the keys one by one in place of each range.";
                finish_after_writes: bool = false, "Let a writer beside readers end after its writes, not before.";
                use_tailing_iterator: bool = false, "Let seekrandom keep one iterator, which follows what is written, in place of one for each seek.";
                ingest_external_file_batch_size: i32 = 10, "Tables that ingestexternalfile takes in at once. (Not in RocksDB 7.8.)";
                ingest_external_file_num_batches: i32 = 1, "Times that it does so. (Not in RocksDB 7.8.)";
                seek_missing_prefix: bool = false, "Let seekrandom seek keys whose prefix is not there; needs prefix_size above 8.";
                overwrite_probability: f64 = 0.0, "Share of the writes of filluniquerandom that overwrite one of the last keys instead.";
                overwrite_window_size: u64 = 1u64, "How many of the last keys these overwrite.";
                sine_write_rate: bool = false, "Limit the bytes per second of fills to the sine of mixgraph, in place of benchmark_write_rate_limit.";
                sine_write_rate_interval_milliseconds: u64 = 10_000u64, "Milliseconds between two settings of that limit.";
            }
        ] $($rest)* }
    };
}

pub(super) use workload;
