//! A cursor's place in one node.
//!
//! A frame works on a sorted copy of some children: of all of them in a small
//! node, of those of a *window* of bytes in a wide one. So a step is an index
//! in an array, and what the next steps need is known and can be asked for
//! long before.

use super::Art;
use super::children::{Children, NO_CHILDREN};
use super::leaf::Link;
use super::node::Ref;
use crate::sync::Ordering;

/// How many children ahead are asked for.
const AHEAD: usize = 8;

/// Places of a window. A wide node has a place for its terminal, number 0, and
/// one for each byte, numbers 1 to 256.
const WINDOW: usize = 32;

/// After the last place.
const END: usize = 257;

/// Where in a node to begin.
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
    /// Where the child of a byte would be, which is not there. Says whether
    /// the first step is upwards.
    Beside(u8, bool),
}

/// A node on the way to a leaf, and where in it.
#[derive(Clone)]
pub(super) struct Frame {
    node: Ref,
    /// The byte of the child the frame is at, if nothing is listed yet; `len`
    /// is 0 then.
    byte: Option<u8>,
    /// One more than an index in `children`; 0 is before the first, `len + 1`
    /// after the last.
    at: usize,
    /// How many children are listed.
    len: usize,
    /// The places listed, in a wide node; everything in a small one.
    from: usize,
    to: usize,
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
            from: 0,
            to: 0,
            children: NO_CHILDREN,
        }
    }

    /// Makes this the frame of a node.
    #[inline]
    pub(super) fn enter(&mut self, tree: &Art, node: Ref, start: Start) {
        self.node = node;
        self.byte = None;
        match start {
            // A place that is only read needs no list.
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
                // The child may have come since it was missed. It then has
                // keys on both sides of the one sought, and is passed over.
                let place = place_of(byte);
                self.at = if up {
                    self.list(tree, place, place + 1)
                } else {
                    self.list(tree, place, place) + 1
                };
            }
        }
    }

    /// Lists children: all of a small node, those of the window around `place`
    /// of a wide one. Returns how many of them are at places before `mark`.
    #[inline]
    fn list(&mut self, tree: &Art, place: usize, mark: usize) -> usize {
        let node = tree.node(self.node);
        (self.from, self.to) = (0, END);
        if node.is_wide() {
            let window = place.saturating_sub(1) / WINDOW;
            self.from = first_place(window);
            self.to = first_place(window + 1);
            let (len, before) = node.window(self.from, self.to, mark, &mut self.children);
            self.len = len;
            return before;
        }
        let (len, before) = node.sorted(mark, &mut self.children);
        self.len = len;
        before
    }

    /// Moves to the next child, or beyond the last in this direction. `look`
    /// says whether leaves that come may be looked at, as by
    /// [`Frame::next_leaf`].
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

    /// Moves to the next child, if it is a leaf and listed. Otherwise does
    /// nothing. With `look`, the heads of leaves that come are read for the
    /// versions they lead to.
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

    /// Asks the processor for a child some steps ahead, and with `look` for
    /// the versions of one nearer, which was asked for before.
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
            // With the line after, where the value goes on: who walks mostly
            // reads it, and would wait for it alone.
            if head.is_version() {
                tree.memory.prefetch(head.0, 0);
                tree.memory.prefetch(head.0, 1);
            } else {
                tree.memory.prefetch(near.offset(), 1);
            }
        }
    }

    /// To before the first child of the next window that has any.
    #[inline]
    fn window_up(&mut self, tree: &Art) -> bool {
        while self.to < END {
            self.from = self.to;
            self.to = self.from + WINDOW;
            let node = tree.node(self.node);
            (self.len, _) = node.window(self.from, self.to, 0, &mut self.children);
            if self.len > 0 {
                self.at = 0;
                self.prefetch_from(tree, 0);
                return true;
            }
        }
        false
    }

    /// To after the last child of the window before that has any.
    #[inline]
    fn window_down(&mut self, tree: &Art) -> bool {
        while self.from > 0 {
            self.to = self.from;
            self.from = first_place(self.to / WINDOW - 1);
            let node = tree.node(self.node);
            (self.len, _) = node.window(self.from, self.to, 0, &mut self.children);
            if self.len > 0 {
                self.at = self.len + 1;
                self.prefetch_to(tree, self.len);
                return true;
            }
        }
        false
    }

    /// The child the next step leads to, if it is listed.
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
fn place_of(byte: u8) -> usize {
    usize::from(byte) + 1
}

/// The first place of a window. The terminal's is in the first one, which so
/// has one place more.
fn first_place(window: usize) -> usize {
    if window == 0 { 0 } else { window * WINDOW + 1 }
}

/// Asks the processor for what a child is read for first.
#[inline(always)]
fn prefetch_child(tree: &Art, child: Ref) {
    tree.memory.prefetch(child.offset(), 0);
    if !child.is_leaf() {
        tree.memory.prefetch(child.offset(), 1);
    }
}
