//! A part of a file, read front to back.

use super::{RandomAccessFile, SequentialFile};
use crate::error::Result;
use std::path::Path;
use std::sync::Arc;

/// A part of a file. The file may be cut while the part is read.
#[derive(Debug)]
pub struct Part {
    file: Arc<dyn RandomAccessFile>,
    at: u64,
    end: u64,
}

impl Part {
    /// The bytes from `at` to `end`.
    pub fn new(file: &Arc<dyn RandomAccessFile>, at: u64, end: u64) -> Self {
        Part {
            file: file.clone(),
            at,
            end,
        }
    }
}

impl SequentialFile for Part {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        loop {
            let n = self.end.saturating_sub(self.at).min(buf.len() as u64) as usize;
            if n == 0 {
                return Ok(0);
            }
            match self.file.read_at(self.at, n) {
                Ok(bytes) => {
                    buf[..n].copy_from_slice(&bytes);
                    self.at += n as u64;
                    return Ok(n);
                }
                // The file was cut meanwhile.
                Err(_) if self.file.len()? < self.end => self.end = self.file.len()?,
                Err(e) => return Err(e),
            }
        }
    }

    fn skip_hole(&mut self, unit: u64) -> Result<u64> {
        let data = self.file.data_from(self.at).min(self.end);
        let whole = data.saturating_sub(self.at) / unit * unit;
        self.at += whole;
        Ok(whole)
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}
