//! Tables made outside the database and ingested.

use crate::harness::{DIR, Db, open_all, protocols, tiny_on};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, OpSet, Rule};
use whitewater::fs::mem::{MemFs, SyncPoint};
use whitewater::{
    CommitProtocol, ErrorKind, IngestExternalFileOptions, IteratorMode, Options, SstFileWriter,
};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(i: u64) -> Vec<u8> {
    format!("{i:06}").into_bytes()
}

/// Options on a new file system with the directories of the tests.
fn options(protocol: CommitProtocol) -> (MemFs, Options) {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new(OUTSIDE)).unwrap();
    let mut o = tiny_on(fs.clone());
    o.set_commit_protocol(protocol);
    (fs, o)
}

const OUTSIDE: &str = "/data/outside";

/// Writes a table of puts; `None` deletes.
fn table(o: &Options, name: &str, entries: &[(u64, Option<&str>)]) -> PathBuf {
    let path = Path::new(OUTSIDE).join(name);
    let mut writer = SstFileWriter::create(o);
    writer.open(&path).unwrap();
    for (k, v) in entries {
        match v {
            Some(v) => writer.put(key(*k), v).unwrap(),
            None => writer.delete(key(*k)).unwrap(),
        }
    }
    writer.finish().unwrap();
    path
}

fn content(db: &Db) -> Model {
    let all = db.iterator(IteratorMode::Start).map(|e| e.unwrap());
    all.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

fn model(entries: &[(u64, &str)]) -> Model {
    let pair = |(k, v): &(u64, &str)| (key(*k), v.as_bytes().to_vec());
    entries.iter().map(pair).collect()
}

fn levels(db: &Db) -> Vec<i32> {
    db.live_files().unwrap().iter().map(|f| f.level).collect()
}

fn tables_in(fs: &MemFs) -> usize {
    let names = fs.list(Path::new(DIR)).unwrap();
    names.iter().filter(|n| n.ends_with(".sst")).count()
}

#[test]
fn a_writer_refuses_what_rocksdb_refuses() {
    let (fs, o) = options(CommitProtocol::Ordered);
    let path = Path::new(OUTSIDE).join("a.sst");
    let mut w = SstFileWriter::create(&o);
    assert!(
        w.put("a", "1")
            .unwrap_err()
            .to_string()
            .contains("not opened")
    );
    assert_eq!(w.file_size(), 0);
    w.open(&path).unwrap();
    let e = w.finish().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("no entries"), "{e}");
    w.put("b", "1").unwrap();
    assert!(w.file_size() > 0);
    for bad in ["b", "a", ""] {
        let e = w.put(bad, "2").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{bad}");
        assert!(w.delete(bad).is_err() && w.merge(bad, "x").is_err());
    }
    w.merge("c", "2").unwrap();
    w.delete("d").unwrap();
    assert!(w.delete_range("z", "a").is_err());
    w.delete_range("q", "q").unwrap();
    w.delete_range("a", "b").unwrap();
    w.finish().unwrap();
    assert_eq!(w.file_size(), fs.file_size(&path).unwrap());
    assert!(w.finish().is_err() && w.put("e", "1").is_err());
    // Another file with the same writer, replacing the one before.
    w.open(&path).unwrap();
    w.put("a", "1").unwrap();
    w.finish().unwrap();
    assert_eq!(w.file_size(), fs.file_size(&path).unwrap());
}

#[test]
fn what_is_ingested_is_newer_than_what_was_written() {
    for protocol in protocols() {
        let (fs, o) = options(protocol);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        // In a deep level, in level 0, and in the memtable.
        for i in 0..10 {
            db.put(key(i), "deep").unwrap();
        }
        db.flush().unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        db.put(key(2), "level 0").unwrap();
        db.flush().unwrap();
        db.put(key(3), "memory").unwrap();
        let before = db.snapshot();
        let last = db.latest_sequence_number();
        let path = table(
            &o,
            "t",
            &[(1, Some("in")), (2, Some("in")), (3, Some("in")), (4, None)],
        );
        db.ingest_external_file(vec![&path]).unwrap();
        assert_eq!(db.latest_sequence_number(), last + 1, "one number for it");
        for k in [1, 2, 3] {
            assert_eq!(db.get(key(k)).unwrap().as_deref(), Some(&b"in"[..]));
        }
        assert_eq!(db.get(key(4)).unwrap(), None);
        let old = |k| before.get(key(k)).unwrap().unwrap();
        assert_eq!(
            [old(1), old(2), old(3), old(4)],
            [&b"deep"[..], b"level 0", b"memory", b"deep"]
        );
        // Later writes are newer still, and take later numbers.
        db.put(key(1), "after").unwrap();
        assert_eq!(db.latest_sequence_number(), last + 2);
        assert_eq!(db.get(key(1)).unwrap().as_deref(), Some(&b"after"[..]));
        let now = content(&db);
        drop(before);
        drop(db);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        assert_eq!(content(&db), now, "{protocol}");
        assert_eq!(db.latest_sequence_number(), last + 2);
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        assert_eq!(content(&db), now, "{protocol}");
        assert!(fs.exists(&path).unwrap(), "copied, not moved");
    }
}

