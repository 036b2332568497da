//! The file system interface of the engine.
//!
//! All I/O of the engine goes through [`Fs`], so that a test can substitute an in-memory file
//! system with crash clones, or a fault injector.
//!
//! * `os`, [`os::OsFs`]: the operating system's files. `map`: a file mapped into memory.
//! * `mem`, [`mem::MemFs`]: files in memory. It tells written from synced bytes, and makes clones
//!   of itself as a crash would leave it.
//! * `fault`, [`fault::FaultFs`]: wraps a file system, and makes operations fail by rule.
//! * `latch`, [`latch::LatchFs`]: wraps a file system; after the first failed write or sync, every
//!   later one fails with that error.
//! * `names`, [`names::NamesFs`]: wraps a file system, and never syncs a directory again after a
//!   failure. It syncs directories that it holds open even if they were moved.
//! * `delegate`: a macro for file systems that wrap another one.
//!
//! * `shared`, [`shared::SharedFile`]: a file that many threads write at once.
//! * `window`, [`window::WindowFile`]: a shared file that keeps written bytes in memory.
//! * `part`, [`part::Part`]: a part of a file, read front to back.
//!
//! A file is written front to back by one owner ([`WritableFile`]), or by many threads at once
//! ([`shared::SharedFile`]).
//!
//! Every error names the operation and the path.

mod delegate;
pub mod fault;
pub mod latch;
#[cfg(target_os = "linux")]
mod map;
pub mod mem;
pub mod names;
pub mod os;
pub mod part;
pub mod shared;
pub mod window;

pub use self::part::Part;
pub use self::shared::{SharedAccess, SharedFile, SharedOptions};

use crate::error::{Error, Result};
use bytes::Bytes;
use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file system.
pub trait Fs: Debug + Send + Sync + 'static {
    /// Creates `path` for writing, truncating what was there.
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>>;
    /// [`create`](Self::create), bypassing the system's page cache: flushed bytes are on the
    /// device, though not durable.
    ///
    /// # Errors
    /// `NotSupported` naming the file, if the system or the file system has no such files.
    fn create_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Err(Error::not_supported("direct I/O").in_file(path, None))
    }
    /// Opens `path` for appending at its end, creating it when missing.
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>>;
    /// Renames `old` to `new` and opens it for overwriting from offset 0
    /// without truncating: how a WAL file is recycled.
    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>>;
    /// Opens `path` for writing by many threads at once. With `from`, that file is first renamed
    /// to `path`, and keeps its content and its length, all of which is allocated: how a WAL file
    /// is recycled. Without `from`, the file is empty, whatever was there.
    ///
    /// # Errors
    /// `NotSupported` naming the file, if `options` ask for a mapping and it is not available,
    /// and from file systems without such files.
    fn open_shared(
        &self,
        path: &Path,
        _from: Option<&Path>,
        _options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        Err(Error::not_supported("shared files").in_file(path, None))
    }
    /// Opens `path` for positioned reads.
    fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>>;
    /// [`open_random`](Self::open_random), bypassing the system's page cache.
    ///
    /// # Errors
    /// As [`create_direct`](Self::create_direct).
    fn open_random_direct(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        Err(Error::not_supported("direct I/O").in_file(path, None))
    }
    /// Opens `path` for reading front to back.
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>>;
    /// Whether a file or directory exists at `path`.
    fn exists(&self, path: &Path) -> Result<bool>;
    /// The length of the file at `path` in bytes.
    fn file_size(&self, path: &Path) -> Result<u64>;
    /// When the file at `path` was last written, in seconds since 1970.
    ///
    /// # Errors
    /// Errors of the file system; `NotSupported` from one that keeps no times.
    fn modified(&self, path: &Path) -> Result<u64> {
        Err(Error::not_supported("times of files").in_file(path, None))
    }
    /// The names (not paths) of the entries of the directory `path`.
    fn list(&self, path: &Path) -> Result<Vec<String>>;
    /// Creates the directory `path` and its parents. It is no error if it exists.
    fn create_dir_all(&self, path: &Path) -> Result<()>;
    /// Removes the file `path`.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Removes the empty directory `path`.
    fn remove_dir(&self, path: &Path) -> Result<()>;
    /// Atomically renames `from` to `to`, replacing it.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Cuts the file `path` to `len` bytes, and makes its new length durable.
    ///
    /// # Errors
    /// Errors of the file system; `NotSupported` from one that cannot.
    fn truncate(&self, path: &Path, _len: u64) -> Result<()> {
        Err(Error::not_supported("cutting files").in_file(path, None))
    }
    /// The number of names (hard links) that the file at `path` has.
    ///
    /// # Errors
    /// Errors of the file system; `NotSupported` from one that does not know.
    fn num_links(&self, path: &Path) -> Result<u64> {
        Err(Error::not_supported("counting links").in_file(path, None))
    }
    /// The free space, in bytes, of the file system that the directory `path` is on.
    ///
    /// # Errors
    /// Errors of the file system; `NotSupported` from one that does not know.
    fn free_space(&self, path: &Path) -> Result<u64> {
        Err(Error::not_supported("free space").in_file(path, None))
    }
    /// Creates `to` as a second name (hard link) of `from`.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;
    /// Makes the entries of the directory `path` durable.
    fn sync_dir(&self, path: &Path) -> Result<()>;
    /// Opens the directory `path`, for [`sync_open_dir`](Self::sync_open_dir).
    ///
    /// # Errors
    /// Errors of the file system. The default keeps only the path and does not fail.
    fn open_dir(&self, path: &Path) -> Result<OpenDir> {
        Ok(OpenDir::by_path(path))
    }
    /// Makes the entries of an open directory durable, even if it was moved or removed since it
    /// was opened. `dir` comes from [`open_dir`](Self::open_dir) of the same file system. If that
    /// keeps only the path, this is [`sync_dir`](Self::sync_dir).
    fn sync_open_dir(&self, dir: &OpenDir) -> Result<()> {
        self.sync_dir(dir.path())
    }
    /// Takes the exclusive lock `path` (creating the file), held until the
    /// result is dropped.
    ///
    /// # Errors
    /// `IOError` naming the lock file, without waiting, if another process or another opener in
    /// this process holds it.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>>;
}

