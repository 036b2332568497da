//! Files that many threads write at once, each at places of its own.
//!
//! This is what a log is written through when every writer copies its own
//! record. The places are the callers' business: a file neither hands them out
//! nor checks that they are disjoint. Overlapping writes leave one or the
//! other's bytes, in any mixture; they never touch anything else.
//!
//! Length and content are apart here: [`SharedFile::extend`] makes room, with
//! all that can go wrong (a full disk, a refused mapping), and
//! [`SharedFile::write_at`] then only copies bytes into it.

use crate::error::{Error, Result};
use std::fmt::Debug;
use std::sync::OnceLock;

/// How bytes get from [`SharedFile::write_at`] into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SharedAccess {
    /// Mapped where that works and a full disk cannot turn into a signal,
    /// positioned writes elsewhere. The default.
    #[default]
    Auto,
    /// Stores into a shared mapping of the file: no system call per write. Refused
    /// where a full disk could turn into a signal.
    Mapped,
    /// One `pwrite` call per write.
    Positioned,
}

/// How a shared file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SharedOptions {
    /// How bytes get into the file. Default: [`SharedAccess::Auto`].
    pub access: SharedAccess,
    /// Whether [`SharedFile::extend`] writes zeros to new space and makes them
    /// durable, until [`SharedFile::initialize`] says otherwise. That costs as
    /// much as writing that much data, and spares the `sync` calls from it: the
    /// first one need not write back memory that was made ready, and none has to
    /// note that space is in use now. For logs whose writes are synced one by
    /// one. Default: false.
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

/// A file that many threads write at once, each at places of its own.
///
/// All methods may be called beside each other, but for the two that say
/// otherwise ([`SharedFile::extend`], [`SharedFile::truncate`]).
pub trait SharedFile: Debug + Send + Sync {
    /// Writes `data` at `offset`. The bytes are the operating system's when
    /// this returns: they survive the death of the process.
    ///
    /// # Errors
    /// `InvalidArgument`, with nothing written, when the range is not below
    /// [`SharedFile::allocated`]; those of the file system, after which it is
    /// unknown what stands in the range; the first error of a `sync` that
    /// failed before.
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;

    /// Makes the first `len` bytes of the file usable: really allocated, so
    /// that no later write below `len` fails for want of space, and reading as
    /// zeros where nothing was written (in a reused file: as what stood
    /// there). Also gets the memory behind them ready, if the file is mapped,
    /// in as far as no earlier call did: also below [`SharedFile::allocated`],
    /// unless [`SharedOptions::initialize`] is set.
    /// Nothing is cut off when `len` is below that.
    ///
    /// Call it from one thread at a time, off the path of writers, and not too
    /// far ahead: what was made ready takes memory and may have to be written
    /// back. Writes may go on meanwhile.
    ///
    /// # Errors
    /// Those of the file system, a full disk first of all. What was allocated
    /// before stays usable, and the call may be tried again.
    fn extend(&self, len: u64) -> Result<()>;

    /// Changes [`SharedOptions::initialize`] for extensions from now on. A pure
    /// hint.
    fn initialize(&self, _on: bool) {}

    /// How many bytes can be written to, from the start of the file; this is
    /// also its length.
    fn allocated(&self) -> u64;

    /// Makes durable all that was written before the call, and the length
    /// (fdatasync).
    ///
    /// # Errors
    /// Those of the file system. A failed sync is final: every later sync and
    /// write fails with the first one's error.
    fn sync(&self) -> Result<()>;

    /// Hands buffered bytes to the operating system; only a
    /// [`super::window::WindowFile`] has any.
    ///
    /// # Errors
    /// Those of [`SharedFile::write_at`].
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Asks the system to begin writing back what was written between `from`
    /// and `to`, so that a later sync has less to do. A pure hint: nothing is
    /// waited for, nothing becomes durable, and where there is no such call,
    /// nothing happens.
    fn start_writeback(&self, _from: u64, _to: u64) {}

    /// Cuts the file at `len` bytes, which is how a log is closed. Nothing
    /// happens when it is shorter. Not synced.
    ///
    /// Not to be called while a write at or beyond `len` is under way. (The
    /// process dies by a signal when one is in a mapped file.)
    ///
    /// # Errors
    /// Those of the file system, or the first failed sync's.
    fn truncate(&self, len: u64) -> Result<()>;

    /// Told by a fault injector that a sync was made to fail; see
    /// [`super::WritableFile::forget_unsynced`].
    fn forget_unsynced(&self) {}
}

/// The first failed sync of a file. Written once, by the sync that failed;
/// read by every later write and sync. The cell publishes the error.
#[derive(Debug, Default)]
pub(super) struct FailedSync(OnceLock<Error>);

impl FailedSync {
    /// Fails when a sync has failed.
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

/// The end of a write of `len` bytes at `offset`, when that is not above
/// `allocated`; otherwise what to tell the caller.
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
