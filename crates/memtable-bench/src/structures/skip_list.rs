//! This project's inline skip list.

use std::cmp::Ordering;
use std::sync::Arc;

use whitewater_concurrent::skiplist::{Iter, KeyOrder, SkipList, Splice};

use super::TAG;
use crate::structure::{Direction, Entry, Handle, Shape, Structure};

/// User keys as bytes, then newer entries first.
pub(super) struct Bytewise;

impl KeyOrder for Bytewise {
    #[inline]
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        a.0.cmp(b.0).then_with(|| b.1.cmp(&a.1))
    }
}

/// Its list, with a splice for each thread's batches.
pub(super) struct InlineSkipList(Arc<SkipList<Bytewise>>);

pub(super) struct Way<'a> {
    list: &'a SkipList<Bytewise>,
    cursor: Iter<Bytewise>,
    splice: Splice,
}

impl Structure for InlineSkipList {
    const NAME: &'static str = "skip_list";
    const ABOUT: &'static str = "this project's inline skip list";
    const COUNTS_RMW: bool = true;
    type Handle<'a> = Way<'a>;

    fn new(_: &Shape) -> Self {
        InlineSkipList(Arc::new(SkipList::new(Bytewise, 1 << 20)))
    }

    fn handle(&self) -> Way<'_> {
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

impl Handle for Way<'_> {
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
        let cursor = &mut self.cursor;
        cursor.seek(key, u64::MAX);
        while cursor.valid() {
            let there = cursor.key();
            if !visit(&there[..there.len() - TAG], cursor.value()) {
                return;
            }
            cursor.next();
        }
    }

    fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
        let cursor = &mut self.cursor;
        match direction {
            Direction::Forward => cursor.seek_to_first(),
            Direction::Backward => cursor.seek_to_last(),
        }
        while cursor.valid() {
            let there = cursor.key();
            visit(&there[..there.len() - TAG], cursor.value());
            match direction {
                Direction::Forward => cursor.next(),
                Direction::Backward => cursor.prev(),
            }
        }
    }
}
