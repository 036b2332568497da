//! Keys and values, which are made before anything is timed.

use std::ops::Range;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngCore, SeedableRng};

use crate::structure::Shape;

/// The number of bytes from which values are cut.
const POOL: usize = 1 << 16;

/// The number of neighbouring keys in a group of [`Input::clustered`].
pub const CLUSTER: usize = 16;

/// How keys are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Every byte of a key is random.
    Random,
    /// The keys of db_bench: consecutive 8-byte big-endian numbers, then zeros ('0').
    Dense,
}

/// All entries that the workloads insert and look for.
#[derive(Debug)]
pub struct Input {
    /// The sizes of the entries.
    pub shape: Shape,
    /// The keys in key order.
    pub sorted: Order,
    /// The keys in the random order in which they are inserted.
    pub fill: Order,
    /// The keys in groups of [`CLUSTER`] neighbours. The groups, and the keys of each, are in
    /// random order.
    pub clustered: Order,
    /// The keys in another random order, in which they are read.
    pub read: Order,
    values: Values,
}

impl Input {
    /// Different keys, in several orders, generated from `seed`.
    ///
    /// # Errors
    /// There are fewer possible keys of this size than entries requested.
    pub fn new(shape: Shape, spread: Spread, seed: u64) -> Result<Self, String> {
        let Shape {
            entries, key_size, ..
        } = shape;
        if u32::try_from(entries).is_err() {
            return Err(format!(
                "{entries} entries are more than 32 bits can number"
            ));
        }
        // At most half of the possible keys are used, so that random ones are soon found.
        let bits = (key_size * 8).min(64) as u32;
        if entries as u128 * 2 > 1_u128 << bits {
            return Err(format!(
                "keys of {key_size} bytes are too few for {entries} entries"
            ));
        }
        let mut rng = StdRng::seed_from_u64(seed);
        let keys = match spread {
            Spread::Random => random_keys(entries, key_size, &mut rng),
            Spread::Dense => dense_keys(entries, key_size),
        };
        let sorted = Order {
            key_size,
            ids: (0..entries as u32).collect(),
            keys,
        };
        let fill = sorted.shuffled(&mut rng);
        let read = sorted.shuffled(&mut rng);
        let clustered = sorted.clustered(&mut rng);
        let mut pool = vec![0; POOL + shape.value_size];
        rng.fill_bytes(&mut pool);
        Ok(Input {
            shape,
            sorted,
            fill,
            clustered,
            read,
            values: Values {
                pool,
                size: shape.value_size,
            },
        })
    }

    /// The value of the entry with this number.
    #[inline]
    pub fn value(&self, id: u32) -> &[u8] {
        let at = (id as usize * 64 + (id >> 10) as usize) % POOL;
        &self.values.pool[at..at + self.values.size]
    }

    /// The keys of the first `count` entries of the filling order, in the order of reading.
    /// These are the contents of a structure that was filled only so far.
    pub fn read_among(&self, count: usize) -> Order {
        let mut held = vec![false; self.shape.entries];
        for id in &self.fill.ids[..count] {
            held[*id as usize] = true;
        }
        let ids = self.read.ids.iter().copied();
        self.sorted.picked(ids.filter(|id| held[*id as usize]))
    }
}

#[derive(Debug)]
struct Values {
    pool: Vec<u8>,
    size: usize,
}

/// Keys in some order, stored contiguously, with the numbers of their entries. The number
/// of an entry is its position in the sorted order.
#[derive(Debug)]
pub struct Order {
    key_size: usize,
    ids: Vec<u32>,
    keys: Vec<u8>,
}

impl Order {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The entry numbers and keys in `range`.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> impl Iterator<Item = (u32, &[u8])> + Clone {
        let keys = &self.keys[range.start * self.key_size..range.end * self.key_size];
        let ids = self.ids[range].iter().copied();
        ids.zip(keys.chunks_exact(self.key_size))
    }

    /// The range of keys that thread `thread` of `threads` gets.
    pub fn share(&self, thread: usize, threads: usize) -> Range<usize> {
        share(0..self.len(), thread, threads)
    }

    fn shuffled(&self, rng: &mut StdRng) -> Order {
        let mut ids = self.ids.clone();
        ids.shuffle(rng);
        self.picked(ids.into_iter())
    }

