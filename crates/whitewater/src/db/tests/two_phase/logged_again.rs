//! Sections that an opening or a resumption has logged again in its new log.

use super::recovery::{keeping, names};
use super::{commit, options, prepare, puts};
use crate::checkpoint::Checkpoint;
use crate::options::read::WriteSpec;
use crate::{CommitProtocol, DB, DBCompressionType, Options};
use std::sync::Arc;
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::fault::{FaultFs, FaultOp, OpSet, PathMatch, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

/// What the checkpoint of `db` has prepared.
fn prepared_in_copy(db: &DB, fs: &MemFs) -> Vec<String> {
    let checkpoint = Checkpoint::new(db).unwrap();
    checkpoint.create_checkpoint("/copy").unwrap();
    names(&DB::open(&keeping(fs), "/copy").unwrap())
}

/// A database with a prepared section that a failed log has stopped.
fn stopped(mem: &MemFs) -> (FaultFs, DB) {
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(fs.clone()));
    let db = DB::open(&options, "/db").unwrap();
    db.put("k", "1").unwrap();
    drop(prepare(db.engine(), "x", &["a", "b"]));
    fs.add_rule(Rule {
        path: PathMatch::EndsWith(".log".into()),
        sticky: true,
        ..Rule::nth(OpSet::of(&[FaultOp::Append]), 1)
    });
    db.put("k", "failed").unwrap_err();
    fs.clear_rules();
    (fs, db)
}

#[test]
fn a_checkpoint_right_after_an_opening_keeps_them() {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
    db.put("k", "1").unwrap();
    drop(prepare(db.engine(), "x", &["a"]));
    drop(db);
    let db = DB::open(&keeping(&fs), "/db").unwrap();
    assert_eq!(names(&db), ["x"]);
    assert_eq!(prepared_in_copy(&db, &fs), ["x"]);
}

#[test]
fn a_checkpoint_right_after_a_resumption_keeps_them() {
    let mem = MemFs::new();
    let (_, db) = stopped(&mem);
    db.resume().unwrap();
    assert_eq!(prepared_in_copy(&db, &mem), ["x"]);
}

/// The record may be in the manifest although its sync failed. The next opening then reads
/// no log but the one with the sections.
#[test]
fn a_resumption_whose_manifest_record_is_uncertain_keeps_them() {
    let mem = MemFs::new();
    let (fs, db) = stopped(&mem);
    fs.add_rule(Rule {
        path: PathMatch::Contains("MANIFEST".into()),
        sticky: true,
        ..Rule::nth(OpSet::of(&[FaultOp::Sync]), 1)
    });
    db.resume().unwrap_err();
    fs.clear_rules();
    let killed = mem.after_kill();
    let again = DB::open(&keeping(&killed), "/db").unwrap();
    assert_eq!(again.get("k").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(names(&again), ["x"]);
}

#[test]
fn large_sections_survive_two_openings_in_every_kind_of_log() {
    for kind in 0..8 {
        let fs = MemFs::new();
        let set = |fs: &MemFs| {
            let mut o = options(fs, CommitProtocol::Ordered);
            o.set_allow_2pc(true);
            if kind & 1 > 0 {
                o.set_wal_compression_type(DBCompressionType::Zstd);
            }
            if kind & 2 > 0 {
                o.set_recycle_log_file_num(2);
            }
            o.set_manual_wal_flush(kind & 4 > 0);
            o
        };
        let db = DB::open(&set(&fs), "/db").unwrap();
        let mut batch = Batch::default();
        batch.push_noop();
        for n in 0..300u32 {
            let value = [n.to_le_bytes(); 250].concat();
            batch.push(0, ValueType::Value, format!("{n:04}").as_bytes(), &value);
        }
        for round in 0..3 {
            db.put("k", format!("{round}")).unwrap();
            db.flush().unwrap();
        }
        let spec = WriteSpec::default();
        drop(db.engine().prepare_section(b"big", &batch, &spec).unwrap());
        drop(
            db.engine()
                .prepare_section(b"zz", &puts(&[""]), &spec)
                .unwrap(),
        );
        for round in 0..3 {
            db.put("k", format!("{round}")).unwrap();
            db.flush().unwrap();
        }
        db.flush_wal(true).unwrap();
        let mut fs = fs.crash_clone(0.0, 1);
        for _ in 0..2 {
            let db = DB::open(&set(&fs), "/db").unwrap();
            assert_eq!(names(&db), ["big", "zz"], "{kind}");
            fs = fs.crash_clone(0.0, 1);
        }
        let db = DB::open(&set(&fs), "/db").unwrap();
        let sections = db.engine().prepared_sections();
        for section in &sections {
            commit(db.engine(), section);
        }
        db.flush_wal(true).unwrap();
        let fs = fs.crash_clone(0.0, 1);
        let db = DB::open(&set(&fs), "/db").unwrap();
        assert!(names(&db).is_empty());
        for n in 0..300u32 {
            assert_eq!(
                db.get(format!("{n:04}")).unwrap().unwrap().len(),
                1000,
                "{kind} {n}"
            );
        }
        assert_eq!(db.get("").unwrap().as_deref(), Some(&b""[..]));
    }
}
