//! Memtables: the newest writes, sorted in memory.
//!
//! A [`Memtable`] is one generation of a column family: a representation that keeps
//! the entries ([`MemtableRep`]; `art` by default), its range tombstones, counters,
//! and the number of the log that was current when it was made. An [`Inserter`] adds
//! entries in one phase; entries that were [`located`] beforehand are linked
//! ([`two_phase`]). A merge may be stored as the value it results in (`fold`); `newest` finds
//! the newest number of a key, `stats` how much is in a range of keys. Options
//! add a Bloom filter of keys (`filter`) and checksums of entries (`protection`), and
//! the memory may be charged to a [budget](crate::write_buffer_manager).
//!
//! A memtable may be `purged`: made of what is left of others.
//!
//! [`sections`] are writes of two-phase commit, [`operations`] whatever a write consists of.
//!
//! Representations (`rep`): `art`, `skip_list`, `vector`, `hash_skip_list` and
//! `hash_link_list` (`hash` is what these two share); `order` is the order of keys as they
//! see it. `inserter` adds [`operations`] to them. `wasted_reads` counts reads in vain.
//!
//! Invariants:
//! * M1: entries are only added, never changed or removed, except values with
//!   `inplace_update_support` (`in_place`); a memtable that was switched out gets no
//!   more entries and stays as it is.
//! * M2: range tombstones and counters of a batch are in place before its sequence
//!   numbers are published, so a reader at a published number sees them.

mod art;
mod filter;
mod fold;
mod hash;
mod hash_link_list;
mod hash_skip_list;
mod in_place;
mod inserter;
mod located;
mod newest;
pub(crate) mod operations;
mod order;
mod protection;
mod purged;
mod rep;
pub(crate) mod sections;
mod skip_list;
mod stats;
#[cfg(test)]
mod tests;
mod two_phase;
mod vector;
mod wasted_reads;

use crate::options::memtable_kind::MemtableKind;
pub(crate) use fold::Fold;
pub(crate) use inserter::Inserter;
pub(crate) use located::{DeferredWork, LocatedBatch, LocatedEntries};
pub use stats::MemTableStats;
pub(crate) use two_phase::LeafHint;

use crate::entry::get_context::GetContext;
use crate::entry::range_tombstones::{FragmentedTombstones, Upto};
use crate::options::CfOptions;
use crate::options::prefix::PrefixExtractor;
use crate::write_buffer_manager::{BudgetClient, MemoryCharge};
use bytes::Bytes;
use filter::{Filtered, KeyFilter};
use in_place::{Copying, Values, has_handle};
use protection::{Protection, Verified};
use rep::{MemtableRep, RepOptions, new_rep};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use two_phase::{DeferredLink, DuplicateTag, TwoPhaseInsert, UnlinkedEntry};
use wasted_reads::WastedReads;
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::counter::Sharded;
use whitewater_concurrent::region::{Claim, HugePages, TRANSPARENT};
use whitewater_concurrent::sync::rmw;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::{
    SEEK_TYPE, SequenceNumber, UserComparator, ValueType, pack_tag, parse_internal_key, seek_key,
    user_key,
};
use whitewater_storage::planted;
use whitewater_storage::protection::KvSum;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Error, Result};

/// The smallest write buffer that gets huge pages by default. The unused part of the
/// last page is then at most a twentieth of the buffer.
const MIN_HUGE_BUFFER: usize = 20 * TRANSPARENT;

/// Bytes that a memtable may exceed its limit by before every further writer is asked
/// to switch it out. The largest memtables have room for several times that.
const MOST_BEYOND: usize = 1 << 30;

