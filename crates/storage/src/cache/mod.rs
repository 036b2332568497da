//! The block cache.
//!
//! Blocks are cached uncompressed. Their key is the file's id in the cache and the block's offset
//! in the file. A block in use stays alive when it is evicted, because the cache shares it with its
//! readers. The cache does not know what a block is; it counts bytes.
//!
//! A [`BlockCache`] is an array of shards (`shard`), each with a lock, its part of the capacity and
//! its own eviction; [`CacheOptions`] (`options`) says how many. A lookup hashes once and takes one
//! lock for reading. `spare` keeps the memory of evicted blocks for new ones; blocks that are found
//! elsewhere have memory of their own (`in_slab`).
//!
//! Memory that is used elsewhere can be charged to a cache ([`BlockCache::charge`]): the cache then
//! holds that many bytes less of blocks. Each shard has one entry for its part of the charge, which
//! is never evicted. (RocksDB has one entry for each 256 KiB. Changing the capacities instead would
//! make `quick_cache` remember fewer and fewer evicted keys, because it rounds the memory for them
//! down each time.)
//!
//! *Priorities.* Blocks of high priority have a pool, a part of each shard from which other blocks
//! cannot evict them. The pool is not a fixed division: other blocks may use what the pool does not
//! need, and blocks of high priority may exceed it under the same conditions as other blocks. Two
//! caches with a common budget would have to decide at each insertion whose oldest block is worth
//! less, and have no common order of blocks to decide it.
//!
//! *Blocks found elsewhere.* A table's readers find its cached data blocks in the table's own
//! directory, without a search here (`placed`). The memory of directories is charged, and is at
//! most a sixteenth of the capacity. A block that is cached while its table is written is found
//! here until it has a place there.
//!
//! *The strict limit.* By default a block in use may be evicted, and stays in memory uncounted.
//! With [`CacheOptions::strict_capacity_limit`] it is not evicted, and an insertion is refused if
//! blocks in use and charges leave no room.

pub(crate) mod in_slab;
mod options;
mod placed;
mod shard;
pub(crate) mod spare;
#[cfg(test)]
mod tests;

pub use options::{CacheOptions, MAX_SHARD_BITS};
#[cfg(test)]
pub(crate) use placed::PLACED_OVERHEAD;
pub(crate) use placed::Placed;

use crate::error::{Error, Result};
use crate::planted;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use placed::{Place, Unplaced};
use quick_cache::DefaultHashBuilder;
pub(crate) use shard::Hit;
use shard::{BlockKey, ENTRY_OVERHEAD, Entry, Evicted, Shard};
use spare::Store;
use std::collections::VecDeque;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use whitewater_concurrent::sync::rmw;
use whitewater_concurrent::{heap_trim, slab};

/// The block size that is assumed to size the hash tables of the cache, in bytes.
const TYPICAL_BLOCK: usize = 4096;

/// The least number of blocks of typical size per shard, if the number of shards is not given.
const MIN_BLOCKS_PER_SHARD: usize = 32;

/// The memory of evicted blocks that is kept besides the capacity: one byte for this many bytes of
/// capacity.
const SPARE_PART: usize = 64;

/// The memory of tables' directories: one byte for this many bytes of capacity at most.
const DIRECTORY_PART: usize = 16;

/// The priority of a block in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// The priority of most blocks.
    #[default]
    Low,
    /// High priority: the block uses the pool of [`CacheOptions::high_pri_pool_ratio`].
    High,
}

struct Shared {
    /// The shards; their number is a power of two.
    shards: Box<[RwLock<Shard>]>,
    hasher: DefaultHashBuilder,
    /// Written by: [`BlockCache::new_id`]. Read by: the same. Publishes
    /// nothing: the numbers only have to differ.
    next_id: AtomicU64,
    /// Locked while shards are changed one after the other, so that concurrent changes do not
    /// mix. Taken before the locks of shards.
    room: Mutex<Room>,
    /// Memory of evicted blocks.
    store: Store,
    /// The most bytes that the store may hold. Written by: threads that set the capacity. Read by:
    /// threads that cache a block. Publishes nothing (relaxed).
    spare: AtomicUsize,
    /// Files whose blocks were cached before the files were opened, and their ids, oldest first.
    expected: Mutex<VecDeque<(FileIdentity, u64)>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let shards = self.shards.iter_mut();
        let blocks: u64 = shards.map(|shard| shard.get_mut().usage()).sum();
        // They are freed right after this.
        heap_trim::freed(blocks as usize);
    }
}

