//! The tables of a version as sources of a look-up or an iterator.
//!
//! A file's bounds are internal keys. A largest key with the largest sequence number and the
//! type of a range tombstone is the exclusive end of one: the file holds nothing of that user
//! key. Files that RocksDB wrote may share a user key with their neighbour in the level; the
//! first of the two has its newer entries.

use super::cover::{HeldTombstones, Tombstones};
use super::level_iter::{self, LevelIterator, OpenCursor};
use crate::perf_context::{self, PerfMetric};
use crate::version::table_cache::{OpenTable, OpenWith, TableCache};
use crate::version::{TableFile, Version};
use std::cmp::Ordering;
use std::sync::Arc;
use whitewater_concurrent::sync::rmw;
use whitewater_storage::Result;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::{
    self, InternalComparator, MAX_SEQUENCE, UserComparator, ValueType, pack_tag,
};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::sst::TableReadOptions;

/// Calls `visit` with the files that may contain `user_key`, newest source first, until it
/// returns `false`.
pub(super) fn visit_files(
    version: &Version,
    comparator: &UserComparator,
    user_key: &[u8],
    visit: &mut dyn FnMut(&TableFile) -> Result<bool>,
) -> Result<()> {
    for (level, files) in version.levels.iter().enumerate() {
        let first = match level {
            0 => 0,
            _ => files.partition_point(|f| is_past(&f.meta, comparator, user_key)),
        };
        for file in &files[first..] {
            if starts_after(&file.meta, comparator, user_key) {
                if level == 0 {
                    continue;
                }
                break;
            }
            if level == 0 && is_past(&file.meta, comparator, user_key) {
                continue;
            }
            if !visit(file)? {
                return Ok(());
            }
            // If a file ends inside the user key, the next one has the key's older entries.
        }
    }
    Ok(())
}

/// Whether `user_key` lies behind the whole file.
pub(super) fn is_past(meta: &FileMetaData, comparator: &UserComparator, user_key: &[u8]) -> bool {
    match comparator.compare_keys(key::user_key(&meta.largest), user_key) {
        Ordering::Less => true,
        Ordering::Equal => ends_exclusively(meta),
        Ordering::Greater => false,
    }
}

/// Whether `user_key` lies before the whole file.
pub(super) fn starts_after(
    meta: &FileMetaData,
    comparator: &UserComparator,
    user_key: &[u8],
) -> bool {
    comparator
        .compare_keys(user_key, key::user_key(&meta.smallest))
        .is_lt()
}

/// Whether the largest key is the exclusive end of a range tombstone.
pub(super) fn ends_exclusively(meta: &FileMetaData) -> bool {
    key::tag(&meta.largest) == pack_tag(MAX_SEQUENCE, ValueType::RangeDeletion as u8)
}

/// Adds an iterator for each level-0 table, but for those outside of `bounds`, and one for each
/// deeper non-empty level, which opens tables as it reaches them. The range tombstones of each are
/// added to `tombstones`, if they are wanted.
///
/// # Errors
/// Errors of opening a table of level 0.
pub(crate) fn add_iterators(
    version: &Arc<Version>,
    tables: &Arc<TableCache>,
    comparator: &InternalComparator,
    options: TableReadOptions,
    bounds: &Bounds,
    iterators: &mut Vec<BoxedIterator>,
    mut tombstones: Option<&mut Vec<HeldTombstones>>,
) -> Result<()> {
    if version.levels.iter().all(Vec::is_empty) {
        return Ok(());
    }
    rmw::shared_writes(2); // the table cache
    let opener = Arc::new(Tables {
        tables: tables.clone(),
        comparator: comparator.clone(),
        options,
    });
    let run = |level, places| {
        rmw::shared_writes(2); // the version
        let (version, opener) = (Arc::clone(version), Arc::clone(&opener));
        LevelIterator::new(version, level, places, comparator.clone(), opener)
    };
    for (index, file) in version.levels.first().into_iter().flatten().enumerate() {
        if level_iter::is_outside(bounds, &file.meta, &comparator.user) {
            continue;
        }
        let open = tables.open_within(file, comparator, &version.open_with, options.limits)?;
        if let (Some(found), Some(fragments)) = (&mut tombstones, &open.tombstones) {
            let (place, fragments) = (iterators.len(), fragments.clone());
            found.push(HeldTombstones::of_table(place, version, index, fragments));
        }
        let cursor = cursor_over(&open, options, None);
        iterators.push(Box::new(run(0, index..index + 1).in_first_file(cursor)));
    }
    for (level, files) in version.levels.iter().enumerate().skip(1) {
        if files.is_empty() {
            continue;
        }
        if let Some(found) = &mut tombstones
            && !version.is_free_of_tombstones(level)
        {
            let (place, opener) = (iterators.len(), Arc::clone(&opener));
            let open_with = version.open_with.clone();
            let find = Box::new(move |file: &TableFile| opener.tombstones_of(file, &open_with));
            found.push(HeldTombstones::of_level(place, version, level, find));
        }
        iterators.push(Box::new(run(level, 0..files.len())));
    }
    Ok(())
}

