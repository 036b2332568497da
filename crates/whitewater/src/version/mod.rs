//! Which tables make up a column family, at one moment and over time.
//!
//! * [`Version`]: an immutable set of tables per level. Readers pin one.
//! * [`range`]: ranges of user keys, as covered by files and jobs.
//! * [`blobs`]: the blob files of a version; [`paths`]: the directories of files.
//! * [`builder`]: builds the next version from a version and edits.
//! * [`set`]: all column families' current versions and the manifest; `replay` reads the
//!   manifest back; [`tracked`]: the logs that it names.
//! * [`table_cache`]: open tables by file; [`new_tables`]: those that no version names yet;
//!   [`counted_file`]: table files whose reads are counted; [`charged_file`]: files whose reads are
//!   limited; [`row_cache`]: what tables hold of single keys.

pub(crate) mod blobs;
pub(crate) mod builder;
pub(crate) mod charged_file;
pub(crate) mod counted_file;
pub(crate) mod new_tables;
pub(crate) mod paths;
pub(crate) mod range;
mod replay;
pub(crate) mod row_cache;
pub(crate) mod set;
pub(crate) mod table_cache;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tracked;

use crate::version::table_cache::OpenWith;
use blobs::BlobFiles;
use range::KeyRange;
use std::cmp::Ordering::Greater;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Bound, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use whitewater_concurrent::system;
use whitewater_storage::filename;
use whitewater_storage::key::{self, MAX_SEQUENCE, UserComparator, ValueType};
use whitewater_storage::manifest::FileMetaData;

use crate::version::table_cache::OpenTable;

/// A table file that some version names. Shared by versions.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub meta: FileMetaData,
    /// The level on which a version first named the file since the database was opened.
    pub first_level: usize,
    /// The compaction that was picked and reads the file, identified by the number of its first
    /// input; 0 is none.
    /// Written by: picks and the end of compactions, under the database mutex. Read by: picks.
    /// Publishes nothing (relaxed).
    job: AtomicU64,
    /// The level that this compaction writes to. Written and read as `job`.
    job_output: AtomicUsize,
    /// The level that the file was put into last.
    /// Written by: threads that make a version. Read by: statistics. Publishes nothing (relaxed).
    level: AtomicUsize,
    /// Whether a caller has suggested to compact the file.
    /// Written by: `suggest_compact_range`, under the database mutex. Read by: picks, under it.
    /// Publishes nothing (relaxed).
    suggested: AtomicBool,
    /// An estimate of the reads that looked into the file in vain.
    /// Written by: sampled reads. Read by: these and picks. Publishes nothing (relaxed).
    wasted_reads: AtomicU64,
    /// The open table, if tables are kept open without limit.
    pub open: OnceLock<Arc<OpenTable>>,
    /// Whether the file is known to have no range tombstones. At first what `meta` says.
    /// Written by: threads that open the file. Read by: iterators, which then need not open the
    /// file for its tombstones. Publishes nothing (relaxed).
    has_no_tombstones: AtomicBool,
    /// Keeps the file from being deleted.
    hold: FileHold,
}

/// Table and blob files that no version names any longer.
#[derive(Default)]
pub(crate) struct ObsoleteFiles {
    state: system::Mutex<ObsoleteState>,
    /// Whether something was added and has not been taken yet.
    /// Written by: threads that drop the last hold of a file, and threads that take what was added,
    /// both under the lock. Read by: threads that might take it (relaxed; what one misses is taken
    /// later). Publishes nothing.
    came: AtomicBool,
    /// Whether files were added since [`ObsoleteFiles::heed_files`] was called last, or files were
    /// taken.
    /// Written by: threads that drop the last hold of a file, or take files, both under the lock,
    /// and threads that heed it. Read by: the latter (relaxed; what one misses is seen later).
    /// Publishes nothing.
    files_came: AtomicBool,
    /// Called when something was added and nothing was there.
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for ObsoleteFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ObsoleteFiles");
        debug
            .field("came", &self.have_come())
            .finish_non_exhaustive()
    }
}