#[test]
fn tables_go_as_deep_as_they_can() {
    let (_fs, mut o) = options(CommitProtocol::Ordered);
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.ingest_external_file(vec![table(&o, "a", &[(1, Some("a")), (5, Some("a"))])])
        .unwrap();
    assert_eq!(levels(&db), [6]);
    // Into a gap and over existing keys, both in one call.
    let b = table(&o, "b", &[(7, Some("b"))]);
    let c = table(&o, "c", &[(4, Some("c")), (7, Some("c"))]);
    let d = table(&o, "d", &[(7, Some("d"))]);
    db.ingest_external_file(vec![b, c, d]).unwrap();
    let expected = model(&[(1, "a"), (4, "c"), (5, "a"), (7, "d")]);
    assert_eq!(content(&db), expected);
    let mut found = levels(&db);
    found.sort_unstable();
    assert_eq!(found, [0, 0, 6, 6]);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(content(&db), expected);
}

#[test]
fn range_deletions_of_a_table_delete_what_is_older() {
    let (_fs, o) = options(CommitProtocol::Ordered);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for i in 0..6 {
        db.put(key(i), "old").unwrap();
    }
    let path = Path::new(OUTSIDE).join("r");
    let mut w = SstFileWriter::create(&o);
    w.open(&path).unwrap();
    w.put(key(3), "new").unwrap();
    w.merge(key(5), "more").unwrap();
    w.delete_range(key(1), key(5)).unwrap();
    w.finish().unwrap();
    db.ingest_external_file(vec![&path]).unwrap();
    let expected = model(&[(0, "old"), (3, "new"), (5, "old,more")]);
    assert_eq!(content(&db), expected);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(content(&db), expected);
    // A table with nothing but a deletion.
    w.open(&path).unwrap();
    w.delete_range(key(0), key(4)).unwrap();
    w.finish().unwrap();
    db.ingest_external_file(vec![&path]).unwrap();
    assert_eq!(content(&db), model(&[(5, "old,more")]));
}

