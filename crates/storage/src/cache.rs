//! The block cache.
//!
//! Blocks are cached uncompressed, keyed by a file's number in the cache and
//! the block's offset in the file. A block in use stays alive when it is
//! evicted: the cache shares it with its readers. The cache does not know
//! what a block is; it counts bytes.
//!
//! Memory that is used elsewhere can be charged to a cache
//! ([`BlockCache::charge`]): it then holds that many bytes less of
//! blocks. (RocksDB puts in entries without content that nothing evicts; to
//! take away room comes to the same, and needs no entries.)

use bytes::Bytes;
use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes an entry is charged besides its block: its key, its place in the
/// table and in the eviction queue, the block's header and the allocator's.
const ENTRY_OVERHEAD: usize = 96;

/// Block size assumed when the tables of the cache are laid out.
const TYPICAL_BLOCK: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BlockKey {
    file: u64,
    offset: u64,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<BlockKey, Bytes> for ByBytes {
    fn weight(&self, _key: &BlockKey, block: &Bytes) -> u64 {
        (block.len() + ENTRY_OVERHEAD) as u64
    }
}

struct Shared {
    blocks: Cache<BlockKey, Bytes, ByBytes>,
    /// Written by: [`BlockCache::new_id`]. Read by: the same. Publishes
    /// nothing: the numbers only have to differ.
    next_id: AtomicU64,
    room: Mutex<Room>,
}

/// What a cache may hold, and what of it is taken for other things.
struct Room {
    capacity: u64,
    charged: u64,
}

impl Room {
    /// Bytes left for blocks.
    fn for_blocks(&self) -> u64 {
        self.capacity.saturating_sub(self.charged)
    }
}

/// A cache of uncompressed blocks, shared by tables and databases; cloning it
/// shares it.
#[derive(Clone)]
pub struct BlockCache(Arc<Shared>);

impl BlockCache {
    /// A cache of `capacity` bytes, an estimate of the bookkeeping included.
    /// 0 caches nothing.
    pub fn new(capacity: usize) -> Self {
        let items = (capacity / (TYPICAL_BLOCK + ENTRY_OVERHEAD)).max(16);
        BlockCache(Arc::new(Shared {
            blocks: Cache::with_weighter(items, capacity as u64, ByBytes),
            next_id: AtomicU64::new(1),
            room: Mutex::new(Room {
                capacity: capacity as u64,
                charged: 0,
            }),
        }))
    }

    /// Whether both stand for the same cache.
    pub fn is_same(&self, other: &BlockCache) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number no other file of this cache uses, to key its blocks by.
    pub fn new_id(&self) -> u64 {
        self.0.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The block at `offset` of file `id`.
    #[inline]
    pub fn get(&self, id: u64, offset: u64) -> Option<Bytes> {
        self.0.blocks.get(&BlockKey { file: id, offset })
    }

    /// Caches a block, evicting others to make room. A block larger than a
    /// shard's part of the capacity is not kept.
    pub fn insert(&self, id: u64, offset: u64, block: Bytes) {
        self.0.blocks.insert(BlockKey { file: id, offset }, block);
    }

    /// Bytes cached, an estimate of the bookkeeping included, and bytes
    /// charged.
    pub fn usage(&self) -> usize {
        self.0.blocks.weight() as usize + self.charged()
    }

    /// Bytes that eviction would not make free: those charged, and those of
    /// blocks that somebody is using beside the cache, an estimate of the
    /// bookkeeping included. Looks at every block.
    pub fn pinned_usage(&self) -> usize {
        let pinned = Cell::new(0);
        self.0.blocks.retain(|key, block| {
            if !block.is_unique() {
                pinned.set(pinned.get() + ByBytes.weight(key, block));
            }
            true
        });
        pinned.get() as usize + self.charged()
    }

    /// Bytes charged for memory used elsewhere.
    pub fn charged(&self) -> usize {
        self.0.room.lock().charged as usize
    }

    /// Charges `more` bytes and no longer `less`, evicting blocks that no
    /// longer fit. Charges may exceed the capacity; no block is kept then.
    pub fn charge(&self, more: usize, less: usize) {
        let mut room = self.0.room.lock();
        room.charged = (room.charged + more as u64).saturating_sub(less as u64);
        // Under the lock, so that the last change is the one that holds.
        self.0.blocks.set_capacity(room.for_blocks());
    }

    /// Charges `bytes` for as long as the result exists.
    pub(crate) fn reserve(&self, bytes: usize) -> Charge {
        self.charge(bytes, 0);
        Charge {
            cache: self.clone(),
            bytes,
        }
    }

    /// Bytes the cache may hold.
    pub fn capacity(&self) -> usize {
        self.0.room.lock().capacity as usize
    }

    /// Changes the capacity, evicting what no longer fits.
    pub fn set_capacity(&self, capacity: usize) {
        let mut room = self.0.room.lock();
        room.capacity = capacity as u64;
        self.0.blocks.set_capacity(room.for_blocks());
    }
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

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("capacity", &self.capacity())
            .field("usage", &self.usage())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(n: usize) -> Bytes {
        Bytes::from(vec![7u8; n])
    }

    #[test]
    fn clones_share_blocks_and_ids() {
        let a = BlockCache::new(1 << 20);
        let b = a.clone();
        let (x, y) = (a.new_id(), b.new_id());
        assert_ne!(x, y);
        a.insert(x, 0, block(100));
        assert_eq!(b.get(x, 0), Some(block(100)));
        assert_eq!(b.get(y, 0), None);
        assert_eq!(b.get(x, 1), None);
        assert!(a.usage() >= 100);
    }

    #[test]
    fn usage_stays_within_the_capacity() {
        let c = BlockCache::new(1 << 20);
        let id = c.new_id();
        for i in 0..2000 {
            c.insert(id, i, block(4096));
        }
        assert!(c.usage() <= 1 << 20, "{}", c.usage());
        assert!(c.usage() >= 1 << 19, "{}", c.usage());
        c.set_capacity(1 << 18);
        assert_eq!(c.capacity(), 1 << 18);
        assert!(c.usage() <= 1 << 18, "{}", c.usage());
    }

    #[test]
    fn blocks_in_use_are_pinned() {
        let c = BlockCache::new(1 << 20);
        let id = c.new_id();
        for i in 0..10 {
            c.insert(id, i, block(1000));
        }
        assert_eq!(c.pinned_usage(), 0);
        let (a, b) = (c.get(id, 3), c.get(id, 7));
        let part = a.map(|block| block.slice(10..20));
        assert_eq!(c.pinned_usage(), 2 * (1000 + ENTRY_OVERHEAD));
        drop(b);
        assert_eq!(c.pinned_usage(), 1000 + ENTRY_OVERHEAD);
        drop(part);
        assert_eq!(c.pinned_usage(), 0);
        assert_eq!(c.usage(), 10 * (1000 + ENTRY_OVERHEAD));
    }

    #[test]
    fn charges_take_room_from_blocks() {
        let c = BlockCache::new(1 << 20);
        let id = c.new_id();
        let fill = || (0..2000).for_each(|i| c.insert(id, i, block(4096)));
        fill();
        c.charge(3 << 18, 0);
        assert_eq!(c.charged(), 3 << 18);
        assert_eq!(c.capacity(), 1 << 20);
        assert!(c.usage() <= 1 << 20, "{}", c.usage());
        fill();
        assert!(c.usage() <= 1 << 20, "{}", c.usage());
        c.set_capacity(3 << 18);
        fill();
        assert_eq!(c.usage(), 3 << 18, "no room for blocks");
        c.set_capacity(1 << 20);
        c.charge(1 << 20, 3 << 18);
        assert_eq!(c.usage(), 1 << 20);
        c.charge(0, 1 << 20);
        fill();
        assert!((1 << 19..=1 << 20).contains(&c.usage()), "{}", c.usage());
    }

    #[test]
    fn capacity_zero_keeps_nothing() {
        let c = BlockCache::new(0);
        c.insert(1, 0, block(10));
        assert_eq!(c.get(1, 0), None);
        assert_eq!(c.usage(), 0);
    }
}
