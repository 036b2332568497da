//! Write batches in RocksDB's representation: one logical WAL record.
//!
//! `u64 sequence | u32 count | operations`; `docs/format/wal.md` describes the format. The sequence
//! number is filled in when the batch commits.
//!
//! A batch may be *protected*: it then has a checksum of each entry, computed from what was pushed
//! and not from the bytes of the batch ([`crate::protection`]).
//!
//! | file | what it has |
//! |---|---|
//! | `ops` | operations and their decoding |
//! | `markers` | the markers of two-phase commit |
//! | `check` | what makes a batch whole |
//! | `numbering` | which sequence number each operation of a log record has |
//! | `take_back` | removing the last operations |
//! | `single_deletions` | deletions in place of single deletions |
//! | `entry_parts` | a single entry in parts, for a log record that needs no batch |
//! | [`replay`] | which entries the records of logs stand for |

mod check;
mod entry_parts;
mod markers;
mod numbering;
mod ops;
pub mod replay;
mod single_deletions;
mod take_back;
#[cfg(test)]
mod tests;

pub use check::{check, check_logged};
pub use entry_parts::{EntryParts, MAX_HEAD_SIZE};
pub use markers::PrepareKind;
pub use numbering::{Numbered, Numbering};
pub use ops::{Op, Ops, TIME_SIZE, ops};
pub use take_back::Mark;

use crate::coding::{get_fixed32, put_length_prefixed, put_varint32, varint_len};
use crate::error::{Error, Result};
use crate::key::{SequenceNumber, ValueType};
use crate::planted;
use crate::protection::KvSum;
use ops::{entries, tags};

/// Bytes before the first operation.
pub const HEADER_SIZE: usize = 12;

/// The largest batch that is accepted, in bytes, including the header.
pub const MAX_SIZE: u64 = 4 << 30;

/// A batch under construction or read from a log.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Header and operations. Empty and without memory until something is added to a batch that
    /// was made without a capacity.
    rep: Vec<u8>,
    /// The checksums of the entries, in order, if the batch is protected; see
    /// [`KvSum::in_batch`].
    sums: Option<Vec<u64>>,
}

impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes() && self.sums == other.sums
    }
}

impl Eq for Batch {}

/// The header of an empty batch.
const EMPTY: [u8; HEADER_SIZE] = [0; HEADER_SIZE];

/// The room that the first entry of a batch makes, if it needs no more. Bytes.
const FIRST_ROOM: usize = 240;

/// Whether an operation of type `ty` has a value in a batch.
#[inline]
pub fn has_value(ty: ValueType) -> bool {
    !matches!(ty, ValueType::Deletion | ValueType::SingleDeletion)
}

/// The tag of an entry of type `ty` in the column family with id `cf`.
#[inline]
fn tag_of(cf: u32, ty: ValueType) -> u8 {
    if cf == 0 {
        return ty as u8;
    }
    match ty {
        ValueType::Deletion => tags::CF_DELETION,
        ValueType::Value => tags::CF_VALUE,
        ValueType::Merge => tags::CF_MERGE,
        ValueType::SingleDeletion => tags::CF_SINGLE_DELETION,
        ValueType::RangeDeletion => tags::CF_RANGE_DELETION,
        ValueType::BlobIndex => tags::CF_BLOB_INDEX,
        ValueType::WideColumnEntity => tags::CF_WIDE_COLUMN_ENTITY,
        ValueType::ValuePreferredSeqno => tags::CF_VALUE_PREFERRED_SEQNO,
        ValueType::DeletionWithTimestamp => ty as u8,
    }
}

/// The number of bytes that [`Batch::push`] adds.
#[inline]
pub fn entry_size(cf: u32, ty: ValueType, key: &[u8], value: &[u8]) -> usize {
    let prefixed = |bytes: &[u8]| varint_len(bytes.len() as u64) + bytes.len();
    let family = if cf == 0 { 0 } else { varint_len(cf.into()) };
    let value = if has_value(ty) { prefixed(value) } else { 0 };
    1 + family + prefixed(key) + value
}

