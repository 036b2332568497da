//! The representations that keep a memtable's entries sorted.

use super::two_phase::TwoPhaseInsert;
use super::{art, hash_link_list, hash_skip_list, skip_list, vector};
use crate::options::memtable_kind::MemtableKind;
use crate::options::prefix::PrefixExtractor;
use std::fmt::Debug;
use std::sync::Arc;
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::hash_buckets::SkipListOptions;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::UserComparator;

/// Receives tag and value; returns whether to go on.
pub(super) type Visit<'a> = dyn FnMut(u64, &[u8]) -> bool + 'a;

/// A point to insert.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub user_key: &'a [u8],
    /// Sequence number and type, packed.
    pub tag: u64,
    pub value: &'a [u8],
}

/// A sorted, append-only set of `(user key, tag, value)`: concurrent writers, and
/// readers beside them.
pub(super) trait MemtableRep: Debug + Send + Sync {
    /// Adds an entry. Returns `false` if key and tag are already present, where the
    /// representation notices that.
    fn insert(&self, entry: Entry<'_>) -> bool;
    /// Adds entries in the order given, and returns how many were added: all,
    /// unless some keys and tags were already present. `near` tells that
    /// consecutive entries are likely to be near each other.
    fn insert_batch(&self, entries: &[Entry<'_>], _near: bool) -> usize {
        entries.iter().filter(|entry| self.insert(**entry)).count()
    }
    /// The same representation, if it can insert in two phases. Asked once, when
    /// the memtable is made.
    fn two_phase(self: Arc<Self>) -> Option<Arc<dyn TwoPhaseInsert>> {
        None
    }
    /// Visits the entries of `user_key` at or below `tag`, newest first, until
    /// `visit` returns `false`.
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>);
    /// A cursor that keeps the set alive.
    fn iter(self: Arc<Self>) -> BoxedIterator;
    /// Like [`iter`](Self::iter), for a flush: a single pass forward that reads
    /// every entry in full.
    fn flush_iter(self: Arc<Self>) -> BoxedIterator {
        self.iter()
    }
    /// About how many of `entries` entries are at user keys from `start` to before `end`, in the
    /// order of the iterators. `None` if that can only be counted.
    fn estimate_between(&self, _start: &[u8], _end: &[u8], _entries: u64) -> Option<u64> {
        None
    }
    /// Announces that no entries follow once all inserts have returned. A
    /// representation that sorts late then sorts once.
    fn seal(&self) {}
    /// Bytes handed out for entries.
    fn used_bytes(&self) -> usize;
    /// Bytes taken from the system, including room for future entries.
    fn allocated_bytes(&self) -> usize;
}

/// What a representation is made with.
pub(super) struct RepOptions {
    pub comparator: UserComparator,
    /// Bytes that the memtable is to hold.
    pub capacity: usize,
    /// How memory is allocated.
    pub arena: ArenaOptions,
    /// Set where the kind groups by prefix.
    pub prefix_extractor: Option<PrefixExtractor>,
}

/// An empty representation. Options were checked: the kind supports the comparator
/// and has the prefix extractor that it needs.
pub(super) fn new_rep(kind: MemtableKind, options: RepOptions) -> Arc<dyn MemtableRep> {
    let RepOptions {
        comparator,
        capacity,
        arena,
        prefix_extractor,
    } = options;
    match (kind.resolve(&comparator, capacity), prefix_extractor) {
        (MemtableKind::Art, _) => art::new(&comparator, capacity, arena.pages),
        (MemtableKind::Vector, _) => vector::new(comparator, arena),
        (
            MemtableKind::HashSkipList {
                bucket_count,
                height,
                branching_factor,
            },
            Some(extractor),
        ) => {
            let options = SkipListOptions {
                buckets: bucket_count,
                height: height as usize,
                branching: branching_factor as u32,
                arena,
            };
            hash_skip_list::new(comparator, extractor, options)
        }
        (MemtableKind::HashLinkList { bucket_count }, Some(extractor)) => {
            hash_link_list::new(comparator, extractor, bucket_count, arena)
        }
        _ => skip_list::new(comparator, arena),
    }
}

/// Implements [`InternalIterator`] for a newtype of a structure's cursor. These
/// cursors have the same methods, with user key and tag apart. `by_key` is for
/// cursors that are a `KeyCursor` too, and to which seeks can be announced.
///
/// [`InternalIterator`]: whitewater_storage::internal_iterator::InternalIterator
macro_rules! cursor_as_iterator {
    ($name:ident $(<$param:ident: $bound:path>)? $(, $by_key:ident)?) => {
        impl$(<$param: $bound>)? whitewater_storage::internal_iterator::InternalIterator
            for $name$(<$param>)?
        {
            fn valid(&self) -> bool {
                self.0.valid()
            }
            fn seek_to_first(&mut self) {
                self.0.seek_to_first();
            }
            fn seek_to_last(&mut self) {
                self.0.seek_to_last();
            }
            fn seek(&mut self, target: &[u8]) {
                use whitewater_storage::key::{tag, user_key};
                self.0.seek(user_key(target), tag(target));
            }
            fn seek_for_prev(&mut self, target: &[u8]) {
                use whitewater_storage::key::{tag, user_key};
                self.0.seek_for_prev(user_key(target), tag(target));
            }
            fn next(&mut self) {
                self.0.next();
            }
            fn prev(&mut self) {
                self.0.prev();
            }
            fn key(&self) -> &[u8] {
                self.0.key()
            }
            fn value(&self) -> &[u8] {
                self.0.value()
            }
            fn status(&self) -> whitewater_storage::Result<()> {
                Ok(())
            }
            fn release(&mut self) -> bool {
                true // holds no more than its memtable
            }
            $(fn $by_key(&mut self) -> Option<&mut dyn whitewater_storage::internal_iterator::KeyCursor> {
                Some(self)
            }
            fn expect_seek(&mut self, target: &[u8]) {
                self.0.expect_seek(whitewater_storage::key::user_key(target));
            }
            fn expect_further(&mut self, _target: &[u8]) {
                self.0.expect_further();
            })?
        }
    };
}
pub(super) use cursor_as_iterator;
