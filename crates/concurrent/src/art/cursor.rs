//! Walking a tree in order.
//!
//! *Forward* is the order of entries: keys ascend, or descend if `REVERSED`, and within a
//! key tags descend. *Up* is towards greater keys.
//!
//! A cursor remembers the nodes from the root to its leaf. When it first moves within a
//! small node, it takes a sorted copy of the children; a large node is read by byte.
//!
//! A node on the path may be replaced meanwhile. It still leads to everything that was in
//! it before. Entries that were added later were inserted after the cursor was
//! positioned, so the cursor may miss them. So it never reads the path again, and never
//! restarts, until it is positioned again.

use std::cell::Cell;
use std::cmp::Ordering as Order;

use super::Art;
use super::frame::{Frame, Start};
use super::leaf::{Leaf, Link};
use super::node::Ref;
use super::versions::Versions;
use crate::scratch;

thread_local! {
    /// The frames of the last cursor that this thread dropped. Most cursors seek once,
    /// and would otherwise spend as long in the allocator as in the tree.
    static SCRATCH: Cell<Vec<Frame>> = const { Cell::new(Vec::new()) };
}

/// A cursor: at an entry of a tree, or invalid. All calls must pass the same tree.
#[derive(Clone)]
pub(super) struct Cursor<const REVERSED: bool> {
    /// The first `depth` frames are those of the nodes on the path. The others are kept
    /// for their memory.
    frames: Vec<Frame>,
    depth: usize,
    /// The leaf, if the cursor is valid.
    leaf: Ref,
    /// The version within the leaf.
    at: Link,
}

impl<const REVERSED: bool> Drop for Cursor<REVERSED> {
    fn drop(&mut self) {
        let frames = std::mem::take(&mut self.frames);
        // When a thread ends, its scratch values may be gone.
        let _ = SCRATCH.try_with(|scratch| {
            let last = scratch.take();
            let larger = frames.capacity() > last.capacity();
            scratch.set(if larger { frames } else { last });
        });
    }
}

/// The version at which a cursor enters a key.
#[derive(Clone, Copy)]
enum Landing {
    Newest,
    Oldest,
}

impl Landing {
    /// The version that comes first in this direction.
    #[inline(always)]
    fn of(forward: bool) -> Self {
        if forward {
            Landing::Newest
        } else {
            Landing::Oldest
        }
    }
}

impl<const REVERSED: bool> Default for Cursor<REVERSED> {
    fn default() -> Self {
        Cursor {
            frames: Vec::new(),
            depth: 0,
            leaf: Ref::NONE,
            at: Link::END,
        }
    }
}

impl<const REVERSED: bool> Cursor<REVERSED> {
    /// Whether the cursor is at an entry.
    #[inline(always)]
    pub(super) fn valid(&self) -> bool {
        !self.leaf.is_none()
    }