/// An open directory; see [`Fs::open_dir`].
#[derive(Debug)]
pub struct OpenDir {
    path: PathBuf,
    /// Its descriptor, if it belongs to the operating system's file system.
    file: Option<File>,
}

impl OpenDir {
    /// An open directory that keeps only its path, for file systems without descriptors.
    pub fn by_path(path: &Path) -> Self {
        OpenDir {
            path: path.to_path_buf(),
            file: None,
        }
    }

    /// Its path when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A file being written. Not shared: the owner serializes calls.
///
/// `append` hands the bytes to the operating system before it returns. A [`BufferedWriter`] on top
/// of it may hold them until `flush`.
pub trait WritableFile: Debug + Send + Sync {
    /// Writes `data` at the end, or at the write position of a reused file.
    fn append(&mut self, data: &[u8]) -> Result<()>;
    /// Hands buffered bytes to the operating system; they survive the death
    /// of this process from then on.
    fn flush(&mut self) -> Result<()>;
    /// Makes all appended bytes and the file's length durable (fdatasync).
    fn sync(&mut self) -> Result<()>;
    /// Bytes appended so far: the write position of a reused file.
    fn len(&self) -> u64;
    /// Whether nothing was appended yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reserves space for the file to grow to `len` bytes. A hint.
    fn preallocate(&mut self, _len: u64) {}
    /// Asks the system to begin writing back the bytes between the offsets `from` and `to`, so
    /// that a later sync has less to do. A hint.
    fn start_writeback(&mut self, _from: u64, _to: u64) {}
    /// Cuts the file at its write position, and frees reserved space.
    fn truncate_to_len(&mut self) -> Result<()> {
        Ok(())
    }
    /// A fault injector calls this when it makes a sync fail. A simulated file system then
    /// forgets which bytes are unsynced, as Linux does after a failed fsync, so that no later
    /// sync makes them durable. Other file systems ignore it.
    fn forget_unsynced(&mut self) {}
}

/// A file read at any position, by many threads at once.
pub trait RandomAccessFile: Debug + Send + Sync {
    /// Reads exactly `len` bytes at `offset`.
    ///
    /// # Errors
    /// `Corruption` naming the file and offset when the file ends before.
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes>;
    /// Fills `buf` with the bytes from `offset` on. For callers that reuse their buffer.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at). The content of `buf` is unspecified then.
    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let bytes = self.read_at(offset, buf.len())?;
        if bytes.len() != buf.len() {
            let what = format!("read {} of {} bytes", bytes.len(), buf.len());
            return Err(Error::corruption_in(self.path(), offset, what));
        }
        buf.copy_from_slice(&bytes);
        Ok(())
    }
    /// The file's length in bytes.
    fn len(&self) -> Result<u64>;
    /// Whether the file is empty.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Tells the system that reads come in no order, so that it need not read ahead unasked. A
    /// hint.
    fn advise_random(&self) {}
    /// Has this range, which will be read soon, read in the background. A hint.
    fn prefetch(&self, _offset: u64, _len: usize) {}
    /// Whether [`prefetch`](Self::prefetch) has an effect, at least for single blocks of a table.
    fn takes_hints(&self) -> bool {
        false
    }
    /// Whether what is [prefetched](Self::prefetch) goes to the system's page cache. A reader that
    /// goes from front to back can then prefetch any range, and need not read much at a time.
    fn has_page_cache(&self) -> bool {
        false
    }
    /// The first offset from `offset` on that may hold something other than zeros, or the end of
    /// the file, as far as it is known without reading.
    fn data_from(&self, offset: u64) -> u64 {
        offset
    }
    /// The path, for error messages.
    fn path(&self) -> &Path;
}

