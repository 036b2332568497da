//! Writing: the database as the commit sequence's environment.

use super::Engine;
use super::failure::Source;
use super::merge_folding::Folding;
use super::timestamps::Stamped;
use crate::column_family::{ColumnFamilyData, no_timestamp};
use crate::entry::check_lengths;
use crate::memtable::operations::{Operations, SingleOp};
use crate::memtable::{DeferredWork, Inserter, LeafHint, LocatedBatch, LocatedEntries};
use crate::options::commit_protocol::CommitProtocol;
use crate::options::read::{WriteSpec, has_checksums};
use crate::panics::{Guarded, caught};
use crate::perf_context::{Step, StepTimer};
use crate::stats::{Histogram, Ticker};
use crate::sync_points::Point;
use crate::thread_pools::pool::Waiting;
use crate::write::generation::{Generation, Reservation};
use crate::write::group::{self, Grouped, Leader};
use crate::write::request::{Write, WriteFlags, WriteRequest};
use crate::write::stall::Pressure;
use crate::write::unordered::{self, Unordered};
use crate::write::wal::Link;
use crate::write::{CommitEnv, Prefetched, ordered, record};
use arc_swap::Guard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::batch::{self, Batch, HEADER_SIZE, Op};
use whitewater_storage::key::{SequenceNumber, ValueType};
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::wal::CompressedRecord;
use whitewater_storage::{Error, Result};

/// Bytes that one batch may come to in memory: a radix tree takes that much
/// beyond the largest write buffer it serves.
const MAX_BATCH_MEMORY: u64 = batch::MAX_SIZE;

/// Bytes that an entry takes in a memtable beside its key and value, at most.
const ENTRY_OVERHEAD: u64 = 128;

/// Bytes in memory from which on batches take turns: one of them, however large,
/// has room in a radix tree that is not full, and many small ones beside it.
const LARGE: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

impl Engine {
    /// Commits one operation on the column family with id `cf`.
    pub fn write_one(
        &self,
        cf: u32,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
        spec: &WriteSpec,
    ) -> Result<()> {
        let stamped = self.stamp(ty, value);
        let value = stamped.as_deref().unwrap_or(value);
        check_lengths(key, value)?;
        if cf == 0 {
            // The default family is always there.
            check_unstamped(self.default_cf())?;
        } else {
            let generation = self.generation.load();
            generation.memtables.check_unstamped(cf)?;
            if !spec.ignore_missing_column_families {
                check_family(&generation, cf)?;
            }
        }
        let reads_own_prefix = ty == ValueType::Merge && {
            let generation = self.generation.load();
            self.check_merge(&generation, cf)?;
            generation.memtables.folds(cf)
        };
        let flags = flags(spec, reads_own_prefix);
        let prefetched = self.prefetch(cf, ty, key, reads_own_prefix);
        if self.protocol == CommitProtocol::Ordered
            && !has_checksums(spec.protection_bytes_per_key)?
        {
            let operations = Operations::Single(SingleOp::new(cf, ty, key, value));
            return self.commit_ordered(&Write { operations, flags }, prefetched, spec);
        }
        let mut batch = record::spare_batch();
        protect(&mut batch, spec)?;
        batch.push(cf, ty, key, value);
        let request = WriteRequest { batch, flags };
        let outcome = self.commit(&request, prefetched, spec);
        record::keep_batch(request.batch);
        outcome
    }

    /// Commits `batch`, of which `stamped` tells what came with timestamps.
    ///
    /// # Errors
    /// Then no part of the batch is visible, now or later in this process; but
    /// where an insert failed with [`CommitProtocol::Unordered`], a part may be.
    /// After `IOError` it may turn out durable when the database is reopened.
    pub fn write(&self, mut batch: Batch, stamped: &Stamped, spec: &WriteSpec) -> Result<()> {
        protect(&mut batch, spec)?;
        let batch = self.stamp_batch(batch)?;
        let reads_own_prefix =
            self.check_batch(&batch, stamped, spec.ignore_missing_column_families)?;
        let flags = flags(spec, reads_own_prefix);
        self.commit(&WriteRequest { batch, flags }, None, spec)
    }

