//! Hash tables of sorted lists: entries in buckets by a hash that the caller
//! makes of some part of the key (its *prefix*), sorted inside each bucket.
//!
//! Fast where all work stays inside one bucket; a walk over everything sorts
//! a snapshot ([`crate::sorted_snapshot`]). Two kinds of bucket:
//! * [`HashSkipList`]: an inline skip list each;
//! * [`HashLinkList`]: a linked list each, which takes less memory while it is
//!   short and turns into a skip list when it is not.
//!
//! One arena holds the entries of all buckets. The table itself has 8
//! (skip lists) or 16 bytes (linked lists) per bucket, which the sizes told do
//! not include.
//!
//! # Thread safety
//! Everything may be called from any thread at any time but `seal`. Readers
//! never wait. Inserters into skip lists do not wait for each other; into a
//! linked list one inserts at a time.

mod link;
mod link_iter;
mod skip;
mod slots;

pub use link::{HashLinkList, LinkListOptions};
pub use link_iter::LinkIter;
pub use skip::{BucketIter, HashSkipList, SkipListOptions};

use crate::skiplist::height::random_height_of;
use crate::skiplist::node;

/// The most levels a bucket's skip list can have.
pub const MAX_HEIGHT: usize = node::MAX_HEIGHT;

/// The bucket of `hash` among `count`, by the high bits of the hash.
#[inline]
fn bucket_of(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// How high the nodes of a bucket's skip list grow.
#[derive(Debug, Clone, Copy)]
struct Towers {
    max: usize,
    branching: u32,
}

impl Towers {
    /// Levels of a new node. In models always all, as these must not depend
    /// on chance.
    fn height(self) -> usize {
        if crate::sync::MODELLED {
            self.max
        } else {
            random_height_of(self.max, self.branching)
        }
    }
}
