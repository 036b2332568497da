//! Damaged logs: those that only sections keep, those with holes, and decisions that cannot be.

use super::recovery::{BEGIN, empty, flush_both, get, keeping, killed, log, names, put};
use super::{commit, logs, open_two, options, prepare};
use crate::{CommitProtocol, DB, DBRecoveryMode, ErrorKind};
use std::path::{Path, PathBuf};
use whitewater_storage::batch::Op;
use whitewater_storage::filename;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::key::{MAX_SEQUENCE_AT_OPEN, SequenceNumber};

const MODES: [DBRecoveryMode; 4] = [
    DBRecoveryMode::PointInTime,
    DBRecoveryMode::AbsoluteConsistency,
    DBRecoveryMode::TolerateCorruptedTailRecords,
    DBRecoveryMode::SkipAnyCorruptedRecord,
];

fn path(number: u64) -> PathBuf {
    filename::wal(Path::new("/db"), number)
}

/// Changes the bytes of log `number`.
fn change(fs: &MemFs, number: u64, change: impl FnOnce(&mut Vec<u8>)) {
    let path = path(number);
    let mut bytes = read_file(fs, &path, u64::MAX).unwrap();
    change(&mut bytes);
    fs.create(&path).unwrap().append(&bytes).unwrap();
}

/// Damages the record at `offset` in log `number`.
fn damage(fs: &MemFs, number: u64, offset: usize) {
    change(fs, number, |bytes| bytes[offset + 12] ^= 1);
}

fn written(db: &DB) -> usize {
    db.engine().commit.generations.load().end().unwrap().offset as usize
}

/// Opens what `fs` is if the process is killed.
fn open(fs: &MemFs, mode: DBRecoveryMode, allow_2pc: bool) -> Result<DB, crate::Error> {
    let mut options = killed(fs).1;
    options.set_wal_recovery_mode(mode);
    options.set_allow_2pc(allow_2pc);
    let families = DB::list_cf(&options, "/db").unwrap();
    DB::open_cf(&options, "/db", families)
}

/// A database of which log 0 of the two returned is needed by no column family.
fn with_log_of_dropped() -> (MemFs, Vec<u64>) {
    let fs = MemFs::new();
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = open_two(&options(&fs, CommitProtocol::Ordered));
    db.put_cf(&db.cf_handle("other").unwrap(), "k", "0")
        .unwrap();
    db.put("k", "1").unwrap();
    db.flush().unwrap();
    db.drop_cf("other").unwrap();
    db.put("l", "2").unwrap();
    let (fs, _) = killed(&fs);
    let logs = logs(&fs);
    assert_eq!(
        logs.len(),
        2,
        "the first log was kept for the dropped family"
    );
    (fs, logs)
}

/// A log whose column family was dropped was read, although all its writes are in tables, and
/// damage in it made every opening fail.
#[test]
fn a_damaged_log_of_a_dropped_family_does_not_stop_an_opening() {
    for mode in MODES {
        let (fs, logs) = with_log_of_dropped();
        damage(&fs, logs[0], 0);
        let skips = mode == DBRecoveryMode::SkipAnyCorruptedRecord;
        match open(&fs, mode, true) {
            Ok(db) => assert!(skips && get(&db, "l").is_some()),
            // The record may have been a section.
            Err(e) => assert!(!skips && e.kind() == ErrorKind::Corruption, "{mode:?}: {e}"),
        }
        let db = open(&fs, mode, false).unwrap_or_else(|e| panic!("{mode:?}: {e}"));
        let values = ["k", "l"].map(|key| get(&db, key));
        assert_eq!(values, [Some("1".into()), Some("2".into())], "{mode:?}");
    }
}

/// An opening that takes no prepared transactions passes over damage where only sections can be,
/// but not if it knows of one.
#[test]
fn a_damaged_kept_log_does_not_lose_a_section_to_a_plain_opening() {
    for mode in &MODES[..3] {
        for commits in [false, true] {
            let fs = MemFs::new();
            let db = open_two(&options(&fs, CommitProtocol::Ordered));
            let x = prepare(db.engine(), "x", &["x"]);
            let end = written(&db);
            db.put("k", "1").unwrap();
            flush_both(&db);
            if commits {
                commit(db.engine(), &x);
            }
            let (fs, _) = killed(&fs);
            // The section, on which a later log decides, or a record behind it.
            damage(&fs, logs(&fs)[0], if commits { 0 } else { end });
            for allow_2pc in [false, true] {
                let e = open(&fs, *mode, allow_2pc).unwrap_err();
                let kind = match commits || allow_2pc {
                    true => ErrorKind::Corruption,
                    false => ErrorKind::NotSupported,
                };
                assert_eq!(e.kind(), kind, "{mode:?}, {allow_2pc}: {e}");
            }
        }
    }
}