/// Identifies a file: the session that wrote it, and its number.
pub type FileIdentity = (Box<str>, u64);

/// The most files that are remembered, because their blocks were cached before they were opened.
const MAX_EXPECTED: usize = 1024;

/// The options of a cache, and what is charged to it.
struct Room {
    /// The current options.
    options: CacheOptions,
    charged: u64,
    /// Bytes of tables' directories of their cached blocks.
    directories: u64,
}

impl Room {
    /// The most bytes of directories.
    fn most_directories(&self) -> u64 {
        (self.options.capacity / DIRECTORY_PART) as u64
    }

    /// Bytes that are not available for blocks. Directories that are more than they may be, because
    /// the capacity was larger when they were made, leave the blocks their room.
    fn taken(&self) -> u64 {
        self.charged + self.directories.min(self.most_directories())
    }
}

/// A cache of uncompressed blocks, shared by tables and databases. Clones are handles of the same
/// cache.
#[derive(Clone)]
pub struct BlockCache(Arc<Shared>);

impl BlockCache {
    /// A cache of `capacity` bytes, including an estimate of the bookkeeping. 0 caches nothing.
    pub fn new(capacity: usize) -> Self {
        BlockCache::with_options(CacheOptions::with_capacity(capacity))
    }

    /// A cache with these options, each clamped to its range.
    pub fn with_options(options: CacheOptions) -> Self {
        let options = options.clamped();
        let items = (options.capacity / (TYPICAL_BLOCK + ENTRY_OVERHEAD)).max(16);
        let count = shard_count(options.num_shard_bits, items);
        let shards = (0..count).map(|at| {
            let capacity = share(options.capacity as u64, count, at);
            RwLock::new(Shard::new(capacity, items.div_ceil(count), &options))
        });
        BlockCache(Arc::new(Shared {
            shards: shards.collect(),
            hasher: DefaultHashBuilder::default(),
            next_id: AtomicU64::new(1),
            room: Mutex::new(Room {
                options,
                charged: 0,
                directories: 0,
            }),
            store: Store::default(),
            spare: AtomicUsize::new(options.capacity / SPARE_PART),
            expected: Mutex::default(),
        }))
    }

    /// Whether both are handles of the same cache.
    pub fn is_same(&self, other: &BlockCache) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The current options.
    pub fn options(&self) -> CacheOptions {
        self.0.room.lock().options
    }

