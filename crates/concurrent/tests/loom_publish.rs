//! Model checks of publication in order and of single flight: every interleaving of mark,
//! raise, advance, sleep and wake, and every value that the memory model allows.
//!
//! Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p whitewater-concurrent --release --test loom_publish`.
#![cfg(loom)]

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;
use whitewater_concurrent::publish::{Failed, Publication};
use whitewater_concurrent::single_flight::SingleFlight;
use whitewater_concurrent::waiter::YieldPolicy;

fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(check);
}

struct Store {
    publication: Publication,
    /// What the writers of ranges write, one word for each number.
    data: [AtomicU64; 8],
}

impl Store {
    fn new() -> Arc<Self> {
        Arc::new(Store {
            publication: Publication::new(0, YieldPolicy::default()),
            data: std::array::from_fn(|_| AtomicU64::new(0)),
        })
    }

    fn write(&self, first: u64, last: u64) {
        for number in first..=last {
            self.data[number as usize].store(number, Ordering::Relaxed);
        }
        self.publication.finish(first, last).unwrap();
    }

    /// Checks that everything visible is there (P1), and that `visible` is the end of a
    /// range.
    fn check(&self, ends: &[u64]) {
        let visible = self.publication.visible();
        assert!(visible == 0 || ends.contains(&visible), "half a range");
        for number in 1..=visible {
            let word = self.data[number as usize].load(Ordering::Relaxed);
            assert_eq!(word, number, "visible before written");
        }
    }
}

/// Two ranges are finished in either order: the number reaches the end, and a thread that
/// sees the number sees what was written.
#[test]
fn two_writers_reach_the_end() {
    model(5, || {
        let store = Store::new();
        let other = store.clone();
        let writer = thread::spawn(move || {
            other.write(2, 3);
            other.check(&[1, 3]);
        });
        store.write(1, 1);
        store.check(&[1, 3]);
        writer.join().unwrap();
        assert_eq!(store.publication.visible(), 3, "P2");
        store.check(&[3]);
    });
}

/// The same with roles exchanged: the started thread reads the other's mark. (A checker's
/// first thread has seen everything before the others begin.)
#[test]
fn a_mover_sees_what_a_mark_stands_for() {
    model(5, || {
        let store = Store::new();
        let other = store.clone();
        let writer = thread::spawn(move || {
            other.write(1, 1);
            other.check(&[1, 3]);
        });
        store.write(2, 3);
        store.check(&[1, 3]);
        writer.join().unwrap();
        assert_eq!(store.publication.visible(), 3, "P2");
    });
}

/// A reader beside a writer that finishes in order.
#[test]
fn a_reader_sees_whole_ranges() {
    model(5, || {
        let store = Store::new();
        let other = store.clone();
        let reader = thread::spawn(move || {
            other.check(&[2, 3]);
            other.check(&[2, 3]);
        });
        store.write(1, 2);
        store.write(3, 3);
        reader.join().unwrap();
    });
}

/// A reader beside a writer that claims the range that it has marked, since the mover
/// before it has looked at the slot too early.
#[test]
fn a_reader_sees_claimed_ranges() {
    model(3, || {
        let store = Store::new();
        let [reads, writes] = [store.clone(), store.clone()];
        let reader = thread::spawn(move || reads.check(&[1, 2]));
        let writer = thread::spawn(move || writes.write(1, 1));
        store.write(2, 2);
        reader.join().unwrap();
        writer.join().unwrap();
        assert_eq!(store.publication.visible(), 2, "P2");
    });
}

/// Three writers whose marks and raises interleave.
#[test]
fn three_writers_reach_the_end() {
    model(2, || {
        let store = Store::new();
        let writers = [(2, 2), (3, 3)].map(|(first, last)| {
            let store = store.clone();
            thread::spawn(move || store.write(first, last))
        });
        store.write(1, 1);
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(store.publication.visible(), 3, "P2");
        store.check(&[3]);
    });
}

/// A waiter goes to sleep while its range becomes visible. Asleep means parked here:
/// without a notification the waiter never sees a new epoch.
#[test]
fn a_sleeper_is_woken() {
    model(5, || {
        let store = Store::new();
        let other = store.clone();
        let waiter = thread::spawn(move || {
            other.write(2, 2);
            other.publication.wait(2).unwrap();
            other.check(&[2]);
        });
        store.write(1, 1);
        waiter.join().unwrap();
        assert_eq!(store.publication.visible(), 2);
    });
}

