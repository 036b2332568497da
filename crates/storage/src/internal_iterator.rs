//! The interface of iterators over internal keys.

use crate::bounds::Bounds;
use crate::error::Result;
use crate::sst::{BlockRun, Table};
use std::sync::Arc;

/// What a movement forward has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// No entry: the cursor is past the end, or has failed.
    Ended,
    /// An entry. Whether its user key is that of the entry before is not known.
    Entry,
    /// An entry whose user key comes after that of the entry before.
    NextKey,
}

impl Moved {
    /// An entry about whose user key nothing is known, or none.
    #[inline]
    pub fn to_entry(valid: bool) -> Self {
        if valid { Moved::Entry } else { Moved::Ended }
    }
}

/// A cursor over internal keys in internal order.
///
/// After a positioning call, either `valid()` holds and `key()` and `value()` may be read, or the
/// cursor is past an end or has failed; `status()` tells the two apart. `key()` and `value()` stay
/// valid until the cursor moves. Calling `next`, `prev`, `key` or `value` while `!valid()` is a bug
/// of the caller, and implementations may panic.
pub trait InternalIterator: Send + Sync {
    /// Whether the cursor stands on an entry.
    fn valid(&self) -> bool;
    /// Moves to the first entry.
    fn seek_to_first(&mut self);
    /// Moves to the last entry.
    fn seek_to_last(&mut self);
    /// Moves to the first entry at or after the internal key `target`.
    fn seek(&mut self, target: &[u8]);
    /// Announces that a [`seek`](Self::seek) to the internal key `target` comes next, so that what
    /// it reads first is fetched while other sources are asked. The cursor is not positioned until
    /// that seek, which must be the next movement.
    fn expect_seek(&mut self, _target: &[u8]) {}
    /// Follows the announced seek to `target` a step further: reads what was prefetched last, and
    /// prefetches what the seek reads after that. Nothing happens once all that can be foreseen is.
    fn expect_further(&mut self, _target: &[u8]) {}
    /// Moves to the last entry at or before the internal key `target`.
    fn seek_for_prev(&mut self, target: &[u8]);
    /// Moves forward.
    fn next(&mut self);
    /// Moves forward, and tells what is known about the entry that the cursor stands on then, if
    /// any.
    fn advance(&mut self) -> Moved {
        self.next();
        Moved::to_entry(self.valid())
    }
    /// [`advance`](Self::advance) for a caller that needs no older versions of the user key on
    /// which the cursor stands: it may leave them out.
    fn advance_key(&mut self) -> Moved {
        match self.by_key() {
            Some(cursor) => {
                cursor.next_key();
                match self.valid() {
                    true => Moved::NextKey,
                    false => Moved::Ended,
                }
            }
            None => self.advance(),
        }
    }
    /// Moves backward.
    fn prev(&mut self);
    /// The internal key.
    fn key(&self) -> &[u8];
    /// The value.
    fn value(&self) -> &[u8];
    /// The first failure, if any. A failed cursor is not valid.
    fn status(&self) -> Result<()>;
    /// Sets whether, from the next `seek` or `seek_for_prev` on, the caller looks only at entries
    /// with the prefix of the key it seeks. A source that groups keys by prefix may then leave
    /// others out. Off by default. Sources without prefixes ignore it.
    fn keep_to_prefix(&mut self, _on: bool) {}
    /// Says that the caller looks only at entries within these bounds, from the next positioning
    /// on. A source may then leave others out. They replace bounds set before; there are none by
    /// default. Sources that would gain nothing ignore it.
    fn keep_within(&mut self, _bounds: &Bounds) {}
    /// This cursor as a [`KeyCursor`], if it can move from user key to user key faster than
    /// version by version.
    fn by_key(&mut self) -> Option<&mut dyn KeyCursor> {
        None
    }
    /// Lends the block that the cursor stands in, at its position, if the cursor goes forward, and
    /// its next entries are the rest of this block. Only while valid. Until the block is
    /// [given back](Self::take_back), no function may be called but
    /// [`block_ends_before`](Self::block_ends_before).
    fn lend(&mut self) -> Option<BlockRun> {
        None
    }
    /// Whether all entries of the block that the cursor stands in, or has lent, come before the
    /// internal key `limit`. `false` if the cursor lends no blocks.
    fn block_ends_before(&self, _limit: &[u8]) -> bool {
        false
    }
    /// Takes back the block that it has lent, and stands where that stands. If that has met damage,
    /// the next movement, which must be `advance` or `advance_key`, fails.
    fn take_back(&mut self, _run: BlockRun) {}
    /// This cursor as a [`MergedCursor`], if it is over several sources.
    fn merged(&mut self) -> Option<&mut dyn MergedCursor> {
        None
    }
    /// Whether the block that the cursor stands in, or has lent, was in the block cache when the
    /// cursor came to it. Only while valid. `false` if the entries are not in blocks.
    fn is_cached(&self) -> bool {
        false
    }
    /// Lets go of the blocks and the copies that it has read, of its failure, and of what it was
    /// told to keep to. Until it is positioned again, no function may be called but this one,
    /// `status`, [`keep_to_prefix`](Self::keep_to_prefix), [`keep_within`](Self::keep_within) and
    /// [`reopen`](Self::reopen). From then on it shows what its source has by then, as a new cursor
    /// would. Returns `false` if it cannot do that, and is of no further use.
    fn release(&mut self) -> bool {
        false
    }
    /// Becomes a cursor over another table, with the same options, that is not positioned yet.
    /// Does nothing and returns `false` if it is not a cursor that has a share of its table.
    fn reopen(&mut self, _table: &Arc<Table>) -> bool {
        false
    }
}

