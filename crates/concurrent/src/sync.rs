//! The atomics and locks of this crate: std's and parking_lot's, or loom's
//! under `cfg(loom)`.
//!
//! Code whose interleavings are model-checked takes its shared state from
//! here and from nowhere else; statistics ([`crate::counter`]) do not, since
//! they order nothing. Both variants offer the same names with the same
//! signatures (parking_lot's: no poisoning).
//!
//! Contract for users: no item of this module may live in a plain `static`,
//! because loom's are created anew in every execution.
//!
//! With the cargo feature `count-rmw` the atomics and the mutex count the
//! read-modify-writes of each thread ([`rmw`]); without it they are std's and
//! parking_lot's themselves.

pub mod rmw;

#[cfg(not(loom))]
pub use std::sync::{
    Arc,
    atomic::{Ordering, fence},
};

#[cfg(all(not(loom), not(feature = "count-rmw")))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(all(not(loom), feature = "count-rmw"))]
pub use rmw::counted::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Mutex};

#[cfg(all(not(loom), not(feature = "count-rmw")))]
pub use parking_lot::Mutex;

#[cfg(not(loom))]
pub use parking_lot::MutexGuard;

/// Atomics that models need not branch on: std's under loom, too. For shared
/// words that order nothing a reader relies on.
pub(crate) mod unmodelled {
    #[cfg(all(not(loom), feature = "count-rmw"))]
    pub(crate) use super::rmw::counted::{AtomicU64, AtomicUsize};
    #[cfg(any(loom, not(feature = "count-rmw")))]
    pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize};
}

#[cfg(not(loom))]
pub use std::{cell::Cell, hint, thread};

#[cfg(not(loom))]
pub(crate) use std::thread_local;

#[cfg(loom)]
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

#[cfg(loom)]
pub use modelled::Mutex;

#[cfg(loom)]
pub(crate) use modelled::thread_local;

#[cfg(loom)]
mod modelled {
    use super::MutexGuard;

    /// loom's, with std's way of saying that the value is constant.
    macro_rules! modelled_local {
        ($(#[$meta:meta])* static $name:ident: $type:ty = const { $value:expr };) => {
            loom::thread_local! { $(#[$meta])* static $name: $type = $value; }
        };
    }
    pub(crate) use modelled_local as thread_local;

    /// loom's mutex with parking_lot's signatures.
    #[derive(Debug)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// An unlocked mutex.
        pub fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        /// Waits for the lock.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("loom never poisons")
        }

        /// The lock, if it is free now.
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }

        /// The value, without locking.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().expect("loom never poisons")
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