    /// Asks for the memory that the insert of one entry is going to wait for, before
    /// all that can be done without it.
    #[inline]
    fn prefetch<'k>(
        &self,
        cf: u32,
        ty: ValueType,
        key: &'k [u8],
        reads_own_prefix: bool,
    ) -> Option<Prefetched<'k>> {
        // Who is in order waits for a turn, and a leader inserts for others.
        if reads_own_prefix || self.protocol != CommitProtocol::Ordered {
            return None;
        }
        let generation = self.generation.load();
        let hint = generation.memtables.get(cf)?.find_leaf(ty, key);
        Some(Prefetched { generation, hint })
    }

    /// Commits a batch that was checked.
    fn commit(
        &self,
        request: &WriteRequest,
        prefetched: Option<Prefetched<'_>>,
        spec: &WriteSpec,
    ) -> Result<()> {
        let write = request.write();
        let leader = || Leader {
            env: self,
            max_group_bytes: self.options.max_write_batch_group_size_bytes,
        };
        match self.protocol {
            CommitProtocol::Ordered => self.commit_ordered(&write, prefetched, spec),
            CommitProtocol::Grouped | CommitProtocol::Pipelined => {
                let steps = Grouped {
                    leader: leader(),
                    concurrent_inserts: self.options.allow_concurrent_memtable_write,
                    pipelined: self.protocol == CommitProtocol::Pipelined,
                };
                self.once_admitted(&write, None, spec, |_| {
                    group::commit(&self.queue, &steps, request)
                })
            }
            CommitProtocol::Unordered => {
                let steps = Unordered { leader: leader() };
                self.once_admitted(&write, None, spec, |_| {
                    unordered::commit(&self.queue, &steps, request)
                })
            }
        }
    }

    #[inline]
    fn commit_ordered(
        &self,
        write: &Write<'_>,
        prefetched: Option<Prefetched<'_>>,
        spec: &WriteSpec,
    ) -> Result<()> {
        self.once_admitted(write, prefetched, spec, |prefetched| {
            ordered::commit(self, write, prefetched)
        })
    }

    /// Has `commit` commit `write` once it is admitted, if there is anything to
    /// commit. `ahead` goes on to it, unless the write had to wait.
    #[inline]
    fn once_admitted<'k>(
        &self,
        write: &Write<'_>,
        mut prefetched: Option<Prefetched<'k>>,
        spec: &WriteSpec,
        commit: impl FnOnce(Option<Prefetched<'k>>) -> Result<()>,
    ) -> Result<()> {
        let Write { operations, flags } = write;
        if flags.sync && flags.disable_wal {
            return Err(Error::invalid("Sync writes has to enable WAL."));
        }
        let _timer = self.time(Histogram::DbWrite);
        if is_empty(operations) {
            self.check_writer()?;
            // Nothing to write, but perhaps something to make durable.
            return if flags.sync {
                self.flush_wal(true)
            } else {
                Ok(())
            };
        }
        if self.may_have_to_wait(spec) {
            prefetched = None;
            self.admit(operations.size(), spec)?;
        }
        // Nothing was done yet, and nothing waits for it.
        operations.verify()?;
        // After stalls, so that nobody waits for one behind another. Until it is
        // inserted: the next one finds out whether the memtable is full then.
        let _turn = is_large(operations).then(|| {
            prefetched = None;
            self.large.lock()
        });
        commit(prefetched)
    }

    /// Whether there is anything that a write has to [`admit`](Self::admit) for.
    #[inline]
    fn may_have_to_wait(&self, spec: &WriteSpec) -> bool {
        spec.low_pri || self.tenant.is_some() || self.gate.pressure() != Pressure::None
    }

    /// Waits until a write of `bytes` may go ahead, whatever the protocol. It
    /// holds nothing meanwhile.
    fn admit(&self, bytes: usize, spec: &WriteSpec) -> Result<()> {
        // For background threads, which the caller may be one of.
        let _waiting = Waiting::begin();
        if spec.low_pri {
            let waited = self.gate.pass_low_pri(bytes, spec.no_slowdown)?;
            self.count_low_pri(waited);
        }
        let mut stalled = self.gate.pass(bytes, spec.no_slowdown)?;
        if let Some(tenant) = &self.tenant {
            let waited = tenant.pass(spec.no_slowdown)?;
            if !waited.is_zero() {
                self.gate.count_budget_stop();
            }
            if tenant.budget().should_stall() && tenant.is_out() {
                self.why_no_budget()?;
            }
            stalled += waited;
        }
        if !stalled.is_zero() {
            self.count_stall(stalled);
        }
        Ok(())
    }

    /// Refuses a batch that could not be applied, before it takes numbers.
    /// Returns whether it has merges that may be stored as values.
    fn check_batch(
        &self,
        batch: &Batch,
        stamped: &Stamped,
        ignore_missing_cf: bool,
    ) -> Result<bool> {
        check_size(batch.bytes().len() as u64, batch.count())?;
        let generation = self.generation.load();
        stamped.check(batch, &generation.memtables)?;
        let mut found = 0u32;
        let mut folds = false;
        for op in batch.ops() {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            found += 1;
            if !ignore_missing_cf {
                check_family(&generation, cf)?;
            }
            check_lengths(key, value)?;
            if !is_writable(ty) {
                return Err(Error::not_supported(format_args!(
                    "writing entries of type {ty:?}"
                )));
            }
            if ty == ValueType::Merge {
                if !takes_merges(&generation, cf) {
                    self.check_writer()?;
                    return Err(merge_in_batch());
                }
                folds |= generation.memtables.folds(cf);
            }
        }
        if found != batch.count() {
            return Err(Error::corruption(format_args!(
                "write batch holds {found} operations but says {}",
                batch.count()
            )));
        }
        Ok(folds)
    }

    /// Refuses a merge in the column family `cf` if nobody could read it again.
    ///
    /// # Errors
    /// RocksDB's, `NotSupported`; with a time to live, where a merge is a batch, that
    /// of a batch.
    fn check_merge(&self, generation: &Generation, cf: u32) -> Result<()> {
        if takes_merges(generation, cf) {
            return Ok(());
        }
        // A database that takes no writes at all says that instead.
        self.check_writer()?;
        if self.options.stamps_values {
            return Err(merge_in_batch());
        }
        Err(Error::not_supported(
            "Provide a merge_operator when opening DB",
        ))
    }

    /// Hands the log to the operating system, or makes it durable: all writes
    /// that were acknowledged before the call.
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        if !sync {
            if !self.options.manual_wal_flush || planted(Bug::FlushWalDoesNothing) {
                self.check_writer()?;
                return Ok(()); // every record is handed over as it is written
            }
            Self::check_healthy(&self.lock_state())?;
            let _here = self.generation.load();
            return self
                .wal
                .flush()
                .inspect_err(|e| self.report(Source::Log, e, "writing the log"));
        }
        Self::check_healthy(&self.lock_state())?;
        // A resumption waits for this one, too, before it changes the log.
        let _here = self.generation.load();
        self.make_durable(self.publication.visible())
    }
}

