//! The owner of locks: a transaction, as the lock table knows it.

use crate::sync::blocking::now;
use crate::sync::unmodelled::AtomicU64;
use crate::sync::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Whether the locks of an owner may be stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerState {
    /// Its locks may be stolen once it has expired.
    Started,
    /// It prepares, commits or rolls back, or is prepared. Its locks are not stolen.
    Busy,
    /// Locks of it were stolen. It must not write.
    Stolen,
}

const STARTED: u8 = 0;
const BUSY: u8 = 1;
const STOLEN: u8 = 2;

/// The owner of locks: one for each transaction, and for each write outside of
/// transactions.
///
/// An owner waits for one lock at a time.
#[derive(Debug)]
pub struct LockOwner {
    id: u64,
    /// When its locks may be stolen, by the time of [`crate::system::now`].
    expiration: Option<Instant>,
    /// Written by: the owner, from `STARTED` to `BUSY` and back; thieves, from `STARTED` to
    /// `STOLEN`; all by compare-exchange. Read by: both. Publishes: to thieves, what the
    /// owner did before it went back to `STARTED`.
    state: AtomicU8,
    /// How often the owner has waited, and for how many nanoseconds.
    /// Written by: the owner (relaxed). Read by: everybody. Publish nothing.
    waits: AtomicU64,
    waited: AtomicU64,
}

impl LockOwner {
    /// An owner. `id` must differ from those of all other owners that use the same
    /// table. Without an `expiration`, its locks are never stolen.
    pub fn new(id: u64, expiration: Option<Instant>) -> Self {
        LockOwner {
            id,
            expiration,
            state: AtomicU8::new(STARTED),
            waits: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        }
    }

    /// The number that [`LockOwner::new`] was given.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// From when on its locks may be stolen.
    pub fn expiration(&self) -> Option<Instant> {
        self.expiration
    }

    /// Whether its expiration is over. Reads the clock only if it has one.
    #[inline]
    pub fn is_expired(&self) -> bool {
        self.expiration.is_some_and(|at| at <= now())
    }

    /// Whether its locks may be stolen, or were.
    pub fn state(&self) -> OwnerState {
        match self.state.load(Ordering::Relaxed) {
            STARTED => OwnerState::Started,
            BUSY => OwnerState::Busy,
            _ => OwnerState::Stolen,
        }
    }

    /// Protects the owner's locks from being stolen, before it writes. Returns `false` if
    /// some of them were stolen: then it must not write. Called by the owner.
    #[must_use = "an owner that was robbed must not write"]
    #[inline]
    pub fn protect(&self) -> bool {
        // Relaxed: a thief publishes nothing to the owner. One of the two comes first (K4).
        let protected =
            self.state
                .compare_exchange(STARTED, BUSY, Ordering::Relaxed, Ordering::Relaxed);
        matches!(protected, Ok(_) | Err(BUSY))
    }

    /// Ends the protection, because the owner's write has failed. Called by the owner that
    /// has protected itself.
    pub fn unprotect(&self) {
        // Release: pairs with `steal`.
        let ended =
            self.state
                .compare_exchange(BUSY, STARTED, Ordering::Release, Ordering::Relaxed);
        debug_assert!(ended != Err(STOLEN), "protected locks are not stolen");
    }

    /// How often the owner has waited for a lock, and for how long in all.
    #[inline]
    pub fn waits(&self) -> (u64, Duration) {
        let nanos = self.waited.load(Ordering::Relaxed);
        (
            self.waits.load(Ordering::Relaxed),
            Duration::from_nanos(nanos),
        )
    }

    /// Counts a wait.
    pub(super) fn add_wait(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waited.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Makes the locks of an expired owner free to be taken, unless it is protected.
    pub(super) fn steal(&self) -> bool {
        // Acquire: pairs with `unprotect`, also where another thief came between, whose
        // read-modify-write continues the release sequence (K4).
        let stolen =
            self.state
                .compare_exchange(STARTED, STOLEN, Ordering::Acquire, Ordering::Acquire);
        matches!(stolen, Ok(_) | Err(STOLEN))
    }
}
