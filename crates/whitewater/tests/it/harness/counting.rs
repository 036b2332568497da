//! A file system in memory that counts what is read of it.

use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater::Error;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{
    FileLock, Fs, RandomAccessFile, SequentialFile, SharedFile, SharedOptions, WritableFile,
};

/// Counts bytes that are read and files that are opened to be read. Clones count
/// together.
#[derive(Debug, Clone)]
pub struct CountingFs {
    fs: MemFs,
    counts: Arc<Counts>,
}

/// Written by: whoever reads files. Read by: the test (relaxed; nothing is read
/// because of them).
#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    opens: AtomicU64,
}

impl CountingFs {
    /// One that counts what is read of `fs`.
    pub fn new(fs: MemFs) -> Self {
        CountingFs {
            fs,
            counts: Arc::default(),
        }
    }

    /// Bytes that `work` reads, and files that it opens.
    pub fn during(&self, work: impl FnOnce()) -> (u64, u64) {
        let now = || [&self.counts.bytes, &self.counts.opens].map(|n| n.load(Ordering::Relaxed));
        let before = now();
        work();
        let after = now();
        (after[0] - before[0], after[1] - before[1])
    }

    fn opened(&self) {
        self.counts.opens.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Counted<F> {
    file: F,
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
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>, Error> {
        self.fs.create(path)
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>, Error> {
        self.fs.open_append(path)
    }
    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>, Error> {
        self.fs.reuse(old, new)
    }
    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>, Error> {
        self.fs.open_shared(path, from, options)
    }
    fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>, Error> {
        self.opened();
        Ok(Arc::new(Counted {
            file: self.fs.open_random(path)?,
            counts: self.counts.clone(),
        }))
    }
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>, Error> {
        self.opened();
        Ok(Box::new(Counted {
            file: self.fs.open_sequential(path)?,
            counts: self.counts.clone(),
        }))
    }
    fn exists(&self, path: &Path) -> Result<bool, Error> {
        self.fs.exists(path)
    }
    fn file_size(&self, path: &Path) -> Result<u64, Error> {
        self.fs.file_size(path)
    }
    fn list(&self, path: &Path) -> Result<Vec<String>, Error> {
        self.fs.list(path)
    }
    fn create_dir_all(&self, path: &Path) -> Result<(), Error> {
        self.fs.create_dir_all(path)
    }
    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.fs.remove(path)
    }
    fn remove_dir(&self, path: &Path) -> Result<(), Error> {
        self.fs.remove_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.fs.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.fs.link(from, to)
    }
    fn sync_dir(&self, path: &Path) -> Result<(), Error> {
        self.fs.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>, Error> {
        self.fs.lock(path)
    }
}
