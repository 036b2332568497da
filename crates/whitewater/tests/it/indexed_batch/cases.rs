//! RocksDB's cases of write_batch_with_index_test, each named in the comment of the test that shows
//! the same, and others of this engine.

use crate::harness::{Db, tiny};
use whitewater::{
    DBRawIteratorWithThreadMode, ErrorKind, IndexedOperation, Options, ReadOptions, WriteBatch,
    WriteBatchWithIndex, WriteOptions,
};

type RawIter<'a> = DBRawIteratorWithThreadMode<'a, Db>;

fn open() -> (tempfile::TempDir, Db) {
    open_with(tiny())
}

fn open_with(options: Options) -> (tempfile::TempDir, Db) {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&options, dir.path()).unwrap();
    (dir, db)
}

/// What an iterator shows forward, checked to be the same backward.
fn shown(mut iter: RawIter<'_>) -> Vec<String> {
    let text = |iter: &RawIter<'_>| {
        let (key, value) = iter.item().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        format!("{}={}", text(key), text(value))
    };
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    iter.seek_to_first();
    while iter.valid() {
        forward.push(text(&iter));
        iter.next();
    }
    iter.status().unwrap();
    iter.seek_to_last();
    while iter.valid() {
        backward.push(text(&iter));
        iter.prev();
    }
    iter.status().unwrap();
    backward.reverse();
    assert_eq!(forward, backward);
    forward
}

fn alone(batch: &WriteBatchWithIndex, key: &str) -> Option<String> {
    let found = batch.get_from_batch(key).unwrap();
    found.map(|value| String::from_utf8(value).unwrap())
}

fn over(batch: &WriteBatchWithIndex, db: &Db, key: &str) -> Option<String> {
    let found = batch.get_from_batch_and_db(db, &ReadOptions::default(), key);
    found
        .unwrap()
        .map(|value| String::from_utf8(value).unwrap())
}

fn put<'a>(key: &'a str, value: &'a str) -> IndexedOperation<'a> {
    let (key, value) = (key.as_bytes(), value.as_bytes());
    IndexedOperation::Put { key, value }
}

fn operations(batch: &WriteBatchWithIndex) -> Vec<String> {
    let mut iter = batch.iterator();
    let mut found = Vec::new();
    iter.seek_to_first();
    while let Some(operation) = iter.operation() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        found.push(match operation {
            IndexedOperation::Put { key, value } => format!("{}={}", text(key), text(value)),
            IndexedOperation::PutEntity { key, entity } => {
                format!("{}:{}", text(key), entity.escape_ascii())
            }
            IndexedOperation::Merge { key, value } => format!("{}+{}", text(key), text(value)),
            IndexedOperation::Delete { key } => format!("{}-", text(key)),
            IndexedOperation::SingleDelete { key } => format!("{}!", text(key)),
        });
        iter.next();
    }
    iter.status().unwrap();
    found
}

/// WBWIIteratorImpl, TestWBWIIterator: seeks and steps over the operations, from both sides.
#[test]
fn iterators_over_a_batch_stand_where_they_are_sent() {
    let mut batch = WriteBatchWithIndex::default();
    for key in ["a", "c", "e"] {
        batch.put(key, "v");
    }
    let mut iter = batch.iterator();
    assert!(!iter.valid());
    iter.next(); // has no effect
    iter.seek("b");
    assert_eq!(iter.operation(), Some(put("c", "v")));
    iter.seek_for_prev("d");
    assert_eq!(iter.operation(), Some(put("c", "v")));
    iter.prev();
    assert_eq!(iter.operation(), Some(put("a", "v")));
    iter.prev();
    assert!(!iter.valid());
    iter.seek("f");
    assert!(!iter.valid());
    iter.seek_for_prev("f");
    assert_eq!(iter.operation(), Some(put("e", "v")));
    iter.seek_for_prev("A");
    assert!(!iter.valid());
    iter.status().unwrap();
    assert!(
        WriteBatchWithIndex::default()
            .iterator()
            .operation()
            .is_none()
    );
}

