//! Leaves and versions: their memory layouts, and the only code that reads or writes
//! them.
//!
//! A *leaf* is a user key with its first version inside. Each further version is a
//! [`Version`]. Both are allocations of the tree's [`Memory`].
//!
//! ```text
//!  leaf    = head u32 | lengths u32 | [key length u32 | value length u32]
//!          | user key | tag u64 LE | value
//!  lengths = key length (12 bits) | value length (20 bits), or all ones: the
//!            lengths follow
//!  version = next u32 | value length u32 | tag u64 | skip pointer u64 | value
//! ```
//!
//! `head` and `next` are *links*: see [`Link`].
//!
//! # Invariants
//! * L1: a leaf's lengths and key are written before it is published in a node, and never
//!   again; likewise all of a version except `next` and its skip pointer.
//! * L2: the tag inside a leaf is written by the owner of the version inside (the leaf's
//!   creator, or the holder of the [`super::Prepared`]) before a link says
//!   [`Link::INSIDE`], and never again.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use super::memory::Memory;
use crate::sync::{AtomicU32, AtomicU64, Ordering, PublishedMark};

/// Bytes of a tag.
const TAG: usize = 8;

/// The longest user key, in bytes: with the tag its length fits 32 bits.
pub(super) const MAX_KEY: usize = u32::MAX as usize - TAG;

/// The longest value, in bytes.
pub(super) const MAX_VALUE: usize = u32::MAX as usize;

/// Lengths below these fit into the packed form.
const PACKED_KEY: usize = (1 << 12) - 1;
const PACKED_VALUE: usize = 1 << 20;
/// In place of the packed form: the lengths follow.
const UNPACKED: u32 = u32::MAX;

/// Keys longer than this are compared by calling `memcmp`.
const LONG_KEY: usize = 48;

/// A bit of the skip pointer: the version is a proxy for the one inside its leaf.
const PROXY: u64 = 1 << 63;

/// A bit of the skip pointer: it is not set yet.
const NO_SKIP_POINTER: u64 = 1 << 62;

/// One step in a leaf's list of versions, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(pub(super) u32);

impl Link {
    /// No further version.
    pub(super) const END: Link = Link(0);
    /// The version inside the leaf, which ends the list.
    pub(super) const INSIDE: Link = Link(1);

    /// Whether this is the offset of a [`Version`] (memory M2).
    #[inline(always)]
    pub(super) fn is_version(self) -> bool {
        self.0 > 1
    }
}

#[repr(C)]
struct LeafHead {
    /// The link to the newest version; [`Link::END`] while there is none.
    /// Written by: inserters, with compare-and-swap. Read by: any thread. Publishes: the
    /// version.
    head: AtomicU32,
    lengths: u32,
    /// `mark` is for the key, `inside` for the tag and value inside.
    mark: PublishedMark,
    inside: PublishedMark,
}

#[repr(C)]
struct LongLengths {
    key: u32,
    value: u32,
}

/// A leaf of a tree whose memory outlives `'t`.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'t> {
    offset: u32,
    at: NonNull<LeafHead>,
    memory: PhantomData<&'t Memory>,
}

/// The positions of a leaf's parts.
#[derive(Clone, Copy)]
struct Shape {
    /// Bytes before the user key.
    start: usize,
    key: usize,
    value: usize,
}

impl Shape {
    #[inline(always)]
    fn new(key: usize, value: usize) -> Self {
        let start = if key < PACKED_KEY && value < PACKED_VALUE {
            size_of::<LeafHead>()
        } else {
            size_of::<LeafHead>() + size_of::<LongLengths>()
        };
        Shape { start, key, value }
    }

    #[inline(always)]
    fn size(self) -> usize {
        self.start + self.key + TAG + self.value
    }
}

