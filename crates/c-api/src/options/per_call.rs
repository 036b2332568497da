//! Options of reads, writes, flushes, compactions and ingestions.

use super::values::{Built, fields, made};
use crate::border::{Bytes, Result, exports};
use crate::snapshot::rocksdb_snapshot_t;
use whitewater::{
    BottommostLevelCompaction, CompactOptions, Error, FlushOptions, IngestExternalFileOptions,
    ReadOptions, ReadTier, WriteOptions,
};

pub type rocksdb_readoptions_t = Built<Read>;
pub type rocksdb_writeoptions_t = Built<WriteOptions>;
pub type rocksdb_flushoptions_t = Built<FlushOptions>;
pub type rocksdb_compactoptions_t = Built<CompactOptions>;
pub type rocksdb_ingestexternalfileoptions_t = Built<IngestExternalFileOptions>;

/// Options of reads, with what C takes away again by a null pointer.
#[derive(Default)]
pub struct Read {
    pub(crate) options: ReadOptions,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    timestamp: Option<Vec<u8>>,
    start_timestamp: Option<Vec<u8>>,
    /// Why there is no reading with these options: the snapshot that was set is gone.
    refusal: Option<Error>,
}

impl Read {
    /// The options, unless there is no reading with them.
    pub(crate) fn checked(&self) -> Result<&ReadOptions> {
        match &self.refusal {
            None => Ok(&self.options),
            Some(refusal) => Err(refusal.clone()),
        }
    }

    fn apply(&mut self) {
        let (lower, upper) = (self.lower.clone(), self.upper.clone());
        self.options.reset_bounds(lower, upper);
        let (read, start) = (self.timestamp.clone(), self.start_timestamp.clone());
        self.options.reset_timestamps(read, start);
    }
}

fn tier(number: i32) -> ReadTier {
    match number {
        1 => ReadTier::BlockCache,
        2 => ReadTier::Persisted,
        3 => ReadTier::Memtable,
        _ => ReadTier::All,
    }
}

fn bottommost(number: u8) -> BottommostLevelCompaction {
    match number {
        0 => BottommostLevelCompaction::Skip,
        2 => BottommostLevelCompaction::Force,
        3 => BottommostLevelCompaction::ForceOptimized,
        _ => BottommostLevelCompaction::IfHaveCompactionFilter,
    }
}

#[expect(deprecated, reason = "C has the option")]
fn ignore_range_deletions(options: &mut ReadOptions, ignore: bool) {
    options.set_ignore_range_deletions(ignore);
}

fn owned(bytes: Bytes, len: usize) -> Option<Vec<u8>> {
    bytes.given(len).map(<[u8]>::to_vec)
}

made! {
    rocksdb_readoptions_t = Built::default(), rocksdb_readoptions_create,
        rocksdb_readoptions_destroy;
    rocksdb_writeoptions_t = Built::default(), rocksdb_writeoptions_create,
        rocksdb_writeoptions_destroy;
    rocksdb_flushoptions_t = Built::default(), rocksdb_flushoptions_create,
        rocksdb_flushoptions_destroy;
    rocksdb_compactoptions_t = Built::default(), rocksdb_compactoptions_create,
        rocksdb_compactoptions_destroy;
    rocksdb_ingestexternalfileoptions_t = Built::default(),
        rocksdb_ingestexternalfileoptions_create, rocksdb_ingestexternalfileoptions_destroy;
}

