//! This project's adaptive radix tree.

use std::sync::Arc;

use whitewater_concurrent::art::{Art, Iter, Options};

use crate::structure::{Direction, Entry, Handle, Shape, Structure};

/// The tree, with its address range reserved for the run's entries.
pub(super) struct RadixTree(Arc<Art>);

pub(super) struct Way<'a> {
    tree: &'a Art,
    cursor: Iter,
}

impl Structure for RadixTree {
    const NAME: &'static str = "art";
    const ABOUT: &'static str = "this project's adaptive radix tree";
    const COUNTS_RMW: bool = true;
    type Handle<'a> = Way<'a>;

    fn new(shape: &Shape) -> Self {
        RadixTree(Arc::new(Art::new(Options {
            capacity: shape.bytes_with(96),
            huge_pages: shape.pages,
        })))
    }

    fn handle(&self) -> Way<'_> {
        Way {
            tree: &self.0,
            cursor: self.0.iter(),
        }
    }

    fn own_bytes(&self) -> Option<usize> {
        Some(self.0.used_bytes())
    }
}

impl Handle for Way<'_> {
    #[inline]
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        self.tree.insert(entry.key, entry.tag, entry.value)
    }

    fn insert_batch(&mut self, entries: &[Entry<'_>]) -> usize {
        let entries = entries.iter().map(|e| (e.key, e.tag, e.value));
        self.tree.insert_batch(entries)
    }

    #[inline]
    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
        let mut found = false;
        self.tree.get(key, u64::MAX, &mut |_, value| {
            found = true;
            visit(value);
            false
        });
        found
    }

    cursor_reads!();
}
