//! Opening a database as of a time (`open_and_trim_history`).

use crate::harness::{Db, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::{Arc, Mutex};
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, DBCompactionStyle, Error, ErrorKind, FifoCompactOptions, Options,
    ReadOptions,
};

const DIR: &str = "/db";
const KEYS: u64 = 24;
const TIMES: u64 = 120;

/// Two families with timestamps, one of them with blob files, and one without.
const NAMES: [&str; 3] = ["default", "blobs", "plain"];

fn options(fs: Arc<dyn Fs>, style: DBCompactionStyle) -> Options {
    let mut o = tiny();
    o.set_fs(fs);
    o.create_missing_column_families(true);
    o.set_disable_auto_compactions(true);
    o.set_level_zero_slowdown_writes_trigger(i32::MAX);
    o.set_level_zero_stop_writes_trigger(i32::MAX);
    o.set_compaction_style(style);
    let mut fifo = FifoCompactOptions::default();
    fifo.set_max_table_files_size(u64::MAX);
    o.set_fifo_compaction_options(&fifo);
    o
}

fn families(o: &Options) -> Vec<ColumnFamilyDescriptor> {
    let family = |name: &&str| {
        let mut o = o.clone();
        if *name != "plain" {
            o.set_u64_timestamp_comparator();
        }
        if *name == "blobs" {
            o.set_enable_blob_files(true);
            o.set_min_blob_size(0);
        }
        ColumnFamilyDescriptor::new(*name, o)
    };
    NAMES.iter().map(family).collect()
}

fn open(o: &Options) -> Db {
    Db::open_cf_descriptors(o, DIR, families(o)).expect("opens")
}

fn trim(o: &Options, upto: u64) -> Result<Db, Error> {
    Db::open_and_trim_history(o, DIR, families(o), upto.to_le_bytes())
}

fn key(at: u64) -> Vec<u8> {
    format!("key{at:02}").into_bytes()
}

/// Writes the history of `seed` up to the time `upto`, in tables on several levels, but for what is
/// newest, which is in the log.
fn write(db: &Db, seed: u64, upto: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    for time in 1..=TIMES {
        let (kind, from, width) = (
            rng.random_range(0..10),
            rng.random_range(0..KEYS),
            rng.random_range(1..6),
        );
        let ts = time.to_le_bytes();
        if time <= upto {
            for name in NAMES {
                let cf = db.cf_handle(name).expect("is there");
                let value = format!("{name} {time}");
                let (from, to) = (key(from), key(from + width));
                match (name, kind) {
                    ("plain", _) => db.put_cf(&cf, from, value),
                    (_, 0) => db.delete_range_cf_with_ts(&cf, from, to, ts),
                    (_, 1 | 2) => db.delete_cf_with_ts(&cf, from, ts),
                    _ => db.put_cf_with_ts(&cf, from, ts, value),
                }
                .expect("writes");
            }
        }
        let (flush, compact) = (time % 11 == 0, time % 33 == 0);
        for name in NAMES.iter().filter(|_| flush && time <= upto) {
            let cf = db.cf_handle(name).expect("is there");
            db.flush_cf(&cf).expect("flushes");
            if compact {
                db.compact_range_cf(&cf, None::<&[u8]>, None::<&[u8]>);
            }
        }
    }
}

/// What is read at every fourth time, by key: from look-ups, and the same from iterators.
fn read(db: &Db) -> Vec<String> {
    let mut lines = Vec::new();
    for name in NAMES {
        let cf = db.cf_handle(name).expect("is there");
        for time in (1..=TIMES + 1).step_by(4) {
            let at = || {
                let mut o = ReadOptions::default();
                if name != "plain" {
                    o.set_timestamp(time.to_le_bytes());
                }
                o
            };
            let mut walked = Vec::new();
            let mut it = db.raw_iterator_cf_opt(&cf, at());
            it.seek_to_first();
            while let Some((key, value)) = it.item() {
                walked.push((key.to_vec(), value.to_vec()));
                it.next();
            }
            it.status().expect("walks");
            let all = (0..KEYS + 6).map(key);
            let found: Vec<_> = all
                .filter_map(|key| {
                    let value = db.get_cf_opt(&cf, &key, &at()).expect("reads");
                    value.map(|value| (key, value))
                })
                .collect();
            assert_eq!(walked, found, "{name} at {time}");
            let text = |(k, v): &(Vec<u8>, Vec<u8>)| {
                format!("{name} {time} {} {}", k.escape_ascii(), v.escape_ascii())
            };
            lines.extend(found.iter().map(text));
        }
    }
    lines
}

fn tables(db: &Db) -> Vec<String> {
    let files = db.live_files().expect("lists");
    let mut names: Vec<_> = files.iter().map(|f| f.name.clone()).collect();
    names.sort();
    names
}

/// What a database holds into which nothing was written after `upto`, but for what has no
/// timestamps.
fn expected(style: DBCompactionStyle, seed: u64, upto: u64) -> Vec<String> {
    let whole = open(&options(Arc::new(MemFs::new()), style));
    write(&whole, seed, TIMES);
    let short = open(&options(Arc::new(MemFs::new()), style));
    write(&short, seed, upto);
    let is_plain = |line: &String| line.starts_with("plain");
    let (stamped, plain) = (read(&short), read(&whole));
    let stamped = stamped.into_iter().filter(|line| !is_plain(line));
    stamped.chain(plain.into_iter().filter(is_plain)).collect()
}