/// TestOverwriteKey: with it, operations that no longer decide a key's value do not show; all are
/// in the batch.
#[test]
fn overwritten_operations_show_only_if_asked_for() {
    for overwrite in [false, true] {
        let mut batch = WriteBatchWithIndex::new(64, overwrite);
        batch.put("a", "1");
        batch.put("b", "1");
        batch.put("a", "2");
        batch.merge("a", "x");
        batch.merge("a", "y");
        batch.single_delete("b");
        batch.put("c", "1");
        batch.delete("c");
        let wanted: &[&str] = match overwrite {
            true => &["a+y", "a+x", "a=2", "b!", "c-"],
            false => &["a+y", "a+x", "a=2", "a=1", "b!", "b=1", "c-", "c=1"],
        };
        assert_eq!(operations(&batch), wanted);
        assert_eq!((batch.count(), batch.to_write_batch().len()), (8, 8));
        let copy = WriteBatch::from_data(batch.data());
        assert_eq!((copy.len(), copy.data()), (8, batch.data()));
        assert_eq!(batch.size_in_bytes(), batch.data().len());
        batch.clear();
        assert!(batch.is_empty() && operations(&batch).is_empty());
    }
}

/// TestIteraratorWithBase: what the batch puts, changes and deletes between, before and behind the
/// keys of the database.
#[test]
fn a_batch_is_merged_over_the_database() {
    let (_dir, db) = open();
    for key in ["a", "c", "e"] {
        db.put(key, [key, key].concat()).unwrap();
    }
    let mut batch = WriteBatchWithIndex::default();
    let base = || batch_over(&db, &WriteBatchWithIndex::default());
    assert_eq!(base(), ["a=aa", "c=cc", "e=ee"]);
    batch.put("c", "new");
    batch.put("d", "between");
    batch.put("A", "first");
    batch.put("z", "last");
    batch.delete("a");
    batch.delete("not there");
    let wanted = ["A=first", "c=new", "d=between", "e=ee", "z=last"];
    assert_eq!(batch_over(&db, &batch), wanted);
    let mut iter = batch.iterator_with_base(db.raw_iterator());
    iter.seek("a");
    assert_eq!(iter.key(), Some(&b"c"[..]));
    iter.prev();
    assert_eq!(iter.key(), Some(&b"A"[..]));
    iter.next();
    iter.next();
    assert_eq!(iter.key(), Some(&b"d"[..]));
    iter.next();
    iter.prev();
    assert_eq!(iter.item(), Some((&b"d"[..], &b"between"[..])));
    // Turned round on a key that only the batch has.
    iter.seek("d");
    iter.prev();
    assert_eq!(iter.item(), Some((&b"c"[..], &b"new"[..])));
    iter.seek_for_prev("d");
    iter.next();
    assert_eq!(iter.key(), Some(&b"e"[..]));
    drop(iter);
    for key in ["c", "e"] {
        batch.delete(key);
    }
    assert_eq!(batch_over(&db, &batch), ["A=first", "d=between", "z=last"]);
    db.write_wbwi(batch).unwrap();
    assert_eq!(shown(db.raw_iterator()), ["A=first", "d=between", "z=last"]);
}

fn batch_over(db: &Db, batch: &WriteBatchWithIndex) -> Vec<String> {
    shown(batch.iterator_with_base(db.raw_iterator()))
}

/// TestNewIteratorWithBaseFromWbwi, TestRandomIteraratorWithBase where one side is empty.
#[test]
fn either_side_may_be_empty() {
    let (_dir, db) = open();
    let mut batch = WriteBatchWithIndex::default();
    assert_eq!(batch_over(&db, &batch), [""; 0]);
    batch.put("a", "1");
    assert_eq!(batch_over(&db, &batch), ["a=1"]);
    db.write_wbwi(batch.clone()).unwrap();
    batch.clear();
    assert_eq!(batch_over(&db, &batch), ["a=1"]);
}

