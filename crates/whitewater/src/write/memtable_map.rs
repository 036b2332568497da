//! The memtables of a generation.

use crate::column_family::{ColumnFamilyData, no_timestamp};
use crate::memtable::Memtable;
use std::sync::Arc;
use whitewater_storage::Result;

/// The memtables that writes go to, by column family id. Immutable: a switch makes a new
/// map.
#[derive(Debug, Default, Clone)]
pub(crate) struct MemtableMap {
    by_id: Vec<(u32, Arc<Memtable>)>,
    /// The column families that limit successive merges, ids ascending.
    folding: Vec<Arc<ColumnFamilyData>>,
    /// Whether keys of any of them have timestamps.
    timestamps: bool,
    /// Whether any of them may hold keys equal whose bytes differ.
    own_equality: bool,
}

impl MemtableMap {
    /// The memtables of column families, ids ascending.
    pub fn new(families: impl Iterator<Item = (Arc<ColumnFamilyData>, Arc<Memtable>)>) -> Self {
        let mut map = MemtableMap::default();
        for (family, memtable) in families {
            let folds = memtable.limits_merges();
            map.timestamps |= memtable.has_timestamps();
            map.own_equality |= memtable.own_equality().is_some();
            map.by_id.push((family.id, memtable));
            if folds {
                map.folding.push(family);
            }
        }
        debug_assert!(map.by_id.is_sorted_by_key(|(id, _)| *id));
        map
    }

    /// The column families that limit successive merges.
    #[inline]
    pub fn all_folding(&self) -> impl Iterator<Item = &Arc<ColumnFamilyData>> {
        self.folding.iter()
    }

    /// Whether the column family `id` limits successive merges.
    #[inline]
    pub fn folds(&self, id: u32) -> bool {
        self.all_folding().any(|family| family.id == id)
    }

    /// Whether keys of any column family have timestamps.
    #[inline]
    pub fn any_has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Whether any column family may hold keys equal whose bytes differ.
    #[inline]
    pub fn any_has_own_equality(&self) -> bool {
        self.own_equality
    }

    /// Refuses an operation without a timestamp on the column family `id`.
    ///
    /// # Errors
    /// `InvalidArgument` if its keys have timestamps.
    pub fn check_unstamped(&self, id: u32) -> Result<()> {
        let stamped = |m: &&Arc<Memtable>| self.timestamps && m.has_timestamps();
        match self.get(id).filter(stamped) {
            Some(memtable) => Err(no_timestamp(memtable.family())),
            None => Ok(()),
        }
    }

    /// The position of column family `id`.
    #[inline]
    pub fn position(&self, id: u32) -> Option<usize> {
        if self.by_id.first().is_some_and(|(first, _)| *first == id) {
            return Some(0);
        }
        self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    /// The memtable of column family `id`.
    #[inline(always)]
    pub fn get(&self, id: u32) -> Option<&Arc<Memtable>> {
        self.position(id).map(|at| self.at(at))
    }

    /// The memtable at a position.
    #[inline]
    pub fn at(&self, position: usize) -> &Arc<Memtable> {
        &self.by_id[position].1
    }
}
