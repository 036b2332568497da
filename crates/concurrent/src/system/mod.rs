//! What the engine needs from the operating system besides files: locks, condition
//! variables, threads, sleeping and time.
//!
//! In a normal build these are parking_lot's and std's own. With the cargo feature
//! `simulation`, which tests and the `stress` tool turn on, they check first whether the
//! calling thread belongs to a `simulation`. In a simulation one thread runs at a time. A
//! seed decides which one, at each of the calls below and wherever `simulation::point` is
//! called. Time is simulated, so that waiting takes none. The same seed gives the same
//! run.
//!
//! `real` is the operating system's, `simulated` that of simulations.
//!
//! # Contract
//! * The database takes from here everything that may make a thread wait, and the time
//!   wherever a decision depends on it. Measurements may use std.
//! * Locks shared by the whole process are not from here, since threads of a simulation
//!   and other threads may contend for them. Under such a lock nothing from here is
//!   called.
//! * An object made of this module's types is used by threads of one simulation only, or
//!   by threads outside of simulations only, while a simulation runs.

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

/// The time since `moment`.
#[inline]
pub fn since(moment: std::time::Instant) -> std::time::Duration {
    now().saturating_duration_since(moment)
}
