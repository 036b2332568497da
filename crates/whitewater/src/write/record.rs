//! The step *encode*: the log record of a write, without its header, which contains the
//! sequence number.

use super::env::CommitEnv;
use super::generation::{Generation, Reservation};
use super::request::Write;
use crate::memtable::operations::{Operations, SingleOp};
use std::cell::Cell;
use whitewater_concurrent::scratch;
use whitewater_storage::Result;
use whitewater_storage::batch::{Batch, HEADER_SIZE, MAX_HEAD_SIZE};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::CompressedRecord;

/// The largest batch whose memory is kept for reuse. Bytes.
const SCRATCH_LIMIT: usize = 64 << 10;

thread_local! {
    /// The memory of this thread's last batch of a single operation.
    static SCRATCH: Cell<Option<Batch>> = const { Cell::new(None) };
}

/// An empty batch, in memory that this thread may have [kept](keep_batch).
#[inline]
pub(crate) fn scratch_batch() -> Batch {
    scratch::take(&SCRATCH).unwrap_or_default()
}

/// Keeps the memory of a batch for this thread's next one.
#[inline]
pub(crate) fn keep_batch(mut batch: Batch) {
    if batch.bytes().len() <= SCRATCH_LIMIT {
        batch.clear();
        batch.unprotect();
        scratch::keep(&SCRATCH, Some(batch));
    }
}

/// The log record of one write, without its header.
pub(super) enum Record<'a> {
    Batch(&'a [u8]),
    Single(&'a SingleOp<'a>),
    Compressed(CompressedRecord),
}

impl<'a> Record<'a> {
    /// *Encode*: the record of `write`, or `None` if it is not logged.
    ///
    /// # Errors
    /// Those of [`WalEnv::compress`](super::env::WalEnv::compress).
    #[inline]
    pub fn encode<E: CommitEnv>(env: &E, write: &'a Write<'_>) -> Result<Option<Self>> {
        if write.flags.disable_wal {
            return Ok(None);
        }
        let record = match &write.operations {
            Operations::Batch(batch) => Record::Batch(batch.body()),
            Operations::Single(op) => Record::Single(op),
            Operations::Section(section) => Record::Batch(section.logged().body()),
        };
        if env.compresses()
            && let Some(compressed) = record.compressed(env)?
        {
            return Ok(Some(Record::Compressed(compressed)));
        }
        Ok(Some(record))
    }

    #[cold]
    fn compressed<E: CommitEnv>(&self, env: &E) -> Result<Option<CompressedRecord>> {
        match self {
            Record::Batch(body) => env.compress(&[body]),
            Record::Single(op) => {
                let entry = op.in_parts();
                let ((head, len), [key, value_len, value]) = (entry.head(), entry.rest());
                env.compress(&[&head[..len], key, value_len, value])
            }
            Record::Compressed(_) => Ok(None),
        }
    }

    /// Bytes, including the header.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Record::Batch(body) => HEADER_SIZE + body.len(),
            Record::Single(op) => op.size(),
            Record::Compressed(compressed) => compressed.len(),
        }
    }

    /// *Append*: writes it to its reserved place, with a header for `count` operations.
    #[inline]
    pub fn append<E: CommitEnv>(
        &self,
        env: &E,
        generation: &Generation,
        reservation: &Reservation,
        count: u32,
    ) -> Result<()> {
        let header = header(reservation.first, count);
        match self {
            Record::Batch(body) => env.append_wal(generation, reservation, &[&header, body]),
            Record::Single(op) => {
                let entry = op.in_parts();
                // The log copies part by part, so header and head are one.
                let mut front = [0; HEADER_SIZE + MAX_HEAD_SIZE];
                let ((head, len), [key, value_len, value]) = (entry.head(), entry.rest());
                front[..HEADER_SIZE].copy_from_slice(&header);
                front[HEADER_SIZE..].copy_from_slice(head);
                let front = &front[..HEADER_SIZE + len];
                env.append_wal(generation, reservation, &[front, key, value_len, value])
            }
            Record::Compressed(compressed) => {
                env.append_wal(generation, reservation, &compressed.with_header(&header))
            }
        }
    }
}

/// The header of a record.
pub(super) fn header(first: SequenceNumber, count: u32) -> [u8; HEADER_SIZE] {
    let mut header = [0; HEADER_SIZE];
    header[..8].copy_from_slice(&first.to_le_bytes());
    header[8..].copy_from_slice(&count.to_le_bytes());
    header
}
