//! Mempurge: full memtables are replaced by what is left of them, and no table is written.
//!
//! * `same`: what is read does not depend on it.
//! * `crash`: nothing of what was purged is lost.

mod crash;
mod same;

use crate::harness::points::Trap;
use crate::harness::{DIR, Db, MEMTABLES, protocols, set_memtable, tiny, tiny_on, until, watched};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    CommitProtocol, Options, Point, WriteBatch, WriteBufferManager, WriteOptions, properties,
};

const NAME: &str = "experimental_mempurge_threshold";

/// Options by which memtables are purged, and tables stay where they are.
fn purging(fs: &MemFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_experimental_mempurge_threshold(1.0);
    o.set_max_write_buffer_number(4);
    o.set_disable_auto_compactions(true);
    o
}

/// Counts the purges of a database that is opened with `o`.
fn count_purges(o: &mut Options) -> Arc<AtomicUsize> {
    let purges = Arc::new(AtomicUsize::new(0));
    let counted = purges.clone();
    o.set_failpoints(move |point, _| {
        if point == Point::Purged {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    purges
}

/// Writes `times` values of 1,000 bytes to ten keys, one after the other.
fn overwrite(db: &Db, times: usize) {
    for n in 0..times {
        let digit = b'0' + (n % 10) as u8;
        db.put([b'h', b'o', b't', digit], [digit; 1_000]).unwrap();
    }
}

/// Overwrites until memtables were purged `more` times.
fn purge(db: &Db, purges: &AtomicUsize, more: usize) {
    let goal = purges.load(Ordering::SeqCst) + more;
    let begun = std::time::Instant::now();
    while purges.load(Ordering::SeqCst) < goal {
        assert!(begun.elapsed().as_secs() < 60, "no purge");
        overwrite(db, 10);
    }
}

fn tables(db: &Db) -> usize {
    db.live_files().unwrap().len()
}

fn retired(db: &Db) -> u64 {
    let name = properties::NUM_IMMUTABLE_MEM_TABLE;
    db.property_int_value(name).unwrap().unwrap()
}

/// Checks what [`overwrite`] has written.
fn check_hot(db: &Db) {
    for digit in b'0'..=b'9' {
        let found = db.get([b'h', b'o', b't', digit]).unwrap();
        assert_eq!(found, Some(vec![digit; 1_000]), "{digit}");
    }
}

#[test]
fn what_is_overwritten_again_and_again_never_becomes_a_table() {
    for memtable in MEMTABLES {
        for protocol in protocols() {
            let fs = MemFs::new();
            let mut o = purging(&fs);
            set_memtable(&mut o, memtable);
            o.set_commit_protocol(protocol);
            o.enable_statistics();
            let purges = count_purges(&mut o);
            let db = Db::open(&o, DIR).unwrap();
            let what = format!("{memtable} {protocol:?}");
            purge(&db, &purges, 3);
            until(&what, || retired(&db) == 1);
            assert_eq!(tables(&db), 0, "{what}");
            assert_eq!(o.get_ticker_count(Ticker::FlushWriteBytes), 0, "{what}");
            check_hot(&db);
            // Whoever asks for a flush gets a table of it.
            db.flush().unwrap();
            assert_eq!(retired(&db), 0, "{what}");
            assert!(tables(&db) > 0, "{what}");
            check_hot(&db);
            drop(db);
            check_hot(&Db::open(&o, DIR).unwrap());
        }
    }
}

/// With two memtables at most, writers wait for each purge, and with a flush that waits for two,
/// the purged one is not counted.
#[test]
fn few_memtables_are_enough() {
    for (most, to_merge) in [(2, 1), (3, 2), (4, 3)] {
        let fs = MemFs::new();
        let mut o = purging(&fs);
        o.set_max_write_buffer_number(most);
        o.set_min_write_buffer_number_to_merge(to_merge);
        let purges = count_purges(&mut o);
        watched("purges", 120, move || {
            let db = Db::open(&o, DIR).unwrap();
            purge(&db, &purges, 3);
            check_hot(&db);
            assert_eq!(tables(&db), 0, "{most} {to_merge}");
        });
    }
}

/// All of it is needed, so it is flushed, whatever the threshold is.
#[test]
fn memtables_without_garbage_become_tables() {
    for threshold in [1.0, 100.0] {
        let fs = MemFs::new();
        let mut o = purging(&fs);
        o.set_experimental_mempurge_threshold(threshold);
        let db = Db::open(&o, DIR).unwrap();
        for n in 0..1_000 {
            db.put(format!("key{n:05}"), [7; 1_000]).unwrap();
        }
        let flushed = || {
            let live = db.live_files().unwrap();
            live.iter().map(|f| f.num_entries).sum::<u64>()
        };
        // At most the active memtable and a purged one are not.
        until("tables", || flushed() > 800);
        for n in 0..1_000 {
            assert!(db.get(format!("key{n:05}")).unwrap().is_some(), "{n}");
        }
    }
}

/// Range tombstones that make a memtable full would make the purged one full, too.
#[test]
fn too_many_range_deletions_become_tables() {
    let fs = MemFs::new();
    let mut o = purging(&fs);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, DIR).unwrap();
    let most = [("memtable_max_range_deletions", "10")];
    db.set_options(&most).unwrap();
    // It applies to memtables that are begun later.
    db.put("key", "value").unwrap();
    db.flush().unwrap();
    for n in 0..40 {
        let range = [format!("key{n:05}"), format!("key{n:05}x")];
        let mut batch = WriteBatch::default();
        batch.delete_range(&range[0], &range[1]);
        db.write(batch).unwrap();
    }
    until("tables", || tables(&db) > 1 && retired(&db) == 0);
    assert_eq!(purges.load(Ordering::SeqCst), 0);
}

#[test]
fn versions_that_are_needed_by_other_rules_are_flushed() {
    type Setter = fn(&mut Options);
    let cases: [(&str, Setter); 2] = [
        ("atomic_flush", |o| o.set_atomic_flush(true)),
        ("inplace_update_support", |o| {
            o.set_allow_concurrent_memtable_write(false);
            o.set_commit_protocol(CommitProtocol::Grouped);
            o.set_inplace_update_support(true);
        }),
    ];
    for (name, set) in cases {
        let fs = MemFs::new();
        let mut o = purging(&fs);
        o.set_commit_protocol(CommitProtocol::Ordered);
        set(&mut o);
        let purges = count_purges(&mut o);
        let db = Db::open(&o, DIR).unwrap();
        for n in 0..200u8 {
            db.delete("key").unwrap();
            db.put("key", [n; 1_000]).unwrap();
        }
        until(name, || tables(&db) > 0);
        assert_eq!(purges.load(Ordering::SeqCst), 0, "{name}");
        assert_eq!(db.get("key").unwrap(), Some(vec![199; 1_000]), "{name}");
    }
}

#[test]
fn a_flush_that_is_asked_for_during_a_purge_makes_a_table() {
    watched("a flush", 60, || {
        let fs = MemFs::new();
        let mut o = purging(&fs);
        let trap = Trap::set(&mut o);
        let db = Db::open(&o, DIR).unwrap();
        trap.arm(Point::Purged);
        overwrite(&db, 120);
        trap.wait();
        thread::scope(|scope| {
            let flush = scope.spawn(|| db.flush().unwrap());
            until("the switch", || retired(&db) > 1);
            trap.release();
            flush.join().unwrap();
        });
        assert_eq!(retired(&db), 0);
        assert!(tables(&db) > 0);
        check_hot(&db);
    });
}

#[test]
fn a_column_family_that_is_dropped_during_its_purge_is_gone() {
    watched("a purge", 60, || {
        let fs = MemFs::new();
        let mut o = purging(&fs);
        let trap = Trap::set(&mut o);
        let db = Db::open(&o, DIR).unwrap();
        db.create_cf("short", &o).unwrap();
        trap.arm(Point::Purged);
        {
            let short = db.cf_handle("short").unwrap();
            for n in 0..120u8 {
                db.put_cf(&short, "key", [n; 1_000]).unwrap();
            }
        }
        trap.wait();
        db.drop_cf("short").unwrap();
        trap.release();
        overwrite(&db, 200);
        db.flush().unwrap();
        check_hot(&db);
        drop(db);
        assert_eq!(Db::list_cf(&o, DIR).unwrap(), ["default"]);
    });
}

/// Purged memtables keep their logs, until these are too large.
#[test]
fn logs_that_become_too_large_make_tables_of_purged_memtables() {
    let fs = MemFs::new();
    let mut o = purging(&fs);
    o.set_max_total_wal_size(400_000);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, DIR).unwrap();
    db.put("once", "kept").unwrap();
    let log_bytes = || {
        let names = fs.list(Path::new(DIR)).unwrap();
        let logs = names.iter().filter(|name| name.ends_with(".log"));
        logs.filter_map(|name| fs.file_size(&Path::new(DIR).join(name)).ok())
            .sum::<u64>()
    };
    overwrite(&db, 4_000);
    until("old logs to go", || {
        overwrite(&db, 1);
        tables(&db) > 0 && log_bytes() <= 800_000
    });
    assert!(purges.load(Ordering::SeqCst) > 0);
    check_hot(&db);
    assert_eq!(db.get("once").unwrap(), Some(b"kept".to_vec()));
}

#[test]
fn the_budget_of_memory_makes_tables_of_purged_memtables() {
    watched("the budget", 60, || {
        let fs = MemFs::new();
        let mut o = purging(&fs);
        o.set_write_buffer_manager(&WriteBufferManager::new_write_buffer_manager(
            300_000, false,
        ));
        let purges = count_purges(&mut o);
        let db = Db::open(&o, DIR).unwrap();
        let mut large = o.clone();
        large.set_write_buffer_size(1 << 20);
        db.create_cf("large", &large).unwrap();
        purge(&db, &purges, 1);
        let cf = db.cf_handle("large").unwrap();
        let n = AtomicUsize::new(0);
        until("a table of what was purged", || {
            let n = n.fetch_add(1, Ordering::SeqCst);
            db.put_cf(&cf, format!("key{n:06}"), [7; 1_000]).unwrap();
            let live = db.live_files().unwrap();
            live.iter().any(|f| f.column_family_name == "default")
        });
        check_hot(&db);
    });
}

#[test]
fn writes_without_a_log_are_flushed_at_the_end() {
    let fs = MemFs::new();
    let mut o = purging(&fs);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, DIR).unwrap();
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    for n in 0..500 {
        let digit = b'0' + (n % 10) as u8;
        let mut batch = WriteBatch::default();
        batch.put([b'h', b'o', b't', digit], [digit; 1_000]);
        db.write_opt(batch, &unlogged).unwrap();
    }
    until("a purge", || purges.load(Ordering::SeqCst) > 0);
    assert_eq!(tables(&db), 0);
    drop(db);
    let db = Db::open(&o, DIR).unwrap();
    assert!(tables(&db) > 0);
    check_hot(&db);
}

