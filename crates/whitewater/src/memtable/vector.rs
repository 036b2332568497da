//! A vector as a memtable representation: unsorted until it is read or flushed. It
//! supports every order.
//!
//! It is for loads with hardly any reads: an insert compares nothing. A look-up
//! scans all entries, and an iterator sorts a snapshot, which it keeps. Both get
//! cheap once the memtable is sealed, when the entries are sorted once. A duplicate
//! entry is not noticed until tables are written.

use super::order::UserOrder;
use super::rep::{Entry, MemtableRep, Visit};
use std::sync::Arc;
use whitewater_concurrent::append_list::AppendList;
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::sorted_snapshot::SortedIter;
use whitewater_storage::Result;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{UserComparator, tag, user_key};
use whitewater_storage::planted;

/// An empty vector.
pub(super) fn new(comparator: UserComparator, arena: ArenaOptions) -> Arc<dyn MemtableRep> {
    Arc::new(VectorRep {
        list: Arc::new(AppendList::new(UserOrder(comparator), arena)),
    })
}

#[derive(Debug)]
struct VectorRep {
    list: Arc<AppendList<UserOrder>>,
}

impl MemtableRep for VectorRep {
    fn insert(&self, entry: Entry<'_>) -> bool {
        self.list.extend([(entry.user_key, entry.tag, entry.value)]);
        true
    }
    fn insert_batch(&self, entries: &[Entry<'_>], _near: bool) -> usize {
        self.list
            .extend(entries.iter().map(|e| (e.user_key, e.tag, e.value)));
        entries.len()
    }
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        self.list.get(user_key, tag, visit);
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        Box::new(VectorIter {
            list: self.list.clone(),
            sorted: None,
        })
    }
    fn seal(&self) {
        self.list.seal();
    }
    fn used_bytes(&self) -> usize {
        self.list.used_bytes()
    }
    fn allocated_bytes(&self) -> usize {
        self.list.allocated_bytes()
    }
}

/// Sorts when it is first positioned.
struct VectorIter {
    list: Arc<AppendList<UserOrder>>,
    sorted: Option<SortedIter<UserOrder>>,
}

impl VectorIter {
    fn sorted(&mut self) -> &mut SortedIter<UserOrder> {
        self.sorted.get_or_insert_with(|| self.list.iter())
    }

    fn at(&self) -> &SortedIter<UserOrder> {
        self.sorted.as_ref().expect("the iterator is valid")
    }
}

impl InternalIterator for VectorIter {
    fn valid(&self) -> bool {
        self.sorted.as_ref().is_some_and(SortedIter::valid)
    }
    fn seek_to_first(&mut self) {
        self.sorted().seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.sorted().seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.sorted().seek(user_key(target), tag(target));
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.sorted().seek_for_prev(user_key(target), tag(target));
    }
    fn next(&mut self) {
        self.sorted().next();
    }
    fn prev(&mut self) {
        self.sorted().prev();
    }
    fn key(&self) -> &[u8] {
        self.at().key()
    }
    fn value(&self) -> &[u8] {
        self.at().value()
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
    fn release(&mut self) -> bool {
        planted!(IdleKeepsCopies => return true);
        self.sorted = None;
        true
    }
}
