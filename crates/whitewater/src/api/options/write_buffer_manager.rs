//! The budget of memtables' memory.

use super::cache::Cache;
use crate::write_buffer_manager::Budget;
use std::sync::Arc;

/// A limit on the memory of all memtables together, of one or more databases:
/// every database opened with it, by
/// [`Options::set_write_buffer_manager`](crate::Options::set_write_buffer_manager),
/// counts. Clones share it.
///
/// What counts is the memory that memtables have taken (Bloom filters and room
/// that lies ready included; 4 KiB for a few small entries, and in steps of a
/// sixteenth of that, 256 KiB at most, for more), from their first entry
/// until they are freed: after the flush, and after the last iterator or
/// snapshot read that uses them. A memtable is flushed when those that still
/// get entries hold more than 7/8 of the limit, or when all hold the limit and
/// those half of it: of the database that holds most, and in it of the column
/// family with the oldest entries. RocksDB flushes in the database that writes
/// only; here one that is idle gives its memory back too.
///
/// Outside the limit: memory of freed memtables that the process keeps for later
/// ones. It is no more than the write buffers of the open databases may grow to, nor
/// than 256 MiB, and what nobody has taken for two or three seconds goes back to the
/// system. So does the one huge page that is ready for memtables or cached blocks.
///
/// ```
/// use whitewater::{DB, Options, WriteBufferManager};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let manager = WriteBufferManager::new_write_buffer_manager(64 << 20, false);
/// let mut opts = Options::default();
/// opts.create_if_missing(true);
/// opts.set_write_buffer_manager(&manager);
/// # let (path, other_path) = (dir.path().join("a"), dir.path().join("b"));
/// let db = DB::open(&opts, path)?;
/// let other = DB::open(&opts, other_path)?;
/// db.put("k", "v")?;
/// assert!(manager.get_usage() > 0);
/// drop((db, other));
/// assert_eq!(manager.get_usage(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct WriteBufferManager {
    pub(super) budget: Arc<Budget>,
}

impl WriteBufferManager {
    /// A limit of `buffer_size` bytes; 0 is no limit. With `allow_stall`,
    /// writers of all its databases wait while the limit is reached, until
    /// flushes have brought the memory below; a write with `no_slowdown` fails
    /// with `Incomplete` instead. A thread that holds an iterator holds the
    /// memtables it reads, and waits for itself if they alone reach the limit.
    /// The memory of a database that failed is held until it is closed.
    pub fn new_write_buffer_manager(buffer_size: usize, allow_stall: bool) -> Self {
        WriteBufferManager {
            budget: Budget::new(buffer_size, allow_stall, None),
        }
    }

    /// The same, and the memory is charged to `cache`, in steps of 256 KiB:
    /// the cache holds that much less of blocks.
    pub fn new_write_buffer_manager_with_cache(
        buffer_size: usize,
        allow_stall: bool,
        cache: Cache,
    ) -> Self {
        WriteBufferManager {
            budget: Budget::new(buffer_size, allow_stall, Some(cache.inner)),
        }
    }

    /// Bytes of all memtables.
    pub fn get_usage(&self) -> usize {
        self.budget.used()
    }

    /// Bytes of the memtables that still get entries. Not in the `rocksdb` crate.
    pub fn get_active_usage(&self) -> usize {
        self.budget.active()
    }

    /// Bytes that the cache is charged; 0 without one. Not in the `rocksdb` crate.
    pub fn get_cache_charge(&self) -> usize {
        self.budget.cache_charge().map_or(0, |(_, charged)| charged)
    }

    /// The limit in bytes; 0 is none.
    pub fn get_buffer_size(&self) -> usize {
        self.budget.limit()
    }

    /// Changes the limit; 0 is none. Takes effect at once.
    pub fn set_buffer_size(&self, new_size: usize) {
        self.budget.set_limit(new_size);
    }

    /// Whether there is a limit.
    pub fn enabled(&self) -> bool {
        self.budget.limit() > 0
    }

    /// Whether writers wait while the limit is reached. Takes effect at once.
    pub fn set_allow_stall(&self, allow_stall: bool) {
        self.budget.set_allow_stall(allow_stall);
    }
}
