//! Checkpoints, files that are kept for copying, and tables that are dropped.

use crate::harness::{DIR, Db, open_all, protocols, tiny_on};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    BottommostLevelCompaction, CommitProtocol, CompactOptions, DBCompressionType, ErrorKind,
    IteratorMode, Options, WaitForCompactOptions, WriteBatch,
};

const COPY: &str = "/data/copy";

fn options(protocol: CommitProtocol) -> (MemFs, Options) {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/data")).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    let mut o = tiny_on(fs.clone());
    o.set_commit_protocol(protocol);
    (fs, o)
}

fn content(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let all = db.iterator(IteratorMode::Start).map(|e| e.unwrap());
    all.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

#[test]
fn a_checkpoint_is_a_database_of_its_own() {
    for (log_size, recycled) in [(0, 0), (u64::MAX, 0), (u64::MAX, 2)] {
        let (fs, mut o) = options(CommitProtocol::Ordered);
        o.set_recycle_log_file_num(recycled);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.create_cf("two", &o).unwrap();
        let two = db.cf_handle("two").unwrap();
        for i in 0..3_000u32 {
            db.put(i.to_be_bytes(), [7; 100]).unwrap();
            db.put_cf(&two, i.to_be_bytes(), b"two").unwrap();
        }
        db.delete(5u32.to_be_bytes()).unwrap();
        let then = content(&db);
        let checkpoint = Checkpoint::new(&db).unwrap();
        checkpoint
            .create_checkpoint_with_log_size(COPY, log_size)
            .unwrap();
        let e = checkpoint.create_checkpoint(COPY).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
        assert!(!fs.exists(Path::new("/data/copy.tmp")).unwrap());
        // Later changes of one database do not change the other.
        for i in 0..3_000u32 {
            db.put(i.to_be_bytes(), [8; 100]).unwrap();
        }
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let cut = fs.crash_clone(0.0, 1);
        for fs in [fs, cut] {
            let copy = open_all(&tiny_on(fs), Path::new(COPY)).unwrap();
            assert_eq!(content(&copy), then);
            let two = copy.cf_handle("two").unwrap();
            assert!(copy.get_cf(&two, 2_999u32.to_be_bytes()).unwrap().is_some());
            copy.put("more", "of it").unwrap();
            copy.compact_range(None::<&[u8]>, None::<&[u8]>);
            assert_eq!(content(&copy).len(), then.len() + 1);
        }
        assert_eq!(content(&db).len(), 3_000);
    }
}

/// Batches count up in two families. Each checkpoint holds a prefix of them, with all that was
/// acknowledged before the checkpoint began and nothing that began after it ended.
#[test]
fn a_checkpoint_beside_writers_is_one_moment() {
    for protocol in protocols() {
        let (_fs, o) = options(protocol);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.create_cf("two", &o).unwrap();
        let two = db.cf_handle("two").unwrap();
        let done = AtomicBool::new(false);
        let acked = [const { std::sync::atomic::AtomicU64::new(0) }; 3];
        std::thread::scope(|scope| {
            for (w, acked) in acked.iter().enumerate() {
                let (db, two, done) = (&db, &two, &done);
                scope.spawn(move || {
                    for n in 1u64.. {
                        if done.load(Ordering::SeqCst) {
                            break;
                        }
                        let mut batch = WriteBatch::default();
                        let key = [&[w as u8], &n.to_be_bytes()[..]].concat();
                        batch.put(&key, [1; 60]);
                        batch.put_cf(two, &key, [2; 60]);
                        db.write(batch).unwrap();
                        acked.store(n, Ordering::SeqCst);
                    }
                });
            }
            for round in 0..12u64 {
                let before: Vec<u64> = acked.iter().map(|a| a.load(Ordering::SeqCst)).collect();
                let path = format!("/data/copy{round}");
                let size = [0, u64::MAX, 1 << 15][round as usize % 3];
                Checkpoint::new(&db)
                    .unwrap()
                    .create_checkpoint_with_log_size(&path, size)
                    .unwrap();
                let copy = open_all(&o, Path::new(&path)).unwrap();
                let two = copy.cf_handle("two").unwrap();
                let found = content(&copy);
                let others = copy.iterator_cf(&two, IteratorMode::Start).count();
                assert_eq!(found.len(), others, "{protocol}: batches are whole");
                for (w, least) in before.iter().enumerate() {
                    let own = found.keys().filter(|k| k[0] == w as u8);
                    let numbers: Vec<u64> = own
                        .map(|k| u64::from_be_bytes(k[1..].try_into().unwrap()))
                        .collect();
                    let last = numbers.len() as u64;
                    assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "{protocol}");
                    assert!(last >= *least, "{protocol}: {last} of {least}");
                }
            }
            done.store(true, Ordering::SeqCst);
        });
    }
}

