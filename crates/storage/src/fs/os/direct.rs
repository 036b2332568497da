//! Files that bypass the system's page cache (`O_DIRECT`).
//!
//! The system then accepts only whole blocks, at offsets and addresses that are multiples of a
//! block. A writer collects bytes in an aligned buffer, pads the last block with zeros, and cuts
//! the file to its length. A reader reads the blocks that contain the requested range; `prefetch`
//! does so in the background.

use super::named;
use super::opening::check_is_file;
use super::platform;
use super::prefetch::{Prefetched, Prefetches};
use crate::error::{Error, Result};
use crate::fs::{RandomAccessFile, WritableFile};
use bytes::Bytes;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// The size of a block in bytes: offsets, lengths and addresses are multiples of it. No device has
/// larger logical blocks.
const BLOCK: usize = 4096;

/// The size of the write buffer in bytes.
const BUFFER: usize = 1 << 20;

#[cfg(target_os = "linux")]
fn open(options: &mut OpenOptions, path: &Path) -> Result<File> {
    use platform::NONBLOCK;
    use rustix::io::Errno;
    use std::os::unix::fs::OpenOptionsExt;
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    match options.custom_flags(direct | NONBLOCK).open(path) {
        Err(e) if Errno::from_io_error(&e) == Some(Errno::INVAL) => Err(Error::not_supported(
            "the file system does not support direct I/O",
        )
        .in_file(path, None)),
        other => named("open a file for direct I/O", path, other),
    }
}

#[cfg(not(target_os = "linux"))]
fn open(_: &mut OpenOptions, path: &Path) -> Result<File> {
    Err(Error::not_supported("direct I/O is supported on Linux only").in_file(path, None))
}

