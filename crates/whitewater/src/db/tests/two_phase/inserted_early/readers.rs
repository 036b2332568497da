//! Who reads the logs of sections that were inserted when they were prepared: read-only and
//! secondary instances, repairs, checkpoints, and callers that ask for updates.

use super::super::recovery::{decide, get, names};
use super::super::{PROTOCOLS, commit, prepare, roll_back};
use super::options;
use super::recovery::{keeping, killed, open};
use crate::checkpoint::Checkpoint;
use crate::{ColumnFamilyDescriptor, DB, ErrorKind, Options, WriteBatch};
use std::path::Path;
use whitewater_storage::filename;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;

pub(super) fn families(options: &Options) -> [ColumnFamilyDescriptor; 2] {
    ["default", "other"].map(|name| ColumnFamilyDescriptor::new(name, options.clone()))
}

fn values<const N: usize>(db: &DB, keys: [&str; N]) -> [Option<String>; N] {
    keys.map(|key| get(db, key))
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// It is opened before the first section is prepared, and is not told the write policy.
#[test]
fn a_secondary_instance_hides_a_section_until_it_reads_the_decision() {
    for protocol in PROTOCOLS {
        for flushes in [false, true] {
            let what = format!("{protocol}, flushed: {flushes}");
            let fs = MemFs::new();
            let options = options(&fs, protocol);
            let db = open(&options);
            let engine = db.engine();
            for key in ["a", "b"] {
                db.put(key, "old").unwrap();
            }
            let plain = super::super::options(&fs, protocol);
            let follow = |own: &str| {
                let (dir, own) = (Path::new("/db"), Path::new(own));
                DB::open_cf_descriptors_as_secondary(&plain, dir, own, families(&plain)).unwrap()
            };
            let secondary = follow("/early");
            let flush = || flushes.then(|| db.flush().unwrap());
            let [a, b] = ["a", "b"].map(|name| prepare(engine, name, &[name, "both"]));
            db.put("k", "1").unwrap();
            flush();
            let catch_up = || secondary.try_catch_up_with_primary().unwrap();
            let keys = ["k", "a", "b", "both"];
            let old = || some("old");
            catch_up();
            assert_eq!(
                values(&secondary, keys),
                [some("1"), old(), old(), None],
                "{what}"
            );
            commit(engine, &a);
            let number = db.latest_sequence_number();
            flush();
            catch_up();
            let a_committed = [some("1"), some("a"), old(), some("both")];
            assert_eq!(values(&secondary, keys), a_committed, "{what}");
            assert_eq!(secondary.latest_sequence_number(), number, "{what}");
            roll_back(engine, &b);
            db.put("k", "2").unwrap();
            flush();
            catch_up();
            let b_rolled_back = [some("2"), some("a"), old(), some("both")];
            assert_eq!(values(&secondary, keys), b_rolled_back, "{what}");
            assert_eq!(values(&follow("/late"), keys), b_rolled_back, "{what}");
            // A name may be used again, and all of it may come at once.
            let b = prepare(engine, "b", &["b"]);
            catch_up();
            commit(engine, &b);
            catch_up();
            let c = prepare(engine, "c", &["k"]);
            flush();
            roll_back(engine, &c);
            catch_up();
            let all = [some("2"), some("a"), some("b"), some("both")];
            assert_eq!(values(&secondary, keys), all, "{what}");
        }
    }
}

/// The primary is opened again, and has logged its sections again.
#[test]
fn a_secondary_instance_follows_through_an_opening_of_the_primary() {
    for commits in [true, false] {
        let fs = MemFs::new();
        let db = open(&keeping(&fs));
        db.put("x", "old").unwrap();
        let plain = keeping(&fs);
        let (dir, own) = (Path::new("/db"), Path::new("/own"));
        let secondary =
            DB::open_cf_descriptors_as_secondary(&plain, dir, own, families(&plain)).unwrap();
        drop(prepare(db.engine(), "x", &["x"]));
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!(get(&secondary, "x"), some("old"));
        drop(db);
        for _ in 0..2 {
            let db = open(&keeping(&fs));
            db.put("k", "1").unwrap();
            secondary.try_catch_up_with_primary().unwrap();
            assert_eq!(values(&secondary, ["x", "k"]), [some("old"), some("1")]);
        }
        let db = open(&keeping(&fs));
        decide(&db, "x", commits);
        secondary.try_catch_up_with_primary().unwrap();
        let value = if commits { "x" } else { "old" };
        assert_eq!(get(&secondary, "x"), some(value));
    }
}

/// The primary goes on without `WRITE_PREPARED`: its logs are numbered by entries again, and may
/// have sections of `WRITE_COMMITTED`.
#[test]
fn a_secondary_instance_follows_a_primary_back_to_write_committed() {
    let fs = MemFs::new();
    let db = open(&keeping(&fs));
    let committed = super::super::options(&fs, crate::CommitProtocol::Ordered);
    let (dir, own) = (Path::new("/db"), Path::new("/own"));
    let secondary =
        DB::open_cf_descriptors_as_secondary(&committed, dir, own, families(&committed)).unwrap();
    db.put("a", "old").unwrap();
    commit(db.engine(), &prepare(db.engine(), "x", &["x"]));
    let catch_up = || secondary.try_catch_up_with_primary().unwrap();
    catch_up();
    assert_eq!(values(&secondary, ["a", "x"]), [some("old"), some("x")]);
    // No log may have sections of another policy.
    db.flush().unwrap();
    drop(db);
    let mut two_phase = committed.clone();
    two_phase.set_allow_2pc(true);
    let db = DB::open_cf(&two_phase, dir, ["default", "other"]).unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "deleted by the same batch");
    batch.delete_range("0", "b");
    batch.put("b", "1");
    db.write(batch).unwrap();
    catch_up();
    assert_eq!(values(&secondary, ["a", "b"]), [None, some("1")]);
    assert_eq!(
        secondary.latest_sequence_number(),
        db.latest_sequence_number()
    );
    let y = prepare(db.engine(), "y", &["y"]);
    catch_up();
    assert_eq!(get(&secondary, "y"), None);
    commit(db.engine(), &y);
    catch_up();
    assert_eq!(get(&secondary, "y"), some("y"));
    db.flush().unwrap();
    drop(db);
    // And forth again.
    let db = open(&keeping(&fs));
    db.put("a", "new").unwrap();
    let z = prepare(db.engine(), "z", &["z"]);
    catch_up();
    assert_eq!(values(&secondary, ["a", "z"]), [some("new"), None]);
    commit(db.engine(), &z);
    catch_up();
    assert_eq!(get(&secondary, "z"), some("z"));
}

