//! Two-phase commit: prepared sections, and decisions on them.
//!
//! A section is logged when it is prepared. With `WRITE_COMMITTED` it is inserted when it is
//! committed, at the commit's numbers. With `WRITE_PREPARED` it is inserted when it is prepared,
//! at numbers that are *undecided* until its decision (`concurrent::undecided`): readers pass over
//! them. Then a commit inserts nothing of it, and a rollback restores what its keys read as before
//! (`undo`). All of these are ordinary writes of the commit sequence (`write`), which differ in
//! what is logged and what is inserted ([`SectionWrite`]). In their window, between *append* and
//! *publish*, they note what keeps the logs and which numbers are undecided (`db::writes`).
//!
//! `outstanding` lists the sections that are not decided; `recovered` fills it when the database is
//! opened. Invariants:
//! * X1: the log of a section is in that list before the section's number can be visible.
//!   So no flush that could make the log obsolete misses it: all memtables that writers of
//!   that generation use are unflushed until the number is visible.
//! * X2: before a commit that inserts its section can be visible, each memtable that it is
//!   inserted into keeps the section's log ([`Memtable::keep_section`]); the section leaves the
//!   list after that. A section that its prepare has inserted is in memtables that keep its log
//!   anyway. But it may be in tables before its decision is durable. So the list keeps its log
//!   until the log with the decision is durable: otherwise a power cut could take a rollback and
//!   the values that it restores, and nothing would tell what is in the tables from a commit. Of a
//!   section that nothing has inserted the rollback would be there, without what was acknowledged
//!   before it.
//!   Who computes which logs are needed looks at the list first and at the memtables
//!   second.
//! * X3: the numbers that a prepare or its decision inserts with are undecided before they can be
//!   visible. All of them leave at one instant, after the decision is acknowledged and before its
//!   caller is told. The numbers of what has failed leave, too: they are never visible.
//! * X5: logs are kept as a suffix, from the smallest number that memtables, sections and
//!   memtables' sections need. So recovery finds no section without a decision that is logged.
//! * X7: a decision is acknowledged when its record is where a write of its kind must be
//!   (C4).
//! * X8: after a failed decision the section is prepared as before, with the numbers that it has
//!   and that are undecided. At the next opening it is prepared or decided as that decision would
//!   have. A resumption logs it again (`db::resume`), and recovery does not insert it twice.
//! * X9: no two outstanding sections have the same name. A name is free again once the
//!   decision is logged and acknowledged.
//!
//! Prepare and decisions are logged even with `disable_wal`: otherwise a committed section
//! would come back.
//!
//! [`Memtable::keep_section`]: crate::memtable::Memtable::keep_section

mod outstanding;
pub(super) mod recovered;
mod undo;

pub(super) use outstanding::{Decision, OutstandingSections, Ranges};

use super::Engine;
use super::timestamps::Stamped;
use super::writes::{check_size, flags};
use crate::memtable::sections::{Section, SectionWrite};
use crate::options::commit_protocol::CommitProtocol;
use crate::options::read::{WriteSpec, has_checksums};
use crate::slow_operations::Call;
use crate::stats::Histogram;
use crate::write::request::{WriteFlags, WriteRequest};
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use whitewater_concurrent::undecided::Undecided;
use whitewater_storage::batch::{Batch, Op, PrepareKind};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result, planted};

/// A prepared section that is not decided. Dropping it decides nothing: it stays
/// outstanding, beyond the end of the process, too.
#[derive(Debug)]
pub(crate) struct PreparedSection(Arc<Section>);

impl PreparedSection {
    /// Name of the transaction.
    pub fn name(&self) -> &[u8] {
        &self.0.name
    }

    /// The operations, between the markers that the log has around them.
    pub fn batch(&self) -> &Batch {
        &self.0.batch
    }
}

impl Engine {
    /// Logs `batch` as the section of the transaction `name`. With `WRITE_COMMITTED` it inserts
    /// nothing and takes one sequence number; otherwise it inserts the operations, which readers
    /// pass over. It is acknowledged like any write.
    ///
    /// # Errors
    /// Those of [`Engine::write`]; `InvalidArgument` for range deletions, and for a name
    /// with an outstanding section. Then nothing is prepared; at the next opening the
    /// section may be, as after a failed write.
    pub(crate) fn prepare_section(
        &self,
        name: &[u8],
        batch: &Batch,
        spec: &WriteSpec,
    ) -> Result<PreparedSection> {
        self.prepare_stamped_section(name, (batch, &Stamped::default()), spec)
    }

