//! What the structures have in common: they are sorted sets of entries `(user key, tag,
//! value)`.

use std::marker::PhantomData;
use std::sync::Arc;

use whitewater_concurrent::art::{self, Art, Options};
use whitewater_concurrent::skiplist::{self, SkipList, Splice};

use super::order::{By, Bytewise, EntryKey, ReverseBytewise, UserOrder};

pub type Entry<'a> = (&'a [u8], u64, &'a [u8]);

/// A structure under test.
pub trait Set: Send + Sync + 'static {
    type Order: UserOrder;
    type Cursor: Cursor;

    fn create() -> Arc<Self>;
    fn insert(&self, key: &[u8], tag: u64, value: &[u8]) -> bool;
    /// Inserts with the function for many entries; returns how many were new.
    fn insert_many(&self, entries: &[Entry<'_>]) -> usize;
    /// Does everything that can be done before the tag is known, calls `tag`, and then
    /// does the rest.
    fn insert_late(&self, key: &[u8], value: &[u8], tag: impl FnOnce() -> u64) -> bool;
    fn get(&self, key: &[u8], tag: u64, visit: &mut dyn FnMut(u64, &[u8]) -> bool);
    fn cursor(self: &Arc<Self>) -> Self::Cursor;
    fn len(&self) -> usize;
    fn check(&self) -> Result<usize, String>;
    fn used_bytes(&self) -> usize;
    fn allocated_bytes(&self) -> usize;

    /// Inserts in one of several ways, by number.
    fn insert_by(&self, way: usize, key: &[u8], tag: u64, value: &[u8]) -> bool {
        match way % 3 {
            0 => self.insert(key, tag, value),
            1 => self.insert_late(key, value, || tag),
            _ => self.insert_many(&[(key, tag, value)]) == 1,
        }
    }
}

/// A structure's cursor.
pub trait Cursor: Send {
    fn valid(&self) -> bool;
    fn key(&self) -> &[u8];
    fn value(&self) -> &[u8];
    fn next(&mut self);
    fn prev(&mut self);
    fn seek(&mut self, key: &[u8], tag: u64);
    fn seek_for_prev(&mut self, key: &[u8], tag: u64);
    fn seek_to_first(&mut self);
    fn seek_to_last(&mut self);

    /// The current entry's key, tag and value.
    fn entry<U: UserOrder>(&self) -> Option<(EntryKey<U>, Vec<u8>)> {
        self.valid()
            .then(|| (EntryKey::of(self.key()), self.value().to_vec()))
    }
}

macro_rules! cursor {
    ($cursor:ty $(, $order:ident)?) => {
        impl$(<$order: UserOrder>)? Cursor for $cursor {
            fn valid(&self) -> bool {
                self.valid()
            }
            fn key(&self) -> &[u8] {
                self.key()
            }
            fn value(&self) -> &[u8] {
                self.value()
            }
            fn next(&mut self) {
                self.next();
            }
            fn prev(&mut self) {
                self.prev();
            }
            fn seek(&mut self, key: &[u8], tag: u64) {
                self.seek(key, tag);
            }
            fn seek_for_prev(&mut self, key: &[u8], tag: u64) {
                self.seek_for_prev(key, tag);
            }
            fn seek_to_first(&mut self) {
                self.seek_to_first();
            }
            fn seek_to_last(&mut self) {
                self.seek_to_last();
            }
        }
    };
}

cursor!(art::Iter<false>);
cursor!(art::Iter<true>);
cursor!(skiplist::Iter<By<U>>, U);

/// The levels of a node, fixed so that runs are repeatable.
fn height(key: &[u8], tag: u64) -> usize {
    let sum: usize = key.iter().map(|&byte| usize::from(byte)).sum();
    1 + (sum + tag as usize) * 7 % 3
}

impl<U: UserOrder> Set for SkipList<By<U>> {
    type Order = U;
    type Cursor = skiplist::Iter<By<U>>;

    fn create() -> Arc<Self> {
        Arc::new(SkipList::new(By(PhantomData), 64 << 10))
    }
    fn insert(&self, key: &[u8], tag: u64, value: &[u8]) -> bool {
        if cfg!(shuttle) {
            return self.insert_with_height(height(key, tag), key, tag, value);
        }
        self.insert(key, tag, value)
    }
    fn insert_many(&self, entries: &[Entry<'_>]) -> usize {
        let mut splice = Splice::default();
        let mut insert = |(key, tag, value): &Entry<'_>| {
            if cfg!(shuttle) {
                let height = height(key, *tag);
                return self.insert_spliced_with_height(&mut splice, height, key, *tag, value);
            }
            self.insert_with_splice(&mut splice, key, *tag, value)
        };
        entries.iter().map(|e| usize::from(insert(e))).sum()
    }
    fn insert_late(&self, key: &[u8], value: &[u8], tag: impl FnOnce() -> u64) -> bool {
        Set::insert(self, key, tag(), value)
    }
    fn get(&self, key: &[u8], tag: u64, visit: &mut dyn FnMut(u64, &[u8]) -> bool) {
        self.scan_from(key, tag, &mut |k, tag, value| k == key && visit(tag, value));
    }
    fn cursor(self: &Arc<Self>) -> Self::Cursor {
        self.iter()
    }
    fn len(&self) -> usize {
        self.len()
    }
    fn check(&self) -> Result<usize, String> {
        self.check()
    }
    fn used_bytes(&self) -> usize {
        self.used_bytes()
    }
    fn allocated_bytes(&self) -> usize {
        self.allocated_bytes()
    }
}

/// A tree in one of its orders.
pub struct Tree<const REVERSED: bool>(Arc<Art>);

macro_rules! tree {
    ($tree:ty, $order:ty, $cursor:ty, $iter:ident) => {
        impl Set for $tree {
            type Order = $order;
            type Cursor = $cursor;

            fn create() -> Arc<Self> {
                // The smallest range, so that many tests outgrow it.
                Arc::new(Tree(Arc::new(Art::new(Options {
                    capacity: 0,
                    ..Options::default()
                }))))
            }
            fn insert(&self, key: &[u8], tag: u64, value: &[u8]) -> bool {
                self.0.insert(key, tag, value)
            }
            fn insert_many(&self, entries: &[Entry<'_>]) -> usize {
                self.0.insert_batch(entries.iter().copied())
            }
            fn insert_late(&self, key: &[u8], value: &[u8], tag: impl FnOnce() -> u64) -> bool {
                let prepared = self.0.prepare(key, value);
                self.0.publish(prepared, tag())
            }
            fn get(&self, key: &[u8], tag: u64, visit: &mut dyn FnMut(u64, &[u8]) -> bool) {
                self.0.get(key, tag, visit);
            }
            fn cursor(self: &Arc<Self>) -> Self::Cursor {
                self.0.$iter()
            }
            fn len(&self) -> usize {
                self.0.check().expect("no insert is in flight")
            }
            fn check(&self) -> Result<usize, String> {
                self.0.check()
            }
            fn used_bytes(&self) -> usize {
                self.0.used_bytes()
            }
            fn allocated_bytes(&self) -> usize {
                self.0.allocated_bytes()
            }
        }
    };
}

tree!(Tree<false>, Bytewise, art::Iter<false>, iter);
tree!(Tree<true>, ReverseBytewise, art::Iter<true>, iter_reversed);
