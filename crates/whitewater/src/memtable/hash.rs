//! What the two kinds of hash tables of lists share as memtable representations.
//!
//! A key goes to the bucket of its prefix. A key without a prefix goes to the bucket
//! of all its bytes; where keys of different bytes may be equal, to one bucket for
//! all of them (equal keys must then agree on whether they have a prefix and which).
//! Look-ups, and iterators that stay within a prefix, read one bucket. Other
//! iterators sort a snapshot of everything when they are first positioned; a sealed
//! memtable is sorted once only.

use super::order::UserOrder;
use super::rep::{Entry, MemtableRep, Visit};
use crate::options::prefix::PrefixExtractor;
use std::fmt::Debug;
use std::sync::Arc;
use twox_hash::XxHash3_64;
use whitewater_concurrent::skiplist::KeyOrder;
use whitewater_concurrent::sorted_snapshot::{self, SortedIter};
use whitewater_storage::Result;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{tag, user_key};

/// A hash table of lists.
pub(super) trait Buckets: Debug + Send + Sync + 'static {
    type Cursor: BucketCursor;
    fn insert(&self, hash: u64, entry: Entry<'_>) -> bool;
    fn scan_from(
        &self,
        hash: u64,
        user_key: &[u8],
        tag: u64,
        visit: &mut sorted_snapshot::Visit<'_>,
    );
    fn cursor(self: &Arc<Self>) -> Self::Cursor;
    fn sorted(&self) -> SortedIter<UserOrder>;
    fn seal(&self);
    fn used_bytes(&self) -> usize;
    fn allocated_bytes(&self) -> usize;
}

/// A cursor over one bucket at a time.
pub(super) trait BucketCursor: Send + Sync + 'static {
    fn valid(&self) -> bool;
    fn key(&self) -> &[u8];
    fn value(&self) -> &[u8];
    fn next(&mut self);
    fn prev(&mut self);
    fn seek(&mut self, hash: u64, user_key: &[u8], tag: u64);
    fn seek_for_prev(&mut self, hash: u64, user_key: &[u8], tag: u64);
}

/// Implements the traits above for a table and its cursor by their methods of the
/// same names.
macro_rules! impl_buckets {
    ($table:ident, $cursor:ident) => {
        impl Buckets for $table<UserOrder> {
            type Cursor = $cursor<UserOrder>;
            fn insert(&self, hash: u64, entry: Entry<'_>) -> bool {
                $table::insert(self, hash, entry.user_key, entry.tag, entry.value)
            }
            fn scan_from(
                &self,
                hash: u64,
                key: &[u8],
                tag: u64,
                visit: &mut sorted_snapshot::Visit<'_>,
            ) {
                $table::scan_from(self, hash, key, tag, visit);
            }
            fn cursor(self: &Arc<Self>) -> Self::Cursor {
                self.bucket_iter()
            }
            fn sorted(&self) -> SortedIter<UserOrder> {
                $table::sorted(self)
            }
            fn seal(&self) {
                $table::seal(self);
            }
            fn used_bytes(&self) -> usize {
                $table::used_bytes(self)
            }
            fn allocated_bytes(&self) -> usize {
                $table::allocated_bytes(self)
            }
        }

        impl BucketCursor for $cursor<UserOrder> {
            fn valid(&self) -> bool {
                $cursor::valid(self)
            }
            fn key(&self) -> &[u8] {
                $cursor::key(self)
            }
            fn value(&self) -> &[u8] {
                $cursor::value(self)
            }
            fn next(&mut self) {
                $cursor::next(self);
            }
            fn prev(&mut self) {
                $cursor::prev(self);
            }
            fn seek(&mut self, hash: u64, user_key: &[u8], tag: u64) {
                $cursor::seek(self, hash, user_key, tag);
            }
            fn seek_for_prev(&mut self, hash: u64, user_key: &[u8], tag: u64) {
                $cursor::seek_for_prev(self, hash, user_key, tag);
            }
        }
    };
}
pub(super) use impl_buckets;

