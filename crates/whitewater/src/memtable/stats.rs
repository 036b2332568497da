//! About how much of a memtable is in a range of keys.

use super::Memtable;
use std::ops::AddAssign;
use whitewater_storage::key::{MAX_SEQUENCE, seek_key, user_key};

/// How many entries are counted one by one before they are estimated.
const COUNTED: u64 = 128;

/// About how many entries of memtables are in a range of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemTableStats {
    /// Entries: all versions of all keys, and range deletions that begin in the range.
    pub count: u64,
    /// Bytes of memory that they take.
    pub size: u64,
}

impl AddAssign for MemTableStats {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.size += other.size;
    }
}

impl Memtable {
    /// What is at the user keys from `start` to before `end`. Exact for few entries. Otherwise the
    /// tree and the skip list estimate, and the other representations count.
    pub fn approximate_stats(&self, start: &[u8], end: &[u8]) -> MemTableStats {
        let entries = self.num_entries();
        let counted =
            self.points_between(start, end, entries) + self.tombstones_between(start, end);
        // What is counted may have been added after the entries were.
        let count = counted.min(entries);
        let bytes = self.rep.used_bytes() as u64;
        MemTableStats {
            count,
            size: bytes.checked_div(entries).unwrap_or(0) * count,
        }
    }

    fn points_between(&self, start: &[u8], end: &[u8], entries: u64) -> u64 {
        let mut points = self.rep.clone().iter();
        points.seek(&seek_key(start, MAX_SEQUENCE));
        let mut count = 0;
        while points.valid() && self.comparator.compare(user_key(points.key()), end).is_lt() {
            count += 1;
            if count == COUNTED
                && let Some(estimate) = self.rep.estimate_between(start, end, entries)
            {
                return estimate.max(count);
            }
            points.next();
        }
        count
    }

    fn tombstones_between(&self, start: &[u8], end: &[u8]) -> u64 {
        if self
            .num_tombstones
            .load(std::sync::atomic::Ordering::Relaxed)
            == 0
        {
            return 0;
        }
        let cmp = |a: &[u8], b: &[u8]| self.comparator.compare(a, b);
        let begins = |key: &[u8]| cmp(start, key).is_le() && cmp(key, end).is_lt();
        let tombstones = self.range_tombstones.lock();
        tombstones.list.iter().filter(|t| begins(&t.start)).count() as u64
    }
}
