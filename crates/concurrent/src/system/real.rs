//! The operating system's locks, threads and time. See [`crate::system`] for the
//! contract.

pub(crate) use atomic_wait::{
    wait as futex_wait, wake_all as futex_wake_all, wake_one as futex_wake_one,
};
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::io;
use std::thread::{Builder, Scope};
pub use std::thread::{JoinHandle, ScopedJoinHandle, sleep, yield_now};
use std::time::{Instant, SystemTime};

/// Whether the calling thread belongs to a simulation.
pub const fn is_simulated() -> bool {
    false
}

/// The number of the calling thread in its simulation, if there is one.
#[inline(always)]
pub const fn number() -> Option<usize> {
    None
}

/// Random bits from the calling thread's simulation, if there is one.
pub const fn random() -> Option<u128> {
    None
}

/// The time that deadlines refer to.
#[inline(always)]
pub fn now() -> Instant {
    Instant::now()
}

/// The time of day.
pub fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// Starts a thread with a name.
///
/// # Errors
/// The errors of the system.
pub fn spawn<T: Send + 'static>(
    name: String,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name).spawn(body)
}

/// Starts a thread with a name in a scope. The handle must be joined, since a simulation
/// does not know when a scope ends.
///
/// # Errors
/// The errors of the system.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().name(name).spawn_scoped(scope, body)
}
