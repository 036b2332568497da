//! Open tables by file.

use crate::version::TableFile;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::InternalComparator;
use whitewater_storage::sst::Table;

/// A table and its range tombstones, fragmented once.
#[derive(Debug)]
pub(crate) struct OpenTable {
    pub table: Arc<Table>,
    pub tombstones: Option<super::rangedel::FragmentedTombstones>,
}

/// Opens tables on demand and keeps up to `max_open_files` of them open.
#[derive(Debug)]
pub(crate) struct TableCache {}

impl TableCache {
    /// A cache for the tables in `dir`. A negative `max_open_files` keeps all
    /// of them open, in their [`TableFile`]s.
    pub fn new(fs: Arc<dyn Fs>, dir: PathBuf, max_open_files: i32) -> Self {
        let _ = (fs, dir, max_open_files);
        todo!()
    }
    /// The open table of `file`.
    ///
    /// # Errors
    /// What opening it reports: a missing, short or damaged file by name.
    pub fn open(
        &self,
        file: &TableFile,
        comparator: &InternalComparator,
        block_cache: Option<&BlockCache>,
    ) -> Result<Arc<OpenTable>> {
        let _ = (file, comparator, block_cache);
        todo!()
    }
    /// Forgets the table `number`, whose file is being deleted.
    pub fn evict(&self, number: u64) {
        let _ = number;
        todo!()
    }
}
