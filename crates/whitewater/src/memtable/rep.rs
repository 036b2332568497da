//! What keeps a memtable's entries sorted.

use super::{art, skip_list};
use std::fmt::Debug;
use std::sync::Arc;
use whitewater_concurrent::region::HugePages;
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::UserComparator;

/// The representations there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MemtableKind {
    /// The inline skip list; any order.
    #[default]
    SkipList,
    /// The adaptive radix tree; bytewise order only.
    Art,
}

impl MemtableKind {
    /// Whether it can keep keys in the order of `comparator`.
    pub fn serves(self, comparator: &UserComparator) -> bool {
        match self {
            MemtableKind::SkipList => true,
            MemtableKind::Art => matches!(comparator, UserComparator::Bytewise),
        }
    }
}

/// Receives tag and value; returns whether to go on.
pub(crate) type Visit<'a> = dyn FnMut(u64, &[u8]) -> bool + 'a;

/// A point to insert.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub user_key: &'a [u8],
    /// Sequence number and type, packed.
    pub tag: u64,
    pub value: &'a [u8],
}

/// A sorted, append-only set of `(user key, tag, value)`, safe for many
/// writers beside readers.
pub(crate) trait MemtableRep: Debug + Send + Sync {
    /// Adds an entry; `false` if key and tag are already there.
    fn insert(&self, entry: Entry<'_>) -> bool;
    /// Adds entries in the order given; returns how many, which is all of them
    /// unless keys and tags were already there.
    fn insert_batch(&self, entries: &[Entry<'_>]) -> usize {
        entries.iter().filter(|entry| self.insert(**entry)).count()
    }
    /// As [`insert_batch`](Self::insert_batch), for a writer who expects
    /// entries that follow each other to be near each other.
    fn insert_batch_hinted(&self, entries: &[Entry<'_>]) -> usize {
        self.insert_batch(entries)
    }
    /// Visits the entries of `user_key` at or below `tag`, newest first, until
    /// `visit` returns `false`.
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>);
    /// A cursor that keeps the set alive.
    fn iter(self: Arc<Self>) -> BoxedIterator;
    /// Bytes handed out for entries.
    fn used_bytes(&self) -> usize;
}

/// What a representation is made with.
pub(crate) struct RepOptions {
    pub comparator: UserComparator,
    /// Bytes the memtable is to hold.
    pub capacity: usize,
    pub arena_block_size: usize,
    pub huge_pages: HugePages,
}

/// An empty representation. The kind serves the comparator: options are
/// checked when they are given.
pub(crate) fn new_rep(kind: MemtableKind, options: RepOptions) -> Arc<dyn MemtableRep> {
    match kind {
        MemtableKind::SkipList => skip_list::new(options),
        MemtableKind::Art => art::new(options),
    }
}

/// Makes a newtype of a structure's cursor an [`InternalIterator`]: all of
/// them have the same methods, with user key and tag apart.
///
/// [`InternalIterator`]: whitewater_storage::iter::InternalIterator
macro_rules! cursor_as_iterator {
    ($name:ident $(<$param:ident: $bound:path>)?) => {
        impl$(<$param: $bound>)? whitewater_storage::iter::InternalIterator
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
        }
    };
}
pub(super) use cursor_as_iterator;
