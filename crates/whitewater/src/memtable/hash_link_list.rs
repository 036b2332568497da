//! A hash table of linked lists as a memtable. Serves every order; needs a
//! prefix extractor.

use super::hash::{BucketCursor, Buckets, HashRep, impl_buckets};
use super::order::UserOrder;
use super::rep::{Entry, MemtableRep};
use crate::options::prefix::PrefixExtractor;
use std::sync::Arc;
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::hash_buckets::{HashLinkList, LinkIter, LinkListOptions};
use whitewater_concurrent::sorted_snapshot::{self, SortedIter};
use whitewater_storage::key::UserComparator;

/// Entries beyond which a bucket becomes a skip list: RocksDB's default.
const THRESHOLD: u32 = 256;

/// An empty table.
pub(super) fn new(
    comparator: UserComparator,
    extractor: PrefixExtractor,
    buckets: usize,
    arena: ArenaOptions,
) -> Arc<dyn MemtableRep> {
    let options = LinkListOptions {
        buckets,
        threshold: THRESHOLD,
        arena,
    };
    let order = UserOrder(comparator.clone());
    Arc::new(HashRep {
        table: Arc::new(HashLinkList::new(order, options)),
        order: UserOrder(comparator),
        extractor,
    })
}

impl_buckets!(HashLinkList, LinkIter);
