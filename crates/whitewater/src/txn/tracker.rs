//! The keys that a transaction has read for update or written.

use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use whitewater_concurrent::key_hash::KeyHasher;
use whitewater_storage::key::SequenceNumber;

/// What is known about one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// The smallest number since which the key is known not to have been changed by others.
    pub valid_at: SequenceNumber,
    /// The number of reads for update.
    pub reads: u32,
    /// The number of writes.
    pub writes: u32,
    /// Whether it was wanted for this transaction alone.
    pub exclusive: bool,
}

/// One use of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub valid_at: SequenceNumber,
    /// A read for update; otherwise a write.
    pub read_only: bool,
    pub exclusive: bool,
}

/// What taking back a read for update has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenBack {
    /// There was none.
    Nothing,
    /// The key is still used.
    One,
    /// The key is no longer used.
    Last,
}

/// Up to so many keys are compared one after the other.
const FEW: usize = 8;

/// Up to so many keys, with so many bytes together, take no allocation.
const INLINE_KEYS: usize = 4;
const INLINE_BYTES: usize = 96;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A key that is or was in the set.
#[derive(Debug, Clone, Copy)]
struct Entry {
    family: u32,
    /// Where the key is in [`Tracker::bytes`].
    start: usize,
    len: usize,
    /// The entry before this one with the same hash, or [`NONE`].
    next: u32,
    /// Without uses the key is not in the set.
    tracked: Tracked,
}

impl Entry {
    fn is_used(&self) -> bool {
        self.tracked.reads > 0 || self.tracked.writes > 0
    }
}

/// A set of keys with their uses: those of a transaction, or those since a savepoint.
///
/// Most transactions use a few keys, and all of these end together. So keys are kept in the order
/// in which they were first used, which a simulation repeats, in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    entries: SmallVec<[Entry; INLINE_KEYS]>,
    /// The bytes of the keys.
    bytes: SmallVec<[u8; INLINE_BYTES]>,
    /// For each hash the newest entry with it, once there are more than a few.
    index: Option<Index>,
}

/// A map from hashes.
#[derive(Debug)]
struct Index {
    hasher: KeyHasher,
    newest: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
}

