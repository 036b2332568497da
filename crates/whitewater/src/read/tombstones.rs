//! The range tombstones of a version's tables, for an iterator.
//!
//! A range tombstone counts only within its file's bounds: outside of them the
//! file's neighbours have their own copy, which may be gone together with what
//! it deleted.
//!
//! An iterator has to know all tombstones before it shows anything, but opens a
//! table of a sorted level only when the walk comes to it. So a file keeps its
//! tombstones once it was opened for them, and a version knows which of its files
//! have any, once it has seen all.
//!
//! A table that cannot be opened is left out, and fails the walks that enter it
//! ([`LevelIterator`](super::level_iter::LevelIterator)): what it deletes lies within
//! its bounds, where no walk gets without entering it. It must not be opened again
//! then, for its tombstones would be missing.

use super::level::ends_exclusively;
use super::level_iter::Bounds;
use super::rangedel::FragmentedTombstones;
use crate::version::{TableFile, Version};
use std::sync::Arc;
use whitewater_storage::key::{self, UserComparator};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Error, Result};

/// Those of one table, if it has any.
pub(super) type Tombstones = Option<Arc<FragmentedTombstones>>;

/// What an iterator is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk<'a> {
    /// To be read from end to end: nothing is begun that cannot be finished.
    Everything,
    /// The user keys from the first bound on and below the second one. Where keys
    /// have timestamps, which bounds lack, it counts for everything.
    Between(Option<&'a [u8]>, Option<&'a [u8]>),
}

impl Walk<'_> {
    /// Whether all of the file lies outside.
    fn passes_by(&self, meta: &FileMetaData, comparator: &UserComparator) -> bool {
        let before = |a: &[u8], b: &[u8]| comparator.compare(a, b).is_lt();
        let (from, to) = self.range(comparator);
        from.is_some_and(|from| before(key::user_key(&meta.largest), from))
            || to.is_some_and(|to| !before(key::user_key(&meta.smallest), to))
    }

    fn range(&self, comparator: &UserComparator) -> (Option<&[u8]>, Option<&[u8]>) {
        match self {
            Walk::Between(from, to) if comparator.timestamp_size() == 0 => (*from, *to),
            _ => (None, None),
        }
    }

    /// The bounds of files' keys.
    pub(super) fn bounds(&self, comparator: &UserComparator) -> Option<Arc<Bounds>> {
        let (from, to) = self.range(comparator);
        (from.is_some() || to.is_some()).then(|| {
            Arc::new(Bounds {
                start: from.map(<[u8]>::to_vec),
                end: to.map(<[u8]>::to_vec),
            })
        })
    }
}

/// A table that could not be opened.
#[derive(Debug)]
pub(super) struct Closed {
    pub level: usize,
    pub index: usize,
    pub error: Error,
}

/// Adds the tombstones of all tables below level 0 that count within `walk`; `open`
/// gives those of one table. Returns which tables it failed for.
pub(super) fn below_level0(
    version: &Version,
    comparator: &UserComparator,
    walk: Walk<'_>,
    open: &dyn Fn(&TableFile) -> Result<Tombstones>,
    tombstones: &mut Vec<RangeTombstone>,
) -> Vec<Closed> {
    let mut add = |level: usize, index: usize, fragments: &FragmentedTombstones| {
        let files = &version.levels[level];
        let file = &files[index];
        if !walk.passes_by(&file.meta, comparator) {
            let later = &files[index + 1..];
            add_clipped(fragments, file, later, comparator, tombstones);
        }
    };
    if let Some(holders) = version.tombstone_holders.get() {
        for (level, index) in holders {
            let known = version.levels[*level][*index].tombstones.get();
            if let Some(Some(fragments)) = known {
                add(*level, *index, fragments);
            }
        }
        return Vec::new();
    }
    let (mut holders, mut all_known) = (Vec::new(), true);
    let mut closed = Vec::new();
    for (level, files) in version.levels.iter().enumerate().skip(1) {
        for (index, file) in files.iter().enumerate() {
            if file.tombstones.get().is_none() && walk.passes_by(&file.meta, comparator) {
                all_known = false;
                continue;
            }
            match open(file) {
                Ok(None) => {}
                Ok(Some(fragments)) => {
                    holders.push((level, index));
                    add(level, index, &fragments);
                }
                Err(error) => closed.push(Closed {
                    level,
                    index,
                    error,
                }),
            }
        }
    }
    if all_known && closed.is_empty() {
        // Others may have found the same.
        let _ = version.tombstone_holders.set(holders);
    }
    closed
}

/// Adds the parts of `fragments` that count, which are those of `file`; `later` are the
/// files behind it in its level, if that is sorted.
pub(super) fn add_clipped(
    fragments: &FragmentedTombstones,
    file: &TableFile,
    later: &[Arc<TableFile>],
    comparator: &UserComparator,
    tombstones: &mut Vec<RangeTombstone>,
) {
    let clip = Clip::new(&file.meta, later, comparator);
    tombstones.extend(fragments.iter().filter_map(|t| clip.apply(t)));
}

/// The user keys within which a file's range tombstones count.
struct Clip<'a> {
    comparator: &'a UserComparator,
    start: &'a [u8],
    /// Exclusive; `None` does not clip.
    end: Option<Vec<u8>>,
}

impl<'a> Clip<'a> {
    /// The clip of the file `meta`; `later` are the files behind it in its
    /// level.
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
            // Such an order may have no next key. No entry of the level lies
            // between the largest key and where the next other key starts.
            later
                .iter()
                .map(|f| key::user_key(&f.meta.smallest))
                .find(|smallest| comparator.compare(smallest, largest).is_gt())
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
        let compare = |a: &[u8], b: &[u8]| self.comparator.compare(a, b);
        if compare(&tombstone.start, self.start).is_lt() {
            tombstone.start = self.start.to_vec();
        }
        if let Some(end) = &self.end
            && compare(end, &tombstone.end).is_lt()
        {
            tombstone.end.clone_from(end);
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
