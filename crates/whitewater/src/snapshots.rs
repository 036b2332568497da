//! Live snapshots, and the numbers that transactions compare changes with.
//!
//! Taking or releasing a snapshot touches no lock that all threads share: the list is in
//! shards, and each thread uses a shard of its own (RocksDB takes the database mutex for
//! either; its issue 5083). A snapshot holds its shard, so that what it counts is a shard's, too.
//!
//! Invariant S1: while a [`SnapshotGuard`] lives, no flush or compaction drops the newest
//! version of any key at or below its sequence number. Everything that a flush or compaction
//! rewrites was visible before it asked for the live snapshots (of tables that were
//! ingested: G4 of `db::ingest`). A snapshot that registers in a
//! shard after that shard was listed reads the visible number later still (the shard's lock
//! orders the two). So it sees nothing older than the newest versions of what is rewritten, and
//! those are kept in any case.
//!
//! A snapshot that was taken while writes were undecided (`concurrent::undecided`) does not see
//! them, whatever becomes of them later. Invariant X4: while a write is undecided, and while a
//! snapshot lives that was taken then, no flush or compaction drops, changes or merges what it
//! has written, nor what only that hides (`table_writer::merge_rules`). The reasons of S1 hold
//! here, too, because a job asks what is undecided before it asks for the live snapshots
//! ([`SnapshotList::live`]). What it rewrites was visible by then, so a write of it that is
//! undecided later was undecided then. A snapshot that the job misses was taken later than the
//! job asked. If it does not see a write of what is rewritten, then that was undecided when the
//! job asked.
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
use whitewater_concurrent::sync::rmw;
use whitewater_concurrent::system::Mutex;
use whitewater_concurrent::undecided::{NumberRange, UndecidedRanges};
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

impl From<SequenceNumber> for ReadAt<'_> {
    #[inline]
    fn from(sequence: SequenceNumber) -> Self {
        ReadAt {
            sequence,
            undecided: None,
        }
    }
}

impl From<SequenceNumber> for ReadPoint {
    #[inline]
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
    /// What was undecided when snapshots were taken, by address, and the number of these.
    undecided: BTreeMap<usize, (Arc<UndecidedRanges>, usize)>,
    /// For each sequence number, the number of boundaries.
    boundaries: BTreeMap<SequenceNumber, usize>,
}

impl Shard {
    /// Releases a snapshot at `seq`; returns whether it was the last one there.
    fn release(&mut self, seq: SequenceNumber) -> bool {
        let Some((holders, _)) = self.live.get_mut(&seq) else {
            return false;
        };
        *holders -= 1;
        planted!(TwinSnapshotReleased => *holders = 0);
        if *holders > 0 {
            return false;
        }
        self.live.remove(&seq);
        true
    }

    /// Releases what was undecided for a snapshot; returns whether no other one has it.
    fn release_undecided(&mut self, ranges: &Arc<UndecidedRanges>) -> bool {
        let Some((_, holders)) = self.undecided.get_mut(&address(ranges)) else {
            return false;
        };
        *holders -= 1;
        if *holders > 0 {
            return false;
        }
        self.undecided.remove(&address(ranges));
        true
    }
}

/// What flushes and compactions keep for snapshots and transactions.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    /// The numbers of snapshots, ascending, without duplicates (S1).
    pub snapshots: Vec<SequenceNumber>,
    /// What is undecided, or was when one of these was taken (X4).
    pub undecided: Option<Arc<UndecidedRanges>>,
    /// The oldest write-conflict boundary (X6), but always below `undecided`; `MAX_SEQUENCE`
    /// without both.
    pub boundary: SequenceNumber,
}

impl Default for Live {
    /// Nothing is kept.
    fn default() -> Self {
        Live::new(Vec::new(), None, MAX_SEQUENCE)
    }
}

impl Live {
    /// For snapshots, ascending, undecided writes, and the oldest boundary of transactions.
    pub fn new(
        snapshots: Vec<SequenceNumber>,
        undecided: Option<Arc<UndecidedRanges>>,
        boundary: SequenceNumber,
    ) -> Self {
        let below = |ranges: &Arc<UndecidedRanges>| ranges.first().saturating_sub(1);
        let mut boundary = boundary.min(undecided.as_ref().map_or(MAX_SEQUENCE, below));
        planted!(NumberZeroedOverUndecided => boundary = MAX_SEQUENCE);
        Live {
            snapshots,
            undecided,
            boundary,
        }
    }

