//! The standard library's B-tree behind a single lock.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use crate::structure::{Direction, Entry, Handle, Operation, Shape, Structure};

type Map = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// Writers exclude each other; readers share the lock, scans for their whole length.
pub(super) struct LockedBTree(RwLock<Map>);

pub(super) struct Way<'a>(&'a RwLock<Map>);

impl Structure for LockedBTree {
    const NAME: &'static str = "btree_rwlock";
    const ABOUT: &'static str = "std's BTreeMap under parking_lot's RwLock; keys and values boxed";
    type Handle<'a> = Way<'a>;

    fn new(_: &Shape) -> Self {
        LockedBTree(RwLock::default())
    }

    fn handle(&self) -> Way<'_> {
        Way(&self.0)
    }

    /// One compare-exchange to take the lock and one to release it, for readers and writers
    /// alike (`parking_lot::RawRwLock`, fast paths). The map has no atomics. A scan takes the
    /// lock once.
    fn documented_rmw(operation: Operation) -> Option<f64> {
        match operation {
            Operation::Insert | Operation::Get | Operation::Seek => Some(2.0),
            Operation::Scan(_) => Some(0.0),
        }
    }
}

impl Handle for Way<'_> {
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        let (key, value) = (entry.key.into(), entry.value.into());
        self.0.write().insert(key, value).is_none()
    }

    fn insert_batch(&mut self, entries: &[Entry<'_>]) -> usize {
        let mut map = self.0.write();
        let inserted = entries
            .iter()
            .filter(|e| map.insert(e.key.into(), e.value.into()).is_none());
        inserted.count()
    }

    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
        self.0.read().get(key).map(|value| visit(value)).is_some()
    }

    fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) {
        for (key, value) in self.0.read().range::<[u8], _>(super::from(key)) {
            if !visit(key, value) {
                return;
            }
        }
    }

    fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
        let map = self.0.read();
        match direction {
            Direction::Forward => map.iter().for_each(|(key, value)| visit(key, value)),
            Direction::Backward => map.iter().rev().for_each(|(key, value)| visit(key, value)),
        }
    }
}
