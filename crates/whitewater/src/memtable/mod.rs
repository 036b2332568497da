//! Memtables: the newest writes, sorted in memory.
//!
//! A [`Memtable`] is one generation of a column family: a representation that
//! keeps entries ([`MemtableRep`]; `art` by default), its range tombstones,
//! counters, and the number of the log that was current when it was made.
//! Entries get in through an [`Inserter`], merges perhaps as values (`fold`). Around the representation stand, where options ask for
//! them, a Bloom filter of keys (`filter`) and checksums of entries
//! (`protection`). Its memory may be charged to a [`budget`].
//!
//! Invariants:
//! * M1: entries are only added, never changed or removed, but for values with
//!   `inplace_update_support` (`in_place`); a memtable that was switched out
//!   gets no more entries and stays as it is.
//! * M2: range tombstones and counters of a batch are in place before its
//!   sequence numbers are published, so a reader at a published number sees
//!   them.

mod art;
pub(crate) mod budget;
mod filter;
mod fold;
mod hash;
mod hash_link_list;
mod hash_skip_list;
mod in_place;
mod inserter;
mod located;
mod order;
mod protection;
mod rep;
mod skip_list;
#[cfg(test)]
mod tests;
mod vector;

pub(crate) use art::MAX_CAPACITY as MAX_TREE_CAPACITY;
pub(crate) use fold::Fold;
pub(crate) use inserter::Inserter;
pub(crate) use located::{DeferredWork, LocatedBatch, LocatedEntries};
pub(crate) use rep::{MemtableKind, MemtableRep};

use crate::options::CfOptions;
use crate::options::prefix::PrefixExtractor;
use crate::read::get::GetContext;
use crate::read::rangedel::FragmentedTombstones;
use budget::{Charge, Tenant};
use bytes::Bytes;
use filter::{Filtered, KeyFilter};
use in_place::{Copying, Values, has_handle};
use protection::{Protection, Verified};
use rep::{RepOptions, new_rep};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::art::{LeafHint, PendingSkipPointer, Prepared};
use whitewater_concurrent::counter::Sharded;
use whitewater_concurrent::region::{Claim, HugePages, TRANSPARENT};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::{
    SEEK_TYPE, SequenceNumber, UserComparator, ValueType, pack_tag, parse_internal_key, seek_key,
};
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::protection::KvSum;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Error, Result};

/// The smallest write buffer that gets huge pages unasked: what is unused of
/// the last one is a twentieth of it at most.
const MIN_HUGE_BUFFER: usize = 20 * TRANSPARENT;

/// Bytes that a memtable may grow beyond its size before another writer is asked
/// to switch it out: the largest ones have room for some of these.
const MOST_BEYOND: usize = 1 << 30;

/// One generation of a column family's newest writes.
#[derive(Debug)]
pub(crate) struct Memtable {
    rep: Arc<dyn MemtableRep>,
    /// What `rep` is, no longer `Auto`.
    kind: MemtableKind,
    comparator: UserComparator,
    /// Name of the column family.
    family: Arc<str>,
    /// Which keys there may be, if that is known.
    filter: Option<Arc<KeyFilter>>,
    protection: Protection,
    /// Where values are, if they are overwritten in place.
    values: Option<Arc<Values>>,
    /// Merges of one key that may lie on each other; 0 is no limit.
    max_successive_merges: usize,
    takes_merges: bool,
    /// Range tombstones at which it is full; 0 is no limit.
    max_tombstones: usize,
    /// Its part of a budget of memory, given back after the memory itself:
    /// fields are dropped in their order.
    charge: Option<Charge>,
    /// So much may be kept in memory for the memtables after it.
    _claim: Claim,
    /// Bytes taken beyond which it should be switched out.
    /// Written by: changes of options, and the switch that installs it. Read
    /// by: writers. Publishes nothing: relaxed.
    limit: AtomicUsize,
    /// What `limit` is more than the write buffer's size. Bytes.
    slack: usize,
    range_tombstones: Mutex<Tombstones>,
    /// Number of range tombstones.
    /// Written by: writers, under the lock above (Release). Read by: readers
    /// (Acquire), to skip the lock when there are none. Publishes: nothing that
    /// the lock does not; the release only keeps it from running ahead.
    num_tombstones: AtomicUsize,
    /// Whether somebody has already asked to switch this memtable.
    /// Written by: the first writer that finds it full. Publishes nothing.
    full: AtomicBool,
    /// [`ENTRIES`] and [`DELETES`]. Written by: writers, once per batch. Read
    /// by: properties, switches and flush.
    counters: Sharded<2>,
    /// The log that holds its oldest entry, or any later write.
    /// Written by: a switch or a flush, while it is empty. Read by: flush and
    /// log deletion. Under the database mutex, so relaxed.
    wal_number: AtomicU64,
    /// The last number handed out when it was switched out.
    /// Written by: the switch. Read by: flush. Under the database mutex, so
    /// relaxed.
    last_number: AtomicU64,
    /// Numbers above this belong to writes that failed: nobody sees them.
    /// Written by: a resumption (relaxed), before it publishes a number above
    /// it. Read by: readers, after they loaded the visible number, which is
    /// what makes this store seen by all whom it concerns (relaxed).
    horizon: AtomicU64,
    /// Order of creation within the database.
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
    /// Fragments of the first `.1` tombstones.
    fragments: Option<(Arc<FragmentedTombstones>, usize)>,
}

