//! A cursor's position in one node.
//!
//! A frame works on a sorted copy of children: of all children of a small node, and of
//! those in a *window* of bytes of a wide node. So a step moves an index in an array, and
//! what the next steps need is known early and can be prefetched.

use super::Art;
use super::children::{Children, NO_CHILDREN, WINDOW, WINDOWS};
use super::leaf::Link;
use super::node::Ref;
use crate::sync::Ordering;

/// How many children ahead are prefetched.
const AHEAD: usize = 8;

/// One past the last place. A node has a place for its terminal, number 0, and one for each
/// byte, numbers 1 to 256.
const END: usize = 257;

/// Where in a node a walk begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Before everything.
    First,
    /// After everything.
    Last,
    /// At the terminal or, if there is none, before everything.
    Terminal,
    /// At the child of a byte.
    At(u8),
    /// Where the child of a byte would be that has none. The flag says whether the first
    /// step goes up.
    Beside(u8, bool),
}

/// A node on the path to a leaf, and the position in it.
#[derive(Clone)]
pub(super) struct Frame {
    node: Ref,
    /// The byte of the child that the frame is at, if no children are listed yet; `len`
    /// is 0 then.
    byte: Option<u8>,
    /// One more than the index in `children`; 0 is before the first child, `len + 1`
    /// after the last.
    at: usize,
    /// The number of children that are listed.
    len: usize,
    /// The window that is listed of a wide node; `None` for a small one, of which all is.
    window: Option<usize>,
    children: Children,
}

impl Frame {
    /// A frame to be filled by [`Frame::enter`].
    pub(super) fn empty() -> Self {
        Frame {
            node: Ref::NONE,
            byte: None,
            at: 0,
            len: 0,
            window: None,
            children: NO_CHILDREN,
        }
    }

    /// Makes this the frame of a node.
    #[inline]
    pub(super) fn enter(&mut self, tree: &Art, node: Ref, start: Start) {
        self.node = node;
        self.byte = None;
        match start {
            // A position from which the cursor may never move needs no list.
            Start::At(byte) => {
                self.byte = Some(byte);
                self.len = 0;
            }
            Start::First => {
                self.list(tree, 0, 0);
                self.at = 0;
                self.prefetch_from(tree, 0);
            }
            Start::Last => {
                self.list(tree, END - 1, END);
                self.at = self.len + 1;
                self.prefetch_to(tree, self.len);
            }
            Start::Terminal => self.at = self.list(tree, 0, 1),
            Start::Beside(byte, up) => {
                // The child may have been added since it was found missing. It then has
                // keys on both sides of the one that is sought, and is passed over.
                let place = place_of(byte);
                self.at = if up {
                    self.list(tree, place, place + 1)
                } else {
                    self.list(tree, place, place) + 1
                };
            }
        }
    }

    /// Lists the children: all of a small node, and of a wide node those in the window
    /// around `place`. Returns how many of them are at places before `mark`.
    #[inline]
    fn list(&mut self, tree: &Art, place: usize, mark: usize) -> usize {
        let node = tree.node(self.node);
        self.window = node.is_wide().then(|| place.saturating_sub(1) / WINDOW);
        let (len, before) = match self.window {
            Some(window) => node.window(window, mark, &mut self.children),
            None => node.sorted(mark, &mut self.children),
        };
        self.len = len;
        before
    }

    /// Moves to the next child, or beyond the last one in this direction. `look` says
    /// whether leaves ahead may be read, as in [`Frame::next_leaf`].
    #[inline]
    pub(super) fn next(&mut self, tree: &Art, up: bool, look: bool) -> Ref {
        if let Some(byte) = self.byte.take() {
            let place = place_of(byte);
            self.at = self.list(tree, place, place) + 1;
        }
        let child = self.upcoming(up);
        if child.is_none() {
            let further = if up {
                self.window_up(tree)
            } else {
                self.window_down(tree)
            };
            if !further {
                self.at = if up { self.len + 1 } else { 0 };
                return child;
            }
        }
        self.next_listed(tree, up, look)
    }

