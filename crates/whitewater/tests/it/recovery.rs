//! A process that dies leaves exactly what it has acknowledged, and nothing twice.
//!
//! Each test is a small case of one rule and is deterministic. `crash` and `model` kill at random.

use crate::harness::{DIR, Db, open_all, open_named, protocols, tiny_on};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, read_file};
use whitewater::{DB, DBRecoveryMode, ErrorKind, FlushOptions, WriteBatch, WriteOptions};
use whitewater_storage::batch::{self, Batch};
use whitewater_storage::key::{ValueType, parse_internal_key};
use whitewater_storage::sst::{Table, TableReadOptions, TableReaderOptions};
use whitewater_storage::wal::{LogReader, LogWriter, ReadOutcome};

/// The files that the death of the process leaves.
fn killed(fs: &MemFs) -> MemFs {
    fs.crash_clone(1.0, 0)
}

fn open(fs: &MemFs) -> Db {
    open_all(&tiny_on(fs.clone()), Path::new(DIR)).expect("opens")
}

fn open_two(fs: &MemFs) -> Db {
    let names = ["default", "one"].map(str::to_owned);
    open_named(&tiny_on(fs.clone()), Path::new(DIR), &names).expect("opens")
}

fn get(db: &Db, family: &str, key: &str) -> Option<String> {
    let cf = db.cf_handle(family).expect("opened");
    let found = db.get_cf(&cf, key).expect("readable");
    found.map(|v| String::from_utf8(v).expect("text"))
}

#[test]
fn what_was_acknowledged_outlives_the_process() {
    for protocol in protocols() {
        let mut fs = MemFs::new();
        for life in 0..3 {
            let mut options = tiny_on(fs.clone());
            options.set_commit_protocol(protocol);
            let db = open_all(&options, Path::new(DIR)).expect("opens");
            for n in 0..5 * life {
                let found = get(&db, "default", &format!("key{n}"));
                assert!(found.is_some(), "{protocol}: key{n} in life {life}");
            }
            for n in 5 * life..5 * (life + 1) {
                db.put(format!("key{n}"), "1").expect("writes");
            }
            fs = killed(&fs);
        }
    }
}

#[test]
fn numbers_go_on_behind_the_last() {
    let mut fs = MemFs::new();
    for life in 0..4 {
        let db = open(&fs);
        assert_eq!(db.latest_sequence_number(), 2 * life);
        if life > 0 {
            let found = get(&db, "default", "k");
            assert_eq!(found, Some(format!("{}", life - 1)));
        }
        db.put("other", "1").expect("writes");
        db.put("k", life.to_string()).expect("writes");
        fs = killed(&fs);
    }
}

#[test]
fn what_was_flushed_is_not_replayed() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let one = db.cf_handle("one").expect("opened");
    db.merge("k", "a").expect("writes");
    db.merge_cf(&one, "k", "a").expect("writes");
    db.flush_cf(&one).expect("flushes");
    db.merge_cf(&one, "k", "b").expect("writes");
    let mut left = killed(&fs);
    for _ in 0..2 {
        let db = open(&left);
        assert_eq!(get(&db, "default", "k").as_deref(), Some("a"));
        assert_eq!(get(&db, "one", "k").as_deref(), Some("a,b"));
        left = killed(&left);
    }
}

#[test]
fn a_log_stays_as_long_as_a_family_needs_it() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let one = db.cf_handle("one").expect("opened");
    db.put("needed", "1").expect("writes");
    for n in 0..3 {
        db.put_cf(&one, "k", n.to_string()).expect("writes");
        db.flush_cf(&one).expect("flushes");
        let left = open(&killed(&fs));
        assert_eq!(get(&left, "default", "needed").as_deref(), Some("1"));
        assert_eq!(get(&left, "one", "k"), Some(n.to_string()));
    }
}

#[test]
fn a_family_has_nothing_of_one_dropped_before() {
    let fs = MemFs::new();
    let db = open(&fs);
    db.create_cf("old", &tiny_on(fs.clone())).expect("created");
    db.put("kept", "1").expect("writes");
    let old = db.cf_handle("old").expect("created");
    db.put_cf(&old, "k", "1").expect("writes");
    drop(old);
    db.drop_cf("old").expect("dropped");
    db.create_cf("new", &tiny_on(fs.clone())).expect("created");
    let left = killed(&fs);
    assert_eq!(get(&db, "new", "k"), None);
    let db = open(&left);
    assert_eq!(get(&db, "default", "kept").as_deref(), Some("1"));
    assert_eq!(get(&db, "new", "k"), None);
    assert!(db.cf_handle("old").is_none());
}

