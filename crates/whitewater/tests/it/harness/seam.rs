//! The planted bugs between the engine and its files.
//!
//! Each skips an operation that the engine asks its file system for, or hides that the operation
//! failed. The engine has no line for them: [`planted_in`] wraps the file system of a test, in a
//! process that has one of these bugs.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use whitewater::Error;
use whitewater::fs::fault::FileKind;
use whitewater::fs::{Fs, SharedFile, SharedOptions, WritableFile};
use whitewater_storage::delegate_fs;
use whitewater_storage::planted::{Bug, planted};

type Result<T> = std::result::Result<T, Error>;

/// An operation that a bug concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// A sync of a file is skipped.
    Sync,
    /// A sync of a file is skipped if a newer file of its kind was created.
    SyncOfOlder,
    /// A sync of a directory is skipped if the newest name in it is of a file of the kind.
    SyncOfName,
    /// A failed sync of a file is reported as done.
    FailedSync,
    /// A failed write to a file is reported as done.
    FailedWrite,
}

/// The threads that a bug concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threads {
    Any,
    /// Those of callers.
    Callers,
    /// Those that run flushes.
    Flushes,
    /// All but those that run flushes.
    NotFlushes,
}

impl Threads {
    fn has_current(self) -> bool {
        let current = thread::current();
        let name = current.name().unwrap_or_default();
        let flushes = name.starts_with("ww-flush");
        match self {
            Threads::Any => true,
            Threads::Callers => !name.starts_with("ww-"),
            Threads::Flushes => flushes,
            Threads::NotFlushes => !flushes,
        }
    }
}

/// What a bug concerns.
type Rule = (Operation, FileKind, Threads);

const RULES: &[(Bug, Rule)] = {
    use FileKind::{Log, Manifest, Table, Temporary};
    use Operation::{FailedSync, FailedWrite, Sync, SyncOfName, SyncOfOlder};
    use Threads::{Any, Callers, Flushes, NotFlushes};
    &[
        (Bug::SyncSkipped, (Sync, Log, Any)),
        (Bug::OlderLogsNotSynced, (SyncOfOlder, Log, Any)),
        (Bug::LogNameNotSynced, (SyncOfName, Log, Any)),
        (Bug::LogFailureIgnored, (FailedWrite, Log, Any)),
        (Bug::SyncFailureIgnored, (FailedSync, Log, Any)),
        (Bug::ManifestNotSynced, (Sync, Manifest, Any)),
        (Bug::ManifestNameNotSynced, (SyncOfName, Manifest, Any)),
        (Bug::CurrentNotSynced, (Sync, Temporary, Any)),
        (Bug::CurrentNameNotSynced, (SyncOfName, Temporary, Any)),
        (Bug::TableNotSynced, (Sync, Table, Any)),
        (Bug::FlushNameNotSynced, (SyncOfName, Table, Flushes)),
        (
            Bug::CompactionNameNotSynced,
            (SyncOfName, Table, NotFlushes),
        ),
        (Bug::IngestedNotSynced, (Sync, Table, Callers)),
    ]
};

/// `fs` with the bug that this process has, if it is one of these.
pub fn planted_in(fs: Arc<dyn Fs>) -> Arc<dyn Fs> {
    match RULES.iter().find(|(bug, _)| planted(*bug)) {
        Some(&(_, rule)) => Arc::new(PlantedFs {
            fs,
            rule,
            newest: Arc::default(),
        }),
        None => fs,
    }
}

/// The newest name in each directory, and the newest file of each kind.
type Newest = Arc<Mutex<HashMap<(PathBuf, Option<FileKind>), PathBuf>>>;

#[derive(Debug)]
struct PlantedFs {
    fs: Arc<dyn Fs>,
    rule: Rule,
    newest: Newest,
}

impl PlantedFs {
    fn named(&self, path: &Path) {
        let dir = path.parent().unwrap_or(path);
        let mut newest = self.newest.lock();
        for kind in [None, Some(FileKind::of(path))] {
            newest.insert((dir.to_path_buf(), kind), path.to_path_buf());
        }
    }

