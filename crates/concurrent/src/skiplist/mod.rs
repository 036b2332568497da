//! The inline skip list.
//!
//! A sorted list of entries `(user_key, tag, value)` that many threads insert into and
//! read from at once. Nothing is ever removed or changed; the whole list is freed at
//! once. Each entry is one allocation that holds the links, the key and the value.
//!
//! The structure is that of RocksDB's `InlineSkipList`, with these differences: keys are
//! compared as user key and tag, not as opaque bytes; an equal key is detected during the
//! search, before memory is allocated; a search does not compare a node again that
//! bounded it one level up; entries are counted by the arena, under the lock that it
//! takes anyway.
//!
//! * `node`: the memory layout of an entry; `layout`: where an entry's bytes are;
//!   `height`: how many levels a node gets; `order`: how keys compare
//! * `search`: walking the levels
//! * `insert`: linking nodes, and the splices that remember insert positions
//! * `iter`: cursors; `ahead`: prefetching for them; `check`: consistency checks
//!
//! # Thread safety
//! Everything may be called from any thread at any time. Readers never wait. Inserters
//! wait for each other only inside the arena; when two meet at a link, one of them
//! repeats the search of one level. An insert that has returned is seen by every read
//! that happens after it.
//!
//! What it does not do: versions, visibility and deletion are up to the caller, who
//! encodes them in tags and values.

mod ahead;
mod check;
pub(crate) mod height;
mod insert;
mod iter;
mod layout;
pub(crate) mod node;
mod order;
mod search;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use self::height::random_height;
use self::insert::Reuse;
use self::layout::sealed::{Apart, Nowhere};
use self::node::{MAX_HEIGHT, MAX_USER_KEY, MAX_VALUE, Node};
use crossbeam_utils::CachePadded;

use crate::arena::{ArenaOptions, ConcurrentArena};
use crate::sync::{self, AtomicBool, AtomicUsize, Mutex};

pub use self::insert::Splice;
pub use self::iter::Iter;
pub use self::layout::{EntryLayout, Indirect, Inline};
pub use self::order::{Bytewise, KeyOrder};

/// The splice of the last insert. It is locked only with `try_lock`; a thread that finds
/// it taken inserts without it.
type Last = CachePadded<Mutex<Splice>>;

/// A sorted list of entries `(user_key, tag, value)`.
pub struct SkipList<O, L: EntryLayout = Inline> {
    order: O,
    /// Owns all nodes, the head included.
    arena: Arc<ConcurrentArena>,
    /// Owns the entries that are not stored in their nodes.
    apart: L::Apart,
    /// The node before the first one. It has `max_height` levels.
    head: Node,
    /// The most levels a node can have, at most [`MAX_HEIGHT`].
    max_height: usize,
    /// The highest level in use, plus one.
    /// Written by: inserters of higher nodes. Read by: every search. Publishes nothing:
    /// see [`SkipList::height`].
    height: AtomicUsize,
    /// The number of nodes that were made but not linked, since an equal key came first.
    /// Written by: inserters that lose such a race. Read by: `len`. Publishes nothing.
    abandoned: AtomicUsize,
    /// Identifies this list in splices. No other list of the process ever has the same
    /// id.
    id: u64,
    /// Set if there is no `last`, and once two inserters have met. From then on `last` is
    /// not used, so that its cache line does not move between processors.
    /// Written by: inserters. Read by: inserters. Publishes nothing.
    contended: AtomicBool,
    last: Option<Box<Last>>,
    layout: PhantomData<fn() -> L>,
}

// SAFETY: the nodes live in the arena, which moves with the list; they are written only
// before they are published (N3) and through atomics.
unsafe impl<O: Send, L: EntryLayout> Send for SkipList<O, L> {}
// SAFETY: the nodes live in the list's arena, which the list keeps alive; they are written
// only before they are published (N3) and through atomics, and every operation on a shared
// list is made for concurrent use.
unsafe impl<O: Sync, L: EntryLayout> Sync for SkipList<O, L> {}

impl<O: KeyOrder> SkipList<O> {
    /// An empty list with an arena of its own.
    pub fn new(order: O, arena: impl Into<ArenaOptions>) -> Self {
        Self::with_layout(order, arena)
    }

    /// An empty list of at most `max_height` levels (1 to [`MAX_HEIGHT`]) that allocates
    /// from a shared arena. The sizes and the length that the list reports are those of
    /// the arena.
    pub(crate) fn in_arena(order: O, arena: Arc<ConcurrentArena>, max_height: usize) -> Self {
        let apart = Nowhere;
        Self::made_of(order, arena, apart, max_height, None)
    }
}

impl<O: KeyOrder, L: EntryLayout> SkipList<O, L> {
    /// An empty list, of any layout, with an arena of its own.
    pub fn with_layout(order: O, arena: impl Into<ArenaOptions>) -> Self {
        let options = arena.into();
        let arena = Arc::new(ConcurrentArena::new(options));
        let apart = L::Apart::new(options);
        let last = Box::new(CachePadded::new(Mutex::new(Splice::default())));
        Self::made_of(order, arena, apart, MAX_HEIGHT, Some(last))
    }

    fn made_of(
        order: O,
        arena: Arc<ConcurrentArena>,
        apart: L::Apart,
        max_height: usize,
        last: Option<Box<Last>>,
    ) -> Self {
        /// The number of lists made so far. Written and read by: threads that make lists.
        /// Publishes nothing.
        static LISTS: AtomicU64 = AtomicU64::new(0);
        let head = Node::head(&arena, max_height);
        SkipList {
            order,
            arena,
            apart,
            head,
            max_height,
            height: AtomicUsize::new(1),
            abandoned: AtomicUsize::new(0),
            id: LISTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1,
            contended: AtomicBool::new(last.is_none()),
            last,
            layout: PhantomData,
        }
    }