/// A resumption replaces the logs that a checkpoint may be about to copy.
#[test]
fn replaced_logs_stay_while_deletions_are_disabled() {
    let (fs, _) = options(CommitProtocol::Ordered);
    let faults = FaultFs::new(Arc::new(fs.clone()));
    let db = open_all(&tiny_on(faults.clone()), Path::new(DIR)).unwrap();
    let logs = || -> Vec<String> {
        let names = fs.list(Path::new(DIR)).unwrap().into_iter();
        names.filter(|name| name.ends_with(".log")).collect()
    };
    db.put("a", "1").unwrap();
    let before = logs();
    db.disable_file_deletions().unwrap();
    faults.add_rule(Rule::nth(OpSet::of(&[FaultOp::Sync]), 1));
    db.flush_wal(true).unwrap_err();
    faults.clear_rules();
    db.resume().unwrap();
    let both = logs();
    assert!(before.iter().all(|log| both.contains(log)), "{both:?}");
    db.enable_file_deletions().unwrap();
    let after = logs();
    assert_eq!(after.len(), 1);
    assert!(!before.contains(&after[0]), "{after:?}");
    assert_eq!(content(&db).len(), 1);
}

#[test]
fn a_checkpoint_that_fails_is_not_there() {
    let mut n = 0;
    loop {
        n += 1;
        let (fs, _) = options(CommitProtocol::Ordered);
        let faults = FaultFs::new(Arc::new(fs.clone()));
        let o = tiny_on(faults.clone());
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        db.put("b", "2").unwrap();
        faults.add_rule(Rule::nth(OpSet::ALL, n));
        let made = Checkpoint::new(&db)
            .unwrap()
            .create_checkpoint_with_log_size(COPY, u64::MAX);
        faults.clear_rules();
        let failed = !faults.injected().is_empty();
        let what = format!("{n}: {:?}, {made:?}", faults.injected());
        if made.is_ok() {
            let copy = open_all(&o, Path::new(COPY)).unwrap();
            assert_eq!(content(&copy), content(&db), "{what}");
        }
        db.put("c", "3").unwrap_or_else(|e| panic!("{what}: {e}"));
        if !failed {
            assert!(made.is_ok() && n > 10, "{what}");
            return;
        }
    }
}

