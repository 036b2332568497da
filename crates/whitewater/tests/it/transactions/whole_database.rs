//! What a database with transactions has beside them.

use super::{begin, impatient, kind, open, open_with, options, options_on, txn_db_options, value};
use crate::transactions::{DIR, TxnDb};
use std::path::Path;
use whitewater::checkpoint::TransactionDBCheckpoint;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::perf::MemoryUsageBuilder;
use whitewater::statistics::Ticker;
use whitewater::{
    DBWithThreadMode, ErrorKind, FlushOptions, IteratorMode, MultiThreaded, SingleThreaded,
    TransactionDB, WriteOptions, properties,
};

#[test]
fn what_was_committed_is_there_after_the_next_opening() {
    let fs = MemFs::new();
    let db = TxnDb::open(&options_on(fs.clone()), &impatient(), DIR).unwrap();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    txn.commit().unwrap();
    let left = db.transaction();
    left.put("b", "1").unwrap();
    drop(left);
    assert_eq!(db.path(), Path::new(DIR));
    drop(db);
    let db = TxnDb::open(&options_on(fs.clone()), &impatient(), DIR).unwrap();
    assert_eq!((value(&db, "a"), value(&db, "b")), (Some("1".into()), None));
    drop(db);
    // A database without transactions opens it, too.
    let plain = DBWithThreadMode::<MultiThreaded>::open(&options_on(fs), DIR).unwrap();
    assert_eq!(plain.get("a").unwrap().as_deref(), Some(&b"1"[..]));
}

/// The tickers of transactions count what RocksDB's `WRITE_PREPARED` needs beside the transactions
/// themselves, and `get` that fails with `TryAgain`.
#[test]
fn tickers_of_transactions_say_that_they_stay_0_and_do() {
    let mut o = options();
    o.enable_statistics();
    let db = open_with(&o);
    let txn = db.transaction();
    txn.set_name(b"x").unwrap();
    txn.put("k", "1").unwrap();
    txn.put("k", "2").unwrap();
    txn.prepare().unwrap();
    let snapshot = db.snapshot();
    txn.commit().unwrap();
    assert_eq!(snapshot.get("k").unwrap(), None);
    assert_eq!(value(&db, "k").as_deref(), Some("2"));
    let of_transactions = Ticker::iter().filter(|t| t.name().starts_with("rocksdb.txn."));
    let of_transactions: Vec<_> = of_transactions.copied().collect();
    assert_eq!(of_transactions.len(), 5);
    for ticker in of_transactions {
        assert!(!ticker.is_collected(), "{ticker}");
        assert_eq!(o.get_ticker_count(ticker), 0, "{ticker}");
    }
    // What transactions write is counted as writes are.
    assert_eq!(o.get_ticker_count(Ticker::NumberKeysWritten), 2);
}

#[test]
fn an_open_one_is_not_destroyed() {
    let o = options();
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    let e = TxnDb::destroy(&o, DIR).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError);
    assert!(e.to_string().contains("LOCK"), "{e}");
    drop(db);
    TxnDb::destroy(&o, DIR).unwrap();
    assert!(TxnDb::list_cf(&o, DIR).is_err());
}

#[test]
fn a_lost_manifest_is_repaired() {
    let fs = MemFs::new();
    let o = options_on(fs.clone());
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    db.put("a", "1").unwrap();
    drop(db);
    fs.remove(&Path::new(DIR).join("CURRENT")).unwrap();
    TxnDb::repair(&o, DIR).unwrap();
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}

#[test]
fn flushes_and_properties() {
    let db = open();
    db.create_cf("one", &options()).unwrap();
    let one = db.cf_handle("one").unwrap();
    let active = || {
        let name = properties::NUM_ENTRIES_ACTIVE_MEM_TABLE;
        db.property_int_value(name).unwrap().unwrap()
    };
    db.put("a", "1").unwrap();
    db.put_cf(&one, "a", "1").unwrap();
    assert_eq!(active(), 1);
    db.flush().unwrap();
    assert_eq!(active(), 0);
    db.flush_cf(&one).unwrap();
    db.flush_cf_opt(&one, &FlushOptions::default()).unwrap();
    db.flush_cfs_opt(&[&one], &FlushOptions::default()).unwrap();
    db.flush_opt(&FlushOptions::default()).unwrap();
    db.flush_wal(true).unwrap();
    let stats = db.property_value(properties::STATS).unwrap().unwrap();
    assert!(stats.contains("DB Stats"), "{stats}");
    assert_eq!(db.property_value("rocksdb.nothing").unwrap(), None);
}

