//! The log format.

use super::{fs_with, is_subsequence, log_of, p, read_bytes, read_log};
use crate::skip::skip_without;
use proptest::prelude::*;
use std::process::Command;
use std::sync::Arc;
use whitewater_storage::batch::Batch;
use whitewater_storage::checksum::mask_crc;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::key::ValueType;
use whitewater_storage::wal::{LogReader, LogWriter, Predecessor, ReadOutcome};

const BLOCK: usize = 32 * 1024;

/// One physical record, as the format describes it.
fn physical(ty: u8, log_number: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let mut covered = vec![ty];
    if let Some(n) = log_number {
        covered.extend_from_slice(&n.to_le_bytes());
    }
    covered.extend_from_slice(payload);
    let crc = mask_crc(crc32c::crc32c(&covered));
    let mut out = crc.to_le_bytes().to_vec();
    out.extend_from_slice(&(payload.len() as u16).to_le_bytes());
    out.extend_from_slice(&covered);
    out
}

fn records(sizes: &[usize]) -> Vec<Vec<u8>> {
    sizes
        .iter()
        .enumerate()
        .map(|(i, &n)| (0..n).map(|j| (i * 31 + j * 7 + j / 251) as u8).collect())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn records_of_any_size_read_back(
        sizes in prop::collection::vec(prop_oneof![
            4 => 0usize..200,
            2 => 32_600usize..32_800,
            1 => 0usize..120_000,
        ], 0..12),
        recyclable: bool,
        log_number: u64,
    ) {
        let records = records(&sizes);
        let back = read_bytes(&log_of(&records, log_number, recyclable), log_number);
        prop_assert_eq!(&back.all, &records);
        prop_assert!(back.corrupt.is_empty() && back.torn.is_none());
    }

    #[test]
    fn damage_anywhere_never_gives_a_wrong_record(
        sizes in prop::collection::vec(prop_oneof![0usize..3000, 20_000usize..50_000], 1..10),
        at: prop::sample::Index,
        len in 1usize..2000,
        byte: u8,
        recyclable: bool,
    ) {
        let records = records(&sizes);
        let mut data = log_of(&records, 7, recyclable);
        let start = at.index(data.len());
        let end = (start + len).min(data.len());
        data[start..end].fill(byte);
        let back = read_bytes(&data, 7);
        prop_assert!(records.starts_with(&back.head));
        prop_assert!(is_subsequence(&back.all, &records));
    }

    #[test]
    fn lost_sectors_are_seen(
        sizes in prop::collection::vec(prop_oneof![1usize..3000, 20_000usize..50_000], 2..10),
        at: prop::sample::Index,
        sectors in 1usize..100,
    ) {
        let records = records(&sizes);
        let mut data = log_of(&records, 7, false);
        let start = at.index(data.len()) / 512 * 512;
        let end = (start + sectors * 512).min(data.len());
        data[start..end].fill(0);
        let back = read_bytes(&data, 7);
        prop_assert!(records.starts_with(&back.head));
        prop_assert!(is_subsequence(&back.all, &records));
        if end < data.len() {
            prop_assert!(!back.corrupt.is_empty(), "a hole went unseen");
        }
    }
}

#[test]
fn empty_records_and_block_tails_have_the_documented_layout() {
    // A first record that leaves room for exactly one header in the block.
    let first = vec![1u8; BLOCK - 7 - 7];
    let data = log_of(&[first.clone(), b"x".to_vec(), vec![]], 1, false);
    let mut expected = physical(1, None, &first);
    expected.extend(physical(2, None, b""));
    assert_eq!(expected.len(), BLOCK);
    expected.extend(physical(4, None, b"x"));
    expected.extend(physical(1, None, b""));
    assert_eq!(data, expected);

    // One byte less than a header is filled with zeros.
    let first = vec![1u8; BLOCK - 7 - 6];
    let data = log_of(&[first.clone(), b"x".to_vec()], 1, false);
    let mut expected = physical(1, None, &first);
    expected.extend([0; 6]);
    expected.extend(physical(1, None, b"x"));
    assert_eq!(data, expected);

    let first = vec![1u8; BLOCK - 11 - 10];
    let data = log_of(&[first.clone(), b"x".to_vec()], (9 << 32) | 3, true);
    let mut expected = physical(5, Some(3), &first);
    expected.extend([0; 10]);
    expected.extend(physical(5, Some(3), b"x"));
    assert_eq!(data, expected);
    assert_eq!(read_bytes(&data, 3).all.len(), 2);
}

