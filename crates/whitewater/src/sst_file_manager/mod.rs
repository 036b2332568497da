//! The space that tables and blob files take, over all databases that share a manager, and how
//! fast obsolete ones are deleted: RocksDB's `SstFileManager`.
//!
//! [`Manager`] knows the size of every table and blob file of its databases, and whether they may
//! take more space. It learns of files from the file system that a database uses through it
//! ([`files`]), so no part of the engine that makes or removes files has to tell it. With a rate
//! of deletions, a removed file is renamed to trash, which a thread deletes piece by piece
//! ([`trash`]).
//!
//! Invariants:
//! * M1: a file is tracked under the name that it has now, from its creation until it is removed
//!   or its database is closed.
//! * M2: a file is cut only while it is trash and has no other name, so nothing that anybody can
//!   open by its own name gets shorter. A secondary instance that has it open still does see it
//!   shorter, and reports damage; that is why files can be deleted as a whole.
//!
//! The lock is a leaf; no I/O under it.

pub(crate) mod files;
pub(crate) mod trash;

#[cfg(test)]
mod tests;

use crate::stats::{Statistics, Ticker, tick};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trash::Trash;
use whitewater_concurrent::system::{Condvar, JoinHandle, Mutex};
use whitewater_storage::fs::Fs;
use whitewater_storage::{Error, Result};

/// RocksDB's largest part of the space that trash may be, above which files are deleted at once.
pub(crate) const MAX_TRASH_RATIO: f64 = 0.25;

/// RocksDB's size of the pieces in which trash is deleted, in bytes.
pub(crate) const DELETE_CHUNK: u64 = 64 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Manager {
    shared: Arc<Shared>,
}

/// What the manager's databases share with the thread that deletes trash.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is trash, when there is none left, and when the rate has changed.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Sizes of files, in bytes (M1).
    tracked: HashMap<PathBuf, u64>,
    /// The sum of the sizes.
    total: u64,
    /// Bytes that running compactions may still write.
    reserved: u64,
    /// 0 is no limit.
    max_allowed: u64,
    compaction_buffer: u64,
    /// Bytes per second; not more than 0 is at once.
    delete_rate: i64,
    max_trash_ratio: f64,
    /// 0 deletes files as a whole.
    delete_chunk: u64,
    trash: Trash,
    closing: bool,
    thread: Option<JoinHandle<()>>,
}

impl State {
    fn track(&mut self, path: PathBuf, size: u64) {
        let before = self.tracked.insert(path, size).unwrap_or(0);
        self.total = self.total.saturating_sub(before).saturating_add(size);
    }

    fn untrack(&mut self, path: &Path) -> Option<u64> {
        let size = self.tracked.remove(path)?;
        self.total = self.total.saturating_sub(size);
        Some(size)
    }

    fn exceeds(&self, more: u64) -> bool {
        self.max_allowed > 0 && self.total.saturating_add(more) >= self.max_allowed
    }
}

impl Manager {
    /// A manager without databases and without limits, which deletes `delete_rate` bytes per
    /// second in pieces of `delete_chunk` bytes.
    pub fn new(delete_rate: i64, max_trash_ratio: f64, delete_chunk: u64) -> Self {
        let state = State {
            tracked: HashMap::new(),
            total: 0,
            reserved: 0,
            max_allowed: 0,
            compaction_buffer: 0,
            delete_rate,
            max_trash_ratio,
            delete_chunk,
            trash: Trash::default(),
            closing: false,
            thread: None,
        };
        let shared = Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        Manager {
            shared: Arc::new(shared),
        }
    }

    /// Tracks the file `path` of `size` bytes. The size replaces the one that is known.
    fn track(&self, path: PathBuf, size: u64) {
        self.shared.state.lock().track(path, size);
    }

    /// No longer tracks the file `path`. Returns its size if it was tracked.
    fn untrack(&self, path: &Path) -> Option<u64> {
        self.shared.state.lock().untrack(path)
    }

    /// No longer tracks the files in `dir`, which a database has closed. Trash stays.
    fn untrack_dir(&self, dir: &Path) {
        let mut state = self.shared.state.lock();
        let of_dir = |path: &&PathBuf| path.parent() == Some(dir) && !trash::is_trash(path);
        let gone: Vec<_> = state.tracked.keys().filter(of_dir).cloned().collect();
        gone.iter().for_each(|path| _ = state.untrack(path));
    }

    /// Removes the table or blob file `path`, at once or later.
    fn remove(
        &self,
        fs: &Arc<dyn Fs>,
        path: &Path,
        statistics: Option<&Arc<Statistics>>,
    ) -> Result<()> {
        let counts = statistics.map(|s| &**s);
        if !self.deletes_at_once() && trash::discard(self, fs, path, statistics)? {
            tick(counts, Ticker::FilesMarkedTrash, 1);
            return Ok(());
        }
        fs.remove(path)?;
        self.untrack(path);
        tick(counts, Ticker::FilesDeletedImmediately, 1);
        Ok(())
    }