    /// Moves to the next child, if it is listed and a leaf. Otherwise does nothing. With
    /// `look`, the heads of leaves ahead are read, so that the versions they lead to can
    /// be prefetched.
    #[inline(always)]
    pub(super) fn next_leaf(&mut self, tree: &Art, up: bool, look: bool) -> Ref {
        let child = self.upcoming(up);
        if !child.is_leaf() {
            return Ref::NONE;
        }
        self.next_listed(tree, up, look)
    }

    /// Moves to the next child, which must be listed.
    #[inline(always)]
    fn next_listed(&mut self, tree: &Art, up: bool, look: bool) -> Ref {
        let child = self.upcoming(up);
        self.at = if up { self.at + 1 } else { self.at - 1 };
        self.prefetch_ahead(tree, up, look);
        child
    }

    /// Prefetches a child some steps ahead and, with `look`, the newest version of a
    /// nearer one, which was prefetched before.
    #[inline(always)]
    fn prefetch_ahead(&self, tree: &Art, up: bool, look: bool) {
        let ahead = |steps: usize| {
            let index = if up {
                self.at.wrapping_add(steps - 1)
            } else {
                self.at.wrapping_sub(1 + steps)
            };
            let listed = index < self.len;
            self.children.get(index).filter(|_| listed)
        };
        if let Some(far) = ahead(AHEAD) {
            prefetch_child(tree, *far);
        }
        if look
            && let Some(near) = ahead(AHEAD / 2)
            && near.is_leaf()
        {
            // Relaxed: only a hint.
            let head = Link(tree.leaf(*near).head().load(Ordering::Relaxed));
            // With the cache line after it, into which the value reaches: a walk usually
            // reads it, and would wait for it.
            if head.is_version() {
                tree.memory.prefetch(head.0, 0);
                tree.memory.prefetch(head.0, 1);
            } else {
                tree.memory.prefetch(near.offset(), 1);
            }
        }
    }

    /// Moves before the first child of the next window that has any.
    #[inline]
    fn window_up(&mut self, tree: &Art) -> bool {
        let later = self.window.map_or(0..0, |window| window + 1..WINDOWS);
        for window in later {
            self.list_window(tree, window);
            if self.len > 0 {
                self.at = 0;
                self.prefetch_from(tree, 0);
                return true;
            }
        }
        false
    }

    /// Moves after the last child of the nearest window before that has any.
    #[inline]
    fn window_down(&mut self, tree: &Art) -> bool {
        for window in (0..self.window.unwrap_or(0)).rev() {
            self.list_window(tree, window);
            if self.len > 0 {
                self.at = self.len + 1;
                self.prefetch_to(tree, self.len);
                return true;
            }
        }
        false
    }

    fn list_window(&mut self, tree: &Art, window: usize) {
        self.window = Some(window);
        (self.len, _) = tree.node(self.node).window(window, 0, &mut self.children);
    }

    /// The child that the next step leads to, if it is listed.
    #[inline(always)]
    pub(super) fn upcoming(&self, up: bool) -> Ref {
        let next = if up { self.at } else { self.at.wrapping_sub(2) };
        if next < self.len {
            self.children.get(next).copied().unwrap_or_default()
        } else {
            Ref::NONE
        }
    }

    fn prefetch_from(&self, tree: &Art, from: usize) {
        for child in &self.children[from..self.len.min(from + AHEAD)] {
            prefetch_child(tree, *child);
        }
    }

    fn prefetch_to(&self, tree: &Art, to: usize) {
        for child in self.children[to.saturating_sub(AHEAD)..to].iter().rev() {
            prefetch_child(tree, *child);
        }
    }
}

/// The place of a byte's child.
pub(super) fn place_of(byte: u8) -> usize {
    usize::from(byte) + 1
}

/// Prefetches what is read first of a child.
#[inline(always)]
fn prefetch_child(tree: &Art, child: Ref) {
    tree.memory.prefetch(child.offset(), 0);
    if !child.is_leaf() {
        tree.memory.prefetch(child.offset(), 1);
    }
}
