//! Inner nodes: their memory layouts, and the only code that reads or writes them.
//!
//! ```text
//!  header = state u32 | prefix length u32 | prefix u32 | terminal u32
//!  4      = header | 4 bytes  | 4 children       40 bytes
//!  16     = header | 16 bytes | 16 children      96 bytes
//!  48     = header | 48 bytes | 48 children     256 bytes
//!  256    = header | 256 bits   | 256 children 1072 bytes
//!  state  = locked | obsolete | kind (2 bits) | ... | count (from bit 8)
//! ```
//!
//! Children of the three small kinds are in order of arrival, and nothing in a node is
//! ever moved or removed. A node that is full, or whose prefix must be split, is copied.
//! The copy replaces it in its parent; the old node is marked obsolete and does not
//! change after that.
//!
//! # Invariants
//! * N1: only the holder of a node's lock writes to it.
//! * N2: a byte and its child are written before the count that includes them
//!   is stored with Release; readers load the count with Acquire first. A
//!   count never falls.
//! * N3: an obsolete node is never written to again.
//! * N4: a [`Ref`] in a node refers to a leaf or a node of the same tree, which was
//!   complete before the `Ref` was stored with Release (or covered by N2's Release).
//! * N5: kind and prefix are set at creation and never changed.
//! * N6: in a node of 256, the bit of a byte is set before its child is stored with
//!   Release. So a thread that has seen a child sees its bit, too. No bit is cleared.

use smallvec::SmallVec;
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::bytes;
use super::leaf::Leaf;
use super::lock::{FREE_SHIFT, Locked};
use super::memory::Memory;
use crate::sync::{AtomicU32, AtomicU64, MODELLED, Ordering, PublishedMark};

/// A reference to a leaf or a node of a tree, or to nothing: twice the offset, plus 1 for
/// a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ref(pub(super) u32);

impl Ref {
    pub(super) const NONE: Ref = Ref(0);

    #[inline(always)]
    pub(super) fn leaf(leaf: Leaf<'_>) -> Self {
        Ref(leaf.offset() << 1 | 1)
    }

    #[inline(always)]
    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline(always)]
    pub(super) fn offset(self) -> u32 {
        self.0 >> 1
    }
}

/// The kinds of nodes, by the number of children that they have room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    N4 = 0,
    N16 = 1,
    N48 = 2,
    N256 = 3,
}

/// The room for children by kind. Models grow nodes early, so that few steps reach every
/// kind.
const ROOM: [usize; 4] = if MODELLED {
    [2, 3, 6, 256]
} else {
    [4, 16, 48, 256]
};

impl Kind {
    /// The kind with room for more children.
    pub(super) fn larger(self) -> Kind {
        match self {
            Kind::N4 => Kind::N16,
            Kind::N16 => Kind::N48,
            Kind::N48 | Kind::N256 => Kind::N256,
        }
    }

    fn size(self) -> usize {
        match self {
            Kind::N4 => size_of::<Node4>(),
            Kind::N16 => size_of::<Node16>(),
            Kind::N48 => size_of::<Node48>(),
            Kind::N256 => size_of::<Node256>(),
        }
    }
}

const KIND_SHIFT: u32 = FREE_SHIFT;
pub(super) const COUNT_SHIFT: u32 = 8;

/// The longest prefix that is stored in its node, in bytes.
const INLINE_PREFIX: usize = 4;

/// The bytes that all keys below a node have in common from its depth on.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    /// The number of bytes.
    pub(super) len: u32,
    /// The bytes themselves, the first one lowest, if there are at most
    /// [`INLINE_PREFIX`]; otherwise the offset of a leaf that has them in its key.
    data: u32,
}

impl Prefix {
    /// The prefix `leaf.key()[from..from + len]`.
    pub(super) fn of(leaf: Leaf<'_>, from: usize, len: usize) -> Self {
        let mut data = leaf.offset();
        if len <= INLINE_PREFIX {
            let mut inline = [0; INLINE_PREFIX];
            inline[..len].copy_from_slice(&leaf.key()[from..from + len]);
            data = u32::from_le_bytes(inline);
        }
        Prefix {
            len: len as u32,
            data,
        }
    }

