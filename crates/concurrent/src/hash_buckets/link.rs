//! Buckets that are linked lists at first, and skip lists once they are long.
//!
//! ```text
//!  bucket.head = null                    empty
//!              = node -> node -> node    sorted; a node has one link
//!              = skip list | 1           after more than `threshold` entries
//! ```
//!
//! Only the holder of the bucket's lock inserts into a list, and links a new node with a
//! single atomic write, so that readers see the node complete or not at all. When a list
//! has become too long, the holder copies its entries into a skip list and publishes that
//! in place of the list. The list stays unchanged for the readers inside it. From then on
//! inserts go to the skip list, without the lock.
//!
//! # Invariants
//! * L1: a head without the low bit is null or a complete, published node of the arena
//!   whose links (level 0) lead to greater keys. It changes only under the bucket's lock.
//! * L2: a head with the low bit is a pointer from `Arc::into_raw`, plus the bit, that
//!   owns one count of a skip list with all entries of the bucket's list. It never
//!   changes again until the count is released on drop.
//!
//! # Locks
//! Under a bucket's lock only the locks of the arena are taken.

use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::{LinkIter, MAX_HEIGHT, Towers, bucket_of};
use crate::arena::{ALIGN, ArenaOptions, ConcurrentArena};
use crate::counter::Counter;
use crate::skiplist::node::{Key, Node};
use crate::skiplist::{KeyOrder, SkipList, check_sizes};
use crate::sorted_snapshot::{Seal, SortedIter, SortedSnapshot, Visit};
use crate::sync::{AtomicPtr, Mutex, Ordering};

/// The bit that marks a head as that of a skip list.
const SKIP: usize = 1;

const _: () = assert!(ALIGN > SKIP);

/// The options of a [`HashLinkList`].
#[derive(Debug, Clone, Copy)]
pub struct LinkListOptions {
    /// The number of buckets, at least 1.
    pub buckets: usize,
    /// A bucket with more entries than this becomes a skip list.
    pub threshold: u32,
    /// How the arena takes memory.
    pub arena: ArenaOptions,
}

/// A bucket's skip list.
pub(super) type Skip<O> = SkipList<Arc<O>>;

struct Bucket {
    /// What the bucket holds (L1, L2).
    /// Written by: inserters, with `listed` locked. Read by: any thread. Publishes: the
    /// entries behind it.
    head: AtomicPtr<u8>,
    /// The number of entries of the list. The holder of the lock may insert into the
    /// list.
    listed: Mutex<u32>,
}

/// What a bucket holds; `S` is a handle to its skip list.
pub(super) enum Content<S> {
    /// A sorted list of nodes, or nothing.
    List(Option<Node>),
    Skip(S),
}

/// A hash table of linked lists.
pub struct HashLinkList<O> {
    order: Arc<O>,
    arena: Arc<ConcurrentArena>,
    buckets: Box<[Bucket]>,
    threshold: u32,
    towers: Towers,
    /// The number of lists that became skip lists.
    converted: Counter,
    seal: Seal<O>,
    /// The table owns its skip lists.
    _skips: std::marker::PhantomData<Skip<O>>,
}

impl<O: KeyOrder> HashLinkList<O> {
    /// An empty table. Zero buckets count as one.
    pub fn new(order: O, options: LinkListOptions) -> Self {
        HashLinkList {
            order: Arc::new(order),
            arena: Arc::new(ConcurrentArena::new(options.arena)),
            buckets: (0..options.buckets.max(1))
                .map(|_| Bucket {
                    head: AtomicPtr::new(ptr::null_mut()),
                    listed: Mutex::new(0),
                })
                .collect(),
            threshold: options.threshold,
            towers: Towers {
                max: MAX_HEIGHT,
                branching: 4,
            },
            converted: Counter::new(),
            seal: Seal::new(),
            _skips: std::marker::PhantomData,
        }
    }

