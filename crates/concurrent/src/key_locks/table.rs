//! A shard of the lock table: entries by hash, family and key.
//!
//! Slots are probed one after the other. They hold numbers of entries, so that entries stay
//! where they are and are recycled with the memory of their keys: locking allocates nothing
//! once a shard has had as many locks.

use super::entry::{Blockers, Entry};
use super::owner::LockOwner;
use super::{LockError, LockMode};
use crate::sync::unmodelled::AtomicU64;
use crate::sync::{Arc, Ordering};

/// A key to lock, with its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub hash: u64,
    pub family: u32,
    pub key: &'a [u8],
}

/// A column family, as each shard knows it.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pub id: u32,
    /// How many keys are locked, if that is limited. All shards count in it.
    /// Written by: threads that lock and unlock, each under the lock of its shard. Read by:
    /// the same. Publishes nothing.
    pub locked: Arc<AtomicU64>,
}

/// A slot of the hash table.
#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u64,
    /// The number of an entry, or [`EMPTY`].
    entry: u32,
}

const EMPTY: u32 = u32::MAX;
const NO_ENTRY: Slot = Slot {
    hash: 0,
    entry: EMPTY,
};

/// Shards with fewer slots stay as they are when they become empty.
const FEWEST_SLOTS: usize = 16;

#[derive(Debug)]
pub(super) struct Shard {
    /// Sorted by number.
    families: Vec<Family>,
    /// A power of two, at most three quarters of them in use.
    slots: Vec<Slot>,
    entries: Vec<Entry>,
    /// Entries that can be used again.
    free: Vec<u32>,
}

/// What became of an attempt to lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Locked,
    Failed(LockError),
    /// Others hold it.
    Conflict,
}

