//! What logs say about transactions in two phases, for everything that replays logs.
//!
//! A prepared section is held by the name of its transaction until a later record decides on
//! it. A commit inserts its entries behind those of its own record, at numbers that follow
//! theirs. Which log the *commit* stands in says whether a column family still needs them: the
//! section may be older than everything else that is needed. A decision on an unknown name is
//! on a section in a log that no memtable needed any more; its entries are in tables.
//!
//! The engine may log outstanding sections again in a later log, with the numbers that they have.
//! Where the logs before are still needed, they count, and the repetition does not.

use super::{Batch, HEADER_SIZE, Numbering, Op};
use crate::error::{Error, Result};
use crate::key::{SequenceNumber, ValueType};
use std::collections::BTreeMap;

/// An entry that is replayed.
#[derive(Debug, Clone, Copy)]
pub struct ReplayedEntry<'a> {
    /// Id of the column family.
    pub cf: u32,
    /// Its type.
    pub ty: ValueType,
    /// User key.
    pub key: &'a [u8],
    /// Value, operand or end key; empty for deletions.
    pub value: &'a [u8],
    /// Its sequence number.
    pub number: SequenceNumber,
}

/// Where entries go.
pub trait Replays {
    /// The size of the timestamps of the column family `cf`, in bytes; 0 if it has none or is
    /// not known.
    fn timestamp_size(&self, cf: u32) -> usize;

    /// Takes an entry, in the order of numbers.
    ///
    /// # Errors
    /// Its own; replaying ends with them.
    fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()>;
}

/// A prepared section on which no record decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedSection {
    /// The section, with its markers.
    pub batch: Batch,
    /// The log that has it.
    pub log: u64,
    /// The number of its record.
    pub number: SequenceNumber,
}

/// The sections that were met and are not decided, by name.
#[derive(Debug, Clone, Default)]
pub struct ReplayedSections {
    outstanding: BTreeMap<Vec<u8>, ReplayedSection>,
    /// The log that is being replayed.
    log: u64,
    /// The last number read from the logs before it.
    read_before: SequenceNumber,
    /// A section with that number is a new one: the last record read used up no number.
    repeats: bool,
}

impl ReplayedSections {
    /// Begins to replay log `log`. The logs before have been read up to the number `read_to`,
    /// which the next record may have, too, if it `repeats`.
    pub fn begin(&mut self, log: u64, read_to: SequenceNumber, repeats: bool) {
        (self.log, self.read_before, self.repeats) = (log, read_to, repeats);
    }

    /// The log that is being replayed; 0 before the first.
    pub fn log(&self) -> u64 {
        self.log
    }

    /// Whether `record` is nothing but an outstanding section once more.
    pub fn is_repeated(&self, record: &[u8]) -> bool {
        let body = record.get(HEADER_SIZE..).unwrap_or(&[]);
        let mut sections = self.outstanding.values();
        sections.any(|section| section.batch.body() == body)
    }

    /// Replays a record that was checked. Returns how many numbers it uses up; one that uses up
    /// none may have taken one.
    ///
    /// # Errors
    /// `NotSupported` for sections of another write policy; `Corruption` for numbers out of
    /// range and timestamps of a wrong size; those of `to`.
    pub fn replay(&mut self, record: &[u8], to: &mut dyn Replays) -> Result<u64> {
        let mut walk = Numbering::PerEntry.walk(record);
        let mut section: Option<ReplayedSection> = None;
        while let Some(next) = walk.next() {
            let (op, number) = next?;
            if let Op::BeginPrepare(_) = op {
                section = Some(ReplayedSection {
                    batch: Batch::default(),
                    log: self.log,
                    number,
                });
            }
            if let Some(section) = &mut section {
                section.batch.push_op(&op);
            }
            match op {
                Op::Entry { cf, ty, key, value } if section.is_none() => {
                    to.insert(ReplayedEntry {
                        cf,
                        ty,
                        key,
                        value,
                        number,
                    })?;
                }
                Op::EndPrepare(name) => self.enter(name, section.take()),
                Op::Commit(name) => walk.use_up(self.commit(name, None, number, to)?)?,
                Op::CommitAt { timestamp, xid } => {
                    walk.use_up(self.commit(xid, Some(timestamp), number, to)?)?;
                }
                Op::Rollback(name) => {
                    self.outstanding.remove(name);
                }
                Op::Entry { .. } | Op::LogData(_) | Op::Noop | Op::BeginPrepare(_) => {}
            }
        }
        Ok(walk.used())
    }

    fn enter(&mut self, name: &[u8], section: Option<ReplayedSection>) {
        let Some(section) = section else {
            return; // not in a record that was checked
        };
        let is_new = section.number > self.read_before
            || (self.repeats && section.number == self.read_before);
        if is_new {
            self.outstanding.insert(name.to_vec(), section);
        }
    }

    /// Inserts the entries of the section `name` from `first` on. Returns how many there are.
    fn commit(
        &mut self,
        name: &[u8],
        timestamp: Option<&[u8]>,
        first: SequenceNumber,
        to: &mut dyn Replays,
    ) -> Result<u64> {
        let Some(section) = self.outstanding.remove(name) else {
            return Ok(0);
        };
        let mut number = first;
        for op in section.batch.ops() {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            let stamped = timestamp.map(|stamp| with_timestamp(key, stamp, to.timestamp_size(cf)));
            let stamped = stamped.transpose()?;
            to.insert(ReplayedEntry {
                cf,
                ty,
                key: stamped.as_deref().unwrap_or(key),
                value,
                number,
            })?;
            number += 1;
        }
        Ok(number - first)
    }

    /// Takes the sections that are not decided, by name.
    pub fn take_outstanding(&mut self) -> BTreeMap<Vec<u8>, ReplayedSection> {
        std::mem::take(&mut self.outstanding)
    }

    /// Forgets the sections in logs before `first`, which is the first one that may have an
    /// undecided section: whatever decided on them is in tables, and may not be read any more.
    pub fn forget_before(&mut self, first: u64) {
        self.outstanding.retain(|_, section| section.log >= first);
    }
}

/// `key` with the commit's timestamp in place of its last `size` bytes.
///
/// # Errors
/// `Corruption` if the timestamp is not of that size, or the key is shorter.
fn with_timestamp(key: &[u8], timestamp: &[u8], size: usize) -> Result<Vec<u8>> {
    if size == 0 {
        return Ok(key.to_vec());
    }
    match key.len().checked_sub(size) {
        Some(len) if timestamp.len() == size => Ok([&key[..len], timestamp].concat()),
        _ => Err(Error::corruption(format_args!(
            "commit timestamp of {} bytes for a key of {} bytes in a column family with timestamps \
             of {size}",
            timestamp.len(),
            key.len()
        ))),
    }
}
