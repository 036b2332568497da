//! Locks and condition variables: parking_lot's, except that a thread of a simulation
//! waits by letting the simulation's other threads run.

use super::{address, scheduler::current};
use parking_lot::lock_api;
use std::fmt;
use std::time::{Duration, Instant};

/// See [`parking_lot::Mutex`].
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
/// See [`parking_lot::MutexGuard`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
/// See [`parking_lot::RwLock`].
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
/// See [`parking_lot::RwLockReadGuard`].
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// See [`parking_lot::RwLockWriteGuard`].
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// Tries to lock until it succeeds, while the simulation's other threads run in between.
/// Returns `false` outside of a simulation.
fn acquire<T>(lock: &T, attempt: impl Fn(&T) -> bool) -> bool {
    let Some(thread) = current() else {
        return false;
    };
    thread.point();
    while !attempt(lock) {
        thread.wait(address(lock), None);
    }
    true
}

/// Wakes the threads that wait for `lock`, so that they try again.
fn released<T>(lock: &T) {
    if let Some(thread) = current() {
        thread.wake_all(address(lock));
    }
}

/// The lock of a [`Mutex`].
pub struct RawMutex(parking_lot::RawMutex);

// SAFETY: locking and unlocking are those of parking_lot's lock, whichever way a thread
// waits.
unsafe impl lock_api::RawMutex for RawMutex {
    const INIT: Self = RawMutex(parking_lot::RawMutex::INIT);

    type GuardMarker = <parking_lot::RawMutex as lock_api::RawMutex>::GuardMarker;

    fn lock(&self) {
        if !acquire(&self.0, parking_lot::RawMutex::try_lock) {
            self.0.lock();
        }
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock() }
        released(&self.0);
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

/// The lock of a [`RwLock`].
pub struct RawRwLock(parking_lot::RawRwLock);

// SAFETY: locking and unlocking are those of parking_lot's lock, whichever way a thread
// waits.
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: Self = RawRwLock(parking_lot::RawRwLock::INIT);

    type GuardMarker = <parking_lot::RawRwLock as lock_api::RawRwLock>::GuardMarker;

    fn lock_shared(&self) {
        if !acquire(&self.0, parking_lot::RawRwLock::try_lock_shared) {
            self.0.lock_shared();
        }
    }

    fn try_lock_shared(&self) -> bool {
        self.0.try_lock_shared()
    }

    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller holds the lock, shared.
        unsafe { self.0.unlock_shared() }
        released(&self.0);
    }

    fn lock_exclusive(&self) {
        if !acquire(&self.0, parking_lot::RawRwLock::try_lock_exclusive) {
            self.0.lock_exclusive();
        }
    }

    fn try_lock_exclusive(&self) -> bool {
        self.0.try_lock_exclusive()
    }

    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock_exclusive() }
        released(&self.0);
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

/// Whether a wait has ended by its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the deadline has passed.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// See [`parking_lot::Condvar`]. That type waits only with parking_lot's own guards. So
/// it waits here with the guard of a gate, which notifiers lock, too.
#[derive(Default)]
pub struct Condvar {
    inner: parking_lot::Condvar,
    gate: parking_lot::Mutex<()>,
}

impl Condvar {
    /// A condition variable without waiters.
    pub const fn new() -> Self {
        Condvar {
            inner: parking_lot::Condvar::new(),
            gate: parking_lot::Mutex::new(()),
        }
    }

    /// Waits for a notification, with the lock released meanwhile.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(thread) = current() {
            // No other thread runs before the wait.
            lock_api::MutexGuard::unlocked(guard, || thread.wait(address(self), None));
            return;
        }
        let mut gate = self.gate.lock();
        lock_api::MutexGuard::unlocked(guard, || {
            self.inner.wait(&mut gate);
            drop(gate);
        });
    }

    /// Waits as long as `condition` holds.
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// As [`Condvar::wait`], but at most until `deadline`.
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        if let Some(thread) = current() {
            let timed_out = lock_api::MutexGuard::unlocked(guard, || {
                thread.wait(address(self), Some(deadline))
            });
            return WaitTimeoutResult(timed_out);
        }
        let mut gate = self.gate.lock();
        lock_api::MutexGuard::unlocked(guard, || {
            let result = self.inner.wait_until(&mut gate, deadline);
            drop(gate);
            WaitTimeoutResult(result.timed_out())
        })
    }

    /// As [`Condvar::wait`], but at most for `time`.
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Duration,
    ) -> WaitTimeoutResult {
        self.wait_until(guard, super::now() + time)
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        if let Some(thread) = current() {
            return thread.wake_one(address(self));
        }
        let _gate = self.gate.lock();
        self.inner.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        if let Some(thread) = current() {
            return thread.wake_all(address(self));
        }
        let _gate = self.gate.lock();
        self.inner.notify_all();
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}
