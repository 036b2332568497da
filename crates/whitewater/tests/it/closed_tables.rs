//! Iterators over tables that are not open, with a limit of open files. They open tables only when
//! they come to them.

use crate::harness::counting::CountingFs;
use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::{Path, PathBuf};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    CompactOptions, DB, DBCompressionType, Error, ErrorKind, IteratorMode, Options, ReadOptions,
    WaitForCompactOptions, WriteBatch,
};

/// As few open tables as are possible.
fn options(fs: &MemFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_max_open_files(1);
    o
}

fn open(o: &Options) -> Db {
    open_all(o, Path::new(DIR)).expect("opens")
}

fn delete_range(db: &Db, from: &str, to: &str) {
    let mut batch = WriteBatch::default();
    batch.delete_range(from, to);
    db.write(batch).expect("writes");
}

/// What an iterator shows up to its end or first failure.
fn shown(db: &Db, options: ReadOptions, mode: IteratorMode<'_>) -> (String, Option<Error>) {
    let mut keys = Vec::new();
    for found in db.iterator_opt(mode, options) {
        match found {
            Ok((key, _)) => keys.push(String::from_utf8_lossy(&key).into_owned()),
            Err(e) => return (keys.join(" "), Some(e)),
        }
    }
    (keys.join(" "), None)
}

/// A database whose level 3 has "a" and "y", and whose level 1 "w" and a range
/// deletion from "x" to "z". Returns the table of level 1.
fn two_levels(o: &Options) -> PathBuf {
    let db = open(o);
    for key in ["a", "y"] {
        db.put(key, "old").expect("writes");
    }
    db.flush().expect("flushes");
    let mut down = CompactOptions::default();
    down.set_change_level(true);
    down.set_target_level(3);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &down);
    for value in ["new", "newer"] {
        db.put("w", value).expect("writes");
        delete_range(&db, "x", "z");
        db.flush().expect("flushes");
    }
    db.wait_for_compact(&WaitForCompactOptions::default())
        .expect("compacts");
    let files = db.live_files().expect("lists");
    let places: Vec<_> = files.iter().map(|f| f.level).collect();
    assert_eq!(places, [1, 3]);
    Path::new(DIR).join(files[0].name.trim_start_matches('/'))
}

#[test]
fn a_table_that_cannot_be_opened_fails_the_walks_that_come_to_it() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_level_compaction_dynamic_level_bytes(false);
    let path = two_levels(&o);
    let db = open(&o);
    let all = || shown(&db, ReadOptions::default(), IteratorMode::Start);
    assert_eq!(all(), ("a w".to_owned(), None));
    drop(db);

    let file = fs.open_random(&path).expect("opens");
    let len = file.len().expect("known");
    let mut bytes = file.read_at(0, len as usize).expect("reads").to_vec();
    *bytes.last_mut().expect("a footer") ^= 1;
    let mut file = fs.create(&path).expect("creates");
    file.append(&bytes).expect("appends");
    file.sync().expect("syncs");

    let db = open(&o);
    let is_damaged = |e: Option<Error>| {
        let e = e.expect("is damaged");
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
        assert_eq!(e.file(), Some(&*path), "{e}");
    };
    // Twice: the second iterator knows no more than the first one.
    for _ in 0..2 {
        let (keys, failure) = shown(&db, ReadOptions::default(), IteratorMode::Start);
        is_damaged(failure);
        assert!(
            keys.is_empty() || keys == "a",
            "{keys}: what is deleted stays so"
        );
        let from = IteratorMode::From(b"y", whitewater::Direction::Forward);
        for mode in [IteratorMode::End, from] {
            let (keys, failure) = shown(&db, ReadOptions::default(), mode);
            is_damaged(failure);
            assert_eq!(keys, "");
        }
        for mode in [IteratorMode::Start, IteratorMode::End] {
            let mut before = ReadOptions::default();
            before.set_iterate_upper_bound("w");
            assert_eq!(shown(&db, before, mode), ("a".to_owned(), None));
        }
    }
    is_damaged(db.get("y").err());
}

/// A closed database of many tables below level 0, with `keys` keys. A snapshot kept some of them
/// from being dropped by a range deletion.
fn many_tables(o: &Options, keys: u32) -> usize {
    let db = open(o);
    for n in 0..keys {
        db.put(format!("{n:06}"), [n as u8; 200]).expect("writes");
    }
    let kept = db.snapshot();
    delete_range(&db, "000100", "000200");
    db.flush().expect("flushes");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    drop(kept);
    let files = db.live_files().expect("lists");
    assert!(files.iter().all(|f| f.level > 0));
    files.len()
}

