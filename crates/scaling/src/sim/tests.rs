//! Tests of the simulator with cases whose outcome is known.

use super::thread::Patience;
use super::{NS, SECOND, Sim, Thread, Time, Word};
use crate::machine::Machine;
use crate::machine::tests::plain;
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A machine on which only what a test is about costs time.
fn free(sockets: usize, cores: usize) -> Machine {
    Machine {
        context_switch: 0,
        wake_idle: 0,
        ..plain(sockets, cores)
    }
}

/// How often `threads` threads do the work in the first `time`, as often as they can.
fn throughput<P>(
    machine: Machine,
    threads: usize,
    time: Time,
    work: impl Fn(Thread, Rc<Word>) -> P + 'static,
) -> (u64, Vec<u64>)
where
    P: Future<Output = ()> + 'static,
{
    let sim = Sim::new(machine, 1);
    let word = Rc::new(Word::new(&sim, "word", 0));
    let counts: Rc<Vec<Cell<u64>>> = Rc::new(vec![Cell::new(0); threads]);
    let work = Rc::new(work);
    sim.run(threads, |thread| {
        let (counts, word, work) = (counts.clone(), word.clone(), work.clone());
        let one = move |thread: &Thread| work(thread.clone(), word.clone());
        async move {
            loop {
                one(&thread).await;
                if thread.now() > time {
                    thread.sim().stop();
                    return;
                }
                let count = &counts[thread.id()];
                count.set(count.get() + 1);
            }
        }
    });
    let counts: Vec<u64> = counts.iter().map(Cell::get).collect();
    (counts.iter().sum(), counts)
}

fn close(value: f64, expected: f64, part: f64) -> bool {
    (value / expected - 1.0).abs() <= part
}

#[test]
fn work_of_ones_own_scales_with_cores() {
    let work = |thread: Thread, _| async move { thread.compute(700 * NS).await };
    let (one, _) = throughput(free(1, 8), 1, SECOND / 1000, work);
    for threads in [2, 8] {
        let (all, each) = throughput(free(1, 8), threads, SECOND / 1000, work);
        assert!(close(all as f64, (one * threads as u64) as f64, 0.001));
        assert!(each.iter().all(|n| n.abs_diff(one) <= 1), "{each:?}");
    }
}

#[test]
fn hardware_threads_of_a_core_slow_each_other_down() {
    let mut machine = free(1, 1);
    machine.topology.threads = 2;
    machine.smt_slowdown = 1.6;
    let work = |thread: Thread, _| async move { thread.compute(1_000 * NS).await };
    let (one, _) = throughput(machine.clone(), 1, SECOND / 1000, work);
    let (two, _) = throughput(machine, 2, SECOND / 1000, work);
    assert!(close(two as f64 / one as f64, 2.0 / 1.6, 0.01));
}

#[test]
fn more_threads_than_cores_share_them_fairly() {
    let work = |thread: Thread, _| async move { thread.compute(1_000 * NS).await };
    let slices = 200;
    let machine = free(1, 2);
    let time = slices * machine.slice;
    let (all, each) = throughput(machine.clone(), 10, time, work);
    let per_slice = machine.slice / (1_000 * NS);
    assert!(close(all as f64, (2 * slices * per_slice) as f64, 0.001));
    let fair = all / 10;
    // The counts are within a slice or two of each other, whichever thread began.
    assert!(
        each.iter().all(|n| n.abs_diff(fair) <= 2 * per_slice),
        "{each:?}, fair {fair}"
    );
}

#[test]
fn a_contended_line_serves_a_write_for_each_transfer() {
    // The work elsewhere takes so long that no thread writes twice while it has the line.
    let work = |thread: Thread, word: Rc<Word>| async move {
        thread.rmw(&word, |n| n + 1).await;
        thread.compute(200 * NS).await;
    };
    let machine = free(1, 16);
    let (all, each) = throughput(machine.clone(), 16, SECOND / 1000, work);
    let expected = SECOND / 1000 / machine.near;
    assert!(close(all as f64, expected as f64, 0.01), "{all}");
    let (least, most) = (each.iter().min().unwrap(), each.iter().max().unwrap());
    assert!(most - least <= 1, "{each:?}");
    // If each core is a socket of its own, the more expensive transfer counts.
    let (all, _) = throughput(free(16, 1), 16, SECOND / 1000, work);
    assert!(close(
        all as f64,
        (SECOND / 1000 / machine.far) as f64,
        0.01
    ));
}