#[test]
fn parts_are_concatenated() {
    let fs = MemFs::new();
    let mut w = LogWriter::new(fs.create(p("/log")).unwrap(), 1, false);
    let big = vec![9u8; 70_000];
    w.add_record(&[b"ab", b"", &big, b"c"]).unwrap();
    w.add_record(&[]).unwrap();
    assert_eq!(w.len(), fs.file_size(p("/log")).unwrap());
    let all = read_log(&fs, p("/log"), 1).all;
    assert_eq!(all[0], [b"ab", &big[..], b"c"].concat());
    assert_eq!(all[1], b"");
}

#[test]
fn a_record_costs_one_append() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let mut w = LogWriter::new(fs.create(p("/log")).unwrap(), 1, false);
    for (i, size) in [10, 30_000, 30_000, 200_000].into_iter().enumerate() {
        w.add_record(&[&vec![0; size]]).unwrap();
        assert_eq!(fs.count(FaultOp::Append), i as u64 + 1);
    }
    w.sync().unwrap();
    assert_eq!(fs.count(FaultOp::Sync), 1);
    w.add_record(&[&vec![1; 10 << 20]]).unwrap();
    assert!(fs.count(FaultOp::Append) <= 8);
    assert_eq!(read_log(&fs, p("/log"), 1).all[4], vec![1; 10 << 20]);
}

#[test]
fn the_writer_stays_failed_after_a_failure() {
    for op in [FaultOp::Append, FaultOp::Sync] {
        let fs = FaultFs::new(Arc::new(MemFs::new()));
        let mut w = LogWriter::new(fs.create(p("/log")).unwrap(), 1, false);
        w.add_record(&[b"one"]).unwrap();
        fs.add_rule(Rule::nth(OpSet::of(&[op]), 1));
        let first = w.add_record(&[b"two"]).and_then(|()| w.sync()).unwrap_err();
        assert_eq!(w.add_record(&[b"three"]).unwrap_err(), first);
        assert_eq!(w.sync().unwrap_err(), first);
        assert!(w.close().is_err());
        assert_eq!(fs.injected().len(), 1);
        assert!(read_log(&fs, p("/log"), 1).all.len() <= 2);
    }
}

#[test]
fn appending_to_a_log_goes_on_in_its_block() {
    let fs = MemFs::new();
    let first = vec![1; 40_000];
    let mut w = LogWriter::new(fs.create(p("/log")).unwrap(), 1, false);
    w.add_record(&[&first]).unwrap();
    drop(w);
    let mut w = LogWriter::new(fs.open_append(p("/log")).unwrap(), 1, false);
    let second = vec![2; 40_000];
    w.add_record(&[&second]).unwrap();
    assert_eq!(read_log(&fs, p("/log"), 1).all, [first, second]);
}

#[test]
fn every_truncation_gives_a_prefix_and_says_torn() {
    let records = records(&[30, 0, 5, BLOCK, 100]);
    for recyclable in [false, true] {
        let data = log_of(&records, 5, recyclable);
        let near =
            |n: usize| n < 200 || n > data.len() - 200 || n % BLOCK < 40 || n.is_multiple_of(97);
        for n in (0..data.len()).filter(|&n| near(n)) {
            let back = read_bytes(&data[..n], 5);
            assert!(back.corrupt.is_empty(), "{n}: {back:?}");
            assert!(records.starts_with(&back.all), "{n}");
            let whole = log_of(&records[..back.all.len()], 5, recyclable).len();
            assert!(n >= whole);
            match back.torn {
                Some(offset) => {
                    assert_eq!(offset as usize, whole);
                    assert_eq!(back.torn_end, Some(n as u64));
                }
                // Less than a header cannot be told from the file's previous
                // life.
                None if recyclable => assert!(n - whole < 11, "{n}"),
                None => assert_eq!(n, whole),
            }
        }
    }
}

#[test]
fn every_bit_flip_is_detected() {
    let records = records(&[30, 0, 5, 60, 1]);
    for recyclable in [false, true] {
        let clean = log_of(&records, 5, recyclable);
        for bit in 0..clean.len() * 8 {
            let mut data = clean.clone();
            data[bit / 8] ^= 1 << (bit % 8);
            let back = read_bytes(&data, 5);
            assert!(records.starts_with(&back.head), "{bit}");
            assert!(back.head.len() < records.len(), "{bit}: not noticed");
            assert!(is_subsequence(&back.all, &records), "{bit}");
            // Only the last record's damage may pass for an end.
            let in_last = back.head.len() == records.len() - 1;
            assert!(in_last || !back.corrupt.is_empty(), "{bit}: {back:?}");
            if !recyclable {
                assert!(back.torn.is_some() || !back.corrupt.is_empty(), "{bit}");
            }
        }
    }
}

