//! The tables of a version as sources of a look-up or an iterator.
//!
//! A file's bounds are internal keys. A largest key with the largest sequence
//! number and the type of a range tombstone is the exclusive end of one: the
//! file holds nothing of that user key. Files that RocksDB wrote may share a
//! user key with their neighbour in the level, its newer entries in the first.
//!
//! A range tombstone counts only within its file's bounds: outside of them the
//! file's neighbours have their own copy, which may be gone together with what
//! it deleted.

use super::get::GetContext;
use super::level_iter::{LevelIterator, OpenCursor};
use super::table_cache::{OpenTable, OpenWith, Opened, TableCache};
use crate::perf::{self, PerfMetric};
use crate::version::{TableFile, Version};
use std::cmp::Ordering;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::{
    self, InternalComparator, MAX_SEQUENCE, UserComparator, ValueType, pack_tag,
};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{FilterQuestion, TableReadOptions};

/// Asks the tables of `version` about `user_key` at `seq`: level 0 newest
/// first, then one table per deeper level, until `ctx.done()`. `lookup` is
/// the seek key of `user_key` at the sequence number to read at. If that has a
/// timestamp, older versions of the key count, too.
///
/// # Errors
/// What opening or reading a table reports, and what `ctx` reports.
pub(crate) fn get(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
    user_key: &[u8],
    lookup: &[u8],
    options: TableReadOptions,
    ctx: &mut GetContext<'_>,
) -> Result<()> {
    if ctx.done() || ctx.covered() {
        return Ok(());
    }
    let upto = key::sequence(lookup);
    expect_questions(version, comparator.user.without_timestamp(user_key));
    visit_files(version, &comparator.user, user_key, &mut |file| {
        let open = tables.open_within(file, comparator, &version.open_with, options.limits)?;
        if let Some(tombstones) = &open.tombstones
            && !planted(Bug::TableTombstonesIgnored)
        {
            ctx.cover(tombstones.max_covering(&comparator.user, user_key, upto));
        }
        open.table.get(lookup, options, &mut |key, value| {
            // Of an older version with a timestamp there may be newer entries.
            if key.seq > upto {
                return Ok(true);
            }
            ctx.parsed(key, value)
        })?;
        if ctx.done() {
            ctx.found_at(file.level());
        }
        Ok(!ctx.done() && !ctx.covered())
    })
}

/// Tells the open tables of level 0 that their filters are going to be asked, one
/// after the other: their memory is fetched at once.
fn expect_questions(version: &Version, user_key: &[u8]) {
    let files = version.levels.first().map_or(&[][..], Vec::as_slice);
    if files.len() < 2 {
        return;
    }
    let question = FilterQuestion::new(user_key);
    for open in files.iter().filter_map(|file| file.open.get()) {
        open.table.expect(question);
    }
}

/// Calls `visit` with the files that may know about `user_key`, newest source
/// first, until it returns `false`.
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
            // Behind a file that ends inside the user key, the next one has
            // the key's older entries.
        }
    }
    Ok(())
}

/// Whether `user_key` lies behind all of the file.
fn is_past(meta: &FileMetaData, comparator: &UserComparator, user_key: &[u8]) -> bool {
    match comparator.compare_keys(key::user_key(&meta.largest), user_key) {
        Ordering::Less => true,
        Ordering::Equal => ends_exclusively(meta),
        Ordering::Greater => false,
    }
}

/// Whether `user_key` lies before all of the file.
fn starts_after(meta: &FileMetaData, comparator: &UserComparator, user_key: &[u8]) -> bool {
    comparator
        .compare_keys(user_key, key::user_key(&meta.smallest))
        .is_lt()
}

/// Whether the largest key is the exclusive end of a range tombstone.
fn ends_exclusively(meta: &FileMetaData) -> bool {
    key::tag(&meta.largest) == pack_tag(MAX_SEQUENCE, ValueType::RangeDeletion as u8)
}

/// Adds an iterator for each level-0 table and one per deeper non-empty level,
/// and the range tombstones of all tables, clipped to their files' bounds.
///
/// # Errors
/// What opening a table reports.
pub(crate) fn add_iterators(
    version: &Arc<Version>,
    tables: &Arc<TableCache>,
    comparator: &InternalComparator,
    options: TableReadOptions,
    iterators: &mut Vec<BoxedIterator>,
    tombstones: &mut Vec<RangeTombstone>,
) -> Result<()> {
    let opener = Tables {
        tables: tables.clone(),
        comparator: comparator.clone(),
        open_with: version.open_with.clone(),
        options,
    };
    for (level, files) in version.levels.iter().enumerate() {
        for (i, file) in files.iter().enumerate() {
            let open = opener.open(file)?;
            if let Some(fragments) = &open.tombstones {
                let later = &files[i + 1..];
                let later = if level == 0 { &[] } else { later };
                let clip = Clip::new(&file.meta, later, &comparator.user);
                tombstones.extend(fragments.iter().filter_map(|t| clip.apply(t)));
            }
            if level == 0 {
                iterators.push(new_cursor(&open, options));
            }
        }
        if level > 0 && !files.is_empty() {
            iterators.push(Box::new(LevelIterator::new(
                version.clone(),
                level,
                comparator.clone(),
                opener.clone(),
            )));
        }
    }
    Ok(())
}

/// Opens cursors over tables.
#[derive(Clone)]
struct Tables {
    tables: Arc<TableCache>,
    comparator: InternalComparator,
    open_with: OpenWith,
    options: TableReadOptions,
}

impl Tables {
    fn open(&self, file: &TableFile) -> Result<Arc<OpenTable>> {
        let limits = self.options.limits;
        self.tables
            .open_within(file, &self.comparator, &self.open_with, limits)
            .map(Opened::share)
    }
}

impl OpenCursor for Tables {
    fn differ_in_prefix(&self, a: &[u8], b: &[u8]) -> bool {
        let prefix = |user_key| {
            let extractor = self.open_with.prefix_extractor.as_ref();
            extractor.and_then(|e| e.prefix(user_key))
        };
        prefix(a).is_some_and(|p| prefix(b) != Some(p))
    }

    fn open_cursor(&self, file: &TableFile) -> Result<BoxedIterator> {
        let open = self.open(file)?;
        Ok(new_cursor(&open, self.options))
    }
}

fn new_cursor(open: &OpenTable, options: TableReadOptions) -> BoxedIterator {
    let _timer = perf::timer(PerfMetric::NewTableIteratorNanos);
    open.table.iter(options)
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
    use crate::read::testing::{comparators, table_file};
    use whitewater_storage::key::{append_internal_key, internal_key};

    fn point(user: &[u8], seq: u64) -> Vec<u8> {
        internal_key(user, seq, ValueType::Value)
    }

    /// The largest key of a file that ends with a range tombstone to `user`.
    fn exclusive(user: &[u8]) -> Vec<u8> {
        let mut k = Vec::new();
        append_internal_key(&mut k, user, MAX_SEQUENCE, ValueType::RangeDeletion as u8);
        k
    }

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
