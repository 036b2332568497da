//! Appends records.
//!
//! Each logical record is framed in one reusable buffer and handed to the file in one append, or in
//! one per [`MAX_APPEND`] bytes if it is very large. The writer neither syncs on its own nor
//! compresses.
//!
//! Invariants:
//! * I1: `block_offset` is the file position modulo the block size.
//! * I2: after a failed append or sync the end of the file is unknown, so every later append and
//!   sync fails with the first error.

use super::format::BLOCK_SIZE;
use super::frame::{Framing, Parts};
use crate::error::{Error, Result};
use crate::fs::WritableFile;

/// The most bytes of a logical record that one append has. This bounds the buffer.
const MAX_APPEND: usize = 4 << 20;

/// The largest buffer that is kept after a record, in bytes.
const KEEP_BUFFER: usize = 1 << 20;

/// Appends logical records to a log file.
#[derive(Debug)]
pub struct LogWriter {
    file: Box<dyn WritableFile>,
    framing: Framing,
    block_offset: usize,
    buf: Vec<u8>,
    failed: Option<Error>,
}

impl LogWriter {
    /// Writes to `file`, which is empty, is being recycled, or ends with a complete record of the
    /// same kind. If `recyclable` is set, every header has the `log_number`.
    pub fn new(file: Box<dyn WritableFile>, log_number: u64, recyclable: bool) -> Self {
        let block_offset = (file.len() % BLOCK_SIZE as u64) as usize;
        LogWriter {
            file,
            framing: Framing {
                log_number,
                recyclable,
            },
            block_offset,
            buf: Vec::new(),
            failed: None,
        }
    }

    /// Appends one logical record made of `parts` (concatenated), and hands it to the operating
    /// system, in one write if possible.
    ///
    /// # Errors
    /// Errors of the file, after which every later call fails with the same error.
    pub fn add_record(&mut self, parts: &[&[u8]]) -> Result<()> {
        self.check_not_failed()?;
        let mut left: usize = parts.iter().map(|p| p.len()).sum();
        let mut source = Parts::new(parts);
        let mut begin = true;
        self.buf.clear();
        loop {
            let room = self.start_fragment();
            let length = left.min(room);
            left -= length;
            self.framing
                .put_fragment(&mut self.buf, &mut source, length, begin, left == 0);
            self.block_offset += self.framing.header_size() + length; // upholds I1
            if left == 0 {
                break;
            }
            begin = false;
            if self.buf.len() >= MAX_APPEND {
                self.append_buffer()?;
            }
        }
        self.append_buffer()?;
        if self.buf.capacity() > KEEP_BUFFER {
            self.buf = Vec::new();
        }
        Ok(())
    }

    /// Fills the tail of the block if no header fits, and returns how many bytes of payload fit
    /// after the next header.
    fn start_fragment(&mut self) -> usize {
        let header = self.framing.header_size();
        let mut rest = BLOCK_SIZE - self.block_offset;
        if rest < header {
            self.buf.resize(self.buf.len() + rest, 0);
            self.block_offset = 0;
            rest = BLOCK_SIZE;
        }
        rest - header
    }

    fn append_buffer(&mut self) -> Result<()> {
        let result = self.file.append(&self.buf);
        self.buf.clear();
        self.remember(result)
    }

    fn check_not_failed(&self) -> Result<()> {
        match &self.failed {
            Some(e) => Err(e.clone()),
            None => Ok(()),
        }
    }

    /// Keeps the first failure (I2).
    fn remember(&mut self, result: Result<()>) -> Result<()> {
        if let Err(e) = &result {
            self.failed.get_or_insert_with(|| e.clone());
        }
        result
    }

    /// Makes everything appended durable.
    ///
    /// # Errors
    /// Errors of the file. A failed sync is final: it is never tried again.
    pub fn sync(&mut self) -> Result<()> {
        self.check_not_failed()?;
        let result = self.file.sync();
        self.remember(result)
    }

    /// Bytes in the file so far.
    pub fn len(&self) -> u64 {
        self.file.len()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number given to [`LogWriter::new`].
    pub fn log_number(&self) -> u64 {
        self.framing.log_number
    }

    /// Cuts off preallocated space, and closes the file without syncing it.
    ///
    /// # Errors
    /// Errors of the file, or the first failure of this writer.
    pub fn close(mut self) -> Result<()> {
        self.check_not_failed()?;
        self.file.flush()?;
        self.file.truncate_to_len()
    }

    /// The file, for syncing it while no record is being added.
    pub fn file_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.file
    }
}
