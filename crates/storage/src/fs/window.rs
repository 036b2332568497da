//! A shared file that keeps written bytes in memory until they are flushed.
//!
//! A log is written through it with `manual_wal_flush`. Writers copy into a window over the file.
//! [`SharedFile::flush`] writes the bytes up to the first gap. So the file always holds a prefix of
//! the log, however late a writer is, and a killed process loses a suffix.
//!
//! * I1: the file holds all bytes below `Window::start` and none from there on.
//! * I2: `Window::filled` is the end of the bytes before the first gap; `ahead` holds the ranges
//!   beyond it, which are disjoint.
//! * I3: after [`SharedFile::truncate`] nothing is kept in memory: writers that still have ranges
//!   there write through.
//!
//! The writer that fills more than [`WINDOW_LIMIT`] bytes of a window writes it out, as in RocksDB.
//! That bounds the memory to this limit and the bytes that are ahead of a late writer.
//!
//! Lock order: the window's lock is held during writes to the file below, which orders them. It is
//! of `system`, since another thread may run meanwhile in a simulation.

use super::shared::{FailedSync, SharedFile, check_range};
use crate::error::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use whitewater_concurrent::system::Mutex;

/// How many bytes before the first gap a window holds before they are written out.
pub const WINDOW_LIMIT: u64 = 1 << 20;

/// Keeps what is written to a shared file in memory. See the [module](self).
#[derive(Debug)]
pub struct WindowFile {
    inner: Box<dyn SharedFile>,
    path: PathBuf,
    window: Mutex<Window>,
    /// Set when a write to the file fails: its bytes are neither in memory nor in the file.
    failed: FailedSync,
}

#[derive(Debug, Default)]
struct Window {
    /// The bytes from `start` on.
    bytes: Vec<u8>,
    start: u64,
    filled: u64,
    /// Ranges written beyond `filled`: from, to.
    ahead: BTreeMap<u64, u64>,
    /// Whether writes go through to the file (I3).
    write_through: bool,
}

impl Window {
    /// Copies `data` to `offset`, which is not below `start`.
    fn put(&mut self, offset: u64, data: &[u8]) {
        let at = (offset - self.start) as usize;
        let end = at + data.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(data);
        self.ahead.insert(offset, offset + data.len() as u64);
        while let Some(next) = self.ahead.first_entry()
            && *next.key() <= self.filled
        {
            self.filled = self.filled.max(next.remove());
        }
    }
}

impl WindowFile {
    /// Wraps `inner`, an empty or recycled file at `path`.
    pub fn new(inner: Box<dyn SharedFile>, path: PathBuf) -> Self {
        WindowFile {
            inner,
            path,
            window: Mutex::default(),
            failed: FailedSync::default(),
        }
    }

    /// Writes out the bytes before the first gap.
    fn write_out(&self, window: &mut Window) -> Result<()> {
        let len = (window.filled - window.start) as usize;
        if len == 0 {
            return Ok(());
        }
        let written = self.inner.write_at(window.start, &window.bytes[..len]);
        self.failed.remember(written)?;
        window.bytes.drain(..len);
        window.start = window.filled;
        Ok(())
    }
}

impl SharedFile for WindowFile {
    /// Keeps the bytes in memory.
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        check_range(offset, data.len(), self.inner.allocated(), &self.path)?;
        let mut window = self.window.lock();
        self.failed.check()?;
        if window.write_through || offset < window.start {
            return self.failed.remember(self.inner.write_at(offset, data));
        }
        window.put(offset, data);
        if window.filled - window.start > WINDOW_LIMIT {
            self.write_out(&mut window)?;
        }
        Ok(())
    }
    fn extend(&self, len: u64) -> Result<()> {
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
    fn flush(&self) -> Result<()> {
        let mut window = self.window.lock();
        self.failed.check()?;
        self.write_out(&mut window)
    }
    fn sync(&self) -> Result<()> {
        self.flush()?;
        self.inner.sync()
    }
    fn memory_usage(&self) -> u64 {
        self.window.lock().bytes.capacity() as u64 + self.inner.memory_usage()
    }
    fn start_writeback(&self, from: u64, to: u64) {
        self.inner.start_writeback(from, to);
    }
    fn truncate(&self, len: u64) -> Result<()> {
        let mut window = self.window.lock();
        self.failed.check()?;
        self.write_out(&mut window)?;
        for (from, to) in std::mem::take(&mut window.ahead) {
            let range = (from - window.start) as usize..(to - window.start) as usize;
            let written = self.inner.write_at(from, &window.bytes[range]);
            self.failed.remember(written)?;
        }
        window.bytes = Vec::new();
        window.write_through = true; // upholds I3
        drop(window);
        self.inner.truncate(len)
    }
    fn forget_unsynced(&self) {
        self.inner.forget_unsynced();
    }
}

