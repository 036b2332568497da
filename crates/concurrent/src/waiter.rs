//! Waiting for a state word to change: spin, yield, then sleep.
//!
//! A [`StateWord`] is a small integer that one thread waits on and another sets. Waiting
//! takes up to three steps, as RocksDB's adaptive yield does:
//!
//! 1. a short spin, about a microsecond;
//! 2. where yielding has paid off before at this [`CallSite`], a loop of
//!    `sched_yield` for at most [`YieldPolicy::max_yield`];
//! 3. sleeping on a futex.
//!
//! Invariants:
//! * W1: only the waiter stores [`BLOCKED`], and only by replacing the value
//!   it has just seen; so a setter that finds `BLOCKED` must wake, and one
//!   that does not need not.
//! * W2: a setter touches the word only by the one swap. The wake-up that may
//!   follow uses the address alone, since the waiter may already have returned
//!   and its word may be gone; a stray wake-up on a reused address is a
//!   spurious one, which every futex user tolerates.
//!
//! [`FUTEX_WAITS`] and [`FUTEX_WAKES`] count the system calls that sleeping and waking
//! take, for the whole process.

use crate::counter::Counter;
use crate::sync::{AtomicU32, MODELLED, Ordering, hint, thread};
use crate::system;
use crossbeam_utils::CachePadded;
use std::sync::atomic::AtomicI32;
use std::time::{Duration, Instant};

/// How often waiters of this process went to sleep. Each time is a system call, beside
/// which counting costs nothing.
pub static FUTEX_WAITS: CachePadded<Counter> = CachePadded::new(Counter::new());

/// How often setters of this process woke one waiter or all of them. Each time is a
/// system call.
pub static FUTEX_WAKES: CachePadded<Counter> = CachePadded::new(Counter::new());

/// The value of a word whose waiter sleeps. Callers must use other values.
pub const BLOCKED: u32 = u32::MAX;

/// Bounds of the yielding step.
#[derive(Debug, Clone, Copy)]
pub struct YieldPolicy {
    /// Yield for at most this long; zero turns the step off.
    pub max_yield: Duration,
    /// A yield that takes this long has let another thread run. After three of them the
    /// waiter sleeps.
    pub slow_yield: Duration,
}

impl Default for YieldPolicy {
    fn default() -> Self {
        YieldPolicy {
            max_yield: Duration::from_micros(100),
            slow_yield: Duration::from_micros(3),
        }
    }
}

/// Whether yielding has paid off so far at one place in the code.
#[derive(Debug, Default)]
pub struct CallSite {
    /// The credit of yielding: waiters yield while it is not negative.
    /// Written by: waiters; the update is not atomic (a lost update only loses a sample).
    /// Read by: waiters. Publishes nothing.
    credit: AtomicI32,
}

impl CallSite {
    /// A call site without history.
    pub fn new() -> Self {
        Self::default()
    }

    fn update(&self, success: bool) {
        let v = self.credit.load(Ordering::Relaxed);
        let v = v - (v / 1024) + if success { 1 << 17 } else { -(1 << 17) };
        self.credit.store(v, Ordering::Relaxed);
    }
}

/// A word that one thread waits on.
#[derive(Debug)]
pub struct StateWord {
    /// Written by: the waiter (to [`BLOCKED`], W1) and setters. Read by: the waiter and,
    /// as a hint whether it sleeps, the thread that starts or notifies a group's members.
    /// Publishes: everything that the setter did before ([`StateWord::set`] releases,
    /// [`StateWord::wait`] acquires).
    word: AtomicU32,
}

impl StateWord {
    /// A word holding `state`.
    pub fn new(state: u32) -> Self {
        StateWord {
            word: AtomicU32::new(state),
        }
    }

    /// The state, acquiring what its setter published.
    pub fn get(&self) -> u32 {
        // Acquire: pairs with the swap in `set_raw`.
        self.word.load(Ordering::Acquire)
    }

    /// Sets the state and wakes the waiter if it sleeps.
    ///
    /// # Safety
    /// `this` points to a live word until the swap inside; the word may vanish
    /// right after it.
    pub unsafe fn set_raw(this: *const StateWord, state: u32) {
        debug_assert_ne!(state, BLOCKED);
        // SAFETY: `this` is live until the swap (contract); only the address
        // of the field is computed here.
        let word = unsafe { &raw const (*this).word };
        // SAFETY: `this` is live until this swap (contract). AcqRel: releases to the
        // Acquire loads in `wait` and `get`; acquires nothing of interest, but keeps two
        // setters in order.
        let old = unsafe { &*word }.swap(state, Ordering::AcqRel);
        if old == BLOCKED {
            wake(word);
        }
    }

