//! The index that a plain table may have in the file: a hash table from prefixes to offsets.
//!
//! A bucket is a number of 32 bits: the offset of the only entry that the index has for it, or with
//! the highest bit set the offset of a list behind the buckets: the number of entries, then their
//! offsets. Without prefixes there is one bucket.

use crate::coding::{put_fixed32, put_varint32};
use crate::sst::filter::plain_hash;
use crate::sst::format::plain::MAX_PLAIN_TABLE;

/// Marks buckets with a list.
const LIST: u32 = 1 << 31;

/// Collects the entries of the index.
#[derive(Debug, Default)]
pub(crate) struct PlainIndexBuilder {
    /// Hashes of prefixes, and offsets of entries.
    records: Vec<(u32, u32)>,
    prefix: Vec<u8>,
    prefixes: u32,
    /// Keys with `prefix` so far.
    keys: u64,
    /// Whether the next key gets an entry, even if it has the same prefix.
    is_due: bool,
}

impl PlainIndexBuilder {
    /// Sees the key at `offset`, which has this prefix, empty if there are none.
    pub(crate) fn add(&mut self, prefix: &[u8], offset: u32, sparseness: u64) {
        if self.prefixes == 0 || self.prefix != prefix {
            self.prefixes += 1;
            self.prefix.clear();
            self.prefix.extend_from_slice(prefix);
            self.keys = 0;
            self.is_due = true;
        }
        if self.is_due {
            self.records.push((plain_hash(prefix), offset));
            self.is_due = false;
        }
        self.keys += 1;
        self.is_due = sparseness == 0 || self.keys.is_multiple_of(sparseness);
    }

    /// Approximate bytes of the index if it were finished now.
    pub(crate) fn estimated_len(&self) -> usize {
        8 * self.records.len()
    }

    /// The index, with `ratio` prefixes per bucket; one bucket if it is `None`.
    pub(crate) fn finish(&self, ratio: Option<f64>) -> Vec<u8> {
        let buckets = match ratio {
            Some(ratio) => (f64::from(self.prefixes) / ratio) as u32 + 1,
            None => 1,
        };
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); buckets as usize];
        for &(hash, offset) in &self.records {
            lists[(hash % buckets) as usize].push(offset);
        }
        let mut out = Vec::new();
        put_varint32(&mut out, buckets);
        put_varint32(&mut out, self.prefixes);
        let mut behind = Vec::new();
        for list in lists {
            match list[..] {
                [] => put_fixed32(&mut out, MAX_PLAIN_TABLE as u32),
                [only] => put_fixed32(&mut out, only),
                _ => {
                    put_fixed32(&mut out, LIST | behind.len() as u32);
                    put_varint32(&mut behind, list.len() as u32);
                    list.iter().for_each(|&at| put_fixed32(&mut behind, at));
                }
            }
        }
        out.extend_from_slice(&behind);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bucket_lists_every_second_key() {
        let mut index = PlainIndexBuilder::default();
        for at in 0..5 {
            index.add(b"", 10 * at, 2);
        }
        let mut expected = vec![1, 1, 0, 0, 0, 0x80, 3];
        for at in [0u32, 20, 40] {
            expected.extend_from_slice(&at.to_le_bytes());
        }
        assert_eq!(index.finish(None), expected);
    }

    #[test]
    fn every_prefix_has_its_first_key_in_its_bucket() {
        let mut index = PlainIndexBuilder::default();
        for n in 0..100u32 {
            index.add(&(n / 4).to_le_bytes(), n, 16);
        }
        let bytes = index.finish(Some(0.5));
        assert_eq!(bytes[..2], [51, 25]);
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        for prefix in 0..25u32 {
            let hash = plain_hash(&prefix.to_le_bytes());
            let bucket = number(2 + 4 * (hash % 51) as usize);
            if bucket & LIST == 0 {
                assert_eq!(bucket, prefix * 4);
            } else {
                let list = 2 + 4 * 51 + (bucket ^ LIST) as usize;
                let len = usize::from(bytes[list]);
                let mut offsets = (0..len).map(|at| number(list + 1 + 4 * at));
                assert!(offsets.any(|at| at == prefix * 4));
            }
        }
    }
}