/// Takes a lock whose waiters spin, and holds it.
async fn lock_and_hold(thread: Thread, lock: Rc<Word>, hold: Time) {
    while thread.rmw(&lock, |_| 1).await != 0 {
        let free = |value| (value == 0).then_some(());
        thread.watch(&lock, Patience::For(SECOND), free).await;
    }
    thread.compute(hold).await;
    thread.store(&lock, 0).await;
    thread.compute(500 * NS).await;
}

#[test]
fn one_lock_is_held_one_after_the_other() {
    let machine = free(1, 8);
    let interval = |hold: Time| {
        let work = move |thread, lock| lock_and_hold(thread, lock, hold);
        let (all, _) = throughput(machine.clone(), 8, SECOND / 100, work);
        (SECOND / 100) as f64 / all as f64
    };
    let (short, long) = (interval(2_000 * NS), interval(5_000 * NS));
    // Only the time for which the lock is held has changed.
    assert!(close(long - short, (3_000 * NS) as f64, 0.01));
    // The rest is the path of the line. The release takes it from the threads that look,
    // they look again, one takes it for writing, and the others find the lock taken; each
    // of these steps is a transfer.
    let handing_over = short - (2_000 * NS) as f64;
    let transfers = handing_over / machine.near as f64;
    assert!((2.0..=12.0).contains(&transfers), "{transfers}");
}

/// The mean wait of an M/D/1 queue in service times, given its load.
fn mean_wait(load: f64) -> f64 {
    load / (2.0 * (1.0 - load))
}

#[test]
fn a_device_under_random_arrivals_is_an_m_d_1_queue() {
    const SOURCES: usize = 64;
    for load in [0.5, 0.8] {
        let machine = free(1, 64);
        let (service, sim) = (machine.sync, Sim::new(machine, 1));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut at = 0.0;
        let arrivals: Rc<Vec<Time>> = Rc::new(
            (0..60_000)
                .map(|_| {
                    let even: f64 = random.random();
                    at -= (1.0 - even).ln() * service as f64 / load;
                    at as Time
                })
                .collect(),
        );
        let waits = Rc::new(RefCell::new(Vec::new()));
        sim.run(SOURCES, |thread| {
            let (arrivals, waits) = (arrivals.clone(), waits.clone());
            async move {
                for &at in arrivals.iter().skip(thread.id()).step_by(SOURCES) {
                    if at > thread.now() {
                        thread.sleep(at - thread.now()).await;
                    }
                    let start = thread.now();
                    thread.fdatasync(0).await;
                    let wait = (thread.now() - start).saturating_sub(service);
                    waits.borrow_mut().push(wait as f64);
                }
            }
        });
        let waits = waits.borrow();
        assert_eq!(waits.len(), arrivals.len());
        let mean = waits.iter().sum::<f64>() / waits.len() as f64 / service as f64;
        assert!(close(mean, mean_wait(load), 0.05), "{load}: {mean}");
    }
}

#[test]
fn a_wake_up_takes_the_sum_of_its_parts() {
    let machine = plain(1, 2);
    let sim = Sim::new(machine.clone(), 1);
    let word = Rc::new(Word::new(&sim, "word", 0));
    let times = Rc::new(RefCell::new(Vec::new()));
    sim.run(2, |thread| {
        let (word, times) = (word.clone(), times.clone());
        async move {
            if thread.id() == 0 {
                thread.futex_wait(&word, 0).await;
                times.borrow_mut().push(thread.now());
            } else {
                thread.compute(50_000 * NS).await;
                thread.store(&word, 1).await;
                times.borrow_mut().push(thread.now());
                thread.futex_wake(&word, 1).await;
            }
        }
    });
    let parts = [
        machine.wake_call,
        machine.wake_each,
        machine.wake_idle,
        machine.context_switch,
    ];
    let times = times.borrow();
    assert_eq!(times[1] - times[0], parts.iter().sum::<Time>());
    let tally = sim.tally();
    assert_eq!((tally.futex_waits, tally.futex_wakes), (1, 1));
    assert_eq!((tally.voluntary, tally.involuntary), (1, 0));
}

