//! One shard of a block cache: its entries, and which of them may be evicted.
//!
//! `quick_cache` decides the order of eviction. This file decides which entries it must skip:
//! charges; blocks in use, if the cache has a strict limit; and blocks of high priority, as long as
//! all of them in the shard fit into its pool. If they exceed the pool, they are evicted like other
//! blocks. A block that readers find without the cache (`placed`) is skipped once if it was used
//! since eviction last looked at it.
//!
//! Invariants:
//! * C1: after each call the entries weigh no more than the capacity, except for charges and for
//!   blocks in use of a strict cache.
//! * C2: a strict cache accepts no block that would leave it above its capacity, and evicts no
//!   block in use. So its blocks in use never exceed the room that charges left when they were
//!   inserted, unless the charges grew or the capacity shrank afterwards.

use super::options::CacheOptions;
use super::placed::{PLACED_OVERHEAD, Place};
use bytes::Bytes;
use quick_cache::unsync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater_concurrent::prefetch;
use whitewater_concurrent::slab::class;
use whitewater_concurrent::sync::rmw;

/// The bytes that an entry counts besides its block. A slot of the hash table has 80 bytes, and
/// there are two to three slots per block: one slot for two blocks remembers an evicted key, and
/// the table grows by doubling. The index has 15 bytes per block, the reference count that readers
/// share has 32, and the allocator adds 8 per allocation.
pub(super) const ENTRY_OVERHEAD: usize = 240;

/// The file and offset of a block, and their hash.
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

/// The key of a shard's charge. No file has the id 0.
const CHARGE: BlockKey = BlockKey {
    file: 0,
    offset: 0,
    hash: 0,
};

/// A hasher that returns the hash stored in the key.
#[derive(Default, Clone)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        // Keys write one number. Anything else is folded in.
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

/// An entry of a shard.
pub(super) enum Entry {
    Block {
        bytes: Bytes,
        high: bool,
    },
    /// A block of low priority that readers may find without the cache, at once or once it has a
    /// place.
    Placed(Place),
    /// A charge: this many bytes are not available for blocks.
    Charge(u64),
}

/// A block that was found, shared with the caller.
pub(crate) struct Hit {
    pub bytes: Bytes,
    /// Whether readers can find it only here, and it may be [replaced](Shard::insert) by one that
    /// they find elsewhere.
    pub only_here: bool,
    /// The block's memory in a slab, for the one that replaces it. It does not count as a user.
    pub in_slab: Option<Bytes>,
}

impl Entry {
    fn weight(&self) -> u64 {
        match self {
            Entry::Block { bytes, .. } => weight(bytes),
            Entry::Placed(place) => weight(place.block().bytes()) + PLACED_OVERHEAD as u64,
            Entry::Charge(bytes) => *bytes,
        }
    }

    /// The block, if the entry is one.
    pub(super) fn into_block(self) -> Option<Bytes> {
        match self {
            Entry::Block { bytes, .. } => Some(bytes),
            Entry::Placed(place) => Some(place.block().bytes().clone()),
            Entry::Charge(_) => None,
        }
    }

    /// The block, if the entry is one, shared with the caller.
    #[inline]
    fn share(&self) -> Option<Bytes> {
        let bytes = match self {
            Entry::Block { bytes, .. } => bytes,
            Entry::Placed(place) => place.block().bytes(),
            Entry::Charge(_) => return None,
        };
        // Readers begin at the end of a block, so it is prefetched. Sharing the block is a locked
        // instruction, for which later reads would wait.
        prefetch::for_reading(bytes.as_ptr().wrapping_add(bytes.len().saturating_sub(8)));
        rmw::shared_writes(2);
        Some(match self {
            Entry::Placed(place) => place.share(),
            _ => bytes.clone(),
        })
    }

    /// Whether it is a block of low priority that readers can find only in the cache.
    fn is_only_here(&self) -> bool {
        match self {
            Entry::Block { high, .. } => !high,
            Entry::Placed(place) => place.block().is_unplaced(),
            Entry::Charge(_) => false,
        }
    }

    /// Whether a reader holds the block besides the cache.
    fn is_in_use(&self) -> bool {
        match self {
            // An empty block has no memory that could be shared.
            Entry::Block { bytes, .. } => !bytes.is_empty() && !bytes.is_unique(),
            Entry::Placed(place) => place.is_in_use(),
            Entry::Charge(_) => true,
        }
    }
}

/// The weight of a block in the cache.
pub(super) fn weight(block: &Bytes) -> u64 {
    (class(block.len()) + ENTRY_OVERHEAD) as u64
}

struct ByBytes;

impl Weighter<BlockKey, Entry> for ByBytes {
    fn weight(&self, _key: &BlockKey, entry: &Entry) -> u64 {
        entry.weight()
    }
}