/// Movements of a valid [`InternalIterator`] that skip versions.
pub trait KeyCursor {
    /// Moves to the first entry of the next user key.
    fn next_key(&mut self);
    /// Moves to the first entry of the previous user key.
    fn prev_key(&mut self);
    /// Moves, within the user key, to the newest entry whose tag is at or below
    /// `upto`. Returns `false`, and stays on the user key, if there is none.
    fn newest(&mut self, upto: u64) -> bool;
}

/// An [`InternalIterator`] over several sources, ordered by age, newest first.
pub trait MergedCursor {
    /// The index of the source of the current entry; only while valid.
    fn source(&self) -> usize;
    /// Skips, in the sources after the index `newest`, all entries before the internal key
    /// `target` if `forward`, or all entries after it if not. Does nothing and returns `false` if
    /// the current entry is not one of these.
    fn pass_older(&mut self, newest: usize, target: &[u8], forward: bool) -> bool;
}

/// A boxed [`InternalIterator`].
pub type BoxedIterator = Box<dyn InternalIterator>;

impl<I: InternalIterator + ?Sized> InternalIterator for Box<I> {
    fn valid(&self) -> bool {
        (**self).valid()
    }
    fn seek_to_first(&mut self) {
        (**self).seek_to_first();
    }
    fn seek_to_last(&mut self) {
        (**self).seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        (**self).seek(target);
    }
    fn expect_seek(&mut self, target: &[u8]) {
        (**self).expect_seek(target);
    }
    fn expect_further(&mut self, target: &[u8]) {
        (**self).expect_further(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        (**self).seek_for_prev(target);
    }
    fn next(&mut self) {
        (**self).next();
    }
    fn advance(&mut self) -> Moved {
        (**self).advance()
    }
    fn advance_key(&mut self) -> Moved {
        (**self).advance_key()
    }
    fn prev(&mut self) {
        (**self).prev();
    }
    fn key(&self) -> &[u8] {
        (**self).key()
    }
    fn value(&self) -> &[u8] {
        (**self).value()
    }
    fn status(&self) -> Result<()> {
        (**self).status()
    }
    fn keep_to_prefix(&mut self, on: bool) {
        (**self).keep_to_prefix(on);
    }
    fn keep_within(&mut self, bounds: &Bounds) {
        (**self).keep_within(bounds);
    }
    fn by_key(&mut self) -> Option<&mut dyn KeyCursor> {
        (**self).by_key()
    }
    fn lend(&mut self) -> Option<BlockRun> {
        (**self).lend()
    }
    fn block_ends_before(&self, limit: &[u8]) -> bool {
        (**self).block_ends_before(limit)
    }
    fn take_back(&mut self, run: BlockRun) {
        (**self).take_back(run);
    }
    fn merged(&mut self) -> Option<&mut dyn MergedCursor> {
        (**self).merged()
    }
    fn is_cached(&self) -> bool {
        (**self).is_cached()
    }
    fn release(&mut self) -> bool {
        (**self).release()
    }
    fn reopen(&mut self, table: &Arc<Table>) -> bool {
        (**self).reopen(table)
    }
}
