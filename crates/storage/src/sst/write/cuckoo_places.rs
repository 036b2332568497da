//! Finds a bucket of a cuckoo table for each key.
//!
//! A key may be in any of the buckets of the blocks that its hash functions lead to. Readers look
//! at these in order, and stop at an unused one.
//!
//! Invariant: for each key that was placed, all buckets that a reader looks at before it are in
//! use. Buckets never become unused again: a key moves only to make room for another one, and into
//! the first unused one of its own buckets.

use crate::error::{Error, Result};
use crate::sst::format::cuckoo::CuckooHash;

/// The largest number of hash functions, RocksDB's.
const MAX_FUNCTIONS: u32 = 64;

/// A bucket that is not in use.
const UNUSED: u32 = u32::MAX;

/// Which key is in which bucket.
#[derive(Debug)]
pub(crate) struct CuckooPlaces {
    hash: CuckooHash,
    block_size: u64,
    max_depth: u32,
    functions: u32,
    /// The number of the key in each bucket.
    buckets: Vec<u32>,
    /// The last search that came to each bucket.
    searches: Vec<u32>,
    search: u32,
}

/// A bucket that a search has come to.
struct Node {
    bucket: usize,
    /// The node whose key could move here.
    parent: Option<usize>,
    depth: u32,
}

impl CuckooPlaces {
    /// All buckets unused. Each hash leads to `block_size` of them. At most `max_depth` keys move
    /// to make room for one.
    ///
    /// # Errors
    /// `NotSupported` for more buckets than RocksDB can count.
    pub(crate) fn new(hash: CuckooHash, block_size: u32, max_depth: u32) -> Result<Self> {
        let buckets = hash.table_size.saturating_add(u64::from(block_size) - 1);
        if buckets >= u64::from(i32::MAX as u32) {
            return Err(Error::not_supported(format_args!(
                "cuckoo table of {buckets} buckets"
            )));
        }
        Ok(CuckooPlaces {
            hash,
            block_size: u64::from(block_size),
            max_depth,
            functions: 2,
            buckets: vec![UNUSED; buckets as usize],
            searches: vec![0; buckets as usize],
            search: 0,
        })
    }

    /// Finds a bucket for each of the keys.
    ///
    /// # Errors
    /// `NotSupported` if there is none for one of them.
    pub(crate) fn place_all(&mut self, user_keys: &[&[u8]]) -> Result<()> {
        (0..user_keys.len()).try_for_each(|number| self.place(number, user_keys))
    }

    fn place(&mut self, number: usize, user_keys: &[&[u8]]) -> Result<()> {
        let key = user_keys[number];
        let mut full: Vec<usize> = Vec::new();
        let mut function = 0;
        let bucket = loop {
            if function == self.functions {
                if let Some(bucket) = self.make_room(&full, user_keys) {
                    break bucket;
                }
                if self.functions == MAX_FUNCTIONS {
                    return Err(Error::not_supported(
                        "cuckoo table: Too many collisions. Unable to hash.",
                    ));
                }
                // Older hash functions stay valid: no other key has to move.
                self.functions += 1;
            }
            let candidates = self.block(key, function);
            function += 1;
            let unused = candidates.clone().find(|&b| self.buckets[b] == UNUSED);
            match unused {
                Some(bucket) => break bucket,
                None => full.extend(candidates),
            }
        };
        self.buckets[bucket] = number as u32;
        Ok(())
    }

    /// The buckets for `key` by one hash function.
    fn block(&self, key: &[u8], function: u32) -> std::ops::Range<usize> {
        let first = self.hash.bucket(key, function);
        first.map_or(0..0, |first| {
            first as usize..(first + self.block_size) as usize
        })
    }

    /// Moves keys so that one of the buckets `full` can be used, and returns that one.
    fn make_room(&mut self, full: &[usize], user_keys: &[&[u8]]) -> Option<usize> {
        self.search += 1;
        let mut nodes: Vec<Node> = Vec::new();
        for &bucket in full {
            if std::mem::replace(&mut self.searches[bucket], self.search) != self.search {
                nodes.push(Node {
                    bucket,
                    parent: None,
                    depth: 0,
                });
            }
        }
        let mut at = 0;
        while at < nodes.len() && nodes[at].depth < self.max_depth {
            let (key, depth) = (self.buckets[nodes[at].bucket], nodes[at].depth + 1);
            let candidates: Vec<usize> = (0..self.functions)
                .flat_map(|function| self.block(user_keys[key as usize], function))
                .collect();
            for bucket in candidates {
                if std::mem::replace(&mut self.searches[bucket], self.search) == self.search {
                    continue;
                }
                nodes.push(Node {
                    bucket,
                    parent: Some(at),
                    depth,
                });
                if self.buckets[bucket] == UNUSED {
                    return Some(self.move_along(&nodes));
                }
            }
            at += 1;
        }
        None
    }

    /// Moves each key on the way to the last node one step on. Returns the bucket that the way
    /// begins with.
    fn move_along(&mut self, nodes: &[Node]) -> usize {
        let mut node = &nodes[nodes.len() - 1];
        while let Some(parent) = node.parent {
            self.buckets[node.bucket] = self.buckets[nodes[parent].bucket];
            node = &nodes[parent];
        }
        node.bucket
    }

    /// The number of hash functions that are needed to find all keys.
    pub(crate) fn functions(&self) -> u32 {
        self.functions
    }

    /// The number of the key in each bucket.
    pub(crate) fn buckets(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        let key = |&number: &u32| (number != UNUSED).then_some(number as usize);
        self.buckets.iter().map(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(places: &CuckooPlaces, keys: &[&[u8]]) {
        let taken = places.buckets().flatten().count();
        assert_eq!(taken, keys.len());
        for (number, key) in keys.iter().enumerate() {
            let mut ways = (0..places.functions()).flat_map(|f| places.block(key, f));
            let found = ways.find(|&bucket| {
                // Readers stop at an unused bucket.
                assert_ne!(places.buckets[bucket], UNUSED, "key {number}");
                places.buckets[bucket] == number as u32
            });
            assert!(found.is_some(), "key {number}");
        }
    }

    #[test]
    fn readers_find_every_key_of_nearly_full_tables() {
        let keys: Vec<[u8; 8]> = (0..1000u64).map(|n| (n * 7919).to_le_bytes()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        for (table_size, module) in [(1000, true), (1024, false), (2048, false)] {
            for identity_first in [false, true] {
                for (block_size, max_depth) in [(1, 100), (5, 100), (3, 0)] {
                    let hash = CuckooHash {
                        table_size,
                        identity_first,
                        module,
                    };
                    let mut places = CuckooPlaces::new(hash, block_size, max_depth).unwrap();
                    match places.place_all(&keys) {
                        Ok(()) => check(&places, &keys),
                        // A search that may not move anything gives up.
                        Err(e) => assert!(max_depth == 0 || block_size == 1, "{e}"),
                    }
                }
            }
        }
    }

    #[test]
    fn too_many_keys_are_refused() {
        let hash = CuckooHash {
            table_size: 1,
            identity_first: false,
            module: true,
        };
        let mut places = CuckooPlaces::new(hash, 1, 100).unwrap();
        assert!(places.place_all(&[b"a"]).is_ok());
        let mut places = CuckooPlaces::new(hash, 1, 100).unwrap();
        assert!(places.place_all(&[b"a", b"b"]).is_err());
        let mut none = CuckooPlaces::new(
            CuckooHash {
                table_size: 0,
                ..hash
            },
            1,
            100,
        )
        .unwrap();
        assert!(none.place_all(&[b"a"]).is_err());
    }
}