/// What `spec` asks for.
#[inline]
fn flags(spec: &WriteSpec, reads_own_prefix: bool) -> WriteFlags {
    WriteFlags {
        sync: spec.sync,
        disable_wal: spec.disable_wal,
        insert_hint: spec.insert_hint,
        reads_own_prefix,
    }
}

/// Whether there is nothing to write, or only the link that another's log
/// began with, which this one's must not have in its midst.
#[inline]
fn is_empty(operations: &Operations<'_>) -> bool {
    let Operations::Batch(batch) = operations else {
        return false;
    };
    let bytes = batch.bytes();
    batch.count() == 0 && (bytes.len() == HEADER_SIZE || Link::decode(bytes).is_some())
}

/// Whether a write takes so much memory that it waits for its turn.
#[inline]
fn is_large(operations: &Operations<'_>) -> bool {
    memory_of(operations.size() as u64, operations.count()) > LARGE
}

/// Gives the entries of `batch` checksums, if `spec` asks for them.
#[inline]
fn protect(batch: &mut Batch, spec: &WriteSpec) -> Result<()> {
    if has_checksums(spec.protection_bytes_per_key)? {
        batch.protect()?;
    }
    Ok(())
}

/// Refuses an operation without a timestamp where keys have some.
#[inline]
fn check_unstamped(cf: &ColumnFamilyData) -> Result<()> {
    match cf.comparator.user.timestamp_size() {
        0 => Ok(()),
        _ => Err(no_timestamp(&cf.name)),
    }
}

