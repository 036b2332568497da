//! Searching a list, level by level.
//!
//! Searches only load links with Acquire. They never wait and never restart: a link that
//! was followed stays valid (node invariant N1), and a node that is found in a level is
//! also in every lower one, since inserters link from the bottom up.

use std::cmp::Ordering;

use super::node::{BRANCHING, Key, Node};
use super::{EntryLayout, KeyOrder, SkipList};

/// Two adjacent nodes of one level, between which a key belongs.
///
/// `prev` is the head or before the key; `next` is the end of the list or not before the
/// key. Both have the level in question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) prev: Node,
    pub(super) next: Option<Node>,
}

/// The outcome of a search in one level.
pub(super) struct Found {
    pub(super) gap: Gap,
    /// Whether `next` has exactly the key that was looked for. If `next` was the bound of
    /// the search, this may be `false` all the same.
    pub(super) exact: bool,
}

impl<O: KeyOrder, L: EntryLayout> SkipList<O, L> {
    /// How a node's key compares to `key`.
    ///
    /// # Safety
    /// `node` must be a node of this list, reached through a link of it, and
    /// not the head.
    #[inline(always)]
    pub(super) unsafe fn compare(&self, node: Node, key: Key<'_>) -> Ordering {
        // SAFETY: not the head and published, by this function's contract; the list is
        // borrowed.
        self.order.compare(unsafe { node.key_as::<L>() }, key)
    }

    /// Finds the gap in one level to which `key` belongs, from `from.prev` on.
    ///
    /// `from.next` is a bound: a node known not to be before the key, or
    /// `None`. Meeting it ends the search without comparing again.
    ///
    /// # Safety
    /// `from.prev` must be the head or a node of this list before `key`, with
    /// more than `level` levels.
    #[inline(always)]
    pub(super) unsafe fn search_level(&self, key: Key<'_>, level: usize, from: Gap) -> Found {
        let mut prev = from.prev;
        loop {
            // SAFETY: `prev` is that of the contract, or was reached in this level.
            let next = unsafe { prev.next(level) };
            let found = |exact| Found {
                gap: Gap { prev, next },
                exact,
            };
            let Some(node) = next else {
                return found(false);
            };
            if next == from.next {
                return found(false);
            }
            // Whatever the comparison says, one of two nodes comes next. Prefetch both
            // while this node's key arrives.
            if level > 0 {
                // SAFETY: having `level`, it also has the one below.
                unsafe { prev.prefetch_next(level - 1) };
            }
            // SAFETY: reached in this level.
            unsafe { node.prefetch_next(level) };
            // SAFETY: reached through a link, so not the head.
            match unsafe { self.compare(node, key) } {
                Ordering::Less => prev = node,
                Ordering::Equal => return found(true),
                Ordering::Greater => return found(false),
            }
        }
    }

    /// The first node at or after `key`, and whether it has exactly this key.
    #[inline]
    pub(super) fn first_at_or_after(&self, key: Key<'_>) -> (Option<Node>, bool) {
        let mut gap = self.whole_list();
        for level in (0..self.height()).rev() {
            // SAFETY: the head has every level; later `prev`s come from the
            // level above.
            let found = unsafe { self.search_level(key, level, gap) };
            if found.exact {
                return (found.gap.next, true);
            }
            gap = found.gap;
        }
        (gap.next, false)
    }

    /// The first node of one level at or after `key`; `None` if no node is that high.
    pub(super) fn first_in_level(&self, key: Key<'_>, lowest: usize) -> Option<Node> {
        if lowest >= self.max_height {
            return None;
        }
        let mut gap = self.whole_list();
        for level in (lowest..self.height().max(lowest + 1)).rev() {
            // SAFETY: the head has every level; later `prev`s come from the level above.
            let found = unsafe { self.search_level(key, level, gap) };
            gap = found.gap;
        }
        gap.next
    }

    /// The last node before `key` (or at it, if `or_at`).
    pub(super) fn last_before(&self, key: Key<'_>, or_at: bool) -> Option<Node> {
        let mut gap = self.whole_list();
        for level in (0..self.height()).rev() {
            // SAFETY: the head has every level; later `prev`s come from the level above.
            let found = unsafe { self.search_level(key, level, gap) };
            if found.exact && or_at {
                return found.gap.next;
            }
            gap = found.gap;
        }
        self.unless_head(gap.prev)
    }

    /// The last node.
    pub(super) fn last(&self) -> Option<Node> {
        let mut node = self.head;
        for level in (0..self.height()).rev() {
            // SAFETY: the head, or reached in this level or the one above.
            while let Some(next) = unsafe { node.next(level) } {
                node = next;
            }
        }
        self.unless_head(node)
    }

    /// About how many nodes are before `key`: each step in a level counts as many nodes
    /// as such a step passes over on average.
    pub(super) fn estimate_before(&self, key: Key<'_>) -> usize {
        let mut gap = self.whole_list();
        let mut count = 0_usize;
        for level in (0..self.height()).rev() {
            count = count.saturating_mul(BRANCHING);
            // SAFETY: the head, or reached in this level or the one above.
            while let Some(next) = unsafe { gap.prev.next(level) } {
                // SAFETY: reached through a link, so not the head.
                if Some(next) == gap.next || unsafe { self.compare(next, key) }.is_ge() {
                    gap.next = Some(next);
                    break;
                }
                gap.prev = next;
                count = count.saturating_add(1);
            }
        }
        count
    }

    /// The gap from the head to the end of the list: every key belongs to it, in every
    /// level.
    #[inline(always)]
    pub(super) fn whole_list(&self) -> Gap {
        Gap {
            prev: self.head,
            next: None,
        }
    }

    fn unless_head(&self, node: Node) -> Option<Node> {
        (node != self.head).then_some(node)
    }
}