#[test]
fn reading_resumes_at_the_next_block_after_damage() {
    // Record 1 spans blocks 0 to 1; record 3 spans 1 to 2.
    let records = records(&[100, BLOCK, 100, BLOCK, 100, 100]);
    let mut data = log_of(&records, 1, false);
    data[10] ^= 1;
    let back = read_bytes(&data, 1);
    assert_eq!(back.corrupt, [0]);
    assert_eq!(back.all, records[2..]);
    // Damage in the middle of a split record takes it all.
    let mut data = log_of(&records, 1, false);
    data[BLOCK + 50] ^= 1;
    let back = read_bytes(&data, 1);
    assert_eq!(back.corrupt, [BLOCK as u64]);
    assert_eq!(back.head, records[..1]);
    assert_eq!(back.all, [&records[..1], &records[4..]].concat());
}

#[test]
fn a_file_that_got_shorter_is_not_read_on() {
    let data = log_of(&records(&[100, 100, 100]), 1, false);
    let fs = fs_with(p("f"), &data);
    let open = || fs.open_sequential(p("f")).unwrap();
    let mut reader = LogReader::new(open(), 1);
    let mut record = Vec::new();
    for _ in 0..2 {
        let read = reader.read_record(&mut record).unwrap();
        assert_eq!(read, ReadOutcome::Record);
    }
    reader.mark();
    reader.resume(open()).unwrap();
    assert_eq!(
        reader.read_record(&mut record).unwrap(),
        ReadOutcome::Record
    );
    // Recycled meanwhile: a new life began, which is shorter so far.
    let fs = fs_with(p("f"), &data[..50]);
    let e = reader.resume(fs.open_sequential(p("f")).unwrap());
    let e = e.unwrap_err();
    assert_eq!(e.kind(), whitewater_storage::ErrorKind::Corruption, "{e}");
    assert_eq!(e.offset(), Some(50));
    assert_eq!(reader.read_record(&mut record).unwrap(), ReadOutcome::Eof);
}

#[test]
fn fragments_out_of_order_are_damage() {
    let (full, first) = (physical(1, None, b"full"), physical(2, None, b"first"));
    let (middle, last) = (physical(3, None, b"middle"), physical(4, None, b"last"));
    let read = |parts: &[&Vec<u8>]| {
        let data: Vec<u8> = parts.iter().flat_map(|p| p.iter().copied()).collect();
        read_bytes(&data, 1)
    };
    let back = read(&[&full, &middle, &last, &full]);
    assert_eq!((back.corrupt.len(), back.all.len()), (1, 2));
    let back = read(&[&first, &full]);
    assert_eq!((back.corrupt.as_slice(), back.all.len()), (&[0][..], 1));
    let back = read(&[&first, &middle, &first, &last]);
    assert_eq!(back.all, [b"firstlast"]);
    assert_eq!(back.corrupt, [0]);
    let back = read(&[&full, &first, &middle]);
    assert_eq!((back.torn, back.all.len()), (Some(full.len() as u64), 1));
    // An empty first fragment was written by mistake once.
    let back = read(&[&physical(2, None, b""), &full]);
    assert_eq!((back.corrupt.len(), back.all.len()), (0, 1));
}

#[test]
fn preallocated_zeros_end_a_log() {
    let records = records(&[100, 200]);
    for zeros in [1, 6, 7, 100, BLOCK, 3 * BLOCK + 17] {
        let mut data = log_of(&records, 1, false);
        data.resize(data.len() + zeros, 0);
        let back = read_bytes(&data, 1);
        assert_eq!(back.all, records);
        assert!(back.corrupt.is_empty() && back.torn.is_none(), "{zeros}");
    }
}

#[test]
fn lost_sectors_at_record_boundaries_are_damage_not_padding() {
    // Every record fills one sector: holes begin and end between records.
    for recyclable in [false, true] {
        let header = if recyclable { 11 } else { 7 };
        let records = records(&[512 - header; 200]);
        let clean = log_of(&records, 1, recyclable);
        assert_eq!(clean.len(), 200 * 512);
        // From the middle of a block: to its end, past it, within it; and all
        // of a block.
        for (from, to) in [(10, 64), (10, 70), (10, 130), (10, 20), (64, 128), (0, 64)] {
            let mut data = clean.clone();
            data[from * 512..to * 512].fill(0);
            let back = read_bytes(&data, 1);
            assert_eq!(back.head, records[..from], "{from} to {to}");
            assert_eq!(back.corrupt[0], from as u64 * 512, "{from} to {to}");
            assert_eq!(back.all.last(), records.last());
        }
        let mut data = clean.clone();
        data[150 * 512..].fill(0);
        let back = read_bytes(&data, 1);
        assert_eq!((back.all.len(), back.corrupt.len()), (150, 0));
    }
}

