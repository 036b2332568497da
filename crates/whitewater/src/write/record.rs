//! The step *encode*: the log record of a write, without its header, which contains the
//! sequence number.

use super::env::CommitEnv;
use super::generation::{Generation, Reservation};
use super::request::Write;
use crate::memtable::operations::{Operations, SingleOp};
use std::cell::Cell;
use whitewater_concurrent::scratch;
use whitewater_storage::Result;
use whitewater_storage::batch::{Batch, HEADER_SIZE};
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

/// The batch of a single operation. Its memory is kept when it is dropped.
pub(super) struct SingleOpBatch(Option<Batch>);

impl SingleOpBatch {
    #[inline]
    fn new(op: SingleOp<'_>) -> Self {
        let mut batch = scratch_batch();
        batch.push(op.cf, op.ty, op.key, op.value);
        SingleOpBatch(Some(batch))
    }

    #[inline]
    fn body(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |batch| batch.body())
    }
}

impl Drop for SingleOpBatch {
    #[inline]
    fn drop(&mut self) {
        if let Some(batch) = self.0.take() {
            keep_batch(batch);
        }
    }
}

/// The log record of one write, without its header.
pub(super) enum Record<'a> {
    Batch(&'a [u8]),
    SingleOp(SingleOpBatch),
    Compressed(CompressedRecord),
}

impl<'a> Record<'a> {
    /// *Encode*: the record of `write`, or `None` if it is not logged.
    ///
    /// # Errors
    /// Those of [`WalEnv::compress`](super::env::WalEnv::compress).
    #[inline]
    pub fn encode<E: CommitEnv>(env: &E, write: &Write<'a>) -> Result<Option<Self>> {
        if write.flags.disable_wal {
            return Ok(None);
        }
        let record = match write.operations {
            Operations::Batch(batch) => Record::Batch(batch.body()),
            Operations::Single(op) => Record::SingleOp(SingleOpBatch::new(op)),
            Operations::Section(section) => Record::Batch(section.logged().body()),
        };
        let compressed = env.compress(&[record.body()])?;
        Ok(Some(compressed.map_or(record, Record::Compressed)))
    }

    /// The bytes after the header, unless they are compressed.
    fn body(&self) -> &[u8] {
        match self {
            Record::Batch(body) => body,
            Record::SingleOp(batch) => batch.body(),
            Record::Compressed(_) => &[],
        }
    }

    /// Bytes, including the header.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Record::Compressed(compressed) => compressed.len(),
            record => HEADER_SIZE + record.body().len(),
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
            Record::Compressed(compressed) => {
                env.append_wal(generation, reservation, &compressed.with_header(&header))
            }
            record => env.append_wal(generation, reservation, &[&header, record.body()]),
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
