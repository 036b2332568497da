//! The cursor over the entries of a block. `bytewise` has a faster search for the default order;
//! `key_buffer` puts keys together.
//!
//! Invariants:
//! * I1: no byte is trusted. Every length is checked against the bytes left. A contradiction ends
//!   the cursor and shows in [`Cursor::failure`].
//! * I2: every step forward moves the position by at least two bytes, so that every walk ends.
//! * I3: moving and seeking allocate only to let a buffer grow to the longest key met.

mod bytewise;
mod key_buffer;

pub(crate) use bytewise::KnownLess;

use super::{Block, EntryLayout, Header, header};
use crate::coding::get_length_prefixed;
use crate::error::{Error, Result};
use crate::key::TAG_SIZE;
use crate::sst::format::data_block_hash_index::{self, Found};
use crate::sst::format::handle::{BlockHandle, delta_handle};
use bytes::Bytes;
use key_buffer::KeyBuffer;
use std::cmp::Ordering;
use std::mem;
use std::ops::Range;
use whitewater_concurrent::sync::rmw;

/// A part of the block's bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
}

/// An entry that was passed on the way to an earlier one, kept for the next step back.
#[derive(Debug, Clone, Copy)]
struct Passed {
    entry: usize,
    next: usize,
    /// In the block when `in_block`, else in the buffer of passed keys.
    key: Span,
    in_block: bool,
    value: Span,
}

/// A position among the entries of a block.
#[derive(Debug)]
pub(crate) struct Cursor {
    layout: EntryLayout,
    /// The shortest valid key, in bytes.
    min_key: usize,
    valid: bool,
    failure: Option<&'static str>,
    /// Offset of the current entry and of the one after it.
    entry: usize,
    next: usize,
    /// The current key: in the block when it shares no prefix, else in `buf`.
    key: Span,
    in_block: bool,
    buf: KeyBuffer,
    /// Whether the last step forward has shown that the user key comes after the one before, in
    /// bytewise order; only for blocks of internal keys.
    known_greater: bool,
    value: Span,
    handle: BlockHandle,
    /// The entries before the current one up to a restart point, if the cursor moved backward to
    /// get here.
    passed: Vec<Passed>,
    passed_keys: Vec<u8>,
}

impl Cursor {
    /// A cursor that stands on no entry. Keys shorter than `min_key` are corruption.
    pub(crate) fn new(layout: EntryLayout, min_key: usize) -> Self {
        Self::with_buffer(layout, min_key, Vec::new())
    }

    /// The same, with a buffer to reuse; [`Cursor::take_buffer`] returns it.
    pub(crate) fn with_buffer(layout: EntryLayout, min_key: usize, buf: Vec<u8>) -> Self {
        Cursor {
            layout,
            min_key,
            valid: false,
            failure: None,
            entry: 0,
            next: 0,
            key: Span::default(),
            in_block: true,
            buf: KeyBuffer::in_memory(buf),
            known_greater: false,
            value: Span::default(),
            handle: BlockHandle::default(),
            passed: Vec::new(),
            passed_keys: Vec::new(),
        }
    }

    /// Takes the buffer, for another cursor to use. Only if this one moves no more.
    pub(crate) fn take_buffer(&mut self) -> Vec<u8> {
        mem::take(&mut self.buf).into_memory()
    }

