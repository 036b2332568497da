use super::*;
use crate::read::testing::{comparators, exclusive, point, table_file};
use crate::version::range::KeyRange;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use std::sync::Mutex;
use whitewater_storage::Error;
use whitewater_storage::rangedel::RangeTombstone;

const KEYS: [&[u8]; 12] = [
    b"",
    b"\0",
    b"a",
    b"a\0",
    b"aa",
    b"ab",
    b"b",
    b"c",
    b"ca",
    b"d",
    b"\xff",
    b"\xff\xff",
];

/// The tombstones of tables by number. A table without tombstones is missing.
type Contents = Arc<HashMap<u64, Vec<RangeTombstone>>>;

fn tombstones(
    rng: &mut StdRng,
    c: &UserComparator,
    seqs: std::ops::Range<u64>,
) -> Vec<RangeTombstone> {
    let one = |rng: &mut StdRng| {
        let mut ends = [0; 2].map(|_| KEYS.choose(rng).unwrap().to_vec());
        ends.sort_by(|a, b| c.compare(a, b));
        let [start, end] = ends;
        RangeTombstone {
            start,
            end,
            seq: rng.random_range(seqs.clone()),
        }
    };
    (0..rng.random_range(0..5)).map(|_| one(rng)).collect()
}

/// Consecutive tables, some of which share a user key, end before a range tombstone does, or
/// leave a gap.
fn level(rng: &mut StdRng, c: &UserComparator, first: u64) -> Vec<Arc<TableFile>> {
    let mut keys = KEYS.to_vec();
    keys.sort_by(|a, b| c.compare(a, b));
    let (mut files, mut at) = (Vec::new(), 0);
    while at < keys.len() {
        at += rng.random_range(0..2);
        let end = at + rng.random_range(0..4);
        let (Some(start), Some(last)) = (keys.get(at), keys.get(end)) else {
            break;
        };
        let ends_before = end > at && rng.random_ratio(1, 3);
        let largest = if ends_before {
            exclusive(last)
        } else {
            point(last, 1)
        };
        let number = first + files.len() as u64;
        files.push(table_file(number, &point(start, 9), &largest));
        let shares = ends_before || rng.random_ratio(1, 4);
        at = if shares && end > at { end } else { end + 1 };
    }
    files
}

/// The answer of the tables around `key`, each restricted to its bounds.
fn naive(
    files: &[Arc<TableFile>],
    all: &Contents,
    c: &UserComparator,
    key: &[u8],
    upto: u64,
) -> u64 {
    let here = files.iter().filter(|f| {
        f.range()
            .overlaps(c, &KeyRange::closed(Some(key), Some(key)))
    });
    let covers = |t: &&RangeTombstone| {
        t.seq <= upto && c.compare(&t.start, key).is_le() && c.compare(key, &t.end).is_lt()
    };
    let found = here.flat_map(|f| all.get(&f.meta.number)).flatten();
    found.filter(covers).map(|t| t.seq).max().unwrap_or(0)
}

/// A level 0 of one table over a sorted level, whose tombstones are older.
fn two_levels(rng: &mut StdRng, c: &UserComparator) -> (Arc<Version>, Contents) {
    let top = level(rng, c, 1).into_iter().take(1).collect();
    let version = Version::new(vec![top, level(rng, c, 10)], Default::default());
    let of = |f: &Arc<TableFile>, rng: &mut StdRng| {
        let seqs = if f.meta.number < 10 { 10..20 } else { 1..10 };
        (f.meta.number, tombstones(rng, c, seqs))
    };
    let files: Vec<_> = version.levels.iter().flatten().cloned().collect();
    let contents = files.iter().map(|f| of(f, rng)).collect();
    (Arc::new(version), Arc::new(contents))
}

