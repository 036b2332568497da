//! The operating system's file system.

use super::{FileLock, Fs, RandomAccessFile, SequentialFile, WritableFile};
use crate::error::Result;
use std::path::Path;
use std::sync::Arc;

/// The operating system's file system.
#[derive(Debug, Default, Clone)]
pub struct OsFs;

impl Fs for OsFs {
    fn create(&self, _: &Path) -> Result<Box<dyn WritableFile>> {
        todo!()
    }
    fn open_append(&self, _: &Path) -> Result<Box<dyn WritableFile>> {
        todo!()
    }
    fn reuse(&self, _: &Path, _: &Path) -> Result<Box<dyn WritableFile>> {
        todo!()
    }
    fn open_random(&self, _: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        todo!()
    }
    fn open_sequential(&self, _: &Path) -> Result<Box<dyn SequentialFile>> {
        todo!()
    }
    fn exists(&self, _: &Path) -> Result<bool> {
        todo!()
    }
    fn file_size(&self, _: &Path) -> Result<u64> {
        todo!()
    }
    fn list(&self, _: &Path) -> Result<Vec<String>> {
        todo!()
    }
    fn create_dir_all(&self, _: &Path) -> Result<()> {
        todo!()
    }
    fn remove(&self, _: &Path) -> Result<()> {
        todo!()
    }
    fn remove_dir(&self, _: &Path) -> Result<()> {
        todo!()
    }
    fn rename(&self, _: &Path, _: &Path) -> Result<()> {
        todo!()
    }
    fn link(&self, _: &Path, _: &Path) -> Result<()> {
        todo!()
    }
    fn sync_dir(&self, _: &Path) -> Result<()> {
        todo!()
    }
    fn lock(&self, _: &Path) -> Result<Box<dyn FileLock>> {
        todo!()
    }
}
