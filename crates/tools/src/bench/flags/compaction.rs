//! Levels, compaction styles and when writes wait for them.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! compaction {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Compaction" {
                compaction_style: i32 = 0, "The compaction style: 0 leveled, 1 universal, 2 FIFO.";
                compaction_pri: i32 = 3, "Which table of a level is compacted first: 0 the largest, deletions counted in; 1 the one whose newest entry is oldest; 2 the one whose oldest entry is oldest; 3 the one with the least overlap; 4 the next in turn.";
                disable_auto_compactions: bool = false, "Compact only on request.";
                level0_file_num_compaction_trigger: i32 = 4, "The number of level 0 files that triggers a compaction.";
                level0_slowdown_writes_trigger: i32 = 20, "The number of level 0 files at which writes slow down.";
                delayed_write_rate: u64 = 0_u64, "The initial rate of slowed-down writes in bytes per second; 0: 16 MiB per second.";
                level0_stop_writes_trigger: i32 = 36, "The number of level 0 files at which writes stop.";
                num_levels: i32 = 7, "The number of levels.";
                max_bytes_for_level_base: u64 = 256u64 << 20, "The size of level 1 in bytes.";
                max_bytes_for_level_multiplier: f64 = 10.0, "The factor by which each level is larger than the one above it.";
                target_file_size_base: i64 = 64 << 20, "The size of a table file of level 1 in bytes.";
                target_file_size_multiplier: i32 = 1, "The factor by which the table files of each level are larger than those of the level above it.";
                level_compaction_dynamic_level_bytes: bool = true,
                    "Derive the sizes of the levels from the size of the last level that has data. (RocksDB's db_bench has false, its library true.)";
                max_compaction_bytes: u64 = 0u64, "The largest input of one compaction in bytes; 0: 25 table files.";
                soft_pending_compaction_bytes_limit: u64 = 64u64 << 30, "The number of bytes waiting for compaction at which writes slow down.";
                hard_pending_compaction_bytes_limit: u64 = 128u64 << 30, "The number of bytes waiting for compaction at which writes stop.";
                max_bytes_for_level_multiplier_additional: String = "", "Additional factors of the sizes of levels, as num_levels comma-separated numbers; empty: none.";
                ttl_seconds: u64 = u64::MAX - 1, "The age of data in seconds at which it is compacted, or deleted with FIFO; 0: never. The default stands for 30 days.";
                periodic_compaction_seconds: u64 = u64::MAX - 1, "The age of tables in seconds at which they are rewritten; 0: never. The default stands for 30 days with universal compaction and for never otherwise.";
                read_triggered_compaction_threshold: f64 = 0.03, "The reads in vain for each byte of a compaction of tables in these reads' way from which on it begins; 0: never. (Only this engine.)";
                universal_size_ratio: i32 = 0, "Universal: the percentage by which a run may be larger than all newer runs together; 0: 1.";
                universal_min_merge_width: i32 = 0, "Universal: the smallest number of runs of a compaction; 0: 2.";
                universal_max_merge_width: i32 = 0, "Universal: the largest number of runs of a compaction; 0: no limit.";
                universal_max_size_amplification_percent: i32 = 0, "Universal: the size of the newer runs, in percent of the oldest, at which everything is compacted; 0: 200.";
                universal_compression_size_percent: i32 = -1, "Universal: the percentage of the data that is compressed, beginning with the oldest; -1: all of it.";
                universal_allow_trivial_move: bool = false, "Universal: move tables that overlap no other instead of rewriting them.";
                fifo_compaction_max_table_files_size_mb: u64 = 0u64, "FIFO: the size of all tables in MiB above which the oldest are deleted. RocksDB's default, 0, keeps nothing.";
                fifo_compaction_allow_compaction: bool = true, "FIFO: merge small tables.";
                report_bg_io_stats: bool = false, "Measure the I/O time of background jobs.";
            }
        ] $($rest)* }
    };
}

pub(super) use compaction;
