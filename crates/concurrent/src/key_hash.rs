//! The hash of a key and its column family: eight bytes at a time are multiplied, and both
//! halves of the product are kept.

use crate::sync::MODELLED;
use crate::system;
use std::hash::{BuildHasher, RandomState};

const FACTORS: [u64; 3] = [
    0x9e37_79b9_7f4a_7c15,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
];

/// Hashes keys in a way that nobody can foresee.
#[derive(Debug, Clone, Copy)]
pub struct KeyHasher {
    /// What the words of keys meet, so that nobody can choose keys with equal hashes.
    secret: u64,
}

impl Default for KeyHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyHasher {
    /// A hasher with a secret of its own.
    pub fn new() -> Self {
        // Every run of a simulation, and of a model, must have the same collisions.
        Self::from_seed(match system::random() {
            _ if MODELLED => 1,
            Some(random) => random as u64,
            None => RandomState::new().hash_one(0),
        })
    }

    fn from_seed(seed: u64) -> Self {
        KeyHasher {
            secret: fold(seed ^ FACTORS[0], FACTORS[1]),
        }
    }

    /// The hash of `key` in `family`. Its high and its low bits are equally good.
    #[inline]
    pub fn hash(self, family: u32, key: &[u8]) -> u64 {
        hash(self.secret, family, key)
    }
}

fn hash(secret: u64, family: u32, key: &[u8]) -> u64 {
    let mut state = secret.rotate_left(32) ^ u64::from(family).wrapping_mul(FACTORS[2]);
    let mut rest = key;
    while rest.len() > 16 {
        state = fold(word(rest, 0) ^ secret, word(rest, 8) ^ state);
        rest = &rest[16..];
    }
    let n = rest.len();
    let (a, b) = match n {
        8.. => (word(rest, 0), word(rest, n - 8)),
        4.. => (half(rest, 0), half(rest, n - 4)),
        1.. => {
            let [first, middle, last] = [rest[0], rest[n / 2], rest[n - 1]].map(u64::from);
            (first << 16 | middle << 8 | last, 0)
        }
        0 => (0, 0),
    };
    let mixed = fold(a ^ secret ^ FACTORS[2], b ^ state);
    fold(mixed ^ key.len() as u64, FACTORS[0])
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let (eight, _) = bytes[at..].split_first_chunk().expect("eight bytes");
    u64::from_le_bytes(*eight)
}

fn half(bytes: &[u8], at: usize) -> u64 {
    let (four, _) = bytes[at..].split_first_chunk().expect("four bytes");
    u32::from_le_bytes(*four).into()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::KeyHasher;
    use std::collections::BTreeSet;

    #[test]
    fn keys_that_differ_in_a_bit_a_length_or_a_family_differ_in_their_hash() {
        let one = KeyHasher::from_seed(1);
        let mut seen = BTreeSet::new();
        let mut wanted = 0;
        for length in 0..40 {
            let mut key = vec![0; length];
            seen.insert(one.hash(0, &key));
            seen.insert(one.hash(1, &key));
            wanted += 2;
            for bit in 0..length * 8 {
                key[bit / 8] ^= 1 << (bit % 8);
                seen.insert(one.hash(0, &key));
                key[bit / 8] ^= 1 << (bit % 8);
                wanted += 1;
            }
        }
        assert_eq!(seen.len(), wanted);
        assert_ne!(one.hash(0, b"key"), KeyHasher::from_seed(2).hash(0, b"key"));
    }

    #[test]
    fn numbers_as_keys_spread_over_high_and_low_bits() {
        let hasher = KeyHasher::from_seed(7);
        for shift in [0, 58] {
            let mut counts = [0_u32; 64];
            for i in 0..64_000_u64 {
                let key = format!("{i:016}");
                counts[(hasher.hash(0, key.as_bytes()) >> shift) as usize % 64] += 1;
            }
            assert!(
                counts.iter().all(|n| (800..1_200).contains(n)),
                "{counts:?}"
            );
        }
    }
}