    /// Everything may be undecided.
    pub fn everything() -> Self {
        let all = NumberRange {
            first: 1,
            last: MAX_SEQUENCE,
        };
        Live::new(Vec::new(), UndecidedRanges::new(&[all]), MAX_SEQUENCE)
    }

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
pub(crate) struct SnapshotList {
    shards: [Arc<CachePadded<Registry>>; SHARDS],
    releases: Arc<Releases>,
}

/// A shard, on cache lines of its own, with the count of its holders.
struct Registry {
    shard: Mutex<Shard>,
    releases: Arc<Releases>,
}

/// What happens when something is released that compactions could have dropped.
#[derive(Default)]
struct Releases {
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
    /// Tells whether a number is undecided.
    is_undecided: OnceLock<Box<dyn Fn(SequenceNumber) -> bool + Send + Sync>>,
}

impl Default for SnapshotList {
    fn default() -> Self {
        let releases = Arc::<Releases>::default();
        let registry = |_| {
            Arc::new(CachePadded::new(Registry {
                shard: Mutex::default(),
                releases: releases.clone(),
            }))
        };
        SnapshotList {
            shards: std::array::from_fn(registry),
            releases,
        }
    }
}

impl fmt::Debug for SnapshotList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sequences()).finish()
    }
}

impl SnapshotList {
    /// Registers a snapshot at what `latest` returns. That is read under the shard's lock
    /// (upholds S1, X4).
    pub fn take<P: Into<ReadPoint>>(&self, now: u64, latest: impl FnOnce() -> P) -> SnapshotGuard {
        let own = self.own();
        rmw::own_lock();
        let mut locked = own.shard.lock();
        let point = latest().into();
        locked.live.entry(point.sequence).or_insert((0, now)).0 += 1;
        if let Some(ranges) = &point.undecided {
            let new = || (ranges.clone(), 0);
            locked
                .undecided
                .entry(address(ranges))
                .or_insert_with(new)
                .1 += 1;
        }
        drop(locked);
        SnapshotGuard {
            point,
            registry: own.clone(),
        }
    }

    /// Registers a write-conflict boundary at the number that `latest` returns. The number is
    /// read under the shard's lock (upholds X6).
    pub fn take_boundary(&self, latest: impl FnOnce() -> SequenceNumber) -> BoundaryGuard {
        let own = self.own();
        let mut locked = own.shard.lock();
        let seq = latest();
        *locked.boundaries.entry(seq).or_default() += 1;
        drop(locked);
        BoundaryGuard {
            seq,
            registry: own.clone(),
        }
    }

    /// The calling thread's shard.
    fn own(&self) -> &Arc<CachePadded<Registry>> {
        &self.shards[thread_number() % SHARDS]
    }

    /// What a flush or compaction that begins now has to keep, if `undecided` was undecided
    /// just before (upholds X4).
    pub fn live(&self, undecided: Option<Arc<UndecidedRanges>>) -> Live {
        let mut snapshots = BTreeSet::new();
        let mut undecided: Vec<_> = undecided.into_iter().collect();
        let mut boundary = MAX_SEQUENCE;
        for shard in &self.shards {
            let shard = shard.shard.lock();
            snapshots.extend(shard.live.keys());
            undecided.extend(shard.undecided.values().map(|(ranges, _)| ranges.clone()));
            let oldest = shard.boundaries.first_key_value();
            boundary = oldest.map_or(boundary, |(seq, _)| boundary.min(*seq));
        }
        planted!(BoundariesIgnored => boundary = MAX_SEQUENCE);
        let undecided = UndecidedRanges::union(undecided.iter().map(|ranges| &**ranges));
        Live::new(snapshots.into_iter().collect(), undecided, boundary)
    }

    /// The sequence numbers of live snapshots, ascending, without duplicates.
    pub fn sequences(&self) -> Vec<SequenceNumber> {
        self.live(None).snapshots
    }

    /// Whether there is a write-conflict boundary.
    pub fn has_boundaries(&self) -> bool {
        let mut shards = self.shards.iter();
        shards.any(|shard| !shard.shard.lock().boundaries.is_empty())
    }

    /// The number of live snapshots.
    pub fn count(&self) -> usize {
        let holders = |shard: &Shard| shard.live.values().map(|(n, _)| n).sum::<usize>();
        (self.shards.iter().map(|shard| holders(&shard.shard.lock()))).sum()
    }

