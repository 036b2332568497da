//! Merges: a run of operands becomes a value, or a single operand.

use super::{CompactionIter, is_value};
use crate::entry::check_lengths;
use crate::entry::payload::{Payload, payload};
use crate::operators::merge::{self, MergeOperator, Merger};
use crate::stats::counted_merge;
use whitewater_storage::entity::{self, ColumnValue};
use whitewater_storage::key::{SequenceNumber, ValueType, internal_key, sequence, user_key};
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// Merges the operands of a run with the given base value.
type FullMerge<'a> = dyn Fn(Option<&[u8]>) -> Result<Vec<u8>> + 'a;

/// What lies below a run of merge operands.
enum Base {
    /// A value to merge with: the source's current one, of this type.
    Value(ValueType),
    /// Nothing: the key was deleted or never existed.
    Nothing,
    /// Something in another stripe, something pinned, or something that cannot be merged with.
    Unknown,
}

impl CompactionIter<'_> {
    /// Combines the run of operands that starts here, within its stripe. Something pinned ends it.
    pub(super) fn merge(
        &mut self,
        operator: &dyn MergeOperator,
        newest: SequenceNumber,
        stripe: usize,
    ) -> Result<()> {
        // The operands, newest first.
        let mut run: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let base = loop {
            let above = sequence(self.source.key());
            run.push((self.source.key().to_vec(), self.source.value().to_vec()));
            self.consume();
            let mut next = self.same_stripe(stripe)?;
            planted!(MergedAcrossUndecided => next = self.same_key()?.map(|(_, ty)| (ty, false)));
            planted!(MergedAcrossSnapshot => next = self.same_key()?.map(|(_, ty)| (ty, false)));
            planted!(MergedWithoutBase => if next.is_none() { break Base::Nothing });
            match next {
                Some(_) if self.is_cut_by_pinned(above) => break Base::Unknown,
                Some((ValueType::Merge, false)) => {}
                Some((_, true)) => break Base::Nothing,
                Some((ty, _)) if is_deletion(ty) => break Base::Nothing,
                Some((ty, _)) if is_value(ty) => break Base::Value(ty),
                Some(_) => break Base::Unknown,
                None if self.same_key()?.is_some() => break Base::Unknown,
                None if self.rules.nothing_below(self.current_key()) => break Base::Nothing,
                None => break Base::Unknown,
            }
        };
        let operands: Vec<&[u8]> = run.iter().rev().map(|(_, value)| &value[..]).collect();
        let key = self.key_to_merge();
        let merger = Merger {
            operator: Some(operator),
            family: self.rules.family,
            asked_for_key: false,
        };
        let full = |existing: Option<&[u8]>| {
            let full = || merge::full_merge(merger, key, existing, &operands);
            match self.rules.statistics {
                Some(statistics) => counted_merge(statistics, full),
                None => full(),
            }
        };
        let merged = match base {
            Base::Value(ty) => self.merge_with_source(ty, &full)?,
            Base::Nothing => Some((ValueType::Value, full(None)?)),
            Base::Unknown => None,
        };
        let merged = merged.filter(|(_, value)| self.fits(value));
        let Some((ty, value)) = merged else {
            let family = self.rules.family;
            let merged = merge::partial_merge(family, operator, self.key_to_merge(), &operands)?;
            let merged = merged.filter(|value| self.fits(value));
            return self.give_operands(run, merged);
        };
        let seq = if self.can_zero(stripe, newest) {
            0
        } else {
            newest
        };
        let key = internal_key(self.current_key(), seq, ty);
        self.give(key, value);
        self.settled = Some(stripe);
        Ok(())
    }

    /// The key that a merge operator gets: that of reads, without timestamp.
    fn key_to_merge(&self) -> &[u8] {
        let user = &self.rules.comparator.user;
        user.without_timestamp(self.current_key())
    }

    /// Whether a pinned range tombstone covers the source's entry, of the current key, and not the
    /// one with the number `above`.
    fn is_cut_by_pinned(&self, above: SequenceNumber) -> bool {
        let below = sequence(self.source.key());
        (self.rules).is_cut_by_pinned(self.current_key(), below, above)
    }

    /// Whether `value` fits into a table with the current key. A value that does not fit stays
    /// unmerged, as a reader may still merge it.
    fn fits(&self, value: &[u8]) -> bool {
        check_lengths(self.current_key(), value).is_ok()
    }

    /// Merges with the source's value, of type `ty`. For an entity, the result is the entity with
    /// another default column. `None` for a value in a blob file that is not read, and for an
    /// entity with columns in blob files, which cannot be written.
    fn merge_with_source(
        &self,
        ty: ValueType,
        full: &FullMerge<'_>,
    ) -> Result<Option<(ValueType, Vec<u8>)>> {
        let stored = self.source.value();
        if ty == ValueType::WideColumnEntity {
            let merged = merge_entity(stored, full)?;
            return Ok(merged.map(|entity| (ty, entity)));
        }
        let value = match payload(ty, stored)? {
            Payload::Blob(range) => match self.rules.blobs {
                // The base's key may have other bytes than the key of the operands.
                Some(blobs) => {
                    let key = user_key(self.source.key());
                    full(Some(&blobs.read(key, &stored[range])?))
                }
                None => return Ok(None),
            },
            Payload::Value(range) => full(Some(&stored[range])),
            Payload::Operand | Payload::Deletion => {
                Err(Error::corruption("a merge with what is no value"))
            }
        };
        Ok(Some((ValueType::Value, value?)))
    }

    /// Emits a run of operands (newest first), as a single one if they were merged.
    fn give_operands(
        &mut self,
        mut run: Vec<(Vec<u8>, Vec<u8>)>,
        merged: Option<Vec<u8>>,
    ) -> Result<()> {
        if let Some(value) = merged {
            run.truncate(1);
            run[0].1 = value;
        }
        for (key, value) in run {
            self.give(key, value);
        }
        Ok(())
    }
}

/// Whether an entry of type `ty` deletes the key.
fn is_deletion(ty: ValueType) -> bool {
    matches!(
        ty,
        ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp
    )
}

/// The entity `stored` with its default column merged by `full`; `None` if some of its columns
/// are in blob files.
fn merge_entity(stored: &[u8], full: &FullMerge<'_>) -> Result<Option<Vec<u8>>> {
    let mut columns: Vec<(&[u8], &[u8])> = Vec::new();
    for column in entity::columns(stored)? {
        match column.value {
            ColumnValue::Inline(range) => columns.push((column.name, &stored[range])),
            ColumnValue::Blob(_) => return Ok(None),
        }
    }
    let has_default = columns.first().is_some_and(|(name, _)| name.is_empty());
    if !has_default {
        columns.insert(0, (b"", b""));
    }
    let merged = full(Some(columns[0].1))?;
    columns[0].1 = &merged;
    Ok(Some(entity::encode(&columns)))
}
