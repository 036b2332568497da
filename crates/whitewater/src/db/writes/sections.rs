//! What a write of two-phase commit does in its window besides inserting.

use super::super::Engine;
use super::super::two_phase::Decision;
use crate::memtable::sections::SectionWrite;
use crate::write::generation::Generation;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Result, planted};

impl Engine {
    /// Notes a write whose record is in the log of `generation`, and whose numbers, from
    /// `first` on, are not visible yet: upholds X1, X2 and X3 of `db::two_phase`.
    pub(super) fn note(
        &self,
        generation: &Generation,
        write: &SectionWrite,
        first: SequenceNumber,
    ) -> Result<()> {
        let last = first + write.numbers() - 1;
        let range = write.undecided(first);
        let sections = &self.commit.sections;
        match write {
            SectionWrite::Prepare(section) => {
                planted!(SectionNotedLate => return Ok(()));
                let log = generation.wal.log_number();
                sections.note_logged(section, (log, first), range);
            }
            SectionWrite::Rollback(section, _) | SectionWrite::Commit(section, ..) => {
                let log = generation.wal.log_number();
                let log = sections.note_decided(section, Decision { last, first, log }, range);
                if let SectionWrite::Commit(..) = write
                    && !section.is_inserted_early()
                {
                    keep_log(generation, &section.batch, log)?;
                }
            }
        }
        planted!(RangeNotEntered => return Ok(()));
        planted!(CommitTimeBatchEarly => if matches!(write, SectionWrite::Commit(..)) {
            return Ok(());
        });
        if let (Some(undecided), Some(range)) = (&self.commit.undecided, range) {
            undecided.enter([range]); // upholds X3
        }
        Ok(())
    }
}

/// Keeps the log `number` for all memtables that `batch` is inserted into.
fn keep_log(generation: &Generation, batch: &Batch, number: u64) -> Result<()> {
    planted!(CommitKeepsNoLog => return Ok(()));
    let mut noted = None;
    for op in batch.ops() {
        let Op::Entry { cf, .. } = op? else {
            continue;
        };
        if noted != Some(cf) {
            noted = Some(cf);
            if let Some(memtable) = generation.memtables.get(cf) {
                memtable.keep_section(number);
            }
        }
    }
    Ok(())
}
