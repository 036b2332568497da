//! All that a batch may hold, handed to a handler: RocksDB's `WriteBatch::Handler`.

use super::write_batch::WriteBatchWithTransaction;
use whitewater_storage::batch::{self, Op, PrepareKind, TIME_SIZE};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, ErrorKind, Result};

/// Receives everything that is in a batch, in order, from
/// [`iterate_all`](WriteBatchWithTransaction::iterate_all): RocksDB's `WriteBatch::Handler`. Not in
/// the `rocksdb` crate.
///
/// Column families are named by id; 0 is the default one. Where keys have timestamps, keys end with
/// them. What a handler does not have a method for ends the iteration with `InvalidArgument`, so
/// that nothing is passed over unnoticed; only log data and noops are passed over.
pub trait WriteBatchHandler {
    /// A key is set to a value.
    ///
    /// # Errors
    /// Ends the iteration, as the errors of all others do.
    fn put_cf(&mut self, _cf_id: u32, _key: &[u8], _value: &[u8]) -> Result<()> {
        Err(not_handled("put_cf"))
    }

    /// A key is set to a value that counts as written at `write_time`, in seconds since 1970.
    ///
    /// # Errors
    /// Ends the iteration.
    fn timed_put_cf(
        &mut self,
        _cf_id: u32,
        _key: &[u8],
        _value: &[u8],
        _write_time: u64,
    ) -> Result<()> {
        Err(not_handled("timed_put_cf"))
    }

    /// A key is set to a wide-column entity, whose bytes
    /// [`WideColumns::deserialize`](crate::WideColumns::deserialize) reads.
    ///
    /// # Errors
    /// Ends the iteration.
    fn put_entity_cf(&mut self, _cf_id: u32, _key: &[u8], _entity: &[u8]) -> Result<()> {
        Err(not_handled("put_entity_cf"))
    }

    /// A key is set to a value in a blob file, which `index` names.
    ///
    /// # Errors
    /// Ends the iteration.
    fn put_blob_index_cf(&mut self, _cf_id: u32, _key: &[u8], _index: &[u8]) -> Result<()> {
        Err(not_handled("put_blob_index_cf"))
    }

    /// A key is deleted.
    ///
    /// # Errors
    /// Ends the iteration.
    fn delete_cf(&mut self, _cf_id: u32, _key: &[u8]) -> Result<()> {
        Err(not_handled("delete_cf"))
    }

    /// A key that was put once is deleted.
    ///
    /// # Errors
    /// Ends the iteration.
    fn single_delete_cf(&mut self, _cf_id: u32, _key: &[u8]) -> Result<()> {
        Err(not_handled("single_delete_cf"))
    }

    /// The keys in `[begin, end)` are deleted.
    ///
    /// # Errors
    /// Ends the iteration.
    fn delete_range_cf(&mut self, _cf_id: u32, _begin: &[u8], _end: &[u8]) -> Result<()> {
        Err(not_handled("delete_range_cf"))
    }

    /// An operand is merged into a key.
    ///
    /// # Errors
    /// Ends the iteration.
    fn merge_cf(&mut self, _cf_id: u32, _key: &[u8], _operand: &[u8]) -> Result<()> {
        Err(not_handled("merge_cf"))
    }

    /// Bytes for the log.
    fn log_data(&mut self, _blob: &[u8]) {}

    /// What a transaction prepares begins here; `unprepared` if it is written in parts.
    ///
    /// # Errors
    /// Ends the iteration.
    fn mark_begin_prepare(&mut self, _unprepared: bool) -> Result<()> {
        Err(not_handled("mark_begin_prepare"))
    }

    /// What the transaction `xid` prepares ends here.
    ///
    /// # Errors
    /// Ends the iteration.
    fn mark_end_prepare(&mut self, _xid: &[u8]) -> Result<()> {
        Err(not_handled("mark_end_prepare"))
    }

    /// The transaction `xid` is committed.
    ///
    /// # Errors
    /// Ends the iteration.
    fn mark_commit(&mut self, _xid: &[u8]) -> Result<()> {
        Err(not_handled("mark_commit"))
    }

    /// The transaction `xid` is committed, and its keys get `timestamp`.
    ///
    /// # Errors
    /// Ends the iteration.
    fn mark_commit_with_timestamp(&mut self, _xid: &[u8], _timestamp: &[u8]) -> Result<()> {
        Err(not_handled("mark_commit_with_timestamp"))
    }

    /// The transaction `xid` is rolled back.
    ///
    /// # Errors
    /// Ends the iteration.
    fn mark_rollback(&mut self, _xid: &[u8]) -> Result<()> {
        Err(not_handled("mark_rollback"))
    }

    /// Nothing. `empty_batch` tells that there was nothing before it, or nothing since the last
    /// marker.
    ///
    /// # Errors
    /// Ends the iteration.
    fn mark_noop(&mut self, _empty_batch: bool) -> Result<()> {
        Ok(())
    }

    /// Whether to go on. Asked before each item; RocksDB's `Continue`.
    fn continues(&mut self) -> bool {
        true
    }
}

#[cold]
fn not_handled(method: &str) -> Error {
    Error::invalid(format_args!("{method} is not handled"))
}

