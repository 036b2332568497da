//! What a rollback writes if the section was inserted when it was prepared.
//!
//! Each key of the section gets again what a reader finds, who passes over the section's undecided
//! numbers: its value, or a deletion. So tables are right without knowing that the section was
//! rolled back. Merge operands are written back as the value that they come to, and a wide-column
//! entity with all of its columns.

use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::db::Engine;
use crate::entry::columns::WideColumns;
use crate::entry::get_context::GetContext;
use crate::memtable::sections::Section;
use crate::options::read::{ReadSpec, WriteSpec, has_checksums};
use crate::panics::{Guarded, caught};
use crate::read::blob::BorrowedBlobs;
use crate::read::lookup::Lookup;
use bytes::Bytes;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::ValueType;
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
        for mem in view.memtables() {
            if ctx.done() {
                break;
            }
            mem.get(key, point.sequence, &mut ctx)?;
        }
        let tables = &self.files.tables;
        if !ctx.done() {
            let (version, order, table) = (&view.version, &cf.comparator, spec.table());
            Lookup::new(version, tables, order, key, point.sequence, table).run(&mut ctx)?;
        }
        let blobs = BorrowedBlobs {
            version: &view.version,
            tables,
            reads: spec.blobs(),
            ahead: None,
        };
        if ctx.has_entity() {
            // With all of its columns, though a reader of values sees only one of them.
            if let Some(columns) = ctx.finish_with::<WideColumns>(&blobs)? {
                undo.push(cf.id, ValueType::WideColumnEntity, key, &columns.encode());
            }
            return Ok(());
        }
        match ctx.finish_with::<Bytes>(&blobs)? {
            None => undo.push(cf.id, ValueType::Deletion, key, &[]),
            Some(value) => undo.push(cf.id, ValueType::Value, key, &value),
        }
        Ok(())
    }
}