#[test]
fn memory_usage_counts_it_once() {
    let db = open();
    db.put("a", vec![0; 20_000]).unwrap();
    let mut builder = MemoryUsageBuilder::new().unwrap();
    builder.add_tx_db(&db);
    let once = builder.build().unwrap().approximate_mem_table_total();
    assert!(once > 20_000, "{once}");
    builder.add_tx_db(&db);
    assert_eq!(builder.build().unwrap().approximate_mem_table_total(), once);
}

#[test]
fn a_checkpoint_has_what_was_committed() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/data")).unwrap();
    let o = options_on(fs);
    let db = TxnDb::open(&o, &impatient(), DIR).unwrap();
    let txn = db.transaction();
    txn.put("committed", "1").unwrap();
    txn.commit().unwrap();
    let open = db.transaction();
    open.put("open", "1").unwrap();
    let checkpoint = TransactionDBCheckpoint::new(&db).unwrap();
    checkpoint.create_checkpoint("/data/copy").unwrap();
    checkpoint
        .create_checkpoint_with_log_size("/data/with log", u64::MAX)
        .unwrap();
    open.commit().unwrap();
    for path in ["/data/copy", "/data/with log"] {
        let copy = TxnDb::open(&o, &impatient(), path).unwrap();
        assert_eq!(value(&copy, "committed").as_deref(), Some("1"));
        assert_eq!(value(&copy, "open"), None);
    }
}

#[test]
fn reads_outside_of_transactions_see_what_was_committed() {
    let db = open();
    let txn = db.transaction();
    txn.put("a", "1").unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 0);
    let before = db.snapshot();
    txn.commit().unwrap();
    assert_eq!(before.get("a").unwrap(), None);
    assert_eq!(&*db.get_pinned("a").unwrap().unwrap(), b"1");
    let mut raw = db.raw_iterator();
    raw.seek_to_first();
    assert_eq!(raw.item(), Some((&b"a"[..], &b"1"[..])));
    assert_eq!(db.prefix_iterator("a").count(), 1);
    assert_eq!(db.full_iterator(IteratorMode::End).count(), 1);
}

#[test]
fn one_thread_may_create_families_through_a_mutable_reference() {
    let mut db = TransactionDB::<SingleThreaded>::open(&options(), &txn_db_options(), DIR).unwrap();
    db.create_cf("one", &options()).unwrap();
    let one = db.cf_handle("one").unwrap();
    let txn = db.transaction();
    txn.put_cf(one, "k", "1").unwrap();
    txn.commit().unwrap();
    assert_eq!(db.get_cf(one, "k").unwrap().as_deref(), Some(&b"1"[..]));
    db.drop_cf("one").unwrap();
    assert!(db.cf_handle("one").is_none());
}

#[test]
fn a_write_with_options_has_them() {
    let db = open();
    let mut impossible = WriteOptions::default();
    impossible.set_sync(true);
    impossible.disable_wal(true);
    assert_eq!(
        kind(db.put_opt("a", "1", &impossible)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(db.delete_opt("a", &impossible)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(db.merge_opt("a", "1", &impossible)),
        ErrorKind::InvalidArgument
    );
    let mut batch = whitewater::WriteBatchWithTransaction::<true>::default();
    batch.put("a", "1");
    assert_eq!(
        kind(db.write_opt(batch, &impossible)),
        ErrorKind::InvalidArgument
    );
    assert!(db.lock_status().is_empty());
    assert_eq!(value(&db, "a"), None);
    let txn = begin(&db, |_| {});
    txn.put("a", "2").unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&db, "a").as_deref(), Some("2"));
}

with_write_prepared!(
    what_was_committed_is_there_after_the_next_opening,
    tickers_of_transactions_say_that_they_stay_0_and_do,
    an_open_one_is_not_destroyed,
    a_lost_manifest_is_repaired,
    flushes_and_properties,
    memory_usage_counts_it_once,
    a_checkpoint_has_what_was_committed,
    reads_outside_of_transactions_see_what_was_committed,
    one_thread_may_create_families_through_a_mutable_reference,
    a_write_with_options_has_them,
);
