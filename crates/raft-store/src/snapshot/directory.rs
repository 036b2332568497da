//! The directory that the tables of a snapshot are in.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater::fs::Fs;

/// A directory with the tables of a snapshot. Streams that read or write them share it, and the
/// last one to be dropped removes it, unless it is the current snapshot's.
#[derive(Debug)]
pub(crate) struct Directory {
    pub fs: Arc<dyn Fs>,
    pub path: PathBuf,
    /// Whether it stays when it is dropped. The state machine sets it when a snapshot becomes the
    /// current one, and clears it when another does; `drop` reads it, after all of that, because
    /// it owns the directory. So all operations are relaxed.
    stays: AtomicBool,
}

impl Directory {
    /// The directory `path`, which is removed with this.
    pub fn new(fs: Arc<dyn Fs>, path: PathBuf) -> Self {
        Directory {
            fs,
            path,
            stays: AtomicBool::new(false),
        }
    }

    /// Says whether it stays.
    pub fn stay(&self, stays: bool) {
        self.stays.store(stays, Ordering::Relaxed);
    }

    /// Makes the names of its files durable, and its own.
    pub fn sync(&self) -> Result<()> {
        let mut synced = self.fs.sync_dir(&self.path);
        if let (Ok(()), Some(parent)) = (&synced, self.path.parent()) {
            synced = self.fs.sync_dir(parent);
        }
        synced.map_err(|e| Error::because("sync of a directory of snapshots", e))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !self.stays.load(Ordering::Relaxed)
            && let Err(e) = remove(&*self.fs, &self.path)
        {
            // The next opening removes it.
            tracing::warn!("removal of an old snapshot: {e}");
        }
    }
}

/// Removes the directory `path` with its files, if it exists.
fn remove(fs: &dyn Fs, path: &Path) -> std::result::Result<(), whitewater::Error> {
    if fs.exists(path)? {
        for name in fs.list(path)? {
            fs.remove(&path.join(name))?;
        }
        fs.remove_dir(path)?;
    }
    Ok(())
}

/// Removes all directories in `path`, but for those named, and `path` itself, if none is.
pub(crate) fn remove_all(fs: &dyn Fs, path: &Path, keep: &[String]) -> Result<()> {
    let removed = (|| {
        if !fs.exists(path)? {
            return Ok(());
        }
        for name in fs.list(path)? {
            if !keep.contains(&name) {
                remove(fs, &path.join(name))?;
            }
        }
        if keep.is_empty() {
            fs.remove_dir(path)?;
        }
        Ok(())
    })();
    removed.map_err(|e: whitewater::Error| {
        Error::because(format!("removal of snapshots in {}", path.display()), e)
    })
}
