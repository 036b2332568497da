//! What a write puts into the log, but for the header, which has its number.

use super::CommitEnv;
use super::generation::{Generation, Reservation};
use super::request::Write;
use super::steps::header;
use crate::memtable::operations::{Operations, SingleOp};
use std::cell::Cell;
use whitewater_concurrent::scratch;
use whitewater_storage::Result;
use whitewater_storage::batch::{Batch, HEADER_SIZE};
use whitewater_storage::wal::CompressedRecord;

/// Batches larger than this are not kept as a spare.
const SPARE_LIMIT: usize = 64 << 10;

thread_local! {
    /// The memory of the last batch that was made up in this thread.
    static SPARE: Cell<Option<Batch>> = const { Cell::new(None) };
}

/// An empty batch, in memory that this thread may have [kept](keep_batch).
#[inline]
pub(crate) fn spare_batch() -> Batch {
    scratch::take(&SPARE).unwrap_or_default()
}

/// Keeps the memory of a batch for the next one of this thread.
#[inline]
pub(crate) fn keep_batch(mut batch: Batch) {
    if batch.bytes().len() <= SPARE_LIMIT {
        batch.clear();
        batch.unprotect();
        scratch::keep(&SPARE, Some(batch));
    }
}

/// The batch of one operation, until it is dropped.
pub(super) struct SingleOpBatch(Option<Batch>);

impl SingleOpBatch {
    #[inline]
    fn new(one: SingleOp<'_>) -> Self {
        let mut batch = spare_batch();
        batch.push(one.cf, one.ty, one.key, one.value);
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

/// A record for the log but for its header, of one write.
pub(super) enum Record<'a> {
    Plain(&'a [u8]),
    SingleOpBatch(SingleOpBatch),
    Packed(CompressedRecord),
}

impl<'a> Record<'a> {
    /// The record of `write`; none if it is not to be logged.
    ///
    /// # Errors
    /// Those of [`CommitEnv::pack`].
    #[inline]
    pub fn prepare<E: CommitEnv>(env: &E, write: &Write<'a>) -> Result<Option<Self>> {
        if write.flags.disable_wal {
            return Ok(None);
        }
        let record = match write.operations {
            Operations::Batch(batch) => Record::Plain(batch.body()),
            Operations::Single(one) => Record::SingleOpBatch(SingleOpBatch::new(one)),
        };
        let packed = env.pack(&[record.body()])?;
        Ok(Some(packed.map_or(record, Record::Packed)))
    }

    /// What is logged if it is not compressed.
    fn body(&self) -> &[u8] {
        match self {
            Record::Plain(body) => body,
            Record::SingleOpBatch(batch) => batch.body(),
            Record::Packed(_) => &[],
        }
    }

    /// Bytes, the header included.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Record::Packed(packed) => packed.len(),
            record => HEADER_SIZE + record.body().len(),
        }
    }

    /// Puts it to its place, with the first of its numbers and how many they are.
    #[inline]
    pub fn log<E: CommitEnv>(
        &self,
        env: &E,
        generation: &Generation,
        reservation: &Reservation,
        count: u32,
    ) -> Result<()> {
        let header = header(reservation.first, count);
        match self {
            Record::Packed(packed) => {
                env.log(generation, reservation, &packed.with_header(&header))
            }
            record => env.log(generation, reservation, &[&header, record.body()]),
        }
    }
}
