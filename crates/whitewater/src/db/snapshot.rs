//! Live snapshots.
//!
//! Invariant S1: while a [`SnapshotGuard`] lives, no flush or compaction drops
//! the newest version of any key at or below its sequence number.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_storage::key::SequenceNumber;

/// The sequence numbers that live snapshots read at.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    /// Holders per sequence number, and the unix second of the first of them.
    live: Mutex<BTreeMap<SequenceNumber, (usize, u64)>>,
}

impl SnapshotList {
    /// Registers a snapshot at the number `latest` returns. The number is read
    /// under the list's lock, so a flush or compaction that lists snapshots
    /// afterwards sees it (upholds S1).
    pub fn take(
        self: &Arc<Self>,
        now: u64,
        latest: impl FnOnce() -> SequenceNumber,
    ) -> SnapshotGuard {
        let mut live = self.live.lock();
        let seq = latest();
        live.entry(seq).or_insert((0, now)).0 += 1;
        SnapshotGuard {
            seq,
            list: self.clone(),
        }
    }

    /// Live sequence numbers, ascending, without repeats.
    pub fn sequences(&self) -> Vec<SequenceNumber> {
        self.live.lock().keys().copied().collect()
    }

    /// Number of live snapshots.
    pub fn count(&self) -> usize {
        self.live.lock().values().map(|(n, _)| n).sum()
    }

    /// Unix second at which the oldest live snapshot was taken; 0 for none.
    pub fn oldest_time(&self) -> u64 {
        self.live
            .lock()
            .first_key_value()
            .map_or(0, |(_, (_, t))| *t)
    }

    fn release(&self, seq: SequenceNumber) {
        let mut live = self.live.lock();
        if let Some(entry) = live.get_mut(&seq) {
            entry.0 -= 1;
            if entry.0 == 0 {
                live.remove(&seq);
            }
        }
    }
}

/// Keeps one snapshot alive.
#[derive(Debug)]
pub(crate) struct SnapshotGuard {
    seq: SequenceNumber,
    list: Arc<SnapshotList>,
}

impl SnapshotGuard {
    /// The sequence number the snapshot reads at.
    pub fn sequence(&self) -> SequenceNumber {
        self.seq
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.list.release(self.seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_lives_as_long_as_its_last_holder() {
        let list = Arc::new(SnapshotList::default());
        let a = list.take(10, || 5);
        let b = list.take(11, || 5);
        let c = list.take(12, || 9);
        assert_eq!(list.sequences(), [5, 9]);
        assert_eq!((list.count(), list.oldest_time()), (3, 10));
        drop(a);
        assert_eq!(list.sequences(), [5, 9]);
        drop(b);
        assert_eq!(list.sequences(), [9]);
        drop(c);
        assert_eq!((list.count(), list.oldest_time()), (0, 0));
    }
}
