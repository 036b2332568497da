//! Walking a table: index, then data blocks.
//!
//! Invariants:
//! * I1: while the cursor is valid, `block` is the data block under `index`
//!   and `cursor` stands on one of its entries.
//! * I2: after a failure the cursor is not valid until it is positioned again.

use crate::error::{Error, Result};
use crate::internal_iterator::{BoxedIterator, InternalIterator, Moved};
use crate::key::{TAG_SIZE, tag, user_key};
use crate::perf::{self, PerfMetric};
use crate::planted;
use crate::sst::format::block::{Cursor, EntryLayout};
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::options::read_options::{BlockReadOptions, TableReadOptions};
use crate::sst::read::block_run::{AHEAD, BlockRun};
use crate::sst::read::directory::{BlockPlace, Directory, KeptBlock};
use crate::sst::read::index_cursor::{IndexCursor, NumberedBlock};
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::Table;
use std::cmp::Ordering;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;

impl Table {
    /// A cursor over the points of the table.
    pub fn iter(self: &Arc<Self>, options: TableReadOptions) -> BoxedIterator {
        Box::new(TableIter::new(
            Arc::clone(self),
            options.into(),
            options.readahead,
        ))
    }
}

/// The place of the block behind this one.
fn behind(place: BlockPlace, handle: BlockHandle) -> BlockPlace {
    let size = handle.size.saturating_add(TRAILER_LEN as u64);
    BlockPlace {
        offset: handle.offset.saturating_add(size),
        number: place.number.and_then(|number| number.checked_add(1)),
    }
}

/// How a cursor holds its table.
pub(crate) trait Hold: Deref<Target = Table> {
    /// Holds `table` in the same way, if that is by a share.
    fn share_of(table: &Arc<Table>) -> Option<Self>
    where
        Self: Sized;
}

impl Hold for Arc<Table> {
    fn share_of(table: &Arc<Table>) -> Option<Self> {
        Some(Arc::clone(table))
    }
}

impl Hold for &Table {
    fn share_of(_: &Arc<Table>) -> Option<Self> {
        None
    }
}

/// How far an announced seek was followed.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// Nothing is known.
    Nothing,
    /// To the data block that it goes to.
    Block(NumberedBlock),
    /// To the head of this block, which was prefetched.
    Head(NumberedBlock),
    /// To the entries of this block, as far as they are expected.
    Entries(NumberedBlock),
}

/// A cursor over the points of a table that it owns a share of or borrows.
pub(crate) struct TableIter<T> {
    table: T,
    index: IndexCursor,
    /// What the seek that is announced is known to read.
    expected: Expected,
    /// The data block read last, and where it stands.
    block: Option<(BlockHandle, KeptBlock)>,
    /// Whether that block was in the cache.
    was_cached: bool,
    cursor: Cursor,
    read_options: BlockReadOptions,
    readahead: ReadAhead,
    /// Whether the caller looks at nothing outside the prefix of the key it seeks.
    keeps_to_prefix: bool,
    /// The current key with its sequence number resolved; only for ingested
    /// files.
    resolved: Vec<u8>,
    failure: Option<Error>,
}

impl<T: Hold> TableIter<T> {
    pub(crate) fn new(table: T, read_options: BlockReadOptions, readahead: usize) -> Self {
        TableIter {
            index: IndexCursor::new(&table, read_options, Vec::new()),
            readahead: ReadAhead::new(readahead, table.auto_readahead)
                .in_background(read_options.in_background),
            table,
            expected: Expected::Nothing,
            block: None,
            was_cached: false,
            cursor: Cursor::new(EntryLayout::Values, TAG_SIZE),
            read_options,
            keeps_to_prefix: false,
            resolved: Vec::new(),
            failure: None,
        }
    }

    /// The block under the cursor, for messages; only while valid.
    pub(crate) fn block_handle(&self) -> BlockHandle {
        self.index.handle()
    }

    /// The separator of the block under the cursor; only while valid.
    pub(crate) fn separator(&self) -> &[u8] {
        self.index.key(&self.table)
    }

    /// Runs a movement and records its failure.
    #[inline]
    fn run(&mut self, movement: impl FnOnce(&mut Self) -> Result<()>) {
        if let Err(e) = movement(self) {
            self.cursor.clear();
            self.failure = Some(e);
        } else if self.table.global_seqno().is_some() {
            self.resolve();
        }
    }

    fn resolve(&mut self) {
        if let Some((_, block)) = &self.block
            && self.cursor.valid()
        {
            let key = self.cursor.key(block);
            self.resolved.clear();
            self.resolved.extend_from_slice(user_key(key));
            let tag = self.table.effective_tag(tag(key));
            self.resolved.extend_from_slice(&tag.to_le_bytes());
        }
    }

    /// Where blocks that come next may be found, if the cache is read.
    #[inline]
    fn directory(&self) -> Option<&Directory> {
        (self.read_options.use_cache)
            .then(|| self.table.directory())
            .flatten()
    }

