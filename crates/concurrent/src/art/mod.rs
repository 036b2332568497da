//! An adaptive radix tree of user keys and their versions.
//!
//! A sorted set of entries `(user_key, tag, value)` that many threads insert into and
//! read from at once. Entries are in bytewise order of the user keys (or in its reverse,
//! as a cursor chooses) and, within a key, from high tags to low ones. Any bytes may be a
//! key: the empty key, keys with zero bytes, keys that begin with other keys. Nothing is
//! ever removed or changed; the whole tree is freed at once.
//!
//! ```text
//!  root -> node "ab" -+- (end)  leaf "ab"
//!                     +- 'c' -> leaf "abcd"  -> version 9 -> version 4 -> inside
//!                     `- 'x' -> node "yz" -+- '0' -> leaf "abxyz0"
//!                                          `- '1' -> leaf "abxyz1"
//! ```
//!
//! * `memory`: the tree's memory; 32-bit offsets instead of pointers
//! * `leaf`: the memory layout of keys and versions; `versions`: the versions of a key
//! * `node`, `bytes`: inner nodes of 4, 16, 48 and 256 children; `children`: the children
//!   of a node in order; `lock`: the lock that inserters take
//! * `search`: finding a key; `insert`: adding keys; `batch`: adding many at once
//! * `prepare`: inserting in two steps; `locate`: finding a key's leaf before the insert
//! * `cursor`, `frame`, `iter`: walking in order; `flush_iter`: walking for a flush;
//!   `estimate`: about how many keys are before one; `check`: consistency checks
//!
//! # Thread safety
//! Everything may be called from any thread at any time. Readers never wait and never
//! restart. Inserters lock the node they add to, and also its parent if the node must be
//! replaced. An insert that has returned is seen by every read that starts after it.
//!
//! # Order of locks
//! A parent is locked before its child. Under these locks only the memory's own lock is
//! taken.
//!
//! What it does not do: visibility and deletion are up to the caller, who encodes them in
//! tags and values. Only the bytewise order and its reverse are supported.

mod batch;
mod bytes;
mod check;
mod children;
mod cursor;
mod estimate;
mod flush_iter;
mod frame;
mod insert;
mod iter;
mod leaf;
mod locate;
mod lock;
mod memory;
mod node;
mod prepare;
mod search;
mod versions;

use std::fmt;
use std::sync::Arc;

use self::cursor::Cursor;
use self::leaf::{Leaf, Link, MAX_KEY, MAX_VALUE};
use self::memory::Memory;
use self::node::{Node, Ref};
use self::versions::Versions;
use crate::region::HugePages;
use crate::sync::{AtomicU32, Ordering};

pub use self::flush_iter::FlushIter;
pub use self::iter::Iter;
pub use self::locate::LeafHint;
pub use self::prepare::{PendingSkipPointer, Prepared};
pub use crate::region::{Claim, pool_bytes, pool_limit, set_pool_limit};

/// How a tree takes memory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of address space that are reserved at once, rounded up to a power of two
    /// between 64 KiB and 8 GiB. A tree can outgrow the range, at some cost in speed, so
    /// reserve enough for the largest tree expected. Default: 128 MiB.
    pub capacity: usize,
    /// Whether to ask the system for huge pages. Default: no.
    pub huge_pages: HugePages,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            capacity: 128 << 20,
            huge_pages: HugePages::Off,
        }
    }
}

/// A sorted set of entries `(user_key, tag, value)`.
pub struct Art {
    /// Owns all leaves, versions and nodes.
    memory: Memory,
    /// The whole tree: nothing, a leaf or a node. Written and read like a slot of a node.
    root: AtomicU32,
    /// The lock for `root`. It has the form of a node's state, and is never obsolete.
    root_lock: AtomicU32,
    /// Identifies this tree in prepared entries. No other tree of the process ever has
    /// the same id.
    id: u64,
}

impl Art {
    /// An empty tree.
    pub fn new(options: Options) -> Self {
        /// The number of trees made so far. Written and read by: threads that make trees.
        /// Publishes nothing.
        static TREES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Art {
            memory: Memory::new(options.capacity, options.huge_pages),
            root: AtomicU32::new(Ref::NONE.0),
            root_lock: AtomicU32::new(0),
            id: TREES.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1,
        }
    }

    /// Passes the versions of `user_key` at or below `tag`, newest first, to
    /// `visit` until that returns `false`.
    pub fn get(&self, user_key: &[u8], tag: u64, visit: &mut dyn FnMut(u64, &[u8]) -> bool) {
        if let Some(leaf) = self.find(user_key) {
            self.visit_versions(leaf, tag, &mut |_, tag, value| visit(tag, value));
        }
    }

