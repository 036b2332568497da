//! `WRITE_PREPARED`: prepared transactions are in memtables, and nobody sees them.

use super::two_phase::{names, prepared};
use super::{DIR, TxnDb, impatient, kind, options_on, value};
use crate::harness::points::Trap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    DBRecoveryMode, ErrorKind, MergeOperands, Options, Point, TransactionDBOptions,
    WriteBatchWithTransaction, WritePolicy,
};
use whitewater_storage::batch::{self, Op};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::read_file;
use whitewater_storage::wal::{LogReader, ReadOutcome};

fn policy() -> TransactionDBOptions {
    let mut o = impatient();
    o.set_write_policy(WritePolicy::WritePrepared);
    o
}

fn open(options: &Options) -> TxnDb {
    TxnDb::open(options, &policy(), DIR).unwrap()
}

/// The values of `a`, `b` and `c`.
fn seen(db: &TxnDb) -> [Option<String>; 3] {
    ["a", "b", "c"].map(|key| value(db, key))
}

/// A prepare and a commit are held up when their numbers are visible and before they have
/// returned: nothing is seen of the transaction, nor of what is put at its commit.
#[test]
fn a_transaction_counts_from_its_acknowledged_commit_on() {
    let mut o = options_on(MemFs::new());
    let trap = Trap::set(&mut o);
    let db = &open(&o);
    db.put("a", "old").unwrap();
    let before = [Some("old".into()), None, None];
    trap.arm(Point::Visible);
    let txn = thread::scope(|s| {
        let preparing = s.spawn(|| prepared(db, "x", &["a", "b"]));
        trap.wait();
        let shown = seen(db);
        trap.release();
        assert_eq!(shown, before, "prepared");
        preparing.join().unwrap()
    });
    assert_eq!(seen(db), before);
    txn.put_at_commit("c", "1").unwrap();
    trap.arm(Point::Visible);
    thread::scope(|s| {
        let committing = s.spawn(|| txn.commit().unwrap());
        trap.wait();
        let shown = seen(db);
        trap.release();
        assert_eq!(shown, before, "about to be committed");
        committing.join().unwrap();
    });
    assert_eq!(seen(db), ["a", "b", "c"].map(|_| Some("1".to_owned())));
}

#[test]
fn a_failed_commit_shows_nothing() {
    let fault = FaultFs::new(Arc::new(MemFs::new()));
    let mut o = options_on(MemFs::new());
    o.set_fs(Arc::new(fault.clone()));
    let db = open(&o);
    db.put("a", "old").unwrap();
    let txn = prepared(&db, "x", &["a", "b"]);
    txn.put_at_commit("c", "1").unwrap();
    fault.add_rule(Rule {
        sticky: true,
        ..Rule::nth(OpSet::of(&[FaultOp::Append]), 1)
    });
    assert_eq!(kind(txn.commit()), ErrorKind::IOError);
    let before = [Some("old".into()), None, None];
    assert_eq!(seen(&db), before);
    fault.clear_rules();
    db.resume().unwrap();
    assert_eq!(seen(&db), before);
    for txn in db.prepared_transactions() {
        txn.rollback().unwrap();
    }
    assert_eq!(seen(&db), before);
    db.flush().unwrap();
    assert_eq!(seen(&db), before);
}

/// What was inserted by the prepare never shows, not for the moment between two steps either.
#[test]
fn a_rollback_shows_nothing_at_any_instant() {
    let db = &open(&options_on(MemFs::new()));
    db.put("a", "old").unwrap();
    let ended = &AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(move || {
            for n in 0..30 {
                let txn = prepared(db, &format!("x{n}"), &["a", "b"]);
                txn.rollback().unwrap();
            }
            ended.store(true, Ordering::Relaxed);
        });
        loop {
            let ended = ended.load(Ordering::Relaxed); // the last look is behind the last rollback
            assert_eq!(seen(db), [Some("old".into()), None, None]);
            if ended {
                break;
            }
        }
    });
}

/// A prepared transaction with its own keys once takes one number, so what follows takes the next.
#[test]
fn a_transaction_has_no_other_numbers_than_its_own() {
    let db = open(&options_on(MemFs::new()));
    let before = db.latest_sequence_number();
    let txn = prepared(&db, "x", &["a", "b", "c"]);
    assert_eq!(db.latest_sequence_number(), before + 1);
    for n in 0..3 {
        db.put("other", n.to_string()).unwrap();
        assert_eq!(seen(&db), [None, None, None]);
    }
    txn.commit().unwrap();
    assert_eq!(seen(&db), ["a", "b", "c"].map(|_| Some("1".to_owned())));
}

