//! What is left of prepared transactions when the process or the machine has died.

use super::two_phase::{names, prepared};
use super::{DIR, POLICY, impatient, kind, options_on, shown, text, value};
use crate::harness::strict_protocols;
use crate::transactions::TxnDb;
use std::sync::Arc;
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{
    DBWithThreadMode, ErrorKind, MultiThreaded, TransactionOptions, WriteOptions, WritePolicy,
};

fn reopen(fs: &MemFs) -> TxnDb {
    TxnDb::open(&options_on(fs.clone()), &impatient(), DIR).unwrap()
}

#[test]
fn an_empty_transaction_can_be_prepared() {
    let fs = MemFs::new();
    let db = reopen(&fs);
    prepared(&db, "committed", &[]).commit().unwrap();
    prepared(&db, "rolled back", &[]).rollback().unwrap();
    drop(prepared(&db, "left", &[]));
    drop(db);
    let db = reopen(&fs);
    let left = db.prepared_transactions();
    assert_eq!(left.len(), 1);
    for txn in left {
        txn.commit().unwrap();
    }
}

#[test]
fn a_commit_time_batch_is_written_with_the_transaction() {
    let fs = MemFs::new();
    let db = reopen(&fs);
    let txn = prepared(&db, "x", &["a"]);
    txn.put_at_commit("cat", "dog").unwrap();
    assert_eq!(txn.get("cat").unwrap(), None);
    let before = db.snapshot();
    txn.commit().unwrap();
    assert_eq!(before.get("cat").unwrap(), None);
    assert_eq!(value(&db, "cat").as_deref(), Some("dog"));
    drop(before);
    drop(db);
    let db = reopen(&fs);
    assert_eq!(value(&db, "cat").as_deref(), Some("dog"));
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

#[test]
fn prepared_transactions_are_there_at_the_next_opening() {
    for protocol in strict_protocols() {
        let fs = MemFs::new();
        let mut o = options_on(fs.clone());
        o.set_commit_protocol(protocol);
        let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
        db.put("a", "0").unwrap();
        drop(prepared(&db, "left", &["a", "l"]));
        drop(prepared(&db, "also", &["b"]));
        prepared(&db, "committed", &["c"]).commit().unwrap();
        prepared(&db, "rolled back", &["r"]).rollback().unwrap();
        drop(db);

        let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
        assert_eq!(value(&db, "a").as_deref(), Some("0"));
        assert_eq!((value(&db, "b"), value(&db, "r")), (None, None));
        assert_eq!(value(&db, "c").as_deref(), Some("1"));
        let mut all = db.prepared_transactions();
        assert!(db.prepared_transactions().is_empty(), "they are taken");
        assert_eq!(all.len(), 2);
        let (left, also) = (all.pop().unwrap(), all.pop().unwrap());
        assert_eq!(left.get_name(), Some(b"left".to_vec()));
        assert_eq!(also.get_name(), Some(b"also".to_vec()));
        // Their names are taken, and they see their writes.
        let other = db.transaction();
        assert_eq!(
            text(other.set_name(b"left")),
            "Invalid argument: Duplicate txn name left"
        );
        assert_eq!(shown(left.get("a")).as_deref(), Some("1"));
        assert_eq!(left.get_writebatch().len(), 2);
        left.commit().unwrap();
        also.rollback().unwrap();
        drop(also);
        assert_eq!(value(&db, "a").as_deref(), Some("1"));
        assert_eq!(value(&db, "l").as_deref(), Some("1"));
        assert_eq!(value(&db, "b"), None);
        other.set_name(b"left").unwrap();
        drop(other);
        drop(all);
        drop(db);

        let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
        assert!(db.prepared_transactions().is_empty());
        assert_eq!(value(&db, "a").as_deref(), Some("1"));
        assert_eq!(value(&db, "b"), None);
    }
}

#[test]
fn prepared_transactions_survive_flushes_of_everything_else() {
    // RocksDB's TwoPhaseLogRolling tests: their log is older than all that is unflushed.
    let fs = MemFs::new();
    let db = reopen(&fs);
    db.create_cf("one", &options_on(fs.clone())).unwrap();
    drop(prepared(&db, "left", &["l"]));
    let later = prepared(&db, "later", &["c"]);
    for i in 0..4u32 {
        db.put(i.to_be_bytes(), "x").unwrap();
        db.flush().unwrap();
    }
    later.commit().unwrap();
    db.put("after", "1").unwrap();
    drop(db);
    for _ in 0..3 {
        // More than one opening: nothing may forget the log.
        let names_of = TxnDb::list_cf(&options_on(fs.clone()), DIR).unwrap();
        let o = options_on(fs.clone());
        let db = TxnDb::open_cf(&o, &impatient(), DIR, &names_of).unwrap();
        assert_eq!(names(&db), ["left"]);
        assert_eq!(value(&db, "c").as_deref(), Some("1"));
        assert_eq!(value(&db, "after").as_deref(), Some("1"));
        assert_eq!(value(&db, "l"), None);
        db.flush().unwrap();
    }
}

#[test]
fn synced_prepares_and_commits_survive_a_power_cut() {
    let fs = MemFs::new();
    let db = reopen(&fs);
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    let begin = |name: &[u8], key: &str| {
        let txn = db.transaction_opt(&synced, &TransactionOptions::default());
        txn.set_name(name).unwrap();
        txn.put(key, "1").unwrap();
        txn.prepare().unwrap();
        txn
    };
    let left = begin(b"left", "l");
    begin(b"committed", "c").commit().unwrap();
    begin(b"rolled back", "r").rollback().unwrap();
    let cut = fs.crash_clone(0.0, 7);
    drop(left);
    drop(db);
    let db = reopen(&cut);
    assert_eq!(names(&db), ["left"]);
    assert_eq!(value(&db, "c").as_deref(), Some("1"));
    assert_eq!((value(&db, "l"), value(&db, "r")), (None, None));
}

#[test]
fn a_plain_opening_refuses_a_database_with_prepared_transactions() {
    let fs = MemFs::new();
    let db = reopen(&fs);
    drop(prepared(&db, "left", &["l"]));
    drop(db);
    let o = options_on(fs.clone());
    let plain = DBWithThreadMode::<MultiThreaded>::open(&o, DIR);
    let says = match POLICY.get() {
        WritePolicy::WriteCommitted => {
            "Not implemented: WAL contains prepared transactions. Open with TransactionDB::Open()."
        }
        _ => "Not implemented: WritePrepared/WriteUnprepared txn tag when ",
    };
    let refused = text(plain);
    assert!(refused.starts_with(says), "{refused}");
    let db = reopen(&fs);
    for txn in db.prepared_transactions() {
        txn.commit().unwrap();
    }
    // A flush of something gives the old logs up.
    db.put("else", "1").unwrap();
    db.flush().unwrap();
    drop(db);
    let plain = DBWithThreadMode::<MultiThreaded>::open(&o, DIR).unwrap();
    assert_eq!(plain.get("l").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_failed_decision_leaves_the_transaction_prepared() {
    let fs = MemFs::new();
    let fault = FaultFs::new(Arc::new(fs.clone()));
    let mut o = options_on(fs.clone());
    o.set_fs(Arc::new(fault.clone()));
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    let (one, two) = (prepared(&db, "one", &["a"]), prepared(&db, "two", &["b"]));
    fault.add_rule(Rule {
        sticky: true,
        ..Rule::nth(OpSet::of(&[FaultOp::Append]), 1)
    });
    assert_eq!(kind(one.commit()), ErrorKind::IOError);
    assert_eq!(kind(two.rollback()), ErrorKind::IOError);
    fault.clear_rules();
    // The one that is gone with its commit is handed out again.
    assert_eq!(names(&db), ["one"]);
    assert_eq!(value(&db, "a"), None);
    drop(two);
    assert_eq!(names(&db), ["one", "two"]);
    drop(db);
    let db = reopen(&fs);
    assert_eq!(names(&db), ["one", "two"]);
    for txn in db.prepared_transactions() {
        txn.commit().unwrap();
    }
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

with_write_prepared!(
    an_empty_transaction_can_be_prepared,
    a_commit_time_batch_is_written_with_the_transaction,
    prepared_transactions_are_there_at_the_next_opening,
    prepared_transactions_survive_flushes_of_everything_else,
    synced_prepares_and_commits_survive_a_power_cut,
    a_plain_opening_refuses_a_database_with_prepared_transactions,
    a_failed_decision_leaves_the_transaction_prepared,
);
