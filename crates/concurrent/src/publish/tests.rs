//! Publication under threads: order, wake-ups, failure, more in flight than
//! there are slots.

use super::wait_buckets::BUCKET_WIDTH;
use super::*;
use std::sync::atomic::AtomicU64 as Number;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

fn publication() -> Publication {
    Publication::new(0, YieldPolicy::default())
}

/// Numbers handed out, and ranges that were finished.
struct Run {
    publication: Publication,
    next: Number,
}

impl Run {
    fn new() -> Self {
        Run {
            publication: publication(),
            next: Number::new(1),
        }
    }

    fn reserve(&self, count: u64) -> (u64, u64) {
        let first = self.next.fetch_add(count, SeqCst);
        (first, first + count - 1)
    }
}

#[test]
fn ranges_finished_out_of_order_become_visible_in_order() {
    let p = publication();
    p.finish(4, 4).unwrap();
    p.finish(2, 3).unwrap();
    assert_eq!(p.visible(), 0);
    p.finish(1, 1).unwrap();
    assert_eq!(p.visible(), 4);
    p.finish(5, 9).unwrap();
    assert_eq!(p.visible(), 9);
    assert!(p.wait(9).is_ok());
}

#[test]
fn a_long_range_passes_over_the_ring_more_than_once() {
    let p = publication();
    let long = 3 * SLOTS as u64;
    p.finish(1, long).unwrap();
    p.finish(long + 2, long + 2).unwrap();
    assert_eq!(p.visible(), long);
    p.finish(long + 1, long + 1).unwrap();
    assert_eq!(p.visible(), long + 2);
}

#[test]
fn every_writer_returns_once_its_range_is_visible() {
    for threads in [2, 16, 64] {
        let run = Run::new();
        std::thread::scope(|scope| {
            for id in 0..threads {
                let run = &run;
                scope.spawn(move || {
                    for i in 0..2_000 / threads * 4 {
                        let (first, last) = run.reserve(1 + (id + i) % 5);
                        assert!(run.publication.visible() < first, "P1");
                        if (id + i) % 97 == 0 {
                            std::thread::sleep(Duration::from_micros(50));
                        }
                        run.publication.finish(first, last).unwrap();
                        run.publication.wait(last).unwrap();
                        assert!(run.publication.visible() >= last);
                    }
                });
            }
        });
        assert_eq!(run.publication.visible(), run.next.load(SeqCst) - 1);
    }
}

#[test]
fn more_numbers_in_flight_than_slots_wait_for_room() {
    let run = Run::new();
    let (first, last) = run.reserve(1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let (first, last) = run.reserve(SLOTS as u64 - 1);
                    run.publication.finish(first, last).unwrap();
                    run.publication.wait(last).unwrap();
                }
            });
        }
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(run.publication.visible(), 0);
        run.publication.finish(first, last).unwrap();
    });
    assert_eq!(run.publication.visible(), 1 + 12 * (SLOTS as u64 - 1));
}

#[test]
fn a_failed_range_fails_those_behind_it_and_no_others() {
    let run = Run::new();
    let early = run.reserve(1);
    let failing = run.reserve(3);
    let late = run.reserve(2);
    let far = run.reserve(2 * SLOTS as u64);
    let beyond = run.reserve(1);
    std::thread::scope(|scope| {
        let p = &run.publication;
        p.finish(late.0, late.1).unwrap();
        let sleepers =
            [late.1, far.1, failing.1, failing.0].map(|last| scope.spawn(move || p.wait(last)));
        let stuck = scope.spawn(move || p.finish(beyond.0, beyond.1));
        let waits = scope.spawn(move || p.wait(early.1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(!p.has_failed());
        p.fail(failing.0);
        assert!(p.has_failed());
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), Err(Failed));
        }
        assert_eq!(stuck.join().unwrap(), Err(Failed), "no slot ever");
        assert_eq!(p.visible(), 0);
        p.finish(early.0, early.1).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(()));
        assert_eq!(p.visible(), early.1, "P5");
    });
    let p = &run.publication;
    p.restart(beyond.1);
    assert!(!p.has_failed());
    assert_eq!(p.wait(early.1), Ok(()));
    for given_up in [failing, late, far, beyond] {
        assert_eq!(p.wait(given_up.1), Err(Failed), "P7");
    }
    let next = run.reserve(1);
    p.finish(next.0, next.1).unwrap();
    assert_eq!(p.visible(), next.1, "old marks mean nothing");
    let again = run.reserve(2);
    p.fail(again.0);
    p.restart(again.1);
    assert_eq!(p.wait(late.1), Err(Failed), "given up by the first restart");
    assert_eq!(p.wait(again.1), Err(Failed));
    assert_eq!(p.wait(next.1), Ok(()));
}

#[test]
fn one_sync_covers_many_ranges_that_await_it() {
    let run = Run::new();
    let (synced, rounds) = (Number::new(0), Number::new(0));
    std::thread::scope(|scope| {
        for id in 0..16u64 {
            let (run, synced, rounds) = (&run, &synced, &rounds);
            scope.spawn(move || {
                for i in 0..200 {
                    let (first, last) = run.reserve(1 + i % 3);
                    if (id + i) % 3 == 0 {
                        run.publication.finish(first, last).unwrap();
                        run.publication.wait(last).unwrap();
                        continue;
                    }
                    let sync_prefix = |upto| {
                        assert_eq!(run.publication.visible(), first - 1, "the first in line");
                        std::thread::sleep(Duration::from_micros(20));
                        synced.fetch_max(upto, SeqCst);
                        rounds.fetch_add(1, SeqCst);
                        Ok::<_, ()>(())
                    };
                    let outcome = run
                        .publication
                        .finish_awaiting_sync(first, last, sync_prefix);
                    assert_eq!(outcome, Ok(Ok(())));
                    assert!(run.publication.visible() >= last);
                    assert!(synced.load(SeqCst) >= last, "P6");
                }
            });
        }
    });
    assert_eq!(run.publication.visible(), run.next.load(SeqCst) - 1);
    assert!(rounds.load(SeqCst) <= 16 * 200);
}

#[test]
fn a_range_that_cannot_be_synced_is_never_visible() {
    let p = publication();
    p.finish(2, 2).unwrap();
    assert_eq!(p.finish_awaiting_sync(1, 1, Err), Ok(Err(2)));
    assert_eq!(p.visible(), 0);
    p.fail(1);
    assert_eq!(p.wait(2), Err(Failed));
    assert_eq!(
        p.finish_awaiting_sync(3, 3, |_| Ok::<_, ()>(())),
        Err(Failed)
    );
}

/// Exercises the sleeping path, whether spinning succeeds or not: with no pause in
/// between, waiters sleep and are woken many times.
#[test]
fn a_frozen_head_lets_the_others_sleep_until_it_moves() {
    let run = Run::new();
    for _ in 0..50 {
        let head = run.reserve(1);
        std::thread::scope(|scope| {
            let waiters: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        // Each thread sleeps in a bucket of its own.
                        let (first, last) = run.reserve(BUCKET_WIDTH);
                        run.publication.finish(first, last).unwrap();
                        run.publication.wait(last)
                    })
                })
                .collect();
            while run.publication.buckets.occupied() < 8 {
                std::thread::yield_now();
            }
            assert_eq!(run.publication.visible(), head.0 - 1);
            run.publication.finish(head.0, head.1).unwrap();
            for waiter in waiters {
                assert_eq!(waiter.join().unwrap(), Ok(()));
            }
        });
    }
    assert_eq!(run.publication.visible(), 50 * (1 + 8 * BUCKET_WIDTH));
}
