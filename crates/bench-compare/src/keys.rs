//! What keys and values look like.
//!
//! A key is the number of its record, mixed and written as 16 hexadecimal digits, so that
//! records that are inserted one after the other are in no order, as in YCSB with
//! `insertorder=hashed`. YCSB hashes numbers, which may make two records of one; this mixing
//! never does. Longer keys begin with as many zeros more. The records that the producer of a
//! queue adds are an exception: they come in the order of their numbers, after all others or
//! before them. A value begins with the number of its record, which reads check, and goes on
//! with bytes of which a compressor can save about half, as db_bench's.

use std::ops::Deref;

use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use whitewater_tools::bench::keygen::{Rng, below};

use crate::stores::End;

/// The shortest keys, in bytes.
pub const KEY_SIZE_LEAST: usize = 16;
/// The longest keys, in bytes.
pub const KEY_SIZE_MOST: usize = 64;
/// The shortest values, in bytes: the number of the record.
pub const VALUE_SIZE_LEAST: usize = 8;
/// Added to the number of a record, gives the number of one that no mix inserts.
pub const ABSENT: u64 = 1 << 62;

/// The first number of the records that a producer adds at the last end of the order of keys;
/// numbers from there to its double are such records.
const QUEUED_LAST: u64 = 1 << 60;
/// The same at the first end, where keys fall as numbers rise.
const QUEUED_FIRST: u64 = 1 << 61;

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    bytes: [u8; KEY_SIZE_MOST],
    size: usize,
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.size]
    }
}

/// The number of the `count`th record that a producer adds at an end.
pub fn queued(end: End, count: u64) -> u64 {
    match end {
        End::First => QUEUED_FIRST + count,
        End::Last => QUEUED_LAST + count,
    }
}

/// The first byte of a key's last 16, if its record is not one of a queue's producer, and the
/// digits of those bytes.
fn digits(record: u64) -> (Option<u8>, u64) {
    match record {
        // Before the digits, and after them.
        QUEUED_FIRST..ABSENT => (Some(b'!'), ABSENT - 1 - record),
        QUEUED_LAST..QUEUED_FIRST => (Some(b'q'), record - QUEUED_LAST),
        _ => (None, mixed(record)),
    }
}

/// The last steps of splitmix64, each of which can be undone: no two numbers become one.
fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Makes keys and values. Shared by all threads.
#[derive(Clone, Debug)]
pub struct Layout {
    key_size: usize,
    value_size: usize,
    /// What values are cut from.
    bytes: Vec<u8>,
}

impl Layout {
    /// Keys of `key_size` bytes, from [`KEY_SIZE_LEAST`] to [`KEY_SIZE_MOST`], and values of
    /// `value_size`, at least [`VALUE_SIZE_LEAST`].
    pub fn new(key_size: usize, value_size: usize, seed: u64) -> Self {
        /// Random bytes of this length follow each other, each with its copy.
        const PIECE: usize = 50;
        let mut rng = Rng::seed_from_u64(seed);
        let mut bytes = Vec::new();
        while bytes.len() < (1 << 20) + value_size {
            let mut piece = [0; PIECE];
            rng.fill_bytes(&mut piece);
            bytes.extend(piece);
            bytes.extend(piece);
        }
        Self {
            key_size: key_size.clamp(KEY_SIZE_LEAST, KEY_SIZE_MOST),
            value_size,
            bytes,
        }
    }

    /// The key of a record.
    pub fn key(&self, record: u64) -> Key {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let (first, number) = digits(record);
        let mut bytes = [b'0'; KEY_SIZE_MOST];
        let from = self.key_size - KEY_SIZE_LEAST;
        for at in 0..KEY_SIZE_LEAST {
            bytes[from + at] = DIGITS[(number >> (60 - 4 * at)) as usize & 15];
        }
        if let Some(first) = first {
            bytes[from] = first;
        }
        Key {
            bytes,
            size: self.key_size,
        }
    }

    /// Makes `value` a new value of a record.
    pub fn fill(&self, value: &mut Vec<u8>, record: u64, rng: &mut Rng) {
        let most = (self.bytes.len() - self.value_size) as u64;
        let at = below(rng, most) as usize;
        value.clear();
        value.extend_from_slice(&self.bytes[at..at + self.value_size]);
        value[..8].copy_from_slice(&record.to_le_bytes());
    }

    /// Whether `value` is one of this record. Reads all of it.
    pub fn fits(&self, value: &[u8], record: u64) -> bool {
        self.record(value) == Some(record)
    }

    /// The number of the record that a value is of. Reads all of it.
    pub fn record(&self, value: &[u8]) -> Option<u64> {
        let sum = value.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        std::hint::black_box(sum);
        let number = value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        number.filter(|_| value.len() == self.value_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_different_and_in_no_order() {
        for size in [16, 24] {
            let layout = Layout::new(size, 100, 1);
            let keys: Vec<_> = (0..10_000)
                .chain(ABSENT..ABSENT + 10_000)
                .map(|record| layout.key(record))
                .collect();
            let sorted: BTreeSet<_> = keys.iter().collect();
            assert_eq!(sorted.len(), keys.len());
            assert!(!keys.is_sorted());
            assert_eq!(keys[1].len(), size);
            assert!(keys[1].iter().all(u8::is_ascii_hexdigit));
        }
    }

    #[test]
    fn what_a_producer_adds_is_in_order_at_its_end() {
        let layout = Layout::new(20, 100, 1);
        let all: BTreeSet<_> = (0..10_000).map(|record| layout.key(record)).collect();
        let added = |end| (0..10_000).map(move |count| layout.key(queued(end, count)));
        let last: Vec<_> = added.clone()(End::Last).collect();
        let first: Vec<_> = added(End::First).collect();
        assert!(last.is_sorted() && &last[0] > all.last().unwrap());
        assert!(first.is_sorted_by(|a, b| a > b) && &first[0] < all.first().unwrap());
    }

    #[test]
    fn a_value_fits_its_record_only() {
        let layout = Layout::new(16, 100, 1);
        let mut value = Vec::new();
        layout.fill(&mut value, 12, &mut Rng::seed_from_u64(2));
        assert_eq!(value.len(), 100);
        assert!(layout.fits(&value, 12) && !layout.fits(&value, 13));
        assert!(!layout.fits(&value[..99], 12) && !layout.fits(&[], 12));
    }
}
