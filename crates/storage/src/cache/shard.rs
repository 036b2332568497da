//! One shard of a block cache: what it holds, and what may be evicted of it.
//!
//! The order of eviction is `quick_cache`'s; this file adds which entries it has
//! to pass over. Three kinds of them: charges; of a strict cache the blocks that
//! somebody uses; and blocks of high priority, as long as all of those in the
//! shard fit into its pool. Blocks of high priority beyond the pool are evicted
//! as others are.
//!
//! Invariants:
//! * C1: after each call the entries weigh no more than the capacity, except for
//!   charges, and blocks of a strict cache that are in use.
//! * C2: a strict cache takes no block that leaves it above its capacity, and
//!   evicts none that is in use: the blocks in use that it was given never
//!   outgrow the room that charges have left them, unless the charges grew or the
//!   capacity shrank afterwards.

use super::options::CacheOptions;
use super::spare::class;
use bytes::Bytes;
use quick_cache::unsync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater_concurrent::prefetch;

/// Bytes an entry is charged besides its block. A slot of the table has 80, and
/// there are twice as many or three times: half as many as there are blocks remember
/// what was evicted, and the table grows by doubling. The index to it has 15 for
/// each block, and what shares the block among its readers 32. The allocator has 8
/// for each piece.
pub(super) const ENTRY_OVERHEAD: usize = 240;

/// Where a block stands, and the hash of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockKey {
    pub file: u64,
    pub offset: u64,
    pub hash: u64,
}

impl PartialEq for BlockKey {
    fn eq(&self, other: &Self) -> bool {
        self.file == other.file && self.offset == other.offset
    }
}

impl Eq for BlockKey {}

impl Hash for BlockKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The key of a shard's charge. No file has number 0.
const CHARGE: BlockKey = BlockKey {
    file: 0,
    offset: 0,
    hash: 0,
};

/// Takes the hash that keys bring along.
#[derive(Default, Clone)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        // Keys write a number; whatever else is folded in.
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl BuildHasher for Hashed {
    type Hasher = Hashed;
    fn build_hasher(&self) -> Hashed {
        Hashed::default()
    }
}

/// What a shard holds.
pub(super) enum Entry {
    Block {
        bytes: Bytes,
        high: bool,
    },
    /// So many bytes less for blocks.
    Charge(u64),
}

impl Entry {
    fn weight(&self) -> u64 {
        match self {
            Entry::Block { bytes, .. } => weight(bytes),
            Entry::Charge(bytes) => *bytes,
        }
    }

    /// The block, if it is one.
    pub(super) fn into_block(self) -> Option<Bytes> {
        match self {
            Entry::Block { bytes, .. } => Some(bytes),
            Entry::Charge(_) => None,
        }
    }

    /// Whether somebody besides the cache holds the block.
    fn is_in_use(&self) -> bool {
        match self {
            // An empty block has no memory that could be shared.
            Entry::Block { bytes, .. } => !bytes.is_empty() && !bytes.is_unique(),
            Entry::Charge(_) => true,
        }
    }
}

/// What the cache is charged for a block.
pub(super) fn weight(block: &Bytes) -> u64 {
    (class(block.len()) + ENTRY_OVERHEAD) as u64
}

struct ByBytes;

impl Weighter<BlockKey, Entry> for ByBytes {
    fn weight(&self, _key: &BlockKey, entry: &Entry) -> u64 {
        entry.weight()
    }
}

/// What decides on eviction. Shared with `quick_cache`'s part of the shard, and
/// used under the shard's lock only: the atomics publish nothing, each is written
/// by [`Shard`] and by evictions and read by evictions, relaxed.
#[derive(Default)]
struct Policy {
    /// Whether blocks in use stay.
    strict: AtomicBool,
    /// Whether blocks of high priority have lost their privilege for now, as
    /// nothing else is left to evict.
    levels: AtomicBool,
    /// Bytes of the blocks of high priority.
    high: AtomicU64,
    /// Bytes of them that others cannot drive out.
    pool: AtomicU64,
}

impl Policy {
    fn grow(&self, entry: &Entry) {
        if let Entry::Block { bytes, high: true } = entry {
            self.high.fetch_add(weight(bytes), Ordering::Relaxed);
        }
    }

    fn shrink(&self, entry: &Entry) {
        if let Entry::Block { bytes, high: true } = entry {
            self.high.fetch_sub(weight(bytes), Ordering::Relaxed);
        }
    }

    fn keeps_high(&self) -> bool {
        !self.levels.load(Ordering::Relaxed)
            && self.high.load(Ordering::Relaxed) <= self.pool.load(Ordering::Relaxed)
    }
}

struct Keeper(Arc<Policy>);

/// The entries that one call evicts, to be dealt with without the lock: mostly none
/// or some.
pub(super) type Evicted = SmallVec<[Entry; 8]>;

impl Lifecycle<BlockKey, Entry> for Keeper {
    type RequestState = Evicted;

    fn is_pinned(&self, _key: &BlockKey, entry: &Entry) -> bool {
        match entry {
            Entry::Charge(_) => true,
            Entry::Block { high: true, .. } if self.0.keeps_high() => true,
            block => self.0.strict.load(Ordering::Relaxed) && block.is_in_use(),
        }
    }

    fn on_evict(&self, evicted: &mut Evicted, _key: BlockKey, entry: Entry) {
        self.0.shrink(&entry);
        evicted.push(entry);
    }
}

