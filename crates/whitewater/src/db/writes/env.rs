//! The database as the environment of the commit sequence.

use super::super::Engine;
use super::super::failure::Source;
use super::super::merge_folding::Folding;
use crate::memtable::operations::Operations;
use crate::memtable::sections::{EntryNumbers, SectionWrite};
use crate::memtable::{DeferredWork, Inserter, LeafHint, LocatedBatch, LocatedEntries, Memtable};
use crate::options::commit_protocol::CommitProtocol;
use crate::panics::{Guarded, caught};
use crate::perf_context::{Step, StepTimer};
use crate::stats::{Histogram, Ticker};
use crate::sync_points::Point;
use crate::thread_pools::pool::Waiting;
use crate::write::env::{
    AdmitEnv, CommitEnv, CommitObserver, GenerationEnv, LargeBatchTurn, MemtableEnv, PrefixTurn,
    WalEnv,
};
use crate::write::generation::{Generation, Reservation};
use crate::write::request::{Write, WriteFlags};
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::system::Mutex;
use whitewater_concurrent::undecided::Undecided;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;
use whitewater_storage::wal::CompressedRecord;
use whitewater_storage::{Error, Result};

impl CommitEnv for Engine {
    fn publication(&self) -> &Publication {
        &self.commit.publication
    }

    fn fail(&self, first: SequenceNumber, error: &Error) {
        // In this order: C5, F1 of `failure`.
        planted!(FailureNotReported => return self.commit.publication.fail(first));
        self.report(Source::Write, error, "a write");
        self.commit.publication.fail(first);
    }

    fn failure(&self) -> Error {
        self.first_error()
    }

    fn prefix_turn(&self) -> &Mutex<PrefixTurn> {
        &self.commit.prefix_turn
    }

    #[inline]
    fn undecided(&self) -> Option<&Undecided> {
        self.commit.undecided.as_deref()
    }

    fn note_section(
        &self,
        generation: &Generation,
        write: &SectionWrite,
        first: SequenceNumber,
    ) -> Result<()> {
        self.note(generation, write, first)
    }
}

impl AdmitEnv for Engine {
    #[inline]
    fn may_stall(&self, flags: &WriteFlags) -> bool {
        self.commit.may_stall(flags)
    }

    fn await_admission(&self, bytes: usize, flags: &WriteFlags) -> Result<()> {
        // Tells the pools of background threads, which the caller may belong to.
        let _waiting = Waiting::begin();
        if flags.low_pri {
            let waited = self.commit.gate.pass_low_pri(bytes, flags.no_slowdown)?;
            self.count_low_pri(waited);
        }
        if self.commit.gate.is_locked() {
            self.await_unlocked(flags.no_slowdown)?;
        }
        let mut stalled = self.commit.gate.pass(bytes, flags.no_slowdown)?;
        if let Some(budget_client) = &self.commit.budget_client {
            let waited = budget_client.pass(flags.no_slowdown)?;
            if !waited.is_zero() {
                self.commit.gate.count_budget_stop();
            }
            if budget_client.budget().should_stall() && budget_client.is_out() {
                self.why_no_budget()?;
            }
            stalled += waited;
        }
        if !stalled.is_zero() {
            self.count_stall(stalled);
        }
        Ok(())
    }

    fn large_batch_turn(&self) -> &Mutex<LargeBatchTurn> {
        &self.commit.large_batch_turn
    }

    #[cold]
    fn commit_empty(&self, sync: bool) -> Result<()> {
        self.check_writer()?;
        if sync { self.flush_wal(true) } else { Ok(()) }
    }
}

impl GenerationEnv for Engine {
    #[inline]
    fn enter(&self) -> Result<Guard<Arc<Generation>>> {
        if self.commit.wants_attention() {
            self.run_requested_switch()?; // refuses after a failure (C5)
        }
        if let Some(budget_client) = &self.commit.budget_client
            && budget_client.budget().should_flush()
        {
            self.relieve_budget(budget_client)?;
        }
        Ok(self.commit.generations.load())
    }

    #[inline]
    fn nothing_due(&self) -> bool {
        !self.commit.wants_attention() && self.commit.budget_client.is_none()
    }

    #[cold]
    fn await_switch(&self) {
        self.commit.generations.await_switch();
        self.commit.generations.await_unlocked();
        if self.commit.generations.load().end().is_none() {
            // The switch failed, or the database was closed: `enter` reports it.
            self.commit.ask_for_attention();
        }
    }

