//! Secondary instances: databases that follow another one as it is written.

use crate::harness::counting::CountingFs;
use crate::harness::{DIR, Db, open_all, open_named, sizes_in, tiny_on};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    AsColumnFamilyRef, ColumnFamilyDescriptor, DB, ErrorKind, IteratorMode, Options, WriteBatch,
    WriteOptions,
};

const OWN: &str = "/data/secondary";

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn content(db: &Db, cf: &impl AsColumnFamilyRef) -> Content {
    let all = db.iterator_cf(cf, IteratorMode::Start);
    all.map(|kv| kv.map(|(k, v)| (k.into(), v.into())).unwrap())
        .collect()
}

fn families(o: &Options) -> [ColumnFamilyDescriptor; 2] {
    ["default", "other"].map(|name| ColumnFamilyDescriptor::new(name, o.clone()))
}

fn follow(o: &Options, own: &str) -> Db {
    Db::open_cf_descriptors_as_secondary(o, Path::new(DIR), Path::new(own), families(o)).unwrap()
}

fn assert_same(primary: &Db, secondary: &Db, when: &str) {
    for name in ["default", "other"] {
        let here = content(secondary, &secondary.cf_handle(name).unwrap());
        let there = content(primary, &primary.cf_handle(name).unwrap());
        assert_eq!(here.len(), there.len(), "{name} {when}");
        assert!(here == there, "{name} {when}");
        for (key, value) in there.iter().step_by(17) {
            let found = secondary.get_cf(&secondary.cf_handle(name).unwrap(), key);
            assert_eq!(found.unwrap().as_ref(), Some(value), "{name} {when}");
        }
    }
}

#[test]
fn it_shows_what_it_has_caught_up_with() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_max_manifest_file_size(1500);
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    let other = primary.cf_handle("other").unwrap();
    let secondary = follow(&o, OWN);
    let late = follow(&o, "/data/late");
    assert_same(&primary, &secondary, "at open");
    for round in 0..30u32 {
        let before = content(&secondary, &secondary.cf_handle("default").unwrap());
        for i in 0..40 {
            let key = format!("k{:04}", (round * 37 + i * 11) % 500);
            match i % 8 {
                0 => primary.merge(key, "m").unwrap(),
                1 => primary.delete(key).unwrap(),
                2 => primary
                    .put_cf(&other, key, "o".repeat(600 + i as usize))
                    .unwrap(),
                _ => primary.put(key, format!("{round}.{i}")).unwrap(),
            }
        }
        match round % 6 {
            1 => primary.flush().unwrap(),
            2 => primary.compact_range(None::<&[u8]>, None::<&[u8]>),
            3 => primary.delete_range_cf(&other, "k0100", "k0180").unwrap(),
            4 => primary.flush_cf(&other).unwrap(),
            _ => {}
        }
        let default = secondary.cf_handle("default").unwrap();
        assert_eq!(content(&secondary, &default), before, "round {round}");
        secondary.try_catch_up_with_primary().unwrap();
        assert_same(&primary, &secondary, &format!("round {round}"));
        let last = secondary.latest_sequence_number();
        assert!(last <= primary.latest_sequence_number());
    }
    late.try_catch_up_with_primary().unwrap();
    assert_same(&primary, &late, "long after");
    // The primary is closed, and opened again with what it had.
    drop(other);
    drop(primary);
    secondary.try_catch_up_with_primary().unwrap();
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    assert_same(&primary, &secondary, "beside a primary that has come back");
    primary.put("k0001", "again").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_same(&primary, &secondary, "and goes on");
    drop((secondary, late));
    let own = fs.list(Path::new(OWN)).unwrap();
    assert_eq!(own, ["LOG"]);
}

/// Batches write one number to both column families while flushes, compactions and new manifests
/// happen.
#[test]
fn what_it_shows_is_a_prefix_of_whole_batches() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_max_manifest_file_size(3000);
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    let secondary = follow(&o, OWN);
    let (acknowledged, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            let other = primary.cf_handle("other").unwrap();
            for i in 1..=6000u64 {
                let mut batch = WriteBatch::default();
                let key = format!("k{:02}", i % 50);
                batch.put(&key, i.to_be_bytes());
                batch.put_cf(&other, &key, i.to_be_bytes());
                primary.write(batch).unwrap();
                acknowledged.store(i, Ordering::Release);
                if i % 150 == 0 {
                    primary.flush().unwrap();
                }
                if i % 1000 == 0 {
                    primary.compact_range_cf(&other, None::<&[u8]>, None::<&[u8]>);
                }
            }
            done.store(true, Ordering::Release);
        });
        // Reads that run while the secondary catches up see both column families at one age.
        s.spawn(|| {
            let cfs = ["default", "other"].map(|name| secondary.cf_handle(name).unwrap());
            let mut last = 0;
            while !done.load(Ordering::Acquire) {
                let keys = cfs.iter().map(|cf| (cf, "k07"));
                let found = secondary.multi_get_cf(keys);
                let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
                assert_eq!(found[0], found[1]);
                let now = found[0].as_deref().map_or(0, number);
                assert!(now >= last, "{now} after {last}");
                last = now;
            }
        });
        let default = secondary.cf_handle("default").unwrap();
        loop {
            let last_time = done.load(Ordering::Acquire);
            let at_least = acknowledged.load(Ordering::Acquire);
            match secondary.try_catch_up_with_primary() {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::TryAgain => continue,
                Err(e) => panic!("{e}"),
            }
            let found = content(&secondary, &default);
            let last = found.values().map(|v| number(v)).max().unwrap_or(0);
            assert!(last >= at_least, "{last} of {at_least}");
            for (key, value) in &found {
                let key: u64 = String::from_utf8_lossy(&key[1..]).parse().unwrap();
                assert_eq!(
                    number(value),
                    last - (last + 50 - key) % 50,
                    "k{key} at {last}"
                );
            }
            if last_time {
                break;
            }
        }
    });
    assert_same(&primary, &secondary, "at the end");
}