/// A table or blob file that no version names any longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObsoleteFile {
    pub number: u64,
    /// The directory of the file.
    pub dir: Arc<Path>,
}

impl ObsoleteFile {
    /// The path of the file, if it is a table.
    pub fn table_path(&self) -> PathBuf {
        filename::table(&self.dir, self.number)
    }

    /// The path of the file, if it is a blob file.
    pub fn blob_path(&self) -> PathBuf {
        filename::blob(&self.dir, self.number)
    }
}

#[derive(Debug, Default)]
struct ObsoleteState {
    /// The number of holds per file number. A missing entry means no holds.
    holds: HashMap<u64, usize>,
    /// Tables without holds.
    tables_to_delete: Vec<ObsoleteFile>,
    /// Blob files without holds.
    blobs: Vec<ObsoleteFile>,
    /// Open tables without readers.
    tables: Vec<Arc<OpenTable>>,
}

impl ObsoleteFiles {
    /// Takes the open tables collected so far. Their files may not be among the tables to delete
    /// yet.
    pub fn take_open(&self) -> Vec<Arc<OpenTable>> {
        let mut state = self.state.lock();
        self.came.store(false, Ordering::Relaxed);
        std::mem::take(&mut state.tables)
    }
    /// Adds an open table of a file that is deleted.
    pub fn add_open(&self, table: Arc<OpenTable>) {
        let mut state = self.state.lock();
        state.tables.push(table);
        self.came.store(true, Ordering::Relaxed);
    }
    /// Whether anything was added since the last [`ObsoleteFiles::take_open`].
    pub fn have_come(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
    /// Whether files were added since this was last called. Cheap if there were none.
    pub fn heed_files(&self) -> bool {
        self.files_came.load(Ordering::Relaxed) && self.files_came.swap(false, Ordering::Relaxed)
    }
    /// Sets what is called when the first file since the last [`ObsoleteFiles::take_open`] has
    /// lost its last hold. Any thread may call it, with any locks, so it must do little. Only the
    /// first call of this has an effect.
    pub fn on_release(&self, waker: impl Fn() + Send + Sync + 'static) {
        let _ = self.waker.set(Box::new(waker));
    }
    /// Takes the tables collected so far.
    pub fn take(&self) -> Vec<ObsoleteFile> {
        let mut state = self.state.lock();
        self.files_came.store(false, Ordering::Relaxed);
        std::mem::take(&mut state.tables_to_delete)
    }
    /// Takes the blob files collected so far.
    pub fn take_blobs(&self) -> Vec<ObsoleteFile> {
        std::mem::take(&mut self.state.lock().blobs)
    }
    /// Puts back the tables whose files could not be deleted yet.
    pub fn put_back(&self, files: impl IntoIterator<Item = ObsoleteFile>) {
        self.state.lock().tables_to_delete.extend(files);
    }
    /// Puts back the blob files that could not be deleted yet.
    pub fn put_back_blobs(&self, files: impl IntoIterator<Item = ObsoleteFile>) {
        self.state.lock().blobs.extend(files);
    }
    /// Keeps the table `number` in `dir` from being deleted until the hold is dropped.
    fn hold(self: &Arc<Self>, number: u64, dir: &Arc<Path>) -> FileHold {
        self.hold_as(Kind::Table, number, dir)
    }
    /// Keeps the blob file `number` in `dir` from being deleted until the hold is dropped.
    fn hold_blob(self: &Arc<Self>, number: u64, dir: &Arc<Path>) -> FileHold {
        self.hold_as(Kind::Blob, number, dir)
    }
    fn hold_as(self: &Arc<Self>, kind: Kind, number: u64, dir: &Arc<Path>) -> FileHold {
        *self.state.lock().holds.entry(number).or_insert(0) += 1;
        FileHold {
            kind,
            number,
            dir: dir.clone(),
            obsolete: self.clone(),
        }
    }
}

/// The kind of a file. Tables and blob files share one sequence of numbers, so a number
/// identifies a file, but does not tell its kind.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Table,
    Blob,
}

