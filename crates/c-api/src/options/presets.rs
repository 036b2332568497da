//! Options that set others.

use super::rocksdb_options_t;
use crate::border::exports;

fn change(options: Option<&mut rocksdb_options_t>, change: impl FnOnce(&mut whitewater::Options)) {
    if let Some(options) = options {
        options.change(change);
    }
}

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

exports! {
    fn rocksdb_options_increase_parallelism(options: Option<&mut rocksdb_options_t>, n: i32) {
        change(options, |options| options.increase_parallelism(n));
    }
    fn rocksdb_options_optimize_for_point_lookup(
        options: Option<&mut rocksdb_options_t>, block_cache_mb: u64,
    ) {
        change(options, |options| options.optimize_for_point_lookup(block_cache_mb));
    }
    fn rocksdb_options_optimize_level_style_compaction(
        options: Option<&mut rocksdb_options_t>, budget: u64,
    ) {
        change(options, |options| options.optimize_level_style_compaction(bytes(budget)));
    }
    fn rocksdb_options_optimize_universal_style_compaction(
        options: Option<&mut rocksdb_options_t>, budget: u64,
    ) {
        change(options, |options| options.optimize_universal_style_compaction(bytes(budget)));
    }
    fn rocksdb_options_prepare_for_bulk_load(options: Option<&mut rocksdb_options_t>) {
        change(options, whitewater::Options::prepare_for_bulk_load);
    }
}
