//! When a range is known to be empty, and how far.

use super::*;

fn walk<'a>(start: &'a [u8], end: &'a [u8], point: SequenceNumber) -> Walk<'a> {
    Walk {
        cf: 0,
        comparator: &UserComparator::Bytewise,
        start,
        end,
        is_first: false,
        is_last: false,
        passed: LONG_WALK,
        point,
    }
}

fn is_known(ranges: &EmptyRanges, key: &[u8], point: SequenceNumber) -> bool {
    (ranges.0.list().iter()).any(|r| r.holds(key) && r.is_empty_at(point))
}

/// Begins with a last number of 20, and walks.
fn walk_over(ranges: &EmptyRanges, start: &[u8], end: &[u8], point: SequenceNumber) {
    let list = ranges.begin(|| Some(20)).unwrap_or_default();
    ranges.walked(&walk(start, end, point), &list);
}

/// The range from `b` to `m`, known to be empty from number 20 on.
fn known() -> EmptyRanges {
    let ranges = EmptyRanges::default();
    walk_over(&ranges, b"b", b"m", 10);
    walk_over(&ranges, b"b", b"m", 20);
    ranges
}

#[test]
fn a_range_is_known_after_a_second_walk_that_began_when_it_was_watched() {
    let ranges = EmptyRanges::default();
    assert!(ranges.begin(|| Some(20)).is_none());
    ranges.walked(&walk(b"b", b"m", 10), &[]);
    let unwatched = ranges.begin(|| None).expect("there is one");
    ranges.walked(&walk(b"b", b"m", 20), &unwatched);
    assert!(
        !is_known(&ranges, b"c", SequenceNumber::MAX - 1),
        "nobody watches"
    );
    walk_over(&ranges, b"b", b"m", 19);
    assert!(
        !is_known(&ranges, b"c", 30),
        "number 20 may have been missed"
    );
    walk_over(&ranges, b"c", b"m", 20);
    assert!(!is_known(&ranges, b"c", 30), "b was not walked over");
    ranges.walked(&walk(b"a", b"n", 20), &[]);
    assert!(!is_known(&ranges, b"c", 30), "the iterator is older");
    walk_over(&ranges, b"a", b"n", 20);
    assert!(is_known(&ranges, b"b", 20) && is_known(&ranges, b"lll", 20));
    assert!(!is_known(&ranges, b"n", 20) && !is_known(&ranges, b"A", 20));
    assert!(
        !is_known(&ranges, b"c", 19),
        "an older snapshot may see keys"
    );
}

#[test]
fn a_put_ends_the_range_that_it_is_in_and_a_deletion_does_not() {
    let ranges = known();
    ranges.note(0, ValueType::Deletion, b"c");
    ranges.note(1, ValueType::Value, b"c");
    ranges.note(0, ValueType::Value, b"m");
    assert!(is_known(&ranges, b"c", 20));
    ranges.note(0, ValueType::Merge, b"c");
    assert!(!is_known(&ranges, b"c", 30));
    assert!(!ranges.any());
}

/// Begins with a last number of 20, and walks over a few keys.
fn step(ranges: &EmptyRanges, start: &[u8], end: &[u8], point: SequenceNumber) {
    let list = ranges.begin(|| Some(20)).unwrap_or_default();
    let passed = EXTENSION;
    let walk = Walk {
        passed,
        ..walk(start, end, point)
    };
    ranges.walked(&walk, &list);
}

#[test]
fn a_range_is_extended_at_both_ends_by_short_walks_up_to_what_was_put() {
    let ranges = known();
    step(&ranges, b"b", b"n", 30);
    step(&ranges, b"a", b"n", 40);
    assert_eq!(ranges.0.list().len(), 1);
    assert!(is_known(&ranges, b"a", 40) && is_known(&ranges, b"mm", 40));
    assert!(!is_known(&ranges, b"a", 39), "found at 40");
    ranges.note(0, ValueType::Value, b"s");
    ranges.note(0, ValueType::Value, b"p");
    ranges.note(0, ValueType::Value, b"q");
    ranges.note(0, ValueType::Value, b"A");
    step(&ranges, b"a", b"pp", 50);
    step(&ranges, b"A", b"o", 50);
    assert!(!is_known(&ranges, b"n", 50), "p and A were put");
    step(&ranges, b"AA", b"p", 50);
    assert!(is_known(&ranges, b"AA", 50) && is_known(&ranges, b"o", 50));
    ranges.note(0, ValueType::Value, b"n");
    assert!(!is_known(&ranges, b"AA", 60), "n is in the extension");
}

#[test]
fn an_iterator_goes_on_with_the_range_that_it_began_with_when_that_is_extended() {
    let ranges = known();
    let begun_with = ranges.begin(|| Some(20)).expect("there is one");
    step(&ranges, b"b", b"n", 30);
    assert!(begun_with[0].is_empty_at(20));
    ranges.note(0, ValueType::Value, b"mm");
    assert!(!begun_with[0].is_empty_at(20));
}

