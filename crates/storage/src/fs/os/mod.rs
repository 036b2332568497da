//! The operating system's file system.
//!
//! Writes are not buffered: an append is one `write` call, or several if the system writes less
//! than it was given. Files are opened close-on-exec. Reads of whole files front to back are
//! buffered.
//!
//! A path may lead to something that is not a file. So opening never waits, as it would for the
//! other end of a FIFO, and only regular files are read, because a device may have no end.
//!
//! Locks are taken as RocksDB takes them, so both engines keep out of each other's databases: on
//! Unix as `fcntl` write locks over the whole lock file, on Windows by opening it exclusively. The
//! locks of Unix belong to the process: they do not exclude a second opener in the same process,
//! and the system releases them when the process closes *any* descriptor of the lock file.
//! Therefore a table of held locks is checked before the file is touched, and nothing else in the
//! process may open a lock file. On Windows the file is opened exclusively, which excludes every
//! other opener, whatever its path.
//!
//! `direct`: files that bypass the page cache. `opening`: opening files, and finding holes in them.
//! `platform`: the calls that differ between operating systems. `prefetch`: reading blocks of files
//! that bypass the page cache in the background.
//! `shared`: files that many threads write.

mod direct;
mod opening;
pub(super) mod platform;
mod prefetch;
mod shared;

use self::opening::{data_from, open_to_read};
use self::platform::{FileId, without_waiting};
use self::shared::OsShared;
use super::{
    FileLock, Fs, OpenDir, RandomAccessFile, SequentialFile, SharedFile, SharedOptions,
    WritableFile,
};
use crate::error::{Error, Result};
use crate::planted;
use bytes::Bytes;
use parking_lot::Mutex;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The buffer of a sequential file, in bytes.
const READ_BUFFER: usize = 64 * 1024;

/// The operating system's file system.
#[derive(Debug, Default, Clone)]
pub struct OsFs;

/// Adds the operation and the path to the error of `result`.
fn named<T>(op: &str, path: &Path, result: io::Result<T>) -> Result<T> {
    result.map_err(|e| Error::io(op, path, &e))
}

/// The directory `path`; an empty path is the working directory.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