fields! { rocksdb_readoptions_t {
    "verify_checksums": u8 = 1, |o, v| o.options.set_verify_checksums(v != 0),
        set rocksdb_readoptions_set_verify_checksums, get rocksdb_readoptions_get_verify_checksums;
    "fill_cache": u8 = 1, |o, v| o.options.fill_cache(v != 0),
        set rocksdb_readoptions_set_fill_cache, get rocksdb_readoptions_get_fill_cache;
    "read_tier": i32 = 0, |o, v| o.options.set_read_tier(tier(v)),
        set rocksdb_readoptions_set_read_tier, get rocksdb_readoptions_get_read_tier;
    "tailing": u8 = 0, |o, v| o.options.set_tailing(v != 0),
        set rocksdb_readoptions_set_tailing, get rocksdb_readoptions_get_tailing;
    "readahead_size": usize = 0, |o, v| o.options.set_readahead_size(v),
        set rocksdb_readoptions_set_readahead_size, get rocksdb_readoptions_get_readahead_size;
    "prefix_same_as_start": u8 = 0, |o, v| o.options.set_prefix_same_as_start(v != 0),
        set rocksdb_readoptions_set_prefix_same_as_start,
        get rocksdb_readoptions_get_prefix_same_as_start;
    "pin_data": u8 = 0, |o, v| o.options.set_pin_data(v != 0),
        set rocksdb_readoptions_set_pin_data, get rocksdb_readoptions_get_pin_data;
    "total_order_seek": u8 = 0, |o, v| o.options.set_total_order_seek(v != 0),
        set rocksdb_readoptions_set_total_order_seek, get rocksdb_readoptions_get_total_order_seek;
    "max_skippable_internal_keys": u64 = 0, |o, v| o.options.set_max_skippable_internal_keys(v),
        set rocksdb_readoptions_set_max_skippable_internal_keys,
        get rocksdb_readoptions_get_max_skippable_internal_keys;
    "background_purge_on_iterator_cleanup": u8 = 0,
        |o, v| o.options.set_background_purge_on_iterator_cleanup(v != 0),
        set rocksdb_readoptions_set_background_purge_on_iterator_cleanup,
        get rocksdb_readoptions_get_background_purge_on_iterator_cleanup;
    "ignore_range_deletions": u8 = 0, |o, v| ignore_range_deletions(&mut o.options, v != 0),
        set rocksdb_readoptions_set_ignore_range_deletions,
        get rocksdb_readoptions_get_ignore_range_deletions;
    "deadline": u64 = 0, |o, v| o.options.set_deadline(v),
        set rocksdb_readoptions_set_deadline, get rocksdb_readoptions_get_deadline;
    "io_timeout": u64 = 0, |o, v| o.options.set_io_timeout(v),
        set rocksdb_readoptions_set_io_timeout, get rocksdb_readoptions_get_io_timeout;
    "auto_readahead_size": u8 = 1, |o, v| o.options.set_auto_readahead_size(v != 0),
        set rocksdb_readoptions_set_auto_readahead_size;
    "async_io": u8 = 0, |o, v| o.options.set_async_io(v != 0),
        set rocksdb_readoptions_set_async_io, get rocksdb_readoptions_get_async_io;
}}

fields! { rocksdb_writeoptions_t {
    "sync": u8 = 0, |o, v| o.set_sync(v != 0),
        set rocksdb_writeoptions_set_sync, get rocksdb_writeoptions_get_sync;
    "ignore_missing_column_families": u8 = 0,
        |o, v| o.set_ignore_missing_column_families(v != 0),
        set rocksdb_writeoptions_set_ignore_missing_column_families,
        get rocksdb_writeoptions_get_ignore_missing_column_families;
    "no_slowdown": u8 = 0, |o, v| o.set_no_slowdown(v != 0),
        set rocksdb_writeoptions_set_no_slowdown, get rocksdb_writeoptions_get_no_slowdown;
    "low_pri": u8 = 0, |o, v| o.set_low_pri(v != 0),
        set rocksdb_writeoptions_set_low_pri, get rocksdb_writeoptions_get_low_pri;
    "memtable_insert_hint_per_batch": u8 = 0,
        |o, v| o.set_memtable_insert_hint_per_batch(v != 0),
        set rocksdb_writeoptions_set_memtable_insert_hint_per_batch,
        get rocksdb_writeoptions_get_memtable_insert_hint_per_batch;
    "disable_WAL": i32 = 0, |o, v| o.disable_wal(v != 0),
        set rocksdb_writeoptions_disable_WAL;
}}

fields! { rocksdb_flushoptions_t {
    "wait": u8 = 1, |o, v| o.set_wait(v != 0),
        set rocksdb_flushoptions_set_wait, get rocksdb_flushoptions_get_wait;
}}

