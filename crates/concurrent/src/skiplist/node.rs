//! The nodes of a list: their memory layout, and the only code that reads or writes it.
//!
//! ```text
//!  link h-1 | ... | link 1 | link 0 | entry
//!                          ^ a `Node` points here
//!  entry = varint32 (user key length + 8) | user key | u64 LE tag
//!        | varint32 value length | value
//! ```
//!
//! That is the layout [`Inline`]. With [`Indirect`](super::Indirect) the entry is an
//! allocation of its own, and the node has a pointer to it instead.
//!
//! A node does not store its height: a node that is reached through a link of level `l`
//! has the levels `0..=l`. The head has all levels and no entry.
//!
//! # Invariants
//! * N1: a `Node` of a list stays valid as long as the list: nodes are never moved or
//!   unlinked, and are freed only with the arena.
//! * N2: a link of level `l` holds null or a node of the same list with more
//!   than `l` levels.
//! * N3: an entry is written before its node is first published and never
//!   again. Publishing is the Release of [`Node::publish_next`]; its partner
//!   is the Acquire of [`Node::next`].

use std::mem::size_of;
use std::ptr::{self, NonNull};
use std::slice;

use super::layout::sealed::{Apart, Nowhere};
use super::layout::{EntryLayout, Inline};
use crate::arena::{ALIGN, ConcurrentArena};
use crate::prefetch;
use crate::sync::{AtomicPtr, Ordering, PublishedMark};

/// The most levels that a node can have. With one node in four reaching the next level,
/// this is ideal for up to 16 million entries and good beyond.
pub(crate) const MAX_HEIGHT: usize = if cfg!(loom) { 2 } else { 12 };

/// One in `BRANCHING` nodes of a level is also in the level above.
pub(crate) const BRANCHING: usize = 4;

/// Bytes of a tag.
const TAG_SIZE: usize = 8;

/// The longest user key, in bytes: with the tag its length fits 32 bits.
pub(crate) const MAX_USER_KEY: usize = u32::MAX as usize - TAG_SIZE;

/// The longest value, in bytes.
pub(crate) const MAX_VALUE: usize = u32::MAX as usize;

/// A key as the order sees it.
pub(crate) type Key<'a> = (&'a [u8], u64);

/// The successor of a node in one level.
///
/// Written by: inserters, with a compare-and-swap once the node is published. Read by:
/// any thread. Publishes: the successor's entry and its links up to this level.
#[repr(transparent)]
struct Link(AtomicPtr<Link>);

/// What follows the links of a node in memory: nothing, in a normal build.
type Mark = PublishedMark;

const _: () = assert!(align_of::<Link>() <= ALIGN && align_of::<Mark>() <= ALIGN);

/// A node of a list, or its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node(NonNull<Link>);

/// The parts of an entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// User key followed by the little-endian tag.
    pub(crate) internal_key: &'a [u8],
    /// The value.
    pub(crate) value: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The key as the order sees it.
    pub(crate) fn key(&self) -> Key<'a> {
        split_key(self.internal_key)
    }
}

impl Node {
    /// A placeholder that belongs to no list and must not be followed.
    pub(crate) const fn dangling() -> Self {
        Node(NonNull::dangling())
    }

    /// A head: `height` levels (1 to [`MAX_HEIGHT`]), no successors, no entry.
    pub(crate) fn head(arena: &ConcurrentArena, height: usize) -> Self {
        Self::with_room(arena, height, 0)
    }