    fn clustered(&self, rng: &mut StdRng) -> Order {
        let mut groups: Vec<_> = self.ids.chunks(CLUSTER).map(<[u32]>::to_vec).collect();
        groups.shuffle(rng);
        for group in &mut groups {
            group.shuffle(rng);
        }
        self.picked(groups.into_iter().flatten())
    }

    /// The keys of the entries with these numbers; `self` is the sorted order.
    fn picked(&self, ids: impl Iterator<Item = u32>) -> Order {
        let ids: Vec<u32> = ids.collect();
        let mut keys = Vec::with_capacity(ids.len() * self.key_size);
        for id in &ids {
            let at = *id as usize * self.key_size;
            keys.extend_from_slice(&self.keys[at..at + self.key_size]);
        }
        Order {
            key_size: self.key_size,
            ids,
            keys,
        }
    }
}

/// The part of `range` that thread `thread` gets if `threads` share it evenly.
pub fn share(range: Range<usize>, thread: usize, threads: usize) -> Range<usize> {
    let at = |thread: usize| range.start + range.len() * thread / threads;
    at(thread)..at(thread + 1)
}

/// Random keys that all differ, sorted and stored contiguously.
fn random_keys(entries: usize, key_size: usize, rng: &mut StdRng) -> Vec<u8> {
    let mut keys: Vec<Box<[u8]>> = Vec::with_capacity(entries);
    while keys.len() < entries {
        while keys.len() < entries {
            let key = (0..key_size).map(|_| rng.random());
            keys.push(key.collect());
        }
        keys.sort_unstable();
        keys.dedup();
    }
    keys.concat()
}

/// The first `entries` numbers as keys, sorted and stored contiguously.
fn dense_keys(entries: usize, key_size: usize) -> Vec<u8> {
    let mut keys = Vec::with_capacity(entries * key_size);
    let number = key_size.min(8);
    for id in 0..entries as u64 {
        keys.extend_from_slice(&id.to_be_bytes()[8 - number..]);
        keys.resize(keys.len() + key_size - number, b'0');
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_concurrent::region::HugePages;

    fn input(spread: Spread, key_size: usize) -> Input {
        let shape = Shape {
            entries: 100,
            key_size,
            value_size: 3,
            pages: HugePages::Off,
        };
        Input::new(shape, spread, 1).expect("enough keys")
    }

    #[test]
    fn keys_are_sorted_and_all_orders_have_the_same() {
        for (spread, key_size) in [
            (Spread::Random, 1),
            (Spread::Random, 16),
            (Spread::Dense, 1),
            (Spread::Dense, 8),
            (Spread::Dense, 20),
        ] {
            let input = input(spread, key_size);
            let keys: Vec<_> = input.sorted.part(0..100).map(|(_, key)| key).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "{spread:?} {key_size}");
            for order in [&input.fill, &input.clustered, &input.read] {
                let mut entries: Vec<_> = order.part(0..100).collect();
                assert!(!entries.is_sorted());
                entries.sort_unstable();
                assert!(entries.into_iter().eq(input.sorted.part(0..100)));
            }
        }
    }

    #[test]
    fn too_many_entries_for_the_keys_are_refused() {
        let shape = Shape {
            entries: 129,
            key_size: 1,
            value_size: 0,
            pages: HugePages::Off,
        };
        let refused = Input::new(shape, Spread::Dense, 1).expect_err("129 of 256");
        assert!(refused.contains("129 entries"), "{refused}");
    }

    #[test]
    fn shares_cover_everything_once() {
        for (length, threads) in [(10, 3), (2, 5), (0, 2), (64, 64)] {
            let all = (0..threads).flat_map(|thread| share(7..7 + length, thread, threads));
            assert!(all.eq(7..7 + length), "{length} {threads}");
        }
    }

    #[test]
    fn keys_of_a_half_filled_structure() {
        let input = input(Spread::Random, 16);
        let some = input.read_among(40);
        let mut expected: Vec<_> = input.fill.part(0..40).collect();
        let mut found: Vec<_> = some.part(0..some.len()).collect();
        assert_ne!(expected, found);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(expected, found);
    }
}
