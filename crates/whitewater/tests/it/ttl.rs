//! Values that expire, in RocksDB's format.

use crate::harness::{DIR, Db, tiny_on};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use whitewater::fs::mem::MemFs;
use whitewater::{
    BottommostLevelCompaction, ColumnFamilyDescriptor, ColumnFamilyTtl, CompactOptions, ErrorKind,
    IteratorMode, Options, WaitForCompactOptions, WriteBatch,
};

const START: u64 = 1_700_000_000;

/// Options with a clock that a test moves.
fn clocked(fs: &MemFs) -> (Options, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(START));
    let clock = now.clone();
    let mut o = tiny_on(fs.clone());
    o.set_clock(move || {
        SystemTime::UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::Relaxed))
    });
    (o, now)
}

fn compact(db: &Db) {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options)
        .unwrap();
    for name in ["short", "long", "created"] {
        if let Some(cf) = db.cf_handle(name) {
            db.compact_range_cf_opt(&cf, None::<&[u8]>, None::<&[u8]>, &options);
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn compactions_drop_what_is_older_than_its_family_allows() {
    let fs = MemFs::new();
    let (o, now) = clocked(&fs);
    let family = |name, ttl| ColumnFamilyDescriptor::new_with_ttl(name, o.clone(), ttl);
    let mut same = ColumnFamilyDescriptor::new("default", o.clone());
    assert!(matches!(same.ttl(), ColumnFamilyTtl::SameAsDb));
    same.set_ttl(ColumnFamilyTtl::SameAsDb);
    let families = [
        same,
        family("short", ColumnFamilyTtl::Duration(Duration::from_secs(60))),
        family("long", ColumnFamilyTtl::Disabled),
    ];
    let db = Db::open_cf_descriptors_with_ttl(&o, DIR, families, HOUR).unwrap();
    db.create_cf("created", &o).unwrap();
    let put = |key: &str| {
        for name in ["default", "short", "long", "created"] {
            let cf = db.cf_handle(name).unwrap();
            db.put_cf(&cf, key, "v").unwrap();
        }
    };
    let found = |key: &str| {
        let has = |name: &&str| {
            db.get_cf(&db.cf_handle(name).unwrap(), key)
                .unwrap()
                .is_some()
        };
        let names = ["default", "short", "long", "created"];
        names.into_iter().filter(has).collect::<Vec<_>>()
    };
    put("a");
    compact(&db);
    // To the second: just not too old yet.
    now.store(START + 60, Ordering::Relaxed);
    put("b");
    compact(&db);
    assert_eq!(found("a"), ["default", "short", "long", "created"]);
    now.store(START + 61, Ordering::Relaxed);
    // Flushes and reads do not drop anything.
    db.flush().unwrap();
    assert_eq!(found("a"), ["default", "short", "long", "created"]);
    compact(&db);
    assert_eq!(found("a"), ["default", "long", "created"]);
    assert_eq!(found("b"), ["default", "short", "long", "created"]);
    now.store(START + 3601, Ordering::Relaxed);
    compact(&db);
    assert_eq!(found("a"), ["long", "created"]);
    assert_eq!(found("b"), ["default", "long", "created"]);
}

#[test]
fn an_expired_value_does_not_uncover_an_older_one() {
    let fs = MemFs::new();
    let (mut o, now) = clocked(&fs);
    o.set_disable_auto_compactions(true);
    let db = Db::open_with_ttl(&o, DIR, HOUR).unwrap();
    // At first it survives in a deep level, then a newer one expires above it.
    now.store(START + 10_000, Ordering::Relaxed);
    db.put("k", "old").unwrap();
    compact(&db);
    now.store(START, Ordering::Relaxed);
    db.put("k", "new").unwrap();
    db.flush().unwrap();
    now.store(START + 5000, Ordering::Relaxed);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    compact(&db);
    assert_eq!(db.get("k").unwrap(), None);
    assert_eq!(db.iterator(IteratorMode::Start).count(), 0);
}

#[test]
fn every_way_to_read_hides_the_timestamp() {
    let fs = MemFs::new();
    let (o, now) = clocked(&fs);
    let db = Db::open_with_ttl(&o, DIR, HOUR).unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "1");
    batch.put("e", "");
    batch.merge("m", "x");
    batch.delete("d");
    db.write(batch).unwrap();
    db.merge("a", "2").unwrap();
    for round in 0..3 {
        assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"1,2"[..]));
        assert_eq!(db.get_pinned("e").unwrap().as_deref(), Some(&b""[..]));
        let many = db.multi_get(["m", "a", "d"]);
        let many: Vec<_> = many.into_iter().map(Result::unwrap).collect();
        assert_eq!(many, [Some(b"x".to_vec()), Some(b"1,2".to_vec()), None]);
        for mode in [IteratorMode::Start, IteratorMode::End] {
            let mut all: Vec<_> = db.iterator(mode).map(Result::unwrap).collect();
            all.sort();
            let values: Vec<&[u8]> = all.iter().map(|(_, v)| &**v).collect();
            assert_eq!(values, [&b"1,2"[..], b"", b"x"], "round {round}");
        }
        assert_eq!(db.snapshot().get("m").unwrap().as_deref(), Some(&b"x"[..]));
        match round {
            0 => db.flush().unwrap(),
            _ => compact(&db),
        }
    }
    // A merged value has the time of the merge.
    now.store(START + 3000, Ordering::Relaxed);
    db.merge("m", "y").unwrap();
    compact(&db);
    now.store(START + 4000, Ordering::Relaxed);
    compact(&db);
    assert_eq!(db.get("m").unwrap().as_deref(), Some(&b"x,y"[..]));
    assert_eq!(db.get("a").unwrap(), None);
}

