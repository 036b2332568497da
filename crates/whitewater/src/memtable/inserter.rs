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
        self.pending.push(Entry {
            user_key,
            tag: pack_tag(seq, ty as u8),
            value,
        });
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
        let inserted = match &self.pending[..] {
            [] => return Ok(()),
            [entry] => usize::from(self.memtable.rep.insert(*entry)),
            entries if self.hint => self.memtable.rep.insert_batch_hinted(entries),
            entries => self.memtable.rep.insert_batch(entries),
        };
        let all = inserted == self.pending.len();
        if !all {
            return Err(Error::corruption(format_args!(
                "of the sequence numbers {} to {} some are already used for their keys in the memtable",
                self.pending[0].tag >> 8,
                self.pending[self.pending.len() - 1].tag >> 8,
            )));
        }
        self.pending.clear();
        Ok(())
    }
}
