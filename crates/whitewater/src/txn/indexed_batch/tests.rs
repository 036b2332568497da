use super::*;
use crate::entry::MAX_ENTRY;
use crate::read::testing::quietly;
use look_up::{InBatch, Onto};
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use whitewater_storage::batch::{HEADER_SIZE, Op, check};
use whitewater_storage::key::Comparator;

const BYTEWISE: UserComparator = UserComparator::Bytewise;

fn push(batch: &mut IndexedBatch, ty: ValueType, key: &str, value: &str) {
    let (key, value) = (key.as_bytes(), value.as_bytes());
    batch.write_in((0, &BYTEWISE), ty, key, value).unwrap();
}

fn put(batch: &mut IndexedBatch, key: &str, value: &str) {
    push(batch, ValueType::Value, key, value);
}

fn look_up<'b>(batch: &'b IndexedBatch, key: &str) -> InBatch<'b> {
    batch.look_up_in(0, &BYTEWISE, key.as_bytes()).unwrap()
}

#[test]
fn the_batch_of_a_transaction_begins_with_a_noop() {
    let mut batch = IndexedBatch::of_transaction();
    let begins_with_noop = |batch: &Batch| {
        check(batch.bytes()).unwrap();
        batch.bytes()[HEADER_SIZE] == 0x0d && batch.ops().next() == Some(Ok(Op::Noop))
    };
    assert!(begins_with_noop(batch.batch()));
    assert_eq!((batch.count(), batch.size()), (0, HEADER_SIZE + 1));
    batch.set_savepoint();
    put(&mut batch, "a", "1");
    batch.rollback_to_savepoint().unwrap();
    assert_eq!(batch.size(), HEADER_SIZE + 1);
    put(&mut batch, "a", "1");
    let taken = batch.take_batch();
    assert!(begins_with_noop(&taken) && begins_with_noop(batch.batch()));
    assert_eq!((taken.count(), batch.count()), (1, 0));
    assert_eq!(look_up(&batch, "a"), InBatch::NotFound);
    put(&mut batch, "b", "1");
    batch.clear();
    assert!(begins_with_noop(batch.batch()));
    assert_eq!(batch.size(), HEADER_SIZE + 1);
}

#[test]
fn look_ups_say_what_merges_apply_to() {
    let mut batch = IndexedBatch::default();
    let merge = |onto, operands: &[&'static [u8]]| InBatch::Merge {
        operands: operands.to_vec(),
        onto,
    };
    push(&mut batch, ValueType::Merge, "a", "1");
    assert_eq!(look_up(&batch, "a"), merge(Onto::Base, &[b"1"]));
    push(&mut batch, ValueType::Merge, "a", "2");
    assert_eq!(look_up(&batch, "a"), merge(Onto::Base, &[b"1", b"2"]));
    push(&mut batch, ValueType::SingleDeletion, "a", "");
    assert_eq!(look_up(&batch, "a"), InBatch::Deleted);
    push(&mut batch, ValueType::Merge, "a", "3");
    assert_eq!(look_up(&batch, "a"), merge(Onto::Nothing, &[b"3"]));
    put(&mut batch, "a", "v");
    assert_eq!(look_up(&batch, "a"), InBatch::Value(b"v"));
    push(&mut batch, ValueType::Merge, "a", "4");
    assert_eq!(look_up(&batch, "a"), merge(Onto::Value(b"v"), &[b"4"]));
    let other = batch.look_up_in(7, &BYTEWISE, b"a").unwrap();
    assert_eq!(other, InBatch::NotFound);
}

#[test]
fn operations_that_are_not_indexed_are_written_and_not_seen() {
    let mut batch = IndexedBatch::default();
    put(&mut batch, "a", "1");
    batch.set_savepoint();
    batch.set_indexing(false);
    put(&mut batch, "a", "2");
    put(&mut batch, "b", "2");
    batch.set_indexing(true);
    put(&mut batch, "c", "3");
    assert_eq!(batch.count(), 4);
    assert_eq!(look_up(&batch, "a"), InBatch::Value(b"1"));
    assert_eq!(look_up(&batch, "b"), InBatch::NotFound);
    assert_eq!(look_up(&batch, "c"), InBatch::Value(b"3"));
    batch.rollback_to_savepoint().unwrap();
    assert_eq!((batch.count(), batch.num_savepoints()), (1, 0));
    assert_eq!(look_up(&batch, "c"), InBatch::NotFound);
    check(batch.batch().bytes()).unwrap();
}

