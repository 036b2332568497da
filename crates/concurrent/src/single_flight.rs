//! Single flight: one thread does a piece of work for all threads that wait for it.
//!
//! A sync of a log makes everything durable that was written before it. So of the writers
//! that want a sync, only one has to call it. [`SingleFlight::run_until`] lets the first
//! caller work; callers that come meanwhile sleep. When the work is done, one of the
//! callers whose goal it did not reach works next. This needs no queue and no thread of
//! its own: a caller knows by a number whether its part is done.
//!
//! Invariants:
//! * R1: one caller works at a time, and `done` only grows.
//! * R2: no lost wake-up. A sleeper counts itself, then looks at `done` and
//!   `busy`; a worker sets both, then looks at the count; a full fence lies
//!   between the two steps on either side.

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::waiter::EventCount;
use crossbeam_utils::CachePadded;

/// See the [module](self).
#[derive(Debug)]
pub struct SingleFlight {
    /// How far the work has come.
    /// Written by: the worker (Release). Read by: callers (Acquire). Publishes: the work
    /// up to this number.
    done: CachePadded<AtomicU64>,
    /// Whether a caller is working.
    /// Written by: the worker, when it starts (a swap, Acquire) and when it stops
    /// (Release). Read by: callers (relaxed, before they try or sleep). Publishes: what a
    /// worker did, to the next worker.
    busy: AtomicBool,
    /// The number of callers asleep.
    /// Written by: sleepers (relaxed; R2's fence orders it). Read by: workers, after R2's
    /// fence.
    sleepers: AtomicU32,
    event: EventCount,
}

/// The right to work. Dropping it gives up the right, however the work ended.
struct RunGuard<'a>(&'a SingleFlight);

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        // Release: pairs with the swap of the next worker. A store would do, but loom
        // does not see that it comes after the swaps that found the flag set.
        self.0.busy.swap(false, Ordering::Release);
        fence(Ordering::SeqCst); // R2, with the one in `sleep`
        if self.0.sleepers.load(Ordering::Relaxed) > 0 {
            self.0.event.notify_all();
        }
    }
}

impl SingleFlight {
    /// An instance whose work is done up to `done`.
    pub fn new(done: u64) -> Self {
        SingleFlight {
            done: CachePadded::new(AtomicU64::new(done)),
            busy: AtomicBool::new(false),
            sleepers: AtomicU32::new(0),
            event: EventCount::new(),
        }
    }

    /// How far the work has come.
    pub fn done(&self) -> u64 {
        // Acquire: pairs with the Release in `run_until`.
        self.done.load(Ordering::Acquire)
    }

    /// Returns when the work is done up to `goal`. If this caller is the one to work, it
    /// calls `work`, which returns how far it got: `goal` at least.
    ///
    /// # Errors
    /// Those of the caller's own `work`. Other callers then work themselves.
    pub fn run_until<E>(&self, goal: u64, work: impl FnOnce() -> Result<u64, E>) -> Result<(), E> {
        loop {
            if self.done() >= goal {
                return Ok(());
            }
            if let Some(_guard) = self.try_start() {
                if self.done() >= goal {
                    return Ok(()); // by the worker before
                }
                let done = work()?;
                debug_assert!(done >= goal);
                // Release: pairs with `done`. Only workers store (R1).
                self.done.store(done.max(self.done()), Ordering::Release);
                return Ok(());
            }
            self.sleep(goal);
        }
    }

    fn try_start(&self) -> Option<RunGuard<'_>> {
        // Acquire: pairs with the Release of the worker before. Upholds R1.
        let free = !self.busy.load(Ordering::Relaxed) && !self.busy.swap(true, Ordering::Acquire);
        free.then(|| RunGuard(self))
    }

    /// Sleeps until no caller is working or the work has reached `goal`.
    fn sleep(&self, goal: u64) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        loop {
            let epoch = self.event.epoch();
            fence(Ordering::SeqCst); // R2, with the one in `RunGuard::drop`
            if self.done() >= goal || !self.busy.load(Ordering::Relaxed) {
                break;
            }
            self.event.sleep(epoch);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::atomic::AtomicU64 as Number;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn every_caller_reaches_its_goal_and_one_works_at_a_time() {
        let (flight, written) = (SingleFlight::new(0), Number::new(0));
        let (rounds, working) = (Number::new(0), Number::new(0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let goal = written.fetch_add(1, SeqCst) + 1;
                        flight
                            .run_until(goal, || {
                                assert_eq!(working.fetch_add(1, SeqCst), 0, "R1");
                                let upto = written.load(SeqCst);
                                std::thread::yield_now();
                                rounds.fetch_add(1, SeqCst);
                                working.fetch_sub(1, SeqCst);
                                Ok::<_, Infallible>(upto)
                            })
                            .unwrap();
                        assert!(flight.done() >= goal);
                    }
                });
            }
        });
        assert_eq!(flight.done(), 16 * 500);
        assert!(rounds.load(SeqCst) <= 16 * 500);
        assert_eq!(flight.sleepers.load(SeqCst), 0);
    }

    #[test]
    fn a_failure_goes_to_the_worker_alone_and_the_next_caller_tries() {
        let flight = SingleFlight::new(0);
        assert_eq!(flight.run_until(1, || Err("no")), Err("no"));
        assert_eq!(flight.done(), 0);
        assert_eq!(flight.run_until(1, || Ok::<_, ()>(3)), Ok(()));
        assert_eq!(flight.run_until(3, || Err("not called")), Ok(()));
    }
}
