//! A cell for a value that is made when it is first needed.
//!
//! It does what std's `OnceLock` does, with the atomics of [`crate::sync`], so that
//! models and ThreadSanitizer see what orders the making of the value and its use. No
//! thread waits: if several threads make a value at once, one wins and the others drop
//! theirs.
//!
//! # Invariants
//! * O1: the pointer is null, or from `Box::into_raw` and owned by the cell; it is set
//!   once, and changed afterwards only through `&mut`.

use std::marker::PhantomData;
use std::ptr;

use crate::sync::{AtomicPtr, Ordering, PublishedMark};

/// A cell for a value that may come later.
#[derive(Debug)]
pub(crate) struct OnceBox<T> {
    /// Written by: the first thread to make a value, with compare-and-swap. Read by: any
    /// thread. Publishes: the value.
    value: AtomicPtr<Made<T>>,
    /// Tells the compiler that a `T` is owned, and removes auto traits that hold only for
    /// some `T`.
    owns: PhantomData<*mut T>,
}

#[derive(Debug)]
struct Made<T> {
    value: T,
    mark: PublishedMark,
}

// SAFETY: the cell owns its value as a `Box` would.
unsafe impl<T: Send> Send for OnceBox<T> {}
// SAFETY: a shared cell hands out `&T`, and takes a `T` from any thread to be
// dropped by another.
unsafe impl<T: Send + Sync> Sync for OnceBox<T> {}

impl<T> OnceBox<T> {
    /// An empty cell.
    pub(crate) fn new() -> Self {
        OnceBox {
            value: AtomicPtr::new(ptr::null_mut()),
            owns: PhantomData,
        }
    }

    /// The value, if it has been made.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        // Acquire: partner of the Release in `get_or_make`.
        let made = self.value.load(Ordering::Acquire);
        // SAFETY: null or a live box (O1), whose content was published.
        let made = unsafe { made.as_ref() }?;
        made.mark.read();
        Some(&made.value)
    }

    /// The value; `make` makes it if there is none.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let new = Box::new(Made {
            value: make(),
            mark: PublishedMark::new(),
        });
        new.mark.written();
        let new = Box::into_raw(new);
        // Release: partner of the Acquire in `get`, and of the one here on failure, since
        // the value found is then used.
        let swapped =
            self.value
                .compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Acquire);
        let made = match swapped {
            Ok(_) => new,
            Err(there) => {
                // SAFETY: made above and not published.
                drop(unsafe { Box::from_raw(new) });
                there
            }
        };
        // SAFETY: a live box (O1), made above or published to this thread.
        let made = unsafe { &*made };
        made.mark.read();
        &made.value
    }

    /// Takes the value out.
    pub(crate) fn take(&mut self) -> Option<T> {
        // Relaxed: `&mut` says that all other uses are over.
        let made = self.value.swap(ptr::null_mut(), Ordering::Relaxed);
        if made.is_null() {
            return None;
        }
        // SAFETY: the pointer was owned by the cell (O1), which no longer holds it.
        Some(unsafe { Box::from_raw(made) }.value)
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::OnceBox;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_value_is_made_once_and_dropped_once() {
        let witness = Arc::new(());
        for _ in 0..100 {
            let mut cell = OnceBox::new();
            assert!(cell.get().is_none());
            thread::scope(|scope| {
                for i in 0..4 {
                    let (cell, witness) = (&cell, &witness);
                    scope.spawn(move || {
                        let made = cell.get_or_make(|| (i, witness.clone()));
                        assert!(std::ptr::eq(made, cell.get().unwrap()));
                        assert!(std::ptr::eq(made, cell.get_or_make(|| unreachable!())));
                    });
                }
            });
            assert_eq!(Arc::strong_count(&witness), 2, "the others are gone");
            if cell.get().unwrap().0 % 2 == 0 {
                assert!(cell.take().is_some());
                assert!(cell.get().is_none());
            }
        }
        assert_eq!(Arc::strong_count(&witness), 1, "none is leaked");
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::OnceBox;
    use loom::sync::Arc;
    use loom::thread;

    /// Two threads make a value and one reads it: all see the same value, complete.
    #[test]
    fn a_value_is_seen_whole() {
        loom::model(|| {
            let cell = Arc::new(OnceBox::new());
            let makers = [1, 2].map(|i| {
                let cell = cell.clone();
                thread::spawn(move || *cell.get_or_make(|| i))
            });
            let seen = cell.get().copied();
            let made = makers.map(|maker| maker.join().unwrap());
            assert_eq!(made[0], made[1]);
            assert!(seen.is_none_or(|seen| seen == made[0]));
        });
    }
}
