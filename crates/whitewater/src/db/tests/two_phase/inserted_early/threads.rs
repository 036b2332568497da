//! Readers beside threads that prepare, commit and roll back.

use super::super::races::Trap;
use super::super::{PROTOCOLS, commit, prepare, puts, roll_back};
use super::{options, undecided};
use crate::options::read::WriteSpec;
use crate::{DB, Point};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

/// Where a write is held up. With `Visible`, its numbers are visible and nobody was told.
const POINTS: [Point; 5] = [
    Point::Reserved,
    Point::Appended,
    Point::Inserted,
    Point::Published,
    Point::Visible,
];

/// Nothing of a transaction is seen before its decision is acknowledged, and then all of it, with
/// the operations of the commit.
#[test]
fn nothing_is_seen_before_the_decision() {
    for protocol in PROTOCOLS {
        for point in POINTS {
            for step in ["prepare", "commit", "rollback"] {
                let what = format!("{protocol}, {step}, {point:?}");
                let fs = MemFs::new();
                let mut options = options(&fs, protocol);
                let trap = Trap::set(&mut options);
                let db = &DB::open(&options, "/db").unwrap();
                let engine = db.engine();
                db.put("a", "old").unwrap();
                let prepared = (step != "prepare").then(|| prepare(engine, "x", &["a", "b"]));
                let mut at_commit = Batch::default();
                at_commit.push(0, ValueType::Value, b"c", b"c");
                let spec = WriteSpec::default();
                let seen = || ["a", "b", "c"].map(|key| db.get(key).unwrap());
                let before = [Some(b"old".to_vec()), None, None];
                trap.arm(point);
                let snapshot = thread::scope(|s| {
                    let writing = s.spawn(|| match &prepared {
                        None => drop(prepare(engine, "x", &["a", "b"])),
                        Some(x) if step == "rollback" => roll_back(engine, x),
                        Some(x) => engine.commit_section(x, Some(&at_commit), &spec).unwrap(),
                    });
                    trap.wait();
                    assert_eq!(seen(), before, "{what}");
                    let snapshot = db.snapshot();
                    trap.release();
                    writing.join().unwrap();
                    snapshot
                });
                let after = match step {
                    "commit" => ["a", "b", "c"].map(|key| Some(key.into())),
                    _ => before.clone(),
                };
                assert_eq!(seen(), after, "{what}");
                let of_snapshot = ["a", "b", "c"].map(|key| snapshot.get(key).unwrap());
                assert_eq!(of_snapshot, before, "{what}");
                assert_eq!(undecided(engine).is_empty(), step != "prepare", "{what}");
            }
        }
    }
}

/// Groups with sections, decisions and other writes from several threads.
#[test]
fn each_decides_its_own_range() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = &DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        thread::scope(|s| {
            for t in 0..4 {
                s.spawn(move || {
                    for n in 0..60 {
                        let name = format!("{t}.{n}");
                        let x = prepare(engine, &name, &[&name, "again", &name]);
                        assert_eq!(db.get(&name), Ok(None), "{protocol}");
                        db.put(format!("p{name}"), "v").unwrap();
                        match n % 3 {
                            0 => roll_back(engine, &x),
                            1 => commit(engine, &x),
                            _ => {}
                        }
                        let found = db.get(&name).unwrap();
                        assert_eq!(found.is_some(), n % 3 == 1, "{protocol}");
                    }
                });
            }
        });
        let left = engine.prepared_sections();
        assert_eq!(left.len(), 80, "{protocol}");
        let ranges = undecided(engine);
        assert_eq!(ranges.len(), 80, "{protocol}");
        assert!(ranges.iter().all(|(first, last)| first + 1 == *last));
        left.iter().for_each(|x| commit(engine, x));
        assert_eq!(undecided(engine), [], "{protocol}");
    }
}

const ACCOUNTS: usize = 6;
const EACH: i64 = 100;

fn account(n: usize) -> String {
    format!("account{n}")
}

fn number(value: &[u8]) -> i64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

/// Moves 1 from an account to another, by a transaction that holds their locks.
fn transfer(db: &DB, locks: &[Mutex<()>; ACCOUNTS], name: &str, n: usize) {
    let from = n % ACCOUNTS;
    let to = (from + 1 + n / ACCOUNTS % (ACCOUNTS - 1)) % ACCOUNTS;
    let _first = locks[from.min(to)].lock();
    let _second = locks[from.max(to)].lock();
    let mut batch = puts(&[]);
    for (at, change) in [(from, -1), (to, 1)] {
        let key = account(at);
        let value = number(&db.get(&key).unwrap().unwrap()) + change;
        let value = value.to_string();
        // The same key twice: two numbers.
        batch.push(0, ValueType::Value, key.as_bytes(), b"0");
        batch.push(0, ValueType::Value, key.as_bytes(), value.as_bytes());
    }
    let spec = WriteSpec::default();
    let section = db.engine().prepare_section(name.as_bytes(), &batch, &spec);
    let section = section.unwrap();
    thread::yield_now();
    if n.is_multiple_of(3) {
        roll_back(db.engine(), &section);
    } else {
        commit(db.engine(), &section);
    }
}

/// The sum of all accounts, read twice at a snapshot.
fn sum_at_a_snapshot(db: &DB) -> i64 {
    let snapshot = db.snapshot();
    let read = || (0..ACCOUNTS).map(|n| number(&snapshot.get(account(n)).unwrap().unwrap()));
    let first: Vec<i64> = read().collect();
    thread::yield_now();
    assert_eq!(
        read().collect::<Vec<i64>>(),
        first,
        "a snapshot has changed"
    );
    first.iter().sum()
}

fn the_sum_stays(flushes: bool) {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = &DB::open(&options(&fs, protocol), "/db").unwrap();
        for n in 0..ACCOUNTS {
            db.put(account(n), EACH.to_string()).unwrap();
        }
        let locks: &[Mutex<()>; ACCOUNTS] = &Default::default();
        let writers = &AtomicUsize::new(3);
        thread::scope(|s| {
            for t in 0..3 {
                s.spawn(move || {
                    for n in 0..150 {
                        transfer(db, locks, &format!("{t}.{n}"), n * 7 + t);
                        if flushes && n % 25 == t {
                            db.flush().unwrap();
                        }
                    }
                    writers.fetch_sub(1, Ordering::Relaxed);
                });
            }
            for _ in 0..2 {
                s.spawn(move || {
                    while writers.load(Ordering::Relaxed) > 0 {
                        assert_eq!(sum_at_a_snapshot(db), ACCOUNTS as i64 * EACH, "{protocol}");
                    }
                });
            }
        });
        assert_eq!(undecided(db.engine()), [], "{protocol}");
        assert_eq!(sum_at_a_snapshot(db), ACCOUNTS as i64 * EACH, "{protocol}");
    }
}

#[test]
fn the_sum_is_constant_at_each_snapshot() {
    the_sum_stays(false);
}

/// Sections are decided in another memtable than they were prepared in.
#[test]
fn the_sum_is_constant_at_each_snapshot_beside_flushes() {
    the_sum_stays(true);
}
