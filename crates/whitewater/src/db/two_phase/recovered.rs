//! The sections that an opening has found in the logs.
//!
//! They are logged again and made durable before the manifest says that no older log is needed. So
//! the old logs go like those of any opening, with whatever recovery has cut off, and no section
//! keeps damage that the next opening would meet again. After a crash in between, that opening
//! finds both; they are the same, since nothing is decided before an opening has ended.
//!
//! Where the commit inserts, they are logged at the beginning of the first log of the new process,
//! with new numbers ([`log_again`]). Where the prepare has inserted, they keep their numbers, which
//! tables have, too, and are logged in a log of their own ([`log_apart`]). The column families
//! need only the log after it. So later openings find the sections there as in any log that is
//! kept for its sections, and do not insert them again, and neither does RocksDB.
//!
//! What RocksDB has written of transactions that were never prepared (`WRITE_UNPREPARED`) is
//! rolled back before anything is served. Until that is durable it is logged again, too.

use super::{PreparedSection, Ranges};
use crate::db::Engine;
use crate::memtable::sections::Section;
use crate::options::read::WriteSpec;
use crate::write::generation::End;
use crate::write::wal::Wal;
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_concurrent::undecided::NumberRange;
use whitewater_storage::batch::Batch;
use whitewater_storage::batch::replay::{ReplayedPart, ReplayedSection};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::Segment;
use whitewater_storage::{Result, planted};

/// The transactions that an opening has found, by name.
pub(in crate::db) type Found = BTreeMap<Vec<u8>, ReplayedSection>;

/// Logs `sections` again in `log`, which has ended at `end`, and makes them durable. Each gets a
/// sequence number of its own. Returns where the first write begins.
///
/// # Errors
/// Errors of the file system.
pub(in crate::db) fn log_again(
    wal: &Wal,
    log: &Segment,
    mut end: End,
    sections: &mut Found,
) -> Result<End> {
    if sections.is_empty() {
        return Ok(end);
    }
    planted!(SectionsNotLoggedAgain => return Ok(end));
    let mut records = Vec::new();
    for part in sections.values_mut().flat_map(|section| &mut section.parts) {
        end.last += 1;
        part.log = log.log_number();
        (part.first, part.last) = (end.last, end.last);
        records.push(record(&part.batch, part.first));
    }
    end.offset = wal.begin_with_all(log, end.offset, &records)?;
    Ok(end)
}

/// Logs `sections` again in the new log `number`, with the numbers that they have, and makes them
/// durable. The log is complete then; the first write goes to the next one. Returns where it ends.
///
/// # Errors
/// Errors of the file system.
pub(in crate::db) fn log_apart(
    wal: &Wal,
    number: u64,
    end: End,
    sections: &mut Found,
) -> Result<u64> {
    let log = wal.create(number)?;
    let start = wal.install(&log, end)?;
    let parts = sections.values_mut().flat_map(|section| &mut section.parts);
    let mut parts: Vec<&mut ReplayedPart> = parts.collect();
    parts.sort_unstable_by_key(|part| part.first);
    let mut records = Vec::new();
    for part in parts {
        part.log = number;
        records.push(record(&part.batch, part.first));
    }
    let end = wal.begin_with_all(&log, start, &records)?;
    wal.trim(&log, end)?;
    Ok(end)
}

/// The log record of `batch` with the number `first`.
pub(in crate::db) fn record(batch: &Batch, first: SequenceNumber) -> Vec<u8> {
    let mut record = batch.bytes().to_vec();
    record[..8].copy_from_slice(&first.to_le_bytes());
    record
}

/// The numbers of the entries of `section`.
fn ranges(section: &ReplayedSection) -> Ranges {
    let range = |part: &ReplayedPart| {
        let mut last = part.last;
        planted!(RecoveredRangeCutShort => last = part.first);
        NumberRange {
            first: part.first,
            last,
        }
    };
    section.parts.iter().map(range).collect()
}

impl Engine {
    /// Hides what `sections` have inserted, before anything is read (X3).
    pub(in crate::db) fn hide_undecided(&self, sections: &Found) {
        planted!(RecoveredNotHidden => return);
        if let Some(undecided) = &self.commit.undecided {
            undecided.enter(sections.values().flat_map(ranges));
        }
    }

    /// Takes over the sections that an opening has found. Returns those that were never prepared.
    ///
    /// # Errors
    /// Those of [`adopt`](Self::adopt).
    pub(in crate::db) fn adopt_sections(&self, sections: Found) -> Result<Vec<PreparedSection>> {
        let mut unprepared = Vec::new();
        for (name, section) in sections {
            let state = match section.is_prepared {
                true => "is prepared",
                false => "was not prepared and is rolled back",
            };
            self.info_log.write(&format!(
                "Recovery: the transaction {} {state}, with {} operations",
                name.escape_ascii(),
                section.count()
            ));
            let is_prepared = section.is_prepared;
            let adopted = self.adopt(&name, section)?;
            if !is_prepared {
                unprepared.push(adopted);
            }
        }
        Ok(unprepared)
    }

    /// Takes over the section of the transaction `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name with an outstanding section; `Corruption` for a damaged one.
    fn adopt(&self, name: &[u8], found: ReplayedSection) -> Result<PreparedSection> {
        let log = found.log();
        let numbers = match self.commit.undecided {
            Some(_) => ranges(&found),
            None => Ranges::new(),
        };
        let first = found.parts.first().map_or(0, |part| part.first);
        let kind = self.options.write_policy.prepare_kind();
        let section = Arc::new(Section::recovered(name, found, kind)?);
        self.commit
            .sections
            .adopt(&section, (log, first), numbers)?;
        Ok(PreparedSection(section))
    }

    /// Rolls back what was written of transactions that were never prepared, and makes that
    /// durable. Nothing else writes yet.
    ///
    /// # Errors
    /// Those of [`Engine::rollback_section`]. The next opening finds them again.
    pub(in crate::db) fn roll_back_unprepared(&self, found: Vec<PreparedSection>) -> Result<()> {
        let spec = WriteSpec {
            sync: true,
            ..WriteSpec::default()
        };
        // Reversed as in RocksDB, though each restores what was before all of them.
        for section in found.iter().rev() {
            self.rollback_section(section, &spec)?;
        }
        Ok(())
    }
}
