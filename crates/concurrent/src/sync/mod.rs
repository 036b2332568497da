//! The atomics and locks of this crate: those of std and of [`crate::system`], loom's
//! under `cfg(loom)`, or shuttle's under `cfg(shuttle)`.
//!
//! Code whose interleavings are model-checked takes its shared state only from here.
//! Statistics ([`crate::counter`]) do not, since they order nothing. All variants have
//! the same names with the same signatures (parking_lot's, without poisoning).
//!
//! loom tries every interleaving of a short run, and every value that the memory model
//! lets a load return. shuttle executes long runs under random schedules, with sequential
//! consistency only.
//!
//! Contract for users: no item of this module may be in a plain `static`, since a
//! checker's items must be created again in every execution.
//!
//! With the cargo feature `count-rmw` the atomics and the mutex count the
//! read-modify-writes of each thread ([`rmw`]). Without it they are std's and
//! parking_lot's own.
//!
//! `blocking` has locks under which threads wait for a condition, perhaps not for ever.

pub(crate) mod blocking;
pub mod rmw;

/// Whether this is a build for a model checker. Structures are then made
/// smaller, so that few steps reach every part of them.
pub(crate) const MODELLED: bool = cfg!(any(loom, shuttle));

pub(crate) use backend::thread_local;
pub use backend::{
    Arc, AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Cell, Mutex,
    MutexGuard, Ordering, fence, hint, thread,
};

/// Atomics that models need not branch on: std's also under a checker. They are for
/// shared words whose ordering no reader relies on.
pub(crate) mod unmodelled {
    #[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
    pub(crate) use super::rmw::counted::{AtomicU64, AtomicUsize};
    #[cfg(any(loom, shuttle, not(feature = "count-rmw")))]
    pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize};
}

/// Atomics of words that belong to the engine. Its own are not counted (`count-rmw`), so neither
/// are these.
pub(crate) mod uncounted {
    #[cfg(any(loom, shuttle))]
    pub(crate) use super::{AtomicU64, Ordering};
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}

#[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
mod backend {
    pub use super::real_thread as thread;
    pub use super::rmw::counted::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Mutex,
    };
    pub use parking_lot::MutexGuard;
    pub use std::sync::{
        Arc,
        atomic::{Ordering, fence},
    };
    pub use std::{cell::Cell, hint};

    pub(crate) use std::thread_local;
}

#[cfg(not(any(loom, shuttle, feature = "count-rmw")))]
mod backend {
    pub use super::real_thread as thread;
    pub use crate::system::{Mutex, MutexGuard};
    pub use std::sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        },
    };
    pub use std::{cell::Cell, hint};

    pub(crate) use std::thread_local;
}

/// std's functions, except those that a simulation replaces.
#[cfg(not(any(loom, shuttle)))]
pub mod real_thread {
    pub use crate::system::yield_now;
    pub use std::thread::*;
}

#[cfg(loom)]
mod backend {
    pub use super::modelled::Mutex;
    pub use loom::{
        cell::Cell,
        hint,
        sync::{
            Arc, MutexGuard,
            atomic::{
                AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
            },
        },
        thread,
    };

    /// loom's `thread_local`, with std's syntax for a constant value.
    macro_rules! modelled_local {
        ($(#[$meta:meta])* static $name:ident: $type:ty = const { $value:expr };) => {
            loom::thread_local! { $(#[$meta])* static $name: $type = $value; }
        };
    }
    pub(crate) use modelled_local as thread_local;
}

#[cfg(shuttle)]
mod backend {
    pub use super::modelled::Mutex;
    pub use shuttle::{
        hint,
        sync::{
            Arc, MutexGuard,
            atomic::{
                AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
            },
        },
        thread,
    };
    pub use std::cell::Cell;

    pub(crate) use shuttle::thread_local;
}

#[cfg(any(loom, shuttle))]
pub(crate) use modelled::Parking;

#[cfg(any(loom, shuttle))]
mod modelled {
    #[cfg(loom)]
    use loom::sync as checked;
    #[cfg(shuttle)]
    use shuttle::sync as checked;

    use super::MutexGuard;

    /// The checker's mutex with parking_lot's signatures.
    #[derive(Debug)]
    pub struct Mutex<T>(checked::Mutex<T>);

    impl<T> Mutex<T> {
        /// An unlocked mutex.
        pub fn new(value: T) -> Self {
            Mutex(checked::Mutex::new(value))
        }

        /// Waits for the lock.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no thread fails under the lock")
        }

        /// The lock, if it is free now.
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }

        /// The value, without locking.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().expect("no thread failed under the lock")
        }
    }

    /// Does what the kernel does for a futex: checking the word and going to sleep are
    /// one step with respect to a wake-up.
    #[derive(Debug)]
    pub(crate) struct Parking {
        lock: checked::Mutex<()>,
        sleepers: checked::Condvar,
    }

    impl Parking {
        pub(crate) fn new() -> Self {
            Parking {
                lock: checked::Mutex::new(()),
                sleepers: checked::Condvar::new(),
            }
        }

        /// Sleeps until a wake-up if `asleep` returns `true`.
        pub(crate) fn park_if(&self, asleep: impl Fn() -> bool) {
            let lock = self.lock.lock().expect("no thread fails under the lock");
            if asleep() {
                drop(self.sleepers.wait(lock).expect("as above"));
            }
        }

        pub(crate) fn unpark_all(&self) {
            drop(self.lock.lock().expect("no thread fails under the lock"));
            self.sleepers.notify_all();
        }
    }
}

/// Marks plain memory that is written once, published through an atomic and
/// only read afterwards. Costs nothing in a normal build; under loom it fails
/// the model when a read is not ordered after the write.
#[derive(Debug)]
pub struct PublishedMark {
    #[cfg(loom)]
    cell: loom::cell::UnsafeCell<()>,
}

impl PublishedMark {
    /// A mark for memory that the current thread is about to write.
    #[inline(always)]
    pub fn new() -> Self {
        PublishedMark {
            #[cfg(loom)]
            cell: loom::cell::UnsafeCell::new(()),
        }
    }

    /// States that the memory is being written.
    #[inline(always)]
    pub fn written(&self) {
        #[cfg(loom)]
        self.cell.with_mut(|_| ());
    }

    /// States that the memory is being read.
    #[inline(always)]
    pub fn read(&self) {
        #[cfg(loom)]
        self.cell.with(|_| ());
    }
}

impl Default for PublishedMark {
    fn default() -> Self {
        Self::new()
    }
}