/// A listing of a large directory may miss a log between two others. The secondary waits for it,
/// and its content is older than what follows.
#[test]
fn a_log_that_was_not_listed_is_not_passed_over() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_min_write_buffer_number_to_merge(6);
    o.set_max_write_buffer_number(8);
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    let secondary = follow(&o, OWN);
    let logs = || -> Vec<String> {
        let names = fs.list(Path::new(DIR)).unwrap().into_iter();
        let mut logs: Vec<_> = names.filter(|name| name.ends_with(".log")).collect();
        logs.sort();
        logs
    };
    let mut i = 0u64;
    while logs().len() < 4 {
        primary.put(format!("k{i}"), [i as u8; 200]).unwrap();
        i += 1;
    }
    let missed = Path::new(DIR).join(&logs()[1]);
    let aside = Path::new("/aside");
    fs.rename(&missed, aside).unwrap();
    std::thread::scope(|s| {
        let caught_up = s.spawn(|| secondary.try_catch_up_with_primary());
        std::thread::sleep(std::time::Duration::from_millis(100));
        fs.rename(aside, &missed).unwrap();
        caught_up.join().unwrap().unwrap();
    });
    assert_same(&primary, &secondary, "with all logs");
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}

#[test]
fn column_families_come_and_go() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    primary
        .put_cf(&primary.cf_handle("other").unwrap(), "a", "1")
        .unwrap();
    let secondary = follow(&o, OWN);
    primary.drop_cf("other").unwrap();
    primary.create_cf("new", &o).unwrap();
    primary
        .put_cf(&primary.cf_handle("new").unwrap(), "n", "1")
        .unwrap();
    primary.put("d", "1").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(secondary.get("d").unwrap().as_deref(), Some(&b"1"[..]));
    let other = secondary.cf_handle("other").unwrap();
    assert_eq!(
        secondary.get_cf(&other, "a").unwrap().as_deref(),
        Some(&b"1"[..])
    );
    assert!(secondary.cf_handle("new").is_none());
    primary.flush().unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    let later = ["default", "new"].map(|name| ColumnFamilyDescriptor::new(name, o.clone()));
    let later = Db::open_cf_descriptors_as_secondary(&o, DIR, "/data/later", later).unwrap();
    let new = later.cf_handle("new").unwrap();
    assert_eq!(later.get_cf(&new, "n").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn deleted_tables_stay_readable_if_they_are_open() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_disable_auto_compactions(true);
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    for round in 0..3 {
        for i in 0..200 {
            primary.put(format!("k{i:03}"), format!("{round}")).unwrap();
        }
        primary.flush().unwrap();
    }
    let open = follow(&o, OWN);
    let mut few = o.clone();
    few.set_max_open_files(1);
    let few = follow(&few, "/data/few");
    primary.delete("k000").unwrap();
    primary.compact_range(None::<&[u8]>, None::<&[u8]>);
    let default = open.cf_handle("default").unwrap();
    let before = content(&open, &default);
    assert_eq!(before.len(), 200);
    let mut iter = open.iterator(IteratorMode::Start);
    assert!(iter.next().is_some());
    open.try_catch_up_with_primary().unwrap();
    assert_eq!(content(&open, &default).len(), 199);
    assert_eq!(iter.count(), 199, "an iterator keeps what it saw");
    let e = few.get("k100").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError);
    assert!(e.file().unwrap().extension().unwrap() == "sst", "{e}");
    few.try_catch_up_with_primary().unwrap();
    assert_eq!(few.get("k100").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn it_changes_nothing_and_has_no_snapshots() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let primary = open_all(&o, Path::new(DIR)).unwrap();
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    primary.put_opt("unlogged", "1", &unlogged).unwrap();
    primary.put("logged", "1").unwrap();
    let before = fs.list(Path::new(DIR)).unwrap();
    let secondary = Db::open_as_secondary(&o, DIR, OWN).unwrap();
    assert_eq!(fs.list(Path::new(DIR)).unwrap(), before);
    assert_eq!(secondary.get("logged").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(secondary.get("unlogged").unwrap(), None);
    for outcome in [
        secondary.put("a", "b"),
        secondary.flush(),
        secondary.create_cf("new", &o),
        secondary.flush_wal(true),
        secondary.set_options(&[("ttl", "9")]),
        secondary.set_db_options(&[("max_background_jobs", "9")]),
    ] {
        let e = outcome.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported);
        assert!(e.to_string().contains("in secondary mode"), "{e}");
    }
    assert_eq!(fs.list(Path::new(DIR)).unwrap(), before);
    let e = secondary.snapshot().get("logged").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    for db in [&primary, &Db::open_for_read_only(&o, DIR, false).unwrap()] {
        let e = db.try_catch_up_with_primary().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported);
    }
    // Once it was flushed, the unlogged write shows.
    primary.flush().unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(
        secondary.get("unlogged").unwrap().as_deref(),
        Some(&b"1"[..])
    );
    drop(secondary);
    let e = Db::open_as_secondary(&o, "/data/none", "/data/x").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError);
    drop(primary);
    let names = Db::list_cf(&o, DIR).unwrap();
    open_named(&o, Path::new(DIR), &names).unwrap();
}