/// Bytes in memory that starts at a multiple of a block.
#[derive(Debug)]
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// `len` zero bytes.
    fn new(len: usize) -> Self {
        let memory = vec![0; len + BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        Aligned { memory, start, len }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// A file written front to back.
#[derive(Debug)]
struct DirectWritable {
    file: File,
    path: PathBuf,
    buffer: Aligned,
    /// Bytes in the buffer.
    filled: usize,
    /// The offset in the file of the buffer's first byte: a multiple of a block.
    start: u64,
    /// Bytes of the buffer that were written, with padding.
    handed: usize,
}

/// Creates `path` for writing, truncating what was there.
pub(super) fn create(path: &Path) -> Result<Box<dyn WritableFile>> {
    let mut options = OpenOptions::new();
    let file = open(options.write(true).create(true).truncate(true), path)?;
    Ok(Box::new(DirectWritable {
        file,
        path: path.to_path_buf(),
        buffer: Aligned::new(BUFFER),
        filled: 0,
        start: 0,
        handed: 0,
    }))
}

impl DirectWritable {
    /// Writes the first `len` bytes of the buffer, a multiple of a block.
    fn write(&mut self, len: usize) -> Result<()> {
        let mut done = 0;
        while done < len {
            let at = self.start + done as u64;
            match platform::write_at(&self.file, &self.buffer.bytes()[done..len], at) {
                // After a part of a block, writing continues at the start of that block.
                Ok(n) if n >= BLOCK => done += n / BLOCK * BLOCK,
                Ok(_) => {
                    let e = io::Error::from_raw_os_error(platform::DEVICE_ERROR);
                    return named("append to a file", &self.path, Err(e));
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return named("append to a file", &self.path, Err(e)),
            }
        }
        Ok(())
    }
}

impl WritableFile for DirectWritable {
    fn append(&mut self, mut data: &[u8]) -> Result<()> {
        while !data.is_empty() {
            let room = BUFFER - self.filled;
            let (now, later) = data.split_at(room.min(data.len()));
            let end = self.filled + now.len();
            self.buffer.bytes_mut()[self.filled..end].copy_from_slice(now);
            self.filled = end;
            data = later;
            if self.filled == BUFFER {
                self.write(BUFFER)?;
                self.start += BUFFER as u64;
                (self.filled, self.handed) = (0, 0);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.handed == self.filled {
            return Ok(());
        }
        let (filled, padded) = (self.filled, self.filled.next_multiple_of(BLOCK));
        self.buffer.bytes_mut()[filled..padded].fill(0);
        self.write(padded)?;
        named("truncate a file", &self.path, self.file.set_len(self.len()))?;
        self.handed = filled;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        named("fdatasync", &self.path, self.file.sync_data())
    }

    fn len(&self) -> u64 {
        self.start + self.filled as u64
    }

    fn truncate_to_len(&mut self) -> Result<()> {
        self.flush()?;
        named("truncate a file", &self.path, self.file.set_len(self.len()))
    }
}

/// A file read at any position.
#[derive(Debug)]
struct DirectFile {
    file: File,
    path: PathBuf,
    /// Bounds reads of finished files without a system call.
    len_at_open: u64,
    /// See [`Prefetched::count`].
    prefetched: AtomicUsize,
}

/// A [`DirectFile`] that is open.
#[derive(Debug)]
struct DirectRandom(Arc<DirectFile>);

/// What was prefetched of the files that are open.
static PREFETCHES: Prefetches<DirectFile> =
    Prefetches::new(Duration::from_millis(250), Duration::from_secs(10));

/// Opens `path` for positioned reads.
pub(super) fn open_random(path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
    Ok(Arc::new(DirectRandom::open(path)?))
}

impl DirectRandom {
    fn open(path: &Path) -> Result<Self> {
        let file = open(OpenOptions::new().read(true), path)?;
        named("open a file for direct I/O", path, check_is_file(&file))?;
        let meta = named("get the size of a file", path, file.metadata())?;
        Ok(DirectRandom(Arc::new(DirectFile {
            file,
            len_at_open: meta.len(),
            path: path.to_path_buf(),
            prefetched: AtomicUsize::new(0),
        })))
    }
}

impl RandomAccessFile for DirectRandom {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.0.check_range(offset, len)?;
        match PREFETCHES.take(&self.0, offset, len) {
            Some(bytes) => Ok(bytes),
            None => self.0.read(offset, len),
        }
    }

    fn len(&self) -> Result<u64> {
        self.0.len()
    }

    fn prefetch(&self, offset: u64, len: usize) {
        let end = offset.checked_add(len as u64);
        if end.is_some_and(|end| end <= self.0.len_at_open) {
            PREFETCHES.prefetch(&self.0, offset, len);
        }
    }

    fn takes_hints(&self) -> bool {
        true
    }

    fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Drop for DirectRandom {
    fn drop(&mut self) {
        PREFETCHES.forget(&self.0);
    }
}

impl Prefetched for DirectFile {
    fn read(&self, offset: u64, len: usize) -> Result<Bytes> {
        let skip = (offset % BLOCK as u64) as usize;
        let first = offset - skip as u64;
        let mut blocks = Aligned::new((skip + len).next_multiple_of(BLOCK));
        let mut got = 0;
        while got < skip + len {
            // Ends at a block boundary, except at the end of the file.
            let at = first + got as u64;
            match platform::read_at(&self.file, &mut blocks.bytes_mut()[got..], at) {
                Ok(0) => return Err(self.ends_early(offset, len, got.saturating_sub(skip) as u64)),
                Ok(n) => got += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return named("read from a file", &self.path, Err(e)),
            }
        }
        let from = blocks.start + skip;
        Ok(Bytes::from(blocks.memory).slice(from..from + len))
    }

    fn count(&self) -> &AtomicUsize {
        &self.prefetched
    }
}

impl DirectFile {
    fn len(&self) -> Result<u64> {
        Ok(named("get the size of a file", &self.path, self.file.metadata())?.len())
    }

    /// Checks that a range is within the file.
    fn check_range(&self, offset: u64, len: usize) -> Result<()> {
        let end = offset.checked_add(len as u64);
        let fits = |there| end.is_some_and(|end| end <= there);
        if !fits(self.len_at_open) && !fits(self.len()?) {
            let there = self.len()?;
            return Err(self.ends_early(offset, len, there.saturating_sub(offset)));
        }
        Ok(())
    }

    fn ends_early(&self, offset: u64, len: usize, got: u64) -> Error {
        Error::corruption_in(
            &self.path,
            offset,
            format_args!("file ends early: {} of {len} bytes", got.min(len as u64)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::thread;
    use whitewater_concurrent::system;

    #[test]
    fn a_block_that_was_prefetched_is_taken_instead_of_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("file");
        let content: Vec<u8> = (0..5 * BLOCK + 100).map(|at| (at / 7) as u8).collect();
        std::fs::write(&path, &content).expect("it can be written");
        let file = match DirectRandom::open(&path) {
            Err(e) if e.kind() == ErrorKind::NotSupported => return,
            file => file.expect("it can be opened"),
        };
        let (begin, len) = (system::now(), content.len());
        for (offset, len) in [(0, 100), (5000, 4096), (len - 50, 50)] {
            // A read that comes before the thread does without it.
            let taken = loop {
                file.prefetch(offset as u64, len);
                thread::yield_now();
                if let Some(taken) = PREFETCHES.take(&file.0, offset as u64, len) {
                    break taken;
                }
                assert!(system::since(begin).as_secs() < 60, "never read");
            };
            assert_eq!(taken, content[offset..offset + len]);
            file.prefetch(offset as u64, len);
            let read = file.read_at(offset as u64, len).expect("it can be read");
            assert_eq!(read, taken);
        }
        file.prefetch(len as u64 - 50, 51);
        file.prefetch(u64::MAX, 1);
        assert_eq!(
            file.0.prefetched.load(std::sync::atomic::Ordering::Relaxed),
            0
        );
    }
}
