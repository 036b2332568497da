//! Point lookups in a table.

use crate::error::Result;
use crate::key::{ParsedKey, TAG_SIZE, parse_internal_key, user_key};
use crate::perf::{self, PerfMetric};
use crate::sst::filter::FilterQuery;
use crate::sst::format::block::{Cursor, EntryLayout};
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::read_options::{BlockReadOptions, TableReadOptions};
use crate::sst::read::directory::DataBlock;
use crate::sst::read::filter_reader::FilterAnswer;
use crate::sst::read::index_cursor::{IndexCursor, NumberedBlock};
use crate::sst::read::pinned_value::PinnedValue;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::Table;
use bytes::Bytes;
use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Deref;
use whitewater_concurrent::scratch;

/// The largest key buffer that is kept between lookups, in bytes.
const MAX_KEPT_BUFFER: usize = 64 << 10;

thread_local! {
    /// Key buffers that this thread keeps, so that lookups need not allocate.
    static BUFFERS: Cell<[Vec<u8>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

/// Where in a table a look-up is going to read, found before it comes to the table
/// ([`Table::expect`]). The default is: not known yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExpectedBlock(Option<NumberedBlock>);

/// A value that a lookup has found, where it stands in its block. It derefs to its bytes.
pub struct TableValue<'a> {
    block: &'a DataBlock,
    cursor: &'a Cursor,
}

impl TableValue<'_> {
    /// The value, sharing the block's memory. It counts as a user of the block, for which all
    /// threads that share it write to the same cache line.
    pub fn share(&self) -> PinnedValue {
        let range = self.cursor.value_range();
        if range.is_empty() {
            return Bytes::new().into();
        }
        if let DataBlock::Found(found) = self.block
            && let Some(block) = found.placed()
        {
            return PinnedValue::in_block(block, range);
        }
        self.cursor.shared_value(self.block).into()
    }
}

impl Deref for TableValue<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.cursor.value(self.block)
    }
}

impl Table {
    /// Finds the block that a look-up of `lookup`, which is of the key of `query`, would read here,
    /// and prefetches what it reads before that: its line of the filter, and where readers find the
    /// block if it is cached. It reads no file.
    #[inline]
    pub fn expect(&self, query: &FilterQuery<'_>, lookup: &[u8]) -> ExpectedBlock {
        self.prefetch_filter(query);
        ExpectedBlock(NumberedBlock::find(self, lookup))
    }

    /// Prefetches the head of a block that is expected, if readers find it, and returns whether
    /// they do. Useful some time after [`expect`](Self::expect) and before the look-up.
    #[inline]
    pub fn expect_head(&self, expected: ExpectedBlock) -> bool {
        match (expected.0, self.directory()) {
            (Some(block), Some(directory)) => directory.expect_head(block.place()),
            _ => false,
        }
    }

    /// Prefetches the entries that a look-up of `lookup` will compare in a block that is expected,
    /// if readers find the block. Useful some time after [`expect_head`](Self::expect_head).
    #[inline]
    pub fn expect_entries(&self, expected: ExpectedBlock, lookup: &[u8]) {
        if let (Some(block), Some(directory)) = (expected.0, self.directory())
            && let Some(block) = directory.find(block.place(), false)
            && let Some((_, lines)) = self.sampled_before(block.key_samples(), user_key(lookup))
        {
            block.expect_entries(lines);
        }
    }

    /// Prefetches the block that a look-up of `lookup`, which is of the key of `query`, is going to
    /// read, unless it is cached or a filter of whole keys rules the key out.
    /// `expected` is what this table has [expected](Self::expect) of `lookup`, if it has been
    /// asked. Index and filter may be read for it, if they are cached then. A hint: what fails is
    /// left to the look-up.
    pub fn announce_read(
        &self,
        query: &FilterQuery<'_>,
        lookup: &[u8],
        expected: ExpectedBlock,
        options: TableReadOptions,
    ) {
        let read_options = BlockReadOptions::from(options);
        let caches = read_options.fill_cache && self.cache.is_some();
        if !self.takes_hints() || (expected.0.is_none() && !caches) {
            return;
        }
        let handle = match expected.0 {
            Some(block) => Some(block.handle()),
            None => self.handle_for(lookup, read_options),
        };
        if let Some(handle) = handle
            && (!self.filter.whole_keys || self.filter_may_match(query, lookup, read_options))
        {
            self.announce_block(handle, read_options);
        }
    }

    /// The first block that may hold `lookup`, if the index can be read.
    pub(crate) fn handle_for(
        &self,
        lookup: &[u8],
        read_options: BlockReadOptions,
    ) -> Option<BlockHandle> {
        let mut index = IndexCursor::new(self, read_options, Vec::new());
        index.seek(self, lookup).ok()?;
        index.valid().then(|| index.handle())
    }

