//! Slow deletion: files are renamed to trash, and a thread deletes them piece by piece.
//!
//! Nothing here is synced but the cuts. A power cut may bring a file back under its own name, whole
//! or cut. That is no harm: a file is removed only once the manifest on disk does not name it, and
//! the next opening deletes it as one of the leftovers.

use super::{Manager, Shared, State};
use crate::stats::{Statistics, Ticker, tick};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_concurrent::system;
use whitewater_storage::fs::Fs;
use whitewater_storage::{Result, planted};

/// The end of the names of trash.
const SUFFIX: &str = "trash";

/// The files to delete, oldest first.
#[derive(Debug, Default)]
pub(super) struct Trash {
    queue: VecDeque<Discarded>,
    /// The sum of the sizes of files that are not deleted yet.
    size: u64,
}

#[derive(Debug, Clone)]
struct Discarded {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    /// Counts it when it is gone.
    statistics: Option<Arc<Statistics>>,
}

impl Trash {
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Whether `path` is named like trash.
pub(crate) fn is_trash(path: &Path) -> bool {
    path.extension() == Some(OsStr::new(SUFFIX))
}

/// Makes the file `path` trash; returns false if that is not possible, and the file stays.
///
/// # Errors
/// Of a file that does not exist.
pub(super) fn discard(
    manager: &Manager,
    fs: &Arc<dyn Fs>,
    path: &Path,
    statistics: Option<&Arc<Statistics>>,
) -> Result<bool> {
    let Some(to) = free_name(&**fs, path) else {
        return Ok(false);
    };
    match fs.rename(path, &to) {
        Ok(()) => {}
        Err(e) if e.is_missing_file() => return Err(e),
        Err(_) => return Ok(false),
    }
    let size = manager.untrack(path);
    let size = size.or_else(|| fs.file_size(&to).ok()).unwrap_or(0);
    manager.throw_away(fs, to, size, statistics);
    Ok(true)
}

/// A name of trash for `path` that no file has.
fn free_name(fs: &dyn Fs, path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let numbers = std::iter::once(String::new()).chain((0..100).map(|n: u32| n.to_string()));
    let mut names = numbers.map(|n| path.with_file_name(format!("{name}{n}.{SUFFIX}")));
    names.find(|to| matches!(fs.exists(to), Ok(false)))
}

impl Manager {
    /// Deletes the trash in `dir` that an earlier opening has left.
    pub(super) fn collect(&self, fs: &Arc<dyn Fs>, dir: &Path) {
        for name in fs.list(dir).unwrap_or_default() {
            let path = dir.join(name);
            if is_trash(&path) {
                let size = fs.file_size(&path).unwrap_or(0);
                self.throw_away(fs, path, size, None);
            }
        }
    }

    fn throw_away(
        &self,
        fs: &Arc<dyn Fs>,
        path: PathBuf,
        size: u64,
        statistics: Option<&Arc<Statistics>>,
    ) {
        let mut state = self.shared.state.lock();
        if state.tracked.contains_key(&path) {
            return; // it is in the queue
        }
        state.track(path.clone(), size);
        state.trash.size += size;
        state.trash.queue.push_back(Discarded {
            fs: fs.clone(),
            path,
            statistics: statistics.cloned(),
        });
        if state.thread.is_none() {
            let shared = self.shared.clone();
            let body = move || shared.empty_trash();
            // Without a thread, the trash is left to the next opening.
            state.thread = system::spawn("ww-trash".to_owned(), body).ok();
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// The body of the thread: deletes trash until the manager is dropped.
    fn empty_trash(&self) {
        let mut state = self.state.lock();
        loop {
            while state.trash.is_empty() && !state.closing {
                self.changed.wait(&mut state);
            }
            if state.closing {
                return;
            }
            let (start, rate) = (system::now(), state.delete_rate);
            let mut deleted = 0_u64;
            while !state.closing && rate == state.delete_rate {
                let Some(first) = state.trash.queue.front().cloned() else {
                    break;
                };
                let chunk = state.delete_chunk;
                drop(state);
                let left = delete_piece(&first, chunk);
                state = self.state.lock();
                deleted += state.shrink(&first.path, left);
                if left == 0 {
                    let statistics = first.statistics.as_deref();
                    tick(statistics, Ticker::FilesDeletedFromTrashQueue, 1);
                }
                let until = until(start, deleted, rate);
                while !state.closing && rate == state.delete_rate {
                    if self.changed.wait_until(&mut state, until).timed_out() {
                        break;
                    }
                }
            }
            self.changed.notify_all();
        }
    }
}

/// When `deleted` bytes may have been deleted at `rate` bytes per second since `start`.
fn until(start: Instant, deleted: u64, rate: i64) -> Instant {
    let rate = u64::try_from(rate).unwrap_or(0);
    let micros = u128::from(deleted) * 1_000_000 / u128::from(rate.max(1));
    let micros = if rate == 0 { 0 } else { micros };
    let pause = Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
    start.checked_add(pause).unwrap_or(start)
}

/// Deletes `file`, or its last `chunk` bytes if it is longer. Returns the size that is left.
fn delete_piece(file: &Discarded, chunk: u64) -> u64 {
    let Discarded { fs, path, .. } = file;
    let size = fs.file_size(path).unwrap_or(0);
    if chunk > 0 && size > chunk {
        let mut is_alone = matches!(fs.num_links(path), Ok(1)); // M2
        planted!(LinkedFileCut => is_alone = true);
        if is_alone && fs.truncate(path, size - chunk).is_ok() {
            return size - chunk;
        }
    }
    // What cannot be deleted is left to the next opening.
    let _ = fs.remove(path);
    0
}

impl State {
    /// The trash `path`, the first in the queue, has `left` bytes now. Returns how many are gone.
    fn shrink(&mut self, path: &Path, left: u64) -> u64 {
        let before = self.untrack(path).unwrap_or(0);
        if left > 0 {
            self.track(path.to_path_buf(), left);
        } else {
            self.trash.queue.pop_front();
        }
        let gone = before.saturating_sub(left);
        self.trash.size = self.trash.size.saturating_sub(gone);
        gone
    }
}
