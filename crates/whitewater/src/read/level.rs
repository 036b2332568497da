//! The tables of a version as sources of a look-up or an iterator.

use super::get::GetContext;
use super::table_cache::TableCache;
use crate::version::Version;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::InternalComparator;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::TableReadOptions;

/// Asks the tables of `version` about `user_key` at `seq`: level 0 newest
/// first, then one table per deeper level, until `ctx.done()`.
pub(crate) fn get(
    version: &Version,
    tables: &TableCache,
    comparator: &InternalComparator,
    user_key: &[u8],
    lookup: &[u8],
    options: TableReadOptions,
    ctx: &mut GetContext<'_>,
) -> Result<()> {
    let _ = (version, tables, comparator, user_key, lookup, options, ctx);
    todo!()
}

/// Adds an iterator for each level-0 table and one per deeper non-empty level,
/// and the range tombstones of all tables, clipped to their files' bounds.
pub(crate) fn add_iterators(
    version: &Arc<Version>,
    tables: &Arc<TableCache>,
    comparator: &InternalComparator,
    options: TableReadOptions,
    iterators: &mut Vec<BoxedIterator>,
    tombstones: &mut Vec<RangeTombstone>,
) -> Result<()> {
    let _ = (version, tables, comparator, options, iterators, tombstones);
    todo!()
}