/// RocksDB's recovery counts numbers by the ends of batches.
#[test]
fn every_batch_ends_in_the_log() {
    let fs = MemFs::new();
    let db = open(&options_on(fs.clone()));
    db.put("a", "1").unwrap();
    db.delete("a").unwrap();
    let mut batch = WriteBatchWithTransaction::<true>::default();
    batch.put("b", "1");
    batch.put_log_data("data");
    db.write(batch).unwrap();
    let txn = db.transaction();
    txn.put("c", "1").unwrap();
    txn.commit().unwrap();
    prepared(&db, "x", &["a"]).commit().unwrap();
    prepared(&db, "y", &["a"]).rollback().unwrap();
    db.flush_wal(false).unwrap();
    let mut ends = Vec::new();
    for name in fs.list(Path::new(DIR)).unwrap() {
        let Some(FileType::Wal(number)) = filename::parse(&name) else {
            continue;
        };
        let file = fs.open_sequential(&Path::new(DIR).join(&name)).unwrap();
        let mut reader = LogReader::new(file, number);
        let mut record = Vec::new();
        while reader.read_record(&mut record).unwrap() == ReadOutcome::Record {
            ends.push(match batch::ops(&record).last().unwrap().unwrap() {
                Op::Noop => "noop",
                Op::EndPrepare(_) => "prepare",
                Op::Commit(_) => "commit",
                Op::Rollback(_) => "rollback",
                Op::Entry { .. } | Op::LogData(_) => "none",
                Op::BeginPrepare(_) | Op::CommitAt { .. } => "unexpected",
            });
        }
    }
    ends.sort_unstable();
    let mut expected = vec!["commit", "noop", "noop", "noop", "noop"];
    expected.extend(["prepare", "prepare", "rollback"]);
    assert_eq!(ends, expected);
}

/// A flush knows that the transaction is decided, and what its prepare has inserted is in a table.
/// The rollback is in a log that a power cut takes. So the log with the transaction has to stay.
#[test]
fn a_power_cut_behind_a_rollback_makes_no_commit_of_it() {
    let fs = MemFs::new();
    let mut o = options_on(fs.clone());
    let trap = Trap::set(&mut o);
    let db = &open(&o);
    db.put("a", "old").unwrap();
    let txn = prepared(db, "x", &["a"]);
    db.flush_wal(true).unwrap();
    trap.arm(Point::Flushing);
    thread::scope(|s| {
        s.spawn(|| db.flush().unwrap());
        trap.wait();
        txn.rollback().unwrap();
        trap.release();
    });
    assert_eq!(value(db, "a").as_deref(), Some("old"));
    let cut = fs.crash_clone(0.0, 1);
    let db = open(&options_on(cut));
    assert_eq!(value(&db, "a").as_deref(), Some("old"));
    for txn in db.prepared_transactions() {
        txn.rollback().unwrap();
    }
    assert_eq!(value(&db, "a").as_deref(), Some("old"));
}

/// A flush knows that the transaction is committed, and the commit is in the log that writes go to.
/// If a power cut takes it, what the committed version hides has to show again after a rollback.
#[test]
fn a_power_cut_behind_a_commit_leaves_what_it_hides() {
    let fs = MemFs::new();
    let mut o = options_on(fs.clone());
    let trap = Trap::set(&mut o);
    let db = &open(&o);
    db.put("a", "old").unwrap();
    let txn = prepared(db, "x", &["a"]);
    trap.arm(Point::Switched);
    thread::scope(|s| {
        s.spawn(|| db.flush().unwrap());
        trap.wait();
        txn.commit().unwrap();
        trap.release();
    });
    assert_eq!(value(db, "a").as_deref(), Some("1"));
    let db = open(&options_on(fs.crash_clone(0.0, 1)));
    for txn in db.prepared_transactions() {
        txn.rollback().unwrap();
        assert_eq!(value(&db, "a").as_deref(), Some("old"));
    }
    assert!(value(&db, "a").is_some());
}

/// A key that was put twice has two versions, with numbers of their own.
#[test]
fn an_opening_hides_all_that_a_transaction_has_put_to_a_key() {
    let fs = MemFs::new();
    let db = open(&options_on(fs.clone()));
    db.put("a", "old").unwrap();
    let txn = db.transaction();
    txn.set_name(b"x").unwrap();
    txn.put("a", "1").unwrap();
    txn.put("a", "2").unwrap();
    txn.prepare().unwrap();
    drop(txn);
    drop(db);
    let db = open(&options_on(fs));
    assert_eq!(value(&db, "a").as_deref(), Some("old"));
    for txn in db.prepared_transactions() {
        txn.commit().unwrap();
    }
    assert_eq!(value(&db, "a").as_deref(), Some("2"));
}

