//! Open tables and blob files by file.
//!
//! With a negative `max_open_files` a table, once opened, stays open in its [`TableFile`] and
//! is closed with it, even if the option changes later. Otherwise the least recently used
//! tables are closed; readers that still hold one keep it alive.

use super::charged_file::ChargedFile;
use super::counted_file::{Counted, CountedFile};
use super::row_cache::RowCache;
use crate::entry::range_tombstones::FragmentedTombstones;
use crate::options::CfOptions;
use crate::perf_context::{self, PerfMetric};
use crate::rate_limiter::Client;
use crate::stats::{
    Activity, Histogram, ReadLatencies, Statistics, Ticker, table_events, tick, time,
};
use crate::version::TableFile;
use crate::version::blobs::BlobFile;
use crate::version::paths::DataPaths;
use quick_cache::UnitWeighter;
use quick_cache::sync::{Cache, DefaultLifecycle};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater_concurrent::system;
use whitewater_storage::blob::BlobFileReader;
use whitewater_storage::cache::BlockCache;
use whitewater_storage::fs::{Fs, RandomAccessFile};
use whitewater_storage::key::{InternalComparator, SequenceNumber};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::sst::{
    AutoReadahead, Charged, MetadataPlacement, PrefixTransform, ReadLimits, Table,
    TableReaderOptions,
};
use whitewater_storage::{Error, Result};

/// A table and its range tombstones, fragmented once.
#[derive(Debug)]
pub(crate) struct OpenTable {
    pub table: Arc<Table>,
    /// `None` when the table has no range tombstones.
    pub tombstones: Option<Arc<FragmentedTombstones>>,
}

/// An open table, for as long as its file is borrowed. It is either the one in the
/// [`TableFile`], without a reference of its own, whose count is memory that all readers would
/// write to; or a reference to a table that may be closed in the meantime.
#[derive(Debug)]
pub(crate) enum Opened<'a> {
    InFile(&'a Arc<OpenTable>),
    Shared(Arc<OpenTable>),
}

impl Opened<'_> {
    /// A reference that can be kept.
    pub fn share(self) -> Arc<OpenTable> {
        match self {
            Opened::InFile(open) => open.clone(),
            Opened::Shared(open) => open,
        }
    }
}

impl Deref for Opened<'_> {
    type Target = OpenTable;

    #[inline]
    fn deref(&self) -> &OpenTable {
        match self {
            Opened::InFile(open) => open,
            Opened::Shared(open) => open,
        }
    }
}

/// Open files by number. Which of them share a shard, and so evict each other, does not change
/// from run to run: simulations can be repeated.
type ByNumber<T> = Cache<u64, T, UnitWeighter, BuildHasherDefault<DefaultHasher>>;

/// A cache of up to `most` open files.
fn by_number<T: Clone>(most: usize) -> ByNumber<T> {
    let (hasher, lifecycle) = (BuildHasherDefault::new(), DefaultLifecycle::default());
    Cache::with(most, most as u64, UnitWeighter, hasher, lifecycle)
}

/// Opens tables, on demand or for the job that has written them, and keeps up to `max_open_files`
/// of them open.
#[derive(Debug)]
pub(crate) struct TableCache {
    fs: Arc<dyn Fs>,
    reads: FileReads,
    /// Whether tables that are opened now stay open, in their [`TableFile`].
    /// Written by: changes of options. Read by: threads that open a table (relaxed). Publishes
    /// nothing.
    keeps_all: AtomicBool,
    /// The other open tables, by file number.
    limited: ByNumber<Arc<OpenTable>>,
    /// The other open blob files, by file number; the limit is that of tables.
    limited_blobs: ByNumber<Arc<BlobFileReader>>,
    /// The statistics that tables report to.
    statistics: Option<Arc<Statistics>>,
    /// The rate limiter of reads.
    limiter: Option<Arc<Client>>,
    /// The cache of what tables hold of keys.
    rows: Option<RowCache>,
    /// The session of the database; empty if it has none.
    session: String,
}

/// How tables and blob files are read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FileReads {
    /// With direct I/O, past the page cache.
    pub direct: bool,
    /// The system is told that reads come in no order, so that it reads nothing ahead by itself.
    pub advise_random: bool,
}

impl FileReads {
    /// Opens the file at `path`.
    fn open(self, fs: &dyn Fs, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        if self.direct {
            return fs.open_random_direct(path);
        }
        let file = fs.open_random(path)?;
        if self.advise_random {
            file.advise_random();
        }
        Ok(file)
    }
}