/// A reason not to delete a file. Holds are counted by number, not by object: a file may pass
/// from one [`TableFile`] to another, and a failed manifest write may have to keep files that
/// no version names. When the last hold is dropped, the number is added to the deletion queue.
/// When the database is closed, all versions are dropped, but the queue is no longer read.
#[derive(Debug)]
struct FileHold {
    kind: Kind,
    number: u64,
    dir: Arc<Path>,
    obsolete: Arc<ObsoleteFiles>,
}

impl Drop for FileHold {
    fn drop(&mut self) {
        let obsolete = &self.obsolete;
        let mut state = obsolete.state.lock();
        let Some(count) = state.holds.get_mut(&self.number) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }
        state.holds.remove(&self.number);
        let file = ObsoleteFile {
            number: self.number,
            dir: self.dir.clone(),
        };
        match self.kind {
            Kind::Table => state.tables_to_delete.push(file),
            Kind::Blob => state.blobs.push(file),
        }
        obsolete.files_came.store(true, Ordering::Relaxed);
        let first = !obsolete.came.swap(true, Ordering::Relaxed);
        drop(state);
        if first && let Some(waker) = obsolete.waker.get() {
            waker();
        }
    }
}

/// A thread that drops a version may be in a hurry, so an open table is left to the threads
/// that delete files.
impl Drop for TableFile {
    fn drop(&mut self) {
        // A secondary instance may have passed the table on.
        if let Some(open) = self.open.take()
            && Arc::strong_count(&open) == 1
        {
            self.hold.obsolete.state.lock().tables.push(open);
        }
    }
}

impl TableFile {
    /// A file in `dir` that versions are about to name on `level`.
    pub fn new(
        meta: FileMetaData,
        level: usize,
        dir: &Arc<Path>,
        obsolete: Arc<ObsoleteFiles>,
    ) -> Arc<Self> {
        let hold = obsolete.hold(meta.number, dir);
        Arc::new(TableFile {
            has_no_tombstones: AtomicBool::new(meta.has_no_range_tombstones),
            meta,
            first_level: level,
            job: AtomicU64::new(0),
            job_output: AtomicUsize::new(0),
            level: AtomicUsize::new(0),
            suggested: AtomicBool::new(false),
            wasted_reads: AtomicU64::new(0),
            open: OnceLock::new(),
            hold,
        })
    }
    /// The directory of the file.
    pub fn dir(&self) -> &Path {
        &self.hold.dir
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        filename::table(&self.hold.dir, self.meta.number)
    }

    /// The level that the file was put into last.
    pub fn level(&self) -> usize {
        self.level.load(Ordering::Relaxed)
    }
    /// Records that the file was put into `level`.
    pub fn set_level(&self, level: usize) {
        self.level.store(level, Ordering::Relaxed);
    }
    /// Whether the file is known to have no range tombstones.
    #[inline]
    pub fn is_free_of_tombstones(&self) -> bool {
        self.has_no_tombstones.load(Ordering::Relaxed)
    }
    /// Records that the file was opened and has no range tombstones.
    pub fn note_no_tombstones(&self) {
        // Most callers find this already recorded. They do not write, and so do not disturb the
        // threads that read this memory.
        if !self.is_free_of_tombstones() {
            self.has_no_tombstones.store(true, Ordering::Relaxed);
        }
    }
    /// Keeps the table open that was opened before a version named the file.
    pub fn set_open(&self, open: Arc<OpenTable>) {
        if open.tombstones.is_none() {
            self.note_no_tombstones();
        }
        self.open.get_or_init(|| open);
    }
    /// Whether the file was made with a request for compaction, or one was suggested since.
    pub fn asks_for_compaction(&self) -> bool {
        self.meta.need_compaction || self.suggested.load(Ordering::Relaxed)
    }

    /// Suggests to compact the file.
    pub fn suggest_compaction(&self) {
        self.suggested.store(true, Ordering::Relaxed);
    }