/// An opening makes tables of the logs. The transaction may still be rolled back.
#[test]
fn what_a_transaction_hides_outlives_the_flush_of_an_opening() {
    let fs = MemFs::new();
    let db = open(&options_on(fs.clone()));
    db.put("a", "old").unwrap();
    drop(prepared(&db, "x", &["a", "b"]));
    drop(db);
    let db = open(&options_on(fs));
    db.prepared_transactions()[0].rollback().unwrap();
    assert_eq!(seen(&db), [Some("old".into()), None, None]);
}

/// Damages the last record of the newest log, which a flush or a compaction has gone by or not.
/// Returns what an opening says that cuts logs at damage.
fn damaged_at_the_end(fs: &MemFs) -> Result<TxnDb, whitewater::Error> {
    let cut = fs.crash_clone(1.0, 1);
    let dir = Path::new(DIR);
    let names = cut.list(dir).unwrap();
    let numbers = names.iter().filter_map(|name| match filename::parse(name) {
        Some(FileType::Wal(number)) => Some(number),
        _ => None,
    });
    let path = filename::wal(dir, numbers.max().unwrap());
    let mut bytes = read_file(&cut, &path, u64::MAX).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end] ^= 1;
    cut.create(&path).unwrap().append(&bytes).unwrap();
    let mut options = options_on(cut);
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    TxnDb::open(&options, &policy(), DIR)
}

/// A flush knows that the transaction is decided, so it drops what its value hides. Recovery that
/// cuts the log before the decision would find it undecided, and the older value gone.
#[test]
fn damage_before_a_decision_that_a_flush_went_by_is_told() {
    // Into the log behind the flushed one, before the flush looks or after it.
    for at in [Point::Switched, Point::Retaining] {
        let fs = MemFs::new();
        let mut o = options_on(fs.clone());
        let trap = Trap::set(&mut o);
        let db = &open(&o);
        db.put("a", "old").unwrap();
        let txn = prepared(db, "x", &["a"]);
        trap.arm(at);
        thread::scope(|s| {
            s.spawn(|| db.flush().unwrap());
            trap.wait();
            let committed = txn.commit();
            trap.release();
            committed.unwrap();
        });
        let opened = damaged_at_the_end(&fs);
        if at == Point::Switched {
            let e = opened.map(drop).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
            assert!(e.to_string().contains("go by a decision"), "{e}");
        } else {
            let db = opened.unwrap();
            assert_eq!(names(&db), ["x"]);
            assert_eq!(value(&db, "a").as_deref(), Some("old"));
            db.prepared_transactions()[0].rollback().unwrap();
            assert_eq!(value(&db, "a").as_deref(), Some("old"));
        }
    }
}

fn append(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut merged = existing.unwrap_or_default().to_vec();
    operands
        .iter()
        .for_each(|operand| merged.extend_from_slice(operand));
    Some(merged)
}

/// A resumption puts the transaction into a table and logs it again. An operand that the next
/// opening inserted once more would count twice.
#[test]
fn a_prepared_transaction_counts_once_after_a_resumption() {
    let fs = MemFs::new();
    let fault = FaultFs::new(Arc::new(fs.clone()));
    let mut o = options_on(fs.clone());
    o.set_merge_operator_associative("append", append);
    let mut failing = o.clone();
    failing.set_fs(Arc::new(fault.clone()));
    let db = open(&failing);
    db.merge("a", "1").unwrap();
    let txn = db.transaction();
    txn.set_name(b"x").unwrap();
    txn.merge("a", "2").unwrap();
    txn.prepare().unwrap();
    fault.add_rule(Rule {
        sticky: true,
        ..Rule::nth(OpSet::of(&[FaultOp::Append]), 1)
    });
    db.put("b", "1").unwrap_err();
    fault.clear_rules();
    db.resume().unwrap();
    drop(txn);
    db.put("b", "2").unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    let dead = fs.crash_clone(1.0, 1);
    drop(db);
    o.set_fs(Arc::new(dead));
    let db = open(&o);
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
    for txn in db.prepared_transactions() {
        txn.commit().unwrap();
    }
    assert_eq!(names(&db), [""; 0]);
    assert_eq!(value(&db, "a").as_deref(), Some("12"));
    assert_eq!(value(&db, "b").as_deref(), Some("2"));
}
