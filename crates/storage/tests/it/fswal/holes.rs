//! Logs with holes: what the death of the process leaves of records that were copied concurrently.

use super::{ReadBack, log_of, read_bytes};
use proptest::prelude::*;
use whitewater_storage::wal::{RecoveryMode, Segment};

const BLOCK: usize = 32 * 1024;

/// The previous use of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// None: the file is new and all zeros.
    Fresh,
    /// None, and the records carry the number of the log.
    FreshRecyclable,
    /// A log of records of the same sizes.
    SameSizes,
    /// A log of records of other sizes: ours end within old ones.
    OtherSizes,
    /// Meaningless bytes.
    Garbage,
}

const BEFORE: [Before; 5] = [
    Before::Fresh,
    Before::FreshRecyclable,
    Before::SameSizes,
    Before::OtherSizes,
    Before::Garbage,
];

/// The number of our log, and the number in the file's old records.
const OURS: u64 = 9;
const OLD: u64 = 4;

/// Records without a zero byte.
fn records(sizes: &[usize]) -> Vec<Vec<u8>> {
    sizes
        .iter()
        .enumerate()
        .map(|(i, &n)| {
            (0..n)
                .map(|j| 1 + ((i * 31 + j * 7 + j / 251) % 255) as u8)
                .collect()
        })
        .collect()
}

/// A log of `records`, some of which were not copied.
struct Holed {
    before: Before,
    data: Vec<u8>,
    /// The begin and the end of each record's range.
    places: Vec<(usize, usize)>,
    /// How many bytes of each record were copied.
    copied: Vec<usize>,
    /// Which records are complete, and which are partly there.
    whole: Vec<bool>,
    touched: Vec<bool>,
}

impl Holed {
    /// Whether the reader can know that record `first`, which is incomplete, is the last one and
    /// not damaged: there is space after it and, at the start of the file, its complete header or
    /// an old record.
    fn is_known_to_end(&self, first: usize) -> bool {
        let (begin, end) = self.places[first];
        let old = |b: Before| matches!(b, Before::SameSizes | Before::OtherSizes);
        match self.before {
            Before::Fresh | Before::FreshRecyclable => end < self.data.len(),
            before if begin == 0 => self.copied[0] >= 11 || (old(before) && self.copied[0] == 0),
            _ => true,
        }
    }
}

/// Copies the first `copied(index, length of its range)` bytes of each record.
fn holed(
    records: &[Vec<u8>],
    before: Before,
    tail: usize,
    copied: impl Fn(usize, usize) -> usize,
) -> Holed {
    let recyclable = before != Before::Fresh;
    let full = log_of(records, OURS, recyclable);
    let len = full.len() + tail;
    let mut data = match before {
        Before::Fresh | Before::FreshRecyclable => vec![0; len],
        Before::SameSizes => {
            let other: Vec<_> = records.iter().map(|r| vec![0xee; r.len()]).collect();
            log_of(&other, OLD, true)
        }
        Before::OtherSizes => {
            let sizes: Vec<usize> = (0..len / 700 + 2).map(|i| i * 37 % 1400).collect();
            let other: Vec<_> = sizes.iter().map(|n| vec![0xee; *n]).collect();
            log_of(&other, OLD, true)
        }
        Before::Garbage => (0..len).map(|i| (i * i / 7 + i * 13) as u8).collect(),
    };
    data.resize(len, 0);
    let (mut places, mut done) = (Vec::new(), Vec::new());
    let (mut whole, mut touched) = (Vec::new(), Vec::new());
    let mut begin = 0;
    for (i, record) in records.iter().enumerate() {
        let end = Segment::end_of(begin as u64, record.len(), recyclable) as usize;
        let n = copied(i, end - begin).min(end - begin);
        data[begin..begin + n].copy_from_slice(&full[begin..begin + n]);
        places.push((begin, end));
        // Old bytes may happen to equal the right ones.
        whole.push(data[begin..end] == full[begin..end]);
        touched.push(n > 0);
        done.push(n);
        begin = end;
    }
    Holed {
        before,
        data,
        places,
        copied: done,
        whole,
        touched,
    }
}