impl Fs for OsFs {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let file =
            without_waiting(OpenOptions::new().write(true).create(true).truncate(true)).open(path);
        OsWritable::boxed(named("open a file for writing", path, file)?, path, 0)
    }

    fn create_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        direct::create(path)
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let open = || -> io::Result<(File, u64)> {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            let mut file = without_waiting(&mut options).open(path)?;
            let end = file.seek(SeekFrom::End(0))?;
            Ok((file, end))
        };
        let (file, end) = named("open a file for appending", path, open())?;
        OsWritable::boxed(file, path, end)
    }

    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>> {
        self.rename(old, new)?;
        let file = OpenOptions::new().write(true).open(new);
        OsWritable::boxed(named("reopen a file for writing", new, file)?, new, 0)
    }

    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        if let Some(old) = from {
            self.rename(old, path)?;
        }
        Ok(Box::new(OsShared::open(path, from, options)?))
    }

    fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        let open = || -> io::Result<(File, u64)> {
            let file = open_to_read(path)?;
            let len = file.metadata()?.len();
            Ok((file, len))
        };
        let (file, len_at_open) = named("open a file for random reads", path, open())?;
        Ok(Arc::new(OsRandom {
            file,
            len_at_open,
            path: path.to_path_buf(),
        }))
    }

    fn open_random_direct(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        direct::open_random(path)
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        let file = named(
            "open a file for sequential reading",
            path,
            open_to_read(path),
        )?;
        Ok(Box::new(OsSequential {
            file: BufReader::with_capacity(READ_BUFFER, file),
            path: path.to_path_buf(),
        }))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        named("look for a file", path, path.try_exists())
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        Ok(named("get the size of a file", path, fs::metadata(path))?.len())
    }

    fn modified(&self, path: &Path) -> Result<u64> {
        let time = fs::metadata(path).and_then(|meta| meta.modified());
        let time = named("get the time of a file", path, time)?;
        // A time before 1970 counts as 1970.
        Ok(time.duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()))
    }

    fn list(&self, path: &Path) -> Result<Vec<String>> {
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(path)? {
                // No file of a database has a name that is not UTF-8.
                if let Ok(name) = entry?.file_name().into_string() {
                    names.push(name);
                }
            }
            Ok(names)
        };
        named("list a directory", path, read())
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        named("create a directory", path, fs::create_dir_all(path))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        named("remove a file", path, fs::remove_file(path))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        named("remove a directory", path, fs::remove_dir(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let op = format!("rename a file to {}", to.display());
        named(&op, from, fs::rename(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        let op = format!("link a file to {}", to.display());
        named(&op, from, fs::hard_link(from, to))
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<()> {
        let cut = || -> io::Result<()> {
            let file = OpenOptions::new().write(true).open(path)?;
            file.set_len(len)?;
            file.sync_all()
        };
        named("truncate a file", path, cut())
    }

    fn num_links(&self, path: &Path) -> Result<u64> {
        let links = fs::metadata(path).map(|meta| platform::num_links(&meta));
        let links = named("count the links of a file", path, links)?;
        links.ok_or_else(|| Error::not_supported("counting links").in_file(path, None))
    }

    fn free_space(&self, path: &Path) -> Result<u64> {
        let free = named(
            "get the free space",
            path,
            platform::free_space(or_here(path)),
        )?;
        free.ok_or_else(|| Error::not_supported("free space").in_file(path, None))
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        let dir = or_here(path);
        named("fsync a directory", dir, platform::sync_dir(dir))
    }

    fn open_dir(&self, path: &Path) -> Result<OpenDir> {
        let file = platform::open_dir(or_here(path));
        Ok(OpenDir {
            path: path.to_path_buf(),
            file: named("open a directory", path, file)?,
        })
    }

    fn sync_open_dir(&self, dir: &OpenDir) -> Result<()> {
        match &dir.file {
            Some(file) => named("fsync a directory", &dir.path, file.sync_all()),
            None => self.sync_dir(&dir.path),
        }
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        named("lock file", path, OsLock::take(path)).map(|l| Box::new(l) as Box<dyn FileLock>)
    }
}

/// A file that is written front to back.
#[derive(Debug)]
struct OsWritable {
    file: File,
    path: PathBuf,
    /// Bytes written. The system's file offset is the same, unless an append failed half-way.
    pos: u64,
}

impl OsWritable {
    #[expect(clippy::unnecessary_wraps, reason = "the callers return this type")]
    fn boxed(file: File, path: &Path, pos: u64) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(OsWritable {
            file,
            path: path.to_path_buf(),
            pos,
        }))
    }
}

impl WritableFile for OsWritable {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        // `write_all` continues after short writes and interruptions.
        let result = self.file.write_all(data);
        named("append to a file", &self.path, result)?;
        self.pos += data.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(()) // appends go straight to the system
    }

    fn sync(&mut self) -> Result<()> {
        named("fdatasync", &self.path, self.file.sync_data())
    }

    fn len(&self) -> u64 {
        self.pos
    }

    fn preallocate(&mut self, len: u64) {
        if len > self.pos {
            platform::preallocate(&self.file, self.pos, len);
        }
    }

    fn start_writeback(&mut self, from: u64, to: u64) {
        platform::start_writeback(&self.file, from, to);
    }

    fn truncate_to_len(&mut self) -> Result<()> {
        named("truncate a file", &self.path, self.file.set_len(self.pos))
    }
}

/// A file read at any position.
#[derive(Debug)]
struct OsRandom {
    file: File,
    /// Bounds reads of finished files without a system call.
    len_at_open: u64,
    path: PathBuf,
}

impl OsRandom {
    fn ends_early(&self, offset: u64, len: usize, got: usize) -> Error {
        Error::corruption_in(
            &self.path,
            offset,
            format_args!("file ends early: {got} of {len} bytes"),
        )
    }

    /// Fails if the file ends before the range does. Needs no system call if the file was long
    /// enough when it was opened. To be called before memory is allocated.
    fn check_range(&self, offset: u64, len: usize) -> Result<()> {
        let fits = |file_len: u64| {
            offset
                .checked_add(len as u64)
                .is_some_and(|end| end <= file_len)
        };
        if fits(self.len_at_open) {
            return Ok(());
        }
        let now = self.len()?;
        if fits(now) {
            return Ok(());
        }
        let there = now.saturating_sub(offset).min(len as u64);
        Err(self.ends_early(offset, len, there as usize))
    }

