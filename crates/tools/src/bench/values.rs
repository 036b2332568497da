//! Values that compress to a chosen fraction of their size.
//!
//! Values are consecutive pieces of one shared pool of bytes, so that a value needs
//! no allocation and no copy. The pool is larger than the window of the
//! compressors.

use rand::Rng as _;
use rand_xoshiro::rand_core::SeedableRng;

use super::check::Sizes;
use super::keygen::{Rng, below, normal};

const POOL: usize = 1 << 20;
const PIECE: usize = 100;

/// The bytes from which values are cut.
#[derive(Debug)]
pub struct ValuePool {
    bytes: Vec<u8>,
}

impl ValuePool {
    /// Bytes for values of up to `largest` bytes that compress to about `ratio` of
    /// their size. The same arguments always give the same bytes.
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

    /// The values of the thread with number `thread`. Each has `size` bytes if `sizes`
    /// are fixed.
    pub fn values(&self, thread: usize, size: usize, sizes: Sizes) -> Values<'_> {
        Values {
            bytes: &self.bytes,
            position: thread.wrapping_mul(12_345) % POOL,
            size,
            sizes,
            rng: Rng::seed_from_u64(thread as u64),
        }
    }
}

/// An endless sequence of values.
#[derive(Clone, Debug)]
pub struct Values<'p> {
    bytes: &'p [u8],
    position: usize,
    size: usize,
    sizes: Sizes,
    rng: Rng,
}

impl<'p> Values<'p> {
    /// The next value.
    #[inline]
    pub fn take(&mut self) -> &'p [u8] {
        let size = match self.sizes {
            Sizes::Fixed => self.size,
            spread => self.draw(spread),
        };
        self.take_of(size)
    }

    /// The next value, of `size` bytes, or of the whole pool if that is smaller.
    #[inline]
    pub fn take_of(&mut self, size: usize) -> &'p [u8] {
        let size = size.min(self.bytes.len());
        if self.position + size > self.bytes.len() {
            self.position = 0;
        }
        let start = self.position;
        self.position += size;
        &self.bytes[start..self.position]
    }

    fn draw(&mut self, sizes: Sizes) -> usize {
        match sizes {
            Sizes::Fixed => self.size,
            Sizes::Uniform(least, most) => {
                least + below(&mut self.rng, (most - least) as u64 + 1) as usize
            }
            Sizes::Normal(least, most) => {
                let middle = (least + most) as f64 / 2.0;
                let size = normal(&mut self.rng, middle, (most - least) as f64 / 6.0);
                (size as usize).clamp(least, most)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_size_and_wrap_around() {
        let pool = ValuePool::new(100, 0.5);
        let mut values = pool.values(3, 100, Sizes::Fixed);
        let first = values.take();
        assert_eq!(first.len(), 100);
        assert_ne!(first, values.take());
        for _ in 0..3 * POOL / 100 {
            assert_eq!(values.take().len(), 100);
        }
        assert_eq!(pool.values(0, 0, Sizes::Fixed).take(), b"");
        let large = ValuePool::new(3 * POOL, 0.5);
        assert_eq!(
            large.values(160, 3 * POOL, Sizes::Fixed).take().len(),
            3 * POOL
        );
    }

    #[test]
    fn sizes_are_spread_between_their_bounds() {
        let pool = ValuePool::new(300, 0.5);
        for sizes in [Sizes::Uniform(100, 300), Sizes::Normal(100, 300)] {
            let mut values = pool.values(1, 7, sizes);
            let all: Vec<_> = (0..3000).map(|_| values.take().len()).collect();
            let mean = all.iter().sum::<usize>() / all.len();
            assert!((195..=205).contains(&mean), "{sizes:?}: {mean}");
            assert!(all.iter().all(|size| (100..=300).contains(size)));
            let middle = all.iter().filter(|size| (150..250).contains(*size)).count();
            assert_eq!(middle > 2000, sizes == Sizes::Normal(100, 300), "{middle}");
        }
        assert_eq!(
            pool.values(0, 1, Sizes::Fixed).take_of(usize::MAX).len(),
            pool.bytes.len()
        );
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