/// The cover of both levels, and the tables that it has opened.
fn cover(
    version: &Arc<Version>,
    all: &Contents,
    c: &UserComparator,
    upto: u64,
) -> (Cover, Arc<Mutex<Vec<u64>>>) {
    let fragments = {
        let (all, c) = (all.clone(), c.clone());
        move |number: u64| Arc::new(FragmentedTombstones::new(&all[&number], &c))
    };
    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut sources = Vec::new();
    if let Some(file) = version.levels[0].first() {
        let own = fragments(file.meta.number);
        sources.push(HeldTombstones::of_table(0, version, 0, own));
    }
    let found = asked.clone();
    let find = Box::new(move |file: &TableFile| {
        found.lock().unwrap().push(file.meta.number);
        let own = fragments(file.meta.number);
        Ok((!own.is_empty()).then_some(own))
    });
    sources.push(HeldTombstones::of_level(1, version, 1, find));
    (Cover::new(sources, c.clone(), upto, None), asked)
}

#[test]
fn each_table_counts_within_its_bounds_wherever_one_asks() {
    for seed in 0..3000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        for c in comparators() {
            let (version, all) = two_levels(rng, &c);
            let upto = rng.random_range(1..25);
            let (mut cover, asked) = cover(&version, &all, &c, upto);
            for _ in 0..20 {
                let key = *KEYS.choose(rng).unwrap();
                let expected = version.levels.iter();
                let expected = expected.map(|files| naive(files, &all, &c, key, upto));
                let expected: Vec<u64> = expected.collect();
                let newest = expected.iter().position(|seq| *seq > 0);
                assert_eq!(
                    cover.at(key),
                    Ok(newest.map_or(0, |i| expected[i])),
                    "{seed}"
                );
                assert_eq!(cover.newest_source(), newest, "{seed}");
                let Some(newest) = newest else { continue };
                // That source covers the whole stretch.
                let (start, end) = (cover.stretch(false), cover.stretch(true));
                assert!(is_within(&c, key, start, end), "{seed}");
                for other in KEYS.iter().filter(|key| is_within(&c, key, start, end)) {
                    let there = naive(&version.levels[newest], &all, &c, other, upto);
                    assert!(there > 0, "{seed}");
                }
            }
            let asked = asked.lock().unwrap();
            assert!(asked.iter().all(|number| *number >= 10));
        }
    }
}

#[test]
fn only_tables_around_the_keys_asked_about_are_opened() {
    let c = UserComparator::Bytewise;
    let files = [(b"a", b"c"), (b"e", b"g"), (b"i", b"k"), (b"m", b"o")];
    let files = files.iter().zip(10..);
    let files = files.map(|((start, end), n)| table_file(n, &point(*start, 9), &point(*end, 9)));
    let version = Version::new(vec![Vec::new(), files.collect()], Default::default());
    let all = (10..14).map(|n| (n, Vec::new())).collect();
    let (mut cover, asked) = cover(&Arc::new(version), &Arc::new(all), &c, 100);
    for key in [&b"d"[..], b"f", b"e", b"g", b"h", b"", b"n", b"z", b"h"] {
        assert_eq!(cover.at(key), Ok(0));
    }
    assert_eq!(*asked.lock().unwrap(), [11, 13]);
}

#[test]
fn a_table_that_cannot_be_opened_fails_where_it_is_asked() {
    let c = UserComparator::Bytewise;
    let file = table_file(10, &point(b"f", 9), &point(b"h", 9));
    let version = Arc::new(Version::new(
        vec![Vec::new(), vec![file]],
        Default::default(),
    ));
    let find = |_: &TableFile| Err(Error::corruption("planted failure"));
    let source = HeldTombstones::of_level(0, &version, 1, Box::new(find));
    let mut cover = Cover::new(vec![source], c, 100, None);
    for _ in 0..2 {
        assert_eq!(cover.at(b"a"), Ok(0));
        assert!(cover.at(b"g").is_err());
        assert!(cover.at(b"h").is_err());
        assert_eq!(cover.newest_source(), None);
        assert_eq!(cover.at(b"i"), Ok(0));
    }
}
