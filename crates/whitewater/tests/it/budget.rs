//! The write buffer manager: what it counts, which database flushes, and which writers wait.

use crate::harness::{campaign, set_protocol, watched};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::Ticker;
use whitewater::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, ErrorKind, FlushOptions, MemtableFactory,
    Options, WriteBufferManager, WriteOptions,
};

const KIB: usize = 1 << 10;
const FACTORIES: [MemtableFactory; 2] = [MemtableFactory::SkipList, MemtableFactory::Art];

/// Memtables that never become full.
fn options(factory: MemtableFactory) -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.stay_stopped();
    o.create_missing_column_families(true);
    set_protocol(&mut o);
    o.set_fs(Arc::new(MemFs::new()));
    o.set_memtable_factory(factory);
    // Charges grow by 4 KiB.
    o.set_write_buffer_size(1024 * KIB);
    o.set_arena_block_size(4 * KIB);
    o
}

/// Opens a database, all column families with the same options.
fn open(o: &Options, dir: &str, families: &[&str]) -> DB {
    let families = families
        .iter()
        .map(|name| ColumnFamilyDescriptor::new(*name, o.clone()));
    DB::open_cf_descriptors(o, dir, families).unwrap()
}

fn managed(factory: MemtableFactory, manager: &WriteBufferManager) -> Options {
    let mut o = options(factory);
    o.set_write_buffer_manager(manager);
    o
}

/// Writes `bytes` bytes in values of 1000 bytes.
fn fill(db: &DB, cf: &str, bytes: usize) {
    let cf = db.cf_handle(cf).expect("there");
    for i in 0..bytes / 1000 {
        db.put_cf(&cf, format!("key{i:06}"), [7; 1000]).unwrap();
    }
}

/// Level-0 tables of a column family.
fn tables(db: &DB, cf: &str) -> usize {
    let live = db.live_files().unwrap();
    live.iter().filter(|f| f.column_family_name == cf).count()
}

/// Waits for background threads. The caller is under a watchdog.
fn until(what: impl Fn() -> bool) {
    while !what() {
        std::thread::yield_now();
    }
}

#[test]
fn memory_is_charged_and_given_back() {
    for factory in FACTORIES {
        let cache = Cache::new_lru_cache(16 << 20);
        let manager =
            WriteBufferManager::new_write_buffer_manager_with_cache(8 << 20, false, cache.clone());
        assert!(manager.enabled());
        let mut o = managed(factory, &manager);
        let mut table = BlockBasedOptions::default();
        table.disable_cache();
        o.set_block_based_table_factory(&table);
        o.set_memtable_prefix_bloom_ratio(0.1);
        o.set_memtable_whole_key_filtering(true);
        let db = open(&o, "/db", &["default", "other"]);
        assert_eq!(manager.get_usage(), 0, "nothing is charged before a write");
        fill(&db, "default", 500_000);
        let one = manager.get_usage();
        // The Bloom filter takes a tenth of a buffer of 1 MiB.
        assert!((600_000..900_000).contains(&one), "{one}");
        fill(&db, "other", 300_000);
        let two = manager.get_usage();
        assert!((one + 300_000..one + 600_000).contains(&two), "{two}");
        assert_eq!(cache.get_usage(), two.next_multiple_of(256 * KIB));

        // An iterator holds the flushed memtable.
        let iterator = db.raw_iterator();
        db.flush().unwrap();
        assert_eq!(manager.get_usage(), two);
        drop(iterator);
        watched("the flush lets go", 60, {
            let manager = manager.clone();
            move || until(|| manager.get_usage() <= two - one)
        });
        assert_eq!(manager.get_usage(), two - one);

        // Logs are replayed into memtables that are charged too.
        drop(db);
        assert_eq!((manager.get_usage(), cache.get_usage()), (0, 0));
        let db = open(&o, "/db", &["default", "other"]);
        assert_eq!(manager.get_usage(), 0, "replayed and flushed");
        assert_eq!(tables(&db, "other"), 1);
    }
}

#[test]
fn a_dropped_column_family_gives_its_memory_back() {
    let manager = WriteBufferManager::new_write_buffer_manager(0, true);
    assert!(!manager.enabled());
    let o = managed(MemtableFactory::SkipList, &manager);
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = open(&o, "/db", &["default", "gone"]);
    fill(&db, "gone", 100_000);
    assert!(manager.get_usage() >= 100_000);
    db.drop_cf("gone").unwrap();
    watched("the drop", 60, move || until(|| manager.get_usage() == 0));
}