/// A power cut leaves a hole in a log that was not synced; if it is kept, nothing in it counts
/// any more.
#[test]
fn a_hole_in_a_kept_log_does_not_stop_an_opening() {
    for mode in &MODES[..3] {
        let fs = MemFs::new();
        let db = open_two(&options(&fs, CommitProtocol::Ordered));
        prepare(db.engine(), "x", &["x"]);
        let from = written(&db);
        db.put("k", "1").unwrap();
        let to = written(&db);
        db.put("k", "2").unwrap();
        flush_both(&db);
        db.put("l", "1").unwrap();
        let (fs, _) = killed(&fs);
        change(&fs, logs(&fs)[0], |bytes| bytes[from..to].fill(0));
        let db = open(&fs, *mode, true).unwrap_or_else(|e| panic!("{mode:?}: {e}"));
        assert_eq!(names(&db), ["x"], "{mode:?}");
        let values = ["k", "l"].map(|key| get(&db, key));
        assert_eq!(values, [Some("2".into()), Some("1".into())], "{mode:?}");
    }
}

/// The torn record took the place of the damage before it: the tables of a family that was
/// flushed in between counted, although the other family had lost older writes.
#[test]
fn a_torn_record_does_not_hide_damage_before_it() {
    let fs = MemFs::new();
    let db = open_two(&options(&fs, CommitProtocol::Ordered));
    let other = db.cf_handle("other").unwrap();
    db.put_cf(&other, "k", "1").unwrap();
    db.put("k", "2").unwrap();
    db.flush().unwrap();
    db.put_cf(&other, "k", "3").unwrap();
    let (fs, _) = killed(&fs);
    let logs = logs(&fs);
    damage(&fs, logs[0], 0);
    change(&fs, logs[1], |bytes| bytes.truncate(10));
    for allow_2pc in [false, true] {
        let e = open(&fs, DBRecoveryMode::PointInTime, allow_2pc).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(e.to_string().contains("are ahead of a damaged log"), "{e}");
    }
}

/// Such a commit made the opening fail in every recovery mode.
#[test]
fn a_commit_at_numbers_out_of_range_is_damage() {
    let last = MAX_SEQUENCE_AT_OPEN - 1;
    let records: [(SequenceNumber, &[Op<'_>]); 4] = [
        (
            5,
            &[
                BEGIN,
                put(0, "x", "1"),
                put(0, "y", "1"),
                Op::EndPrepare(b"x"),
            ],
        ),
        (6, &[put(0, "a", "1")]),
        (last, &[put(0, "b", "1"), Op::Commit(b"x")]),
        (7, &[put(0, "c", "1")]),
    ];
    for mode in MODES {
        let fs = empty();
        log(&fs, 100, &records);
        let found = open(&fs, mode, true);
        let there = match mode {
            DBRecoveryMode::PointInTime => [true, false, false, false],
            DBRecoveryMode::SkipAnyCorruptedRecord => [true, false, true, false],
            _ => {
                let e = found.unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Corruption, "{mode:?}: {e}");
                assert!(e.to_string().contains("000100.log"), "{mode:?}: {e}");
                continue;
            }
        };
        let db = found.unwrap_or_else(|e| panic!("{mode:?}: {e}"));
        // Nothing of the record counts.
        let keys = ["a", "b", "c", "x"].map(|key| get(&db, key).is_some());
        assert_eq!(keys, there, "{mode:?}");
        assert_eq!(names(&db), ["x"], "{mode:?}");
        assert!(db.latest_sequence_number() < 100, "{mode:?}");
    }
}

/// A process killed in a resumption leaves a log with the sections as they were for it: their
/// decision may have been logged, and then failed.
#[test]
fn a_section_that_was_decided_before_a_hole_may_be_repeated_behind_it() {
    let section = [BEGIN, put(0, "x", "1"), Op::EndPrepare(b"x")];
    for decision in [Op::Commit(b"x"), Op::Rollback(b"x")] {
        let fs = empty();
        let records: [(SequenceNumber, &[Op<'_>]); 4] = [
            (5, &section),
            (6, &[decision]),
            (7, &[put(0, "unfinished", "1")]),
            (8, &[put(0, "behind", "1")]),
        ];
        let end = |records| {
            log(&fs, 100, records);
            read_file(&fs, &path(100), u64::MAX).unwrap().len()
        };
        let hole = [&records[..2], &records[..3], &records[..]].map(end);
        change(&fs, 100, |bytes| bytes[hole[0]..hole[1]].fill(0));
        let repeats = |number: SequenceNumber, ops: &[Op<'_>]| {
            log(&fs, 101, &[(number, ops)]);
            let mut options = keeping(&killed(&fs).0);
            options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
            DB::open_cf(&options, "/db", ["default", "other"])
        };
        let db = repeats(5, &section[..]).unwrap();
        assert!(names(&db).is_empty());
        assert_eq!(get(&db, "x").is_some(), matches!(decision, Op::Commit(_)));
        assert_eq!(get(&db, "behind"), None);
        drop(db);
        // Anything else is a write behind the hole.
        assert!(repeats(9, &section[..]).is_err());
        assert!(repeats(5, &[put(0, "x", "1")]).is_err());
        assert!(repeats(5, &[section[0], section[1], section[2], put(0, "x", "1")]).is_err());
    }
}
