//! Live snapshots, and the numbers that transactions compare changes with.
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
//! A snapshot that was taken while writes were undecided (`concurrent::undecided`) does not see
//! them, whatever becomes of them later. Invariant X4: while it lives, no flush or compaction
//! drops, hides or merges a version that was undecided then, nor what such a version hides. The
//! reasons of S1 hold here, too: a job asks what is undecided before it asks for the live
//! snapshots.
//!
//! A *write-conflict boundary* is the number since which a transaction wants to know whether
//! keys were changed. It keeps no old versions.
//!
//! Invariant X6: while a [`BoundaryGuard`] lives, every key whose newest change, an entry or a
//! range tombstone over it, has a number above the boundary has one with a number above it in
//! what a flush or compaction writes, too. The reasons of S1 hold: a boundary that a job has
//! missed is not below what the job rewrites.
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
use whitewater_concurrent::undecided::UndecidedRanges;
use whitewater_storage::key::{MAX_SEQUENCE, SequenceNumber};
use whitewater_storage::planted;

/// The number of shards. If there are more threads, some share a shard.
const SHARDS: usize = 16;

/// What a read sees: the versions up to a number, without those that were undecided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadPoint {
    pub sequence: SequenceNumber,
    /// Numbers up to `sequence` that were undecided, and maybe larger ones.
    pub undecided: Option<Arc<UndecidedRanges>>,
}

/// A [`ReadPoint`] as look-ups take it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadAt<'a> {
    pub sequence: SequenceNumber,
    /// As in [`ReadPoint`].
    pub undecided: Option<&'a UndecidedRanges>,
}

impl ReadPoint {
    /// The same point, borrowed.
    #[inline]
    pub fn at(&self) -> ReadAt<'_> {
        ReadAt {
            sequence: self.sequence,
            undecided: self.undecided.as_deref(),
        }
    }

    /// Whether a version with this number is visible.
    pub fn sees(&self, number: SequenceNumber) -> bool {
        let is_undecided = || self.undecided.as_ref().is_some_and(|r| r.contains(number));
        number <= self.sequence && !is_undecided()
    }

    /// All numbers up to this one are visible. (No range has number 0, which stands for old
    /// versions.)
    pub fn all_visible_up_to(&self) -> SequenceNumber {
        let undecided = self.undecided.as_ref();
        let before = undecided.map_or(MAX_SEQUENCE, |ranges| ranges.first().saturating_sub(1));
        self.sequence.min(before)
    }
}

impl From<SequenceNumber> for ReadPoint {
    fn from(sequence: SequenceNumber) -> Self {
        ReadPoint {
            sequence,
            undecided: None,
        }
    }
}

#[derive(Default)]
struct Shard {
    /// For each sequence number, the number of snapshots, and the Unix time in seconds of the
    /// first of them.
    live: BTreeMap<SequenceNumber, (usize, u64)>,
    /// What was undecided when snapshots were taken, once for each of these.
    undecided: Vec<Arc<UndecidedRanges>>,
    /// For each sequence number, the number of boundaries.
    boundaries: BTreeMap<SequenceNumber, usize>,
}

/// What flushes and compactions keep for snapshots and transactions.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    /// The numbers of snapshots, ascending, without duplicates (S1).
    pub snapshots: Vec<SequenceNumber>,
    /// What was undecided when these were taken (X4).
    pub undecided: Vec<Arc<UndecidedRanges>>,
    /// The oldest write-conflict boundary; `MAX_SEQUENCE` without one (X6).
    pub boundary: SequenceNumber,
}

impl Live {
    /// The oldest number for which something is kept, if there is one.
    pub fn oldest(&self) -> Option<SequenceNumber> {
        let boundary = Some(self.boundary).filter(|b| *b < MAX_SEQUENCE);
        self.snapshots
            .first()
            .copied()
            .into_iter()
            .chain(boundary)
            .min()
    }
}

