//! Computing the result of a merge, for a write that stores the value in its place
//! (`max_successive_merges`).
//!
//! The key is read at the number before the merge's own, so that the read sees everything
//! written before, including earlier entries of the same batch, which no other thread sees
//! yet. Only memory is read: the memtables, and the key ranges and filters of tables, which
//! may tell that a table has nothing of the key. If a table may hold the value, nothing is
//! known (RocksDB would look into its block cache), and the operand is stored unchanged. It
//! is also stored unchanged if the merge fails.
//!
//! Invariant: when a fold begins, everything before its batch is in the memtables
//! (`WriteFlags::reads_own_prefix`). The view that is pinned after that has the memtable
//! that is written to, since that is not flushed before its writes are visible, and so it
//! has everything below the number.

use super::Engine;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::entry::blobs::NoBlobs;
use crate::entry::check_lengths;
use crate::entry::columns::WideColumns;
use crate::entry::get_context::GetContext;
use crate::memtable::{Fold, Memtable};
use crate::read::estimate;
use crate::write::MemtableMap;
use bytes::Bytes;
use std::ptr;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::{SequenceNumber, ValueType};

/// Folds merges into the memtables of one generation.
pub(super) struct Folding<'a> {
    engine: &'a Engine,
    memtables: &'a MemtableMap,
}

impl<'a> Folding<'a> {
    pub fn new(engine: &'a Engine, memtables: &'a MemtableMap) -> Self {
        Folding { engine, memtables }
    }

    /// The column family that `memtable` belongs to.
    fn family(&self, memtable: &Memtable) -> Option<&Arc<ColumnFamilyData>> {
        let mut families = self.memtables.all_folding();
        families.find(|family| {
            let of_family = self.memtables.get(family.id);
            of_family.is_some_and(|m| ptr::eq(&raw const **m, memtable))
        })
    }
}

impl Fold for Folding<'_> {
    fn fold(
        &self,
        memtable: &Memtable,
        user_key: &[u8],
        operand: &[u8],
        seq: SequenceNumber,
    ) -> Option<(ValueType, Bytes)> {
        let family = self.family(memtable)?;
        let view = family.pin();
        let operator = view.options.merge_operator.as_deref()?;
        if !holds(&view, memtable) {
            debug_assert!(
                family.is_dropped(),
                "a memtable that writes go to is in view"
            );
            return None;
        }
        let mut ctx = GetContext::new(user_key, Some(operator)).of_family(&family.name);
        let own = || Bytes::copy_from_slice(operand);
        ctx.entry(seq, ValueType::Merge, own).ok()?;
        for older in view.memtables() {
            older.get(user_key, seq - 1, &mut ctx).ok()?;
            if ctx.done() || ctx.covered() {
                break;
            }
        }
        if !ctx.done() && !ctx.covered() {
            let tables = &self.engine.files.tables;
            if estimate::may_contain(&view.version, tables, &family.comparator, user_key) {
                return None;
            }
        }
        // The write has reserved its place, so flushes wait for it.
        let ty = match ctx.has_entity() {
            true => ValueType::WideColumnEntity,
            false => ValueType::Value,
        };
        let value = self.engine.on_own_thread(|| folded(ctx)).ok()??;
        check_lengths(user_key, &value).ok()?;
        Some((ty, value))
    }
}

/// What is stored for the key of `ctx`: its value, or its entity with the merged default column.
fn folded(mut ctx: GetContext<'_>) -> Result<Option<Bytes>> {
    if !ctx.has_entity() {
        return ctx.finish();
    }
    let columns = ctx.finish_with::<WideColumns>(&NoBlobs)?;
    Ok(columns.map(|columns| columns.encode().into()))
}

/// Whether `memtable` is a memtable of the view.
fn holds(view: &SuperVersion, memtable: &Memtable) -> bool {
    let mut all = view.memtables();
    all.any(|m| ptr::eq(&raw const **m, memtable))
}