    /// The Unix time in seconds when the oldest live snapshot was taken; 0 if there is none.
    pub fn oldest_time(&self) -> u64 {
        let first = |shard: &Shard| {
            shard
                .live
                .first_key_value()
                .map(|(seq, (_, time))| (*seq, *time))
        };
        let oldest = self
            .shards
            .iter()
            .filter_map(|shard| first(&shard.shard.lock()));
        oldest.min().map_or(0, |(_, time)| time)
    }

    /// Makes releases of snapshots and boundaries below `sequence` be recorded from now on.
    pub fn watch(&self, sequence: SequenceNumber) {
        self.releases.watched.store(sequence, Relaxed);
    }

    /// Whether a release was recorded since the last call.
    pub fn take_released(&self) -> bool {
        let released = &self.releases.released;
        released.load(Relaxed) && released.swap(false, Acquire)
    }

    /// Sets the function to call after a release was recorded.
    pub fn on_release(&self, waker: impl Fn() + Send + Sync + 'static) {
        // Only the first call has an effect.
        let _ = self.releases.waker.set(Box::new(waker));
    }

    /// Sets the function that tells whether a number is undecided. Without it none is.
    pub fn on_undecided(
        &self,
        is_undecided: impl Fn(SequenceNumber) -> bool + Send + Sync + 'static,
    ) {
        // Only the first call has an effect.
        let _ = self.releases.is_undecided.set(Box::new(is_undecided));
    }

    /// Records that writes with numbers from `first` on were decided, if something was kept for
    /// them.
    pub fn note_decided(&self, first: SequenceNumber) {
        self.releases.was_released(first.saturating_sub(1));
    }

    /// Records a release if something of `kept` is not in `live`, which was asked for later. A
    /// compaction has then kept something that it could have dropped.
    pub fn note_gone(&self, kept: &Live, live: &Live) {
        let is_gone = |s: &SequenceNumber| live.snapshots.binary_search(s).is_err();
        if live.boundary > kept.boundary || kept.snapshots.iter().any(is_gone) {
            self.releases.note_release();
        }
    }
}

impl Releases {
    fn note_release(&self) {
        self.released.store(true, Release);
        if let Some(wake) = self.waker.get() {
            wake();
        }
    }

    fn was_released(&self, seq: SequenceNumber) {
        if seq < self.watched.load(Relaxed) {
            self.note_release();
        }
    }

    /// Called when a snapshot has gone for which writes from `first` on were undecided.
    fn undecided_were_released(&self, first: SequenceNumber) {
        let matters = first.saturating_sub(1) < self.watched.load(Relaxed);
        // What is still undecided is kept in any case, until `note_decided`. So reads beside a
        // transaction that stays prepared for long wake nobody.
        let is_undecided = || self.is_undecided.get().is_some_and(|is| is(first));
        if matters && !is_undecided() {
            self.note_release();
        }
    }
}

impl Registry {
    fn release(&self, point: &ReadPoint) {
        rmw::own_lock();
        let mut locked = self.shard.lock();
        let was_last = locked.release(point.sequence);
        let ranges = point.undecided.as_ref();
        let not_kept = ranges.filter(|ranges| locked.release_undecided(ranges));
        drop(locked);
        if was_last {
            self.releases.was_released(point.sequence);
        }
        if let Some(ranges) = not_kept {
            self.releases.undecided_were_released(ranges.first());
        }
    }

    fn release_boundary(&self, seq: SequenceNumber) {
        let mut locked = self.shard.lock();
        let Some(holders) = locked.boundaries.get_mut(&seq) else {
            return;
        };
        *holders -= 1;
        if *holders > 0 {
            return;
        }
        locked.boundaries.remove(&seq);
        drop(locked);
        self.releases.was_released(seq);
    }
}

/// What tells ranges that live from others that live.
fn address(ranges: &Arc<UndecidedRanges>) -> usize {
    Arc::as_ptr(ranges) as usize
}

/// Keeps one snapshot alive.
pub(crate) struct SnapshotGuard {
    point: ReadPoint,
    /// Where the snapshot is registered.
    registry: Arc<CachePadded<Registry>>,
}

impl fmt::Debug for SnapshotGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (f.debug_struct("SnapshotGuard").field("point", &self.point)).finish_non_exhaustive()
    }
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
    pub fn is_of(&self, list: &SnapshotList) -> bool {
        Arc::ptr_eq(&self.registry.releases, &list.releases)
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.registry.release(&self.point);
    }
}

/// Keeps one write-conflict boundary.
pub(crate) struct BoundaryGuard {
    seq: SequenceNumber,
    /// Where it is registered.
    registry: Arc<CachePadded<Registry>>,
}

impl fmt::Debug for BoundaryGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BoundaryGuard").field(&self.seq).finish()
    }
}

