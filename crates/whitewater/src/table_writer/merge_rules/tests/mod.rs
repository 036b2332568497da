//! The rules one by one, and random histories; `undecided` has those about pinned entries.

mod undecided;

use super::*;
use crate::entry::MAX_ENTRY;
use crate::entry::blobs::Blobs;
use crate::operators::compaction_filter::{CompactionFilterContext, EntryFilter, FilterSource};
use crate::operators::merge::MergeOperator;
use crate::read::testing::{Append, VecIterator};
use crate::snapshots::Live;
use crate::table_writer::source::Part;
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use whitewater_concurrent::undecided::{NumberRange, UndecidedRanges};
use whitewater_storage::blob::BlobIndex;
use whitewater_storage::entity;
use whitewater_storage::key::{InternalComparator, MAX_SEQUENCE, user_key};
use whitewater_storage::rangedel::RangeTombstone;

/// An entry as tests write it: key, sequence number, type, value.
type Entry = (Vec<u8>, SequenceNumber, ValueType, Vec<u8>);

/// Parses `a5=x` (put), `a5+x` (merge), `a5-` (delete), `a5!` (single delete), `a5#x` (a blob
/// reference). Keys are one letter.
fn parse(text: &str) -> Vec<Entry> {
    let entry = |word: &str| {
        let op = word.find(['=', '+', '-', '!', '#']).unwrap();
        let ty = match &word[op..=op] {
            "=" => ValueType::Value,
            "+" => ValueType::Merge,
            "-" => ValueType::Deletion,
            "!" => ValueType::SingleDeletion,
            _ => ValueType::BlobIndex,
        };
        let key = word.as_bytes()[..1].to_vec();
        let seq = word[1..op].parse().unwrap();
        (key, seq, ty, word.as_bytes()[op + 1..].to_vec())
    };
    text.split_whitespace().map(entry).collect()
}

fn print(entries: &[Entry]) -> String {
    let one = |(key, seq, ty, value): &Entry| {
        let op = match ty {
            ValueType::Value => "=",
            ValueType::Merge => "+",
            ValueType::Deletion => "-",
            ValueType::SingleDeletion => "!",
            _ => "#",
        };
        let text = String::from_utf8_lossy;
        format!("{}{seq}{op}{}", text(key), text(value))
    };
    entries.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Parses `a-c@7`.
fn parse_tombstones(text: &str) -> Vec<RangeTombstone> {
    let one = |word: &str| {
        let (range, seq) = word.split_once('@').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        RangeTombstone {
            start: start.as_bytes().to_vec(),
            end: end.as_bytes().to_vec(),
            seq: seq.parse().unwrap(),
        }
    };
    text.split_whitespace().map(one).collect()
}

/// The circumstances of a merge.
#[derive(Default)]
struct Case<'a> {
    snapshots: &'a [SequenceNumber],
    /// The oldest write-conflict boundary, if there is one.
    boundary: Option<SequenceNumber>,
    /// The numbers that are pinned, if there are some.
    pinned: Option<Arc<UndecidedRanges>>,
    bottommost: bool,
    /// Keys that have older entries below.
    below: BTreeSet<Vec<u8>>,
    no_operator: bool,
    /// Whether merges result in more than fits into a table.
    too_large: bool,
    /// The compaction filter, if there is one.
    filter: Option<&'a dyn FilterSource>,
}

fn whole(comparator: &InternalComparator, source: VecIterator) -> Source<'_> {
    Source::new(Box::new(source), comparator, Part::default(), [&NEVER; 2])
}

static NEVER: AtomicBool = AtomicBool::new(false);

fn active(source: &dyn FilterSource) -> ActiveFilter<'_> {
    let context = CompactionFilterContext {
        is_full_compaction: false,
        is_manual_compaction: false,
    };
    ActiveFilter::start(source, context, 3).unwrap()
}

