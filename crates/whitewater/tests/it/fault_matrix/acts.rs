//! What phases do while an operation fails.

use super::history::{Change, Entry, History, State, Told};
use super::run::{Run, entry, state_of};
use crate::harness::walk::Content;
use crate::harness::{DIR, Db, open_named};
use std::path::Path;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::fault::{FaultOp, Injected};
use whitewater::fs::{Fs, read_file};
use whitewater::{Error, IngestExternalFileOptions};

pub fn create(run: &mut Run) {
    let names = ["default".to_owned(), "one".to_owned()];
    run.history = History::since(State::from([("default".to_owned(), Default::default())]));
    let opened = open_named(&run.options, Path::new(DIR), &names);
    run.db = run.tell("open", opened);
    let told = match run.db {
        Some(_) => Told::Done,
        None => Told::Failed,
    };
    run.history.note(Change::Create("one".to_owned()), told);
    if run.db.is_some() {
        run.history.all_durable();
    }
}

pub fn open_read_only(run: &mut Run) {
    let names = run.history.visible().into_keys();
    let opened = Db::open_cf_for_read_only(&run.options, DIR, names, false);
    run.db = run.tell("open read-only", opened);
}

/// Follows the database, to which nothing is written.
pub fn follow(run: &mut Run) {
    let names = run.history.visible().into_keys();
    let opened = Db::open_cf_as_secondary(&run.options, DIR, "/data/follower", names);
    run.db = run.tell("open as secondary", opened);
    if let Some(db) = &run.db {
        let done = db.try_catch_up_with_primary();
        run.tell("try_catch_up_with_primary", done);
    }
}

/// Repairs the database, and opens it.
pub fn repair(run: &mut Run) {
    let done = Db::repair(&run.options, DIR);
    if run.tell("repair", done).is_some() {
        run.open();
    }
}

/// The database has blob files.
pub fn check_blobs(run: &Run, _: Option<&Injected>) -> Result<(), String> {
    let count = run.db().property_int_value("rocksdb.num-blob-files");
    match count.map_err(|e| e.to_string())? {
        Some(1..) => Ok(()),
        other => Err(format!("{other:?} blob files")),
    }
}

pub fn write(run: &mut Run) {
    for (i, len) in [100, 200, 40_000, 100_000, 100].into_iter().enumerate() {
        run.put("default", &format!("w{i}"), len);
    }
}

pub fn write_synced(run: &mut Run) {
    run.put("default", "w0", 100);
    run.put_synced("default", "w1", 100);
    run.put("one", "w2", 100);
    let done = run.db().flush_wal(true);
    if run.tell("flush_wal", done).is_some() && !run.history.has_failed() {
        run.history.all_durable();
    }
    run.put_synced("default", "w3", 70_000);
}

pub fn switch(run: &mut Run) {
    for i in 0..10 {
        run.put("default", &format!("w{i}"), 8_000);
    }
}

pub fn compact(run: &mut Run) {
    let none = None::<&[u8]>;
    let done = (run.db()).try_compact_range_opt(none, none, &Default::default());
    run.tell("compaction", done);
}

pub fn compact_automatically(run: &mut Run) {
    let change = [("disable_auto_compactions", "false")];
    let done = run.db().set_options(&change);
    run.tell("set_options", done);
    let done = run.db().wait_for_compact(&Default::default());
    run.tell("wait_for_compact", done);
}

/// A change of column families.
pub fn note_family(run: &mut Run, change: Change, done: Result<(), Error>) {
    let told = match &done {
        Ok(()) => Told::Done,
        Err(_) => Told::Failed,
    };
    run.history.note(change, told);
    if run.tell("column family", done).is_some() {
        run.history.all_durable();
    }
}

pub fn create_family(run: &mut Run) {
    let done = run.db().create_cf("two", &run.options);
    note_family(run, Change::Create("two".to_owned()), done);
}

pub fn drop_family(run: &mut Run) {
    let done = run.db().drop_cf("one");
    note_family(run, Change::Drop("one".to_owned()), done);
}

pub const OUTSIDE: &str = "/data/outside.sst";

pub fn ingested(prefix: &str) -> Vec<Entry> {
    (0..5)
        .map(|i| entry("default", &format!("{prefix}{i:02}"), 77))
        .collect()
}

pub fn ingest(run: &mut Run, prefix: &str, by_move: bool) {
    let mut how = IngestExternalFileOptions::default();
    how.set_move_files(by_move);
    let done = run.db().ingest_external_file_opts(&how, vec![OUTSIDE]);
    let change = Change::Write(ingested(prefix));
    let told = match &done {
        Ok(()) => Told::Done,
        Err(_) => Told::Failed,
    };
    run.history.note(change, told);
    if run.tell("ingestion", done).is_some() {
        run.history.all_durable();
    }
}

pub const CHECKPOINT: &str = "/data/checkpoint";

