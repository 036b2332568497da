//! Open tables by file.
//!
//! With a negative `max_open_files` a table, once opened, stays open in its
//! [`TableFile`] and goes with it. Otherwise the least used tables are closed;
//! readers that still hold one keep it alive.

use super::rangedel::FragmentedTombstones;
use crate::perf::{self, PerfMetric};
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
        let _timer = perf::timer(PerfMetric::FindTableNanos);
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
        Err(missing) if missing.is_missing_file() => {
            match fs.open_random(&path.with_extension("ldb")) {
                // The error names the usual suffix.
                Err(e) if e.is_missing_file() => return Err(missing),
                other => other?,
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::io;
    use whitewater_storage::ErrorKind;
    use whitewater_storage::fs::{FileLock, SequentialFile, WritableFile};

    /// Files that can only be opened for positioned reads: path and length.
    #[derive(Debug)]
    struct Files(Vec<(&'static str, u64)>);

    #[derive(Debug)]
    struct File(PathBuf, u64);

    impl RandomAccessFile for File {
        fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
            Err(Error::corruption_in(
                &self.0,
                offset,
                format_args!("no {len} bytes"),
            ))
        }
        fn len(&self) -> Result<u64> {
            Ok(self.1)
        }
        fn path(&self) -> &Path {
            &self.0
        }
    }

    fn refuse<T>() -> Result<T> {
        Err(Error::not_supported("only positioned reads"))
    }

    impl Fs for Files {
        fn open_random(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
            match self.0.iter().find(|(name, _)| Path::new(name) == path) {
                Some((_, len)) => Ok(Arc::new(File(path.to_path_buf(), *len))),
                None => Err(Error::io("open", path, &io::ErrorKind::NotFound.into())),
            }
        }
        fn create(&self, _: &Path) -> Result<Box<dyn WritableFile>> {
            refuse()
        }
        fn open_append(&self, _: &Path) -> Result<Box<dyn WritableFile>> {
            refuse()
        }
        fn reuse(&self, _: &Path, _: &Path) -> Result<Box<dyn WritableFile>> {
            refuse()
        }
        fn open_sequential(&self, _: &Path) -> Result<Box<dyn SequentialFile>> {
            refuse()
        }
        fn exists(&self, _: &Path) -> Result<bool> {
            refuse()
        }
        fn file_size(&self, _: &Path) -> Result<u64> {
            refuse()
        }
        fn list(&self, _: &Path) -> Result<Vec<String>> {
            refuse()
        }
        fn create_dir_all(&self, _: &Path) -> Result<()> {
            refuse()
        }
        fn remove(&self, _: &Path) -> Result<()> {
            refuse()
        }
        fn remove_dir(&self, _: &Path) -> Result<()> {
            refuse()
        }
        fn rename(&self, _: &Path, _: &Path) -> Result<()> {
            refuse()
        }
        fn link(&self, _: &Path, _: &Path) -> Result<()> {
            refuse()
        }
        fn sync_dir(&self, _: &Path) -> Result<()> {
            refuse()
        }
        fn lock(&self, _: &Path) -> Result<Box<dyn FileLock>> {
            refuse()
        }
    }

    fn open(files: &Files, number: u64, size: u64) -> Result<PathBuf> {
        let meta = FileMetaData {
            number,
            size,
            ..FileMetaData::default()
        };
        let file = open_file(files, Path::new("/db"), &meta)?;
        Ok(file.path().to_path_buf())
    }

    #[test]
    fn tables_are_found_under_both_suffixes() {
        let files = Files(vec![("/db/000007.sst", 100), ("/db/000008.ldb", 100)]);
        assert_eq!(open(&files, 7, 100), Ok("/db/000007.sst".into()));
        assert_eq!(open(&files, 8, 100), Ok("/db/000008.ldb".into()));
    }

    #[test]
    fn missing_and_short_tables_are_named() {
        let files = Files(vec![("/db/000007.sst", 100)]);
        let e = open(&files, 9, 100).unwrap_err();
        assert!(e.is_missing_file());
        assert_eq!(e.file(), Some(Path::new("/db/000009.sst")));
        for size in [99, 101] {
            let e = open(&files, 7, size).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption);
            assert_eq!(e.file(), Some(Path::new("/db/000007.sst")));
            assert_eq!(e.offset(), Some(size.min(100)));
        }
    }

    #[test]
    fn failures_to_open_are_not_remembered() {
        for max_open_files in [-1, 0, 5] {
            let fs = Arc::new(Files(Vec::new()));
            let tables = TableCache::new(fs, "/db".into(), max_open_files);
            let file = crate::read::testing::table_file(3, b"", b"");
            for _ in 0..2 {
                let e = tables.open(&file, &InternalComparator::default(), None);
                assert!(e.unwrap_err().is_missing_file());
            }
            assert!(file.open.get().is_none());
            tables.evict(3);
        }
    }
}