/// One generation of a column family's newest writes.
#[derive(Debug)]
pub(crate) struct Memtable {
    rep: Arc<dyn MemtableRep>,
    /// `rep`, if entries of this memtable can be inserted in two phases: not with
    /// checksums, which cover the number, nor with in-place updates.
    two_phase: Option<Arc<dyn TwoPhaseInsert>>,
    /// The kind of `rep`, with `Auto` resolved.
    kind: MemtableKind,
    comparator: UserComparator,
    /// Name of the column family.
    family: Arc<str>,
    /// The Bloom filter of its keys, if it has one.
    filter: Option<Arc<KeyFilter>>,
    protection: Protection,
    /// The values, if they are updated in place.
    values: Option<Arc<Values>>,
    /// `max_successive_merges`; 0 is no limit.
    max_successive_merges: usize,
    /// Whether the column family has a merge operator.
    takes_merges: bool,
    /// Whether the tables that it is flushed to can hold range deletions.
    takes_range_deletions: bool,
    /// Number of range tombstones that make it full; 0 is no limit.
    max_tombstones: usize,
    /// Its part of a memory budget. Fields are dropped in order, so it is returned
    /// after the memory itself.
    charge: Option<MemoryCharge>,
    /// Lets as much memory be kept for later memtables.
    _claim: Claim,
    /// Bytes of memory beyond which it should be switched out.
    /// Written by: changes of options, and the switch that installs it. Read by:
    /// writers. Publishes nothing: relaxed.
    limit: AtomicUsize,
    /// Bytes by which `limit` exceeds the write buffer's size.
    slack: usize,
    range_tombstones: Mutex<Tombstones>,
    /// The smallest number of an entry; the largest number that there is while there is none.
    /// Written by: the writers that lower it. Read by: writers, and the switch that seals the
    /// memtable. Publishes nothing: relaxed.
    first_number: AtomicU64,
    /// The last number handed out before it was installed.
    /// Written by: the switch that installs it, before others see it. Read by: the switch that
    /// seals it. Under the database mutex, so relaxed.
    begins_after: AtomicU64,
    /// Number of range tombstones.
    /// Written by: writers, under the lock above (Release). Read by: readers
    /// (Acquire), to skip the lock when there are none. Publishes: nothing that
    /// the lock does not; the release only keeps it from running ahead.
    num_tombstones: AtomicUsize,
    /// Whether a writer has already asked to switch this memtable.
    /// Written by: the first writer that finds it full. Publishes nothing.
    full: AtomicBool,
    /// [`ENTRIES`] and [`DELETES`]. Written by: writers, once per batch. Read
    /// by: properties, switches and flush.
    counters: Sharded<2>,
    /// The log that holds its oldest entry, or any later write.
    /// Written by: a switch or a flush, while it is empty. Read by: flush and
    /// log deletion. Under the database mutex, so relaxed.
    wal_number: AtomicU64,
    /// The oldest log with the section of a commit that was inserted here; `u64::MAX` if
    /// there is none.
    /// Written by: commits, before they are visible (relaxed). Read by: threads that decide
    /// which logs are needed (relaxed), after they have looked which sections are
    /// outstanding. A commit takes its section from that list after it has written here, so
    /// the lock of the list publishes what was written (X2 of `db::two_phase`).
    oldest_section: AtomicU64,
    /// The last number handed out when it was switched out.
    /// Written by: the switch. Read by: flush. Under the database mutex, so
    /// relaxed.
    last_number: AtomicU64,
    /// Numbers above this belong to failed writes and are hidden from readers.
    /// Written by: a resumption (relaxed), before it publishes a number above it.
    /// Read by: readers (relaxed), after they have loaded the visible number, which
    /// makes this store visible to every reader at a number above it.
    horizon: AtomicU64,
    /// Whether it holds what is left of other memtables.
    /// Written by: the flush that has made it, before others see it. Read by: those who look
    /// for due flushes. Both under the database mutex, so relaxed.
    purged: AtomicBool,
    /// The reads that looked into it in vain.
    wasted_reads: WastedReads,
    /// Whether it is to be flushed, or being flushed, for such reads.
    /// Written by: the sampled read that asks; the flush thread that has tried to retire what was
    /// active. Read by: flush threads and sampled reads. Publishes nothing (relaxed).
    asks_for_flush: AtomicBool,
    /// Order of creation within the database. A purged memtable has the number of the newest of
    /// those that it stands for.
    pub id: u64,
}