    /// An id that no other file of this cache has. It is part of the keys of the file's blocks.
    pub fn new_id(&self) -> u64 {
        planted!(CacheKeyCollision => return 1);
        self.0.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Remembers that the blocks of a file that is not open yet are cached under `id`. Keeps the
    /// last 1024 files.
    pub fn expect(&self, file: FileIdentity, id: u64) {
        let mut expected = self.0.expected.lock();
        if expected.len() == MAX_EXPECTED {
            expected.pop_front();
        }
        expected.push_back((file, id));
    }

    /// The id under which the blocks of a remembered file are cached. The file stays remembered, so
    /// that a second opener finds the same blocks.
    pub fn expected(&self, session: &[u8], number: u64) -> Option<u64> {
        let expected = self.0.expected.lock();
        let mut latest_first = expected.iter().rev();
        latest_first
            .find(|((s, n), _)| *n == number && s.as_bytes() == session)
            .map(|(_, id)| *id)
    }

    /// The block at `offset` of file `id`.
    #[inline]
    pub fn get(&self, id: u64, offset: u64) -> Option<Bytes> {
        self.look_up(id, offset).map(|hit| hit.bytes)
    }

    /// [`BlockCache::get`] for a reader that may let others find the block elsewhere.
    #[inline]
    pub(crate) fn look_up(&self, id: u64, offset: u64) -> Option<Hit> {
        let (key, shard) = self.find(id, offset);
        rmw::shared_lock();
        shard.read().look_up(&key)
    }

    /// [`BlockCache::get`], but the access does not count for eviction. For readers that will not
    /// read the block again.
    pub fn peek(&self, id: u64, offset: u64) -> Option<Bytes> {
        let (key, shard) = self.find(id, offset);
        rmw::shared_lock();
        shard.read().peek(&key)
    }

    /// Caches a block, and evicts others to make room. Returns the block to use, which is the
    /// cached one if another thread was faster. A block that does not fit into its shard is not
    /// kept.
    ///
    /// # Errors
    /// `Aborted`, with [`Error::is_memory_limit`], if the capacity is a strict limit
    /// and blocks in use and charges leave no room. Nothing is cached then.
    pub fn insert(&self, id: u64, offset: u64, block: Bytes, priority: Priority) -> Result<Bytes> {
        let len = block.len();
        let entry = Entry::Block {
            bytes: block,
            high: priority == Priority::High,
        };
        self.insert_entry(id, offset, entry, len)
    }

    /// The same as [`BlockCache::insert`], with low priority, for a block that readers may find
    /// without the cache while it is cached. It replaces one that they could not find.
    pub(crate) fn insert_placed(
        &self,
        id: u64,
        offset: u64,
        block: Arc<dyn Placed>,
    ) -> Result<Bytes> {
        let len = block.bytes().len();
        self.insert_entry(id, offset, Entry::Placed(Place::new(block)), len)
    }

    /// The same as [`BlockCache::insert`] with a copy of a data block of a table that is not open
    /// yet. Its first reader may let others find it without the cache.
    pub(crate) fn insert_unplaced(&self, id: u64, offset: u64, block: &[u8]) -> Result<Bytes> {
        match slab::copy(block) {
            Some(piece) => self.insert_placed(id, offset, Arc::new(Unplaced::new(piece))),
            None => self.insert(id, offset, spare::copy(block), Priority::Low),
        }
    }

    /// Inserts the entry of a block of `len` bytes.
    fn insert_entry(&self, id: u64, offset: u64, entry: Entry, len: usize) -> Result<Bytes> {
        let (key, shard) = self.find(id, offset);
        // Processed after the lock is released.
        let mut evicted = Evicted::default();
        let inserted = shard.write().insert(key, entry, &mut evicted);
        let evicted = evicted.into_iter().filter_map(Entry::into_block);
        self.0
            .store
            .recycle(evicted, len, self.0.spare.load(Ordering::Relaxed));
        inserted.ok_or_else(|| Error::memory_limit("Insert failed due to LRU cache being full."))
    }

    /// Removes a block from the cache. Readers that have it keep it.
    pub fn remove(&self, id: u64, offset: u64) -> Option<Bytes> {
        let (key, shard) = self.find(id, offset);
        shard.write().remove(&key)
    }

    #[inline]
    fn find(&self, file: u64, offset: u64) -> (BlockKey, &RwLock<Shard>) {
        let hash = self.0.hasher.hash_one((file, offset));
        // The middle bits, because hash tables use the lowest and the highest ones.
        let at = (hash >> 32) as usize & (self.0.shards.len() - 1);
        let key = BlockKey { file, offset, hash };
        (key, &self.0.shards[at])
    }

    /// Bytes of cached blocks, including an estimate of the bookkeeping, and bytes charged.
    pub fn usage(&self) -> usize {
        let shards = self.0.shards.iter();
        shards.map(|shard| shard.read().usage()).sum::<u64>() as usize
    }

    /// How many blocks are cached.
    pub fn len(&self) -> usize {
        self.0.shards.iter().map(|shard| shard.read().len()).sum()
    }

    /// Whether no block is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the memory of evicted blocks that is kept for new ones, which [`BlockCache::usage`]
    /// does not have: at most 1/64 of the capacity.
    pub fn spare_usage(&self) -> usize {
        self.0.store.bytes()
    }

    /// Bytes that eviction would not free: those charged, and those of blocks that are in use
    /// outside of the cache, including an estimate of the bookkeeping. Directories of tables are
    /// bookkeeping. Look-ups that hold a block right now may be missing, unless the limit is
    /// strict. Visits every block.
    pub fn pinned_usage(&self) -> usize {
        let room = self.0.room.lock();
        let shards = self.0.shards.iter();
        let pinned: u64 = shards.map(|shard| shard.read().pinned_usage()).sum();
        pinned.saturating_sub(room.taken() - room.charged) as usize
    }

    /// Bytes charged for memory that is used elsewhere.
    pub fn charged(&self) -> usize {
        self.0.room.lock().taken() as usize
    }

    /// Adds `more` bytes to the charge and subtracts `less`, and evicts blocks that no longer fit.
    /// Charges may exceed even a strict capacity. Then no block is kept, except for blocks in use
    /// of a strict cache.
    pub fn charge(&self, more: usize, less: usize) {
        let mut room = self.0.room.lock();
        room.charged = (room.charged + more as u64).saturating_sub(less as u64);
        self.spread(&room);
    }

    /// Charges the shards what is taken.
    fn spread(&self, room: &Room) {
        let taken = room.taken();
        self.each(|shard, at, of| shard.charge(share(taken, of, at)));
    }

    /// Charges `bytes` for a table's directory of its cached blocks, until the result is dropped.
    /// `None` if directories would take more than a sixteenth of the capacity, or if the limit is
    /// strict, because no block may be found in a directory then.
    pub(crate) fn reserve_directory(&self, bytes: usize) -> Option<DirectoryCharge> {
        let mut room = self.0.room.lock();
        let all = room.directories + bytes as u64;
        if room.options.strict_capacity_limit || all > room.most_directories() {
            return None;
        }
        room.directories = all;
        self.spread(&room);
        Some(DirectoryCharge {
            cache: self.clone(),
            bytes,
        })
    }

    /// Charges `bytes` until the result is dropped. `None` if the capacity is a strict limit and
    /// there is no room.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<Charge> {
        self.charge(bytes, 0);
        let charge = Charge {
            cache: self.clone(),
            bytes,
        };
        let is_over = || self.0.shards.iter().any(|shard| shard.read().is_over());
        if self.options().strict_capacity_limit && is_over() {
            None
        } else {
            Some(charge)
        }
    }

