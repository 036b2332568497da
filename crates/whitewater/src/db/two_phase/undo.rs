//! What a rollback writes if the section was inserted when it was prepared.
//!
//! Each key of the section gets again what a reader finds, who passes over the section's undecided
//! numbers: its value, or a deletion. So tables are right without knowing that the section was
//! rolled back. Merge operands are written back as the value that they come to. A wide-column
//! entity, which only RocksDB writes, is written back with all of its columns, though a reader
//! finds only one of them.

use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::db::Engine;
use crate::entry::blobs::Blobs;
use crate::entry::get_context::GetContext;
use crate::memtable::sections::Section;
use crate::options::read::{ReadSpec, WriteSpec, has_checksums};
use crate::panics::{Guarded, caught};
use crate::read::blob::BorrowedBlobs;
use crate::read::level;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::iter;
use std::sync::Arc;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::entity::{self, ColumnValue};
use whitewater_storage::key::{ValueType, lookup_key};
use whitewater_storage::{Result, planted};

impl Engine {
    /// The operations that restore the keys of `section`. Those of column families that were
    /// dropped are left out.
    ///
    /// # Errors
    /// Errors of the reads: then the keys cannot be restored.
    pub(super) fn undo_of(&self, section: &Section, spec: &WriteSpec) -> Result<Batch> {
        let families = self.column_families();
        let families: BTreeMap<u32, _> = families.iter().map(|cf| (cf.id, cf)).collect();
        let mut undo = Batch::default();
        if has_checksums(spec.protection_bytes_per_key)? {
            undo.protect()?;
        }
        planted!(UndoForgotten => return Ok(undo));
        let mut seen = HashSet::new();
        for op in section.batch.ops() {
            let Op::Entry { cf, key, .. } = op? else {
                continue;
            };
            let Some(family) = families.get(&cf).filter(|_| seen.insert((cf, key))) else {
                continue;
            };
            caught(Guarded::Comparator("a rollback"), || {
                self.restore(family, key, &mut undo)
            })?;
        }
        Ok(undo)
    }

    /// Adds to `undo` what `key` is now.
    fn restore(&self, cf: &ColumnFamilyData, key: &[u8], undo: &mut Batch) -> Result<()> {
        let spec = ReadSpec::default();
        let (view, point): (Arc<SuperVersion>, _) = self.view(cf, &spec);
        let mut ctx = GetContext::new(key, view.options.merge_operator.as_deref())
            .of_family(&cf.name)
            .passing_over(point.undecided.as_deref());
        for mem in iter::once(&view.mem).chain(&view.imm) {
            if ctx.done() {
                break;
            }
            mem.get(key, point.sequence, &mut ctx)?;
        }
        let tables = &self.files.tables;
        if !ctx.done() {
            let lookup = lookup_key(key, point.sequence);
            let order = &cf.comparator;
            let (version, table) = (&view.version, spec.table());
            level::get(version, tables, order, key, &lookup, table, &mut ctx)?;
        }
        let blobs = BorrowedBlobs {
            version: &view.version,
            tables,
            reads: spec.blobs(),
            ahead: None,
        };
        let (stored, merges) = (ctx.entity(), ctx.has_operands());
        match (ctx.finish_with(&blobs)?, stored) {
            (None, _) => undo.push(cf.id, ValueType::Deletion, key, &[]),
            (Some(value), None) => undo.push(cf.id, ValueType::Value, key, &value),
            (Some(value), Some(stored)) => {
                let merged = merges.then_some(&value[..]);
                let restored = with_default_column(key, &stored, merged, &blobs)?;
                undo.push(cf.id, ValueType::WideColumnEntity, key, &restored);
            }
        }
        Ok(())
    }
}

/// The entity `stored` of `key`, with `merged` as its default column, if that is set.
fn with_default_column(
    key: &[u8],
    stored: &[u8],
    merged: Option<&[u8]>,
    blobs: &dyn Blobs,
) -> Result<Vec<u8>> {
    let mut columns: Vec<(&[u8], Cow<'_, [u8]>)> = Vec::new();
    columns.extend(merged.map(|value| (&[][..], value.into())));
    for column in entity::columns(stored)? {
        if merged.is_some() && column.name.is_empty() {
            continue;
        }
        let value = match column.value {
            ColumnValue::Inline(range) => stored[range].into(),
            ColumnValue::Blob(range) => blobs.read(key, &stored[range])?.to_vec().into(),
        };
        columns.push((column.name, value));
    }
    let columns: Vec<_> = columns
        .iter()
        .map(|(name, value)| (*name, &value[..]))
        .collect();
    Ok(entity::encode(&columns))
}
