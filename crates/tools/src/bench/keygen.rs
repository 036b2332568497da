//! Keys, and the order in which they come.
//!
//! A key is a number in big-endian order followed by '0' characters, as in
//! RocksDB's db_bench, so that both programs can read each other's databases.
//! With a [`Prefix`], another number, which few keys share, precedes it.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;

/// The random number generator; each benchmark thread has its own.
pub type Rng = Xoshiro256PlusPlus;

/// A random number below `bound`, or 0 if `bound` is 0.
pub fn below(rng: &mut Rng, bound: u64) -> u64 {
    let wide = u128::from(rng.next_u64()) * u128::from(bound);
    (wide >> 64) as u64
}

/// The number, below `keys`, of a key to read at random. Without `skew` all keys are
/// equally likely; with a `skew` above 0 a few hot keys, spread over all numbers, are
/// read most.
pub fn skewed(rng: &mut Rng, keys: u64, skew: f64) -> u64 {
    /// RocksDB's factor, which separates keys of similar hotness in the key space.
    const SPREAD: u64 = 0x5bd1_e995;
    if skew <= 0.0 || keys == 0 {
        return below(rng, keys);
    }
    let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let rank = ((-uniform * skew).exp() * keys as f64) as u64;
    rank.wrapping_mul(SPREAD) % keys
}

/// A random number from a normal distribution.
pub fn normal(rng: &mut Rng, mean: f64, deviation: f64) -> f64 {
    let mut uniform = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), uniform());
    mean + deviation * radius * (std::f64::consts::TAU * angle).cos()
}

/// How keys get a prefix of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The size in bytes.
    pub size: usize,
    /// The number of different prefixes, at least 1.
    pub count: u64,
}

/// A key of fixed size whose number can be replaced cheaply.
#[derive(Clone, Debug)]
pub struct Key<'k> {
    bytes: Vec<u8>,
    prefix: Option<Prefix>,
    existing: &'k [Vec<u8>],
}

impl<'k> Key<'k> {
    /// A key of `size` bytes, set to number 0.
    pub fn new(size: usize) -> Self {
        Self::with_prefix(size, None)
    }

    /// A key of `size` bytes, set to number 0; its first bytes are the prefix.
    pub fn with_prefix(size: usize, prefix: Option<Prefix>) -> Self {
        let mut key = Self {
            bytes: vec![b'0'; size],
            prefix,
            existing: &[],
        };
        key.set(0);
        key
    }

    /// Uses these keys, selected by number, if there are any.
    #[must_use]
    pub fn of_existing(mut self, keys: &'k [Vec<u8>]) -> Self {
        self.existing = keys;
        self
    }

    /// The key as it was last set.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sets this to the key of `number`. A key shorter than 8 bytes keeps only the
    /// number's low bytes.
    pub fn set(&mut self, number: u64) -> &[u8] {
        if let Some(last) = self.existing.len().checked_sub(1) {
            let at = usize::try_from(number).unwrap_or(last).min(last);
            self.bytes.clone_from(&self.existing[at]);
            return &self.bytes;
        }
        self.make(number);
        &self.bytes
    }

    /// Sets this to a key whose prefix, of more than 8 bytes, is that of no key of
    /// [`set`](Self::set), and is as close as possible to that of `number`.
    pub fn set_missing_prefix(&mut self, number: u64) -> &[u8] {
        self.set(number);
        if let Some(padding) = self.bytes.get_mut(8) {
            // Generated keys have a '0' here.
            *padding = b'1';
        }
        &self.bytes
    }

    fn make(&mut self, number: u64) {
        let mut rest = &mut self.bytes[..];
        if let Some(prefix) = self.prefix {
            let (head, tail) = rest.split_at_mut(prefix.size.min(rest.len()));
            put_number(head, number % prefix.count);
            rest = tail;
        }
        put_number(rest, number);
    }
}

/// Writes the low bytes of a number, at most 8, to the beginning of `bytes`.
#[inline]
fn put_number(bytes: &mut [u8], number: u64) {
    let digits = number.to_be_bytes();
    match bytes.first_chunk_mut::<8>() {
        Some(head) => *head = digits,
        None => {
            let kept = bytes.len();
            bytes.copy_from_slice(&digits[8 - kept..]);
        }
    }
}

/// The order in which a writer visits the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// 0, 1, 2, ...
    Sequential,
    /// Keys at random, with repetitions.
    Random,
    /// Every key once, in random order.
    Unique,
}

/// Key numbers in an [`Order`].
#[derive(Debug)]
pub struct KeyNumbers {
    order: Order,
    bound: u64,
    next: u64,
    shuffled: Vec<u64>,
}

