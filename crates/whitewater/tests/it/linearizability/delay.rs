//! Delays at bad moments: logs whose writes and syncs yield to other threads, and a comparator that
//! yields in the middle of inserts and look-ups. Without them, threads on few cores meet only where
//! they block.

use crate::harness::hooked::LogHook;
use std::cmp::Ordering as Order;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Yields to other threads, at random.
#[derive(Debug)]
pub struct Dice {
    /// One in this many throws is a pause.
    one_in: u64,
    /// Counts throws. Every thread that throws changes it. Publishes nothing.
    thrown: AtomicU64,
}

impl Dice {
    pub fn new(seed: u64, one_in: u64) -> Arc<Self> {
        Arc::new(Dice {
            one_in,
            thrown: AtomicU64::new(seed << 32),
        })
    }

    pub fn throw(&self) {
        let mut x = self
            .thrown
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 29;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 32;
        if x.is_multiple_of(self.one_in) {
            match (x >> 40) % 8 {
                0 => thread::sleep(Duration::from_micros(50)),
                _ => thread::yield_now(),
            }
        }
    }
}

type Compare = dyn Fn(&[u8], &[u8]) -> Order + Send + Sync;

/// A comparator of bytes that throws `dice`.
pub fn comparator(dice: Arc<Dice>) -> Box<Compare> {
    Box::new(move |a, b| {
        dice.throw();
        a.cmp(b)
    })
}

/// On logs: before and after each write and sync.
impl LogHook for Dice {
    fn writing(&self, _: &[u8]) {
        self.throw();
    }
    fn written(&self) {
        self.throw();
    }
    fn syncing(&self) {
        self.throw();
    }
    fn synced(&self) {
        self.throw();
    }
}
