//! Failed prepares and decisions, and resumptions while sections are outstanding.

use super::{PROTOCOLS, commit, outstanding, prepare, puts, records, roll_back};
use crate::options::read::WriteSpec;
use crate::{CommitProtocol, DB, ErrorKind, Options};
use std::sync::Arc;
use whitewater_storage::fs::fault::{FaultFs, FaultOp, OpSet, PathMatch, Rule};
use whitewater_storage::fs::mem::MemFs;

fn options(fs: &FaultFs, protocol: CommitProtocol) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(protocol);
    options
}

/// Makes all operations `op` on logs fail.
pub(super) fn fail(fs: &FaultFs, op: FaultOp) {
    fs.add_rule(Rule {
        path: PathMatch::EndsWith(".log".into()),
        sticky: true,
        ..Rule::nth(OpSet::of(&[op]), 1)
    });
}

/// Races 7 and 8: the log fails under a prepare, a commit and a rollback. After a resumption
/// each can be repeated, and the outstanding sections are in the new log.
#[test]
fn a_failed_step_can_be_repeated_after_a_resumption() {
    for protocol in PROTOCOLS {
        for (op, sync) in [(FaultOp::Append, false), (FaultOp::Sync, true)] {
            let what = format!("{protocol}, {op:?}");
            let mem = MemFs::new();
            let fs = FaultFs::new(Arc::new(mem.clone()));
            let db = DB::open(&options(&fs, protocol), "/db").unwrap();
            let engine = db.engine();
            let spec = WriteSpec {
                sync,
                ..WriteSpec::default()
            };
            db.put("k", "1").unwrap();
            let x = prepare(engine, "x", &["x"]);
            let y = prepare(engine, "y", &["y"]);
            let z = prepare(engine, "z", &["z"]);
            for step in 0..3 {
                fail(&fs, op);
                let failed = match step {
                    0 => engine.prepare_section(b"w", &puts(&["w"]), &spec).map(drop),
                    1 => engine.commit_section(&x, None, &spec),
                    _ => engine.rollback_section(&y, &spec),
                };
                assert_eq!(failed.unwrap_err().kind(), ErrorKind::IOError, "{what}");
                let refused = engine.commit_section(&z, None, &spec);
                assert!(refused.is_err(), "{what}");
                assert_eq!(db.get("x"), Ok(None), "{what}");
                let names = engine.prepared_sections();
                assert_eq!(names.len(), 3, "{what}: as before");
                fs.clear_rules();
                db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(outstanding(&mem, engine), ["x", "y", "z"], "{what}");
                let log = engine.commit.generations.load().wal.log_number();
                assert_eq!(engine.commit.sections.oldest_log(), Some(log), "{what}");
                assert_eq!(db.get("x"), Ok(None), "{what}");
                // The sections are durable in the new log.
                let cut = mem.crash_clone(0.0, 1);
                assert_eq!(outstanding(&cut, engine), ["x", "y", "z"], "{what}");
            }
            let w = engine.prepare_section(b"w", &puts(&["w"]), &spec).unwrap();
            commit(engine, &x);
            roll_back(engine, &y);
            assert_eq!(outstanding(&mem, engine), ["w", "z"], "{what}");
            for n in 0..3 {
                db.put("k", n.to_string()).unwrap();
                db.flush().unwrap();
            }
            assert_eq!(outstanding(&mem, engine), ["w", "z"], "{what}");
            commit(engine, &z);
            commit(engine, &w);
            let found = ["x", "y", "z", "w"].map(|key| db.get(key).unwrap().is_some());
            assert_eq!(found, [true, false, true, true], "{what}");
            let last = db.latest_sequence_number();
            db.flush().unwrap();
            db.put("k", "last").unwrap();
            assert_eq!(db.latest_sequence_number(), last + 1);
            assert_eq!(outstanding(&mem, engine), [""; 0], "{what}");
        }
    }
}

/// A resumption logs the sections with the numbers that they had.
#[test]
fn a_resumption_keeps_the_numbers_of_sections() {
    for protocol in PROTOCOLS {
        let mem = MemFs::new();
        let fs = FaultFs::new(Arc::new(mem.clone()));
        let db = DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        db.put("k", "1").unwrap();
        let x = prepare(engine, "x", &["a", "b"]);
        db.put("k", "2").unwrap();
        let gone = prepare(engine, "gone", &["c"]);
        roll_back(engine, &gone);
        fail(&fs, FaultOp::Append);
        let spec = WriteSpec::default();
        engine.commit_section(&x, None, &spec).unwrap_err();
        fs.clear_rules();
        db.resume().unwrap();
        db.put("k", "3").unwrap();
        commit(engine, &x);
        let expected = [
            "2,2 BEGIN Value(a) Value(b) END(x)",
            // The failed commit had 6 and 7.
            "8,1 Value(k)",
            "9,0 COMMIT(x)",
        ];
        assert_eq!(records(&mem), expected, "{protocol}");
        assert_eq!(db.latest_sequence_number(), 10, "{protocol}");
    }
}
