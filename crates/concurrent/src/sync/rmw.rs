//! Counts the atomic read-modify-writes of each thread. They are what cores that write to
//! one structure cost each other, and unlike times, the count does not depend on what else
//! the machine does.
//!
//! It is off unless the cargo feature `count-rmw` is on, and never part of a model. It
//! counts every swap, fetch-and-modify and attempted compare-exchange on the atomics of
//! [`crate::sync`], whether other threads share the cache line at that moment or not, and
//! two for each time that a mutex is taken (taking and releasing it, as in parking_lot
//! without contention). Loads, stores, fences, and locks that are taken once per many
//! entries are not counted.
//!
//! What reads of the engine write to lines that all threads share is mostly not done by these
//! atomics: reference counts, and locks of the block cache. The engine says where it does so
//! ([`shared_writes`], [`shared_lock`], [`own_lock`]), and `scripts/shared-lines` shows what is
//! missing.

/// Whether this build counts.
pub const ENABLED: bool = cfg!(all(feature = "count-rmw", not(any(loom, shuttle))));

/// Read-modify-writes of the calling thread so far; 0 in a build that does not
/// count.
#[inline]
pub fn on_this_thread() -> u64 {
    #[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
    return counted::DONE.with(std::cell::Cell::get);
    #[cfg(not(all(feature = "count-rmw", not(any(loom, shuttle)))))]
    0
}

/// Counts `n` writes of the calling thread to lines that all threads share. A count that is given
/// back later is two, counted when it is taken.
#[inline(always)]
pub fn shared_writes(n: u64) {
    #[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
    counted::SHARED_WRITES.with(|count| count.set(count.get() + n));
    #[cfg(not(all(feature = "count-rmw", not(any(loom, shuttle)))))]
    let _ = n;
}

/// What [`shared_writes`] has counted for the calling thread so far; 0 in a build that does not
/// count.
#[inline]
pub fn shared_writes_of_this_thread() -> u64 {
    #[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
    return counted::SHARED_WRITES.with(std::cell::Cell::get);
    #[cfg(not(all(feature = "count-rmw", not(any(loom, shuttle)))))]
    0
}

/// Counts a lock that the calling thread has taken on the way of a read, and that is its own as far
/// as there are shards.
#[inline(always)]
pub fn own_lock() {
    #[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
    counted::LOCKS.with(|count| count.set(count.get() + 1));
}

/// Counts a lock that the calling thread has taken on the way of a read, and whose line all threads
/// share: taking it and giving it back are two writes.
#[inline(always)]
pub fn shared_lock() {
    own_lock();
    shared_writes(2);
}

/// The locks that were counted for the calling thread so far; 0 in a build that does not count.
#[inline]
pub fn locks_of_this_thread() -> u64 {
    #[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
    return counted::LOCKS.with(std::cell::Cell::get);
    #[cfg(not(all(feature = "count-rmw", not(any(loom, shuttle)))))]
    0
}

#[cfg(all(feature = "count-rmw", not(any(loom, shuttle))))]
pub(super) mod counted {
    use std::cell::Cell;
    use std::ops::{Deref, DerefMut};
    use std::sync::atomic::{self, Ordering};

    use parking_lot::MutexGuard;

    std::thread_local! {
        pub(super) static DONE: Cell<u64> = const { Cell::new(0) };
        pub(super) static SHARED_WRITES: Cell<u64> = const { Cell::new(0) };
        pub(super) static LOCKS: Cell<u64> = const { Cell::new(0) };
    }

    #[inline(always)]
    fn count(operations: u64) {
        DONE.with(|done| done.set(done.get() + operations));
    }

