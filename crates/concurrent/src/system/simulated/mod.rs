//! What a simulation gives to its threads, and the operating system to others.
//! See [`crate::system`] for what is promised.

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

/// The time that deadlines are set by.
pub fn now() -> Instant {
    current().map_or_else(Instant::now, |thread| thread.now())
}

/// The time of day.
pub fn wall_clock() -> SystemTime {
    current().map_or_else(SystemTime::now, |thread| thread.wall_clock())
}

/// Lets time pass.
pub fn sleep(time: Duration) {
    match current() {
        None => std::thread::sleep(time),
        // Nobody wakes what waits at no address.
        Some(thread) => _ = thread.wait(0, Some(thread.now() + time)),
    }
}

/// Lets others go first.
pub fn yield_now() {
    match current() {
        None => std::thread::yield_now(),
        Some(thread) => thread.give_way(),
    }
}

/// Sleeps while `word` holds `value`, until it is woken; may return early.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    match current() {
        None => atomic_wait::wait(word, value),
        // Nobody else runs between the look and the sleep. Relaxed: the threads of
        // a simulation see everything.
        Some(thread) if word.load(Ordering::Relaxed) == value => {
            _ = thread.wait(address(word), None);
        }
        Some(_) => {}
    }
}

/// Wakes one that sleeps at `word`.
pub(crate) fn futex_wake_one(word: *const AtomicU32) {
    match current() {
        None => atomic_wait::wake_one(word),
        Some(thread) => thread.wake_one(address(word)),
    }
}

/// Wakes all that sleep at `word`.
pub(crate) fn futex_wake_all(word: *const AtomicU32) {
    match current() {
        None => atomic_wait::wake_all(word),
        Some(thread) => thread.wake_all(address(word)),
    }
}

/// What a thread waits for is told apart by where it is.
fn address<T: ?Sized>(of: *const T) -> usize {
    of.cast::<()>() as usize
}
