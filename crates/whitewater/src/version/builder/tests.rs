use super::*;
use crate::version::testing::file_meta;
use whitewater_storage::ErrorKind;
use whitewater_storage::manifest::{BlobFileMetaData, BlobGarbage};

fn meta(number: u64, range: &str, epoch: u64) -> FileMetaData {
    FileMetaData {
        epoch_number: epoch,
        ..file_meta(number, range, 10, 5)
    }
}

fn add(files: &[(u32, FileMetaData)]) -> VersionEdit {
    VersionEdit {
        new_files: files.to_vec(),
        ..VersionEdit::default()
    }
}

fn delete(files: &[(u32, u64)]) -> VersionEdit {
    VersionEdit {
        deleted_files: files.to_vec(),
        ..VersionEdit::default()
    }
}

fn finish(builder: VersionBuilder, obsolete: &Arc<ObsoleteFiles>) -> Result<Version> {
    builder.finish(
        &InternalComparator::default(),
        3,
        Default::default(),
        obsolete,
    )
}

fn build(base: Option<Arc<Version>>, edits: &[VersionEdit]) -> Result<Version> {
    let mut builder = match base {
        Some(base) => VersionBuilder::on(base),
        None => VersionBuilder::empty(),
    };
    for edit in edits {
        builder.apply(edit)?;
    }
    finish(builder, &Arc::default())
}

fn levels(v: &Version) -> Vec<Vec<u64>> {
    let numbers = |files: &Vec<Arc<TableFile>>| files.iter().map(|f| f.meta.number).collect();
    v.levels.iter().map(numbers).collect()
}

#[test]
fn edits_add_up_and_files_are_put_in_order() {
    let v = build(
        None,
        &[
            add(&[(1, meta(1, "m-p", 1)), (1, meta(2, "a-c", 1))]),
            add(&[
                (0, meta(3, "a-z", 2)),
                (0, meta(4, "a-z", 7)),
                (0, meta(5, "a-z", 3)),
            ]),
            delete(&[(1, 1)]),
        ],
    )
    .unwrap();
    assert_eq!(levels(&v), [vec![4, 5, 3], vec![2], vec![]]);
    assert_eq!((v.level_bytes(0), v.level_bytes(1)), (30, 10));
}

#[test]
fn a_move_keeps_the_file_object() {
    let obsolete = Arc::new(ObsoleteFiles::default());
    let mut builder = VersionBuilder::empty();
    builder.apply(&add(&[(0, meta(3, "a-c", 2))])).unwrap();
    let base = Arc::new(finish(builder, &obsolete).unwrap());
    let mut edit = delete(&[(0, 3)]);
    edit.new_files = vec![(2, meta(3, "a-c", 2))];
    let mut builder = VersionBuilder::on(base.clone());
    builder.apply(&edit).unwrap();
    let moved = finish(builder, &obsolete).unwrap();
    assert_eq!(levels(&moved), [vec![], vec![], vec![3]]);
    assert!(Arc::ptr_eq(&moved.levels[2][0], &base.levels[0][0]));
    drop(base);
    assert!(obsolete.take().is_empty());
    drop(moved);
    let numbers: Vec<u64> = obsolete.take().iter().map(|file| file.number).collect();
    assert_eq!(numbers, [3]);
}

