//! Failed prepares and decisions: no range stays behind, none leaves too early.

use super::super::failures::fail;
use super::super::{PROTOCOLS, commit, logs, outstanding, prepare, puts, roll_back};
use super::undecided;
use crate::options::read::WriteSpec;
use crate::options::write_policy::WritePolicy;
use crate::{CommitProtocol, DB, ErrorKind, Options};
use std::sync::Arc;
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::fault::{FaultFs, FaultOp};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

fn options(fs: &FaultFs, protocol: CommitProtocol) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(protocol);
    options.set_write_policy(WritePolicy::WritePrepared);
    options
}

fn at_commit() -> Batch {
    let mut batch = Batch::default();
    batch.push(0, ValueType::Value, b"c", b"c");
    batch
}

/// Races 7 and 8: the log fails under a prepare, a commit with operations of its own and a
/// rollback. After a resumption each can be repeated.
// Long: one life of three transactions, with a failure at each step.
#[test]
fn a_failed_step_leaves_what_was_undecided_as_it_was() {
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
            for key in ["x", "y"] {
                db.put(key, "old").unwrap();
            }
            let x = prepare(engine, "x", &["x", "x1"]);
            let y = prepare(engine, "y", &["y", "y1", "y"]);
            let z = prepare(engine, "z", &["z"]);
            let before = [(3, 3), (4, 5), (6, 6)];
            assert_eq!(undecided(engine), before, "{what}");
            for step in 0..3 {
                let what = format!("{what}, {step}");
                fail(&fs, op);
                let failed = match step {
                    0 => engine.prepare_section(b"w", &puts(&["w"]), &spec).map(drop),
                    1 => engine.commit_section(&x, Some(&at_commit()), &spec),
                    _ => engine.rollback_section(&y, &spec),
                };
                assert_eq!(failed.unwrap_err().kind(), ErrorKind::IOError, "{what}");
                assert_eq!(undecided(engine), before, "{what}");
                assert_eq!(engine.prepared_sections().len(), 3, "{what}: as before");
                fs.clear_rules();
                db.resume().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(undecided(engine), before, "{what}");
                assert_eq!(outstanding(&mem, engine), ["x", "y", "z"], "{what}");
                let log = engine.commit.generations.load().wal.log_number();
                let of_sections = engine.commit.sections.oldest_log().unwrap();
                assert_eq!(logs(&mem), [of_sections, log], "{what}");
                let kept = engine.files.versions.min_log_number_to_keep();
                assert_eq!(kept, of_sections, "{what}");
                // The sections are durable in their log.
                let cut = mem.crash_clone(0.0, 1);
                assert_eq!(outstanding(&cut, engine), ["x", "y", "z"], "{what}");
            }
            let w = engine.prepare_section(b"w", &puts(&["w"]), &spec).unwrap();
            commit(engine, &x);
            roll_back(engine, &y);
            assert_eq!(outstanding(&mem, engine), ["w", "z"], "{what}");
            assert_eq!(undecided(engine).len(), 2, "{what}");
            for n in 0..3 {
                db.put("k", n.to_string()).unwrap();
                db.flush().unwrap();
            }
            assert_eq!(outstanding(&mem, engine), ["w", "z"], "{what}");
            commit(engine, &z);
            commit(engine, &w);
            assert_eq!(undecided(engine), [], "{what}");
            db.put("k", "last").unwrap();
            db.flush().unwrap();
            super::super::await_purges(engine);
            assert_eq!(logs(&mem).len(), 1, "{what}");
            for (key, value) in [
                ("x", Some("x")),
                ("x1", Some("x1")),
                ("y", Some("old")),
                ("y1", None),
                ("z", Some("z")),
                ("w", Some("w")),
                // It was committed without.
                ("c", None),
            ] {
                let found = db.get(key).unwrap();
                assert_eq!(found.as_deref(), value.map(str::as_bytes), "{what}: {key}");
            }
        }
    }
}

/// A resumption logs the sections in a log that no family needs, with the numbers that they
/// have: their operations are in tables, with these numbers.
#[test]
fn a_resumption_gives_sections_a_log_of_their_own() {
    for protocol in PROTOCOLS {
        let mem = MemFs::new();
        let fs = FaultFs::new(Arc::new(mem.clone()));
        let db = DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        db.put("k", "1").unwrap();
        let x = prepare(engine, "x", &["a", "b", "a"]);
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
            "2,3 BEGIN Value(a) Value(b) Value(a) END(x)",
            // The failed commit had 7.
            "8,1 Value(k) NOOP",
            "9,0 COMMIT(x)",
        ];
        assert_eq!(super::super::records(&mem), expected, "{protocol}");
        assert_eq!(db.latest_sequence_number(), 9, "{protocol}");
        assert_eq!(db.get("a"), Ok(Some(b"a".into())), "{protocol}");
        assert_eq!(db.get("c"), Ok(None), "{protocol}");
    }
}

/// What a section leaves behind when it is decided is nothing: not its memory either.
#[test]
fn decided_sections_are_freed() {
    for policy in [WritePolicy::WriteCommitted, WritePolicy::WritePrepared] {
        let fs = FaultFs::new(Arc::new(MemFs::new()));
        let mut options = options(&fs, CommitProtocol::Ordered);
        options.set_write_policy(policy);
        let db = DB::open(&options, "/db").unwrap();
        let x = prepare(db.engine(), "x", &["a"]);
        let memory = Arc::downgrade(&db.engine().commit.sections.all()[0]);
        commit(db.engine(), &x);
        drop(x);
        assert!(memory.upgrade().is_none(), "{policy:?}");
    }
}

/// A prepared transaction is in the list of those that are not decided, whatever memtables have.
#[test]
fn what_prepared_sections_take_is_counted() {
    for policy in [WritePolicy::WriteCommitted, WritePolicy::WritePrepared] {
        let fs = FaultFs::new(Arc::new(MemFs::new()));
        let mut options = options(&fs, CommitProtocol::Ordered);
        options.set_write_policy(policy);
        let db = DB::open(&options, "/db").unwrap();
        let engine = db.engine();
        let beside = || {
            let (total, unflushed, _) = engine.memory_usage();
            total - unflushed
        };
        let before = beside();
        let key = "k".repeat(100_000);
        let x = prepare(engine, "x", &[&key]);
        assert!(beside() >= before + 200_000, "{policy:?}: key and value");
        roll_back(engine, &x);
        assert_eq!(beside(), before, "{policy:?}");
    }
}