/// The bytes are RocksDB's: the value, then the time in seconds as a little-endian number of 32
/// bits.
#[test]
fn the_format_is_that_of_rocksdb() {
    let fs = MemFs::new();
    let (o, _now) = clocked(&fs);
    {
        let db = Db::open_with_ttl(&o, DIR, HOUR).unwrap();
        db.put("k", "value").unwrap();
        db.merge("m", "operand").unwrap();
        db.flush().unwrap();
    }
    {
        let db = Db::open(&o, DIR).unwrap();
        let stored = |value: &str| [value.as_bytes(), &[0x00, 0xf1, 0x53, 0x65]].concat();
        assert_eq!(db.get("k").unwrap().unwrap(), stored("value"));
        assert_eq!(db.get("m").unwrap().unwrap(), stored("operand"));
        db.put("short", "abc").unwrap();
        db.put("early", [b'v', 1, 0, 0, 0]).unwrap();
        db.put("theirs", [b'v', 0x00, 0xf1, 0x53, 0x65]).unwrap();
    }
    let db = Db::open_with_ttl(&o, DIR, Duration::ZERO).unwrap();
    assert_eq!(db.get("theirs").unwrap().as_deref(), Some(&b"v"[..]));
    for key in ["short", "early"] {
        let e = db.get(key).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{key}");
    }
    let mut raw = db.raw_iterator();
    raw.seek("short");
    assert_eq!(raw.status().unwrap_err().kind(), ErrorKind::Corruption);
}

/// Expired values are dropped without a request, also if nothing is written: tables of a family
/// whose values expire are compacted every 30 days.
#[test]
fn expired_values_go_by_themselves() {
    for (periodic, goes) in [(None, true), (Some(0), false)] {
        let fs = MemFs::new();
        let (mut o, now) = clocked(&fs);
        o.set_ttl(0);
        if let Some(periodic) = periodic {
            o.set_periodic_compaction_seconds(periodic);
        }
        let db = Db::open_with_ttl(&o, DIR, HOUR).unwrap();
        db.put("k", "v").unwrap();
        compact(&db);
        assert_eq!(db.live_files().unwrap().len(), 1);
        now.fetch_add(31 * 24 * 3600, Ordering::Relaxed);
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        assert_eq!(db.live_files().unwrap().is_empty(), goes);
    }
}

#[test]
fn a_family_that_is_created_with_a_time_to_live_has_it() {
    let fs = MemFs::new();
    let (o, now) = clocked(&fs);
    let db = Db::open_with_ttl(&o, DIR, HOUR).unwrap();
    let minute = Duration::from_secs(60);
    db.create_cf_with_ttl("created", &o, minute).unwrap();
    let cf = db.cf_handle("created").unwrap();
    db.put_cf(&cf, "a", "v").unwrap();
    now.store(START + 60, Ordering::Relaxed);
    compact(&db);
    assert_eq!(db.get_cf(&cf, "a").unwrap().as_deref(), Some(&b"v"[..]));
    now.store(START + 61, Ordering::Relaxed);
    compact(&db);
    assert_eq!(db.get_cf(&cf, "a").unwrap(), None);
    let twice = db.create_cf_with_ttl("created", &o, minute).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::InvalidArgument);
}