    /// A newtype around std's atomic. Operations that are not read-modify-writes reach it
    /// through `Deref`; the others are counted and forwarded.
    macro_rules! counted {
        ($name:ident $(<$param:ident>)?, $value:ty, { $($op:ident),* }) => {
            /// std's atomic of this name, counting read-modify-writes.
            #[derive(Debug, Default)]
            #[repr(transparent)]
            pub struct $name $(<$param>)? (atomic::$name $(<$param>)?);

            impl $(<$param>)? $name $(<$param>)? {
                /// As std's.
                #[inline(always)]
                pub const fn new(value: $value) -> Self {
                    Self(atomic::$name::new(value))
                }

                $(
                    /// As std's, counted.
                    #[inline(always)]
                    pub fn $op(&self, value: $value, order: Ordering) -> $value {
                        count(1);
                        self.0.$op(value, order)
                    }
                )*

                /// As std's, counted.
                #[inline(always)]
                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    count(1);
                    self.0.compare_exchange(current, new, success, failure)
                }

                /// As std's, counted.
                #[inline(always)]
                pub fn compare_exchange_weak(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    count(1);
                    self.0.compare_exchange_weak(current, new, success, failure)
                }
            }

            impl $(<$param>)? Deref for $name $(<$param>)? {
                type Target = atomic::$name $(<$param>)?;
                #[inline(always)]
                fn deref(&self) -> &Self::Target {
                    &self.0
                }
            }

            impl $(<$param>)? DerefMut for $name $(<$param>)? {
                #[inline(always)]
                fn deref_mut(&mut self) -> &mut Self::Target {
                    &mut self.0
                }
            }
        };
    }

    counted!(AtomicBool, bool, { swap, fetch_and, fetch_or, fetch_xor, fetch_nand });
    counted!(AtomicPtr<T>, *mut T, { swap });
    counted!(AtomicU8, u8, { swap, fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min });
    counted!(AtomicU32, u32, { swap, fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min });
    counted!(AtomicU64, u64, { swap, fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min });
    counted!(AtomicUsize, usize, { swap, fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min });

    /// parking_lot's mutex, counting two read-modify-writes each time it is taken.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(parking_lot::Mutex<T>);

    impl<T> Mutex<T> {
        /// An unlocked mutex.
        pub const fn new(value: T) -> Self {
            Mutex(parking_lot::Mutex::new(value))
        }

        /// Waits for the lock.
        #[inline(always)]
        pub fn lock(&self) -> MutexGuard<'_, T> {
            count(2);
            self.0.lock()
        }

        /// The lock, if it is free now. Finding it taken takes only a load.
        #[inline(always)]
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            let guard = self.0.try_lock()?;
            count(2);
            Some(guard)
        }

        /// The value, without locking.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }
    }
}

#[cfg(all(test, feature = "count-rmw", not(any(loom, shuttle))))]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::{AtomicPtr, AtomicU32, Mutex};
    use super::*;

    #[test]
    fn read_modify_writes_of_this_thread_are_counted() {
        let word = AtomicU32::new(1);
        let link = AtomicPtr::<u8>::new(std::ptr::null_mut());
        let lock = Mutex::new(());
        let before = on_this_thread();
        word.store(2, Ordering::Relaxed);
        assert_eq!(word.load(Ordering::Relaxed), 2);
        assert_eq!(on_this_thread(), before);
        word.fetch_add(1, Ordering::Relaxed);
        assert_eq!(
            word.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed),
            Err(3)
        );
        link.swap(std::ptr::null_mut(), Ordering::Relaxed);
        assert_eq!(on_this_thread(), before + 3);
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(held);
        assert_eq!(on_this_thread(), before + 5);
        std::thread::scope(|scope| {
            scope.spawn(|| word.fetch_add(1, Ordering::Relaxed));
        });
        assert_eq!(on_this_thread(), before + 5, "another thread's");
    }

    #[test]
    fn what_the_engine_says_is_counted_apart() {
        let count = || {
            (
                on_this_thread(),
                shared_writes_of_this_thread(),
                locks_of_this_thread(),
            )
        };
        let (atomics, writes, locks) = count();
        shared_writes(3);
        own_lock();
        shared_lock();
        assert_eq!(count(), (atomics, writes + 5, locks + 2));
    }
}