#[test]
fn the_column_family_with_the_oldest_entries_is_flushed() {
    watched("the flush", 60, || {
        for factory in FACTORIES {
            let mut o = options(factory);
            o.set_db_write_buffer_size(512 * KIB);
            let db = open(&o, "/db", &["default", "old", "new"]);
            fill(&db, "new", 10_000);
            let new = db.cf_handle("new").unwrap();
            db.flush_cf(&new).unwrap();
            // The oldest log is kept for the entry in "old".
            fill(&db, "old", 150_000);
            db.flush_cf_opt(&db.cf_handle("default").unwrap(), &FlushOptions::default())
                .unwrap();
            // Together they are above 7/8 of the limit; each alone stays below.
            fill(&db, "new", 320_000);
            until(|| tables(&db, "old") == 1);
            assert_eq!(tables(&db, "new"), 1, "not flushed again before");
            assert_eq!(tables(&db, "default"), 0);
        }
    });
}

#[test]
fn a_database_that_is_idle_is_flushed_for_another() {
    watched("the flush", 60, || {
        for factory in FACTORIES {
            let manager = WriteBufferManager::new_write_buffer_manager(512 * KIB, false);
            let idle = open(&managed(factory, &manager), "/idle", &["default"]);
            let busy = open(&managed(factory, &manager), "/busy", &["default"]);
            fill(&idle, "default", 350_000);
            fill(&busy, "default", 50_000);
            while manager.get_usage() <= 448 * KIB {
                busy.put("more", [1; 1000]).unwrap();
            }
            busy.put("one more", "sees it").unwrap();
            until(|| tables(&idle, "default") == 1);
            until(|| manager.get_usage() < 256 * KIB);
            assert_eq!(tables(&busy, "default"), 0, "the smaller one stays");
        }
    });
}

/// A manager whose limit is reached by memory that an iterator of the returned
/// database holds.
fn held(fs: Arc<dyn Fs>) -> (WriteBufferManager, Options, DB) {
    let manager = WriteBufferManager::new_write_buffer_manager(256 * KIB, false);
    let mut o = managed(MemtableFactory::SkipList, &manager);
    o.set_fs(fs);
    let db = open(&o, "/held", &["default"]);
    manager.set_buffer_size(0);
    fill(&db, "default", 300_000);
    (manager, o, db)
}

/// Starts a writer of `db`, waits until it is stalled, and returns it.
fn stalled_writer<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    db: &'scope DB,
) -> std::thread::ScopedJoinHandle<'scope, Result<(), whitewater::Error>> {
    let mut impatient = WriteOptions::default();
    impatient.set_no_slowdown(true);
    until(|| match db.put_opt("k", "v", &impatient) {
        Ok(()) => false,
        Err(e) => e.kind() == ErrorKind::Incomplete,
    });
    scope.spawn(|| db.put("stalled", "v"))
}

#[test]
fn writers_wait_until_a_reader_lets_go() {
    watched("the stall", 60, || {
        let (manager, o, db) = held(Arc::new(MemFs::new()));
        let other = DB::open(&o, "/other").unwrap();
        let iterator = db.raw_iterator();
        db.flush().unwrap();
        manager.set_buffer_size(256 * KIB);
        manager.set_allow_stall(true);
        std::thread::scope(|scope| {
            let writers = [&db, &other].map(|db| stalled_writer(scope, db));
            assert!(writers.iter().all(|w| !w.is_finished()));
            assert_eq!(db.get("stalled").unwrap(), None, "reads go on");
            drop(iterator);
            for writer in writers {
                writer.join().unwrap().unwrap();
            }
        });
        assert!(manager.get_usage() < 256 * KIB);
        assert_eq!(db.get("stalled").unwrap().unwrap(), b"v");
    });
}

/// A reader holds the flushed memtable, so another database is flushed instead, although no thread
/// but the stalled writer is there to ask for it.
#[test]
fn a_flush_that_frees_nothing_is_followed_by_another() {
    for writes_to_held in [true, false] {
        watched("the stall", 60, move || {
            let (manager, o, db) = held(Arc::new(MemFs::new()));
            let other = open(&o, "/other", &["default"]);
            fill(&other, "default", 150_000);
            let iterator = db.raw_iterator();
            manager.set_allow_stall(true);
            // The first has most memory, and its flush would be enough.
            manager.set_buffer_size(400 * KIB);
            let writer = if writes_to_held { &db } else { &other };
            writer.put("stalled", "v").unwrap();
            assert!(manager.get_usage() < 400 * KIB);
            assert_eq!((tables(&db, "default"), tables(&other, "default")), (1, 1));
            drop(iterator);
        });
    }
}

