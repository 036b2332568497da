//! The block cache.

use bytes::Bytes;

/// A cache of uncompressed blocks, shared by tables and databases; cloning it
/// shares it.
#[derive(Debug, Clone)]
pub struct BlockCache {}

impl BlockCache {
    /// A cache of `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        let _ = capacity;
        todo!()
    }
    /// A number no other file of this cache uses, to key its blocks by.
    pub fn new_id(&self) -> u64 {
        todo!()
    }
    /// The block at `offset` of file `id`.
    pub fn get(&self, id: u64, offset: u64) -> Option<Bytes> {
        let _ = (id, offset);
        todo!()
    }
    /// Caches a block.
    pub fn insert(&self, id: u64, offset: u64, block: Bytes) {
        let _ = (id, offset, block);
        todo!()
    }
    /// Bytes cached.
    pub fn usage(&self) -> usize {
        todo!()
    }
    /// Bytes the cache may hold.
    pub fn capacity(&self) -> usize {
        todo!()
    }
    /// Changes the capacity, evicting what no longer fits.
    pub fn set_capacity(&self, capacity: usize) {
        let _ = capacity;
        todo!()
    }
}
