//! Who reads logs beside and after the engine: read-only and secondary instances, repairs,
//! checkpoints, and callers that ask for updates.

use super::recovery::{BEGIN, decide, get, keeping, killed, log, names, put};
use super::{PROTOCOLS, commit, logs, open_two, options, prepare, roll_back};
use crate::checkpoint::Checkpoint;
use crate::{
    ColumnFamilyDescriptor, CommitProtocol, DB, DBRecoveryMode, ErrorKind, Options, ReadOptions,
    WriteBatch,
};
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

fn families(options: &Options) -> [ColumnFamilyDescriptor; 2] {
    ["default", "other"].map(|name| ColumnFamilyDescriptor::new(name, options.clone()))
}

/// Which of `keys` there are.
fn found<const N: usize>(db: &DB, keys: [&str; N]) -> [bool; N] {
    keys.map(|key| get(db, key).is_some())
}

/// A secondary instance holds sections while it follows, and shows what is committed, as one.
#[test]
fn a_secondary_instance_shows_a_section_when_it_is_committed() {
    for protocol in PROTOCOLS {
        for flushes in [false, true] {
            let fs = MemFs::new();
            let options = options(&fs, protocol);
            let db = open_two(&options);
            let engine = db.engine();
            let follow = |own: &str| {
                let families = families(&options);
                DB::open_cf_descriptors_as_secondary(
                    &options,
                    Path::new("/db"),
                    Path::new(own),
                    families,
                )
            };
            let secondary = follow("/early").unwrap();
            let flush = || flushes.then(|| db.flush().unwrap());
            let [a, b] = ["a", "b"].map(|name| prepare(engine, name, &[name, "both"]));
            db.put("k", "1").unwrap();
            flush();
            let catch_up = || secondary.try_catch_up_with_primary().unwrap();
            catch_up();
            let keys = ["k", "a", "b", "both"];
            assert_eq!(found(&secondary, keys), [true, false, false, false]);
            commit(engine, &a);
            let number = db.latest_sequence_number();
            flush();
            catch_up();
            assert_eq!(found(&secondary, keys), [true, true, false, true]);
            assert_eq!(secondary.latest_sequence_number(), number);
            roll_back(engine, &b);
            db.put("k", "2").unwrap();
            flush();
            catch_up();
            assert_eq!(found(&secondary, keys), [true, true, false, true]);
            assert_eq!(get(&secondary, "k").as_deref(), Some("2"));
            let late = follow("/late").unwrap();
            assert_eq!(found(&late, keys), [true, true, false, true]);
            // A name may be used again.
            let b = prepare(engine, "b", &["b"]);
            catch_up();
            commit(engine, &b);
            catch_up();
            assert_eq!(found(&secondary, keys), [true; 4]);
        }
    }
}

#[test]
fn a_read_only_instance_shows_nothing_that_is_prepared() {
    let fs = MemFs::new();
    let options = options(&fs, CommitProtocol::Ordered);
    let db = open_two(&options);
    let [a, b] = ["a", "b"].map(|name| prepare(db.engine(), name, &[name]));
    commit(db.engine(), &a);
    let path = Path::new("/db");
    let reader = DB::open_cf_descriptors_read_only(&options, path, families(&options), false);
    assert_eq!(found(&reader.unwrap(), ["a", "b"]), [true, false]);
    drop(b);
}

