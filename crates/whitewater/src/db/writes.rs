//! Writing: the database as the commit sequence's environment.

use super::Engine;
use super::state::DbState;
use crate::memtable::{Home, Inserter, Memtable};
use crate::options::CfOptions;
use crate::options::read::WriteSpec;
use crate::perf::Step;
use crate::stats::{Histogram, Ticker};
use crate::write::group::{self, Grouped};
use crate::write::{Barrier, CommitEnv, MemtableMap, Request, WriteRequest};
use parking_lot::Mutex;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::{SequenceNumber, ValueType};
use whitewater_storage::{Error, ErrorKind, Result};

thread_local! {
    /// The memory of the last single-operation batch of this thread.
    static SPARE: Cell<Option<Batch>> = const { Cell::new(None) };
}

/// Bytes that key and value together must stay below: tables take entries of
/// less than 1 GiB, tag and lengths included.
pub(crate) const MAX_ENTRY: usize = (1 << 30) - 64;

/// Bytes that one batch may come to in memory: a radix tree takes that much
/// beyond the largest write buffer it serves.
const MAX_BATCH_MEMORY: u64 = 4 << 30;

/// Bytes that an entry takes in a memtable beside its key and value, at most.
const ENTRY_OVERHEAD: u64 = 128;

/// Batches larger than this are not kept as a spare.
const SPARE_LIMIT: usize = 64 << 10;

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
        check_lengths(key, value)?;
        let mut batch = SPARE.take().unwrap_or_default();
        batch.clear();
        batch.push(cf, ty, key, value);
        let (outcome, mut batch) = self.commit(batch, spec);
        if batch.bytes().len() <= SPARE_LIMIT {
            batch.clear();
            SPARE.set(Some(batch));
        }
        outcome
    }

    /// Commits `batch`.
    ///
    /// # Errors
    /// Then no part of the batch is visible, now or later in this process.
    /// After `IOError` it may turn out durable when the database is reopened.
    pub fn write(&self, batch: Batch, spec: &WriteSpec) -> Result<()> {
        self.commit(batch, spec).0
    }

    fn commit(&self, batch: Batch, spec: &WriteSpec) -> (Result<()>, Batch) {
        let request = Request::Write(WriteRequest {
            batch,
            sync: spec.sync,
            disable_wal: spec.disable_wal,
            ignore_missing_cf: spec.ignore_missing_column_families,
            insert_hint: spec.insert_hint,
        });
        let outcome = self.commit_request(&request, spec);
        match request {
            Request::Write(w) => (outcome, w.batch),
            Request::Barrier(_) => unreachable!("made above as a write"),
        }
    }

    fn commit_request(&self, request: &Request, spec: &WriteSpec) -> Result<()> {
        let Request::Write(w) = request else {
            return Ok(());
        };
        if w.sync && w.disable_wal {
            return Err(Error::invalid("Sync writes has to enable WAL."));
        }
        let _timer = self.time(Histogram::DbWrite);
        self.check_batch(w)?;
        let mut stalled = self.gate.pass(w.batch.bytes().len(), spec.no_slowdown)?;
        if let Some(tenant) = &self.tenant {
            stalled += tenant.pass(spec.no_slowdown)?;
        }
        if !stalled.is_zero() {
            self.count_stall(stalled);
        }
        self.run(request)
    }

    /// Refuses a batch that could not be applied, before it takes numbers.
    fn check_batch(&self, w: &WriteRequest) -> Result<()> {
        check_size(w.batch.bytes().len() as u64, w.batch.count())?;
        let map = self.memtables.load();
        let mut found = 0u32;
        for op in w.batch.ops() {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            found += 1;
            if map.position(cf).is_none() && !w.ignore_missing_cf {
                return Err(Error::invalid(format_args!(
                    "Invalid column family specified in write batch: id {cf}"
                )));
            }
            check_lengths(key, value)?;
            if !is_writable(ty) {
                return Err(Error::not_supported(format_args!(
                    "writing entries of type {ty:?}"
                )));
            }
        }
        if found != w.batch.count() {
            return Err(Error::corruption(format_args!(
                "write batch holds {found} operations but says {}",
                w.batch.count()
            )));
        }
        Ok(())
    }

    fn run(&self, request: &Request) -> Result<()> {
        let steps = Grouped {
            env: self,
            concurrent_inserts: self.options.allow_concurrent_memtable_write,
            max_group_bytes: self.options.max_write_batch_group_size_bytes,
        };
        group::commit(&self.queue, &steps, request)
    }

    /// Runs `work` while no write is between taking its numbers and being
    /// published.
    pub(crate) fn barrier(&self, work: Barrier) -> Result<()> {
        self.run(&Request::Barrier(Mutex::new(Some(work))))
    }

    /// What the commit leader does when something asked for its attention.
    #[cold]
    fn attend(&self) -> Result<()> {
        // Cleared before looking, so that what comes up meanwhile is seen by
        // the next leader.
        self.attention.store(false, Ordering::Relaxed);
        let log_bytes = self.wal.lock().total_bytes();
        let full: Vec<u32> = {
            let mut state = self.state.lock();
            if let Err(e) = Self::check_healthy(&state) {
                self.attention.store(true, Ordering::Relaxed);
                return Err(e);
            }
            let too_much_log = log_bytes > self.max_total_log_bytes(&state);
            let oldest = state.oldest_wal();
            if too_much_log {
                // What keeps the oldest log must go, were it ever so little.
                let keepers = state
                    .cfs
                    .values_mut()
                    .filter(|cf| cf.oldest_wal() == oldest);
                keepers.for_each(|cf| cf.flush_requested |= !cf.imm.is_empty());
                self.work.notify_all();
            }
            let due =
                |mem: &Memtable| mem.is_full() || (too_much_log && mem.wal_number() == oldest);
            state
                .cfs
                .values()
                .filter(|cf| due(&cf.mem))
                .map(|cf| cf.data.id)
                .collect()
        };
        self.switch_memtables(&full, false)
    }

    fn max_total_log_bytes(&self, state: &DbState) -> u64 {
        match self.options.max_total_wal_size {
            // RocksDB's default: four times all the write buffers there can be.
            0 => {
                let buffers = |o: &CfOptions| {
                    o.write_buffer_size as u64 * o.max_write_buffer_number.max(1) as u64
                };
                4 * state
                    .cfs
                    .values()
                    .map(|cf| buffers(cf.options()))
                    .sum::<u64>()
            }
            n => n,
        }
    }

    /// Switches the memtables of `ids` out (empty ones stay) and starts a new
    /// log if the current one has records. Only between groups: by the commit
    /// leader, or in a barrier.
    pub(crate) fn switch_memtables(&self, ids: &[u32], flush_now: bool) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let wal_number = self.roll_log()?;
        let mut state = self.state.lock();
        let mut next_id = state.next_memtable_id;
        for id in ids {
            let Some(cf) = state.cfs.get_mut(id) else {
                continue;
            };
            cf.flush_requested |= flush_now;
            if cf.mem.is_empty() {
                continue;
            }
            let fresh = Memtable::new(
                cf.options(),
                Home {
                    family: &cf.data.name,
                    tenant: self.tenant.as_ref(),
                },
                wal_number,
                next_id,
            );
            next_id += 1;
            let full = std::mem::replace(&mut cf.mem, fresh);
            full.seal();
            cf.imm.push(full);
            cf.publish();
        }
        state.next_memtable_id = next_id;
        for cf in state.cfs.values().filter(|cf| cf.mem.is_empty()) {
            cf.mem.advance_wal_number(wal_number);
        }
        self.memtables.store(Arc::new(state.memtable_map()));
        self.gate.set(state.pressure());
        drop(state);
        self.work.notify_all();
        Ok(())
    }

    /// Starts a new log unless the current one is empty; returns the number of
    /// the log that later records go to.
    fn roll_log(&self) -> Result<u64> {
        let mut wal = self.wal.lock();
        if !wal.is_empty() {
            let number = self.versions.new_file_number();
            if let Err(e) = wal.roll(number) {
                drop(wal);
                self.poison(&e, "starting a new log");
                return Err(e);
            }
        }
        Ok(wal.number())
    }

    /// Hands the log to the operating system, or makes it durable.
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        if !sync {
            return Ok(()); // every record is handed over as it is written
        }
        let timer = self.time(Histogram::WalFileSyncMicros);
        let synced = self.wal.lock().sync();
        drop(timer);
        match &synced {
            Ok(()) => self.tick(Ticker::WalFileSynced, 1),
            Err(e) => self.poison(e, "syncing the log"),
        }
        synced
    }
}

