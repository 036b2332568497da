//! The thread that runs read-triggered compactions.

use super::threads::comes_to_an_end;
use crate::thread_pools::Priority;
use crate::{CompactionDecision, DB, Env, Options, WaitForCompactOptions};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Where a compaction waits: it tells its thread's name, and goes on when it is let go.
struct Stop {
    reached: Receiver<String>,
    go: Sender<()>,
}

/// A database whose compactions stop. Its threads that compact have this niceness.
fn stopping(env: &Env, dir: &str, nice: i32) -> (DB, Stop) {
    let ((tell, reached), (go, gone)) = (channel(), channel());
    let channels = std::sync::Mutex::new((tell, gone));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_env(env);
    options.set_background_nice(0, nice);
    options.set_compaction_filter("stops", move |_, key, _: &[u8]| {
        if key == b"stop" {
            let channels = channels.lock().unwrap();
            let name = thread::current().name().unwrap().to_owned();
            channels.0.send(name).unwrap();
            channels.1.recv().unwrap();
        }
        CompactionDecision::Keep
    });
    let families = [("default", options.clone()), ("other", Options::default())];
    (
        DB::open_cf_with_opts(&options, dir, families).unwrap(),
        Stop { reached, go },
    )
}

fn add_tables(db: &DB, key: &str, tables: usize) {
    for _ in 0..tables {
        db.put(key, "value").unwrap();
        db.flush().unwrap();
    }
}

/// Counts reads that look into the tables of level 0 in vain.
fn read_in_vain(db: &DB) {
    let state = db.engine().state.lock();
    for file in &state.cfs[&0].version.levels[0] {
        file.note_wasted_reads(1 << 30);
    }
}

/// Makes two tables and asks for their compaction, as reads do.
fn ask(db: &DB) {
    add_tables(db, "stop", 2);
    read_in_vain(db);
    db.engine().background.ask_for_reads();
}

/// Waits until the thread for reads has looked at the databases that were opened.
fn until_idle(env: &Env) {
    while env.pools.is_at_work(Priority::Reads) {
        thread::yield_now();
    }
}

fn level0(db: &DB) -> u64 {
    let files = db.property_int_value("rocksdb.num-files-at-level0");
    files.unwrap().unwrap()
}

fn wait(db: &DB) {
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert_eq!(level0(db), 0);
}

/// The thread of a compaction for which everything is ready.
fn thread_of(db: &DB, stop: &Stop) -> String {
    let name = stop.reached.recv().unwrap();
    stop.go.send(()).unwrap();
    wait(db);
    name
}

#[test]
fn what_reads_ask_for_has_a_thread_that_is_less_nice() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        for (nice, of_reads) in [(0, None), (3, Some(0)), (5, Some(0)), (19, Some(14))] {
            let (db, stop) = stopping(&env, &format!("/nice-{nice}"), nice);
            let threads = usize::from(of_reads.is_some());
            assert_eq!(env.pools.threads(Priority::Reads), threads);
            assert!(of_reads.is_none_or(|nice| env.pools.has_nice(Priority::Reads, nice)));
            until_idle(&env);
            ask(&db);
            let wanted = if threads > 0 {
                "ww-reads0"
            } else {
                "ww-compact0"
            };
            assert_eq!(thread_of(&db, &stop), wanted, "niceness {nice}");
            add_tables(&db, "stop", 4);
            assert_eq!(thread_of(&db, &stop), "ww-compact0", "niceness {nice}");
            drop(db);
            assert_eq!(env.pools.threads(Priority::Reads), 0);
        }
    });
}

/// Its thread was nice: a flush for reads makes the table that level 0 is compacted for anyway.
#[test]
fn a_compaction_is_for_reads_though_level_0_is_full() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let (db, stop) = stopping(&env, "/full", 5);
        until_idle(&env);
        add_tables(&db, "stop", 3);
        read_in_vain(&db);
        add_tables(&db, "stop", 1);
        assert_eq!(thread_of(&db, &stop), "ww-reads0");
    });
}

#[test]
fn a_compaction_for_reads_counts_among_those_that_a_database_wants() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let (db, stop) = stopping(&env, "/counted", 5);
        until_idle(&env);
        ask(&db);
        assert_eq!(stop.reached.recv().unwrap(), "ww-reads0");
        let other = db.cf_handle("other").unwrap();
        for _ in 0..4 {
            db.put_cf(&other, "key", "value").unwrap();
            db.flush_cf(&other).unwrap();
        }
        let running = || db.property_int_value("rocksdb.num-running-compactions");
        let level0 = || {
            db.property_int_value_cf(&other, "rocksdb.num-files-at-level0")
                .unwrap()
        };
        while env.pools.is_at_work(Priority::Low) {
            thread::yield_now();
        }
        assert_eq!((running().unwrap(), level0()), (Some(1), Some(4)));
        // With two compactions at a time, there is room for it.
        db.set_db_options(&[("max_background_jobs", "3")]).unwrap();
        while level0() != Some(0) {
            thread::yield_now();
        }
        stop.go.send(()).unwrap();
        wait(&db);
    });
}

#[test]
fn a_compaction_for_reads_does_not_wait_for_that_of_another_database() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let (first, held) = stopping(&env, "/first", 5);
        until_idle(&env);
        ask(&first);
        assert_eq!(held.reached.recv().unwrap(), "ww-reads0");
        let (second, stop) = stopping(&env, "/second", 5);
        ask(&second);
        assert_eq!(thread_of(&second, &stop), "ww-compact0");
        held.go.send(()).unwrap();
        wait(&first);
    });
}

/// One that has no such thread, and one that was closed while its compaction ran, stayed in the
/// queue of the pool, so the thread was never idle.
#[test]
fn other_databases_do_not_keep_the_thread_for_reads_from_being_idle() {
    comes_to_an_end(|| {
        let env = Env::mem_env().unwrap();
        let (db, stop) = stopping(&env, "/db", 5);
        let _without = stopping(&env, "/without", 0);
        let (closed, held) = stopping(&env, "/closed", 5);
        until_idle(&env);
        ask(&closed);
        assert_eq!(held.reached.recv().unwrap(), "ww-reads0");
        held.go.send(()).unwrap();
        drop(closed);
        until_idle(&env);
        ask(&db);
        assert_eq!(thread_of(&db, &stop), "ww-reads0");
    });
}