/// A hash table as a memtable representation.
#[derive(Debug)]
pub(super) struct HashRep<T> {
    pub table: Arc<T>,
    pub order: UserOrder,
    pub extractor: PrefixExtractor,
}

impl<T: Buckets> HashRep<T> {
    fn hash(&self, user_key: &[u8]) -> u64 {
        let without_prefix = || {
            if self.order.0.is_builtin() {
                user_key
            } else {
                &[]
            }
        };
        let prefix = self.extractor.prefix(user_key);
        let group = prefix.unwrap_or_else(without_prefix);
        XxHash3_64::oneshot(group)
    }
}

impl<T: Buckets> MemtableRep for HashRep<T> {
    fn insert(&self, entry: Entry<'_>) -> bool {
        self.table.insert(self.hash(entry.user_key), entry)
    }
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        let hash = self.hash(user_key);
        self.table
            .scan_from(hash, user_key, tag, &mut |key, tag, value| {
                self.order.same_key(key, user_key) && visit(tag, value)
            });
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        Box::new(HashIter {
            bucket: self.table.cursor(),
            rep: self,
            keep: false,
            in_bucket: false,
            all: None,
        })
    }
    fn seal(&self) {
        self.table.seal();
    }
    fn used_bytes(&self) -> usize {
        self.table.used_bytes()
    }
    fn allocated_bytes(&self) -> usize {
        self.table.allocated_bytes()
    }
}

/// Iterates over a bucket while its user stays within a prefix, and over a sorted
/// snapshot otherwise.
struct HashIter<T: Buckets> {
    rep: Arc<HashRep<T>>,
    /// Whether the user stays within the prefix of the key it seeks.
    keep: bool,
    /// Whether the iterator is positioned in `bucket`, or else in `all`.
    in_bucket: bool,
    bucket: T::Cursor,
    /// Made when it is first needed, then kept.
    all: Option<SortedIter<UserOrder>>,
}

impl<T: Buckets> HashIter<T> {
    /// The hash of the bucket to seek `user_key` in; `None` for the snapshot.
    fn bucket_for(&mut self, user_key: &[u8]) -> Option<u64> {
        let prefix = self.rep.extractor.prefix(user_key);
        self.in_bucket = self.keep && prefix.is_some();
        prefix.filter(|_| self.keep).map(XxHash3_64::oneshot)
    }

    fn all(&mut self) -> &mut SortedIter<UserOrder> {
        self.in_bucket = false;
        self.all.get_or_insert_with(|| self.rep.table.sorted())
    }

    fn at(&self) -> &SortedIter<UserOrder> {
        self.all.as_ref().expect("the iterator is valid")
    }
}

impl<T: Buckets> InternalIterator for HashIter<T> {
    fn valid(&self) -> bool {
        if self.in_bucket {
            self.bucket.valid()
        } else {
            self.all.as_ref().is_some_and(SortedIter::valid)
        }
    }
    fn seek_to_first(&mut self) {
        self.all().seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.all().seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        let (key, tag) = (user_key(target), tag(target));
        match self.bucket_for(key) {
            Some(hash) => self.bucket.seek(hash, key, tag),
            None => self.all().seek(key, tag),
        }
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        let (key, tag) = (user_key(target), tag(target));
        match self.bucket_for(key) {
            Some(hash) => self.bucket.seek_for_prev(hash, key, tag),
            None => self.all().seek_for_prev(key, tag),
        }
    }
    fn next(&mut self) {
        if self.in_bucket {
            self.bucket.next();
        } else {
            self.all().next();
        }
    }
    fn prev(&mut self) {
        if self.in_bucket {
            self.bucket.prev();
        } else {
            self.all().prev();
        }
    }
    fn key(&self) -> &[u8] {
        if self.in_bucket {
            self.bucket.key()
        } else {
            self.at().key()
        }
    }
    fn value(&self) -> &[u8] {
        if self.in_bucket {
            self.bucket.value()
        } else {
            self.at().value()
        }
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
    fn keep_to_prefix(&mut self, on: bool) {
        self.keep = on;
    }
    fn release(&mut self) -> bool {
        self.all = None;
        self.keep = false;
        true
    }
}
