//! Estimates that need no data blocks.

use super::level::visit_files;
use crate::version::Version;
use crate::version::table_cache::TableCache;
use std::cmp::Ordering;
use whitewater_storage::key::{InternalComparator, MAX_SEQUENCE, seek_key, user_key};

/// Whether any table of `version` may hold `key`, by key ranges and filters. A table that
/// cannot be opened counts as one that may.
pub(crate) fn may_contain(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
    key: &[u8],
) -> bool {
    let mut found = false;
    let asked = visit_files(version, &comparator.user, key, &mut |file| {
        let open = tables.open(file, comparator, &version.open_with)?;
        found = open.table.may_contain(key);
        Ok(!found)
    });
    found || asked.is_err()
}

/// The approximate number of bytes of table files that hold the user keys `[start, end)`.
pub(crate) fn approximate_size(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
    start: &[u8],
    end: &[u8],
) -> u64 {
    if comparator.compare_user(start, end) != Ordering::Less {
        return 0;
    }
    let before = |key: &[u8]| -> u64 {
        let target = seek_key(key, MAX_SEQUENCE);
        let files = version.levels.iter().flatten();
        files
            .map(|file| {
                if comparator
                    .compare_user(user_key(&file.meta.largest), key)
                    .is_lt()
                {
                    return file.meta.size;
                }
                if comparator
                    .compare_user(key, user_key(&file.meta.smallest))
                    .is_le()
                {
                    return 0;
                }
                let open = tables.open(file, comparator, &version.open_with);
                open.map_or(0, |t| t.table.approximate_offset_of(&target))
            })
            .sum()
    };
    before(end).saturating_sub(before(start))
}
