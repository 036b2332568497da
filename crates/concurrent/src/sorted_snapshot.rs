//! Sorted snapshots: entries that are sorted after they were collected.
//!
//! Structures that do not keep all their entries in order (append lists, hash tables of
//! lists) serve ordered walks by collecting their entries and sorting pointers to them.
//! Making such a snapshot takes O(n log n). A structure that is *sealed* (gets no more
//! entries) makes it once and shares it.
//!
//! # Invariants
//! * T1: the nodes of a `SortedSnapshot` are in its arena, are complete, and were
//!   published to the thread that made the snapshot.
//!
//! # Locks
//! A thread that sorts the entries of a sealed structure holds the lock of its seal, so
//! that others wait instead of sorting, too. Comparators run under this lock.

use std::cmp::Ordering as Order;
use std::fmt;
use std::sync::Arc;

use crate::arena::ConcurrentArena;
use crate::once::OnceBox;
use crate::skiplist::KeyOrder;
use crate::skiplist::node::{Entry, Node};
use crate::sync::{AtomicBool, Mutex, Ordering};

/// A visitor: takes user key, tag and value of an entry, and returns whether to go on.
pub type Visit<'a> = dyn FnMut(&[u8], u64, &[u8]) -> bool + 'a;

/// The sorted entries of a structure.
pub(crate) struct SortedSnapshot<O> {
    order: Arc<O>,
    /// The nodes with the digests of their keys, which decide most of the order without
    /// reading the entries.
    nodes: Vec<(u64, Node)>,
    /// Keeps the nodes alive.
    _arena: Arc<ConcurrentArena>,
}

// SAFETY: the nodes live in the arena, which is shared between threads, and are no longer
// written (T1, skip list N3).
unsafe impl<O: Send + Sync> Send for SortedSnapshot<O> {}
// SAFETY: a shared snapshot is only read, and its nodes are no longer written (T1, skip
// list N3).
unsafe impl<O: Send + Sync> Sync for SortedSnapshot<O> {}

impl<O: KeyOrder> SortedSnapshot<O> {
    /// Sorts `nodes`.
    ///
    /// # Safety
    /// `nodes` must be published nodes of `arena` with an entry (T1).
    pub(crate) unsafe fn new(order: Arc<O>, arena: Arc<ConcurrentArena>, nodes: Vec<Node>) -> Self {
        let mut sorted = SortedSnapshot {
            nodes: Vec::with_capacity(nodes.len()),
            order,
            _arena: arena,
        };
        for node in nodes {
            // SAFETY: by this function's contract.
            let (user_key, _) = unsafe { node.key() };
            sorted.nodes.push((sorted.order.digest(user_key), node));
        }
        let order = &sorted.order;
        sorted
            .nodes
            .sort_unstable_by(|(a_digest, a), (b_digest, b)| {
                a_digest.cmp(b_digest).then_with(|| {
                    // SAFETY: by this function's contract.
                    let a = unsafe { a.key() };
                    // SAFETY: by this function's contract.
                    let b = unsafe { b.key() };
                    order.compare(a, b)
                })
            });
        sorted
    }

    /// The number of entries before `(user_key, tag)`; entries at it count, too, if
    /// `or_at`.
    fn count_before(&self, user_key: &[u8], tag: u64, or_at: bool) -> usize {
        let digest = self.order.digest(user_key);
        self.nodes.partition_point(|(d, node)| {
            let order = d.cmp(&digest).then_with(|| {
                // SAFETY: T1, and `self` keeps the arena.
                let key = unsafe { node.key() };
                self.order.compare(key, (user_key, tag))
            });
            order == Order::Less || (or_at && order == Order::Equal)
        })
    }

