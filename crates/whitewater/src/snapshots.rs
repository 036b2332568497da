//! Live snapshots.
//!
//! Taking or releasing a snapshot touches no lock that all threads share: the list is in
//! shards, and each thread uses a shard of its own (RocksDB takes the database mutex for
//! either; its issue 5083).
//!
//! Invariant S1: while a [`SnapshotGuard`] lives, no flush or compaction drops the newest
//! version of any key at or below its sequence number. Everything that a flush or compaction
//! rewrites was visible before it asked for the live snapshots. A snapshot that registers in a
//! shard after that shard was listed reads the visible number later still (the shard's lock
//! orders the two). So it sees nothing older than the newest versions of what is rewritten, and
//! those are kept in any case.
//!
//! A release takes the database mutex only when the snapshot keeps something that compactions
//! could drop ([`SnapshotList::watch`]).

use crossbeam_utils::CachePadded;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use whitewater_concurrent::counter::thread_number;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;

/// The number of shards. If there are more threads, some share a shard.
const SHARDS: usize = 16;

/// For each sequence number, the number of snapshots, and the Unix time in seconds of the first
/// of them.
type Shard = BTreeMap<SequenceNumber, (usize, u64)>;

/// The sequence numbers that live snapshots read at.
#[derive(Default)]
pub(crate) struct SnapshotList {
    shards: [CachePadded<Mutex<Shard>>; SHARDS],
    /// Snapshots below this number keep something that compactions would drop.
    /// Written by: threads that determine what is due, under the database mutex. Read by: releases.
    /// Publishes nothing (relaxed): a release that misses a new value was noticed by the compaction
    /// that the value comes from.
    watched: AtomicU64,
    /// Whether a snapshot below `watched` was released and this has not been handled yet.
    /// Written by: releases (`note_release`, Release). Taken by: compaction threads
    /// (`take_released`, Acquire), under the database mutex, which the waker takes after the write.
    /// Publishes the end of the snapshot.
    released: AtomicBool,
    /// Wakes a thread that takes `released`.
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for SnapshotList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sequences()).finish()
    }
}

impl SnapshotList {
    /// Registers a snapshot at the number that `latest` returns. The number is read under the
    /// shard's lock (upholds S1).
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

    /// The sequence numbers of live snapshots, ascending, without duplicates.
    pub fn sequences(&self) -> Vec<SequenceNumber> {
        let mut all = BTreeSet::new();
        for shard in &self.shards {
            all.extend(shard.lock().keys());
        }
        all.into_iter().collect()
    }

    /// The number of live snapshots.
    pub fn count(&self) -> usize {
        let holders = |shard: &Shard| shard.values().map(|(n, _)| n).sum::<usize>();
        self.shards.iter().map(|shard| holders(&shard.lock())).sum()
    }

    /// The Unix time in seconds when the oldest live snapshot was taken; 0 if there is none.
    pub fn oldest_time(&self) -> u64 {
        let first = |shard: &Shard| {
            shard
                .first_key_value()
                .map(|(seq, (_, time))| (*seq, *time))
        };
        let oldest = self.shards.iter().filter_map(|shard| first(&shard.lock()));
        oldest.min().map_or(0, |(_, time)| time)
    }

    /// Makes releases of snapshots below `sequence` be recorded from now on.
    pub fn watch(&self, sequence: SequenceNumber) {
        self.watched.store(sequence, Relaxed);
    }

    /// Whether a release was recorded since the last call.
    pub fn take_released(&self) -> bool {
        self.released.load(Relaxed) && self.released.swap(false, Acquire)
    }

    /// Sets the function to call after a release was recorded.
    pub fn on_release(&self, waker: impl Fn() + Send + Sync + 'static) {
        // Only the first call has an effect.
        let _ = self.waker.set(Box::new(waker));
    }

    /// Records a release if one of `sequences`, ascending, is no longer live. A compaction has then
    /// kept something that it could have dropped.
    pub fn note_gone(&self, sequences: &[SequenceNumber]) {
        if sequences.is_empty() {
            return;
        }
        let live = self.sequences();
        if sequences.iter().any(|s| live.binary_search(s).is_err()) {
            self.note_release();
        }
    }

    fn note_release(&self) {
        self.released.store(true, Release);
        if let Some(wake) = self.waker.get() {
            wake();
        }
    }

    fn release(&self, shard: usize, seq: SequenceNumber) {
        let mut live = self.shards[shard].lock();
        let Some(entry) = live.get_mut(&seq) else {
            return;
        };
        entry.0 -= 1;
        planted!(TwinSnapshotReleased => entry.0 = 0);
        if entry.0 > 0 {
            return;
        }
        live.remove(&seq);
        drop(live);
        if seq < self.watched.load(Relaxed) {
            self.note_release();
        }
    }
}

/// Keeps one snapshot alive.
#[derive(Debug)]
pub(crate) struct SnapshotGuard {
    seq: SequenceNumber,
    /// The shard that the snapshot is registered in.
    shard: usize,
    list: Arc<SnapshotList>,
}

impl SnapshotGuard {
    /// The sequence number the snapshot reads at.
    pub fn sequence(&self) -> SequenceNumber {
        self.seq
    }

    /// Whether the snapshot is registered in `list`. Otherwise nothing keeps what it sees.
    pub fn is_of(&self, list: &Arc<SnapshotList>) -> bool {
        Arc::ptr_eq(&self.list, list)
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

    #[test]
    fn releases_that_matter_are_noted() {
        let list = Arc::new(SnapshotList::default());
        let wakes = Arc::new(AtomicU64::new(0));
        let count = wakes.clone();
        list.on_release(move || {
            count.fetch_add(1, Relaxed);
        });
        let take = |n| list.take(1, || n);
        let (a, b, again, c) = (take(5), take(9), take(9), take(9));
        drop(a);
        assert!(!list.take_released());
        list.watch(10);
        drop(again);
        drop(b);
        assert!(!list.take_released(), "one is left");
        drop(c);
        assert_eq!(wakes.load(Relaxed), 1);
        assert!(list.take_released() && !list.take_released());
        drop(take(10));
        assert!(!list.take_released());
        let live = take(20);
        list.note_gone(&[]);
        list.note_gone(&[20]);
        assert!(!list.take_released());
        list.note_gone(&[10, 20]);
        assert!(list.take_released());
        drop(live);
    }
}