impl Drop for BoundaryGuard {
    fn drop(&mut self) {
        self.registry.release_boundary(self.seq);
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
        let note_gone = |snapshots: &[u64], boundary| {
            let kept = Live::new(snapshots.to_vec(), None, boundary);
            list.note_gone(&kept, &list.live(None));
            list.take_released()
        };
        assert!(!note_gone(&[], MAX_SEQUENCE));
        assert!(!note_gone(&[20], MAX_SEQUENCE));
        assert!(note_gone(&[10, 20], MAX_SEQUENCE));
        assert!(note_gone(&[20], 7));
        drop(live);
    }

    #[test]
    fn a_boundary_lives_as_long_as_its_last_holder_and_is_no_snapshot() {
        let list = Arc::new(SnapshotList::default());
        assert_eq!(
            (list.live(None).boundary, list.live(None).oldest()),
            (MAX_SEQUENCE, None)
        );
        let (a, again, b) = (
            list.take_boundary(|| 5),
            list.take_boundary(|| 5),
            list.take_boundary(|| 9),
        );
        let snapshot = list.take(1, || 7);
        assert_eq!(list.live(None).snapshots, [7]);
        assert_eq!((list.count(), list.live(None).boundary), (1, 5));
        drop(a);
        assert_eq!(list.live(None).oldest(), Some(5));
        list.watch(6);
        drop(again);
        assert!(list.take_released(), "a file waits for it");
        assert_eq!(
            (list.live(None).boundary, list.live(None).oldest()),
            (9, Some(7))
        );
        drop((b, snapshot));
        assert!(!list.has_boundaries() && !list.take_released());
    }

    fn ranges(of: &[(u64, u64)]) -> Option<Arc<UndecidedRanges>> {
        let range = |&(first, last): &(u64, u64)| NumberRange { first, last };
        UndecidedRanges::new(&of.iter().map(range).collect::<Vec<_>>())
    }

    fn at(
        list: &Arc<SnapshotList>,
        sequence: SequenceNumber,
        undecided: &Option<Arc<UndecidedRanges>>,
    ) -> SnapshotGuard {
        let undecided = undecided.clone();
        let point = ReadPoint {
            sequence,
            undecided,
        };
        list.take(1, || point)
    }

    #[test]
    fn what_was_undecided_is_kept_until_the_last_snapshot_of_then_goes() {
        let list = Arc::new(SnapshotList::default());
        let (early, late) = (ranges(&[(4, 6)]), ranges(&[(8, 8)]));
        let (a, again, b) = (
            at(&list, 7, &early),
            at(&list, 9, &early),
            at(&list, 9, &late),
        );
        let live = list.live(ranges(&[(12, 12)]));
        assert_eq!(live.snapshots, [7, 9]);
        assert_eq!(live.undecided, ranges(&[(4, 6), (8, 8), (12, 12)]));
        assert_eq!((live.boundary, live.oldest()), (3, Some(3)));
        drop(a);
        assert_eq!(list.live(None).oldest(), Some(3));
        drop(again);
        let live = list.live(None);
        assert_eq!((live.boundary, live.oldest()), (7, Some(7)));
        assert_eq!(live.undecided, late);
        drop(b);
        assert_eq!(list.live(None).oldest(), None);
        assert_eq!(list.live(ranges(&[(12, 12)])).oldest(), Some(11));
    }

    #[test]
    fn decisions_that_matter_are_noted() {
        let list = Arc::new(SnapshotList::default());
        let decided = Arc::new(AtomicBool::new(false));
        let is_decided = decided.clone();
        list.on_undecided(move |_| !is_decided.load(Relaxed));
        let undecided = ranges(&[(4, 6), (8, 8)]);
        let (read, snapshot) = (at(&list, 9, &undecided), at(&list, 9, &undecided));
        list.watch(4);
        drop((read, at(&list, 9, &ranges(&[(4, 6)]))));
        assert!(!list.take_released(), "it is still undecided");
        let kept = list.live(undecided.clone());
        list.note_gone(&kept, &list.live(undecided));
        assert!(!list.take_released());
        decided.store(true, Relaxed);
        list.note_decided(8);
        assert!(!list.take_released(), "nothing was kept for this one");
        list.note_decided(4);
        assert!(list.take_released());
        list.note_gone(&kept, &list.live(None));
        assert!(!list.take_released(), "a snapshot keeps it");
        drop(snapshot);
        assert!(list.take_released());
        list.note_gone(&kept, &list.live(None));
        assert!(list.take_released());
    }
}