    /// Bytes the cache may hold.
    pub fn capacity(&self) -> usize {
        self.options().capacity
    }

    /// Changes the capacity, and evicts blocks that no longer fit.
    pub fn set_capacity(&self, capacity: usize) {
        let before = self.usage();
        let mut room = self.0.room.lock();
        room.options.capacity = capacity;
        self.0.spare.store(capacity / SPARE_PART, Ordering::Relaxed);
        self.each(|shard, at, of| shard.set_capacity(share(capacity as u64, of, at)));
        if room.directories > 0 {
            self.spread(&room);
        }
        drop(room);
        heap_trim::freed(before.saturating_sub(self.usage()));
    }

    /// Changes whether the capacity is a strict limit. Blocks in use count from then on if they
    /// are still in the cache. (Who uses a block since before others could find it elsewhere is not
    /// seen.)
    pub fn set_strict_capacity_limit(&self, strict: bool) {
        let mut room = self.0.room.lock();
        room.options.strict_capacity_limit = strict;
        self.each(|shard, _, _| shard.set_strict_capacity_limit(strict));
    }

    /// Calls `change` for every shard, with its number and the number of shards.
    fn each(&self, change: impl Fn(&mut Shard, usize, usize)) {
        let shards = &self.0.shards;
        for (at, shard) in shards.iter().enumerate() {
            change(&mut shard.write(), at, shards.len());
        }
    }
}

/// The number of shards of a cache of about `items` blocks.
fn shard_count(bits: i32, items: usize) -> usize {
    if let Ok(bits) = u32::try_from(bits) {
        return 1 << bits;
    }
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut count = (processors * 4).next_power_of_two();
    while count > 1 && items.div_ceil(count) < MIN_BLOCKS_PER_SHARD {
        count /= 2;
    }
    count
}

/// The part of `total` that belongs to shard `at`, of `shards` shards.
fn share(total: u64, shards: usize, at: usize) -> u64 {
    let shards = shards as u64;
    total / shards + u64::from((at as u64) < total % shards)
}

/// Bytes charged to a cache, until it is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    cache: BlockCache,
    bytes: usize,
}

impl Charge {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.cache.charge(0, self.bytes);
    }
}

/// Bytes charged to a cache for a directory, until it is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryCharge {
    cache: BlockCache,
    bytes: usize,
}

impl Drop for DirectoryCharge {
    fn drop(&mut self) {
        let mut room = self.cache.0.room.lock();
        room.directories -= self.bytes as u64;
        self.cache.spread(&room);
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("options", &self.options())
            .field("usage", &self.usage())
            .finish()
    }
}
