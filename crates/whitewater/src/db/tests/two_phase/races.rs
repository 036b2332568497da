//! Sections and decisions beside switches, flushes and one another, held up in the middle.

use super::retention::kept;
use super::{
    PROTOCOLS, commit, id_of, logs, open_two, options, outstanding, prepare, puts, roll_back,
};
use crate::db::Engine;
use crate::options::read::WriteSpec;
use crate::{CommitProtocol, DB, FlushOptions, Options, Point};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread;
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

/// Holds up the next thread that reaches a point.
#[derive(Default)]
pub(super) struct Trap {
    state: Mutex<Held>,
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    armed: Option<Point>,
    caught: bool,
}

impl Trap {
    pub(super) fn set(options: &mut Options) -> Arc<Trap> {
        let trap = Arc::new(Trap::default());
        let hook = trap.clone();
        options.set_failpoints(move |point, _| hook.reached(point));
        trap
    }

    pub(super) fn arm(&self, point: Point) {
        self.state.lock().armed = Some(point);
    }

    fn reached(&self, point: Point) {
        let mut state = self.state.lock();
        if state.armed == Some(point) {
            *state = Held {
                armed: None,
                caught: true,
            };
            self.changed.notify_all();
            self.changed.wait_while(&mut state, |state| state.caught);
        }
    }

    /// Waits until a thread is held up.
    pub(super) fn wait(&self) {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| !state.caught);
    }

    pub(super) fn release(&self) {
        self.state.lock().caught = false;
        self.changed.notify_all();
    }
}

fn flush_without_waiting(db: &DB) {
    let mut now = FlushOptions::default();
    now.set_wait(false);
    db.flush_opt(&now).unwrap();
}

/// Race 1, RocksDB's issue 4613: between the log write of a prepare and its return,
/// memtables are switched and flushed as far as that is possible. The log stays.
#[test]
fn a_flush_beside_a_prepare_does_not_let_its_log_go() {
    for protocol in PROTOCOLS {
        for point in [
            Point::Reserved,
            Point::Appended,
            Point::Inserted,
            Point::Published,
            Point::Visible,
        ] {
            let what = format!("{protocol}, {point:?}");
            let fs = MemFs::new();
            let mut options = options(&fs, protocol);
            let trap = Trap::set(&mut options);
            let db = &DB::open(&options, "/db").unwrap();
            let engine = db.engine();
            db.put("a", "1").unwrap();
            let first = logs(&fs);
            trap.arm(point);
            thread::scope(|s| {
                let preparing = s.spawn(|| prepare(engine, "x", &["x"]));
                trap.wait();
                let switched = s.spawn(|| flush_without_waiting(db));
                switched.join().unwrap();
                if point == Point::Visible {
                    db.flush().unwrap();
                    db.put("a", "2").unwrap();
                    db.flush().unwrap();
                    assert_eq!(kept(&fs, engine)[..1], first, "{what}");
                    assert_eq!(outstanding(&fs, engine), ["x"], "{what}");
                }
                trap.release();
                let x = preparing.join().unwrap();
                for n in 0..3 {
                    db.put("a", n.to_string()).unwrap();
                    db.flush().unwrap();
                    assert_eq!(kept(&fs, engine)[..1], first, "{what}");
                    assert_eq!(outstanding(&fs, engine), ["x"], "{what}");
                }
                commit(engine, &x);
            });
            db.flush().unwrap();
            assert_eq!(kept(&fs, engine).len(), 1, "{what}");
            assert_eq!(db.get("x"), Ok(Some(b"x".into())), "{what}");
        }
    }
}

/// Race 2, RocksDB's pull request 9571: a commit ends between the two looks of a flush. The
/// section is no longer outstanding for whoever looks after it, and the memtables that need
/// its log are new for whoever looked before.
#[test]
fn a_commit_between_the_looks_of_a_flush_keeps_its_log() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let mut options = options(&fs, protocol);
        let trap = Trap::set(&mut options);
        let db = open_two(&options);
        let (db, engine) = (&db, db.engine());
        let other = db.cf_handle("other").unwrap();
        db.put("a", "1").unwrap();
        db.put_cf(&other, "a", "1").unwrap();
        let x = prepare(engine, "x", &["x"]);
        let log = *logs(&fs).last().unwrap();
        db.flush().unwrap();
        db.put_cf(&other, "a", "2").unwrap();
        trap.arm(Point::Retaining);
        thread::scope(|s| {
            let flushing = s.spawn(|| db.flush_cf(&other));
            trap.wait();
            commit(engine, &x);
            trap.release();
            flushing.join().unwrap().unwrap();
        });
        let min = engine.files.versions.min_log_number_to_keep();
        assert!(min <= log, "{protocol}: {min}, {log}");
        db.put_cf(&other, "a", "3").unwrap();
        db.flush_cf(&other).unwrap();
        let all = kept(&fs, engine);
        assert!(all.contains(&log), "{protocol}: {log} of {all:?}");
        db.flush().unwrap();
        db.put_cf(&other, "a", "4").unwrap();
        db.flush_cf(&other).unwrap();
        assert!(kept(&fs, engine)[0] > log, "{protocol}");
    }
}