    /// Inserts an entry, concurrently with other inserts and readers.
    /// Returns `false` (and inserts nothing) if an equal key is there.
    ///
    /// An entry adjacent to the one inserted before it needs no search, as long as no two
    /// threads were seen inserting at once.
    ///
    /// # Panics
    /// If key or value are longer than 4 GiB less a few bytes.
    pub fn insert(&self, user_key: &[u8], tag: u64, value: &[u8]) -> bool {
        let height = random_height();
        if !self.contended.load(sync::Ordering::Relaxed) {
            if let Some(mut last) = self.last.as_ref().and_then(|last| last.try_lock()) {
                let key = (user_key, tag);
                return self.insert_at(&mut last, Reuse::IfAdjacent, height, key, value);
            }
            self.contended.store(true, sync::Ordering::Relaxed);
        }
        self.insert_with_height(height, user_key, tag, value)
    }

    /// Like [`SkipList::insert`], but does not use the splice of the last insert.
    ///
    /// # Panics
    /// As for [`SkipList::insert`].
    pub fn insert_concurrently(&self, user_key: &[u8], tag: u64, value: &[u8]) -> bool {
        self.insert_with_height(random_height(), user_key, tag, value)
    }

    /// Like [`SkipList::insert`], but starts from the caller's `splice` and updates it.
    /// This pays when keys come nearly sorted: the cost then grows with the distance from
    /// the last key, not with the size of the list. Each thread uses its own splice for
    /// each list; a splice of another list is reset.
    ///
    /// # Panics
    /// As for [`SkipList::insert`].
    pub fn insert_with_splice(
        &self,
        splice: &mut Splice,
        user_key: &[u8],
        tag: u64,
        value: &[u8],
    ) -> bool {
        self.insert_spliced_with_height(splice, random_height(), user_key, tag, value)
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
        let (mut at, _) = self.first_at_or_after((user_key, tag));
        while let Some(node) = at {
            // SAFETY: reached through a link; the list is borrowed.
            let entry = unsafe { node.entry_as::<L>() };
            let (user_key, tag) = entry.key();
            if !visit(user_key, tag, entry.value) {
                return;
            }
            // SAFETY: every node has level 0.
            at = unsafe { node.next(0) };
        }
    }

    /// The order of its keys.
    #[inline]
    pub fn order(&self) -> &O {
        &self.order
    }

    /// A cursor that keeps the list alive.
    pub fn iter(self: &Arc<Self>) -> Iter<O, L> {
        Iter::new(Arc::clone(self), false)
    }

    /// As [`SkipList::iter`], for one walk forward that reads all bytes of many entries.
    pub fn flush_iter(self: &Arc<Self>) -> Iter<O, L> {
        Iter::new(Arc::clone(self), true)
    }

    /// Number of entries. Exact when no insert is in flight; inserts in flight may be
    /// counted early. It sums up the arena's shards, so it has some cost.
    pub fn len(&self) -> usize {
        // The head is an allocation of the arena, too. Relaxed: a count orders nothing.
        // Saturating, since the two loads are not one snapshot.
        let abandoned = self.abandoned.load(sync::Ordering::Relaxed);
        self.arena.allocations().saturating_sub(1 + abandoned)
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        // SAFETY: the head has every level.
        unsafe { self.head.next(0) }.is_none()
    }

    /// Appends all nodes in order to `nodes`.
    pub(crate) fn collect_nodes(&self, nodes: &mut Vec<Node>) {
        // SAFETY: the head has every level.
        let mut at = unsafe { self.head.next(0) };
        while let Some(node) = at {
            nodes.push(node);
            // SAFETY: every node has level 0.
            at = unsafe { node.next(0) };
        }
    }

    /// Bytes that its arenas have allocated for entries and links.
    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes() + self.apart.bytes().0
    }

    /// Bytes taken from the system.
    pub fn allocated_bytes(&self) -> usize {
        self.arena.allocated_bytes() + self.apart.bytes().1
    }

    /// About how many entries are before `(user_key, tag)`. Only the order of magnitude
    /// is right, since the share of nodes in higher levels is random.
    pub fn estimate_count_before(&self, user_key: &[u8], tag: u64) -> usize {
        self.estimate_before((user_key, tag))
    }

    /// The number of levels to search, at least 1. Relaxed, since an old value costs only
    /// speed: higher levels merely shorten the search, and the head has all its links
    /// from the beginning.
    #[inline(always)]
    fn height(&self) -> usize {
        self.height.load(sync::Ordering::Relaxed)
    }
}

impl<O, L: EntryLayout> fmt::Debug for SkipList<O, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkipList")
            .field("arena", &self.arena)
            .finish_non_exhaustive()
    }
}

/// Checks lengths: those beyond 32 bits would be truncated when stored, and so misread.
/// Where pointers have 32 bits, the sum of both could overflow.
#[inline(always)]
pub(crate) fn check_sizes(user_key: &[u8], value: &[u8]) {
    assert!(user_key.len() <= MAX_USER_KEY, "user key too long");
    assert!(value.len() <= MAX_VALUE, "value too long");
    let both = user_key.len().checked_add(value.len());
    let limit = isize::MAX as usize / 2;
    assert!(both.is_some_and(|both| both <= limit), "entry too long");
}
