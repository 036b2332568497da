//! Tests of the crate's structures from outside, in one binary.
#![cfg(not(any(loom, shuttle)))]

mod arena;
mod art;
mod art_prepared;
mod oracle;
mod order;
mod skiplist_model;
mod skiplist_stress;
mod unsorted;

#[path = "../support/mod.rs"]
mod support;

/// Calls a function when it is dropped, also by a panic.
struct OnDrop<R, F: FnMut() -> R>(F);

impl<R, F: FnMut() -> R> Drop for OnDrop<R, F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
