//! Open tables by file.
//!
//! With a negative `max_open_files` a table, once opened, stays open in its
//! [`TableFile`] and goes with it. Otherwise the least used tables are closed;
//! readers that still hold one keep it alive.

use super::rangedel::FragmentedTombstones;
use crate::version::TableFile;
use quick_cache::sync::Cache;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::fs::{Fs, RandomAccessFile};
use whitewater_storage::key::InternalComparator;
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::sst::{Table, TableReaderOptions};
use whitewater_storage::{Error, Result, filename};

/// A table and its range tombstones, fragmented once.
#[derive(Debug)]
pub(crate) struct OpenTable {
    pub table: Arc<Table>,
    /// `None` when the table has no range tombstones.
    pub tombstones: Option<FragmentedTombstones>,
}

/// Opens tables on demand and keeps up to `max_open_files` of them open.
#[derive(Debug)]
pub(crate) struct TableCache {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    /// Open tables by file number; `None` keeps all of them open.
    limited: Option<Cache<u64, Arc<OpenTable>>>,
}

impl TableCache {
    /// A cache for the tables in `dir`. A negative `max_open_files` keeps all
    /// of them open, in their [`TableFile`]s.
    pub fn new(fs: Arc<dyn Fs>, dir: PathBuf, max_open_files: i32) -> Self {
        let limited = usize::try_from(max_open_files)
            .ok()
            .map(|n| Cache::new(n.max(1)));
        TableCache { fs, dir, limited }
    }

    /// The open table of `file`. Threads that open the same file at once may
    /// each read it; all get one of the results.
    ///
    /// # Errors
    /// What opening it reports: a missing, short or damaged file by name.
    pub fn open(
        &self,
        file: &TableFile,
        comparator: &InternalComparator,
        block_cache: Option<&BlockCache>,
    ) -> Result<Arc<OpenTable>> {
        let read = || self.read(&file.meta, comparator, block_cache);
        match &self.limited {
            Some(cache) => cache.get_or_insert_with(&file.meta.number, read),
            None => match file.open.get() {
                Some(open) => Ok(open.clone()),
                None => {
                    let open = read()?;
                    Ok(file.open.get_or_init(|| open).clone())
                }
            },
        }
    }

    /// Forgets the table `number`, whose file is being deleted.
    pub fn evict(&self, number: u64) {
        if let Some(cache) = &self.limited {
            cache.remove(&number);
        }
    }

    fn read(
        &self,
        meta: &FileMetaData,
        comparator: &InternalComparator,
        block_cache: Option<&BlockCache>,
    ) -> Result<Arc<OpenTable>> {
        let file = open_file(&*self.fs, &self.dir, meta)?;
        let path = file.path().to_path_buf();
        let options = TableReaderOptions {
            comparator: comparator.clone(),
            block_cache: block_cache.cloned(),
            largest_seqno: Some(meta.largest_seqno),
            file_number: meta.number,
        };
        let table = Table::open(file, meta.size, options).map_err(|e| match e.kind() {
            whitewater_storage::ErrorKind::Corruption => e.in_file(&path, None),
            _ => e,
        })?;
        let tombstones = FragmentedTombstones::new(table.range_tombstones(), &comparator.user);
        Ok(Arc::new(OpenTable {
            table: Arc::new(table),
            tombstones: (!tombstones.is_empty()).then_some(tombstones),
        }))
    }
}

/// Opens the file of a table, under its old suffix if need be, and checks its
/// size against the manifest's.
fn open_file(fs: &dyn Fs, dir: &Path, meta: &FileMetaData) -> Result<Arc<dyn RandomAccessFile>> {
    let path = filename::table(dir, meta.number);
    let file = match fs.open_random(&path) {
        Err(e) if e.is_missing_file() => {
            // The error names the usual suffix when both are missing.
            fs.open_random(&path.with_extension("ldb")).map_err(|_| e)?
        }
        other => other?,
    };
    let size = file.len()?;
    if size != meta.size {
        return Err(Error::corruption_in(
            file.path(),
            size.min(meta.size),
            format_args!("table of {size} bytes where the manifest has {}", meta.size),
        ));
    }
    Ok(file)
}
