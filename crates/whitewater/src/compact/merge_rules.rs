//! Which entries a merge drops or keeps.
//!
//! [`CompactionIter`] reads a merged stream of internal keys and gives the
//! entries that must be written. It opens no files and knows no levels: what
//! lies below the output comes in as two answers, `bottommost` and
//! `key_not_below`.
//!
//! Live snapshots cut the sequence numbers into *stripes*: entries of one key
//! in the same stripe are seen by the same readers, so only the newest of them
//! matters. Stripe 0 ends at the oldest snapshot; the last one has no end.
//!
//! Invariants:
//! * I1: for every live snapshot and for "now", reading the output over what
//!   lies below gives what reading the input over it gave.
//! * I2: the output is in internal order and a subset of the input, but for
//!   merge results and for sequence numbers that became 0.
//!
//! Types that are not understood (blob references, wide columns, values with a
//! preferred sequence number) count as values and are kept as they are.

use crate::read::merge::{self, MergeOperator};
use crate::read::rangedel::FragmentedTombstones;
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::{
    InternalComparator, MAX_SEQUENCE, SequenceNumber, ValueType, append_internal_key, internal_key,
    parse_internal_key,
};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Error, Result};

/// What the rules depend on.
pub(crate) struct Rules<'a> {
    pub comparator: &'a InternalComparator,
    /// Live snapshots, ascending.
    pub snapshots: &'a [SequenceNumber],
    /// The range tombstones of the input.
    pub tombstones: &'a FragmentedTombstones,
    /// Without one, operands are kept as they are.
    pub merge_operator: Option<&'a dyn MergeOperator>,
    /// Nothing older than the input exists in its key range.
    pub bottommost: bool,
    /// Whether nothing older than the input exists of this user key.
    pub key_not_below: &'a dyn Fn(&[u8]) -> bool,
}

impl Rules<'_> {
    /// The stripe of `seq`: the index of the oldest snapshot that sees it.
    fn stripe(&self, seq: SequenceNumber) -> usize {
        self.snapshots.partition_point(|&s| s < seq)
    }

    /// Whether a range tombstone of the same stripe deletes the entry.
    fn covered(&self, user_key: &[u8], seq: SequenceNumber, stripe: usize) -> bool {
        if self.tombstones.is_empty() {
            return false;
        }
        let upto = self.snapshots.get(stripe).copied().unwrap_or(MAX_SEQUENCE);
        let newest = self
            .tombstones
            .max_covering(&self.comparator.user, user_key, upto);
        newest > seq
    }

    fn nothing_below(&self, user_key: &[u8]) -> bool {
        self.bottommost || (self.key_not_below)(user_key)
    }

    /// The range tombstones that must be written, by start key. They may
    /// overlap. Of those that cover the same keys in the same stripe only the
    /// newest is left; at the bottom the oldest stripe needs none.
    pub fn kept_tombstones(&self) -> Vec<RangeTombstone> {
        let mut kept: Vec<RangeTombstone> = Vec::new();
        // The last piece of each sequence number, to grow when pieces meet.
        let mut growing: HashMap<SequenceNumber, usize> = HashMap::new();
        let mut last: Option<(Vec<u8>, usize)> = None;
        for piece in self.tombstones.iter() {
            let stripe = self.stripe(piece.seq);
            if self.bottommost && stripe == 0 {
                continue;
            }
            let shadowed = (last.as_ref())
                .is_some_and(|(start, above)| *above == stripe && *start == piece.start);
            if shadowed {
                continue;
            }
            last = Some((piece.start.clone(), stripe));
            match growing.get(&piece.seq) {
                Some(&i) if kept[i].end == piece.start => kept[i].end = piece.end,
                _ => {
                    growing.insert(piece.seq, kept.len());
                    kept.push(piece);
                }
            }
        }
        kept
    }
}

/// Where the current output entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// There is none.
    End,
    /// At the front of `ready`.
    Ready,
    /// The source's entry as it is.
    Source,
    /// The source's entry with the key in `zeroed`.
    Zeroed,
}

/// What lies under a run of merge operands.
enum Base {
    /// A value to merge with: the source's.
    Value,
    /// Nothing: the key was deleted or never existed.
    Nothing,
    /// Not in this stripe, or nothing that can be merged with.
    Unknown,
}

/// The entries of a merged stream that must be written.
///
/// Positioned by [`CompactionIter::seek_to_first`]; goes forward only.
pub(crate) struct CompactionIter<'a> {
    rules: Rules<'a>,
    source: BoxedIterator,
    /// Entries taken from the source.
    consumed: u64,
    at: At,
    /// Entries that were decided while looking ahead.
    ready: VecDeque<(Vec<u8>, Vec<u8>)>,
    zeroed: Vec<u8>,
    /// The user key at hand, once there is one.
    user_key: Option<Vec<u8>>,
    /// The stripe of the key at hand that needs no more entries.
    settled: Option<usize>,
    /// Tombstones of the key at hand that are needed only if an older entry of
    /// the key is kept: nothing lies below.
    undecided: Vec<Vec<u8>>,
}

