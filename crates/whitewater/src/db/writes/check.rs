//! The step *check*: refuses what could not be applied, before it takes anything.

use super::super::Engine;
use super::super::timestamps::Stamped;
use crate::column_family::{ColumnFamilyData, no_timestamp};
use crate::entry::check_lengths;
use crate::entry::columns::check_entity;
use crate::memtable::operations::SingleOp;
use crate::panics::{Guarded, caught};
use crate::write::generation::Generation;
use crate::write::memory_of;
use std::collections::BTreeMap;
use whitewater_storage::batch::{self, Batch, Op};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result};

/// Bytes that one batch may take in memory: a radix tree takes that much beyond the largest
/// write buffer that it supports.
const MAX_BATCH_MEMORY: u64 = batch::MAX_SIZE;

impl Engine {
    /// Checks a single operation. Returns whether its insert reads its own prefix: it is a
    /// merge that may be stored as a value.
    #[inline]
    pub(super) fn check_op(&self, op: &SingleOp<'_>, ignore_missing_cf: bool) -> Result<bool> {
        check_lengths(op.key, op.value)?;
        if op.cf == 0 {
            // The default family always exists.
            check_unstamped(self.default_cf())?;
        } else {
            let generation = self.commit.generations.load();
            generation.memtables.check_unstamped(op.cf)?;
            if !ignore_missing_cf {
                check_family(&generation, op.cf)?;
            }
        }
        match op.ty {
            ValueType::Merge => {
                let generation = self.commit.generations.load();
                self.check_merge(&generation, op.cf)?;
                Ok(generation.memtables.folds(op.cf))
            }
            ValueType::WideColumnEntity => self.check_columns(op.value).map(|()| false),
            ValueType::RangeDeletion => {
                check_range_deletion(&self.commit.generations.load(), op.cf).map(|()| false)
            }
            _ => Ok(false),
        }
    }

    /// Refuses an entity that could not be read again. (RocksDB writes entities without a time
    /// beside values with one, and cannot read them as values then.)
    #[cold]
    fn check_columns(&self, entity: &[u8]) -> Result<()> {
        if self.options.stamps_values {
            return Err(Error::not_supported(
                "wide-column entities in a database with a time to live",
            ));
        }
        check_entity(entity)
    }

    /// Checks a batch. Returns whether its insert reads its own prefix: it has merges that
    /// may be stored as values.
    pub(in super::super) fn check_batch(
        &self,
        batch: &Batch,
        stamped: &Stamped,
        ignore_missing_cf: bool,
    ) -> Result<bool> {
        check_size(batch.bytes().len() as u64, batch.count())?;
        let generation = self.commit.generations.load();
        stamped.check(batch, &generation.memtables)?;
        let mut found = 0u32;
        let mut folds = false;
        let mut has_log_data = false;
        for op in batch.ops() {
            let op = op?;
            let Op::Entry { cf, ty, key, value } = op else {
                op.marker()
                    .map_or(Ok(()), |name| Err(marker_in_batch(name)))?;
                has_log_data |= matches!(op, Op::LogData(_));
                if has_log_data && op == Op::Noop && self.commit.undecided.is_some() {
                    return Err(noop_behind_log_data());
                }
                continue;
            };
            found += 1;
            if !ignore_missing_cf {
                check_family(&generation, cf)?;
            }
            check_lengths(key, value)?;
            if !is_writable(ty) {
                return Err(Error::not_supported(format_args!(
                    "writing entries of type {ty:?}"
                )));
            }
            if ty == ValueType::WideColumnEntity {
                self.check_columns(value)?;
            }
            if ty == ValueType::RangeDeletion {
                check_range_deletion(&generation, cf)?;
            }
            if ty == ValueType::Merge {
                if !takes_merges(&generation, cf) {
                    self.check_writer()?;
                    return Err(merge_in_batch());
                }
                folds |= generation.memtables.folds(cf);
            }
        }
        if found != batch.count() {
            return Err(Error::corruption(format_args!(
                "write batch holds {found} operations, its header says {}",
                batch.count()
            )));
        }
        if self.commit.undecided.is_some() && generation.memtables.any_has_own_equality() {
            caught(Guarded::Comparator("a write"), || {
                refuse_equal_keys(batch, &generation)
            })?;
        }
        Ok(folds)
    }

    /// Refuses a merge in the column family `cf` if it could not be read again.
    ///
    /// # Errors
    /// RocksDB's, `NotSupported`; with a time to live, where a merge is a batch, that
    /// of a batch.
    fn check_merge(&self, generation: &Generation, cf: u32) -> Result<()> {
        if takes_merges(generation, cf) {
            return Ok(());
        }
        // A database that takes no writes at all reports that instead.
        self.check_writer()?;
        if self.options.stamps_values {
            return Err(merge_in_batch());
        }
        Err(Error::not_supported(
            "Provide a merge_operator when opening DB",
        ))
    }
}