    /// Sets the state and wakes the waiter if it sleeps.
    pub fn set(&self, state: u32) {
        // SAFETY: `self` outlives the call.
        unsafe { StateWord::set_raw(self, state) }
    }

    /// Makes the word look as if its waiter slept.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn set_blocked(&self) {
        self.word.store(BLOCKED, Ordering::Relaxed);
    }

    /// Waits until the state is one of `goal`'s bits (`1 << state`), and
    /// returns it. `states` below 32.
    pub fn wait(&self, goal: u32, site: &CallSite, policy: YieldPolicy) -> u32 {
        let reached = || self.reached(goal);
        if let Some(state) = spin(reached) {
            return state;
        }
        if let Some(state) = yield_for(reached, site, policy) {
            return state;
        }
        self.sleep(goal)
    }

    fn reached(&self, goal: u32) -> Option<u32> {
        let state = self.get();
        (state < 32 && goal & (1 << state) != 0).then_some(state)
    }

    fn sleep(&self, goal: u32) -> u32 {
        loop {
            let state = self.get();
            if state != BLOCKED {
                if state < 32 && goal & (1 << state) != 0 {
                    return state;
                }
                // W1: replace exactly the value just seen. Relaxed is enough:
                // nothing is published by going to sleep, and a setter's
                // values are acquired by `get` above.
                if self
                    .word
                    .compare_exchange(state, BLOCKED, Ordering::Relaxed, Ordering::Relaxed)
                    .is_err()
                {
                    continue;
                }
            }
            sleep_while(&self.word, BLOCKED);
        }
    }
}

/// How long a waiter spins before it does anything else: long enough for a setter that is
/// about to finish, short enough to cost nothing beside a sleep. It is measured by the
/// clock, since the length of a pause instruction differs tenfold between processors.
const SPIN: Duration = Duration::from_micros(1);

/// Calls `reached` repeatedly for the time of [`SPIN`].
pub(crate) fn spin<T>(reached: impl Fn() -> Option<T>) -> Option<T> {
    // A model checker makes a spinning thread wait for the others, so it would never see
    // a thread go to sleep. In a simulation the others do not run meanwhile.
    if MODELLED || system::is_simulated() {
        return None;
    }
    let mut start = None;
    loop {
        for _ in 0..16 {
            if let Some(found) = reached() {
                return Some(found);
            }
            hint::spin_loop();
        }
        // Most waits are over before the clock is read, which takes longer than they do.
        if start.get_or_insert_with(Instant::now).elapsed() >= SPIN {
            return None;
        }
    }
}

/// Yields until `reached` returns something, if yielding has paid off before at `site`.
pub(crate) fn yield_for<T>(
    reached: impl Fn() -> Option<T>,
    site: &CallSite,
    policy: YieldPolicy,
) -> Option<T> {
    if policy.max_yield.is_zero() || MODELLED || system::is_simulated() {
        return None;
    }
    // A waiter without credit still yields now and then as a sample. Otherwise a site
    // that lost its credit once could never regain it.
    let sampled = fast_random().is_multiple_of(256);
    if site.credit.load(Ordering::Relaxed) < 0 && !sampled {
        return None;
    }
    let start = Instant::now();
    let mut before = start;
    let mut slow = 0;
    let (mut found, mut hard_failure) = (None, false);
    while before - start <= policy.max_yield {
        thread::yield_now();
        found = reached();
        if found.is_some() {
            break;
        }
        let now = Instant::now();
        if now == before || now - before >= policy.slow_yield {
            slow += 1;
            if slow >= 3 {
                hard_failure = true;
                break;
            }
        }
        before = now;
    }
    if sampled || hard_failure {
        site.update(found.is_some());
    }
    found
}

/// Sleeps while `word` holds `value`. May return early.
#[cfg(not(any(loom, shuttle)))]
fn sleep_while(word: &AtomicU32, value: u32) {
    FUTEX_WAITS.add(1);
    system::futex_wait(word, value);
}

#[cfg(any(loom, shuttle))]
fn sleep_while(_: &AtomicU32, _: u32) {
    thread::yield_now();
}

#[cfg(not(any(loom, shuttle)))]
fn wake(word: *const AtomicU32) {
    FUTEX_WAKES.add(1);
    // The cast is for the counted type of `count-rmw`, which is std's type in memory.
    system::futex_wake_one(word.cast());
}

#[cfg(any(loom, shuttle))]
fn wake(_: *const AtomicU32) {}