#[test]
fn files_stay_while_deletions_are_disabled() {
    let (fs, mut o) = options(CommitProtocol::Ordered);
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let files = |kind: &str| {
        let names = fs.list(Path::new(DIR)).unwrap();
        names.iter().filter(|n| n.ends_with(kind)).count()
    };
    db.enable_file_deletions().unwrap(); // not disabled
    db.disable_file_deletions().unwrap();
    db.disable_file_deletions().unwrap();
    for _ in 0..3 {
        db.put("a", "1").unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    // Until flush threads have looked for obsolete files.
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(db.live_files().unwrap().len(), 1);
    assert_eq!(files(".sst"), 4);
    assert_eq!(files(".log"), 4);
    db.enable_file_deletions().unwrap();
    assert_eq!((files(".sst"), files(".log")), (4, 4));
    db.enable_file_deletions().unwrap();
    assert_eq!((files(".sst"), files(".log")), (1, 1));
}

#[test]
fn only_whole_tables_below_level_0_are_dropped() {
    let (fs, mut o) = options(CommitProtocol::Ordered);
    o.set_disable_auto_compactions(true);
    o.set_target_file_size_base(4 << 10);
    o.set_compression_type(DBCompressionType::None);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for i in 0..1_000u32 {
        db.put(i.to_be_bytes(), [7; 64]).unwrap();
    }
    db.flush().unwrap();
    db.delete_file_in_range(0u32.to_be_bytes(), 2_000u32.to_be_bytes())
        .unwrap();
    assert_eq!(content(&db).len(), 1_000, "level 0 stays");
    let mut rewritten = CompactOptions::default();
    rewritten.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &rewritten);
    let number = |k: &[u8]| u32::from_be_bytes(k.try_into().unwrap());
    let mut tables: Vec<(u32, u32)> = (db.live_files().unwrap().iter())
        .map(|f| {
            let key = |k: &Option<Vec<u8>>| number(k.as_deref().unwrap());
            (key(&f.start_key), key(&f.end_key))
        })
        .collect();
    tables.sort_unstable();
    assert!(tables.len() > 5, "{tables:?}");
    // From inside the first to the end of the fourth.
    let (from, to) = (tables[0].0 + 1, tables[3].1);
    db.delete_file_in_range(from.to_be_bytes(), to.to_be_bytes())
        .unwrap();
    let left: Vec<u32> = content(&db).keys().map(|k| number(k)).collect();
    let expected: Vec<u32> = (0..1_000)
        .filter(|i| *i <= tables[0].1 || *i > to)
        .collect();
    assert_eq!(left, expected);
    let names = fs.list(Path::new(DIR)).unwrap();
    let files = names.iter().filter(|n| n.ends_with(".sst")).count();
    assert_eq!(files, tables.len() - 3, "their files are gone");
    drop(db);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(content(&db).len(), expected.len());
}

/// A checkpoint's manifest asks for no logs that the checkpoint leaves out.
#[test]
fn a_checkpoint_with_tracked_logs_opens() {
    let (_fs, mut o) = options(CommitProtocol::Ordered);
    o.set_track_and_verify_wals_in_manifest(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.create_cf("two", &o).unwrap();
    let two = db.cf_handle("two").unwrap();
    db.put("key", "value").unwrap();
    db.put_cf(&two, "key", "value").unwrap();
    // The log is switched out and synced, and flushed later.
    db.flush().unwrap();
    db.put("more", "value").unwrap();
    let checkpoint = Checkpoint::new(&db).unwrap();
    for (copy, log_size) in [(COPY, 0), ("/data/other", u64::MAX)] {
        checkpoint
            .create_checkpoint_with_log_size(copy, log_size)
            .unwrap();
        let copy = open_all(&o, Path::new(copy)).unwrap();
        assert_eq!(content(&copy), content(&db));
    }
}

/// The options of a checkpoint do not lead to the original's logs.
#[test]
fn a_checkpoint_has_its_logs_with_it() {
    let (fs, mut o) = options(CommitProtocol::Ordered);
    o.set_wal_dir("/data/logs");
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put("a", "1").unwrap();
    Checkpoint::new(&db)
        .unwrap()
        .create_checkpoint_with_log_size(COPY, u64::MAX)
        .unwrap();
    let options_in = |dir: &str| {
        let names = fs.list(Path::new(dir)).unwrap().into_iter();
        let name = names.filter(|name| name.starts_with("OPTIONS-")).max();
        let path = Path::new(dir).join(name.unwrap());
        let len = fs.file_size(&path).unwrap() as usize;
        let text = fs.open_random(&path).unwrap().read_at(0, len).unwrap();
        String::from_utf8(text.to_vec()).unwrap()
    };
    let (original, copy) = (options_in(DIR), options_in(COPY));
    assert!(original.contains("wal_dir=/data/logs"), "{original}");
    assert!(!copy.contains("wal_dir"), "{copy}");
    assert_eq!(copy.lines().count() + 1, original.lines().count());
    let copy = open_all(&tiny_on(fs.clone()), Path::new(COPY)).unwrap();
    assert_eq!(content(&copy).len(), 1);
}

/// A directory for logs may belong to another database, by mistake.
#[test]
fn a_directory_of_logs_of_another_database_is_left_alone() {
    const LOGS: &str = "/data/logs";
    let (fs, mut o) = options(CommitProtocol::Ordered);
    o.set_wal_dir(LOGS);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    db.put("b", "1").unwrap();
    drop(db);
    let e = open_all(&o, Path::new(COPY)).err().unwrap();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert!(e.to_string().contains("wal_dir"), "{e}");
    assert_eq!(content(&open_all(&o, Path::new(DIR)).unwrap()).len(), 2);
    // Nor does destroying one database delete more than logs of the other.
    let mut astray = tiny_on(fs.clone());
    astray.set_wal_dir(DIR);
    drop(open_all(&astray, Path::new(COPY)).unwrap());
    Db::destroy(&astray, COPY).unwrap();
    assert!(!fs.exists(Path::new(COPY)).unwrap());
    assert_eq!(content(&open_all(&o, Path::new(DIR)).unwrap()).len(), 2);
}

#[test]
fn a_checkpoint_makes_no_parents() {
    let (fs, o) = options(CommitProtocol::Ordered);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put("k", "v").unwrap();
    let checkpoint = Checkpoint::new(&db).unwrap();
    let e = checkpoint.create_checkpoint("/data/none/copy").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError, "{e}");
    assert!(e.to_string().contains("No such file or directory"), "{e}");
    assert!(e.to_string().contains("/data/none/copy"), "{e}");
    assert!(!fs.exists(Path::new("/data/none")).unwrap());
    fs.create_dir_all(Path::new("/data/none")).unwrap();
    checkpoint.create_checkpoint("/data/none/copy").unwrap();
}

