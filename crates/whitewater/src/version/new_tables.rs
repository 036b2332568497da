//! Tables that a job or a recovery has written, opened before readers see them.
//!
//! So no reader waits until a table is open. RocksDB opens its new tables for another reason, which
//! holds here as well: a table that cannot be read is not recorded, and what it was made of stays.

use super::set::CfVersion;
use super::table_cache::{OpenTable, OpenWith, TableCache};
use std::collections::HashMap;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::InternalComparator;
use whitewater_storage::manifest::FileMetaData;

/// Open tables that no version names yet, by file number.
#[derive(Default)]
pub(crate) struct NewTables(HashMap<u64, Arc<OpenTable>>);

impl NewTables {
    /// Opens the tables `files` as well, each for the level beside it, unless `max_open_files` is a
    /// limit: readers open what they need then.
    ///
    /// # Errors
    /// Those of [`TableCache::open`].
    pub fn open(
        &mut self,
        tables: &TableCache,
        files: &[(u32, FileMetaData)],
        comparator: &InternalComparator,
        with: &OpenWith,
    ) -> Result<()> {
        if tables.keeps_all() {
            for (level, meta) in files {
                let open = tables.open_new(meta, *level as usize, comparator, with)?;
                self.0.insert(meta.number, open);
            }
        }
        Ok(())
    }

    /// Hands over those that the versions `changed`, which are not published yet, name. They belong
    /// to the versions' files alone then, which have their blocks removed from the cache when they
    /// go.
    pub fn hand_over(&mut self, changed: &[CfVersion]) {
        if self.0.is_empty() {
            return;
        }
        let levels = changed.iter().flat_map(|new| &new.current.levels);
        for file in levels.flatten() {
            if let Some(open) = self.0.remove(&file.meta.number) {
                file.set_open(open);
            }
        }
    }
}

/// No version is going to name what is left. Its index and filters may be cached.
impl Drop for NewTables {
    fn drop(&mut self) {
        self.0.values().for_each(|open| open.table.evict_blocks());
    }
}