    /// Inserts an entry into the bucket of `hash`; `false` (and nothing is
    /// inserted) if an equal key is there.
    ///
    /// # Panics
    /// If key or value are longer than 4 GiB less a few bytes.
    pub fn insert(&self, hash: u64, user_key: &[u8], tag: u64, value: &[u8]) -> bool {
        debug_assert!(!self.seal.is_set(), "sealed tables get no entries");
        check_sizes(user_key, value);
        let key = (user_key, tag);
        let bucket = self.slot(hash);
        if let Content::List(_) = self.content(bucket) {
            let mut listed = self.buckets[bucket].listed.lock();
            // Checked again, since the list may have become a skip list before the lock
            // was taken.
            if let Content::List(first) = self.content(bucket) {
                if !self.insert_listed(bucket, first, key, value) {
                    return false;
                }
                *listed += 1;
                if *listed > self.threshold {
                    self.convert(bucket);
                }
                return true;
            }
        }
        let Content::Skip(skip) = self.content(bucket) else {
            unreachable!("a bucket that is a skip list stays one (L2)");
        };
        skip.insert_with_height(self.towers.height(), user_key, tag, value)
    }

    /// Inserts into the list from `first` on, with the bucket locked.
    fn insert_listed(
        &self,
        bucket: usize,
        first: Option<Node>,
        key: Key<'_>,
        value: &[u8],
    ) -> bool {
        // SAFETY: a node of a bucket of this table.
        let (prev, next) = unsafe { self.neighbors(first, key, false) };
        // SAFETY: a node of the list (L1).
        if next.is_some_and(|node| self.order.compare(unsafe { node.key() }, key).is_eq()) {
            return false;
        }
        let node = Node::create(&self.arena, 1, key, value);
        // SAFETY: the node has one level and is not yet published.
        unsafe { node.prepare_next(0, next) };
        match prev {
            Some(prev) => {
                // SAFETY: both have a level 0.
                let linked = unsafe { prev.publish_next(0, next, node) };
                debug_assert!(linked, "no other thread inserts here (L1)");
            }
            None => {
                let head = node.into_raw().as_ptr();
                // Release: partner of the Acquire in `content`.
                self.buckets[bucket].head.store(head, Ordering::Release);
            }
        }
        true
    }

    /// Converts a list to a skip list, with the bucket locked.
    fn convert(&self, bucket: usize) {
        let skip = Skip::in_arena(self.order.clone(), self.arena.clone(), self.towers.max);
        if let Content::List(first) = self.content(bucket) {
            // SAFETY: a node of a bucket of this table.
            unsafe {
                scan_list(first, &mut |key, tag, value| {
                    skip.insert_with_height(self.towers.height(), key, tag, value)
                });
            }
        }
        let skip = Arc::into_raw(Arc::new(skip)).cast::<u8>().cast_mut();
        // Release: partner of the Acquire in `content`.
        self.buckets[bucket]
            .head
            .store(skip.map_addr(|at| at | SKIP), Ordering::Release);
        self.converted.add(1);
    }

    /// What a bucket holds now.
    #[inline]
    fn content(&self, bucket: usize) -> Content<&Skip<O>> {
        // Acquire: partner of the Releases in `insert_listed` and `convert`.
        let head = self.buckets[bucket].head.load(Ordering::Acquire);
        match skip_of::<O>(head) {
            // SAFETY: owned by the table as long as it lives (L2).
            Some(skip) => Content::Skip(unsafe { &*skip }),
            None => Content::List(NonNull::new(head).map(Node::from_raw)),
        }
    }

    /// [`Self::content`], with a reference count of its own for the skip list.
    pub(super) fn content_owned(&self, bucket: usize) -> Content<Arc<Skip<O>>> {
        let skip: *const Skip<O> = match self.content(bucket) {
            Content::List(first) => return Content::List(first),
            Content::Skip(skip) => skip,
        };
        // SAFETY: from `Arc::into_raw`, with the bucket's count (L2).
        unsafe { Arc::increment_strong_count(skip) };
        // SAFETY: from `Arc::into_raw`, with the bucket's count (L2); the count just
        // taken is the new owner's.
        Content::Skip(unsafe { Arc::from_raw(skip) })
    }

    /// The neighbors of `key` in a list from `first` on: the last node before it and the
    /// first one after it. A node at `key` counts as after it, or as before it if
    /// `or_at`.
    ///
    /// # Safety
    /// `first` must be a node of a bucket of this table (L1).
    pub(super) unsafe fn neighbors(
        &self,
        first: Option<Node>,
        key: Key<'_>,
        or_at: bool,
    ) -> (Option<Node>, Option<Node>) {
        let mut prev = None;
        let mut next = first;
        while let Some(node) = next {
            // SAFETY: the caller's node, or reached from it.
            let order = self.order.compare(unsafe { node.key() }, key);
            if order.is_gt() || (order.is_eq() && !or_at) {
                break;
            }
            prev = next;
            // SAFETY: the caller's node, or reached from it.
            next = unsafe { node.next(0) };
        }
        (prev, next)
    }