    #[cold]
    fn replace_full(&self, full: Guard<Arc<Generation>>) -> Result<()> {
        let base = full.base();
        // Never wait for a switch while holding a generation (S6 of `db::switch`).
        drop(full);
        let switching = self.commit.generations.switching();
        let generation = self.commit.generations.load();
        if generation.base() != base || generation.end().is_none() {
            return Ok(()); // another writer has replaced it
        }
        let log_is_empty = generation.log_is_empty();
        drop(generation);
        if log_is_empty {
            return self.renew_generation(&switching).map(drop);
        }
        // Its log may be full, too.
        self.renew_log(&switching)
    }
}

impl WalEnv for Engine {
    #[inline]
    fn compresses(&self) -> bool {
        self.commit.wal.compresses()
    }

    #[inline]
    fn compress(&self, parts: &[&[u8]]) -> Result<Option<CompressedRecord>> {
        self.commit.wal.compress(parts)
    }

    #[cold]
    fn extend_wal(&self, generation: &Generation, upto: u64) -> Result<()> {
        self.tick(Ticker::WalExtendCalls, 1);
        self.commit.wal.extend_to(&generation.wal, upto)
    }

    #[inline]
    fn extend_wal_ahead(&self, generation: &Generation, end: u64) {
        if self.commit.wal.extend_ahead(&generation.wal, end) {
            self.tick(Ticker::WalExtendCalls, 1);
        }
    }

    #[inline]
    fn append_wal(
        &self,
        generation: &Generation,
        reservation: &Reservation,
        parts: &[&[u8]],
    ) -> Result<()> {
        let timer = self.step(Step::Append);
        generation.wal.put(reservation.at, parts)?;
        drop(timer);
        self.hit(Point::Appended, reservation.first);
        self.commit.check_log_limit(reservation.end);
        if let Some(statistics) = self.statistics() {
            let bytes = parts.iter().map(|p| p.len() as u64).sum();
            statistics.add(Ticker::WalWriteCalls, 1);
            statistics.add(Ticker::WalFileBytes, bytes);
        }
        Ok(())
    }

    fn sync_wal(&self, last: SequenceNumber) -> Result<()> {
        let _step = self.step(Step::SyncWait);
        self.commit.durable.run_until(last, || {
            // Everything visible is in the log (C4).
            let upto = self.commit.publication.visible().max(last);
            self.hit(Point::Syncing, upto);
            let timer = self.time(Histogram::WalFileSyncMicros);
            let synced = self.commit.wal.sync(upto);
            let synced = synced.and_then(|logs| self.track_synced(logs));
            drop(timer);
            match &synced {
                Ok(()) => {
                    self.observers.stats.syncs.add(1);
                    self.tick(Ticker::WalFileSynced, 1);
                }
                Err(e) => self.report(Source::Log, e, "syncing the log"),
            }
            synced.map(|()| upto)
        })
    }
}

impl MemtableEnv for Engine {
    type LeafHint<'k> = LeafHint<'k>;
    type Located = Option<LocatedBatch>;
    type Deferred = Option<DeferredWork>;

    #[inline]
    fn locate(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        hint: Option<LeafHint<'_>>,
    ) -> Result<Option<LocatedBatch>> {
        let _timer = self.step(Step::Locate);
        let memtable_of = |cf| generation.memtables.get(cf);
        caught(Guarded::Comparator("an insert"), || {
            Ok(LocatedBatch::new(write.operations, hint, memtable_of))
        })
    }

    fn insert(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        located: Option<Option<LocatedBatch>>,
        first: SequenceNumber,
        deferred: &mut Option<DeferredWork>,
    ) -> Result<()> {
        let inserted = caught(Guarded::Comparator("an insert"), || {
            self.insert_into(generation, write, located.flatten(), first, deferred)
        });
        if inserted.is_ok() {
            self.hit(Point::Inserted, first);
        }
        inserted
    }

    #[inline]
    fn run_deferred(&self, generation: &Generation, deferred: &mut Option<DeferredWork>) {
        if let Some(deferred) = deferred.take() {
            deferred.run(|cf| generation.memtables.get(cf));
        }
    }
}