    /// An unpublished node with `height` levels (1 to [`MAX_HEIGHT`]) that holds a copy
    /// of the entry or, depending on the layout, a pointer to one in `apart`. Key and
    /// value must not exceed [`MAX_USER_KEY`] and [`MAX_VALUE`].
    pub(super) fn create_as<L: EntryLayout>(
        arena: &ConcurrentArena,
        apart: &L::Apart,
        height: usize,
        key: Key<'_>,
        value: &[u8],
    ) -> Self {
        let (user_key, tag) = key;
        let key_len = (user_key.len() + TAG_SIZE) as u32;
        let value_len = value.len() as u32;
        let size =
            varint_len(key_len) + key_len as usize + varint_len(value_len) + value_len as usize;
        let (node, to) = if L::INLINE {
            let node = Self::with_room(arena, height, size);
            (node, node.behind_links())
        } else {
            let entry = apart.allocate(size).as_ptr();
            let node = Self::with_room(arena, height, size_of::<*const u8>());
            // SAFETY: there is room for a pointer, aligned as links are.
            unsafe { node.behind_links().cast::<*const u8>().write(entry) };
            (node, entry)
        };
        // SAFETY: just made in this arena.
        unsafe { node.mark() }.written();
        let mut writer = EntryWriter { to };
        // SAFETY: this and the next four parts add up to `size`, for which there is room.
        unsafe { writer.varint(key_len) };
        // SAFETY: the five parts add up to `size`, for which there is room.
        unsafe { writer.bytes(user_key) };
        // SAFETY: the five parts add up to `size`, for which there is room.
        unsafe { writer.bytes(&tag.to_le_bytes()) };
        // SAFETY: the five parts add up to `size`, for which there is room.
        unsafe { writer.varint(value_len) };
        // SAFETY: the five parts add up to `size`, for which there is room.
        unsafe { writer.bytes(value) };
        node
    }

    /// [`Node::create_as`] with the entry in the node.
    pub(crate) fn create(
        arena: &ConcurrentArena,
        height: usize,
        key: Key<'_>,
        value: &[u8],
    ) -> Self {
        Self::create_as::<Inline>(arena, &Nowhere, height, key, value)
    }

    /// Memory for a node, with its links set to null.
    fn with_room(arena: &ConcurrentArena, height: usize, entry_size: usize) -> Self {
        debug_assert!((1..=MAX_HEIGHT).contains(&height));
        let links = height * size_of::<Link>();
        let start = arena.allocate(links + size_of::<Mark>() + entry_size);
        let start = start.cast::<Link>();
        for level in 0..height {
            // SAFETY: `level < height`, and the allocation begins with room for `height`
            // links.
            let link = unsafe { start.add(level) };
            // SAFETY: fresh memory of the right size and alignment (arena I1).
            unsafe { link.write(Link(AtomicPtr::new(ptr::null_mut()))) };
        }
        // SAFETY: `height - 1` links after the start is still in the allocation.
        let node = Node(unsafe { start.add(height - 1) });
        let mark = node.mark_ptr();
        // SAFETY: fresh memory behind the links, sized and aligned for it.
        unsafe { mark.write(Mark::new()) };
        node
    }