#[test]
fn what_is_newer_is_as_if_it_had_never_been_written() {
    let styles = [
        DBCompactionStyle::Level,
        DBCompactionStyle::Universal,
        DBCompactionStyle::Fifo,
    ];
    for (seed, style) in (1..).zip(styles) {
        for upto in [0, 30, 66, 119] {
            let o = options(Arc::new(MemFs::new()), style);
            let db = open(&o);
            write(&db, seed, TIMES);
            drop(db);
            let db = trim(&o, upto).expect("trims");
            assert_eq!(
                read(&db),
                expected(style, seed, upto),
                "{style:?} to {upto}"
            );
            // And it stays so.
            for name in NAMES {
                let cf = db.cf_handle(name).expect("is there");
                db.compact_range_cf(&cf, None::<&[u8]>, None::<&[u8]>);
            }
            drop(db);
            let db = open(&o);
            assert_eq!(
                read(&db),
                expected(style, seed, upto),
                "{style:?} to {upto}"
            );
            db.verify_checksum().expect("all blocks are sound");
        }
    }
}

#[test]
fn tables_with_nothing_newer_stay_as_they_are() {
    let o = options(Arc::new(MemFs::new()), DBCompactionStyle::Level);
    let db = open(&o);
    write(&db, 7, TIMES);
    drop(db);
    let db = open(&o);
    let before = tables(&db);
    drop(db);
    let db = trim(&o, TIMES).expect("trims");
    assert_eq!(tables(&db), before);
    drop(db);
    let db = trim(&o, TIMES / 2).expect("trims");
    let after = tables(&db);
    assert_ne!(after, before);
    drop(db);
    let db = trim(&o, TIMES / 2).expect("trims");
    assert_eq!(tables(&db), after);
}

#[test]
fn a_crash_leaves_all_or_nothing_that_is_newer() {
    let fs = MemFs::new();
    let o = options(Arc::new(fs.clone()), DBCompactionStyle::Level);
    let db = open(&o);
    write(&db, 3, TIMES);
    drop(db);
    let db = open(&o); // writes the log into tables, so that nothing of it can be lost
    let whole = read(&db);
    drop(db);
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (kept, source) = (cuts.clone(), fs.clone());
    fs.set_sync_hook(Arc::new(move |_| {
        let mut cuts = kept.lock().expect("no panic");
        let seed = cuts.len() as u64;
        for keep in [0.0, 0.5, 1.0] {
            cuts.push(source.crash_clone(keep, seed));
        }
    }));
    let db = trim(&o, 50).expect("trims");
    fs.clear_sync_hook();
    let trimmed = read(&db);
    drop(db);
    assert_ne!(trimmed, whole);
    let cuts = std::mem::take(&mut *cuts.lock().expect("no panic"));
    let mut seen = [0, 0];
    for cut in cuts {
        let o = options(Arc::new(cut), DBCompactionStyle::Level);
        let db = open(&o);
        let found = read(&db);
        assert!(found == whole || found == trimmed, "something in between");
        seen[usize::from(found == trimmed)] += 1;
        drop(db);
        assert_eq!(read(&trim(&o, 50).expect("trims")), trimmed);
    }
    assert!(seen[0] > 10 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_failure_leaves_all_and_no_files() {
    let fs = MemFs::new();
    let o = options(Arc::new(fs.clone()), DBCompactionStyle::Level);
    let db = open(&o);
    write(&db, 3, TIMES);
    let whole = read(&db);
    drop(db);
    let db = open(&o); // writes the log into tables
    let before = tables(&db);
    drop(db);
    let on_disk = || {
        let names = fs.list(Path::new(DIR)).expect("lists");
        let mut names: Vec<_> = names.into_iter().filter(|n| is_data(n.as_str())).collect();
        names.sort();
        names
    };
    let files = on_disk();
    for nth in 1.. {
        let faulty = FaultFs::new(Arc::new(fs.clone()));
        faulty.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Sync]),
            path: PathMatch::EndsWith(".sst".into()),
            when: When::Nth(nth),
            fault: Fault::Enospc,
            sticky: false,
        });
        let outcome = trim(&options(Arc::new(faulty), DBCompactionStyle::Level), 50);
        let Err(e) = outcome else {
            assert!(nth > 2, "a table of each family is written");
            break;
        };
        assert_eq!(e.kind(), ErrorKind::IOError);
        assert_eq!(on_disk(), files, "failure of table {nth}");
        let db = open(&o);
        assert_eq!((read(&db), tables(&db)), (whole.clone(), before.clone()));
    }
}

fn is_data(name: &str) -> bool {
    name.ends_with(".sst") || name.ends_with(".blob")
}

#[test]
fn a_time_that_keys_cannot_have_is_refused_before_anything_changes() {
    let o = options(Arc::new(MemFs::new()), DBCompactionStyle::Level);
    let db = open(&o);
    write(&db, 3, TIMES);
    let whole = read(&db);
    drop(db);
    for time in [&b""[..], b"1234", b"123456789"] {
        let refused = Db::open_and_trim_history(&o, DIR, families(&o), time);
        let Err(e) = refused else {
            panic!("no such time");
        };
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        let size = format!("trim_ts has {} bytes", time.len());
        assert!(e.to_string().contains(&size), "{e}");
        assert!(e.to_string().contains("column family blobs"), "{e}");
    }
    assert_eq!(read(&open(&o)), whole);
}