/// What it takes to open the tables of a column family, besides their files.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenWith {
    /// Where the files are.
    pub paths: DataPaths,
    pub block_cache: Option<BlockCache>,
    /// The cache of values in blob files.
    pub blob_cache: Option<BlockCache>,
    /// The extractor of the prefixes that filters are asked for.
    pub prefix_extractor: Option<Arc<dyn PrefixTransform>>,
    /// The read-ahead of iterators whose caller has chosen no size.
    auto_readahead: AutoReadahead,
    /// The histograms of reads of the tables, by level, for when statistics are on.
    pub latencies: Arc<ReadLatencies>,
    pub num_levels: usize,
    /// Where index and filter blocks are kept: of flushed tables, and of other tables.
    metadata: [MetadataPlacement; 2],
    /// The largest size of a table that counts as flushed. Bytes.
    max_flushed: u64,
    /// [`CfOptions::runs_user_code`] at the time when the database was opened. Memtables and tables
    /// keep that prefix extractor, even if the option changes.
    pub runs_user_code: bool,
}

impl OpenWith {
    /// For a column family with these options of the database in `dir`.
    pub fn new(options: &CfOptions, dir: &Path) -> Self {
        OpenWith {
            paths: DataPaths::new(&options.paths, dir),
            block_cache: options.table.block_cache.clone(),
            blob_cache: options.blob_cache.clone(),
            prefix_extractor: options.prefix_extractor.as_ref().map(|e| e.shared()),
            auto_readahead: options.table.auto_readahead(),
            latencies: Arc::new(ReadLatencies::new(options.num_levels)),
            num_levels: options.num_levels,
            metadata: [true, false].map(|flushed| options.table.metadata_placement(flushed)),
            max_flushed: (options.write_buffer_size as u64 / 2).saturating_mul(3),
            runs_user_code: options.runs_user_code(),
        }
    }

    /// Where the index and filter blocks of a table are kept that was first seen on `level`. As in
    /// RocksDB, which tables were flushed is a guess.
    fn metadata(&self, level: usize, size: u64) -> MetadataPlacement {
        let [flushed, other] = self.metadata;
        if level == 0 && size <= self.max_flushed {
            flushed
        } else {
            other
        }
    }
}

impl TableCache {
    /// A cache for tables. With a negative `max_open_files`, all of them stay open, in their
    /// [`TableFile`]s.
    pub fn new(fs: Arc<dyn Fs>, max_open_files: i32) -> Self {
        let most = usize::try_from(max_open_files).unwrap_or(0).max(1);
        TableCache {
            fs,
            reads: FileReads::default(),
            keeps_all: AtomicBool::new(max_open_files < 0),
            limited: by_number(most),
            limited_blobs: by_number(most),
            statistics: None,
            limiter: None,
            rows: None,
            session: String::new(),
        }
    }

    /// The same cache, of a database opened in `session`.
    #[must_use]
    pub fn in_session(mut self, session: &str) -> Self {
        session.clone_into(&mut self.session);
        self
    }

    /// The session of the database; empty if it has none.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The same cache, whose tables' rows are cached in `cache`, too.
    #[must_use]
    pub fn with_row_cache(mut self, cache: Option<&BlockCache>) -> Self {
        self.rows = cache.map(RowCache::new);
        self
    }

    /// The cache of what tables hold of keys, if there is one.
    #[inline]
    pub fn rows(&self) -> Option<&RowCache> {
        self.rows.as_ref()
    }

    /// Sets how files are read; by default through the system's page cache, without advice.
    #[must_use]
    pub fn with_reads(mut self, reads: FileReads) -> Self {
        self.reads = reads;
        self
    }

    /// The same cache, whose tables report to `statistics`.
    #[must_use]
    pub fn counting(mut self, statistics: Option<&Arc<Statistics>>) -> Self {
        self.statistics = statistics.cloned();
        self
    }

    /// The same cache, whose files ask `limiter` before they are read, if it limits reads.
    #[must_use]
    pub fn limited_by(mut self, limiter: Option<&Arc<Client>>) -> Self {
        self.limiter = limiter.filter(|limiter| limiter.limits_reads()).cloned();
        self
    }

    /// Changes `max_open_files`. Tables that were opened to stay open do so.
    pub fn set_max_open_files(&self, max_open_files: i32) {
        self.keeps_all.store(max_open_files < 0, Ordering::Relaxed);
        if let Ok(n) = u64::try_from(max_open_files) {
            self.limited.set_capacity(n.max(1));
            self.limited_blobs.set_capacity(n.max(1));
        }
    }

    /// Whether tables that are opened now stay open as long as their files are in use.
    #[inline]
    pub fn keeps_all(&self) -> bool {
        self.keeps_all.load(Ordering::Relaxed)
    }

