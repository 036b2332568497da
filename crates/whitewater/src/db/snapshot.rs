//! Live snapshots.
//!
//! Taking and releasing one touches no lock that all threads share: the list
//! is in shards, and a thread uses one of its own (RocksDB takes the database
//! mutex for either; its issue 5083).
//!
//! Invariant S1: while a [`SnapshotGuard`] lives, no flush or compaction drops
//! the newest version of any key at or below its sequence number. What these
//! rewrite was visible before they asked for the live snapshots. One that
//! registers in a shard after that was listed reads the visible number later
//! still (the shard's lock orders the two), so it sees nothing older than the
//! newest versions of what is rewritten, and those are kept in any case.

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use whitewater_concurrent::counter::thread_number;
use whitewater_storage::key::SequenceNumber;

/// Shards of the list; more threads than this share some.
const SHARDS: usize = 16;

/// Holders per sequence number, and the unix second of the first of them.
type Shard = BTreeMap<SequenceNumber, (usize, u64)>;

/// The sequence numbers that live snapshots read at.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    shards: [CachePadded<Mutex<Shard>>; SHARDS],
}

impl SnapshotList {
    /// Registers a snapshot at the number `latest` returns. The number is read
    /// under the shard's lock (upholds S1).
    pub fn take(
        self: &Arc<Self>,
        now: u64,
        latest: impl FnOnce() -> SequenceNumber,
    ) -> SnapshotGuard {
        let shard = thread_number() % SHARDS;
        let mut live = self.shards[shard].lock();
        let seq = latest();
        live.entry(seq).or_insert((0, now)).0 += 1;
        SnapshotGuard {
            seq,
            shard,
            list: self.clone(),
        }
    }

    /// Live sequence numbers, ascending, without repeats.
    pub fn sequences(&self) -> Vec<SequenceNumber> {
        let mut all = BTreeSet::new();
        for shard in &self.shards {
            all.extend(shard.lock().keys());
        }
        all.into_iter().collect()
    }

    /// Number of live snapshots.
    pub fn count(&self) -> usize {
        let holders = |shard: &Shard| shard.values().map(|(n, _)| n).sum::<usize>();
        self.shards.iter().map(|shard| holders(&shard.lock())).sum()
    }

    /// Unix second at which the oldest live snapshot was taken; 0 for none.
    pub fn oldest_time(&self) -> u64 {
        let first = |shard: &Shard| {
            shard
                .first_key_value()
                .map(|(seq, (_, time))| (*seq, *time))
        };
        let oldest = self.shards.iter().filter_map(|shard| first(&shard.lock()));
        oldest.min().map_or(0, |(_, time)| time)
    }

    fn release(&self, shard: usize, seq: SequenceNumber) {
        let mut live = self.shards[shard].lock();
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
    /// Where it is registered.
    shard: usize,
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
        self.list.release(self.shard, self.seq);
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

    #[test]
    fn threads_release_what_others_took() {
        let list = Arc::new(SnapshotList::default());
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for t in 0..40u64 {
                let (list, send) = (&list, send.clone());
                scope.spawn(move || {
                    for i in 0..50 {
                        send.send(list.take(t, || t * 50 + i)).unwrap();
                    }
                });
            }
        });
        drop(send);
        let all: Vec<SnapshotGuard> = receive.iter().collect();
        assert_eq!(list.sequences(), (0..2000).collect::<Vec<_>>());
        assert_eq!((list.count(), list.oldest_time()), (2000, 0));
        std::thread::spawn(move || drop(all)).join().unwrap();
        assert_eq!((list.count(), list.sequences().len()), (0, 0));
    }
}
