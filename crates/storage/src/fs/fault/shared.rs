//! Failures of files that many threads write.

use super::super::shared::{FailedSync, SharedFile};
use super::{Fault, FaultFs, FaultOp};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// Fails operations of a shared file by rule.
#[derive(Debug)]
pub(super) struct FaultShared {
    inner: Box<dyn SharedFile>,
    fs: FaultFs,
    path: PathBuf,
    /// Injected failures, which the wrapped file does not know.
    failed: FailedSync,
}

impl FaultShared {
    pub fn new(inner: Box<dyn SharedFile>, fs: &FaultFs, path: &Path) -> Self {
        FaultShared {
            inner,
            fs: fs.clone(),
            path: path.to_path_buf(),
            failed: FailedSync::default(),
        }
    }
}

impl SharedFile for FaultShared {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.failed.check()?;
        match self.fs.pick(FaultOp::Append, &self.path) {
            None => self.inner.write_at(offset, data),
            Some(fault) => {
                if fault == Fault::ShortWrite {
                    self.inner.write_at(offset, &data[..data.len() / 2])?;
                }
                Err(fault.error(FaultOp::Append, &self.path))
            }
        }
    }
    fn extend(&self, len: u64) -> Result<()> {
        self.failed.check()?;
        self.fs.gate(FaultOp::Extend, &self.path)?;
        self.inner.extend(len)
    }
    fn initialize(&self, on: bool) {
        self.inner.initialize(on);
    }
    fn allocated(&self) -> u64 {
        self.inner.allocated()
    }
    fn sync(&self) -> Result<()> {
        self.failed.check()?;
        if let Err(e) = self.fs.gate(FaultOp::Sync, &self.path) {
            self.inner.forget_unsynced();
            return self.failed.remember(Err(e));
        }
        self.inner.sync()
    }
    fn flush(&self) -> Result<()> {
        self.failed.check()?;
        self.inner.flush()
    }
    fn memory_usage(&self) -> u64 {
        self.inner.memory_usage()
    }
    fn start_writeback(&self, from: u64, to: u64) {
        self.inner.start_writeback(from, to);
    }
    fn truncate(&self, len: u64) -> Result<()> {
        self.failed.check()?;
        self.fs.gate(FaultOp::Truncate, &self.path)?;
        self.inner.truncate(len)
    }
    fn forget_unsynced(&self) {
        self.inner.forget_unsynced();
    }
}
