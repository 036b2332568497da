//! A whole database whose files are not what they were.
//!
//! An input is a program: which database, how it is opened, and what happens to
//! its files before (`mutation`). Then all that can be asked of it is asked.
//! Results are data or errors; no thread may panic, every call ends, and no
//! operation of the file system may leave the directories it was given.
//!
//! | byte | |
//! |---|---|
//! | 0 | the database: one of `bases`, or one whose files follow byte 2 |
//! | 1 | how it is opened: the lowest 3 bits a [`Way`], the next 2 the recovery mode, then whether it compacts by itself, and whether it verifies tracked logs |
//! | 2 | reserved |
//! | 3.. | mutations |

mod bases;
mod mutation;

pub use self::bases::input_of;

use self::mutation::Program;
use crate::checkpoint::Checkpoint;
use crate::db::options_file::load_latest;
use crate::{
    ColumnFamilyDescriptor, DBRecoveryMode, DBWithThreadMode, Error, MergeOperands, MultiThreaded,
    Options, ReadOptions, WaitForCompactOptions, WriteBatch, WriteOptions,
};
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::fs::fault::FaultFs;
use whitewater_storage::fs::mem::MemFs;

type Db = DBWithThreadMode<MultiThreaded>;

/// All files are in here.
const ROOT: &str = "/fuzz";
const DIR: &str = "/fuzz/db";
const SECOND: &str = "/fuzz/second";
const COPY: &str = "/fuzz/copy";

/// Entries that are looked at in one direction: files may repeat themselves.
const MAX_ENTRIES: usize = 2_000;

/// Inputs that make more column families than this show nothing new.
const MAX_FAMILIES: usize = 32;

/// Longer inputs show nothing new.
const MAX_INPUT: usize = 128 << 10;

/// How long to wait for background jobs at most. Microseconds.
const PATIENCE: u64 = 2_000_000;

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    ToWrite,
    ToRead,
    ToFollow,
    Repaired,
    WithItsOptions,
}

/// Runs one input; see the module.
pub fn database(data: &[u8]) {
    if data.len() > MAX_INPUT {
        return;
    }
    let Some((&[base, how, _], rest)) = data.split_first_chunk::<3>() else {
        return;
    };
    let files = MemFs::new();
    let mut program = Program::new(rest);
    bases::put(base, &files, &mut program);
    program.run(&files);
    let fs = FaultFs::new(Arc::new(files));
    fs.start_recording();
    attempt(how, &fs);
    for operation in fs.end_recording() {
        let path = &operation.path;
        assert!(
            path.starts_with(ROOT) && path.components().all(|c| c.as_os_str() != ".."),
            "{operation:?} is outside"
        );
    }
}

/// An error is fine, unless it tells of a panic.
fn judge<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(e) => {
            assert!(!e.to_string().contains("panicked"), "{e}");
            None
        }
    }
}

fn options(how: u8, fs: &FaultFs) -> Options {
    let mut o = Options::default();
    o.set_fs(Arc::new(fs.clone()));
    o.set_write_buffer_size(64 << 10);
    o.set_arena_block_size(4 << 10);
    o.set_target_file_size_base(4 << 10);
    o.set_max_bytes_for_level_base(8 << 10);
    o.set_level_zero_file_num_compaction_trigger(2);
    o.set_max_background_jobs(2);
    o.set_max_open_files(16);
    o.set_stats_dump_period_sec(0);
    o.set_stats_persist_period_sec(0);
    o.set_bgerror_resume_retry_interval(64);
    o.set_merge_operator_associative("append", append);
    o.set_wal_recovery_mode(match how >> 3 & 3 {
        0 => DBRecoveryMode::PointInTime,
        1 => DBRecoveryMode::TolerateCorruptedTailRecords,
        2 => DBRecoveryMode::AbsoluteConsistency,
        _ => DBRecoveryMode::SkipAnyCorruptedRecord,
    });
    o.set_disable_auto_compactions(how & 0x20 == 0);
    o.set_track_and_verify_wals_in_manifest(how & 0x40 != 0);
    o
}

fn append(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    let mut all = existing.unwrap_or_default().to_vec();
    operands.iter().for_each(|operand| all.extend(operand));
    Some(all)
}

