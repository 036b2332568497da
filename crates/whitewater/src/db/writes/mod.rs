//! Writing: from the calls of users to the commit sequence (`write`).
//!
//! A write is checked here (`check`) and committed there, over the traits that the engine
//! implements (`env`). `sections` is what a write of two-phase commit inserts.

mod check;
mod env;
mod sections;

pub(super) use check::check_size;

use super::Engine;
use super::failure::Source;
use super::timestamps::Stamped;
use super::validation::KeysApart;
use crate::memtable::operations::{Operations, SingleOp};
use crate::options::commit_protocol::CommitProtocol;
use crate::options::read::{WriteSpec, has_checksums};
use crate::slow_operations::Call;
use crate::stats::Histogram;
use crate::write::env::WalEnv;
use crate::write::request::{Write, WriteFlags, WriteRequest};
use crate::write::steps::Prefetched;
use crate::write::{Committer, ordered, record};
use whitewater_storage::batch::Batch;
use whitewater_storage::key::ValueType;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

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
        let ty = match ty {
            ValueType::SingleDeletion if self.deletes_for_good() => ValueType::Deletion,
            ty => ty,
        };
        let op = SingleOp::new(cf, ty, key, value);
        let reads_own_prefix = self.check_op(&op, spec.ignore_missing_column_families)?;
        check_sync(spec)?;
        let flags = flags_of(spec, reads_own_prefix);
        let protected = has_checksums(spec.protection_bytes_per_key)?;
        match self.commit.validation.get() {
            None => self.write_checked(op, flags, protected),
            Some(_) => self.write_checked_apart(op, flags, protected),
        }
    }

    /// [`write_checked`](Self::write_checked) in a database with optimistic transactions. A
    /// function of its own, so that other databases have nothing to drop.
    #[inline(never)]
    fn write_checked_apart(
        &self,
        op: SingleOp<'_>,
        flags: WriteFlags,
        protected: bool,
    ) -> Result<()> {
        // Before a generation is held: a transaction may wait for a switch meanwhile.
        let _apart = self.keep_apart(&op);
        self.write_checked(op, flags, protected)
    }

    /// Commits an operation that may be committed; with `protected`, with its checksum.
    #[inline(always)]
    fn write_checked(&self, op: SingleOp<'_>, flags: WriteFlags, protected: bool) -> Result<()> {
        let _timer = self.time_call(Call::Write, Histogram::DbWrite);
        let prefetched = self.prefetch(&op, &flags);
        if self.commit.takes_single_ops && !protected {
            let operations = Operations::Single(op);
            return ordered::commit(self, &Write { operations, flags }, prefetched);
        }
        let mut batch = record::scratch_batch();
        if protected {
            batch.protect()?;
        }
        batch.push(op.cf, op.ty, op.key, op.value);
        if self.ends_batches() {
            batch.push_noop();
        }
        let request = WriteRequest::new(batch, flags);
        let outcome = self.committer().commit(&request, prefetched);
        if let Some(batch) = request.into_batch() {
            record::keep_batch(batch);
        }
        outcome
    }

    /// Commits `batch`; `stamped` tells which of its operations came with timestamps.
    ///
    /// # Errors
    /// Then no part of the batch is visible, now or later in this process; but with
    /// [`CommitProtocol::Unordered`], a part of a failed insert may be. After `IOError` the
    /// batch may turn out to be durable when the database is reopened.
    pub fn write(&self, mut batch: Batch, stamped: &Stamped, spec: &WriteSpec) -> Result<()> {
        if has_checksums(spec.protection_bytes_per_key)? {
            batch.protect()?;
        }
        let batch = self.stamp_batch(batch)?;
        match self.commit.validation.get() {
            None => self.write_stamped(batch, stamped, spec).1,
            Some(_) => self.write_stamped_apart(batch, stamped, spec),
        }
    }

    /// [`write_stamped`](Self::write_stamped) in a database with optimistic transactions.
    #[inline(never)]
    fn write_stamped_apart(&self, batch: Batch, stamped: &Stamped, spec: &WriteSpec) -> Result<()> {
        let keys = self.keys_to_keep_apart(&batch);
        let _apart = keys.as_ref().map(KeysApart::enter);
        self.write_stamped(batch, stamped, spec).1
    }

    /// [`write`](Self::write) of a batch in which nothing came with timestamps, for a transaction,
    /// which wants it back. It has locked or latched its keys.
    pub fn write_and_return(&self, mut batch: Batch, spec: &WriteSpec) -> (Batch, Result<()>) {
        let protected = has_checksums(spec.protection_bytes_per_key).and_then(|wanted| {
            if wanted {
                batch.protect()?;
            }
            Ok(())
        });
        match protected {
            Ok(()) => self.write_stamped(batch, &Stamped::default(), spec),
            Err(e) => (batch, Err(e)),
        }
    }

    /// Commits `batch`, whose values have the times that they are to have.
    fn write_stamped(
        &self,
        mut batch: Batch,
        stamped: &Stamped,
        spec: &WriteSpec,
    ) -> (Batch, Result<()>) {
        let ignore_missing_cf = spec.ignore_missing_column_families;
        if self.deletes_for_good()
            && let Err(e) = batch.delete_for_good()
        {
            return (batch, Err(e));
        }
        let checked = self.check_batch(&batch, stamped, ignore_missing_cf);
        let mut flags = match checked.and_then(|own_prefix| flags(spec, own_prefix)) {
            Ok(flags) => flags,
            Err(e) => return (batch, Err(e)),
        };
        let _timer = self.time_call(Call::Write, Histogram::DbWrite);
        let mark = batch.mark();
        if self.ends_batches() && !batch.body().is_empty() {
            batch.push_noop();
            flags.takes_number = true;
        }
        let request = WriteRequest::new(batch, flags);
        let outcome = self.committer().commit(&request, None);
        let mut batch = request.into_batch().unwrap_or_default();
        batch.take_back(mark);
        (batch, outcome)
    }

    /// Whether each batch in the log ends with a noop. The write policies that insert at the
    /// prepare number the operations of logs by batches, and the noop says where one ends
    /// (`Numbering::PerBatch`).
    #[inline]
    fn ends_batches(&self) -> bool {
        if self.commit.undecided.is_none() {
            return false;
        }
        planted!(BatchWithoutEnd => return false);
        true
    }

    /// Whether single deletions are written as deletions. A key that was in a transaction that
    /// was rolled back has more values than its users have written: the one before, that of the
    /// transaction, and the one that the rollback has restored. A single deletion would meet the
    /// last one only, and bring the others to light (`db::two_phase::undo`).
    #[inline]
    pub(super) fn deletes_for_good(&self) -> bool {
        let mut for_good = self.commit.undecided.is_some();
        planted!(SingleDeletionsKept => for_good = false);
        for_good
    }

    /// Prefetches the leaf that the insert of `op` is going to wait for, before everything
    /// that can be done without it. Leaders insert for other writers, and a write that
    /// reads its own prefix waits for a turn, so neither has a use for it.
    #[inline(always)]
    fn prefetch<'k>(&self, op: &SingleOp<'k>, flags: &WriteFlags) -> Option<Prefetched<'k, Self>> {
        if flags.reads_own_prefix || self.commit.protocol != CommitProtocol::Ordered {
            return None;
        }
        let generation = self.commit.generations.load();
        let memtable = generation.memtables.get(op.cf)?;
        let hint = memtable.find_leaf(op.ty, op.key);
        Some(Prefetched { generation, hint })
    }

    #[inline]
    pub(super) fn committer(&self) -> Committer<'_, Self> {
        Committer {
            env: self,
            protocol: self.commit.protocol,
            queue: &self.commit.queue,
            max_group_bytes: self.options.max_write_batch_group_size_bytes,
            concurrent_inserts: self.options.allow_concurrent_memtable_write,
        }
    }

    /// Hands the log to the operating system, or makes it durable: all writes that were
    /// acknowledged before the call.
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        if !sync {
            planted!(FlushWalDoesNothing => return Ok(()));
            if !self.options.manual_wal_flush {
                self.check_writer()?;
                return Ok(()); // every record is handed over as it is written
            }
            Self::check_healthy(&self.lock_state())?;
            let _here = self.commit.generations.load();
            return self
                .commit
                .wal
                .flush()
                .inspect_err(|e| self.report(Source::Log, e, "writing the log"));
        }
        Self::check_healthy(&self.lock_state())?;
        // A resumption waits for this call, too, before it changes the log.
        let _here = self.commit.generations.load();
        self.sync_wal(self.commit.publication.visible())
    }
}

/// How `spec` wants a write to be committed.
///
/// # Errors
/// `InvalidArgument` if it wants a write durable that is not logged.
#[inline]
pub(super) fn flags(spec: &WriteSpec, reads_own_prefix: bool) -> Result<WriteFlags> {
    check_sync(spec)?;
    Ok(flags_of(spec, reads_own_prefix))
}

/// The check of [`flags`].
#[inline]
fn check_sync(spec: &WriteSpec) -> Result<()> {
    if spec.sync && spec.disable_wal {
        return Err(Error::invalid("Sync writes has to enable WAL."));
    }
    Ok(())
}

/// [`flags`] after the check. By itself, so that they need not be in one word with an error.
#[inline]
fn flags_of(spec: &WriteSpec, reads_own_prefix: bool) -> WriteFlags {
    WriteFlags {
        sync: spec.sync,
        disable_wal: spec.disable_wal,
        insert_hint: spec.insert_hint,
        no_slowdown: spec.no_slowdown,
        low_pri: spec.low_pri,
        reads_own_prefix,
        takes_number: false,
    }
}
