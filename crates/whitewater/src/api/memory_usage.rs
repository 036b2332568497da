//! How much memory databases and caches take.

use crate::api::{Cache, DB, DBCommon, DBInner, ThreadMode, TransactionDB};
use crate::db::Engine;
use crate::db::properties::memory::{Caches, KeptMemory, OwnMemory};
use whitewater_storage::Error;

/// What [`get_memory_usage_stats`] found. Bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUsageStats {
    /// All memtables, flushed ones that iterators hold on to included, and what prepared
    /// transactions have logged. A decision frees that.
    pub mem_table_total: u64,
    /// Memtables that are not flushed.
    pub mem_table_unflushed: u64,
    /// Open tables, what they have in block caches not included.
    pub mem_table_readers_total: u64,
    /// Block caches.
    pub cache_total: u64,
}

/// What [`MemoryUsageBuilder::build`] found. About, in bytes.
#[derive(Debug, Clone)]
pub struct MemoryUsage {
    stats: MemoryUsageStats,
    own: OwnMemory,
    caches: u64,
    kept: KeptMemory,
}

impl MemoryUsage {
    /// All memtables, flushed ones that iterators hold on to included, and what prepared
    /// transactions have logged. A decision frees that.
    pub fn approximate_mem_table_total(&self) -> u64 {
        self.stats.mem_table_total
    }

    /// Memtables that are not flushed.
    pub fn approximate_mem_table_unflushed(&self) -> u64 {
        self.stats.mem_table_unflushed
    }

    /// Open tables: indexes, filters and properties outside the block caches.
    pub fn approximate_mem_table_readers_total(&self) -> u64 {
        self.stats.mem_table_readers_total
    }

    /// The block caches that were added.
    pub fn approximate_cache_total(&self) -> u64 {
        self.stats.cache_total
    }

    /// Logs: what they keep until they are flushed
    /// ([`set_manual_wal_flush`](crate::Options::set_manual_wal_flush)), and pages of logs that are
    /// mapped, which the system counts as memory of the process and as its page cache. Not in the
    /// `rocksdb` crate.
    pub fn approximate_log_total(&self) -> u64 {
        self.own.logs
    }

    /// What is known of table files, in all versions that are in use. Not in the `rocksdb` crate.
    pub fn approximate_file_metadata_total(&self) -> u64 {
        self.own.file_metadata
    }

    /// Memory of freed memtables that the whole process keeps for new ones, for some seconds, and a
    /// huge page that is ready for memtables or cached blocks. Not in the `rocksdb` crate.
    pub fn approximate_kept_for_mem_tables(&self) -> u64 {
        self.kept.for_memtables
    }

    /// Memory of blocks that have left caches, which the whole process keeps for others. Not in the
    /// `rocksdb` crate.
    pub fn approximate_kept_for_cached_blocks(&self) -> u64 {
        self.kept.for_cached_blocks
    }

    /// All of it: memtables with room for further entries, what prepared transactions have logged,
    /// open tables, logs, what is known of files, the caches that were added, and memory kept for
    /// memtables and cached blocks. What a [`WriteBufferManager`](crate::WriteBufferManager)
    /// charges to a cache counts once. Not in the `rocksdb` crate.
    ///
    /// The rest of what the system says of a process is code, stacks of threads, buffers of
    /// flushes and compactions that are running, iterators, and what the allocator keeps.
    pub fn approximate_total(&self) -> u64 {
        self.own.total() + self.caches + self.kept.total()
    }
}

/// Adds up what databases and caches take.
///
/// ```
/// use whitewater::DB;
/// use whitewater::perf::MemoryUsageBuilder;
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path())?;
/// db.put(b"river", vec![0; 1 << 20])?;
/// let mut builder = MemoryUsageBuilder::new()?;
/// builder.add_db(&db);
/// assert!(builder.build()?.approximate_mem_table_unflushed() > 1 << 20);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MemoryUsageBuilder<'a> {
    engines: Vec<&'a Engine>,
    caches: Vec<&'a Cache>,
}

impl<'a> MemoryUsageBuilder<'a> {
    /// Nothing yet.
    ///
    /// # Errors
    /// None so far.
    pub fn new() -> Result<Self, Error> {
        Ok(MemoryUsageBuilder {
            engines: Vec::new(),
            caches: Vec::new(),
        })
    }

    /// Adds a database: all its column families, not their caches. One that was
    /// added before counts once.
    pub fn add_db<T: ThreadMode, D: DBInner>(&mut self, db: &'a DBCommon<T, D>) {
        self.add(db.engine());
    }

    /// Adds a database with transactions, as [`add_db`](Self::add_db).
    pub fn add_tx_db<T: ThreadMode>(&mut self, db: &'a TransactionDB<T>) {
        self.add(db.engine());
    }

    fn add(&mut self, engine: &'a Engine) {
        if !self.engines.iter().any(|e| std::ptr::eq(*e, engine)) {
            self.engines.push(engine);
        }
    }

    /// Adds a cache. One that was added before, or shares its blocks with one
    /// that was, counts once.
    pub fn add_cache(&mut self, cache: &'a Cache) {
        if !self.caches.iter().any(|c| c.shares_with(cache)) {
            self.caches.push(cache);
        }
    }

    /// What they take now.
    ///
    /// # Errors
    /// None so far.
    pub fn build(&self) -> Result<MemoryUsage, Error> {
        let mut stats = MemoryUsageStats::default();
        let (mut own, mut caches) = (OwnMemory::default(), Caches::default());
        for engine in &self.engines {
            own += engine.own_memory();
            engine.add_budget(&mut caches);
            let (total, unflushed, readers) = engine.memory_usage();
            stats.mem_table_total += total;
            stats.mem_table_unflushed += unflushed;
            stats.mem_table_readers_total += readers;
        }
        let usages = self.caches.iter().map(|c| c.get_usage() as u64);
        stats.cache_total = usages.sum();
        self.caches.iter().for_each(|c| caches.add(&c.inner));
        Ok(MemoryUsage {
            stats,
            own,
            caches: caches.memory(),
            kept: KeptMemory::now(),
        })
    }
}

/// What databases and caches take.
///
/// # Errors
/// As [`MemoryUsageBuilder::build`].
pub fn get_memory_usage_stats(
    dbs: Option<&[&DB]>,
    caches: Option<&[&Cache]>,
) -> Result<MemoryUsageStats, Error> {
    let mut builder = MemoryUsageBuilder::new()?;
    for db in dbs.unwrap_or_default() {
        builder.add_db(db);
    }
    for cache in caches.unwrap_or_default() {
        builder.add_cache(cache);
    }
    Ok(builder.build()?.stats)
}
