//! Logs whose records are written to reserved ranges.

use super::{content, log_of, p, read_log};
use proptest::prelude::*;
use std::sync::Arc;
use whitewater_storage::ErrorKind;
use whitewater_storage::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::fs::{Fs, SharedAccess, SharedOptions};
use whitewater_storage::wal::Segment;

const BLOCK: usize = 32 * 1024;

fn segment(fs: &dyn Fs, number: u64, recyclable: bool) -> Segment {
    let file = fs.open_shared(p("/log"), None, SharedOptions::default());
    Segment::new(file.unwrap(), number, recyclable)
}

/// The range of each of `records`: its begin and its end.
fn places(records: &[Vec<u8>], recyclable: bool) -> Vec<(u64, u64)> {
    let mut at = 0;
    let place = |r: &Vec<u8>| {
        let begin = at;
        at = Segment::end_of(at, r.len(), recyclable);
        (begin, at)
    };
    records.iter().map(place).collect()
}

fn records(sizes: &[usize]) -> Vec<Vec<u8>> {
    sizes
        .iter()
        .enumerate()
        .map(|(i, &n)| (0..n).map(|j| (i * 31 + j * 7 + j / 251) as u8).collect())
        .collect()
}

/// Record sizes, including those with special cases at the ends of blocks.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(
        prop_oneof![
            4 => 0usize..200,
            2 => (BLOCK - 60)..(BLOCK + 30),
            1 => (2 * BLOCK - 60)..(2 * BLOCK + 30),
            1 => 0usize..120_000,
        ],
        0..12,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the order of the puts, and also over old bytes.
    #[test]
    fn bytes_are_those_of_the_log_writer(
        sizes in sizes(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 12),
        recyclable: bool,
        log_number: u64,
    ) {
        let records = records(&sizes);
        let places = places(&records, recyclable);
        let end = places.last().map_or(0, |p| p.1);
        let fs = MemFs::new();
        if recyclable {
            fs.create(p("/log")).unwrap().append(&vec![0xa5; end as usize + 100]).unwrap();
            fs.rename(p("/log"), p("/old")).unwrap();
        }
        let from = recyclable.then_some(p("/old"));
        let file = fs.open_shared(p("/log"), from, SharedOptions::default()).unwrap();
        let segment = Segment::new(file, log_number, recyclable);
        segment.extend(end).unwrap();
        let mut left: Vec<usize> = (0..records.len()).collect();
        for pick in order.iter().take(records.len()) {
            let i = left.swap_remove(pick.index(left.len()));
            let (a, b) = records[i].split_at(records[i].len() / 3);
            segment.put(places[i].0, &[a, b"", b]).unwrap();
        }
        segment.close(end).unwrap();
        prop_assert!(content(&fs, p("/log")) == log_of(&records, log_number, recyclable));
    }
}

#[test]
fn ends_are_exact_at_every_place_near_the_end_of_a_block() {
    for recyclable in [false, true] {
        let header = if recyclable { 11 } else { 7 };
        for first in BLOCK - 3 * header..BLOCK + header {
            for second in [
                0,
                1,
                5,
                40,
                BLOCK - header,
                BLOCK,
                2 * (BLOCK - header),
                70_000,
            ] {
                let records = records(&[first, second]);
                let end = places(&records, recyclable)[1].1;
                let log = log_of(&records, 1, recyclable);
                assert_eq!(end, log.len() as u64, "{first} {second} {recyclable}");
            }
        }
    }
}

#[test]
fn threads_fill_a_segment_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("000009.log");
    for recyclable in [false, true] {
        let sizes: Vec<usize> = (0..2000).map(|i| i * i % 1531 + i % 7 * 90).collect();
        let records = records(&sizes);
        let places = places(&records, recyclable);
        let end = places[1999].1;
        let from = recyclable.then_some(&*path);
        let file = OsFs.open_shared(&path, from, SharedOptions::default());
        let segment = Segment::new(file.unwrap(), 9, recyclable);
        segment.extend(end + 100_000).unwrap();
        std::thread::scope(|s| {
            for t in 0..4 {
                let (segment, records, places) = (&segment, &records, &places);
                s.spawn(move || {
                    for i in (t..2000).step_by(4) {
                        segment.put(places[i].0, &[&records[i]]).unwrap();
                    }
                });
            }
        });
        segment.sync().unwrap();
        // As the death of the process would leave it.
        let back = read_log(&OsFs, &path, 9);
        assert!(back.corrupt.is_empty() && back.torn.is_none());
        assert!(back.all == records);
        segment.close(end).unwrap();
        assert!(content(&OsFs, &path) == log_of(&records, 9, recyclable));
    }
}

