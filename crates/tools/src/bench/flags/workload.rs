//! Keys and values, and what benchmarks do with them.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! workload {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Keys, values and operations" {
                key_size: i32 = 16, "The size of each key in bytes.";
                value_size: i32 = 100, "The size of each value in bytes.";
                compression_ratio: f64 = 0.5,
                    "The size that generated values compress to, relative to the original.";
                batch_size: i64 = 1, "The number of entries in each write batch.";
                sync: bool = false, "Wait on every write until the log is on the disk.";
                disable_wal: bool = false, "Do not write to the log.";
                verify_checksum: bool = true, "Verify the checksums of blocks read from files.";
                use_existing_keys: bool = false,
                    "Use the keys of the existing database, all held in memory, instead of generated ones; num becomes their number. Needs use_existing_db.";
                value_size_distribution_type: String = "fixed",
                    "The distribution of value sizes: fixed (value_size), or uniform or normal between value_size_min and value_size_max.";
                value_size_min: i32 = 100, "The size of the smallest value in bytes, unless sizes are fixed.";
                value_size_max: i32 = 102_400, "The size of the largest value in bytes, unless sizes are fixed.";
                read_random_exp_range: f64 = 0.0,
                    "The skew of random reads: they read key number num * exp(-r), with r uniform between 0 and this value. 0: no skew.";
                multiread_stride: i64 = 0,
                    "The distance between the keys of a batch of multireadrandom, and of readrandom with batch_size. 0: every key is random.";
                multiread_batched: bool = false, "Let multireadrandom use the call that returns values without copying them.";
                seek_nexts: i32 = 0, "The number of entries read after each seek of seekrandom.";
                max_scan_distance: i64 = 0,
                    "The distance in keys after the sought key (before it with reverse_iterator) at which seekrandom bounds its iterator. 0: no bound.";
                reverse_iterator: bool = false, "Let seekrandom iterate backwards.";
                prefix_same_as_start: bool = false, "Let iterators end with the prefix of the key that they seek.";
                total_order_seek: bool = false, "Let iterators see all keys in order, whatever the memtable is.";
                merge_operator: String = "",
                    "The merge operator of the database: put, uint64add, stringappend, max or bytesxor. Empty: none.";
                merge_keys: i64 = -1, "The number of keys that mergerandom merges into; negative: num.";
                readwritepercent: i32 = 90, "The percentage of reads in readrandomwriterandom and randomwithverify.";
                deletepercent: i32 = 2, "The percentage of deletions in randomwithverify.";
                mergereadpercent: i32 = 70, "The percentage of merges in readrandommergerandom.";
                numdistinct: i64 = 1000, "The number of different keys in randomwithverify and randomreplacekeys.";
                use_single_deletes: bool = true, "Let randomreplacekeys use single deletions.";
                stddev: f64 = 2000.0, "The standard deviation of the keys that randomreplacekeys picks.";
                key_id_range: i32 = 100_000, "The number of different ids in timeseries.";
                time_range: u64 = 100_000u64, "The number of timeseries entries after which an entry expires.";
                expire_style: String = "none",
                    "What removes expired entries of timeseries: none, delete (num_deletion_threads of the readers), or compaction_filter (compactions).";
                num_deletion_threads: i32 = 1, "The number of readers of timeseries that delete, with expire_style=delete.";
                benchmark_write_rate_limit: u64 = 0u64, "The limit in bytes per second for fills and for writers that run beside readers; 0: no limit.";
                benchmark_read_rate_limit: u64 = 0u64, "The limit in operations per second for all readers of random keys together; 0: no limit.";
                writes_per_range_tombstone: i64 = 0, "The number of writes, in a fill or of a writer beside readers, for each range deletion; 0: no range deletions.";
                writes_before_delete_range: i64 = 0, "The number of writes before the first range deletion.";
                range_tombstone_width: i64 = 100, "The number of keys that a range deletion covers.";
                max_num_range_tombstones: i64 = 0, "The largest number of range deletions of a thread.";
                expand_range_tombstones: bool = false, "Delete the keys of each range one by one instead.";
                finish_after_writes: bool = false, "Let a writer beside readers end after its own writes instead of with the readers.";
                use_tailing_iterator: bool = false, "Let seekrandom keep one iterator that follows new writes, instead of creating one for each seek.";
                ingest_external_file_batch_size: i32 = 10, "The number of tables that ingestexternalfile ingests at once. (Not in RocksDB 7.8.)";
                ingest_external_file_num_batches: i32 = 1, "The number of such ingestions. (Not in RocksDB 7.8.)";
                seek_missing_prefix: bool = false, "Let seekrandom seek keys whose prefix does not exist; needs prefix_size above 8.";
                overwrite_probability: f64 = 0.0, "The share of the writes of filluniquerandom that overwrite a recent key instead.";
                overwrite_window_size: u64 = 1u64, "The number of recent keys that these overwrites choose from.";
                sine_write_rate: bool = false, "Limit the bytes per second of fills by the sine of mixgraph, instead of benchmark_write_rate_limit.";
                sine_write_rate_interval_milliseconds: u64 = 10_000u64, "The time in milliseconds between two updates of that limit.";
            }
        ] $($rest)* }
    };
}

pub(super) use workload;