/// Race 4: the section is in the log of the commit, in an older one, in one that is not
/// needed for anything else.
#[test]
fn the_section_may_be_in_any_log_when_it_is_committed() {
    for protocol in PROTOCOLS {
        for switches in 0..3 {
            let fs = MemFs::new();
            let mut options = options(&fs, protocol);
            options.set_wal_ttl_seconds(1_000_000);
            let db = DB::open(&options, "/db").unwrap();
            let engine = db.engine();
            let x = prepare(engine, "x", &["x"]);
            let y = prepare(engine, "y", &["y"]);
            for n in 0..switches {
                db.put("a", n.to_string()).unwrap();
                db.flush().unwrap();
            }
            assert_eq!(outstanding(&fs, engine), ["x", "y"]);
            commit(engine, &x);
            roll_back(engine, &y);
            assert_eq!(db.get("x"), Ok(Some(b"x".into())));
            assert_eq!(outstanding(&fs, engine), [""; 0]);
            let before = kept(&fs, engine);
            db.flush().unwrap();
            let after = kept(&fs, engine);
            assert!(after[0] > before[0], "{protocol}, {switches}: archived");
        }
    }
}

/// Race 5: memtables are switched between the moment at which a commit has located its
/// entries and its reservation.
#[test]
fn a_switch_before_the_reservation_of_a_commit_moves_it_on() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let mut options = options(&fs, protocol);
        // Each write asks for a switch.
        options.set_write_buffer_size(64 << 10);
        options.set_max_write_buffer_number(20);
        options.set_level_zero_slowdown_writes_trigger(1_000);
        options.set_level_zero_stop_writes_trigger(1_000);
        options.set_disable_auto_compactions(true);
        let db = &DB::open(&options, "/db").unwrap();
        let engine = db.engine();
        thread::scope(|s| {
            for t in 0..3 {
                s.spawn(move || {
                    for n in 0..100 {
                        let name = format!("{t}.{n}");
                        let mut batch = puts(&[&name]);
                        batch.push(0, ValueType::Value, name.as_bytes(), &[7; 2_000]);
                        let spec = WriteSpec::default();
                        let x = engine.prepare_section(name.as_bytes(), &batch, &spec);
                        commit(engine, &x.unwrap());
                        assert_eq!(db.get(&name), Ok(Some(vec![7; 2_000])));
                    }
                });
            }
            s.spawn(|| {
                for _ in 0..100 {
                    flush_without_waiting(db);
                    thread::yield_now();
                }
            });
        });
        db.flush().unwrap();
        for t in 0..3 {
            for n in 0..100 {
                let name = format!("{t}.{n}");
                assert_eq!(db.get(&name), Ok(Some(vec![7; 2_000])), "{protocol}");
            }
        }
        assert_eq!(kept(&fs, engine).len(), 1, "{protocol}");
    }
}

/// Sections of several families are prepared, decided and left, while memtables are
/// switched and flushed all the time. Whatever is outstanding at some moment is in the logs
/// that are kept then.
#[test]
fn a_storm_of_flushes_lets_no_section_go() {
    for protocol in PROTOCOLS {
        storm(protocol);
    }
}

fn storm(protocol: CommitProtocol) {
    let fs = MemFs::new();
    let mut options = options(&fs, protocol);
    options.set_level_zero_slowdown_writes_trigger(1_000);
    options.set_level_zero_stop_writes_trigger(1_000);
    options.set_disable_auto_compactions(true);
    let db = open_two(&options);
    let (db, fs) = (&db, &fs);
    let engine: &Engine = db.engine();
    let other = id_of(engine, "other");
    let running = &std::sync::atomic::AtomicU64::new(3);
    thread::scope(|s| {
        for t in 0..3 {
            s.spawn(move || {
                for n in 0..60 {
                    let name = format!("{t}.{n}");
                    let mut batch = Batch::default();
                    batch.push(0, ValueType::Value, name.as_bytes(), b"1");
                    batch.push(other, ValueType::Value, name.as_bytes(), b"2");
                    let spec = WriteSpec::default();
                    let x = engine.prepare_section(name.as_bytes(), &batch, &spec);
                    let x = x.unwrap();
                    if n % 7 == 0 {
                        thread::yield_now();
                    }
                    assert!(
                        outstanding(fs, engine).contains(&name),
                        "{protocol}: {name}"
                    );
                    match n % 4 {
                        0 => roll_back(engine, &x),
                        1 => {} // left
                        _ => commit(engine, &x),
                    }
                }
                running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
            });
        }
        s.spawn(move || {
            let other = db.cf_handle("other").unwrap();
            let mut n = 0u64;
            while running.load(std::sync::atomic::Ordering::SeqCst) > 0 {
                n += 1;
                db.put("k", n.to_string()).unwrap();
                db.flush().unwrap();
                if n.is_multiple_of(3) {
                    db.flush_cf(&other).unwrap();
                }
            }
        });
    });
    let left = engine.prepared_sections();
    let names = left
        .iter()
        .map(|x| String::from_utf8_lossy(x.name()).into_owned());
    assert_eq!(
        outstanding(fs, engine),
        names.collect::<Vec<_>>(),
        "{protocol}"
    );
    assert_eq!(left.len(), 3 * 15);
    left.iter().for_each(|x| commit(engine, x));
    db.flush().unwrap();
    db.flush_cf(&db.cf_handle("other").unwrap()).unwrap();
    db.put("k", "last").unwrap();
    db.flush().unwrap();
    assert_eq!(kept(fs, engine).len(), 1, "{protocol}");
}
