//! What iterators leave to the next ones.

use crate::column_family::IteratorBase;
use crate::statistics::Ticker;
use crate::{DB, IterateBounds, MemtableFactory, OptimisticTransactionDB, Options, ReadOptions};
use std::sync::Arc;
use whitewater_concurrent::object_pool::ObjectPool;
use whitewater_storage::fs::mem::MemFs;

fn open(options: &mut Options) -> DB {
    options.create_if_missing(true);
    options.set_fs(Arc::new(MemFs::new()));
    let db = DB::open(options, "/db").unwrap();
    for i in 0..100_u32 {
        db.put(i.to_be_bytes(), "value").unwrap();
        if i % 40 == 0 {
            db.flush().unwrap();
        }
    }
    db
}

/// Has an iterator find a key, and takes what it leaves.
fn left(db: &DB, read: ReadOptions) -> Option<Box<IteratorBase>> {
    let mut it = db.raw_iterator_opt(read);
    it.seek(7_u32.to_be_bytes());
    assert!(it.valid());
    drop(it);
    db.engine().default_cf().pin().idle.take()
}

/// Whether the last iterator has left its cursors, which stay.
fn is_left(db: &DB) -> bool {
    let left = db.engine().default_cf().pin().idle.take();
    left.is_some_and(|base| ObjectPool::give_back(base, |base| &base.view.idle).is_none())
}

#[test]
fn an_iterator_leaves_its_cursors_to_the_next() {
    for memtable in [
        MemtableFactory::Art,
        MemtableFactory::SkipList,
        MemtableFactory::Vector,
    ] {
        let mut options = Options::default();
        options.set_memtable_factory(memtable);
        let db = open(&mut options);
        let idle = left(&db, ReadOptions::default()).expect("cursors");
        let (_, buffers) = idle.idle.as_ref().expect("cursors");
        assert!(buffers.key.is_empty() && buffers.key.capacity() > 0);
        let again = ObjectPool::give_back(idle, |base| &base.view.idle);
        assert!(again.is_none(), "there is room");
        let mut at_snapshot = ReadOptions::default();
        at_snapshot.set_snapshot(&db.snapshot());
        assert!(left(&db, at_snapshot).is_some());
        // Flushing installs another super version.
        let before = db.engine().default_cf().pin_owned();
        drop(db.raw_iterator());
        db.flush().unwrap();
        assert!(before.idle.take().is_none(), "the pool is closed");
    }
}

#[test]
fn iterators_with_sources_of_their_own_leave_nothing() {
    let db = open(&mut Options::default());
    let with = |set: fn(&mut ReadOptions)| {
        let mut read = ReadOptions::default();
        set(&mut read);
        left(&db, read)
    };
    assert!(with(|read| read.fill_cache(false)).is_none());
    assert!(with(|read| read.set_readahead_size(1 << 20)).is_none());
    assert!(with(|read| read.set_async_io(true)).is_none());
    assert!(with(|_| ()).is_some());
    let mut limited = Options::default();
    limited.set_max_open_files(10);
    assert!(left(&open(&mut limited), ReadOptions::default()).is_none());
    let db = open(&mut Options::default());
    let mut batch = crate::WriteBatch::default();
    batch.delete_range([1], [2]);
    db.write(batch).unwrap();
    assert!(left(&db, ReadOptions::default()).is_none());
}

/// The number of data blocks that a walk over everything within the bounds looks at.
fn blocks_of_a_walk(db: &DB, options: &Options, range: impl IterateBounds) -> u64 {
    let looked_at = || {
        let tickers = [Ticker::BlockCacheDataHit, Ticker::BlockCacheDataMiss];
        tickers
            .map(|ticker| options.get_ticker_count(ticker))
            .iter()
            .sum::<u64>()
    };
    let before = looked_at();
    let mut read = ReadOptions::default();
    read.set_iterate_range(range);
    let mut it = db.raw_iterator_opt(read);
    it.seek_to_first();
    while it.valid() {
        it.next();
    }
    it.status().unwrap();
    drop(it);
    assert!(is_left(db), "cursors");
    looked_at() - before
}

#[test]
fn each_iterator_keeps_to_its_own_bounds_whatever_cursors_it_uses() {
    let mut options = Options::default();
    options.enable_statistics();
    let db = open(&mut options);
    let key = |i: u32| i.to_be_bytes().to_vec();
    // The tables have the keys 0, 1 to 40 and 41 to 80.
    for _ in 0..2 {
        assert_eq!(blocks_of_a_walk(&db, &options, key(5)..key(9)), 1);
        assert_eq!(blocks_of_a_walk(&db, &options, ..), 3);
        assert_eq!(blocks_of_a_walk(&db, &options, key(5)..), 2);
        assert_eq!(blocks_of_a_walk(&db, &options, ..key(5)), 2);
        assert_eq!(blocks_of_a_walk(&db, &options, key(81)..), 0);
    }
}

#[test]
fn an_iterator_of_a_transaction_leaves_its_cursors_too() {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(MemFs::new()));
    let db: OptimisticTransactionDB = OptimisticTransactionDB::open(&options, "/db").unwrap();
    db.put("key", "value").unwrap();
    let transaction = db.transaction();
    let mut it = transaction.raw_iterator();
    it.seek("key");
    assert_eq!(it.value(), Some(&b"value"[..]));
    drop(it);
    assert!(db.engine().default_cf().pin().idle.take().is_some());
}
