//! `crossbeam-skiplist`: a lock-free skip list whose nodes are freed by epochs
//! and counted references.

use crossbeam_skiplist::SkipMap;

use crate::structure::{Direction, Entry, Handle, Operation, Shape, Structure};

/// Keys and values in boxes of their own, as bytes of any length must be.
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

    /// As `base.rs` of release 0.1.3 has them. A read counts a reference to the
    /// entry up and down. An insert counts the entry, links it at level 0 and
    /// gives its reference back (3), and for each further level (one on
    /// average) sets the node's link, counts a reference and links it (3).
    /// Pinning the epoch writes to the thread's own line only.
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
        // Its answer does not tell an entry that was replaced.
        self.0.insert(entry.key.into(), entry.value.into());
        true
    }

    map_reads!();
}
