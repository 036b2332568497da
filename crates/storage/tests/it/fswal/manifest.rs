//! Edits, manifests and `CURRENT`.

use super::{content, fs_with, is_subsequence, p};
use crate::skip::skip_without;
use proptest::option::of;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::fault::{FaultFs, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::key::{ValueType, internal_key};
use whitewater_storage::manifest::{
    BlobFileMetaData, BlobGarbage, FileMetaData, ManifestReader, VersionEdit, read_current,
    set_current,
};
use whitewater_storage::wal::LogWriter;
use whitewater_storage::{ErrorKind, Result};

prop_compose! {
    fn any_file()(
        numbers: [u64; 8],
        path_id in 0u32..4,
        smallest in prop::collection::vec(any::<u8>(), 8..40),
        largest in prop::collection::vec(any::<u8>(), 8..40),
        compensated_range_deletion_size in 0u64..3,
        tail_size: u64,
        need_compaction: bool,
        temperature: u8,
        timestamps_stripped: bool,
    ) -> FileMetaData {
        let [number, size, smallest_seqno, largest_seqno, blob, ancester, creation, epoch] = numbers;
        FileMetaData {
            number, path_id, size, smallest, largest, smallest_seqno, largest_seqno,
            need_compaction,
            oldest_blob_file: blob,
            oldest_ancester_time: ancester,
            file_creation_time: creation,
            epoch_number: epoch,
            compensated_range_deletion_size, tail_size, temperature, timestamps_stripped,
            ..FileMetaData::default()
        }
    }
}

/// Fields that may be ignored.
fn custom() -> impl Strategy<Value = Vec<(u32, Vec<u8>)>> {
    prop::collection::vec((1u32..64, prop::collection::vec(any::<u8>(), 0..9)), 0..3)
}

prop_compose! {
    fn any_blob_file()(
        numbers: [u64; 3],
        checksum_method in prop::collection::vec(any::<u8>(), 0..9),
        checksum in prop::collection::vec(any::<u8>(), 0..9),
        custom in custom(),
    ) -> BlobFileMetaData {
        let [number, count, bytes] = numbers;
        BlobFileMetaData { number, count, bytes, checksum_method, checksum, custom }
    }
}

prop_compose! {
    fn any_blob_garbage()(numbers: [u64; 3], custom in custom()) -> BlobGarbage {
        let [number, count, bytes] = numbers;
        BlobGarbage { number, count, bytes, custom }
    }
}

prop_compose! {
    fn any_edit()(
        comparator in of(".{0,20}"),
        numbers in prop::array::uniform5(of(any::<u64>())),
        max_column_family in of(any::<u32>()),
        compact_cursors in prop::collection::vec(
            (any::<u32>(), prop::collection::vec(any::<u8>(), 8..20)), 0..3),
        deleted_files in prop::collection::vec(any::<(u32, u64)>(), 0..4),
        new_files in prop::collection::vec((any::<u32>(), any_file()), 0..4),
        column_family: u32,
        column_family_add in of(".{0,20}"),
        column_family_drop: bool,
        db_id in of(".{0,40}"),
        blob_files in prop::collection::vec(any_blob_file(), 0..3),
        blob_garbage in prop::collection::vec(any_blob_garbage(), 0..3),
        wal_additions in prop::collection::vec((any::<u64>(), of(any::<u64>())), 0..3),
        wal_deletion in of(any::<u64>()),
    ) -> VersionEdit {
        VersionEdit {
            logs_missed: wal_deletion.map(|n| vec![(n, n.saturating_add(9))]),
            decided_to: numbers[2].zip(numbers[3]),
            undecided_from: wal_deletion,
            comparator,
            log_number: numbers[0],
            prev_log_number: numbers[1],
            next_file_number: numbers[2],
            last_sequence: numbers[3],
            min_log_number_to_keep: numbers[4],
            max_column_family, compact_cursors, deleted_files, new_files,
            column_family, column_family_add, column_family_drop,
            remaining_in_group: None,
            group_start: None,
            db_id,
            blob_files, blob_garbage,
            full_history_ts_low: wal_deletion.map(|n: u64| n.to_le_bytes().to_vec()),
            wal_additions, wal_deletion,
        }
    }
}

proptest! {
    #[test]
    fn edits_read_back(edit in any_edit()) {
        prop_assert_eq!(VersionEdit::decode(&edit.encode()).unwrap(), edit);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Err(e) = VersionEdit::decode(&bytes) {
            prop_assert_eq!(e.kind(), ErrorKind::Corruption);
        }
    }

    #[test]
    fn damaged_edits_never_panic(edit in any_edit(), at: prop::sample::Index, byte: u8) {
        let mut bytes = edit.encode();
        prop_assume!(!bytes.is_empty());
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(decoded) = VersionEdit::decode(&bytes) {
            // Decoding, encoding and decoding again gives the same.
            let mut again = VersionEdit::decode(&decoded.encode()).unwrap();
            for (new, old) in again.new_files.iter_mut().zip(&decoded.new_files) {
                new.1.file_checksum.clone_from(&old.1.file_checksum);
                new.1.file_checksum_func_name.clone_from(&old.1.file_checksum_func_name);
                new.1.unique_id = old.1.unique_id;
                new.1.path_id = old.1.path_id;
            }
            prop_assert_eq!(again, decoded);
        }
    }
}

fn edit(last_sequence: u64, remaining_in_group: Option<u32>) -> VersionEdit {
    VersionEdit {
        last_sequence: Some(last_sequence),
        remaining_in_group,
        ..VersionEdit::default()
    }
}

fn manifest_of(edits: &[VersionEdit]) -> Vec<u8> {
    let fs = MemFs::new();
    let mut w = LogWriter::new(fs.create(p("/m")).unwrap(), 0, false);
    for edit in edits {
        w.add_record(&[&edit.encode()]).unwrap();
    }
    content(&fs, p("/m"))
}

/// The groups of a manifest, and how reading ended.
fn read(data: &[u8]) -> (Vec<Vec<VersionEdit>>, Result<()>) {
    let fs = fs_with(p("/m"), data);
    let mut reader = ManifestReader::open(&fs, p("/m")).unwrap();
    let mut groups = Vec::new();
    let end = loop {
        match reader.next() {
            Ok(Some(group)) => groups.push(group),
            Ok(None) => break Ok(()),
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::Corruption);
                assert_eq!(e.file(), Some(p("/m")));
                assert!(e.offset().is_some());
                break Err(e);
            }
        }
    };
    assert!(matches!(reader.next(), Ok(None)), "the end is the end");
    assert!(reader.offset() <= data.len() as u64);
    (groups, end)
}

