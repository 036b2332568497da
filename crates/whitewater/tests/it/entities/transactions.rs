//! Entities in transactions and in batches that can be read.

use super::{found, options, pair, pairs, some};
use whitewater::{
    DB, ErrorKind, IndexedOperation, OptimisticTransactionDB, ReadOptions, TransactionDB,
    TransactionDBOptions, TransactionOptions, WideColumns, WriteBatchWithIndex,
    WriteBatchWithTransaction, WritePolicy,
};

#[test]
fn an_indexed_batch_shows_entities_alone_and_over_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let default = [("default", options())];
    let db = DB::open_cf_with_opts(&options(), dir.path(), default).unwrap();
    db.put_entity("base", [("", "1"), ("x", "x")]).unwrap();
    db.put_entity("hidden", [("x", "x")]).unwrap();
    db.put("value", "v").unwrap();
    let cf = db.cf_handle("default").unwrap();
    let mut batch = WriteBatchWithIndex::for_db(&db, true);
    batch.merge("base", "2");
    batch.delete("hidden");
    batch.put_entity("new", [("y", "y"), ("", "3")]);
    batch.merge("new", "4");
    batch.put_entity_cf(&cf, "value", [("z", "z")]);
    let new = some(&[("", "34"), ("y", "y")]);
    assert_eq!(found(batch.get_entity_from_batch_cf(&cf, "new")), new);
    assert_eq!(
        found(batch.get_entity_from_batch("value")),
        some(&[("z", "z")])
    );
    assert_eq!(
        batch.get_from_batch("value").unwrap().as_deref(),
        Some(&b""[..])
    );
    let open = batch.get_entity_from_batch("base").unwrap_err();
    assert_eq!(open.kind(), ErrorKind::MergeInProgress);
    let expected = [
        ("base", some(&[("", "12"), ("x", "x")])),
        ("new", new),
        ("value", some(&[("z", "z")])),
    ];
    let readopts = ReadOptions::default();
    let mut iterator = batch.iterator_with_base(db.raw_iterator());
    iterator.seek_to_first();
    for (key, columns) in &expected {
        let over = batch.get_entity_from_batch_and_db(&db, &readopts, key);
        assert_eq!(&found(over), columns, "{key}");
        assert_eq!(iterator.key(), Some(key.as_bytes()));
        let shown = iterator.columns().unwrap().into_iter().map(pair).collect();
        assert_eq!(&Some::<Vec<_>>(shown), columns, "{key}");
        let value = batch.get_from_batch_and_db(&db, &readopts, key).unwrap();
        assert_eq!(iterator.value(), value.as_deref());
        iterator.next();
    }
    assert!(!iterator.valid());
    iterator.seek_to_last();
    for (key, columns) in expected.iter().rev() {
        let shown = iterator.columns().unwrap().into_iter().map(pair).collect();
        assert_eq!(&Some::<Vec<_>>(shown), columns, "{key} backward");
        iterator.prev();
    }
    drop(iterator);
    let hidden = batch.get_entity_from_batch_and_db(&db, &readopts, "hidden");
    assert_eq!(found(hidden), None);
    let mut operations = batch.iterator();
    operations.seek("value");
    let Some(IndexedOperation::PutEntity { key, entity }) = operations.operation() else {
        panic!("{:?}", operations.operation());
    };
    assert_eq!(key, b"value");
    assert_eq!(
        Some(pairs(&WideColumns::deserialize(entity).unwrap())),
        expected[2].1
    );
    db.write_wbwi(batch.clone()).unwrap();
    for (key, columns) in &expected {
        assert_eq!(&found(db.get_entity(key)), columns, "{key}");
    }
    batch.put_entity("twice", [("a", "1"), ("a", "2")]);
    let refused = db.write_wbwi(batch).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corruption);
}

