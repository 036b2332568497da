//! An in-memory file system that calls a hook when logs are written or synced, and when files are
//! removed.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use whitewater::Error;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, SharedFile, SharedOptions};
use whitewater_storage::delegate_fs;

type Result<T> = std::result::Result<T, Error>;

/// Called by the thread that does the operation; may block it.
pub trait LogHook: Debug + Send + Sync + 'static {
    /// `data` is about to be written to a log.
    fn writing(&self, _data: &[u8]) {}
    /// The data was written.
    fn written(&self) {}
    /// Whether space that a log gets is to be initialized.
    fn initializing(&self, _on: bool) {}
    /// A log is about to be synced.
    fn syncing(&self) {}
    /// The log was synced.
    fn synced(&self) {}
    /// A file of any kind is about to be removed.
    fn removing(&self, _path: &Path) {}
}

/// See the module.
#[derive(Debug)]
pub struct HookedLogs<H> {
    pub files: MemFs,
    pub hook: Arc<H>,
}

impl<H> HookedLogs<H> {
    pub fn new(hook: Arc<H>) -> Self {
        HookedLogs {
            files: MemFs::new(),
            hook,
        }
    }
}

impl<H> Clone for HookedLogs<H> {
    fn clone(&self) -> Self {
        HookedLogs {
            files: self.files.clone(),
            hook: self.hook.clone(),
        }
    }
}

impl<H: LogHook> Fs for HookedLogs<H> {
    delegate_fs!(files: create, open_append, reuse, open_random, open_sequential);
    delegate_fs!(files: exists, file_size, modified, list, lock);
    delegate_fs!(files: create_dir_all, remove_dir, rename, link, sync_dir);

    fn open_shared(
        &self,
        path: &Path,
        from: Option<&Path>,
        options: SharedOptions,
    ) -> Result<Box<dyn SharedFile>> {
        Ok(Box::new(HookedLog {
            file: self.files.open_shared(path, from, options)?,
            hook: self.hook.clone(),
        }))
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.hook.removing(path);
        self.files.remove(path)
    }
}

#[derive(Debug)]
struct HookedLog<H> {
    file: Box<dyn SharedFile>,
    hook: Arc<H>,
}

impl<H: LogHook> SharedFile for HookedLog<H> {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.hook.writing(data);
        self.file.write_at(offset, data)?;
        self.hook.written();
        Ok(())
    }
    fn extend(&self, len: u64) -> Result<()> {
        self.file.extend(len)
    }
    fn initialize(&self, on: bool) {
        self.hook.initializing(on);
        self.file.initialize(on);
    }
    fn allocated(&self) -> u64 {
        self.file.allocated()
    }
    fn sync(&self) -> Result<()> {
        self.hook.syncing();
        self.file.sync()?;
        self.hook.synced();
        Ok(())
    }
    fn truncate(&self, len: u64) -> Result<()> {
        self.file.truncate(len)
    }
    fn forget_unsynced(&self) {
        self.file.forget_unsynced();
    }
}