/// An event count: many threads sleep on it until the next notification, and then check
/// their condition again. Under a model checker it is a condition variable, so that a
/// lost wake-up shows as a deadlock.
#[derive(Debug)]
pub(crate) struct EventCount {
    /// Changes with each notification.
    /// Written by: notifiers (Release). Read by: sleepers, before they check their
    /// condition (Acquire). Publishes: nothing; the condition has words of its own.
    epoch: AtomicU32,
    #[cfg(any(loom, shuttle))]
    kernel: crate::sync::Parking,
}

impl EventCount {
    /// An event count without sleepers.
    pub fn new() -> Self {
        EventCount {
            epoch: AtomicU32::new(0),
            #[cfg(any(loom, shuttle))]
            kernel: crate::sync::Parking::new(),
        }
    }

    /// The current epoch. To be read before checking whether to sleep.
    pub fn epoch(&self) -> u32 {
        // Acquire: pairs with `notify_all`; what a sleeper reads next is not older than
        // the epoch.
        self.epoch.load(Ordering::Acquire)
    }

    /// Sleeps while the epoch is `epoch`. May return early.
    #[cfg(not(any(loom, shuttle)))]
    pub fn sleep(&self, epoch: u32) {
        sleep_while(&self.epoch, epoch);
    }

    /// Wakes all sleepers, so that they check their condition again.
    #[cfg(not(any(loom, shuttle)))]
    pub fn notify_all(&self) {
        // Release: pairs with `epoch`.
        self.epoch.fetch_add(1, Ordering::Release);
        FUTEX_WAKES.add(1);
        // The cast is for the counted type of `count-rmw`, which is std's type in memory.
        system::futex_wake_all(std::ptr::from_ref(&self.epoch).cast());
    }

    /// As the function of this name in a build without a checker.
    #[cfg(any(loom, shuttle))]
    pub fn sleep(&self, epoch: u32) {
        self.kernel
            .park_if(|| self.epoch.load(Ordering::Relaxed) == epoch);
    }

    /// As the function of this name in a build without a checker.
    #[cfg(any(loom, shuttle))]
    pub fn notify_all(&self) {
        // Release: pairs with `epoch`.
        self.epoch.fetch_add(1, Ordering::Release);
        self.kernel.unpark_all();
    }
}

/// A cheap thread-local random number, for sampling only.
fn fast_random() -> u32 {
    use std::cell::Cell;
    thread_local!(static STATE: Cell<u32> = const { Cell::new(0) });
    STATE.with(|s| {
        let mut x = s.get();
        if x == 0 {
            // The address differs between threads.
            x = (std::ptr::from_ref(s) as usize >> 4) as u32 | 1;
        }
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        s.set(x);
        x
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_sleeper_is_woken_with_the_state_that_was_set() {
        for delay_us in [0, 50, 2_000] {
            for max_yield in [0, 100] {
                let policy = YieldPolicy {
                    max_yield: Duration::from_micros(max_yield),
                    ..YieldPolicy::default()
                };
                let word = Arc::new(StateWord::new(0));
                let site = CallSite::new();
                let setter = {
                    let word = word.clone();
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_micros(delay_us));
                        word.set(3);
                        std::thread::sleep(Duration::from_micros(delay_us));
                        word.set(5);
                    })
                };
                assert_eq!(word.wait(1 << 5, &site, policy), 5);
                setter.join().unwrap();
            }
        }
    }

    #[test]
    fn sleeping_and_waking_are_counted() {
        let before = (FUTEX_WAITS.get(), FUTEX_WAKES.get());
        let policy = YieldPolicy {
            max_yield: Duration::ZERO,
            ..YieldPolicy::default()
        };
        let word = Arc::new(StateWord::new(0));
        let waiter = {
            let word = word.clone();
            std::thread::spawn(move || word.wait(1 << 5, &CallSite::new(), policy))
        };
        while word.get() != BLOCKED {
            std::thread::yield_now();
        }
        word.set(5);
        assert_eq!(waiter.join().unwrap(), 5);
        assert!(FUTEX_WAKES.get() > before.1);
        // The setter may have come between the waiter's mark and its sleep;
        // the call is counted all the same.
        assert!(FUTEX_WAITS.get() > before.0);
    }

    #[test]
    fn credit_follows_success() {
        let site = CallSite::new();
        site.update(false);
        assert!(site.credit.load(Ordering::Relaxed) < 0);
        site.update(true);
        site.update(true);
        assert!(site.credit.load(Ordering::Relaxed) > 0);
    }
}
