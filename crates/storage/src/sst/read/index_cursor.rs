//! Walking the index of a table, partitioned or not.

use crate::error::Result;
use crate::key::user_key;
use crate::sst::format::block::{Block, Cursor};
use crate::sst::format::handle::BlockHandle;
use crate::sst::options::read_options::BlockReadOptions;
use crate::sst::read::directory::BlockPlace;
use crate::sst::read::index_prefix_array::IndexPrefixArray;
use crate::sst::read::readahead::ReadAhead;
use crate::sst::read::table::Table;
use std::cmp::Ordering;
use std::ops::Range;

/// A position among the data blocks of a table.
///
/// Does not hold the table; every call is handed the same one.
#[derive(Debug)]
pub(crate) struct IndexCursor {
    top: Cursor,
    /// The restart point and the data block where the cursor stands, if it has come there by the
    /// table's prefix array alone. `top` is elsewhere then.
    by_prefix: Option<NumberedBlock>,
    /// The block under `top`, once it was needed, if the table does not hold it.
    top_block: Option<Block>,
    /// The partition under `top` and the position in it.
    part: Option<(Block, Cursor)>,
    partitioned: bool,
    read_options: BlockReadOptions,
}

impl IndexCursor {
    pub(crate) fn new(table: &Table, read_options: BlockReadOptions, buf: Vec<u8>) -> Self {
        let format = table.index_format();
        IndexCursor {
            top: format.cursor(buf),
            by_prefix: None,
            top_block: None,
            part: None,
            partitioned: format.partitioned,
            read_options,
        }
    }

    /// Takes the key buffer, for another cursor to use. Only if this one moves no more.
    pub(crate) fn take_buffer(&mut self) -> Vec<u8> {
        self.top.take_buffer()
    }

    /// Lets go of all blocks. Only seeks may follow.
    pub(crate) fn release(&mut self) {
        self.by_prefix = None;
        self.top_block = None;
        self.part = None;
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        if self.partitioned {
            self.part.as_ref().is_some_and(|(_, c)| c.valid())
        } else {
            self.by_prefix.is_some() || self.top.valid()
        }
    }

    /// The data block; only while valid.
    #[inline]
    pub(crate) fn handle(&self) -> BlockHandle {
        match (&self.part, self.by_prefix) {
            (Some((_, c)), _) => c.handle(),
            (None, Some(block)) => block.handle,
            (None, None) => self.top.handle(),
        }
    }

    /// The data block's place; only while valid.
    #[inline]
    pub(crate) fn place(&self, table: &Table) -> BlockPlace {
        match self.by_prefix {
            Some(block) => block.place(),
            None => table.place_of(self.handle().offset),
        }
    }

    /// The separator: no key of the block is greater; only while valid.
    #[inline]
    pub(crate) fn key<'a>(&'a self, table: &'a Table) -> &'a [u8] {
        let top = top_block(&self.top_block, table);
        match (&self.part, self.by_prefix) {
            (Some((block, c)), _) => c.key(block),
            // Only blocks whose keys could all be read have a prefix array.
            (None, Some(block)) => {
                let layout = table.index_format().layout;
                top.restart_key(block.number, layout).unwrap_or_default()
            }
            (None, None) => self.top.key(top),
        }
    }

    /// Orders the separator against the internal key `target`; only while valid.
    #[inline]
    pub(crate) fn order(&self, table: &Table, target: &[u8]) -> Ordering {
        self.by_prefix
            .and_then(|block| {
                let array = table.index_prefix_array()?;
                array.order(block.number, user_key(target))
            })
            .unwrap_or_else(|| table.compare_index(self.key(table), target))
    }

    /// Reads the top block, unless the table holds it.
    #[inline]
    fn load_top(&mut self, table: &Table) -> Result<()> {
        if table.index_is_cached() && self.top_block.is_none() {
            let readahead = &mut ReadAhead::default();
            self.top_block =
                Some(table.read_index_block(table.index_handle(), self.read_options, readahead)?);
        }
        Ok(())
    }

