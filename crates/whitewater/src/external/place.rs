//! The levels that tables go to which are brought in.
//!
//! A table goes as deep as it can, above everything older with keys in its
//! range. What counts are the ranges of files, not the keys in them, so a table
//! that falls between the keys of a file stays above it (RocksDB looks for
//! keys).

use crate::compact::pick::range_is_busy;
use crate::version::Version;
use crate::version::range::KeyRange;
use whitewater_storage::key::UserComparator;

/// Where a table goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub level: usize,
    /// Something older may have the same keys, in the version or among the
    /// tables before it.
    pub overlaps: bool,
}

/// Where tables of these ranges go, each newer than those before it and than
/// all of `version`. Levels between 0 and `base_level` are left out: with
/// dynamic level sizes they are not in use.
pub(crate) fn place(
    version: &Version,
    comparator: &UserComparator,
    base_level: usize,
    ranges: &[KeyRange<'_>],
) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::new();
    for range in ranges {
        let mut found = Placed {
            level: 0,
            overlaps: false,
        };
        for level in (0..version.levels.len()).filter(|&l| l == 0 || l >= base_level) {
            let before = placed.iter().zip(ranges);
            let taken = before
                .filter(|(p, _)| p.level == level)
                .any(|(_, other)| other.overlaps(comparator, range));
            if taken
                || !version.overlapping(level, comparator, *range).is_empty()
                || (level > 0 && range_is_busy(version, comparator, level, *range))
            {
                found.overlaps = true;
                break;
            }
            found.level = level;
        }
        placed.push(found);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::testing::{parse_version, range_of};

    fn placed(version: &str, base_level: usize, ranges: &[&str]) -> Vec<(usize, bool)> {
        let version = parse_version(version);
        let owned: Vec<_> = ranges.iter().map(|r| range_of(r)).collect();
        let ranges: Vec<_> = owned.iter().map(|r| r.borrow()).collect();
        let placed = place(&version, &UserComparator::Bytewise, base_level, &ranges);
        placed.iter().map(|p| (p.level, p.overlaps)).collect()
    }

    #[test]
    fn a_table_goes_below_what_it_does_not_overlap() {
        let version = "L0: 9:c-k\nL1: 1:a-b 2:m-n\nL2: 3:a-c 4:k-p";
        let deepest = parse_version(version).levels.len() - 1;
        for (range, expected) in [
            ("d-e", (0, true)),
            ("a-a", (0, true)),
            ("q-z", (deepest, false)),
            ("l-l", (1, true)),
            ("m-q", (0, true)),
        ] {
            assert_eq!(placed(version, 1, &[range]), [expected], "{range}");
        }
        // Below level 0, only levels in use.
        assert_eq!(placed(version, 2, &["l-l"]), [(0, true)]);
    }

    #[test]
    fn later_tables_stay_above_earlier_ones() {
        let deepest = parse_version("L1: 1:a-b").levels.len() - 1;
        assert_eq!(
            placed("L1: 1:a-b", 1, &["d-f", "g-h", "e-g", "e-e"]),
            [
                (deepest, false),
                (deepest, false),
                (deepest - 1, true),
                (deepest - 2, true)
            ]
        );
        assert_eq!(placed("L0: 1:a-b", 1, &["a-b", "a-b"]), [(0, true); 2]);
    }

    #[test]
    fn what_a_running_compaction_writes_counts() {
        let version = parse_version("L1: 1:a-c 2:x-z\nL2: 3:d-e");
        for file in &version.levels[1] {
            file.set_job(Some((1, 2)));
        }
        let owned = range_of("m-n");
        let placed = place(&version, &UserComparator::Bytewise, 1, &[owned.borrow()]);
        assert_eq!((placed[0].level, placed[0].overlaps), (1, true));
    }

    #[test]
    fn what_is_being_moved_up_stays_below() {
        for to in [0, 3] {
            let version = parse_version("L6: 1:a-c");
            version.levels[6][0].set_job(Some((1, to)));
            let owned = range_of("b-b");
            let placed = place(&version, &UserComparator::Bytewise, 1, &[owned.borrow()]);
            let level = to.saturating_sub(1);
            assert_eq!((placed[0].level, placed[0].overlaps), (level, true));
        }
    }
}