    /// Finds the entries of the user key of `lookup`, an internal key, from `lookup` on, newest
    /// first. If keys have timestamps, that includes all timestamps of the key. Calls `visit` for
    /// each entry until it returns `false` or the entries end. Queries the filter first.
    ///
    /// # Errors
    /// Errors of reading a block, and of `visit`.
    pub fn get(
        &self,
        lookup: &[u8],
        options: TableReadOptions,
        visit: &mut dyn FnMut(ParsedKey<'_>, TableValue<'_>) -> Result<bool>,
    ) -> Result<()> {
        let key = self.comparator.user.without_timestamp(user_key(lookup));
        let expected = ExpectedBlock::default();
        self.get_asking(&FilterQuery::new(key), lookup, expected, options, visit)
    }

    /// The same as [`get`](Self::get); `query`, which asks for the user key of `lookup`, may have
    /// been used for other tables before. `expected` is what this table has
    /// [expected](Self::expect) of `lookup`, if it has been asked.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_asking(
        &self,
        query: &FilterQuery<'_>,
        lookup: &[u8],
        expected: ExpectedBlock,
        options: TableReadOptions,
        visit: &mut dyn FnMut(ParsedKey<'_>, TableValue<'_>) -> Result<bool>,
    ) -> Result<()> {
        let key = self.comparator.user.without_timestamp(user_key(lookup));
        debug_assert_eq!(query.key(), key, "the query is not for the key");
        let read_options = BlockReadOptions::from(options);
        let answer = self.query_filter(query, lookup, read_options);
        if answer == FilterAnswer::No {
            return Ok(());
        }
        let [index_buf, key_buf] = scratch::take(&BUFFERS);
        let mut index = IndexCursor::new(self, read_options, index_buf);
        let mut cursor = Cursor::with_buffer(EntryLayout::Values, TAG_SIZE, key_buf);
        let mut found = false;
        let visit = &mut |key: ParsedKey<'_>, value: TableValue<'_>| {
            found = true;
            visit(key, value)
        };
        let result = self.get_with(
            lookup,
            expected,
            read_options,
            &mut index,
            &mut cursor,
            visit,
        );
        if let FilterAnswer::Maybe(event) = answer
            && found
        {
            self.report(event);
        }
        let buffers = [index.take_buffer(), cursor.take_buffer()];
        if buffers.iter().all(|b| b.capacity() <= MAX_KEPT_BUFFER) {
            scratch::keep(&BUFFERS, buffers);
        }
        result
    }

    /// Looks at the blocks from the one that is expected on, if that is known.
    fn get_with(
        &self,
        lookup: &[u8],
        expected: ExpectedBlock,
        read_options: BlockReadOptions,
        index: &mut IndexCursor,
        cursor: &mut Cursor,
        visit: &mut dyn FnMut(ParsedKey<'_>, TableValue<'_>) -> Result<bool>,
    ) -> Result<()> {
        let user = user_key(lookup);
        match expected.0 {
            Some(block) => index.stand_on(block),
            None => index.seek(self, lookup)?,
        }
        while index.valid() {
            let handle = index.handle();
            let readahead = &mut ReadAhead::default();
            let block =
                self.look_at_data_block(index.place(self), handle, read_options, readahead)?;
            let timer = perf::timer(PerfMetric::BlockSeekNanos);
            let samples = block.key_samples();
            // A block with a hash table has no samples.
            if samples.is_none() && self.comparator.user.is_builtin() {
                match cursor.candidates(&block, user, |k| self.compare(k, lookup)) {
                    Some(candidates) => self.seek_between(cursor, &block, candidates, lookup),
                    None => cursor.clear(),
                }
            } else {
                self.seek_in(cursor, &block, samples, lookup);
            }
            timer.stop();
            while cursor.valid() {
                let key = cursor.key(&block);
                if self.comparator.user.compare_keys(user_key(key), user) != Ordering::Equal {
                    return Ok(());
                }
                let mut parsed = parse_internal_key(key).map_err(|e| self.file.blame(e, handle))?;
                parsed.seq = self.effective_seqno(parsed.seq);
                let value = TableValue {
                    block: &block,
                    cursor,
                };
                if !visit(parsed, value)? {
                    return Ok(());
                }
                cursor.next(&block);
            }
            cursor.status().map_err(|e| self.file.blame(e, handle))?;
            // The next block may begin with this user key only if the separator still has it.
            // Separators that are user keys never do, unless keys have timestamps.
            let separator = if !self.index_format.user_keys {
                user_key(index.key(self))
            } else if self.comparator.user.timestamp_size() > 0 {
                index.key(self)
            } else {
                return Ok(());
            };
            if self.comparator.user.compare_keys(separator, user) != Ordering::Equal {
                return Ok(());
            }
            index.next(self)?;
        }
        Ok(())
    }
}
