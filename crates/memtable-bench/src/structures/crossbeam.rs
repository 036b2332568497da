//! `crossbeam-skiplist`: a lock-free skip list whose nodes are freed with epochs and
//! reference counts.

use crossbeam_skiplist::SkipMap;

use crate::structure::{Direction, Entry, Handle, Operation, Shape, Structure};

/// The list. Keys and values are in boxes of their own, because they are bytes of any
/// length.
pub(super) struct CrossbeamSkipMap(SkipMap<Box<[u8]>, Box<[u8]>>);

pub(super) struct Way<'a>(&'a SkipMap<Box<[u8]>, Box<[u8]>>);

impl Structure for CrossbeamSkipMap {
    const NAME: &'static str = "crossbeam";
    const ABOUT: &'static str = "crossbeam-skiplist's SkipMap, keys and values boxed";
    type Handle<'a> = Way<'a>;

    fn new(_: &Shape) -> Self {
        CrossbeamSkipMap(SkipMap::new())
    }

    fn handle(&self) -> Way<'_> {
        Way(&self.0)
    }

    /// The operations in `base.rs` of release 0.1.3. A read increments and decrements the
    /// reference count of the entry. An insert increments the count of entries, links the
    /// entry at level 0 and drops its reference (3). For each further level, of which there
    /// is one on average, it sets the node's link, increments the reference count, and links
    /// the node (3). Pinning the epoch writes only to the thread's own line.
    fn documented_rmw(operation: Operation) -> Option<f64> {
        match operation {
            Operation::Insert => Some(6.0),
            Operation::Get => Some(2.0),
            Operation::Seek | Operation::Scan(_) => None,
        }
    }
}

impl Handle for Way<'_> {
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        // The answer does not show whether an entry was replaced.
        self.0.insert(entry.key.into(), entry.value.into());
        true
    }

    map_reads!();
}
