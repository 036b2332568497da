//! Cursors.

use std::fmt;
use std::sync::Arc;

use super::node::{Entry, Node};
use super::{Inline, KeyOrder, Layout, SkipList};

/// A cursor over a list. Sees every entry inserted before it was positioned;
/// entries inserted meanwhile may or may not appear. Stands nowhere at first.
pub struct Iter<O, L: Layout = Inline> {
    /// Keeps the nodes alive.
    list: Arc<SkipList<O, L>>,
    /// A node of the list, never its head.
    at: Option<Node>,
}

// SAFETY: the node is kept alive by the list, which shares its nodes between
// threads itself.
unsafe impl<O: KeyOrder, L: Layout> Send for Iter<O, L> {}
// SAFETY: as for `Send`; a shared cursor only reads published entries.
unsafe impl<O: KeyOrder, L: Layout> Sync for Iter<O, L> {}

impl<O: KeyOrder, L: Layout> Iter<O, L> {
    pub(super) fn new(list: Arc<SkipList<O, L>>) -> Self {
        Iter { list, at: None }
    }

    /// Whether the cursor stands on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.at.is_some()
    }

    /// The entry's internal key: user key followed by the little-endian tag.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.entry().internal_key
    }

    /// The entry's value.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.entry().value
    }

    /// Moves forward. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn next(&mut self) {
        if let Some(node) = self.at {
            // SAFETY: every node has level 0, and the list is alive.
            self.at = unsafe { node.next(0) };
            if let Some(node) = self.at {
                // While the caller is busy with this entry, the next one comes.
                // SAFETY: as above.
                unsafe { node.prefetch_entry_after() };
            }
        }
    }

    /// Moves backward: a fresh search, O(log n). Nothing happens if the cursor
    /// is not valid.
    pub fn prev(&mut self) {
        if self.valid() {
            self.at = self.list.last_before(self.entry().key(), false);
        }
    }

    /// Moves to the first entry at or after the given key.
    pub fn seek(&mut self, user_key: &[u8], tag: u64) {
        self.at = self.list.first_at_or_after((user_key, tag)).0;
    }

    /// Moves to the last entry at or before the given key.
    pub fn seek_for_prev(&mut self, user_key: &[u8], tag: u64) {
        self.at = self.list.last_before((user_key, tag), true);
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        // SAFETY: the head has every level, and the list is alive.
        self.at = unsafe { self.list.head.next(0) };
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.at = self.list.last();
    }

    #[inline]
    fn entry(&self) -> Entry<'_> {
        let node = self.at.expect("the cursor stands on an entry");
        // SAFETY: found by a search, so published and not the head; the list
        // lives as long as `self`.
        unsafe { node.entry::<L>() }
    }
}

impl<O, L: Layout> fmt::Debug for Iter<O, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("list", &self.list)
            .field("valid", &self.at.is_some())
            .finish()
    }
}
