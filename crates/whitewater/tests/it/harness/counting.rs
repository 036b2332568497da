//! An in-memory file system that counts what is read from it.

use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater::Error;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, RandomAccessFile, SequentialFile};
use whitewater_storage::delegate_fs;

/// Counts bytes that are read and files that are opened for reading. Clones share the counts.
#[derive(Debug, Clone)]
pub struct CountingFs {
    fs: MemFs,
    /// Whether its files have a use for hints.
    takes_hints: bool,
    /// Whether the system keeps what is prefetched of them.
    has_page_cache: bool,
    counts: Arc<Counts>,
}

/// Written by threads that read files, and read by the test (relaxed: nothing else is read because
/// of them).
#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    opens: AtomicU64,
    advised: AtomicU64,
    announced: AtomicU64,
}

impl CountingFs {
    /// Counts what is read from `fs`.
    pub fn new(fs: MemFs) -> Self {
        CountingFs {
            fs,
            takes_hints: false,
            has_page_cache: false,
            counts: Arc::default(),
        }
    }

    /// The same, of files that have a use for hints.
    pub fn taking_hints(fs: MemFs) -> Self {
        CountingFs {
            takes_hints: true,
            has_page_cache: true,
            ..Self::new(fs)
        }
    }

    /// The same, of files that bypass the page cache.
    pub fn prefetching_blocks(fs: MemFs) -> Self {
        CountingFs {
            has_page_cache: false,
            ..Self::taking_hints(fs)
        }
    }

    /// How many ranges it is told that `work` is going to read.
    pub fn announced(&self, work: impl FnOnce()) -> u64 {
        let before = self.counts.announced.load(Ordering::Relaxed);
        work();
        self.counts.announced.load(Ordering::Relaxed) - before
    }

    /// The number of bytes that `work` reads and of files that it opens.
    pub fn during(&self, work: impl FnOnce()) -> (u64, u64) {
        let now = || [&self.counts.bytes, &self.counts.opens].map(|n| n.load(Ordering::Relaxed));
        let before = now();
        work();
        let after = now();
        (after[0] - before[0], after[1] - before[1])
    }

    /// How many times it was told that a file is read in no order.
    pub fn advised(&self) -> u64 {
        self.counts.advised.load(Ordering::Relaxed)
    }

    fn opened(&self) {
        self.counts.opens.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Counted<F> {
    file: F,
    takes_hints: bool,
    has_page_cache: bool,
    counts: Arc<Counts>,
}

impl<F> Counted<F> {
    fn count(&self, bytes: usize) {
        self.counts.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl RandomAccessFile for Counted<Arc<dyn RandomAccessFile>> {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes, Error> {
        self.count(len);
        self.file.read_at(offset, len)
    }
    fn advise_random(&self) {
        self.counts.advised.fetch_add(1, Ordering::Relaxed);
    }
    fn prefetch(&self, _offset: u64, _len: usize) {
        self.counts.announced.fetch_add(1, Ordering::Relaxed);
    }
    fn takes_hints(&self) -> bool {
        self.takes_hints
    }
    fn has_page_cache(&self) -> bool {
        self.has_page_cache
    }
    fn len(&self) -> Result<u64, Error> {
        self.file.len()
    }
    fn path(&self) -> &Path {
        self.file.path()
    }
}

impl SequentialFile for Counted<Box<dyn SequentialFile>> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, Error> {
        let read = self.file.read(buf)?;
        self.count(read);
        Ok(read)
    }
    fn path(&self) -> &Path {
        self.file.path()
    }
}

impl Fs for CountingFs {
    delegate_fs!(fs: create, open_append, reuse, open_shared);
    delegate_fs!(fs: exists, file_size, list, lock);
    delegate_fs!(fs: create_dir_all, remove, remove_dir, rename, link, sync_dir);

    fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>, Error> {
        self.opened();
        Ok(Arc::new(Counted {
            file: self.fs.open_random(path)?,
            takes_hints: self.takes_hints,
            has_page_cache: self.has_page_cache,
            counts: self.counts.clone(),
        }))
    }
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>, Error> {
        self.opened();
        Ok(Box::new(Counted {
            file: self.fs.open_sequential(path)?,
            takes_hints: self.takes_hints,
            has_page_cache: self.has_page_cache,
            counts: self.counts.clone(),
        }))
    }
}
