//! Which tables make up a column family, at one moment and over time.
//!
//! * [`Version`]: an immutable set of tables per level. Readers pin one.
//! * [`builder`]: a version and edits make the next version.
//! * [`set`]: all column families' current versions and the manifest.

pub(crate) mod builder;
pub(crate) mod set;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use whitewater_storage::cache::BlockCache;
use whitewater_storage::manifest::FileMetaData;

use crate::read::table_cache::OpenTable;

/// A table file while any version names it. Shared by versions; when the last
/// one lets go of a file that a later version dropped, its number is sent to
/// the deletion queue.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub meta: FileMetaData,
    /// Written by: the compaction picker, under the database mutex. Read by:
    /// the same. Publishes nothing (relaxed).
    being_compacted: AtomicBool,
    /// The open table when tables are kept open without limit.
    pub open: OnceLock<Arc<OpenTable>>,
    /// Where the number goes once the last version lets go.
    obsolete: Arc<ObsoleteFiles>,
}

/// Numbers of table files that no version names any more.
#[derive(Debug, Default)]
pub(crate) struct ObsoleteFiles {
    numbers: parking_lot::Mutex<Vec<u64>>,
}

impl ObsoleteFiles {
    /// Takes the numbers collected so far.
    pub fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.numbers.lock())
    }
    /// Puts numbers back whose files could not be deleted yet.
    pub fn put_back(&self, numbers: impl IntoIterator<Item = u64>) {
        self.numbers.lock().extend(numbers);
    }
}

impl TableFile {
    /// A file that versions are about to name.
    pub fn new(meta: FileMetaData, obsolete: Arc<ObsoleteFiles>) -> Arc<Self> {
        Arc::new(TableFile {
            meta,
            being_compacted: AtomicBool::new(false),
            open: OnceLock::new(),
            obsolete,
        })
    }
    /// Whether a compaction that has been picked reads the file.
    pub fn being_compacted(&self) -> bool {
        self.being_compacted.load(Ordering::Relaxed)
    }
    /// Marks the file as picked or not.
    pub fn set_being_compacted(&self, v: bool) {
        self.being_compacted.store(v, Ordering::Relaxed);
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        // Dropped with the last version that names it. At close all versions
        // go; the queue is not read any more then.
        self.obsolete.numbers.lock().push(self.meta.number);
    }
}

/// The tables of one column family at one moment.
///
/// Level 0 is ordered newest first; deeper levels by smallest key, and their
/// files do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Version {
    pub levels: Vec<Vec<Arc<TableFile>>>,
    /// For opening tables on behalf of this column family.
    pub block_cache: Option<BlockCache>,
}

impl Version {
    /// An empty version with `num_levels` levels.
    pub fn empty(num_levels: usize, block_cache: Option<BlockCache>) -> Self {
        Version {
            levels: vec![Vec::new(); num_levels],
            block_cache,
        }
    }
    /// Bytes of the files of `level`.
    pub fn level_bytes(&self, level: usize) -> u64 {
        self.levels[level].iter().map(|f| f.meta.size).sum()
    }
    /// Number of files of `level`.
    pub fn num_files(&self, level: usize) -> usize {
        self.levels[level].len()
    }
}
