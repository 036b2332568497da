//! A hash table of skip lists as a memtable. Serves every order; needs a
//! prefix extractor.

use super::hash::{BucketCursor, Buckets, HashRep, impl_buckets};
use super::order::UserOrder;
use super::rep::{Entry, MemtableRep};
use crate::options::prefix::PrefixExtractor;
use std::sync::Arc;
use whitewater_concurrent::hash_buckets::{BucketIter, HashSkipList, SkipListOptions};
use whitewater_concurrent::sorted_snapshot::{self, SortedIter};
use whitewater_storage::key::UserComparator;

/// An empty table.
pub(super) fn new(
    comparator: UserComparator,
    extractor: PrefixExtractor,
    options: SkipListOptions,
) -> Arc<dyn MemtableRep> {
    let order = UserOrder(comparator.clone());
    Arc::new(HashRep {
        table: Arc::new(HashSkipList::new(order, options)),
        order: UserOrder(comparator),
        extractor,
    })
}

impl_buckets!(HashSkipList, BucketIter);
