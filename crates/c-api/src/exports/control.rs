//! Flushes, compactions and what else can be asked of an open database.

use crate::border::{Bytes, ErrPtr, List, Result, Text, count, exports, given};
use crate::db::{on_db, open, rocksdb_t, rocksdb_transactiondb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::options::{
    rocksdb_compactoptions_t, rocksdb_flushoptions_t, rocksdb_ingestexternalfileoptions_t,
};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use whitewater::{CompactOptions, Error, IngestExternalFileOptions};

type Db<'a> = Option<&'a rocksdb_t>;
type Locking<'a> = Option<&'a rocksdb_transactiondb_t>;
type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Bounds<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Compacts a column family, the default one if `handle` is `None`. C is told of no errors.
fn compact(
    db: Db<'_>,
    handle: Option<Handle<'_>>,
    options: Option<&rocksdb_compactoptions_t>,
    (start, end): Bounds<'_>,
) -> Result<()> {
    given(db)?.slot.check_manual_compaction()?;
    let db = open(db)?;
    let options = options.map_or_else(CompactOptions::default, |built| built.options.clone());
    on_db!(db, db => match handle {
        None => db.try_compact_range_opt(start, end, &options),
        Some(handle) => db.try_compact_range_cf_opt(family(handle)?, start, end, &options),
    })
}

fn pairs(num: i32, keys: List<Text>, values: List<Text>) -> Vec<(String, String)> {
    let len = count(num);
    let pairs = keys.of(len).iter().zip(values.of(len));
    pairs
        .map(|(key, value)| (key.lossy(), value.lossy()))
        .collect()
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect()
}

fn paths(list: List<Text>, len: usize) -> Vec<PathBuf> {
    list.of(len).iter().map(|path| path.path()).collect()
}

fn ingestion(
    options: Option<&rocksdb_ingestexternalfileoptions_t>,
) -> Result<&IngestExternalFileOptions> {
    let options = given(options)?;
    match options.kept("fail_if_not_bottommost_level", 0u8) {
        0 => Ok(&options.options),
        _ => Err(Error::not_supported("option fail_if_not_bottommost_level")),
    }
}

exports! {
    fn rocksdb_compact_range(
        db: Db<'_>, start: Bytes, start_len: usize, end: Bytes, end_len: usize,
    ) {
        let _ = compact(db, None, None, (start.given(start_len), end.given(end_len)));
    }
    fn rocksdb_compact_range_cf(
        db: Db<'_>, handle: Handle<'_>, start: Bytes, start_len: usize, end: Bytes, end_len: usize,
    ) {
        let _ = compact(db, Some(handle), None, (start.given(start_len), end.given(end_len)));
    }
    fn rocksdb_compact_range_opt(
        db: Db<'_>, options: Option<&rocksdb_compactoptions_t>, start: Bytes, start_len: usize,
        end: Bytes, end_len: usize,
    ) {
        let _ = compact(db, None, options, (start.given(start_len), end.given(end_len)));
    }
    fn rocksdb_compact_range_cf_opt(
        db: Db<'_>, handle: Handle<'_>, options: Option<&rocksdb_compactoptions_t>, start: Bytes,
        start_len: usize, end: Bytes, end_len: usize,
    ) {
        let _ = compact(db, Some(handle), options, (start.given(start_len), end.given(end_len)));
    }
    fn rocksdb_suggest_compact_range(
        db: Db<'_>, start: Bytes, start_len: usize, end: Bytes, end_len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, start, end) = (open(db)?, start.given(start_len), end.given(end_len));
            on_db!(db, db => db.suggest_compact_range(start, end))
        });
    }
    fn rocksdb_suggest_compact_range_cf(
        db: Db<'_>, handle: Handle<'_>, start: Bytes, start_len: usize, end: Bytes,
        end_len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, start, end) = (open(db)?, start.given(start_len), end.given(end_len));
            on_db!(db, db => db.suggest_compact_range_cf(family(handle)?, start, end))
        });
    }
    fn rocksdb_disable_manual_compaction(db: Db<'_>) {
        if let Some(db) = db {
            db.slot.disable_manual_compaction();
        }
    }
    fn rocksdb_enable_manual_compaction(db: Db<'_>) {
        if let Some(db) = db {
            db.slot.enable_manual_compaction();
        }
    }
    fn rocksdb_flush(
        db: Db<'_>, options: Option<&rocksdb_flushoptions_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, &given(options)?.options);
            on_db!(db, db => db.flush_opt(options))
        });
    }
    fn rocksdb_flush_cf(
        db: Db<'_>, options: Option<&rocksdb_flushoptions_t>, handle: Handle<'_>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, &given(options)?.options, family(handle)?);
            on_db!(db, db => db.flush_cf_opt(family, options))
        });
    }
    fn rocksdb_flush_cfs(
        db: Db<'_>, options: Option<&rocksdb_flushoptions_t>, handles: List<Handle<'static>>,
        len: i32, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, &given(options)?.options);
            let families = handles.of(count(len)).iter().map(|handle| family(*handle));
            let families = families.collect::<Result<Vec<_>>>()?;
            on_db!(db, db => db.flush_cfs_opt(&families, options))
        });
    }
    fn rocksdb_flush_wal(db: Db<'_>, sync: u8, errptr: ErrPtr) {
        errptr.run(|| {
            let db = open(db)?;
            on_db!(db, db => db.flush_wal(sync != 0))
        });
    }
    fn rocksdb_transactiondb_flush(
        db: Locking<'_>, options: Option<&rocksdb_flushoptions_t>, errptr: ErrPtr,
    ) {
        rocksdb_flush(db, options, errptr);
    }
    fn rocksdb_transactiondb_flush_cf(
        db: Locking<'_>, options: Option<&rocksdb_flushoptions_t>, handle: Handle<'_>,
        errptr: ErrPtr,
    ) {
        rocksdb_flush_cf(db, options, handle, errptr);
    }
    fn rocksdb_transactiondb_flush_wal(db: Locking<'_>, sync: u8, errptr: ErrPtr) {
        rocksdb_flush_wal(db, sync, errptr);
    }
    fn rocksdb_disable_file_deletions(db: Db<'_>, errptr: ErrPtr) {
        errptr.run(|| {
            let slot = &given(db)?.slot;
            let db = slot.open()?;
            on_db!(db, db => db.disable_file_deletions())?;
            slot.deletions_off.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
    }
    fn rocksdb_cancel_all_background_work(db: Db<'_>, wait: u8) {
        if let Ok(db) = open(db) {
            on_db!(db, db => db.cancel_all_background_work(wait != 0));
        }
    }
    fn rocksdb_set_options(
        db: Db<'_>, num: i32, keys: List<Text>, values: List<Text>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, pairs) = (open(db)?, pairs(num, keys, values));
            on_db!(db, db => db.set_options(&borrowed(&pairs)))
        });
    }
    fn rocksdb_set_options_cf(
        db: Db<'_>, handle: Handle<'_>, num: i32, keys: List<Text>, values: List<Text>,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, pairs) = (open(db)?, pairs(num, keys, values));
            on_db!(db, db => db.set_options_cf(family(handle)?, &borrowed(&pairs)))
        });
    }
    // As in RocksDB, C is not told why a table is kept.
    fn rocksdb_delete_file(db: Db<'_>, name: Text) {
        if let Ok(db) = open(db) {
            let _ = on_db!(db, db => db.delete_file(&name.lossy()));
        }
    }
    fn rocksdb_delete_file_in_range(
        db: Db<'_>, start: Bytes, start_len: usize, end: Bytes, end_len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, start, end) = (open(db)?, start.of(start_len), end.of(end_len));
            on_db!(db, db => db.delete_file_in_range(start, end))
        });
    }
    fn rocksdb_delete_file_in_range_cf(
        db: Db<'_>, handle: Handle<'_>, start: Bytes, start_len: usize, end: Bytes,
        end_len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, start, end) = (open(db)?, start.of(start_len), end.of(end_len));
            on_db!(db, db => db.delete_file_in_range_cf(family(handle)?, start, end))
        });
    }
    fn rocksdb_ingest_external_file(
        db: Db<'_>, files: List<Text>, len: usize,
        options: Option<&rocksdb_ingestexternalfileoptions_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options) = (open(db)?, ingestion(options)?);
            on_db!(db, db => db.ingest_external_file_opts(options, paths(files, len)))
        });
    }
    fn rocksdb_ingest_external_file_cf(
        db: Db<'_>, handle: Handle<'_>, files: List<Text>, len: usize,
        options: Option<&rocksdb_ingestexternalfileoptions_t>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, ingestion(options)?, family(handle)?);
            on_db!(db, db => {
                db.ingest_external_file_cf_opts(family, options, paths(files, len))
            })
        });
    }
    fn rocksdb_increase_full_history_ts_low(
        db: Db<'_>, handle: Handle<'_>, ts: Bytes, tslen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, family) = (open(db)?, family(handle)?);
            on_db!(db, db => db.increase_full_history_ts_low(family, ts.of(tslen)))
        });
    }
    fn rocksdb_get_full_history_ts_low(
        db: Db<'_>, handle: Handle<'_>, len: crate::border::Out<usize>, errptr: ErrPtr,
    ) -> *mut libc::c_char {
        len.set(0);
        errptr.run(|| {
            let (db, family) = (open(db)?, family(handle)?);
            let ts = on_db!(db, db => db.get_full_history_ts_low(family))?;
            Ok(crate::border::optional(Some(ts), len))
        })
    }
    fn rocksdb_transactiondb_flush_cfs(
        db: Locking<'_>, options: Option<&rocksdb_flushoptions_t>, handles: List<Handle<'static>>,
        len: i32, errptr: ErrPtr,
    ) {
        rocksdb_flush_cfs(db, options, handles, len, errptr);
    }
}

/// Takes the last disabling of deletions back, or all of them.
fn enable_file_deletions(db: Db<'_>, all: bool, errptr: ErrPtr) {
    errptr.run(|| {
        let slot = &given(db)?.slot;
        let db = slot.open()?;
        let left = |off: usize| if all { Some(0) } else { off.checked_sub(1) };
        let off = &slot.deletions_off;
        let before = off.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        let times = if all { before.unwrap_or(0) } else { 1 };
        (0..times).try_for_each(|_| on_db!(db, db => db.enable_file_deletions()))
    });
}

#[cfg(not(any(feature = "abi-7", feature = "abi-8")))]
exports! {
    fn rocksdb_enable_file_deletions(db: Db<'_>, errptr: ErrPtr) {
        enable_file_deletions(db, false, errptr);
    }
}

#[cfg(any(feature = "abi-7", feature = "abi-8"))]
exports! {
    fn rocksdb_enable_file_deletions(db: Db<'_>, force: u8, errptr: ErrPtr) {
        enable_file_deletions(db, force != 0, errptr);
    }
}
