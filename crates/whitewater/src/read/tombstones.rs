//! The range tombstones of a version's tables, for a job.
//!
//! A range tombstone counts only within its file's bounds. Outside of them, the file's
//! neighbours have their own copy, which may be gone together with what it deleted. For
//! iterators, [`cover`](super::cover) takes care of that.

use super::level::ends_exclusively;
use crate::entry::range_tombstones::FragmentedTombstones;
use crate::version::table_cache::TableCache;
use crate::version::{TableFile, Version};
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::{self, InternalComparator, UserComparator};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::rangedel::RangeTombstone;

/// The range tombstones of all tables of `version`, clipped to their files' bounds.
///
/// # Errors
/// Errors of opening a table.
pub(crate) fn all_tombstones(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
) -> Result<Vec<RangeTombstone>> {
    let mut all = Vec::new();
    for (level, files) in version.levels.iter().enumerate() {
        for (index, file) in files.iter().enumerate() {
            let open = tables.open(file, comparator, &version.open_with)?;
            if let Some(fragments) = &open.tombstones {
                let later = match level {
                    0 => &[][..],
                    _ => &files[index + 1..],
                };
                add_clipped(fragments, file, later, &comparator.user, &mut all);
            }
        }
    }
    Ok(all)
}

/// Adds the parts of `fragments`, which belong to `file`, that count. `later` are the files
/// behind it in its level, if the level is sorted.
fn add_clipped(
    fragments: &FragmentedTombstones,
    file: &TableFile,
    later: &[Arc<TableFile>],
    comparator: &UserComparator,
    tombstones: &mut Vec<RangeTombstone>,
) {
    let clip = Clip::new(&file.meta, later, comparator);
    tombstones.extend(fragments.iter(comparator).filter_map(|t| clip.apply(t)));
}

/// The user keys within which a file's range tombstones count.
struct Clip<'a> {
    comparator: &'a UserComparator,
    start: &'a [u8],
    /// The exclusive end; `None` does not clip.
    end: Option<Vec<u8>>,
}

impl<'a> Clip<'a> {
    /// The clip of the file `meta`. `later` are the files behind it in its level.
    fn new(
        meta: &'a FileMetaData,
        later: &[Arc<TableFile>],
        comparator: &'a UserComparator,
    ) -> Self {
        let largest = key::user_key(&meta.largest);
        let end = if ends_exclusively(meta) {
            Some(largest.to_vec())
        } else if matches!(comparator, UserComparator::Bytewise) {
            Some([largest, &[0]].concat()) // the next key after the largest
        } else {
            // Any other order may have no next key. No entry of the level lies between the largest
            // key and the start of the next different key.
            later
                .iter()
                .map(|f| key::user_key(&f.meta.smallest))
                .find(|smallest| comparator.compare_keys(smallest, largest).is_gt())
                .map(<[u8]>::to_vec)
        };
        Clip {
            comparator,
            start: key::user_key(&meta.smallest),
            end,
        }
    }

    /// The part of `tombstone` within the bounds.
    fn apply(&self, mut tombstone: RangeTombstone) -> Option<RangeTombstone> {
        let compare = |a: &[u8], b: &[u8]| self.comparator.compare_keys(a, b);
        let at_its_time = |key: &[u8]| self.comparator.with_timestamp_of(key, &tombstone.start);
        if let Some(end) = &self.end
            && compare(end, &tombstone.end).is_lt()
        {
            tombstone.end = at_its_time(end);
        }
        if compare(&tombstone.start, self.start).is_lt() {
            tombstone.start = at_its_time(self.start);
        }
        compare(&tombstone.start, &tombstone.end)
            .is_lt()
            .then_some(tombstone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{comparators, exclusive, point, table_file};

    fn clip(
        file: &TableFile,
        later: &[Arc<TableFile>],
        c: &UserComparator,
        (start, end): (&[u8], &[u8]),
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let tombstone = RangeTombstone {
            start: start.to_vec(),
            end: end.to_vec(),
            seq: 5,
        };
        Clip::new(&file.meta, later, c)
            .apply(tombstone)
            .map(|t| (t.start, t.end))
    }

    #[test]
    fn tombstones_are_clipped_to_their_file() {
        let bytewise = &UserComparator::Bytewise;
        let own = |start: &[u8], end: &[u8]| Some((start.to_vec(), end.to_vec()));
        let ends_at_point = table_file(1, &point(b"c", 9), &point(b"m", 9));
        let f = &ends_at_point;
        assert_eq!(clip(f, &[], bytewise, (b"a", b"z")), own(b"c", b"m\0"));
        assert_eq!(clip(f, &[], bytewise, (b"d", b"e")), own(b"d", b"e"));
        assert_eq!(clip(f, &[], bytewise, (b"a", b"c")), None);
        assert_eq!(clip(f, &[], bytewise, (b"n", b"z")), None);
        let ends_at_tombstone = table_file(1, &point(b"c", 9), &exclusive(b"m"));
        let f = &ends_at_tombstone;
        assert_eq!(clip(f, &[], bytewise, (b"a", b"z")), own(b"c", b"m"));
        assert_eq!(clip(f, &[], bytewise, (b"m", b"z")), None);
    }

    #[test]
    fn orders_without_a_next_key_clip_at_the_next_file() {
        let [_, reverse, _] = &comparators();
        let file = table_file(1, &point(b"m", 9), &point(b"c", 9));
        let shares = table_file(2, &point(b"c", 8), &point(b"c", 7));
        let later = [shares, table_file(3, &point(b"b", 9), &point(b"a", 9))];
        let own = |start: &[u8], end: &[u8]| Some((start.to_vec(), end.to_vec()));
        let range = (&b"z"[..], &b""[..]);
        assert_eq!(clip(&file, &later, reverse, range), own(b"m", b"b"));
        assert_eq!(clip(&file, &[], reverse, range), own(b"m", b""));
    }
}