/// Opens the database and asks it everything.
fn attempt(how: u8, fs: &FaultFs) {
    let way = match how & 7 {
        0..=2 => Way::ToWrite,
        3 | 4 => Way::ToRead,
        5 => Way::ToFollow,
        6 => Way::Repaired,
        _ => Way::WithItsOptions,
    };
    let options = options(how, fs);
    if way == Way::Repaired && judge(Db::repair(&options, DIR)).is_none() {
        return;
    }
    let names = judge(Db::list_cf(&options, DIR)).unwrap_or_default();
    if names.len() > MAX_FAMILIES {
        return;
    }
    match way {
        Way::ToRead => {
            let opened = Db::open_cf_for_read_only(&options, DIR, &names, false);
            if let Some(db) = judge(opened) {
                read(&db, &names);
            }
        }
        Way::ToFollow => {
            if let Some(db) = judge(Db::open_cf_as_secondary(&options, DIR, SECOND, &names)) {
                read(&db, &names);
                judge(db.try_catch_up_with_primary());
                read(&db, &names);
            }
        }
        Way::WithItsOptions => {
            judge(load_latest(fs, Path::new(DIR)));
            open_to_write(&options, &names);
        }
        Way::ToWrite | Way::Repaired => open_to_write(&options, &names),
    }
}

/// Opens the database, reads, writes, compacts, copies, closes, and once more
/// opens and reads.
fn open_to_write(options: &Options, names: &[String]) {
    let open = || {
        let families = names
            .iter()
            .map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
        judge(Db::open_cf_descriptors(options, DIR, families))
    };
    let Some(db) = open() else {
        return;
    };
    read(&db, names);
    write(&db, names);
    read(&db, names);
    drop(db);
    if let Some(db) = open() {
        read(&db, names);
    }
}

/// Reads everything in every way.
fn read(db: &Db, names: &[String]) {
    for name in names {
        let Some(cf) = db.cf_handle(name) else {
            continue;
        };
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let mut iter = db.raw_iterator_cf_opt(&cf, options);
        let mut keys = Vec::new();
        iter.seek_to_first();
        while let Some(key) = iter.key().filter(|_| keys.len() < MAX_ENTRIES) {
            keys.push(key.to_vec());
            iter.next();
        }
        judge(iter.status());
        iter.seek_to_last();
        let mut left = MAX_ENTRIES;
        while iter.valid() && left > 0 {
            left -= 1;
            iter.prev();
        }
        judge(iter.status());
        for key in keys.iter().step_by(1 + keys.len() / 16) {
            judge(db.get_cf(&cf, key));
            iter.seek(key);
            if iter.valid() {
                iter.prev();
            }
            judge(iter.status());
            iter.seek_for_prev(key);
            judge(iter.status());
        }
        for key in [&b""[..], b"key3", b"\xff\xff"] {
            judge(db.get_cf(&cf, key));
        }
        judge(db.property_value_cf(&cf, "rocksdb.stats"));
        judge(db.property_value_cf(&cf, "rocksdb.sstables"));
        judge(db.property_value_cf(&cf, "rocksdb.aggregated-table-properties"));
        let ranges = [crate::Range::new(&b"a"[..], &b"z"[..])];
        db.get_approximate_sizes_cf(&cf, &ranges);
    }
    judge(db.live_files());
    if let Some(updates) = judge(db.get_updates_since(0)) {
        for update in updates.take(MAX_ENTRIES) {
            judge(update);
        }
    }
}

/// Writes a little, and has everything rewritten.
fn write(db: &Db, names: &[String]) {
    let mut batch = WriteBatch::default();
    for cf in names.iter().filter_map(|name| db.cf_handle(name)) {
        batch.put_cf(&cf, b"key1", b"put");
        batch.merge_cf(&cf, b"key2", b"merged");
        batch.delete_cf(&cf, b"key3");
        batch.delete_range_cf(&cf, b"key4", b"key5");
    }
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    judge(db.write_opt(batch, &synced));
    for name in names {
        let Some(cf) = db.cf_handle(name) else {
            continue;
        };
        judge(db.flush_cf(&cf));
        let none = None::<&[u8]>;
        judge(db.try_compact_range_cf_opt(&cf, none, none, &Default::default()));
    }
    let mut wait = WaitForCompactOptions::default();
    wait.set_timeout(PATIENCE);
    judge(db.wait_for_compact(&wait));
    judge(Checkpoint::new(db).and_then(|c| c.create_checkpoint(COPY)));
    judge(db.create_cf("another", &Options::default()));
    judge(db.drop_cf("another"));
    judge(db.resume());
}
