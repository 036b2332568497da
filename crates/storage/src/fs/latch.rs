//! First-error latch.
//!
//! After a failed write or sync, the content of the disk is unknown: the system may have dropped
//! the bytes and then report success for the next sync. So the first failure of a call that changes
//! files latches. Every later such call fails with the same error, until the database is opened
//! again on a new [`LatchFs`]. Reads go on.
//!
//! Failures of these calls latch: creating, appending, flushing, syncing, truncating, renaming, and
//! syncing a directory. Failures of removing, linking and making directories do not latch, because
//! they leave nothing in doubt; but these calls, too, fail once another failure has latched. The
//! same holds for extending a shared file, which may be tried again once the disk has room; the
//! next write finds a failed sync in it.

use super::{Fs, SharedFile, SharedOptions, WritableFile};
use crate::delegate_fs;
use crate::error::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Wraps a file system and latches the first failed write. Clones share the latch.
#[derive(Debug, Clone)]
pub struct LatchFs {
    inner: Arc<dyn Fs>,
    latch: Latch,
}

/// The first failure. Written once, by the call that failed first; read by every call that changes
/// files.
#[derive(Debug, Clone, Default)]
struct Latch(Arc<OnceLock<Error>>);

impl Latch {
    fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(first) => Err(Error::new(
                ErrorKind::IOError,
                format_args!("previous I/O failed: {first}"),
            )),
        }
    }

    /// Runs `op` unless latched; its failure latches.
    fn guard<T>(&self, op: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check()?;
        op().inspect_err(|e| {
            self.0.get_or_init(|| e.clone());
        })
    }
}

impl LatchFs {
    /// Wraps `inner`, with nothing latched.
    pub fn new(inner: Arc<dyn Fs>) -> Self {
        LatchFs {
            inner,
            latch: Latch::default(),
        }
    }

    /// The failure that latched, if any.
    pub fn failure(&self) -> Option<Error> {
        self.latch.0.get().cloned()
    }

    /// Runs `op` unless latched; its failure latches.
    fn latching<T>(&self, op: impl FnOnce() -> Result<T>) -> Result<T> {
        self.latch.guard(op)
    }

    /// Runs `op` unless latched; its failure leaves nothing in doubt and does not latch.
    fn unless_latched<T>(&self, op: impl FnOnce() -> Result<T>) -> Result<T> {
        self.latch.check()?;
        op()
    }

    /// Opens a file whose failures latch, too.
    fn writable(
        &self,
        open: impl FnOnce() -> Result<Box<dyn WritableFile>>,
    ) -> Result<Box<dyn WritableFile>> {
        let inner = self.latch.guard(open)?;
        Ok(Box::new(LatchFile {
            inner,
            latch: self.latch.clone(),
        }))
    }
}

impl Fs for LatchFs {
    delegate_fs!(inner via writable: create, create_direct, open_append, reuse);
    delegate_fs!(inner via latching: rename, sync_dir, sync_open_dir);
    delegate_fs!(inner via unless_latched: create_dir_all, remove, remove_dir, link, truncate);
    delegate_fs!(inner: open_random, open_random_direct, open_sequential);
    delegate_fs!(inner: exists, file_size, modified, list, open_dir, lock);
    delegate_fs!(inner: num_links, free_space);

    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        let open = || self.inner.open_shared(path, from, options);
        Ok(Box::new(LatchShared {
            inner: self.latch.guard(open)?,
            latch: self.latch.clone(),
        }))
    }
}

#[derive(Debug)]
struct LatchFile {
    inner: Box<dyn WritableFile>,
    latch: Latch,
}

impl WritableFile for LatchFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.latch.guard(|| self.inner.append(data))
    }
    fn flush(&mut self) -> Result<()> {
        self.latch.guard(|| self.inner.flush())
    }
    fn sync(&mut self) -> Result<()> {
        self.latch.guard(|| self.inner.sync())
    }
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn preallocate(&mut self, len: u64) {
        self.inner.preallocate(len);
    }
    fn start_writeback(&mut self, from: u64, to: u64) {
        self.inner.start_writeback(from, to);
    }
    fn truncate_to_len(&mut self) -> Result<()> {
        self.latch.guard(|| self.inner.truncate_to_len())
    }
    fn forget_unsynced(&mut self) {
        self.inner.forget_unsynced();
    }
}

#[derive(Debug)]
struct LatchShared {
    inner: Box<dyn SharedFile>,
    latch: Latch,
}

impl SharedFile for LatchShared {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.latch.check()?;
        match self.inner.write_at(offset, data) {
            // Nothing was written, and the file is unchanged.
            Err(e) if e.kind() == ErrorKind::InvalidArgument => Err(e),
            result => self.latch.guard(|| result),
        }
    }
    fn extend(&self, len: u64) -> Result<()> {
        self.latch.check()?;
        self.inner.extend(len)
    }
    fn prepares_memory(&self) -> bool {
        self.inner.prepares_memory()
    }
    fn initialize(&self, on: bool) {
        self.inner.initialize(on);
    }
    fn allocated(&self) -> u64 {
        self.inner.allocated()
    }
    fn sync(&self) -> Result<()> {
        self.latch.guard(|| self.inner.sync())
    }
    fn flush(&self) -> Result<()> {
        self.latch.guard(|| self.inner.flush())
    }
    fn memory_usage(&self) -> u64 {
        self.inner.memory_usage()
    }
    fn start_writeback(&self, from: u64, to: u64) {
        self.inner.start_writeback(from, to);
    }
    fn truncate(&self, len: u64) -> Result<()> {
        self.latch.guard(|| self.inner.truncate(len))
    }
    fn forget_unsynced(&self) {
        self.inner.forget_unsynced();
    }
}