pub(super) struct Shard {
    entries: Cache<BlockKey, Entry, ByBytes, Hashed, Keeper>,
    policy: Arc<Policy>,
    charged: u64,
    high_pri_pool_ratio: f64,
}

impl Shard {
    /// A shard for `capacity` bytes and about `items` blocks; the other options
    /// are those of the cache.
    pub fn new(capacity: u64, items: usize, options: &CacheOptions) -> Self {
        let policy = Arc::new(Policy::default());
        policy
            .strict
            .store(options.strict_capacity_limit, Ordering::Relaxed);
        let layout = OptionsBuilder::new()
            .estimated_items_capacity(items)
            .weight_capacity(capacity)
            .build()
            .expect("both of what it needs is set");
        let keeper = Keeper(Arc::clone(&policy));
        let mut entries = Cache::with_options(layout, ByBytes, Hashed::default(), keeper);
        // While the shard is empty, so that the charge counts among what has
        // proved its worth, and leaves newcomers their part of the room.
        entries.insert(CHARGE, Entry::Charge(0));
        let mut shard = Shard {
            entries,
            policy,
            charged: 0,
            high_pri_pool_ratio: options.high_pri_pool_ratio,
        };
        shard.size_pool();
        shard
    }

    /// The block of `key`.
    #[inline]
    pub fn get(&self, key: &BlockKey) -> Option<Bytes> {
        match self.entries.get(key)? {
            Entry::Block { bytes, .. } => {
                // Readers begin with a block's end. Sharing it is a locked
                // instruction, which later reads would wait for.
                prefetch::for_reading(bytes.as_ptr().wrapping_add(bytes.len().saturating_sub(8)));
                Some(bytes.clone())
            }
            Entry::Charge(_) => None,
        }
    }

    /// The same, which eviction does not take for a use.
    pub fn peek(&self, key: &BlockKey) -> Option<Bytes> {
        match self.entries.peek(key)? {
            Entry::Block { bytes, .. } => Some(bytes.clone()),
            Entry::Charge(_) => None,
        }
    }

    /// Takes a block in, or finds that it is there, and gives back the one to use.
    /// A block without room is not kept. `None` if the cache is strict and has no
    /// room; then the block must not be used.
    pub fn insert(
        &mut self,
        key: BlockKey,
        block: Bytes,
        high: bool,
        evicted: &mut Evicted,
    ) -> Option<Bytes> {
        if let Some(there) = self.get(&key) {
            return Some(there);
        }
        let entry = Entry::Block {
            bytes: block.clone(),
            high,
        };
        self.policy.grow(&entry);
        self.entries.insert_with_lifecycle(key, entry, evicted);
        if high {
            // Counts as asked for, so that eviction moves it out of the short queue
            // of newcomers and does not pass over it again and again.
            self.entries.get(&key);
        }
        self.settle();
        if !self.policy.strict.load(Ordering::Relaxed) {
            return Some(block);
        }
        if self.is_over() || !self.entries.contains_key(&key) {
            self.remove(&key);
            return None;
        }
        Some(block)
    }

    /// Takes the block of `key` out.
    pub fn remove(&mut self, key: &BlockKey) -> Option<Bytes> {
        let (_, entry) = self.entries.remove(key)?;
        self.policy.shrink(&entry);
        match entry {
            Entry::Block { bytes, .. } => Some(bytes),
            Entry::Charge(_) => None,
        }
    }

    /// Takes so many bytes of room for something else, instead of those before.
    pub fn charge(&mut self, bytes: u64) {
        self.charged = bytes;
        self.evict();
        self.settle();
    }

    pub fn set_capacity(&mut self, capacity: u64) {
        self.entries.set_capacity(capacity);
        self.size_pool();
        self.settle();
    }

    pub fn set_strict_capacity_limit(&mut self, strict: bool) {
        self.policy.strict.store(strict, Ordering::Relaxed);
        self.settle();
    }

    fn size_pool(&mut self) {
        let pool = self.entries.capacity() as f64 * self.high_pri_pool_ratio;
        self.policy.pool.store(pool as u64, Ordering::Relaxed);
    }

    /// Upholds C1 where the pool stands in the way.
    fn settle(&mut self) {
        if self.is_over() {
            self.policy.levels.store(true, Ordering::Relaxed);
            self.evict();
            self.policy.levels.store(false, Ordering::Relaxed);
        }
    }

    /// Evicts down to the capacity, as far as possible, and sets the charge.
    fn evict(&mut self) {
        self.entries.insert(CHARGE, Entry::Charge(self.charged));
    }

    /// Whether the entries weigh more than they may.
    pub fn is_over(&self) -> bool {
        self.entries.weight() > self.entries.capacity()
    }

    /// Bytes of blocks and of charges.
    pub fn usage(&self) -> u64 {
        self.entries.weight()
    }

    /// Bytes of the blocks that somebody uses, and of charges. Looks at every
    /// block.
    pub fn pinned_usage(&self) -> u64 {
        let entries = self.entries.iter().map(|(_, entry)| entry);
        entries.filter(|e| e.is_in_use()).map(Entry::weight).sum()
    }

    #[cfg(test)]
    pub fn capacity(&self) -> u64 {
        self.entries.capacity()
    }

    /// Bytes of the blocks of high priority.
    #[cfg(test)]
    pub fn high_usage(&self) -> u64 {
        self.policy.high.load(Ordering::Relaxed)
    }
}