/// Refuses an operation without a timestamp on a column family whose keys have some.
#[inline]
fn check_unstamped(cf: &ColumnFamilyData) -> Result<()> {
    match cf.comparator.user.timestamp_size() {
        0 => Ok(()),
        _ => Err(no_timestamp(&cf.name)),
    }
}

/// Refuses an operation on a column family that does not exist.
fn check_family(generation: &Generation, cf: u32) -> Result<()> {
    match generation.memtables.position(cf) {
        Some(_) => Ok(()),
        None => Err(Error::invalid(format_args!(
            "Invalid column family specified in write batch: id {cf}"
        ))),
    }
}

/// Whether merges in the column family `cf` can be read again. A family that does not
/// exist gets none.
#[inline]
fn takes_merges(generation: &Generation, cf: u32) -> bool {
    let memtable = generation.memtables.get(cf);
    memtable.is_none_or(|m| m.takes_merges())
}

/// Refuses a range deletion in a column family whose tables could not hold it. RocksDB's error.
fn check_range_deletion(generation: &Generation, cf: u32) -> Result<()> {
    let memtable = generation.memtables.get(cf);
    if memtable.is_none_or(|m| m.takes_range_deletions()) {
        return Ok(());
    }
    Err(Error::not_supported(format_args!(
        "DeleteRange not supported: option table_factory of column family {cf} is not \
         BlockBasedTable"
    )))
}

/// The error for a batch with a merge in a column family without merge operator. RocksDB's
/// text.
#[cold]
fn merge_in_batch() -> Error {
    Error::invalid("Merge requires `ColumnFamilyOptions::merge_operator != nullptr`")
}

/// The error for a batch of the caller that has a marker of two-phase commit. Replayed, it would
/// decide on a transaction, or be one, without its locks.
#[cold]
fn marker_in_batch(name: &str) -> Error {
    Error::invalid(format_args!(
        "write batch with the marker {name}: only a transaction's prepare, commit and rollback write it"
    ))
}

/// The error for a batch of the caller that could use up more numbers in the log than it has
/// operations ([`Numbering::PerBatch`](batch::Numbering::PerBatch)).
#[cold]
fn noop_behind_log_data() -> Error {
    Error::invalid("write batch with a noop behind log data")
}

/// Refuses a batch with two keys that a comparator holds equal and whose bytes differ, where logs
/// are numbered by batches: recovery would insert both with one number
/// ([`Numbering::PerBatch`](batch::Numbering::PerBatch) knows no comparators).
#[cold]
fn refuse_equal_keys(batch: &Batch, generation: &Generation) -> Result<()> {
    let mut by_family: BTreeMap<u32, Vec<&[u8]>> = BTreeMap::new();
    for op in batch.ops() {
        if let Op::Entry { cf, key, .. } = op? {
            by_family.entry(cf).or_default().push(key);
        }
    }
    for (cf, mut keys) in by_family {
        let memtable = generation.memtables.get(cf);
        let Some(order) = memtable.and_then(|memtable| memtable.own_equality()) else {
            continue;
        };
        keys.sort_by(|a, b| order.compare(a, b));
        let equal = |pair: &&[&[u8]]| pair[0] != pair[1] && order.compare(pair[0], pair[1]).is_eq();
        if let Some(pair) = keys.windows(2).find(equal) {
            return Err(Error::not_supported(format_args!(
                "write batch with the keys {} and {}, which are equal in the order of column \
                 family {cf}: not with this write policy",
                pair[0].escape_ascii(),
                pair[1].escape_ascii()
            )));
        }
    }
    Ok(())
}

fn is_writable(ty: ValueType) -> bool {
    matches!(
        ty,
        ValueType::Value
            | ValueType::WideColumnEntity
            | ValueType::Deletion
            | ValueType::SingleDeletion
            | ValueType::Merge
            | ValueType::RangeDeletion
    )
}

/// Refuses a batch that would take too much memory.
pub(in super::super) fn check_size(bytes: u64, entries: u32) -> Result<()> {
    let memory = memory_of(bytes, entries);
    if memory > MAX_BATCH_MEMORY {
        return Err(Error::invalid(format_args!(
            "write batch of {bytes} bytes and {entries} operations would take {memory} bytes of memory, the most is \
             {MAX_BATCH_MEMORY}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    /// Compressed logs are read up to that size.
    #[test]
    fn no_batch_is_accepted_that_is_larger_than_a_log_record() {
        assert!(check_size(batch::MAX_SIZE, 0).is_ok());
        assert!(check_size(batch::MAX_SIZE + 1, 0).is_err());
    }

    #[test]
    fn batches_of_too_many_bytes_or_operations_are_refused() {
        assert!(check_size(12, 0).is_ok());
        assert!(check_size(3 << 30, 1 << 20).is_ok());
        for (bytes, entries) in [
            (5 << 30, 1),
            (200 << 20, 40 << 20),
            (u64::from(u32::MAX), u32::MAX),
        ] {
            let e = check_size(bytes, entries).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            assert!(e.to_string().contains("write batch of"), "{e}");
        }
    }
}