    /// The bytes, for a node at `depth`.
    fn bytes<'a>(&'a self, memory: &'a Memory, depth: usize, buffer: &'a mut [u8; 4]) -> &'a [u8] {
        let len = self.len as usize;
        if len <= INLINE_PREFIX {
            *buffer = self.data.to_le_bytes();
            return &buffer[..len];
        }
        // SAFETY: the offset was set when the node was made, by a thread that knew the
        // leaf (N5), and what published the node published the leaf, too.
        let leaf = unsafe { Leaf::at(memory, self.data) };
        &leaf.key()[depth..depth + len]
    }

    /// How many of its bytes agree with `key[depth..]`.
    #[inline(always)]
    pub(super) fn common(self, memory: &Memory, key: &[u8], depth: usize) -> usize {
        if self.len == 0 {
            return 0;
        }
        common_len(self.bytes(memory, depth, &mut [0; 4]), &key[depth..])
    }

    /// The depth at which it ends, if it begins at `depth`.
    ///
    /// Most nodes have no prefix. That is a branch, which the processor predicts: the
    /// next load does not wait for the node's header, as it would for a sum. A compiler
    /// that saw that the sum is right in both cases would replace the branch by it; hence
    /// the `black_box`.
    #[inline(always)]
    pub(super) fn end(self, depth: usize) -> usize {
        match self.len as usize {
            0 => depth,
            len => depth + black_box(len),
        }
    }

    /// How it compares with as many bytes of `key[depth..]`. A key that ends earlier
    /// comes first.
    pub(super) fn compare(self, memory: &Memory, key: &[u8], depth: usize) -> std::cmp::Ordering {
        let rest = &key[depth..];
        let rest = &rest[..rest.len().min(self.len as usize)];
        self.bytes(memory, depth, &mut [0; 4]).cmp(rest)
    }

    /// The part before `index`, the byte there, and the part that follows it.
    pub(super) fn split(self, memory: &Memory, depth: usize, index: usize) -> (Prefix, u8, Prefix) {
        let mut buffer = [0; 4];
        let bytes = self.bytes(memory, depth, &mut buffer);
        let part = |from: usize, to: usize| {
            let mut data = self.data;
            if to - from <= INLINE_PREFIX {
                let mut inline = [0; INLINE_PREFIX];
                inline[..to - from].copy_from_slice(&bytes[from..to]);
                data = u32::from_le_bytes(inline);
            }
            Prefix {
                len: (to - from) as u32,
                data,
            }
        };
        let (before, after) = (part(0, index), part(index + 1, bytes.len()));
        (before, bytes[index], after)
    }
}

/// The length of the longest common prefix.
///
/// From eight bytes on, the last word overlaps the one before it, so that no bytes are left
/// to compare one by one.
#[inline]
pub(super) fn common_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let (Some((_, last_a)), Some((_, last_b))) =
        (a.split_last_chunk::<8>(), b.split_last_chunk::<8>())
    else {
        return a.iter().zip(b).take_while(|(a, b)| a == b).count();
    };
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    for (i, (a, b)) in words.enumerate() {
        if a != b {
            return 8 * i + same_bytes(*a, *b);
        }
    }
    len - 8 + same_bytes(*last_a, *last_b)
}

/// How many bytes are equal before the first that differs.
#[inline]
fn same_bytes(a: [u8; 8], b: [u8; 8]) -> usize {
    let differing = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
    (differing.trailing_zeros() / 8) as usize
}

#[repr(C)]
struct Header {
    /// Lock, obsolete bit, kind, and the count of children (not in a node of 256).
    /// Written by: the thread that takes the lock, with compare-and-swap, then the
    /// holder. Read by: any thread. Publishes: the children counted (N2).
    state: AtomicU32,
    prefix: Prefix,
    /// The leaf of the key that ends here, after the prefix.
    /// Written by: the holder of the lock, once. Read by: any thread. Publishes: the
    /// leaf.
    terminal: AtomicU32,
    mark: PublishedMark,
}

/// A child's [`Ref`].
/// Written by: the holder of the node's lock. Read by: any thread. Publishes: the child
/// (N4).
pub(super) type Slot = AtomicU32;

/// The bytes of a small node.
/// Written by: the holder of the lock. Read by: any thread, after the count. Publish
/// nothing (N2).
pub(super) type Bytes<const WORDS: usize> = [AtomicU64; WORDS];

#[repr(C)]
pub(super) struct Node4 {
    header: Header,
    /// As [`Bytes`], for four bytes.
    pub(super) bytes: AtomicU32,
    pub(super) children: [Slot; 4],
}

