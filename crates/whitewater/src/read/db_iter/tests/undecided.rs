//! Walks beside entries whose writes were undecided.

use super::*;
use whitewater_concurrent::undecided::{NumberRange, UndecidedRanges};

/// Random ranges of numbers from 1 to about `last`: 0 stands for old versions, which are decided.
fn random_ranges(rng: &mut StdRng, last: u64) -> Arc<UndecidedRanges> {
    let longest = *[1, 3, 40].choose(rng).unwrap();
    let mut ranges = Vec::new();
    let mut first = rng.random_range(1..=last);
    while first <= last {
        let last = first + rng.random_range(0..longest);
        ranges.push(NumberRange { first, last });
        first = last + rng.random_range(1..longest + 2);
    }
    UndecidedRanges::new(&ranges).unwrap()
}

#[test]
fn random_walks_beside_undecided_entries_match_the_model() {
    for seed in 0..3000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        for comparator in comparators() {
            let failures = rng.random_ratio(1, 3);
            let history = History::random(rng, &comparator, failures);
            for _ in 0..3 {
                let sequence = rng.random_range(0..=history.last);
                let undecided = random_ranges(rng, history.last);
                let (lower, upper) = (bound(rng), bound(rng));
                let decided = history.without(&undecided);
                let mut it = DbIter::new(DbIterParts {
                    comparator: comparator.clone(),
                    point: ReadPoint {
                        sequence,
                        undecided: Some(undecided),
                    },
                    bounds: Bounds::new(lower.clone(), upper.clone()),
                    ..parts(history.merged(rng), history.fragments())
                });
                let mut model = Model {
                    comparator: &comparator,
                    shown: decided.scan(sequence, lower.as_deref(), upper.as_deref()),
                    at: None,
                };
                let mut failure = None;
                for _ in 0..30 {
                    if let Some(outcome) = step(rng, &mut it, &mut model) {
                        failure = outcome;
                    }
                    check(&it, &model, failure, seed);
                }
            }
        }
    }
}

/// A seek to the iterator's number would lead back to the first of them.
#[test]
fn undecided_versions_are_passed_once() {
    let mut entries: Vec<(&[u8], u64, ValueType, &[u8])> = Vec::new();
    for seq in 0..1000 {
        for k in [b"a", b"b", b"c"] {
            entries.push((k, seq, ValueType::Value, b"v"));
        }
    }
    let undecided = NumberRange {
        first: 1,
        last: 1000,
    };
    let moves = Arc::default();
    let counting = Counting {
        inner: source(&entries),
        moves: Arc::clone(&moves),
    };
    let mut it = DbIter::new(DbIterParts {
        point: ReadPoint {
            sequence: 500,
            undecided: UndecidedRanges::new(&[undecided]),
        },
        ..parts(Box::new(counting), FragmentedTombstones::default())
    });
    assert_eq!(walk(&mut it, true).len(), 3);
    let moves = moves.load(std::sync::atomic::Ordering::Relaxed);
    assert!(moves < 3 * 500 + 60, "{moves} moves");
}