#[test]
fn atomic_groups_come_whole_or_not_at_all() {
    let edits = [
        edit(1, None),
        edit(2, Some(2)),
        edit(3, Some(1)),
        edit(4, Some(0)),
        VersionEdit::default(),
        edit(5, Some(0)),
        edit(6, Some(1)),
    ];
    let (groups, end) = read(&manifest_of(&edits));
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 3, 1, 1], "the last group is incomplete");
    assert_eq!(groups[1], edits[1..4]);
    end.unwrap();
    for bad in [None, Some(2), Some(0), Some(3)] {
        let (groups, end) = read(&manifest_of(&[
            edit(1, None),
            edit(2, Some(2)),
            edit(3, bad),
        ]));
        assert_eq!(groups.len(), 1);
        let e = end.unwrap_err();
        assert!(e.to_string().contains("atomic group"), "{e}");
    }
}

/// A small manifest with every kind of edit.
fn sample() -> (Vec<Vec<VersionEdit>>, Vec<u8>) {
    let mut file = edit(9, None);
    file.new_files.push((
        0,
        FileMetaData {
            number: 5,
            smallest: b"a\x01\0\0\0\0\0\0\0".to_vec(),
            largest: b"z\x01\0\0\0\0\0\0\0".to_vec(),
            ..FileMetaData::default()
        },
    ));
    let groups = vec![
        vec![edit(1, None)],
        vec![file],
        vec![edit(10, Some(1)), edit(11, Some(0))],
        vec![edit(12, None)],
    ];
    let data = manifest_of(&groups.concat());
    (groups, data)
}

#[test]
fn every_truncation_is_a_shorter_history() {
    let (groups, data) = sample();
    let mut lengths = std::collections::BTreeSet::new();
    for n in 0..data.len() {
        let (read, end) = read(&data[..n]);
        end.unwrap();
        assert!(groups.starts_with(&read), "{n}");
        lengths.insert(read.len());
    }
    assert_eq!(lengths.len(), groups.len());
}

#[test]
fn every_bit_flip_is_an_error_or_a_shorter_history() {
    let (groups, data) = sample();
    for bit in 0..data.len() * 8 {
        let mut damaged = data.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (read, end) = read(&damaged);
        assert!(
            groups.starts_with(&read) && read.len() < groups.len(),
            "{bit}"
        );
        // Only the last record can pass for an unfinished one.
        assert!(end.is_err() || read.len() + 1 == groups.len(), "{bit}");
        assert!(is_subsequence(&read, &groups));
    }
}