    fn deletes_at_once(&self) -> bool {
        let state = self.shared.state.lock();
        let most = state.total as f64 * state.max_trash_ratio;
        state.delete_rate <= 0 || state.trash.size() as f64 > most
    }

    /// The size of all tracked files, in bytes.
    pub fn total_size(&self) -> u64 {
        self.shared.state.lock().total
    }

    /// The tracked files and their sizes in bytes.
    pub fn tracked_files(&self) -> HashMap<PathBuf, u64> {
        self.shared.state.lock().tracked.clone()
    }

    /// Limits the size of all files to `bytes`; 0 is no limit.
    pub fn set_max_allowed_space(&self, bytes: u64) {
        self.shared.state.lock().max_allowed = bytes;
    }

    /// Has compactions leave `bytes` of what is allowed.
    pub fn set_compaction_buffer(&self, bytes: u64) {
        self.shared.state.lock().compaction_buffer = bytes;
    }

    /// Whether the files take all the space that is allowed.
    pub fn is_full(&self) -> bool {
        self.shared.state.lock().exceeds(0)
    }

    /// Fails if the files take all the space that is allowed.
    ///
    /// # Errors
    /// `IOError` of [`Error::is_space_limit`].
    pub fn check_allowed_space(&self) -> Result<()> {
        if self.is_full() {
            return Err(Error::space_limit("Max allowed space was reached"));
        }
        Ok(())
    }

    /// The same with what running compactions may still write.
    pub fn is_full_with_compactions(&self) -> bool {
        let state = self.shared.state.lock();
        state.exceeds(state.reserved)
    }

    /// Whether a compaction of `bytes` has room. If the disk of `free` bytes was full before, it
    /// needs room there, too, and leaves `kept_free` of it unless there is a buffer. The room is
    /// the compaction's as long as the result lives.
    pub fn reserve(
        self: &Arc<Self>,
        bytes: u64,
        free: Option<u64>,
        kept_free: u64,
    ) -> Option<Reserved> {
        let mut state = self.shared.state.lock();
        let room = state.reserved.saturating_add(bytes);
        let mut needed = room.saturating_add(state.compaction_buffer);
        if state.max_allowed > 0 && needed.saturating_add(state.total) > state.max_allowed {
            return None;
        }
        if state.compaction_buffer == 0 {
            needed = needed.saturating_add(kept_free);
        }
        if free.is_some_and(|free| free < needed.saturating_add(bytes)) {
            return None;
        }
        state.reserved = room;
        Some(Reserved {
            manager: self.clone(),
            bytes,
        })
    }

    /// How many bytes per second are deleted; not more than 0 is at once.
    pub fn delete_rate(&self) -> i64 {
        self.shared.state.lock().delete_rate
    }

    /// Changes [`delete_rate`](Self::delete_rate).
    pub fn set_delete_rate(&self, bytes_per_second: i64) {
        self.shared.state.lock().delete_rate = bytes_per_second;
        self.shared.changed.notify_all();
    }

    /// The largest part of all files that trash may be; above it, files are deleted at once.
    pub fn max_trash_ratio(&self) -> f64 {
        self.shared.state.lock().max_trash_ratio
    }

    /// Changes [`max_trash_ratio`](Self::max_trash_ratio).
    pub fn set_max_trash_ratio(&self, ratio: f64) {
        self.shared.state.lock().max_trash_ratio = ratio;
    }

    /// The size of trash in bytes.
    pub fn trash_size(&self) -> u64 {
        self.shared.state.lock().trash.size()
    }

    /// Waits until there is no trash.
    pub fn wait_for_empty_trash(&self) {
        let mut state = self.shared.state.lock();
        while !state.trash.is_empty() && !state.closing {
            self.shared.changed.wait(&mut state);
        }
    }
}

impl Drop for Manager {
    /// Ends the thread. What trash there is stays on disk until a database is opened there.
    fn drop(&mut self) {
        let thread = {
            let mut state = self.shared.state.lock();
            state.closing = true;
            state.thread.take()
        };
        self.shared.changed.notify_all();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic there loses trash only, which the next opening finds.
            let _ = thread.join();
        }
    }
}

/// Room for a running compaction.
#[derive(Debug)]
pub(crate) struct Reserved {
    manager: Arc<Manager>,
    bytes: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut state = self.manager.shared.state.lock();
        state.reserved = state.reserved.saturating_sub(self.bytes);
    }
}
