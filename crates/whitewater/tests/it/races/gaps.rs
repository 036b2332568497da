//! A switch panics after the old generation was closed and before there is a new one. Threads that
//! wait for it get an error, and the database can be resumed.

#![cfg(target_os = "linux")]

use super::threads::kernel;
use super::{open, options};
use crate::harness::parallel::{NUMBERS, batch, check};
use crate::harness::points::Trap;
use crate::harness::{Db, protocols, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, Error, Options, Point, Severity};

/// What the caller's thread does to a database when its switch panics.
type Switch = fn(&Db) -> Result<(), Error>;

const SWITCHES: [(&str, Switch); 3] = [
    ("flush", |db| db.flush()),
    ("create", |db| db.create_cf("more", &Options::default())),
    ("drop", |db| db.drop_cf("two")),
];

fn panics(db: &Db, switch: Switch) -> bool {
    catch_unwind(AssertUnwindSafe(|| switch(db))).is_err()
}

/// Every writer that comes gets an error of the switch. None spins.
fn assert_refused(db: &Db, what: &str) {
    for _ in 0..3 {
        let e = db.put("late", "").expect_err("refused");
        assert!(e.to_string().contains("switch"), "{what}: {e}");
        assert_eq!(e.severity(), Severity::HardError, "{what}");
    }
    assert!(db.flush().is_err(), "{what}");
}

#[test]
fn writers_are_told_of_a_switch_that_panics() {
    for protocol in protocols() {
        for (name, switch) in SWITCHES {
            watched("a panic in a switch", 60, move || {
                told(protocol, name, switch);
            });
        }
    }
}

fn told(protocol: CommitProtocol, name: &str, switch: Switch) {
    let what = format!("{protocol}, {name}");
    let fs = MemFs::new();
    let mut options = options(protocol, fs.clone());
    let armed = Arc::new(AtomicBool::new(false));
    let trap = armed.clone();
    options.set_failpoints(move |point, _| {
        if point == Point::Closed && trap.swap(false, Ordering::SeqCst) {
            panic!("planted panic");
        }
    });
    let db = open(&options);
    db.write(batch(&db, 0, 1)).expect("writes");
    armed.store(true, Ordering::SeqCst);
    assert!(panics(&db, switch), "{what}");
    assert_refused(&db, &what);
    db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(db.latest_sequence_number(), NUMBERS, "{what}");
    if name != "drop" {
        db.write(batch(&db, 1, 1)).expect("writes again");
        assert_eq!(check(&db, &[1, 1]), Ok(vec![1, 1]), "{what}");
    }
    db.put("after", "all").expect("writes again");
    db.flush().expect("flushes again");
    let mut killed = options.clone();
    killed.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
    let left = crate::harness::open_all(&killed, crate::harness::DIR.as_ref()).expect("opens");
    assert_eq!(left.get("after").expect("reads"), Some(b"all".to_vec()));
    assert_eq!(left.cf_handle("two").is_none(), name == "drop", "{what}");
    assert_eq!(left.cf_handle("more").is_some(), name == "create", "{what}");
}

/// Writers that wait for the switch when it panics.
#[test]
fn writers_who_sleep_are_told_of_a_switch_that_panics() {
    for protocol in protocols() {
        watched("a panic in a switch", 60, move || sleepers(protocol));
    }
}

fn sleepers(protocol: CommitProtocol) {
    const WRITERS: usize = 7;
    let mut options = options(protocol, MemFs::new());
    let trap = Trap::set(&mut options);
    let db = &open(&options);
    db.write(batch(db, 0, 1)).expect("writes");
    trap.arm(Point::Closed);
    thread::scope(|scope| {
        let switch = scope.spawn(|| panics(db, Db::flush));
        trap.wait();
        let (tell, ids) = mpsc::channel();
        let writers: Vec<_> = (1..=WRITERS)
            .map(|w| {
                let tell = tell.clone();
                scope.spawn(move || {
                    tell.send(kernel::id()).expect("heard");
                    db.write(batch(db, w, 1))
                })
            })
            .collect();
        kernel::wait_until_asleep(&ids.iter().take(WRITERS).collect::<Vec<_>>());
        trap.kill();
        assert!(switch.join().expect("caught"), "{protocol}");
        for writer in writers {
            let e = writer.join().expect("no panic").expect_err("told");
            assert!(e.to_string().contains("switch"), "{protocol}: {e}");
        }
    });
    assert_refused(db, protocol.name());
    assert!(check(db, &[1]).is_ok(), "readers go on");
    db.resume().expect("resumes");
    db.write(batch(db, 1, 1)).expect("writes again");
    assert_eq!(check(db, &[1, 1]), Ok(vec![1, 1]), "{protocol}");
}
