//! The inline skip list as a memtable representation. It supports every order.

use super::order::UserOrder;
use super::rep::{Entry, MemtableRep, Visit, cursor_as_iterator};
use std::fmt::Debug;
use std::sync::Arc;
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::skiplist::{Bytewise, Iter, KeyOrder, SkipList, Splice};
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::UserComparator;

/// A skip list in the order of `comparator`.
pub(super) fn new(comparator: UserComparator, arena: ArenaOptions) -> Arc<dyn MemtableRep> {
    match comparator {
        UserComparator::Bytewise => Arc::new(SkipListRep {
            list: Arc::new(SkipList::new(Bytewise, arena)),
        }),
        other => Arc::new(SkipListRep {
            list: Arc::new(SkipList::new(UserOrder(other), arena)),
        }),
    }
}

#[derive(Debug)]
struct SkipListRep<O> {
    list: Arc<SkipList<O>>,
}

impl<O: KeyOrder + Debug> MemtableRep for SkipListRep<O> {
    fn insert(&self, entry: Entry<'_>) -> bool {
        self.list.insert(entry.user_key, entry.tag, entry.value)
    }
    fn insert_batch(&self, entries: &[Entry<'_>], near: bool) -> usize {
        if !near {
            return entries.iter().filter(|entry| self.insert(**entry)).count();
        }
        let mut splice = Splice::default();
        let inserted = entries.iter().filter(|entry| {
            let (key, tag, value) = (entry.user_key, entry.tag, entry.value);
            self.list.insert_with_splice(&mut splice, key, tag, value)
        });
        inserted.count()
    }
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        let order = self.list.order();
        self.list.scan_from(user_key, tag, &mut |key, tag, value| {
            order.same_key(key, user_key) && visit(tag, value)
        });
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        Box::new(SkipListIter(self.list.iter()))
    }
    fn flush_iter(self: Arc<Self>) -> BoxedIterator {
        Box::new(SkipListIter(self.list.flush_iter()))
    }
    fn estimate_between(&self, start: &[u8], end: &[u8], _: u64) -> Option<u64> {
        let before = |key| self.list.estimate_count_before(key, u64::MAX) as u64;
        Some(before(end).saturating_sub(before(start)))
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