/// The counters of a memtable.
const ENTRIES: usize = 0;
const DELETES: usize = 1;

#[derive(Debug, Default)]
struct Tombstones {
    list: Vec<RangeTombstone>,
    /// Their checksums, if entries are protected.
    sums: Vec<u64>,
    bytes: usize,
    /// The fragments of the first so many tombstones.
    fragments: Option<(Arc<FragmentedTombstones>, usize)>,
}

/// The column family and the database of a memtable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home<'a> {
    /// Name of the column family.
    pub family: &'a str,
    /// The database's part of a memory budget, if there is one.
    pub budget_client: Option<&'a Arc<BudgetClient>>,
}

impl Memtable {
    /// An empty memtable for writes logged in `wal_number` and later logs.
    pub fn new(options: &CfOptions, home: Home<'_>, wal_number: u64, id: u64) -> Arc<Self> {
        let rep = new_rep(
            options.memtable,
            RepOptions {
                comparator: options.comparator.clone(),
                capacity: options.write_buffer_size,
                arena: arena(options),
                prefix_extractor: options.prefix_extractor.clone(),
            },
        );
        Self::over(rep, options, home, wal_number, id)
    }

    /// [`Memtable::new`] over an empty `rep`.
    fn over(
        rep: Arc<dyn MemtableRep>,
        options: &CfOptions,
        home: Home<'_>,
        wal_number: u64,
        id: u64,
    ) -> Arc<Self> {
        // Memory comes in blocks, the last of which is not full. As in RocksDB, it may
        // exceed the limit by a little more than half a block.
        let slack = arena(options).growth() / 10 * 6;
        let kind = options.memtable_in_force();
        let protection = Protection::new(options.memtable_protection_bytes_per_key);
        let one_phase = protection.is_on() || options.inplace_update_support;
        Arc::new(Memtable {
            two_phase: (!one_phase).then(|| rep.clone().two_phase()).flatten(),
            rep,
            kind,
            family: home.family.into(),
            filter: KeyFilter::new(options),
            protection,
            values: options
                .inplace_update_support
                .then(|| Arc::new(Values::new(options.inplace_update_num_locks))),
            max_successive_merges: options.max_successive_merges,
            takes_merges: options.merge_operator.is_some(),
            takes_range_deletions: options.takes_range_deletions(),
            max_tombstones: options.memtable_max_range_deletions as usize,
            charge: home.budget_client.map(|budget_client| {
                MemoryCharge::new(budget_client.clone(), options.write_buffer_size)
            }),
            _claim: Claim::new(options.write_buffer_size),
            comparator: options.comparator.clone(),
            limit: AtomicUsize::new(options.write_buffer_size + slack),
            slack,
            first_number: AtomicU64::new(SequenceNumber::MAX),
            begins_after: AtomicU64::new(0),
            range_tombstones: Mutex::default(),
            num_tombstones: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            counters: Sharded::new(),
            wal_number: AtomicU64::new(wal_number),
            oldest_section: AtomicU64::new(u64::MAX),
            last_number: AtomicU64::new(0),
            horizon: AtomicU64::new(SequenceNumber::MAX),
            purged: AtomicBool::new(false),
            wasted_reads: WastedReads::default(),
            asks_for_flush: AtomicBool::new(false),
            id,
        })
    }

    fn add_tombstone(&self, start: &[u8], end: &[u8], sum: Option<KvSum>, seq: SequenceNumber) {
        let mut t = self.range_tombstones.lock();
        t.list.push(RangeTombstone {
            start: start.to_vec(),
            end: end.to_vec(),
            seq,
        });
        t.bytes += start.len() + end.len() + size_of::<RangeTombstone>();
        if self.protection.is_on() {
            let sum = sum.unwrap_or_else(|| KvSum::of(start, end));
            t.sums.push(sum.in_memtable(tombstone_tag(seq)));
            t.bytes += size_of::<u64>();
        }
        self.num_tombstones.store(t.list.len(), Ordering::Release);
    }

