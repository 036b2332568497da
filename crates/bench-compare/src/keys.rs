//! What keys and values look like.
//!
//! A key is the number of its record, mixed and written as 16 hexadecimal digits, so that
//! records that are inserted one after the other are in no order, as in YCSB with
//! `insertorder=hashed`. YCSB hashes numbers, which may make two records of one; this mixing
//! never does. A value begins with the number of its record, which reads check, and goes on with
//! bytes of which a compressor can save about half, as db_bench's.

use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use whitewater_tools::bench::keygen::{Rng, below};

/// The length of a key, in bytes.
pub const KEY_SIZE: usize = 16;
/// The shortest values, in bytes: the number of the record.
pub const VALUE_SIZE_LEAST: usize = 8;
/// Added to the number of a record, gives the number of one that no mix inserts.
pub const ABSENT: u64 = 1 << 62;

/// A key.
pub type Key = [u8; KEY_SIZE];

/// The key of a record.
pub fn key(record: u64) -> Key {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // The last steps of splitmix64, each of which can be undone: no two numbers become one.
    let mut mixed = record;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    std::array::from_fn(|at| DIGITS[(mixed >> (60 - 4 * at)) as usize & 15])
}

/// Bytes that values are cut from, shared by all threads.
#[derive(Clone, Debug)]
pub struct Values {
    size: usize,
    bytes: Vec<u8>,
}

impl Values {
    /// Values of `size` bytes, at least [`VALUE_SIZE_LEAST`].
    pub fn new(size: usize, seed: u64) -> Self {
        /// Random bytes of this length follow each other, each with its copy.
        const PIECE: usize = 50;
        let mut rng = Rng::seed_from_u64(seed);
        let mut bytes = Vec::new();
        while bytes.len() < (1 << 20) + size {
            let mut piece = [0; PIECE];
            rng.fill_bytes(&mut piece);
            bytes.extend(piece);
            bytes.extend(piece);
        }
        Self { size, bytes }
    }

    /// Makes `value` a new value of a record.
    pub fn fill(&self, value: &mut Vec<u8>, record: u64, rng: &mut Rng) {
        let at = below(rng, (self.bytes.len() - self.size) as u64) as usize;
        value.clear();
        value.extend_from_slice(&self.bytes[at..at + self.size]);
        value[..8].copy_from_slice(&record.to_le_bytes());
    }

    /// Whether `value` is one of this record. Reads all of it.
    pub fn fits(&self, value: &[u8], record: u64) -> bool {
        let sum = value.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        std::hint::black_box(sum);
        value.len() == self.size && value[..8] == record.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_different_and_in_no_order() {
        let keys: Vec<_> = (0..10_000)
            .chain(ABSENT..ABSENT + 10_000)
            .map(key)
            .collect();
        let sorted: BTreeSet<_> = keys.iter().collect();
        assert_eq!(sorted.len(), keys.len());
        assert!(!keys.is_sorted());
        assert!(keys[1].iter().all(u8::is_ascii_hexdigit));
    }

    #[test]
    fn a_value_fits_its_record_only() {
        let values = Values::new(100, 1);
        let mut value = Vec::new();
        values.fill(&mut value, 12, &mut Rng::seed_from_u64(2));
        assert_eq!(value.len(), 100);
        assert!(values.fits(&value, 12) && !values.fits(&value, 13));
        assert!(!values.fits(&value[..99], 12) && !values.fits(&[], 12));
    }
}