fn run(
    case: &Case<'_>,
    entries: &[Entry],
    tombstones: &[RangeTombstone],
) -> Result<(Vec<Entry>, Vec<RangeTombstone>)> {
    let comparator = InternalComparator::default();
    let pinned = case.pinned.as_deref();
    let tombstones = Tombstones::new(tombstones.to_vec(), pinned, &comparator.user);
    let encoded = entries
        .iter()
        .map(|(key, seq, ty, value)| (internal_key(key, *seq, *ty), value.clone()));
    let source = VecIterator::new(comparator.clone(), encoded.collect());
    let boundary = case.boundary.unwrap_or(MAX_SEQUENCE);
    let rules = Rules {
        comparator: &comparator,
        snapshots: case.snapshots,
        boundary: Live::new(Vec::new(), case.pinned.clone(), boundary).boundary,
        pinned,
        tombstones: &tombstones,
        family: "default",
        merge_operator: match case {
            _ if case.no_operator => None,
            _ if case.too_large => Some(&TooLarge),
            _ => Some(&Append),
        },
        blobs: None,
        inline_below: 0,
        bottommost: case.bottommost,
        key_not_below: &|key| !case.below.contains(key),
        statistics: None,
        history_low: &[],
        history_upto: &[],
    };
    let kept = rules.kept_tombstones();
    let mut it = CompactionIter::new(rules, case.filter.map(active), whole(&comparator, source));
    let mut out: Vec<Entry> = Vec::new();
    let mut last: Option<Vec<u8>> = None;
    it.seek_to_first()?;
    while it.valid() {
        let parsed = parse_internal_key(it.key())?;
        let value = it.value().to_vec();
        out.push((parsed.user_key.to_vec(), parsed.seq, parsed.ty, value));
        if let Some(last) = &last {
            assert!(comparator.compare(last, it.key()).is_lt(), "upholds I2");
        }
        last = Some(it.key().to_vec());
        it.next()?;
    }
    assert_eq!(it.consumed(), entries.len() as u64);
    Ok((out, kept))
}

/// Merges to zeros that are never touched, so they cost no memory.
struct TooLarge;

impl MergeOperator for TooLarge {
    fn name(&self) -> &str {
        "too large"
    }
    fn full_merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Option<Vec<u8>> {
        Some(vec![0; MAX_ENTRY])
    }
    fn partial_merge(&self, _: &[u8], _: &[&[u8]]) -> Option<Vec<u8>> {
        Some(vec![0; MAX_ENTRY])
    }
}

#[test]
fn what_no_table_takes_stays_unmerged() {
    let too_large = |case| Case {
        too_large: true,
        ..case
    };
    for input in ["a9+x a8+y a5=z", "a9+x a8+y", "a9+x a8=y b7+z"] {
        check(&too_large(middle(&[])), input, "", input);
    }
    check(
        &too_large(bottom(&[])),
        "a9+x a8+y a5=z",
        "",
        "a9+x a8+y a0=z",
    );
    check(&too_large(bottom(&[])), "a9+x a8- a5=z", "", "a9+x");
    check(&too_large(middle(&[])), "a9+x a8- a5=z", "", "a9+x a8-");
    check(&too_large(bottom(&[])), "a9+x a8! a5=z", "", "a9+x");
    check(&too_large(middle(&[])), "a9+x a5=z", "a-b@7", "a9+x");
}

fn check(case: &Case<'_>, input: &str, tombstones: &str, expected: &str) {
    let (out, _) = run(case, &parse(input), &parse_tombstones(tombstones)).unwrap();
    assert_eq!(
        print(&out),
        expected,
        "{input} | {tombstones} | {:?}",
        case.snapshots
    );
}

/// A merge in which something older may exist of every key.
fn middle(snapshots: &[SequenceNumber]) -> Case<'_> {
    Case {
        snapshots,
        below: (b'a'..=b'z').map(|k| vec![k]).collect(),
        ..Case::default()
    }
}