/// A repair applies what is committed, and keeps what is not decided.
#[test]
fn a_repair_keeps_prepared_transactions() {
    for flushes in [false, true] {
        for manifest in [false, true] {
            let fs = MemFs::new();
            let db = open_two(&options(&fs, CommitProtocol::Ordered));
            let sections = ["a", "b", "c"].map(|name| prepare(db.engine(), name, &[name]));
            db.put("k", "1").unwrap();
            if flushes {
                db.flush().unwrap();
            }
            commit(db.engine(), &sections[0]);
            roll_back(db.engine(), &sections[1]);
            let (fs, options) = killed(&fs);
            if !manifest {
                fs.remove(&filename::current(Path::new("/db"))).unwrap();
            }
            DB::repair(&options, "/db").unwrap();
            // Again, since a repair may be killed at its end.
            DB::repair(&options, "/db").unwrap();
            let what = format!("flushed: {flushes}, CURRENT: {manifest}");
            let mut plain = super::options(&fs, CommitProtocol::Ordered);
            plain.create_if_missing(false);
            let families = DB::list_cf(&plain, "/db").unwrap();
            let e = DB::open_cf(&plain, "/db", &families).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{what}");
            for round in 0..2 {
                let db = DB::open_cf(&options, "/db", &families).unwrap();
                assert_eq!(names(&db), ["c"], "{what}");
                assert_eq!(
                    found(&db, ["a", "b", "c", "k"]),
                    [true, false, false, true],
                    "{what}"
                );
                if round == 1 {
                    decide(&db, "c", true);
                }
            }
            let db = DB::open_cf(&plain, "/db", &families).unwrap();
            assert_eq!(get(&db, "c").as_deref(), Some("c"), "{what}");
        }
    }
}

/// Pitfall 15: a checkpoint in the middle has the section, and whatever decides it later not.
#[test]
fn a_checkpoint_has_what_is_prepared() {
    for flushes in [false, true] {
        let fs = MemFs::new();
        let db = open_two(&options(&fs, CommitProtocol::Ordered));
        let [a, b] = ["a", "b"].map(|name| prepare(db.engine(), name, &[name]));
        db.put("k", "1").unwrap();
        if flushes {
            db.flush().unwrap();
        }
        commit(db.engine(), &a);
        Checkpoint::new(&db)
            .unwrap()
            .create_checkpoint("/copy")
            .unwrap();
        commit(db.engine(), &b);
        let mut plain = options(&fs, CommitProtocol::Ordered);
        plain.create_if_missing(false);
        let open = |options: &Options| DB::open_cf(options, "/copy", ["default", "other"]);
        assert_eq!(open(&plain).unwrap_err().kind(), ErrorKind::NotSupported);
        let copy = open(&keeping(&fs)).unwrap();
        assert_eq!(names(&copy), ["b"]);
        assert_eq!(found(&copy, ["a", "b", "k"]), [true, false, true]);
        assert_eq!(found(&db, ["a", "b", "k"]), [true; 3]);
    }
}

/// Sections come when they are prepared, as they are logged, and decisions by themselves.
#[test]
fn updates_have_sections_as_they_are_logged() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let mut options = options(&fs, protocol);
        options.set_wal_ttl_seconds(1000);
        let db = DB::open(&options, "/db").unwrap();
        let engine = db.engine();
        db.put("k", "1").unwrap();
        // Three entries, and one number.
        let x = prepare(engine, "x", &["a", "b", "c"]);
        db.flush().unwrap();
        db.put("k", "2").unwrap();
        commit(engine, &x);
        db.put("k", "3").unwrap();
        db.flush().unwrap();
        let y = prepare(engine, "y", &["d", "e"]);
        db.put("k", "4").unwrap();
        roll_back(engine, &y);
        let since = |number: u64| -> Vec<(u64, usize)> {
            let updates = db.get_updates_since(number).unwrap();
            let updates = updates.map(Result::unwrap);
            updates.map(|(first, batch)| (first, batch.len())).collect()
        };
        // put, section, put, commit of 4 to 6, put, section, put, rollback
        let all = [
            (1, 1),
            (2, 3),
            (3, 1),
            (4, 0),
            (7, 1),
            (8, 2),
            (9, 1),
            (10, 0),
        ];
        assert_eq!(since(0), all, "{protocol}");
        for (at, (first, _)) in all.iter().enumerate() {
            assert_eq!(since(*first), all[at + 1..], "{protocol}: since {first}");
        }
        assert_eq!(since(5), all[4..], "{protocol}: in the middle of a commit");
        let mut section = db.get_updates_since(1).unwrap();
        let (_, section) = section.next().unwrap().unwrap();
        let e = db.write(section).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    }
}

