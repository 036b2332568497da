use super::*;
use crate::fs::mem::MemFs;
use crate::fs::{Fs, SharedOptions};
use crate::wal::{LogReader, ReadOutcome};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::{Arc, Mutex};

const PATH: &str = "/000001.log";

fn segment(fs: &MemFs) -> Segment {
    let file = fs
        .open_shared(Path::new(PATH), None, SharedOptions::default())
        .unwrap();
    let segment = Segment::new(file, 1, false);
    segment.extend(1 << 20).unwrap();
    segment
}

/// Puts records of `sizes` one behind the other, but for those in `holes`,
/// of which the first `copied` bytes are there; returns where they begin.
fn put_all(segment: &Segment, sizes: &[usize], holes: &[usize], copied: usize) -> Vec<u64> {
    let mut at = 0;
    let mut starts = Vec::new();
    for (i, size) in sizes.iter().enumerate() {
        let record: Vec<u8> = (0..*size).map(|n| (n % 251 + 1) as u8).collect();
        if holes.contains(&i) {
            let whole = MemFs::new();
            self::segment(&whole).put(at, &[&record]).unwrap();
            let file = whole.open_random(Path::new(PATH)).unwrap();
            let framed = file.read_at(at, copied).unwrap();
            segment.file.write_at(at, &framed).unwrap();
        } else {
            segment.put(at, &[&record]).unwrap();
        }
        starts.push(at);
        at = Segment::end_of(at, *size, false);
    }
    starts
}

/// The number of records read before the end or damage, and whether that
/// is a hole; `None` for an end.
fn read(fs: &MemFs) -> (usize, Option<bool>) {
    let file = fs.open_sequential(Path::new(PATH)).unwrap();
    let mut reader = LogReader::new(file, 1);
    let mut record = Vec::new();
    for n in 0.. {
        match reader.read_record(&mut record).unwrap() {
            ReadOutcome::Record => {}
            ReadOutcome::Corrupt(_) => return (n, Some(reader.is_hole())),
            _ => return (n, None),
        }
    }
    unreachable!("a log ends")
}

#[test]
fn holes_are_told_from_damage() {
    // All in one block, and over several.
    for size in [100, 9_000, 31_000] {
        for copied in [0, 3, 7, 16, size - 8] {
            let fs = MemFs::new();
            put_all(&segment(&fs), &[size; 5], &[2], copied);
            assert_eq!(read(&fs), (2, Some(true)), "{size} {copied}");
        }
    }
    for (sizes, holes, expected) in [
        (vec![100; 4], vec![2, 3], (2, None)),
        (vec![100; 5], vec![1, 2], (1, Some(true))),
    ] {
        let fs = MemFs::new();
        put_all(&segment(&fs), &sizes, &holes, 0);
        assert_eq!(read(&fs), expected);
    }
    // A byte that differs.
    let fs = MemFs::new();
    let segment = segment(&fs);
    let starts = put_all(&segment, &[100; 5], &[], 0);
    segment.file.write_at(starts[2] + 50, &[0]).unwrap();
    assert_eq!(read(&fs), (2, Some(false)));
}

#[test]
fn reading_goes_on_where_it_was_marked() {
    let fs = MemFs::new();
    let segment = segment(&fs);
    let from = |at: u64| {
        let mut file = fs.open_sequential(Path::new(PATH)).unwrap();
        let mut before = vec![0; at as usize];
        let mut read = 0;
        while read < before.len() {
            read += file.read(&mut before[read..]).unwrap();
        }
        file
    };
    let mut reader = LogReader::new(from(0), 1);
    let mut record = Vec::new();
    let mut rng = StdRng::seed_from_u64(1);
    let mut at = segment.begin_compressed().unwrap();
    for n in 0..40u8 {
        // Nothing there yet: the reader has looked, and loaded the block.
        assert_eq!(reader.read_record(&mut record).unwrap(), ReadOutcome::Eof);
        let noise: Vec<u8> = (0..3_000).map(|_| rng.random()).collect();
        let compressed = crate::wal::CompressedRecord::new(&noise).unwrap();
        segment.put(at, &compressed.with_header(&[n; 12])).unwrap();
        at = Segment::end_of(at, compressed.len(), false);
        for _ in 0..2 {
            // Twice: without a mark in between it is read again.
            reader.resume(from(reader.resume_from())).unwrap();
            assert_eq!(
                reader.read_record(&mut record).unwrap(),
                ReadOutcome::Record
            );
            assert_eq!(record[..12], [n; 12]);
            assert_eq!(record[12..], noise);
        }
        reader.mark();
        assert_eq!(reader.marked(), at);
    }
    assert!(at > 2 * BLOCK);
}