#[test]
fn records_about_the_log_are_taken_in() {
    let mut predecessor = Vec::new();
    for n in [6u64, 12_345, 99] {
        predecessor.extend_from_slice(&n.to_le_bytes());
    }
    let mut data = physical(130, None, &predecessor);
    data.extend(physical(10, None, &[2, 0, 0, 0, 8, 0, 3, 0, 0, 0, 4, 0]));
    data.extend(physical(0x84, None, b"whatever"));
    data.extend(physical(1, None, b"record"));
    let fs = fs_with(p("/log"), &data);
    let mut reader = LogReader::new(fs.open_sequential(p("/log")).unwrap(), 7);
    let mut record = Vec::new();
    assert_eq!(
        reader.read_record(&mut record).unwrap(),
        ReadOutcome::Record
    );
    assert_eq!(record, b"record");
    assert_eq!(reader.timestamp_sizes(), [(2, 8), (3, 4)]);
    let expected = Predecessor {
        log_number: 6,
        size: 12_345,
        last_sequence: 99,
    };
    assert_eq!(reader.predecessor(), Some(expected));

    // The recyclable forms, put in a fresh block because they did not fit.
    let mut data = physical(5, Some(7), &vec![1; BLOCK - 11 - 20]);
    data.extend([0; 20]);
    data.extend(physical(131, Some(7), &predecessor));
    data.extend(physical(11, Some(7), &[2, 0, 0, 0, 8, 0]));
    data.extend(physical(0x85, Some(7), b"whatever"));
    data.extend(physical(5, Some(7), b"record"));
    let back = read_bytes(&data, 7);
    assert_eq!((back.all.len(), back.corrupt.len()), (2, 0));

    for (ty, payload) in [
        (10, &b"\x02\0\0\0\0\0"[..]),
        (10, b"abc"),
        (130, b"short"),
        (12, b"unknown"),
        (9, b"sh"),
    ] {
        let mut data = physical(ty, None, payload);
        data.extend(physical(1, None, b"record"));
        assert_eq!(read_bytes(&data, 7).corrupt, [0], "{ty}");
    }
}