    /// Counts reads that looked into the file in vain.
    pub fn note_wasted_reads(&self, reads: u64) {
        self.wasted_reads.fetch_add(reads, Ordering::Relaxed);
    }

    /// An estimate of the reads that looked into the file in vain.
    pub fn wasted_reads(&self) -> u64 {
        self.wasted_reads.load(Ordering::Relaxed)
    }

    /// Whether a compaction that has been picked reads the file.
    pub fn being_compacted(&self) -> bool {
        self.job.load(Ordering::Relaxed) != 0
    }
    /// The compaction that reads the file, and the level it writes to.
    pub fn job(&self) -> Option<(u64, usize)> {
        let job = self.job.load(Ordering::Relaxed);
        (job != 0).then(|| (job, self.job_output.load(Ordering::Relaxed)))
    }
    /// Marks the file as read by a compaction, or by none.
    pub fn set_job(&self, job: Option<(u64, usize)>) {
        let (job, output) = job.map_or((0, 0), |(job, output)| (job.max(1), output));
        self.job_output.store(output, Ordering::Relaxed);
        self.job.store(job, Ordering::Relaxed);
    }
    /// The size of the file, to which deletions add about the size of what they delete elsewhere.
    /// The number of deletions is only known of open tables. RocksDB's rule.
    pub fn compensated_size(&self) -> u64 {
        /// The weight of a deleted entry, relative to its size.
        const WEIGHT: u64 = 2;
        let size = (self.meta.size).saturating_add(self.meta.compensated_range_deletion_size);
        let Some(open) = self.open.get() else {
            return size;
        };
        let p = open.table.properties();
        let more = p
            .num_deletions
            .saturating_mul(2)
            .saturating_sub(p.num_entries);
        let value = p.raw_value_size / p.num_entries.saturating_sub(p.num_deletions).max(1);
        size.saturating_add(more.saturating_mul(value).saturating_mul(WEIGHT))
    }
    /// The user keys the file may hold or delete.
    pub fn range(&self) -> KeyRange<'_> {
        range_of(&self.meta.smallest, &self.meta.largest)
    }
}

/// The user keys of a file with these smallest and largest internal keys.
pub(crate) fn range_of<'a>(smallest: &'a [u8], largest: &'a [u8]) -> KeyRange<'a> {
    KeyRange {
        start: Some(key::user_key(smallest)),
        end: end_bound(largest),
    }
}

/// The user key at which a file with this largest internal key ends. The exclusive end of a
/// range tombstone is not in the file.
fn end_bound(largest: &[u8]) -> Bound<&[u8]> {
    const SENTINEL: u64 = key::pack_tag(MAX_SEQUENCE, ValueType::RangeDeletion as u8);
    let user_key = key::user_key(largest);
    match key::tag(largest) {
        SENTINEL => Bound::Excluded(user_key),
        _ => Bound::Included(user_key),
    }
}

/// The tables of one column family at one moment.
///
/// Level 0 is ordered newest first. Deeper levels are ordered by smallest key, and their files
/// do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Version {
    pub levels: Vec<Vec<Arc<TableFile>>>,
    /// The blob files with the values that tables refer to.
    pub blobs: BlobFiles,
    /// What it takes to open tables of this column family.
    pub open_with: OpenWith,
    /// RocksDB's `full_history_ts_low`: versions of keys with older timestamps may have been
    /// collapsed. Empty if none were.
    pub history_low: Vec<u8>,
    /// The number of files at the start of each level that are known to have no range tombstones.
    /// Written by: iterators, as more files are opened. Read by: iterators; one that reads too
    /// small a number has more to look at (relaxed). Publishes nothing.
    tombstone_free: OnceLock<Box<[AtomicUsize]>>,
    /// The size of each level. Bytes.
    bytes: Vec<u64>,
}

