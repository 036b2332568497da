//! The row cache: what single tables hold of single keys, so that a look-up need not search the
//! table.
//!
//! A row is the entries of one user key in one table, from the newest that the look-up sees to the
//! first below which it does not look. Keys that a table does not hold have no row. The cache is a
//! [`BlockCache`], so a row is counted and evicted as a block is.
//!
//! Invariants:
//! * I1: a row is found only for the table, the user key and the entries seen that it was made of.
//!   The number of a cache of rows ([`RowCache::new`]) differs from all others in the same
//!   [`BlockCache`], a table's number is never used again, and its entries never change.
//! * I2: readers that see all of a table share rows, since they see the same. Others have rows for
//!   their own sequence number.
//! * I3: nothing is decided about a row's entries but by the look-up that meets them, whether they
//!   come from the table or from here. So a row does not depend on what newer sources hold.
//!
//! Tables with range tombstones have no rows, and look-ups that pass over undecided entries or end
//! where their caller says use none: what they look at depends on more than their number.

use super::TableFile;
use super::table_cache::OpenTable;
use crate::entry::get_context::GetContext;
use crate::stats::{Statistics, Ticker};
use bytes::Bytes;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use whitewater_storage::cache::{BlockCache, Priority};
use whitewater_storage::coding::{
    get_length_prefixed, get_varint64, put_length_prefixed, put_varint64,
};
use whitewater_storage::key::{append_internal_key, parse_internal_key, sequence, user_key};
use whitewater_storage::planted;
use whitewater_storage::sst::TableReadOptions;
use whitewater_storage::{Error, Result};

/// The rows of one open database in a cache that may be shared.
#[derive(Debug)]
pub(crate) struct RowCache {
    cache: BlockCache,
    /// The number of these rows in `cache`.
    id: u64,
}

/// What a row is made of.
struct Row<'a> {
    table: u64,
    /// One more than the sequence number read at, or 0 if that is above all of the table.
    seen: u64,
    user_key: &'a [u8],
}

impl<'a> Row<'a> {
    fn new(file: &TableFile, lookup: &'a [u8]) -> Self {
        let upto = sequence(lookup);
        let mut seen = match upto >= file.meta.largest_seqno {
            true => 0,
            false => upto + 1,
        };
        planted!(RowOfOtherSnapshot => seen = 0);
        Row {
            table: file.meta.number,
            seen,
            user_key: user_key(lookup),
        }
    }

    /// A number that takes the place of a block's offset.
    fn place(&self) -> u64 {
        let mut place = BuildHasherDefault::<DefaultHasher>::new().hash_one((
            self.table,
            self.seen,
            self.user_key,
        ));
        planted!(RowsCollide => place = 0);
        place
    }

    /// What its bytes in the cache begin with.
    fn header(&self) -> Vec<u8> {
        let mut header = Vec::with_capacity(self.user_key.len() + 16);
        put_varint64(&mut header, self.table);
        put_varint64(&mut header, self.seen);
        put_length_prefixed(&mut header, self.user_key);
        header
    }

    /// The entries in `bytes`, if these are of the same row. Others may have the same place.
    fn entries(&self, bytes: &Bytes) -> Option<Bytes> {
        let mut rest = &bytes[..];
        let mut is_this = get_varint64(&mut rest)? == self.table
            && get_varint64(&mut rest)? == self.seen
            && get_length_prefixed(&mut rest)? == self.user_key;
        planted!(RowsCollide => is_this = true);
        is_this.then(|| bytes.slice(bytes.len() - rest.len()..))
    }
}

impl RowCache {
    /// Where the rows are.
    pub fn cache(&self) -> &BlockCache {
        &self.cache
    }

    /// The rows of a database that is being opened, in `cache`.
    pub fn new(cache: &BlockCache) -> Self {
        RowCache {
            cache: cache.clone(),
            id: cache.new_id(),
        }
    }

    /// Passes what the table of `file` holds of the key of `lookup` to `ctx`: from the cache, or
    /// from the table, and then into the cache.
    ///
    /// # Errors
    /// Errors of reading the table and of `ctx`.
    pub fn get(
        &self,
        (file, open): (&TableFile, &OpenTable),
        lookup: &[u8],
        options: TableReadOptions,
        statistics: Option<&Statistics>,
        ctx: &mut GetContext<'_>,
    ) -> Result<()> {
        let tick = |ticker| {
            if let Some(statistics) = statistics {
                statistics.add(ticker, 1);
            }
        };
        let row = Row::new(file, lookup);
        let place = row.place();
        let cached = self.cache.get(self.id, place);
        if let Some(entries) = cached.and_then(|bytes| row.entries(&bytes)) {
            tick(Ticker::RowCacheHit);
            return replay(&entries, ctx);
        }
        tick(Ticker::RowCacheMiss);
        let upto = sequence(lookup);
        let mut bytes = row.header();
        let header = bytes.len();
        let mut ikey = Vec::new();
        open.table.get(lookup, options, &mut |key, value| {
            // With timestamps, newer entries may exist of an older version.
            if key.seq > upto {
                return Ok(true);
            }
            if options.fill_cache {
                ikey.clear();
                append_internal_key(&mut ikey, key.user_key, key.seq, key.ty as u8);
                put_length_prefixed(&mut bytes, &ikey);
                put_length_prefixed(&mut bytes, &value);
            }
            ctx.stored(key, &value)
        })?;
        if bytes.len() > header {
            // If there is no room, the look-up is none the worse for it.
            let _ = (self.cache).insert(self.id, place, bytes.into(), Priority::Low);
        }
        Ok(())
    }
}

/// Passes the entries of a row to `ctx`.
fn replay(entries: &Bytes, ctx: &mut GetContext<'_>) -> Result<()> {
    let damaged = || Error::corruption("damaged row in the row cache");
    let mut rest = &entries[..];
    while !rest.is_empty() {
        let key = get_length_prefixed(&mut rest).ok_or_else(damaged)?;
        let value = get_length_prefixed(&mut rest).ok_or_else(damaged)?;
        if !ctx.parsed(parse_internal_key(key)?, || entries.slice_ref(value))? {
            break;
        }
    }
    Ok(())
}
