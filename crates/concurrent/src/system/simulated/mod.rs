//! Locks, threads and time for threads of a simulation; other threads get the operating
//! system's. See [`crate::system`] for the contract.
//!
//! `scheduler` chooses the thread that runs; `locks` and `threads` ask it.

mod locks;
pub mod scheduler;
mod threads;

pub use locks::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use threads::{JoinHandle, ScopedJoinHandle, limit_threads, spawn, spawn_scoped};

use scheduler::current;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Whether the calling thread belongs to a simulation.
pub fn is_simulated() -> bool {
    current().is_some()
}

/// The number of the calling thread in its simulation, if there is one.
pub fn number() -> Option<usize> {
    current().map(|thread| thread.number())
}

/// Random bits from the calling thread's simulation, if there is one.
pub fn random() -> Option<u128> {
    current().map(|thread| thread.random())
}

/// The time that deadlines refer to.
pub fn now() -> Instant {
    current().map_or_else(Instant::now, |thread| thread.now())
}

/// The time of day.
pub fn wall_clock() -> SystemTime {
    current().map_or_else(SystemTime::now, |thread| thread.wall_clock())
}

/// Sleeps for `time`.
pub fn sleep(time: Duration) {
    match current() {
        None => std::thread::sleep(time),
        // No thread is woken at address 0.
        Some(thread) => _ = thread.wait(0, Some(thread.now() + time)),
    }
}

/// Lets other threads run first.
pub fn yield_now() {
    match current() {
        None => std::thread::yield_now(),
        Some(thread) => thread.give_way(),
    }
}

/// Sleeps until it is woken if `word` holds `value`. May return early.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    match current() {
        None => atomic_wait::wait(word, value),
        // No other thread runs between the check and the sleep. Relaxed: in a simulation
        // each thread sees all earlier writes.
        Some(thread) if word.load(Ordering::Relaxed) == value => {
            _ = thread.wait(address(word), None);
        }
        Some(_) => {}
    }
}

/// Wakes one thread that sleeps at `word`.
pub(crate) fn futex_wake_one(word: *const AtomicU32) {
    match current() {
        None => atomic_wait::wake_one(word),
        Some(thread) => thread.wake_one(address(word)),
    }
}

/// Wakes all threads that sleep at `word`.
pub(crate) fn futex_wake_all(word: *const AtomicU32) {
    match current() {
        None => atomic_wait::wake_all(word),
        Some(thread) => thread.wake_all(address(word)),
    }
}

/// The address identifies what a thread waits for.
fn address<T: ?Sized>(of: *const T) -> usize {
    of.cast::<()>() as usize
}
