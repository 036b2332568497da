//! Numbers of records to insert, and how many records exist for certain.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far an insert may be ahead of the oldest one that has not finished.
const WINDOW: u64 = 1 << 16;

/// Gives out numbers in order; a number exists once it and all before it were acknowledged.
#[derive(Debug)]
pub struct Acknowledged {
    /// The next number to insert. Inserting threads add to it; relaxed, it publishes nothing.
    next: AtomicU64,
    /// All numbers below it were acknowledged. Written under `advance`; a store with `Release`
    /// publishes the inserts, the loads with `Acquire` are those of threads that ask for records.
    limit: AtomicU64,
    /// Which numbers of the window were acknowledged. Their threads set them with `Release`;
    /// whoever holds `advance` takes them with `Acquire`.
    window: Box<[AtomicBool]>,
    advance: Mutex<()>,
    /// How many records producers of queues have added. Relaxed: only that thread uses it.
    queued: AtomicU64,
}

impl Acknowledged {
    /// Numbers from `first`; all below it exist.
    pub fn from(first: u64) -> Self {
        Self {
            next: AtomicU64::new(first),
            limit: AtomicU64::new(first),
            window: (0..WINDOW).map(|_| AtomicBool::new(false)).collect(),
            advance: Mutex::default(),
            queued: AtomicU64::new(0),
        }
    }

    /// A number to insert, which must be [acknowledged](Self::acknowledge) then.
    pub fn next(&self) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        while number >= self.limit() + WINDOW {
            std::thread::yield_now();
        }
        number
    }

    /// How many records producers of queues have added before this one. They are not among those
    /// that exist for the other operations.
    pub fn next_queued(&self) -> u64 {
        self.queued.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of records that exist: all below it do.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Acquire)
    }

    /// Says that the record of this number was inserted.
    pub fn acknowledge(&self, number: u64) {
        self.slot(number).store(true, Ordering::Release);
        let guard = self.advance.lock().unwrap_or_else(PoisonError::into_inner);
        let mut limit = self.limit();
        while self.slot(limit).swap(false, Ordering::Acquire) {
            limit += 1;
        }
        self.limit.store(limit, Ordering::Release);
        drop(guard);
    }

    fn slot(&self, number: u64) -> &AtomicBool {
        &self.window[(number % WINDOW) as usize]
    }
}
