//! An append list: unordered entries that many threads add cheaply, sorted when read.
//!
//! It is meant for bulk loads; RocksDB's vector memtable is similar. An insert copies the
//! entry into the arena and pushes it onto the list of its thread's shard with one
//! compare-and-swap. It compares nothing, and threads share only the arena's refills. A
//! point read looks at every entry; a cursor sorts a snapshot. Once the list is sealed,
//! its entries are sorted once, and point reads search them.
//!
//! Equal keys are not detected: both entries stay.
//!
//! # Invariants
//! * A1: a shard's head is null or a complete, published node of the arena whose links
//!   (level 0) lead to the nodes that were pushed before it.

use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::arena::{ArenaOptions, ConcurrentArena};
use crate::cores::cores;
use crate::counter::thread_number;
use crate::skiplist::node::Node;
use crate::skiplist::{KeyOrder, check_sizes};
use crate::sorted_snapshot::{Seal, SortedIter, SortedSnapshot};
use crate::sync::{AtomicPtr, Ordering};

/// The newest entry of a shard.
///
/// Written by: inserters, by compare-and-swap. Read by: readers and inserters.
/// Publishes: the entries from here on.
type Head = CachePadded<AtomicPtr<u8>>;

/// Unsorted entries `(user_key, tag, value)`.
pub struct AppendList<O> {
    order: Arc<O>,
    arena: Arc<ConcurrentArena>,
    /// The shards; their number is a power of two.
    shards: Box<[Head]>,
    seal: Seal<O>,
}

impl<O: KeyOrder> AppendList<O> {
    /// An empty list with an arena of its own.
    pub fn new(order: O, arena: impl Into<ArenaOptions>) -> Self {
        let count = if crate::sync::MODELLED {
            2
        } else {
            cores().clamp(8, 128).next_power_of_two()
        };
        AppendList {
            order: Arc::new(order),
            arena: Arc::new(ConcurrentArena::new(arena)),
            shards: (0..count)
                .map(|_| CachePadded::new(AtomicPtr::new(ptr::null_mut())))
                .collect(),
            seal: Seal::new(),
        }
    }

    /// Adds entries, concurrently with other inserts and readers. Must not be called
    /// after [`AppendList::seal`].
    ///
    /// # Panics
    /// If a key or value is longer than 4 GiB less a few bytes.
    pub fn extend<'a>(&self, entries: impl IntoIterator<Item = (&'a [u8], u64, &'a [u8])>) {
        self.extend_shard(thread_number(), entries);
    }

    /// [`AppendList::extend`] in a given shard (modulo the number of shards), for models.
    #[doc(hidden)]
    pub fn extend_shard<'a>(
        &self,
        shard: usize,
        entries: impl IntoIterator<Item = (&'a [u8], u64, &'a [u8])>,
    ) {
        debug_assert!(!self.seal.is_set(), "sealed lists get no entries");
        // The entries are chained privately, newest first, and pushed at once.
        let mut chain: Option<(Node, Node)> = None;
        for (user_key, tag, value) in entries {
            check_sizes(user_key, value);
            let node = Node::create(&self.arena, 1, (user_key, tag), value);
            let (newest, oldest) = chain.map_or((None, node), |(n, o)| (Some(n), o));
            // SAFETY: made above with one level, and not yet published.
            unsafe { node.prepare_next(0, newest) };
            chain = Some((node, oldest));
        }
        if let Some((newest, oldest)) = chain {
            self.push(
                &self.shards[shard & (self.shards.len() - 1)],
                newest,
                oldest,
            );
        }
    }

    /// Pushes the unpublished chain from `newest` to `oldest` as the shard's newest
    /// entries (A1).
    fn push(&self, head: &Head, newest: Node, oldest: Node) {
        // Relaxed: the entries behind it are not read here.
        let mut seen = head.load(Ordering::Relaxed);
        loop {
            let next = NonNull::new(seen).map(Node::from_raw);
            // SAFETY: the node has one level and is not yet published; the head leads to
            // a node with a level 0 (A1).
            unsafe { oldest.prepare_next(0, next) };
            // Release: partner of the Acquire in `nodes`. Since every change of the head
            // is a read-modify-write, that Acquire pairs with all earlier pushes, too.
            let pushed = head.compare_exchange_weak(
                seen,
                newest.into_raw().as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// All entries so far, unsorted.
    fn nodes(&self) -> impl Iterator<Item = Node> {
        self.shards.iter().flat_map(|head| {
            // Acquire: partner of the Release in `push`.
            let newest = NonNull::new(head.load(Ordering::Acquire)).map(Node::from_raw);
            std::iter::successors(newest, |node| {
                // SAFETY: a published node with a level 0 (A1).
                unsafe { node.next(0) }
            })
        })
    }

    fn sorted(&self) -> Arc<SortedSnapshot<O>> {
        self.seal.sorted(|| {
            let mut nodes = Vec::with_capacity(self.len());
            nodes.extend(self.nodes());
            // SAFETY: nodes of this arena that were published (A1).
            unsafe { SortedSnapshot::new(self.order.clone(), self.arena.clone(), nodes) }
        })
    }

    /// Visits the entries of `user_key` at or below `tag`, newest first, until
    /// `visit` returns `false`. O(n) until the list is sealed.
    pub fn get(&self, user_key: &[u8], tag: u64, visit: &mut dyn FnMut(u64, &[u8]) -> bool) {
        let same_key = |key: &[u8]| self.order.same_key(key, user_key);
        if self.seal.is_set() {
            let sorted = self.sorted();
            sorted.scan_from(user_key, tag, &mut |key, t, value| {
                same_key(key) && visit(t, value)
            });
            return;
        }
        let mut found = Vec::new();
        for node in self.nodes() {
            // SAFETY: a published node of this list, which is borrowed.
            let entry = unsafe { node.entry() };
            let (key, t) = entry.key();
            if t <= tag && same_key(key) {
                found.push((t, entry.value));
            }
        }
        found.sort_unstable_by_key(|(t, _)| std::cmp::Reverse(*t));
        found.into_iter().all(|(t, value)| visit(t, value));
    }

    /// A cursor over a sorted snapshot. Making it takes O(n log n), but only once if the
    /// list is sealed.
    pub fn iter(&self) -> SortedIter<O> {
        SortedIter::new(self.sorted())
    }

    /// Seals the list: no more entries come. No insert may be in flight.
    pub fn seal(&self) {
        self.seal.set();
    }

    /// Number of entries; inserts in flight may be counted early.
    pub fn len(&self) -> usize {
        self.arena.allocations()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the arena has allocated for entries and links.
    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes()
    }

    /// Bytes taken from the system, including what lies ready for further entries.
    pub fn allocated_bytes(&self) -> usize {
        self.arena.allocated_bytes()
    }
}

impl<O> fmt::Debug for AppendList<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendList")
            .field("arena", &self.arena)
            .finish_non_exhaustive()
    }
}
