//! Files that many threads write at once, each to a range of its own.
//!
//! A log is written through such a file if every writer copies its own record. The callers assign
//! the ranges: a file neither hands them out nor checks that they are disjoint. Overlapping writes
//! leave any mixture of their bytes in the overlap, and never touch anything else.
//!
//! Length and content are separate: [`SharedFile::extend`] makes room, and that is where a full
//! disk or a refused mapping shows. [`SharedFile::write_at`] then only copies bytes.

use crate::error::{Error, Result};
use std::fmt::Debug;
use std::sync::OnceLock;

/// How bytes get from [`SharedFile::write_at`] into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SharedAccess {
    /// A mapping where it works and a full disk cannot cause a signal; positioned writes
    /// otherwise. The default.
    #[default]
    Auto,
    /// Stores into a shared mapping of the file, without a system call per write. Refused where a
    /// full disk could cause a signal.
    Mapped,
    /// One `pwrite` call per write.
    Positioned,
}

/// How a shared file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SharedOptions {
    /// How bytes get into the file. Default: [`SharedAccess::Auto`].
    pub access: SharedAccess,
    /// Whether [`SharedFile::extend`] writes zeros to new space and makes them durable, until
    /// [`SharedFile::initialize`] changes it. That costs as much as writing that much data, but
    /// makes later `sync` calls cheaper: the first one need not write back prepared memory, and
    /// none has to record that space is now in use. For logs whose writes are synced one by one.
    /// Default: false.
    pub initialize: bool,
}

impl From<SharedAccess> for SharedOptions {
    fn from(access: SharedAccess) -> Self {
        SharedOptions {
            access,
            ..SharedOptions::default()
        }
    }
}

/// A file that many threads write at once, each to a range of its own.
///
/// All methods may be called concurrently, except for two that say otherwise
/// ([`SharedFile::extend`], [`SharedFile::truncate`]).
pub trait SharedFile: Debug + Send + Sync {
    /// Writes `data` at `offset`. When this returns, the operating system has the bytes: they
    /// survive the death of the process.
    ///
    /// # Errors
    /// `InvalidArgument`, with nothing written, if the range is not below
    /// [`SharedFile::allocated`]; errors of the file system, after which the content of the range
    /// is unknown; the error of a `sync` that failed before.
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;

    /// Makes the first `len` bytes of the file usable. Their space is allocated, so that no later
    /// write below `len` fails for lack of space, and bytes that were not written read as zeros,
    /// or as the previous content of a reused file. If the file is mapped, this also prepares the
    /// memory that no earlier call has prepared, even below [`SharedFile::allocated`] unless
    /// [`SharedOptions::initialize`] is set. The file is not cut if `len` is below
    /// [`SharedFile::allocated`].
    ///
    /// Call it from one thread at a time, outside of the write path, and not too far ahead:
    /// prepared space takes memory and may have to be written back. Writes may go on meanwhile.
    ///
    /// # Errors
    /// Errors of the file system, above all a full disk. Previously allocated space stays usable,
    /// and the call may be repeated.
    fn extend(&self, len: u64) -> Result<()>;

    /// Whether [`SharedFile::extend`] prepares memory, which takes longer than to allocate space:
    /// another thread may do that ahead of the writers.
    fn prepares_memory(&self) -> bool {
        false
    }

    /// Changes [`SharedOptions::initialize`] for later extensions. A hint.
    fn initialize(&self, _on: bool) {}

    /// How many bytes can be written, from the start of the file. This is also its length.
    fn allocated(&self) -> u64;

    /// Makes everything that was written before the call durable, and the length (fdatasync).
    ///
    /// # Errors
    /// Errors of the file system. A failed sync is final: every later sync and write fails with
    /// the same error.
    fn sync(&self) -> Result<()>;

    /// Hands buffered bytes to the operating system. Only a [`super::window::WindowFile`] has any.
    ///
    /// # Errors
    /// As [`SharedFile::write_at`].
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Bytes of this process' memory that the file takes: what it keeps until a flush, and pages of
    /// a mapping, which are the page cache's, too.
    fn memory_usage(&self) -> u64 {
        0
    }

    /// Asks the system to begin writing back the bytes between `from` and `to`, so that a later
    /// sync has less to do. A hint: it does not wait, and makes nothing durable. It does nothing
    /// on systems without such a call.
    fn start_writeback(&self, _from: u64, _to: u64) {}

    /// Cuts the file at `len` bytes, as is done when a log is closed. Does nothing if the file is
    /// shorter. Does not sync.
    ///
    /// Must not be called while a write at or beyond `len` is under way. (Such a write to a mapped
    /// file would kill the process with a signal.)
    ///
    /// # Errors
    /// Errors of the file system; the error of a `sync` that failed before.
    fn truncate(&self, len: u64) -> Result<()>;

    /// A fault injector calls this when it makes a sync fail; see
    /// [`super::WritableFile::forget_unsynced`].
    fn forget_unsynced(&self) {}
}

/// The first failed sync of a file. Written once, by the sync that failed;
/// read by every later write and sync. The cell publishes the error.
#[derive(Debug, Default)]
pub(super) struct FailedSync(OnceLock<Error>);

impl FailedSync {
    /// Fails if a sync has failed.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(first) => Err(first.clone()),
        }
    }

    /// Keeps the first failure.
    pub fn remember(&self, result: Result<()>) -> Result<()> {
        result.inspect_err(|e| {
            self.0.get_or_init(|| e.clone());
        })
    }
}

/// Checks that a write of `len` bytes at `offset` ends at or below `allocated`.
#[inline]
pub(super) fn check_range(
    offset: u64,
    len: usize,
    allocated: u64,
    path: &std::path::Path,
) -> Result<()> {
    match offset.checked_add(len as u64) {
        Some(end) if end <= allocated => Ok(()),
        _ => Err(out_of_range(offset, len, allocated, path)),
    }
}

#[cold]
fn out_of_range(offset: u64, len: usize, allocated: u64, path: &std::path::Path) -> Error {
    Error::invalid(format_args!(
        "write of {len} bytes at {offset} where {allocated} bytes are allocated"
    ))
    .in_file(path, None)
}