/// The hash of what is a hash.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not called for numbers.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Tracker {
    /// What is known about `key`.
    pub fn get(&self, family: u32, key: &[u8]) -> Option<Tracked> {
        let entry = &self.entries[self.find(family, key)?];
        entry.is_used().then_some(entry.tracked)
    }

    fn key(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..entry.start + entry.len]
    }

    /// The number of the entry of `key`, which may be without uses.
    fn find(&self, family: u32, key: &[u8]) -> Option<usize> {
        let is_it = |entry: &Entry| entry.family == family && self.key(entry) == key;
        let Some(index) = &self.index else {
            return self.entries.iter().position(is_it);
        };
        let mut at = *index.newest.get(&index.hasher.hash(family, key))?;
        loop {
            let entry = self.entries.get(at as usize)?;
            if is_it(entry) {
                return Some(at as usize);
            }
            at = entry.next;
        }
    }

    /// The entry of `key`, used in the set or not.
    fn find_mut(&mut self, family: u32, key: &[u8]) -> Option<&mut Entry> {
        let at = self.find(family, key)?;
        Some(&mut self.entries[at])
    }

    /// Adds an entry for `key`, which has none.
    fn add(&mut self, family: u32, key: &[u8], tracked: Tracked) {
        let at = self.entries.len();
        self.entries.push(Entry {
            family,
            start: self.bytes.len(),
            len: key.len(),
            next: NONE,
            tracked,
        });
        self.bytes.extend_from_slice(key);
        if self.index.is_some() {
            self.enter(at);
        } else if at >= FEW {
            self.index = Some(Index {
                hasher: KeyHasher::new(),
                newest: HashMap::default(),
            });
            (0..=at).for_each(|at| self.enter(at));
        }
    }

    /// Enters an entry into the index.
    fn enter(&mut self, at: usize) {
        let (family, key) = (self.entries[at].family, self.entries[at].start);
        let key = key..key + self.entries[at].len;
        if let Some(index) = &mut self.index {
            let hash = index.hasher.hash(family, &self.bytes[key]);
            let before = index.newest.insert(hash, at as u32);
            self.entries[at].next = before.unwrap_or(NONE);
        }
    }

    /// Counts a use of `key`.
    pub fn track(&mut self, family: u32, key: &[u8], used: Use) {
        let (reads, writes) = if used.read_only { (1, 0) } else { (0, 1) };
        let more = Tracked {
            valid_at: used.valid_at,
            reads,
            writes,
            exclusive: used.exclusive,
        };
        self.add_uses(family, key, more);
    }

    fn add_uses(&mut self, family: u32, key: &[u8], more: Tracked) {
        let Some(entry) = self.find_mut(family, key) else {
            return self.add(family, key, more);
        };
        if !entry.is_used() {
            entry.tracked = more;
            return;
        }
        let tracked = &mut entry.tracked;
        tracked.valid_at = tracked.valid_at.min(more.valid_at);
        tracked.exclusive |= more.exclusive;
        tracked.reads = tracked.reads.saturating_add(more.reads);
        tracked.writes = tracked.writes.saturating_add(more.writes);
    }

    /// Takes back one read for update of `key`.
    pub fn take_back(&mut self, family: u32, key: &[u8]) -> TakenBack {
        let entry = self.find_mut(family, key);
        let Some(entry) = entry.filter(|entry| entry.tracked.reads > 0) else {
            return TakenBack::Nothing;
        };
        entry.tracked.reads -= 1;
        if entry.is_used() {
            TakenBack::One
        } else {
            TakenBack::Last
        }
    }

    /// The keys of which `since`, a part of this set, has all uses.
    pub fn used_only_in(&self, since: &Tracker) -> Vec<(u32, Box<[u8]>)> {
        let mut keys = Vec::new();
        for (family, key, part) in since.iter() {
            let whole = self.get(family, key);
            if whole.is_some_and(|t| t.reads == part.reads && t.writes == part.writes) {
                keys.push((family, key.into()));
            }
        }
        keys
    }

    /// Removes the uses of `part`. A key without uses is forgotten.
    pub fn subtract(&mut self, part: &Tracker) {
        for (family, key, part) in part.iter() {
            if let Some(Entry { tracked, .. }) = self.find_mut(family, key) {
                tracked.reads = tracked.reads.saturating_sub(part.reads);
                tracked.writes = tracked.writes.saturating_sub(part.writes);
            }
        }
    }

    /// Adds the uses of `part`.
    pub fn merge(&mut self, part: &Tracker) {
        for (family, key, part) in part.iter() {
            self.add_uses(family, key, part);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.index = None;
    }

    /// The number of keys.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.iter().count()
    }

    /// The keys, in the order in which they were first used.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8], Tracked)> {
        let used = self.entries.iter().filter(|entry| entry.is_used());
        used.map(|entry| (entry.family, self.key(entry), entry.tracked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(valid_at: SequenceNumber) -> Use {
        Use {
            valid_at,
            read_only: true,
            exclusive: false,
        }
    }

    fn write(valid_at: SequenceNumber) -> Use {
        Use {
            valid_at,
            read_only: false,
            exclusive: true,
        }
    }

    #[test]
    fn a_key_keeps_its_smallest_number_and_its_strongest_mode() {
        let mut tracker = Tracker::default();
        tracker.track(0, b"k", read(7));
        tracker.track(0, b"k", write(9));
        tracker.track(0, b"k", read(5));
        let known = tracker.get(0, b"k").unwrap();
        assert_eq!((known.valid_at, known.exclusive), (5, true));
        assert_eq!((known.reads, known.writes), (2, 1));
        assert_eq!(tracker.get(1, b"k"), None);
    }

    #[test]
    fn a_key_is_forgotten_with_its_last_read_unless_it_was_written() {
        let mut tracker = Tracker::default();
        assert_eq!(tracker.take_back(0, b"k"), TakenBack::Nothing);
        tracker.track(0, b"k", read(1));
        tracker.track(0, b"k", read(1));
        assert_eq!(tracker.take_back(0, b"k"), TakenBack::One);
        assert_eq!(tracker.take_back(0, b"k"), TakenBack::Last);
        assert_eq!((tracker.get(0, b"k"), tracker.len()), (None, 0));
        tracker.track(0, b"k", read(1));
        tracker.track(0, b"k", write(1));
        assert_eq!(tracker.take_back(0, b"k"), TakenBack::One);
        assert_eq!(tracker.take_back(0, b"k"), TakenBack::Nothing);
    }

    #[test]
    fn what_was_used_before_a_savepoint_stays_when_it_is_rolled_back() {
        let (mut all, mut since) = (Tracker::default(), Tracker::default());
        all.track(0, b"before", write(1));
        all.track(0, b"both", read(1));
        for key in [&b"both"[..], b"after"] {
            all.track(0, key, write(2));
            since.track(0, key, write(2));
        }
        assert_eq!(all.used_only_in(&since), [(0, (*b"after").into())]);
        all.subtract(&since);
        assert_eq!(all.len(), 2);
        let both = all.get(0, b"both").unwrap();
        assert_eq!((both.reads, both.writes), (1, 0));
    }

    #[test]
    fn the_uses_of_two_savepoints_add_up() {
        let (mut outer, mut inner) = (Tracker::default(), Tracker::default());
        outer.track(0, b"k", read(4));
        inner.track(0, b"k", write(3));
        inner.track(2, b"k", write(3));
        outer.merge(&inner);
        let k = outer.get(0, b"k").unwrap();
        assert_eq!(
            (k.reads, k.writes, k.valid_at, k.exclusive),
            (1, 1, 3, true)
        );
        assert_eq!(outer.len(), 2);
    }

    #[test]
    fn of_many_keys_each_is_found_and_comes_in_the_order_of_its_first_use() {
        let mut tracker = Tracker::default();
        let keys: Vec<_> = (0..500_u32)
            .rev()
            .map(|n| n.to_string().repeat(3))
            .collect();
        for key in keys.iter().chain(&keys[100..200]) {
            for family in [3, 0] {
                tracker.track(family, key.as_bytes(), read(key.len() as u64));
            }
        }
        assert_eq!(tracker.len(), 1000);
        for (at, key) in keys.iter().enumerate() {
            let known = tracker.get(0, key.as_bytes()).unwrap();
            assert_eq!(known.reads, 1 + u32::from((100..200).contains(&at)));
            assert_eq!(known.valid_at, key.len() as u64);
        }
        assert_eq!(tracker.get(0, b"no"), None);
        let order: Vec<_> = tracker
            .iter()
            .map(|(family, key, _)| (family, key))
            .collect();
        let expected = keys
            .iter()
            .flat_map(|key| [(3, key.as_bytes()), (0, key.as_bytes())]);
        assert_eq!(order, expected.collect::<Vec<_>>());
        assert_eq!(tracker.take_back(3, keys[7].as_bytes()), TakenBack::Last);
        assert_eq!(tracker.get(3, keys[7].as_bytes()), None);
        assert_eq!(tracker.len(), 999);
        tracker.track(3, keys[7].as_bytes(), write(1));
        let again = tracker.get(3, keys[7].as_bytes()).unwrap();
        assert_eq!((again.valid_at, again.reads, again.writes), (1, 0, 1));
        tracker.clear();
        assert_eq!((tracker.len(), tracker.get(0, b"1")), (0, None));
    }
}