    /// Whether the cursor stands on an entry.
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.valid
    }

    /// What is wrong with the block, if the last movement found damage.
    pub(crate) fn failure(&self) -> Option<&'static str> {
        self.failure
    }

    /// The failure as an error, without file and offset.
    pub(crate) fn status(&self) -> Result<()> {
        self.failure
            .map_or(Ok(()), |what| Err(Error::corruption(what)))
    }

    /// The current key.
    #[inline]
    pub(crate) fn key<'a>(&'a self, block: &'a Block) -> &'a [u8] {
        debug_assert!(self.valid);
        if self.in_block {
            &block.data[self.key.start..self.key.end]
        } else {
            &self.buf
        }
    }

    /// The current value.
    #[inline]
    pub(crate) fn value<'a>(&self, block: &'a Block) -> &'a [u8] {
        &block.data[self.value.start..self.value.end]
    }

    /// Whether the current entry is the one at restart point `i`.
    pub(crate) fn is_at_restart(&self, block: &Block, i: usize) -> bool {
        self.valid && i < block.num_restarts && self.entry == block.restart(i)
    }

    /// Where the current entry ends.
    pub(crate) fn end(&self) -> usize {
        self.next
    }

    /// Where the current entry starts.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn offset(&self) -> usize {
        self.entry
    }

    /// Offset of the current value in the block.
    pub(crate) fn value_offset(&self) -> usize {
        self.value.start
    }

    /// Where in the block the current value is.
    #[inline]
    pub(crate) fn value_range(&self) -> Range<usize> {
        self.value.start..self.value.end
    }

    /// The current value, sharing the block's memory.
    #[inline]
    pub(crate) fn shared_value(&self, block: &Block) -> Bytes {
        rmw::shared_writes(2);
        block.data.slice(self.value.start..self.value.end)
    }

    /// The current handle; only for the layouts with handles.
    #[inline]
    pub(crate) fn handle(&self) -> BlockHandle {
        self.handle
    }

    /// Leaves the block, and clears the failure.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.valid = false;
        self.failure = None;
        self.forget_passed();
    }

    /// Moves to the first entry.
    pub(crate) fn seek_to_first(&mut self, block: &Block) {
        self.clear();
        self.enter(0);
        self.advance(block);
    }

    /// Moves to the entry at restart point `i`.
    pub(crate) fn seek_to_restart(&mut self, block: &Block, i: usize) {
        self.clear();
        self.enter(block.restart(i));
        self.advance(block);
    }

    /// Moves to the last entry.
    pub(crate) fn seek_to_last(&mut self, block: &Block) {
        self.clear();
        self.enter(block.restart(block.num_restarts.saturating_sub(1)));
        while self.advance(block) && self.next < block.limit {}
    }

    /// Moves to the first entry that `compare`, which orders a stored key
    /// against the target, does not call `Less`.
    #[inline]
    pub(crate) fn seek(&mut self, block: &Block, compare: impl FnMut(&[u8]) -> Ordering) {
        self.seek_between(block, 0..block.num_restarts, compare);
    }

    /// The restart points between which a block of internal keys may have an entry of `user_key`,
    /// by the block's hash table, if it has one; for [`Cursor::seek_between`]. `None` if the block
    /// has no such entry. `compare` orders a stored key against the target.
    #[inline]
    pub(crate) fn candidates(
        &self,
        block: &Block,
        user_key: &[u8],
        mut compare: impl FnMut(&[u8]) -> Ordering,
    ) -> Option<Range<usize>> {
        let all = 0..block.num_restarts;
        let restart = match data_block_hash_index::find(block.buckets(), user_key) {
            Found::Unknown => return Some(all),
            Found::After(restart) if restart < block.num_restarts => restart,
            // The restart point does not exist: the table is damaged.
            Found::After(_) => return Some(all),
            Found::Nowhere => return None,
        };
        let next = restart + 1;
        if next < block.num_restarts
            && let Some(key) = block.restart_key(next, self.layout)
            && key.len() >= self.min_key
            && compare(key) == Ordering::Less
        {
            // Another key shares the bucket.
            return None;
        }
        Some(restart..next)
    }

    /// [`Cursor::seek`] for a caller that knows that the keys at the restart points before
    /// `candidates` are less than the target, and those after `candidates` are not.
    #[inline]
    pub(crate) fn seek_between(
        &mut self,
        block: &Block,
        candidates: Range<usize>,
        mut compare: impl FnMut(&[u8]) -> Ordering,
    ) {
        self.clear();
        let found = self.find_restart(block, candidates, &mut compare);
        let Some((restart, known_less)) = found else {
            return;
        };
        block.expect_interval(restart);
        let first = block.restart(restart);
        self.enter(first);
        let less = if known_less { first } else { usize::MAX };
        // The entry at the next restart point is known not to be less.
        let stop = block.restart(restart + 1);
        while self.decode_next(block) {
            if self.entry == less {
                continue;
            }
            if self.entry >= stop || compare(self.key(block)) != Ordering::Less {
                return;
            }
        }
    }

    /// Moves forward.
    #[inline]
    pub(crate) fn next(&mut self, block: &Block) {
        debug_assert!(self.valid);
        if !self.passed.is_empty() {
            self.forget_passed();
        }
        self.decode_next(block);
    }

    /// Moves to the next entry of a data block. Returns `false` if there is none, and then stays
    /// on the last one, or if the block is damaged there.
    #[inline(always)]
    pub(crate) fn next_within(&mut self, block: &Block) -> bool {
        debug_assert!(self.valid && self.layout == EntryLayout::Values);
        if self.next >= block.limit {
            return false;
        }
        if !self.passed.is_empty() {
            self.forget_passed();
        }
        self.decode_next(block)
    }

    /// Whether the user key is known to come after that of the entry before, in bytewise order;
    /// only after [`Cursor::next_within`] in a block of internal keys.
    #[inline(always)]
    pub(crate) fn is_known_greater(&self) -> bool {
        self.known_greater
    }

    /// Moves backward.
    pub(crate) fn prev(&mut self, block: &Block) {
        debug_assert!(self.valid);
        if let Some(p) = self.passed.pop() {
            return self.restore(p);
        }
        let target = self.entry;
        self.clear();
        if target == 0 {
            return;
        }
        let restart = last_restart_before(block, target);
        self.enter(block.restart(restart));
        while self.advance(block) && self.next < target {
            if self.layout == EntryLayout::Values {
                self.remember();
            }
        }
        if self.valid && self.next != target {
            self.fail("restart point inside an entry");
        }
    }

    /// The last restart point whose key is less than the target, or the first one if there is
    /// none, and whether its key is known to be less.
    #[inline]
    fn find_restart(
        &mut self,
        block: &Block,
        candidates: Range<usize>,
        compare: &mut impl FnMut(&[u8]) -> Ordering,
    ) -> Option<(usize, bool)> {
        let mut low = candidates.start.saturating_sub(1);
        let mut high = candidates.end.saturating_sub(1);
        let mut known_less = candidates.start > 0;
        while low < high {
            let mid = (low + high).div_ceil(2);
            let key = block.restart_key(mid, self.layout);
            let Some(key) = key.filter(|k| k.len() >= self.min_key) else {
                self.fail("bad entry at restart point");
                return None;
            };
            if compare(key) == Ordering::Less {
                low = mid;
                known_less = true;
            } else {
                high = mid - 1;
            }
        }
        Some((low, known_less))
    }

    /// Moves before the entry at `at`, which must share no bytes with the entry before it.
    #[inline]
    fn enter(&mut self, at: usize) {
        self.next = at;
        self.key = Span::default();
        self.in_block = true;
    }

    /// [`Cursor::decode_next`] where it is not done in a loop.
    fn advance(&mut self, block: &Block) -> bool {
        self.decode_next(block)
    }

    /// Decodes the entry at `next`. Returns whether there is one (I1).
    #[inline(always)]
    fn decode_next(&mut self, block: &Block) -> bool {
        let at = self.next;
        let entries = block.entries();
        if at >= entries.len() {
            self.valid = false;
            return false;
        }
        let Some(h) = header(entries, at, self.layout.has_value_len()) else {
            return self.fail("bad entry in block");
        };
        let left = entries.len() - h.suffix;
        if h.non_shared > left || h.value_len > left - h.non_shared {
            return self.fail("entry runs past its block");
        }
        let suffix_end = h.suffix + h.non_shared;
        if !self.set_key(entries, h, suffix_end) {
            return self.fail("bad key in block");
        }
        self.entry = at;
        self.value = Span {
            start: suffix_end,
            end: suffix_end + h.value_len,
        };
        if self.layout != EntryLayout::Values && !self.set_handle(entries, h.shared) {
            return self.fail("bad block handle in index");
        }
        self.next = self.value.end;
        self.valid = true;
        true
    }

    #[inline(always)]
    fn set_key(&mut self, entries: &[u8], h: Header, suffix_end: usize) -> bool {
        if h.shared + h.non_shared < self.min_key {
            return false;
        }
        let own = &entries[h.suffix..];
        if h.shared == 0 {
            self.key = Span {
                start: h.suffix,
                end: suffix_end,
            };
            self.in_block = true;
            self.known_greater = false;
            return true;
        }
        if self.in_block {
            let before = &entries[self.key.start..self.key.end];
            if h.shared > before.len() {
                return false;
            }
            self.known_greater = is_known_greater(before, own, h);
            self.buf.set(&before[..h.shared], &own[..h.non_shared]);
            self.in_block = false;
        } else {
            if h.shared > self.buf.len() {
                return false;
            }
            self.known_greater = is_known_greater(&self.buf, own, h);
            self.buf.replace_from(h.shared, &own[..h.non_shared]);
        }
        true
    }

    /// Decodes the handle of an index entry. The key must be set, and the value, too, if entries
    /// have value lengths.
    #[inline(never)]
    fn set_handle(&mut self, entries: &[u8], shared: usize) -> bool {
        let EntryLayout::DeltaHandles { first_key } = self.layout else {
            let mut value = &entries[self.value.start..self.value.end];
            return match BlockHandle::decode(&mut value) {
                Some(h) => {
                    self.handle = h;
                    true
                }
                None => false,
            };
        };
        let mut rest = &entries[self.value.start..];
        let handle = if shared == 0 {
            BlockHandle::decode(&mut rest)
        } else {
            delta_handle(self.handle, &mut rest)
        };
        let Some(handle) = handle else {
            return false;
        };
        if first_key && get_length_prefixed(&mut rest).is_none() {
            return false;
        }
        self.handle = handle;
        self.value.end = entries.len() - rest.len();
        true
    }

    fn fail(&mut self, what: &'static str) -> bool {
        self.valid = false;
        self.failure = Some(what);
        self.forget_passed();
        false
    }

    fn forget_passed(&mut self) {
        self.passed.clear();
        self.passed_keys.clear();
    }

    /// Keeps the current entry for a later step back.
    fn remember(&mut self) {
        let mut key = self.key;
        if !self.in_block {
            let start = self.passed_keys.len();
            self.passed_keys.extend_from_slice(&self.buf);
            let end = self.passed_keys.len();
            key = Span { start, end };
        }
        self.passed.push(Passed {
            entry: self.entry,
            next: self.next,
            key,
            in_block: self.in_block,
            value: self.value,
        });
    }

    fn restore(&mut self, p: Passed) {
        self.entry = p.entry;
        self.next = p.next;
        self.value = p.value;
        self.in_block = p.in_block;
        if p.in_block {
            self.key = p.key;
        } else {
            self.buf.set(&self.passed_keys[p.key.start..p.key.end], &[]);
        }
    }
}

/// Whether an internal key that shares `h.shared` bytes with `before`, and continues with `own`,
/// has the greater user key because of its first own byte.
#[inline(always)]
fn is_known_greater(before: &[u8], own: &[u8], h: Header) -> bool {
    // The byte belongs to the user key if more follow it than a tag has.
    h.non_shared > TAG_SIZE
        && match before.get(h.shared) {
            Some(&before_byte) if h.shared + TAG_SIZE < before.len() => {
                own.first() > Some(&before_byte)
            }
            // It continues the user key before.
            _ => h.shared + TAG_SIZE >= before.len(),
        }
}

/// The last restart point before the entry at `target`, which is not 0.
fn last_restart_before(block: &Block, target: usize) -> usize {
    let (mut low, mut high) = (0, block.num_restarts.saturating_sub(1));
    while low < high {
        let mid = (low + high).div_ceil(2);
        if block.restart(mid) < target {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    low
}