#[test]
fn large_records_go_out_in_pieces() {
    let fault = FaultFs::new(Arc::new(MemFs::new()));
    let segment = segment(&fault, 3, false);
    let records = records(&[100, 40_000, 5 << 20, 0]);
    let places = places(&records, false);
    segment.extend(places[3].1).unwrap();
    let writes = |i: usize| {
        let before = fault.count(FaultOp::Append);
        segment.put(places[i].0, &[&records[i]]).unwrap();
        fault.count(FaultOp::Append) - before
    };
    assert_eq!([writes(0), writes(1), writes(3)], [1, 1, 1]);
    let pieces = writes(2);
    assert!((5..=6).contains(&pieces), "{pieces}");
    assert_eq!(read_log(&fault, p("/log"), 3).all, records);
}

#[test]
fn records_beyond_the_space_are_refused_and_change_nothing() {
    for size in [200, 100_000] {
        let fs = MemFs::new();
        let segment = segment(&fs, 3, false);
        let record = vec![1; size];
        let end = Segment::end_of(0, size, false);
        segment.extend(end - 1).unwrap();
        let e = segment.put(0, &[&record]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(content(&fs, p("/log")).iter().all(|b| *b == 0));
        segment.extend(end).unwrap();
        assert_eq!(segment.allocated(), end);
        segment.put(0, &[&record]).unwrap();
        assert_eq!(read_log(&fs, p("/log"), 3).all, [record]);
    }
}

#[test]
fn a_segment_stays_failed_after_a_failure() {
    for op in [FaultOp::Append, FaultOp::Sync] {
        let fault = FaultFs::new(Arc::new(MemFs::new()));
        let segment = segment(&fault, 3, true);
        assert!(segment.is_recyclable() && segment.log_number() == 3);
        // A failed extension may be tried again.
        fault.add_rule(Rule::nth(OpSet::of(&[FaultOp::Extend]), 1));
        assert!(segment.extend(1000).is_err());
        segment.extend(1000).unwrap();
        fault.add_rule(Rule::nth(OpSet::of(&[op]), 1));
        let first = segment
            .put(0, &[b"one"])
            .and_then(|()| segment.sync())
            .unwrap_err();
        assert_eq!(segment.put(14, &[b"two"]).unwrap_err(), first);
        assert_eq!(segment.sync().unwrap_err(), first);
        assert_eq!(segment.extend(2000).unwrap_err(), first);
        assert_eq!(segment.close(14).unwrap_err(), first);
        assert_eq!(fault.injected().len(), 2);
    }
}

/// Tells the second process what to write, and how.
const CHILD_VARIABLE: &str = "WHITEWATER_TEST_SEGMENT";

/// The i-th record of the second process.
fn child_record(i: u64) -> Vec<u8> {
    vec![1 + (i % 250) as u8; (i * 37 % 900) as usize]
}

/// Writes records concurrently until the process dies, and reports how many were written without a
/// gap.
fn write_until_killed(path: &std::path::Path, access: SharedAccess) {
    const ROUND: u64 = 400;
    let file = OsFs.open_shared(path, None, access.into()).unwrap();
    let segment = Segment::new(file, 5, false);
    let (mut first, mut at, mut ready) = (0, 0, 0);
    loop {
        if at + ROUND * 1000 > ready {
            ready += 1 << 20;
            segment.extend(ready).unwrap();
        }
        let mut places = Vec::new();
        for i in first..first + ROUND {
            places.push((i, at));
            at = Segment::end_of(at, child_record(i).len(), false);
        }
        std::thread::scope(|s| {
            for t in 0..2 {
                let (segment, places) = (&segment, &places);
                s.spawn(move || {
                    for (i, at) in places.iter().skip(t).step_by(2) {
                        segment.put(*at, &[&child_record(*i)]).unwrap();
                    }
                });
            }
        });
        first += ROUND;
        println!("written {first}");
    }
}

#[test]
fn records_survive_the_death_of_the_process() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let accesses = [SharedAccess::Auto, SharedAccess::Positioned];
    if let Some(path) = std::env::var_os(CHILD_VARIABLE) {
        let path = std::path::PathBuf::from(path);
        let positioned = path.extension().is_some_and(|e| e == "1");
        write_until_killed(&path, accesses[usize::from(positioned)]);
    }
    let dir = tempfile::tempdir().unwrap();
    for which in 0..accesses.len() {
        let path = dir.path().join(format!("log.{which}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "fswal::segment::records_survive_the_death_of_the_process",
            ])
            .env(CHILD_VARIABLE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = 0;
        while told < 4_000 {
            let line = lines.next().expect("the second process goes on").unwrap();
            if let Some((_, n)) = line.split_once("written ") {
                told = n.parse().unwrap();
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            if let Some((_, n)) = line.split_once("written ") {
                told = told.max(n.parse().unwrap_or(0));
            }
        }
        let back = read_log(&OsFs, &path, 5);
        assert!(
            back.head.len() as u64 >= told,
            "{} < {told}",
            back.head.len()
        );
        let expected = |(i, record): (usize, &Vec<u8>)| *record == child_record(i as u64);
        assert!(back.head.iter().enumerate().all(expected));
    }
}