/// Refuses an operation on a column family that is not there.
fn check_family(generation: &Generation, cf: u32) -> Result<()> {
    match generation.memtables.position(cf) {
        Some(_) => Ok(()),
        None => Err(Error::invalid(format_args!(
            "Invalid column family specified in write batch: id {cf}"
        ))),
    }
}

/// Whether merges in the column family `cf` can be read again. One that is not there
/// gets none.
#[inline]
fn takes_merges(generation: &Generation, cf: u32) -> bool {
    let memtable = generation.memtables.get(cf);
    memtable.is_none_or(|m| m.takes_merges())
}

/// A batch has a merge for a column family without merge operator: RocksDB's words.
#[cold]
fn merge_in_batch() -> Error {
    Error::invalid("Merge requires `ColumnFamilyOptions::merge_operator != nullptr`")
}

fn is_writable(ty: ValueType) -> bool {
    matches!(
        ty,
        ValueType::Value
            | ValueType::Deletion
            | ValueType::SingleDeletion
            | ValueType::Merge
            | ValueType::RangeDeletion
    )
}

impl CommitEnv for Engine {
    type Prepared = Option<LocatedBatch>;
    type DeferredWork = Option<DeferredWork>;

    #[inline]
    fn enter(&self) -> Result<Guard<Arc<Generation>>> {
        if self.attention.load(Ordering::Relaxed) {
            self.attend()?; // refuses after a failure (C5)
        }
        if let Some(tenant) = &self.tenant
            && tenant.budget().should_flush()
        {
            self.relieve_budget(tenant)?;
        }
        Ok(self.generation.load())
    }

    #[inline]
    fn is_current(&self) -> bool {
        !self.attention.load(Ordering::Relaxed) && self.tenant.is_none()
    }

    #[cold]
    fn await_switch(&self) {
        drop(self.switching.read());
        if self.generation.load().end().is_none() {
            // The switch failed, or the database was closed: say so.
            self.ask_for_attention();
        }
    }

    #[cold]
    fn extend_wal(&self, generation: &Generation, upto: u64) -> Result<()> {
        self.tick(Ticker::WalExtendCalls, 1);
        self.wal.make_room(&generation.wal, upto)
    }

    #[inline]
    fn extend_wal_ahead(&self, generation: &Generation, end: u64) {
        if self.wal.keep_ahead(&generation.wal, end) {
            self.tick(Ticker::WalExtendCalls, 1);
        }
    }

    #[inline]
    fn packs(&self) -> bool {
        self.wal.packs()
    }

    #[inline]
    fn pack(&self, parts: &[&[u8]]) -> Result<Option<CompressedRecord>> {
        self.wal.pack(parts)
    }

