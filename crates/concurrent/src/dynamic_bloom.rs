//! A Bloom filter of fixed size that many threads add to while others query it.
//!
//! All bits of a key lie in one block of 64 bytes, so that an addition or a query touches
//! one cache line. Three of the eight words in it get two bits each. The layout is that
//! of RocksDB's `DynamicBloom`; hashing is up to the caller, and the bits are chosen
//! differently.
//!
//! With 10 bits for each key, about 1 in 60 queries for a key that was not added gets the
//! answer "maybe".
//!
//! # Ordering
//! Every access is relaxed. The filter itself orders nothing; it relies on the
//! publication of what was added:
//!
//! * I1: bits are only ever set. A bit that was seen set stays set.
//! * I2: when [`DynamicBloom::add`] returns, the calling thread has seen or
//!   set all bits of the key.
//! * I3: if the end of `add` happens before the start of [`DynamicBloom::may_contain`]
//!   (the adding thread published something with Release, and the querying thread
//!   acquired it), the answer is "maybe".
//!
//! I3 follows from coherence alone: of each word, the adding thread read or wrote a value
//! `v` with the bits in it (I2). That access happens before the querying thread's load,
//! which therefore returns `v` or a later value in the word's modification order, and
//! these have the bits, too (I1). It does not matter that the bits of `v` may have been
//! set by a third thread that has published nothing: omitting the write when no bit is
//! missing is sound.
//!
//! Bits may be set before or after the entry that they stand for is inserted, as long as
//! both come before the publication. A reader that has not acquired the publication may
//! miss the bits; it must not expect the entry either.

use std::fmt;

use crate::prefetch;
use crate::sync::{AtomicU64, Ordering};

/// Words of a block: one cache line.
const BLOCK_WORDS: usize = 8;

/// Bytes of a block.
pub const BLOCK: usize = BLOCK_WORDS * 8;

/// The words of a block in which a key has two bits each.
const PAIRS: usize = 3;

/// The factor that spreads the low half of a hash over a word.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The filter. See the [module](self).
pub struct DynamicBloom {
    /// The words of the blocks, preceded by up to one block's words, so that the blocks
    /// start on a cache line.
    ///
    /// Written by: adding threads, which only set bits (relaxed). Read by: adding and
    /// querying threads (relaxed). Publish nothing: see I3.
    words: Box<[AtomicU64]>,
    /// The index of the word at which the first block starts.
    first: usize,
    blocks: usize,
}

impl DynamicBloom {
    /// An empty filter of `bytes` bytes, rounded up to blocks of 64. The memory comes
    /// zeroed from the system if possible, so that a large filter costs nothing until it
    /// is used.
    pub fn new(bytes: usize) -> Self {
        let blocks = bytes.div_ceil(BLOCK).clamp(1, u32::MAX as usize);
        // One block more, since `align_offset` may skip as much.
        let words = zeroed((blocks + 1) * BLOCK_WORDS);
        let first = words.as_ptr().align_offset(BLOCK);
        DynamicBloom {
            // An address that cannot be aligned costs only speed.
            first: if first < BLOCK_WORDS { first } else { 0 },
            words,
            blocks,
        }
    }