/// Many writers of several databases.
struct Crowd {
    stalled: AtomicUsize,
    woken: AtomicUsize,
}

/// Stalls four writers of each of `dbs`, calls `end`, and returns how many writers were refused.
/// None goes on before `end` is called.
fn crowd(dbs: &[&DB], end: impl FnOnce()) -> usize {
    const WRITERS: usize = 4;
    let crowd = Crowd {
        stalled: AtomicUsize::new(0),
        woken: AtomicUsize::new(0),
    };
    std::thread::scope(|scope| {
        let mut impatient = WriteOptions::default();
        impatient.set_no_slowdown(true);
        for db in dbs {
            let e = db.put_opt("k", "v", &impatient).expect_err("a stall");
            assert_eq!(e.kind(), ErrorKind::Incomplete, "{e}");
        }
        let writers: Vec<_> = (0..WRITERS * dbs.len())
            .map(|n| {
                let (db, crowd) = (dbs[n % dbs.len()], &crowd);
                scope.spawn(move || {
                    crowd.stalled.fetch_add(1, Ordering::SeqCst);
                    let outcome = db.put(format!("crowd{n}"), "v");
                    crowd.woken.fetch_add(1, Ordering::SeqCst);
                    outcome
                })
            })
            .collect();
        until(|| crowd.stalled.load(Ordering::SeqCst) == writers.len());
        assert_eq!(crowd.woken.load(Ordering::SeqCst), 0, "nobody passes");
        end();
        let outcomes = writers.into_iter().map(|w| w.join().unwrap());
        outcomes.filter(Result::is_err).count()
    })
}

/// One database has all the memory, and the writers of all databases wait for it.
#[test]
fn all_writers_of_all_databases_go_on_when_memory_is_freed() {
    watched("the crowd", 60, || {
        let (manager, o, db) = held(Arc::new(MemFs::new()));
        let others = ["/one", "/two"].map(|dir| DB::open(&o, dir).unwrap());
        manager.set_allow_stall(true);
        for _ in 0..5 {
            manager.set_buffer_size(0);
            fill(&db, "default", 300_000);
            let iterator = db.raw_iterator();
            db.flush().unwrap();
            manager.set_buffer_size(256 * KIB);
            let refused = crowd(&[&db, &others[0], &others[1]], || drop(iterator));
            assert_eq!(refused, 0);
            assert!(manager.get_usage() < 256 * KIB);
        }
        for n in 0..12 {
            let of = [&db, &others[0], &others[1]][n % 3];
            assert_eq!(of.get(format!("crowd{n}")).unwrap().unwrap(), b"v");
        }
    });
}

/// The same when the database with the memory is closed or fails: its own writers get an error, and
/// those of others go on once its memory is freed.
#[test]
fn all_writers_go_on_when_a_database_with_the_memory_ends_or_fails() {
    watched("the crowd", 60, || {
        let faulty = FaultFs::new(Arc::new(MemFs::new()));
        let (manager, o, db) = held(Arc::new(faulty.clone()));
        let mut other = o.clone();
        other.set_fs(Arc::new(MemFs::new()));
        let others = ["/one", "/two"].map(|dir| DB::open(&other, dir).unwrap());
        let iterator = db.raw_iterator();
        db.flush().unwrap();
        fill(&db, "default", 100_000);
        manager.set_allow_stall(true);
        manager.set_buffer_size(256 * KIB);
        // It fails: it flushes nothing more, and stalls none of its own writers.
        let refused = crowd(&[&db], || {
            faulty.add_rule(Rule {
                ops: OpSet::of(&[FaultOp::Sync]),
                path: PathMatch::EndsWith(".log".to_owned()),
                when: When::Nth(1),
                fault: Fault::Eio,
                sticky: false,
            });
            db.flush_wal(true).unwrap_err();
        });
        assert_eq!(refused, 4, "the failure is told");
        // It is resumed: stalls count again, for all.
        let refused = crowd(&[&others[0], &others[1]], || {
            db.resume().unwrap();
            drop(iterator);
        });
        assert_eq!(refused, 0);
        manager.set_buffer_size(0);
        fill(&db, "default", 300_000);
        let rule = Rule {
            ops: OpSet::of(&[FaultOp::Create]),
            path: PathMatch::EndsWith(".sst".to_owned()),
            when: When::Nth(1),
            fault: Fault::Eio,
            sticky: true,
        };
        faulty.add_rule(rule);
        manager.set_buffer_size(256 * KIB);
        // It is closed, with memtables that it could not flush.
        let refused = crowd(&[&others[0], &others[1]], || drop(db));
        assert_eq!(refused, 0);
        assert!(manager.get_usage() < 256 * KIB);
    });
}