    /// The open table of `file`. Threads that open the same file at once may each read it; all get
    /// the same one of the results.
    ///
    /// # Errors
    /// Errors of opening the file: a missing, short or damaged file by name.
    pub fn open(
        &self,
        file: &TableFile,
        comparator: &InternalComparator,
        with: &OpenWith,
    ) -> Result<Arc<OpenTable>> {
        let limits = ReadLimits::default();
        self.open_within(file, comparator, with, limits)
            .map(Opened::share)
    }

    /// The same as [`TableCache::open`], within limits. Opening is not charged to the rate limiter:
    /// readers that nothing limits may wait for it.
    ///
    /// # Errors
    /// The same as [`TableCache::open`], and those of [`ReadLimits::run`] if the table is not open
    /// yet.
    pub fn open_within<'a>(
        &self,
        file: &'a TableFile,
        comparator: &InternalComparator,
        with: &OpenWith,
        limits: ReadLimits,
    ) -> Result<Opened<'a>> {
        let _timer = perf_context::timer(PerfMetric::FindTableNanos);
        let read = || {
            limits.run(|| {
                let _free = Charged::none();
                self.read(file, comparator, with)
            })
        };
        if let Some(open) = file.open.get() {
            return Ok(Opened::InFile(open));
        }
        if self.keeps_all() {
            let open = read()?;
            return Ok(Opened::InFile(file.open.get_or_init(|| open)));
        }
        once(&self.limited, file.meta.number, read).map(Opened::Shared)
    }

    /// Opens a new table for `level`, which no version names yet.
    ///
    /// # Errors
    /// The same as [`TableCache::open`].
    pub fn open_new(
        &self,
        meta: &FileMetaData,
        level: usize,
        comparator: &InternalComparator,
        with: &OpenWith,
    ) -> Result<Arc<OpenTable>> {
        let dir = with.paths.dir(meta.path_id);
        // Nobody is told when this one is gone.
        let file = TableFile::new(meta.clone(), level, dir, Arc::default());
        file.set_level(level);
        self.read(&file, comparator, with)
    }

    /// The statistics that tables report to.
    pub fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_deref()
    }

    /// The memory that the table of `file` takes, if it is open. Bytes.
    pub fn memory_usage(&self, file: &TableFile) -> usize {
        let open = file.open.get().cloned();
        let open = open.or_else(|| self.limited.peek(&file.meta.number));
        open.map_or(0, |open| open.table.memory_usage())
    }

    /// The cache of rows, if there is one.
    pub fn row_cache(&self) -> Option<&BlockCache> {
        self.rows.as_ref().map(RowCache::cache)
    }

    /// The open blob file `file`; otherwise the same as [`TableCache::open`]. Opening is not
    /// charged, as in [`TableCache::open_within`].
    ///
    /// # Errors
    /// Errors of opening the file: a missing, short or damaged file by name.
    pub fn open_blob(&self, file: &BlobFile) -> Result<Arc<BlobFileReader>> {
        let read = || {
            let _free = Charged::none();
            let file = self.reads.open(&*self.fs, &file.path())?;
            let file = ChargedFile::behind(self.limiter.as_ref(), file);
            BlobFileReader::open(file).map(Arc::new)
        };
        if let Some(open) = file.open.get() {
            return Ok(open.clone());
        }
        if self.keeps_all() {
            let open = read()?;
            return Ok(file.open.get_or_init(|| open).clone());
        }
        once(&self.limited_blobs, file.meta.number, read)
    }

    /// Removes the table or blob file `number`, which is being deleted. Returns the table, whose
    /// blocks may be in the block cache.
    #[must_use = "its blocks stay in the cache"]
    pub fn remove(&self, number: u64) -> Option<Arc<OpenTable>> {
        self.limited_blobs.remove(&number);
        self.limited.remove(&number).map(|(_, open)| open)
    }

    fn read(
        &self,
        table: &TableFile,
        comparator: &InternalComparator,
        with: &OpenWith,
    ) -> Result<Arc<OpenTable>> {
        let _timer = time(self.statistics.as_deref(), Histogram::TableOpenIoMicros);
        let _activity = self.statistics.as_ref().map(|_| Activity::Open.begin());
        let count = |ticker| tick(self.statistics.as_deref(), ticker, 1);
        count(Ticker::NoFileOpens);
        let read = self.read_counted(table, comparator, with);
        read.inspect_err(|_| count(Ticker::NoFileErrors))
    }

    fn read_counted(
        &self,
        opened: &TableFile,
        comparator: &InternalComparator,
        with: &OpenWith,
    ) -> Result<Arc<OpenTable>> {
        let meta = &opened.meta;
        let metadata = with.metadata(opened.first_level, meta.size);
        let mut file = open_file(&*self.fs, opened, self.reads)?;
        let path = file.path().to_path_buf();
        if let Some(statistics) = &self.statistics {
            let level = opened.level();
            let counted = Counted {
                statistics: statistics.clone(),
                latencies: with.latencies.clone(),
                level,
                is_last: level + 1 == with.num_levels,
            };
            file = Arc::new(CountedFile { file, counted });
        }
        // Outside: `Histogram::SstReadMicros` does not include the waits.
        let file = ChargedFile::behind(self.limiter.as_ref(), file);
        let options = TableReaderOptions {
            comparator: comparator.clone(),
            auto_readahead: with.auto_readahead,
            block_cache: with.block_cache.clone(),
            prefix_extractor: with.prefix_extractor.clone(),
            events: table_events(self.statistics.as_ref()),
            metadata,
            largest_seqno: Some(meta.largest_seqno),
            file_number: meta.number,
        };
        let table = Table::open(file, meta.size, options).map_err(|e| match e.kind() {
            whitewater_storage::ErrorKind::Corruption => e.in_file(&path, None),
            _ => e,
        })?;
        let tombstones = FragmentedTombstones::new(table.range_tombstones(), &comparator.user);
        if tombstones.is_empty() {
            opened.note_no_tombstones();
        }
        Ok(Arc::new(OpenTable {
            table: Arc::new(table),
            tombstones: (!tombstones.is_empty()).then(|| Arc::new(tombstones)),
        }))
    }
}