/// A checkpoint with the memtables flushed, or with a copy of the log.
pub fn checkpoint(run: &mut Run, flushed: bool) {
    let limit = if flushed { 0 } else { u64::MAX };
    let done = Checkpoint::new(run.db())
        .and_then(|c| c.create_checkpoint_with_log_size(CHECKPOINT, limit));
    run.tell("checkpoint", done);
}

/// A checkpoint that was made holds everything. One that failed does not exist, and can be made
/// again unless the database was stopped.
pub fn check_checkpoint(run: &Run, fault: Option<&Injected>) -> Result<(), String> {
    let dir = Path::new(CHECKPOINT);
    let there = run.memory.exists(dir).map_err(|e| e.to_string())?;
    if !run.errors.is_empty() {
        let fault = fault.ok_or("a checkpoint fails without a fault")?;
        if there && fault.op != FaultOp::SyncDir {
            return Err("a failed checkpoint is there".to_owned());
        }
        // Another parent directory: once a sync of one has failed, it is not synced again.
        let again = Checkpoint::new(run.db()).and_then(|c| c.create_checkpoint("/other"));
        return match again {
            Err(e) if !fault.path.starts_with(DIR) => Err(format!("the next checkpoint: {e}")),
            _ => Ok(()),
        };
    }
    let wanted = run.history.visible();
    let names: Vec<String> = wanted.keys().cloned().collect();
    let opened = open_named(&run.options, dir, &names);
    let db = opened.map_err(|e| format!("the checkpoint does not open: {e}"))?;
    match state_of(&db, names.iter())? == wanted {
        true => Ok(()),
        false => Err("the checkpoint holds something else".to_owned()),
    }
}

pub fn delete_files(run: &mut Run) {
    let done = run.db().delete_file_in_range("g", "g~");
    let gone = (0..4).map(|i| ("default".to_owned(), format!("g{i}").into_bytes(), None));
    let told = match &done {
        Ok(()) => Told::Done,
        Err(_) => Told::Failed,
    };
    run.history.note(Change::Write(gone.collect()), told);
    if run.tell("delete_file_in_range", done).is_some() {
        run.history.all_durable();
    }
}

/// Gets everything. What is read is right.
pub fn get(run: &mut Run) {
    let (mut errors, mut wrong) = (Vec::new(), Vec::new());
    for (family, content) in run.history.visible() {
        let cf = run.db().cf_handle(&family).expect("there");
        for (key, value) in content {
            match run.db().get_cf(&cf, &key) {
                Ok(found) if found.as_ref() == Some(&value) => {}
                Ok(_) => wrong.push(format!("get of {family} {key:?}")),
                Err(e) => errors.push(("get".to_owned(), e)),
            }
        }
    }
    run.errors.extend(errors);
    run.wrong.extend(wrong);
}

/// Iterates over everything, in both directions. What is read to the end is right.
pub fn iterate(run: &mut Run) {
    let (mut errors, mut wrong) = (Vec::new(), Vec::new());
    for (family, content) in run.history.visible() {
        let cf = run.db().cf_handle(&family).expect("there");
        for forward in [true, false] {
            let mut iter = run.db().raw_iterator_cf(&cf);
            match forward {
                true => iter.seek_to_first(),
                false => iter.seek_to_last(),
            }
            let mut found = Content::new();
            while let Some((key, value)) = iter.item() {
                found.insert(key.to_vec(), value.to_vec());
                match forward {
                    true => iter.next(),
                    false => iter.prev(),
                }
            }
            match iter.status() {
                Err(e) => errors.push(("iteration".to_owned(), e)),
                Ok(()) if found == content => {}
                Ok(()) => wrong.push(format!("iteration over {family}, forward: {forward}")),
            }
        }
    }
    run.errors.extend(errors);
    run.wrong.extend(wrong);
}

/// Without a fault, compactions have written tables to both levels, and moved some.
pub fn check_levels(run: &Run, fault: Option<&Injected>) -> Result<(), String> {
    if fault.is_some() {
        return Ok(());
    }
    let log = Path::new(DIR).join("LOG");
    let log = read_file(&run.memory, &log, 1 << 20).map_err(|e| e.to_string())?;
    let log = String::from_utf8_lossy(&log);
    let done = |what: &str, moved: bool| {
        log.lines()
            .filter(|line| line.contains("] Compacted ") && line.contains(what))
            .any(|line| line.ends_with(" => 0 bytes") == moved)
    };
    match done("to L1", false) && done("to L2", false) && done("to L2", true) {
        true => Ok(()),
        false => Err("other compactions than expected".to_owned()),
    }
}

/// Reads back what was logged since the database was opened.
pub fn read_updates(run: &mut Run) {
    // Six batches of one entry each.
    let since = run.db().latest_sequence_number() - 5;
    let read = run.db().get_updates_since(since);
    let read: Result<Vec<_>, _> = read.and_then(|updates| updates.collect());
    if let Some(updates) = run.tell("updates", read) {
        let numbers = updates.iter().map(|(number, _)| *number);
        if !numbers.eq(since..since + 6) {
            run.wrong.push("updates are missing".to_owned());
        }
    }
}