#[test]
fn a_stall_ends_with_another_limit_and_without_stalls() {
    watched("the stall", 60, || {
        let (manager, _, db) = held(Arc::new(MemFs::new()));
        let _iterator = db.raw_iterator();
        db.flush().unwrap();
        manager.set_allow_stall(true);
        manager.set_buffer_size(256 * KIB);
        std::thread::scope(|scope| {
            let writer = stalled_writer(scope, &db);
            manager.set_buffer_size(1024 * KIB);
            writer.join().unwrap().unwrap();
            manager.set_buffer_size(256 * KIB);
            let writer = stalled_writer(scope, &db);
            manager.set_allow_stall(false);
            writer.join().unwrap().unwrap();
        });
        assert_eq!(manager.get_buffer_size(), 256 * KIB);
    });
}

#[test]
fn a_stall_ends_at_shutdown() {
    watched("the shutdown", 60, || {
        let (manager, _, db) = held(Arc::new(MemFs::new()));
        let iterator = db.raw_iterator();
        db.flush().unwrap();
        manager.set_allow_stall(true);
        manager.set_buffer_size(256 * KIB);
        std::thread::scope(|scope| {
            let writer = stalled_writer(scope, &db);
            db.cancel_all_background_work(true);
            // It goes on, or says that the database is closing.
            if let Err(e) = writer.join().unwrap() {
                assert_eq!(e.kind(), ErrorKind::ShutdownInProgress, "{e}");
            }
        });
        drop(iterator);
        drop(db);
        assert_eq!(manager.get_usage(), 0);
    });
}

/// The writers of a database whose flush fails get an error. Those of other databases wait for its
/// memory, which is freed when it is closed.
#[test]
fn a_failing_flush_ends_the_stall_of_its_database() {
    watched("the failure", 60, || {
        let faulty = FaultFs::new(Arc::new(MemFs::new()));
        let (manager, o, db) = held(Arc::new(faulty.clone()));
        let other = DB::open(&o, "/other").unwrap();
        faulty.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Create]),
            path: PathMatch::EndsWith(".sst".to_owned()),
            when: When::Nth(1),
            fault: Fault::Eio,
            sticky: true,
        });
        manager.set_buffer_size(256 * KIB);
        manager.set_allow_stall(true);
        std::thread::scope(|scope| {
            // Stalled or not, its flush is requested and fails.
            let failed = db.put("stalled", "v");
            let e = match failed {
                Ok(()) => db.put("after", "v").unwrap_err(),
                Err(e) => e,
            };
            assert_eq!(e.kind(), ErrorKind::IOError, "{e}");
            let writer = stalled_writer(scope, &other);
            assert!(!writer.is_finished());
            drop(db);
            writer.join().unwrap().unwrap();
        });
        assert!(manager.get_usage() < 256 * KIB);
    });
}

/// Databases and threads write at random. The memory stays within the limit, except for what one
/// write each and one step of each charge may add.
#[test]
fn memory_stays_within_the_limit() {
    campaign("memory_stays_within_the_limit", 1, 4, |seed| {
        watched("the run", 240, move || random_run(seed));
    });
}

