//! The names of live transactions.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use whitewater_concurrent::key_hash::KeyHasher;
use whitewater_concurrent::system::Mutex;

/// Names are spread over so many sets, so that threads seldom meet at one lock.
const SETS: usize = 16;

/// A set of names that many threads change.
#[derive(Debug)]
pub(super) struct Names {
    hasher: NameHashing,
    /// Leaf locks.
    sets: [Mutex<HashSet<Arc<[u8]>, NameHashing>>; SETS],
}

impl Default for Names {
    fn default() -> Self {
        let hasher = NameHashing(KeyHasher::new());
        Names {
            hasher,
            sets: std::array::from_fn(|_| Mutex::new(HashSet::with_hasher(hasher))),
        }
    }
}

impl Names {
    /// Adds `name`. Returns whether it was not there.
    pub fn insert(&self, name: Arc<[u8]>) -> bool {
        self.set_of(&name).lock().insert(name)
    }

    /// Removes `name`.
    pub fn remove(&self, name: &[u8]) {
        self.set_of(name).lock().remove(name);
    }

    fn set_of(&self, name: &[u8]) -> &Mutex<HashSet<Arc<[u8]>, NameHashing>> {
        // A set goes by the low bits, and by the highest ones.
        let hash = self.hasher.0.hash(0, name) >> 32;
        &self.sets[hash as usize % SETS]
    }
}

/// Hashes names in a way that nobody can foresee.
#[derive(Debug, Clone, Copy)]
struct NameHashing(KeyHasher);

impl BuildHasher for NameHashing {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher {
            hasher: self.0,
            hash: 0,
        }
    }
}

struct NameHasher {
    hasher: KeyHasher,
    hash: u64,
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.hash = self.hash.rotate_left(1) ^ self.hasher.hash(0, bytes);
    }

    fn write_usize(&mut self, len: usize) {
        // The length of a name.
        self.hash ^= len as u64;
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_once_until_it_is_free() {
        let names = Names::default();
        let of = |n: u32| Arc::from(n.to_string().into_bytes());
        assert!((0..1000).all(|n| names.insert(of(n))));
        assert!((0..1000).all(|n| !names.insert(of(n))));
        names.remove(b"500");
        names.remove(b"none");
        assert!((0..1000).all(|n| names.insert(of(n)) == (n == 500)));
        let largest = names.sets.iter().map(|set| set.lock().len()).max();
        assert!(largest < Some(200), "{largest:?} of 1000 in one set");
    }
}
