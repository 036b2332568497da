//! Buckets that are made when first needed.
//!
//! # Invariants
//! * B1: a slot is null or a pointer from `Arc::into_raw` that owns one count of its
//!   value. It changes once, from null; the count is released on drop.

use std::ptr;
use std::sync::Arc;

use crate::sync::{AtomicPtr, Ordering};

/// Slots for values that are published once each.
pub(super) struct Slots<T> {
    /// Written by: the first inserter into the bucket, by compare-and-swap. Read by: any
    /// thread. Publishes: the value (B1).
    list: Box<[AtomicPtr<T>]>,
}

impl<T> Slots<T> {
    /// `count` empty slots.
    pub(super) fn new(count: usize) -> Self {
        Slots {
            list: (0..count)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The value of a slot, if it was made.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<&T> {
        // Acquire: partner of the Release in `get_or_make`.
        let value = self.list[slot].load(Ordering::Acquire);
        // SAFETY: null or a value that this slot owns until it is dropped (B1).
        unsafe { value.as_ref() }
    }

    /// [`Slots::get`], with a reference count of its own.
    pub(super) fn get_arc(&self, slot: usize) -> Option<Arc<T>> {
        let value: *const T = self.get(slot)?;
        // SAFETY: from `Arc::into_raw`, with the slot's count (B1).
        unsafe { Arc::increment_strong_count(value) };
        // SAFETY: from `Arc::into_raw`, with the slot's count (B1); the count just taken
        // is the new owner's.
        Some(unsafe { Arc::from_raw(value) })
    }

    /// The value of a slot, made by `make` if there is none. If several threads make one,
    /// the first to publish wins. Also returns whether the value of this call's `make`
    /// was used.
    pub(super) fn get_or_make(&self, slot: usize, make: impl FnOnce() -> T) -> (&T, bool) {
        if let Some(value) = self.get(slot) {
            return (value, false);
        }
        let made = Arc::into_raw(Arc::new(make())).cast_mut();
        // Release: partner of the Acquire in `get`. Acquire on failure: the winner's
        // value is used, and was published by such a Release.
        let published = self.list[slot].compare_exchange(
            ptr::null_mut(),
            made,
            Ordering::Release,
            Ordering::Acquire,
        );
        let value = match published {
            Ok(_) => made,
            Err(winner) => {
                // SAFETY: made above and not published; this is its only count.
                drop(unsafe { Arc::from_raw(made) });
                winner
            }
        };
        // SAFETY: the slot's value, which is no longer null (B1).
        (unsafe { &*value }, published.is_ok())
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        for slot in &self.list {
            // Relaxed: `&mut` gives exclusive access.
            let value = slot.load(Ordering::Relaxed);
            if !value.is_null() {
                // SAFETY: the slot's own count (B1), released once.
                drop(unsafe { Arc::from_raw(value) });
            }
        }
    }
}
