//! Cursors that keep their tree alive.

use std::fmt;
use std::sync::Arc;

use super::Art;
use super::cursor::Cursor;
use super::node::Ref;

/// A cursor over a tree. It sees every entry that was inserted before it was positioned
/// with a `seek`; entries inserted meanwhile may or may not appear. It is not valid at
/// first.
///
/// Keys are in bytewise order, or in its reverse if `REVERSED`. Within a key, tags
/// descend in both.
pub struct Iter<const REVERSED: bool = false> {
    pub(super) tree: Arc<Art>,
    pub(super) cursor: Cursor<REVERSED>,
    /// User key and tag of the current entry, if they are not adjacent in the tree.
    key: Vec<u8>,
    /// The node or leaf that an announced seek goes to, as far as it was followed.
    expected: Ref,
}

impl<const REVERSED: bool> Iter<REVERSED> {
    pub(super) fn new(tree: Arc<Art>) -> Self {
        Iter {
            tree,
            cursor: Cursor::default(),
            key: Vec::new(),
            expected: Ref::NONE,
        }
    }

    /// Whether the cursor is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.cursor.valid()
    }

    /// The entry's internal key: user key followed by the little-endian tag.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let leaf = self.cursor.leaf(&self.tree);
        if self.cursor.is_inside() {
            leaf.internal_key()
        } else {
            &self.key
        }
    }

    /// The entry's value.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.cursor.value(&self.tree)
    }

    /// Moves forward. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn next(&mut self) {
        self.cursor.next(&self.tree);
        self.assemble();
    }

    /// Moves backward. This is as fast as moving forward, except within a key of many
    /// versions, where each step is a search. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn prev(&mut self) {
        self.cursor.prev(&self.tree);
        self.assemble();
    }

    /// Moves to the newest entry of the next key. Nothing happens if the cursor
    /// is not valid.
    #[inline]
    pub fn next_key(&mut self) {
        self.cursor.step_key(&self.tree, true);
        self.assemble();
    }

    /// Moves to the newest entry of the key before. Nothing happens if the
    /// cursor is not valid.
    #[inline]
    pub fn prev_key(&mut self) {
        self.cursor.step_key(&self.tree, false);
        self.assemble();
    }

    /// Moves to the newest entry of the same key whose tag is at or below
    /// `upto`. Returns `false` and stays if there is none.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn newest(&mut self, upto: u64) -> bool {
        let moved = self.cursor.newest(&self.tree, upto);
        match moved {
            Some(true) => self.assemble(),
            Some(false) => {}
            None => return false,
        }
        true
    }

    /// Moves to the first entry at or after the given key, in the order of the
    /// iterator.
    pub fn seek(&mut self, user_key: &[u8], tag: u64) {
        self.cursor.seek(&self.tree, user_key, tag);
        self.assemble();
    }

    /// Prefetches what a [`seek`](Self::seek) to the given key reads first. A hint.
    pub fn expect_seek(&mut self, user_key: &[u8]) {
        self.expected = self.tree.expect(user_key, !REVERSED);
    }

    /// Prefetches what that seek reads after this. A hint.
    pub fn expect_further(&mut self) {
        let expected = std::mem::take(&mut self.expected);
        self.tree.expect_children(expected);
    }

    /// Moves to the last entry at or before the given key, in the order of the
    /// iterator.
    pub fn seek_for_prev(&mut self, user_key: &[u8], tag: u64) {
        self.cursor.seek_for_prev(&self.tree, user_key, tag);
        self.assemble();
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.cursor.seek_to_first(&self.tree);
        self.assemble();
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.cursor.seek_to_last(&self.tree);
        self.assemble();
    }

    /// Assembles the key for [`Iter::key`]. Only versions outside the leaf need it, since
    /// they do not repeat the user key.
    #[inline(always)]
    pub(super) fn assemble(&mut self) {
        if self.cursor.valid() && !self.cursor.is_inside() {
            self.assemble_version();
        }
    }

    #[inline(never)]
    fn assemble_version(&mut self) {
        let (tag, _) = self.cursor.entry(&self.tree);
        let user_key = self.cursor.leaf(&self.tree).key();
        self.key.clear();
        self.key.reserve(user_key.len() + size_of::<u64>());
        self.key.extend_from_slice(user_key);
        self.key.extend_from_slice(&tag.to_le_bytes());
    }
}

impl<const REVERSED: bool> fmt::Debug for Iter<REVERSED> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("tree", &self.tree)
            .field("valid", &self.valid())
            .finish_non_exhaustive()
    }
}