fn bottom(snapshots: &[SequenceNumber]) -> Case<'_> {
    Case {
        snapshots,
        bottommost: true,
        ..Case::default()
    }
}

#[test]
fn newer_versions_shadow_older_ones_within_a_stripe() {
    check(&middle(&[]), "a9=x a5=y a2=z b3=w", "", "a9=x b3=w");
    check(&middle(&[4]), "a9=x a5=y a4=z a2=w", "", "a9=x a4=z");
    check(
        &middle(&[4, 6]),
        "a9=x a5=y a4=z a2=w",
        "",
        "a9=x a5=y a4=z",
    );
    check(&middle(&[]), "a9- a5=y", "", "a9-");
    check(&middle(&[]), "a9# a5=y a3#", "", "a9#");
    check(&middle(&[7]), "a9=x a5#r", "", "a9=x a5#r");
}

#[test]
fn at_the_bottom_sequences_become_zero_and_tombstones_go() {
    check(&bottom(&[]), "a9=x a5=y b3=w", "", "a0=x b0=w");
    check(&bottom(&[4]), "a9=x a3=y b3=w", "", "a9=x a0=y b0=w");
    check(&bottom(&[]), "a9- a5=y b3-", "", "");
    // The snapshot still sees the value, so it must see the deletion, too.
    check(&bottom(&[6]), "a9- a5=y", "", "a9- a0=y");
    check(&bottom(&[6]), "a9- b8- b5- c7-", "", "");
    check(&bottom(&[6, 8]), "a9- a7- a5=y", "", "a9- a7- a0=y");
    check(&bottom(&[]), "a9#r", "", "a0#r");
    check(&bottom(&[]), "a0=x", "", "a0=x");
}

#[test]
fn a_key_with_nothing_below_needs_no_tombstone() {
    let case = Case {
        below: BTreeSet::from([b"b".to_vec()]),
        ..Case::default()
    };
    check(&case, "a9- b8- c7=x d6!", "", "b8- c7=x");
}

#[test]
fn single_deletions_cancel_one_put() {
    check(&middle(&[]), "a9! a5=y", "", "");
    check(&middle(&[]), "a9! b5=y", "", "a9! b5=y");
    check(&middle(&[6]), "a9! a5=y", "", "a9! a5=y");
    check(&middle(&[]), "a9! a8! a5=y", "", "");
    check(&middle(&[]), "a9! a8! b5=y", "", "a8! b5=y");
    check(&middle(&[]), "a9! a8- a5=y", "", "a8-");
    check(&middle(&[]), "a9! a5=y a3=z", "", "");
    check(&middle(&[4]), "a9! a5=y a3=z", "", "a3=z");
    check(&middle(&[]), "a9! a5+y a3=z", "", "a9!");
    check(&middle(&[]), "a9! a5#y", "", "");
    check(&middle(&[]), "a9=x a8! a5=y", "", "a9=x");
    // The older one still hides what the snapshot sees.
    check(&middle(&[4]), "a9! a8=x a6! a3=y", "", "a6! a3=y");
    check(&middle(&[]), "a9! a8=x a6- a3=y", "", "a6-");
    check(&bottom(&[]), "a9! b8!", "", "");
    check(&bottom(&[6]), "a9! b8! b5=y", "", "b8! b0=y");
    // The put was deleted by a range tombstone anyway.
    check(&middle(&[]), "a9! a5=y", "a-b@7", "a9!");
}

/// This is undefined by contract, but must not lead to an entry behind a number that became 0.
#[test]
fn single_deletions_of_operands_end_at_the_bottom() {
    check(&bottom(&[]), "a9! a5+y", "", "");
    check(&bottom(&[]), "a9=x a8! a5+y", "", "a0=x");
    check(&bottom(&[]), "a9+x a8! a5+y", "", "a0=x");
    check(&bottom(&[6]), "a9! a5+y", "", "a9! a0=y");
    check(&bottom(&[4]), "a9=x a8! a5+y a3=z", "", "a9=x a8! a0=z");
    check(&middle(&[]), "a9=x a8! a5+y", "", "a9=x a8!");
}

