//! Tables that a job has written, opened before readers see them.
//!
//! So no reader waits until a table is open. RocksDB's jobs open their tables for another reason,
//! which holds here as well: a table that cannot be read is not recorded, and what it was made of
//! stays.

use super::Version;
use super::table_cache::{OpenTable, OpenWith, TableCache};
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::InternalComparator;
use whitewater_storage::manifest::FileMetaData;

/// Open tables that no version names yet.
#[derive(Default)]
pub(crate) struct NewTables(Vec<NewTable>);

struct NewTable {
    level: usize,
    number: u64,
    open: Arc<OpenTable>,
}

impl NewTables {
    /// Opens the tables `files`, each for the level beside it. None if `max_open_files` is a limit:
    /// readers open what they need then.
    ///
    /// # Errors
    /// Those of [`TableCache::open`].
    pub fn open(
        tables: &TableCache,
        files: &[(u32, FileMetaData)],
        comparator: &InternalComparator,
        with: &OpenWith,
    ) -> Result<Self> {
        if !tables.keeps_all() {
            return Ok(NewTables::default());
        }
        let open = |(level, meta): &(u32, FileMetaData)| {
            let level = *level as usize;
            let open = tables.open_new(meta, level, comparator, with)?;
            Ok(NewTable {
                level,
                number: meta.number,
                open,
            })
        };
        files.iter().map(open).collect::<Result<_>>().map(NewTables)
    }

    /// Hands over those that `version` names, which is not published yet. They belong to its files
    /// alone then, which have their blocks removed from the cache when they go.
    pub fn hand_over(&mut self, version: &Version) {
        self.0.retain(|new| {
            let mut files = version.levels.get(new.level).into_iter().flatten();
            let file = files.find(|file| file.meta.number == new.number);
            file.inspect(|file| file.set_open(new.open.clone()))
                .is_none()
        });
    }
}