/// B1: without an iterator nothing is copied; with one, once.
#[test]
fn contents_are_copied_for_iterators_only() {
    let mut batch = IndexedBatch::default();
    let place = |batch: &IndexedBatch| Arc::as_ptr(&batch.contents);
    let first = place(&batch);
    put(&mut batch, "a", "1");
    drop(batch.cursor(0, &BYTEWISE).unwrap());
    put(&mut batch, "b", "1");
    assert_eq!(place(&batch), first);
    let mut cursor = batch.cursor(0, &BYTEWISE).unwrap();
    put(&mut batch, "c", "1");
    let second = place(&batch);
    assert_ne!(second, first);
    put(&mut batch, "d", "1");
    assert_eq!(place(&batch), second);
    cursor.seek_to_last().unwrap();
    assert_eq!(cursor.key(), Some(&b"b"[..]));
    let taken = batch.take_batch();
    assert_eq!(taken.count(), 4);
    let kept = batch.cursor(0, &BYTEWISE).unwrap();
    batch.clear();
    put(&mut batch, "z", "1");
    assert_eq!((kept.key(), cursor.key()), (None, Some(&b"b"[..])));
}

/// B2 for entries that are refused.
#[test]
fn a_refused_entry_changes_nothing() {
    let mut batch = IndexedBatch::default();
    put(&mut batch, "a", "1");
    let before = batch.batch().clone();
    let long = vec![0; MAX_ENTRY];
    let refused = batch.write_in((0, &BYTEWISE), ValueType::Value, b"b", &long);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let range = batch.write_in((0, &BYTEWISE), ValueType::RangeDeletion, b"a", b"b");
    assert_eq!(range.unwrap_err().kind(), ErrorKind::NotSupported);
    let other = UserComparator::ReverseBytewise;
    let refused = batch.write_in((0, &other), ValueType::Value, b"b", b"1");
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(batch.batch(), &before);
    assert_eq!(look_up(&batch, "b"), InBatch::NotFound);
}

/// Panics when it is told to.
#[derive(Default)]
struct Panics(AtomicBool);

impl Comparator for Panics {
    fn name(&self) -> &str {
        "panics"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        assert!(!self.0.load(Relaxed), "told to");
        a.cmp(b)
    }
}

/// B2 for a comparator that panics.
#[test]
fn a_batch_with_an_incomplete_index_fails_until_it_is_cleared() {
    let comparator = Arc::new(Panics::default());
    let user = UserComparator::Custom(comparator.clone());
    let mut batch = IndexedBatch::default();
    let put = |batch: &mut IndexedBatch, key: &[u8]| {
        quietly(|| batch.write_in((0, &user), ValueType::Value, key, b"1"))
    };
    put(&mut batch, b"a").unwrap();
    batch.set_savepoint();
    put(&mut batch, b"b").unwrap();
    comparator.0.store(true, Relaxed);
    assert_eq!(
        put(&mut batch, b"c").unwrap_err().kind(),
        ErrorKind::Aborted
    );
    assert_eq!(batch.count(), 2);
    let rolled_back = quietly(|| batch.rollback_to_savepoint());
    assert_eq!(rolled_back.unwrap_err().kind(), ErrorKind::Aborted);
    comparator.0.store(false, Relaxed);
    assert_eq!(
        put(&mut batch, b"d").unwrap_err().kind(),
        ErrorKind::Aborted
    );
    assert!(batch.look_up_in(0, &user, b"a").is_err());
    assert!(batch.cursor(0, &user).is_err());
    batch.clear();
    put(&mut batch, b"d").unwrap();
    let found = batch.look_up_in(0, &user, b"d").unwrap();
    assert_eq!(found, InBatch::Value(b"1"));
}

#[test]
fn a_protected_batch_stays_protected() {
    let mut protected = Batch::default();
    protected.protect().unwrap();
    let mut batch = IndexedBatch::new(protected);
    put(&mut batch, "a", "1");
    batch.clear();
    put(&mut batch, "a", "1");
    let cursor = batch.cursor(0, &BYTEWISE).unwrap();
    batch.clear();
    drop(cursor);
    put(&mut batch, "b", "1");
    let taken = batch.take_batch();
    taken.verify().unwrap();
    assert!(taken.is_protected() && batch.batch().is_protected());
    put(&mut batch, "c", "1");
    batch.batch().verify().unwrap();
    assert_eq!((taken.count(), batch.count()), (1, 1));
}