/// The sequence numbers that live snapshots read at, and write-conflict boundaries.
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
    /// Registers a snapshot at what `latest` returns. That is read under the shard's lock
    /// (upholds S1, X4).
    pub fn take<P: Into<ReadPoint>>(
        self: &Arc<Self>,
        now: u64,
        latest: impl FnOnce() -> P,
    ) -> SnapshotGuard {
        let shard = thread_number() % SHARDS;
        let mut locked = self.shards[shard].lock();
        let point = latest().into();
        locked.live.entry(point.sequence).or_insert((0, now)).0 += 1;
        locked.undecided.extend(point.undecided.clone());
        SnapshotGuard {
            point,
            shard,
            list: self.clone(),
        }
    }

    /// Registers a write-conflict boundary at the number that `latest` returns. The number is
    /// read under the shard's lock (upholds X6).
    pub fn take_boundary(
        self: &Arc<Self>,
        latest: impl FnOnce() -> SequenceNumber,
    ) -> BoundaryGuard {
        let shard = thread_number() % SHARDS;
        let mut locked = self.shards[shard].lock();
        let seq = latest();
        *locked.boundaries.entry(seq).or_default() += 1;
        BoundaryGuard {
            seq,
            shard,
            list: self.clone(),
        }
    }

    /// What a flush or compaction that begins now has to keep.
    pub fn live(&self) -> Live {
        let mut snapshots = BTreeSet::new();
        let mut undecided: Vec<Arc<UndecidedRanges>> = Vec::new();
        let mut boundary = MAX_SEQUENCE;
        for shard in &self.shards {
            let shard = shard.lock();
            snapshots.extend(shard.live.keys());
            undecided.extend(shard.undecided.iter().cloned());
            let oldest = shard.boundaries.first_key_value();
            boundary = oldest.map_or(boundary, |(seq, _)| boundary.min(*seq));
        }
        planted!(BoundariesIgnored => boundary = MAX_SEQUENCE);
        Live {
            snapshots: snapshots.into_iter().collect(),
            undecided,
            boundary,
        }
    }

    /// The sequence numbers of live snapshots, ascending, without duplicates.
    pub fn sequences(&self) -> Vec<SequenceNumber> {
        self.live().snapshots
    }

    /// Whether there is a write-conflict boundary.
    pub fn has_boundaries(&self) -> bool {
        let mut shards = self.shards.iter();
        shards.any(|shard| !shard.lock().boundaries.is_empty())
    }

    /// The number of live snapshots.
    pub fn count(&self) -> usize {
        let holders = |shard: &Shard| shard.live.values().map(|(n, _)| n).sum::<usize>();
        self.shards.iter().map(|shard| holders(&shard.lock())).sum()
    }

    /// The Unix time in seconds when the oldest live snapshot was taken; 0 if there is none.
    pub fn oldest_time(&self) -> u64 {
        let first = |shard: &Shard| {
            shard
                .live
                .first_key_value()
                .map(|(seq, (_, time))| (*seq, *time))
        };
        let oldest = self.shards.iter().filter_map(|shard| first(&shard.lock()));
        oldest.min().map_or(0, |(_, time)| time)
    }

    /// Makes releases of snapshots and boundaries below `sequence` be recorded from now on.
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

    /// Records a release if something of `kept` is no longer live. A compaction has then kept
    /// something that it could have dropped.
    pub fn note_gone(&self, kept: &Live) {
        if kept.oldest().is_none() {
            return;
        }
        let live = self.live();
        let is_gone = |s: &SequenceNumber| live.snapshots.binary_search(s).is_err();
        if live.boundary > kept.boundary || kept.snapshots.iter().any(is_gone) {
            self.note_release();
        }
    }

    fn note_release(&self) {
        self.released.store(true, Release);
        if let Some(wake) = self.waker.get() {
            wake();
        }
    }

    fn release(&self, shard: usize, point: &ReadPoint) {
        let seq = point.sequence;
        let mut locked = self.shards[shard].lock();
        if let Some(ranges) = &point.undecided {
            let mut all = locked.undecided.iter();
            if let Some(at) = all.position(|one| Arc::ptr_eq(one, ranges)) {
                locked.undecided.swap_remove(at);
            }
        }
        let Some(entry) = locked.live.get_mut(&seq) else {
            return;
        };
        entry.0 -= 1;
        planted!(TwinSnapshotReleased => entry.0 = 0);
        if entry.0 > 0 {
            return;
        }
        locked.live.remove(&seq);
        drop(locked);
        self.was_released(seq);
    }

    fn release_boundary(&self, shard: usize, seq: SequenceNumber) {
        let mut locked = self.shards[shard].lock();
        let Some(holders) = locked.boundaries.get_mut(&seq) else {
            return;
        };
        *holders -= 1;
        if *holders > 0 {
            return;
        }
        locked.boundaries.remove(&seq);
        drop(locked);
        self.was_released(seq);
    }

    fn was_released(&self, seq: SequenceNumber) {
        if seq < self.watched.load(Relaxed) {
            self.note_release();
        }
    }
}

