//! Sections that the engine has logged again, to secondary instances.

use super::recovery::{get, keeping, names};
use super::{PROTOCOLS, commit, options, prepare, puts, roll_back};
use crate::options::read::WriteSpec;
use crate::{CommitProtocol, DB};
use std::sync::Arc;
use whitewater_storage::fs::fault::{FaultFs, FaultOp, OpSet, PathMatch, Rule};
use whitewater_storage::fs::mem::MemFs;

/// A database whose logs can be made to fail.
fn fallible(mem: &MemFs, protocol: CommitProtocol) -> (FaultFs, DB) {
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let mut options = options(mem, protocol);
    options.set_fs(Arc::new(fs.clone()));
    let db = DB::open(&options, "/db").unwrap();
    (fs, db)
}

/// Runs `failing` while all operations `op` on logs fail, and resumes.
fn resume_after(fs: &FaultFs, db: &DB, op: FaultOp, failing: impl FnOnce(&DB)) {
    fs.add_rule(Rule {
        path: PathMatch::EndsWith(".log".into()),
        sticky: true,
        ..Rule::nth(OpSet::of(&[op]), 1)
    });
    failing(db);
    fs.clear_rules();
    db.resume().unwrap();
}

/// The section was forgotten with its old log, and its repetition passed over.
#[test]
fn a_secondary_keeps_sections_over_a_resumption_of_the_primary() {
    for protocol in PROTOCOLS {
        for catches_up in [false, true] {
            let mem = MemFs::new();
            let (fs, db) = fallible(&mem, protocol);
            db.put("k", "1").unwrap();
            let x = prepare(db.engine(), "x", &["a", "b"]);
            let y = prepare(db.engine(), "y", &["c"]);
            db.put("k", "2").unwrap();
            let second = options(&mem, protocol);
            let secondary = DB::open_as_secondary(&second, "/db", "/own").unwrap();
            let catch_up = || secondary.try_catch_up_with_primary().unwrap();
            for round in 0..2 {
                resume_after(&fs, &db, FaultOp::Append, |db| {
                    db.put("k", "failed").unwrap_err();
                });
                db.put("k", format!("{round}")).unwrap();
                if catches_up {
                    catch_up();
                    assert_eq!(get(&secondary, "a"), None, "{protocol}");
                }
            }
            commit(db.engine(), &x);
            roll_back(db.engine(), &y);
            db.put("k", "3").unwrap();
            catch_up();
            let what = format!("{protocol}, {catches_up}");
            for (key, value) in [("k", "3"), ("a", "a"), ("b", "b")] {
                assert_eq!(get(&secondary, key).as_deref(), Some(value), "{what}");
            }
            assert_eq!(get(&secondary, "c"), None, "{what}");
        }
    }
}

/// The decision is in the old log, where the secondary reads it, but its sync has failed.
#[test]
fn a_secondary_keeps_sections_whose_decision_failed() {
    for protocol in PROTOCOLS {
        for commits in [false, true] {
            let mem = MemFs::new();
            let (fs, db) = fallible(&mem, protocol);
            db.put("k", "1").unwrap();
            let x = prepare(db.engine(), "x", &["a"]);
            let second = options(&mem, protocol);
            let secondary = DB::open_as_secondary(&second, "/db", "/own").unwrap();
            let catch_up = || secondary.try_catch_up_with_primary().unwrap();
            let spec = WriteSpec {
                sync: true,
                ..WriteSpec::default()
            };
            resume_after(&fs, &db, FaultOp::Sync, |db| {
                let failed = match commits {
                    true => db.engine().commit_section(&x, None, &spec),
                    false => db.engine().rollback_section(&x, &spec),
                };
                failed.unwrap_err();
                catch_up();
            });
            let what = format!("{protocol}, {commits}");
            catch_up();
            assert_eq!(get(&secondary, "a"), None, "{what}");
            commit(db.engine(), &x);
            catch_up();
            assert_eq!(get(&secondary, "a").as_deref(), Some("a"), "{what}");
        }
    }
}

/// What was decided before the failure is not in the new log, and does not come back.
#[test]
fn a_secondary_forgets_sections_that_were_decided_before_a_resumption() {
    for protocol in PROTOCOLS {
        let mem = MemFs::new();
        let (fs, db) = fallible(&mem, protocol);
        let engine = db.engine();
        let [x, y, z] = ["x", "y", "z"].map(|name| prepare(engine, name, &[name]));
        let second = options(&mem, protocol);
        let secondary = DB::open_as_secondary(&second, "/db", "/own").unwrap();
        commit(engine, &x);
        roll_back(engine, &y);
        db.delete("x").unwrap();
        resume_after(&fs, &db, FaultOp::Append, |db| {
            let spec = WriteSpec::default();
            let failed = db.engine().prepare_section(b"w", &puts(&["w"]), &spec);
            failed.unwrap_err();
        });
        commit(engine, &z);
        // The names may be used again.
        for name in ["x", "y"] {
            roll_back(engine, &prepare(engine, name, &[name]));
        }
        secondary.try_catch_up_with_primary().unwrap();
        let found = ["w", "x", "y", "z"].map(|key| get(&secondary, key).is_some());
        assert_eq!(found, [false, false, false, true], "{protocol}");
    }
}

/// An opening logs the outstanding sections again, too.
#[test]
fn a_secondary_keeps_sections_over_an_opening_of_the_primary() {
    for catches_up in [false, true] {
        let mem = MemFs::new();
        let open = || DB::open(&keeping(&mem), "/db").unwrap();
        let db = open();
        db.put("k", "1").unwrap();
        let sections = ["x", "y", "z"].map(|name| prepare(db.engine(), name, &[name]));
        let second = options(&mem, CommitProtocol::Ordered);
        let secondary = DB::open_as_secondary(&second, "/db", "/own").unwrap();
        let catch_up = || secondary.try_catch_up_with_primary().unwrap();
        commit(db.engine(), &sections[1]);
        db.delete("y").unwrap();
        drop((sections, db));
        for _ in 0..2 {
            let db = open();
            assert_eq!(names(&db), ["x", "z"]);
            if catches_up {
                catch_up();
            }
        }
        let db = open();
        catch_up();
        let [x, z] = <[_; 2]>::try_from(db.engine().prepared_sections()).unwrap();
        commit(db.engine(), &x);
        roll_back(db.engine(), &z);
        catch_up();
        let found = ["k", "x", "y", "z"].map(|key| get(&secondary, key).is_some());
        assert_eq!(found, [true, true, false, false], "{catches_up}");
    }
}
