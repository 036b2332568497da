//! Wide columns: an entity is shown as a whole beside its default column, which is its value.

use super::{DbIter, ValueAt};
use crate::entry::columns::{WideColumn, WideColumns, columns_of, in_place};
use crate::operators::merge::{Merger, full_merge};
use bytes::Bytes;
use std::ops::Range;
use whitewater_storage::entity::{self, ColumnValue};
use whitewater_storage::{Result, planted};

impl DbIter {
    /// The columns, when valid. A plain value is one column, the default one.
    pub fn columns(&self) -> Option<Vec<WideColumn<'_>>> {
        let value = self.value()?;
        Some(match self.stored_entity() {
            Some(entity) => columns_of(entity),
            None => vec![WideColumn::new(b"", value)],
        })
    }

    /// The columns, when valid and an entity is shown.
    pub fn entity(&self) -> Option<WideColumns> {
        let entity = self.stored_entity().filter(|_| self.valid())?;
        WideColumns::of(Bytes::copy_from_slice(entity)).ok()
    }

    /// The bytes of the entity shown, if it is one.
    fn stored_entity(&self) -> Option<&[u8]> {
        match &self.value {
            ValueAt::EntityOfSource(_) => Some(self.source.value()),
            ValueAt::EntityInBuffer(_) => Some(&self.buffer),
            ValueAt::Source | ValueAt::PartOfSource(_) | ValueAt::Buffer => None,
        }
    }

    /// Shows the entity that is the source's value.
    pub(super) fn show_entity(&mut self) -> Result<()> {
        let stored = self.source.value();
        let shape = entity::shape(stored)?;
        if shape.has_blobs {
            self.buffer = in_place(&self.key, stored, &self.blobs())?;
            return self.show_buffered_entity();
        }
        self.value = ValueAt::EntityOfSource(place_of(shape.default));
        Ok(())
    }

    /// Shows the entity in the buffer, which has its columns in place.
    fn show_buffered_entity(&mut self) -> Result<()> {
        let default = entity::shape(&self.buffer)?.default;
        self.value = ValueAt::EntityInBuffer(place_of(default));
        Ok(())
    }

    /// Shows what the operands, oldest first, make of `columns`.
    pub(super) fn show_merged(&mut self, columns: &WideColumns, operands: &[&[u8]]) -> Result<()> {
        let merger = Merger {
            operator: self.operator.as_deref(),
            family: self.view().mem.family(),
            asked_for_key: false,
        };
        let base = columns.default_column().unwrap_or_default();
        let merged = full_merge(merger, &self.key, Some(base), operands)?;
        self.buffer = columns.with_default(&merged).encode();
        self.show_buffered_entity()
    }

    /// Shows what the operands make of the entity in the buffer, which is stored under `key`.
    pub(super) fn combine_entity(&mut self, key: &[u8]) -> Result<()> {
        planted!(ColumnsUnseenBackward => {
            let default = entity::shape(&self.buffer)?.default;
            self.buffer = self.buffer[place_of(default)].to_vec();
            self.value = ValueAt::Buffer;
            return Ok(());
        });
        if self.operands.is_empty() {
            if entity::shape(&self.buffer)?.has_blobs {
                self.buffer = in_place(key, &self.buffer, &self.blobs())?;
            }
            return self.show_buffered_entity();
        }
        let stored = std::mem::take(&mut self.buffer);
        let columns = WideColumns::decode(key, stored.into(), &self.blobs())?;
        let operands = std::mem::take(&mut self.operands);
        let shown = self.show_merged(&columns, &operands.in_order());
        self.operands = operands;
        shown
    }
}

/// Where the value of a default column in place is; nowhere if there is none.
fn place_of(default: Option<ColumnValue>) -> Range<usize> {
    match default {
        Some(ColumnValue::Inline(range)) => range,
        Some(ColumnValue::Blob(_)) | None => 0..0,
    }
}
