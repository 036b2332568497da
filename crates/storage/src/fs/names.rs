//! Directories are made durable by one caller at a time, until that fails.
//!
//! The system reports a failed sync of a directory once: a later call, by
//! whomever and of whatever file's name, succeeds although names are lost. A
//! database has several who sync its directory: logs (before a synced write is
//! acknowledged), flushes and compactions (before the manifest mentions a
//! table), new manifests. One that comes between the failure of another and
//! the end that this puts to all writing would promise what is not so. So of
//! each directory the first failure is remembered before the next call, and is
//! what all later ones get, until the database is opened anew on a new
//! [`NamesFs`].
//!
//! Directories that a database [holds](NamesFs::hold) stay open, as in RocksDB: they
//! are made durable by their descriptors, whether they were renamed or removed
//! meanwhile. Others are opened by their paths each time.
//!
//! Everything else goes to the wrapped file system as it is.

use super::{Fs, OpenDir};
use crate::delegate_fs;
use crate::error::{Error, Result};
use crate::planted::{Bug, planted};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use whitewater_concurrent::system::Mutex;

/// See the [module](self).
///
/// Lock order: `dirs` is let go of before a directory's lock is taken, which
/// is held while the directory is synced.
#[derive(Debug)]
pub struct NamesFs {
    inner: Arc<dyn Fs>,
    dirs: Mutex<HashMap<PathBuf, Arc<Dir>>>,
}

#[derive(Debug, Default)]
struct Dir {
    /// The first failure to make it durable. Held while that is tried.
    failed: Mutex<Option<Error>>,
    /// It, if it is held.
    open: OnceLock<OpenDir>,
}

impl NamesFs {
    /// Wraps `inner`. Nothing has failed.
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
        // The one that is held already stays.
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

    fn sync_dir(&self, path: &Path) -> Result<()> {
        let dir = self.dir(path);
        let mut failed = dir.failed.lock();
        if let Some(first) = &*failed
            && !planted(Bug::DirectoryFailureForgotten)
        {
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
        // Opened anew.
        NamesFs::new(faults.clone())
            .sync_dir(Path::new("/a"))
            .unwrap();
    }

    /// Whoever waits for one that fails does not succeed after it.
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