#[test]
fn undecodable_records_name_file_and_offset() {
    let fs = MemFs::new();
    let mut w = LogWriter::new(fs.create(p("/m")).unwrap(), 0, false);
    w.add_record(&[&edit(1, None).encode()]).unwrap();
    let at = w.len();
    w.add_record(&[b"\x08"]).unwrap();
    let e = read(&content(&fs, p("/m"))).1.unwrap_err();
    assert_eq!(e.offset(), Some(at));
    assert!(e.to_string().contains("unknown tag"), "{e}");
}

#[test]
fn current_names_the_manifest_in_force() {
    let fs = MemFs::new();
    fs.create_dir_all(p("/db")).unwrap();
    assert!(read_current(&fs, p("/db")).unwrap_err().is_missing_file());
    set_current(&fs, p("/db"), 5).unwrap();
    assert_eq!(content(&fs, p("/db/CURRENT")), b"MANIFEST-000005\n");
    set_current(&fs, p("/db"), 1_234_567).unwrap();
    assert_eq!(
        read_current(&fs, p("/db")).unwrap(),
        p("/db/MANIFEST-1234567")
    );
    assert_eq!(
        fs.list(p("/db")).unwrap(),
        ["CURRENT"],
        "no temporary file stays"
    );
    for bad in [
        &b""[..],
        b"\n",
        b"MANIFEST-000005",
        b"MANIFEST-000005\n\n",
        b"MANIFEST-\n",
        b"MANIFEST-5x\n",
        b"../MANIFEST-5\n",
        b"000005.log\n",
        b"\xff\xfe\n",
        &[b'9'; 100],
    ] {
        fs.create(p("/db/CURRENT")).unwrap().append(bad).unwrap();
        let e = read_current(&fs, p("/db")).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert_eq!(e.file(), Some(p("/db/CURRENT")), "{e}");
    }
}

#[test]
fn replacing_current_fails_or_crashes_to_old_or_new() {
    for n in 1.. {
        let mem = MemFs::new();
        mem.create_dir_all(p("/db")).unwrap();
        set_current(&mem, p("/db"), 5).unwrap();
        let fs = FaultFs::new(Arc::new(mem.clone()));
        fs.add_rule(Rule::nth(OpSet::WRITES, n));
        let result = set_current(&fs, p("/db"), 9);
        for seed in 0..20 {
            for keep in [0.0, 0.5, 1.0] {
                let left = mem.crash_clone(keep, seed);
                let current = read_current(&left, p("/db")).unwrap();
                let new = current == p("/db/MANIFEST-000009");
                assert!(new || current == p("/db/MANIFEST-000005"));
                assert!(new || result.is_err(), "reported done but lost");
            }
        }
        if fs.injected().is_empty() {
            assert!(n > 4);
            break;
        }
        assert!(result.is_err());
    }
}