/// Removes `x`, changes `c` to `C`, panics at `p`, and keeps everything else.
struct Letters;

impl FilterSource for Letters {
    fn name(&self) -> String {
        "letters".to_owned()
    }
    fn start<'a>(&'a self, _: CompactionFilterContext) -> Box<dyn EntryFilter + 'a> {
        Box::new(Letters)
    }
}

impl EntryFilter for Letters {
    fn filter(&mut self, level: u32, _: &[u8], value: &[u8]) -> Verdict {
        assert_eq!(level, 3);
        match value {
            b"x" => Verdict::Remove,
            b"c" => Verdict::Change(b"C".as_slice().into()),
            b"p" => panic!("expected by the test"),
            _ => Verdict::Keep,
        }
    }
}

#[test]
fn a_filter_decides_about_the_newest_entry_of_a_key() {
    let with = |case| Case {
        filter: Some(&Letters),
        ..case
    };
    check(&with(middle(&[])), "a9=x b8=c c7=k", "", "a9- b8=C c7=k");
    check(&with(bottom(&[])), "a9=x b8=c c7=k", "", "b0=C c0=k");
    // A removed value still hides what is older, and the filter is not asked about that.
    check(&with(middle(&[])), "a9=x a5=k", "", "a9-");
    check(&with(bottom(&[])), "a9=x a5=k", "", "");
    check(&with(middle(&[])), "a9=k a5=x", "", "a9=k");
    check(&with(middle(&[6])), "a9=k a5=x", "", "a9=k a5=x");
    // Snapshots do not hold the filter back, and older entries remain for them.
    check(&with(middle(&[20])), "a9=x b8=c", "", "a9- b8=C");
    check(&with(bottom(&[6])), "a9=x a5=k b9=x", "", "a9- a0=k");
    check(&with(bottom(&[6])), "a9=c a5=x", "", "a9=C a0=x");
    // The filter is not asked about operands and values of other kinds, nor, in this compaction,
    // about what they are merged to.
    check(
        &with(middle(&[])),
        "a9+x b8#x c7+x d6-",
        "",
        "a9+x b8#x c7+x d6-",
    );
    check(&with(bottom(&[])), "a9+x a5=x", "", "a0=x,x");
    // The filter is not asked about dead entries.
    check(&with(middle(&[])), "a9! a5=p b8=p c7=x", "b-c@9", "c7-");
    // An older single deletion still waits for its value.
    check(&with(middle(&[])), "a9=x a8! a5=y", "", "a9-");
    let e = run(&with(middle(&[])), &parse("a9=p"), &[]).unwrap_err();
    assert_eq!(e.kind(), whitewater_storage::ErrorKind::Aborted);
    assert!(e.to_string().contains("letters"), "{e}");
}

#[test]
fn operands_meet_their_base_within_the_stripe() {
    check(&middle(&[]), "a9+x a8+y a5=z", "", "a9=z,y,x");
    check(&middle(&[]), "a9+x a8- a5=z", "", "a9=x");
    check(&middle(&[]), "a9+x a8+y b5=z", "", "a9+y,x b5=z");
    check(&middle(&[]), "a9+x b5=z", "", "a9+x b5=z");
    check(&middle(&[8]), "a9+x a8+y a5=z", "", "a9+x a8=z,y");
    check(&middle(&[6]), "a9+x a8+y a5=z", "", "a9+y,x a5=z");
    check(&bottom(&[]), "a9+x a8+y", "", "a0=y,x");
    check(&bottom(&[6]), "a9+x a8+y", "", "a9=y,x");
    check(&bottom(&[6]), "a9+x a8- a5=z", "", "a9=x a0=z");
    check(&bottom(&[8]), "a9+x a8- a5=z", "", "a9+x");
    check(&middle(&[]), "a9+x a8+y a5#z", "", "a9+y,x a5#z");
    check(&middle(&[]), "a9+x a5=z", "a-b@7", "a9=x");
    check(&middle(&[8]), "a9+x a5=z", "a-b@7", "a9+x");
    // Operands that do not combine stay as they are.
    check(&middle(&[]), "a9+x a8+FAIL", "", "a9+x a8+FAIL");
    let alone = Case {
        no_operator: true,
        ..bottom(&[])
    };
    check(&alone, "a9+x a8+y a5=z a3=w", "", "a9+x a8+y a0=z");
    let failed = run(&bottom(&[]), &parse("a9+FAIL"), &[]);
    assert!(failed.is_err());
}

