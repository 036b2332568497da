//! The commit sequence.
//!
//! A write goes through these steps, whatever the protocol:
//!
//! 1. *prepare*: check the batch; refuse what could not be applied.
//! 2. *admit*: wait out stalls ([`stall`]), switch full memtables. A writer
//!    that sleeps here holds nothing that others need.
//! 3. *reserve*: take sequence numbers and a place in the log, in one atomic
//!    step ([`generation`]).
//! 4. *log*: put the record there.
//! 5. *insert*: put the entries into the memtables.
//! 6. *publish*: the visible number moves over what is finished
//!    (`concurrent::publish`).
//! 7. *acknowledge*: once the write is visible and, with `sync`, durable. What the
//!    insert has left to do, nobody waits for.
//!
//! The steps are written once: in [`steps`] over a [`CommitEnv`], which the
//! database implements, and a fake in the protocols' tests. A protocol decides
//! who does a step and who waits: [`ordered`] lets every writer do all of its
//! own, [`group`] has leaders, and [`unordered`] leaders for the log alone.
//!
//! A batch whose insert reads the state before it (`WriteFlags::reads_own_prefix`:
//! merges under `max_successive_merges`) waits between *log* and *insert* until
//! all before it is finished. It waits for lower numbers only, and nobody waits
//! for higher ones, so nothing goes round in a circle; when one before it
//! fails, it fails. A leader inserts for a group that has such a batch itself,
//! in the group's order.
//!
//! Invariants:
//! * C1: sequence order is log order is publication order.
//! * C2: `visible = v` only if every entry with a number up to `v` is in
//!   its memtable; not so in [`unordered`], which publishes before it inserts.
//! * C3: `visible` only takes values at ends of batches.
//! * C4: a write is acknowledged only when its record and all before
//!   it were handed to the operating system, with `sync` only after a
//!   successful sync of its log and all logs before it. (With
//!   `manual_wal_flush` records wait in the process: what dies with it is a
//!   suffix of the order.)
//! * C5: the first failed log write or insert stops all later writes.
//!   The failed write and those after it never become visible, and their
//!   numbers are not used again, not after a resumption either. (An insert in
//!   [`unordered`] is visible when it fails; those under way beside it end as
//!   they may.)
//! * C6: a batch goes wholly to the generation that it has its place in.
//! * C7: an insert that is `reads_own_prefix` begins when everything before it is in the
//!   memtables; there is none in [`unordered`].
//!
//! Why they hold, what shows it, and the invariants of the parts that they are
//! made of are in `docs/design/write-path.md`.

pub(crate) mod generation;
pub(crate) mod group;
pub(crate) mod ordered;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod stall;
pub(crate) mod steps;
pub(crate) mod unordered;
pub(crate) mod wal;

use crate::column_family::{ColumnFamilyData, no_timestamp};
use crate::memtable::{LeafHint, Memtable};
use crate::perf_context::{Step, StepTimer};
use crate::sync_points::Point;
use arc_swap::Guard;
use generation::{Generation, Reservation};
use request::Write;
use std::sync::Arc;
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::CompressedRecord;
use whitewater_storage::{Error, Result};

/// The memtables that writes go to at one moment, by column family id.
/// Immutable; a switch makes a new one.
#[derive(Debug, Default, Clone)]
pub(crate) struct MemtableMap {
    by_id: Vec<(u32, Arc<Memtable>)>,
    /// The column families that limit successive merges, ids ascending.
    folding: Vec<Arc<ColumnFamilyData>>,
    /// Whether keys of any of them have timestamps.
    timestamps: bool,
}

impl MemtableMap {
    /// The memtables of column families, ids ascending.
    pub fn new(families: impl Iterator<Item = (Arc<ColumnFamilyData>, Arc<Memtable>)>) -> Self {
        let mut map = MemtableMap::default();
        for (family, memtable) in families {
            let folds = memtable.limits_merges();
            map.timestamps |= memtable.has_timestamps();
            map.by_id.push((family.id, memtable));
            if folds {
                map.folding.push(family);
            }
        }
        debug_assert!(map.by_id.is_sorted_by_key(|(id, _)| *id));
        map
    }

    /// The column families that limit successive merges.
    #[inline]
    pub fn all_folding(&self) -> impl Iterator<Item = &Arc<ColumnFamilyData>> {
        self.folding.iter()
    }

    /// Whether the column family `id` limits successive merges.
    #[inline]
    pub fn folds(&self, id: u32) -> bool {
        self.all_folding().any(|family| family.id == id)
    }

    /// Whether keys of any column family have timestamps.
    #[inline]
    pub fn any_has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Refuses an operation without a timestamp on the column family `id` if
    /// its keys have some.
    ///
    /// # Errors
    /// `InvalidArgument` for that.
    pub fn check_unstamped(&self, id: u32) -> Result<()> {
        let stamped = |m: &&Arc<Memtable>| self.timestamps && m.has_timestamps();
        match self.get(id).filter(stamped) {
            Some(memtable) => Err(no_timestamp(memtable.family())),
            None => Ok(()),
        }
    }