fn random_run(seed: u64) {
    const LIMIT: usize = 512 * KIB;
    const THREADS: usize = 4;
    let manager = WriteBufferManager::new_write_buffer_manager(LIMIT, true);
    let families = ["default", "one", "two"];
    let factory = |i: u64| FACTORIES[(seed + i) as usize % 2];
    let dbs: Vec<DB> = (0..2)
        .map(|i| {
            let o = managed(factory(i), &manager);
            open(&o, &format!("/db{i}"), &families)
        })
        .collect();
    // A write that passes the gate below the limit then adds itself, a node or two, and the rest of
    // a shard's range and of a charging step.
    let slack = THREADS * (20 * KIB + 16 * KIB + 4 * KIB);
    let most = AtomicUsize::new(0);
    let written = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(manager.get_usage(), Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        let writers: Vec<_> = (0..THREADS as u64)
            .map(|thread| {
                let (dbs, written) = (&dbs, &written);
                scope.spawn(move || {
                    let mut rng = StdRng::seed_from_u64(seed * 100 + thread);
                    for _ in 0..400 {
                        let db = &dbs[rng.random_range(0..dbs.len())];
                        let cf = db
                            .cf_handle(families[rng.random_range(0..families.len())])
                            .unwrap();
                        let key = format!("{:04}", rng.random_range(0..5000));
                        let value = vec![1; rng.random_range(0..20 * KIB)];
                        db.put_cf(&cf, key, &value).unwrap();
                        written.fetch_add(value.len(), Ordering::Relaxed);
                        if rng.random_bool(0.02) {
                            // Holds memtables for a moment.
                            let _ = db.iterator_cf(&cf, whitewater::IteratorMode::Start).count();
                        }
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        done.store(true, Ordering::Relaxed);
        watch.join().unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
    });
    let (most, written) = (most.into_inner(), written.into_inner());
    assert!(written > 10 * LIMIT, "{written} bytes written");
    assert!(most <= LIMIT + slack, "{most} used at most");
    assert!(most >= LIMIT / 2, "{most} used at most");
    drop(dbs);
    assert_eq!(manager.get_usage(), 0);
}

/// A database whose flushes failed has nothing left to flush. It writes again, and frees memory for
/// others again.
#[test]
fn a_failure_to_flush_goes_with_its_family() {
    watched("the writers", 60, || {
        let faulty = FaultFs::new(Arc::new(MemFs::new()));
        let manager = WriteBufferManager::new_write_buffer_manager(256 * KIB, true);
        let mut o = managed(FACTORIES[0], &manager);
        o.set_fs(Arc::new(faulty.clone()));
        o.set_write_buffer_size(1024 * KIB);
        #[cfg_attr(
            feature = "multi-threaded-cf",
            expect(unused_mut, reason = "needed by the other mode")
        )]
        let mut dbs = ["/one", "/other"].map(|dir| open(&o, dir, &["default", "gone"]));
        faulty.add_rule(Rule {
            ops: OpSet::of(&[FaultOp::Create]),
            path: PathMatch::EndsWith(".sst".to_owned()),
            when: When::Nth(1),
            fault: Fault::Enospc,
            sticky: true,
        });
        {
            let gone = dbs[0].cf_handle("gone").unwrap();
            dbs[0].put_cf(&gone, "k", "v").unwrap();
            for _ in 0..6 {
                dbs[0].flush_cf(&gone).unwrap_err();
            }
        }
        dbs[0].drop_cf("gone").unwrap();
        faulty.clear_rules();
        for n in 0..2_000u32 {
            dbs[n as usize % 2].put(n.to_be_bytes(), [1; 1000]).unwrap();
        }
    });
}

/// Each of many column families has a memtable of a few keys. A limit far above their memory is no
/// reason to flush them.
#[test]
fn many_small_families_are_charged_what_they_take() {
    const FAMILIES: usize = 300;
    for factory in FACTORIES {
        let manager = WriteBufferManager::new_write_buffer_manager(64 << 20, false);
        let mut o = Options::default();
        o.create_if_missing(true);
        o.stay_stopped();
        o.create_missing_column_families(true);
        set_protocol(&mut o);
        o.set_fs(Arc::new(MemFs::new()));
        o.set_memtable_factory(factory);
        o.set_write_buffer_manager(&manager);
        o.enable_statistics();
        let names: Vec<_> = (0..FAMILIES).map(|n| format!("family{n}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let db = open(&o, "/db", &names);
        for key in 0..10 {
            for name in &names {
                let cf = db.cf_handle(name).unwrap();
                db.put_cf(&cf, format!("key{key}"), "value").unwrap();
            }
        }
        let charged = manager.get_usage();
        assert!(charged < 4 << 20, "{charged} bytes charged");
        assert!(charged > FAMILIES * 10 * 9, "{charged} bytes charged");
        // Flushes would have begun while the families were written.
        drop(db);
        let flushed = o.get_ticker_count(Ticker::FlushWriteBytes);
        assert_eq!(flushed, 0, "{flushed} bytes of tables written by flushes");
    }
}