    /// The node as the address that [`Node::from_raw`] takes, aligned to
    /// [`ALIGN`].
    pub(crate) fn into_raw(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// The node of an address from [`Node::into_raw`].
    pub(crate) fn from_raw(raw: NonNull<u8>) -> Self {
        Node(raw.cast())
    }

    /// The link of one level.
    ///
    /// # Safety
    /// The node must have more than `level` levels and its list must outlive
    /// `'a`.
    #[inline(always)]
    unsafe fn link<'a>(self, level: usize) -> &'a AtomicPtr<Link> {
        // SAFETY: higher links are before the node (module doc), and there are that many
        // by this function's contract.
        let link = unsafe { self.0.sub(level) };
        // SAFETY: links are initialized when a node is made, and from then on
        // only accessed as atomics; valid for `'a` by N1.
        let link: &'a Link = unsafe { link.as_ref() };
        &link.0
    }

    /// The successor in one level. Everything that the successor's publisher wrote to it
    /// is visible afterwards.
    ///
    /// # Safety
    /// The node must have more than `level` levels, and its list must be alive.
    #[inline(always)]
    pub(crate) unsafe fn next(self, level: usize) -> Option<Node> {
        // SAFETY: by this function's contract.
        let link = unsafe { self.link(level) };
        // Acquire: partner of the Release in `publish_next` (N3).
        NonNull::new(link.load(Ordering::Acquire)).map(Node)
    }

    /// Sets the successor of a node that is not yet published in this level.
    ///
    /// # Safety
    /// As for [`Node::next`]; and `next` must have more than `level` levels.
    #[inline(always)]
    pub(crate) unsafe fn prepare_next(self, level: usize, next: Option<Node>) {
        // SAFETY: by this function's contract.
        let link = unsafe { self.link(level) };
        // Relaxed: the `publish_next` that follows publishes it.
        link.store(raw(next), Ordering::Relaxed);
    }

    /// Makes `node` the successor in one level if that is still `expected`,
    /// and so publishes it.
    ///
    /// # Safety
    /// As for [`Node::next`], for `self` and `node`.
    #[inline(always)]
    pub(crate) unsafe fn publish_next(
        self,
        level: usize,
        expected: Option<Node>,
        node: Node,
    ) -> bool {
        // SAFETY: by this function's contract.
        let link = unsafe { self.link(level) };
        // Release: partner of the Acquire in `next`. Relaxed on failure: the value found
        // is not used; the search that follows loads it again.
        link.compare_exchange(
            raw(expected),
            node.0.as_ptr(),
            Ordering::Release,
            Ordering::Relaxed,
        )
        .is_ok()
    }

    /// Prefetches the successor in one level: its link and, if it is short, all of its key.
    ///
    /// # Safety
    /// As for [`Node::next`].
    #[inline(always)]
    pub(crate) unsafe fn prefetch_next(self, level: usize) {
        // SAFETY: by this function's contract.
        let link = unsafe { self.link(level) };
        // Relaxed: the address is only a hint, nothing is read through it.
        prefetch::for_reading(link.load(Ordering::Relaxed));
    }

    /// Whether the nodes are so near to each other that a walk between them is like
    /// sequential reading, in either direction.
    #[inline(always)]
    pub(super) fn is_near(self, other: Node) -> bool {
        self.0.addr().get().abs_diff(other.0.addr().get()) < 512
    }

    /// Prefetches the node: its lowest links, its key and the beginning of its value. The
    /// processor itself prefetches longer ones, since they are read sequentially.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        for line in 0..2 {
            prefetch::for_reading(self.0.as_ptr().cast::<u8>().wrapping_add(line * 64));
        }
    }

    /// Prefetches one of the node's links, if it has the level.
    #[inline(always)]
    pub(super) fn prefetch_link(self, level: usize) {
        prefetch::for_reading(self.0.as_ptr().wrapping_sub(level));
    }

    /// Prefetches the part of an inline entry that [`Node::prefetch`] has not prefetched.
    /// It reads the entry's lengths. Beyond some cache lines the rest is left to the
    /// processor.
    ///
    /// # Safety
    /// As for [`Node::key_as`].
    #[inline(always)]
    pub(super) unsafe fn prefetch_rest(self) {
        const LINE: usize = 64;
        const MOST: usize = 16 * LINE;
        // SAFETY: by this function's contract.
        let value = unsafe { self.entry() }.value;
        let start = self.0.as_ptr().cast::<u8>().cast_const();
        let end = value.as_ptr_range().end.min(start.wrapping_add(MOST));
        // Two lines were prefetched, and the first one starts before the node.
        let into_line = start.addr() % LINE;
        let mut line = start.wrapping_add(2 * LINE).wrapping_sub(into_line);
        while line < end {
            prefetch::for_reading(line);
            line = line.wrapping_add(LINE);
        }
    }

    /// The node's key.
    ///
    /// # Safety
    /// `self` must not be the head, must be published to this thread or made
    /// by it, and its list must outlive `'a`.
    #[inline(always)]
    pub(super) unsafe fn key_as<'a, L: EntryLayout>(self) -> Key<'a> {
        // SAFETY: by this function's contract.
        let entry = unsafe { self.entry_ptr::<L>() };
        // SAFETY: not a head, so an entry is there, complete by N3.
        split_key(unsafe { read_prefixed(entry) })
    }

    /// The node's entry.
    ///
    /// # Safety
    /// As for [`Node::key_as`].
    #[inline(always)]
    pub(super) unsafe fn entry_as<'a, L: EntryLayout>(self) -> Entry<'a> {
        // SAFETY: by this function's contract.
        let entry = unsafe { self.entry_ptr::<L>() };
        // SAFETY: not a head, so an entry is there, complete by N3.
        let internal_key: &'a [u8] = unsafe { read_prefixed(entry) };
        let after_key = internal_key.as_ptr_range().end;
        // SAFETY: the value's length follows the key.
        let value = unsafe { read_prefixed(after_key) };
        Entry {
            internal_key,
            value,
        }
    }

    /// [`Node::key_as`] for an inline entry.
    ///
    /// # Safety
    /// As for [`Node::key_as`].
    #[inline(always)]
    pub(crate) unsafe fn key<'a>(self) -> Key<'a> {
        // SAFETY: by this function's contract.
        unsafe { self.key_as::<Inline>() }
    }

    /// [`Node::entry_as`] for an inline entry.
    ///
    /// # Safety
    /// As for [`Node::key_as`].
    #[inline(always)]
    pub(crate) unsafe fn entry<'a>(self) -> Entry<'a> {
        // SAFETY: by this function's contract.
        unsafe { self.entry_as::<Inline>() }
    }

    #[inline(always)]
    fn mark_ptr(self) -> *mut Mark {
        self.0.as_ptr().wrapping_add(1).cast()
    }

    /// The address behind links and mark.
    #[inline(always)]
    fn behind_links(self) -> *mut u8 {
        let after_links = self.mark_ptr().cast::<u8>();
        after_links.wrapping_add(size_of::<Mark>())
    }

    /// The first byte of the entry.
    ///
    /// # Safety
    /// As for [`Node::key_as`].
    #[inline(always)]
    unsafe fn entry_ptr<L: EntryLayout>(self) -> *const u8 {
        // SAFETY: a node of a list that is alive.
        unsafe { self.mark() }.read();
        if L::INLINE {
            self.behind_links()
        } else {
            // SAFETY: a node of such a list holds a pointer here, which was written like
            // the entry (N3).
            unsafe { self.behind_links().cast::<*const u8>().read() }
        }
    }

    /// # Safety
    /// The node's list must outlive `'a`.
    #[inline(always)]
    unsafe fn mark<'a>(self) -> &'a Mark {
        // SAFETY: every node and head has an initialized mark behind its links (N1); it
        // has a size only in models.
        unsafe { &*self.mark_ptr() }
    }
}

