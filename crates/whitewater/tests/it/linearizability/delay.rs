//! Ways to be slow at bad moments: files whose log writes and syncs let other
//! threads go first, and a comparator that does so in the middle of inserts
//! and look-ups. On few cores threads otherwise meet only where they block.

use std::cmp::Ordering as Order;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use whitewater::Error;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{
    FileLock, Fs, RandomAccessFile, SequentialFile, SharedFile, SharedOptions, WritableFile,
};

/// Lets others go first, at random.
#[derive(Debug)]
pub struct Dice {
    /// One in so many throws is a pause.
    one_in: u64,
    /// Counts throws; whoever throws changes it. Publishes nothing.
    thrown: AtomicU64,
}

impl Dice {
    pub fn new(seed: u64, one_in: u64) -> Arc<Self> {
        Arc::new(Dice {
            one_in,
            thrown: AtomicU64::new(seed << 32),
        })
    }

    pub fn throw(&self) {
        let mut x = self
            .thrown
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 29;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 32;
        if x.is_multiple_of(self.one_in) {
            match (x >> 40) % 8 {
                0 => thread::sleep(Duration::from_micros(50)),
                _ => thread::yield_now(),
            }
        }
    }
}

type Compare = dyn Fn(&[u8], &[u8]) -> Order + Send + Sync;

/// A comparator of bytes that throws `dice`.
pub fn comparator(dice: Arc<Dice>) -> Box<Compare> {
    Box::new(move |a, b| {
        dice.throw();
        a.cmp(b)
    })
}

/// An in-memory file system whose log files throw dice.
#[derive(Debug)]
pub struct SlowLogs {
    pub files: MemFs,
    pub dice: Arc<Dice>,
}

type Result<T> = std::result::Result<T, Error>;

impl SlowLogs {
    fn slow(&self, path: &Path, file: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        if is_log(path) {
            let dice = self.dice.clone();
            return Box::new(SlowFile { file, dice });
        }
        file
    }
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "log")
}

impl Fs for SlowLogs {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(self.slow(path, self.files.create(path)?))
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(self.slow(path, self.files.open_append(path)?))
    }
    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(self.slow(new, self.files.reuse(old, new)?))
    }
    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        let file = self.files.open_shared(path, from, options)?;
        if is_log(path) {
            let dice = self.dice.clone();
            return Ok(Box::new(SlowFile { file, dice }));
        }
        Ok(file)
    }
    fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        self.files.open_random(path)
    }
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        self.files.open_sequential(path)
    }
    fn exists(&self, path: &Path) -> Result<bool> {
        self.files.exists(path)
    }
    fn file_size(&self, path: &Path) -> Result<u64> {
        self.files.file_size(path)
    }
    fn list(&self, path: &Path) -> Result<Vec<String>> {
        self.files.list(path)
    }
    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.files.create_dir_all(path)
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.files.remove(path)
    }
    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.files.remove_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.files.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.files.link(from, to)
    }
    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.files.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.files.lock(path)
    }
}

#[derive(Debug)]
struct SlowFile<F: ?Sized> {
    file: Box<F>,
    dice: Arc<Dice>,
}

impl WritableFile for SlowFile<dyn WritableFile> {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.dice.throw();
        self.file.append(data)?;
        self.dice.throw();
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
    fn sync(&mut self) -> Result<()> {
        self.dice.throw();
        self.file.sync()?;
        self.dice.throw();
        Ok(())
    }
    fn len(&self) -> u64 {
        self.file.len()
    }
    fn preallocate(&mut self, len: u64) {
        self.file.preallocate(len);
    }
    fn truncate_to_len(&mut self) -> Result<()> {
        self.file.truncate_to_len()
    }
    fn forget_unsynced(&mut self) {
        self.file.forget_unsynced();
    }
}

impl SharedFile for SlowFile<dyn SharedFile> {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.dice.throw();
        self.file.write_at(offset, data)?;
        self.dice.throw();
        Ok(())
    }
    fn extend(&self, len: u64) -> Result<()> {
        self.file.extend(len)
    }
    fn allocated(&self) -> u64 {
        self.file.allocated()
    }
    fn sync(&self) -> Result<()> {
        self.dice.throw();
        self.file.sync()?;
        self.dice.throw();
        Ok(())
    }
    fn truncate(&self, len: u64) -> Result<()> {
        self.file.truncate(len)
    }
    fn forget_unsynced(&self) {
        self.file.forget_unsynced();
    }
}
