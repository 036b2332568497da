//! The keys that a transaction has read for update or written.

use std::collections::BTreeMap;
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

/// A set of keys with their uses: those of a transaction, or those since a savepoint.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// By column family. Locks are given back in this order, which a simulation repeats.
    families: BTreeMap<u32, BTreeMap<Box<[u8]>, Tracked>>,
}

impl Tracker {
    /// What is known about `key`.
    pub fn get(&self, family: u32, key: &[u8]) -> Option<Tracked> {
        self.families.get(&family)?.get(key).copied()
    }

    /// Counts a use of `key`.
    pub fn track(&mut self, family: u32, key: &[u8], used: Use) {
        let keys = self.families.entry(family).or_default();
        // Looked up first, so that a known key is not copied.
        if !keys.contains_key(key) {
            let new = Tracked {
                valid_at: used.valid_at,
                reads: 0,
                writes: 0,
                exclusive: false,
            };
            keys.insert(key.into(), new);
        }
        let Some(tracked) = keys.get_mut(key) else {
            return;
        };
        tracked.valid_at = tracked.valid_at.min(used.valid_at);
        tracked.exclusive |= used.exclusive;
        let count = if used.read_only {
            &mut tracked.reads
        } else {
            &mut tracked.writes
        };
        *count = count.saturating_add(1);
    }

    /// Takes back one read for update of `key`.
    pub fn take_back(&mut self, family: u32, key: &[u8]) -> TakenBack {
        let Some(keys) = self.families.get_mut(&family) else {
            return TakenBack::Nothing;
        };
        let Some(tracked) = keys.get_mut(key).filter(|t| t.reads > 0) else {
            return TakenBack::Nothing;
        };
        tracked.reads -= 1;
        if tracked.reads > 0 || tracked.writes > 0 {
            return TakenBack::One;
        }
        keys.remove(key);
        TakenBack::Last
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
            let Some(keys) = self.families.get_mut(&family) else {
                continue;
            };
            let Some(tracked) = keys.get_mut(key) else {
                continue;
            };
            tracked.reads = tracked.reads.saturating_sub(part.reads);
            tracked.writes = tracked.writes.saturating_sub(part.writes);
            if tracked.reads == 0 && tracked.writes == 0 {
                keys.remove(key);
            }
        }
    }

    /// Adds the uses of `part`.
    pub fn merge(&mut self, part: Tracker) {
        for (family, part) in part.families {
            let keys = self.families.entry(family).or_default();
            for (key, part) in part {
                let tracked = keys.entry(key).or_insert(Tracked {
                    reads: 0,
                    writes: 0,
                    ..part
                });
                tracked.valid_at = tracked.valid_at.min(part.valid_at);
                tracked.reads = tracked.reads.saturating_add(part.reads);
                tracked.writes = tracked.writes.saturating_add(part.writes);
                tracked.exclusive |= part.exclusive;
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.families.clear();
    }

    /// The number of keys.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.families.values().map(BTreeMap::len).sum()
    }

    /// The keys, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8], Tracked)> {
        let families = self.families.iter();
        families.flat_map(|(&family, keys)| keys.iter().map(move |(k, t)| (family, &k[..], *t)))
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
        outer.merge(inner);
        let k = outer.get(0, b"k").unwrap();
        assert_eq!(
            (k.reads, k.writes, k.valid_at, k.exclusive),
            (1, 1, 3, true)
        );
        assert_eq!(outer.len(), 2);
    }
}
