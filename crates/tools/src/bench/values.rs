//! Values that compress to a chosen fraction of their size.
//!
//! One shared pool of bytes, cut into values one after the other: no
//! allocation and no copy for a value. The pool is larger than the window of
//! the compressors.

use rand::Rng as _;
use rand_xoshiro::rand_core::SeedableRng;

use super::keygen::Rng;

const POOL: usize = 1 << 20;
const PIECE: usize = 100;

/// The bytes that values are cut from.
#[derive(Debug)]
pub struct ValuePool {
    bytes: Vec<u8>,
}

impl ValuePool {
    /// Bytes for values of up to `largest` bytes which compress to about
    /// `ratio` of their size. Always the same bytes for the same arguments.
    pub fn new(largest: usize, ratio: f64) -> Self {
        let size = largest.max(POOL);
        let distinct = ((PIECE as f64 * ratio) as usize).clamp(1, PIECE);
        let mut rng = Rng::seed_from_u64(301);
        let mut bytes = Vec::with_capacity(size + PIECE);
        while bytes.len() < size {
            let piece: Vec<u8> = (0..distinct)
                .map(|_| rng.random_range(b' '..=b'~'))
                .collect();
            bytes.extend(piece.iter().cycle().take(PIECE));
        }
        Self { bytes }
    }

    /// The values of thread number `thread`, each of `size` bytes.
    pub fn values(&self, thread: usize, size: usize) -> Values<'_> {
        Values {
            bytes: &self.bytes,
            position: thread.wrapping_mul(12_345) % POOL,
            size,
        }
    }
}

/// An endless sequence of values.
#[derive(Clone, Debug)]
pub struct Values<'p> {
    bytes: &'p [u8],
    position: usize,
    size: usize,
}

impl<'p> Values<'p> {
    /// The next value.
    pub fn take(&mut self) -> &'p [u8] {
        if self.position + self.size > self.bytes.len() {
            self.position = 0;
        }
        let start = self.position;
        self.position += self.size;
        &self.bytes[start..self.position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_size_and_wrap_around() {
        let pool = ValuePool::new(100, 0.5);
        let mut values = pool.values(3, 100);
        let first = values.take();
        assert_eq!(first.len(), 100);
        assert_ne!(first, values.take());
        for _ in 0..3 * POOL / 100 {
            assert_eq!(values.take().len(), 100);
        }
        assert_eq!(pool.values(0, 0).take(), b"");
        let large = ValuePool::new(3 * POOL, 0.5);
        assert_eq!(large.values(160, 3 * POOL).take().len(), 3 * POOL);
    }

    #[test]
    fn half_of_a_piece_repeats_at_ratio_one_half() {
        let pool = ValuePool::new(100, 0.5);
        assert_eq!(pool.bytes[..50], pool.bytes[50..100]);
        let pool = ValuePool::new(100, 1.0);
        assert_ne!(pool.bytes[..50], pool.bytes[50..100]);
        let pool = ValuePool::new(100, 0.0);
        assert!(pool.bytes[..100].iter().all(|byte| *byte == pool.bytes[0]));
    }
}
