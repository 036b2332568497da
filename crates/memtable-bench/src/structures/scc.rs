//! `scc::TreeIndex`: a B+ tree with lock-free readers.

use scc::{Guard, TreeIndex};

use crate::structure::{Direction, Entry, Handle, Shape, Structure};

type Bytes = Box<[u8]>;

/// The tree, with keys and values in boxes of their own.
pub(super) struct SccTreeIndex(TreeIndex<Bytes, Bytes>);

pub(super) struct Way<'a>(&'a TreeIndex<Bytes, Bytes>);

impl Structure for SccTreeIndex {
    const NAME: &'static str = "scc";
    const ABOUT: &'static str = "scc's TreeIndex, a B+ tree; keys and values boxed";
    type Handle<'a> = Way<'a>;

    fn new(_: &Shape) -> Self {
        SccTreeIndex(TreeIndex::new())
    }

    fn handle(&self) -> Way<'_> {
        Way(&self.0)
    }
}

impl Handle for Way<'_> {
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        self.0
            .insert_sync(entry.key.into(), entry.value.into())
            .is_ok()
    }

    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
        self.0.peek_with(key, |_, value| visit(value)).is_some()
    }

    fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) {
        let guard = Guard::new();
        for (key, value) in self.0.range::<[u8], _>(super::from(key), &guard) {
            if !visit(key, value) {
                return;
            }
        }
    }

    fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
        let guard = Guard::new();
        let all = self.0.iter(&guard);
        match direction {
            Direction::Forward => all.for_each(|(key, value)| visit(key, value)),
            Direction::Backward => all.rev().for_each(|(key, value)| visit(key, value)),
        }
    }
}