    #[cold]
    fn replace_full(&self, full: Guard<Arc<Generation>>) -> Result<()> {
        let base = full.base();
        // Whoever holds a generation must not wait for a switch (S6 of
        // `db::switch`).
        drop(full);
        let switching = self.switching();
        let generation = self.generation.load();
        if generation.base() != base || generation.end().is_none() {
            return Ok(()); // somebody else has
        }
        let log_is_empty = generation.log_is_empty();
        drop(generation);
        if log_is_empty {
            return self.renew_generation(&switching).map(drop);
        }
        // Its log may be full, too.
        self.renew_log(&switching)
    }

    #[inline]
    fn log(
        &self,
        generation: &Generation,
        reservation: &Reservation,
        parts: &[&[u8]],
    ) -> Result<()> {
        let timer = self.step(Step::Append);
        let put = generation.wal.put(reservation.at, parts);
        if !planted(Bug::LogFailureIgnored) {
            put?;
        }
        drop(timer);
        self.hit(Point::Appended, reservation.first);
        let limit = self.log_limit.load(Ordering::Relaxed);
        if self.wal.older_bytes() + reservation.end > limit {
            self.ask_for_attention();
        }
        self.tick(Ticker::WalWriteCalls, 1);
        self.tick(
            Ticker::WalFileBytes,
            parts.iter().map(|p| p.len() as u64).sum(),
        );
        Ok(())
    }

    #[inline]
    fn prepare(
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

    fn apply(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        prepared: Option<Option<LocatedBatch>>,
        first: SequenceNumber,
    ) -> Result<Option<DeferredWork>> {
        let inserted = caught(Guarded::Comparator("an insert"), || {
            self.insert(generation, write, prepared.flatten(), first)
        });
        if inserted.is_ok() {
            self.hit(Point::Inserted, first);
        }
        inserted
    }

    #[inline]
    fn run_deferred(&self, generation: &Generation, deferred: Option<DeferredWork>) {
        if let Some(deferred) = deferred {
            deferred.run(|cf| generation.memtables.get(cf));
        }
    }

    fn prefix_turn(&self) -> &Mutex<()> {
        &self.prefix_turn
    }

    fn grouped(&self, writes: usize) {
        self.tick(Ticker::WriteDoneBySelf, 1);
        self.tick(Ticker::WriteDoneByOther, writes as u64 - 1);
    }

    #[inline]
    fn step(&self, step: Step) -> StepTimer<'_> {
        Engine::step(self, step)
    }

    #[inline]
    fn hit(&self, point: Point, number: SequenceNumber) {
        self.options.hook.hit(point, number);
    }

    fn publication(&self) -> &Publication {
        &self.publication
    }

    fn make_durable(&self, last: SequenceNumber) -> Result<()> {
        let _step = self.step(Step::SyncWait);
        self.durable.run_until(last, || {
            // Whatever is visible is in the log (C4).
            let upto = self.publication.visible().max(last);
            self.hit(Point::Syncing, upto);
            let timer = self.time(Histogram::WalFileSyncMicros);
            let mut synced = self.wal.sync(upto);
            if planted(Bug::SyncFailureIgnored) {
                synced = synced.or(Ok(Vec::new()));
            }
            let synced = synced.and_then(|logs| self.track_synced(logs));
            drop(timer);
            match &synced {
                Ok(()) => {
                    self.stats.syncs.add(1);
                    self.tick(Ticker::WalFileSynced, 1);
                }
                Err(e) => self.report(Source::Log, e, "syncing the log"),
            }
            synced.map(|()| upto)
        })
    }

    fn fail(&self, first: SequenceNumber, error: &Error) {
        // In this order: C5, F1 of `failure`.
        if !planted(Bug::FailureNotReported) {
            self.report(Source::Write, error, "a write");
        }
        self.publication.fail(first);
    }

    fn failure(&self) -> Error {
        self.first_error()
    }
}