    fn planted<F>(&self, path: &Path, file: F) -> Planted<F> {
        Planted {
            file,
            path: path.to_path_buf(),
            rule: self.rule,
            newest: self.newest.clone(),
        }
    }

    fn created(
        &self,
        path: &Path,
        file: Result<Box<dyn WritableFile>>,
    ) -> Result<Box<dyn WritableFile>> {
        let file = file?;
        self.named(path);
        Ok(Box::new(self.planted(path, file)))
    }
}

impl Fs for PlantedFs {
    delegate_fs!(fs: open_random, open_random_direct, open_sequential);
    delegate_fs!(fs: exists, file_size, modified, list, lock);
    delegate_fs!(fs: create_dir_all, remove, remove_dir, truncate, num_links, free_space);

    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.created(path, self.fs.create(path))
    }
    fn create_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.created(path, self.fs.create_direct(path))
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(self.planted(path, self.fs.open_append(path)?)))
    }
    fn reuse(&self, old: &Path, new: &Path) -> Result<Box<dyn WritableFile>> {
        self.created(new, self.fs.reuse(old, new))
    }
    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        let file = self.fs.open_shared(path, from, options)?;
        self.named(path);
        Ok(Box::new(self.planted(path, file)))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.fs.rename(from, to)?;
        // The kind of a file that replaces another is what it was before.
        self.named(match FileKind::of(from) {
            FileKind::Temporary => from,
            _ => to,
        });
        Ok(())
    }
    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.fs.link(from, to)?;
        self.named(to);
        Ok(())
    }
    fn sync_dir(&self, path: &Path) -> Result<()> {
        let (operation, kind, threads) = self.rule;
        let newest = self.newest.lock().get(&(path.to_path_buf(), None)).cloned();
        let concerned = operation == Operation::SyncOfName
            && newest.is_some_and(|name| FileKind::of(&name) == kind)
            && threads.has_current();
        if concerned {
            return Ok(());
        }
        self.fs.sync_dir(path)
    }
}

#[derive(Debug)]
struct Planted<F> {
    file: F,
    path: PathBuf,
    rule: Rule,
    newest: Newest,
}

impl<F> Planted<F> {
    /// Whether the bug is planted in `operation` on this file.
    fn is_in(&self, operation: Operation) -> bool {
        let (planted, kind, threads) = self.rule;
        operation == planted && kind == FileKind::of(&self.path) && threads.has_current()
    }

    fn skips_sync(&self) -> bool {
        self.is_in(Operation::Sync) || self.is_in(Operation::SyncOfOlder) && !self.is_newest()
    }

    fn is_newest(&self) -> bool {
        let dir = self.path.parent().unwrap_or(&self.path).to_path_buf();
        let key = (dir, Some(FileKind::of(&self.path)));
        self.newest.lock().get(&key) == Some(&self.path)
    }

    /// What the engine is told of an operation.
    fn told(&self, operation: Operation, done: Result<()>) -> Result<()> {
        if self.is_in(operation) { Ok(()) } else { done }
    }
}

impl WritableFile for Planted<Box<dyn WritableFile>> {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        let done = self.file.append(data);
        self.told(Operation::FailedWrite, done)
    }
    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
    fn sync(&mut self) -> Result<()> {
        if self.skips_sync() {
            return Ok(());
        }
        let done = self.file.sync();
        self.told(Operation::FailedSync, done)
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

impl SharedFile for Planted<Box<dyn SharedFile>> {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let done = self.file.write_at(offset, data);
        self.told(Operation::FailedWrite, done)
    }
    fn extend(&self, len: u64) -> Result<()> {
        self.file.extend(len)
    }
    fn initialize(&self, on: bool) {
        self.file.initialize(on);
    }
    fn allocated(&self) -> u64 {
        self.file.allocated()
    }
    fn sync(&self) -> Result<()> {
        if self.skips_sync() {
            return Ok(());
        }
        let done = self.file.sync();
        self.told(Operation::FailedSync, done)
    }
    fn truncate(&self, len: u64) -> Result<()> {
        self.file.truncate(len)
    }
    fn forget_unsynced(&self) {
        self.file.forget_unsynced();
    }
}
