//! At which priority the calling thread's reads of files are charged to a rate limiter.

use std::cell::Cell;

/// The priority of reads or writes of files at a rate limiter. Higher ones are served first. The
/// numbers are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IoPriority {
    /// Compactions have it.
    Low = 0,
    /// Between compactions and flushes.
    Mid = 1,
    /// Flushes have it.
    High = 2,
    /// Flushes and compactions have it while writers are stalled.
    User = 3,
}

thread_local! {
    static CHARGED: Cell<Option<IoPriority>> = const { Cell::new(None) };
}

/// The calling thread's reads are charged until this is dropped.
#[derive(Debug)]
#[must_use = "reads are charged until this is dropped"]
pub struct Charged(Option<IoPriority>);

impl Charged {
    /// Charges reads at `priority`.
    pub fn at(priority: IoPriority) -> Self {
        Charged(CHARGED.replace(Some(priority)))
    }

    /// The priority at which the calling thread's reads are charged. `None` if they are free.
    pub fn priority() -> Option<IoPriority> {
        CHARGED.get()
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        CHARGED.set(self.0);
    }
}
