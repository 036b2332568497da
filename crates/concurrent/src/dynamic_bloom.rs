//! A Bloom filter of fixed size that many threads add to beside readers.
//!
//! All bits of a key lie in one block of 64 bytes, so that an addition and a
//! question touch one cache line. In it three of the eight words get two bits
//! each. That is RocksDB's `DynamicBloom` (seed 000) in shape; hashing is the
//! caller's, and the bits are chosen differently.
//!
//! With 10 bits for each key about 1 question in 60 about a key that was not
//! added is answered "maybe".
//!
//! # Ordering
//! Every access is relaxed. The filter orders nothing by itself; it leans on
//! whoever publishes what was added:
//!
//! * I1: bits are only ever set. A bit that was seen set is set for good.
//! * I2: when [`DynamicBloom::add`] returns, the calling thread has seen or
//!   set all bits of the key.
//! * I3: if the end of `add` happens before the start of
//!   [`DynamicBloom::may_contain`] (the adding thread published something with
//!   release, the asking one acquired it), the answer is "maybe".
//!
//! I3 follows from coherence alone: the adding thread read or wrote, of each
//! word, a value `v` with the bits in it (I2). That access happens before the
//! asking thread's load, which therefore returns `v` or a value later in the
//! word's modification order, and these have the bits too (I1). It does not
//! matter that the bits of `v` may have been set by a third thread that has
//! published nothing: leaving out the write when no bit is missing is sound.
//!
//! Bits may be set before or after the thing they stand for is put in place,
//! as long as both come before the publication. A reader that has not acquired
//! it may miss the bits; it must not expect the thing either.

use std::fmt;

use crate::prefetch;
use crate::sync::{AtomicU64, Ordering};

/// Words of a block: one cache line.
const BLOCK_WORDS: usize = 8;

/// Bytes of a block.
pub const BLOCK: usize = BLOCK_WORDS * 8;

/// Words of a block that a key has two bits in.
const PAIRS: usize = 3;

/// Spreads the low half of a hash over a word.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The filter; see the module.
pub struct DynamicBloom {
    /// The blocks, and up to one block's words before them, so that the blocks
    /// start on a cache line.
    ///
    /// Written by: adding threads, bits are only set (relaxed). Read by:
    /// adding and asking threads (relaxed). Publish nothing: see I3.
    words: Box<[AtomicU64]>,
    /// The word at which the first block starts.
    first: usize,
    blocks: usize,
}

impl DynamicBloom {
    /// A filter of `bytes` bytes, rounded up to blocks of 64, without keys.
    /// The memory is the system's zeroed pages where it hands them out, so
    /// that a large filter costs nothing until it is used.
    pub fn new(bytes: usize) -> Self {
        let blocks = bytes.div_ceil(BLOCK).clamp(1, u32::MAX as usize);
        // One block more: what `align_offset` may skip.
        let words = zeroed((blocks + 1) * BLOCK_WORDS);
        let first = words.as_ptr().align_offset(BLOCK);
        DynamicBloom {
            // An address that cannot be aligned costs speed, nothing else.
            first: if first < BLOCK_WORDS { first } else { 0 },
            words,
            blocks,
        }
    }

    /// Bytes of memory it takes.
    pub fn memory_bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// Adds the key with this hash, of 64 well-mixed bits.
    #[inline]
    pub fn add(&self, hash: u64) {
        let block = self.block(hash);
        for (word, mask) in bits(hash) {
            let word = &block[word];
            // Mostly there already in a filter that has filled up: a load
            // leaves the line shared.
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

    /// Asks the processor for the block of the key with this hash.
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

/// The words within its block that a key has bits in, and the bits.
#[inline]
fn bits(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    let spread = (hash & u64::from(u32::MAX)).wrapping_mul(SPREAD);
    // The high bits are mixed best: 12 for each pair, then 3 for the word.
    // Words differ, since the number of the pair is or-ed out of them.
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
    // SAFETY: fresh memory from the global allocator with the layout of a
    // slice of `n` atomics, which nobody else has; zeros are atomics of value
    // 0. A box gives it back with the same layout.
    unsafe { Box::from_raw(all.as_ptr()) }
}

/// A model's atomics are not their value alone.
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
            assert_eq!(words.len(), PAIRS, "of different words");
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
    fn what_was_added_is_found_and_little_else() {
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
        // One block, so that all of them hit the same words.
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
