//! This project's skip list, in three variants: with entries inline in their nodes, as
//! memtables have it; with nodes that point to their entries; and without the cached splice.

use std::sync::Arc;

use whitewater_concurrent::skiplist::{
    Bytewise, EntryLayout, Indirect, Inline, Iter, SkipList, Splice,
};

use super::arena;
use crate::structure::{Direction, Entry, Handle, Shape, Structure};

/// A variant of the list: a layout of its nodes, and a way to insert one entry.
pub(super) trait Variant: 'static {
    type Layout: EntryLayout + Send + Sync + 'static;
    const NAME: &'static str;
    const ABOUT: &'static str;

    /// Inserts one entry.
    fn insert(list: &SkipList<Bytewise, Self::Layout>, entry: Entry<'_>) -> bool {
        list.insert(entry.key, entry.tag, entry.value)
    }
}

/// The variant with inline entries, as in memtables.
pub(super) struct InlineEntries;

/// The variant with a pointer from each node to its entry.
pub(super) struct IndirectEntries;

/// The variant in which inserts begin at the top of the list, without its cached splice.
pub(super) struct PlainDescent;

impl Variant for InlineEntries {
    type Layout = Inline;
    const NAME: &'static str = "skip_list";
    const ABOUT: &'static str = "this project's inline skip list";
}

impl Variant for IndirectEntries {
    type Layout = Indirect;
    const NAME: &'static str = "indirect_skip_list";
    const ABOUT: &'static str = "the same with a pointer to the entry in each node";
}

impl Variant for PlainDescent {
    type Layout = Inline;
    const NAME: &'static str = "descending_skip_list";
    const ABOUT: &'static str = "skip_list, but each single insert searches from the top";

    fn insert(list: &SkipList<Bytewise, Inline>, entry: Entry<'_>) -> bool {
        list.insert_concurrently(entry.key, entry.tag, entry.value)
    }
}

/// The list, with a splice for the batches of each thread.
pub(super) struct List<V: Variant>(Arc<SkipList<Bytewise, V::Layout>>);

pub(super) struct Way<'a, V: Variant> {
    list: &'a SkipList<Bytewise, V::Layout>,
    cursor: Iter<Bytewise, V::Layout>,
    splice: Splice,
}

impl<V: Variant> Structure for List<V> {
    const NAME: &'static str = V::NAME;
    const ABOUT: &'static str = V::ABOUT;
    const COUNTS_RMW: bool = true;
    type Handle<'a> = Way<'a, V>;

    fn new(shape: &Shape) -> Self {
        List(Arc::new(SkipList::with_layout(Bytewise, arena(shape))))
    }

    fn handle(&self) -> Way<'_, V> {
        Way {
            list: &self.0,
            cursor: self.0.iter(),
            splice: Splice::default(),
        }
    }

    fn own_bytes(&self) -> Option<usize> {
        Some(self.0.used_bytes())
    }
}

impl<V: Variant> Handle for Way<'_, V> {
    #[inline]
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        V::insert(self.list, entry)
    }

    fn insert_batch(&mut self, entries: &[Entry<'_>]) -> usize {
        let (list, splice) = (self.list, &mut self.splice);
        let inserted = entries
            .iter()
            .filter(|e| list.insert_with_splice(splice, e.key, e.tag, e.value));
        inserted.count()
    }

    #[inline]
    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
        let mut found = false;
        self.list.scan_from(key, u64::MAX, &mut |there, _, value| {
            if there == key {
                found = true;
                visit(value);
            }
            false
        });
        found
    }

    cursor_reads!();
}
