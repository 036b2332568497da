//! Writes: collected in the batch, under the locks of their keys.

use super::keys::KeyUse;
use super::{State, Transaction};
use crate::column_family::{ColumnFamilyData, no_timestamp};
use crate::entry::check_lengths;
use crate::entry::columns::check_entity;
use crate::txn::errors::{batch_is_full, no_family, range_deletion, written_in_parts};
use crate::txn::indexed_batch::{IndexedBatch, check_stamped};
use std::sync::Arc;
use whitewater_storage::batch::{self, Batch, Op};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result};

/// Whether a change of the key since the snapshot keeps it from being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflicts {
    Checked,
    /// The key is locked all the same.
    Ignored,
}

impl Transaction {
    /// Adds an operation of type `ty`, a put of a value or of an entity, a merge or a deletion of
    /// one key.
    ///
    /// # Errors
    /// `InvalidArgument` after prepare and commit, and for keys whose timestamps the transaction
    /// cannot give; `NotSupported` for a single deletion of a key with timestamps, and if the
    /// transaction should be written in parts; errors of locking; `Busy` if the key has changed
    /// since the snapshot; `Aborted` if the batch would be too large: the key stays locked then.
    /// The batch is as it was.
    pub fn write(
        &self,
        cf: &Arc<ColumnFamilyData>,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
        conflicts: Conflicts,
    ) -> Result<()> {
        self.check_writable()?;
        check_lengths(key, value)?;
        if ty == ValueType::WideColumnEntity {
            check_entity(value)?;
        }
        let stamped = self.stamps(cf)?;
        check_stamped(&cf.name, &cf.comparator.user, ty)?;
        let how = KeyUse {
            read_only: false,
            exclusive: true,
            validate: conflicts == Conflicts::Checked,
        };
        self.use_key(cf, key, how)?;
        let mut inner = self.inner.borrow_mut();
        let size = inner.batch.size() + batch::entry_size(cf.id, ty, key, value);
        if self.max_write_batch_size > 0 && size > self.max_write_batch_size {
            return Err(batch_is_full());
        }
        inner.stamps.written |= stamped;
        let family = (cf.id, &cf.comparator.user);
        inner.batch.write_in(family, ty, key, value)
    }

    /// Unlike RocksDB, which takes writes after prepare, inserts them and never logs them.
    fn check_writable(&self) -> Result<()> {
        if self.in_parts {
            return Err(written_in_parts("write_batch_flush_threshold"));
        }
        match self.inner.borrow().state {
            State::Started => Ok(()),
            _ => Err(Error::invalid("Transaction is beyond state for writing.")),
        }
    }

    /// Whether later writes are seen by the transaction's own reads.
    pub fn set_indexing(&self, enabled: bool) {
        self.inner.borrow_mut().batch.set_indexing(enabled);
    }

    /// The batch, a copy.
    pub fn batch(&self) -> Batch {
        self.inner.borrow().batch.batch().clone()
    }

    /// The batch with its index, as it is now.
    pub fn indexed_batch(&self) -> IndexedBatch {
        self.inner.borrow().batch.clone()
    }

    /// Adds an operation that is written when the transaction, which must be prepared then, is
    /// committed. Its key is not locked.
    ///
    /// # Errors
    /// `InvalidArgument` for a key and value that are too long.
    pub fn write_at_commit(
        &self,
        cf: &ColumnFamilyData,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        check_lengths(key, value)?;
        let mut inner = self.inner.borrow_mut();
        inner.commit_time.push(cf.id, ty, key, value);
        Ok(())
    }

    /// Adds the operations of `batch`, as if each had been called.
    ///
    /// # Errors
    /// `InvalidArgument` for range deletions, for markers of two-phase commit and for column
    /// families that do not exist; errors of [`write`](Self::write). What came before was added.
    pub fn rebuild(&self, batch: &Batch) -> Result<()> {
        for op in batch.ops() {
            let (cf, ty, key, value) = match op? {
                Op::Entry { cf, ty, key, value } => (cf, ty, key, value),
                Op::LogData(_) | Op::Noop => continue,
                _ => return Err(Error::invalid("")),
            };
            match ty {
                ValueType::RangeDeletion => return Err(range_deletion()),
                ValueType::Value
                | ValueType::WideColumnEntity
                | ValueType::Merge
                | ValueType::Deletion
                | ValueType::SingleDeletion => {}
                _ => return Err(Error::invalid("")),
            }
            let cf = self.engine.family(cf).ok_or_else(|| no_family(cf))?;
            if self.stamps(&cf)? {
                // Its keys may have timestamps, which the commit would add to.
                return Err(no_timestamp(&cf.name));
            }
            self.write(&cf, ty, key, value, Conflicts::Checked)?;
        }
        Ok(())
    }
}
