//! Column families of an open database, and the super versions that readers pin.

use crate::empty_ranges::EmptyRanges;
use crate::memtable::Memtable;
use crate::options::CfOptions;
use crate::snapshots::ReadPoint;
use crate::stats::SampledLatencies;
use crate::version::Version;
use crate::version::paths::DataPaths;
use crate::version::table_cache::TableCache;
use arc_swap::{ArcSwap, ArcSwapOption};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater_concurrent::object_pool::ObjectPool;
use whitewater_concurrent::undecided::{NumberRange, UndecidedRanges};
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::InternalComparator;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// Everything that a reader of one column family needs, immutable: the active memtable, older
/// ones that are not flushed yet, and the tables.
///
/// Invariant V1: a super version holds every entry of its column family up to the visible
/// sequence number at the moment it was installed, and gets every later one until the next is
/// installed. A reader therefore pins the super version first and loads the visible number
/// afterwards; where writes may be undecided, there is more to it (`db::views`).
pub(crate) struct SuperVersion {
    pub mem: Arc<Memtable>,
    /// Memtables that are not flushed yet, newest first.
    pub imm: Vec<Arc<Memtable>>,
    pub version: Arc<Version>,
    /// Opens the tables of `version`.
    pub tables: Arc<TableCache>,
    /// The options at the time of installation.
    pub options: Arc<CfOptions>,
    /// What iterators of the database know to be empty.
    pub empty_ranges: Arc<EmptyRanges>,
    /// How long calls of the database take.
    pub latencies: Arc<SampledLatencies>,
    pub number: u64,
    /// What iterators over this super version have left for the next ones. It pins the super
    /// version: so the pool is closed when another one takes its place, or the column family goes.
    pub idle: ObjectPool<IteratorBase>,
}

impl SuperVersion {
    /// All memtables, newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.mem).chain(&self.imm)
    }

    /// Whether there is nothing but the active memtable.
    pub fn is_only_memtable(&self) -> bool {
        self.imm.is_empty() && self.version.levels.iter().all(Vec::is_empty)
    }
}

/// What an iterator begins with, and leaves to the next one.
pub(crate) struct IteratorBase {
    /// All of the sources as one, and buffers, as an earlier iterator has left them. `None` while
    /// an iterator uses them. The source has let go of what it has read.
    pub idle: Option<(BoxedIterator, IterBuffers)>,
    /// Declared after the source, which reads from it.
    pub view: Arc<SuperVersion>,
}

impl IteratorBase {
    /// The base of an iterator that makes its own cursors.
    pub fn new(view: Arc<SuperVersion>) -> Box<Self> {
        Box::new(IteratorBase { idle: None, view })
    }
}

/// The memory in which an iterator puts keys and values together.
#[derive(Default)]
pub(crate) struct IterBuffers {
    pub key: Vec<u8>,
    pub target: Vec<u8>,
    pub value: Vec<u8>,
    /// The ends of what it has walked over.
    pub first: Vec<u8>,
    pub last: Vec<u8>,
}

/// What readers of all column families of a database share.
pub(crate) struct SharedByReaders {
    pub tables: Arc<TableCache>,
    pub empty_ranges: Arc<EmptyRanges>,
    pub latencies: Arc<SampledLatencies>,
}

/// A column family while the database is open. Handles keep it alive after it was dropped;
/// writes to it then fail, and reads go on.
pub(crate) struct ColumnFamilyData {
    pub id: u32,
    pub name: String,
    pub comparator: InternalComparator,
    /// Where its files are.
    pub paths: DataPaths,
    super_version: ArcSwap<SuperVersion>,
    shared: SharedByReaders,
    /// Whether the column family was dropped.
    /// Written by: drop, under the database mutex. Read by: writers and jobs (relaxed; the memtable
    /// map decides). Publishes nothing.
    dropped: AtomicBool,
    /// What was rolled back since the column family was dropped: nothing could restore the values
    /// from before, so readers go on to pass over these numbers.
    /// Written by: rollbacks, before the numbers leave those that are undecided. Read by: readers
    /// that have taken their point, and so miss none that was decided by then.
    rolled_back: ArcSwapOption<UndecidedRanges>,
    /// The number of calls of `publish`, for statistics.
    publications: AtomicU64,
}

impl fmt::Debug for ColumnFamilyData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnFamily")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish()
    }
}

