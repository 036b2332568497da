//! Writing records.

use crate::error::Result;
use crate::fs::WritableFile;

/// Appends logical records to a log file.
#[derive(Debug)]
pub struct LogWriter {
    _file: Box<dyn WritableFile>,
}

impl LogWriter {
    /// Writes to `file`, which is empty or being recycled. `log_number` goes
    /// into every header when `recyclable` is set.
    pub fn new(file: Box<dyn WritableFile>, log_number: u64, recyclable: bool) -> Self {
        let _ = (log_number, recyclable);
        LogWriter { _file: file }
    }

    /// Appends one logical record made of `parts` (concatenated) and hands it
    /// to the operating system in one write where possible.
    pub fn add_record(&mut self, parts: &[&[u8]]) -> Result<()> {
        let _ = parts;
        todo!()
    }

    /// Makes everything appended durable.
    pub fn sync(&mut self) -> Result<()> {
        todo!()
    }

    /// Bytes in the file so far.
    pub fn len(&self) -> u64 {
        todo!()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number given to [`LogWriter::new`].
    pub fn log_number(&self) -> u64 {
        todo!()
    }

    /// Cuts preallocated space off and closes the file (without syncing it).
    pub fn close(self) -> Result<()> {
        todo!()
    }

    /// The file, for syncing it while no record is being added.
    pub fn file_mut(&mut self) -> &mut dyn WritableFile {
        todo!()
    }
}