fn backwards() -> Options {
    let mut options = tiny();
    options.set_comparator("backwards", Box::new(|a: &[u8], b: &[u8]| b.cmp(a)));
    options
}

/// TestComparatorForCF, TestIteraratorWithBaseReverseCmp: each family is sorted by its own
/// comparator, also the default one of a database that has another.
#[test]
fn keys_are_in_the_order_of_their_family() {
    let (_dir, db) = open_with(backwards());
    for key in ["a", "c", "e"] {
        db.put(key, "db").unwrap();
    }
    let mut batch = WriteBatchWithIndex::for_db(&db, true);
    batch.put("d", "batch");
    batch.put("b", "batch");
    batch.delete("c");
    assert_eq!(operations(&batch), ["d=batch", "c-", "b=batch"]);
    assert_eq!(
        batch_over(&db, &batch),
        ["e=db", "d=batch", "b=batch", "a=db"]
    );

    let mut unaware = WriteBatchWithIndex::default();
    unaware.put("a", "1");
    let failure = unaware.get_from_batch_and_db(&db, &ReadOptions::default(), "a");
    assert_eq!(failure.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let mut iter = unaware.iterator_with_base(db.raw_iterator());
    iter.seek_to_first();
    assert!(!iter.valid());
    let text = iter.status().unwrap_err().into_string();
    assert!(
        text.contains("leveldb.BytewiseComparator") && text.contains("backwards"),
        "{text}"
    );
}

/// TestGetFromBatch: what a batch knows by itself.
#[test]
fn a_batch_alone_knows_what_was_put_into_it() {
    let mut batch = WriteBatchWithIndex::default();
    batch.put("a", "b");
    batch.put("c", "d");
    assert_eq!(alone(&batch, "a").as_deref(), Some("b"));
    assert_eq!(alone(&batch, "b"), None);
    batch.delete("a");
    assert_eq!(alone(&batch, "a"), None);
    batch.put("", "empty key");
    batch.put("empty value", "");
    assert_eq!(alone(&batch, "").as_deref(), Some("empty key"));
    assert_eq!(alone(&batch, "empty value").as_deref(), Some(""));
}

/// TestGetFromBatchMerge, TestGetFromBatchMerge2, GetAfterMergePut, GetAfterMergeDelete,
/// GetFromBatchAfterMerge: merges apply to the last put or deletion in the batch; before there is
/// one, the batch alone has no answer.
#[test]
fn merges_in_a_batch_apply_to_what_it_has() {
    let (_dir, db) = open();
    db.create_cf("f", &tiny()).unwrap();
    let cf = db.cf_handle("f").unwrap();
    let mut batch = WriteBatchWithIndex::new(0, true);
    let get = |batch: &WriteBatchWithIndex| {
        let found = batch.get_from_batch_cf(&cf, "x").map_err(|e| e.kind());
        found.map(|found| found.map(|value| String::from_utf8(value).unwrap()))
    };
    assert_eq!(get(&batch), Ok(None));
    batch.merge_cf(&cf, "x", "0");
    assert_eq!(get(&batch), Err(ErrorKind::MergeInProgress));
    batch.put_cf(&cf, "x", "X");
    assert_eq!(get(&batch), Ok(Some("X".to_owned())));
    batch.merge_cf(&cf, "x", "1");
    batch.merge_cf(&cf, "x", "2");
    assert_eq!(get(&batch), Ok(Some("X,1,2".to_owned())));
    batch.put_cf(&cf, "x", "Y");
    batch.merge_cf(&cf, "x", "3");
    assert_eq!(get(&batch), Ok(Some("Y,3".to_owned())));
    batch.delete_cf(&cf, "x");
    assert_eq!(get(&batch), Ok(None));
    batch.merge_cf(&cf, "x", "4");
    assert_eq!(get(&batch), Ok(Some("4".to_owned())));

    batch.put("x", "X");
    batch.merge("x", "1");
    batch.merge("y", "1");
    let text = |key| batch.get_from_batch(key).unwrap_err().into_string();
    assert_eq!(text("x"), "Invalid argument: Must provide a column family");
    assert_eq!(text("y"), "Merge in progress: ");
}

/// TestGetFromBatchAndDB, TestGetFromBatchAndDBMerge, 2 and 3, GetFromBatchAndDBAfterMerge: the
/// batch's merges apply to the database's value, as it is or at a snapshot.
#[test]
fn merges_in_a_batch_apply_to_what_the_database_has() {
    let (_dir, db) = open();
    for key in ["a", "b", "c"] {
        db.put(key, key).unwrap();
    }
    db.merge("b", "db").unwrap();
    let snapshot = db.snapshot();
    db.delete("c").unwrap();
    let mut batch = WriteBatchWithIndex::default();
    batch.put("a", "batch");
    batch.merge("b", "1");
    batch.merge("b", "2");
    batch.merge("c", "1");
    batch.merge("d", "1");
    let get = |key| over(&batch, &db, key);
    assert_eq!(get("a").as_deref(), Some("batch"));
    assert_eq!(get("b").as_deref(), Some("b,db,1,2"));
    assert_eq!(get("c").as_deref(), Some("1"));
    assert_eq!(get("d").as_deref(), Some("1"));
    assert_eq!(get("e"), None);
    let wanted = ["a=batch", "b=b,db,1,2", "c=1", "d=1"];
    assert_eq!(batch_over(&db, &batch), wanted);

    let mut then = ReadOptions::default();
    then.set_snapshot(&snapshot);
    let found = batch.get_from_batch_and_db(&db, &then, "c").unwrap();
    assert_eq!(found.as_deref(), Some(&b"c,1"[..]));
    assert_eq!(
        shown(batch.iterator_with_base(db.raw_iterator_opt(then))),
        ["a=batch", "b=b,db,1,2", "c=c,1", "d=1"]
    );
    db.write_wbwi_opt(batch, &WriteOptions::default()).unwrap();
    assert_eq!(shown(db.raw_iterator()), wanted);
}

/// IteratorMergeTest, IteratorMergeTestWithOrig, FakeMergeWithIteratorTest: merges are shown
/// applied, over a value of the batch, of the database and over none, in both directions.
#[test]
fn iterators_show_merged_values() {
    let (_dir, db) = open();
    for key in ["b", "c", "d"] {
        db.put(key, "db").unwrap();
    }
    db.flush().unwrap();
    let mut batch = WriteBatchWithIndex::new(0, true);
    for key in ["a", "b", "c", "d"] {
        batch.merge(key, "1");
    }
    batch.put("c", "put");
    batch.merge("c", "2");
    batch.delete("d");
    batch.merge("d", "3");
    let wanted = ["a=1", "b=db,1", "c=put,2", "d=3"];
    assert_eq!(batch_over(&db, &batch), wanted);
    let mut iter = batch.iterator_with_base(db.raw_iterator());
    iter.seek("b");
    iter.next();
    iter.prev();
    assert_eq!(iter.value(), Some(&b"db,1"[..]));
}

/// TestBadMergeOperator: a failing operator fails the reads that need it and no others.
#[test]
fn a_failing_merge_operator_fails_its_reads_only() {
    let mut options = tiny();
    options.set_merge_operator_associative("fails", |_, _, _| None);
    let (_dir, db) = open_with(options);
    db.put("a", "0").unwrap();
    let mut batch = WriteBatchWithIndex::default();
    batch.merge("a", "1");
    batch.put("b", "1");
    let failure = batch.get_from_batch_and_db(&db, &ReadOptions::default(), "a");
    assert_eq!(failure.unwrap_err().kind(), ErrorKind::Corruption);
    assert_eq!(over(&batch, &db, "b").as_deref(), Some("1"));
    let mut iter = batch.iterator_with_base(db.raw_iterator());
    iter.seek("a");
    assert!(!iter.valid());
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Corruption);
    iter.seek("b");
    assert_eq!((iter.valid(), iter.status()), (true, Ok(())));
}