/// The log's records have one length in each of its lives, so new records lie exactly over old
/// ones. Some old records are left behind the last new one.
#[test]
fn a_recycled_log_has_nothing_of_its_former_life() {
    for recycled in [1, 2, 3] {
        let fs = MemFs::new();
        let mut options = tiny_on(fs.clone());
        options.set_recycle_log_file_num(recycled);
        let db = open_all(&options, Path::new(DIR)).expect("opens");
        for life in 0..8 {
            let last = life == 7;
            for n in 0..if last { 2 } else { 10 } {
                db.put(format!("key{n}"), format!("{life:0100}"))
                    .expect("writes");
            }
            if !last {
                db.flush().expect("flushes");
            }
        }
        let left = open(&killed(&fs));
        for n in 0..10 {
            let life = if n < 2 { 7 } else { 6 };
            let found = get(&left, "default", &format!("key{n}"));
            assert_eq!(found, Some(format!("{life:0100}")), "key{n}, {recycled}");
        }
    }
}

/// However often the manifest is rewritten.
#[test]
fn a_dropped_family_does_not_come_back() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_max_manifest_file_size(1);
    let db = open_all(&options, Path::new(DIR)).expect("opens");
    db.create_cf("brief", &options).expect("created");
    db.drop_cf("brief").expect("dropped");
    for _ in 0..2 {
        db.put("k", "1").expect("writes");
        db.flush().expect("flushes");
    }
    let names = Db::list_cf(&options, Path::new(DIR)).expect("listed");
    assert_eq!(names, ["default"]);
    let left = open(&killed(&fs));
    assert!(left.cf_handle("brief").is_none());
}

#[test]
fn records_are_in_memory_until_they_are_flushed() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_manual_wal_flush(true);
    let db = open_all(&options, Path::new(DIR)).expect("opens");
    db.put("k", "1").expect("writes");
    assert_eq!(get(&open(&killed(&fs)), "default", "k"), None);
    db.flush_wal(false).expect("flushes");
    let left = open(&killed(&fs));
    assert_eq!(get(&left, "default", "k").as_deref(), Some("1"));
}

/// Logs of other engines do not say where the log before them ended.
#[test]
fn nothing_counts_behind_a_torn_tail() {
    let dir = Path::new(DIR);
    let fs = MemFs::new();
    let db = open_two(&fs);
    let one = db.cf_handle("one").expect("opened");
    db.put("first", "1").expect("writes");
    db.put("torn", "1").expect("writes");
    // A new log; the old one stays for the default column family.
    db.put_cf(&one, "flushed", "1").expect("writes");
    let left = killed(&fs);
    db.flush_cf(&one).expect("flushes");
    db.put("behind", "1").expect("writes");
    let second = killed(&fs);
    let logs = |fs: &MemFs| {
        let mut names = fs.list(dir).expect("listed");
        names.retain(|name| name.ends_with(".log"));
        names.sort();
        names
    };
    let (first_log, second_log) = (logs(&left)[0].clone(), logs(&second)[1].clone());
    assert!(second_log > first_log);
    // The files from before the flush, with the log from after it, which has no link.
    for (torn, wanted) in [(false, [true, true, true]), (true, [true, false, false])] {
        let fs = killed(&left);
        rewrite(&left, &fs, &first_log, if torn { 2 } else { 3 }, torn);
        rewrite(&second, &fs, &second_log, usize::MAX, false);
        let mut options = tiny_on(fs);
        options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        let db = open_all(&options, dir).expect("opens");
        let found = ["first", "torn", "behind"].map(|key| get(&db, "default", key).is_some());
        assert_eq!(found, wanted, "torn: {torn}");
    }
}

/// Writes the first `count` records of a log of `from` to `to`, without links to other logs. If it
/// is to be torn, only half of the last one is written.
fn rewrite(from: &MemFs, to: &MemFs, name: &str, count: usize, torn: bool) {
    let path = Path::new(DIR).join(name);
    let number = name.trim_end_matches(".log").parse().expect("a number");
    let mut reader = LogReader::new(from.open_sequential(&path).expect("opens"), number);
    let mut records = Vec::new();
    let mut record = Vec::new();
    while reader.read_record(&mut record).expect("readable") == ReadOutcome::Record {
        if batch::count(&record) > 0 && records.len() < count {
            records.push(record.clone());
        }
    }
    let mut writer = LogWriter::new(to.create(&path).expect("created"), number, false);
    for record in &records {
        writer.add_record(&[record]).expect("writes");
    }
    drop(writer);
    if torn {
        let bytes = read_file(to, &path, u64::MAX).expect("readable");
        let last = records.last().expect("a record").len();
        let mut file = to.create(&path).expect("created");
        file.append(&bytes[..bytes.len() - last / 2])
            .expect("writes");
    }
}