/// A batch of a caller has no markers: replayed, it would decide on a transaction.
#[test]
fn a_write_of_a_batch_with_a_marker_is_refused() {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
    let x = prepare(db.engine(), "x", &["a"]);
    let timestamp = &b"12345678"[..];
    let section = [BEGIN, put(0, "k", "v"), Op::EndPrepare(b"y")];
    let refused: [(&[Op<'_>], &str); 4] = [
        (&section, "BEGIN_PREPARE(false)"),
        (&[put(0, "k", "v"), Op::Commit(b"x")], "COMMIT"),
        (
            &[Op::CommitAt {
                timestamp,
                xid: b"x",
            }],
            "COMMIT_WITH_TIMESTAMP",
        ),
        (&[Op::Rollback(b"x")], "ROLLBACK"),
    ];
    for (ops, name) in refused {
        let mut batch = Batch::default();
        ops.iter().for_each(|op| batch.push_op(op));
        let e = db.write(WriteBatch::from_data(batch.bytes())).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{name}");
        assert!(
            e.to_string().contains(&format!("the marker {name}:")),
            "{e}"
        );
    }
    assert_eq!(get(&db, "k"), None);
    assert_eq!(names(&db), ["x"]);
    // A noop is no marker.
    let mut batch = Batch::default();
    batch.push_noop();
    batch.push(0, ValueType::Value, b"k", b"v");
    db.write(WriteBatch::from_data(batch.bytes())).unwrap();
    assert_eq!(get(&db, "k").as_deref(), Some("v"));
    drop(x);
}

/// The keys of a section have room for the timestamp, which only the commit knows.
#[test]
fn a_commit_with_a_timestamp_gives_it_to_the_keys() {
    let fs = MemFs::new();
    let options = keeping(&fs);
    let mut with_times = options.clone();
    with_times.set_u64_timestamp_comparator();
    let open = |options: &Options| {
        let families = [
            ColumnFamilyDescriptor::new("default", options.clone()),
            ColumnFamilyDescriptor::new("other", with_times.clone()),
        ];
        DB::open_cf_descriptors(options, "/db", families)
    };
    drop(open(&options).unwrap());
    for number in logs(&fs) {
        fs.remove(&filename::wal(Path::new("/db"), number)).unwrap();
    }
    let section = [
        BEGIN,
        put(0, "plain", "v"),
        put(1, "key\0\0\0\0\0\0\0\0", "v"),
        Op::EndPrepare(b"x"),
    ];
    let at = |timestamp| Op::CommitAt {
        timestamp,
        xid: b"x",
    };
    let seven = 7u64.to_le_bytes();
    log(&fs, 100, &[(5, &section), (6, &[at(&seven)])]);
    let (_, killed_options) = killed(&fs);
    let db = open(&killed_options).unwrap();
    assert_eq!(get(&db, "plain").as_deref(), Some("v"));
    let other = db.cf_handle("other").unwrap();
    for (time, value) in [(6u64, None), (7, Some(b"v".to_vec()))] {
        let mut how = ReadOptions::default();
        how.set_timestamp(time.to_le_bytes());
        assert_eq!(db.get_cf_opt(&other, "key", &how), Ok(value), "at {time}");
    }
    // A timestamp of another size is damage, and nothing of the transaction is applied.
    log(&fs, 100, &[(5, &section), (6, &[at(&seven[..4])])]);
    let (_, mut killed_options) = killed(&fs);
    let db = open(&killed_options).unwrap();
    assert_eq!(names(&db), ["x"]);
    assert_eq!(get(&db, "plain"), None);
    drop(db);
    killed_options.set_fs(Arc::new(fs));
    killed_options.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
    let e = open(&killed_options).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert!(e.to_string().contains("commit timestamp of 4 bytes"), "{e}");
}