#[test]
fn options_rule_out_what_an_ingestion_would_take() {
    let (fs, o) = options(CommitProtocol::Ordered);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put(key(1), "memory").unwrap();
    let t = table(&o, "t", &[(1, Some("in"))]);
    let refused = |set: &dyn Fn(&mut IngestExternalFileOptions), what: &str| {
        let mut opts = IngestExternalFileOptions::default();
        set(&mut opts);
        let e = db.ingest_external_file_opts(&opts, vec![&t]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
        assert!(e.to_string().contains(what), "{e}");
        assert_eq!(content(&db), model(&[(1, "memory")]));
    };
    refused(&|o| o.set_allow_blocking_flush(false), "requires flush");
    refused(
        &|o| o.set_allow_global_seqno(false),
        "Global seqno is required",
    );
    refused(&|o| o.set_ingest_behind(true), "allow_ingest_behind");
    db.flush().unwrap();
    let flushed = tables_in(&fs);
    refused(
        &|o| o.set_allow_global_seqno(false),
        "Global seqno is required",
    );
    assert_eq!(tables_in(&fs), flushed, "nothing is left behind");
    assert!(db.ingest_external_file(Vec::<PathBuf>::new()).is_err());

    // Tables without overlap get no number, unless a snapshot must not see them.
    let other = table(&o, "other", &[(9, Some("in"))]);
    let mut opts = IngestExternalFileOptions::default();
    opts.set_allow_global_seqno(false);
    let last = db.latest_sequence_number();
    let snapshot = db.snapshot();
    assert!(db.ingest_external_file_opts(&opts, vec![&other]).is_err());
    opts.set_snapshot_consistency(false);
    db.ingest_external_file_opts(&opts, vec![&other]).unwrap();
    assert_eq!(db.latest_sequence_number(), last);
    assert!(snapshot.get(key(9)).unwrap().is_some(), "asked for");
    db.put(key(1), "goes on").unwrap();
}

#[test]
fn only_tables_that_were_made_for_it_come_in() {
    let (fs, o) = options(CommitProtocol::Ordered);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put(key(1), "x").unwrap();
    db.flush().unwrap();
    let own = Path::new(DIR).join(&db.live_files().unwrap()[0].name[1..]);
    let e = db.ingest_external_file(vec![own]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    let missing = db
        .ingest_external_file(vec!["/data/outside/none"])
        .unwrap_err();
    assert!(missing.is_missing_file());
    let mut reversed = o.clone();
    reversed.set_comparator("reversed", Box::new(|a, b| b.cmp(a)));
    let t = table(&reversed, "r", &[(5, Some("a")), (4, Some("b"))]);
    let e = db.ingest_external_file(vec![t]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    let good = table(&o, "good", &[(5, Some("a"))]);
    let bad = Path::new(OUTSIDE).join("bad");
    fs.create(&bad).unwrap().append(&[7; 900]).unwrap();
    let e = db.ingest_external_file(vec![&good, &bad]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    assert_eq!(e.file(), Some(&*bad));
    assert_eq!(content(&db), model(&[(1, "x")]));
    assert_eq!(tables_in(&fs), 1);
}

#[test]
fn moved_files_lose_their_old_names() {
    let (fs, o) = options(CommitProtocol::Ordered);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let t = table(&o, "t", &[(1, Some("in"))]);
    let mut opts = IngestExternalFileOptions::default();
    opts.set_move_files(true);
    db.ingest_external_file_opts(&opts, vec![&t]).unwrap();
    assert!(!fs.exists(&t).unwrap());
    assert_eq!(content(&db), model(&[(1, "in")]));
    let cf = {
        db.create_cf("two", &o).unwrap();
        db.cf_handle("two").unwrap()
    };
    let t = table(&o, "t", &[(1, Some("two"))]);
    db.ingest_external_file_cf_opts(&cf, &opts, vec![&t])
        .unwrap();
    assert_eq!(
        db.get_cf(&cf, key(1)).unwrap().as_deref(),
        Some(&b"two"[..])
    );
    assert_eq!(content(&db), model(&[(1, "in")]));
    drop(cf);
    drop(db);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let cf = db.cf_handle("two").unwrap();
    assert_eq!(
        db.get_cf(&cf, key(1)).unwrap().as_deref(),
        Some(&b"two"[..])
    );
}

/// The content before an ingestion, and after it.
struct Story {
    path: PathBuf,
    others: Vec<PathBuf>,
    before: Model,
    after: Model,
}

/// A database with entries in all places, and two tables that overlap it.
fn story(o: &Options, db: &Db) -> Story {
    for i in 0..8 {
        db.put(key(i), "deep").unwrap();
    }
    db.flush().unwrap();
    for i in 2..5 {
        db.put(key(i), "memory").unwrap();
    }
    let path = table(o, "one", &[(1, Some("one")), (3, None), (4, Some("one"))]);
    let other = table(o, "two", &[(4, Some("two")), (20, Some("two"))]);
    let before = content(db);
    let mut after = before.clone();
    after.remove(&key(3));
    after.insert(key(1), b"one".to_vec());
    after.insert(key(4), b"two".to_vec());
    after.insert(key(20), b"two".to_vec());
    Story {
        path,
        others: vec![other],
        before,
        after,
    }
}

impl Story {
    fn paths(&self) -> Vec<&PathBuf> {
        std::iter::once(&self.path).chain(&self.others).collect()
    }

    /// Opens what a crash left, and returns whether the tables are in.
    fn check(&self, fs: &MemFs, what: &str) -> bool {
        let mut o = tiny_on(fs.clone());
        o.set_disable_auto_compactions(true); // or the number of files would vary
        let db = open_all(&o, Path::new(DIR)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let found = content(&db);
        let is_in = found == self.after;
        assert!(is_in || found == self.before, "{what}: {found:?}");
        let names = fs.list(Path::new(DIR)).unwrap();
        let tables = names.iter().filter(|n| n.ends_with(".sst")).count();
        assert_eq!(tables, db.live_files().unwrap().len(), "{what}: strays");
        // Numbers continue behind those that exist.
        db.put(key(4), "later").unwrap();
        assert_eq!(
            db.get(key(4)).unwrap().as_deref(),
            Some(&b"later"[..]),
            "{what}"
        );
        is_in
    }
}

/// The power is cut at every sync of an ingestion: all tables are in, or none.
#[test]
fn a_power_cut_keeps_all_tables_or_none() {
    for protocol in protocols() {
        for keep in [0.0, 0.5, 1.0] {
            let (fs, o) = options(protocol);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            let story = story(&o, &db);
            db.flush_wal(true).unwrap();
            let cuts: Arc<Mutex<Vec<MemFs>>> = Arc::default();
            let (of, taken) = (fs.clone(), cuts.clone());
            fs.set_sync_hook(Arc::new(move |at: SyncPoint| {
                let seed = at.index * 2 + u64::from(at.done);
                taken.lock().push(of.crash_clone(keep, seed));
            }));
            db.ingest_external_file(story.paths()).unwrap();
            fs.clear_sync_hook();
            let at_once = fs.crash_clone(keep, 7);
            assert!(story.check(&at_once, "acknowledged"), "it is durable");
            let cuts = std::mem::take(&mut *cuts.lock());
            assert!(cuts.len() > 10);
            let mut seen = [false; 2];
            for (i, cut) in cuts.iter().enumerate() {
                let is_in = story.check(cut, &format!("{protocol}, keep {keep}, cut {i}"));
                seen[usize::from(is_in)] = true;
            }
            assert_eq!(seen, [true; 2], "{protocol}, keep {keep}");
        }
    }
}

/// Every operation of an ingestion fails once. The ingestion has then not happened, and the
/// database goes on or says that it is stopped.
#[test]
fn a_failure_leaves_the_database_as_it_was() {
    let mut n = 0;
    loop {
        n += 1;
        let (fs, _) = options(CommitProtocol::Ordered);
        let faults = FaultFs::new(Arc::new(fs.clone()));
        let o = tiny_on(faults.clone());
        let db = open_all(&o, Path::new(DIR)).unwrap();
        let story = story(&o, &db);
        faults.add_rule(Rule::nth(OpSet::ALL, n));
        let outcome = db.ingest_external_file(story.paths());
        faults.clear_rules();
        let failed = !faults.injected().is_empty();
        let what = format!("operation {n}: {:?}", faults.injected());
        match &outcome {
            Ok(()) => assert_eq!(content(&db), story.after, "{what}"),
            Err(_) => assert_eq!(content(&db), story.before, "{what}"),
        }
        let goes_on = db.put(key(30), "later");
        if goes_on.is_ok() {
            db.delete(key(30)).unwrap();
        }
        drop(db);
        let is_in = story.check(&fs, &what);
        assert!(is_in || outcome.is_err(), "{what}");
        assert!(!is_in || outcome.is_ok() || goes_on.is_err(), "{what}");
        if !failed {
            assert!(n > 20, "{n}");
            return;
        }
    }
}

/// Writers count up in pairs of keys of two families, and tables with higher counts are ingested.
/// Readers check that what they see only grows, with and without snapshots.
#[test]
fn readers_see_no_later_write_without_the_tables() {
    const ROUNDS: u64 = 60;
    for protocol in protocols() {
        let (_fs, o) = options(protocol);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        let number = |v: Option<Vec<u8>>| -> u64 {
            v.map_or(0, |v| std::str::from_utf8(&v).unwrap().parse().unwrap())
        };
        let ingested = AtomicU64::new(0);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Writes the number of tables that are in, next to the key that the tables set. It must
            // never be seen ahead of that key.
            for w in 0..2u64 {
                let (db, ingested, done) = (&db, &ingested, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::SeqCst) {
                        let n = ingested.load(Ordering::SeqCst);
                        db.put(key(100 + w), n.to_string()).unwrap();
                        // Now and then a key in the tables' range, which must be flushed.
                        db.put(key(52), "x").unwrap();
                    }
                });
            }
            for _ in 0..2 {
                let (db, done) = (&db, &done);
                scope.spawn(move || {
                    let mut last = 0;
                    while !done.load(Ordering::SeqCst) {
                        let snapshot = db.snapshot();
                        for w in 0..2 {
                            let written = number(snapshot.get(key(100 + w)).unwrap());
                            let table = number(snapshot.get(key(50)).unwrap());
                            let other = number(snapshot.get(key(200)).unwrap());
                            assert!(written <= table, "{written} before {table}");
                            assert_eq!(table, other, "tables come in together");
                            assert!(table >= last, "{table} after {last}");
                            last = table;
                        }
                        let mut seen = db.iterator(IteratorMode::Start).map(|e| e.unwrap());
                        let of = |k: u64| move |e: &(Box<[u8]>, Box<[u8]>)| *e.0 == *key(k);
                        let table = seen.find(of(50)).map(|e| e.1.to_vec());
                        let written = seen.find(of(100)).map(|e| e.1.to_vec());
                        assert!(number(written) <= number(table));
                    }
                });
            }
            for n in 1..=ROUNDS {
                let text = n.to_string();
                let one = table(&o, "one", &[(50, Some(&text)), (52, None)]);
                let two = table(&o, "two", &[(200, Some(&text))]);
                db.ingest_external_file(vec![one, two]).unwrap();
                ingested.store(n, Ordering::SeqCst);
            }
            done.store(true, Ordering::SeqCst);
        });
        assert_eq!(number(db.get(key(50)).unwrap()), ROUNDS, "{protocol}");
        let now = content(&db);
        drop(db);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        assert_eq!(content(&db), now, "{protocol}");
    }
}
