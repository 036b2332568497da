//! The hash table at the end of a data block: maps a user key to the restart point after which it
//! stands.
//!
//! It has one byte per bucket, then the number of buckets. A bucket holds a restart point, or says
//! that no key of the block falls into it, or that keys of several restart points do. In the last
//! case the block is searched as usual.

use crate::sst::format::hash64::hash32;

const SEED: u32 = 397;
/// A bucket that keys of several restart points fall into.
const COLLISION: u8 = 254;
/// A bucket that no key falls into.
const EMPTY: u8 = 255;
/// How many restart points a bucket can name.
const MAX_RESTARTS: usize = 253;
/// The largest block with a hash table, in bytes.
const MAX_BLOCK: usize = 64 << 10;
/// The largest number of buckets: it has 16 bits, and is odd.
const MAX_BUCKETS: usize = (u16::MAX - 2) as usize;

/// Collects the keys of a block.
#[derive(Debug)]
pub(crate) struct HashTableBuilder {
    util_ratio: f64,
    /// Hashes of the user keys, and the numbers of their restart points.
    keys: Vec<(u32, u8)>,
    /// Whether a bucket can name the restart points of all keys so far.
    usable: bool,
}

impl HashTableBuilder {
    /// A table with `util_ratio` keys per bucket, or with 0.75 if that is not above 0.
    pub(crate) fn new(util_ratio: f64) -> Self {
        HashTableBuilder {
            util_ratio: if util_ratio > 0.0 { util_ratio } else { 0.75 },
            keys: Vec::new(),
            usable: true,
        }
    }

    pub(crate) fn add(&mut self, user_key: &[u8], restart: usize) {
        match u8::try_from(restart) {
            Ok(restart) if usize::from(restart) < MAX_RESTARTS => {
                self.keys.push((hash32(user_key, SEED), restart));
            }
            _ => self.usable = false,
        }
    }

    fn buckets(&self) -> usize {
        let buckets = self.keys.len() as f64 / self.util_ratio;
        (buckets as usize).min(MAX_BUCKETS) | 1
    }

    /// The size of the table in bytes if it were finished now.
    pub(crate) fn len(&self) -> usize {
        if self.usable { self.buckets() + 2 } else { 0 }
    }

    /// Appends the table to a block that ends with its restart points. Returns whether the block
    /// gets a table.
    pub(crate) fn finish(&self, block: &mut Vec<u8>) -> bool {
        if !self.usable || block.len() + self.len() + 4 > MAX_BLOCK {
            return false;
        }
        let at = block.len();
        let buckets = self.buckets();
        block.resize(at + buckets, EMPTY);
        for &(hash, restart) in &self.keys {
            let bucket = &mut block[at + hash as usize % buckets];
            match *bucket {
                EMPTY => *bucket = restart,
                same if same == restart => {}
                _ => *bucket = COLLISION,
            }
        }
        block.extend_from_slice(&(buckets as u16).to_le_bytes());
        true
    }

    pub(crate) fn reset(&mut self) {
        self.keys.clear();
        self.usable = true;
    }
}

/// The answer of a hash table to a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The block does not hold the key.
    Nowhere,
    /// If the block holds the key, it is after this restart point and before the next one.
    After(usize),
    /// The block must be searched.
    Unknown,
}

/// Looks up a key in the table of `buckets`.
#[inline]
pub(crate) fn find(buckets: &[u8], user_key: &[u8]) -> Found {
    if buckets.is_empty() {
        return Found::Unknown;
    }
    match buckets[hash32(user_key, SEED) as usize % buckets.len()] {
        EMPTY => Found::Nowhere,
        COLLISION => Found::Unknown,
        restart => Found::After(restart.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_at_their_restart_points() {
        let key = |i: usize| format!("key{i:04}").into_bytes();
        let mut b = HashTableBuilder::new(0.75);
        (0..300).for_each(|i| b.add(&key(i), i / 16));
        let mut block = vec![1, 2, 3];
        assert!(b.finish(&mut block));
        assert_eq!(block.len(), 3 + b.len());
        let (head, number) = block.split_last_chunk::<2>().expect("two bytes");
        let buckets = &head[3..];
        assert_eq!(buckets.len(), usize::from(u16::from_le_bytes(*number)));
        assert_eq!(buckets.len(), 401);
        let mut direct = 0;
        for i in 0..300 {
            match find(buckets, &key(i)) {
                Found::After(restart) => {
                    assert_eq!(restart, i / 16);
                    direct += 1;
                }
                Found::Unknown => {}
                Found::Nowhere => panic!("{i} is lost"),
            }
        }
        assert!(direct > 100, "{direct}");
        let absent = (300..600).filter(|&i| find(buckets, &key(i)) == Found::Nowhere);
        assert!(absent.count() > 100);
        assert_eq!(find(&[], b"k"), Found::Unknown);
    }

    #[test]
    fn large_blocks_have_none() {
        let mut b = HashTableBuilder::new(0.0);
        b.add(b"k", 252);
        assert!(b.finish(&mut vec![0; 1000]));
        assert!(!b.finish(&mut vec![0; MAX_BLOCK]));
        b.add(b"l", 253);
        assert!(!b.finish(&mut vec![0; 1000]));
        assert_eq!(b.len(), 0);
        b.reset();
        b.add(b"k", 0);
        assert!(b.finish(&mut Vec::new()));
    }
}