#[test]
#[expect(deprecated, reason = "tests the option, too")]
fn an_unbounded_iterator_opens_the_tables_that_it_comes_to() {
    let fs = CountingFs::new(MemFs::new());
    for (max_open_files, ignores_deletions) in [(1, false), (1, true), (-1, false), (1000, false)] {
        let mut o = tiny_on(fs.clone());
        o.set_max_open_files(max_open_files);
        o.enable_statistics();
        o.set_compression_type(DBCompressionType::None);
        o.set_disable_auto_compactions(true);
        let tables = many_tables(&o, 4000);
        assert!(tables > 20, "{tables}");

        let db = open(&o);
        let opened = || o.get_ticker_count(Ticker::NoFileOpens);
        let walk = |from: &str, forward: bool, shown: &[&str]| {
            let before = opened();
            let (bytes, _) = fs.during(|| {
                let mut options = ReadOptions::default();
                options.set_ignore_range_deletions(ignores_deletions);
                let mut iterator = db.raw_iterator_opt(options);
                match forward {
                    true => iterator.seek(from),
                    false => iterator.seek_for_prev(from),
                }
                for key in shown {
                    assert_eq!(iterator.key(), Some(key.as_bytes()));
                    if forward {
                        iterator.next();
                    } else {
                        iterator.prev();
                    }
                }
            });
            let opened = opened() - before;
            // All are opened with the database, where tables stay open.
            assert!(opened <= 3, "{opened} tables opened");
            assert!(bytes < 64 << 10, "{bytes} bytes read");
        };
        for _ in 0..2 {
            walk("", true, &["000000", "000001", "000002"]);
            walk("002000", true, &["002000", "002001", "002002"]);
            walk("~", false, &["003999", "003998", "003997"]);
            if !ignores_deletions {
                walk("000150", true, &["000200", "000201"]);
                walk("000150", false, &["000099", "000098"]);
            }
        }
        drop(db);
        DB::destroy(&o, DIR).expect("destroys");
    }
}

/// What a range deletion deletes stays deleted while the iterator goes from table to table.
#[test]
fn whole_walks_know_the_range_deletions_of_each_table() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.enable_statistics();
    o.set_compression_type(DBCompressionType::None);
    o.set_disable_auto_compactions(true);
    let tables = many_tables(&o, 4000);
    let db = open(&o);
    let opened = || o.get_ticker_count(Ticker::NoFileOpens);
    for mode in [IteratorMode::Start, IteratorMode::End] {
        let before = opened();
        assert_eq!(db.iterator(mode).count(), 3900);
        let opened = opened() - before;
        assert!(opened <= 2 * tables as u64, "{opened} of {tables}");
    }
}

/// Where tables stay open, jobs open what they have written: all tables of a compaction, whether
/// one thread has written them or several, and those of all column families that are flushed
/// together.
#[test]
fn no_reader_opens_what_a_flush_or_a_compaction_has_written() {
    for (max_open_files, threads) in [(-1, 1), (-1, 4), (1000, 1)] {
        let fs = MemFs::new();
        let mut o = tiny_on(fs.clone());
        o.enable_statistics();
        o.set_max_open_files(max_open_files);
        o.set_max_subcompactions(threads);
        o.set_atomic_flush(true);
        o.set_compression_type(DBCompressionType::None);
        o.set_disable_auto_compactions(true);
        let db = open(&o);
        db.create_cf("other", &o).expect("creates");
        let other = db.cf_handle("other").expect("is there");
        let opened = || o.get_ticker_count(Ticker::NoFileOpens);
        let keys = || (0..4000).map(|i| format!("{i:06}"));
        let opened_by_reads = || {
            let before = opened();
            for key in keys().step_by(20) {
                assert!(db.get(&key).expect("reads").is_some(), "{key}");
            }
            assert!(db.get_cf(&other, "000001").expect("reads").is_some());
            assert_eq!(db.iterator(IteratorMode::Start).count(), 4000);
            opened() - before
        };
        for round in 0..2_u8 {
            for key in keys() {
                db.put(key, [round; 100]).expect("writes");
            }
            db.put_cf(&other, "000001", "1").expect("writes");
            db.flush().expect("flushes");
            let flushed = opened_by_reads();
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            let tables = db.live_files().expect("known").len() as u64;
            assert!(tables > 4, "{tables}");
            let compacted = opened_by_reads();
            match max_open_files {
                -1 => assert_eq!((flushed, compacted), (0, 0), "{threads} threads"),
                // A compaction may have opened a table that another one has moved.
                _ => assert!(flushed > 0, "{flushed} {compacted}"),
            }
        }
    }
}
