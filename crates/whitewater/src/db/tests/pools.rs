//! Background threads that databases share.

use super::threads::comes_to_an_end;
use crate::sync_points::Point;
use crate::thread_pools::Priority;
use crate::{CompactionDecision, DB, Env, FlushOptions, Options, WaitForCompactOptions};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use whitewater_concurrent::system::limit_threads;
use whitewater_storage::ErrorKind;

fn options(env: &Env) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_env(env);
    options.set_write_buffer_size(64 << 10);
    options
}

fn open_many(options: &Options, count: usize) -> Vec<DB> {
    let open = |i| DB::open(options, format!("/db{i}")).unwrap();
    (0..count).map(open).collect()
}

/// Writes enough tables for a compaction.
fn write_tables(db: &DB) {
    for value in ["a", "b", "c", "d"] {
        db.put("key", value).unwrap();
        db.flush().unwrap();
    }
}

fn wait(db: &DB) {
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
}

fn flush_soon(db: &DB) {
    db.put("key", "value").unwrap();
    let mut soon = FlushOptions::default();
    soon.set_wait(false);
    db.flush_opt(&soon).unwrap();
}

const ALL: [Priority; 4] = [
    Priority::High,
    Priority::Low,
    Priority::Reads,
    Priority::Timer,
];

/// The threads that databases have by default; where threads are not nice, none is for reads.
const THREADS: [usize; 4] = [1, 1, cfg!(target_os = "linux") as usize, 1];

#[test]
fn two_hundred_databases_have_as_many_threads_as_one() {
    let env = Env::mem_env().unwrap();
    let mut dbs = open_many(&options(&env), 200);
    assert_eq!(ALL.map(|priority| env.pools.threads(priority)), THREADS);
    for db in &dbs {
        write_tables(db);
    }
    for db in &dbs {
        wait(db);
        let compacted = db.property_int_value("rocksdb.num-files-at-level0");
        assert!(compacted.unwrap().unwrap() < 4);
        assert_eq!(db.get("key").unwrap().as_deref(), Some(&b"d"[..]));
    }
    assert_eq!(ALL.map(|priority| env.pools.threads(priority)), THREADS);
    dbs.truncate(1);
    write_tables(&dbs[0]);
    drop(dbs);
    assert_eq!(ALL.map(|priority| env.pools.threads(priority)), [0; 4]);
}

#[test]
fn environments_of_the_process_are_one() {
    let (one, two) = (Env::new().unwrap(), Env::new().unwrap());
    assert!(Arc::ptr_eq(&one.pools, &two.pools));
    let by_default = crate::options::DbOptions::default().pools;
    assert!(Arc::ptr_eq(&one.pools, &by_default));
    let own = Env::mem_env().unwrap();
    assert!(!Arc::ptr_eq(&one.pools, &own.pools));
    assert!(Arc::ptr_eq(&own.pools, &own.clone().pools));
}

/// The thread slept when it became surplus, and no other thread would have run the flush
/// that woke it.
#[test]
fn a_thread_that_is_one_too_many_passes_on_what_it_was_woken_for() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let few = DB::open(&options(&env), "/few").unwrap();
        for round in 0..20 {
            let mut many = options(&env);
            many.set_max_background_jobs(64);
            let many = DB::open(&many, format!("/many{round}")).unwrap();
            assert!(env.pools.threads(Priority::High) > 10);
            drop(many);
            write_tables(&few);
        }
        wait(&few);
        // All surplus threads have ended, without being woken for work.
        while ALL.map(|priority| env.pools.threads(priority)) != THREADS {
            thread::yield_now();
        }
        drop(few);
    });
}

/// Counts the flushes that run at a time; they end when they are released.
#[derive(Default)]
struct Held {
    now: AtomicUsize,
    most: AtomicUsize,
    go: AtomicBool,
}

impl Held {
    fn hook(self: &Arc<Self>, options: &mut Options) {
        let held = self.clone();
        options.set_failpoints(move |point, _| {
            if point == Point::Flushing {
                let now = held.now.fetch_add(1, Ordering::SeqCst) + 1;
                held.most.fetch_max(now, Ordering::SeqCst);
                while !held.go.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                held.now.fetch_sub(1, Ordering::SeqCst);
            }
        });
    }

    fn until(&self, running: usize) {
        while self.now.load(Ordering::SeqCst) < running {
            thread::yield_now();
        }
    }

    fn let_go(&self) {
        self.go.store(true, Ordering::SeqCst);
    }
}

