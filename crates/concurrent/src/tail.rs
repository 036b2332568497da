//! The word that hands out reservations, and orders what others have seen before them.
//!
//! Writers take a part each ([`Tail::take`]). A thread that has made something for later writers
//! asks how far the word has come ([`Tail::reserved`]): a writer that takes a part behind that, in
//! this word or in one that continues it once it is closed, has seen what that thread has.

use crate::sync::uncounted::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;

/// See the [module](self).
///
/// Written by: writers and the thread that closes it, by read-modify-writes. Read by: the same.
/// Publishes: what callers of [`Tail::reserved`] have seen. All changes are read-modify-writes, so
/// that each continues the release sequences of those before.
#[derive(Debug)]
pub struct Tail(CachePadded<AtomicU64>);

impl Tail {
    /// A word of this value.
    #[must_use]
    pub fn new(value: u64) -> Self {
        Tail(CachePadded::new(AtomicU64::new(value)))
    }

    /// The value at some recent moment.
    #[inline(always)]
    pub fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Changes the value from `from` to `to`. May fail without a reason.
    ///
    /// # Errors
    /// The value that was found.
    #[inline(always)]
    pub fn take(&self, from: u64, to: u64) -> Result<u64, u64> {
        // Acquire: pairs with `reserved`.
        (self.0).compare_exchange_weak(from, to, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Sets the value to `closed`, which no caller of [`Tail::take`] takes from. Returns the value
    /// before.
    #[inline]
    pub fn close(&self, closed: u64) -> u64 {
        // Acquire: pairs with `reserved`, for the writers of the word that continues this one.
        self.0.swap(closed, Ordering::Acquire)
    }

    /// The value at present. Threads that change it later have seen all that the caller has.
    #[inline]
    pub fn reserved(&self) -> u64 {
        // Release: pairs with `take` and `close`, which read this or what follows it.
        self.0.fetch_or(0, Ordering::Release)
    }
}
