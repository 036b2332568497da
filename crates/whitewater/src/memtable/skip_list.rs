//! The inline skip list as a memtable (seed 000). Serves every order.

use super::rep::{Entry, MemtableRep, RepOptions, Visit, cursor_as_iterator};
use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;
use whitewater_concurrent::skiplist::{Bytewise, Iter, KeyOrder, SkipList, Splice};
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::UserComparator;

/// A skip list in the order of the comparator.
pub(super) fn new(options: RepOptions) -> Arc<dyn MemtableRep> {
    let (block, pages) = (options.arena_block_size, options.huge_pages);
    match options.comparator {
        UserComparator::Bytewise => Arc::new(SkipListRep {
            list: Arc::new(SkipList::with_pages(Bytewise, block, pages)),
        }),
        other => Arc::new(SkipListRep {
            list: Arc::new(SkipList::with_pages(By(other), block, pages)),
        }),
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

impl<O: KeyOrder + Debug> MemtableRep for SkipListRep<O> {
    fn insert(&self, entry: Entry<'_>) -> bool {
        self.list.insert(entry.user_key, entry.tag, entry.value)
    }
    fn insert_batch_hinted(&self, entries: &[Entry<'_>]) -> usize {
        let mut splice = Splice::default();
        let inserted = entries.iter().filter(|entry| {
            let (key, tag, value) = (entry.user_key, entry.tag, entry.value);
            self.list.insert_with_splice(&mut splice, key, tag, value)
        });
        inserted.count()
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
}

struct SkipListIter<O>(Iter<O>);

cursor_as_iterator!(SkipListIter<O: KeyOrder>);