#[test]
fn a_pessimistic_transaction_locks_and_reads_entities() {
    for policy in [WritePolicy::WriteCommitted, WritePolicy::WritePrepared] {
        let dir = tempfile::tempdir().unwrap();
        let mut of_transactions = TransactionDBOptions::default();
        of_transactions.set_default_lock_timeout(1);
        of_transactions.set_write_policy(policy);
        let open = || -> TransactionDB {
            TransactionDB::open(&options(), &of_transactions, dir.path()).unwrap()
        };
        let db = open();
        db.put_entity("a", [("", "1"), ("x", "x")]).unwrap();
        let transaction = db.transaction();
        let locked = transaction.get_entity_for_update("a", true);
        assert_eq!(found(locked), some(&[("", "1"), ("x", "x")]));
        let refused = db.put_entity("a", [("y", "y")]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
        transaction.put_entity("b", [("z", "1")]).unwrap();
        transaction.merge("a", "2").unwrap();
        assert_eq!(
            found(transaction.get_entity("a")),
            some(&[("", "12"), ("x", "x")])
        );
        let many = transaction.multi_get_entity(["b", "a", "c"]);
        let many: Vec<_> = many.into_iter().map(found).collect();
        let both = [some(&[("z", "1")]), some(&[("", "12"), ("x", "x")])];
        assert_eq!(many, [both[0].clone(), both[1].clone(), None]);
        assert_eq!(found(db.get_entity("b")), None);
        transaction.commit().unwrap();
        let many: Vec<_> = db
            .multi_get_entity(["b", "a"])
            .into_iter()
            .map(found)
            .collect();
        assert_eq!(many, both);
        let mut batch = WriteBatchWithTransaction::<true>::default();
        batch.put_entity("c", [("w", "1")]);
        db.write(batch).unwrap();
        // A section that is rolled back gives its keys their columns again, and one that is
        // committed after the database was opened again has its own.
        let prepared = |name: &str, key: &str| {
            let transaction = db.transaction();
            transaction.set_name(name.as_bytes()).unwrap();
            transaction.put_entity(key, [("new", name)]).unwrap();
            transaction.prepare().unwrap();
            transaction
        };
        prepared("taken back", "a").rollback().unwrap();
        assert_eq!(found(db.get_entity("a")), both[1]);
        drop(prepared("kept", "b"));
        drop(db);
        let db = open();
        assert_eq!(found(db.get_entity("b")), both[0]);
        let outstanding = db.prepared_transactions();
        assert_eq!(outstanding.len(), 1);
        outstanding.into_iter().for_each(|t| t.commit().unwrap());
        assert_eq!(found(db.get_entity("b")), some(&[("new", "kept")]));
        assert_eq!(found(db.get_entity("a")), both[1]);
        assert_eq!(found(db.get_entity("c")), some(&[("w", "1")]));
    }
}

#[test]
fn a_savepoint_and_a_rebuilt_batch_know_entities() {
    let dir = tempfile::tempdir().unwrap();
    let db: TransactionDB = TransactionDB::open_default(dir.path()).unwrap();
    let transaction = db.transaction();
    transaction.put_entity("a", [("x", "1")]).unwrap();
    transaction.set_savepoint();
    transaction.put_entity("a", [("x", "2")]).unwrap();
    transaction.rollback_to_savepoint().unwrap();
    assert_eq!(found(transaction.get_entity("a")), some(&[("x", "1")]));
    let batch = transaction.get_writebatch();
    transaction.rollback().unwrap();
    let other = db.transaction_opt(&Default::default(), &TransactionOptions::default());
    other.rebuild_from_writebatch(&batch).unwrap();
    other.commit().unwrap();
    assert_eq!(found(db.get_entity("a")), some(&[("x", "1")]));
}

#[test]
fn an_optimistic_transaction_notices_a_changed_entity() {
    let dir = tempfile::tempdir().unwrap();
    let db: OptimisticTransactionDB =
        OptimisticTransactionDB::open(&options(), dir.path()).unwrap();
    db.put_entity("a", [("x", "1")]).unwrap();
    let transaction = db.transaction();
    let read = transaction.get_entity_for_update("a", true);
    assert_eq!(found(read), some(&[("x", "1")]));
    transaction.put_entity("b", [("seen", "1")]).unwrap();
    db.put_entity("a", [("x", "2")]).unwrap();
    assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(found(db.get_entity("b")), None);
    let transaction = db.transaction();
    transaction.put_entity("b", [("seen", "2")]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(found(db.get_entity("b")), some(&[("seen", "2")]));
}
