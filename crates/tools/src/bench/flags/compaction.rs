//! Levels, compaction styles and when writes wait for them.

/// Hands the rows so far and these to the next group.
macro_rules! compaction {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Compaction" {
                compaction_style: i32 = 0, "How tables are organized: 0 levels of growing size, 1 universal, 2 FIFO.";
                compaction_pri: i32 = 3, "Which table of a level comes first: 0 largest with its deletions, 1 oldest newest entry, 2 oldest oldest entry, 3 least overlap, 4 in turn.";
                disable_auto_compactions: bool = false, "Compact only when asked to.";
                level0_file_num_compaction_trigger: i32 = 4, "Level 0 files that start a compaction.";
                level0_slowdown_writes_trigger: i32 = 20, "Level 0 files that slow writes down.";
                delayed_write_rate: u64 = 0_u64, "Bytes per second at which writes begin to be slowed down; 0: 16 MiB.";
                level0_stop_writes_trigger: i32 = 36, "Level 0 files that stop writes.";
                num_levels: i32 = 7, "Levels of the tree.";
                max_bytes_for_level_base: u64 = 256u64 << 20, "Bytes of level 1.";
                max_bytes_for_level_multiplier: f64 = 10.0, "Size of a level over the size of the one above it.";
                target_file_size_base: i64 = 64 << 20, "Bytes of a table file in level 1.";
                target_file_size_multiplier: i32 = 1, "Size of a table file over the size of one a level above.";
                level_compaction_dynamic_level_bytes: bool = true,
                    "Take sizes of levels from the last one that has data. (RocksDB's db_bench has false, its library true.)";
                max_compaction_bytes: u64 = 0u64, "Bytes that one compaction reads at most; 0: 25 table files.";
                soft_pending_compaction_bytes_limit: u64 = 64u64 << 30, "Bytes that wait for compaction at which writes are slowed down.";
                hard_pending_compaction_bytes_limit: u64 = 128u64 << 30, "Bytes that wait for compaction at which writes stop.";
                max_bytes_for_level_multiplier_additional: String = "", "Further factors of the sizes of levels, num_levels numbers with commas between; empty: none.";
                ttl_seconds: u64 = u64::MAX - 1, "Age of data at which it is compacted, with FIFO deleted, in seconds; 0: never. The default is the style's: 30 days.";
                periodic_compaction_seconds: u64 = u64::MAX - 1, "Age of tables at which they are written anew, in seconds; 0: never. The default is the style's: 30 days with universal compaction, else never.";
                universal_size_ratio: i32 = 0, "Universal: percent by which a run may be larger than those before it together; 0: 1.";
                universal_min_merge_width: i32 = 0, "Universal: runs of a compaction at least; 0: 2.";
                universal_max_merge_width: i32 = 0, "Universal: runs of a compaction at most; 0: no limit.";
                universal_max_size_amplification_percent: i32 = 0, "Universal: size of newer runs, in percent of the oldest, at which everything is compacted; 0: 200.";
                universal_compression_size_percent: i32 = -1, "Universal: share of the data that is compressed, the oldest first; -1: all of it.";
                universal_allow_trivial_move: bool = false, "Universal: move tables that overlap with no other.";
                fifo_compaction_max_table_files_size_mb: u64 = 0u64, "FIFO: MiB of all tables over which the oldest are deleted. The default, RocksDB's, keeps nothing.";
                fifo_compaction_allow_compaction: bool = true, "FIFO: merge small tables meanwhile.";
                report_bg_io_stats: bool = false, "Measure the time that background jobs spend with files.";
            }
        ] $($rest)* }
    };
}

pub(super) use compaction;