#[cfg(test)]
mod tests {
    use super::super::mem::MemFs;
    use super::super::{Fs, SharedOptions, read_file};
    use super::*;
    use std::path::Path;

    const PATH: &str = "/000001.log";

    fn window(fs: &MemFs) -> WindowFile {
        let path = Path::new(PATH);
        let inner = fs
            .open_shared(path, None, SharedOptions::default())
            .unwrap();
        inner.extend(4 << 20).unwrap();
        WindowFile::new(inner, path.to_path_buf())
    }

    fn start_of(fs: &MemFs) -> Vec<u8> {
        let mut bytes = read_file(fs, Path::new(PATH), 1 << 30).unwrap();
        bytes.truncate(9);
        bytes
    }

    #[test]
    fn what_has_no_gap_before_it_is_written_out_when_asked() {
        let fs = MemFs::new();
        let file = window(&fs);
        file.write_at(3, b"def").unwrap();
        file.flush().unwrap();
        assert_eq!(start_of(&fs), [0; 9], "a gap before it");
        file.write_at(0, b"abc").unwrap();
        assert_eq!(start_of(&fs), [0; 9], "not asked");
        file.flush().unwrap();
        assert_eq!(&start_of(&fs), b"abcdef\0\0\0");
        file.write_at(6, b"ghi").unwrap();
        file.sync().unwrap();
        assert_eq!(&start_of(&fs), b"abcdefghi");
    }

    #[test]
    fn a_closed_file_keeps_nothing_back() {
        let fs = MemFs::new();
        let file = window(&fs);
        file.write_at(6, b"ghi").unwrap();
        file.write_at(0, b"abc").unwrap();
        assert!(file.memory_usage() >= 9);
        file.truncate(9).unwrap();
        assert_eq!(file.memory_usage(), 0);
        assert_eq!(&start_of(&fs), b"abc\0\0\0ghi");
        file.write_at(3, b"def").unwrap();
        assert_eq!(&start_of(&fs), b"abcdefghi");
    }

    #[test]
    fn a_full_window_is_written_out() {
        let fs = MemFs::new();
        let file = window(&fs);
        let piece = vec![7; 300_000];
        for i in 0..4 {
            file.write_at(i * 300_000, &piece).unwrap();
        }
        assert_eq!(start_of(&fs), [7; 9]);
        assert!(file.window.lock().bytes.is_empty());
        assert!(file.memory_usage() >= 1_200_000, "kept for what comes");
        let beyond = file.write_at((4 << 20) - 1, &piece).unwrap_err();
        assert_eq!(beyond.kind(), crate::ErrorKind::InvalidArgument);
    }

    #[test]
    fn threads_in_any_order_leave_every_byte() {
        let fs = MemFs::new();
        let file = window(&fs);
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                let file = &file;
                scope.spawn(move || {
                    for i in 0..1000u64 {
                        let byte = (i % 251) as u8;
                        file.write_at((i * 4 + t) * 10, &[byte; 10]).unwrap();
                        if i % 100 == t {
                            file.flush().unwrap();
                        }
                    }
                });
            }
        });
        file.flush().unwrap();
        let bytes = read_file(&fs, Path::new(PATH), 1 << 30).unwrap();
        for (i, chunk) in bytes[..40_000].chunks(40).enumerate() {
            assert_eq!(chunk, [(i % 251) as u8; 40]);
        }
        assert_eq!(bytes[40_000], 0);
    }
}