/// Opens cursors over tables.
struct Tables {
    tables: Arc<TableCache>,
    comparator: InternalComparator,
    options: TableReadOptions,
}

impl Tables {
    /// The range tombstones of `file`. The file is opened unless it is known to have none.
    fn tombstones_of(&self, file: &TableFile, open_with: &OpenWith) -> Result<Tombstones> {
        if file.is_free_of_tombstones() {
            return Ok(None);
        }
        let limits = self.options.limits;
        let open = self
            .tables
            .open_within(file, &self.comparator, open_with, limits)?;
        if open.tombstones.is_none() {
            // The table may have been opened through another version's file.
            file.note_no_tombstones();
        }
        Ok(open.tombstones.clone())
    }
}

impl OpenCursor for Arc<Tables> {
    fn differ_in_prefix(&self, version: &Version, a: &[u8], b: &[u8]) -> bool {
        let prefix = |user_key| {
            let extractor = version.open_with.prefix_extractor.as_ref();
            extractor.and_then(|e| e.prefix(user_key))
        };
        prefix(a).is_some_and(|p| prefix(b) != Some(p))
    }

    fn open_cursor(
        &self,
        version: &Version,
        file: &TableFile,
        used: Option<BoxedIterator>,
    ) -> Result<BoxedIterator> {
        let limits = self.options.limits;
        let open = self
            .tables
            .open_within(file, &self.comparator, &version.open_with, limits)?;
        Ok(cursor_over(&open, self.options, used))
    }
}

/// A cursor over the table: the one that was `used` for another table, or a new one.
fn cursor_over(
    open: &OpenTable,
    options: TableReadOptions,
    used: Option<BoxedIterator>,
) -> BoxedIterator {
    let _timer = perf_context::timer(PerfMetric::NewTableIteratorNanos);
    rmw::shared_writes(2); // the table's reader
    if let Some(mut cursor) = used
        && cursor.reopen(&open.table)
    {
        return cursor;
    }
    open.table.iter(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{exclusive, point, table_file};

    fn visited(version: &Version, user_key: &[u8], stop_at: Option<u64>) -> Vec<u64> {
        let mut numbers = Vec::new();
        visit_files(version, &UserComparator::Bytewise, user_key, &mut |file| {
            numbers.push(file.meta.number);
            Ok(Some(file.meta.number) != stop_at)
        })
        .unwrap();
        numbers
    }

    fn version() -> Version {
        let mut v = Version::empty(4, OpenWith::default());
        v.levels[0] = vec![
            table_file(9, &point(b"c", 90), &point(b"m", 91)),
            table_file(8, &point(b"a", 80), &exclusive(b"f")),
            table_file(7, &point(b"", 70), &point(b"z", 71)),
        ];
        v.levels[1] = vec![
            table_file(6, &point(b"b", 60), &point(b"d", 61)),
            table_file(5, &point(b"d", 59), &point(b"d", 50)),
            table_file(4, &point(b"d", 49), &exclusive(b"h")),
            table_file(3, &point(b"h", 40), &point(b"k", 40)),
        ];
        v.levels[3] = vec![table_file(2, &point(b"e", 1), &point(b"e", 0))];
        v
    }

    #[test]
    fn only_files_around_the_key_are_asked_newest_first() {
        let v = version();
        assert_eq!(visited(&v, b"a", None), [8, 7]);
        assert_eq!(visited(&v, b"c", None), [9, 8, 7, 6]);
        assert_eq!(visited(&v, b"d", None), [9, 8, 7, 6, 5, 4]);
        assert_eq!(visited(&v, b"e", None), [9, 8, 7, 4, 2]);
        assert_eq!(visited(&v, b"f", None), [9, 7, 4]);
        assert_eq!(visited(&v, b"h", None), [9, 7, 3]);
        assert_eq!(visited(&v, b"l", None), [9, 7]);
        assert_eq!(visited(&v, b"zz", None), [0u64; 0]);
        assert_eq!(visited(&v, b"d", Some(8)), [9, 8]);
        assert_eq!(visited(&v, b"d", Some(6)), [9, 8, 7, 6]);
        assert_eq!(
            visited(&Version::empty(0, OpenWith::default()), b"d", None),
            [0u64; 0]
        );
    }

    #[test]
    fn errors_of_a_visit_end_it() {
        let error = whitewater_storage::Error::corruption("planted failure");
        let result = visit_files(&version(), &UserComparator::Bytewise, b"d", &mut |_| {
            Err(error.clone())
        });
        assert_eq!(result, Err(error));
    }
}