    /// [`prepare_section`](Self::prepare_section) of a batch with keys that get their timestamps
    /// when it is committed: for now they have any others, as `stamped` says.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn prepare_stamped_section(
        &self,
        name: &[u8],
        (batch, stamped): (&Batch, &Stamped),
        spec: &WriteSpec,
    ) -> Result<PreparedSection> {
        self.check_writer()?;
        self.options
            .write_policy
            .check_protocol(self.commit.protocol)?;
        let batch = self.checked_batch(batch, stamped, spec)?.0;
        refuse_range_deletions(&batch)?;
        let kind = self.options.write_policy.prepare_kind();
        let batch = with_markers(batch, name, kind)?;
        let section = Arc::new(Section::new(name, batch, kind)?);
        let flags = flags(spec, false)?;
        let undecided = self.of_failed_sections();
        let entered = self.commit.sections.enter(&section, undecided)?;
        self.commit_step(SectionWrite::Prepare(section.clone()), flags)?;
        planted!(SectionNotedLate => {
            let log = self.commit.generations.load().wal.log_number();
            let place = (log, self.latest_sequence_number());
            self.commit.sections.note_logged(&section, place, None)
        });
        entered.keep();
        Ok(PreparedSection(section))
    }

    /// [`commit_section_at`](Self::commit_section_at) without a timestamp.
    ///
    /// # Errors
    /// The same.
    #[cfg(test)]
    pub(crate) fn commit_section(
        &self,
        section: &PreparedSection,
        commit_time_batch: Option<&Batch>,
        spec: &WriteSpec,
    ) -> Result<()> {
        self.commit_section_at(section, None, commit_time_batch, spec)
    }

    /// Commits `section`, and with it the operations of `commit_time_batch`. These have lower
    /// sequence numbers than the section's if that is inserted now, and higher ones if it was
    /// inserted at the prepare. Operations on column families that were dropped since are
    /// not inserted.
    ///
    /// Keys of the section that have timestamps get `time`. The decision has it in the log, so that
    /// a recovery gives the same.
    ///
    /// # Errors
    /// Those of [`Engine::write`], and `InvalidArgument` for a timestamp of another size than the
    /// keys have. The section is prepared as before (X8), and can be decided again.
    pub(crate) fn commit_section_at(
        &self,
        section: &PreparedSection,
        time: Option<&[u8]>,
        commit_time_batch: Option<&Batch>,
        spec: &WriteSpec,
    ) -> Result<()> {
        self.check_writer()?;
        let section = &section.0;
        let (mut end, mut folds) = match commit_time_batch {
            Some(batch) => self.checked_batch(batch, &Stamped::default(), spec)?,
            None => (Batch::with_capacity(section.name.len() + 32), false),
        };
        let stamped = time.map(|time| self.restamped(&section.batch, time));
        let stamped = stamped.transpose()?;
        let mut logged = time;
        planted!(CommitTimestampNotLogged => logged = None);
        match logged {
            Some(time) => end.push_commit_at(time, &section.name),
            None => end.push_commit(&section.name),
        }
        if !section.is_inserted_early() {
            folds |= self.folds_any(&section.batch)?;
        }
        let write = SectionWrite::Commit(section.clone(), end, stamped);
        check_size(write.size() as u64, write.entries())?;
        let flags = flags(spec, folds)?;
        self.decide(write, flags)
    }

    /// Rolls `section` back. If the prepare has inserted its operations, each of its keys gets the
    /// value again that it reads as. Nobody may write these keys meanwhile: the locks of the
    /// transaction see to that.
    ///
    /// # Errors
    /// Those of [`Engine::write`], and of reading the section's keys. The section is prepared as
    /// before (X8), and can be decided again.
    pub(crate) fn rollback_section(
        &self,
        section: &PreparedSection,
        spec: &WriteSpec,
    ) -> Result<()> {
        self.check_writer()?;
        let section = &section.0;
        let mut end = if section.is_inserted_early() {
            self.undo_of(section, spec)?
        } else {
            Batch::default()
        };
        end.push_rollback(&section.name);
        let write = SectionWrite::Rollback(section.clone(), end);
        check_size(write.size() as u64, write.entries())?;
        self.decide(write, flags(spec, false)?)
    }

    /// The prepared sections that are not being decided on, by name.
    pub(crate) fn prepared_sections(&self) -> Vec<PreparedSection> {
        let sections = self.commit.sections.all().into_iter();
        sections.map(PreparedSection).collect()
    }

    /// Commits or rolls back. Gives no way to compactions: other writers may wait for the
    /// keys of the transaction.
    fn decide(&self, write: SectionWrite, flags: WriteFlags) -> Result<()> {
        let undecided = self.commit.undecided.as_deref();
        let of_failed = self.of_failed_sections();
        let deciding =
            (self.commit.sections).begin_decision(write.section(), undecided, of_failed)?;
        let flags = WriteFlags {
            low_pri: false,
            ..flags
        };
        let rolled_back = match &write {
            SectionWrite::Rollback(section, _) => Some(section.clone()),
            _ => None,
        };
        if let Err(e) = self.commit_step(write, flags) {
            planted!(FailedDecisionCounts => deciding.done());
            return Err(e);
        }
        if let Some(section) = rolled_back.filter(|section| section.is_inserted_early()) {
            self.hide_in_dropped(&section);
        }
        deciding.done(); // acknowledged: upholds X2, X3
        Ok(())
    }

    /// Keeps what `section`, which was rolled back, has inserted hidden in the column families that
    /// were dropped: nothing of them was restored. Those that are dropped later have what was.
    fn hide_in_dropped(&self, section: &Arc<Section>) {
        let dropped: Vec<_> = {
            let state = self.lock_state();
            let dropped = state.dropped_families.iter();
            dropped.filter_map(Weak::upgrade).collect()
        };
        if dropped.is_empty() {
            return;
        }
        let ranges = self.commit.sections.ranges(section);
        let ids: BTreeSet<u32> = (section.batch.ops())
            .filter_map(|op| match op {
                Ok(Op::Entry { cf, .. }) => Some(cf),
                _ => None,
            })
            .collect();
        let concerned = dropped.iter().filter(|cf| ids.contains(&cf.id));
        concerned.for_each(|cf| cf.keep_hidden(&ranges));
    }

    /// Where the numbers of a write that fails leave. With unordered commit they do not: once they
    /// are entered they are visible, and a part of what has them may be inserted. No resumption
    /// passes over such a failure.
    fn of_failed_sections(&self) -> Option<&Undecided> {
        let undecided = self.commit.undecided.as_deref();
        undecided.filter(|_| self.commit.protocol != CommitProtocol::Unordered)
    }

    fn commit_step(&self, write: SectionWrite, flags: WriteFlags) -> Result<()> {
        let _timer = self.time_call(Call::Write, Histogram::DbWrite);
        let request = WriteRequest::of_section(write, flags);
        self.committer().commit(&request, None)
    }

    /// A copy of `batch`, checked as if it was to be written, and whether its insert would
    /// read its own prefix.
    fn checked_batch(
        &self,
        batch: &Batch,
        stamped: &Stamped,
        spec: &WriteSpec,
    ) -> Result<(Batch, bool)> {
        let mut batch = batch.clone();
        if has_checksums(spec.protection_bytes_per_key)? {
            batch.protect()?;
        }
        let mut batch = self.stamp_batch(batch)?;
        if self.deletes_for_good() {
            batch.delete_for_good()?;
        }
        let ignore_missing_cf = spec.ignore_missing_column_families;
        let folds = self.check_batch(&batch, stamped, ignore_missing_cf)?;
        Ok((batch, folds))
    }

    /// Whether `batch` has merges that may be stored as values.
    fn folds_any(&self, batch: &Batch) -> Result<bool> {
        let generation = self.commit.generations.load();
        let memtables = &generation.memtables;
        if memtables.all_folding().next().is_none() {
            return Ok(false);
        }
        for op in batch.ops() {
            let Op::Entry { cf, ty, .. } = op? else {
                continue;
            };
            if ty == ValueType::Merge && memtables.folds(cf) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// `batch` between the markers of the section `name`.
fn with_markers(mut batch: Batch, name: &[u8], kind: PrepareKind) -> Result<Batch> {
    if !batch.starts_with_noop() {
        let mut copy = Batch::with_capacity(batch.bytes().len() + name.len() + 8);
        if batch.is_protected() {
            copy.protect()?;
        }
        copy.push_noop();
        for op in batch.ops() {
            copy.push_op(&op?);
        }
        batch = copy;
    }
    batch.mark_prepared(kind, name)?;
    Ok(batch)
}

/// RocksDB's transactions take no range deletions.
fn refuse_range_deletions(batch: &Batch) -> Result<()> {
    for op in batch.ops() {
        if let Op::Entry {
            ty: ValueType::RangeDeletion,
            ..
        } = op?
        {
            return Err(Error::invalid("DeleteRangeCF not implemented"));
        }
    }
    Ok(())
}