/// Without an operator, a merge in the batch fails where it is needed, in RocksDB's words.
#[test]
fn merges_need_an_operator_when_they_are_read() {
    let (_dir, db) = open_with({
        let mut options = Options::default();
        options.create_if_missing(true);
        options
    });
    let mut batch = WriteBatchWithIndex::default();
    batch.merge("a", "1");
    let text = "Invalid argument: Merge_operator must be set for column_family";
    let failure = batch.get_from_batch_and_db(&db, &ReadOptions::default(), "a");
    assert_eq!(failure.unwrap_err().into_string(), text);
    let mut iter = batch.iterator_with_base(db.raw_iterator());
    iter.seek_to_first();
    assert_eq!(iter.status().unwrap_err().into_string(), text);
}

/// MutateWhileIteratingCorrectnessTest, MutateWhileIteratingBaseCorrectnessTest: what is changed
/// while an iterator lives does not show in it. (In RocksDB some of it may.)
#[test]
fn iterators_do_not_see_later_changes_of_the_batch() {
    let (_dir, db) = open();
    db.put("b", "db").unwrap();
    let mut batch = WriteBatchWithIndex::new(0, true);
    batch.put("a", "1");
    batch.put("c", "1");
    batch.set_savepoint();
    batch.put("d", "1");
    let (mut iter, mut own) = (
        batch.iterator_with_base(db.raw_iterator()),
        batch.iterator(),
    );
    iter.seek("a");
    own.seek_to_first();
    batch.put("a", "2");
    assert_eq!(iter.value(), Some(&b"1"[..]));
    batch.put("aa", "2");
    batch.delete("b");
    iter.next();
    assert_eq!(iter.item(), Some((&b"b"[..], &b"db"[..])));
    batch.rollback_to_savepoint().unwrap();
    batch.clear();
    batch.put("e", "2");
    assert_eq!(shown(iter), ["a=1", "b=db", "c=1", "d=1"]);
    own.next();
    own.next();
    assert_eq!(own.operation(), Some(put("d", "1")));
    assert_eq!(batch_over(&db, &batch), ["b=db", "e=2"]);
}

