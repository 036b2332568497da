//! Whether a key has changed since a snapshot, when writes of it were undecided.

use super::{Db, KINDS};
use crate::options::read::WriteSpec;
use crate::txn::database::TransactionDb;
use crate::txn::options::{TransactionDbSpec, TransactionSpec};
use crate::txn::transaction::{Conflicts, ForUpdate, Transaction};
use bytes::Bytes;
use std::sync::Arc;
use whitewater_storage::key::ValueType;
use whitewater_storage::{ErrorKind, Result};

/// A transaction with a snapshot of now.
fn begin(db: &Arc<TransactionDb>) -> Transaction {
    let spec = TransactionSpec {
        snapshot: true,
        ..TransactionSpec::default()
    };
    Transaction::pessimistic(db, &WriteSpec::default(), &spec)
}

fn read(db: &Db, txn: &Transaction, key: &str, validate: bool) -> Result<()> {
    let how = ForUpdate {
        exclusive: true,
        validate,
    };
    let found = txn.get_for_update::<Bytes>(db.cf(), key.as_bytes(), &db.now(), how);
    found.map(drop)
}

fn assert_busy(outcome: Result<()>) {
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Busy);
}

fn open() -> (Db, Arc<TransactionDb>) {
    let db = Db::open(&KINDS[1]);
    let shared = TransactionDb::new(db.engine().clone(), TransactionDbSpec::default());
    (db, shared)
}

/// The version that decides has a number below the snapshot's.
#[test]
fn what_was_undecided_at_the_snapshot_and_decided_since_is_a_conflict() {
    for flushed in [false, true] {
        let (db, shared) = open();
        db.put("changed", "1");
        db.put("same", "1");
        let number = db.undecided_put("changed", "2");
        db.put("same", "2");
        let txn = begin(&shared);
        db.undecided().decide([number]);
        if flushed {
            db.flush();
        }
        assert_busy(read(&db, &txn, "changed", true));
        let put = |key: &str| {
            let (ty, key) = (ValueType::Value, key.as_bytes());
            txn.write(db.cf(), ty, key, b"3", Conflicts::Checked)
        };
        assert_busy(put("changed"));
        read(&db, &txn, "same", true).unwrap();
        put("same").unwrap();
        txn.set_snapshot();
        put("changed").unwrap();
        txn.commit().unwrap();
        assert_eq!(db.value("changed", &db.now()).as_deref(), Some("3"));
    }
}

/// The locks of who writes are gone (it was recovered), and it is not decided.
#[test]
fn what_is_undecided_now_is_a_conflict() {
    let (db, shared) = open();
    db.undecided_put("k", "1");
    let txn = begin(&shared);
    assert_busy(read(&db, &txn, "k", true));
}

#[test]
fn what_was_decided_before_the_snapshot_is_no_conflict() {
    let (db, shared) = open();
    let older = db.undecided_put("other", "1");
    let number = db.undecided_put("k", "1");
    db.undecided().decide([number]);
    let txn = begin(&shared);
    read(&db, &txn, "k", true).unwrap();
    db.undecided().decide([older]);
    assert_busy(read(&db, &txn, "other", true));
}

/// A decision needs no number, so the visible number alone does not tell that a key locked later
/// was already as the snapshot has it.
#[test]
fn a_key_that_was_used_unvalidated_is_validated_later() {
    let (db, shared) = open();
    let number = db.undecided_put("k", "1");
    let txn = begin(&shared);
    db.undecided().decide([number]);
    read(&db, &txn, "k", false).unwrap();
    assert_busy(read(&db, &txn, "k", true));
}