/// A file read front to back.
pub trait SequentialFile: Debug + Send {
    /// Reads up to `buf.len()` bytes; 0 means end of file.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize>;
    /// Skips a multiple of `unit` bytes that are known, without reading, to be zeros. Returns how
    /// many were skipped.
    fn skip_hole(&mut self, _unit: u64) -> Result<u64> {
        Ok(0)
    }
    /// The path, for error messages.
    fn path(&self) -> &Path;
}

/// A held lock. Dropping it releases the lock.
pub trait FileLock: Debug + Send + Sync {}

/// Reads a whole file, refusing one longer than `max` bytes.
pub fn read_file(fs: &dyn Fs, path: &Path, max: u64) -> Result<Vec<u8>> {
    let size = fs.file_size(path)?;
    if size > max {
        return Err(Error::corruption_in(
            path,
            max,
            format_args!("file of {size} bytes where at most {max} are expected"),
        ));
    }
    let mut file = fs.open_sequential(path)?;
    let mut out = Vec::new();
    let mut chunk = [0u8; 8192];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(out),
            n => out.extend_from_slice(&chunk[..n]),
        }
    }
}

/// Writes `data` to `path` so that after a crash there is either no new file or all of it: writes a
/// temporary file, syncs it, renames it, and syncs the directory.
pub fn write_file_atomically(fs: &dyn Fs, tmp: &Path, path: &Path, data: &[u8]) -> Result<()> {
    let mut file = fs.create(tmp)?;
    file.append(data)?;
    file.sync()?;
    drop(file);
    fs.rename(tmp, path)?;
    if let Some(dir) = path.parent() {
        fs.sync_dir(dir)?;
    }
    Ok(())
}

/// Collects small appends into writes of `capacity` bytes.
#[derive(Debug)]
pub struct BufferedWriter {
    file: Box<dyn WritableFile>,
    buf: Vec<u8>,
    capacity: usize,
}

impl BufferedWriter {
    /// Buffers `file` with `capacity` bytes.
    pub fn new(file: Box<dyn WritableFile>, capacity: usize) -> Self {
        BufferedWriter {
            file,
            buf: Vec::with_capacity(capacity),
            capacity,
        }
    }
}

impl WritableFile for BufferedWriter {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        if self.buf.len() + data.len() > self.capacity {
            self.flush()?;
            if data.len() >= self.capacity {
                return self.file.append(data);
            }
        }
        self.buf.extend_from_slice(data);
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        if !self.buf.is_empty() {
            self.file.append(&self.buf)?;
            self.buf.clear();
        }
        self.file.flush()
    }
    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.file.sync()
    }
    fn len(&self) -> u64 {
        self.file.len() + self.buf.len() as u64
    }
    fn preallocate(&mut self, len: u64) {
        self.file.preallocate(len);
    }
    fn start_writeback(&mut self, from: u64, to: u64) {
        self.file.start_writeback(from, to);
    }
    fn truncate_to_len(&mut self) -> Result<()> {
        self.flush()?;
        self.file.truncate_to_len()
    }
    fn forget_unsynced(&mut self) {
        self.file.forget_unsynced();
    }
}
