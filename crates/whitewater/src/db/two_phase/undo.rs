//! What a rollback writes if the section was inserted when it was prepared.
//!
//! Each key of the section gets again what a reader finds, who passes over the section's undecided
//! numbers: its value, or a deletion. So tables are right without knowing that the section was
//! rolled back. Merge operands are written back as the value that they come to.

use crate::db::Engine;
use crate::memtable::sections::Section;
use crate::options::read::{ReadSpec, WriteSpec, has_checksums};
use std::collections::{BTreeMap, HashSet};
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
        let read = ReadSpec::default();
        let mut seen = HashSet::new();
        for op in section.batch.ops() {
            let Op::Entry { cf, key, .. } = op? else {
                continue;
            };
            let Some(family) = families.get(&cf).filter(|_| seen.insert((cf, key))) else {
                continue;
            };
            match self.get(family, key, &read)? {
                Some(value) => undo.push(cf, ValueType::Value, key, &value),
                None => undo.push(cf, ValueType::Deletion, key, &[]),
            }
        }
        Ok(undo)
    }
}