#[test]
fn an_environment_bounds_the_threads_of_its_databases() {
    comes_to_an_end(|| {
        let mut env = Env::mem_env().unwrap();
        let held = Arc::new(Held::default());
        let mut options = options(&env);
        held.hook(&mut options);
        let dbs = open_many(&options, 5);
        env.set_high_priority_background_threads(3);
        assert_eq!(env.pools.threads(Priority::High), 3);
        dbs.iter().for_each(flush_soon);
        held.until(3);
        held.let_go();
        dbs.iter().for_each(wait);
        assert_eq!(held.most.load(Ordering::SeqCst), 3);

        env.set_high_priority_background_threads(0);
        while env.pools.threads(Priority::High) > 1 {
            thread::yield_now();
        }
        held.most.store(0, Ordering::SeqCst);
        dbs.iter().for_each(flush_soon);
        dbs.iter().for_each(wait);
        assert_eq!(held.most.load(Ordering::SeqCst), 1, "one is left");

        // A database that wants more threads raises the number.
        options.set_max_background_jobs(8);
        let another = DB::open(&options, "/another").unwrap();
        assert_eq!(env.pools.threads(Priority::High), 2);
        drop(another);
    });
}

#[test]
fn a_database_has_no_more_jobs_than_it_wants() {
    comes_to_an_end(|| {
        let mut env = Env::mem_env().unwrap();
        env.set_high_priority_background_threads(4);
        let held = Arc::new(Held::default());
        let mut options = options(&env);
        held.hook(&mut options);
        options.create_missing_column_families(true);
        let names = ["one", "two", "three"];
        let db = DB::open_cf(&options, "/db", names).unwrap();
        for name in names {
            db.put_cf(&db.cf_handle(name).unwrap(), "k", "v").unwrap();
        }
        let mut soon = FlushOptions::default();
        soon.set_wait(false);
        for name in names {
            let cf = db.cf_handle(name).unwrap();
            db.flush_cf_opt(&cf, &soon).unwrap();
        }
        held.until(1);
        // Another database still gets a thread.
        let other = DB::open(&self::options(&env), "/other").unwrap();
        write_tables(&other);
        held.let_go();
        wait(&db);
        assert_eq!(held.most.load(Ordering::SeqCst), 1);
    });
}

/// Opens a database whose filter has `work` done once, on the pool's only thread for
/// compactions.
fn with_filter(env: &Env, work: impl FnOnce() + Send + 'static) -> DB {
    let mut options = options(env);
    let work = Mutex::new(Some(work));
    options.set_compaction_filter("once", move |_, _, _: &[u8]| {
        let work = work.lock().unwrap().take();
        if let Some(work) = work {
            work();
        }
        CompactionDecision::Keep
    });
    DB::open(&options, "/filtered").unwrap()
}

#[test]
fn a_callback_may_wait_for_another_database_on_the_only_thread() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let other = Arc::new(DB::open(&options(&env), "/other").unwrap());
        let used = other.clone();
        let done = Arc::new(AtomicBool::new(false));
        let is_done = done.clone();
        let db = with_filter(&env, move || {
            write_tables(&used);
            wait(&used);
            done.store(true, Ordering::SeqCst);
        });
        write_tables(&db);
        wait(&db);
        assert!(is_done.load(Ordering::SeqCst));
        let left = other.property_int_value("rocksdb.num-files-at-level0");
        assert!(left.unwrap().unwrap() < 4, "it was compacted meanwhile");
        while env.pools.threads(Priority::Low) > 1 {
            thread::yield_now();
        }
    });
}

#[test]
fn a_callback_may_close_another_database_on_the_only_thread() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let other = DB::open(&options(&env), "/other").unwrap();
        let mut unlogged = crate::WriteOptions::default();
        unlogged.disable_wal(true);
        other.put_opt("unlogged", "value", &unlogged).unwrap();
        let reopened = options(&env);
        let db = with_filter(&env, move || {
            write_tables(&other);
            drop(other);
            // The other database's lock is free.
            let other = DB::open(&reopened, "/other").unwrap();
            assert!(other.get("unlogged").unwrap().is_some());
        });
        write_tables(&db);
        wait(&db);
        write_tables(&db);
        drop(db);
        assert_eq!(ALL.map(|priority| env.pools.threads(priority)), [0; 4]);
    });
}

