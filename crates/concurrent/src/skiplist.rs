//! The inline skip list.

use std::cmp::Ordering;
use std::sync::Arc;

/// The order of a list's keys: user key bytes, then the 8-byte tag.
///
/// Must be a total order over `(user_key, tag)` and must not panic.
pub trait KeyOrder: Send + Sync + 'static {
    /// Compares two entries, each a user key and a tag.
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering;
}

/// A sorted list of entries `(user_key, tag, value)`.
#[derive(Debug)]
pub struct SkipList<O> {
    _order: O,
}

impl<O: KeyOrder> SkipList<O> {
    /// An empty list that takes memory from an arena of its own with blocks
    /// of about `arena_block_size` bytes.
    pub fn new(order: O, arena_block_size: usize) -> Self {
        let _ = arena_block_size;
        SkipList { _order: order }
    }
    /// Inserts an entry, concurrently with other inserts and readers.
    /// Returns `false` (and inserts nothing) if an equal key is there.
    pub fn insert(&self, user_key: &[u8], tag: u64, value: &[u8]) -> bool {
        let _ = (user_key, tag, value);
        todo!()
    }
    /// Like `insert`, starting from and updating the caller's `splice`, which
    /// pays when keys come nearly sorted. One splice per thread and list.
    pub fn insert_with_splice(
        &self,
        splice: &mut Splice,
        user_key: &[u8],
        tag: u64,
        value: &[u8],
    ) -> bool {
        let _ = (splice, user_key, tag, value);
        todo!()
    }
    /// Finds the first entry at or after `(user_key, tag)` and passes it, then
    /// its successors, to `visit` until that returns `false`.
    pub fn scan_from(
        &self,
        user_key: &[u8],
        tag: u64,
        visit: &mut dyn FnMut(&[u8], u64, &[u8]) -> bool,
    ) {
        let _ = (user_key, tag, visit);
        todo!()
    }
    /// A cursor that keeps the list alive.
    pub fn iter(self: &Arc<Self>) -> Iter<O> {
        Iter {
            _list: self.clone(),
        }
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        todo!()
    }
    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes of entries and links handed out by the arena.
    pub fn used_bytes(&self) -> usize {
        todo!()
    }
    /// Bytes taken from the system.
    pub fn allocated_bytes(&self) -> usize {
        todo!()
    }
    /// About how many entries lie before `(user_key, tag)`.
    pub fn estimate_count_before(&self, user_key: &[u8], tag: u64) -> usize {
        let _ = (user_key, tag);
        todo!()
    }
}

/// A remembered place in a list, level by level.
#[derive(Debug, Default)]
pub struct Splice {}

/// A cursor over a list. Sees every entry inserted before it was positioned;
/// entries inserted meanwhile may or may not appear.
#[derive(Debug)]
pub struct Iter<O> {
    _list: Arc<SkipList<O>>,
}

impl<O: KeyOrder> Iter<O> {
    /// Whether the cursor stands on an entry.
    pub fn valid(&self) -> bool {
        todo!()
    }
    /// The entry's internal key: user key followed by the little-endian tag.
    pub fn key(&self) -> &[u8] {
        todo!()
    }
    /// The entry's value.
    pub fn value(&self) -> &[u8] {
        todo!()
    }
    /// Moves forward.
    pub fn next(&mut self) {
        todo!()
    }
    /// Moves backward: a fresh search, O(log n).
    pub fn prev(&mut self) {
        todo!()
    }
    /// Moves to the first entry at or after the given key.
    pub fn seek(&mut self, user_key: &[u8], tag: u64) {
        let _ = (user_key, tag);
        todo!()
    }
    /// Moves to the last entry at or before the given key.
    pub fn seek_for_prev(&mut self, user_key: &[u8], tag: u64) {
        let _ = (user_key, tag);
        todo!()
    }
    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        todo!()
    }
    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        todo!()
    }
}