/// TestBoundsCheckingInDeltaIterator, TestBoundsCheckingInSeekToFirstAndLastOfDeltaIterator: the
/// bounds of the base hold for the batch.
#[test]
fn bounds_hold_for_the_batch() {
    let (_dir, db) = open();
    let mut batch = WriteBatchWithIndex::default();
    for key in ["a", "b", "c"] {
        batch.put(key, [key, key].concat());
    }
    let within = |lower: &str, upper: &str| {
        let mut readopts = ReadOptions::default();
        readopts.set_iterate_lower_bound(lower);
        readopts.set_iterate_upper_bound(upper);
        batch.iterator_with_base(db.raw_iterator_opt(readopts))
    };
    for (lower, upper) in [("b", "c"), ("a.1", "c"), ("b", "b.2")] {
        assert_eq!(shown(within(lower, upper)), ["b=bb"]);
        let mut iter = within(lower, upper);
        for (target, forward, backward) in [
            ("a", true, false),
            ("a.1", true, false),
            ("b", true, true),
            ("b.1", false, true),
            ("c", false, true),
        ] {
            iter.seek(target);
            assert_eq!(iter.valid(), forward, "seek {target} in {lower}..{upper}");
            iter.seek_for_prev(target);
            assert_eq!(
                iter.valid(),
                backward,
                "seek_for_prev {target} in {lower}..{upper}"
            );
        }
    }
    for (lower, upper) in [("bb", "c"), ("d", "e"), ("", "a")] {
        assert_eq!(shown(within(lower, upper)), [""; 0]);
    }
}