/// Decides what may be evicted. Shared with `quick_cache`'s part of the shard, and used only under
/// the shard's lock. The atomics publish nothing: each is written by [`Shard`] and by evictions,
/// and read by evictions, relaxed.
#[derive(Default)]
struct Policy {
    /// Whether blocks in use must stay: the limit is strict.
    strict: AtomicBool,
    /// Whether blocks of high priority may be evicted for now, because nothing else is left.
    levels: AtomicBool,
    /// Bytes of the blocks of high priority.
    high: AtomicU64,
    /// Bytes of such blocks that other blocks cannot evict.
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

/// The entries that one call evicts, usually few or none, to be processed without the lock.
pub(super) type Evicted = SmallVec<[Entry; 8]>;

impl Lifecycle<BlockKey, Entry> for Keeper {
    type RequestState = Evicted;

    fn is_pinned(&self, _key: &BlockKey, entry: &Entry) -> bool {
        match entry {
            Entry::Charge(_) => true,
            Entry::Block { high: true, .. } if self.0.keeps_high() => true,
            // A reader has used it since the last time, and is not counted by `quick_cache`.
            Entry::Placed(place) if place.block().unmark() => true,
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
    /// A shard for `capacity` bytes and about `items` blocks. `options` are those of the cache.
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
        // Inserted into the empty shard, so that the charge is in the queue of entries that were
        // used again, and leaves new entries their part of the room.
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

    fn is_strict(&self) -> bool {
        self.policy.strict.load(Ordering::Relaxed)
    }

    /// The block of `key`.
    #[inline]
    pub fn look_up(&self, key: &BlockKey) -> Option<Hit> {
        let entry = self.entries.get(key)?;
        let only_here = entry.is_only_here() && !self.is_strict();
        let mut in_slab = None;
        if let Entry::Placed(place) = entry {
            place.block().mark();
            in_slab = only_here.then(|| place.block().bytes().clone());
        }
        Some(Hit {
            only_here,
            in_slab,
            bytes: entry.share()?,
        })
    }

    /// The block of `key`.
    fn get(&self, key: &BlockKey) -> Option<Bytes> {
        self.look_up(key).map(|hit| hit.bytes)
    }

    /// The block of `key`, without counting the access for eviction.
    pub fn peek(&self, key: &BlockKey) -> Option<Bytes> {
        self.entries.peek(key)?.share()
    }

    /// Inserts a block unless it is there already, and returns the block to use. A block that
    /// readers may find elsewhere replaces one that they can find [only here](Hit). A block without
    /// room is not kept. `None` if the cache is strict and has no room; then the block must not
    /// be used.
    pub fn insert(&mut self, key: BlockKey, entry: Entry, evicted: &mut Evicted) -> Option<Bytes> {
        // A strict cache would no longer see the users of what is replaced.
        let is_found_elsewhere = matches!(entry, Entry::Placed(_)) && !entry.is_only_here();
        let replaces = is_found_elsewhere
            && !self.is_strict()
            && self.entries.peek(&key).is_some_and(Entry::is_only_here);
        if !replaces && let Some(there) = self.get(&key) {
            return Some(there);
        }
        let block = entry.share()?;
        self.policy.grow(&entry);
        let high = matches!(entry, Entry::Block { high: true, .. });
        self.entries.insert_with_lifecycle(key, entry, evicted);
        if high {
            // Counts as an access, so that eviction moves the entry out of the short queue of new
            // entries, instead of skipping it again and again.
            self.entries.get(&key);
        }
        self.settle();
        if !self.is_strict() {
            if let Some(Entry::Placed(place)) = self.entries.peek(&key) {
                Arc::clone(place.block()).enter();
            }
            return Some(block);
        }
        if self.is_over() || !self.entries.contains_key(&key) {
            self.remove(&key);
            return None;
        }
        Some(block)
    }

    /// Removes the block of `key`.
    pub fn remove(&mut self, key: &BlockKey) -> Option<Bytes> {
        let (_, entry) = self.entries.remove(key)?;
        self.policy.shrink(&entry);
        entry.into_block()
    }

    /// Sets the charge to this many bytes.
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
        if strict {
            for (_, entry) in self.entries.iter() {
                if let Entry::Placed(place) = entry {
                    place.block().leave();
                }
            }
        }
        self.settle();
    }

    fn size_pool(&mut self) {
        let pool = self.entries.capacity() as f64 * self.high_pri_pool_ratio;
        self.policy.pool.store(pool as u64, Ordering::Relaxed);
    }

    /// Upholds C1 if marks or the pool prevent evictions.
    fn settle(&mut self) {
        if self.is_over() {
            // The last eviction has taken all marks away.
            self.evict();
        }
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

    /// Whether the entries weigh more than the capacity.
    pub fn is_over(&self) -> bool {
        self.entries.weight() > self.entries.capacity()
    }

    /// Bytes of blocks and of charges.
    pub fn usage(&self) -> u64 {
        self.entries.weight()
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        let charge = usize::from(self.entries.peek(&CHARGE).is_some());
        self.entries.len() - charge
    }

    /// Bytes of the blocks in use, and of charges. Visits every block.
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
