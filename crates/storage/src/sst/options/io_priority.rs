//! At which priority the calling thread's reads of files are charged to a rate limiter.

use std::cell::Cell;
use std::marker::PhantomData;

/// The priority of reads or writes of files at a rate limiter. Refills serve higher ones first; one
/// in some refills serves those below `User` in the reverse order, so that none of them starves.
/// The numbers are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IoPriority {
    /// That of compactions.
    Low = 0,
    /// Only for reads whose options name it.
    Mid = 1,
    /// That of flushes.
    High = 2,
    /// That of flushes and compactions while writers are stalled.
    User = 3,
}

thread_local! {
    static CHARGED: Cell<Option<IoPriority>> = const { Cell::new(None) };
}

/// Sets at which priority the calling thread's reads are charged until this is dropped. Such guards
/// nest, and are dropped by the thread that made them.
#[derive(Debug)]
#[must_use = "what it sets ends when this is dropped"]
pub struct Charged {
    before: Option<IoPriority>,
    _of_this_thread: PhantomData<*const ()>,
}

impl Charged {
    /// Charges reads at `priority`.
    pub fn at(priority: IoPriority) -> Self {
        Self::set(Some(priority))
    }

    /// Charges no reads.
    pub fn none() -> Self {
        Self::set(None)
    }

    fn set(priority: Option<IoPriority>) -> Self {
        Charged {
            before: CHARGED.replace(priority),
            _of_this_thread: PhantomData,
        }
    }

    /// The priority at which the calling thread's reads are charged. `None` if they are free.
    pub fn priority() -> Option<IoPriority> {
        CHARGED.get()
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        CHARGED.set(self.before);
    }
}
