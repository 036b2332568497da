//! Inserting: find the gap in each level, then link from the bottom up.
//!
//! A level is linked by one compare-and-swap of the predecessor's link. If another
//! inserter came first, only that level is searched again, from the old predecessor on.
//! The bottom level decides: the inserter that links there owns the key, and an insert of
//! an equal key fails before any part of it is visible.
//!
//! # Invariants
//! * S1: a [`Splice`] with this list's id holds, for every level below its height, nodes
//!   of this list that have this level.
//! * S2: its gaps contain the key that it was last used for, or begin at that key's node,
//!   and its topmost gap is the whole list.
//!
//! Memory safety depends on S1; breaking S2 would only misplace keys.
//!
//! Other threads insert while a splice is not in use, so its gaps need not be tight
//! (without nodes inside). But if one is tight, then by S2 every higher gap reaches at
//! least as far on both sides: a key inside a tight gap is inside all gaps above. Those
//! need not be tight, since linking detects it.

use super::node::{Key, MAX_HEIGHT, Node};
use super::search::Gap;
use super::{EntryLayout, KeyOrder, SkipList, check_sizes};
use crate::sync::Ordering;
use std::cmp::Ordering as Order;

/// A remembered insert position in a list: a gap in each level. A new splice is empty and
/// fits any list; a splice of another list is reset.
#[derive(Debug)]
pub struct Splice {
    /// The id of the list that it belongs to; 0 for none.
    list: u64,
    /// The number of levels that are filled in; 0 for none. Above them is the gap that
    /// spans the whole list.
    height: usize,
    gaps: [Gap; MAX_HEIGHT + 1],
}

// SAFETY: its nodes are followed only by the list with its id, which shares them between
// threads anyway.
unsafe impl Send for Splice {}

impl Default for Splice {
    fn default() -> Self {
        Splice {
            list: 0,
            height: 0,
            gaps: [Gap {
                prev: Node::dangling(),
                next: None,
            }; MAX_HEIGHT + 1],
        }
    }
}

/// What to do if the next key is not in the gap of a splice's bottom level.
#[derive(Clone, Copy)]
pub(super) enum Reuse {
    /// Search from the top: a bad guess costs only two comparisons with nodes that are in
    /// the cache.
    IfAdjacent,
    /// Climb to the lowest level whose gap contains the key: the cost grows with the
    /// distance from the last key, not with the size of the list.
    Climb,
}

/// The key to insert exists already.
struct Duplicate;

/// Where a key is relative to a gap.
enum Side {
    Inside,
    /// Before or after the gap, beyond this node.
    Beyond(Node),
    /// At one of the gap's nodes: it has the same key.
    Taken,
}

impl<O: KeyOrder, L: EntryLayout> SkipList<O, L> {
    /// [`SkipList::insert`] with a given number of levels, clamped to the valid range.
    /// For tests that need a list of a known shape.
    #[doc(hidden)]
    pub fn insert_with_height(
        &self,
        height: usize,
        user_key: &[u8],
        tag: u64,
        value: &[u8],
    ) -> bool {
        check_sizes(user_key, value);
        let height = height.clamp(1, self.max_height);
        let key = (user_key, tag);
        // Only the node's own levels are filled in and used.
        let mut gaps = [self.whole_list(); MAX_HEIGHT];
        let mut gap = self.whole_list();
        for level in (0..self.raise_height(height)).rev() {
            // SAFETY: the head has every level; later `prev`s come from the
            // level above.
            let found = unsafe { self.search_level(key, level, gap) };
            if found.exact {
                return false;
            }
            gap = found.gap;
            if level < height {
                gaps[level] = gap;
            }
        }
        let node = Node::create_as::<L>(&self.arena, &self.apart, height, key, value);
        // SAFETY: the gaps were found above, in their levels.
        let linked = unsafe { self.link(node, height, key, &mut gaps) };
        linked.is_ok()
    }

    /// [`SkipList::insert_with_splice`] with a given number of levels, as for
    /// [`SkipList::insert_with_height`].
    #[doc(hidden)]
    pub fn insert_spliced_with_height(
        &self,
        splice: &mut Splice,
        height: usize,
        user_key: &[u8],
        tag: u64,
        value: &[u8],
    ) -> bool {
        self.insert_at(splice, Reuse::Climb, height, (user_key, tag), value)
    }

    /// Inserts from the gaps of a splice as far as `reuse` allows, and leaves in the
    /// splice the gaps of the new entry.
    #[inline(always)]
    pub(super) fn insert_at(
        &self,
        splice: &mut Splice,
        reuse: Reuse,
        height: usize,
        key: Key<'_>,
        value: &[u8],
    ) -> bool {
        check_sizes(key.0, value);
        let height = height.clamp(1, self.max_height);
        let top = self.raise_height(height);
        let Ok(()) = self.fit(splice, reuse, top, key) else {
            return false;
        };
        // Reset unless the insert succeeds.
        splice.height = 0;
        let node = Node::create_as::<L>(&self.arena, &self.apart, height, key, value);
        // SAFETY: `fit` filled `splice` for this list (S1) and this key.
        let linked = unsafe { self.link(node, height, key, &mut splice.gaps) };
        if linked.is_ok() {
            for gap in &mut splice.gaps[..height] {
                gap.prev = node;
            }
            splice.height = top;
        }
        linked.is_ok()
    }