/// With everything in tables, the copy's log is empty. It does not even say which log came before
/// it.
#[test]
fn the_log_of_a_flushed_checkpoint_is_empty() {
    for protocol in protocols() {
        let (fs, o) = options(protocol);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.put("flushed", "v").unwrap();
        db.flush().unwrap();
        db.put("in a memtable", "v").unwrap();
        let checkpoint = Checkpoint::new(&db).unwrap();
        let logs = |dir: &str| -> Vec<u64> {
            let names = fs.list(Path::new(dir)).unwrap().into_iter();
            let logs = names.filter(|name| name.ends_with(".log"));
            let size = |name: String| fs.file_size(&Path::new(dir).join(name)).unwrap();
            logs.map(size).collect()
        };
        checkpoint
            .create_checkpoint_with_log_size(COPY, u64::MAX)
            .unwrap();
        let unflushed = logs(COPY);
        assert!(
            matches!(unflushed[..], [bytes] if bytes > 0),
            "{unflushed:?}"
        );
        let again = "/data/again";
        checkpoint.create_checkpoint(again).unwrap();
        assert_eq!(logs(again), [0]);
        for copy in [COPY, again] {
            let copy = open_all(&o, Path::new(copy)).unwrap();
            assert_eq!(content(&copy), content(&db));
            copy.put("more", "v").unwrap();
        }
    }
}

/// A file that cannot be looked at is not taken for missing.
#[test]
fn a_directory_that_cannot_be_read_is_not_one_without_a_database() {
    let (fs, mut o) = options(CommitProtocol::Ordered);
    drop(open_all(&o, Path::new(DIR)).unwrap());
    for (op, call) in [
        (FaultOp::Exists, "open"),
        (FaultOp::Exists, "destroy"),
        (FaultOp::List, "destroy"),
    ] {
        let faulty = FaultFs::new(Arc::new(fs.clone()));
        o.set_fs(Arc::new(faulty.clone()));
        o.create_if_missing(false);
        faulty.add_rule(Rule::nth(OpSet::of(&[op]), 1));
        let outcome = match call {
            "open" => Db::open(&o, DIR).map(drop),
            _ => Db::destroy(&o, DIR),
        };
        let e = outcome.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::IOError, "{call}: {e}");
        assert!(!e.to_string().contains("does not exist"), "{call}: {e}");
    }
}
