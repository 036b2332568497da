//! Edits to bytes and back, and bytes that are none.

use super::*;
use crate::coding::{put_length_prefixed, put_varint32, put_varint64};
use crate::error::ErrorKind;
use crate::key::{ValueType, internal_key};
use crate::manifest::tags::{self, custom};

/// An edit that uses every field that is written.
fn full() -> VersionEdit {
    VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".into()),
        log_number: Some(12),
        prev_log_number: Some(0),
        next_file_number: Some(1 << 40),
        last_sequence: Some((1 << 56) - 1),
        min_log_number_to_keep: Some(9),
        max_column_family: Some(u32::MAX),
        compact_cursors: vec![(1, internal_key(b"c", 3, ValueType::Value))],
        deleted_files: vec![(0, 7), (6, 300)],
        new_files: vec![
            (
                6,
                FileMetaData {
                    number: 301,
                    path_id: 2,
                    size: 1 << 33,
                    smallest: internal_key(b"", 1, ValueType::Deletion),
                    largest: internal_key(b"z", 0, ValueType::Value),
                    smallest_seqno: 0,
                    largest_seqno: 900,
                    need_compaction: true,
                    oldest_blob_file: 4,
                    oldest_ancester_time: 1_700_000_000,
                    file_creation_time: 1_700_000_001,
                    epoch_number: 5,
                    compensated_range_deletion_size: 77,
                    tail_size: 1234,
                    temperature: 8,
                    ..FileMetaData::default()
                },
            ),
            (
                0,
                FileMetaData {
                    smallest: vec![0; 8],
                    largest: vec![1; 9],
                    ..FileMetaData::default()
                },
            ),
        ],
        column_family: 3,
        column_family_add: Some("more".into()),
        column_family_drop: true,
        remaining_in_group: Some(2),
        group_start: Some(1 << 20),
        db_id: Some("an id".into()),
        blob_files: vec![BlobFileMetaData {
            number: 302,
            count: 5,
            bytes: 1 << 35,
            checksum_method: b"CRC32c".to_vec(),
            checksum: vec![1, 2],
            custom: vec![(2, vec![7]), (5, vec![])],
        }],
        blob_garbage: vec![BlobGarbage {
            number: 300,
            count: 2,
            bytes: 1 << 34,
            custom: vec![(9, vec![8])],
        }],
        full_history_ts_low: Some(7u64.to_le_bytes().to_vec()),
        wal_additions: vec![(40, Some(1 << 34)), (41, None)],
        wal_deletion: Some(39),
        logs_missed: Some(vec![(3, 9), (40, 1 << 40)]),
        decided_to: Some((70, 9)),
        undecided_from: Some(71),
    }
}

#[test]
fn every_written_field_reads_back() {
    let edit = full();
    assert_eq!(VersionEdit::decode(&edit.encode()).unwrap(), edit);
    let empty = VersionEdit::default();
    assert!(empty.encode().is_empty());
    assert_eq!(VersionEdit::decode(&[]).unwrap(), empty);
}

#[test]
fn truncations_never_panic_and_give_whole_fields() {
    let bytes = full().encode();
    let mut decoded = 0;
    for n in 0..bytes.len() {
        match VersionEdit::decode(&bytes[..n]) {
            Ok(edit) => {
                decoded += 1;
                assert!(bytes.starts_with(&bytes[..n]));
                assert!(edit.new_files.len() <= 2);
            }
            Err(e) => assert!(e.to_string().contains("version edit, tag"), "{e}"),
        }
    }
    // One per field boundary.
    assert_eq!(decoded, 27);
}

#[test]
fn older_forms_of_new_files_decode() {
    let key = internal_key(b"k", 1, ValueType::Value);
    let with = |tag: u32, fill: &dyn Fn(&mut Vec<u8>)| {
        let mut b = Vec::new();
        put_varint32(&mut b, tag);
        put_varint32(&mut b, 2);
        put_varint64(&mut b, 10);
        if tag == tags::NEW_FILE_3 {
            put_varint32(&mut b, 1);
        }
        put_varint64(&mut b, 99);
        put_length_prefixed(&mut b, &key);
        put_length_prefixed(&mut b, &key);
        fill(&mut b);
        VersionEdit::decode(&b).map(|e| e.new_files[0].clone())
    };
    let seqnos = |b: &mut Vec<u8>| {
        put_varint64(b, 5);
        put_varint64(b, 6);
    };
    let (level, f) = with(tags::NEW_FILE, &|_| {}).unwrap();
    assert_eq!((level, f.number, f.size, f.largest_seqno), (2, 10, 99, 0));
    let (_, f) = with(tags::NEW_FILE_2, &seqnos).unwrap();
    assert_eq!((f.smallest_seqno, f.largest_seqno), (5, 6));
    let (_, f) = with(tags::NEW_FILE_3, &seqnos).unwrap();
    assert_eq!((f.path_id, f.largest_seqno), (1, 6));
    let custom = |tag: u32, value: &'static [u8]| {
        with(tags::NEW_FILE_4, &move |b| {
            seqnos(b);
            put_varint32(b, tag);
            put_length_prefixed(b, value);
            put_varint32(b, custom::TERMINATE);
        })
    };
    let (_, f) = custom(
        custom::UNIQUE_ID,
        &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0],
    )
    .unwrap();
    assert_eq!(f.unique_id, Some([1, 2]));
    let (_, f) = custom(custom::FILE_CHECKSUM_FUNC_NAME, b"Unknown").unwrap();
    assert_eq!(f.file_checksum_func_name, b"Unknown");
    assert!(custom(17, b"opaque").is_ok(), "unknown fields are ignored");
    assert!(custom(66, b"").is_err(), "unless they say otherwise");
    assert!(custom(custom::PATH_ID, &[4]).is_err());
    assert!(custom(custom::NEED_COMPACTION, b"").is_err());
    assert!(custom(custom::TAIL_SIZE, &[0x80]).is_err());
}