impl Batch {
    /// An empty batch with a capacity of `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut rep = Vec::with_capacity(bytes.max(HEADER_SIZE));
        rep.extend_from_slice(&EMPTY);
        Batch { rep, sums: None }
    }

    /// A batch from its bytes, which are checked completely.
    ///
    /// # Errors
    /// `Corruption` if the bytes are not a batch.
    pub fn from_bytes(rep: Vec<u8>) -> Result<Self> {
        check(&rep)?;
        Ok(Batch { rep, sums: None })
    }

    /// Protects the batch: from now on it has a checksum of each entry, including the existing
    /// ones.
    ///
    /// # Errors
    /// `Corruption` if its bytes are no longer a batch.
    pub fn protect(&mut self) -> Result<()> {
        if self.sums.is_some() {
            return Ok(());
        }
        self.sums = Some(if self.body().is_empty() {
            Vec::new()
        } else {
            self.sums_of_entries()?
        });
        Ok(())
    }

    fn sums_of_entries(&self) -> Result<Vec<u64>> {
        let sums = entries(self.bytes()).map(|entry| {
            let (cf, ty, key, value) = entry?;
            Ok(KvSum::of(key, value).in_batch(cf, ty))
        });
        sums.collect()
    }

    /// Drops the checksums and keeps none from now on.
    #[inline]
    pub fn unprotect(&mut self) {
        self.sums = None;
    }

    /// Whether the batch is protected.
    #[inline]
    pub fn is_protected(&self) -> bool {
        self.sums.is_some()
    }

    /// Compares the entries with their checksums, if the batch is protected.
    ///
    /// # Errors
    /// `Corruption` naming the entry that is not what was pushed.
    #[inline]
    pub fn verify(&self) -> Result<()> {
        match &self.sums {
            Some(sums) => self.compare(sums),
            None => Ok(()),
        }
    }

    fn compare(&self, sums: &[u64]) -> Result<()> {
        let mut expected = sums.iter();
        for (at, entry) in entries(self.bytes()).enumerate() {
            let (cf, ty, key, value) = entry?;
            if expected.next() != Some(&KvSum::of(key, value).in_batch(cf, ty)) {
                return Err(Error::corruption(format_args!(
                    "checksum mismatch in a write batch: operation {at} of {}",
                    sums.len()
                )));
            }
        }
        let missing = expected.len();
        if missing > 0 {
            return Err(Error::corruption(format_args!(
                "checksum mismatch in a write batch: {missing} of {} operations are missing",
                sums.len()
            )));
        }
        Ok(())
    }

    /// The checksum of entry `at`, counted from 0, if the batch is protected. `cf` and `ty` are
    /// those in its bytes.
    #[inline]
    pub fn sum(&self, at: usize, cf: u32, ty: ValueType) -> Option<KvSum> {
        let sum = self.sums.as_ref()?.get(at)?;
        Some(KvSum::from_batch(*sum, cf, ty))
    }

    /// The bytes, including the header.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        if self.rep.is_empty() {
            &EMPTY
        } else {
            &self.rep
        }
    }

    /// The bytes, for a test to damage.
    #[cfg(feature = "planted-bugs")]
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        self.with_header()
    }

    /// The bytes, to which the caller adds an operation. They have a header, even if the batch had
    /// no memory.
    #[inline]
    fn with_header(&mut self) -> &mut Vec<u8> {
        if self.rep.is_empty() {
            self.make_room(0);
        }
        &mut self.rep
    }

    /// Removes all operations, but keeps the memory and the protection.
    #[inline]
    pub fn clear(&mut self) {
        self.rep.truncate(HEADER_SIZE);
        self.rep.fill(0);
        if let Some(sums) = &mut self.sums {
            sums.clear();
        }
    }

    /// Number of operations that take a sequence number.
    #[inline]
    pub fn count(&self) -> u32 {
        count(&self.rep)
    }

    /// The operations, without the header.
    #[inline]
    pub fn body(&self) -> &[u8] {
        self.rep.get(HEADER_SIZE..).unwrap_or_default()
    }

    /// Adds an entry; `value` is ignored for deletions.
    pub fn push(&mut self, cf: u32, ty: ValueType, key: &[u8], value: &[u8]) {
        let has_value = has_value(ty);
        if let Some(sums) = &mut self.sums {
            let value = if has_value { value } else { &[] };
            sums.push(KvSum::of(key, value).in_batch(cf, ty));
        }
        let size = entry_size(cf, ty, key, value);
        if size > self.rep.capacity() - self.rep.len() {
            self.make_room(size);
        }
        self.rep.push(tag_of(cf, ty));
        if cf != 0 {
            put_varint32(&mut self.rep, cf);
        }
        put_length_prefixed(&mut self.rep, key);
        if has_value {
            put_length_prefixed(&mut self.rep, value);
        }
        planted!(BatchChangesInMemory => if let Some(last) = self.rep.last_mut() { *last ^= 1 });
        let count = self.count() + 1;
        self.rep[8..HEADER_SIZE].copy_from_slice(&count.to_le_bytes());
    }

    /// Makes room for `bytes` more, and for some small entries: so that a batch of a few has grown
    /// once or twice. Adds the header if the batch had no memory.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, bytes: usize) {
        if self.rep.is_empty() {
            self.rep.reserve(HEADER_SIZE + bytes.max(FIRST_ROOM));
            self.rep.extend_from_slice(&EMPTY);
        } else {
            self.rep.reserve(bytes.max(FIRST_ROOM));
        }
    }

    /// Adds application bytes that go to the log only.
    pub fn push_log_data(&mut self, blob: &[u8]) {
        let rep = self.with_header();
        rep.push(tags::LOG_DATA);
        put_length_prefixed(rep, blob);
    }

    /// The operations in order.
    pub fn ops(&self) -> Ops<'_> {
        ops(self.bytes())
    }
}

/// The sequence number in the header of a batch; 0 if it is too short.
pub fn sequence(rep: &[u8]) -> SequenceNumber {
    rep.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}

/// The count in the header of a batch; 0 if it is too short.
#[inline]
pub fn count(rep: &[u8]) -> u32 {
    rep.get(8..HEADER_SIZE)
        .and_then(|mut b| get_fixed32(&mut b))
        .unwrap_or(0)
}