/// Keeps one snapshot alive.
#[derive(Debug)]
pub(crate) struct SnapshotGuard {
    point: ReadPoint,
    /// The shard that the snapshot is registered in.
    shard: usize,
    list: Arc<SnapshotList>,
}

impl SnapshotGuard {
    /// The sequence number the snapshot reads at.
    pub fn sequence(&self) -> SequenceNumber {
        self.point.sequence
    }

    /// What the snapshot sees.
    pub fn point(&self) -> &ReadPoint {
        &self.point
    }

    /// Whether the snapshot is registered in `list`. Otherwise nothing keeps what it sees.
    pub fn is_of(&self, list: &Arc<SnapshotList>) -> bool {
        Arc::ptr_eq(&self.list, list)
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.list.release(self.shard, &self.point);
    }
}

/// Keeps one write-conflict boundary.
#[derive(Debug)]
pub(crate) struct BoundaryGuard {
    seq: SequenceNumber,
    /// The shard that it is registered in.
    shard: usize,
    list: Arc<SnapshotList>,
}

impl Drop for BoundaryGuard {
    fn drop(&mut self) {
        self.list.release_boundary(self.shard, self.seq);
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
        let of = |snapshots: &[u64], boundary| Live {
            snapshots: snapshots.to_vec(),
            undecided: Vec::new(),
            boundary,
        };
        list.note_gone(&of(&[], MAX_SEQUENCE));
        list.note_gone(&of(&[20], MAX_SEQUENCE));
        assert!(!list.take_released());
        list.note_gone(&of(&[10, 20], MAX_SEQUENCE));
        assert!(list.take_released());
        list.note_gone(&of(&[20], 7));
        assert!(list.take_released());
        drop(live);
    }

    #[test]
    fn a_boundary_lives_as_long_as_its_last_holder_and_is_no_snapshot() {
        let list = Arc::new(SnapshotList::default());
        assert_eq!(
            (list.live().boundary, list.live().oldest()),
            (MAX_SEQUENCE, None)
        );
        let (a, again, b) = (
            list.take_boundary(|| 5),
            list.take_boundary(|| 5),
            list.take_boundary(|| 9),
        );
        let snapshot = list.take(1, || 7);
        assert_eq!(list.live().snapshots, [7]);
        assert_eq!((list.count(), list.live().boundary), (1, 5));
        drop(a);
        assert_eq!(list.live().oldest(), Some(5));
        list.watch(6);
        drop(again);
        assert!(list.take_released(), "a file waits for it");
        assert_eq!((list.live().boundary, list.live().oldest()), (9, Some(7)));
        drop((b, snapshot));
        assert!(!list.has_boundaries() && !list.take_released());
    }
}