#[test]
fn range_tombstones_delete_within_their_stripe() {
    check(&middle(&[]), "a5=x b9=y c5=z", "a-c@7", "b9=y c5=z");
    check(&middle(&[6]), "a5=x b9=y", "a-c@7", "a5=x b9=y");
    check(&middle(&[3]), "a5=x a2=y", "a-c@7", "a2=y");
    // Written by the same ingestion, so the key is not deleted.
    check(&middle(&[]), "a7=x", "a-c@7", "a7=x");
}

#[test]
fn tombstones_are_kept_while_someone_needs_them() {
    let kept = |case: Case<'_>, tombstones: &str| {
        let (_, kept) = run(&case, &[], &parse_tombstones(tombstones)).unwrap();
        let text = |k: &[u8]| String::from_utf8_lossy(k).into_owned();
        let one = |t: &RangeTombstone| format!("{}-{}@{}", text(&t.start), text(&t.end), t.seq);
        kept.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(kept(middle(&[]), "a-e@5 b-c@7"), "a-b@5 b-c@7 c-e@5");
    assert_eq!(kept(middle(&[]), "a-e@7 b-c@5"), "a-e@7");
    assert_eq!(kept(middle(&[6]), "a-e@7 b-c@5"), "a-e@7 b-c@5");
    assert_eq!(kept(middle(&[]), "a-c@5 c-e@5 e-e@9"), "a-e@5");
    assert_eq!(kept(bottom(&[]), "a-e@7 b-c@5"), "");
    assert_eq!(kept(bottom(&[6]), "a-e@7 b-c@5"), "a-e@7");
}

#[test]
fn nonsense_is_an_error() {
    let comparator = InternalComparator::default();
    let ranges = Tombstones::default();
    for key in [
        b"short".to_vec(),
        internal_key(b"a", 1, ValueType::RangeDeletion),
    ] {
        let rules = Rules {
            comparator: &comparator,
            snapshots: &[],
            boundary: MAX_SEQUENCE,
            pinned: None,
            tombstones: &ranges,
            family: "default",
            merge_operator: None,
            blobs: None,
            inline_below: 0,
            bottommost: false,
            key_not_below: &|_| false,
            statistics: None,
            history_low: &[],
            history_upto: &[],
        };
        let source = VecIterator::unsorted(comparator.clone(), vec![(key, Vec::new())]);
        let mut it = CompactionIter::new(rules, None, whole(&comparator, source));
        let e = it.seek_to_first().unwrap_err();
        assert_eq!(e.kind(), whitewater_storage::ErrorKind::Corruption);
    }
}

/// What a reader at `at` finds, newest entry first; `None` means deleted.
fn read(
    entries: &[Entry],
    tombstones: &[RangeTombstone],
    key: &[u8],
    at: SequenceNumber,
) -> Option<Vec<u8>> {
    read_by(entries, tombstones, key, |seq| seq <= at)
}