#[repr(C)]
pub(super) struct Node16 {
    header: Header,
    pub(super) bytes: Bytes<2>,
    pub(super) children: [Slot; 16],
}

#[repr(C)]
pub(super) struct Node48 {
    header: Header,
    pub(super) bytes: Bytes<6>,
    pub(super) children: [Slot; 48],
}

#[repr(C)]
pub(super) struct Node256 {
    header: Header,
    /// The bytes that have children, a bit for each, so that a walk need not look at the
    /// others.
    /// Written by: the holder of the lock, before the child (N6). Read by: any thread
    /// (relaxed: a bit is only a hint that there is a child). Publishes nothing.
    present: [AtomicU64; 4],
    /// Indexed by byte; [`Ref::NONE`] for a byte without a child.
    pub(super) children: [Slot; 256],
}

impl Node256 {
    /// The bytes from `from` on, a multiple of 32, that have children: a bit for each of
    /// 32 bytes. It has the bits of all children that this thread has seen (N6).
    #[inline(always)]
    pub(super) fn present_from(&self, from: usize) -> u32 {
        let word = self.present[from / 64].load(Ordering::Relaxed);
        (word >> (from % 64)) as u32
    }

    /// For the holder of the lock.
    fn set_present(&self, byte: u8) {
        let word = &self.present[usize::from(byte >> 6)];
        let new = word.load(Ordering::Relaxed) | 1 << (byte & 63);
        word.store(new, Ordering::Relaxed);
    }
}

