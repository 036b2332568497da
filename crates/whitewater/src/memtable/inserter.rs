//! Inserting the entries of a batch into memtables.

use super::in_place::Handle;
use super::rep::Entry;
use super::two_phase::UnlinkedEntry;
use super::{Fold, Memtable, protection};
use bytes::Bytes;
use smallvec::SmallVec;
use std::{mem, ptr};
use whitewater_storage::batch::TIME_SIZE;
use whitewater_storage::key::{SequenceNumber, ValueType, pack_tag};
use whitewater_storage::protection::KvSum;
use whitewater_storage::{Error, Result};

/// Entries passed to the representation at once, whose cache misses overlap. More than
/// some dozens gain nothing.
const AT_ONCE: usize = 64;

/// Inserts the entries of one batch. Consecutive entries for one memtable are inserted
/// together.
///
/// All entries are inserted once [`Inserter::finish`] has returned. An inserter dropped
/// before that has inserted some of them.
///
/// It is large: do not move it.
pub(crate) struct Inserter<'m, 'e> {
    /// The memtable of the pending entries.
    memtable: Option<&'m Memtable>,
    pending: SmallVec<[Entry<'e>; AT_ONCE]>,
    /// The values of `pending` with their checksums, if entries have checksums.
    protected: Vec<u8>,
    /// Entries added to `memtable` that are not counted there yet.
    entries: u64,
    deletes: u64,
    /// Values that were updated in place.
    updated: u64,
    /// Whether a memtable has become full.
    full: bool,
    /// Whether consecutive entries are likely to be near each other.
    near: bool,
    /// Computes what a merge results in. If unset, merges are stored as such.
    fold: Option<&'m dyn Fold>,
}

impl<'m, 'e> Inserter<'m, 'e> {
    /// `near` tells that consecutive entries are likely to be near each other in the
    /// order of keys.
    #[inline]
    pub fn new(near: bool) -> Self {
        Inserter {
            memtable: None,
            pending: SmallVec::new(),
            protected: Vec::new(),
            entries: 0,
            deletes: 0,
            updated: 0,
            full: false,
            near,
            fold: None,
        }
    }

    /// Lets a merge that exceeds the limit be stored as the value that `fold` computes.
    /// Everything before the batch is in the memtables.
    pub fn fold_by(&mut self, fold: &'m dyn Fold) {
        self.fold = Some(fold);
    }

    /// Number of values updated in place so far.
    #[inline]
    pub fn updated(&self) -> u64 {
        self.updated
    }

    /// Adds an entry to `memtable`.
    ///
    /// # Errors
    /// `Corruption` if the key and sequence number of this or an earlier entry are
    /// already present.
    #[inline]
    pub fn add(
        &mut self,
        memtable: &'m Memtable,
        ty: ValueType,
        user_key: &'e [u8],
        value: &'e [u8],
        seq: SequenceNumber,
    ) -> Result<()> {
        self.add_protected(memtable, ty, (user_key, value), None, seq)
    }

    /// [`Inserter::add`] for an entry of a log, which may have a type that RocksDB uses
    /// in logs only: the value of a `TimedPut` ends with the time of the write in
    /// seconds, where a table's entry has a sequence number. It becomes a plain value,
    /// as in RocksDB where the numbers of that second are not known.
    ///
    /// # Errors
    /// Those of [`Inserter::add`], and `Corruption` for a value without a time.
    pub fn add_logged(
        &mut self,
        memtable: &'m Memtable,
        ty: ValueType,
        user_key: &'e [u8],
        value: &'e [u8],
        seq: SequenceNumber,
    ) -> Result<()> {
        if ty != ValueType::ValuePreferredSeqno {
            return self.add(memtable, ty, user_key, value, seq);
        }
        let Some((value, _time)) = value.split_last_chunk::<TIME_SIZE>() else {
            return Err(Error::corruption(format_args!(
                "value with a time of {} bytes",
                value.len()
            )));
        };
        self.add(memtable, ValueType::Value, user_key, value, seq)
    }