/// Adds a log as RocksDB writes them, without links to other logs. `batches` are batches with their
/// first numbers. `torn` bytes of the last one are missing.
fn add_log(fs: &MemFs, number: u64, batches: &[(u64, &Batch)], torn: usize) {
    let path = Path::new(DIR).join(format!("{number:06}.log"));
    let mut writer = LogWriter::new(fs.create(&path).expect("created"), number, false);
    for (sequence, batch) in batches {
        let parts = [&sequence.to_le_bytes()[..], &batch.bytes()[8..]];
        writer.add_record(&parts).expect("writes");
    }
    drop(writer);
    let bytes = read_file(fs, &path, u64::MAX).expect("readable");
    let mut file = fs.create(&path).expect("created");
    file.append(&bytes[..bytes.len() - torn]).expect("writes");
}

/// A database with nothing in its logs, and its last number.
fn flushed() -> (MemFs, u64) {
    let fs = MemFs::new();
    let db = open(&fs);
    db.put("first", "1").expect("writes");
    db.flush().expect("flushes");
    let last = db.latest_sequence_number();
    drop(db);
    (fs, last)
}

fn put(key: &str) -> Batch {
    let mut batch = Batch::default();
    batch.push(0, ValueType::Value, key.as_bytes(), b"1");
    batch
}

/// RocksDB gives the number of a batch that holds only log data to the next write, too. Here such a
/// batch takes a number.
#[test]
fn log_data_before_a_torn_tail_takes_no_number_or_one() {
    let dir = Path::new(DIR);
    let (fs, last) = flushed();
    let mut note = Batch::default();
    note.push_log_data(b"a note");
    for (noted, next, goes_on) in [
        (true, 2, true),
        (true, 3, true),
        (true, 4, false),
        (true, 1, false),
        (false, 2, true),
        (false, 1, false),
        (false, 3, false),
    ] {
        let fs = killed(&fs);
        let (a, torn, b) = (put("a"), put("torn"), put("b"));
        let mut batches = vec![(last + 1, &a)];
        if noted {
            batches.push((last + 2, &note));
        }
        batches.push((last + 2, &torn));
        add_log(&fs, 900, &batches, 3);
        add_log(&fs, 901, &[(last + next, &b)], 0);
        let mut options = tiny_on(fs);
        options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        let keys = ["first", "a", "torn", "b"];
        let wanted = [true, true, false, goes_on];
        let own = Path::new("/data/secondary");
        let secondary = DB::open_as_secondary(&options, dir, own).expect("opens");
        let found = keys.map(|key| secondary.get(key).expect("readable").is_some());
        assert_eq!(found, wanted, "{noted}, {next}, by a secondary instance");
        drop(secondary);
        let db = open_all(&options, dir).expect("opens");
        let found = keys.map(|key| get(&db, "default", key).is_some());
        assert_eq!(found, wanted, "{noted}, {next}");
    }
}

/// The types and stored values of all entries of `key` in tables.
fn stored(fs: &MemFs, key: &str) -> Vec<(ValueType, Vec<u8>)> {
    let mut found = Vec::new();
    for name in fs.list(Path::new(DIR)).expect("listed") {
        if !name.ends_with(".sst") {
            continue;
        }
        let file = fs.open_random(&Path::new(DIR).join(name)).expect("opens");
        let size = file.len().expect("known");
        let table = Table::open(file, size, TableReaderOptions::default()).expect("opens");
        let mut entries = Arc::new(table).iter(TableReadOptions::default());
        entries.seek_to_first();
        while entries.valid() {
            let entry = parse_internal_key(entries.key()).expect("a key");
            if entry.user_key == key.as_bytes() {
                found.push((entry.ty, entries.value().to_vec()));
            }
            entries.next();
        }
        entries.status().expect("whole");
    }
    found
}