/// What a reader finds that sees the numbers for which `sees` is true.
fn read_by(
    entries: &[Entry],
    tombstones: &[RangeTombstone],
    key: &[u8],
    sees: impl Fn(SequenceNumber) -> bool,
) -> Option<Vec<u8>> {
    let covering = tombstones
        .iter()
        .filter(|t| sees(t.seq) && t.start[..] <= *key && *key < t.end[..])
        .map(|t| t.seq)
        .max();
    let mut versions: Vec<&Entry> = entries
        .iter()
        .filter(|(k, seq, ..)| k == key && sees(*seq))
        .filter(|(_, seq, ..)| covering.is_none_or(|t| t <= *seq))
        .collect();
    versions.sort_by_key(|(_, seq, ..)| std::cmp::Reverse(*seq));
    let mut operands: Vec<&[u8]> = Vec::new();
    let mut base = None;
    for (_, _, ty, value) in versions {
        match ty {
            ValueType::Merge => operands.push(value),
            ValueType::Value | ValueType::BlobIndex => {
                base = Some(value);
                break;
            }
            _ => break,
        }
    }
    operands.reverse();
    match (base, operands.is_empty()) {
        (base, true) => base.cloned(),
        (base, false) => Append.full_merge(key, base.map(|v| &v[..]), &operands),
    }
}

/// A history of writes to a few keys. Keys below `d` are only put and single deleted, once per
/// put, as the contract of single deletion requires.
fn history(rng: &mut StdRng, len: u64) -> (Vec<Entry>, Vec<RangeTombstone>) {
    let (mut entries, mut tombstones) = (Vec::new(), Vec::new());
    let mut live = BTreeSet::new();
    for seq in 1..=len {
        let key = vec![b'a' + rng.random_range(0..7)];
        let value = format!("v{seq}").into_bytes();
        if rng.random_ratio(1, 10) {
            let end = vec![key[0] + rng.random_range(1..4)];
            live.retain(|k| *k < key || *k >= end);
            tombstones.push(RangeTombstone {
                start: key,
                end,
                seq,
            });
        } else if key[0] >= b'd' {
            let ty = match rng.random_range(0..5) {
                0 | 1 => ValueType::Value,
                2 => ValueType::Deletion,
                _ => ValueType::Merge,
            };
            entries.push((key, seq, ty, value));
        } else if live.remove(&key) {
            entries.push((key, seq, ValueType::SingleDeletion, Vec::new()));
        } else {
            live.insert(key.clone());
            entries.push((key, seq, ValueType::Value, value));
        }
    }
    for (_, _, ty, value) in &mut entries {
        if *ty == ValueType::Deletion {
            value.clear();
        }
    }
    (entries, tombstones)
}

/// The newest number of a change of `key`; 0 without one.
fn newest(entries: &[Entry], tombstones: &[RangeTombstone], key: &[u8]) -> SequenceNumber {
    let points = entries.iter().filter(|e| e.0 == key).map(|e| e.1);
    let covers = |t: &&RangeTombstone| &t.start[..] <= key && key < &t.end[..];
    let ranges = tombstones.iter().filter(covers).map(|t| t.seq);
    points.chain(ranges).max().unwrap_or(0)
}

