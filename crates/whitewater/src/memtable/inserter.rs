//! Putting a batch's entries into a memtable.

use super::Memtable;
use super::rep::Entry;
use smallvec::SmallVec;
use whitewater_storage::key::{SequenceNumber, ValueType, pack_tag};
use whitewater_storage::{Error, Result};

/// Entries handed to the representation at once. More hide more of the cache
/// misses behind each other, up to some dozens.
const AT_ONCE: usize = 64;

/// One writer's way into one memtable, for some entries in a row.
///
/// Entries are in the memtable once [`Inserter::finish`] has returned; one
/// that was dropped before has put in some of them.
pub(crate) struct Inserter<'m, 'e> {
    memtable: &'m Memtable,
    pending: SmallVec<[Entry<'e>; AT_ONCE]>,
    /// The values of `pending` with their checksums, if entries have any.
    protected: Vec<u8>,
    entries: u64,
    deletes: u64,
    /// Entries that follow each other may be near each other.
    hint: bool,
}

impl<'m, 'e> Inserter<'m, 'e> {
    pub fn new(memtable: &'m Memtable) -> Self {
        Inserter {
            memtable,
            pending: SmallVec::new(),
            protected: Vec::new(),
            entries: 0,
            deletes: 0,
            hint: false,
        }
    }

    /// Whether to expect that entries that follow each other are near each
    /// other in the order of keys. Default no.
    pub fn with_hint(mut self, hint: bool) -> Self {
        self.hint = hint;
        self
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// `Corruption` if this or an earlier entry's key and sequence number are
    /// already there.
    #[inline]
    pub fn add(
        &mut self,
        ty: ValueType,
        user_key: &'e [u8],
        value: &'e [u8],
        seq: SequenceNumber,
    ) -> Result<()> {
        self.entries += 1;
        if ty == ValueType::RangeDeletion {
            self.deletes += 1;
            self.memtable.add_tombstone(user_key, value, seq);
            return Ok(());
        }
        if matches!(ty, ValueType::Deletion | ValueType::SingleDeletion) {
            self.deletes += 1;
        }
        let entry = Entry {
            user_key,
            tag: pack_tag(seq, ty as u8),
            value,
        };
        if self.memtable.protection.is_on() {
            self.memtable.protection.append(&entry, &mut self.protected);
        }
        self.pending.push(entry);
        if self.pending.len() == AT_ONCE {
            self.flush()?;
        }
        Ok(())
    }

    /// Puts in what is pending and counts everything. Returns whether the
    /// caller should ask for a switch: true once, when the memtable has become
    /// full.
    ///
    /// # Errors
    /// As for [`Inserter::add`].
    pub fn finish(mut self) -> Result<bool> {
        self.flush()?;
        Ok(self.memtable.count(self.entries, self.deletes))
    }

    fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let inserted = if self.memtable.protection.is_on() {
            self.insert(&self.with_checksums())
        } else {
            self.insert(&self.pending)
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
            // A large batch must not run far ahead of its charge.
            self.memtable.charge();
        }
        self.pending.clear();
        self.protected.clear();
        Ok(())
    }

    /// What is pending, with values as the representation stores them.
    fn with_checksums(&self) -> SmallVec<[Entry<'_>; AT_ONCE]> {
        let mut rest = &self.protected[..];
        let bytes = self.memtable.protection.bytes();
        let entries = self.pending.iter().map(|entry| {
            let (value, later) = rest.split_at(entry.value.len() + bytes);
            rest = later;
            Entry { value, ..*entry }
        });
        entries.collect()
    }

    /// Inserts `entries`; returns how many were not there yet.
    fn insert(&self, entries: &[Entry<'_>]) -> usize {
        let memtable = self.memtable;
        // Before the entries: upholds F1 of the filter.
        if let Some(filter) = &memtable.filter {
            filter.add(entries);
        }
        match entries {
            [] => 0,
            [entry] => usize::from(memtable.rep.insert(*entry)),
            entries if self.hint => memtable.rep.insert_batch_hinted(entries),
            entries => memtable.rep.insert_batch(entries),
        }
    }
}