/// Refuses an entry that no table could hold.
///
/// # Errors
/// `InvalidArgument` for a key and value of [`MAX_ENTRY`] bytes or more.
pub(crate) fn check_lengths(key: &[u8], value: &[u8]) -> Result<()> {
    let bytes = key.len().saturating_add(value.len());
    if bytes >= MAX_ENTRY {
        return Err(Error::invalid(format_args!(
            "key and value of {bytes} bytes: they must stay below {MAX_ENTRY}"
        )));
    }
    Ok(())
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
    fn prepare(&self) -> Result<Arc<MemtableMap>> {
        if self.attention.load(Ordering::Relaxed) {
            self.attend()?;
        }
        if let Some(tenant) = &self.tenant
            && tenant.budget().should_flush()
        {
            self.relieve_budget(tenant)?;
        }
        Ok(self.memtables.load_full())
    }

    fn reserve(&self, count: u64) -> SequenceNumber {
        // Relaxed: leaders follow one another by the queue's hand-over.
        self.reserved.fetch_add(count, Ordering::Relaxed) + 1
    }

    fn log(&self, parts: &[&[u8]], sync: bool) -> Result<()> {
        let mut wal = self.wal.lock();
        let timer = self.step(Step::Log);
        let extends = wal.extends();
        wal.append(parts)?;
        drop(timer);
        // The default limit cannot be passed without a memtable getting full,
        // which asks for attention by itself.
        let limit = self.options.max_total_wal_size;
        if limit > 0 && wal.total_bytes() > limit {
            self.attention.store(true, Ordering::Relaxed);
        }
        self.tick(Ticker::WalWriteCalls, 1);
        self.tick(Ticker::WalExtendCalls, wal.extends() - extends);
        self.tick(
            Ticker::WalFileBytes,
            parts.iter().map(|p| p.len() as u64).sum(),
        );
        if sync {
            let _step = self.step(Step::SyncWait);
            let _timer = self.time(Histogram::WalFileSyncMicros);
            wal.sync()?;
            self.tick(Ticker::WalFileSynced, 1);
        }
        Ok(())
    }

    fn apply(
        &self,
        memtables: &MemtableMap,
        request: &WriteRequest,
        first: SequenceNumber,
    ) -> Result<()> {
        // A comparator or prefix extractor of the user may panic; the queue
        // must not see that.
        catch_unwind(AssertUnwindSafe(|| self.insert(memtables, request, first))).unwrap_or_else(
            |_| {
                Err(Error::new(
                    ErrorKind::Aborted,
                    "a comparator or prefix extractor panicked during an insert",
                ))
            },
        )
    }

    fn grouped(&self, writes: usize) {
        self.tick(Ticker::WriteDoneBySelf, 1);
        self.tick(Ticker::WriteDoneByOther, writes as u64 - 1);
    }

    fn publish(&self, last: SequenceNumber) {
        // Release: pairs with the Acquire loads of readers and snapshots.
        self.visible.store(last, Ordering::Release);
    }

    fn fail(&self, error: &Error) {
        self.poison(error, "a write");
    }
}

impl Engine {
    fn insert(
        &self,
        memtables: &MemtableMap,
        request: &WriteRequest,
        first: SequenceNumber,
    ) -> Result<()> {
        if request.disable_wal && !self.unlogged.load(Ordering::Relaxed) {
            self.unlogged.store(true, Ordering::Relaxed);
        }
        let _timer = self.step(Step::Insert);
        let mut seq = first;
        let mut inserter = Inserter::new(request.insert_hint);
        for op in request.batch.ops() {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            // A column family may have been dropped since the check: its
            // entries take their numbers and go nowhere, as at recovery.
            if let Some(position) = memtables.position(cf) {
                inserter.add(memtables.at(position), ty, key, value, seq)?;
            }
            seq += 1;
        }
        if inserter.finish()? {
            self.attention.store(true, Ordering::Relaxed);
        }
        self.count_write(request, seq - first);
        Ok(())
    }
}

/// Refuses a batch that would take too much memory.
fn check_size(bytes: u64, entries: u32) -> Result<()> {
    let memory = bytes + u64::from(entries) * ENTRY_OVERHEAD;
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