    /// Bytes of memory that the filter takes.
    pub fn memory_bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// Adds the key with this hash, of 64 well-mixed bits.
    #[inline]
    pub fn add(&self, hash: u64) {
        let block = self.block(hash);
        for (word, mask) in bits(hash) {
            let word = &block[word];
            // In a filter that has filled up, the bits are usually set already, and a
            // load leaves the cache line shared.
            if word.load(Ordering::Relaxed) & mask != mask {
                word.fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    /// Whether the key with this hash may have been added; `false` is certain
    /// (I3).
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let block = self.block(hash);
        bits(hash).all(|(word, mask)| block[word].load(Ordering::Relaxed) & mask == mask)
    }

    /// Prefetches the block of the key with this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch::for_reading(self.block(hash).as_ptr());
    }

    /// The block of a key, by the high half of its hash.
    #[inline]
    fn block(&self, hash: u64) -> &[AtomicU64] {
        let at = ((hash >> 32) * self.blocks as u64) >> 32;
        let start = self.first + at as usize * BLOCK_WORDS;
        &self.words[start..start + BLOCK_WORDS]
    }
}

/// The indexes of the words of its block in which a key has bits, and the bits.
#[inline]
fn bits(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    let spread = (hash & u64::from(u32::MAX)).wrapping_mul(SPREAD);
    // The high bits are mixed best: 12 of them for each pair, then 3 for the word. The
    // words of a key differ, since each pair xors its number into the index.
    let first = (spread >> 25) as usize % BLOCK_WORDS;
    (0..PAIRS).map(move |pair| {
        let of_pair = spread >> (64 - 12 * (pair + 1));
        let mask = (1 << (of_pair & 63)) | (1 << ((of_pair >> 6) & 63));
        (first ^ pair, mask)
    })
}

/// `n` words of zeros; `n` is not 0.
#[cfg(not(any(loom, shuttle)))]
fn zeroed(n: usize) -> Box<[AtomicU64]> {
    use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
    use std::ptr::NonNull;

    let layout = Layout::array::<AtomicU64>(n).expect("far below the limit");
    assert!(layout.size() > 0);
    // SAFETY: the layout's size is not 0, as was just checked.
    let start = unsafe { alloc_zeroed(layout) };
    let Some(start) = NonNull::new(start.cast::<AtomicU64>()) else {
        handle_alloc_error(layout)
    };
    let all = NonNull::slice_from_raw_parts(start, n);
    // SAFETY: fresh memory from the global allocator with the layout of a slice of `n`
    // atomics, owned here; zero bytes are atomics of value 0. A box frees it with the
    // same layout.
    unsafe { Box::from_raw(all.as_ptr()) }
}

/// A model checker's atomics hold more than their value.
#[cfg(any(loom, shuttle))]
fn zeroed(n: usize) -> Box<[AtomicU64]> {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}

impl fmt::Debug for DynamicBloom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicBloom")
            .field("bytes", &(self.blocks * BLOCK))
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn blocks_lie_on_cache_lines_and_keys_in_one() {
        let filter = DynamicBloom::new(100_000);
        assert_eq!(filter.blocks, 100_000usize.div_ceil(64));
        let mut rng = StdRng::seed_from_u64(1);
        for _ in 0..1000 {
            let hash = rng.random();
            assert_eq!(filter.block(hash).as_ptr().align_offset(BLOCK), 0);
            filter.prefetch(hash);
            let mut words: Vec<usize> = bits(hash).map(|(word, _)| word).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), PAIRS, "the words differ");
        }
    }

    #[test]
    fn the_first_and_the_last_block_are_used() {
        for bytes in [0, 1, 64, 65, 6400] {
            let filter = DynamicBloom::new(bytes);
            for hash in [1, u64::MAX, (1 << 63) + 2] {
                assert!(!filter.may_contain(hash), "{bytes}");
                filter.add(hash);
                assert!(filter.may_contain(hash), "{bytes}");
            }
        }
    }

    #[test]
    fn added_keys_are_found_and_few_others() {
        let mut rng = StdRng::seed_from_u64(7);
        let keys = 100_000;
        let filter = DynamicBloom::new(keys * 10 / 8);
        let added: Vec<u64> = (0..keys).map(|_| rng.random()).collect();
        assert!(added.iter().all(|&hash| !filter.may_contain(hash)));
        added.iter().for_each(|&hash| filter.add(hash));
        assert!(added.iter().all(|&hash| filter.may_contain(hash)));
        let others = (0..keys)
            .filter(|_| filter.may_contain(rng.random()))
            .count();
        // Less than one in 40.
        assert!(others < keys / 40, "{others} of {keys}");
        assert!(others > 0, "a filter of this size cannot be exact");
    }

    #[test]
    fn threads_lose_no_bits_of_one_another() {
        // One block, so that all threads hit the same words.
        let filter = DynamicBloom::new(64);
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let filter = &filter;
                scope.spawn(move || {
                    let mut rng = StdRng::seed_from_u64(thread);
                    for _ in 0..20 {
                        let hash = rng.random();
                        filter.add(hash);
                        assert!(filter.may_contain(hash));
                    }
                });
            }
        });
        for thread in 0..8 {
            let mut rng = StdRng::seed_from_u64(thread);
            assert!((0..20).all(|_| filter.may_contain(rng.random())));
        }
    }
}