impl KeyNumbers {
    /// Numbers below `bound`. [`Order::Unique`] takes 8 bytes of memory for each.
    pub fn new(order: Order, bound: u64, rng: &mut Rng) -> Self {
        let mut shuffled = Vec::new();
        if order == Order::Unique {
            shuffled.extend(0..bound);
            shuffled.shuffle(rng);
        }
        Self {
            order,
            bound,
            next: 0,
            shuffled,
        }
    }

    /// The next number. [`Order::Unique`] starts over when all have been visited.
    pub fn next(&mut self, rng: &mut Rng) -> u64 {
        if self.order == Order::Random {
            return below(rng, self.bound);
        }
        let position = self.next;
        self.next += 1;
        if self.order == Order::Sequential {
            return position;
        }
        let count = self.shuffled.len().max(1) as u64;
        self.shuffled
            .get((position % count) as usize)
            .copied()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn keys_are_big_endian_and_padded() {
        let mut key = Key::new(16);
        assert_eq!(
            key.set(0x0102_0304_0506_0708),
            b"\x01\x02\x03\x04\x05\x06\x07\x0800000000"
        );
        assert_eq!(key.set(258), b"\0\0\0\0\0\0\x01\x0200000000");
        assert_eq!(Key::new(35).set(1).len(), 35);
        assert_eq!(Key::new(8).set(1), b"\0\0\0\0\0\0\0\x01");
        assert_eq!(Key::new(3).set(0x0102_0304), b"\x02\x03\x04");
    }

    #[test]
    fn prefixes_come_first() {
        let mut key = Key::with_prefix(12, Some(Prefix { size: 2, count: 3 }));
        assert_eq!(key.set(257), b"\0\x02\0\0\0\0\0\0\x01\x0100");
        let mut long = Key::with_prefix(14, Some(Prefix { size: 10, count: 2 }));
        assert_eq!(long.set(5), b"\0\0\0\0\0\0\0\x0100\0\0\0\x05");
        let mut all = Key::with_prefix(2, Some(Prefix { size: 2, count: 9 }));
        assert_eq!(all.set(10), b"\0\x01");
    }

    #[test]
    fn existing_keys_are_taken_by_number() {
        let keys = [b"a".to_vec(), b"bcd".to_vec()];
        let mut key = Key::new(16).of_existing(&keys);
        assert_eq!(key.set(1), b"bcd");
        assert_eq!(key.set(0), b"a");
        assert_eq!(key.set(9), b"bcd", "the last one for what is beyond");
        assert_eq!(key.bytes(), b"bcd");
    }

    #[test]
    fn skew_makes_few_numbers_frequent() {
        let mut rng = Rng::seed_from_u64(3);
        let mut different = |skew| {
            let mut all: Vec<_> = (0..5000).map(|_| skewed(&mut rng, 10_000, skew)).collect();
            assert!(all.iter().all(|number| *number < 10_000));
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        let (flat, steep) = (different(0.0), different(25.0));
        assert!(flat > 3500 && steep < 2000, "{flat} {steep}");
        assert_eq!(skewed(&mut rng, 0, 25.0), 0);
    }

    #[test]
    fn normal_numbers_have_mean_and_deviation() {
        let mut rng = Rng::seed_from_u64(4);
        let all: Vec<_> = (0..10_000).map(|_| normal(&mut rng, 50.0, 10.0)).collect();
        let mean = all.iter().sum::<f64>() / 10_000.0;
        let within = all.iter().filter(|x| (**x - 50.0).abs() < 10.0).count();
        assert!((49.5..50.5).contains(&mean), "{mean}");
        assert!((6_600..7_050).contains(&within), "{within}");
    }

    #[test]
    fn orders() {
        let mut rng = Rng::seed_from_u64(1);
        let mut take = |order, bound, count| {
            let mut numbers = KeyNumbers::new(order, bound, &mut rng);
            (0..count)
                .map(|_| numbers.next(&mut rng))
                .collect::<Vec<_>>()
        };
        assert_eq!(take(Order::Sequential, 3, 5), [0, 1, 2, 3, 4]);
        let random = take(Order::Random, 10, 1000);
        assert!(random.iter().all(|number| *number < 10));
        assert!((0..10).all(|number| random.contains(&number)));
        let mut unique = take(Order::Unique, 100, 100);
        assert_ne!(unique, (0..100).collect::<Vec<_>>());
        unique.sort_unstable();
        assert_eq!(unique, (0..100).collect::<Vec<_>>());
        assert_eq!(take(Order::Random, 0, 2), [0, 0]);
        assert_eq!(take(Order::Unique, 0, 2), [0, 0]);
    }
}