/// What a plain database has logged is read as that, whatever policy the next opening has.
#[test]
fn an_opening_reads_the_logs_of_a_plain_database_as_they_were_numbered() {
    let fs = MemFs::new();
    let plain = super::super::options(&fs, crate::CommitProtocol::Ordered);
    let db = DB::open_cf(&plain, "/db", ["default", "other"]).unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "deleted by the same batch");
    batch.delete_range("0", "c");
    batch.put("b", "1");
    db.write(batch).unwrap();
    let last = db.latest_sequence_number();
    let (_, options) = killed(&fs);
    let db = open(&options);
    assert_eq!(values(&db, ["a", "b"]), [None, some("1")]);
    assert!(db.latest_sequence_number() >= last);
}

#[test]
fn a_read_only_instance_shows_nothing_that_is_prepared() {
    for flushes in [false, true] {
        let fs = MemFs::new();
        let db = open(&keeping(&fs));
        let keys = ["a", "b", "c"];
        keys.iter().for_each(|key| db.put(key, "old").unwrap());
        let [a, b, _c] = keys.map(|name| prepare(db.engine(), name, &[name]));
        if flushes {
            db.flush().unwrap();
        }
        commit(db.engine(), &a);
        roll_back(db.engine(), &b);
        let expected = [some("a"), some("old"), some("old")];
        let plain = super::super::options(&fs, crate::CommitProtocol::Ordered);
        for options in [plain, keeping(&fs)] {
            let reader = DB::open_cf_for_read_only(&options, "/db", ["default", "other"], false);
            assert_eq!(
                values(&reader.unwrap(), keys),
                expected,
                "flushed: {flushes}"
            );
        }
    }
}