impl<'a> CompactionIter<'a> {
    /// Applies `rules` to `source`.
    pub fn new(rules: Rules<'a>, source: BoxedIterator) -> Self {
        CompactionIter {
            rules,
            source,
            consumed: 0,
            at: At::End,
            ready: VecDeque::new(),
            zeroed: Vec::new(),
            user_key: None,
            settled: None,
            undecided: Vec::new(),
        }
    }

    /// Moves to the first entry.
    ///
    /// # Errors
    /// Those of the source, and `Corruption` for keys that cannot be read.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.source.seek_to_first();
        self.advance()
    }

    /// Whether there is an entry.
    pub fn valid(&self) -> bool {
        self.at != At::End
    }

    /// The internal key; empty when not valid.
    pub fn key(&self) -> &[u8] {
        match self.at {
            At::Source => self.source.key(),
            At::Zeroed => &self.zeroed,
            At::Ready => self.ready.front().map_or(&[], |(key, _)| key),
            At::End => &[],
        }
    }

    /// The value; empty when not valid.
    pub fn value(&self) -> &[u8] {
        match self.at {
            At::Source | At::Zeroed => self.source.value(),
            At::Ready => self.ready.front().map_or(&[], |(_, value)| value),
            At::End => &[],
        }
    }

    /// Moves to the next entry.
    ///
    /// # Errors
    /// As [`CompactionIter::seek_to_first`], and the merge operator's.
    pub fn next(&mut self) -> Result<()> {
        match self.at {
            At::Source | At::Zeroed => self.consume(),
            At::Ready => _ = self.ready.pop_front(),
            At::End => return Ok(()),
        }
        self.advance()
    }

    /// Entries read from the source so far; all of them at the end.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    fn consume(&mut self) {
        self.consumed += 1;
        self.source.next();
    }

    /// Finds the next entry to give, from the source's current entry on.
    fn advance(&mut self) -> Result<()> {
        loop {
            if !self.ready.is_empty() {
                self.at = At::Ready;
                return Ok(());
            }
            if !self.source.valid() {
                self.at = At::End;
                return self.source.status();
            }
            let entry = parse_internal_key(self.source.key())?;
            let (seq, ty) = (entry.seq, entry.ty);
            let same = self.user_key.as_deref().is_some_and(|key| {
                self.rules.comparator.compare_user(key, entry.user_key) == Ordering::Equal
            });
            if !same {
                let buffer = self.user_key.get_or_insert_default();
                buffer.clear();
                buffer.extend_from_slice(entry.user_key);
                self.settled = None;
                self.undecided.clear();
            }
            let stripe = self.rules.stripe(seq);
            let hidden = self.settled == Some(stripe);
            if self.rules.covered(self.current_key(), seq, stripe) {
                self.consume();
            } else if hidden && ty == ValueType::SingleDeletion {
                // Something newer hides it from readers, but it still has to
                // meet its value, in a deeper level maybe: when the newer value
                // meets a single deletion too, the older one must not show.
                self.single_delete(stripe)?;
            } else if hidden {
                self.consume();
            } else if self.decide(seq, ty, stripe)? {
                return Ok(());
            }
        }
    }

    fn current_key(&self) -> &[u8] {
        self.user_key.as_deref().unwrap_or_default()
    }

    /// Decides about the source's entry, the newest of its stripe that counts.
    /// Returns whether it is the next to give; otherwise it was consumed, or
    /// something was put before it in `ready`.
    fn decide(&mut self, seq: SequenceNumber, ty: ValueType, stripe: usize) -> Result<bool> {
        match ty {
            ValueType::Deletion if self.rules.nothing_below(self.current_key()) => {
                self.settled = Some(stripe);
                let key = self.source.key().to_vec();
                self.forget_tombstone(key, stripe);
                self.consume();
                return Ok(false);
            }
            ValueType::SingleDeletion => return self.single_delete(stripe).map(|()| false),
            ValueType::Merge => {
                if let Some(operator) = self.rules.merge_operator {
                    return self.merge(operator, seq, stripe).map(|()| false);
                }
            }
            ValueType::RangeDeletion => {
                return Err(Error::corruption("range tombstone among the points"));
            }
            _ => {}
        }
        if self.release_undecided() {
            return Ok(false);
        }
        if ty != ValueType::Merge {
            self.settled = Some(stripe);
        }
        self.at = At::Source;
        if ty == ValueType::Value && self.can_zero(stripe) && seq != 0 {
            self.zeroed.clear();
            let user_key = self.user_key.as_deref().unwrap_or_default();
            append_internal_key(&mut self.zeroed, user_key, 0, ty as u8);
            self.at = At::Zeroed;
        }
        Ok(true)
    }

    /// Whether a value in `stripe` is the only one of its key, for good.
    fn can_zero(&self, stripe: usize) -> bool {
        self.rules.bottommost && stripe == 0
    }

    /// Drops a tombstone that has nothing below it, unless an older entry of
    /// its key turns out to be kept for a snapshot.
    fn forget_tombstone(&mut self, key: Vec<u8>, stripe: usize) {
        if stripe > 0 {
            self.undecided.push(key);
        }
    }

    /// Gives the tombstones that turn out to be needed.
    fn release_undecided(&mut self) -> bool {
        let needed = self.undecided.drain(..).map(|key| (key, Vec::new()));
        self.ready.extend(needed);
        !self.ready.is_empty()
    }

    fn give(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.release_undecided();
        self.ready.push_back((key, value));
    }

    /// The source's entry if it is of the key at hand.
    fn same_key(&self) -> Result<Option<(SequenceNumber, ValueType)>> {
        if !self.source.valid() {
            self.source.status()?;
            return Ok(None);
        }
        let entry = parse_internal_key(self.source.key())?;
        let comparator = &self.rules.comparator;
        let same = comparator
            .compare_user(entry.user_key, self.current_key())
            .is_eq();
        Ok(same.then_some((entry.seq, entry.ty)))
    }

    /// The source's entry if it is of the key and stripe at hand: its type,
    /// and whether a range tombstone of the stripe covers it.
    fn same_stripe(&self, stripe: usize) -> Result<Option<(ValueType, bool)>> {
        let found = self.same_key()?;
        let found = found.filter(|(seq, _)| self.rules.stripe(*seq) == stripe);
        Ok(found.map(|(seq, ty)| (ty, self.rules.covered(self.current_key(), seq, stripe))))
    }

    /// Decides about a single deletion and what it meets in its stripe: a value
    /// right below cancels out with it. That does not settle the stripe, since
    /// an older tombstone in it may hide what older stripes hold.
    fn single_delete(&mut self, stripe: usize) -> Result<()> {
        let mut key = self.source.key().to_vec();
        loop {
            self.consume();
            match self.same_stripe(stripe)? {
                None => {
                    if self.rules.nothing_below(self.current_key()) {
                        self.forget_tombstone(key, stripe);
                    } else {
                        self.give(key, Vec::new());
                    }
                    break;
                }
                Some((_, true)) => {}
                Some((ValueType::SingleDeletion, _)) => {
                    key.clear();
                    key.extend_from_slice(self.source.key());
                }
                // The older tombstone says the same, and more.
                Some((ValueType::Deletion, _)) => return Ok(()),
                // Undefined by contract; the tombstone still hides the operand.
                Some((ValueType::Merge | ValueType::DeletionWithTimestamp, _)) => {
                    self.give(key, Vec::new());
                    break;
                }
                Some(_) => return self.skip_values(stripe),
            }
        }
        self.settled = Some(stripe);
        Ok(())
    }

    /// Passes the values and operands of a stripe up to its next tombstone:
    /// they were deleted or overwritten.
    fn skip_values(&mut self, stripe: usize) -> Result<()> {
        use ValueType::{Deletion, DeletionWithTimestamp, SingleDeletion};
        loop {
            match self.same_stripe(stripe)? {
                None | Some((Deletion | SingleDeletion | DeletionWithTimestamp, false)) => {
                    return Ok(());
                }
                Some(_) => self.consume(),
            }
        }
    }

    /// Combines the run of operands that starts here, within its stripe.
    fn merge(
        &mut self,
        operator: &dyn MergeOperator,
        newest: SequenceNumber,
        stripe: usize,
    ) -> Result<()> {
        // Newest first.
        let mut run: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let base = loop {
            run.push((self.source.key().to_vec(), self.source.value().to_vec()));
            self.consume();
            match self.same_stripe(stripe)? {
                Some((ValueType::Merge, false)) => {}
                Some((_, true)) => break Base::Nothing,
                Some((ValueType::Deletion | ValueType::SingleDeletion, _)) => break Base::Nothing,
                Some((ValueType::Value, _)) => break Base::Value,
                Some(_) => break Base::Unknown,
                None if self.same_key()?.is_some() => break Base::Unknown,
                None if self.rules.nothing_below(self.current_key()) => break Base::Nothing,
                None => break Base::Unknown,
            }
        };
        let operands: Vec<&[u8]> = run.iter().rev().map(|(_, value)| &value[..]).collect();
        let existing = match base {
            Base::Value => Some(self.source.value()),
            Base::Nothing => None,
            Base::Unknown => {
                let merged = merge::partial_merge(operator, self.current_key(), &operands)?;
                return self.give_operands(run, merged);
            }
        };
        let value = merge::full_merge(Some(operator), self.current_key(), existing, &operands)?;
        let seq = if self.can_zero(stripe) { 0 } else { newest };
        let key = internal_key(self.current_key(), seq, ValueType::Value);
        self.give(key, value);
        self.settled = Some(stripe);
        Ok(())
    }

    /// Gives a run of operands (newest first): as one where they were merged.
    fn give_operands(
        &mut self,
        mut run: Vec<(Vec<u8>, Vec<u8>)>,
        merged: Option<Vec<u8>>,
    ) -> Result<()> {
        if let Some(value) = merged {
            run.truncate(1);
            run[0].1 = value;
        }
        for (key, value) in run {
            self.give(key, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