    /// Passes the entries of the bucket of `hash`, from the first one at or after
    /// `(user_key, tag)` on, to `visit` until that returns `false`.
    pub fn scan_from(&self, hash: u64, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        match self.content(self.slot(hash)) {
            Content::Skip(skip) => skip.scan_from(user_key, tag, visit),
            Content::List(first) => {
                // SAFETY: a node of a bucket of this table.
                let (_, from) = unsafe { self.neighbors(first, (user_key, tag), false) };
                // SAFETY: a node of a bucket of this table.
                unsafe { scan_list(from, visit) };
            }
        }
    }

    /// A cursor over one bucket at a time.
    pub fn bucket_iter(self: &Arc<Self>) -> LinkIter<O> {
        LinkIter::new(Arc::clone(self))
    }

    /// A cursor over a sorted snapshot of all buckets. Making it takes O(n log n), but
    /// only once if the table is sealed.
    pub fn sorted(&self) -> SortedIter<O> {
        SortedIter::new(self.seal.sorted(|| {
            let mut nodes = Vec::with_capacity(self.arena.allocations());
            for bucket in 0..self.buckets.len() {
                match self.content(bucket) {
                    Content::Skip(skip) => skip.collect_nodes(&mut nodes),
                    Content::List(mut at) => {
                        while let Some(node) = at {
                            nodes.push(node);
                            // SAFETY: a node of a bucket's list (L1).
                            at = unsafe { node.next(0) };
                        }
                    }
                }
            }
            // SAFETY: published nodes of lists in this arena.
            unsafe { SortedSnapshot::new(self.order.clone(), self.arena.clone(), nodes) }
        }))
    }

    /// Seals the table: no more entries come. No insert may be in flight.
    pub fn seal(&self) {
        self.seal.set();
    }

    /// Bytes of entries, links and skip lists in use. The entries of a list that became a
    /// skip list count twice, since they are kept twice.
    pub fn used_bytes(&self) -> usize {
        self.arena.used_bytes() + self.converted.get() as usize * size_of::<Skip<O>>()
    }

    /// Bytes taken from the system, including what lies ready for further entries.
    pub fn allocated_bytes(&self) -> usize {
        self.arena.allocated_bytes() + self.converted.get() as usize * size_of::<Skip<O>>()
    }

    /// The number of buckets that have become skip lists.
    pub fn converted(&self) -> usize {
        self.converted.get() as usize
    }

    pub(super) fn slot(&self, hash: u64) -> usize {
        bucket_of(hash, self.buckets.len())
    }
}

/// Passes the entries of a bucket's list from `at` on to `visit` until that
/// returns `false`.
///
/// # Safety
/// `at` must be a node of a bucket's list (L1), and its table must be alive.
unsafe fn scan_list(mut at: Option<Node>, visit: &mut Visit<'_>) {
    while let Some(node) = at {
        // SAFETY: a node of a bucket's list (L1).
        let entry = unsafe { node.entry() };
        let (user_key, tag) = entry.key();
        if !visit(user_key, tag, entry.value) {
            return;
        }
        // SAFETY: a node of a bucket's list (L1).
        at = unsafe { node.next(0) };
    }
}

/// The skip list of a head, if it has one.
fn skip_of<O>(head: *mut u8) -> Option<*const Skip<O>> {
    let skip = head.map_addr(|at| at & !SKIP);
    (skip != head).then(|| skip.cast_const().cast())
}

impl<O> Drop for HashLinkList<O> {
    fn drop(&mut self) {
        for bucket in &self.buckets {
            // Relaxed: `&mut` gives exclusive access.
            let head = bucket.head.load(Ordering::Relaxed);
            if let Some(skip) = skip_of::<O>(head) {
                // SAFETY: the bucket's own count (L2), released once.
                drop(unsafe { Arc::from_raw(skip) });
            }
        }
    }
}

impl<O> fmt::Debug for HashLinkList<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashLinkList")
            .field("buckets", &self.buckets.len())
            .field("converted", &self.converted.get())
            .finish_non_exhaustive()
    }
}
