//! The database for which a thread works.

use super::pool::{Pool, own_pool, work_for_pool};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// The address of the engine that the thread works for; 0 for none.
    static OWNER: Cell<usize> = const { Cell::new(0) };
}

/// The engine for which a thread works, and the pool that the thread belongs to.
#[derive(Debug, Clone)]
pub(crate) struct ThreadOwner {
    engine: usize,
    pool: Option<Arc<Pool>>,
}

/// The owner of the calling thread, to be passed to threads that it waits for.
pub(crate) fn thread_owner() -> ThreadOwner {
    ThreadOwner {
        engine: OWNER.get(),
        pool: own_pool(),
    }
}

/// Makes the calling thread work for another thread, whose [`thread_owner`] is given.
pub(crate) fn work_for(owner: ThreadOwner) {
    OWNER.set(owner.engine);
    work_for_pool(owner.pool);
}

/// The address of the engine that the calling thread works for; 0 for none.
pub(crate) fn owner() -> usize {
    OWNER.get()
}

/// Makes the calling thread work for the engine at this address.
pub(crate) fn set_owner(address: usize) {
    OWNER.set(address);
}

/// Makes the calling thread work for the engine at this address until the result is dropped.
pub(crate) fn work_as(address: usize) -> RestoreOwner {
    RestoreOwner(OWNER.replace(address))
}

/// When dropped, makes the calling thread work again for its previous owner.
#[must_use]
pub(crate) struct RestoreOwner(usize);

impl Drop for RestoreOwner {
    fn drop(&mut self) {
        OWNER.set(self.0);
    }
}