#[test]
fn a_futex_whose_value_has_changed_does_not_sleep() {
    let sim = Sim::new(plain(1, 1), 1);
    let word = Rc::new(Word::new(&sim, "word", 7));
    sim.run(1, |thread| {
        let word = word.clone();
        async move { thread.futex_wait(&word, 6).await }
    });
    assert_eq!(sim.tally().voluntary, 0);
}

#[test]
fn whoever_falls_asleep_again_is_not_woken_by_the_same_call() {
    let sim = Sim::new(plain(1, 4), 1);
    let word = Rc::new(Word::new(&sim, "word", 0));
    let woken = Rc::new(Cell::new(0));
    sim.run(3, |thread| {
        let (word, woken) = (word.clone(), woken.clone());
        async move {
            if thread.id() == 0 {
                thread.compute(50_000 * NS).await;
                thread.futex_wake(&word, usize::MAX).await;
                return;
            }
            loop {
                thread.futex_wait(&word, 0).await;
                woken.set(woken.get() + 1);
            }
        }
    });
    assert_eq!(woken.get(), 2);
}

#[test]
fn who_yields_lets_the_other_run() {
    let machine = plain(1, 1);
    let sim = Sim::new(machine.clone(), 1);
    let order = Rc::new(RefCell::new(Vec::new()));
    sim.run(2, |thread| {
        let order = order.clone();
        async move {
            for _ in 0..3 {
                order.borrow_mut().push(thread.id());
                thread.yield_now().await;
            }
        }
    });
    assert_eq!(*order.borrow(), [0, 1, 0, 1, 0, 1]);
    // A yield without other threads is only a call.
    let alone = Rc::new(Cell::new(0));
    let took = alone.clone();
    Sim::new(machine.clone(), 1).run(1, move |thread| {
        let took = took.clone();
        async move { took.set(thread.yield_now().await) }
    });
    assert_eq!(alone.get(), machine.yield_call);
}

#[test]
fn whoever_watches_a_word_sees_it_change_or_gives_up() {
    let sim = Sim::new(plain(1, 2), 1);
    let word = Rc::new(Word::new(&sim, "word", 0));
    let found = Rc::new(RefCell::new(Vec::new()));
    sim.run(2, |thread| {
        let (word, found) = (word.clone(), found.clone());
        async move {
            if thread.id() == 1 {
                thread.compute(30_000 * NS).await;
                thread.store(&word, 5).await;
                return;
            }
            let five = |value| (value == 5).then_some(value);
            for time in [10_000 * NS, 100_000 * NS] {
                let start = thread.now();
                let seen = thread.watch(&word, Patience::For(time), five).await;
                found.borrow_mut().push((seen, thread.now() - start));
            }
        }
    });
    let found = found.borrow();
    assert_eq!((found[0].0, found[1].0), (None, Some(5)));
    assert!((10_000 * NS..10_200 * NS).contains(&found[0].1));
    assert!(found[1].1 < 25_000 * NS, "as soon as it changes");
}

#[test]
fn memory_traffic_beyond_the_bandwidth_waits() {
    // 64 KiB take 3.1 us at 50 us a MiB.
    let work = |thread: Thread, _| async move {
        thread.compute(100 * NS).await;
        thread.stream(64 << 10).await;
    };
    let machine = free(1, 8);
    let (all, _) = throughput(machine.clone(), 8, SECOND / 1000, work);
    let expected = (SECOND / 1000) as f64 / machine.stream_time(64 << 10) as f64;
    assert!(close(all as f64, expected, 0.03), "{all} {expected}");
}