#[test]
fn every_snapshot_reads_the_same_before_and_after() {
    for seed in 0..3000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let len = rng.random_range(1..40);
        let (entries, tombstones) = history(rng, len);
        // The oldest part lies below, and the rest is merged.
        let split = if rng.random_ratio(1, 2) {
            0
        } else {
            rng.random_range(0..=len)
        };
        let mut snapshots: Vec<u64> = (0..rng.random_range(0..4))
            .map(|_| rng.random_range(split..=len))
            .collect();
        snapshots.sort_unstable();
        snapshots.dedup();
        let (below, input): (Vec<Entry>, Vec<Entry>) = entries
            .iter()
            .cloned()
            .partition(|(_, seq, ..)| *seq <= split);
        let (below_t, input_t): (Vec<_>, Vec<_>) =
            tombstones.iter().cloned().partition(|t| t.seq <= split);
        let case = Case {
            snapshots: &snapshots,
            boundary: rng
                .random_ratio(1, 2)
                .then(|| rng.random_range(split..=len)),
            bottommost: below.is_empty() && below_t.is_empty(),
            below: below.iter().map(|(key, ..)| key.clone()).collect(),
            ..Case::default()
        };
        let (mut after, mut after_t) = run(&case, &input, &input_t).unwrap();
        for key in (b'a'..b'h').map(|k| vec![k]) {
            let (from, to) = (
                newest(&input, &input_t, &key),
                newest(&after, &after_t, &key),
            );
            let kept = from <= case.boundary.unwrap_or(MAX_SEQUENCE) || from == to;
            assert!(kept, "seed {seed}: {from} became {to}\n{}", print(&input));
        }
        after.extend(below);
        after_t.extend(below_t);
        for key in (b'a'..b'h').map(|k| vec![k]) {
            for at in snapshots.iter().copied().chain([MAX_SEQUENCE]) {
                assert_eq!(
                    read(&after, &after_t, &key, at),
                    read(&entries, &tombstones, &key, at),
                    "seed {seed}: key {} at {at}, snapshots {snapshots:?}, split {split}\n{}\n{}",
                    key[0] as char,
                    print(&entries),
                    print(&after),
                );
            }
        }
    }
}

#[test]
fn nothing_is_left_of_what_nobody_reads() {
    for seed in 0..300 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let len = rng.random_range(1..60);
        let (entries, tombstones) = history(rng, len);
        let (after, kept) = run(&bottom(&[]), &entries, &tombstones).unwrap();
        assert!(kept.is_empty());
        for (key, seq, ty, _) in &after {
            assert_eq!((*seq, *ty), (0, ValueType::Value), "seed {seed}");
            assert!(read(&entries, &tombstones, key, MAX_SEQUENCE).is_some());
        }
        let keys: BTreeSet<_> = after.iter().map(|(key, ..)| key).collect();
        assert_eq!(keys.len(), after.len(), "seed {seed}");
    }
}

/// What a compaction to the bottom keeps of `text`, if transactions ask for what came after 5.
fn asked_for(text: &str) -> String {
    let case = Case {
        boundary: Some(5),
        ..bottom(&[])
    };
    print(&run(&case, &parse(text), &[]).unwrap().0)
}

#[test]
fn what_a_transaction_may_ask_for_keeps_its_number() {
    let same = |text: &str| assert_eq!(asked_for(text), print(&parse(text)));
    same("a6=x");
    same("a6-");
    assert_eq!(asked_for("a5=x"), print(&parse("a0=x")));
    assert_eq!(asked_for("a5-"), "");
    assert_eq!(asked_for("a7=x a6- a3=y"), print(&parse("a7=x")));
    assert_eq!(asked_for("a6- a3=y"), print(&parse("a6-")));
}

#[test]
fn an_internal_key_keeps_its_user_key() {
    let (out, _) = run(&bottom(&[]), &parse("a9=x"), &[]).unwrap();
    let zeroed = internal_key(&out[0].0, out[0].1, out[0].2);
    assert_eq!(user_key(&zeroed), b"a");
}

/// Blobs whose values are their indexes, doubled, if the indexes are valid.
struct Doubled;

impl Blobs for Doubled {
    fn read(&self, _: &[u8], index: &[u8]) -> Result<Bytes> {
        BlobIndex::place(index)?;
        Ok([index, index].concat().into())
    }
}

