//! Buckets that are inline skip lists.

use std::fmt;
use std::sync::Arc;

use super::slots::Slots;
use super::{MAX_HEIGHT, Towers, bucket_of};
use crate::arena::{ArenaOptions, ConcurrentArena};
use crate::counter::Counter;
use crate::skiplist::{Iter, KeyOrder, SkipList};
use crate::sorted_snapshot::{Seal, SortedIter, SortedSnapshot, Visit};

/// The options of a [`HashSkipList`].
#[derive(Debug, Clone, Copy)]
pub struct SkipListOptions {
    /// The number of buckets, at least 1.
    pub buckets: usize,
    /// The most levels of a bucket's list, 1 to [`MAX_HEIGHT`].
    pub height: usize,
    /// One in this many nodes of a level is also in the level above; at least 1.
    pub branching: u32,
    /// How the arena takes memory.
    pub arena: ArenaOptions,
}

type Bucket<O> = SkipList<Arc<O>>;

/// A hash table of skip lists.
pub struct HashSkipList<O> {
    order: Arc<O>,
    arena: Arc<ConcurrentArena>,
    buckets: Slots<Bucket<O>>,
    towers: Towers,
    /// The number of buckets made.
    made: Counter,
    seal: Seal<O>,
}

impl<O: KeyOrder> HashSkipList<O> {
    /// An empty table. Options out of range are clamped.
    pub fn new(order: O, options: SkipListOptions) -> Self {
        HashSkipList {
            order: Arc::new(order),
            arena: Arc::new(ConcurrentArena::new(options.arena)),
            buckets: Slots::new(options.buckets.max(1)),
            towers: Towers {
                max: options.height.clamp(1, MAX_HEIGHT),
                branching: options.branching.max(1),
            },
            made: Counter::new(),
            seal: Seal::new(),
        }
    }

    /// Inserts an entry into the bucket of `hash`; `false` (and nothing is
    /// inserted) if an equal key is there.
    ///
    /// # Panics
    /// If key or value are longer than 4 GiB less a few bytes.
    pub fn insert(&self, hash: u64, user_key: &[u8], tag: u64, value: &[u8]) -> bool {
        debug_assert!(!self.seal.is_set(), "sealed tables get no entries");
        let slot = self.slot(hash);
        let (bucket, made) = self.buckets.get_or_make(slot, || {
            SkipList::in_arena(self.order.clone(), self.arena.clone(), self.towers.max)
        });
        if made {
            self.made.add(1);
        }
        bucket.insert_with_height(self.towers.height(), user_key, tag, value)
    }

    /// Passes the entries of the bucket of `hash`, from the first one at or after
    /// `(user_key, tag)` on, to `visit` until that returns `false`.
    pub fn scan_from(&self, hash: u64, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        if let Some(bucket) = self.buckets.get(self.slot(hash)) {
            bucket.scan_from(user_key, tag, visit);
        }
    }

    /// A cursor over one bucket at a time.
    pub fn bucket_iter(self: &Arc<Self>) -> BucketIter<O> {
        BucketIter {
            table: Arc::clone(self),
            at: None,
        }
    }

    /// A cursor over a sorted snapshot of all buckets. Making it takes O(n log n), but
    /// only once if the table is sealed.
    pub fn sorted(&self) -> SortedIter<O> {
        SortedIter::new(self.seal.sorted(|| {
            let mut nodes = Vec::with_capacity(self.arena.allocations());
            for slot in 0..self.buckets.len() {
                if let Some(bucket) = self.buckets.get(slot) {
                    bucket.collect_nodes(&mut nodes);
                }
            }
            // SAFETY: published nodes of lists in this arena.
            unsafe { SortedSnapshot::new(self.order.clone(), self.arena.clone(), nodes) }
        }))
    }

    /// Seals the table: no more entries come. No insert may be in flight.
    pub fn seal(&self) {
        self.seal.set();
    }

    /// Bytes of entries, links and buckets in use.
    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes() + self.made.get() as usize * size_of::<Bucket<O>>()
    }

    /// Bytes taken from the system, including what lies ready for further entries.
    pub fn allocated_bytes(&self) -> usize {
        self.arena.allocated_bytes() + self.made.get() as usize * size_of::<Bucket<O>>()
    }

    fn slot(&self, hash: u64) -> usize {
        bucket_of(hash, self.buckets.len())
    }
}

impl<O> fmt::Debug for HashSkipList<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashSkipList")
            .field("buckets", &self.buckets.len())
            .field("made", &self.made.get())
            .finish_non_exhaustive()
    }
}

/// A cursor over the bucket of its last seek. It sees every entry that was inserted
/// before the seek; entries inserted meanwhile may or may not appear. It is not valid at
/// first.
pub struct BucketIter<O> {
    table: Arc<HashSkipList<O>>,
    at: Option<Iter<Arc<O>>>,
}

impl<O: KeyOrder> BucketIter<O> {
    /// Whether the cursor is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.at.as_ref().is_some_and(Iter::valid)
    }

    /// The entry's internal key: user key followed by the little-endian tag.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.iter().key()
    }

    /// The entry's value.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.iter().value()
    }

    /// Moves forward in the bucket. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn next(&mut self) {
        if let Some(iter) = &mut self.at {
            iter.next();
        }
    }

    /// Moves backward in the bucket. Nothing happens if the cursor is not
    /// valid.
    pub fn prev(&mut self) {
        if let Some(iter) = &mut self.at {
            iter.prev();
        }
    }

    /// Moves to the first entry at or after the given key in the bucket of `hash`.
    pub fn seek(&mut self, hash: u64, user_key: &[u8], tag: u64) {
        if let Some(iter) = self.go_to(hash) {
            iter.seek(user_key, tag);
        }
    }

    /// Moves to the last entry at or before the given key in the bucket of `hash`.
    pub fn seek_for_prev(&mut self, hash: u64, user_key: &[u8], tag: u64) {
        if let Some(iter) = self.go_to(hash) {
            iter.seek_for_prev(user_key, tag);
        }
    }

    fn go_to(&mut self, hash: u64) -> Option<&mut Iter<Arc<O>>> {
        let slot = self.table.slot(hash);
        let bucket = self.table.buckets.get_arc(slot);
        self.at = bucket.as_ref().map(SkipList::iter);
        self.at.as_mut()
    }

    fn iter(&self) -> &Iter<Arc<O>> {
        self.at.as_ref().expect("the cursor is at an entry")
    }
}

impl<O> fmt::Debug for BucketIter<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketIter")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
