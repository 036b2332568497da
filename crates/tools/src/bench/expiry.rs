//! The clock of `timeseries`, and which of its entries have expired.
//!
//! A key begins with an id and a time, 8 bytes each, both big-endian.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size in bytes of an id, and of a time.
pub const PART: usize = 8;

/// The clock, advanced by the benchmark's writer. Readers and compactions only
/// compare it with times that they have read, so relaxed is enough.
pub type Time = Arc<AtomicU64>;

/// The time in a key; `None` if the key is too short to contain one.
pub fn time_of(key: &[u8]) -> Option<u64> {
    let time = key.get(PART..2 * PART)?;
    Some(u64::from_be_bytes(time.try_into().ok()?))
}

/// Tells which entries have expired.
#[derive(Clone, Debug)]
pub struct Expired {
    /// The current time.
    pub now: Time,
    /// The maximum age of an entry that has not expired.
    pub range: u64,
}

impl Expired {
    /// Whether the entry of `key` has expired.
    pub fn is(&self, key: &[u8]) -> bool {
        let now = self.now.load(Ordering::Relaxed);
        time_of(key).is_some_and(|time| now.saturating_sub(time) > self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_expire_by_the_time_in_their_keys() {
        let mut key = vec![b'0'; 20];
        key[..PART].copy_from_slice(&7_u64.to_be_bytes());
        key[PART..2 * PART].copy_from_slice(&300_u64.to_be_bytes());
        assert_eq!(time_of(&key), Some(300));
        assert_eq!(time_of(&key[..12]), None);
        let expired = Expired {
            now: Time::new(AtomicU64::new(310)),
            range: 10,
        };
        assert!(!expired.is(&key) && !expired.is(&key[..12]));
        expired.now.store(311, Ordering::Relaxed);
        assert!(expired.is(&key));
    }
}
