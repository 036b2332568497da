//! The adaptive radix tree as a memtable (seed 004). Bytewise order only.

use super::rep::{Entry, MemtableRep, RepOptions, Visit, cursor_as_iterator};
use std::fmt;
use std::sync::Arc;
use whitewater_concurrent::art::{Art, Iter, Options};
use whitewater_storage::iter::BoxedIterator;

/// A tree for about `capacity` bytes of entries.
pub(super) fn new(rep: RepOptions) -> Arc<dyn MemtableRep> {
    // Room for what a memtable may be overrun by and for nodes; a tree that
    // needs still more takes it.
    let options = Options {
        capacity: rep.capacity + rep.capacity / 4,
        huge_pages: rep.huge_pages,
    };
    Arc::new(ArtRep {
        tree: Arc::new(Art::new(options)),
    })
}

struct ArtRep {
    tree: Arc<Art>,
}

impl fmt::Debug for ArtRep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtRep")
            .field("entries", &self.tree.len())
            .finish()
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
    fn get(&self, user_key: &[u8], tag: u64, visit: &mut Visit<'_>) {
        self.tree.get(user_key, tag, visit);
    }
    fn iter(self: Arc<Self>) -> BoxedIterator {
        Box::new(ArtIter(self.tree.iter()))
    }
    fn used_bytes(&self) -> usize {
        self.tree.used_bytes()
    }
}

struct ArtIter(Iter);

cursor_as_iterator!(ArtIter);