/// The records that a recovery in `mode` would replay, or `None` if it would refuse.
fn recovered(back: &ReadBack, mode: RecoveryMode) -> Option<usize> {
    match mode {
        RecoveryMode::PointInTime => Some(back.head.len()),
        RecoveryMode::SkipAnyCorruptedRecord => Some(back.all.len()),
        RecoveryMode::TolerateCorruptedTailRecords => {
            back.corrupt.is_empty().then_some(back.all.len())
        }
        RecoveryMode::AbsoluteConsistency => {
            (back.corrupt.is_empty() && back.torn.is_none()).then_some(back.all.len())
        }
    }
}

/// Reads a log and checks everything that must hold for any pattern of holes.
fn check(records: &[Vec<u8>], log: &Holed, what: &str) -> ReadBack {
    let back = read_bytes(&log.data, OURS);
    let first = log.whole.iter().position(|w| !w);
    let Some(first) = first else {
        assert!(back.all == records, "{what}");
        assert!(back.corrupt.is_empty() && back.torn.is_none(), "{what}");
        return back;
    };
    // All records before the hole, and none after it.
    assert_eq!(
        recovered(&back, RecoveryMode::PointInTime),
        Some(first),
        "{what}"
    );
    assert!(back.head == records[..first], "{what}");
    if log.whole[first + 1..].contains(&true) {
        // The hole is distinguished from the end.
        let at = *back
            .corrupt
            .first()
            .unwrap_or_else(|| panic!("{what}: unseen"));
        let (begin, end) = log.places[first];
        assert!((begin as u64..end as u64).contains(&at), "{what}: {at}");
        assert_eq!(recovered(&back, RecoveryMode::AbsoluteConsistency), None);
        let mode = RecoveryMode::TolerateCorruptedTailRecords;
        assert_eq!(recovered(&back, mode), None);
    } else if !log.touched[first + 1..].contains(&true) && log.is_known_to_end(first) {
        // Nothing follows: the end, or one torn record.
        assert!(
            back.corrupt.is_empty(),
            "{what}: {back:?}",
            back = back.corrupt
        );
        assert!(back.all.len() == first, "{what}");
        if let Some(torn) = back.torn {
            let begin = log.places[first].0 as u64;
            assert!((begin..=begin + 10).contains(&torn), "{what}");
            assert!(log.touched[first], "{what}");
        }
    }
    back
}

#[test]
fn holes_at_and_over_block_edges_end_recovery_and_are_told() {
    for before in BEFORE {
        let header = if before == Before::Fresh { 7 } else { 11 };
        // Every record takes 512 bytes, a block 64 records.
        let records = records(&[512 - header; 400]);
        for (from, to) in [
            (0, 1),     // the first record
            (0, 64),    // the first block
            (0, 70),    // into the second
            (0, 200),   // three blocks and more
            (10, 11),   // within a block
            (63, 64),   // at a block's end
            (64, 65),   // at a block's start
            (63, 65),   // over an edge
            (10, 64),   // to a block's end
            (64, 128),  // a whole block
            (64, 100),  // from a block's start
            (10, 130),  // over a whole block
            (10, 330),  // over several
            (192, 384), // several whole ones
        ] {
            let what = format!("{before:?} {from} to {to}");
            let copied = |i: usize, n| if (from..to).contains(&i) { 0 } else { n };
            let log = holed(&records, before, 100_000, copied);
            let back = check(&records, &log, &what);
            // Skipping finds the later ones again.
            assert!(
                back.all.len() > from && back.all.last() == records.last(),
                "{what}"
            );
            let skipped = recovered(&back, RecoveryMode::SkipAnyCorruptedRecord);
            assert!(skipped <= Some(400 - (to - from)), "{what}");
        }
    }
}