/// Where a memtable belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home<'a> {
    /// Name of the column family.
    pub family: &'a str,
    /// The database's part of a budget of memory, if there is one.
    pub tenant: Option<&'a Arc<Tenant>>,
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
        // What is taken comes in blocks, the last of which is not full. As
        // in RocksDB, a bit more than half a block may be taken too much.
        let slack = arena(options).growth() / 10 * 6;
        let kind = options.memtable_in_force();
        Arc::new(Memtable {
            rep,
            kind,
            family: home.family.into(),
            filter: KeyFilter::new(options),
            protection: Protection::new(options.memtable_protection_bytes_per_key),
            values: options
                .inplace_update_support
                .then(|| Arc::new(Values::new(options.inplace_update_num_locks))),
            max_successive_merges: options.max_successive_merges,
            takes_merges: options.merge_operator.is_some(),
            max_tombstones: options.memtable_max_range_deletions as usize,
            charge: home
                .tenant
                .map(|tenant| Charge::new(tenant.clone(), options.write_buffer_size)),
            _claim: Claim::new(options.write_buffer_size),
            comparator: options.comparator.clone(),
            limit: AtomicUsize::new(options.write_buffer_size + slack),
            slack,
            range_tombstones: Mutex::default(),
            num_tombstones: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            counters: Sharded::new(),
            wal_number: AtomicU64::new(wal_number),
            last_number: AtomicU64::new(0),
            horizon: AtomicU64::new(SequenceNumber::MAX),
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

    /// Counts what a batch added; returns whether the caller should ask for a
    /// switch: true once, when the memtable has become full, and each time when
    /// it is twice as large, or [`MOST_BEYOND`]. Whoever switches may be held up,
    /// and writers go on meanwhile; those who are asked then wait for the switch
    /// to end.
    fn count(&self, entries: u64, deletes: u64) -> bool {
        self.counters.add(ENTRIES, entries);
        if deletes > 0 {
            self.counters.add(DELETES, deletes);
        }
        // What is used would have to be summed up over the cores.
        let taken = self.rep.allocated_bytes() + self.memory_besides();
        if let Some(charge) = &self.charge {
            charge.cover(taken);
        }
        let limit = self.limit.load(Ordering::Relaxed);
        let beyond = taken.saturating_sub(limit);
        (beyond > 0 || deletes > 0 && self.has_enough_tombstones())
            && (!self.full.load(Ordering::Relaxed) && !self.full.swap(true, Ordering::Relaxed)
                || beyond > limit.min(MOST_BEYOND))
    }

    /// Whether it has as many range tombstones as one may have.
    fn has_enough_tombstones(&self) -> bool {
        self.max_tombstones > 0
            && self.num_tombstones.load(Ordering::Relaxed) >= self.max_tombstones
    }

    /// Has it be full at `write_buffer_size`, if that is less than before. It
    /// cannot grow: its representation was made for its size.
    pub fn shrink_to(&self, write_buffer_size: usize) {
        let limit = write_buffer_size.saturating_add(self.slack);
        self.limit.fetch_min(limit, Ordering::Relaxed);
    }

    /// Whether it limits successive merges.
    pub fn limits_merges(&self) -> bool {
        self.max_successive_merges > 0
    }

    /// Whether entries of type `ty` can be [prepared](Self::prepare). Not those
    /// with a checksum, which covers the number, nor those that may turn into
    /// something else.
    #[inline]
    fn prepares(&self, ty: ValueType) -> bool {
        self.rep.prepares()
            && !self.protection.is_on()
            && self.values.is_none()
            && ty != ValueType::RangeDeletion
            && (ty != ValueType::Merge || self.max_successive_merges == 0)
    }

    /// Does for entries `(user key, value)` all that can be done before their
    /// numbers are known; `take` gets them in their order.
    fn prepare(&self, entries: &[(&[u8], &[u8])], take: &mut dyn FnMut(Prepared)) {
        // Before the entries: upholds F1 of the filter.
        if let Some(filter) = &self.filter {
            filter.add(entries.iter().map(|(key, _)| *key));
        }
        self.rep.prepare(entries, take);
    }

    /// Goes to where an entry of type `ty` is going to be prepared, so that the
    /// processor fetches what that will wait for.
    #[inline]
    pub fn foresee<'k>(&self, ty: ValueType, user_key: &'k [u8]) -> Option<LeafHint<'k>> {
        self.prepares(ty)
            .then(|| self.rep.foresee(user_key))
            .flatten()
    }

    /// [`Memtable::prepare`] for one entry.
    #[inline]
    fn prepare_one(
        &self,
        foreseen: Option<LeafHint<'_>>,
        user_key: &[u8],
        value: &[u8],
    ) -> Prepared {
        // Before the entry: upholds F1 of the filter.
        if let Some(filter) = &self.filter
            && !planted(Bug::MemtableFilterMissesKey)
        {
            filter.add(std::iter::once(user_key));
        }
        self.rep.prepare_one(foreseen, user_key, value)
    }

    /// Adds an entry of type `ty` that was prepared.
    ///
    /// # Errors
    /// `Corruption` if its key and sequence number are already there.
    #[inline]
    fn link(&self, ty: ValueType, entry: Prepared, seq: SequenceNumber) -> Result<()> {
        if self.rep.link(entry, pack_tag(seq, ty as u8)) {
            return Ok(());
        }
        Err(inserter::used_already(seq))
    }

    /// [`Memtable::link`] for who does not want to wait for the entry's key, and has got
    /// `seq`, after all that were given out before, since it was prepared. Returns what
    /// is left to [do](Self::add_way) later, if anything.
    ///
    /// # Errors
    /// As for [`Memtable::link`].
    #[inline]
    fn link_on_top(
        &self,
        ty: ValueType,
        entry: Prepared,
        seq: SequenceNumber,
    ) -> Result<Option<PendingSkipPointer>> {
        match self.rep.link_on_top(entry, pack_tag(seq, ty as u8)) {
            Ok(wayless) => Ok(Some(wayless)),
            Err(entry) => self.link(ty, entry, seq).map(|()| None),
        }
    }

    /// See [`MemtableRep::version_steps`].
    #[cfg(test)]
    pub fn version_steps(&self, user_key: &[u8], seq: SequenceNumber) -> Option<usize> {
        self.rep.version_steps(user_key, pack_tag(seq, u8::MAX))
    }

    /// Completes an entry that was linked on top.
    #[inline]
    fn add_way(&self, wayless: PendingSkipPointer) {
        self.rep.add_way(wayless);
    }

    /// Whether its column family has a merge operator, without which nobody could read
    /// merge operands.
    #[inline]
    pub fn takes_merges(&self) -> bool {
        self.takes_merges
    }

    /// Whether it has reached its size limit.
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

    /// [`Memtable::family`], for who outlives it.
    pub fn family_owned(&self) -> Arc<str> {
        self.family.clone()
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
        if question.is_some_and(|q| !q.may_contain()) {
            return Ok(());
        }
        self.visit_versions(version, seq, ctx)
    }

    /// Gives `ctx` the entries of a key by a cursor, which shows them with
    /// their own keys: from `version` on, at `seq`, newest first.
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
        self.verified(self.rep.clone().iter())
    }

    /// [`Memtable::iter`] for a flush: made for one walk over everything.
    pub fn sweep(&self) -> BoxedIterator {
        self.verified(self.rep.clone().sweep())
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

    /// [`Memtable::iter`] for a user that may keep to a prefix, to be asked
    /// for those that the memtable does not hold.
    ///
    /// `extractor` says what the user's prefixes are. If those in the filter
    /// are others, it is not asked.
    pub fn prefix_iter(&self, extractor: Option<&PrefixExtractor>) -> BoxedIterator {
        let filter = self.filter.as_ref();
        match filter.filter(|f| extractor.is_some_and(|e| f.has_prefixes_of(e))) {
            Some(filter) => Box::new(Filtered::new(self.iter(), filter.clone())),
            None => self.iter(),
        }
    }

    /// The range tombstones, fragmented; `None` when there are none.
    ///
    /// # Errors
    /// `Corruption` when one is not what was written.
    pub fn tombstones(&self) -> Result<Option<Arc<FragmentedTombstones>>> {
        // Acquire: pairs with the store in `add_tombstone`.
        let count = self.num_tombstones.load(Ordering::Acquire);
        if count == 0 {
            return Ok(None);
        }
        let mut t = self.range_tombstones.lock();
        if let Some((fragments, of)) = &t.fragments
            && (*of == t.list.len() || planted(Bug::MemtableTombstonesStale))
        {
            return Ok(Some(fragments.clone()));
        }
        self.verify(&t)?;
        let fragments = Arc::new(FragmentedTombstones::new(&t.list, &self.comparator));
        t.fragments = Some((fragments.clone(), t.list.len()));
        Ok(Some(fragments))
    }

    /// The range tombstones as they were written.
    ///
    /// # Errors
    /// `Corruption` when one is not what was written.
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

    /// What keeps its entries: no `Auto`, which stands for another.
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

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.num_entries() == 0
    }

    /// Bytes of memory handed out for entries.
    pub fn memory_usage(&self) -> usize {
        self.rep.used_bytes() + self.memory_besides()
    }

    /// Bytes of memory outside the representation.
    fn memory_besides(&self) -> usize {
        let tombstones = match self.num_tombstones.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.range_tombstones.lock().bytes,
        };
        let filter = self.filter.as_ref().map_or(0, |f| f.memory_bytes());
        let values = self.values.as_ref().map_or(0, |v| v.memory_bytes());
        filter + tombstones + values
    }

    /// Charges the memory taken so far to the budget, if there is one.
    fn charge(&self) {
        if let Some(charge) = &self.charge {
            charge.cover(self.rep.allocated_bytes() + self.memory_besides());
        }
    }

    /// Bytes charged to a budget.
    pub fn charged_bytes(&self) -> usize {
        self.charge.as_ref().map_or(0, Charge::bytes)
    }

    /// Says that it was switched out: it gets no entries with numbers above
    /// `last`. Those up to it may still be on their way.
    pub fn retire(&self, last: SequenceNumber) {
        self.last_number.store(last, Ordering::Relaxed);
        if let Some(charge) = &self.charge {
            charge.seal();
        }
    }

    /// The number given to [`Memtable::retire`].
    pub fn last_number(&self) -> SequenceNumber {
        self.last_number.load(Ordering::Relaxed)
    }

    /// Hides entries with numbers above `last`: their writes failed. Nobody
    /// writes to it any more, and no number above `last` is visible yet.
    pub fn hide_above(&self, last: SequenceNumber) {
        self.horizon.fetch_min(last, Ordering::Relaxed);
    }

    /// The number above which nothing of it is to be seen. To be asked after
    /// the visible number was loaded.
    #[inline]
    pub fn horizon(&self) -> SequenceNumber {
        self.horizon.load(Ordering::Relaxed)
    }

    /// Says that no insert is in flight or follows. A writer that is about to
    /// find its generation closed may still be preparing one.
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

    /// Moves a memtable that was found empty on to a newer log, when no write
    /// of an older one is under way. Under the database mutex.
    pub fn advance_wal_number(&self, wal_number: u64) {
        self.wal_number.fetch_max(wal_number, Ordering::Relaxed);
    }
}

/// How a memtable takes memory: in blocks as RocksDB has them by default, an
/// eighth of the buffer, at most 1 MiB.
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