#[test]
fn compressed_logs_are_decompressed() {
    let records = records(&[100, 0, 200_000, 40_000]);
    let mut data = physical(9, None, &7u32.to_le_bytes());
    for record in &records {
        let frame = zstd::bulk::compress(record, 1).unwrap();
        // Split as a writer with small blocks might.
        let pieces: Vec<&[u8]> = frame.chunks(frame.len().div_ceil(3).max(10)).collect();
        for (i, piece) in pieces.iter().enumerate() {
            let ty = match (i == 0, i + 1 == pieces.len()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            let physical = physical(ty, None, piece);
            let rest = BLOCK - data.len() % BLOCK;
            assert!(physical.len() <= rest, "the test's data fits one block");
            data.extend(physical);
        }
    }
    let back = read_bytes(&data, 1);
    assert_eq!(back.all, records);
    assert!(back.corrupt.is_empty());
    // A frame that does not decompress is one bad record.
    let mut bad = physical(9, None, &7u32.to_le_bytes());
    let at = bad.len() as u64;
    bad.extend(physical(1, None, b"no frame"));
    bad.extend(physical(1, None, &zstd::bulk::compress(b"ok", 1).unwrap()));
    let back = read_bytes(&bad, 1);
    assert_eq!((back.corrupt, back.all), (vec![at], vec![b"ok".to_vec()]));
    // Other compressions are refused by name; a late switch is damage.
    let fs = fs_with(p("/log"), &physical(9, None, &4u32.to_le_bytes()));
    let mut reader = LogReader::new(fs.open_sequential(p("/log")).unwrap(), 1);
    let e = reader.read_record(&mut Vec::new()).unwrap_err();
    assert!(e.to_string().contains("compression type 4"), "{e}");
    let mut late = physical(1, None, b"plain");
    late.extend(physical(9, None, &7u32.to_le_bytes()));
    assert_eq!(read_bytes(&late, 1).corrupt.len(), 1);
}

#[test]
fn a_recycled_log_ends_where_its_previous_life_begins() {
    let old = records(&[50, 3_000, 40_000, 7, 7, 7, 60_000, 20]);
    let new = records(&[11, 49, 500, 30_000, 2_000, 45_000, 3, 3]);
    for old_recyclable in [true, false] {
        for count in 0..=new.len() {
            let fs = fs_with(p("/old"), &log_of(&old, 4, old_recyclable));
            let file = fs.reuse(p("/old"), p("/new")).unwrap();
            assert_eq!(file.len(), 0);
            let mut writer = LogWriter::new(file, 9, true);
            for record in &new[..count] {
                writer.add_record(&[record]).unwrap();
            }
            if count == 0 && !old_recyclable {
                continue; // plain records carry no number: never recycle those
            }
            let back = read_log(&fs, p("/new"), 9);
            assert_eq!(back.all, new[..count]);
            assert!(back.corrupt.is_empty() && back.torn.is_none(), "{count}");
            // Closing cuts the previous life off.
            writer.close().unwrap();
            let size = fs.file_size(p("/new")).unwrap() as usize;
            assert_eq!(size, log_of(&new[..count], 9, true).len());
        }
    }
}

#[test]
fn damage_in_a_recycled_log_is_not_its_end() {
    let old = records(&[90_000]);
    let new = records(&[100, 100, 100, 40_000, 100]);
    let fs = fs_with(p("/old"), &log_of(&old, 4, true));
    let mut w = LogWriter::new(fs.reuse(p("/old"), p("/new")).unwrap(), 9, true);
    for record in &new {
        w.add_record(&[record]).unwrap();
    }
    let data = super::content(&fs, p("/new"));
    for at in [0, 4, 6, 8, 30, 120, 230, 500] {
        let mut damaged = data.clone();
        damaged[at] ^= 0x10;
        let back = read_bytes(&damaged, 9);
        assert!(!back.corrupt.is_empty(), "{at}");
        assert!(new.starts_with(&back.head) && back.head.len() < 4);
        assert_eq!(back.all.last(), new.last(), "{at}");
    }
}

#[test]
fn plain_and_recyclable_records_do_not_mix() {
    let mut data = physical(1, None, b"plain");
    data.extend(physical(5, Some(1), b"recyclable"));
    let back = read_bytes(&data, 1);
    assert_eq!((back.all.len(), back.corrupt.len()), (1, 1));
    let mut data = physical(5, Some(1), b"recyclable");
    data.extend(physical(1, None, b"plain"));
    let back = read_bytes(&data, 1);
    assert_eq!((back.all.len(), back.corrupt.len()), (1, 0));
}

#[test]
fn ldb_reads_a_log_written_here() {
    let ldb = "/usr/bin/ldb";
    if !std::path::Path::new(ldb).exists() {
        skip_without(ldb);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (number, recyclable) in [(4, false), (12, true)] {
        let path = dir.path().join(format!("{number:06}.log"));
        let mut w = LogWriter::new(OsFs.create(&path).unwrap(), number, recyclable);
        let mut sequence = 1u64;
        for i in 0..50u32 {
            let mut batch = Batch::default();
            batch.push(
                0,
                ValueType::Value,
                format!("key{i:04}").as_bytes(),
                &[b'v'; 2_000],
            );
            batch.push(0, ValueType::Deletion, format!("gone{i}").as_bytes(), b"");
            let mut bytes = batch.bytes().to_vec();
            bytes[..8].copy_from_slice(&sequence.to_le_bytes());
            sequence += u64::from(batch.count());
            w.add_record(&[&bytes]).unwrap();
        }
        w.close().unwrap();
        let out = Command::new(ldb)
            .arg("dump_wal")
            .arg(format!("--walfile={}", path.display()))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        let puts = text.matches("PUT(0)").count();
        let deletes = text.matches("DELETE(0)").count();
        assert_eq!((puts, deletes), (50, 50), "{text}{out:?}");
        assert!(text.contains("99,2,"), "last batch's sequence: {text}");
    }
}

#[test]
fn what_is_not_written_yet_is_told_by_its_first_bytes() {
    let head = |bytes: &[u8]| bytes[..bytes.len().min(LogReader::HEAD)].to_vec();
    for recyclable in [false, true] {
        let data = log_of(&records(&[100]), 7, recyclable);
        let number = recyclable.then_some(7);
        assert!(!LogReader::is_unwritten(&head(&data), 7), "{number:?}");
        // Another log's is what the file was before, if that can be told.
        assert_eq!(LogReader::is_unwritten(&head(&data), 8), recyclable);
        // Not all of it is there.
        assert!(!LogReader::is_unwritten(&data[..3], 7));
    }
    for len in 0..=LogReader::HEAD {
        assert!(LogReader::is_unwritten(&vec![0; len], 7), "{len}");
    }
    let first_bytes_missing = [0, 0, 0, 0, 0, 0, 5];
    assert!(!LogReader::is_unwritten(&first_bytes_missing, 7));
}
