//! Inserting: find the place in each level, then link from the bottom up.
//!
//! A level is linked by one compare-and-swap of the predecessor's link. If
//! another inserter was there first, only that level is searched again, from
//! the old predecessor on. The bottom level decides: whoever links there owns
//! the key, and an equal key makes the insert fail before anything of it is
//! visible.
//!
//! # Invariants
//! * S1: a [`Splice`] that names this list holds, for every level below its
//!   height, nodes of this list that have this level.
//! * S2: its places are around the key it was last used for, and its top is
//!   the place of everything.
//!
//! S1 is what memory safety rests on; breaking S2 would only misplace keys.
//!
//! Others insert while a splice rests, so its places need not be tight. But
//! if one is tight, no node lies inside it, so by S2 every higher place
//! reaches at least as far to both sides: a key inside a tight place is inside
//! all places above. Those need not be tight then, as linking notices.

use super::node::{Key, MAX_HEIGHT, Node};
use super::search::Gap;
use super::{EntryLayout, KeyOrder, SkipList, check_sizes};
use crate::sync::Ordering;
use std::cmp::Ordering as Order;

/// A remembered place in a list, level by level. A new one remembers nothing
/// and fits any list; one that comes from another list is forgotten.
#[derive(Debug)]
pub struct Splice {
    /// The list it belongs to; 0 for none.
    list: u64,
    /// The levels that are filled in; 0 for none. The place of everything is
    /// kept above them.
    height: usize,
    gaps: [Gap; MAX_HEIGHT + 1],
}

// SAFETY: the nodes in it are followed only by the list it names, which shares
// them between threads anyway.
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

/// What to do with a splice that is not around the next key in the bottom
/// level.
#[derive(Clone, Copy)]
pub(super) enum Reuse {
    /// Search from the top: all that a bad guess costs is two comparisons with
    /// nodes that are in the cache.
    IfAdjacent,
    /// Climb to the lowest level that is around the key: the cost grows with
    /// the distance from the last key, not with the list.
    Climb,
}

/// The key to insert is there already.
struct Duplicate;

/// On which side of a place a key lies.
enum Side {
    Inside,
    /// Before or after the place, beyond the node given.
    Beyond(Node),
    /// The key is that of a node at the border.
    Taken,
}

impl<O: KeyOrder, L: EntryLayout> SkipList<O, L> {
    /// [`SkipList::insert`] with a given number of levels, from 1 to the
    /// greatest (larger numbers count as that): for tests that need a list of
    /// a known shape.
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
        // SAFETY: the places were found above, in their levels.
        let linked = unsafe { self.link(node, height, key, &mut gaps) };
        linked.is_ok()
    }

    /// [`SkipList::insert_with_splice`] with a given number of levels, as
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

    /// Inserts from a splice's place if that may be `reuse`d, and leaves in
    /// the splice the places of the new entry.
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
        // Forgotten unless all goes well.
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

    /// Makes a splice hold the place of `key` in the levels below `top`, the
    /// height of the list, keeping what still fits.
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
            // SAFETY: the splice names this list (S1).
            good_from = unsafe { self.lowest_fitting(splice, reuse, key) }?;
        } else {
            splice.list = self.id;
            splice.gaps[top] = self.whole_list();
        }
        splice.height = 0;
        for level in (0..good_from).rev() {
            // SAFETY: the place above is the head's or a node's that has the
            // level above; the place above is around the key.
            let found = unsafe { self.search_level(key, level, splice.gaps[level + 1]) };
            splice.gaps[level] = found.gap;
            if found.exact {
                return Err(Duplicate);
            }
        }
        splice.height = top;
        Ok(())
    }

    /// The lowest level of a splice whose place is tight and around the key,
    /// or its height if there is none. All places above are around the key,
    /// too (module doc).
    ///
    /// # Safety
    /// The splice must name this list (S1).
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
                // Others inserted here: the place is wider than need be.
                level += 1;
                continue;
            }
            // SAFETY: the place is one of this list (S1).
            match unsafe { self.side_of(gap, key) } {
                Side::Inside => break,
                Side::Taken => return Err(Duplicate),
                Side::Beyond(border) => {
                    // Skip the levels that have the same border.
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
    /// The place must be one of this list.
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

    /// Links a new node into its levels, bottom-up, and leaves in `places`
    /// where that was.
    ///
    /// # Safety
    /// `node` must be unpublished with `height` levels; `places[level]` must
    /// be a place of this list in that level, around `key`, the node's.
    #[inline(always)]
    unsafe fn link(
        &self,
        node: Node,
        height: usize,
        key: Key<'_>,
        gaps: &mut [Gap],
    ) -> Result<(), Duplicate> {
        for (level, gap) in gaps.iter_mut().enumerate().take(height) {
            // SAFETY: the node and the place have this level.
            while !unsafe { self.try_link(node, level, *gap) } {
                let from = Gap {
                    prev: gap.prev,
                    next: None,
                };
                // SAFETY: as promised, the head or before the key.
                let found = unsafe { self.search_level(key, level, from) };
                if found.exact {
                    // Equal keys meet at the bottom only: the other node owns
                    // the key there before it gets any higher.
                    debug_assert_eq!(level, 0);
                    self.abandoned.fetch_add(1, Ordering::Relaxed);
                    return Err(Duplicate);
                }
                *gap = found.gap;
            }
        }
        Ok(())
    }

    /// One attempt to link one level.
    ///
    /// # Safety
    /// `node`, unpublished in this level, and the place must have it.
    #[inline(always)]
    unsafe fn try_link(&self, node: Node, level: usize, gap: Gap) -> bool {
        // SAFETY: the caller's promise.
        unsafe { node.prepare_next(level, gap.next) };
        // SAFETY: the caller's promise.
        unsafe { gap.prev.publish_next(level, gap.next, node) }
    }

    /// Makes the list at least `height` high, and returns how high it is.
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