impl<'t> Leaf<'t> {
    /// A new leaf that no other thread knows. With a tag, the version inside is complete
    /// and the head leads to it. Without a tag the leaf has no versions, and the version
    /// inside belongs to the caller.
    ///
    /// Key and value must not exceed [`MAX_KEY`] and [`MAX_VALUE`].
    pub(super) fn create(memory: &'t Memory, key: &[u8], tag: Option<u64>, value: &[u8]) -> Self {
        let shape = Shape::new(key.len(), value.len());
        let offset = memory.allocate(shape.size());
        let at = memory.at(offset);
        let long = shape.start != size_of::<LeafHead>();
        let head = LeafHead {
            head: AtomicU32::new(tag.map_or(Link::END, |_| Link::INSIDE).0),
            lengths: if long {
                UNPACKED
            } else {
                (key.len() as u32) << 20 | value.len() as u32
            },
            mark: PublishedMark::new(),
            inside: PublishedMark::new(),
        };
        // SAFETY: a fresh allocation (memory M1) of `size` bytes, aligned to 8.
        unsafe { at.cast::<LeafHead>().write(head) };
        if long {
            let lengths = LongLengths {
                key: key.len() as u32,
                value: value.len() as u32,
            };
            // SAFETY: the shape has room for it behind the head.
            let behind = unsafe { at.add(size_of::<LeafHead>()) };
            // SAFETY: there is room, as the shape says; aligned, since the head's size
            // is.
            unsafe { behind.cast::<LongLengths>().write(lengths) };
        }
        let leaf = Leaf {
            offset,
            at: at.cast(),
            memory: PhantomData,
        };
        leaf.head_ref().mark.written();
        leaf.write(shape, 0, key);
        if let Some(tag) = tag {
            leaf.write_tag(shape, tag);
        }
        leaf.write(shape, key.len() + TAG, value);
        leaf
    }

    /// Copies bytes to `from` bytes behind the start of the user key.
    fn write(self, shape: Shape, from: usize, bytes: &[u8]) {
        debug_assert!(from + bytes.len() <= shape.size() - shape.start);
        // SAFETY: inside the allocation, by the shape.
        let to = unsafe { self.at.cast::<u8>().add(shape.start + from) };
        // SAFETY: inside the allocation, and not yet known to (or, for the tag, not yet
        // read by) any other thread: L1 and L2.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    fn write_tag(self, shape: Shape, tag: u64) {
        self.head_ref().inside.written();
        self.write(shape, shape.key, &tag.to_le_bytes());
    }

    /// Sets the tag of the version inside.
    ///
    /// # Safety
    /// The caller must own the version inside (L2).
    pub(super) unsafe fn set_tag(self, tag: u64) {
        self.write_tag(self.shape(), tag);
    }

    /// The leaf at an offset of the memory.
    ///
    /// # Safety
    /// A leaf must have been created there, and it must have been published to this
    /// thread or made by it.
    #[inline(always)]
    pub(super) unsafe fn at(memory: &'t Memory, offset: u32) -> Self {
        Leaf {
            offset,
            at: memory.at(offset).cast(),
            memory: PhantomData,
        }
    }

    /// The leaf's offset in its memory.
    #[inline(always)]
    pub(super) fn offset(self) -> u32 {
        self.offset
    }