impl Version {
    /// A version with these levels, which must be in order, and without blob files.
    pub fn new(levels: Vec<Vec<Arc<TableFile>>>, open_with: OpenWith) -> Self {
        let size = |files: &Vec<Arc<TableFile>>| total_bytes(files);
        Version {
            bytes: levels.iter().map(size).collect(),
            levels,
            blobs: BlobFiles::default(),
            open_with,
            history_low: Vec::new(),
            tombstone_free: OnceLock::new(),
        }
    }
    /// The same tables with these blob files.
    #[must_use]
    pub fn with_blobs(mut self, blobs: BlobFiles) -> Self {
        self.blobs = blobs;
        self
    }
    /// An empty version with `num_levels` levels.
    pub fn empty(num_levels: usize, open_with: OpenWith) -> Self {
        Version::new(vec![Vec::new(); num_levels], open_with)
    }
    /// Whether no file of `level` has range tombstones, as far as is known without opening a file.
    pub fn is_free_of_tombstones(&self, level: usize) -> bool {
        let Some(files) = self.levels.get(level) else {
            return true;
        };
        let all = self
            .tombstone_free
            .get_or_init(|| self.levels.iter().map(|_| AtomicUsize::new(0)).collect());
        let Some(known) = all.get(level) else {
            return false;
        };
        let from = known.load(Ordering::Relaxed);
        let rest = files.get(from..).unwrap_or_default();
        let more = rest.iter().take_while(|f| f.is_free_of_tombstones());
        let now = from + more.count();
        if now > from {
            known.store(now, Ordering::Relaxed);
        }
        now == files.len()
    }
    /// The size of all files of `level`. Bytes.
    pub fn level_bytes(&self, level: usize) -> u64 {
        self.bytes[level]
    }
    /// The number of files in `level`.
    pub fn num_files(&self, level: usize) -> usize {
        self.levels[level].len()
    }
    /// The deepest level with files; 0 when there are none.
    pub fn last_level(&self) -> usize {
        self.last_of(self.levels.len())
    }
    /// The deepest level with files among the first `count` levels; 0 when there are none.
    pub fn last_of(&self, count: usize) -> usize {
        let levels = &self.levels[..count.min(self.levels.len())];
        let last = levels.iter().rposition(|files| !files.is_empty());
        last.unwrap_or(0)
    }
    /// The positions in `level` (not 0) of the files that overlap `range`.
    pub fn overlapping_span(
        &self,
        level: usize,
        comparator: &UserComparator,
        range: KeyRange<'_>,
    ) -> Range<usize> {
        let files = &self.levels[level];
        let first = match range.start {
            Some(start) => files.partition_point(|f| f.range().ends_before(comparator, start)),
            None => 0,
        };
        let rest = &files[first..];
        let count = rest.partition_point(|f| f.range().starts_within(comparator, range.end));
        first..first + count
    }
    /// The files of `level` that overlap `range`, in the level's order.
    pub fn overlapping(
        &self,
        level: usize,
        comparator: &UserComparator,
        range: KeyRange<'_>,
    ) -> Vec<Arc<TableFile>> {
        if level > 0 {
            return self.levels[level][self.overlapping_span(level, comparator, range)].to_vec();
        }
        let overlaps = |f: &&Arc<TableFile>| f.range().overlaps(comparator, &range);
        self.levels[0].iter().filter(overlaps).cloned().collect()
    }
    /// The size of the files of `level` (not 0) that overlap `range`. Bytes.
    pub fn overlapping_bytes(
        &self,
        level: usize,
        comparator: &UserComparator,
        range: KeyRange<'_>,
    ) -> u64 {
        total_bytes(&self.levels[level][self.overlapping_span(level, comparator, range)])
    }
    /// Whether a file of `level` (not 0) has `user_key` in its range.
    pub fn may_hold(&self, level: usize, comparator: &UserComparator, user_key: &[u8]) -> bool {
        let files = &self.levels[level];
        let i = files.partition_point(|f| f.range().ends_before(comparator, user_key));
        files.get(i).is_some_and(|f| {
            let start = key::user_key(&f.meta.smallest);
            comparator.compare_keys(start, user_key) != Greater
        })
    }
}

/// The size of all `files`. Bytes.
pub(crate) fn total_bytes(files: &[Arc<TableFile>]) -> u64 {
    files.iter().map(|f| f.meta.size).sum()
}