/// The same on files that the primary maps into memory, with compressed records and recycled logs.
#[test]
fn it_follows_files() {
    let dir = tempfile::tempdir().unwrap();
    let (path, own) = (dir.path().join("db"), dir.path().join("own"));
    for (recycled, packed) in [(0, false), (2, false), (0, true)] {
        let mut o = Options::default();
        o.create_if_missing(true);
        o.set_write_buffer_size(64 << 10);
        o.set_recycle_log_file_num(recycled);
        if packed {
            o.set_wal_compression_type(whitewater::DBCompressionType::Zstd);
        }
        let primary = DB::open(&o, &path).unwrap();
        let secondary = DB::open_as_secondary(&o, &path, &own).unwrap();
        for round in 0..20 {
            for i in 0..100 {
                let value = format!("{round}{}", "v".repeat(100));
                primary.put(format!("k{i:03}"), value).unwrap();
            }
            secondary.try_catch_up_with_primary().unwrap();
            let here: Vec<_> = secondary.iterator(IteratorMode::Start).collect();
            let there: Vec<_> = primary.iterator(IteratorMode::Start).collect();
            assert_eq!(here, there, "round {round}");
        }
        drop((primary, secondary));
        DB::destroy(&o, &path).unwrap();
    }
}

/// A batch must not continue in a second memtable: readers may hold a view from before that
/// memtable.
#[test]
fn a_batch_is_in_one_memtable() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_write_buffer_size(4 << 20);
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    o.set_write_buffer_size(64 << 10);
    let secondary = follow(&o, OWN);
    let other = secondary.cf_handle("other").unwrap();
    let count = |name| secondary.property_int_value_cf(&other, name).unwrap();
    for batches in 1..=3 {
        let mut batch = WriteBatch::default();
        for n in 0..1000 {
            let key = format!("{batches} {n}");
            batch.put_cf(&primary.cf_handle("other").unwrap(), key, [0; 300]);
        }
        primary.write(batch).unwrap();
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!(count("rocksdb.num-entries-active-mem-table"), Some(1000));
        assert_eq!(count("rocksdb.num-immutable-mem-table"), Some(batches - 1));
    }
}

/// Neither the manifest nor the empty end of the log is read again. Only what was added to them is.
#[test]
fn a_catch_up_goes_on_where_the_last_one_stopped() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    // About this much space is reserved for a log.
    o.set_write_buffer_size(4 << 20);
    o.set_disable_auto_compactions(true);
    let primary = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    for round in 0..300 {
        // The manifest holds the bounds of tables.
        primary.put(format!("k{round:0500}"), "v").unwrap();
        primary.flush().unwrap();
    }
    primary.put("log", "v").unwrap();
    let size = |wanted: fn(&str) -> bool| sizes_in(&fs, Path::new(DIR), wanted).iter().sum::<u64>();
    let logs = size(|name| name.ends_with(".log"));
    assert!(logs > 200 << 10, "{logs}");
    let manifest = size(|name| name.starts_with("MANIFEST"));
    assert!(manifest > 256 << 10, "{manifest}");

    let counting = CountingFs::new(fs.clone());
    let mut own = o.clone();
    own.set_fs(std::sync::Arc::new(counting.clone()));
    let secondary = follow(&own, OWN);
    let read = |when: &str| {
        let (bytes, _) = counting.during(|| secondary.try_catch_up_with_primary().unwrap());
        assert_same(&primary, &secondary, when);
        bytes
    };
    for _ in 0..3 {
        let idle = read("with nothing new");
        assert!(idle < 200, "{idle} bytes read for nothing");
    }
    for i in 0..20 {
        primary
            .put(format!("new{i}"), "x".repeat(i * 5000))
            .unwrap();
        let one = read("after a write");
        assert!(one < 400 << 10, "{one} bytes read for one write");
        let idle = read("with nothing new again");
        assert!(idle < 200, "{idle} bytes read for nothing");
    }
    for _ in 0..5 {
        primary.flush().unwrap();
        primary.put("log", "again").unwrap();
        let one = read("after a flush");
        // A block or two of the manifest and of each log, and a new table.
        assert!(one < 200 << 10, "{one} bytes read after a flush");
    }
}
