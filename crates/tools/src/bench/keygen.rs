//! Keys and the order they come in.
//!
//! A key is a number in big-endian order followed by '0' characters, as in
//! RocksDB's db_bench, so that both programs can read each other's databases.
//! With a [`Prefix`], another number that few keys share comes before that.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;

/// The generator that every benchmark thread owns.
pub type Rng = Xoshiro256PlusPlus;

/// A number below `bound`, or 0 if `bound` is 0.
pub fn below(rng: &mut Rng, bound: u64) -> u64 {
    let wide = u128::from(rng.next_u64()) * u128::from(bound);
    (wide >> 64) as u64
}

/// How keys get a prefix of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of it.
    pub size: usize,
    /// Different prefixes there are, at least 1.
    pub count: u64,
}

/// A key of fixed size whose number can be replaced cheaply.
#[derive(Clone, Debug)]
pub struct Key {
    bytes: Vec<u8>,
    prefix: Option<Prefix>,
}

impl Key {
    /// Key number 0 of `size` bytes.
    pub fn new(size: usize) -> Self {
        Self::with_prefix(size, None)
    }

    /// Key number 0 of `size` bytes, of which the first are its prefix.
    pub fn with_prefix(size: usize, prefix: Option<Prefix>) -> Self {
        let mut key = Self {
            bytes: vec![b'0'; size],
            prefix,
        };
        key.set(0);
        key
    }

    /// Makes this the key of `number`. A key shorter than 8 bytes keeps only
    /// the number's low bytes.
    pub fn set(&mut self, number: u64) -> &[u8] {
        let mut rest = &mut self.bytes[..];
        if let Some(prefix) = self.prefix {
            let (head, tail) = rest.split_at_mut(prefix.size.min(rest.len()));
            put_number(head, number % prefix.count);
            rest = tail;
        }
        put_number(rest, number);
        &self.bytes
    }
}

/// Writes the low bytes of a number, at most 8, to the front.
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

/// Order in which a writer visits the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// 0, 1, 2, ...
    Sequential,
    /// Any key, again and again.
    Random,
    /// Every key once.
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
    /// Numbers below `bound`. [`Order::Unique`] holds 8 bytes for each.
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

    /// The next number. [`Order::Unique`] starts over when all were visited.
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