/// Begins with a last number of 20, and walks from the first key of all, or from the last one.
fn walk_from_the_end(ranges: &EmptyRanges, start: &[u8], end: &[u8], forward: bool) {
    let list = ranges.begin(|| Some(20)).unwrap_or_default();
    let walk = Walk {
        is_first: forward,
        is_last: !forward,
        ..walk(start, end, 30)
    };
    ranges.walked(&walk, &list);
}

fn at_the_end(ranges: &EmptyRanges, forward: bool, point: SequenceNumber) -> bool {
    let list = ranges.begin(|| Some(20)).unwrap_or_default();
    ranges.at_the_end(&list, 0, forward, point).is_some()
}

#[test]
fn nothing_is_known_before_a_range_but_by_walks_from_the_first_key() {
    for forward in [false, true] {
        let ranges = known();
        assert!(!at_the_end(&ranges, forward, 30), "b was sought");
        walk_from_the_end(&ranges, b"b", b"m", forward);
        assert!(at_the_end(&ranges, forward, 30));
        assert!(!at_the_end(&ranges, forward, 29), "found at 30");
        assert!(!at_the_end(&ranges, !forward, 30));
        assert_eq!(ranges.0.list().len(), 1);
        step(&ranges, b"a", b"n", 40);
        assert!(!is_known(&ranges, b"a", 40), "the walk does not confirm it");

        // A reader that began before the put, and takes its point after it.
        let list = ranges.begin(|| Some(20)).expect("there is one");
        ranges.note(0, ValueType::Deletion, b"a");
        ranges.note(0, ValueType::Deletion, b"p");
        assert!(ranges.at_the_end(&list, 0, forward, 40).is_some());
        ranges.note(0, ValueType::Value, if forward { b"p" } else { b"a" });
        assert!(ranges.at_the_end(&list, 0, forward, 40).is_some());
        ranges.note(0, ValueType::Value, if forward { b"a" } else { b"p" });
        assert!(ranges.at_the_end(&list, 0, forward, 40).is_none());
        assert!(is_known(&ranges, b"b", 40), "the range itself stays");
        walk_from_the_end(&ranges, b"b", b"m", forward);
        assert!(!at_the_end(&ranges, forward, 40), "something was put there");
    }
}

/// A reader at an older point that extends a range, whose present form says that it is the first,
/// has not found that at its point.
#[test]
fn an_extension_says_of_the_ends_only_what_its_walk_has_found() {
    let ranges = known();
    let begun_with = ranges.begin(|| Some(20)).expect("there is one");
    walk_from_the_end(&ranges, b"b", b"m", true);
    assert!(at_the_end(&ranges, true, 30) && !at_the_end(&ranges, true, 25));
    let older = Walk {
        passed: EXTENSION,
        ..walk(b"a", b"n", 25)
    };
    ranges.walked(&older, &begun_with);
    assert!(is_known(&ranges, b"a", 25));
    assert!(!at_the_end(&ranges, true, 25));
}

#[test]
fn a_range_proposed_by_a_walk_from_the_first_key_is_known_by_another_such_walk() {
    let ranges = EmptyRanges::default();
    for _ in 0..2 {
        assert!(!at_the_end(&ranges, true, 30));
        walk_from_the_end(&ranges, b"b", b"m", true);
    }
    assert!(at_the_end(&ranges, true, 30));
    let ranges = EmptyRanges::default();
    walk_from_the_end(&ranges, b"b", b"m", true);
    walk_over(&ranges, b"b", b"m", 30);
    assert!(!is_known(&ranges, b"c", 30) && !at_the_end(&ranges, true, 30));
}

#[test]
fn nothing_is_known_from_before_a_suspension() {
    let ranges = known();
    let before = ranges.begin(|| Some(20)).expect("there is one");
    let suspended = ranges.suspend();
    assert!(!before[0].is_empty_at(30));
    ranges.walked(&walk(b"b", b"m", 30), &before);
    assert!(!ranges.any(), "nothing is proposed meanwhile");
    drop(suspended);
    walk_over(&ranges, b"b", b"m", 30);
    assert!(ranges.any());
    assert!(!is_known(&ranges, b"c", 30));
}

#[test]
fn the_list_is_bounded_and_what_leaves_it_has_ended() {
    let ranges = known();
    let first = ranges.0.list()[0].clone();
    for i in 0..MOST as u8 {
        walk_over(&ranges, &[b'n', i], &[b'n', i, 1], 30);
    }
    assert_eq!(ranges.0.list().len(), MOST);
    assert!(!first.is_empty_at(30));
    // A queue takes few places, even if the key behind a range is always put after it is found.
    for i in 0..=MOST as u8 {
        walk_over(&ranges, b"q", &[b'q', i], 30);
        ranges.note(0, ValueType::Value, &[b'q', i]);
    }
    let list = ranges.0.list();
    let of_queue = list.iter().filter(|r| r.start == b"q");
    assert_eq!(of_queue.count(), MOST_COVERED);
}
