//! Options of compaction styles.

use super::values::{Built, fields, made};
use whitewater::{FifoCompactOptions, UniversalCompactOptions, UniversalCompactionStopStyle};

pub type rocksdb_universal_compaction_options_t = Built<UniversalCompactOptions>;
pub type rocksdb_fifo_compaction_options_t = Built<FifoCompactOptions>;

fn stop_style(number: i32) -> UniversalCompactionStopStyle {
    match number {
        0 => UniversalCompactionStopStyle::Similar,
        _ => UniversalCompactionStopStyle::Total,
    }
}

made! {
    rocksdb_universal_compaction_options_t = Built::default(),
        rocksdb_universal_compaction_options_create, rocksdb_universal_compaction_options_destroy;
    rocksdb_fifo_compaction_options_t = Built::default(),
        rocksdb_fifo_compaction_options_create, rocksdb_fifo_compaction_options_destroy;
}

fields! { rocksdb_universal_compaction_options_t {
    "size_ratio": i32 = 1, |o, v| o.set_size_ratio(v),
        set rocksdb_universal_compaction_options_set_size_ratio,
        get rocksdb_universal_compaction_options_get_size_ratio;
    "min_merge_width": i32 = 2, |o, v| o.set_min_merge_width(v),
        set rocksdb_universal_compaction_options_set_min_merge_width,
        get rocksdb_universal_compaction_options_get_min_merge_width;
    "max_merge_width": i32 = -1, |o, v| o.set_max_merge_width(v),
        set rocksdb_universal_compaction_options_set_max_merge_width,
        get rocksdb_universal_compaction_options_get_max_merge_width;
    "max_size_amplification_percent": i32 = 200, |o, v| o.set_max_size_amplification_percent(v),
        set rocksdb_universal_compaction_options_set_max_size_amplification_percent,
        get rocksdb_universal_compaction_options_get_max_size_amplification_percent;
    "compression_size_percent": i32 = -1, |o, v| o.set_compression_size_percent(v),
        set rocksdb_universal_compaction_options_set_compression_size_percent,
        get rocksdb_universal_compaction_options_get_compression_size_percent;
    "stop_style": i32 = 1, |o, v| o.set_stop_style(stop_style(v)),
        set rocksdb_universal_compaction_options_set_stop_style,
        get rocksdb_universal_compaction_options_get_stop_style;
}}

/// Options of FIFO compaction that are not built: `open` refuses others than 0 by name.
pub(super) const FIFO_OFF: [&str; 3] = [
    "allow_compaction",
    "max_data_files_size",
    "use_kv_ratio_compaction",
];

fields! { rocksdb_fifo_compaction_options_t {
    "allow_compaction": u8 = 0, |_o, _v| (),
        set rocksdb_fifo_compaction_options_set_allow_compaction,
        get rocksdb_fifo_compaction_options_get_allow_compaction;
    "max_data_files_size": u64 = 0, |_o, _v| (),
        set rocksdb_fifo_compaction_options_set_max_data_files_size,
        get rocksdb_fifo_compaction_options_get_max_data_files_size;
    "use_kv_ratio_compaction": u8 = 0, |_o, _v| (),
        set rocksdb_fifo_compaction_options_set_use_kv_ratio_compaction,
        get rocksdb_fifo_compaction_options_get_use_kv_ratio_compaction;
    "max_table_files_size": u64 = 1 << 30, |o, v| o.set_max_table_files_size(v),
        set rocksdb_fifo_compaction_options_set_max_table_files_size,
        get rocksdb_fifo_compaction_options_get_max_table_files_size;
}}
