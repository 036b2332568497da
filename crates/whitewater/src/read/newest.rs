//! The newest number of a key in tables.

use super::level::visit_files;
use crate::version::Version;
use crate::version::table_cache::TableCache;
use std::borrow::Cow;
use whitewater_storage::Result;
use whitewater_storage::key::{InternalComparator, MAX_SEQUENCE, SequenceNumber, seek_key};
use whitewater_storage::sst::{ExpectedBlock, FilterQuery, TableReadOptions};

/// The largest sequence number of an entry of `user_key`, given without timestamp, or of a range
/// tombstone over it, in the tables of `version` that may hold numbers above `above`; 0 if there
/// is none. Ends at the first number above `above`.
///
/// # Errors
/// Errors of opening or reading a table.
pub(crate) fn newest_number(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
    user_key: &[u8],
    above: SequenceNumber,
) -> Result<SequenceNumber> {
    let (options, nowhere) = (TableReadOptions::default(), ExpectedBlock::default());
    let query = FilterQuery::new(user_key);
    let first = first_version(comparator, user_key);
    let user_key = &first[..];
    let mut lookup = None;
    let mut newest = 0;
    visit_files(version, &comparator.user, user_key, &mut |file| {
        if file.meta.largest_seqno <= above {
            return Ok(true);
        }
        let open = tables.open_within(file, comparator, &version.open_with, options.limits)?;
        if let Some(tombstones) = &open.tombstones {
            let covering = tombstones.max_covering(&comparator.user, user_key, MAX_SEQUENCE);
            newest = newest.max(covering);
        }
        // Mostly no table is looked at.
        let lookup = lookup.get_or_insert_with(|| seek_key(user_key, MAX_SEQUENCE));
        (open.table).get_asking(&query, lookup, nowhere, options, &mut |key, _| {
            newest = newest.max(key.seq);
            Ok(false)
        })?;
        Ok(newest <= above)
    })?;
    Ok(newest)
}

/// Whether the newest version of `key`, given without timestamp, or a range tombstone over it is
/// above `time` in the tables of `version`.
///
/// # Errors
/// Errors of opening or reading a table.
pub(crate) fn newer_version(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
    key: &[u8],
    time: &[u8],
) -> Result<bool> {
    let (options, nowhere) = (TableReadOptions::default(), ExpectedBlock::default());
    let user = &comparator.user;
    let query = FilterQuery::new(key);
    let first = first_version(comparator, key);
    let lookup = seek_key(&first, MAX_SEQUENCE);
    let mut newer = None;
    visit_files(version, user, &first, &mut |file| {
        let open = tables.open_within(file, comparator, &version.open_with, options.limits)?;
        if let Some(tombstones) = &open.tombstones {
            newer = tombstones.newer_than(user, &first, time);
        }
        (open.table).get_asking(&query, &lookup, nowhere, options, &mut |key, _| {
            let own = user.timestamp(key.user_key);
            let is_newer = user.compare_timestamps(own, time).is_gt();
            newer = Some(newer == Some(true) || is_newer);
            Ok(false)
        })?;
        Ok(newer.is_none())
    })?;
    Ok(newer.unwrap_or(false))
}

/// Where the versions of `key` begin, which is given without timestamp.
fn first_version<'k>(comparator: &InternalComparator, key: &'k [u8]) -> Cow<'k, [u8]> {
    match comparator.user.timestamp_size() {
        0 => Cow::Borrowed(key),
        _ => Cow::Owned(comparator.user.first_version(key)),
    }
}
