//! This project's skip list: with entries in their nodes, as the memtable has
//! it, and with nodes that point to entries elsewhere, all else being equal.

use std::sync::Arc;

use whitewater_concurrent::skiplist::{
    Bytewise, EntryLayout, Indirect, Inline, Iter, SkipList, Splice,
};

use crate::structure::{Direction, Entry, Handle, Shape, Structure};

/// What a layout's list is called.
pub(super) trait Named: EntryLayout + Send + Sync + 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
}

impl Named for Inline {
    const NAME: &'static str = "skip_list";
    const ABOUT: &'static str = "this project's inline skip list";
}

impl Named for Indirect {
    const NAME: &'static str = "indirect_skip_list";
    const ABOUT: &'static str = "the same with a pointer to the entry in each node";
}

/// The list, with a splice for each thread's batches.
pub(super) struct List<L: Named>(Arc<SkipList<Bytewise, L>>);

pub(super) struct Way<'a, L: Named> {
    list: &'a SkipList<Bytewise, L>,
    cursor: Iter<Bytewise, L>,
    splice: Splice,
}

impl<L: Named> Structure for List<L> {
    const NAME: &'static str = L::NAME;
    const ABOUT: &'static str = L::ABOUT;
    const COUNTS_RMW: bool = true;
    type Handle<'a> = Way<'a, L>;

    fn new(_: &Shape) -> Self {
        List(Arc::new(SkipList::with_layout(Bytewise, 1 << 20)))
    }

    fn handle(&self) -> Way<'_, L> {
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

impl<L: Named> Handle for Way<'_, L> {
    #[inline]
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        self.list.insert(entry.key, entry.tag, entry.value)
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

    #[inline]
    fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) {
        seek!(&mut self.cursor, key, visit);
    }

    fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
        walk!(&mut self.cursor, direction, visit);
    }
}