#[test]
fn a_record_cut_short_at_the_end_is_torn_and_not_damage() {
    for before in [Before::Fresh, Before::FreshRecyclable, Before::SameSizes] {
        let records = records(&[300, 0, 40, 5_000, 33_000, 100_000, 20]);
        for last in 0..records.len() {
            let place = |n: usize| (1..n).filter(move |k| *k < 40 || *k + 40 > n || k % 611 == 0);
            let whole = holed(&records[..=last], before, 0, |_, n| n);
            let (begin, end) = whole.places[last];
            for cut in place(end - begin) {
                let what = format!("{before:?}: {cut} bytes of record {last}");
                let copied = |i: usize, n| match i.cmp(&last) {
                    std::cmp::Ordering::Less => n,
                    std::cmp::Ordering::Equal => cut,
                    std::cmp::Ordering::Greater => 0,
                };
                let log = holed(&records, before, 100_000, copied);
                let back = check(&records, &log, &what);
                if log.whole[last] {
                    continue; // what is missing was there before
                }
                // Less than a header of ours may be anybody's in a log of
                // recyclable records, and so may a pad.
                if before == Before::Fresh && log.data[begin..end].iter().any(|b| *b != 0)
                    || cut >= 22
                {
                    assert!(back.torn.is_some(), "{what}");
                    let mode = RecoveryMode::AbsoluteConsistency;
                    assert_eq!(recovered(&back, mode), None, "{what}");
                }
            }
        }
    }
}

#[test]
fn damage_to_the_last_record_of_a_closed_log_stays_damage() {
    let records = records(&[300, 400, 500]);
    let clean = log_of(&records, OURS, false);
    let last = clean.len() - 507;
    for at in [last, last + 4, last + 6, last + 7, clean.len() - 1] {
        let mut data = clean.clone();
        data[at] = 0;
        let back = read_bytes(&data, OURS);
        assert_eq!(back.corrupt, [last as u64], "{at}");
        // With space behind it, too, unless its last byte is what is lost.
        data.resize(data.len() + 40_000, 0);
        let back = read_bytes(&data, OURS);
        assert_eq!(back.head, records[..2]);
        if at + 1 < clean.len() {
            assert_eq!(back.corrupt, [last as u64], "{at}");
        } else {
            assert_eq!(back.torn, Some(last as u64));
        }
    }
}

#[test]
fn a_tiny_record_lost_at_the_end_of_a_block_is_not_a_pad() {
    for tiny in 0..4 {
        let records = records(&[BLOCK - 7 - 7 - tiny, tiny, 100]);
        let log = holed(
            &records,
            Before::Fresh,
            0,
            |i, n| if i == 1 { 0 } else { n },
        );
        assert_eq!(log.places[1], (BLOCK - 7 - tiny, BLOCK));
        check(&records, &log, &format!("{tiny} bytes"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_pattern_of_holes_gives_a_record_behind_the_first(
        sizes in prop::collection::vec(prop_oneof![
            6 => 0usize..400,
            2 => 31_000usize..34_000,
            1 => 0usize..120_000,
        ], 1..25),
        fates in prop::collection::vec(prop_oneof![
            5 => Just(1.0),
            1 => Just(0.0),
            1 => 0.0f64..1.0,
        ], 25),
        before in prop::sample::select(&BEFORE[..]),
        tail in prop_oneof![Just(0usize), 0usize..100_000],
    ) {
        let records = records(&sizes);
        let copied = |i: usize, n: usize| (n as f64 * fates[i]) as usize;
        let log = holed(&records, before, tail, copied);
        check(&records, &log, &format!("{before:?}"));
    }

    /// Runs of lost records, as the death of many writers would leave them.
    #[test]
    fn long_holes_are_seen(
        count in 2usize..300,
        size in prop_oneof![0usize..600, 3_000usize..9_000],
        from: prop::sample::Index,
        to: prop::sample::Index,
        before in prop::sample::select(&BEFORE[..]),
    ) {
        let sizes: Vec<usize> = (0..count).map(|i| size + i % 3).collect();
        let records = records(&sizes);
        let (from, to) = (from.index(count), to.index(count));
        let copied = |i: usize, n| if (from..to).contains(&i) { 0 } else { n };
        let log = holed(&records, before, 50_000, copied);
        check(&records, &log, &format!("{before:?}"));
    }
}
