//! What the commit sequence needs of a database.
//!
//! The database implements these traits, and so does a fake in the conformance suite
//! of the protocols (`tests.rs`). They know no protocol, and the protocols know no
//! files and no memtables.

use super::generation::{Generation, Reservation};
use super::request::{Write, WriteFlags};
use crate::memtable::sections::SectionWrite;
use crate::perf_context::{Step, StepTimer};
use crate::sync_points::Point;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::system::Mutex;
use whitewater_concurrent::undecided::Undecided;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::CompressedRecord;
use whitewater_storage::{Error, Result};

/// The turn of a writer whose insert reads its own prefix: held by one such writer at a
/// time. It guards nothing: C7 holds without it.
#[derive(Debug, Default)]
pub(crate) struct PrefixTurn;

/// The turn of a large batch: held by one at a time while it prepares and inserts, so that
/// a memtable never gets more of them than it has room for.
#[derive(Debug, Default)]
pub(crate) struct LargeBatchTurn;

/// Everything that the steps need, and what happens when one fails.
pub(crate) trait CommitEnv:
    AdmitEnv + GenerationEnv + WalEnv + MemtableEnv + CommitObserver + Sync
{
    /// The visible sequence number.
    fn publication(&self) -> &Publication;
    /// A write that starts at `first` failed after its reservation: refuses all later
    /// writes (C5), then tells the publication.
    fn fail(&self, first: SequenceNumber, error: &Error);
    /// The failure that stopped writes.
    fn failure(&self) -> Error;
    /// Held where no leader orders the writers.
    fn prefix_turn(&self) -> &Mutex<PrefixTurn>;
    /// The numbers whose entries do not count yet, in a database whose readers pass over such
    /// (X3 of `concurrent::undecided`).
    fn undecided(&self) -> Option<&Undecided>;
    /// Notes a write of two-phase commit that is in the log and not visible yet (X1 to X3 of
    /// `db::two_phase`). Called by a protocol that publishes before it inserts; otherwise the
    /// insert does this.
    fn note_section(
        &self,
        generation: &Generation,
        write: &SectionWrite,
        first: SequenceNumber,
    ) -> Result<()>;
}

/// The write stalls in front of the sequence.
pub(crate) trait AdmitEnv {
    /// Whether a write may have to wait for [`await_admission`](Self::await_admission).
    fn may_stall(&self, flags: &WriteFlags) -> bool;
    /// Waits until a write of `bytes` may go ahead. The writer holds nothing meanwhile.
    ///
    /// # Errors
    /// `Incomplete` instead of a wait with `no_slowdown`; the background error that
    /// keeps the wait from ending.
    fn await_admission(&self, bytes: usize, flags: &WriteFlags) -> Result<()>;
    /// Held by a large batch until its commit returns, by when it is inserted.
    fn large_batch_turn(&self) -> &Mutex<LargeBatchTurn>;
    /// Commits a write without operations: with `sync`, all earlier writes become
    /// durable.
    fn commit_empty(&self, sync: bool) -> Result<()>;
}

/// The generations that writes go to.
pub(crate) trait GenerationEnv {
    /// The current generation. First does what is due before a write may reserve:
    /// refuses writes after a failure, switches full memtables.
    ///
    /// Hold the generation only while writing; never wait for a switch while holding it
    /// (S6 of `db::switch`).
    fn enter(&self) -> Result<Guard<Arc<Generation>>>;
    /// Whether [`enter`](Self::enter) would have nothing to do. A generation loaded a
    /// moment ago can then be used instead: if another has been installed, it is closed.
    fn nothing_due(&self) -> bool;
    /// Returns once the successor of a closed generation is installed, or writes have
    /// failed.
    fn await_switch(&self);
    /// Replaces a generation that has no numbers or log offsets left. Drops `full`
    /// before it waits.
    fn replace_full(&self, full: Guard<Arc<Generation>>) -> Result<()>;
}

/// The log of a generation.
pub(crate) trait WalEnv {
    /// Whether records are compressed.
    fn compresses(&self) -> bool {
        false
    }
    /// Compresses a record, the concatenation of `parts` without its header, if records
    /// are compressed. Called before the reservation, since it takes time and determines
    /// the size.
    ///
    /// # Errors
    /// Lack of memory. Nothing was done.
    fn compress(&self, _parts: &[&[u8]]) -> Result<Option<CompressedRecord>> {
        Ok(None)
    }
    /// Extends the log to at least `upto`.
    fn extend_wal(&self, generation: &Generation, upto: u64) -> Result<()>;
    /// Has the log extended before a writer needs it, if `end` is near the end of what is
    /// allocated. Called by writers without a reservation, or by leaders, for which
    /// others wait anyway.
    fn extend_wal_ahead(&self, generation: &Generation, end: u64);
    /// Writes a record, the concatenation of `parts`, to its reserved place.
    fn append_wal(
        &self,
        generation: &Generation,
        reservation: &Reservation,
        parts: &[&[u8]],
    ) -> Result<()>;
    /// Returns once all writes up to `last`, which are in the log, are durable.
    fn sync_wal(&self, last: SequenceNumber) -> Result<()>;
}

/// The memtables of a generation.
pub(crate) trait MemtableEnv {
    /// Where a key leads in its memtable.
    type LeafHint<'k>;
    /// The entries of a write, located in the memtables of a generation.
    type Located;
    /// What an insert leaves to be done after its write; by default nothing.
    type Deferred: Default;
    /// Does the part of an insert that needs no sequence number. `hint` is of the only
    /// key.
    fn locate(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        hint: Option<Self::LeafHint<'_>>,
    ) -> Result<Self::Located>;
    /// Inserts the operations of a write, the first of which gets the number `first`.
    /// `located`, if set, was located for them in the same generation, before `first`
    /// was allocated (V5 of `concurrent::art::versions`). If the write reads its own
    /// prefix, everything before `first` is in the memtables (C7). What it leaves to be done
    /// goes to `deferred`, where it stays: later writes wait while it is moved.
    fn insert(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        located: Option<Self::Located>,
        first: SequenceNumber,
        deferred: &mut Self::Deferred,
    ) -> Result<()>;
    /// Does what an insert has left, and leaves nothing. Called by its writer when others wait
    /// for it no longer, or only for the disk. If it is never called, reads are slower, not
    /// wrong. An insert that was not located leaves nothing to be done.
    fn run_deferred(&self, generation: &Generation, deferred: &mut Self::Deferred);
}

/// Is told about the progress of writes.
pub(crate) trait CommitObserver {
    /// Measures a step until the result is dropped.
    fn step(&self, step: Step) -> StepTimer<'_>;
    /// A write has reached a point of the sequence.
    #[inline]
    fn hit(&self, _: Point, _: SequenceNumber) {}
    /// So many writes are committed together.
    fn record_group(&self, writes: usize);
    /// A write of so many bytes was inserted and not logged. Called when others wait for it no
    /// longer.
    #[inline]
    fn record_unlogged(&self, _bytes: usize) {}
}