    /// Has the block at `handle`, to which the iterator goes next, read in the background, unless
    /// it is at hand. Without a page cache, what is read ahead with it would have it read twice.
    fn announce(&self, handle: BlockHandle) {
        let is_current = self.block.as_ref().is_some_and(|(h, _)| *h == handle);
        let is_here = is_current || self.readahead.get(handle).is_some();
        if !is_here && (self.table.has_page_cache() || !self.readahead.exceeds(handle)) {
            self.table.announce_block(handle, self.read_options);
        }
    }

    /// Prefetches the head of `block`, or has the block read in the background.
    fn expect_head(&self, block: NumberedBlock) {
        let directory = self.directory();
        let is_found = directory.is_some_and(|directory| directory.expect_head(block.place()));
        if self.read_options.in_background && !is_found {
            self.announce(block.handle());
        }
    }

    /// Prefetches the entries of `block` that a search for `target` looks at.
    fn expect_entries(&self, block: NumberedBlock, target: &[u8]) {
        let directory = self.directory();
        if let Some(found) = directory.and_then(|directory| directory.find(block.place(), false))
            && let Some((_, lines)) =
                (self.table).sampled_before(found.key_samples(), user_key(target))
        {
            found.expect_entries(lines);
        }
    }

    /// Loads the block under the index; `false` if there is none. With `onward`, the walk may go
    /// forward from there.
    fn load(&mut self, onward: bool) -> Result<bool> {
        self.cursor.clear();
        if !self.index.valid() {
            return Ok(false);
        }
        let handle = self.index.handle();
        if self.block.as_ref().is_some_and(|(h, _)| *h == handle) {
            return Ok(true);
        }
        self.block = None;
        self.readahead.note(handle);
        let place = self.index.place(&self.table);
        let block =
            self.table
                .look_at_data_block(place, handle, self.read_options, &mut self.readahead)?;
        self.was_cached = block.was_cached();
        self.block = Some((handle, block.keep()));
        if onward && let Some(directory) = self.directory() {
            directory.expect_head(behind(place, handle));
        }
        Ok(true)
    }

    /// Moves within the loaded block. Returns whether the cursor stands on an entry.
    #[inline]
    fn within(&mut self, movement: impl FnOnce(&mut Cursor, &KeptBlock, &Table)) -> Result<bool> {
        let Some((handle, block)) = &self.block else {
            return Ok(false);
        };
        movement(&mut self.cursor, block, &self.table);
        if self.cursor.valid() {
            return Ok(true);
        }
        self.cursor
            .status()
            .map_err(|e| self.table.file().blame(e, *handle))?;
        Ok(false)
    }

    /// Whether the filter rules out that a seek to `target` finds anything. If so, the cursor is
    /// not valid afterwards.
    fn is_ruled_out(&mut self, target: &[u8], backward: bool) -> bool {
        let out = self.keeps_to_prefix
            && !(self.table).may_hold_prefix_of(target, backward, self.read_options);
        if out {
            self.failure = None;
            self.cursor.clear();
        }
        out
    }

    fn seek_unasked(&mut self, target: &[u8]) {
        self.failure = None;
        self.run(|it| {
            match mem::replace(&mut it.expected, Expected::Nothing) {
                Expected::Block(block) | Expected::Head(block) | Expected::Entries(block) => {
                    debug_assert_eq!(Some(block), NumberedBlock::find(&it.table, target));
                    it.index.stand_on(block);
                }
                Expected::Nothing => it.index.seek(&it.table, target)?,
            }
            let seek = |c: &mut Cursor, b: &KeptBlock, t: &Table| {
                let _timer = perf::timer(PerfMetric::BlockSeekNanos);
                t.seek_in(c, b, b.key_samples(), target);
            };
            if it.load(true)? && !it.within(seek)? {
                it.forward()?;
            }
            Ok(())
        });
    }

    /// Moves on from the last entry of a block, or fails if the cursor did.
    #[inline(never)]
    fn leave_block(&mut self) {
        self.run(|it| {
            it.within(|_, _, _| ())?;
            it.forward()
        });
    }

    /// Moves on to the first entry of the following blocks.
    fn forward(&mut self) -> Result<()> {
        loop {
            self.index.next(&self.table)?;
            if !self.load(true)? || self.within(|c, b, _| c.seek_to_first(b))? {
                return Ok(());
            }
        }
    }

    /// Moves back to the last entry of the preceding blocks.
    fn backward(&mut self) -> Result<()> {
        loop {
            self.index.prev(&self.table)?;
            if !self.load(false)? || self.within(|c, b, _| c.seek_to_last(b))? {
                return Ok(());
            }
        }
    }
}

impl<T: Hold + Send + Sync> InternalIterator for TableIter<T> {
    #[inline]
    fn valid(&self) -> bool {
        self.cursor.valid()
    }