/// Looking into it. Not in the `rocksdb` crate; RocksDB's names.
impl<const TRANSACTION: bool> WriteBatchWithTransaction<TRANSACTION> {
    /// Hands everything in the batch to `handler`, in order.
    ///
    /// # Errors
    /// The first error of `handler`; `Corruption` for a batch made of damaged bytes.
    ///
    /// # Examples
    /// ```
    /// use whitewater::{Error, WideColumns, WriteBatch, WriteBatchHandler};
    ///
    /// #[derive(Default)]
    /// struct Columns(usize);
    ///
    /// impl WriteBatchHandler for Columns {
    ///     fn put_entity_cf(&mut self, _: u32, _: &[u8], entity: &[u8]) -> Result<(), Error> {
    ///         self.0 += WideColumns::deserialize(entity)?.len();
    ///         Ok(())
    ///     }
    ///     fn delete_cf(&mut self, _: u32, _: &[u8]) -> Result<(), Error> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut batch = WriteBatch::default();
    /// batch.put_entity("7", [("name", "ada"), ("born", "1815")]);
    /// batch.delete("8");
    /// let mut columns = Columns::default();
    /// batch.iterate_all(&mut columns)?;
    /// assert_eq!(columns.0, 2);
    /// batch.put("9", "is not handled");
    /// assert!(batch.iterate_all(&mut columns).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iterate_all<H: WriteBatchHandler + ?Sized>(&self, handler: &mut H) -> Result<()> {
        let mut empty = true;
        for op in batch::ops(self.data()) {
            if !handler.continues() {
                return Ok(());
            }
            let op = op?;
            hand(&op, empty, handler)?;
            empty = !matches!(op, Op::Entry { .. } | Op::LogData(_) | Op::BeginPrepare(_));
        }
        self.checked().map(drop)
    }

    fn has(&self, what: impl Fn(&Op<'_>) -> bool) -> bool {
        batch::ops(self.data()).flatten().any(|op| what(&op))
    }

    fn has_type(&self, wanted: ValueType) -> bool {
        self.has(|op| matches!(op, Op::Entry { ty, .. } if *ty == wanted))
    }

    /// Whether it sets a key to a plain value.
    pub fn has_put(&self) -> bool {
        self.has_type(ValueType::Value)
    }

    /// Whether it sets a key to a value with a time of its own.
    pub fn has_timed_put(&self) -> bool {
        self.has_type(ValueType::ValuePreferredSeqno)
    }

    /// Whether it sets a key to a wide-column entity.
    pub fn has_put_entity(&self) -> bool {
        self.has_type(ValueType::WideColumnEntity)
    }

    /// Whether it deletes a key, other than [once](Self::has_single_delete).
    pub fn has_delete(&self) -> bool {
        self.has_type(ValueType::Deletion)
    }

    /// Whether it deletes a key that was put once.
    pub fn has_single_delete(&self) -> bool {
        self.has_type(ValueType::SingleDeletion)
    }

    /// Whether it deletes a range of keys.
    pub fn has_delete_range(&self) -> bool {
        self.has_type(ValueType::RangeDeletion)
    }

    /// Whether it merges.
    pub fn has_merge(&self) -> bool {
        self.has_type(ValueType::Merge)
    }

    /// Whether it has the beginning of what a transaction prepares.
    pub fn has_begin_prepare(&self) -> bool {
        self.has(|op| matches!(op, Op::BeginPrepare(_)))
    }

    /// Whether it has the end of what a transaction prepares.
    pub fn has_end_prepare(&self) -> bool {
        self.has(|op| matches!(op, Op::EndPrepare(_)))
    }

    /// Whether it commits a transaction.
    pub fn has_commit(&self) -> bool {
        self.has(|op| matches!(op, Op::Commit(_) | Op::CommitAt { .. }))
    }

    /// Whether it rolls a transaction back.
    pub fn has_rollback(&self) -> bool {
        self.has(|op| matches!(op, Op::Rollback(_)))
    }

    /// Compares the batch with its checksums, if it has
    /// [some](WriteBatchWithTransaction::with_protection).
    ///
    /// # Errors
    /// `Corruption` naming the operation that is not what was added, and for a batch made of
    /// damaged bytes.
    pub fn verify_checksum(&self) -> Result<()> {
        self.checked()?.verify()
    }
}

/// Hands `op` to `handler`.
fn hand<H: WriteBatchHandler + ?Sized>(op: &Op<'_>, empty: bool, handler: &mut H) -> Result<()> {
    match *op {
        Op::Entry { cf, ty, key, value } => match ty {
            ValueType::Value => handler.put_cf(cf, key, value),
            ValueType::WideColumnEntity => handler.put_entity_cf(cf, key, value),
            ValueType::BlobIndex => handler.put_blob_index_cf(cf, key, value),
            ValueType::Deletion => handler.delete_cf(cf, key),
            ValueType::SingleDeletion => handler.single_delete_cf(cf, key),
            ValueType::RangeDeletion => handler.delete_range_cf(cf, key, value),
            ValueType::Merge => handler.merge_cf(cf, key, value),
            ValueType::ValuePreferredSeqno => match value.split_last_chunk::<TIME_SIZE>() {
                Some((value, time)) => {
                    handler.timed_put_cf(cf, key, value, u64::from_le_bytes(*time))
                }
                None => Err(Error::corruption("value without its time")),
            },
            ValueType::DeletionWithTimestamp => Err(Error::new(
                ErrorKind::Corruption,
                "an operation of a type that batches do not have",
            )),
        },
        Op::LogData(blob) => {
            handler.log_data(blob);
            Ok(())
        }
        Op::Noop => handler.mark_noop(empty),
        Op::BeginPrepare(kind) => handler.mark_begin_prepare(kind == PrepareKind::Unprepared),
        Op::EndPrepare(xid) => handler.mark_end_prepare(xid),
        Op::Commit(xid) => handler.mark_commit(xid),
        Op::CommitAt { timestamp, xid } => handler.mark_commit_with_timestamp(xid, timestamp),
        Op::Rollback(xid) => handler.mark_rollback(xid),
    }
}