#[test]
fn ldb_reads_a_manifest_written_here() {
    let ldb = "/usr/bin/ldb";
    if !Path::new(ldb).exists() {
        skip_without(ldb);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("MANIFEST-000005");
    let mut w = LogWriter::new(OsFs.create(&path).unwrap(), 0, false);
    let key = |k: &[u8]| internal_key(k, 7, ValueType::Value);
    let file = FileMetaData {
        number: 9,
        size: 4_321,
        smallest: key(b"aaa"),
        largest: key(b"zzz"),
        smallest_seqno: 7,
        largest_seqno: 7,
        oldest_ancester_time: 1_700_000_000,
        file_creation_time: 1_700_000_000,
        epoch_number: 1,
        compensated_range_deletion_size: 5,
        tail_size: 300,
        ..FileMetaData::default()
    };
    let base = VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".into()),
        log_number: Some(8),
        prev_log_number: Some(0),
        next_file_number: Some(20),
        last_sequence: Some(77),
        db_id: Some("an-id".into()),
        ..VersionEdit::default()
    };
    let family = VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".into()),
        log_number: Some(8),
        column_family: 3,
        column_family_add: Some("third".into()),
        max_column_family: Some(3),
        ..VersionEdit::default()
    };
    let flush = VersionEdit {
        new_files: vec![(0, file.clone())],
        remaining_in_group: Some(1),
        ..VersionEdit::default()
    };
    let mut moved = VersionEdit {
        column_family: 3,
        min_log_number_to_keep: Some(8),
        remaining_in_group: Some(0),
        ..VersionEdit::default()
    };
    moved
        .new_files
        .push((2, FileMetaData { number: 11, ..file }));
    for edit in [&base, &family, &flush, &moved, &VersionEdit::default()] {
        w.add_record(&[&edit.encode()]).unwrap();
    }
    w.close().unwrap();
    let out = Command::new(ldb)
        .arg("manifest_dump")
        .arg(format!("--path={}", path.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    for expected in [
        "Column family \"default\"  (ID 0)",
        "Column family \"third\"  (ID 3)",
        "log number: 8",
        " 9:4321[7 .. 7]['aaa' seq:7, type:1 .. 'zzz' seq:7, type:1]",
        " 11:4321[7 .. 7]",
        "last_sequence 77  prev_log_number 0 max_column_family 3 min_log_number_to_keep 8",
    ] {
        assert!(text.contains(expected), "{expected} not in {text}{out:?}");
    }
}

/// A power cut loses any one sector of the unsynced bytes.
#[test]
fn a_group_that_lost_a_sector_was_never_there() {
    const SECTOR: usize = 512;
    let edit = |cursor: u8| VersionEdit {
        compact_cursors: vec![(1, vec![cursor; 900])],
        ..VersionEdit::default()
    };
    // One edit that was synced, a group of three, and whether more was synced.
    let manifest = |tells: bool, more: bool| {
        let fs = MemFs::new();
        let mut writer = LogWriter::new(fs.create(p("m")).unwrap(), 0, false);
        writer.add_record(&[&edit(1).encode()]).unwrap();
        let start = writer.len();
        for i in 0..3 {
            let edit = VersionEdit {
                remaining_in_group: Some(2 - i),
                group_start: tells.then_some(start),
                ..edit(2)
            };
            writer.add_record(&[&edit.encode()]).unwrap();
        }
        if more {
            writer.add_record(&[&edit(3).encode()]).unwrap();
        }
        writer.sync().unwrap();
        let bytes = content(&fs, p("m"));
        (bytes, start as usize)
    };
    let read = |bytes: &[u8]| {
        let fs = fs_with(p("m"), bytes);
        let mut reader = ManifestReader::open(&fs, p("m")).unwrap();
        let mut edits = 0;
        loop {
            match reader.next() {
                Ok(Some(group)) => edits += group.len(),
                Ok(None) => return Ok(edits),
                Err(e) => return Err(e.kind()),
            }
        }
    };
    let (whole, start) = manifest(true, false);
    assert_eq!(read(&whole), Ok(4));
    let sectors = || (0..whole.len()).step_by(SECTOR);
    for sector in sectors() {
        let lose = |bytes: &[u8]| {
            let mut lost = bytes.to_vec();
            let end = (sector + SECTOR).min(lost.len());
            lost[sector..end].fill(0);
            lost
        };
        // Damage anywhere in the synced edit is noticed.
        let expected = if sector >= start {
            Ok(1)
        } else {
            Err(ErrorKind::Corruption)
        };
        assert_eq!(read(&lose(&whole)), expected, "sector at {sector}");
        // What was synced after it says that the group was, too.
        if sector + SECTOR <= whole.len() {
            let (more, _) = manifest(true, true);
            assert_eq!(read(&lose(&more)), Err(ErrorKind::Corruption), "{sector}");
        }
        let mut flipped = whole.to_vec();
        flipped[(sector + 100).min(whole.len() - 1)] ^= 1;
        assert_eq!(read(&flipped), Err(ErrorKind::Corruption), "{sector}");
    }
}

/// The manifest may have ended anywhere when it was first read, even in a group or a record.
#[test]
fn a_reader_goes_on_with_what_has_come() {
    let (edits, data) = sample();
    for cut in 0..data.len() {
        let fs = fs_with(p("MANIFEST-000001"), &data[..cut]);
        let open = |fs: &MemFs| fs.open_sequential(p("MANIFEST-000001")).unwrap();
        let mut reader = ManifestReader::new(open(&fs));
        let mut all = Vec::new();
        while let Some(group) = reader.next().unwrap() {
            all.push(group);
        }
        // Nothing has come.
        reader.resume(open(&fs)).unwrap();
        assert_eq!(reader.next().unwrap(), None, "cut at {cut}");
        let fs = fs_with(p("MANIFEST-000001"), &data);
        assert_eq!(reader.resume_from(), 0, "all is in one block");
        reader.resume(open(&fs)).unwrap();
        while let Some(group) = reader.next().unwrap() {
            all.push(group);
        }
        assert_eq!(all, edits, "cut at {cut}");
    }
}