/// A node's contents by its kind.
pub(super) enum Body<'t> {
    N4(&'t Node4),
    N16(&'t Node16),
    N48(&'t Node48),
    N256(&'t Node256),
}

/// A node of a tree whose memory outlives `'t`.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    at: NonNull<Header>,
    memory: PhantomData<&'t Memory>,
}

/// The parts that a node is made from.
pub(super) struct Parts {
    pub(super) kind: Kind,
    pub(super) prefix: Prefix,
    pub(super) terminal: Ref,
    /// Bytes and their children, at most as many as the kind has room for.
    pub(super) children: SmallVec<[(u8, Ref); 4]>,
}

impl<'t> Node<'t> {
    /// The node of a `Ref`.
    ///
    /// # Safety
    /// The `Ref` must refer to a node, not a leaf, and must have been read from a slot of
    /// the tree with Acquire, or made by this thread.
    #[inline(always)]
    pub(super) unsafe fn at(memory: &'t Memory, node: Ref) -> Self {
        debug_assert!(!node.is_none() && !node.is_leaf());
        let node = Node {
            at: memory.at(node.offset()).cast(),
            memory: PhantomData,
        };
        node.header().mark.read();
        node
    }

    #[inline(always)]
    fn header(self) -> &'t Header {
        // SAFETY: a node is there, complete before any other thread knew it and then
        // changed only through atomics; the memory outlives `'t`.
        unsafe { self.at.as_ref() }
    }

    /// The state. Acquire: partner of the Release in [`Locked`]'s drop (N2).
    #[inline(always)]
    pub(super) fn state(self) -> u32 {
        self.header().state.load(Ordering::Acquire)
    }

    #[inline(always)]
    pub(super) fn body(self, state: u32) -> Body<'t> {
        match state >> KIND_SHIFT & 3 {
            // SAFETY: the kind says that this is the layout (N5); otherwise as in
            // `header`.
            0 => Body::N4(unsafe { self.at.cast().as_ref() }),
            // SAFETY: the kind says that this is the layout (N5); otherwise as in
            // `header`.
            1 => Body::N16(unsafe { self.at.cast().as_ref() }),
            // SAFETY: the kind says that this is the layout (N5); otherwise as in
            // `header`.
            2 => Body::N48(unsafe { self.at.cast().as_ref() }),
            // SAFETY: the kind says that this is the layout (N5); otherwise as in
            // `header`.
            _ => Body::N256(unsafe { self.at.cast().as_ref() }),
        }
    }

    /// The bytes that all keys below have in common here.
    #[inline(always)]
    pub(super) fn prefix(self) -> Prefix {
        self.header().prefix
    }

    /// The leaf of the key that ends at this node, if any.
    #[inline(always)]
    pub(super) fn terminal(self) -> Ref {
        // Acquire: partner of the Release in `set_terminal` (N4).
        Ref(self.header().terminal.load(Ordering::Acquire))
    }

    /// The slot of a byte, if there is one. (In a node of 256 there always is.)
    #[inline(always)]
    fn slot(self, byte: u8) -> Option<&'t Slot> {
        let state = self.state();
        let count = (state >> COUNT_SHIFT) as usize;
        match self.body(state) {
            Body::N4(n) => {
                let word = n.bytes.load(Ordering::Relaxed);
                let index = bytes::find_in_4(word, byte, count)?;
                n.children.get(index)
            }
            Body::N16(n) => n
                .children
                .get(bytes::find_in_16(load(&n.bytes), byte, count)?),
            Body::N48(n) => n
                .children
                .get(bytes::find_in_48(load(&n.bytes), byte, count)?),
            Body::N256(n) => Some(&n.children[usize::from(byte)]),
        }
    }

    /// The child of a byte.
    #[inline(always)]
    pub(super) fn child(self, byte: u8) -> Ref {
        match self.slot(byte) {
            // Acquire: partner of the Release in `replace` and `try_add`.
            Some(slot) => Ref(slot.load(Ordering::Acquire)),
            None => Ref::NONE,
        }
    }

    /// Prefetches the nearest child above or below a byte among the next four slots of a node of
    /// 256. A hint.
    #[inline]
    pub(super) fn prefetch_beside(self, memory: &Memory, byte: u8, up: bool) {
        let Body::N256(n) = self.body(self.state()) else {
            return;
        };
        // Relaxed: only a hint.
        let child = |slot: &Slot| Ref(slot.load(Ordering::Relaxed));
        let (below, rest) = n.children.split_at(usize::from(byte));
        let nearest = match up {
            true => (rest.iter().skip(1).take(4))
                .map(child)
                .find(|c| !c.is_none()),
            false => (below.iter().rev().take(4))
                .map(child)
                .find(|c| !c.is_none()),
        };
        if let Some(child) = nearest {
            memory.prefetch(child.offset(), 0);
        }
    }

    /// Whether it is of the largest kind, whose children are indexed by byte.
    #[inline(always)]
    pub(super) fn is_wide(self) -> bool {
        // Relaxed: the kind is set at creation.
        self.header().state.load(Ordering::Relaxed) >> KIND_SHIFT & 3 == Kind::N256 as u32
    }

    /// Prefetches all children of a small node.
    #[inline]
    pub(super) fn prefetch_children(self, memory: &Memory) {
        let state = self.state();
        let count = (state >> COUNT_SHIFT) as usize;
        let children = match self.body(state) {
            Body::N4(n) => &n.children[..count],
            Body::N16(n) => &n.children[..count],
            Body::N48(n) => &n.children[..count],
            Body::N256(_) => &[],
        };
        for slot in children {
            // Relaxed: only a hint.
            let child = Ref(slot.load(Ordering::Relaxed));
            memory.prefetch(child.offset(), 0);
        }
    }

    /// Waits for the node's lock. `None` if the node is obsolete.
    #[inline]
    pub(super) fn lock(self) -> Option<Locked<'t>> {
        let lock = Locked::wait(&self.header().state);
        (!lock.is_obsolete()).then_some(lock)
    }

    /// Adds a child for a byte that has none; `false` if there is no room.
    pub(super) fn try_add(self, lock: &mut Locked<'t>, byte: u8, child: Ref) -> bool {
        debug_assert!(lock.is_of(&self.header().state) && self.child(byte).is_none());
        let count = (lock.state >> COUNT_SHIFT) as usize;
        let body = self.body(lock.state);
        if let Body::N256(n) = body {
            n.set_present(byte);
            // Release: publishes the child (N4), and its bit (N6).
            n.children[usize::from(byte)].store(child.0, Ordering::Release);
            return true;
        }
        if count == ROOM[(lock.state >> KIND_SHIFT & 3) as usize] {
            return false;
        }
        // Relaxed: not read before the count that includes it (N2).
        match body {
            Body::N4(n) => {
                n.children[count].store(child.0, Ordering::Relaxed);
                let word = n.bytes.load(Ordering::Relaxed) | u32::from(byte) << (8 * count);
                n.bytes.store(word, Ordering::Relaxed);
            }
            Body::N16(n) => {
                n.children[count].store(child.0, Ordering::Relaxed);
                append(&n.bytes, count, byte);
            }
            Body::N48(n) => {
                n.children[count].store(child.0, Ordering::Relaxed);
                append(&n.bytes, count, byte);
            }
            Body::N256(_) => {}
        }
        lock.state += 1 << COUNT_SHIFT;
        true
    }

    /// Sets the terminal of a node that has none.
    pub(super) fn set_terminal(self, lock: &mut Locked<'t>, leaf: Ref) {
        debug_assert!(lock.is_of(&self.header().state) && self.terminal().is_none());
        // Release: publishes the leaf (N4).
        self.header().terminal.store(leaf.0, Ordering::Release);
    }

    /// Replaces the child of a byte.
    pub(super) fn replace(self, lock: &mut Locked<'t>, byte: u8, child: Ref) {
        debug_assert!(lock.is_of(&self.header().state));
        let slot = self.slot(byte).expect("the byte has a child");
        // Release: publishes the child (N4).
        slot.store(child.0, Ordering::Release);
    }

    /// The parts of a locked node. The caller makes the node obsolete if it builds another
    /// node from them.
    pub(super) fn parts(self, lock: &Locked<'t>) -> Parts {
        debug_assert!(lock.is_of(&self.header().state));
        let count = (lock.state >> COUNT_SHIFT) as usize;
        // Relaxed: no other thread writes, and the lock's Acquire made visible what its
        // former holders wrote.
        let child = |slot: &Slot| Ref(slot.load(Ordering::Relaxed));
        let (kind, children) = match self.body(lock.state) {
            Body::N4(n) => {
                let words = [u64::from(n.bytes.load(Ordering::Relaxed))];
                (Kind::N4, pairs(&words, &n.children[..count]))
            }
            Body::N16(n) => (Kind::N16, pairs(&load(&n.bytes), &n.children[..count])),
            Body::N48(n) => (Kind::N48, pairs(&load(&n.bytes), &n.children[..count])),
            Body::N256(n) => {
                let all = (0..=255).zip(n.children.iter().map(child));
                (Kind::N256, all.filter(|(_, c)| !c.is_none()).collect())
            }
        };
        Parts {
            kind,
            prefix: self.prefix(),
            terminal: self.terminal(),
            children,
        }
    }

    /// The kind, which is never changed (N5).
    pub(super) fn kind(self) -> Kind {
        match self.body(self.state()) {
            Body::N4(_) => Kind::N4,
            Body::N16(_) => Kind::N16,
            Body::N48(_) => Kind::N48,
            Body::N256(_) => Kind::N256,
        }
    }

    /// Bytes of the whole allocation.
    pub(super) fn size(self) -> usize {
        self.kind().size()
    }
}

