//! Memtables: the newest writes, sorted in memory.
//!
//! A [`Memtable`] is one generation of a column family: a representation that
//! keeps entries sorted ([`MemtableRep`]: an inline skip list, `skip_list`, or
//! an adaptive radix tree, `art`), its range tombstones, counters, and the
//! number of the log that was current when it was made. Entries get in through
//! an [`Inserter`].
//!
//! Invariants:
//! * M1: entries are only added, never changed or removed; a memtable that was
//!   switched out gets no more entries.
//! * M2: range tombstones and counters of a batch are in place before its
//!   sequence numbers are published, so a reader at a published number sees
//!   them.

mod art;
mod hash;
mod hash_link_list;
mod hash_skip_list;
mod inserter;
mod order;
mod rep;
mod skip_list;
mod vector;

pub(crate) use art::MAX_CAPACITY as MAX_TREE_CAPACITY;
pub(crate) use inserter::Inserter;
pub(crate) use rep::{MemtableKind, MemtableRep};

use crate::options::CfOptions;
use crate::read::get::GetContext;
use crate::read::rangedel::FragmentedTombstones;
use bytes::Bytes;
use parking_lot::Mutex;
use rep::{RepOptions, new_rep};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::region::{HugePages, TRANSPARENT};
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::{SEEK_TYPE, SequenceNumber, UserComparator, ValueType, pack_tag};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Error, Result};

/// The smallest write buffer that gets huge pages unasked: what is unused of
/// the last one is a twentieth of it at most.
const MIN_HUGE_BUFFER: usize = 20 * TRANSPARENT;

/// One generation of a column family's newest writes.
#[derive(Debug)]
pub(crate) struct Memtable {
    rep: Arc<dyn MemtableRep>,
    comparator: UserComparator,
    /// Bytes at which it should be switched out.
    limit: usize,
    range_tombstones: Mutex<Tombstones>,
    /// Number of range tombstones.
    /// Written by: writers, under the lock above (Release). Read by: readers
    /// (Acquire), to skip the lock when there are none. Publishes: nothing that
    /// the lock does not; the release only keeps it from running ahead.
    num_tombstones: AtomicUsize,
    /// Counters. Written by: writers, once per batch (relaxed). Read by:
    /// properties and flush. Publish nothing.
    entries: AtomicU64,
    deletes: AtomicU64,
    /// Whether somebody has already asked to switch this memtable.
    /// Written by: the first writer that finds it full. Publishes nothing.
    full: AtomicBool,
    /// The log that holds its oldest entry, or any later write.
    /// Written by: the commit leader, at creation and while it is empty. Read
    /// by: flush and log deletion, under the database mutex (relaxed).
    wal_number: AtomicU64,
    /// Order of creation within the database.
    pub id: u64,
}

#[derive(Debug, Default)]
struct Tombstones {
    list: Vec<RangeTombstone>,
    bytes: usize,
    /// Fragments of the first `.1` tombstones.
    fragments: Option<(Arc<FragmentedTombstones>, usize)>,
}

impl Memtable {
    /// An empty memtable for writes logged in `wal_number` and later logs.
    pub fn new(options: &CfOptions, wal_number: u64, id: u64) -> Arc<Self> {
        let block_size = match options.arena_block_size {
            // RocksDB's default: an eighth of the buffer, at most 1 MiB.
            0 => (options.write_buffer_size / 8).clamp(4 << 10, 1 << 20),
            n => n,
        };
        let pages = match options.memtable_huge_page_size {
            0 if options.memtable_transparent_huge_pages
                && options.write_buffer_size >= MIN_HUGE_BUFFER =>
            {
                HugePages::Transparent
            }
            0 => HugePages::Off,
            n => HugePages::Reserved(n),
        };
        Arc::new(Memtable {
            rep: new_rep(
                options.memtable,
                RepOptions {
                    comparator: options.comparator.clone(),
                    capacity: options.write_buffer_size,
                    arena: ArenaOptions { block_size, pages },
                    prefix_extractor: options.prefix_extractor.clone(),
                },
            ),
            comparator: options.comparator.clone(),
            limit: options.write_buffer_size,
            range_tombstones: Mutex::default(),
            num_tombstones: AtomicUsize::new(0),
            entries: AtomicU64::new(0),
            deletes: AtomicU64::new(0),
            full: AtomicBool::new(false),
            wal_number: AtomicU64::new(wal_number),
            id,
        })
    }