    #[inline(always)]
    fn head_ref(self) -> &'t LeafHead {
        // SAFETY: a leaf is there. Its head is written before any other thread knows it,
        // and then only through atomics; the memory outlives `'t`.
        unsafe { self.at.as_ref() }
    }

    /// The link to the newest version.
    #[inline(always)]
    pub(super) fn head(self) -> &'t AtomicU32 {
        &self.head_ref().head
    }

    #[inline(always)]
    fn shape(self) -> Shape {
        let head = self.head_ref();
        head.mark.read();
        let lengths = head.lengths;
        if lengths != UNPACKED {
            return Shape {
                start: size_of::<LeafHead>(),
                key: (lengths >> 20) as usize,
                value: (lengths & (PACKED_VALUE as u32 - 1)) as usize,
            };
        }
        self.long_shape()
    }

    #[cold]
    fn long_shape(self) -> Shape {
        // SAFETY: the lengths follow the head, as `UNPACKED` says.
        let behind = unsafe { self.at.add(1) };
        // SAFETY: written at creation, never changed.
        let lengths = unsafe { behind.cast::<LongLengths>().as_ref() };
        Shape::new(lengths.key as usize, lengths.value as usize)
    }

    #[inline(always)]
    fn bytes(self, shape: Shape, from: usize, len: usize) -> &'t [u8] {
        debug_assert!(from + len <= shape.size() - shape.start);
        // SAFETY: inside the allocation, by the shape.
        let start = unsafe { self.at.cast::<u8>().add(shape.start + from) };
        // SAFETY: written, and not written again (L1, L2); the memory
        // outlives `'t`.
        unsafe { slice::from_raw_parts(start.as_ptr(), len) }
    }

    /// The user key.
    #[inline(always)]
    pub(super) fn key(self) -> &'t [u8] {
        let shape = self.shape();
        self.bytes(shape, 0, shape.key)
    }

    /// Bytes of a leaf up to the end of its key, unless the key or the value is very
    /// long.
    #[inline(always)]
    pub(super) fn size_before_tag(key: &[u8]) -> usize {
        size_of::<LeafHead>() + key.len()
    }

    /// Whether this is the leaf of `key`.
    ///
    /// If a leaf lies across two cache lines, both are read at once: the words to read
    /// depend on a branch on the leaf's length, which the processor predicts. In a call
    /// of `memcmp` they would depend on the length itself.
    #[inline(always)]
    pub(super) fn is_of(self, key: &[u8]) -> bool {
        let there = self.key();
        if there.len() != key.len() || key.len() > LONG_KEY {
            return there == key;
        }
        let (words, there) = (key.chunks_exact(8), there.chunks_exact(8));
        let (rest, there_rest) = (words.remainder(), there.remainder());
        words.zip(there).all(|(a, b)| a == b) && rest.iter().zip(there_rest).all(|(a, b)| a == b)
    }

    /// Tag of the version inside. A link must have led to it.
    #[inline(always)]
    pub(super) fn tag(self) -> u64 {
        tag_of(self.internal_key())
    }

    /// User key and tag of the version inside. As for [`Leaf::tag`].
    #[inline(always)]
    pub(super) fn internal_key(self) -> &'t [u8] {
        self.head_ref().inside.read();
        let shape = self.shape();
        self.bytes(shape, 0, shape.key + TAG)
    }

    /// Value of the version inside. As for [`Leaf::tag`].
    #[inline(always)]
    pub(super) fn value(self) -> &'t [u8] {
        self.head_ref().inside.read();
        let shape = self.shape();
        self.bytes(shape, shape.key + TAG, shape.value)
    }

    /// Bytes of the whole allocation.
    #[inline(always)]
    pub(super) fn size(self) -> usize {
        self.shape().size()
    }

    /// Bytes of the allocation before the value inside: head, user key and tag.
    #[inline(always)]
    pub(super) fn size_before_value(self) -> usize {
        let shape = self.shape();
        shape.size() - shape.value
    }
}

#[inline(always)]
fn tag_of(internal_key: &[u8]) -> u64 {
    let (_, tag) = internal_key
        .split_last_chunk::<TAG>()
        .expect("an internal key ends with a tag");
    u64::from_le_bytes(*tag)
}

#[repr(C)]
struct VersionHead {
    /// The link to the next older version.
    /// Written by: inserters of older versions, with compare-and-swap. Read by: any
    /// thread. Publishes: the older version.
    next: AtomicU32,
    value_len: u32,
    tag: u64,
    /// A [`SkipPointer`]: the jump in the low half, the depth above it. Also the bits
    /// [`PROXY`] and, at first, [`NO_SKIP_POINTER`].
    /// Written by: the thread that made the version, once, possibly when other threads
    /// know the version already (Release). Read by: any thread (Acquire). Publishes: the
    /// version that it jumps to, which may have been made later than this one.
    skip_pointer: AtomicU64,
    mark: PublishedMark,
}

/// A version of a tree whose memory outlives `'t`.
#[derive(Clone, Copy)]
pub(super) struct Version<'t> {
    offset: u32,
    at: NonNull<VersionHead>,
    memory: PhantomData<&'t Memory>,
}

/// A version's second pointer to older versions, beside its link: see
/// [`super::versions`].
#[derive(Clone, Copy, Default)]
pub(super) struct SkipPointer {
    /// The offset of an older version, or 0.
    pub(super) jump: u32,
    pub(super) depth: u32,
}

impl<'t> Version<'t> {
    /// A new version that no other thread knows, without tag, link and skip pointer.
    #[inline]
    pub(super) fn create(memory: &'t Memory, value: &[u8]) -> Self {
        let version = Self::with_room(memory, value.len(), 0);
        // SAFETY: the allocation has room for the value behind the head.
        let to = unsafe { version.at.add(1) }.cast::<u8>();
        // SAFETY: there is room for the value; a fresh allocation overlaps nothing.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(value).cast(), value.len()) };
        version
    }

    /// Bytes of a version with this value.
    #[inline]
    pub(super) fn size_for(value: &[u8]) -> usize {
        size_of::<VersionHead>() + value.len()
    }

    /// A new proxy for the version inside the leaf.
    pub(super) fn create_proxy(memory: &'t Memory) -> Self {
        Self::with_room(memory, 0, PROXY)
    }