impl Engine {
    /// Notes that a write of `bytes` is not in the log.
    fn record_unlogged(&self, bytes: usize) {
        self.stats.unlogged_bytes.add(0, bytes as u64);
        if !self.unlogged.load(Ordering::Relaxed) {
            self.unlogged.store(true, Ordering::Relaxed);
        }
    }

    fn insert(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        prepared: Option<LocatedBatch>,
        first: SequenceNumber,
    ) -> Result<Option<DeferredWork>> {
        let _timer = self.step(Step::Insert);
        // It may have waited for long, and was logged meanwhile.
        write.operations.verify()?;
        if write.flags.disable_wal {
            self.record_unlogged(write.operations.size());
        }
        // A column family may have been dropped since the check: its entries
        // take their numbers and go nowhere, as at recovery.
        let memtable_of = |cf| {
            generation
                .memtables
                .get(cf)
                .filter(|_| is_inserted(write, cf))
        };
        let prepared = match prepared {
            Some(LocatedBatch::Single(one)) => {
                let (full, deferred) = one.link(first, memtable_of)?;
                if full {
                    self.ask_for_attention();
                }
                self.count_write(write, 1);
                return Ok(deferred);
            }
            Some(LocatedBatch::Many(many)) => many,
            None => LocatedEntries::default(),
        };
        let folding = Folding::new(self, &generation.memtables);
        let mut inserter = Inserter::new(write.flags.insert_hint);
        if write.flags.reads_own_prefix {
            inserter.fold_by(&folding);
        }
        let next = match &write.operations {
            Operations::Batch(batch) => {
                prepared.insert(batch, first, memtable_of, &mut inserter)?
            }
            Operations::Single(one) => {
                if let Some(memtable) = memtable_of(one.cf) {
                    inserter.add(memtable, one.ty, one.key, one.value, first)?;
                }
                first + 1
            }
        };
        if inserter.finish()? {
            self.ask_for_attention();
        }
        let updated = inserter.updated();
        if updated > 0 {
            self.tick(Ticker::NumberKeysUpdated, updated);
        }
        self.count_write(write, next - first);
        Ok(None)
    }
}

/// Whether what `write` holds for the column family `cf` is inserted: always,
/// but for a planted bug.
#[inline(always)]
fn is_inserted(write: &Write<'_>, cf: u32) -> bool {
    let Operations::Batch(batch) = write.operations else {
        return true;
    };
    if !planted(Bug::FamilyLeftOut) {
        return true;
    }
    let first = batch.ops().find_map(|op| match op {
        Ok(Op::Entry { cf, .. }) => Some(cf),
        _ => None,
    });
    first == Some(cf)
}

/// Bytes of memory that a batch takes in memtables, at most.
fn memory_of(bytes: u64, entries: u32) -> u64 {
    bytes + u64::from(entries) * ENTRY_OVERHEAD
}

/// Refuses a batch that would take too much memory.
fn check_size(bytes: u64, entries: u32) -> Result<()> {
    let memory = memory_of(bytes, entries);
    if memory > MAX_BATCH_MEMORY {
        return Err(Error::invalid(format_args!(
            "write batch of {bytes} bytes and {entries} operations would take {memory} bytes of memory, the most is \
             {MAX_BATCH_MEMORY}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    /// Compressed logs are read up to that size.
    #[test]
    fn no_batch_is_accepted_that_is_larger_than_a_log_record() {
        assert!(check_size(batch::MAX_SIZE, 0).is_ok());
        assert!(check_size(batch::MAX_SIZE + 1, 0).is_err());
    }

    #[test]
    fn batches_of_too_many_bytes_or_operations_are_refused() {
        assert!(check_size(12, 0).is_ok());
        assert!(check_size(3 << 30, 1 << 20).is_ok());
        for (bytes, entries) in [
            (5 << 30, 1),
            (200 << 20, 40 << 20),
            (u64::from(u32::MAX), u32::MAX),
        ] {
            let e = check_size(bytes, entries).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            assert!(e.to_string().contains("write batch of"), "{e}");
        }
    }
}
