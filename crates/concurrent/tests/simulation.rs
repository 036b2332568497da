//! Tests of the simulation: threads that a seed schedules.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::single_flight::SingleFlight;
use whitewater_concurrent::system::simulation::{self, Report, note, point, run};
use whitewater_concurrent::system::{self, Condvar, Mutex, RwLock};
use whitewater_concurrent::waiter::YieldPolicy;

fn spawn_all<T: Send>(n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..n)
            .map(|i| system::spawn_scoped(scope, format!("worker {i}"), move || work(i)))
            .collect();
        let threads = threads.into_iter().map(|t| t.expect("a thread starts"));
        threads.map(|t| t.join().expect("no panic")).collect()
    })
}

/// Runs threads that take locks, wait and sleep; returns the order in which they got
/// there.
fn busy(seed: u64) -> (Vec<usize>, Report) {
    run(seed, || {
        let order = Mutex::new(Vec::new());
        let table = RwLock::new(0);
        spawn_all(4, |i| {
            for round in 0..20 {
                order.lock().push(i);
                match round % 3 {
                    0 => *table.write() += 1,
                    1 => assert!(*table.read() <= 28),
                    _ => system::sleep(Duration::from_micros(i as u64)),
                }
            }
        });
        assert_eq!(*table.read(), 28);
        order.into_inner()
    })
}

#[test]
fn a_seed_is_a_run() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let (order, report) = busy(seed);
        assert_eq!(
            (&order, report),
            (&busy(seed).0, busy(seed).1),
            "seed {seed}"
        );
        assert_eq!(order.len(), 80);
        orders.insert(order);
    }
    assert!(orders.len() > 40, "only {} orders", orders.len());
}

/// A read and a write, with another thread in between.
#[test]
fn a_read_and_a_write_are_torn_apart() {
    let torn = (0..50).filter(|&seed| {
        let (count, _) = run(seed, || {
            let count = AtomicU32::new(0);
            spawn_all(2, |_| {
                for _ in 0..10 {
                    let seen = count.load(Relaxed);
                    point();
                    count.store(seen + 1, Relaxed);
                }
            });
            count.into_inner()
        });
        count < 20
    });
    assert!(torn.count() > 10);
}

#[test]
fn time_passes_while_no_thread_runs() {
    let begun = std::time::Instant::now();
    let (_, report) = run(1, || {
        let start = (system::now(), system::wall_clock());
        system::sleep(Duration::from_secs(3600));
        let hour = Duration::from_secs(3600);
        assert!(system::now() - start.0 >= hour);
        assert!(system::wall_clock().duration_since(start.1).unwrap() >= hour);
        // A deadline in the past has come.
        let never = Mutex::new(());
        let outcome = Condvar::new().wait_until(&mut never.lock(), start.0);
        assert!(outcome.timed_out());
    });
    assert!(report.time >= Duration::from_secs(3600));
    assert!(begun.elapsed() < Duration::from_secs(600));
}

#[test]
fn condition_variables_wake_their_waiters() {
    for seed in 0..100 {
        run(seed, || {
            let (lock, changed) = (Mutex::new(0), Condvar::new());
            spawn_all(3, |i| {
                let mut turn = lock.lock();
                while *turn != i {
                    changed.wait(&mut turn);
                }
                *turn += 1;
                changed.notify_all();
            });
            assert_eq!(lock.into_inner(), 3);
        });
    }
}

/// The parts of the commit protocol whose waiters sleep on futex words.
#[test]
fn publications_and_single_flights_come_to_an_end() {
    let mut runs = Vec::new();
    for seed in 0..100 {
        let (_, report) = run(seed, || {
            let publication = Publication::new(0, YieldPolicy::default());
            let flight = SingleFlight::new(0);
            let next = Mutex::new(1..=40_u64);
            spawn_all(4, |_| {
                while let Some(number) = { next.lock().next() } {
                    point();
                    publication.finish(number, number).expect("nothing fails");
                    publication.wait(number).expect("nothing fails");
                    flight
                        .run_until(number, || {
                            point();
                            Ok::<_, ()>(publication.visible())
                        })
                        .expect("nothing fails");
                    note(flight.done());
                }
            });
            assert_eq!(publication.visible(), 40);
        });
        runs.push(report.fingerprint);
    }
    runs.sort_unstable();
    runs.dedup();
    assert!(runs.len() > 90, "only {} different runs", runs.len());
}

#[test]
fn a_panic_is_the_simulations() {
    let outcome = thread::spawn(|| simulation::run(1, || panic!("told"))).join();
    let payload = outcome.map(drop).expect_err("it panics");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"told"));
    // A thread's panic does not affect the others.
    run(1, || {
        let thread = system::spawn("fails".to_owned(), || panic!("alone"));
        let thread = thread.expect("a thread starts");
        assert!(thread.join().map(drop).is_err());
    });
}
