//! Cursors.

use std::fmt;
use std::sync::Arc;

use super::ahead::Ahead;
use super::node::{Entry, Node};
use super::{EntryLayout, Inline, KeyOrder, SkipList};

/// The number of steps forward after which nodes further ahead are prefetched.
/// Prefetching begins with a search, which short walks should not pay for, nor walks
/// through nodes whose order in memory is that of the list: processors prefetch these
/// themselves.
const LONG_WALK: u32 = 32;

/// A cursor over a list. It sees every entry that was inserted before it was positioned;
/// entries inserted meanwhile may or may not appear. It is not valid at first.
pub struct Iter<O, L: EntryLayout = Inline> {
    /// Keeps the nodes alive.
    list: Arc<SkipList<O, L>>,
    /// A node of the list, never its head.
    at: Option<Node>,
    /// The number of steps forward to a node far away in memory, minus steps to one
    /// nearby; kept from 0 to twice [`LONG_WALK`].
    far_steps: u32,
    /// Whether the cursor is for a flush: whole entries are prefetched, from the first
    /// step on.
    for_flush: bool,
    /// The prefetching for a long walk.
    ahead: Option<Box<Ahead>>,
}

// SAFETY: the node is kept alive by the list, which shares its nodes between
// threads itself.
unsafe impl<O: KeyOrder, L: EntryLayout> Send for Iter<O, L> {}
// SAFETY: as for `Send`; a shared cursor only reads published entries.
unsafe impl<O: KeyOrder, L: EntryLayout> Sync for Iter<O, L> {}

impl<O: KeyOrder, L: EntryLayout> Iter<O, L> {
    /// `for_flush` says that the cursor is for one walk forward that reads all bytes of
    /// many entries.
    pub(super) fn new(list: Arc<SkipList<O, L>>, for_flush: bool) -> Self {
        let mut iter = Iter {
            list,
            at: None,
            far_steps: 0,
            for_flush,
            ahead: None,
        };
        iter.moved();
        iter
    }

    /// Whether the cursor is at an entry.
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
        if let Some(from) = self.at {
            // SAFETY: every node has level 0, and the list is alive.
            self.at = unsafe { from.next(0) };
            if let Some(node) = self.at {
                self.look_ahead(from, node);
            }
        }
    }

    /// Prefetches nodes after `to`, to which the cursor has moved from `from`, if the
    /// walk is long enough.
    #[inline]
    fn look_ahead(&mut self, from: Node, to: Node) {
        if from.is_near(to) {
            self.far_steps = self.far_steps.saturating_sub(1);
        } else if self.far_steps < 2 * LONG_WALK {
            self.far_steps += 1;
        }
        if let Some(ahead) = &mut self.ahead {
            // SAFETY: the list is alive.
            unsafe { ahead.follow(to) };
            if self.far_steps == 0 {
                self.ahead = None;
            }
        } else if self.far_steps >= LONG_WALK {
            let ahead = Ahead::of(&*self.list, to, self.for_flush);
            let ahead = self.ahead.insert(Box::new(ahead));
            // SAFETY: the list is alive.
            unsafe { ahead.follow(to) };
        }
    }

    /// To be called when the cursor moves otherwise than one step forward.
    fn moved(&mut self) {
        self.far_steps = if self.for_flush { LONG_WALK } else { 0 };
        self.ahead = None;
    }

    /// Moves backward: a fresh search, O(log n). Nothing happens if the cursor
    /// is not valid.
    pub fn prev(&mut self) {
        if self.valid() {
            self.moved();
            self.at = self.list.last_before(self.entry().key(), false);
        }
    }

    /// Moves to the first entry at or after the given key.
    pub fn seek(&mut self, user_key: &[u8], tag: u64) {
        self.moved();
        self.at = self.list.first_at_or_after((user_key, tag)).0;
    }

    /// Moves to the last entry at or before the given key.
    pub fn seek_for_prev(&mut self, user_key: &[u8], tag: u64) {
        self.moved();
        self.at = self.list.last_before((user_key, tag), true);
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.moved();
        // SAFETY: the head has every level, and the list is alive.
        self.at = unsafe { self.list.head.next(0) };
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.moved();
        self.at = self.list.last();
    }

    #[inline]
    fn entry(&self) -> Entry<'_> {
        let node = self.at.expect("the cursor is at an entry");
        // SAFETY: found by a search, so published and not the head; the list
        // lives as long as `self`.
        unsafe { node.entry_as::<L>() }
    }
}

impl<O, L: EntryLayout> fmt::Debug for Iter<O, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("list", &self.list)
            .field("valid", &self.at.is_some())
            .finish()
    }
}