    fn add_tombstone(&self, start: &[u8], end: &[u8], seq: SequenceNumber) {
        let mut t = self.range_tombstones.lock();
        t.list.push(RangeTombstone {
            start: start.to_vec(),
            end: end.to_vec(),
            seq,
        });
        t.bytes += start.len() + end.len() + size_of::<RangeTombstone>();
        self.num_tombstones.store(t.list.len(), Ordering::Release);
    }

    /// Counts what a batch added; returns whether the caller should ask for a
    /// switch: true once, when the memtable has become full.
    fn count(&self, entries: u64, deletes: u64) -> bool {
        self.entries.fetch_add(entries, Ordering::Relaxed);
        if deletes > 0 {
            self.deletes.fetch_add(deletes, Ordering::Relaxed);
        }
        self.memory_usage() >= self.limit
            && !self.full.load(Ordering::Relaxed)
            && !self.full.swap(true, Ordering::Relaxed)
    }

    /// Whether it has reached its size limit.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Looks `user_key` up at `seq`.
    pub fn get(
        &self,
        user_key: &[u8],
        seq: SequenceNumber,
        ctx: &mut GetContext<'_>,
    ) -> Result<()> {
        if let Some(fragments) = self.tombstones() {
            ctx.cover(fragments.max_covering(&self.comparator, user_key, seq));
        }
        let mut outcome = Ok(());
        self.rep
            .get(user_key, pack_tag(seq, SEEK_TYPE), &mut |tag, value| {
                let Some(ty) = ValueType::from_u8(tag as u8) else {
                    outcome = Err(Error::corruption(format_args!(
                        "value type {:#04x}",
                        tag as u8
                    )));
                    return false;
                };
                match ctx.entry(tag >> 8, ty, || Bytes::copy_from_slice(value)) {
                    Ok(more) => more,
                    Err(e) => {
                        outcome = Err(e);
                        false
                    }
                }
            });
        outcome
    }

    /// Says that it was switched out: no insert is in flight or follows.
    pub fn seal(&self) {
        self.rep.seal();
    }

    /// A cursor over the points.
    pub fn iter(&self) -> BoxedIterator {
        self.rep.clone().iter()
    }

    /// The range tombstones, fragmented; `None` when there are none.
    pub fn tombstones(&self) -> Option<Arc<FragmentedTombstones>> {
        // Acquire: pairs with the store in `add_tombstone`.
        let count = self.num_tombstones.load(Ordering::Acquire);
        if count == 0 {
            return None;
        }
        let mut t = self.range_tombstones.lock();
        if let Some((fragments, of)) = &t.fragments
            && *of == t.list.len()
        {
            return Some(fragments.clone());
        }
        let fragments = Arc::new(FragmentedTombstones::new(&t.list, &self.comparator));
        t.fragments = Some((fragments.clone(), t.list.len()));
        Some(fragments)
    }

    /// The range tombstones as they were written.
    pub fn raw_tombstones(&self) -> Vec<RangeTombstone> {
        self.range_tombstones.lock().list.clone()
    }

    /// Points and range tombstones.
    pub fn num_entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Point and range tombstones.
    pub fn num_deletes(&self) -> u64 {
        self.deletes.load(Ordering::Relaxed)
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.num_entries() == 0
    }

    /// Bytes of memory handed out for entries.
    pub fn memory_usage(&self) -> usize {
        let tombstones = match self.num_tombstones.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.range_tombstones.lock().bytes,
        };
        self.rep.used_bytes() + tombstones
    }

    /// See the field.
    pub fn wal_number(&self) -> u64 {
        self.wal_number.load(Ordering::Relaxed)
    }

    /// Moves an empty memtable on to a newer log. Only the commit leader may
    /// call this, while no group is in flight.
    pub fn advance_wal_number(&self, wal_number: u64) {
        debug_assert!(self.is_empty());
        self.wal_number.store(wal_number, Ordering::Relaxed);
    }
}
