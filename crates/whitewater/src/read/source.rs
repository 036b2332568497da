//! A source of an iterator, and a block that it has lent.
//!
//! Steps forward within a block need none of what lies between the reader and the block: the
//! source lends the block as long as the entries in it come next. Everything else gives it back
//! first.

use super::nothing::nothing;
use std::mem;
use whitewater_storage::Result;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::internal_iterator::{
    BoxedIterator, InternalIterator, KeyCursor, MergedCursor, Moved,
};
use whitewater_storage::sst::BlockRun;

/// After how many steps a source is asked again that did not lend a block.
const STEPS: u8 = 8;

/// A source of a [`DbIter`](super::db_iter::DbIter) or of a merging iterator.
pub(super) struct Source {
    inner: BoxedIterator,
    /// The block lent. It stands on an entry between calls.
    run: Option<BlockRun>,
    /// The number of steps until the source is asked for a block.
    wait: u8,
}

impl Source {
    pub fn new(inner: BoxedIterator) -> Self {
        Source {
            inner,
            run: None,
            wait: 0,
        }
    }

    /// The source, with everything that it has lent.
    #[inline]
    fn whole(&mut self) -> &mut BoxedIterator {
        if let Some(run) = self.run.take() {
            self.inner.take_back(run);
        }
        &mut self.inner
    }

    #[inline(always)]
    pub fn valid(&self) -> bool {
        self.run.is_some() || self.inner.valid()
    }

    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        match &self.run {
            Some(run) => run.key(),
            None => self.inner.key(),
        }
    }

    #[inline(always)]
    pub fn value(&self) -> &[u8] {
        match &self.run {
            Some(run) => run.value(),
            None => self.inner.value(),
        }
    }

    pub fn status(&self) -> Result<()> {
        match &self.run {
            Some(_) => Ok(()),
            None => self.inner.status(),
        }
    }

    /// Moves forward from an entry, and tells what is known about the one that it comes to.
    #[inline(always)]
    pub fn advance(&mut self) -> Moved {
        self.advance_by(|inner| inner.advance())
    }

    /// See [`InternalIterator::advance_key`].
    #[inline(always)]
    pub fn advance_key(&mut self) -> Moved {
        self.advance_by(|inner| inner.advance_key())
    }

    #[inline(always)]
    fn advance_by(&mut self, step: impl FnOnce(&mut BoxedIterator) -> Moved) -> Moved {
        if let Some(run) = &mut self.run {
            let moved = run.advance();
            if moved != Moved::Ended {
                return moved;
            }
        }
        self.advance_whole(step)
    }

    #[inline(never)]
    fn advance_whole(&mut self, step: impl FnOnce(&mut BoxedIterator) -> Moved) -> Moved {
        let asks = self.run.is_some() || self.wait == 0;
        self.wait = self.wait.saturating_sub(1);
        let moved = step(self.whole());
        if asks && moved != Moved::Ended {
            self.run = self.inner.lend();
            self.wait = STEPS;
        }
        moved
    }

    /// Hands on the block that it stands in; see [`InternalIterator::lend`].
    pub fn lend(&mut self) -> Option<BlockRun> {
        self.run.take().or_else(|| self.inner.lend())
    }

    /// See [`InternalIterator::block_ends_before`].
    pub fn block_ends_before(&self, limit: &[u8]) -> bool {
        self.inner.block_ends_before(limit)
    }

    /// See [`InternalIterator::is_cached`].
    pub fn is_cached(&self) -> bool {
        self.inner.is_cached()
    }

    /// Takes the source out. What stays has no entries.
    pub fn take(&mut self) -> BoxedIterator {
        mem::replace(self.whole(), nothing())
    }

    /// See [`InternalIterator::release`].
    pub fn release(&mut self) -> bool {
        self.positioned().release()
    }

    /// Takes back the block that it has handed on.
    pub fn take_back(&mut self, run: BlockRun) {
        self.inner.take_back(run);
        self.wait = 0;
    }

    #[inline]
    pub fn next(&mut self) {
        self.advance();
    }

    pub fn prev(&mut self) {
        self.whole().prev();
    }

    pub fn seek_to_first(&mut self) {
        self.positioned().seek_to_first();
    }

    pub fn seek_to_last(&mut self) {
        self.positioned().seek_to_last();
    }

    pub fn seek(&mut self, target: &[u8]) {
        self.positioned().seek(target);
    }

    /// See [`InternalIterator::expect_seek`].
    pub fn expect_seek(&mut self, target: &[u8]) {
        self.positioned().expect_seek(target);
    }

    /// See [`InternalIterator::expect_further`].
    pub fn expect_further(&mut self, target: &[u8]) {
        self.inner.expect_further(target);
    }

    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.positioned().seek_for_prev(target);
    }

    fn positioned(&mut self) -> &mut BoxedIterator {
        self.wait = 0;
        self.whole()
    }

    pub fn keep_to_prefix(&mut self, on: bool) {
        self.whole().keep_to_prefix(on);
    }

    pub fn keep_within(&mut self, bounds: &Bounds) {
        self.whole().keep_within(bounds);
    }

    /// The source as a cursor that goes by key, if it is one. A source that lends blocks is none.
    #[inline(always)]
    pub fn by_key(&mut self) -> Option<&mut dyn KeyCursor> {
        match &self.run {
            Some(_) => None,
            None => self.inner.by_key(),
        }
    }

    pub fn merged(&mut self) -> Option<&mut dyn MergedCursor> {
        self.whole().merged()
    }
}
