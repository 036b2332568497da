//! Estimates that need no data blocks.

use super::level::visit_files;
use crate::version::table_cache::TableCache;
use crate::version::{TableFile, Version};
use std::cmp::Ordering;
use std::sync::Arc;
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

/// How exact [`approximate_size`] is: files that are in a range in part count for half if together
/// they have less than this share of the bytes of those that are in it as a whole. Not above 0: all
/// of them are looked into.
pub(crate) type ErrorMargin = f64;

/// The approximate number of bytes of table files that hold the user keys `[start, end)`.
pub(crate) fn approximate_size(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
    (start, end): (&[u8], &[u8]),
    margin: ErrorMargin,
) -> u64 {
    if comparator.compare_user(start, end) != Ordering::Less {
        return 0;
    }
    let mut whole = 0;
    let mut in_part = Vec::new();
    for file in version.levels.iter().flatten() {
        let smallest = user_key(&file.meta.smallest);
        let largest = user_key(&file.meta.largest);
        if comparator.compare_user(largest, start).is_lt()
            || comparator.compare_user(end, smallest).is_le()
        {
            continue;
        }
        if comparator.compare_user(start, smallest).is_le()
            && comparator.compare_user(largest, end).is_lt()
        {
            whole += file.meta.size;
        } else {
            in_part.push(file);
        }
    }
    let sizes: u64 = in_part.iter().map(|file| file.meta.size).sum();
    if margin > 0.0 && (sizes as f64) < whole as f64 * margin {
        return whole + sizes / 2;
    }
    let share = |file: &&Arc<TableFile>| -> u64 {
        let before = |key: &[u8]| {
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
            let target = seek_key(key, MAX_SEQUENCE);
            open.map_or(0, |t| t.table.approximate_offset_of(&target))
        };
        before(end).saturating_sub(before(start))
    };
    whole + in_part.iter().map(share).sum::<u64>()
}