/// A failure reaches a sleeper behind it, and the number never passes it.
#[test]
fn a_failure_wakes_waiters_behind_it() {
    model(5, || {
        let store = Store::new();
        let other = store.clone();
        let waiter = thread::spawn(move || {
            other.write(2, 2);
            assert_eq!(other.publication.wait(2), Err(Failed));
        });
        store.publication.fail(1);
        waiter.join().unwrap();
        assert_eq!(store.publication.visible(), 0, "P5");
    });
}

/// More numbers are in flight than the four slots of a model: the writer waits for room
/// before it marks.
#[test]
fn a_full_ring_makes_writers_wait() {
    model(3, || {
        let store = Store::new();
        let other = store.clone();
        let writer = thread::spawn(move || {
            other.write(6, 6);
            other.publication.wait(6).unwrap();
        });
        store.write(2, 5);
        store.write(1, 1);
        writer.join().unwrap();
        assert_eq!(store.publication.visible(), 6);
        store.check(&[6]);
    });
}

/// A mover passes more buckets than it wakes: the sleeper in one of them wakes the other,
/// or has seen the number before it slept.
#[test]
fn a_woken_sleeper_wakes_others() {
    model(4, || {
        let store = Store::new();
        let waiters = [1, 2].map(|number| {
            let store = store.clone();
            thread::spawn(move || {
                store.publication.wait(number).unwrap();
                store.check(&[2]);
            })
        });
        store.write(1, 2);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// The same, but one of the two waits for a later number: its bucket is woken too early,
/// and it must not go back to sleep while it counts as a thread that wakes others.
#[test]
fn a_sleeper_woken_too_early_wakes_others() {
    model(3, || {
        let store = Store::new();
        let waiters = [1, 4].map(|number| {
            let store = store.clone();
            thread::spawn(move || store.publication.wait(number).unwrap())
        });
        store.write(1, 2);
        let [first, later] = waiters;
        first.join().unwrap();
        store.write(3, 4);
        later.join().unwrap();
    });
}

/// Two ranges that await a sync, and behind them one that does not: the first in line
/// syncs, and no range is visible before it is synced (P6).
#[test]
fn ranges_that_await_a_sync_are_synced_before_they_are_visible() {
    model(3, || {
        let store = Store::new();
        let synced = Arc::new(AtomicU64::new(0));
        let write = |store: &Store, synced: &AtomicU64, number: u64| {
            let sync_prefix = |upto: u64| {
                assert!(upto >= number);
                synced.fetch_max(upto, Ordering::Relaxed);
                Ok::<_, ()>(())
            };
            let outcome = store
                .publication
                .finish_awaiting_sync(number, number, sync_prefix);
            outcome.unwrap().unwrap();
            assert!(store.publication.visible() >= number);
            assert!(synced.load(Ordering::Relaxed) >= number, "P6");
        };
        let (other, others) = (store.clone(), synced.clone());
        let first = thread::spawn(move || write(&other, &others, 1));
        let other = store.clone();
        let last = thread::spawn(move || {
            other.publication.finish(3, 3).unwrap();
        });
        write(&store, &synced, 2);
        first.join().unwrap();
        last.join().unwrap();
        assert_eq!(store.publication.visible(), 3, "P2");
    });
}

/// Two callers: each reaches its goal, asleep or working, and sees what the work was for.
#[test]
fn a_single_flight_serves_sleepers_and_later_callers() {
    model(5, || {
        let flight = Arc::new((SingleFlight::new(0), AtomicU64::new(0), AtomicU64::new(0)));
        let run = |(flight, written, durable): &(SingleFlight, AtomicU64, AtomicU64)| {
            let goal = written.fetch_add(1, Ordering::AcqRel) + 1;
            let worked = flight.run_until(goal, || {
                let upto = written.load(Ordering::Acquire);
                // One caller works at a time, so this never decreases.
                assert!(durable.load(Ordering::Relaxed) <= upto, "R1");
                durable.store(upto, Ordering::Relaxed);
                Ok::<_, ()>(upto)
            });
            worked.unwrap();
            assert!(durable.load(Ordering::Relaxed) >= goal);
        };
        let other = flight.clone();
        let caller = thread::spawn(move || run(&other));
        run(&flight);
        caller.join().unwrap();
    });
}

/// The worker fails while the other caller sleeps: the other one works then.
#[test]
fn a_single_flight_survives_a_failure() {
    model(5, || {
        let flight = Arc::new(SingleFlight::new(0));
        let other = flight.clone();
        let caller = thread::spawn(move || {
            assert_eq!(other.run_until(1, || Ok::<_, ()>(1)), Ok(()));
        });
        let outcome = flight.run_until(1, || Err(()));
        assert!(outcome.is_err() || flight.done() == 1);
        caller.join().unwrap();
        assert_eq!(flight.done(), 1);
    });
}
