//! A database's file system that tells a manager of its tables and blob files.

use super::{Manager, trash};
use crate::stats::Statistics;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, WritableFile};
use whitewater_storage::{Result, delegate_fs};

/// See the [module](self). Other files than the tables and blob files in the directories of the
/// database are none of the manager's business.
#[derive(Debug)]
pub(crate) struct TrackedFs {
    fs: Arc<dyn Fs>,
    /// A leaf lock.
    dirs: Mutex<Vec<PathBuf>>,
    manager: Arc<Manager>,
    statistics: Option<Arc<Statistics>>,
}

impl TrackedFs {
    /// The file system of a database in `dir`, which is being opened. Tracks what is there, and
    /// deletes trash that is there.
    pub fn new(
        fs: Arc<dyn Fs>,
        dir: &Path,
        manager: Arc<Manager>,
        statistics: Option<Arc<Statistics>>,
    ) -> Self {
        let files = TrackedFs {
            fs,
            dirs: Mutex::default(),
            manager,
            statistics,
        };
        files.add_dir(dir);
        files
    }

    /// Adds a directory of the database. Tracks what is there, and deletes trash that is there.
    pub fn add_dir(&self, dir: &Path) {
        self.dirs.lock().push(dir.to_path_buf());
        for name in self.fs.list(dir).unwrap_or_default() {
            let path = dir.join(name);
            if self.is_tracked(&path) {
                self.track(&path);
            }
        }
        self.manager.collect(&self.fs, dir);
    }

    /// Whether the manager tracks files that are named `path`.
    fn is_tracked(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let kind = name.and_then(filename::parse);
        let tracked = matches!(kind, Some(FileType::Table(_) | FileType::Blob(_)));
        tracked && (self.dirs.lock().iter()).any(|dir| path.parent() == Some(dir))
    }

    /// Tracks the file `path` with the size that it has.
    fn track(&self, path: &Path) {
        if let Ok(size) = self.fs.file_size(path) {
            self.manager.track(path.to_path_buf(), size);
        }
    }

    fn writable(&self, path: &Path, file: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        if !self.is_tracked(path) {
            return file;
        }
        Box::new(TrackedFile {
            file,
            path: path.to_path_buf(),
            manager: self.manager.clone(),
        })
    }
}

impl Drop for TrackedFs {
    fn drop(&mut self) {
        for dir in self.dirs.lock().iter() {
            self.manager.untrack_dir(dir);
        }
    }
}

impl Fs for TrackedFs {
    delegate_fs!(fs: open_append, open_shared, open_random, open_random_direct, open_sequential);
    delegate_fs!(fs: exists, file_size, modified, list, create_dir_all, remove_dir, lock);
    delegate_fs!(fs: truncate, num_links, free_space, sync_dir, open_dir, sync_open_dir);

    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(self.writable(path, self.fs.create(path)?))
    }

    fn create_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(self.writable(path, self.fs.create_direct(path)?))
    }

    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>> {
        self.fs.reuse(old, new)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        if self.is_tracked(path) {
            let statistics = self.statistics.as_ref();
            return self.manager.remove(&self.fs, path, statistics);
        }
        self.fs.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.fs.rename(from, to)?;
        self.manager.untrack(from);
        if self.is_tracked(to) {
            self.track(to);
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.fs.link(from, to)?;
        if self.is_tracked(to) {
            self.track(to);
        }
        Ok(())
    }
}

/// A table or blob file that is being written. It is tracked with the size that it has at each
/// flush and sync, and at the end.
#[derive(Debug)]
struct TrackedFile {
    file: Box<dyn WritableFile>,
    path: PathBuf,
    manager: Arc<Manager>,
}

impl TrackedFile {
    fn note(&self) {
        self.manager.track(self.path.clone(), self.file.len());
    }
}

impl WritableFile for TrackedFile {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.file.append(data)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()?;
        self.note();
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()?;
        self.note();
        Ok(())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn preallocate(&mut self, len: u64) {
        self.file.preallocate(len);
    }

    fn start_writeback(&mut self, from: u64, to: u64) {
        self.file.start_writeback(from, to);
    }

    fn truncate_to_len(&mut self) -> Result<()> {
        self.file.truncate_to_len()
    }

    fn forget_unsynced(&mut self) {
        self.file.forget_unsynced();
    }
}

/// Deletes the trash in `dir` at once, for a database without a manager. What cannot be deleted
/// stays for the next opening.
pub(crate) fn remove_trash(fs: &dyn Fs, dir: &Path) {
    for name in fs.list(dir).unwrap_or_default() {
        let path = dir.join(name);
        if trash::is_trash(&path) {
            let _ = fs.remove(&path);
        }
    }
}
