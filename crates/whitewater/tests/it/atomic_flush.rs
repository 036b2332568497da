//! Flushes of all column families at once, and crashes around them.

use crate::harness::points::Trap;
use crate::harness::{DIR, Db, open_all, tiny_on, until, watched};
use std::path::Path;
use std::sync::Arc;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, Env, ErrorKind, FlushOptions, IteratorMode, Options, Point,
    SstFileWriter, WriteBatch, WriteOptions,
};

const FAMILIES: [&str; 3] = ["default", "a", "b"];

fn options(fs: impl whitewater::fs::Fs) -> Options {
    let mut o = tiny_on(fs);
    o.set_commit_protocol(whitewater::CommitProtocol::Ordered);
    o.set_atomic_flush(true);
    // The first failure ends the loop.
    o.set_max_bgerror_resume_count(0);
    o
}

fn open(o: &Options) -> Result<Db, whitewater::Error> {
    let families = FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, o.clone()));
    Db::open_cf_descriptors(o, DIR, families)
}

/// Batch `i` puts the same number into each column family, with values of very
/// different sizes, so that one memtable is full long before the others.
fn put(db: &Db, i: u32) -> Result<(), whitewater::Error> {
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    let mut batch = WriteBatch::default();
    for (name, bytes) in FAMILIES.into_iter().zip([1, 700, 40]) {
        let cf = db.cf_handle(name).expect("opened");
        batch.put_cf(&cf, i.to_be_bytes(), "v".repeat(bytes));
    }
    db.write_opt(batch, &unlogged)
}

/// The number of batches, which must be the same prefix in every column family.
fn batches(db: &Db) -> usize {
    let of = |name| {
        let cf = db.cf_handle(name).expect("opened");
        let keys = db.iterator_cf(&cf, IteratorMode::Start);
        let keys: Vec<Box<[u8]>> = keys.map(|kv| kv.expect("readable").0).collect();
        let expected = (0..keys.len() as u32).map(|i| i.to_be_bytes());
        assert!(
            keys.iter().map(|k| &**k).eq(expected
                .map(|k| k.to_vec())
                .collect::<Vec<_>>()
                .iter()
                .map(|k| &**k))
        );
        keys.len()
    };
    let found = FAMILIES.map(of);
    assert_eq!(found, [found[0]; 3], "batches are whole");
    found[0]
}

/// The power is cut after the first, second, third, ... operation that changes files, or all later
/// operations fail. The column families are then all as of one moment.
#[test]
fn unlogged_batches_are_whole_after_a_crash() {
    let mut most = 0;
    for n in 1.. {
        let fs = MemFs::new();
        let faulty = FaultFs::new(Arc::new(fs.clone()));
        {
            let o = options(faulty.clone());
            let db = open(&o).unwrap();
            faulty.add_rule(Rule {
                ops: OpSet::WRITES,
                path: PathMatch::Any,
                when: When::Nth(n),
                fault: Fault::Eio,
                sticky: true,
            });
            for i in 0..250 {
                let outcome = put(&db, i).and_then(|()| match i % 100 {
                    99 => {
                        let all = FAMILIES.map(|name| db.cf_handle(name).expect("opened"));
                        let all: Vec<_> = all.iter().collect();
                        db.flush_cfs_opt(&all, &FlushOptions::default())
                    }
                    _ => Ok(()),
                });
                if outcome.is_err() {
                    break;
                }
            }
            // Closing flushes nothing.
            faulty.add_rule(Rule::nth(OpSet::WRITES, 1));
        }
        for (keep, seed) in [(0.0, 0), (0.5, n), (1.0, 0)] {
            let o = options(fs.crash_clone(keep, seed));
            let db = open_all(&o, Path::new(DIR)).unwrap();
            most = most.max(batches(&db));
        }
        if faulty.injected().len() < 2 && most >= 200 {
            break;
        }
        assert!(n < 2000, "it ends");
    }
}

#[test]
fn closing_and_reopening_keeps_everything() {
    let fs = MemFs::new();
    let o = options(fs.clone());
    let db = open(&o).unwrap();
    for i in 0..300 {
        put(&db, i).unwrap();
    }
    assert_eq!(batches(&db), 300);
    // Dropping a column family while the others are flushed does not block the flush.
    db.create_cf("short", &o).unwrap();
    let short = db.cf_handle("short").unwrap();
    db.put_cf(&short, "k", "v").unwrap();
    let mut later = FlushOptions::default();
    later.set_wait(false);
    db.flush_cfs_opt(&[&short], &later).unwrap();
    drop(short);
    db.drop_cf("short").unwrap();
    db.flush().unwrap();
    drop(db);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(batches(&db), 300);
    for name in FAMILIES {
        let cf = db.cf_handle(name).unwrap();
        let active = db.property_int_value_cf(&cf, "rocksdb.num-entries-active-mem-table");
        assert_eq!(active.unwrap(), Some(0));
    }
}

/// An ingestion has found the memtable empty. Then a batch is inserted, which the ingestion has to
/// flush.
#[test]
fn an_ingestion_flushes_whole_batches() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/data")).unwrap();
    let mut o = options(fs.clone());
    let trap = Trap::set(&mut o);
    let db = &open(&o).unwrap();
    let path = Path::new("/data/table");
    let mut writer = SstFileWriter::create(&o);
    writer.open(path).unwrap();
    writer.put(0u32.to_be_bytes(), "ingested").unwrap();
    writer.finish().unwrap();
    trap.arm(Point::Closing);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let a = db.cf_handle("a").unwrap();
            db.ingest_external_file_cf(&a, vec![path]).unwrap();
        });
        trap.wait();
        put(db, 0).unwrap();
        trap.release();
    });
    assert_eq!(batches(db), 1);
    let left = open_all(&options(fs.crash_clone(1.0, 0)), Path::new(DIR)).unwrap();
    assert_eq!(batches(&left), 1);
    let a = left.cf_handle("a").unwrap();
    let found = left.get_cf(&a, 0u32.to_be_bytes()).unwrap();
    assert_eq!(found.as_deref(), Some(&b"ingested"[..]));
}