    /// The position of column family `id`.
    #[inline]
    pub fn position(&self, id: u32) -> Option<usize> {
        if self.by_id.first().is_some_and(|(first, _)| *first == id) {
            return Some(0);
        }
        self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    /// The memtable of column family `id`.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&Arc<Memtable>> {
        self.position(id).map(|at| self.at(at))
    }

    /// The memtable at a position.
    #[inline]
    pub fn at(&self, position: usize) -> &Arc<Memtable> {
        &self.by_id[position].1
    }
}

/// What a write of one entry has looked at before anything else, so that
/// the processor fetches meanwhile what its insert is going to wait for.
pub(crate) struct Prefetched<'k> {
    /// The generation that writes went to. Not to be held while waiting for
    /// anybody, as that of [`CommitEnv::enter`].
    pub generation: Guard<Arc<Generation>>,
    /// Where the entry's key led in its memtable.
    pub hint: Option<LeafHint<'k>>,
}

/// What the steps need of a database.
pub(crate) trait CommitEnv: Sync {
    /// What a write has ready for a generation before it has a place in it.
    type Prepared;
    /// What an insert has left to be done after its write.
    type DeferredWork;
    /// The generation that writes go to. Does first what must be done before a
    /// write takes numbers: refuses when writes have failed before, switches
    /// full memtables.
    ///
    /// Whoever has the generation may be writing, so he lets go of it when he
    /// is done, and does not wait for a switch before (S6 of `db::switch`).
    fn enter(&self) -> Result<Guard<Arc<Generation>>>;
    /// Whether [`enter`](Self::enter) would do nothing first, so that the generation
    /// of a moment ago is as good as the one it returns: if another has come, this
    /// one is closed.
    fn is_current(&self) -> bool;
    /// A generation was found closed: returns when the next one is there, or
    /// writes have failed.
    fn await_switch(&self);
    /// Extends the log of `generation` to `upto` at least.
    fn extend_wal(&self, generation: &Generation, upto: u64) -> Result<()>;
    /// Extends the log ahead of need, if `end` is near the end of what is
    /// allocated. By a writer that has no place, or by a leader, whom others
    /// wait for anyhow.
    fn extend_wal_ahead(&self, generation: &Generation, end: u64);
    /// Whether records are compressed.
    fn packs(&self) -> bool {
        false
    }
    /// Compresses a record that is to be logged, `parts` behind a header, if
    /// records are compressed. Before it takes its place: that takes time, and
    /// decides about the size.
    ///
    /// # Errors
    /// Lack of memory. Nothing was done.
    fn pack(&self, _parts: &[&[u8]]) -> Result<Option<CompressedRecord>> {
        Ok(None)
    }
    /// Puts another generation in the place of one that is full, which it lets
    /// go of first.
    fn replace_full(&self, full: Guard<Arc<Generation>>) -> Result<()>;
    /// Puts one record, the concatenation of `parts`, to its place.
    fn log(
        &self,
        generation: &Generation,
        reservation: &Reservation,
        parts: &[&[u8]],
    ) -> Result<()>;
    /// Does all that can be done for an insert before its numbers are known;
    /// `hint` is the key of its only entry.
    fn prepare(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        hint: Option<LeafHint<'_>>,
    ) -> Result<Self::Prepared>;
    /// Inserts operations of which the first gets `first`; `prepared`, if there is
    /// something, was made for them and the same generation, before `first` was given
    /// out (V5 of `concurrent::art::versions`). If the write is
    /// `reads_own_prefix`, everything before `first` is in the memtables.
    fn apply(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        prepared: Option<Self::Prepared>,
        first: SequenceNumber,
    ) -> Result<Self::DeferredWork>;
    /// Does what an insert into `generation` has left. By its writer, whom nobody waits
    /// for any more, or only for the disk. (Nothing is left of what was not prepared.)
    /// If it never comes to that, reads are slower, and not wrong.
    fn run_deferred(&self, generation: &Generation, deferred: Self::DeferredWork);
    /// Whose turn it is among the writes that are `reads_own_prefix`, where no leader
    /// says so. Nothing is guarded by it: C7 holds without.
    fn prefix_turn(&self) -> &Mutex<()>;
    /// Told how many writes are committed together, for statistics.
    fn grouped(&self, writes: usize);
    /// Measures a step until what it returns is dropped.
    fn step(&self, step: Step) -> StepTimer<'_>;
    /// Told that a write has reached a point of its way.
    #[inline]
    fn hit(&self, _: Point, _: SequenceNumber) {}
    /// What is visible.
    fn publication(&self) -> &Publication;
    /// Returns when all writes up to `last` are durable. They are in the log.
    fn make_durable(&self, last: SequenceNumber) -> Result<()>;
    /// The write that starts at `first` failed after it had taken its place:
    /// refuses all later writes (C5), then tells the publication.
    fn fail(&self, first: SequenceNumber, error: &Error);
    /// The failure that stopped writes.
    fn failure(&self) -> Error;
}

#[cfg(test)]
mod tests;
