//! What keeps a memtable's entries sorted.

use super::{art, hash_link_list, hash_skip_list, skip_list, vector};
use crate::options::prefix::PrefixExtractor;
use std::fmt::Debug;
use std::sync::Arc;
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::art::{LeafHint, PendingSkipPointer, Prepared};
use whitewater_concurrent::hash_buckets::SkipListOptions;
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::UserComparator;

/// The representations there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MemtableKind {
    /// The radix tree where it serves, else the skip list.
    #[default]
    Auto,
    /// The inline skip list; any order.
    SkipList,
    /// The adaptive radix tree; bytewise order and its reverse.
    Art,
    /// An unsorted vector; any order.
    Vector,
    /// A hash table of skip lists by prefix; any order.
    HashSkipList {
        bucket_count: usize,
        height: i32,
        branching_factor: i32,
    },
    /// A hash table of linked lists by prefix; any order.
    HashLinkList { bucket_count: usize },
}

impl MemtableKind {
    /// Whether it can keep keys in the order of `comparator`.
    pub fn serves(self, comparator: &UserComparator) -> bool {
        match self {
            MemtableKind::Art => !matches!(comparator, UserComparator::Custom(_)),
            _ => true,
        }
    }

    /// The representation this stands for.
    pub fn resolve(self, comparator: &UserComparator, capacity: usize) -> Self {
        match self {
            MemtableKind::Auto
                if MemtableKind::Art.serves(comparator) && capacity <= art::MAX_CAPACITY =>
            {
                MemtableKind::Art
            }
            MemtableKind::Auto => MemtableKind::SkipList,
            chosen => chosen,
        }
    }

    /// Whether it keeps keys apart by prefix: it needs a prefix extractor, and
    /// sorts everything for a walk over all keys.
    pub fn groups_by_prefix(self) -> bool {
        matches!(
            self,
            MemtableKind::HashSkipList { .. } | MemtableKind::HashLinkList { .. }
        )
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
    /// Adds an entry; `false` if key and tag are already there, where that is
    /// noticed.
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
    /// Whether entries can be prepared.
    fn prepares(&self) -> bool {
        false
    }
    /// Does for entries `(user_key, value)` all that can be done before their
    /// tags are known; `take` gets them in their order. Only if it
    /// [`prepares`](Self::prepares).
    fn prepare(&self, _entries: &[(&[u8], &[u8])], _take: &mut dyn FnMut(Prepared)) {
        unreachable!("a representation that prepares says how");
    }
    /// Goes to where [`prepare_one`](Self::prepare_one) is going to begin, if that is
    /// known.
    fn foresee<'k>(&self, _user_key: &'k [u8]) -> Option<LeafHint<'k>> {
        None
    }
    /// [`prepare`](Self::prepare) for one entry, whose key may have been foreseen.
    fn prepare_one(&self, _: Option<LeafHint<'_>>, _user_key: &[u8], _value: &[u8]) -> Prepared {
        unreachable!("a representation that prepares says how");
    }
    /// Adds a prepared entry; `false` if key and tag are already there.
    fn link(&self, _entry: Prepared, _tag: u64) -> bool {
        unreachable!("a representation that prepares says how");
    }
    /// Adds a prepared entry without a look at the newest one of its key, if that is
    /// still what it was, or gives it back; `tag` is as [`Art::publish_newest`] wants
    /// it. What is left to do then goes to [`add_way`](Self::add_way).
    ///
    /// [`Art::publish_newest`]: whitewater_concurrent::art::Art::publish_newest
    fn link_on_top(&self, entry: Prepared, _tag: u64) -> Result<PendingSkipPointer, Prepared> {
        Err(entry)
    }
    /// Steps of a search for the version of a key at `tag`, if it can tell.
    #[cfg(test)]
    fn version_steps(&self, _user_key: &[u8], _tag: u64) -> Option<usize> {
        None
    }
    /// Completes what was added on top.
    fn add_way(&self, _: PendingSkipPointer) {
        unreachable!("a representation that adds on top says how");
    }
    /// Visits the entries of `user_key` at or below `tag`, newest first, until
    /// `visit` returns `false`.
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>);
    /// A cursor that keeps the set alive.
    fn iter(self: Arc<Self>) -> BoxedIterator;
    /// As [`iter`](Self::iter), for one walk forward over everything that
    /// reads all of each entry.
    fn sweep(self: Arc<Self>) -> BoxedIterator {
        self.iter()
    }
    /// Says that no more entries come, once all inserts have returned: a
    /// representation that sorts late then sorts once.
    fn seal(&self) {}
    /// Bytes handed out for entries.
    fn used_bytes(&self) -> usize;
    /// Bytes taken from the system, with what lies ready for entries.
    fn allocated_bytes(&self) -> usize;
}

/// What a representation is made with.
pub(crate) struct RepOptions {
    pub comparator: UserComparator,
    /// Bytes the memtable is to hold.
    pub capacity: usize,
    /// How memory is taken.
    pub arena: ArenaOptions,
    /// Set where the kind groups by prefix.
    pub prefix_extractor: Option<PrefixExtractor>,
}

/// An empty representation. The kind serves the comparator and has the prefix
/// extractor it needs: options are checked when they are given.
pub(crate) fn new_rep(kind: MemtableKind, options: RepOptions) -> Arc<dyn MemtableRep> {
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

/// Makes a newtype of a structure's cursor an [`InternalIterator`]: all of
/// them have the same methods, with user key and tag apart. With `by_key`, for
/// those that are a `KeyCursor` too.
///
/// [`InternalIterator`]: whitewater_storage::iter::InternalIterator
macro_rules! cursor_as_iterator {
    ($name:ident $(<$param:ident: $bound:path>)? $(, $by_key:ident)?) => {
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
            $(fn $by_key(&mut self) -> Option<&mut dyn whitewater_storage::iter::KeyCursor> {
                Some(self)
            })?
        }
    };
}
pub(super) use cursor_as_iterator;