    /// [`Inserter::add`] for an entry whose checksum in the batch is `sum`, if it has one.
    /// The memtable's checksum is derived from it.
    ///
    /// # Errors
    /// Those of [`Inserter::add`], and `Corruption` for a merge operand that does not
    /// match `sum` and for a range deletion that lacks the timestamps of its keys.
    #[inline]
    pub fn add_protected(
        &mut self,
        memtable: &'m Memtable,
        ty: ValueType,
        (user_key, value): (&'e [u8], &'e [u8]),
        sum: Option<KvSum>,
        seq: SequenceNumber,
    ) -> Result<()> {
        self.switch_to(memtable, seq)?;
        self.entries += 1;
        if ty == ValueType::RangeDeletion {
            self.deletes += 1;
            if user_key.len().min(value.len()) < memtable.timestamp_size() {
                return Err(Error::corruption("range deletion without timestamp"));
            }
            memtable.add_tombstone(user_key, value, sum, seq);
            return Ok(());
        }
        if is_delete(ty) {
            self.deletes += 1;
        }
        let ty = match ty {
            // Batches have one type of deletion, as in RocksDB.
            ValueType::Deletion if memtable.has_timestamps() => ValueType::DeletionWithTimestamp,
            ty => ty,
        };
        if ty == ValueType::Merge
            && let Some((ty, merged)) = self.folded(memtable, user_key, value, sum, seq)?
        {
            return self.add_value(memtable, ty, (user_key, &merged), None, seq);
        }
        if ty == ValueType::Value && memtable.values.is_some() {
            return self.add_value(memtable, ty, (user_key, value), sum, seq);
        }
        let entry = Entry {
            user_key,
            tag: pack_tag(seq, ty as u8),
            value,
        };
        if memtable.protection.is_on() {
            memtable.protection.append(&entry, sum, &mut self.protected);
        }
        self.pending.push(entry);
        if self.pending.len() == AT_ONCE {
            self.flush(memtable)?;
        }
        Ok(())
    }

    /// The value to store in place of a merge operand, if the operand exceeds the limit
    /// and the value can be computed.
    fn folded(
        &mut self,
        memtable: &'m Memtable,
        user_key: &[u8],
        operand: &[u8],
        sum: Option<KvSum>,
        seq: SequenceNumber,
    ) -> Result<Option<(ValueType, Bytes)>> {
        let Some(fold) = self.fold.filter(|_| memtable.max_successive_merges > 0) else {
            return Ok(None);
        };
        // Operands before it in the batch count, too.
        self.flush(memtable)?;
        if !memtable.has_enough_merges(user_key, seq) {
            return Ok(None);
        }
        // The last use of `sum`: the value gets a checksum of its own.
        if sum.is_some_and(|sum| sum != KvSum::of(user_key, operand)) {
            return Err(protection::mismatch(&memtable.family, user_key, seq));
        }
        Ok(fold.fold(memtable, user_key, operand, seq))
    }

    /// Inserts a value, or an entity, after all pending entries, or updates the key's newest entry
    /// in place by a value.
    fn add_value(
        &mut self,
        memtable: &Memtable,
        ty: ValueType,
        (user_key, value): (&[u8], &[u8]),
        sum: Option<KvSum>,
        seq: SequenceNumber,
    ) -> Result<()> {
        self.flush(memtable)?;
        let mut entry = Entry {
            user_key,
            tag: pack_tag(seq, ty as u8),
            value,
        };
        let mut protected = Vec::new();
        if memtable.protection.is_on() {
            memtable.protection.append(&entry, sum, &mut protected);
            entry.value = &protected;
        }
        let handle: Handle;
        if let Some(values) = memtable.values.as_ref().filter(|_| ty == ValueType::Value) {
            if memtable.overwrite(values, user_key, value, sum, seq) {
                self.entries -= 1; // no entry was added
                self.updated += 1;
                return Ok(());
            }
            handle = values.store(user_key, entry.value);
            entry.value = &handle;
            if self.entries.is_multiple_of(AT_ONCE as u64) {
                memtable.charge(); // as in `flush`
            }
        }
        if self.insert(memtable, &[entry]) == 1 {
            return Ok(());
        }
        Err(used_already(seq))
    }