/// The smallest range that holds all `files`; `None` for no files.
pub(crate) fn hull<'a>(
    comparator: &UserComparator,
    files: impl IntoIterator<Item = &'a Arc<TableFile>>,
) -> Option<KeyRange<'a>> {
    let ranges = files.into_iter().map(|f| f.range());
    ranges.reduce(|a, b| a.hull(comparator, &b))
}

/// Orders level-0 files newest first by sequence numbers, for files written before epoch
/// numbers existed.
fn newest_first_by_seqno(a: &FileMetaData, b: &FileMetaData) -> std::cmp::Ordering {
    b.largest_seqno
        .cmp(&a.largest_seqno)
        .then_with(|| b.smallest_seqno.cmp(&a.smallest_seqno))
        .then_with(|| b.number.cmp(&a.number))
}

/// Orders level-0 files newest first.
fn newest_first(a: &FileMetaData, b: &FileMetaData) -> std::cmp::Ordering {
    b.epoch_number
        .cmp(&a.epoch_number)
        .then_with(|| newest_first_by_seqno(a, b))
}

#[cfg(test)]
mod tests {
    use super::testing::{parse_version, range_of};
    use super::*;

    fn numbers(files: &[Arc<TableFile>]) -> Vec<u64> {
        files.iter().map(|f| f.meta.number).collect()
    }

    #[test]
    fn overlaps_respect_exclusive_ends() {
        // `)` ends a file at the end of a range tombstone.
        let v = parse_version("L0: 9:c-k 8:a-b\nL1: 1:a-c) 2:c-e 3:g-i 4:k-k 5:m-p)");
        let c = UserComparator::Bytewise;
        for (level, range, expected) in [
            (1, "a-b", vec![1]),
            (1, "c-c", vec![2]),
            (1, "b-c)", vec![1]),
            (1, "b-c", vec![1, 2]),
            (1, "e-g", vec![2, 3]),
            (1, "f-f", vec![]),
            (1, "j-l", vec![4]),
            (1, "p-z", vec![]),
            (1, "o-z", vec![5]),
            (0, "b-b", vec![8]),
            (0, "b-c", vec![9, 8]),
            (0, "b-c)", vec![8]),
            (0, "l-z", vec![]),
        ] {
            let found = v.overlapping(level, &c, range_of(range).borrow());
            assert_eq!(numbers(&found), expected, "level {level}, {range}");
        }
        let open = KeyRange {
            start: None,
            end: Bound::Unbounded,
        };
        assert_eq!(numbers(&v.overlapping(1, &c, open)), [1, 2, 3, 4, 5]);
        assert_eq!(v.overlapping_bytes(1, &c, range_of("e-g").borrow()), 20);
        assert_eq!(v.level_bytes(1), 50);
        assert!(v.may_hold(1, &c, b"d") && v.may_hold(1, &c, b"k"));
        assert!(!v.may_hold(1, &c, b"p") && !v.may_hold(1, &c, b"f"));
    }

    #[test]
    fn a_file_is_obsolete_when_the_last_hold_goes() {
        let obsolete = Arc::new(ObsoleteFiles::default());
        let meta = |number| FileMetaData {
            number,
            ..FileMetaData::default()
        };
        let dir: Arc<Path> = Arc::from(Path::new("/db"));
        let gone = |number| ObsoleteFile {
            number,
            dir: dir.clone(),
        };
        let a = TableFile::new(meta(7), 0, &dir, obsolete.clone());
        let moved = TableFile::new(meta(7), 0, &dir, obsolete.clone());
        let b = TableFile::new(meta(8), 0, &dir, obsolete.clone());
        drop(a);
        assert!(obsolete.take().is_empty());
        drop(b);
        assert_eq!(obsolete.take(), [gone(8)]);
        drop(moved);
        assert_eq!(obsolete.take(), [gone(7)]);
        obsolete.put_back([gone(7)]);
        assert_eq!(obsolete.take(), [gone(7)]);
    }
}