    /// Makes a splice hold the gaps of `key` in the levels below `top`, the height of the
    /// list. Gaps that still fit are kept.
    #[inline(always)]
    fn fit(
        &self,
        splice: &mut Splice,
        reuse: Reuse,
        top: usize,
        key: Key<'_>,
    ) -> Result<(), Duplicate> {
        let mut good_from = top;
        if splice.list == self.id && splice.height == top {
            // SAFETY: the splice has this list's id (S1).
            good_from = unsafe { self.lowest_fitting(splice, reuse, key) }?;
        } else {
            splice.list = self.id;
            splice.gaps[top] = self.whole_list();
        }
        splice.height = 0;
        for level in (0..good_from).rev() {
            // SAFETY: the `prev` of the gap above is the head or a node that has the
            // level above, and that gap contains the key.
            let found = unsafe { self.search_level(key, level, splice.gaps[level + 1]) };
            splice.gaps[level] = found.gap;
            if found.exact {
                return Err(Duplicate);
            }
        }
        splice.height = top;
        Ok(())
    }

    /// The lowest level of a splice whose gap is tight and contains the key, or its
    /// height if there is none. All gaps above contain the key, too (module doc).
    ///
    /// # Safety
    /// The splice must have this list's id (S1).
    unsafe fn lowest_fitting(
        &self,
        splice: &Splice,
        reuse: Reuse,
        key: Key<'_>,
    ) -> Result<usize, Duplicate> {
        let mut level = 0;
        while level < splice.height {
            let gap = splice.gaps[level];
            if level > 0 && matches!(reuse, Reuse::IfAdjacent) {
                return Ok(splice.height);
            }
            // SAFETY: `prev` has this level (S1).
            if unsafe { gap.prev.next(level) } != gap.next {
                // Other threads inserted here: the gap is not tight.
                level += 1;
                continue;
            }
            // SAFETY: the gap is one of this list (S1).
            match unsafe { self.side_of(gap, key) } {
                Side::Inside => break,
                Side::Taken => return Err(Duplicate),
                Side::Beyond(border) => {
                    // Skip the levels whose gaps have the same node at their border.
                    let at_border = |gap: &Gap| gap.prev == border || gap.next == Some(border);
                    while level < splice.height && at_border(&splice.gaps[level]) {
                        level += 1;
                    }
                }
            }
        }
        Ok(level)
    }

    /// # Safety
    /// The gap must be one of this list.
    unsafe fn side_of(&self, gap: Gap, key: Key<'_>) -> Side {
        if gap.prev != self.head {
            // SAFETY: a published node and not the head.
            match unsafe { self.compare(gap.prev, key) } {
                Order::Less => {}
                Order::Equal => return Side::Taken,
                Order::Greater => return Side::Beyond(gap.prev),
            }
        }
        let Some(next) = gap.next else {
            return Side::Inside;
        };
        // SAFETY: a published node and not the head.
        match unsafe { self.compare(next, key) } {
            Order::Less => Side::Beyond(next),
            Order::Equal => Side::Taken,
            Order::Greater => Side::Inside,
        }
    }

    /// Links a new node into its levels, bottom-up, and leaves in `gaps` where it was
    /// linked.
    ///
    /// # Safety
    /// `node` must be unpublished and have `height` levels and the key `key`;
    /// `gaps[level]` must be a gap of this list in that level that contains `key`.
    #[inline(always)]
    unsafe fn link(
        &self,
        node: Node,
        height: usize,
        key: Key<'_>,
        gaps: &mut [Gap],
    ) -> Result<(), Duplicate> {
        for (level, gap) in gaps.iter_mut().enumerate().take(height) {
            // SAFETY: the node and the gap's nodes have this level.
            while !unsafe { self.try_link(node, level, *gap) } {
                let from = Gap {
                    prev: gap.prev,
                    next: None,
                };
                // SAFETY: by this function's contract, `prev` is the head or before the
                // key.
                let found = unsafe { self.search_level(key, level, from) };
                if found.exact {
                    // Equal keys meet only at the bottom: there the other node owns the
                    // key before it is linked any higher.
                    debug_assert_eq!(level, 0);
                    self.abandoned.fetch_add(1, Ordering::Relaxed);
                    return Err(Duplicate);
                }
                *gap = found.gap;
            }
        }
        Ok(())
    }

    /// Attempts once to link one level.
    ///
    /// # Safety
    /// `node` and the gap's nodes must have this level, and `node` must not be published
    /// in it.
    #[inline(always)]
    unsafe fn try_link(&self, node: Node, level: usize, gap: Gap) -> bool {
        // SAFETY: by this function's contract.
        unsafe { node.prepare_next(level, gap.next) };
        // SAFETY: by this function's contract.
        unsafe { gap.prev.publish_next(level, gap.next, node) }
    }

    /// Raises the height of the list to at least `height`, and returns it.
    #[inline(always)]
    fn raise_height(&self, height: usize) -> usize {
        let now = self.height();
        if height <= now {
            return now;
        }
        // Relaxed: see `SkipList::height`.
        self.height.fetch_max(height, Ordering::Relaxed).max(height)
    }
}
