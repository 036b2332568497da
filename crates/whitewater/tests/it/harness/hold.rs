//! An in-memory file system on which writers of a log can be held up between
//! taking their place and copying their record.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use whitewater::Error;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{
    FileLock, Fs, RandomAccessFile, SequentialFile, SharedFile, SharedOptions, WritableFile,
};

type Result<T> = std::result::Result<T, Error>;

/// Writers whose record holds this are held up.
pub const HOLD: &[u8] = b"HOLD THIS ONE UP";

/// Holds writers up, and counts them.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    waiting: usize,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().expect("nobody panics");
        state.waiting += 1;
        self.changed.notify_all();
        while !state.open {
            state = self.changed.wait(state).expect("nobody panics");
        }
    }

    /// Returns when a writer is held up.
    pub fn await_writer(&self) {
        let mut state = self.state.lock().expect("nobody panics");
        while state.waiting == 0 {
            state = self.changed.wait(state).expect("nobody panics");
        }
    }

    /// Lets them go on, and later ones pass.
    pub fn open(&self) {
        self.state.lock().expect("nobody panics").open = true;
        self.changed.notify_all();
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct HoldFs {
    pub files: MemFs,
    pub gate: Arc<Gate>,
}

impl Fs for HoldFs {
    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        Ok(Box::new(HeldFile {
            file: self.files.open_shared(path, from, options)?,
            gate: self.gate.clone(),
        }))
    }
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.files.create(path)
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.files.open_append(path)
    }
    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>> {
        self.files.reuse(old, new)
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
    fn modified(&self, path: &Path) -> Result<u64> {
        self.files.modified(path)
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
struct HeldFile {
    file: Box<dyn SharedFile>,
    gate: Arc<Gate>,
}

impl SharedFile for HeldFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        if data.windows(HOLD.len()).any(|w| w == HOLD) {
            self.gate.pass();
        }
        self.file.write_at(offset, data)
    }
    fn extend(&self, len: u64) -> Result<()> {
        self.file.extend(len)
    }
    fn allocated(&self) -> u64 {
        self.file.allocated()
    }
    fn sync(&self) -> Result<()> {
        self.file.sync()
    }
    fn truncate(&self, len: u64) -> Result<()> {
        self.file.truncate(len)
    }
}