    /// Calls `read` with the next offset and the number of bytes read so far, until `len` bytes or
    /// more are read.
    fn read_all(
        &self,
        offset: u64,
        len: usize,
        mut read: impl FnMut(u64, usize) -> io::Result<usize>,
    ) -> Result<()> {
        let mut got = 0;
        while got < len {
            match read(offset + got as u64, got) {
                Ok(0) => return Err(self.ends_early(offset, len, got)),
                Ok(n) => got += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return named("read from a file", &self.path, Err(e)),
            }
        }
        Ok(())
    }
}

impl RandomAccessFile for OsRandom {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.check_range(offset, len)?;
        let mut buf = Vec::with_capacity(len);
        self.read_all(offset, len, |at, _| {
            platform::read_spare(&self.file, &mut buf, at)
        })?;
        buf.truncate(len);
        Ok(Bytes::from(buf))
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.check_range(offset, buf.len())?;
        self.read_all(offset, buf.len(), |at, got| {
            platform::read_at(&self.file, &mut buf[got..], at)
        })
    }

    fn len(&self) -> Result<u64> {
        Ok(named("get the size of a file", &self.path, self.file.metadata())?.len())
    }

    fn advise_random(&self) {
        platform::advise_random(&self.file);
    }

    fn prefetch(&self, offset: u64, len: usize) {
        platform::prefetch(&self.file, offset, len as u64);
    }

    fn takes_hints(&self) -> bool {
        cfg!(any(target_os = "linux", target_vendor = "apple"))
    }

    fn has_page_cache(&self) -> bool {
        self.takes_hints()
    }

    fn data_from(&self, offset: u64) -> u64 {
        data_from(&self.file, offset)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A file read front to back.
#[derive(Debug)]
struct OsSequential {
    file: BufReader<File>,
    path: PathBuf,
}

impl SequentialFile for OsSequential {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        loop {
            match self.file.read(buf) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => return named("read from a file", &self.path, other),
            }
        }
    }

    fn skip_hole(&mut self, unit: u64) -> Result<u64> {
        let mut skip = || -> io::Result<u64> {
            let at = self.file.stream_position()?;
            let whole = (data_from(self.file.get_ref(), at) - at) / unit * unit;
            if whole > 0 {
                self.file.seek(SeekFrom::Start(at + whole))?;
            }
            Ok(whole)
        };
        named("skip a hole in a file", &self.path, skip())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// The lock files that this process holds. Locked during the whole of taking and releasing a lock.
static HELD: Mutex<Vec<LockId>> = Mutex::new(Vec::new());

/// Identifies a lock file, whatever path it is opened by.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LockId {
    path: PathBuf,
    /// The identity of the file, where the system tells it.
    file: Option<FileId>,
}

/// A held lock.
#[derive(Debug)]
struct OsLock {
    /// The locked file. Closing it, on drop, releases the lock.
    file: Option<File>,
    id: LockId,
}

impl OsLock {
    fn take(path: &Path) -> io::Result<OsLock> {
        let dir = match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let canonical = dir.canonicalize()?.join(name);
        let mut held = HELD.lock();
        // Checked without opening the file, because closing it again would release the lock
        // of its current holder.
        let file = fs::metadata(&canonical)
            .ok()
            .and_then(|m| platform::file_id(&m));
        let mut held_ones = held.iter();
        let mut is_held =
            held_ones.any(|l| l.path == canonical || (file.is_some() && l.file == file));
        planted!(LockNotTaken => is_held = false);
        if is_held {
            return Err(io::Error::new(
                ErrorKind::WouldBlock,
                "lock hold by current process",
            ));
        }
        let file = platform::open_locked(&canonical)?;
        let meta = file.metadata()?;
        let id = LockId {
            path: canonical,
            file: platform::file_id(&meta),
        };
        held.push(id.clone());
        Ok(OsLock {
            file: Some(file),
            id,
        })
    }
}

impl FileLock for OsLock {}

impl Drop for OsLock {
    fn drop(&mut self) {
        let mut held = HELD.lock();
        // First the system's lock, then the entry: an opener that finds no entry can take the
        // lock.
        self.file = None;
        held.retain(|l| *l != self.id);
    }
}