#[test]
fn the_threshold_changes_while_the_database_is_open_and_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = tiny();
    o.set_max_write_buffer_number(4);
    o.set_disable_auto_compactions(true);
    let purges = count_purges(&mut o);
    let db = Db::open(&o, dir.path()).unwrap();
    overwrite(&db, 200);
    until("tables", || tables(&db) > 0 && retired(&db) == 0);
    assert_eq!(purges.load(Ordering::SeqCst), 0);
    assert!(db.set_options(&[(NAME, "half")]).is_err());
    db.set_options(&[(NAME, "0.5")]).unwrap();
    purge(&db, &purges, 1);
    db.set_options(&[(NAME, "-1")]).unwrap();
    db.flush().unwrap();
    let (purged, flushed) = (purges.load(Ordering::SeqCst), tables(&db));
    overwrite(&db, 200);
    until("tables", || tables(&db) > flushed && retired(&db) == 0);
    assert_eq!(purges.load(Ordering::SeqCst), purged);
    db.set_options(&[(NAME, "2.5")]).unwrap();
    drop(db);
    let names = std::fs::read_dir(dir.path()).unwrap();
    let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let newest = names.filter(|n| n.starts_with("OPTIONS-")).max().unwrap();
    let text = std::fs::read_to_string(dir.path().join(newest)).unwrap();
    let lines = text.lines().filter(|l| l.trim().starts_with(NAME));
    let said: Vec<_> = lines.map(|l| l.trim().to_owned()).collect();
    assert_eq!(said, [format!("{NAME}=2.5")]);
    let log = std::fs::read_to_string(dir.path().join("LOG")).unwrap();
    for line in [
        "Mempurge sampling [CF default] - found garbage ratio from sampling: 0.",
        "[default] [JOB ",
        "Status is ok. Perc capacity: 0.",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
}
