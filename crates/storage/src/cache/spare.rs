//! Reuses the memory of evicted blocks for the next blocks that the same thread reads.
//!
//! A full cache evicts about as many bytes as it inserts. Assume that evicted memory went back to
//! the allocator, and new memory came from there. Allocators with an arena per thread, such as
//! glibc's, would then let one thread's arena grow while another one is full of holes, and the
//! cache might take twice its capacity or more. So a thread reuses the memory of the blocks that it
//! has evicted, and passes what it has too much of on to other threads. Memory has the size classes
//! of [`slab`](whitewater_concurrent::slab), where the blocks lie that readers find without the
//! cache: of those a thread keeps only the memory into which it reads.

use bytes::Bytes;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use whitewater_concurrent::scratch;
use whitewater_concurrent::slab::class;

/// The most bytes that a thread keeps. It keeps several blocks because evictions come in bursts.
const MOST: usize = 64 << 10;

/// The memory that a thread keeps, oldest first.
#[derive(Default)]
struct Kept {
    pieces: Vec<Vec<u8>>,
    /// Bytes in all.
    bytes: usize,
}

thread_local! {
    static KEPT: Cell<Kept> = const {
        Cell::new(Kept {
            pieces: Vec::new(),
            bytes: 0,
        })
    };
}

impl Kept {
    fn push(&mut self, piece: Vec<u8>) {
        self.bytes += piece.capacity();
        self.pieces.push(piece);
    }

    fn remove(&mut self, at: usize) -> Vec<u8> {
        let piece = self.pieces.remove(at);
        self.bytes -= piece.capacity();
        piece
    }

    /// The index of a piece of this size class.
    fn find(&self, class: usize) -> Option<usize> {
        self.pieces
            .iter()
            .rposition(|piece| piece.capacity() == class)
    }
}

/// Kept memory, emptied, for a block of `len` bytes; `None` if the thread has none of its size
/// class.
pub(crate) fn take(len: usize) -> Option<Vec<u8>> {
    if len > MOST {
        return None;
    }
    let mut kept = scratch::take(&KEPT);
    let found = kept.find(class(len)).map(|at| kept.remove(at));
    scratch::keep(&KEPT, kept);
    found
}

/// Keeps the memory of a block that is no longer needed, if nobody else uses it, instead of what
/// the thread has kept longest.
pub(crate) fn keep(block: Bytes) {
    let Some(memory) = memory_of(block) else {
        return;
    };
    let mut kept = scratch::take(&KEPT);
    while kept.bytes + memory.capacity() > MOST && !kept.pieces.is_empty() {
        kept.remove(0);
    }
    kept.push(memory);
    scratch::keep(&KEPT, kept);
}

/// A copy of a block in memory of its own.
pub(crate) fn copy(block: &[u8]) -> Bytes {
    let memory = take(block.len());
    let mut memory = memory.unwrap_or_else(|| Vec::with_capacity(class(block.len())));
    memory.extend_from_slice(block);
    memory.into()
}

/// Memory that threads had too much of, by size class. Part of the cache.
#[derive(Default)]
pub(super) struct Store(Mutex<Stored>);

#[derive(Default)]
struct Stored {
    pieces: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: usize,
}

impl Store {
    /// Bytes of memory in the store.
    pub fn bytes(&self) -> usize {
        self.0.lock().bytes
    }

    /// Keeps the memory of evicted blocks, at most `most` bytes in the store, and makes sure that
    /// this thread has memory for another block of `len` bytes, the size that it just cached.
    pub fn recycle(&self, evicted: impl Iterator<Item = Bytes>, len: usize, most: usize) {
        let mut kept = scratch::take(&KEPT);
        evicted.filter_map(memory_of).for_each(|m| kept.push(m));
        let (wanted, lacks) = (class(len), |kept: &Kept| kept.find(class(len)).is_none());
        if kept.bytes > MOST || (len <= MOST && lacks(&kept)) {
            let mut stored = self.0.lock();
            while kept.bytes > MOST {
                stored.put(kept.remove(0), most);
            }
            if lacks(&kept)
                && let Some(piece) = stored.take(wanted)
            {
                kept.push(piece);
            }
        }
        scratch::keep(&KEPT, kept);
    }
}

impl Stored {
    fn put(&mut self, piece: Vec<u8>, most: usize) {
        if self.bytes + piece.capacity() <= most {
            self.bytes += piece.capacity();
            self.pieces.entry(piece.capacity()).or_default().push(piece);
        }
    }

    fn take(&mut self, wanted: usize) -> Option<Vec<u8>> {
        let piece = self.pieces.get_mut(&wanted)?.pop()?;
        self.bytes -= piece.capacity();
        Some(piece)
    }
}

/// The memory of a block, emptied, if no reader uses it and it has the size of its class.
fn memory_of(block: Bytes) -> Option<Vec<u8>> {
    if block.len() > MOST || block.is_empty() || !block.is_unique() {
        return None;
    }
    let mut memory = Vec::from(block);
    memory.clear();
    let capacity = memory.capacity();
    (capacity <= MOST && capacity == class(capacity)).then_some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one thread evicts serves its next blocks, and then others'.
    #[test]
    fn memory_of_evicted_blocks_is_used_again() {
        let store = Store::default();
        let blocks: Vec<Bytes> = (0..40).map(|i| copy(&[i; 4_090])).collect();
        let places: Vec<_> = blocks.iter().map(|block| block.as_ptr()).collect();
        store.recycle(blocks.into_iter(), 4_090, 1 << 20);
        let again = |n: u8| -> Vec<Bytes> {
            let next = (0..n).map(|i| {
                let block = copy(&[i; 4_090]);
                store.recycle(std::iter::empty(), block.len(), 1 << 20);
                block
            });
            next.collect()
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| again(24));
            let own = again(16);
            let other = other.join().unwrap();
            let used = own.iter().chain(&other);
            let used = used.filter(|block| places.contains(&block.as_ptr()));
            // The other thread finds memory of the store after its first block.
            assert!(used.count() >= 38);
            assert!(own.iter().zip(0..).all(|(b, i)| b[..] == [i; 4_090]));
        });
        assert_eq!(store.0.lock().bytes, 0);
    }

    #[test]
    fn memory_into_which_a_thread_reads_takes_the_place_of_older_memory() {
        for len in [9_000, 4_000, 20_000, 4_000] {
            (0..20).for_each(|_| keep(copy(&vec![1; len])));
            let block = copy(&vec![2; len]);
            let place = block.as_ptr();
            keep(block);
            assert_eq!(copy(&vec![3; len]).as_ptr(), place, "{len}");
        }
    }

    #[test]
    fn the_store_takes_no_more_than_it_may_and_nothing_that_is_in_use() {
        let store = Store::default();
        let blocks = (0..200).map(|_| copy(&[1; 4_096]));
        store.recycle(blocks, 10, 100 << 10);
        assert_eq!(store.0.lock().bytes, 100 << 10);
        let shared = copy(&[1; 4_096]);
        assert!(memory_of(shared.clone()).is_none());
        assert_eq!(shared[..], [1; 4_096]);
        assert!(memory_of(shared).is_some());
        assert!(memory_of(Bytes::from(vec![1; 4_100])).is_none(), "no class");
        assert!(memory_of(copy(&[1; 1 << 20])).is_none(), "too large");
    }
}
