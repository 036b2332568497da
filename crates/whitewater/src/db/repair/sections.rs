//! Keeping transactions that are not decided.

use super::Repair;
use crate::version::set::NeededLogs;
use whitewater_storage::Result;
use whitewater_storage::batch::Numbering;
use whitewater_storage::batch::replay::ReplayedPart;
use whitewater_storage::filename;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::LogWriter;

impl Repair<'_> {
    /// Logs the transactions that are not decided again, in a new log. Returns which logs are
    /// needed, if there are any.
    ///
    /// Sections whose entries are in tables keep their numbers, and are in a log that no column
    /// family needs, so that nobody inserts them again.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(super) fn keep_sections(&mut self) -> Result<Option<NeededLogs>> {
        if self.complete {
            // The manifest is right about what was decided.
            self.sections.forget_before(self.old.min_log_to_keep());
        }
        let inserted = self.sections.numbering() == Numbering::PerBatch;
        let sections = self.sections.take_outstanding();
        if sections.is_empty() {
            return Ok(None);
        }
        let kept = self.numbers.new_file_number();
        for (name, section) in &sections {
            let state = match section.is_prepared {
                true => "prepared, and",
                false => "to be rolled back, and",
            };
            self.log.write(&format!(
                "Repair: the transaction {} of log {:06} is {state} is kept in {kept:06}",
                name.escape_ascii(),
                section.log(),
            ));
        }
        let parts = sections.into_values().flat_map(|section| section.parts);
        let mut parts: Vec<ReplayedPart> = parts.collect();
        parts.sort_unstable_by_key(|part| part.first);
        for part in parts.iter_mut().filter(|_| !inserted) {
            self.last_sequence += 1;
            part.first = self.last_sequence;
        }
        self.write_log(kept, parts)?;
        let mut first = kept;
        if inserted {
            first = self.numbers.new_file_number();
            self.write_log(first, Vec::new())?;
        }
        self.fs.sync_dir(&self.wal_dir)?;
        Ok(Some(NeededLogs { first, kept }))
    }

    fn write_log(&self, number: u64, parts: Vec<ReplayedPart>) -> Result<()> {
        let path = filename::wal(&self.wal_dir, number);
        let mut writer = LogWriter::new(self.fs.create(&path)?, number, false);
        for ReplayedPart { batch, first, .. } in parts {
            writer.add_record(&[&record(batch.bytes(), first)])?;
        }
        writer.sync()
    }
}

/// The log record of the batch `bytes` with the number `first`.
fn record(bytes: &[u8], first: SequenceNumber) -> Vec<u8> {
    let mut record = bytes.to_vec();
    record[..8].copy_from_slice(&first.to_le_bytes());
    record
}