/// The file `number` as it is in `cache`, or as `read` adds it. Threads that miss it at the
/// same time wait for one of them to read it.
fn once<T: Clone>(cache: &ByNumber<T>, number: u64, read: impl FnOnce() -> Result<T>) -> Result<T> {
    if !system::is_simulated() {
        return cache.get_or_insert_with(&number, read);
    }
    // A simulation does not control how threads wait for each other in the cache.
    if let Some(open) = cache.get(&number) {
        return Ok(open);
    }
    let open = read()?;
    cache.insert(number, open.clone());
    Ok(open)
}

/// Opens the table in the file `path`, for a caller that reads it through once.
///
/// # Errors
/// `Corruption` for a file that is not a table; errors of the file system.
pub(crate) fn open_alone(
    fs: &dyn Fs,
    path: &Path,
    number: u64,
    comparator: &InternalComparator,
) -> Result<Arc<Table>> {
    open_as(fs, path, number, None, comparator)
}

/// The same as [`open_alone`], for a table whose entries count as `largest_seqno` if it was
/// ingested.
///
/// # Errors
/// The same as [`open_alone`].
pub(crate) fn open_as(
    fs: &dyn Fs,
    path: &Path,
    number: u64,
    largest_seqno: Option<SequenceNumber>,
    comparator: &InternalComparator,
) -> Result<Arc<Table>> {
    let file = fs.open_random(path)?;
    let size = file.len()?;
    let options = TableReaderOptions {
        comparator: comparator.clone(),
        largest_seqno,
        file_number: number,
        ..TableReaderOptions::default()
    };
    Ok(Arc::new(Table::open(file, size, options)?))
}

/// Opens the file of a table, under its old suffix if necessary, and checks its size against
/// the manifest's.
fn open_file(
    fs: &dyn Fs,
    table: &TableFile,
    reads: FileReads,
) -> Result<Arc<dyn RandomAccessFile>> {
    let open = |path: &Path| reads.open(fs, path);
    let (path, meta) = (table.path(), &table.meta);
    let file = match open(&path) {
        Err(missing) if missing.is_missing_file() => {
            match open(&path.with_extension("ldb")) {
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
    use std::path::PathBuf;
    use whitewater_storage::ErrorKind;
    use whitewater_storage::fs::{FileLock, SequentialFile, WritableFile};

    /// Files that can only be opened for positioned reads, by path, with their lengths.
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
        let dir: Arc<Path> = Arc::from(Path::new("/db"));
        let table = TableFile::new(meta, 0, &dir, Arc::default());
        let file = open_file(files, &table, FileReads::default())?;
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
            let tables = TableCache::new(fs, max_open_files);
            let file = crate::read::testing::table_file(3, b"", b"");
            for _ in 0..2 {
                let e = tables.open(&file, &InternalComparator::default(), &OpenWith::default());
                assert!(e.unwrap_err().is_missing_file());
            }
            assert!(file.open.get().is_none());
            assert!(tables.remove(3).is_none());
        }
    }
}