    /// Counts what a batch added. Returns whether the caller should ask for a switch:
    /// `true` once, when the memtable becomes full, and every time once it is twice as
    /// large as its limit, or [`MOST_BEYOND`] larger. The first switch may be delayed
    /// while writers go on; the writers asked later wait for it to end.
    fn count(&self, entries: u64, deletes: u64) -> bool {
        self.counters.add(ENTRIES, entries);
        if deletes > 0 {
            self.counters.add(DELETES, deletes);
        }
        // The used bytes would have to be summed over the cores.
        let taken = self.memory_taken();
        if let Some(charge) = &self.charge {
            charge.cover(taken);
        }
        let limit = self.limit.load(Ordering::Relaxed);
        let beyond = taken.saturating_sub(limit);
        (beyond > 0 || deletes > 0 && self.has_enough_tombstones())
            && (!self.full.load(Ordering::Relaxed) && !self.full.swap(true, Ordering::Relaxed)
                || beyond > limit.min(MOST_BEYOND))
    }

    /// Whether it has reached the limit of range tombstones.
    pub fn has_enough_tombstones(&self) -> bool {
        self.max_tombstones > 0
            && self.num_tombstones.load(Ordering::Relaxed) >= self.max_tombstones
    }

    /// Lowers the limit to `write_buffer_size`. The limit cannot rise: the representation
    /// was made for its size.
    pub fn shrink_to(&self, write_buffer_size: usize) {
        let limit = write_buffer_size.saturating_add(self.slack);
        self.limit.fetch_min(limit, Ordering::Relaxed);
    }

    /// Whether it limits successive merges.
    pub fn limits_merges(&self) -> bool {
        self.max_successive_merges > 0
    }

    /// What inserts entries of type `ty` in two phases, if that is possible. Range
    /// tombstones are kept elsewhere, and a merge may have to be stored as something else.
    #[inline]
    fn two_phase_for(&self, ty: ValueType) -> Option<&dyn TwoPhaseInsert> {
        let fits = ty != ValueType::RangeDeletion
            && (ty != ValueType::Merge || self.max_successive_merges == 0);
        self.two_phase.as_deref().filter(|_| fits)
    }