impl ColumnFamilyData {
    /// A column family with these options, memtable and tables.
    pub fn new(
        id: u32,
        name: String,
        options: Arc<CfOptions>,
        mem: Arc<Memtable>,
        version: Arc<Version>,
        shared: SharedByReaders,
    ) -> Arc<Self> {
        let comparator = InternalComparator::new(options.comparator.clone());
        let paths = version.open_with.paths.clone();
        let first = SuperVersion {
            mem,
            imm: Vec::new(),
            version,
            tables: shared.tables.clone(),
            options,
            empty_ranges: shared.empty_ranges.clone(),
            latencies: shared.latencies.clone(),
            number: 1,
            idle: ObjectPool::default(),
        };
        Arc::new(ColumnFamilyData {
            id,
            name,
            comparator,
            paths,
            super_version: ArcSwap::from_pointee(first),
            shared,
            dropped: AtomicBool::new(false),
            rolled_back: ArcSwapOption::empty(),
            publications: AtomicU64::new(1),
        })
    }

    /// The current super version, pinned while the guard lives. This is cheaper than an `Arc`.
    pub fn pin(&self) -> arc_swap::Guard<Arc<SuperVersion>> {
        self.super_version.load()
    }

    /// The current super version, for keeping.
    pub fn pin_owned(&self) -> Arc<SuperVersion> {
        self.super_version.load_full()
    }

    /// The current options. They are immutable; a change installs new ones.
    pub fn options(&self) -> Arc<CfOptions> {
        self.pin().options.clone()
    }

    /// Installs a new super version. Called under the database mutex.
    pub fn publish(
        &self,
        mem: &Arc<Memtable>,
        imm_oldest_first: &[Arc<Memtable>],
        version: &Arc<Version>,
        options: &Arc<CfOptions>,
    ) {
        let number = self.publications.fetch_add(1, Ordering::Relaxed) + 1;
        let mut imm: Vec<_> = imm_oldest_first.iter().rev().cloned().collect();
        planted!(MemtablesOldestFirst => imm.reverse());
        let before = self.super_version.swap(Arc::new(SuperVersion {
            mem: mem.clone(),
            imm,
            version: version.clone(),
            tables: self.shared.tables.clone(),
            options: options.clone(),
            empty_ranges: self.shared.empty_ranges.clone(),
            latencies: self.shared.latencies.clone(),
            number,
            idle: ObjectPool::default(),
        }));
        before.idle.close();
    }

    /// Whether the column family was dropped.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Marks the column family as dropped.
    pub fn set_dropped(&self) {
        self.dropped.store(true, Ordering::Relaxed);
    }

    /// Keeps `ranges` from readers for good. The column family was dropped, and the ranges are
    /// still undecided.
    pub fn keep_hidden(&self, ranges: &[NumberRange]) {
        let new = UndecidedRanges::new(ranges);
        self.rolled_back.rcu(|before| {
            let all = before.iter().chain(&new).map(|ranges| &**ranges);
            UndecidedRanges::union(all)
        });
    }

    /// Makes `point`, which was taken before, pass over what is [kept](Self::keep_hidden) from
    /// readers.
    #[inline]
    pub fn pass_over_hidden(&self, point: &mut ReadPoint) {
        if self.is_dropped()
            && let Some(hidden) = &*self.rolled_back.load()
        {
            let all = point
                .undecided
                .iter()
                .chain([hidden])
                .map(|ranges| &**ranges);
            point.undecided = UndecidedRanges::union(all);
        }
    }
}

impl Drop for ColumnFamilyData {
    fn drop(&mut self) {
        self.pin().idle.close();
    }
}

/// The error for a call without a timestamp on a column family whose keys have timestamps.
pub(crate) fn no_timestamp(family: &str) -> Error {
    Error::invalid(format_args!(
        "cannot call this method on column family {family} that enables timestamp"
    ))
}

/// Checks the size `given` of a timestamp, for a column family whose keys have timestamps of
/// `size` bytes.
///
/// # Errors
/// `InvalidArgument`, in RocksDB's words, if the keys have no timestamps or timestamps of
/// another size.
pub(crate) fn check_timestamp(family: &str, size: usize, given: usize) -> Result<()> {
    if size == 0 {
        return Err(Error::invalid(format_args!(
            "cannot call this method on column family {family} that does not enable timestamp"
        )));
    }
    if given != size {
        return Err(Error::invalid(format_args!(
            "Timestamp sizes mismatch: expect {size}, {given} given"
        )));
    }
    Ok(())
}
