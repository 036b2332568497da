//! Syncs of directories: one caller at a time, and never again after a failure.
//!
//! The system reports a failed sync of a directory only once. A later sync succeeds although names
//! of files are lost. A database syncs its directory in several places: for logs (before a synced
//! write is acknowledged), for flushes and compactions (before the manifest mentions a table), and
//! for new manifests. If one of them synced after another one failed, but before that failure
//! stopped all writing, it would promise durability that does not exist. So the first failure of
//! each directory is recorded before the next call, and all later calls return it, until the
//! database is opened again on a new [`NamesFs`].
//!
//! Directories that a database [holds](NamesFs::hold) stay open, as in RocksDB. They are synced by
//! their descriptors, even if they were renamed or removed meanwhile. Others are opened by path
//! each time.
//!
//! Everything else is passed on to the wrapped file system.

use super::{Fs, OpenDir};
use crate::delegate_fs;
use crate::error::{Error, Result};
use crate::planted;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use whitewater_concurrent::system::Mutex;

/// See the [module](self).
///
/// Lock order: `dirs` is released before a directory's lock is taken, which is held while the
/// directory is synced.
#[derive(Debug)]
pub struct NamesFs {
    inner: Arc<dyn Fs>,
    dirs: Mutex<HashMap<PathBuf, Arc<Dir>>>,
}

#[derive(Debug, Default)]
struct Dir {
    /// The first failed sync. Locked while the directory is synced.
    failed: Mutex<Option<Error>>,
    /// The open directory, if it is held.
    open: OnceLock<OpenDir>,
}

impl NamesFs {
    /// Wraps `inner`, with no recorded failures.
    pub fn new(inner: Arc<dyn Fs>) -> Self {
        NamesFs {
            inner,
            dirs: Mutex::default(),
        }
    }

    /// Keeps the directory `path` open until this file system is dropped.
    ///
    /// # Errors
    /// Those of [`Fs::open_dir`].
    pub fn hold(&self, path: &Path) -> Result<()> {
        let open = self.inner.open_dir(path)?;
        // A directory that is already held stays.
        let _ = self.dir(path).open.set(open);
        Ok(())
    }

    fn dir(&self, path: &Path) -> Arc<Dir> {
        let mut dirs = self.dirs.lock();
        dirs.entry(path.to_path_buf()).or_default().clone()
    }
}

impl Fs for NamesFs {
    delegate_fs!(inner: create, create_direct, open_append, reuse, open_shared);
    delegate_fs!(inner: open_random, open_random_direct, open_sequential);
    delegate_fs!(inner: exists, file_size, modified, list, lock);
    delegate_fs!(inner: create_dir_all, remove, remove_dir, rename, link);
    delegate_fs!(inner: truncate, num_links, free_space);

    fn sync_dir(&self, path: &Path) -> Result<()> {
        let dir = self.dir(path);
        let mut failed = dir.failed.lock();
        planted!(DirectoryFailureForgotten => *failed = None);
        if let Some(first) = &*failed {
            return Err(first.clone());
        }
        let synced = match dir.open.get() {
            Some(open) => self.inner.sync_open_dir(open),
            None => self.inner.sync_dir(path),
        };
        synced.inspect_err(|e| *failed = Some(e.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
    use crate::fs::mem::MemFs;
    use std::thread;

    #[test]
    fn a_failed_sync_of_a_directory_is_not_tried_again() {
        let faults = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
        let fs = NamesFs::new(faults.clone());
        for dir in ["/a", "/b"] {
            fs.create_dir_all(Path::new(dir)).unwrap();
        }
        let sync = |dir: &str| fs.sync_dir(Path::new(dir));
        sync("/a").unwrap();
        faults.add_rule(Rule::nth(OpSet::of(&[FaultOp::SyncDir]), 1));
        let first = sync("/a").unwrap_err();
        assert_eq!(first.file(), Some(Path::new("/a")));
        assert_eq!(sync("/a").unwrap_err().to_string(), first.to_string());
        sync("/b").unwrap();
        assert_eq!(faults.injected().len(), 1);
        // Opened again.
        NamesFs::new(faults.clone())
            .sync_dir(Path::new("/a"))
            .unwrap();
    }

    /// A caller that waits for a sync that fails does not succeed after it.
    #[test]
    fn of_many_at_once_none_succeeds_after_one_that_failed() {
        for round in 1..50 {
            let faults = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
            let fs = NamesFs::new(faults.clone());
            fs.create_dir_all(Path::new("/a")).unwrap();
            faults.add_rule(Rule::nth(OpSet::of(&[FaultOp::SyncDir]), round % 5 + 1));
            let outcomes: Vec<bool> = thread::scope(|scope| {
                let sync = || fs.sync_dir(Path::new("/a")).is_ok();
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(sync)).collect();
                threads.into_iter().map(|t| t.join().unwrap()).collect()
            });
            let succeeded = outcomes.iter().filter(|ok| **ok).count() as u64;
            assert_eq!(succeeded, round % 5, "those before it");
            assert!(fs.sync_dir(Path::new("/a")).is_err());
        }
    }
}