    /// Finds the leaf that an entry of type `ty` is going to be located in, and
    /// prefetches it.
    #[inline(always)]
    pub fn find_leaf<'k>(&self, ty: ValueType, user_key: &'k [u8]) -> Option<LeafHint<'k>> {
        let two_phase = self.two_phase_for(ty)?;
        Some(two_phase.find_leaf(user_key))
    }

    /// Locates an entry, if entries of its type can be inserted in two phases. `hint`,
    /// if set, is of its key.
    #[inline]
    fn locate(
        &self,
        ty: ValueType,
        user_key: &[u8],
        value: &[u8],
        hint: Option<LeafHint<'_>>,
    ) -> Option<UnlinkedEntry> {
        let two_phase = self.two_phase_for(ty)?;
        // Before the entry: upholds F1 of the filter.
        let mut filter = self.filter.as_ref();
        planted!(MemtableFilterMissesKey => filter = None);
        if let Some(filter) = filter {
            filter.add(std::iter::once(user_key));
        }
        Some(two_phase.locate(user_key, value, hint))
    }

    /// Locates entries `(user key, value)` of types that can be inserted in two phases.
    /// `take` gets them in order.
    fn locate_batch(&self, entries: &[(&[u8], &[u8])], take: &mut dyn FnMut(UnlinkedEntry)) {
        // Before the entries: upholds F1 of the filter.
        if let Some(filter) = &self.filter {
            filter.add(entries.iter().map(|(key, _)| *key));
        }
        self.locator().locate_batch(entries, take);
    }

    /// For entries that this memtable has located.
    #[inline]
    fn locator(&self) -> &dyn TwoPhaseInsert {
        self.two_phase
            .as_deref()
            .expect("only a memtable with two phases locates entries")
    }

    /// Links a located entry of type `ty`.
    ///
    /// # Errors
    /// `Corruption` if its key and sequence number are already present.
    #[inline]
    fn link(&self, ty: ValueType, entry: UnlinkedEntry, seq: SequenceNumber) -> Result<()> {
        let linked = self.locator().link(entry, pack_tag(seq, ty as u8));
        linked.map_err(|DuplicateTag| inserter::used_already(seq))
    }

    /// Fast path of [`Memtable::link`]: `seq` was allocated after the entry was located,
    /// and is higher than all allocated before it. Returns what is left to do
    /// [later](Self::run_deferred), if anything.
    ///
    /// # Errors
    /// As for [`Memtable::link`].
    #[inline]
    fn link_newest(
        &self,
        ty: ValueType,
        entry: UnlinkedEntry,
        seq: SequenceNumber,
    ) -> Result<Option<DeferredLink>> {
        let linked = self.locator().link_newest(entry, pack_tag(seq, ty as u8));
        linked.map_err(|DuplicateTag| inserter::used_already(seq))
    }

    /// Completes an entry that was linked as the newest.
    #[inline]
    fn run_deferred(&self, deferred: DeferredLink) {
        self.locator().run_deferred(deferred);
    }

    /// Steps of a search for the version of `user_key` at `seq`, where the
    /// representation counts them.
    #[cfg(test)]
    pub fn version_steps(&self, user_key: &[u8], seq: SequenceNumber) -> Option<usize> {
        let two_phase = self.two_phase.as_ref()?;
        Some(two_phase.version_steps(user_key, pack_tag(seq, u8::MAX)))
    }

    /// Whether its column family has a merge operator, which reads of merge operands need.
    #[inline]
    pub fn takes_merges(&self) -> bool {
        self.takes_merges
    }

    /// Whether the tables that it is flushed to can hold range deletions.
    pub fn takes_range_deletions(&self) -> bool {
        self.takes_range_deletions
    }

    /// Whether it has reached its size limit, or that of range tombstones.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Looks `user_key` up at `seq`.
    ///
    /// # Errors
    /// `Corruption` for an entry of the key, or a range tombstone, that is not
    /// what was written.
    pub fn get(
        &self,
        user_key: &[u8],
        seq: SequenceNumber,
        ctx: &mut GetContext<'_>,
    ) -> Result<()> {
        let question = self.filter.as_ref().map(|f| f.about(user_key));
        if let Some(fragments) = self.tombstones()? {
            ctx.cover(fragments.max_covering(&self.comparator, user_key, seq));
        }
        if question.is_some_and(|q| !q.may_contain()) {
            return Ok(());
        }
        if self.protection.is_on() && !self.comparator.is_builtin() {
            // The checksum is over the key as it was written.
            return self.visit_versions(user_key, seq, ctx);
        }
        let mut outcome = Ok(());
        self.rep
            .get(user_key, pack_tag(seq, SEEK_TYPE), &mut |tag, stored| {
                let copy;
                let stored = match &self.values {
                    Some(values) if has_handle(tag) => {
                        copy = values.copy(stored);
                        &copy[..]
                    }
                    _ => stored,
                };
                let Some(value) = self.protection.open(user_key, tag, stored) else {
                    outcome = Err(protection::mismatch(&self.family, user_key, tag >> 8));
                    return false;
                };
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

    /// Name of the column family.
    pub fn family(&self) -> &str {
        &self.family
    }

    /// [`Memtable::family`], owned.
    pub fn family_owned(&self) -> Arc<str> {
        self.family.clone()
    }

    /// The order of keys, if that may hold keys equal whose bytes differ.
    pub fn own_equality(&self) -> Option<&UserComparator> {
        (!self.comparator.is_builtin()).then_some(&self.comparator)
    }

    /// Whether user keys end with timestamps.
    #[inline]
    pub fn has_timestamps(&self) -> bool {
        self.comparator.timestamp_size() > 0
    }

    /// Bytes of the timestamps that user keys end with.
    #[inline]
    pub fn timestamp_size(&self) -> usize {
        self.comparator.timestamp_size()
    }

    /// Looks up, at `seq`, the versions of a key that are no newer than
    /// `version`, a user key with a timestamp.
    ///
    /// # Errors
    /// As [`Memtable::get`].
    pub fn get_version(
        &self,
        version: &[u8],
        seq: SequenceNumber,
        ctx: &mut GetContext<'_>,
    ) -> Result<()> {
        let question = self.filter.as_ref().map(|f| f.about(version));
        if let Some(fragments) = self.tombstones()? {
            let seen = Upto::of_version(&self.comparator, seq, version);
            ctx.cover(fragments.max_covering(&self.comparator, version, seen));
        }
        if question.is_some_and(|q| !q.may_contain()) {
            return Ok(());
        }
        self.visit_versions(version, seq, ctx)
    }

    /// Passes the entries of a key to `ctx` from `version` on, at `seq`, newest first. It
    /// uses a cursor, which shows the entries with their own keys.
    fn visit_versions(
        &self,
        version: &[u8],
        seq: SequenceNumber,
        ctx: &mut GetContext<'_>,
    ) -> Result<()> {
        let mut entries = self.iter();
        entries.seek(&seek_key(version, seq));
        while entries.valid() {
            let entry = parse_internal_key(entries.key())?;
            if self
                .comparator
                .compare_keys(entry.user_key, version)
                .is_ne()
            {
                break;
            }
            let value = || Bytes::copy_from_slice(entries.value());
            if entry.seq <= seq && !ctx.entry(entry.seq, entry.ty, value)? {
                break;
            }
            entries.next();
        }
        entries.status()
    }

    /// A cursor over the points.
    pub fn iter(&self) -> BoxedIterator {
        rmw::shared_writes(2 * 2); // the representation, and a radix tree's tree
        self.verified(self.rep.clone().iter())
    }

    /// [`Memtable::iter`] for a flush, made for a single pass over everything.
    pub fn flush_iter(&self) -> BoxedIterator {
        self.verified(self.rep.clone().flush_iter())
    }

    fn verified(&self, points: BoxedIterator) -> BoxedIterator {
        let points = match &self.values {
            Some(values) => Box::new(Copying::new(points, values.clone())),
            None => points,
        };
        if self.protection.is_on() {
            return Box::new(Verified::new(points, self.protection, self.family.clone()));
        }
        points
    }

    /// [`Memtable::iter`] for a user that may stay within a prefix: prefixes that the
    /// memtable does not hold are filtered out.
    ///
    /// `extractor` defines the user's prefixes. The filter is not used if it was built
    /// with another one.
    pub fn prefix_iter(&self, extractor: Option<&PrefixExtractor>) -> BoxedIterator {
        let filter = self.filter.as_ref();
        match filter.filter(|f| extractor.is_some_and(|e| f.has_prefixes_of(e))) {
            Some(filter) => Box::new(Filtered::new(self.iter(), filter.clone())),
            None => self.iter(),
        }
    }

    /// Whether there are range tombstones.
    pub fn has_tombstones(&self) -> bool {
        // Acquire: pairs with the store in `add_tombstone`.
        self.num_tombstones.load(Ordering::Acquire) > 0
    }

    /// The range tombstones, fragmented; `None` if there are none.
    ///
    /// # Errors
    /// `Corruption` if a tombstone does not match its checksum.
    pub fn tombstones(&self) -> Result<Option<Arc<FragmentedTombstones>>> {
        if !self.has_tombstones() {
            return Ok(None);
        }
        let mut t = self.range_tombstones.lock();
        if let Some((fragments, of)) = &t.fragments {
            let mut fresh = *of == t.list.len();
            planted!(MemtableTombstonesStale => fresh = true);
            if fresh {
                return Ok(Some(fragments.clone()));
            }
        }
        self.verify(&t)?;
        let fragments = Arc::new(FragmentedTombstones::new(&t.list, &self.comparator));
        t.fragments = Some((fragments.clone(), t.list.len()));
        Ok(Some(fragments))
    }

    /// The range tombstones as they were written.
    ///
    /// # Errors
    /// `Corruption` if a tombstone does not match its checksum.
    pub fn raw_tombstones(&self) -> Result<Vec<RangeTombstone>> {
        let t = self.range_tombstones.lock();
        self.verify(&t)?;
        Ok(t.list.clone())
    }

    /// Compares range tombstones with their checksums, if they have any.
    fn verify(&self, t: &Tombstones) -> Result<()> {
        for (tombstone, sum) in t.list.iter().zip(&t.sums) {
            let RangeTombstone { start, end, seq } = tombstone;
            if KvSum::of(start, end).in_memtable(tombstone_tag(*seq)) != *sum {
                return Err(protection::mismatch(&self.family, start, *seq));
            }
        }
        Ok(())
    }

    /// The kind of its representation, with `Auto` resolved.
    pub fn kind(&self) -> MemtableKind {
        self.kind
    }

    /// Points and range tombstones.
    pub fn num_entries(&self) -> u64 {
        self.counters.get(ENTRIES)
    }

    /// Point and range tombstones.
    pub fn num_deletes(&self) -> u64 {
        self.counters.get(DELETES)
    }

    /// Counts reads that looked into it in vain.
    pub fn note_wasted_reads(&self, reads: u64) {
        self.wasted_reads.note(reads, self.num_entries());
    }

    /// An estimate of the reads that looked into it in vain since many writes last came to it.
    pub fn wasted_reads(&self) -> u64 {
        self.wasted_reads.get()
    }

    /// Asks flush threads to flush it for reads although it is not full, or withdraws that.
    pub fn ask_for_flush(&self, asks: bool) {
        self.asks_for_flush.store(asks, Ordering::Relaxed);
    }

    /// Whether it is to be flushed, or being flushed, for reads.
    pub fn asks_for_flush(&self) -> bool {
        self.asks_for_flush.load(Ordering::Relaxed)
    }

    /// The first and the last user key, if they are found without a look at all entries.
    pub fn key_span(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let is_ordered = matches!(self.kind, MemtableKind::Art | MemtableKind::SkipList);
        if !is_ordered || self.has_tombstones() {
            return None;
        }
        let mut points = self.rep.clone().iter();
        points.seek_to_first();
        let first = points.valid().then(|| user_key(points.key()).to_vec())?;
        points.seek_to_last();
        let last = points.valid().then(|| user_key(points.key()).to_vec())?;
        Some((first, last))
    }

    /// Whether it holds no entries.
    pub fn is_empty(&self) -> bool {
        self.num_entries() == 0
    }

    /// Bytes of memory used by entries.
    pub fn memory_usage(&self) -> usize {
        self.rep.used_bytes() + self.memory_besides()
    }

    /// Bytes of memory taken, including room for future entries.
    pub fn memory_taken(&self) -> usize {
        self.rep.allocated_bytes() + self.memory_besides()
    }

    /// Bytes of memory used by entries, without the filter of their keys.
    pub fn entry_bytes(&self) -> usize {
        self.rep.used_bytes() + self.entry_bytes_besides()
    }

    /// Bytes of memory outside the representation.
    fn memory_besides(&self) -> usize {
        let filter = self.filter.as_ref().map_or(0, |f| f.memory_bytes());
        filter + self.entry_bytes_besides()
    }

    /// Bytes of entries outside the representation.
    fn entry_bytes_besides(&self) -> usize {
        let tombstones = match self.num_tombstones.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.range_tombstones.lock().bytes,
        };
        let values = self.values.as_ref().map_or(0, |v| v.memory_bytes());
        tombstones + values
    }

    /// Charges the memory allocated so far to the budget, if there is one.
    fn charge(&self) {
        if let Some(charge) = &self.charge {
            charge.cover(self.memory_taken());
        }
    }

    /// Bytes charged to a budget.
    pub fn charged_bytes(&self) -> usize {
        self.charge.as_ref().map_or(0, MemoryCharge::bytes)
    }

    /// Marks it as switched out: it gets no entries with numbers above `last`. Inserts of
    /// lower numbers may still be under way.
    pub fn retire(&self, last: SequenceNumber) {
        self.last_number.store(last, Ordering::Relaxed);
        if let Some(charge) = &self.charge {
            charge.seal();
        }
    }

    /// Notes `last`, the last number handed out before the memtable is installed: all that is
    /// inserted has higher ones.
    pub fn begin_after(&self, last: SequenceNumber) {
        self.begins_after.store(last, Ordering::Relaxed);
    }

    /// The number given to [`Memtable::begin_after`].
    pub fn begins_after(&self) -> SequenceNumber {
        self.begins_after.load(Ordering::Relaxed)
    }

    /// Notes that an entry with the number `seq` is inserted.
    #[inline]
    fn note_first(&self, seq: SequenceNumber) {
        // Few writes are the first of a memtable, so that writers share the word.
        if seq < self.first_number.load(Ordering::Relaxed) {
            self.first_number.fetch_min(seq, Ordering::Relaxed);
        }
    }

    /// The smallest number of its entries so far.
    pub fn first_number(&self) -> Option<SequenceNumber> {
        let first = self.first_number.load(Ordering::Relaxed);
        (first != SequenceNumber::MAX).then_some(first)
    }

    /// The number given to [`Memtable::retire`].
    pub fn last_number(&self) -> SequenceNumber {
        self.last_number.load(Ordering::Relaxed)
    }

    /// Hides entries with numbers above `last`, whose writes failed. No writer uses the
    /// memtable any longer, and no number above `last` is visible yet.
    pub fn hide_above(&self, last: SequenceNumber) {
        self.horizon.fetch_min(last, Ordering::Relaxed);
    }

    /// The number above which its entries are hidden. To be called after loading the
    /// visible number.
    #[inline]
    pub fn horizon(&self) -> SequenceNumber {
        self.horizon.load(Ordering::Relaxed)
    }

    /// Announces that no insert is in flight or follows. A writer that is about to find
    /// its generation closed may still be locating an entry.
    pub fn seal(&self) {
        self.rep.seal();
        if let Some(charge) = &self.charge {
            charge.seal();
        }
    }

    /// See the field.
    pub fn wal_number(&self) -> u64 {
        self.wal_number.load(Ordering::Relaxed)
    }

    /// The oldest log that is needed as long as this memtable is not flushed.
    pub fn oldest_log(&self) -> u64 {
        self.wal_number().min(self.oldest_section())
    }

    /// See the field.
    pub fn oldest_section(&self) -> u64 {
        self.oldest_section.load(Ordering::Relaxed)
    }

    /// Keeps the log `wal_number`, which has the section of a commit that is about to be
    /// inserted.
    pub fn keep_section(&self, wal_number: u64) {
        // Mostly it is there, and the line stays shared.
        if self.oldest_section.load(Ordering::Relaxed) > wal_number {
            self.oldest_section.fetch_min(wal_number, Ordering::Relaxed);
        }
    }

    /// Moves an empty memtable on to a newer log. No write of an older log is under way.
    /// Under the database mutex.
    pub fn advance_wal_number(&self, wal_number: u64) {
        self.wal_number.fetch_max(wal_number, Ordering::Relaxed);
    }
}

/// How a memtable allocates memory: by default in blocks of RocksDB's size, an eighth
/// of the buffer, at most 1 MiB.
fn arena(options: &CfOptions) -> ArenaOptions {
    let block_size = match options.arena_block_size {
        0 => (options.write_buffer_size / 8).clamp(4 << 10, 1 << 20),
        n => n,
    };
    let pages = match options.memtable_huge_page_size {
        0 if options.memtable_transparent_huge_pages
            && options.write_buffer_size >= MIN_HUGE_BUFFER =>
        {
            HugePages::Transparent
        }
        n if n > 0 && n.max(TRANSPARENT) <= options.write_buffer_size / 2 => HugePages::Reserved(n),
        _ => HugePages::Off,
    };
    ArenaOptions { block_size, pages }
}

fn tombstone_tag(seq: SequenceNumber) -> u64 {
    pack_tag(seq, ValueType::RangeDeletion as u8)
}