fields! { rocksdb_compactoptions_t {
    "exclusive_manual_compaction": u8 = 0, |o, v| o.set_exclusive_manual_compaction(v != 0),
        set rocksdb_compactoptions_set_exclusive_manual_compaction,
        get rocksdb_compactoptions_get_exclusive_manual_compaction;
    "bottommost_level_compaction": u8 = 1,
        |o, v| o.set_bottommost_level_compaction(bottommost(v)),
        set rocksdb_compactoptions_set_bottommost_level_compaction,
        get rocksdb_compactoptions_get_bottommost_level_compaction;
    "change_level": u8 = 0, |o, v| o.set_change_level(v != 0),
        set rocksdb_compactoptions_set_change_level, get rocksdb_compactoptions_get_change_level;
    // Hints: parts are as many as the database's option says, and a flush that a compaction begins
    // with holds no writer back.
    "allow_write_stall": u8 = 0, |_o, _v| (),
        set rocksdb_compactoptions_set_allow_write_stall,
        get rocksdb_compactoptions_get_allow_write_stall;
    "max_subcompactions": i32 = 0, |_o, _v| (),
        set rocksdb_compactoptions_set_max_subcompactions,
        get rocksdb_compactoptions_get_max_subcompactions;
    "target_path_id": i32 = 0, |o, v| o.set_target_path_id(u32::try_from(v).unwrap_or(u32::MAX)),
        set rocksdb_compactoptions_set_target_path_id,
        get rocksdb_compactoptions_get_target_path_id;
    "target_level": i32 = -1, |o, v| o.set_target_level(v),
        set rocksdb_compactoptions_set_target_level, get rocksdb_compactoptions_get_target_level;
}}

fields! { rocksdb_ingestexternalfileoptions_t {
    "move_files": u8 = 0, |o, v| o.set_move_files(v != 0),
        set rocksdb_ingestexternalfileoptions_set_move_files;
    "snapshot_consistency": u8 = 1, |o, v| o.set_snapshot_consistency(v != 0),
        set rocksdb_ingestexternalfileoptions_set_snapshot_consistency;
    "allow_global_seqno": u8 = 1, |o, v| o.set_allow_global_seqno(v != 0),
        set rocksdb_ingestexternalfileoptions_set_allow_global_seqno;
    "allow_blocking_flush": u8 = 1, |o, v| o.set_allow_blocking_flush(v != 0),
        set rocksdb_ingestexternalfileoptions_set_allow_blocking_flush;
    "fail_if_not_bottommost_level": u8 = 0, |_o, _v| (),
        set rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level;
    "ingest_behind": u8 = 0, |o, v| o.set_ingest_behind(v != 0),
        set rocksdb_ingestexternalfileoptions_set_ingest_behind;
}}

exports! {
    fn rocksdb_writeoptions_get_disable_WAL(options: Option<&rocksdb_writeoptions_t>) -> u8 {
        options.is_some_and(|options| options.kept("disable_WAL", 0i32) != 0).into()
    }
    // The option has had no effect in RocksDB since 4.12.
    fn rocksdb_readoptions_set_managed(_options: Option<&rocksdb_readoptions_t>, _managed: u8) {}
    fn rocksdb_readoptions_set_snapshot(
        options: Option<&mut rocksdb_readoptions_t>, snapshot: Option<&rocksdb_snapshot_t>,
    ) {
        let Some(options) = options else { return };
        let read = &mut options.options;
        read.options.reset_snapshot();
        let applied = snapshot.map_or(Ok(()), |snapshot| snapshot.apply(&mut read.options));
        read.refusal = applied.err();
    }
    fn rocksdb_readoptions_set_iterate_upper_bound(
        options: Option<&mut rocksdb_readoptions_t>, key: Bytes, len: usize,
    ) {
        if let Some(options) = options {
            options.options.upper = owned(key, len);
            options.options.apply();
        }
    }
    fn rocksdb_readoptions_set_iterate_lower_bound(
        options: Option<&mut rocksdb_readoptions_t>, key: Bytes, len: usize,
    ) {
        if let Some(options) = options {
            options.options.lower = owned(key, len);
            options.options.apply();
        }
    }
    fn rocksdb_readoptions_set_timestamp(
        options: Option<&mut rocksdb_readoptions_t>, ts: Bytes, len: usize,
    ) {
        if let Some(options) = options {
            options.options.timestamp = owned(ts, len);
            options.options.apply();
        }
    }
    fn rocksdb_readoptions_set_iter_start_ts(
        options: Option<&mut rocksdb_readoptions_t>, ts: Bytes, len: usize,
    ) {
        if let Some(options) = options {
            options.options.start_timestamp = owned(ts, len);
            options.options.apply();
        }
    }
    fn rocksdb_compactoptions_set_full_history_ts_low(
        options: Option<&mut rocksdb_compactoptions_t>, ts: Bytes, len: usize,
    ) {
        if let Some(options) = options {
            options.options.set_full_history_ts_low(ts.of(len));
        }
    }
}
