//! Hash tables of sorted lists. The caller computes a hash of some part of the key (its
//! *prefix*), which chooses the bucket of an entry; inside each bucket entries are
//! sorted.
//!
//! They are fast if all work stays inside one bucket; a walk over the whole table sorts a
//! snapshot ([`crate::sorted_snapshot`]). There are two kinds of bucket:
//! * [`HashSkipList`]: each bucket is an inline skip list;
//! * [`HashLinkList`]: each bucket is a linked list, which takes less memory while it is
//!   short, and is converted to a skip list when it is long.
//!
//! One arena holds the entries of all buckets. The table itself takes 8 (skip lists) or
//! 16 bytes (linked lists) for each bucket, which the reported sizes do not include.
//!
//! `slots` makes buckets when they are first needed; `skip` and `link` are the two kinds,
//! `link_iter` the cursors over the second.
//!
//! # Thread safety
//! Everything except `seal` may be called from any thread at any time. Readers never
//! wait. Inserters into skip lists do not wait for each other; into a linked list one
//! thread inserts at a time.

mod link;
mod link_iter;
mod skip;
mod slots;

pub use link::{HashLinkList, LinkListOptions};
pub use link_iter::LinkIter;
pub use skip::{BucketIter, HashSkipList, SkipListOptions};

use crate::skiplist::height::random_height_of;
use crate::skiplist::node;

/// The most levels that a bucket's skip list can have.
pub const MAX_HEIGHT: usize = node::MAX_HEIGHT;

/// The bucket of `hash` among `count`, chosen by the high bits of the hash.
#[inline]
fn bucket_of(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// The heights of nodes in a bucket's skip list.
#[derive(Debug, Clone, Copy)]
struct Towers {
    max: usize,
    branching: u32,
}

impl Towers {
    /// The levels of a new node. In models always all levels, since models must not
    /// depend on chance.
    fn height(self) -> usize {
        if crate::sync::MODELLED {
            self.max
        } else {
            random_height_of(self.max, self.branching)
        }
    }
}
