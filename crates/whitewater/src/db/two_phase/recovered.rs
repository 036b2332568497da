//! The sections that an opening has found in the logs.
//!
//! They are logged again at the beginning of the first log of the new process, and made durable
//! there before the manifest says that no older log is needed. So the old logs go like those of
//! any opening, with whatever recovery has cut off, and no section keeps damage that the next
//! opening would meet again. After a crash in between, that opening finds both; they are the
//! same, since nothing is decided before an opening has ended.

use super::Ranges;
use crate::db::Engine;
use crate::write::generation::End;
use crate::write::wal::Wal;
use std::collections::BTreeMap;
use whitewater_storage::batch::replay::ReplayedSection;
use whitewater_storage::wal::Segment;
use whitewater_storage::{Result, planted};

/// Logs `sections` again in `log`, which has ended at `end`, and makes them durable. Each gets a
/// sequence number of its own. Returns where the first write begins.
///
/// # Errors
/// Errors of the file system.
pub(in crate::db) fn log_again(
    wal: &Wal,
    log: &Segment,
    mut end: End,
    sections: &mut BTreeMap<Vec<u8>, ReplayedSection>,
) -> Result<End> {
    if sections.is_empty() {
        return Ok(end);
    }
    planted!(SectionsNotLoggedAgain => return Ok(end));
    let mut records = Vec::new();
    for section in sections.values_mut() {
        end.last += 1;
        (section.log, section.number) = (log.log_number(), end.last);
        let mut record = section.batch.bytes().to_vec();
        record[..8].copy_from_slice(&end.last.to_le_bytes());
        records.push(record);
    }
    end.offset = wal.begin_with_all(log, end.offset, &records)?;
    Ok(end)
}

impl Engine {
    /// Takes over the sections that an opening has found.
    ///
    /// # Errors
    /// Those of [`Engine::adopt_section`].
    pub(in crate::db) fn adopt_sections(
        &self,
        sections: BTreeMap<Vec<u8>, ReplayedSection>,
    ) -> Result<()> {
        for (name, section) in sections {
            self.info_log.write(&format!(
                "Recovery: the transaction {} is prepared, with {} operations",
                name.escape_ascii(),
                section.batch.count()
            ));
            let place = (section.log, section.number);
            self.adopt_section(&name, section.batch, place, Ranges::new())?;
        }
        Ok(())
    }
}