/// Offset in the block and length of each fragment of a log that is not
/// recyclable, from `at` on.
fn fragments(log: &[u8], mut at: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    while at + HEADER_SIZE <= log.len() && log[at + 6] != 0 {
        let len = usize::from(u16::from_le_bytes([log[at + 4], log[at + 5]]));
        found.push((at % BLOCK_SIZE, len));
        at += HEADER_SIZE + len;
        if BLOCK_SIZE - at % BLOCK_SIZE < HEADER_SIZE {
            at = at.next_multiple_of(BLOCK_SIZE);
        }
    }
    found
}

#[test]
fn fragments_of_compressed_records_never_follow_each_other_at_the_same_offset() {
    let most = BLOCK_SIZE - HEADER_SIZE;
    let lengths = [0, 1, 100, most - 7, most - 1, most, most + 1, 2 * most - 7]
        .into_iter()
        .chain([
            2 * most - 1,
            2 * most,
            2 * most + 1,
            3 * most,
            200_000,
            2 << 20,
        ]);
    for start in [0, 4, 11, 100, most - 1, most, most + 1, BLOCK_SIZE - 1] {
        for len in lengths.clone() {
            let fs = MemFs::new();
            let segment = segment(&fs).compressed();
            segment.extend(4 << 20).unwrap();
            let record: Vec<u8> = (0..len).map(|n| (n % 251 + 1) as u8).collect();
            segment.put(start as u64, &[&record]).unwrap();
            let end = segment.end_of_record(start as u64, len);
            segment.put(end, &[]).unwrap();
            let file = fs.open_random(Path::new(PATH)).unwrap();
            let log = file.read_at(0, 4 << 20).unwrap();
            let first = match BLOCK_SIZE - start {
                room if room < HEADER_SIZE => BLOCK_SIZE,
                _ => start,
            };
            let mut found = fragments(&log, first);
            assert_eq!(found.pop().map(|f| f.1), Some(0), "{start} {len}");
            let total: usize = found.iter().map(|f| f.1).sum();
            assert_eq!(total, len, "{start}");
            let apart = |two: &[(usize, usize)]| two[0].0 != two[1].0;
            assert!(found.windows(2).all(apart), "{start} {len}: {found:?}");
        }
    }
}

#[derive(Debug, Default)]
struct Hints(Arc<Mutex<Vec<(u64, u64)>>>);

impl SharedFile for Hints {
    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn extend(&self, _: u64) -> Result<()> {
        Ok(())
    }
    fn allocated(&self) -> u64 {
        u64::MAX
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn start_writeback(&self, from: u64, to: u64) {
        self.0.lock().unwrap().push((from, to));
    }
    fn truncate(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

#[test]
fn writing_back_is_asked_for_in_steps() {
    let hints = Hints::default();
    let asked = hints.0.clone();
    let segment = Segment::new(Box::new(hints), 1, false);
    for to in [50, 99, 100, 150, 199, 230, 200, 330] {
        segment.write_back(to, 100);
    }
    assert_eq!(*asked.lock().unwrap(), [(0, 100), (100, 230), (230, 330)]);
}

#[test]
fn a_step_without_end_is_never_written_back() {
    let hints = Hints::default();
    let asked = hints.0.clone();
    let segment = Segment::new(Box::new(hints), 1, false);
    segment.write_back(200, 100);
    segment.write_back(u64::MAX - 1, u64::MAX);
    assert_eq!(*asked.lock().unwrap(), [(0, 200)]);
}
