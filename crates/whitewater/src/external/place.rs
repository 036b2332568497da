//! The levels that tables are ingested into.
//!
//! A table goes as deep as it can, above everything older with keys in its range. The ranges of
//! files count, not the keys in them, so a table that falls between the keys of a file stays
//! above it (RocksDB looks for keys).

use crate::compact::pick::range_is_busy;
use crate::version::Version;
use crate::version::range::KeyRange;
use std::ops::Range;
use whitewater_storage::key::UserComparator;
use whitewater_storage::{Error, Result};

/// The place of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub level: usize,
    /// Whether something older may have the same keys, in the version or among the tables before
    /// it.
    pub overlaps: bool,
}

/// The places of tables with these ranges. Each table is newer than those before it and than
/// all of `version`. It goes to level 0 or to one of `levels`. Levels before these are not in
/// use with dynamic level sizes, and a last one may be kept free.
pub(crate) fn place(
    version: &Version,
    comparator: &UserComparator,
    levels: Range<usize>,
    ranges: &[KeyRange<'_>],
) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::new();
    for range in ranges {
        let mut found = Placed {
            level: 0,
            overlaps: false,
        };
        for level in std::iter::once(0).chain(levels.start.max(1)..levels.end) {
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

/// Checks that tables with these ranges can go to the last level, behind all of `version` and
/// with the sequence number 0. The rules and messages are RocksDB's.
///
/// # Errors
/// `NotSupported` if they overlap each other; `InvalidArgument` if they overlap what is on the
/// last level, or if something above it has the sequence number 0, too.
pub(crate) fn check_behind(
    version: &Version,
    comparator: &UserComparator,
    ranges: &[KeyRange<'_>],
) -> Result<()> {
    for (i, range) in ranges.iter().enumerate() {
        if ranges[..i].iter().any(|r| r.overlaps(comparator, range)) {
            return Err(Error::not_supported(
                "Files with overlapping ranges cannot be ingested with ingestion behind mode.",
            ));
        }
    }
    let Some((last, above)) = version.levels.split_last() else {
        return Err(Error::invalid("there is no level to ingest behind"));
    };
    let deepest = version.levels.len() - 1;
    for range in ranges {
        let taken = !version
            .overlapping_span(deepest, comparator, *range)
            .is_empty();
        if !last.is_empty() && taken {
            return Err(Error::invalid(
                "Can't ingest_behind file as it doesn't fit at the last level!",
            ));
        }
    }
    match above.iter().flatten().find(|f| f.meta.smallest_seqno == 0) {
        None => Ok(()),
        Some(file) => Err(Error::invalid(format_args!(
            "Can't ingest_behind file as despite allow_ingest_behind=true there are files with 0 \
             seqno in database at upper levels: table file #{}",
            file.meta.number
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::TableFile;
    use crate::version::paths::DataPaths;
    use crate::version::testing::{parse_version, range_of};
    use std::sync::Arc;
    use whitewater_storage::ErrorKind;

    fn placed(version: &str, base_level: usize, ranges: &[&str]) -> Vec<(usize, bool)> {
        let version = parse_version(version);
        let owned: Vec<_> = ranges.iter().map(|r| range_of(r)).collect();
        let ranges: Vec<_> = owned.iter().map(|r| r.borrow()).collect();
        let levels = base_level..version.levels.len();
        let placed = place(&version, &UserComparator::Bytewise, levels, &ranges);
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
        // Below level 0, a table goes only to levels that are in use.
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
        let placed = place(&version, &UserComparator::Bytewise, 1..7, &[owned.borrow()]);
        assert_eq!((placed[0].level, placed[0].overlaps), (1, true));
    }

    #[test]
    fn what_is_being_moved_up_stays_below() {
        for to in [0, 3] {
            let version = parse_version("L6: 1:a-c");
            version.levels[6][0].set_job(Some((1, to)));
            let owned = range_of("b-b");
            let placed = place(&version, &UserComparator::Bytewise, 1..7, &[owned.borrow()]);
            let level = to.saturating_sub(1);
            assert_eq!((placed[0].level, placed[0].overlaps), (level, true));
        }
    }

    #[test]
    fn what_goes_behind_needs_room_on_the_last_level() {
        let check = |version: &str, ranges: &[&str]| {
            let version = parse_version(version);
            let owned: Vec<_> = ranges.iter().map(|r| range_of(r)).collect();
            let ranges: Vec<_> = owned.iter().map(|r| r.borrow()).collect();
            let checked = check_behind(&version, &UserComparator::Bytewise, &ranges);
            checked.map_err(|e| e.kind())
        };
        let version = "L0: 9:a-z\nL5: 4:a-z\nL6: 1:c-e 2:k-m";
        assert_eq!(check(version, &["a-b", "f-j", "n-z"]), Ok(()));
        assert_eq!(check("", &["a-b"]), Ok(()));
        let taken = Err(ErrorKind::InvalidArgument);
        assert_eq!(check(version, &["a-b", "d-d"]), taken);
        let overlap = Err(ErrorKind::NotSupported);
        assert_eq!(check(version, &["f-h", "a-b", "g-j"]), overlap);

        let version = parse_version("L6: 1:c-e");
        let mut levels = version.levels.clone();
        let mut zero = levels[6][0].meta.clone();
        zero.smallest_seqno = 0;
        let file = TableFile::new(zero, 4, DataPaths::default().first(), Arc::default());
        levels[4].push(file);
        let version = Version::new(levels, version.open_with.clone());
        let range = range_of("x-z");
        let e = check_behind(&version, &UserComparator::Bytewise, &[range.borrow()]);
        assert!(e.unwrap_err().to_string().contains("0 seqno"));
    }
}
