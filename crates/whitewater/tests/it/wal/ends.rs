//! Where a log ends: at a hole, before a missing log, or at damage.

use super::{check_all, logs, put_all, updates};
use crate::harness::hold::{HOLD, gated};
use crate::harness::{DIR, open_all, tiny_on, watched};
use std::path::Path;
use std::thread;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, DBRecoveryMode, ErrorKind, FlushOptions};

#[test]
fn a_hole_that_a_killed_writer_left_is_the_end_of_the_log() {
    watched("a writer held up", 60, || {
        let fs = gated();
        let mut o = tiny_on(fs.clone());
        // A leader that is held up holds up all writers behind it, and leaves no hole.
        o.set_commit_protocol(CommitProtocol::Ordered);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        put_all(&db, 0..3);
        let killed = thread::scope(|scope| {
            scope.spawn(|| db.put("held", HOLD).unwrap());
            fs.hook.await_writer();
            let end = log_end(&fs);
            scope.spawn(|| put_all(&db, 3..4));
            // Until its record is behind the hole.
            while log_end(&fs) == end {
                thread::yield_now();
            }
            let killed = fs.files.crash_clone(1.0, 0);
            fs.hook.open();
            killed
        });
        drop(db);
        for mode in [
            DBRecoveryMode::TolerateCorruptedTailRecords,
            DBRecoveryMode::PointInTime,
        ] {
            let mut o = tiny_on(killed.crash_clone(1.0, 0));
            o.set_wal_recovery_mode(mode);
            o.set_wal_ttl_seconds(1_000_000);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            check_all(&db, 0..3);
            assert_eq!(db.get("held").unwrap(), None);
            assert_eq!(db.get("k00003").unwrap(), None);
            // The numbers behind the hole are used again, and the archive has nothing of what was
            // dropped.
            put_all(&db, 7..9);
            let keys: Vec<_> = updates(&db, 0)
                .into_iter()
                .map(|(n, k)| (n, k.concat()))
                .collect();
            let expected = [(1, 0), (2, 1), (3, 2), (4, 7), (5, 8)];
            assert_eq!(keys, expected.map(|(n, i)| (n, format!("k{i:05}"))));
        }
    });
}

#[test]
fn a_writer_killed_behind_a_switch_leaves_the_end_of_its_log_missing() {
    watched("a writer held up", 60, || {
        let fs = gated();
        let mut o = tiny_on(fs.clone());
        o.set_commit_protocol(CommitProtocol::Ordered);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        put_all(&db, 0..3);
        let killed = thread::scope(|scope| {
            scope.spawn(|| db.put("held", HOLD).unwrap());
            fs.hook.await_writer();
            let mut at_once = FlushOptions::default();
            at_once.set_wait(false);
            db.flush_opt(&at_once).unwrap();
            let killed = fs.files.crash_clone(1.0, 0);
            fs.hook.open();
            killed
        });
        assert_eq!(logs(&killed, DIR).len(), 2);
        for mode in [
            DBRecoveryMode::TolerateCorruptedTailRecords,
            DBRecoveryMode::PointInTime,
        ] {
            let mut o = tiny_on(killed.crash_clone(1.0, 0));
            o.set_wal_recovery_mode(mode);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            check_all(&db, 0..3);
            assert_eq!(db.get("held").unwrap(), None);
            put_all(&db, 7..9);
        }
        let mut o = tiny_on(killed);
        o.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
        let e = open_all(&o, Path::new(DIR)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
    });
}

/// The end of what was written to the last log.
fn log_end(fs: &impl Fs) -> usize {
    let last = Path::new(DIR).join(logs(fs, DIR).pop().unwrap());
    let bytes = whitewater::fs::read_file(fs, &last, 1 << 30).unwrap();
    bytes.iter().rposition(|b| *b != 0).unwrap_or(0)
}

#[test]
fn damage_before_acknowledged_writes_is_no_torn_tail() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    drop(db);
    let log = Path::new(DIR).join(logs(&fs, DIR).pop().unwrap());
    let mut bytes = whitewater::fs::read_file(&fs, &log, 1 << 20).unwrap();
    let at = bytes.windows(6).position(|w| w == b"k00004").unwrap();
    bytes[at] ^= 1;
    fs.create(&log).unwrap().append(&bytes).unwrap();
    let e = open_all(&o, Path::new(DIR)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert_eq!(e.file(), Some(log.as_path()));
}