    /// The entry at an index.
    fn entry(&self, at: usize) -> Option<Entry<'_>> {
        let (_, node) = self.nodes.get(at)?;
        // SAFETY: T1, and `self` keeps the arena.
        Some(unsafe { node.entry() })
    }

    /// Visits the entries from the first one at or after `(user_key, tag)` on, until
    /// `visit` returns `false`.
    pub(crate) fn scan_from(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        let mut at = self.count_before(user_key, tag, false);
        while let Some(entry) = self.entry(at) {
            let (key, tag) = entry.key();
            if !visit(key, tag, entry.value) {
                return;
            }
            at += 1;
        }
    }
}

/// Whether a structure is sealed, and then its sorted snapshot once it was made.
pub(crate) struct Seal<O> {
    /// Written by: the thread that seals. Read by: threads that need sorted entries.
    /// Publishes: all inserts, which happened before.
    sealed: AtomicBool,
    sorted: OnceBox<Arc<SortedSnapshot<O>>>,
    /// Held while a thread makes the snapshot for `sorted`.
    sorting: Mutex<()>,
}

impl<O> Seal<O> {
    pub(crate) fn new() -> Self {
        Seal {
            sealed: AtomicBool::new(false),
            sorted: OnceBox::new(),
            sorting: Mutex::new(()),
        }
    }

    /// Seals the structure: no insert may be in flight or follow.
    pub(crate) fn set(&self) {
        // Release: partner of the Acquire in `is_set`.
        self.sealed.store(true, Ordering::Release);
    }

    /// Whether the structure is sealed. Then every entry is visible to the caller.
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: partner of the Release in `set`.
        self.sealed.load(Ordering::Acquire)
    }

    /// The snapshot that `sort` makes. It is kept and shared if the structure is sealed;
    /// callers then wait while another thread sorts.
    pub(crate) fn sorted(
        &self,
        sort: impl FnOnce() -> SortedSnapshot<O>,
    ) -> Arc<SortedSnapshot<O>> {
        if !self.is_set() {
            return Arc::new(sort());
        }
        if let Some(sorted) = self.sorted.get() {
            return sorted.clone();
        }
        let _turn = self.sorting.lock();
        self.sorted.get_or_make(|| Arc::new(sort())).clone()
    }
}

/// A cursor over a sorted snapshot, which keeps the entries alive. It is not valid at
/// first.
pub struct SortedIter<O> {
    sorted: Arc<SortedSnapshot<O>>,
    /// The index of the current entry; past the last one if the cursor is not valid.
    at: usize,
}

impl<O: KeyOrder> SortedIter<O> {
    pub(crate) fn new(sorted: Arc<SortedSnapshot<O>>) -> Self {
        let at = sorted.nodes.len();
        SortedIter { sorted, at }
    }

    /// Whether the cursor is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.at < self.sorted.nodes.len()
    }

    /// The entry's internal key: user key followed by the little-endian tag.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.entry().internal_key
    }

    /// The entry's value.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.entry().value
    }

    /// Moves forward. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn next(&mut self) {
        if self.valid() {
            self.at += 1;
        }
    }

    /// Moves backward. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn prev(&mut self) {
        if self.valid() {
            self.move_before(self.at);
        }
    }

    /// Moves to the first entry at or after the given key.
    pub fn seek(&mut self, user_key: &[u8], tag: u64) {
        self.at = self.sorted.count_before(user_key, tag, false);
    }

    /// Moves to the last entry at or before the given key.
    pub fn seek_for_prev(&mut self, user_key: &[u8], tag: u64) {
        self.move_before(self.sorted.count_before(user_key, tag, true));
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.at = 0;
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.move_before(self.sorted.nodes.len());
    }

    /// Moves to the entry before index `at`; without one, the cursor becomes invalid.
    fn move_before(&mut self, at: usize) {
        self.at = at.checked_sub(1).unwrap_or(self.sorted.nodes.len());
    }

    fn entry(&self) -> Entry<'_> {
        let entry = self.sorted.entry(self.at);
        entry.expect("the cursor is at an entry")
    }
}

impl<O> fmt::Debug for SortedIter<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedIter")
            .field("entries", &self.sorted.nodes.len())
            .field("at", &self.at)
            .finish()
    }
}