#[test]
fn the_first_files_field_three_is_about_the_database() {
    let mut b = Vec::new();
    put_varint32(&mut b, tags::NEW_FILE_4);
    b.extend_from_slice(&[0, 1, 1]);
    put_length_prefixed(&mut b, &[0; 8]);
    put_length_prefixed(&mut b, &[0; 8]);
    b.extend_from_slice(&[0, 0, 3, 8, 42, 0, 0, 0, 0, 0, 0, 0, 1]);
    let edit = VersionEdit::decode(&b).unwrap();
    assert_eq!(edit.min_log_number_to_keep, Some(42));
}

#[test]
fn path_ids_end_at_3_in_every_form() {
    // A fuzzer found that form 102 took any, which was then written cut.
    let form_102 = |path_id: u8| {
        let mut record = vec![102, 0, 7, path_id, 9];
        for key in [b"a", b"b"] {
            put_length_prefixed(&mut record, &internal_key(key, 5, ValueType::Value));
        }
        record.extend([5, 5]);
        VersionEdit::decode(&record)
    };
    let edit = form_102(3).unwrap();
    assert_eq!(edit.new_files[0].1.path_id, 3);
    assert_eq!(VersionEdit::decode(&edit.encode()), Ok(edit));
    assert_eq!(form_102(4).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn unknown_tags_are_skipped_only_with_the_bit() {
    let tagged = |tag: u32, payload: &[u8]| {
        let mut b = Vec::new();
        put_varint32(&mut b, tag);
        b.extend_from_slice(payload);
        put_varint32(&mut b, tags::LAST_SEQUENCE);
        put_varint64(&mut b, 8);
        VersionEdit::decode(&b)
    };
    for (tag, payload) in [
        (8692, &b"\x03abc"[..]),
        (8199, &[2, 7, 1]),
        (8200, &[1, 5]),
        (tags::OLD_WAL_ADDITION, &[7, 2, 100, 1]),
        (tags::OLD_WAL_DELETION, &[7]),
    ] {
        let edit = tagged(tag, payload).unwrap();
        assert_eq!(edit.last_sequence, Some(8), "{tag}");
        assert!(edit.blob_files.is_empty() && edit.blob_garbage.is_empty());
        let (additions, deletion) = match tag {
            8199 => (vec![(7, None)], None),
            8200 => (vec![], Some(5)),
            tags::OLD_WAL_ADDITION => (vec![(7, Some(100))], None),
            tags::OLD_WAL_DELETION => (vec![], Some(7)),
            _ => (vec![], None),
        };
        assert_eq!(
            (edit.wal_additions, edit.wal_deletion),
            (additions, deletion)
        );
    }
    for (tag, payload) in [
        (
            tags::BLOB_FILE_ADDITION,
            &[1, 2, 3, 0, 1, 9, 5, 1, 1, 0][..],
        ),
        (tags::OLD_BLOB_FILE_ADDITION, &[1, 2, 3, 0, 0, 0]),
        (tags::BLOB_FILE_GARBAGE, &[1, 2, 3, 0]),
        (tags::OLD_BLOB_FILE_GARBAGE, &[1, 2, 3, 0]),
    ] {
        let edit = tagged(tag, payload).unwrap();
        assert_eq!(edit.last_sequence, Some(8), "{tag}");
        let number = (edit.blob_files.iter().map(|f| (f.number, f.count, f.bytes))).chain(
            edit.blob_garbage
                .iter()
                .map(|g| (g.number, g.count, g.bytes)),
        );
        assert_eq!(number.collect::<Vec<_>>(), [(1, 2, 3)], "{tag}");
    }
    assert!(tagged(tags::BLOB_FILE_GARBAGE, &[1, 2, 3, 64, 0, 0]).is_err());
    for tag in [0, 8, 101, 104, 204, 301, 402] {
        let e = tagged(tag, b"\x00").unwrap_err();
        assert!(e.to_string().contains("unknown tag"), "{e}");
    }
    let mut latin1 = vec![1];
    put_length_prefixed(&mut latin1, &[0xe9]);
    assert!(VersionEdit::decode(&latin1).is_err());
}
