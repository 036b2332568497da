//! What the engine asks of the operating system besides files: locks, conditions,
//! threads, sleeping and the time.
//!
//! In a normal build these are parking_lot's and std's themselves. With the cargo
//! feature `simulation`, which tests and the `stress` tool turn on, they look first
//! whether the calling thread belongs to a `simulation`. If it does, one thread of
//! it runs at a time, and a seed decides which: at each of the calls below, and
//! wherever `simulation::point` is called. Time then passes as the simulation
//! says, so that waiting takes none. The same seed gives the same run.
//!
//! # Contract
//! * The database takes all that may make a thread wait from here, as well as the
//!   time where anything depends on it. What only measures may ask std.
//! * Locks of the whole process are not from here: threads of a simulation and
//!   others may meet at them. Nothing that is from here is called under one.
//! * What is made of this module is used by one simulation, or by none, as long
//!   as that runs.

#[cfg(not(feature = "simulation"))]
mod real;
#[cfg(feature = "simulation")]
mod simulated;

#[cfg(not(feature = "simulation"))]
use real as backend;
#[cfg(feature = "simulation")]
use simulated as backend;

pub use backend::{
    Condvar, JoinHandle, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    ScopedJoinHandle, is_simulated, now, number, random, sleep, spawn, spawn_scoped, wall_clock,
    yield_now,
};
pub(crate) use backend::{futex_wait, futex_wake_all, futex_wake_one};
#[cfg(feature = "simulation")]
pub use simulated::{limit_threads, scheduler as simulation};

/// How long ago `moment` was.
#[inline]
pub fn since(moment: std::time::Instant) -> std::time::Duration {
    now().saturating_duration_since(moment)
}