impl CommitObserver for Engine {
    #[inline]
    fn step(&self, step: Step) -> StepTimer<'_> {
        Engine::step(self, step)
    }

    #[inline]
    fn hit(&self, point: Point, number: SequenceNumber) {
        self.options.hook.hit(point, number);
    }

    fn record_group(&self, writes: usize) {
        self.tick(Ticker::WriteDoneBySelf, 1);
        self.tick(Ticker::WriteDoneByOther, writes as u64 - 1);
    }

    fn record_unlogged(&self, bytes: usize) {
        self.observers.stats.unlogged_bytes.add(0, bytes as u64);
    }
}

impl Engine {
    fn insert_into(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        located: Option<LocatedBatch>,
        first: SequenceNumber,
        deferred: &mut Option<DeferredWork>,
    ) -> Result<()> {
        let _timer = self.step(Step::Insert);
        // The write may have waited for long, and was logged meanwhile.
        write.operations.verify()?;
        if write.flags.disable_wal {
            self.commit.note_unlogged();
        }
        if self.commit.empty_ranges.any() {
            self.end_empty_ranges(write);
        }
        let memtable_of = |cf| inserted_into(generation, write, cf);
        let entries = match located {
            Some(LocatedBatch::Single(entry)) => {
                if entry.link(first, memtable_of, deferred)? {
                    self.commit.ask_for_attention();
                }
                self.count_write(write, 1);
                return Ok(());
            }
            Some(LocatedBatch::Many(entries)) => entries,
            None => LocatedEntries::default(),
        };
        self.insert_many(generation, write, entries, first)
    }

    /// Ends the ranges known to be empty that `write` puts something into (E1 of `empty_ranges`).
    #[cold]
    #[inline(never)]
    fn end_empty_ranges(&self, write: &Write<'_>) {
        let ranges = &self.commit.empty_ranges;
        let note = |batch: &Batch| {
            for op in batch.ops() {
                match op {
                    Ok(Op::Entry { cf, ty, key, .. }) => ranges.note(cf, ty, key),
                    Ok(_) => {}
                    Err(_) => ranges.end_all(),
                }
            }
        };
        match &write.operations {
            Operations::Batch(batch) => note(batch),
            Operations::Single(op) => ranges.note(op.cf, op.ty, op.key),
            Operations::Section(section) => section.inserted().for_each(note),
        }
    }

    // Not inlined: the inserter is large, and a single entry needs none.
    #[inline(never)]
    fn insert_many(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        located: LocatedEntries,
        first: SequenceNumber,
    ) -> Result<()> {
        let memtable_of = |cf| inserted_into(generation, write, cf);
        let folding = Folding::new(self, &generation.memtables);
        let mut inserter = Inserter::new(write.flags.insert_hint);
        if write.flags.reads_own_prefix {
            inserter.fold_by(&folding);
        }
        let entries = match &write.operations {
            Operations::Batch(batch) => {
                let numbers = (first, EntryNumbers::Ascending);
                located.insert(batch, numbers, memtable_of, &mut inserter)?
            }
            Operations::Single(op) => {
                if let Some(memtable) = memtable_of(op.cf) {
                    inserter.add(memtable, op.ty, op.key, op.value, first)?;
                }
                1
            }
            Operations::Section(section) => {
                if self.commit.protocol != CommitProtocol::Unordered {
                    self.note(generation, section, first)?;
                }
                if section.entries() == 0 {
                    self.tick(Ticker::WriteWithWal, 1);
                    return Ok(());
                }
                let batches = section.inserted().filter(|batch| batch.count() > 0);
                let mut located = Some(located); // of the only one
                batches.into_iter().try_fold(0, |entries, batch| {
                    let located = located.take().unwrap_or_default();
                    let numbers = (first + entries, section.entry_numbers());
                    let more = located.insert(batch, numbers, memtable_of, &mut inserter)?;
                    Ok::<u64, Error>(entries + more)
                })?
            }
        };
        if inserter.finish()? {
            self.commit.ask_for_attention();
        }
        let updated = inserter.updated();
        if updated > 0 {
            self.tick(Ticker::NumberKeysUpdated, updated);
        }
        self.count_write(write, entries);
        Ok(())
    }
}

/// The memtable that gets the entries of `write` in the column family `cf`.
///
/// A column family may have been dropped since the check: its entries take their numbers and
/// are not inserted, as at recovery.
#[inline(always)]
fn inserted_into<'g>(
    generation: &'g Generation,
    write: &Write<'_>,
    cf: u32,
) -> Option<&'g Arc<Memtable>> {
    let is_batch = matches!(write.operations, Operations::Batch(_));
    planted!(FamilyLeftOut => if is_batch && cf > 0 { return None });
    generation.memtables.get(cf)
}