impl Shard {
    pub fn new() -> Self {
        Shard {
            families: Vec::new(),
            slots: vec![NO_ENTRY; FEWEST_SLOTS],
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    fn family(&self, id: u32) -> Result<usize, usize> {
        self.families.binary_search_by_key(&id, |family| family.id)
    }

    pub fn add_family(&mut self, family: Family) {
        if let Err(at) = self.family(family.id) {
            self.families.insert(at, family);
        }
    }

    /// Forgets a family and its locks, and ends all waits for them.
    pub fn remove_family(&mut self, id: u32) {
        let Ok(at) = self.family(id) else {
            return;
        };
        let in_use = self.slots.iter().filter(|slot| slot.entry != EMPTY);
        let its_own = in_use.filter(|slot| self.entries[slot.entry as usize].family == id);
        for slot in its_own.copied().collect::<Vec<_>>() {
            self.entries[slot.entry as usize].end_waits();
            self.remove(slot.hash, slot.entry);
        }
        self.families.remove(at);
        self.shrink();
    }

    /// Takes the lock if nobody stands in the way.
    pub fn try_lock(
        &mut self,
        place: Place<'_>,
        owner: &Arc<LockOwner>,
        mode: LockMode,
        most: Option<u64>,
    ) -> Attempt {
        if let Some(entry) = self.get_mut(place) {
            return match entry.try_take(owner, mode) {
                true => Attempt::Locked,
                false => Attempt::Conflict,
            };
        }
        let Ok(family) = self.family(place.family) else {
            return Attempt::Failed(LockError::NoFamily);
        };
        if let Some(most) = most {
            let locked = &self.families[family].locked;
            let one_more = |n| (n < most).then_some(n + 1);
            if (locked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)).is_err() {
                return Attempt::Failed(LockError::Limit);
            }
        }
        let taken = self.insert(place).try_take(owner, mode);
        debug_assert!(taken, "nobody holds a new entry");
        Attempt::Locked
    }

    /// Makes `owner` a holder, beside other holders and beyond the limit. Returns whether the
    /// family is there.
    pub fn restore(&mut self, place: Place<'_>, owner: &Arc<LockOwner>, limited: bool) -> bool {
        if let Some(entry) = self.get_mut(place) {
            entry.restore(owner);
            return true;
        }
        let Ok(family) = self.family(place.family) else {
            return false;
        };
        if limited {
            self.families[family].locked.fetch_add(1, Ordering::Relaxed);
        }
        self.insert(place).restore(owner);
        true
    }

    /// Gives up the lock of `id`, and hands it on. Forgets the entry if nobody wants it.
    pub fn unlock(&mut self, place: Place<'_>, id: u64, limited: bool) {
        let Some(slot) = self.find(place) else {
            return;
        };
        let number = self.slots[slot].entry;
        let entry = &mut self.entries[number as usize];
        entry.release(id);
        if !entry.is_free() {
            return entry.settle();
        }
        if limited && let Ok(family) = self.family(place.family) {
            let locked = &self.families[family].locked;
            locked.fetch_sub(1, Ordering::Relaxed);
        }
        self.remove_slot(slot);
        self.shrink();
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let in_use = self.slots.iter().filter(|slot| slot.entry != EMPTY);
        in_use.map(|slot| &self.entries[slot.entry as usize])
    }

    /// What the waiter of `id` waits for at a key, if it does.
    pub fn blockers(&self, place: Place<'_>, id: u64) -> Option<Blockers> {
        let slot = self.find(place)?;
        self.entries[self.slots[slot].entry as usize].blockers(id)
    }

    pub fn get_mut(&mut self, place: Place<'_>) -> Option<&mut Entry> {
        let slot = self.find(place)?;
        Some(&mut self.entries[self.slots[slot].entry as usize])
    }

    /// The slot of an entry.
    fn find(&self, place: Place<'_>) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut at = place.hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.entry == EMPTY {
                return None;
            }
            if slot.hash == place.hash {
                let entry = &self.entries[slot.entry as usize];
                if entry.family == place.family && entry.key == place.key {
                    return Some(at);
                }
            }
            at = (at + 1) & mask;
        }
    }

    fn live(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn insert(&mut self, place: Place<'_>) -> &mut Entry {
        if (self.live() + 1) * 4 > self.slots.len() * 3 {
            self.resize(self.slots.len() * 2);
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len() as u32 - 1
        });
        self.link(place.hash, number);
        let entry = &mut self.entries[number as usize];
        entry.family = place.family;
        entry.key.extend_from_slice(place.key);
        entry
    }

    fn link(&mut self, hash: u64, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].entry != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = Slot { hash, entry };
    }

    fn remove(&mut self, hash: u64, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].entry != entry {
            at = (at + 1) & mask;
        }
        self.remove_slot(at);
    }

    /// Empties a slot, and moves those behind it that would no longer be found.
    fn remove_slot(&mut self, slot: usize) {
        let number = self.slots[slot].entry;
        self.entries[number as usize].recycle();
        self.free.push(number);
        let mask = self.slots.len() - 1;
        let (mut hole, mut at) = (slot, slot);
        loop {
            at = (at + 1) & mask;
            let next = self.slots[at];
            if next.entry == EMPTY {
                break;
            }
            let home = next.hash as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = next;
                hole = at;
            }
        }
        self.slots[hole] = NO_ENTRY;
    }

    /// Gives memory back when most of it is unused.
    fn shrink(&mut self) {
        if self.slots.len() > FEWEST_SLOTS * 16 && self.live() * 8 < self.slots.len() {
            self.resize(self.slots.len() / 2);
        }
    }

    /// Makes `count` slots, renumbers the entries and forgets those that are free.
    fn resize(&mut self, count: usize) {
        let before = std::mem::replace(&mut self.slots, vec![NO_ENTRY; count]);
        let mut entries = Vec::with_capacity(count / 4);
        for slot in before.iter().filter(|slot| slot.entry != EMPTY) {
            entries.push(std::mem::take(&mut self.entries[slot.entry as usize]));
            self.link(slot.hash, entries.len() as u32 - 1);
        }
        self.entries = entries;
        self.free = Vec::new();
    }
}
