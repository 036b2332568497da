//! The adaptive radix tree as a memtable (seed 004). Bytewise order and its
//! reverse, in which the same tree is walked the other way.

use super::rep::{Entry, MemtableRep, Visit, cursor_as_iterator};
use std::fmt;
use std::sync::Arc;
use whitewater_concurrent::art::{
    Art, FlushIter, Iter, LeafHint, Options, PendingSkipPointer, Prepared,
};
use whitewater_concurrent::region::HugePages;
use whitewater_storage::iter::{BoxedIterator, KeyCursor};
use whitewater_storage::key::UserComparator;

/// The largest write buffer that a tree may serve. Bytes. It can outgrow this,
/// by half at least.
pub(crate) const MAX_CAPACITY: usize = 8 << 30;

/// A tree for about `capacity` bytes of entries. `comparator` is not a custom
/// one.
pub(super) fn new(
    comparator: &UserComparator,
    capacity: usize,
    huge_pages: HugePages,
) -> Arc<dyn MemtableRep> {
    // Room for what a memtable may be overrun by and for nodes; a tree that
    // needs still more takes it.
    let options = Options {
        capacity: capacity + capacity / 4,
        huge_pages,
    };
    Arc::new(ArtRep {
        tree: Arc::new(Art::new(options)),
        falling: matches!(comparator, UserComparator::ReverseBytewise),
    })
}

struct ArtRep {
    tree: Arc<Art>,
    /// Whether keys are in reverse order.
    falling: bool,
}

impl fmt::Debug for ArtRep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtRep")
            .field("used_bytes", &self.tree.used_bytes())
            .finish_non_exhaustive()
    }
}

impl MemtableRep for ArtRep {
    fn insert(&self, entry: Entry<'_>) -> bool {
        self.tree.insert(entry.user_key, entry.tag, entry.value)
    }
    fn insert_batch(&self, entries: &[Entry<'_>]) -> usize {
        self.tree
            .insert_batch(entries.iter().map(|e| (e.user_key, e.tag, e.value)))
    }
    fn prepares(&self) -> bool {
        true
    }
    fn prepare(&self, entries: &[(&[u8], &[u8])], take: &mut dyn FnMut(Prepared)) {
        match entries {
            [(key, value)] => take(self.tree.prepare(key, value)),
            entries => self.tree.prepare_batch(entries.iter().copied(), take),
        }
    }
    fn foresee<'k>(&self, user_key: &'k [u8]) -> Option<LeafHint<'k>> {
        Some(self.tree.locate(user_key))
    }
    fn prepare_one(
        &self,
        foreseen: Option<LeafHint<'_>>,
        user_key: &[u8],
        value: &[u8],
    ) -> Prepared {
        match foreseen {
            Some(foreseen) => self.tree.prepare_with_hint(foreseen, value),
            None => self.tree.prepare(user_key, value),
        }
    }
    fn link(&self, entry: Prepared, tag: u64) -> bool {
        self.tree.publish(entry, tag)
    }
    fn link_on_top(&self, entry: Prepared, tag: u64) -> Result<PendingSkipPointer, Prepared> {
        self.tree.publish_newest(entry, tag)
    }
    fn add_way(&self, wayless: PendingSkipPointer) {
        self.tree.link_skip_pointer(wayless);
    }
    #[cfg(test)]
    fn version_steps(&self, user_key: &[u8], tag: u64) -> Option<usize> {
        Some(self.tree.version_steps(user_key, tag))
    }
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        self.tree.get(user_key, tag, visit);
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        if self.falling {
            Box::new(Reversed(self.tree.iter_reversed()))
        } else {
            Box::new(Bytewise(self.tree.iter()))
        }
    }
    fn sweep(self: Arc<Self>) -> BoxedIterator {
        if self.falling {
            Box::new(FlushReversed(self.tree.flush_iter_reversed()))
        } else {
            Box::new(FlushBytewise(self.tree.flush_iter()))
        }
    }
    fn used_bytes(&self) -> usize {
        self.tree.used_bytes()
    }
    fn allocated_bytes(&self) -> usize {
        self.tree.allocated_bytes()
    }
}

macro_rules! key_cursor {
    ($name:ident) => {
        impl KeyCursor for $name {
            fn next_key(&mut self) {
                self.0.next_key();
            }
            fn prev_key(&mut self) {
                self.0.prev_key();
            }
            fn newest(&mut self, upto: u64) -> bool {
                self.0.newest(upto)
            }
        }
    };
}

struct Bytewise(Iter);

cursor_as_iterator!(Bytewise, by_key);
key_cursor!(Bytewise);

struct Reversed(Iter<true>);

cursor_as_iterator!(Reversed, by_key);
key_cursor!(Reversed);

struct FlushBytewise(FlushIter);

cursor_as_iterator!(FlushBytewise);

struct FlushReversed(FlushIter<true>);

cursor_as_iterator!(FlushReversed);