    /// The leaf of the current entry. The cursor must be valid.
    #[inline(always)]
    pub(super) fn leaf<'t>(&self, tree: &'t Art) -> Leaf<'t> {
        assert!(self.valid(), "the cursor is at an entry");
        tree.leaf(self.leaf)
    }

    #[inline(always)]
    fn versions<'t>(&self, tree: &'t Art) -> Versions<'t> {
        Versions::new(&tree.memory, self.leaf(tree))
    }

    /// Tag and value of the current entry. The cursor must be valid.
    #[inline]
    pub(super) fn entry<'t>(&self, tree: &'t Art) -> (u64, &'t [u8]) {
        self.versions(tree).entry(self.at)
    }

    /// Whether the current entry is the one inside the leaf.
    #[inline(always)]
    pub(super) fn is_inside(&self) -> bool {
        self.at == Link::INSIDE
    }

    /// The value of the current entry. The cursor must be valid.
    #[inline(always)]
    pub(super) fn value<'t>(&self, tree: &'t Art) -> &'t [u8] {
        if self.is_inside() {
            self.leaf(tree).value()
        } else {
            self.entry(tree).1
        }
    }

    /// Moves to the next entry.
    #[inline(always)]
    pub(super) fn next(&mut self, tree: &Art) {
        if self.valid() {
            if !self.is_inside() {
                self.at = self.versions(tree).older(self.at);
                if self.at != Link::END {
                    return;
                }
            }
            self.next_key(tree);
        }
    }

    /// Moves to the previous entry.
    #[inline]
    pub(super) fn prev(&mut self, tree: &Art) {
        if self.valid() {
            let versions = self.versions(tree);
            if versions.newest() == self.at {
                return self.prev_key(tree);
            }
            // Newer versions may have been added since the cursor came here. The previous
            // version is found from the top of the list in any case.
            self.at = versions.above(versions.tag(self.at));
            if self.at == Link::END {
                self.prev_key(tree);
            }
        }
    }

    /// Moves to the newest entry of the next key, or of the key before.
    #[inline(always)]
    pub(super) fn step_key(&mut self, tree: &Art, forward: bool) {
        if self.valid() {
            self.walk(tree, forward, Landing::Newest);
        }
    }

    /// Moves to the newest version of the same key at or below `upto`. Returns whether
    /// that is another entry than before, or `None` if there is none.
    #[inline]
    pub(super) fn newest(&mut self, tree: &Art, upto: u64) -> Option<bool> {
        let at = self.versions(tree).at_or_below(upto);
        if at == Link::END {
            return None;
        }
        let moved = at != self.at;
        self.at = at;
        Some(moved)
    }

    /// Moves to the first entry.
    pub(super) fn seek_to_first(&mut self, tree: &Art) {
        self.enter(tree, true);
    }

    /// Moves to the last entry.
    pub(super) fn seek_to_last(&mut self, tree: &Art) {
        self.enter(tree, false);
    }

    fn enter(&mut self, tree: &Art, forward: bool) {
        self.depth = 0;
        self.leaf = Ref::NONE;
        let root = tree.root();
        if root.is_none() {
            return;
        }
        if root.is_leaf() {
            self.land(tree, root, Landing::of(forward));
        } else {
            self.push(tree, root, start(up::<REVERSED>(forward)));
            self.walk(tree, forward, Landing::of(forward));
        }
    }

    /// Moves to the first entry at or after a key.
    pub(super) fn seek(&mut self, tree: &Art, key: &[u8], tag: u64) {
        self.seek_either(tree, key, true, |versions| versions.at_or_below(tag));
    }

    /// Moves to the last entry at or before a key.
    pub(super) fn seek_for_prev(&mut self, tree: &Art, key: &[u8], tag: u64) {
        self.seek_either(tree, key, false, |versions| versions.at_or_above(tag));
    }

    /// Moves to the version of `key` that `choose` returns or, if there is none, to the
    /// nearest entry of another key in the given direction.
    fn seek_either(
        &mut self,
        tree: &Art,
        key: &[u8],
        forward: bool,
        choose: impl Fn(Versions<'_>) -> Link,
    ) {
        let up = up::<REVERSED>(forward);
        let landing = Landing::of(forward);
        self.depth = 0;
        self.leaf = Ref::NONE;
        let mut at = tree.root();
        let mut depth = 0;
        while !at.is_none() {
            if at.is_leaf() {
                let leaf = tree.leaf(at);
                let order = leaf.key().cmp(key);
                if order == Order::Equal {
                    let chosen = choose(Versions::new(&tree.memory, leaf));
                    if chosen != Link::END {
                        self.leaf = at;
                        self.at = chosen;
                        return;
                    }
                } else if (order == Order::Greater) == up && self.land(tree, at, landing) {
                    return;
                }
                return self.walk(tree, forward, landing);
            }
            let node = tree.node(at);
            let prefix = node.prefix();
            match prefix.compare(&tree.memory, key, depth) {
                Order::Equal => {}
                // All keys below come after `key`, or all before it.
                order => {
                    if (order == Order::Greater) == up {
                        self.push(tree, at, start(up));
                    }
                    return self.walk(tree, forward, landing);
                }
            }
            depth = prefix.end(depth);
            let Some(&byte) = key.get(depth) else {
                // The key ends here; all children come after it.
                self.push(tree, at, Start::Terminal);
                at = node.terminal();
                continue;
            };
            let child = node.child(byte);
            let place = if child.is_none() {
                Start::Beside(byte, up)
            } else {
                Start::At(byte)
            };
            self.push(tree, at, place);
            depth += 1;
            at = child;
        }
        self.walk(tree, forward, landing);
    }

    /// Moves to the first entry of the next key.
    #[inline(always)]
    pub(super) fn next_key(&mut self, tree: &Art) {
        self.walk(tree, true, Landing::Newest);
    }

    /// Moves to the last entry of the previous key.
    #[inline]
    fn prev_key(&mut self, tree: &Art) {
        self.walk(tree, false, Landing::Oldest);
    }

    /// Moves from the position in the frames to the nearest key with versions.
    #[inline(always)]
    fn walk(&mut self, tree: &Art, forward: bool, landing: Landing) {
        let up = up::<REVERSED>(forward);
        // Most steps lead to a leaf next to the last one.
        if let Some(frame) = self.frames[..self.depth].last_mut()
            && let leaf = frame.next_leaf(tree, up, true)
            && leaf.is_leaf()
            && self.land(tree, leaf, landing)
        {
            return;
        }
        self.walk_on(tree, forward, landing);
    }

    /// As [`Cursor::walk`], through any nodes.
    #[inline(never)]
    fn walk_on(&mut self, tree: &Art, forward: bool, landing: Landing) {
        let up = up::<REVERSED>(forward);
        loop {
            let leaf = self.leaf_after(tree, up, true);
            if leaf.is_none() {
                self.leaf = Ref::NONE;
                return;
            }
            if self.land(tree, leaf, landing) {
                return;
            }
        }
    }

    /// Moves the frames to the next leaf, whether it has versions or not, through any
    /// nodes. With `look`, leaves ahead may be read.
    #[inline(always)]
    fn leaf_after(&mut self, tree: &Art, up: bool, look: bool) -> Ref {
        while self.depth > 0 {
            let frame = &mut self.frames[self.depth - 1];
            let child = frame.next(tree, up, look);
            if child.is_none() {
                self.depth -= 1;
            } else if child.is_leaf() {
                return child;
            } else {
                // Prefetch the next node's children while this one's are read.
                let upcoming = frame.upcoming(up);
                if !upcoming.is_none() && !upcoming.is_leaf() {
                    tree.node(upcoming).prefetch_children(&tree.memory);
                }
                self.push(tree, child, start(up));
            }
        }
        Ref::NONE
    }

    /// Moves only the frames to the next leaf forward, and returns it without reading any
    /// leaf. The cursor's entry is meaningless from then on.
    #[inline(always)]
    pub(super) fn next_leaf_ref(&mut self, tree: &Art) -> Ref {
        let up = up::<REVERSED>(true);
        if let Some(frame) = self.frames[..self.depth].last_mut() {
            let leaf = frame.next_leaf(tree, up, false);
            if !leaf.is_none() {
                return leaf;
            }
        }
        self.next_leaf_ref_slow(tree, up)
    }

    #[inline(never)]
    fn next_leaf_ref_slow(&mut self, tree: &Art, up: bool) -> Ref {
        self.leaf_after(tree, up, false)
    }

    /// Moves to the next older version of the same key. Returns whether there is one.
    #[inline(always)]
    pub(super) fn older(&mut self, tree: &Art) -> bool {
        if self.is_inside() {
            return false;
        }
        let older = self.versions(tree).older(self.at);
        if older != Link::END {
            self.at = older;
        }
        older != Link::END
    }

    /// Moves to the newest version of a leaf that a prefetch cursor has returned; without
    /// a leaf, the cursor becomes invalid. If the leaf has no versions, returns `false`
    /// and stays. The frames do not move along, so only a `seek` may use them afterwards.
    #[inline(always)]
    pub(super) fn move_to(&mut self, tree: &Art, leaf: Ref) -> bool {
        if leaf.is_none() {
            self.leaf = leaf;
            return true;
        }
        self.land(tree, leaf, Landing::Newest)
    }

    /// Moves to a version of a leaf, if it has any.
    #[inline(always)]
    fn land(&mut self, tree: &Art, leaf: Ref, landing: Landing) -> bool {
        let versions = Versions::new(&tree.memory, tree.leaf(leaf));
        let at = match landing {
            Landing::Newest => versions.newest(),
            Landing::Oldest => versions.oldest(),
        };
        if at == Link::END {
            return false;
        }
        self.leaf = leaf;
        self.at = at;
        true
    }

    #[inline]
    fn push(&mut self, tree: &Art, node: Ref, start: Start) {
        if self.depth == self.frames.len() {
            if self.frames.capacity() == 0 {
                self.frames = scratch::take(&SCRATCH);
            }
            if self.depth == self.frames.len() {
                self.frames.push(Frame::empty());
            }
        }
        self.frames[self.depth].enter(tree, node, start);
        self.depth += 1;
    }
}

/// Whether this direction leads to greater keys.
#[inline(always)]
fn up<const REVERSED: bool>(forward: bool) -> bool {
    forward != REVERSED
}

/// Where a walk through all of a node begins.
#[inline(always)]
fn start(up: bool) -> Start {
    if up { Start::First } else { Start::Last }
}