fn raw(node: Option<Node>) -> *mut Link {
    node.map_or(ptr::null_mut(), |node| node.0.as_ptr())
}

/// The user key and the tag of an internal key.
#[inline(always)]
fn split_key(internal_key: &[u8]) -> Key<'_> {
    let (user_key, tag) = internal_key
        .split_last_chunk::<TAG_SIZE>()
        .expect("an internal key ends with its tag");
    (user_key, u64::from_le_bytes(*tag))
}

/// Bytes of `value` as a varint32.
const fn varint_len(value: u32) -> usize {
    match value.checked_ilog2() {
        Some(top_bit) => top_bit as usize / 7 + 1,
        None => 1,
    }
}

/// The bytes behind the varint32 length at `at`.
///
/// # Safety
/// `at` must point to such a length and as many bytes, valid and unchanging
/// for `'a`.
#[inline(always)]
unsafe fn read_prefixed<'a>(at: *const u8) -> &'a [u8] {
    // SAFETY: a length has at least one byte.
    let first = unsafe { *at };
    let (len, start) = if first < 0x80 {
        (usize::from(first), 1)
    } else {
        // SAFETY: by this function's contract.
        unsafe { read_long_varint(at) }
    };
    // SAFETY: the bytes follow the length.
    let bytes = unsafe { at.add(start) };
    // SAFETY: by this function's contract.
    unsafe { slice::from_raw_parts(bytes, len) }
}