/// A manual compaction first flushes its column family, and with it the others.
#[test]
fn a_compaction_flushes_whole_batches() {
    let fs = MemFs::new();
    let db = open(&options(fs.clone())).unwrap();
    put(&db, 0).unwrap();
    let a = db.cf_handle("a").unwrap();
    db.compact_range_cf(&a, None::<&[u8]>, None::<&[u8]>);
    let left = open_all(&options(fs.crash_clone(0.0, 0)), Path::new(DIR)).unwrap();
    assert_eq!(batches(&left), 1);
}

/// An export first flushes its column family, and once left the others' parts of unlogged
/// batches behind.
#[test]
fn an_export_flushes_whole_batches() {
    let fs = MemFs::new();
    let db = open(&options(fs.clone())).unwrap();
    put(&db, 0).unwrap();
    let a = db.cf_handle("a").unwrap();
    let checkpoint = Checkpoint::new(&db).unwrap();
    checkpoint.export_column_family(&a, "/exported").unwrap();
    let left = open_all(&options(fs.crash_clone(0.0, 0)), Path::new(DIR)).unwrap();
    assert_eq!(batches(&left), 1);
}

/// A column family is created and written to together with others while a flush of all of them
/// waits for its turn. The flush takes the new one along.
#[test]
fn a_flush_of_all_has_those_created_while_it_waited() {
    let in_order = (0..20).any(|_| watched("a flush of all", 60, flush_behind_a_creation));
    assert!(in_order, "the creation comes before the flush");
}

/// Whether they came in that order. The lock that they wait for decides it.
fn flush_behind_a_creation() -> bool {
    let fs = MemFs::new();
    let mut o = options(fs.clone());
    let trap = Trap::set(&mut o);
    let db = &open(&o).unwrap();
    let families = FAMILIES.map(|name| db.cf_handle(name).expect("opened"));
    let put = |i: u32, batch: &mut WriteBatch| {
        for cf in &families {
            batch.put_cf(cf, i.to_be_bytes(), "v");
        }
        let mut unlogged = WriteOptions::default();
        unlogged.disable_wal(true);
        db.write_opt(std::mem::take(batch), &unlogged).unwrap();
    };
    put(0, &mut WriteBatch::default());
    let line_up = || std::thread::sleep(std::time::Duration::from_millis(20));
    trap.arm(Point::Closing);
    let in_order = std::thread::scope(|scope| {
        // One thread switches, and two wait for it.
        let all: Vec<_> = families.iter().collect();
        scope.spawn(move || db.flush_cfs_opt(&all, &FlushOptions::default()).unwrap());
        trap.wait();
        trap.arm(Point::Closing);
        scope.spawn(|| db.create_cf("late", &o).unwrap());
        line_up();
        // This flushes everything first.
        let flush = scope.spawn(|| db.compact_range(None::<&[u8]>, None::<&[u8]>));
        line_up();
        trap.release();
        trap.wait();
        line_up();
        if flush.is_finished() {
            trap.release();
            return false;
        }
        // The creation is held up, so what is written now belongs to the flush.
        put(1, &mut WriteBatch::default());
        trap.arm(Point::Closing);
        trap.release();
        // Otherwise the flush was first after all, and is compacting.
        while !trap.has_caught() {
            if flush.is_finished() {
                trap.release();
                return false;
            }
            std::thread::yield_now();
        }
        trap.wait();
        until("created", || db.cf_handle("late").is_some());
        let late = db.cf_handle("late").expect("created");
        let mut batch = WriteBatch::default();
        batch.put_cf(&late, "k", "v");
        put(2, &mut batch);
        trap.release();
        true
    });
    if in_order {
        let left = open_all(&options(fs.crash_clone(0.0, 0)), Path::new(DIR)).unwrap();
        assert_eq!(batches(&left), 3);
        let late = left.cf_handle("late").expect("created");
        assert_eq!(left.get_cf(&late, "k").unwrap().as_deref(), Some(&b"v"[..]));
    }
    in_order
}

#[test]
fn pipelined_writes_are_refused() {
    let mut o = options(MemFs::new());
    o.set_commit_protocol(whitewater::CommitProtocol::Pipelined);
    let e = open(&o).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("atomic_flush"), "{e}");
}

#[test]
fn an_environment_in_memory_holds_databases() {
    let mut env = Env::mem_env().unwrap();
    env.set_background_threads(3);
    let mut o = Options::default();
    o.create_if_missing(true);
    o.stay_stopped();
    o.set_env(&env);
    let db = Db::open(&o, "/nowhere/else").unwrap();
    db.put("k", "v").unwrap();
    drop(db);
    assert!(!Path::new("/nowhere").exists());
    // A clone is the same environment; another one is not.
    let mut again = Options::default();
    again.set_env(&env.clone());
    let db = Db::open(&again, "/nowhere/else").unwrap();
    assert_eq!(db.get("k").unwrap().as_deref(), Some(&b"v"[..]));
    drop(db);
    again.set_env(&Env::mem_env().unwrap());
    let e = Db::open(&again, "/nowhere/else").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    env.join_all_threads();
}