#[test]
fn a_callback_may_close_its_own_database() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let other = DB::open(&options(&env), "/other").unwrap();
        let own = Arc::new(Mutex::new(None));
        let (taken, (tell, told)) = (own.clone(), std::sync::mpsc::channel());
        let db = with_filter(&env, move || {
            let db: DB = loop {
                let there = taken.lock().unwrap().take();
                if let Some(db) = there {
                    break db;
                }
                thread::yield_now();
            };
            drop(db);
            tell.send(()).unwrap();
        });
        write_tables(&db);
        *own.lock().unwrap() = Some(db);
        told.recv().unwrap();
        // The database's lock is free a moment later, and the thread works for others.
        let db = loop {
            match DB::open(&options(&env), "/filtered") {
                Ok(db) => break db,
                Err(e) => assert_eq!(e.kind(), ErrorKind::IOError, "{e}"),
            }
        };
        for db in [&db, &other] {
            write_tables(db);
            wait(db);
        }
        drop((db, other));
        while ALL.map(|priority| env.pools.threads(priority)) != [0; 4] {
            thread::yield_now();
        }
    });
}

#[test]
fn cancelling_the_work_of_one_database_leaves_that_of_others() {
    comes_to_an_end(|| {
        for wait_for_it in [false, true] {
            let env = Env::mem_env().unwrap();
            let dbs = open_many(&options(&env), 2);
            dbs.iter().for_each(write_tables);
            dbs[0].cancel_all_background_work(wait_for_it);
            assert!(dbs[0].get("key").unwrap().is_some());
            write_tables(&dbs[1]);
            wait(&dbs[1]);
            dbs[1].cancel_all_background_work(wait_for_it);
            drop(dbs);
            assert_eq!(ALL.map(|priority| env.pools.threads(priority)), [0; 4]);
        }
    });
}

/// The second call made the last thread remove the database, and nobody told the first caller.
#[test]
fn a_cancellation_that_does_not_wait_leaves_nobody_waiting() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let held = Arc::new(Held::default());
        let mut options = options(&env);
        held.hook(&mut options);
        let db = DB::open(&options, "/db").unwrap();
        flush_soon(&db);
        held.until(1);
        thread::scope(|scope| {
            scope.spawn(|| db.cancel_all_background_work(true));
            while !env.pools.is_awaited(Priority::High) {
                thread::yield_now();
            }
            db.cancel_all_background_work(false);
            held.let_go();
        });
        drop(db);
        assert_eq!(ALL.map(|priority| env.pools.threads(priority)), [0; 4]);
    });
}

/// The name of the thread that a compaction to the last level runs on.
fn thread_of_last_level(env: &Env) -> String {
    let (tell, told) = std::sync::mpsc::channel();
    let db = with_filter(env, move || {
        let name = thread::current().name().unwrap().to_owned();
        tell.send(name).unwrap();
    });
    write_tables(&db);
    wait(&db);
    let name = told.recv().unwrap();
    drop(db);
    DB::destroy(&options(env), "/filtered").unwrap();
    name
}

#[test]
fn compactions_to_the_last_level_have_threads_of_their_own_if_asked_for() {
    comes_to_an_end(|| {
        let mut env = Env::mem_env().unwrap();
        assert_eq!(thread_of_last_level(&env), "ww-compact0");
        env.set_bottom_priority_background_threads(2);
        assert!(thread_of_last_level(&env).starts_with("ww-bottom"));
        env.set_bottom_priority_background_threads(0);
        assert_eq!(thread_of_last_level(&env), "ww-compact0");

        // A compaction that waits there holds up no other, and ends with the database.
        env.set_bottom_priority_background_threads(1);
        let (go, held) = std::sync::mpsc::channel::<()>();
        let first = with_filter(&env, move || held.recv().unwrap());
        write_tables(&first);
        let second = DB::open(&options(&env), "/second").unwrap();
        write_tables(&second);
        while second.engine().state.lock().forwarded.is_empty() {
            thread::yield_now();
        }
        drop(second);
        go.send(()).unwrap();
        wait(&first);
    });
}

#[test]
fn compactions_are_not_left_to_threads_that_could_not_be_started() {
    comes_to_an_end(|| {
        let mut env = Env::mem_env().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let db = with_filter(&env, move || {
            let name = thread::current().name().unwrap().to_owned();
            tell.send(name).unwrap();
        });
        limit_threads(Some(0));
        env.set_bottom_priority_background_threads(1);
        limit_threads(None);
        write_tables(&db);
        wait(&db);
        assert_eq!(told.recv().unwrap(), "ww-compact0");
    });
}