#[test]
fn a_repair_keeps_prepared_transactions() {
    for flushes in [false, true] {
        for manifest in [false, true] {
            let fs = MemFs::new();
            let db = open(&keeping(&fs));
            let keys = ["a", "b", "c"];
            keys.iter().for_each(|key| db.put(key, "old").unwrap());
            let [a, b, _c] = keys.map(|name| prepare(db.engine(), name, &[name]));
            if flushes {
                db.flush().unwrap();
            }
            commit(db.engine(), &a);
            roll_back(db.engine(), &b);
            let (fs, options) = killed(&fs);
            if !manifest {
                fs.remove(&filename::current(Path::new("/db"))).unwrap();
            }
            let plain = super::super::options(&fs, crate::CommitProtocol::Ordered);
            DB::repair(&plain, "/db").unwrap();
            // Again, since a repair may be killed at its end.
            DB::repair(&plain, "/db").unwrap();
            let what = format!("flushed: {flushes}, CURRENT: {manifest}");
            let families = DB::list_cf(&plain, "/db").unwrap();
            let e = DB::open_cf(&plain, "/db", &families).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported, "{what}");
            for round in 0..3 {
                let db = DB::open_cf(&options, "/db", &families).unwrap();
                assert_eq!(names(&db), ["c"], "{what}");
                let expected = [some("a"), some("old"), some("old")];
                assert_eq!(values(&db, keys), expected, "{what}");
                if round == 2 {
                    decide(&db, "c", true);
                }
            }
            let db = DB::open_cf(&options, "/db", &families).unwrap();
            assert_eq!(get(&db, "c"), some("c"), "{what}");
        }
    }
}

/// A section takes one number, however many operations it has. A repair that counted them took the
/// sections of the next log for repetitions.
#[test]
fn a_repair_keeps_what_follows_a_large_section() {
    let fs = MemFs::new();
    let db = open(&keeping(&fs));
    let keys: Vec<String> = (0..100).map(|n| format!("many {n}")).collect();
    let keys: Vec<&str> = keys.iter().map(|key| &key[..]).collect();
    prepare(db.engine(), "many", &keys);
    db.put("k", "1").unwrap();
    db.flush().unwrap();
    let committed = prepare(db.engine(), "a", &["a"]);
    commit(db.engine(), &committed);
    prepare(db.engine(), "b", &["b"]);
    let (fs, options) = killed(&fs);
    DB::repair(
        &super::super::options(&fs, crate::CommitProtocol::Ordered),
        "/db",
    )
    .unwrap();
    let families = DB::list_cf(&options, "/db").unwrap();
    let db = DB::open_cf(&options, "/db", &families).unwrap();
    assert_eq!(names(&db), ["b", "many"]);
    assert_eq!(values(&db, ["a", "b", "k"]), [some("a"), None, some("1")]);
    decide(&db, "b", true);
    assert_eq!(get(&db, "b"), some("b"));
}

#[test]
fn a_checkpoint_has_what_is_prepared() {
    for (flushes, reopens) in [(false, false), (true, false), (false, true), (true, true)] {
        let fs = MemFs::new();
        let mut db = open(&keeping(&fs));
        for key in ["a", "b"] {
            db.put(key, "old").unwrap();
            drop(prepare(db.engine(), key, &[key]));
        }
        if reopens {
            drop(db);
            db = open(&keeping(&fs));
        }
        db.put("k", "1").unwrap();
        if flushes {
            db.flush().unwrap();
        }
        decide(&db, "a", true);
        let checkpoint = Checkpoint::new(&db).unwrap();
        checkpoint.create_checkpoint("/copy").unwrap();
        decide(&db, "b", true);
        for _ in 0..2 {
            let copy = DB::open_cf(&keeping(&fs), "/copy", ["default", "other"]).unwrap();
            assert_eq!(names(&copy), ["b"]);
            let expected = [some("a"), some("old"), some("1")];
            assert_eq!(values(&copy, ["a", "b", "k"]), expected);
        }
        let expected = [some("a"), some("b"), some("1")];
        assert_eq!(values(&db, ["a", "b", "k"]), expected);
    }
}

#[test]
fn updates_are_refused_in_rocksdbs_words() {
    let fs = MemFs::new();
    let db = open(&keeping(&fs));
    db.put("k", "1").unwrap();
    let Err(e) = db.get_updates_since(0) else {
        panic!("updates of WRITE_PREPARED");
    };
    assert_eq!(
        e.to_string(),
        "Not implemented: This API is not yet compatible with write-prepared/write-unprepared \
         transactions"
    );
}