/// What remains of `entries` at the bottom, when blobs can be read.
fn with_blobs(entries: &[Entry], inline_below: u64) -> Vec<Entry> {
    let comparator = InternalComparator::default();
    let rules = Rules {
        comparator: &comparator,
        snapshots: &[],
        boundary: MAX_SEQUENCE,
        pinned: None,
        tombstones: &Tombstones::default(),
        family: "default",
        merge_operator: Some(&Append),
        blobs: Some(&Doubled),
        inline_below,
        bottommost: true,
        key_not_below: &|_| true,
        statistics: None,
        history_low: &[],
        history_upto: &[],
    };
    let encoded = entries
        .iter()
        .map(|(key, seq, ty, value)| (internal_key(key, *seq, *ty), value.clone()));
    let source = VecIterator::new(comparator.clone(), encoded.collect());
    let source = whole(&comparator, source).counting_blobs(true);
    let mut it = CompactionIter::new(rules, None, source);
    let mut kept = BlobFlow::default();
    let mut out = Vec::new();
    it.seek_to_first().unwrap();
    while it.valid() {
        kept.see(it.key(), it.value()).unwrap();
        let key = parse_internal_key(it.key()).unwrap();
        out.push((key.user_key.to_vec(), key.seq, key.ty, it.value().to_vec()));
        it.next().unwrap();
    }
    let is_blob = |e: &&Entry| e.2 == ValueType::BlobIndex;
    let gone = entries.iter().filter(is_blob).count() - out.iter().filter(is_blob).count();
    let garbage: u64 = it.garbage(&kept).iter().map(|g| g.count).sum();
    assert_eq!(garbage, gone as u64);
    out
}

#[test]
fn blobs_are_read_where_their_values_are_asked_for() {
    use ValueType::{BlobIndex as Blob, Merge, Value};
    let index = |file: u8| vec![1, file, 100, 5, 0];
    let double = |file| [index(file), index(file)].concat();
    let entry = |key: &[u8], seq, ty, value: &[u8]| (key.to_vec(), seq, ty, value.to_vec());
    let entries = [
        entry(b"a", 9, Blob, &index(7)),
        entry(b"b", 8, Merge, b"m"),
        entry(b"b", 6, Blob, &index(7)),
        entry(b"c", 5, Value, b"new"),
        entry(b"c", 4, Blob, &index(8)),
        entry(b"d", 3, Blob, &index(8)),
    ];
    let merged = [double(7), b",m".to_vec()].concat();
    let expected = |a: Entry| {
        [
            a,
            entry(b"b", 0, Value, &merged),
            entry(b"c", 0, Value, b"new"),
            entry(b"d", 0, Blob, &index(8)),
        ]
    };
    let a = entry(b"a", 0, Blob, &index(7));
    assert_eq!(with_blobs(&entries, 0), expected(a));
    let a = entry(b"a", 0, Value, &double(7));
    assert_eq!(with_blobs(&entries, 8), expected(a));
}

#[test]
fn a_merge_keeps_the_other_columns_of_an_entity() {
    use ValueType::{Merge, ValuePreferredSeqno, WideColumnEntity as Wide};
    let entity = |columns: &[(&[u8], &[u8])]| entity::encode(columns);
    let entry = |key: &[u8], seq, ty, value: Vec<u8>| (key.to_vec(), seq, ty, value);
    let entries = [
        entry(b"a", 9, Merge, b"m".to_vec()),
        entry(b"a", 8, Wide, entity(&[(b"", b"v"), (b"x", b"1")])),
        entry(b"b", 7, Merge, b"m".to_vec()),
        entry(b"b", 6, Wide, entity(&[(b"x", b"1"), (b"y", b"2")])),
        entry(b"c", 5, Merge, b"m".to_vec()),
        entry(b"c", 4, ValuePreferredSeqno, b"v12345678".to_vec()),
    ];
    let expected = [
        entry(b"a", 0, Wide, entity(&[(b"", b"v,m"), (b"x", b"1")])),
        entry(
            b"b",
            0,
            Wide,
            entity(&[(b"", b",m"), (b"x", b"1"), (b"y", b"2")]),
        ),
        entry(b"c", 0, ValueType::Value, b"v,m".to_vec()),
    ];
    assert_eq!(with_blobs(&entries, 0), expected);
}