/// In a log, the value of RocksDB's `TimedPut` ends with the time of the write in seconds. In a
/// table these bytes would be a sequence number.
#[test]
fn a_put_with_a_time_is_a_plain_one_in_tables() {
    let dir = Path::new(DIR);
    let (fs, last) = flushed();
    let mut timed = Batch::default();
    let value = [b"value", &1_700_000_000u64.to_le_bytes()[..]].concat();
    timed.push(0, ValueType::ValuePreferredSeqno, b"timed", &value);
    timed.push(0, ValueType::Merge, b"merged", b"0");
    timed.push(0, ValueType::ValuePreferredSeqno, b"merged", &value);
    timed.push(0, ValueType::Merge, b"merged", b"1");
    add_log(&fs, 900, &[(last + 1, &timed)], 0);

    let options = tiny_on(fs.clone());
    let db = DB::open_for_read_only(&options, dir, false).expect("opens");
    assert_eq!(
        db.get("timed").expect("reads").as_deref(),
        Some(&b"value"[..])
    );
    drop(db);
    let plain = [(ValueType::Value, b"value".to_vec())];
    for repaired in [false, true] {
        let fs = killed(&fs);
        if repaired {
            Db::repair(&tiny_on(fs.clone()), dir).expect("repairs");
        }
        let db = open(&fs);
        assert_eq!(stored(&fs, "timed"), plain, "repaired: {repaired}");
        for _ in 0..2 {
            assert_eq!(get(&db, "default", "timed").as_deref(), Some("value"));
            assert_eq!(get(&db, "default", "merged").as_deref(), Some("value,1"));
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
    }
    // Too short to have a time.
    let short = killed(&fs);
    let mut torn = Batch::default();
    torn.push(0, ValueType::ValuePreferredSeqno, b"timed", b"1234567");
    add_log(&short, 901, &[(last + 5, &torn)], 0);
    let mut options = tiny_on(short);
    options.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
    let e = open_all(&options, dir).expect_err("damaged");
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    assert_eq!(e.file(), Some(&*dir.join("000901.log")), "{e}");
}

/// A manifest that ends inside the record of an atomic flush has none of the flush's tables.
#[test]
fn half_of_an_atomic_flush_does_not_count() {
    let dir = Path::new(DIR);
    let fs = MemFs::new();
    let with = |fs: &MemFs| {
        let mut options = tiny_on(fs.clone());
        options.set_commit_protocol(whitewater::CommitProtocol::Ordered);
        options.set_atomic_flush(true);
        options
    };
    let names = ["default", "one"].map(str::to_owned);
    let db = open_named(&with(&fs), dir, &names).expect("opens");
    let families = ["default", "one"].map(|name| db.cf_handle(name).expect("opened"));
    let mut batch = WriteBatch::default();
    families.iter().for_each(|cf| batch.put_cf(cf, "k", "1"));
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    db.write_opt(batch, &unlogged).expect("writes");
    let manifest = {
        let names = fs.list(dir).expect("listed");
        let name = names.into_iter().find(|name| name.starts_with("MANIFEST"));
        dir.join(name.expect("there is one"))
    };
    let before = fs.file_size(&manifest).expect("known") as usize;
    let all: Vec<_> = families.iter().collect();
    db.flush_cfs_opt(&all, &FlushOptions::default())
        .expect("flushes");
    let bytes = read_file(&fs, &manifest, u64::MAX).expect("readable");
    let left = killed(&fs);
    let mut seen = [0; 2];
    for end in before..=bytes.len() {
        let fs = killed(&left);
        let mut cut = fs.create(&manifest).expect("created");
        cut.append(&bytes[..end]).expect("writes");
        drop(cut);
        let db = open_all(&with(&fs), dir).expect("opens");
        let found = ["default", "one"].map(|name| get(&db, name, "k").is_some());
        assert_eq!(found[0], found[1], "cut at {end} of {}", bytes.len());
        seen[usize::from(found[0])] += 1;
    }
    assert!(seen[0] > 10 && seen[1] > 0, "{seen:?}");
}

/// An opening is killed at any of its syncs, and another one follows.
#[test]
fn an_opening_may_die_anywhere() {
    let fs = MemFs::new();
    let db = open_two(&fs);
    let one = db.cf_handle("one").expect("opened");
    for n in 0..3 {
        db.merge("k", n.to_string()).expect("writes");
        db.merge_cf(&one, "k", n.to_string()).expect("writes");
        db.flush_cf(&one).expect("flushes");
    }
    let left = killed(&fs);
    let kills = Arc::new(Mutex::new(Vec::new()));
    let (seen, clone) = (kills.clone(), left.clone());
    left.set_sync_hook(Arc::new(move |_| seen.lock().push(killed(&clone))));
    drop(open(&left));
    left.clear_sync_hook();
    let kills = std::mem::take(&mut *kills.lock());
    assert!(kills.len() > 4);
    for (i, fs) in kills.iter().enumerate() {
        let db = open(fs);
        for family in ["default", "one"] {
            let found = get(&db, family, "k");
            assert_eq!(
                found.as_deref(),
                Some("0,1,2"),
                "{family}, killed at sync {i}"
            );
        }
    }
}
