//! The inline skip list as a memtable (seed 000). Serves every order.

use super::rep::{Entry, MemtableRep, Visit, cursor_as_iterator};
use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;
use whitewater_concurrent::skiplist::{Iter, KeyOrder, SkipList};
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::UserComparator;

/// A skip list in the order of `comparator`.
pub(super) fn new(comparator: UserComparator, arena_block_size: usize) -> Arc<dyn MemtableRep> {
    match comparator {
        UserComparator::Bytewise => Arc::new(SkipListRep::new(Bytewise, arena_block_size)),
        other => Arc::new(SkipListRep::new(By(other), arena_block_size)),
    }
}

#[derive(Debug)]
struct Bytewise;

impl KeyOrder for Bytewise {
    #[inline]
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        a.0.cmp(b.0).then_with(|| b.1.cmp(&a.1))
    }
}

#[derive(Debug)]
struct By(UserComparator);

impl KeyOrder for By {
    #[inline]
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        self.0.compare(a.0, b.0).then_with(|| b.1.cmp(&a.1))
    }
}

#[derive(Debug)]
struct SkipListRep<O> {
    list: Arc<SkipList<O>>,
}

impl<O: KeyOrder> SkipListRep<O> {
    fn new(order: O, arena_block_size: usize) -> Self {
        SkipListRep {
            list: Arc::new(SkipList::new(order, arena_block_size)),
        }
    }
}

impl<O: KeyOrder + Debug> MemtableRep for SkipListRep<O> {
    fn insert(&self, entry: Entry<'_>) -> bool {
        self.list.insert(entry.user_key, entry.tag, entry.value)
    }
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        self.list.scan_from(user_key, tag, &mut |key, tag, value| {
            key == user_key && visit(tag, value)
        });
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        Box::new(SkipListIter(self.list.iter()))
    }
    fn used_bytes(&self) -> usize {
        self.list.used_bytes()
    }
    fn allocated_bytes(&self) -> usize {
        self.list.allocated_bytes()
    }
}

struct SkipListIter<O>(Iter<O>);

cursor_as_iterator!(SkipListIter<O: KeyOrder>);
