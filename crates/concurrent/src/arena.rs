//! A concurrent bump allocator.

use std::ptr::NonNull;

/// Memory that is handed out in pieces and given back all at once.
#[derive(Debug)]
pub struct ConcurrentArena {}

impl ConcurrentArena {
    /// An arena that grows by blocks of about `block_size` bytes.
    pub fn new(block_size: usize) -> Self {
        let _ = block_size;
        todo!()
    }
    /// `bytes` of uninitialized memory aligned to 8, valid until the arena is
    /// dropped.
    pub fn allocate(&self, bytes: usize) -> NonNull<u8> {
        let _ = bytes;
        todo!()
    }
    /// Bytes handed out, slack of shards excluded: what decides about flushes.
    pub fn used_bytes(&self) -> usize {
        todo!()
    }
    /// Bytes taken from the system.
    pub fn allocated_bytes(&self) -> usize {
        todo!()
    }
}
