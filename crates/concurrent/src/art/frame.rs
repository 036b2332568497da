//! A cursor's place in one node.

use super::Art;
use super::node::{Ref, Sorted};

/// How many children ahead are asked for.
const AHEAD: usize = 8;

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
    mode: Mode,
    /// See [`Mode`].
    at: usize,
    /// How many children are in `children`, the terminal included.
    len: usize,
    children: Sorted,
}

/// What `at` means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The byte of a child of a small node that has not been listed.
    Byte,
    /// One more than an index in `children`; 0 is before the first, `len + 1`
    /// after the last.
    Listed,
    /// Two more than a byte of a wide node; 1 is the terminal, 0 is before
    /// everything, [`WIDE_END`] after.
    Wide,
}

const WIDE_END: usize = 258;

impl Frame {
    /// A frame to be filled by [`Frame::enter`].
    pub(super) fn empty() -> Self {
        Frame {
            node: Ref::NONE,
            mode: Mode::Wide,
            at: 0,
            len: 0,
            children: [Ref::NONE; 49],
        }
    }

    /// Makes this the frame of a node.
    #[inline]
    pub(super) fn enter(&mut self, tree: &Art, node: Ref, start: Start) {
        self.node = node;
        if tree.node(node).is_wide() {
            self.mode = Mode::Wide;
            self.at = match start {
                Start::First => 0,
                Start::Last => WIDE_END,
                Start::Terminal => 1,
                Start::At(byte) | Start::Beside(byte, _) => usize::from(byte) + 2,
            };
            return;
        }
        if let Start::At(byte) = start {
            // A place of one reading needs no list.
            self.mode = Mode::Byte;
            self.at = usize::from(byte);
            return;
        }
        self.mode = Mode::Listed;
        let byte = match start {
            Start::Beside(byte, _) => byte,
            _ => 0,
        };
        let before = self.list(tree, byte);
        self.at = match start {
            Start::First | Start::At(_) => 0,
            Start::Last => self.len + 1,
            Start::Terminal => before,
            Start::Beside(_, up) => before + usize::from(!up),
        };
    }

    /// Lists the children of a small node. Returns how many come before that
    /// of `byte`.
    #[inline]
    fn list(&mut self, tree: &Art, byte: u8) -> usize {
        let (len, before) = tree.node(self.node).sorted(byte, &mut self.children);
        self.len = len;
        before
    }

    #[inline(always)]
    fn settle(&mut self, tree: &Art) {
        if self.mode == Mode::Byte {
            self.at = self.list(tree, self.at as u8) + 1;
            self.mode = Mode::Listed;
        }
    }

    /// Moves to the next child upwards, or past the last.
    #[inline(always)]
    pub(super) fn forward(&mut self, tree: &Art) -> Ref {
        self.settle(tree);
        if self.mode == Mode::Wide {
            return self.forward_wide(tree);
        }
        if self.at >= self.len {
            self.at = self.len + 1;
            return Ref::NONE;
        }
        let child = self.children[self.at];
        if let Some(later) = self.children[..self.len].get(self.at + AHEAD) {
            self.ask_for(tree, *later);
        }
        self.at += 1;
        child
    }

    /// Moves to the next child downwards, or before the first.
    #[inline(always)]
    pub(super) fn backward(&mut self, tree: &Art) -> Ref {
        self.settle(tree);
        if self.mode == Mode::Wide {
            return self.backward_wide(tree);
        }
        if self.at <= 1 {
            self.at = 0;
            return Ref::NONE;
        }
        self.at -= 1;
        if let Some(later) = self.at.checked_sub(1 + AHEAD) {
            self.ask_for(tree, self.children[later]);
        }
        self.children[self.at - 1]
    }

    #[inline]
    fn forward_wide(&mut self, tree: &Art) -> Ref {
        let node = tree.node(self.node);
        if self.at == 0 {
            self.at = 1;
            let terminal = node.terminal();
            if !terminal.is_none() {
                return terminal;
            }
        }
        let Some((byte, child)) = node.wide_up(self.at - 1) else {
            self.at = WIDE_END;
            return Ref::NONE;
        };
        self.at = byte + 2;
        if let Ok(later) = u8::try_from(byte + AHEAD) {
            self.ask_for(tree, node.child(later));
        }
        child
    }

    #[inline]
    fn backward_wide(&mut self, tree: &Art) -> Ref {
        let node = tree.node(self.node);
        if self.at <= 1 {
            self.at = 0;
            return Ref::NONE;
        }
        let Some((byte, child)) = node.wide_down(self.at - 2) else {
            self.at = 1;
            return node.terminal();
        };
        self.at = byte + 2;
        if let Some(later) = byte.checked_sub(AHEAD) {
            self.ask_for(tree, node.child(later as u8));
        }
        child
    }

    #[inline(always)]
    fn ask_for(&self, tree: &Art, child: Ref) {
        tree.memory.prefetch(child.unit(), 0);
        if !child.is_leaf() {
            tree.memory.prefetch(child.unit(), 1);
        }
    }
}