    pub(crate) fn seek_to_first(&mut self, table: &Table) -> Result<()> {
        self.load_top(table)?;
        if self.go_to_block(table, |_| 0) {
            return Ok(());
        }
        self.top.seek_to_first(top_block(&self.top_block, table));
        self.enter_partition(table, |c, b| c.seek_to_first(b))?;
        self.skip_forward(table)
    }

    pub(crate) fn seek_to_last(&mut self, table: &Table) -> Result<()> {
        self.load_top(table)?;
        if self.go_to_block(table, |blocks| blocks - 1) {
            return Ok(());
        }
        self.top.seek_to_last(top_block(&self.top_block, table));
        self.enter_partition(table, |c, b| c.seek_to_last(b))?;
        self.skip_backward(table)
    }

    /// Moves to a block that was [found](NumberedBlock::find) without the cursor.
    #[inline]
    pub(crate) fn stand_on(&mut self, block: NumberedBlock) {
        self.by_prefix = Some(block);
    }

    /// Moves to the first block that may hold the internal key `target`.
    #[inline]
    pub(crate) fn seek(&mut self, table: &Table, target: &[u8]) -> Result<()> {
        self.by_prefix = NumberedBlock::find(table, target);
        if self.by_prefix.is_some() {
            return Ok(());
        }
        self.load_top(table)?;
        let index = top_block(&self.top_block, table);
        let compare = |k: &[u8]| table.compare_index(k, target);
        match table.index_prefix_array() {
            Some(array) => {
                let candidates = array.candidates(index, user_key(target), |_| ());
                self.top.seek_between(index, candidates, compare);
            }
            None => self.top.seek(index, compare),
        }
        if !self.partitioned {
            return self.check(table);
        }
        self.enter_partition(table, |c, b| c.seek(b, |k| table.compare_index(k, target)))?;
        self.skip_forward(table)
    }

    #[inline]
    pub(crate) fn next(&mut self, table: &Table) -> Result<()> {
        if self.step_by_prefix(table, |at| at.checked_add(1)) {
            return Ok(());
        }
        match &mut self.part {
            None => {
                self.top.next(top_block(&self.top_block, table));
                self.check(table)
            }
            Some((block, c)) => {
                c.next(block);
                self.skip_forward(table)
            }
        }
    }

    pub(crate) fn prev(&mut self, table: &Table) -> Result<()> {
        if self.step_by_prefix(table, |at| at.checked_sub(1)) {
            return Ok(());
        }
        match &mut self.part {
            None => {
                self.top.prev(top_block(&self.top_block, table));
                self.check(table)
            }
            Some((block, c)) => {
                c.prev(block);
                self.skip_backward(table)
            }
        }
    }

    /// Moves to the data block whose number `choose` tells from how many there are, if the table
    /// numbers them. Returns whether it does.
    fn go_to_block(&mut self, table: &Table, choose: impl FnOnce(usize) -> usize) -> bool {
        let array = table.index_prefix_array();
        self.by_prefix =
            array.and_then(|array| NumberedBlock::at(array, choose(array.num_blocks()?)));
        self.by_prefix.is_some()
    }

    /// Moves by a `step` among the restart points, if the cursor has come here by the prefix array.
    /// Returns whether it has. Past the array's ends the cursor is not valid.
    #[inline]
    fn step_by_prefix(&mut self, table: &Table, step: impl FnOnce(usize) -> Option<usize>) -> bool {
        let Some(block) = self.by_prefix.take() else {
            return false;
        };
        let array = table.index_prefix_array();
        self.by_prefix = step(block.number).and_then(|to| NumberedBlock::at(array?, to));
        if self.by_prefix.is_none() {
            self.top.clear();
        }
        true
    }

    /// The failure of the top block, if any.
    #[inline]
    fn check(&self, table: &Table) -> Result<()> {
        if self.top.failure().is_none() {
            return Ok(());
        }
        let handle = table.index_handle();
        self.top.status().map_err(|e| table.file().blame(e, handle))
    }