/// SavePointTest: savepoints nest, take back batch and index, and are used up.
#[test]
fn savepoints_take_the_index_back() {
    let mut batch = WriteBatchWithIndex::new(0, true);
    batch.put("a", "1");
    batch.put("b", "1");
    batch.set_savepoint();
    let (bytes, listed) = (batch.data().to_vec(), operations(&batch));
    batch.put("a", "2");
    batch.delete("b");
    batch.put("c", "2");
    batch.set_savepoint();
    batch.merge("c", "3");
    batch.put_log_data("note");
    assert_eq!(operations(&batch), ["a=2", "b-", "c+3", "c=2"]);
    batch.rollback_to_savepoint().unwrap();
    assert_eq!(operations(&batch), ["a=2", "b-", "c=2"]);
    assert_eq!(alone(&batch, "b"), None);
    batch.rollback_to_savepoint().unwrap();
    assert_eq!((operations(&batch), batch.data()), (listed, &bytes[..]));
    assert_eq!(alone(&batch, "b").as_deref(), Some("1"));
    let failure = batch.rollback_to_savepoint().unwrap_err();
    assert_eq!(failure.into_string(), "NotFound: ");
    batch.set_savepoint();
    batch.put("d", "4");
    batch.pop_savepoint().unwrap();
    assert_eq!(
        batch.pop_savepoint().unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(batch.count(), 3);
    batch.set_savepoint();
    batch.clear();
    assert!(batch.rollback_to_savepoint().is_err());
}

/// SingleDeleteTest, SingleDeleteDeltaIterTest: a single deletion hides the key until it is put
/// again, and is written as what it is.
#[test]
fn single_deletions_hide_keys() {
    let (_dir, db) = open();
    db.put("a", "db").unwrap();
    db.put("b", "db").unwrap();
    let mut batch = WriteBatchWithIndex::new(0, true);
    batch.single_delete("a");
    batch.put("c", "1");
    batch.single_delete("c");
    batch.put("d", "1");
    assert_eq!((alone(&batch, "a"), alone(&batch, "c")), (None, None));
    assert_eq!(over(&batch, &db, "a"), None);
    assert_eq!(batch_over(&db, &batch), ["b=db", "d=1"]);
    assert_eq!(operations(&batch), ["a!", "c!", "d=1"]);
    db.write_wbwi(batch).unwrap();
    assert_eq!(shown(db.raw_iterator()), ["b=db", "d=1"]);
}

/// TestValueAsSecondaryIndex, GetAfterPut: many keys, put in no order and found in theirs.
#[test]
fn many_keys_are_sorted() {
    let mut batch = WriteBatchWithIndex::new(0, true);
    let number = |i: u32| format!("{:05}", i.wrapping_mul(7919) % 20_011);
    for i in 0..20_011 {
        batch.put(number(i), i.to_string());
    }
    for i in (0..20_011).step_by(97) {
        assert_eq!(alone(&batch, &number(i)), Some(i.to_string()));
    }
    let mut iter = batch.iterator();
    iter.seek_to_first();
    for i in 0..20_011 {
        let wanted = format!("{i:05}");
        let found = iter.operation().unwrap();
        assert!(matches!(found, IndexedOperation::Put { key, .. } if key == wanted.as_bytes()));
        iter.next();
    }
    assert!(!iter.valid());
}

/// A comparator that panics fails the batch and nothing else.
#[test]
fn a_comparator_that_panics_fails_the_batch() {
    let mut options = tiny();
    let order = |a: &[u8], b: &[u8]| {
        assert!(a != b"bad" && b != b"bad", "bad key");
        a.cmp(b)
    };
    options.set_comparator("panics", Box::new(order));
    let (_dir, db) = open_with(options);
    db.put("a", "db").unwrap();
    let mut batch = WriteBatchWithIndex::for_db(&db, true);
    batch.put("b", "1");
    let mut iter = batch.iterator_with_base(db.raw_iterator());
    iter.seek_to_first();
    iter.seek("bad");
    assert_eq!(
        (iter.valid(), iter.status().unwrap_err().kind()),
        (false, ErrorKind::Aborted)
    );
    batch.put("bad", "1");
    assert_eq!(
        batch.get_from_batch("b").unwrap_err().kind(),
        ErrorKind::Aborted
    );
    batch.clear();
    batch.put("c", "1");
    assert_eq!(batch_over(&db, &batch), ["a=db", "c=1"]);
}

/// A second batch over an iterator would be left out, so it is refused.
#[test]
fn two_batches_over_one_iterator_are_refused() {
    let (_dir, db) = open();
    db.put("a", "db").unwrap();
    let batch = WriteBatchWithIndex::default();
    let once = batch.iterator_with_base(db.raw_iterator());
    let mut twice = batch.iterator_with_base(once);
    twice.seek_to_first();
    assert!(!twice.valid());
    assert_eq!(twice.status().unwrap_err().kind(), ErrorKind::NotSupported);
}

/// A tailing base goes on to see the database; so does one that is refreshed. The batch stays.
#[test]
fn tailing_bases_and_refreshed_ones_see_later_writes_below_the_batch() {
    let (_dir, db) = open();
    db.put("a", "db").unwrap();
    let mut batch = WriteBatchWithIndex::default();
    batch.put("b", "batch");
    let mut readopts = ReadOptions::default();
    readopts.set_tailing(true);
    let mut tailing = batch.iterator_with_base(db.raw_iterator_opt(readopts));
    let mut plain = batch.iterator_with_base(db.raw_iterator());
    tailing.seek_to_first();
    tailing.next();
    assert_eq!(tailing.key(), Some(&b"b"[..]));
    batch.put("bb", "later");
    db.put("c", "db").unwrap();
    tailing.next();
    assert_eq!(tailing.key(), Some(&b"c"[..]));
    tailing.next();
    assert!(!tailing.valid());
    plain.seek("b");
    plain.next();
    assert!(!plain.valid());
    plain.refresh().unwrap();
    assert_eq!(shown(plain), ["a=db", "b=batch", "c=db"]);
}

/// A database with time to live keeps times behind its values; the batch has none yet.
#[test]
fn values_of_a_database_with_time_to_live_are_merged_with_the_batch() {
    let dir = tempfile::tempdir().unwrap();
    let options = tiny();
    let ttl = std::time::Duration::from_secs(1000);
    let db = Db::open_with_ttl(&options, dir.path(), ttl).unwrap();
    db.put("a", "db").unwrap();
    db.put("b", "db").unwrap();
    let mut batch = WriteBatchWithIndex::default();
    batch.merge("a", "1");
    batch.merge("a", "2");
    batch.put("c", "put");
    batch.merge("c", "3");
    let wanted = ["a=db,1,2", "b=db", "c=put,3"];
    assert_eq!(over(&batch, &db, "a").as_deref(), Some("db,1,2"));
    assert_eq!(over(&batch, &db, "c").as_deref(), Some("put,3"));
    assert_eq!(batch_over(&db, &batch), wanted);
    db.write_wbwi(batch).unwrap();
    assert_eq!(shown(db.raw_iterator()), wanted);
}

/// A batch with checksums keeps one for each operation that is left.
#[test]
fn checksums_follow_savepoints_and_clearing() {
    let (_dir, db) = open();
    assert!(WriteBatchWithIndex::with_protection(0, true, 3).is_err());
    let mut batch = WriteBatchWithIndex::with_protection(0, true, 8).unwrap();
    batch.put("a", "1");
    batch.clear();
    batch.put("b", "1");
    batch.set_savepoint();
    batch.put("c", "1");
    batch.delete("b");
    batch.rollback_to_savepoint().unwrap();
    batch.put("d", "1");
    db.write_wbwi(batch).unwrap();
    assert_eq!(shown(db.raw_iterator()), ["b=1", "d=1"]);
}

/// Batches and their iterators go to other threads.
#[test]
fn batches_and_iterators_can_be_sent() {
    fn check<T: Send + Sync>() {}
    check::<WriteBatchWithIndex>();
    check::<whitewater::WriteBatchWithIndexIterator>();
    let (_dir, db) = open();
    let mut batch = WriteBatchWithIndex::default();
    batch.put("a", "1");
    let iter = batch.iterator_with_base(db.raw_iterator());
    let found = std::thread::scope(|scope| scope.spawn(|| shown(iter)).join().unwrap());
    assert_eq!(found, ["a=1"]);
}