    fn seek_to_first(&mut self) {
        self.failure = None;
        self.run(|it| {
            it.index.seek_to_first(&it.table)?;
            if it.load(true)? && !it.within(|c, b, _| c.seek_to_first(b))? {
                it.forward()?;
            }
            Ok(())
        });
    }

    fn seek_to_last(&mut self) {
        self.failure = None;
        self.run(|it| {
            it.index.seek_to_last(&it.table)?;
            if it.load(false)? && !it.within(|c, b, _| c.seek_to_last(b))? {
                it.backward()?;
            }
            Ok(())
        });
    }

    fn seek(&mut self, target: &[u8]) {
        if self.is_ruled_out(target, false) {
            return;
        }
        self.seek_unasked(target);
        if let Some((_, block)) = &self.block
            && self.cursor.valid()
        {
            let behind = self.cursor.end();
            block.expect_entries(behind..behind + AHEAD);
        }
    }

    fn expect_seek(&mut self, target: &[u8]) {
        self.cursor.clear();
        self.expected = Expected::Nothing;
        if self.keeps_to_prefix {
            return;
        }
        if let Some(block) = NumberedBlock::find(&self.table, target) {
            self.expected = Expected::Block(block);
            return;
        }
        // Without numbers, the index may have to be read.
        if self.read_options.in_background
            && self.table.takes_hints()
            && let Some(handle) = self.table.handle_for(target, self.read_options)
        {
            self.announce(handle);
        }
    }

    fn expect_further(&mut self, target: &[u8]) {
        match self.expected {
            Expected::Block(block) => {
                self.expect_head(block);
                self.expected = Expected::Head(block);
            }
            Expected::Head(block) => {
                self.expect_entries(block, target);
                self.expected = Expected::Entries(block);
            }
            Expected::Nothing | Expected::Entries(_) => {}
        }
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        if self.is_ruled_out(target, true) {
            return;
        }
        self.seek_unasked(target);
        if self.failure.is_some() {
            return;
        }
        if !self.valid() {
            self.seek_to_last();
        } else if self.table.comparator.compare(self.key(), target) == Ordering::Greater {
            self.prev();
        }
    }

    #[inline]
    fn next(&mut self) {
        self.advance();
    }

    #[inline]
    fn advance(&mut self) -> Moved {
        // It does not stand on an entry if it has lent the block, and that is damaged.
        if let Some((_, block)) = &self.block
            && self.cursor.valid()
        {
            self.cursor.next(block);
        }
        if !self.cursor.valid() {
            self.leave_block();
        } else if self.table.global_seqno().is_some() {
            self.resolve();
        }
        Moved::to_entry(self.cursor.valid())
    }

    #[inline]
    fn prev(&mut self) {
        self.run(|it| {
            if it.within(|c, b, _| c.prev(b))? {
                return Ok(());
            }
            it.backward()
        });
    }

    #[inline]
    fn key(&self) -> &[u8] {
        if self.table.global_seqno().is_some() {
            return &self.resolved;
        }
        match &self.block {
            Some((_, block)) => self.cursor.key(block),
            None => &[],
        }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match &self.block {
            Some((_, block)) => self.cursor.value(block),
            None => &[],
        }
    }

    fn keep_to_prefix(&mut self, on: bool) {
        self.keeps_to_prefix = on;
    }

    fn lend(&mut self) -> Option<BlockRun> {
        if !self.cursor.valid() || self.table.global_seqno().is_some() {
            return None;
        }
        let (handle, block) = self.block.take()?;
        if let Some(directory) = self.directory() {
            let place = self.index.place(&self.table);
            directory.expect_entries(behind(place, handle));
        }
        let nowhere = Cursor::new(EntryLayout::Values, TAG_SIZE);
        Some(BlockRun {
            handle,
            block,
            cursor: mem::replace(&mut self.cursor, nowhere),
            bytewise: self.table.comparator.user.is_bytewise(),
        })
    }

    fn block_ends_before(&self, limit: &[u8]) -> bool {
        planted!(BlockLentPastLimit => return true);
        let order = self.index.order(&self.table, limit);
        planted!(BlockLentUptoLimit => return order.is_le());
        order.is_lt()
    }

    fn take_back(&mut self, run: BlockRun) {
        self.block = Some((run.handle, run.block));
        self.cursor = run.cursor;
    }

    fn is_cached(&self) -> bool {
        self.was_cached
    }

    fn release(&mut self) -> bool {
        self.cursor.clear();
        self.block = None;
        self.index.release();
        self.expected = Expected::Nothing;
        self.readahead.reset();
        self.failure = None;
        self.keeps_to_prefix = false;
        true
    }

    fn reopen(&mut self, table: &Arc<Table>) -> bool {
        let Some(table) = T::share_of(table) else {
            return false;
        };
        self.release();
        let buffer = self.index.take_buffer();
        self.index = IndexCursor::new(&table, self.read_options, buffer);
        self.table = table;
        true
    }

    fn status(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}