/// An allocation for a node that is built later. Undone or counted as garbage if none is.
///
/// It is made before the node's owner is locked. An allocation may wait for other threads or for
/// the system; under the lock, it would hold up all writers that want the lock.
pub(super) struct Reserved<'t> {
    memory: &'t Memory,
    kind: Kind,
    offset: u32,
}

impl<'t> Reserved<'t> {
    pub(super) fn new(memory: &'t Memory, kind: Kind) -> Self {
        let offset = memory.allocate(kind.size());
        Reserved {
            memory,
            kind,
            offset,
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let bytes = self.kind.size();
        if !self.memory.undo_allocate(self.offset, bytes) {
            self.memory.count_garbage(bytes);
        }
    }
}

impl Parts {
    /// Makes room for one more child than there are.
    pub(super) fn grow(&mut self) {
        self.kind = self.kind.larger();
    }

    /// Makes a node of these parts, which no other thread knows yet, in memory for its kind.
    pub(super) fn build(&self, reserved: Reserved<'_>) -> Ref {
        assert_eq!(self.kind, reserved.kind);
        // It is not undone.
        let Reserved { memory, offset, .. } = *ManuallyDrop::new(reserved);
        let at = memory.at(offset);
        let count = if self.kind == Kind::N256 {
            0
        } else {
            self.children.len() as u32
        };
        let header = Header {
            state: AtomicU32::new((self.kind as u32) << KIND_SHIFT | count << COUNT_SHIFT),
            prefix: self.prefix,
            terminal: AtomicU32::new(self.terminal.0),
            mark: PublishedMark::new(),
        };
        header.mark.written();
        match self.kind {
            Kind::N4 => {
                let node = Node4 {
                    header,
                    bytes: AtomicU32::new(self.words::<1>()[0] as u32),
                    children: self.in_order(),
                };
                // SAFETY: a fresh allocation (memory M1) of the kind's size.
                unsafe { at.cast().write(node) }
            }
            Kind::N16 => {
                let node = Node16 {
                    header,
                    bytes: self.words().map(AtomicU64::new),
                    children: self.in_order(),
                };
                // SAFETY: a fresh allocation (memory M1) of the kind's size.
                unsafe { at.cast().write(node) }
            }
            Kind::N48 => {
                let node = Node48 {
                    header,
                    bytes: self.words().map(AtomicU64::new),
                    children: self.in_order(),
                };
                // SAFETY: a fresh allocation (memory M1) of the kind's size.
                unsafe { at.cast().write(node) }
            }
            Kind::N256 => {
                let (mut present, mut children) = ([0; 4], [0; 256]);
                for (byte, child) in &self.children {
                    present[usize::from(byte >> 6)] |= 1 << (byte & 63);
                    children[usize::from(*byte)] = child.0;
                }
                let node = Node256 {
                    header,
                    present: present.map(AtomicU64::new),
                    children: children.map(Slot::new),
                };
                // SAFETY: a fresh allocation (memory M1) of the kind's size.
                unsafe { at.cast().write(node) }
            }
        }
        Ref(offset << 1)
    }