    /// Finds the first entry at or after `(user_key, tag)` and passes it, then
    /// its successors, to `visit` until that returns `false`.
    #[expect(clippy::type_complexity, reason = "a name would hide the parts")]
    pub fn scan_from(
        &self,
        user_key: &[u8],
        tag: u64,
        visit: &mut dyn FnMut(&[u8], u64, &[u8]) -> bool,
    ) {
        // Most scans are reads of one key, which need no cursor.
        let found = self.find(user_key);
        if let Some(leaf) = found
            && !self.visit_versions(leaf, tag, visit)
        {
            return;
        }
        let mut cursor = Cursor::<false>::default();
        cursor.seek(self, user_key, tag);
        if found.is_some() && cursor.valid() && cursor.leaf(self).key() == user_key {
            // Its versions have been visited already.
            cursor.next_key(self);
        }
        while cursor.valid() {
            let (tag, value) = cursor.entry(self);
            if !visit(cursor.leaf(self).key(), tag, value) {
                return;
            }
            cursor.next(self);
        }
    }

    /// Visits a leaf's versions at or below `tag`. Returns whether to go on.
    #[expect(clippy::type_complexity, reason = "a name would hide the parts")]
    fn visit_versions(
        &self,
        leaf: Leaf<'_>,
        tag: u64,
        visit: &mut dyn FnMut(&[u8], u64, &[u8]) -> bool,
    ) -> bool {
        let versions = Versions::new(&self.memory, leaf);
        let mut at = versions.at_or_below(tag);
        while at != Link::END {
            let (tag, value) = versions.entry(at);
            if !visit(leaf.key(), tag, value) {
                return false;
            }
            at = versions.older(at);
        }
        true
    }

    /// A cursor that keeps the tree alive.
    pub fn iter(self: &Arc<Self>) -> Iter {
        Iter::new(Arc::clone(self))
    }

    /// As [`Art::iter`], with keys in reverse bytewise order: the greatest key comes
    /// first, and within a key the highest tag.
    pub fn iter_reversed(self: &Arc<Self>) -> Iter<true> {
        Iter::new(Arc::clone(self))
    }

    /// As [`Art::iter`], for one walk forward that reads all bytes of many entries.
    pub fn flush_iter(self: &Arc<Self>) -> FlushIter {
        FlushIter::new(self.iter())
    }

    /// As [`Art::flush_iter`], in the order of [`Art::iter_reversed`].
    pub fn flush_iter_reversed(self: &Arc<Self>) -> FlushIter<true> {
        FlushIter::new(self.iter_reversed())
    }

    /// Bytes that are allocated to entries and nodes, garbage included.
    pub fn used_bytes(&self) -> usize {
        self.memory.used_bytes()
    }

    /// Bytes of memory taken, including what lies ready for further entries: some KiB for
    /// a tree of few entries, and whole pages for a larger one that has huge pages. The
    /// rest of the reserved range is only address space.
    pub fn allocated_bytes(&self) -> usize {
        self.memory.allocated_bytes()
    }

    /// Bytes among [`Art::used_bytes`] that no longer serve a purpose: outgrown nodes,
    /// and allocations that lost a race. They are freed with the tree.
    pub fn garbage_bytes(&self) -> usize {
        self.memory.garbage()
    }

    fn add_garbage(&self, bytes: usize) {
        self.memory.count_garbage(bytes);
    }

    /// The whole tree.
    #[inline(always)]
    fn root(&self) -> Ref {
        // Acquire: partner of the Release in `insert`'s `Owner::replace`.
        Ref(self.root.load(Ordering::Acquire))
    }

    /// The leaf that a `Ref` of this tree refers to.
    #[inline(always)]
    fn leaf(&self, leaf: Ref) -> Leaf<'_> {
        debug_assert!(leaf.is_leaf());
        // SAFETY: every `Ref` in this module was made for a leaf of this tree or read
        // from one of its slots with Acquire (node N4).
        unsafe { Leaf::at(&self.memory, leaf.offset()) }
    }

    /// The node that a `Ref` of this tree refers to.
    #[inline(always)]
    fn node(&self, node: Ref) -> Node<'_> {
        // SAFETY: every `Ref` in this module was made for this tree or read from one of
        // its slots with Acquire (node N4), and callers have checked that it is a node.
        unsafe { Node::at(&self.memory, node) }
    }
}

impl fmt::Debug for Art {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Art")
            .field("used_bytes", &self.used_bytes())
            .field("allocated_bytes", &self.allocated_bytes())
            .field("garbage_bytes", &self.garbage_bytes())
            .finish_non_exhaustive()
    }
}

/// Checks lengths: those beyond 32 bits would be truncated when stored, and so misread.
/// Where pointers have 32 bits, the sum of both could overflow.
#[inline(always)]
fn check_sizes(user_key: &[u8], value: &[u8]) {
    assert!(user_key.len() <= MAX_KEY, "user key too long");
    assert!(value.len() <= MAX_VALUE, "value too long");
    let both = user_key.len().checked_add(value.len());
    let limit = isize::MAX as usize / 2;
    assert!(both.is_some_and(|both| both <= limit), "entry too long");
}