    fn with_room(memory: &'t Memory, value_len: usize, proxy: u64) -> Self {
        let offset = memory.allocate(size_of::<VersionHead>() + value_len);
        let at = memory.at(offset).cast::<VersionHead>();
        let head = VersionHead {
            next: AtomicU32::new(Link::END.0),
            value_len: value_len as u32,
            tag: 0,
            skip_pointer: AtomicU64::new(proxy | NO_SKIP_POINTER),
            mark: PublishedMark::new(),
        };
        // SAFETY: a fresh allocation (memory M1) with room for the head, aligned to 8.
        unsafe { at.write(head) };
        Version {
            offset,
            at,
            memory: PhantomData,
        }
    }

    /// Sets the tag of an unpublished version.
    ///
    /// # Safety
    /// The version must have been made by the caller and not be published.
    pub(super) unsafe fn set_tag(mut self, tag: u64) {
        // SAFETY: no other thread knows the version, by this function's contract.
        let head = unsafe { self.at.as_mut() };
        head.mark.written();
        head.tag = tag;
    }

    /// Sets the link of an unpublished version.
    ///
    /// # Safety
    /// As for [`Version::set_tag`].
    pub(super) unsafe fn set_next(mut self, next: Link) {
        // SAFETY: no other thread knows the version, by this function's contract.
        unsafe { self.at.as_mut() }.next = AtomicU32::new(next.0);
    }

    /// Sets the skip pointer of a version, which other threads may know already.
    ///
    /// # Safety
    /// The version must have been made by the caller, and the one that it jumps to must
    /// be visible to the caller.
    pub(super) unsafe fn set_skip_pointer(self, pointer: SkipPointer) {
        let word = &self.head_ref().skip_pointer;
        // Relaxed: no other thread writes it. The proxy bit is kept.
        let proxy = word.load(Ordering::Relaxed) & PROXY;
        let pointer = u64::from(pointer.depth) << 32 | u64::from(pointer.jump);
        // Release: partner of the Acquire in `skip_pointer`.
        word.store(proxy | pointer, Ordering::Release);
    }

    /// The version at an offset of the memory.
    ///
    /// # Safety
    /// As for [`Leaf::at`].
    #[inline(always)]
    pub(super) unsafe fn at(memory: &'t Memory, offset: u32) -> Self {
        Version {
            offset,
            at: memory.at(offset).cast(),
            memory: PhantomData,
        }
    }

    /// The version's offset in its memory.
    #[inline(always)]
    pub(super) fn offset(self) -> u32 {
        self.offset
    }

    #[inline(always)]
    fn head_ref(self) -> &'t VersionHead {
        // SAFETY: a version is there, complete before any other thread knows it and then
        // changed only through the atomics (L1).
        unsafe { self.at.as_ref() }
    }

    /// The link to the next older version.
    #[inline(always)]
    pub(super) fn next(self) -> &'t AtomicU32 {
        &self.head_ref().next
    }

    /// The version's tag.
    #[inline(always)]
    pub(super) fn tag(self) -> u64 {
        let head = self.head_ref();
        head.mark.read();
        head.tag
    }

    /// The skip pointer, if it is set.
    #[inline(always)]
    pub(super) fn skip_pointer(self) -> Option<SkipPointer> {
        // Acquire: partner of the Release in `set_skip_pointer`.
        let pointer = self.head_ref().skip_pointer.load(Ordering::Acquire);
        (pointer & NO_SKIP_POINTER == 0).then_some(SkipPointer {
            jump: pointer as u32,
            depth: ((pointer & !PROXY) >> 32) as u32,
        })
    }

    /// Whether this is a proxy for the version inside the leaf.
    #[inline(always)]
    pub(super) fn is_proxy(self) -> bool {
        // Relaxed: the bit never changes.
        self.head_ref().skip_pointer.load(Ordering::Relaxed) & PROXY != 0
    }

    /// The value; empty for a proxy.
    #[inline(always)]
    pub(super) fn value(self) -> &'t [u8] {
        let head = self.head_ref();
        head.mark.read();
        // SAFETY: the value follows the head.
        let start = unsafe { self.at.add(1) }.cast::<u8>();
        // SAFETY: written at creation, never changed; the memory outlives
        // `'t`.
        unsafe { slice::from_raw_parts(start.as_ptr(), head.value_len as usize) }
    }

    /// Bytes of the whole allocation.
    #[inline(always)]
    pub(super) fn size(self) -> usize {
        size_of::<VersionHead>() + self.head_ref().value_len as usize
    }
}
