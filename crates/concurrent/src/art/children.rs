//! A node's children in order of their bytes.

use super::node::{Body, COUNT_SHIFT, Node, Ref, Slot, load};
use crate::sync::Ordering;

/// A node's children in order of their bytes: 48 at most, and the terminal.
pub(super) type Children = [Ref; 49];
/// The number of bytes in a window of a wide node, whose children are listed at a time.
pub(super) const WINDOW: usize = 32;
/// The number of windows of a wide node.
pub(super) const WINDOWS: usize = 256 / WINDOW;
/// An empty list.
pub(super) const NO_CHILDREN: Children = [Ref::NONE; 49];

impl Node<'_> {
    /// Fills `into` with the children of a window of a wide node, and with the terminal before
    /// those of window 0. Place 0 is the terminal's, place `b + 1` is that of byte `b`.
    /// Returns how many children these are, and how many of them are at places before `mark`.
    /// (Both numbers come from one pass, since children may be added between two.)
    #[inline]
    pub(super) fn window(self, window: usize, mark: usize, into: &mut Children) -> (usize, usize) {
        let Body::N256(n) = self.body(self.state()) else {
            return (0, 0);
        };
        let (mut len, mut before) = (0, 0);
        let mut list = |place: usize, child: Ref| {
            into[len] = child;
            len += usize::from(!child.is_none());
            if place < mark {
                before = len;
            }
        };
        if window == 0 {
            list(0, self.terminal());
        }
        let mut present = n.present_from(window * WINDOW);
        while present != 0 {
            let byte = window * WINDOW + present.trailing_zeros() as usize;
            present &= present - 1;
            // Acquire: as in `child`.
            list(byte + 1, Ref(n.children[byte].load(Ordering::Acquire)));
        }
        (len, before)
    }

    /// Fills `into` with the terminal, if there is one, and the children in order.
    /// Returns how many these are, and how many of them are at places before `mark`, as
    /// [`Node::window`] does. Not for wide nodes.
    pub(super) fn sorted(self, mark: usize, into: &mut Children) -> (usize, usize) {
        let state = self.state();
        let count = (state >> COUNT_SHIFT) as usize;
        let mut list = Lister::new(mark);
        match self.body(state) {
            Body::N4(n) => {
                let word = u64::from(n.bytes.load(Ordering::Relaxed));
                list.add(&[word], &n.children, count);
            }
            Body::N16(n) => list.add(&load(&n.bytes), &n.children, count),
            Body::N48(n) => list.add(&load(&n.bytes), &n.children, count),
            Body::N256(_) => {}
        }
        list.finish(self.terminal(), into)
    }
}

/// Sorts children by their bytes: a bit set tells which bytes there are, and a table maps
/// bytes to children.
struct Lister {
    present: [u64; 4],
    children: [std::mem::MaybeUninit<u32>; 256],
    mark: usize,
}

impl Lister {
    #[inline(always)]
    fn new(mark: usize) -> Self {
        Lister {
            present: [0; 4],
            children: [std::mem::MaybeUninit::uninit(); 256],
            mark,
        }
    }

    #[inline(always)]
    fn add(&mut self, words: &[u64], slots: &[Slot], count: usize) {
        for (i, slot) in slots[..count].iter().enumerate() {
            let byte = (words[i / 8] >> (i % 8 * 8)) as u8;
            self.present[usize::from(byte >> 6)] |= 1 << (byte & 63);
            // Acquire: as in `Node::child`.
            self.children[usize::from(byte)].write(slot.load(Ordering::Acquire));
        }
    }

    #[inline(always)]
    fn finish(self, terminal: Ref, into: &mut Children) -> (usize, usize) {
        let mut len = 0;
        let mut before = 0;
        if !terminal.is_none() {
            into[0] = terminal;
            len = 1;
            before = usize::from(self.mark > 0);
        }
        for (high, mut word) in self.present.into_iter().enumerate() {
            while word != 0 {
                let byte = high << 6 | word.trailing_zeros() as usize;
                word &= word - 1;
                // SAFETY: `add` has written the child of every byte present.
                into[len] = Ref(unsafe { self.children[byte].assume_init() });
                len += 1;
                before += usize::from(byte + 1 < self.mark);
            }
        }
        (len, before)
    }
}