    fn words<const WORDS: usize>(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for (i, (byte, _)) in self.children.iter().enumerate() {
            words[i / 8] |= u64::from(*byte) << (i % 8 * 8);
        }
        words
    }

    fn in_order<const ROOM: usize>(&self) -> [Slot; ROOM] {
        std::array::from_fn(|i| Slot::new(self.children.get(i).map_or(0, |(_, c)| c.0)))
    }
}

#[inline(always)]
pub(super) fn load<const WORDS: usize>(bytes: &Bytes<WORDS>) -> [u64; WORDS] {
    // Relaxed: loading the count made visible the bytes that it includes (N2).
    std::array::from_fn(|i| bytes[i].load(Ordering::Relaxed))
}

/// Sets byte number `count`, for the holder of the lock.
fn append<const WORDS: usize>(bytes: &Bytes<WORDS>, count: usize, byte: u8) {
    let word = &bytes[count / 8];
    let new = word.load(Ordering::Relaxed) | u64::from(byte) << (count % 8 * 8);
    word.store(new, Ordering::Relaxed);
}

fn pairs(words: &[u64], children: &[Slot]) -> SmallVec<[(u8, Ref); 4]> {
    let byte = |i: usize| (words[i / 8] >> (i % 8 * 8)) as u8;
    let child = |slot: &Slot| Ref(slot.load(Ordering::Relaxed));
    let each = children.iter().enumerate();
    each.map(|(i, slot)| (byte(i), child(slot))).collect()
}

#[cfg(test)]
mod tests {
    use super::common_len;

    /// It is handed out again, unless something else was allocated behind it. (In models, nodes are
    /// larger, and may be too large for that.)
    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn reserved_memory_that_no_node_got_is_undone_or_garbage() {
        use super::{Kind, Memory, Reserved};
        let memory = Memory::new(1 << 20, crate::region::HugePages::Off);
        memory.allocate(64);
        let used = memory.used_bytes();
        drop(Reserved::new(&memory, Kind::N48));
        assert_eq!((memory.used_bytes(), memory.garbage()), (used, 0));
        let reserved = Reserved::new(&memory, Kind::N48);
        memory.allocate(64);
        drop(reserved);
        let size = Kind::N48.size();
        assert_eq!(memory.used_bytes(), used + size + 64);
        assert_eq!(memory.garbage(), size);
    }

    #[test]
    fn a_common_prefix_ends_at_the_first_byte_that_differs() {
        for len in 0..=40 {
            let a: Vec<u8> = (0..len).collect();
            assert_eq!(common_len(&a, &a), a.len());
            assert_eq!(common_len(&a, &[&a[..], b"more"].concat()), a.len());
            for at in 0..a.len() {
                let mut b = a.clone();
                // What is equal behind it does not count.
                b[at] ^= 0x80;
                assert_eq!(common_len(&a, &b), at, "of {len}");
                assert_eq!(common_len(&b[..=at], &a), at, "of {len}");
            }
        }
    }
}