#[test]
fn impossible_edits_are_corruption() {
    let base = || add(&[(1, meta(1, "a-c", 1))]);
    for (edit, expected) in [
        (
            delete(&[(1, 9)]),
            "Cannot delete table file #9 from level 1 since it is not in",
        ),
        (
            delete(&[(2, 1)]),
            "Cannot delete table file #1 from level 2 since it is on level 1",
        ),
        (
            add(&[(2, meta(1, "x-y", 1))]),
            "Cannot add table file #1 to level 2 since it is already",
        ),
        (
            add(&[(1, meta(2, "b-d", 1))]),
            "table files #1 and #2 on level 1 overlap",
        ),
        (
            add(&[(1, meta(2, "c-d", 1))]),
            "table files #1 and #2 on level 1 overlap",
        ),
        (
            add(&[(1, meta(2, "z-y", 1))]),
            "table file #2 on level 1 ends before it starts",
        ),
        (
            add(&[(0, meta(2, "a-c", 4)), (0, meta(3, "b-d", 4))]),
            "overlap and share an epoch number",
        ),
        (
            add(&[(
                0,
                FileMetaData {
                    number: 2,
                    ..FileMetaData::default()
                },
            )]),
            "not an internal key",
        ),
    ] {
        let e = build(None, &[base(), edit]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(e.to_string().contains(expected), "{e}");
    }
    // Files may touch if the first one ends exclusively.
    let touching = add(&[(1, meta(2, "0-a)", 1))]);
    assert!(build(None, &[base(), touching]).is_ok());
    // Files of one ingestion that do not overlap may share an epoch number.
    let ingested = add(&[(0, meta(2, "a-c", 4)), (0, meta(3, "d-e", 4))]);
    assert!(build(None, &[base(), ingested]).is_ok());
}

#[test]
fn files_on_missing_levels_are_named() {
    let e = build(None, &[add(&[(3, meta(7, "a-b", 1))])]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(
        e.to_string().contains("num_levels") && e.to_string().contains("#7"),
        "{e}"
    );
}

#[test]
fn a_file_on_a_missing_level_may_come_and_go() {
    let edits = [add(&[(9, meta(7, "a-b", 1))]), delete(&[(9, 7)])];
    assert_eq!(
        levels(&build(None, &edits).unwrap()),
        vec![Vec::<u64>::new(); 3]
    );
}

#[test]
fn epochs_are_inferred_when_one_is_missing() {
    let with_seq = |number, seq, epoch| FileMetaData {
        epoch_number: epoch,
        ..file_meta(number, "a-z", 10, seq)
    };
    let v = build(
        None,
        &[add(&[
            (0, with_seq(4, 50, 9)),
            (0, with_seq(5, 90, 0)),
            (0, with_seq(6, 70, 2)),
            (1, meta(1, "a-b", 0)),
            (2, meta(2, "a-b", 0)),
            (2, meta(3, "c-d", 8)),
        ])],
    )
    .unwrap();
    assert_eq!(levels(&v), [vec![5, 6, 4], vec![1], vec![2, 3]]);
    let epochs: Vec<Vec<u64>> = (v.levels.iter())
        .map(|files| files.iter().map(|f| f.meta.epoch_number).collect())
        .collect();
    assert_eq!(epochs, [vec![5, 4, 3], vec![2], vec![1, 1]]);
    // After the database was opened, every new file must have its own.
    let e = build(Some(Arc::new(v)), &[add(&[(0, meta(9, "a-b", 0))])]).unwrap_err();
    assert!(e.to_string().contains("#9 has no epoch number"), "{e}");
}

#[test]
fn blob_files_come_with_edits_and_go_with_tables() {
    let blob = |number| BlobFileMetaData {
        number,
        count: 2,
        bytes: 100,
        ..BlobFileMetaData::default()
    };
    let referring = |number, oldest_blob_file| FileMetaData {
        oldest_blob_file,
        ..meta(number, if number == 7 { "a-b" } else { "c-d" }, 1)
    };
    let first = VersionEdit {
        blob_files: vec![blob(5), blob(6)],
        ..add(&[(2, referring(7, 5)), (2, referring(8, 6))])
    };
    let garbage = VersionEdit {
        blob_garbage: vec![BlobGarbage {
            number: 6,
            count: 1,
            bytes: 40,
            custom: vec![(3, vec![1])],
        }],
        ..VersionEdit::default()
    };
    let version = Arc::new(build(None, &[first, garbage.clone()]).unwrap());
    let known: Vec<_> = (version.blobs.iter())
        .map(|b| (b.file.meta.number, b.garbage_count, b.garbage_bytes))
        .collect();
    assert_eq!(known, [(5, 0, 0), (6, 1, 40)]);
    let dropped = VersionEdit {
        deleted_files: vec![(2, 7)],
        ..VersionEdit::default()
    };
    let next = build(Some(version.clone()), &[dropped]).unwrap();
    assert_eq!(next.blobs.count(), 1);
    let [five, six] = [5, 6].map(|n| next.blobs.get(n));
    assert!(five.is_none());
    let six = six.expect("still referred to");
    assert_eq!((six.garbage_count, six.garbage_bytes), (1, 40));
    let same = version.blobs.get(6).expect("known");
    assert!(Arc::ptr_eq(&six.file, &same.file), "one file, shared");
    let again = VersionEdit {
        blob_files: vec![blob(6)],
        ..VersionEdit::default()
    };
    let e = build(Some(version.clone()), &[again]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    let too_much = build(Some(version), &[garbage.clone(), garbage]).unwrap_err();
    assert!(
        too_much.to_string().contains("Garbage overflow"),
        "{too_much}"
    );
}

#[test]
fn sizes_and_numbers_that_no_table_has_are_corruption() {
    let too_long = FileMetaData {
        size: 1 << 60,
        ..meta(7, "a-b", 1)
    };
    let too_late = FileMetaData {
        largest_seqno: u64::MAX,
        ..meta(8, "a-b", 1)
    };
    for (file, expected) in [
        (too_long, "table file #7 of 1152921504606846976 bytes"),
        (too_late, "table file #8 has sequence numbers out of range"),
    ] {
        let e = build(None, &[add(&[(1, file)])]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(e.to_string().contains(expected), "{e}");
    }
}