/// A varint32 of more than one byte, and its size.
///
/// # Safety
/// `at` must point to a complete varint32.
unsafe fn read_long_varint(at: *const u8) -> (usize, usize) {
    let mut value = 0;
    let mut size = 0;
    loop {
        // SAFETY: the varint is complete, and its last byte was not yet read.
        let from = unsafe { at.add(size) };
        // SAFETY: the varint is complete, and its last byte was not yet read.
        let byte = unsafe { *from };
        value |= usize::from(byte & 0x7f) << (7 * size);
        size += 1;
        if byte < 0x80 {
            return (value, size);
        }
    }
}

/// Writes the parts of an entry into fresh memory.
struct EntryWriter {
    to: *mut u8,
}

impl EntryWriter {
    /// # Safety
    /// There must be room for `bytes.len()` bytes.
    #[inline(always)]
    unsafe fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: there is room, and fresh memory overlaps no borrowed slice.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.to, bytes.len()) };
        // SAFETY: ends at most at the end of the room.
        self.to = unsafe { self.to.add(bytes.len()) };
    }

    /// # Safety
    /// There must be room for `varint_len(value)` bytes.
    #[inline(always)]
    unsafe fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            // SAFETY: one of the varint's bytes.
            unsafe { self.bytes(&[value as u8 | 0x80]) };
            value >>= 7;
        }
        // SAFETY: the varint's last byte.
        unsafe { self.bytes(&[value as u8]) };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::skiplist::{Indirect, Inline};

    #[test]
    fn varints_of_every_size_come_back() {
        let edges = (0..32).flat_map(|bit| [(1_u32 << bit) - 1, 1 << bit]);
        for value in edges.chain([u32::MAX]) {
            let mut room = [0xee_u8; 6];
            let mut writer = EntryWriter {
                to: room.as_mut_ptr(),
            };
            // SAFETY: a varint32 has at most five bytes.
            unsafe { writer.varint(value) };
            // SAFETY: just written.
            let (read, size) = unsafe { read_long_varint(room.as_ptr()) };
            assert_eq!((read, size), (value as usize, varint_len(value)));
            assert_eq!(room[size], 0xee, "nothing written behind {value}");
        }
    }

    #[test]
    fn entries_come_back_and_stay_in_their_room() {
        entries_come_back::<Inline>();
        entries_come_back::<Indirect>();
    }

    fn entries_come_back<L: EntryLayout>() {
        let arena = ConcurrentArena::new(4096);
        let apart = L::Apart::new(4096.into());
        for (key_len, value_len) in [(0, 0), (1, 127), (119, 128), (120, 300), (20_000, 70_000)] {
            let user_key = vec![7_u8; key_len];
            let value = vec![9_u8; value_len];
            let node = Node::create_as::<L>(&arena, &apart, 3, (&user_key, u64::MAX - 1), &value);
            // A second node right behind must not disturb the first.
            let _behind = Node::create_as::<L>(&arena, &apart, MAX_HEIGHT, (b"behind", 1), b"it");
            // SAFETY: made by this thread, and the arena is alive.
            let entry = unsafe { node.entry_as::<L>() };
            assert_eq!(entry.key(), (&user_key[..], u64::MAX - 1));
            assert_eq!(entry.value, value);
            for level in 0..3 {
                // SAFETY: the node has three levels.
                assert_eq!(unsafe { node.next(level) }, None);
            }
        }
    }
}
