//! In-memory files that many threads write.

use super::super::shared::{SharedFile, check_range};
use super::Shared;
use super::content::MemFile;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file written at any position by many threads.
#[derive(Debug)]
pub(super) struct MemShared {
    shared: Arc<Shared>,
    file: Arc<MemFile>,
    path: PathBuf,
}

impl MemShared {
    pub fn new(shared: Arc<Shared>, file: Arc<MemFile>, path: &Path) -> Self {
        MemShared {
            shared,
            file,
            path: path.to_path_buf(),
        }
    }

    fn in_memory(&self, len: u64) -> Result<usize> {
        usize::try_from(len)
            .ok()
            .filter(|len| isize::try_from(*len).is_ok())
            .ok_or_else(|| {
                let full = std::io::ErrorKind::StorageFull.into();
                Error::io("allocate space for a file", &self.path, &full)
            })
    }
}

impl SharedFile for MemShared {
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let _no_clone_meanwhile = self.shared.names.read();
        let mut content = self.file.content.write();
        check_range(offset, data.len(), content.data.len() as u64, &self.path)?;
        content.write(offset as usize, data);
        Ok(())
    }
    fn extend(&self, len: u64) -> Result<()> {
        let len = self.in_memory(len)?;
        let _no_clone_meanwhile = self.shared.names.read();
        self.file.content.write().extend(len);
        Ok(())
    }
    fn allocated(&self) -> u64 {
        self.file.content.read().data.len() as u64
    }
    fn sync(&self) -> Result<()> {
        self.shared.at_sync_point(&self.path, false, || {
            let _no_clone_meanwhile = self.shared.names.read();
            self.file.content.write().sync();
        });
        Ok(())
    }
    fn truncate(&self, len: u64) -> Result<()> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let _no_clone_meanwhile = self.shared.names.read();
        self.file.content.write().truncate(len);
        Ok(())
    }
    fn forget_unsynced(&self) {
        let _no_clone_meanwhile = self.shared.names.read();
        self.file.content.write().forget_unsynced();
    }
}
