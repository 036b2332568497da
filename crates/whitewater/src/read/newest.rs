//! The newest number of a key in tables.

use super::level::visit_files;
use crate::version::Version;
use crate::version::table_cache::TableCache;
use whitewater_storage::Result;
use whitewater_storage::key::{InternalComparator, MAX_SEQUENCE, SequenceNumber, seek_key};
use whitewater_storage::sst::TableReadOptions;

/// The largest sequence number of an entry of `user_key`, or of a range tombstone over it, in
/// the tables of `version` that may hold numbers above `above`; 0 if there is none. Ends at the
/// first number above `above`.
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
    let options = TableReadOptions::default();
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
        open.table.get(lookup, options, &mut |key, _| {
            newest = newest.max(key.seq);
            Ok(false)
        })?;
        Ok(newest <= above)
    })?;
    Ok(newest)
}
