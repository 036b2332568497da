//! The adaptive radix tree as a memtable representation. It supports the bytewise
//! order, and the reverse by iterating over the same tree backwards.

use super::rep::{Entry, MemtableRep, Visit, cursor_as_iterator};
use super::two_phase::{DeferredLink, DuplicateTag, LeafHint, TwoPhaseInsert, UnlinkedEntry};
use std::fmt;
use std::sync::Arc;
use whitewater_concurrent::art::{Art, FlushIter, Iter, Options};
use whitewater_concurrent::region::HugePages;
use whitewater_storage::internal_iterator::{BoxedIterator, KeyCursor};
use whitewater_storage::key::UserComparator;

/// A tree for about `capacity` bytes of entries. `comparator` is not a custom one.
pub(super) fn new(
    comparator: &UserComparator,
    capacity: usize,
    huge_pages: HugePages,
) -> Arc<dyn MemtableRep> {
    // A quarter more, for nodes and for writes beyond the limit. A tree that needs
    // still more takes it.
    let options = Options {
        capacity: capacity + capacity / 4,
        huge_pages,
    };
    Arc::new(ArtRep {
        tree: Arc::new(Art::new(options)),
        reversed: matches!(comparator, UserComparator::ReverseBytewise),
    })
}

struct ArtRep {
    tree: Arc<Art>,
    /// Whether keys are in reverse order.
    reversed: bool,
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
    fn insert_batch(&self, entries: &[Entry<'_>], _near: bool) -> usize {
        self.tree
            .insert_batch(entries.iter().map(|e| (e.user_key, e.tag, e.value)))
    }
    fn two_phase(self: Arc<Self>) -> Option<Arc<dyn TwoPhaseInsert>> {
        Some(self)
    }
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        self.tree.get(user_key, tag, visit);
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        if self.reversed {
            Box::new(Reversed(self.tree.iter_reversed()))
        } else {
            Box::new(Forward(self.tree.iter()))
        }
    }
    fn flush_iter(self: Arc<Self>) -> BoxedIterator {
        if self.reversed {
            Box::new(FlushReversed(self.tree.flush_iter_reversed()))
        } else {
            Box::new(FlushForward(self.tree.flush_iter()))
        }
    }
    fn estimate_between(&self, start: &[u8], end: &[u8], entries: u64) -> Option<u64> {
        let [start, end] = [start, end].map(|key| self.tree.estimate_share_before(key));
        // In reverse order the greater key is the first one.
        let share = if self.reversed {
            start - end
        } else {
            end - start
        };
        Some((share.max(0.0) * entries as f64) as u64)
    }
    fn used_bytes(&self) -> usize {
        self.tree.used_bytes()
    }
    fn allocated_bytes(&self) -> usize {
        self.tree.allocated_bytes()
    }
}

impl TwoPhaseInsert for ArtRep {
    fn find_leaf<'k>(&self, user_key: &'k [u8]) -> LeafHint<'k> {
        LeafHint(self.tree.locate(user_key))
    }
    fn locate(&self, user_key: &[u8], value: &[u8], hint: Option<LeafHint<'_>>) -> UnlinkedEntry {
        UnlinkedEntry(match hint {
            Some(LeafHint(hint)) => self.tree.prepare_with_hint(hint, value),
            None => self.tree.prepare(user_key, value),
        })
    }
    fn locate_batch(&self, entries: &[(&[u8], &[u8])], take: &mut dyn FnMut(UnlinkedEntry)) {
        match entries {
            [(key, value)] => take(UnlinkedEntry(self.tree.prepare(key, value))),
            entries => self
                .tree
                .prepare_batch(entries.iter().copied(), &mut |entry| {
                    take(UnlinkedEntry(entry));
                }),
        }
    }
    fn link(&self, entry: UnlinkedEntry, tag: u64) -> Result<(), DuplicateTag> {
        if self.tree.publish(entry.0, tag) {
            Ok(())
        } else {
            Err(DuplicateTag)
        }
    }
    fn link_newest(
        &self,
        entry: UnlinkedEntry,
        tag: u64,
    ) -> Result<Option<DeferredLink>, DuplicateTag> {
        match self.tree.publish_newest(entry.0, tag) {
            Ok(deferred) => Ok(Some(DeferredLink(deferred))),
            // The first version of its key, or no longer above the newest one.
            Err(entry) => self.link(UnlinkedEntry(entry), tag).map(|()| None),
        }
    }
    fn run_deferred(&self, deferred: DeferredLink) {
        self.tree.link_skip_pointer(deferred.0);
    }
    #[cfg(test)]
    fn version_steps(&self, user_key: &[u8], tag: u64) -> usize {
        self.tree.version_steps(user_key, tag)
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

struct Forward(Iter);

cursor_as_iterator!(Forward, by_key);
key_cursor!(Forward);

struct Reversed(Iter<true>);

cursor_as_iterator!(Reversed, by_key);
key_cursor!(Reversed);

struct FlushForward(FlushIter);

cursor_as_iterator!(FlushForward);

struct FlushReversed(FlushIter<true>);

cursor_as_iterator!(FlushReversed);