    /// Links an entry that was located in `memtable`.
    ///
    /// # Errors
    /// As for [`Inserter::add`].
    #[inline]
    pub(super) fn link(
        &mut self,
        memtable: &'m Memtable,
        ty: ValueType,
        entry: UnlinkedEntry,
        seq: SequenceNumber,
    ) -> Result<()> {
        self.switch_to(memtable, seq)?;
        self.entries += 1;
        if is_delete(ty) {
            self.deletes += 1;
        }
        memtable.link(ty, entry, seq)
    }

    /// Makes `memtable` the current one. The next entry for it has the number `seq`, and later
    /// ones have higher numbers.
    #[inline]
    fn switch_to(&mut self, memtable: &'m Memtable, seq: SequenceNumber) -> Result<()> {
        if !self.memtable.is_some_and(|last| ptr::eq(last, memtable)) {
            self.leave()?;
            memtable.note_first(seq);
            self.memtable = Some(memtable);
        }
        Ok(())
    }

    /// Inserts the pending entries and counts everything. Returns whether the caller
    /// should ask for a switch ([`Memtable::count`]).
    ///
    /// # Errors
    /// As for [`Inserter::add`].
    pub fn finish(&mut self) -> Result<bool> {
        self.leave()?;
        Ok(mem::take(&mut self.full))
    }

    /// Finishes the current memtable.
    fn leave(&mut self) -> Result<()> {
        if let Some(memtable) = self.memtable.take() {
            self.flush(memtable)?;
            let (entries, deletes) = (mem::take(&mut self.entries), mem::take(&mut self.deletes));
            self.full |= memtable.count(entries, deletes);
        }
        Ok(())
    }

    fn flush(&mut self, memtable: &Memtable) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let inserted = if memtable.protection.is_on() {
            self.insert(memtable, &self.with_checksums(memtable))
        } else {
            self.insert(memtable, &self.pending)
        };
        let all = inserted == self.pending.len();
        if !all {
            return Err(Error::corruption(format_args!(
                "of the sequence numbers {} to {} some are already used for their keys in the memtable",
                self.pending[0].tag >> 8,
                self.pending[self.pending.len() - 1].tag >> 8,
            )));
        }
        if self.pending.len() == AT_ONCE {
            // The charge must not lag far behind a large batch.
            memtable.charge();
        }
        self.pending.clear();
        self.protected.clear();
        Ok(())
    }

    /// The pending entries, with values as the representation stores them.
    fn with_checksums(&self, memtable: &Memtable) -> SmallVec<[Entry<'_>; AT_ONCE]> {
        let mut rest = &self.protected[..];
        let bytes = memtable.protection.bytes();
        let entries = self.pending.iter().map(|entry| {
            let (value, later) = rest.split_at(entry.value.len() + bytes);
            rest = later;
            Entry { value, ..*entry }
        });
        entries.collect()
    }

    /// Inserts `entries`, and returns how many were not present yet.
    fn insert(&self, memtable: &Memtable, entries: &[Entry<'_>]) -> usize {
        // Before the entries: upholds F1 of the filter.
        if let Some(filter) = &memtable.filter {
            filter.add(entries.iter().map(|e| e.user_key));
        }
        match entries {
            [] => 0,
            [entry] => usize::from(memtable.rep.insert(*entry)),
            entries => memtable.rep.insert_batch(entries, self.near),
        }
    }
}

/// Whether an entry of type `ty` deletes one key.
pub(super) fn is_delete(ty: ValueType) -> bool {
    matches!(ty, ValueType::Deletion | ValueType::SingleDeletion)
}

#[cold]
pub(super) fn used_already(seq: SequenceNumber) -> Error {
    Error::corruption(format_args!(
        "the sequence number {seq} is already used for its key in the memtable"
    ))
}
