//! Keeping prepared transactions.

use super::Repair;
use whitewater_storage::Result;
use whitewater_storage::filename;
use whitewater_storage::wal::LogWriter;

impl Repair<'_> {
    /// Logs the prepared sections that are not decided again, in a new log. Returns the log's
    /// number, if there are any.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(super) fn keep_sections(&mut self) -> Result<Option<u64>> {
        if self.complete {
            // The manifest is right about what was decided.
            self.sections.forget_before(self.old.min_log_to_keep());
        }
        let sections = self.sections.take_outstanding();
        if sections.is_empty() {
            return Ok(None);
        }
        let number = self.numbers.new_file_number();
        let path = filename::wal(&self.wal_dir, number);
        let mut writer = LogWriter::new(self.fs.create(&path)?, number, false);
        for (name, section) in sections {
            self.last_sequence += 1;
            let mut record = section.batch.bytes().to_vec();
            record[..8].copy_from_slice(&self.last_sequence.to_le_bytes());
            writer.add_record(&[&record])?;
            self.log.write(&format!(
                "Repair: the transaction {} of log {:06} is prepared, and is kept in {}",
                name.escape_ascii(),
                section.log,
                path.display()
            ));
        }
        writer.sync()?;
        self.fs.sync_dir(&self.wal_dir)?;
        Ok(Some(number))
    }
}