    /// Loads the partition that `top` stands on and positions in it.
    fn enter_partition(
        &mut self,
        table: &Table,
        position: impl FnOnce(&mut Cursor, &Block),
    ) -> Result<()> {
        self.check(table)?;
        if !self.partitioned {
            return Ok(());
        }
        if !self.top.valid() {
            self.part = None;
            return Ok(());
        }
        let handle = self.top.handle();
        let block = table.read_index_block(handle, self.read_options, &mut ReadAhead::default())?;
        let mut cursor = match self.part.take() {
            Some((_, c)) => c,
            None => table.index_format().cursor(Vec::new()),
        };
        position(&mut cursor, &block);
        cursor.status().map_err(|e| table.file().blame(e, handle))?;
        self.part = Some((block, cursor));
        Ok(())
    }

    /// Leaves partitions whose end was reached.
    fn skip_forward(&mut self, table: &Table) -> Result<()> {
        while self.at_end_of_partition(table)? {
            self.top.next(top_block(&self.top_block, table));
            self.enter_partition(table, |c, b| c.seek_to_first(b))?;
        }
        Ok(())
    }

    fn skip_backward(&mut self, table: &Table) -> Result<()> {
        while self.at_end_of_partition(table)? {
            self.top.prev(top_block(&self.top_block, table));
            self.enter_partition(table, |c, b| c.seek_to_last(b))?;
        }
        Ok(())
    }

    fn at_end_of_partition(&self, table: &Table) -> Result<bool> {
        let Some((_, c)) = &self.part else {
            return Ok(false);
        };
        c.status()
            .map_err(|e| table.file().blame(e, self.top.handle()))?;
        Ok(!c.valid())
    }
}

/// The block under the top cursor of an index: the cursor's own, or else the table's.
#[inline]
fn top_block<'a>(own: &'a Option<Block>, table: &'a Table) -> &'a Block {
    own.as_ref().unwrap_or(table.index())
}

/// A data block that the table's prefix array has, at a restart point of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberedBlock {
    number: usize,
    handle: BlockHandle,
}

impl NumberedBlock {
    /// The first block that may hold the internal key `target`. `None` if there is none, or if the
    /// table's blocks have no numbers. The slots of blocks with numbers near it are prefetched.
    #[inline]
    pub(crate) fn find(table: &Table, target: &[u8]) -> Option<Self> {
        let array = table.index_prefix_array()?;
        array.num_blocks()?;
        // A table whose index is in the cache only has no array.
        let index = table.index();
        let candidates = array.candidates(index, user_key(target), |blocks| {
            if let Some(directory) = table.directory() {
                directory.expect_slots(blocks);
            }
        });
        let first = match candidates.is_empty() {
            true => candidates.start,
            false => first_not_less(table, candidates, target),
        };
        Self::at(array, first)
    }

    pub(crate) fn handle(self) -> BlockHandle {
        self.handle
    }

    /// Where the block is found.
    #[inline]
    pub(crate) fn place(self) -> BlockPlace {
        BlockPlace {
            offset: self.handle.offset,
            number: self.number.try_into().ok(),
        }
    }

    #[inline]
    fn at(array: &IndexPrefixArray, number: usize) -> Option<Self> {
        let handle = array.handle(number)?;
        Some(NumberedBlock { number, handle })
    }
}

/// The first of the restart points `candidates` of the index whose separator is not less than the
/// internal key `target`; the end of them if there is none.
#[inline(never)]
fn first_not_less(table: &Table, candidates: Range<usize>, target: &[u8]) -> usize {
    let layout = table.index_format().layout;
    let (mut low, mut high) = (candidates.start, candidates.end);
    while low < high {
        let middle = low.midpoint(high);
        // Only blocks whose keys could all be read have a prefix array.
        let separator = table.index().restart_key(middle, layout);
        match table.compare_index(separator.unwrap_or_default(), target) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal | Ordering::Greater => high = middle,
        }
    }
    low
}
