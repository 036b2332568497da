//! Which entries a merge drops or keeps.
//!
//! [`CompactionIter`] reads a merged stream of internal keys and returns the entries that must
//! be written. It opens no files and knows no levels: what it must know about data below the
//! output is passed in as `bottommost` and `key_not_below`.
//!
//! Live snapshots cut the sequence numbers into *stripes*. Entries of one key in the same
//! stripe are seen by the same readers, so only the newest of them matters. Stripe 0 ends at
//! the oldest snapshot; the last one has no end.
//!
//! An entry is *pinned* if its write is undecided, or was when a live snapshot was taken (X4 of
//! `snapshots`). Readers up to the same number differ in which of the pinned entries they see.
//! All others are *decided*, and a reader sees those up to its number.
//!
//! Invariants:
//! * I1: for every live snapshot, for "now" and for every reader that begins later, whichever of
//!   the pinned entries it sees, reading the output over what lies below gives what reading the
//!   input over it gave.
//! * I2: the output is in internal order and a subset of the input, except for merge results,
//!   what a filter decided, and sequence numbers that became 0.
//! * I3: for every write-conflict boundary b (X6 of `snapshots`), a key whose newest entry or range
//!   tombstone in the input has a number above b has one in the output, too. The newest entry of a
//!   key is therefore neither dropped nor given the number 0 if its number is above the oldest
//!   boundary; a single deletion stays when it has met its value.
//! * I4: a pinned entry is in the output as it is. It hides nothing, settles no stripe, ends a run
//!   of merge operands, meets no single deletion, and is not shown to a filter, nor is what is
//!   older than it. A pinned range tombstone covers nothing, and ends a run, too.
//! * I5: above the oldest pinned number, no entry gets the number 0, and no deletion, single
//!   deletion or range tombstone is dropped for lack of something to delete. For that, the
//!   boundary of I3 is below everything pinned.
//!
//! I1 follows for pinned entries, by what the rules do with decided entries of a key:
//! * *Hidden or covered*: the newer entry is decided and in the same stripe. Whoever sees the
//!   older one sees the newer one, and looks no further. What is pinned between them makes no
//!   difference, and is hidden by the newer one, too.
//! * *A run of operands* is decided and has nothing pinned in it, nor between it and its base.
//!   Whoever sees one of these sees all, one next to the other.
//! * *The number 0*: everything pinned of the key is newer, and stays so.
//! * *A tombstone that goes with all that it deletes*: everything pinned of the key is newer, so
//!   nothing comes to light that it deleted.
//! * *A single deletion that meets its value*: if something pinned may be older, the single
//!   deletion stays, and only the value goes, which it hides. If a newer entry of its stripe hides
//!   both, both go: by contract, something that ends the older value lies between this value and
//!   what is older. If what follows it is pinned, it stays: that may be its value.
//!
//! A decision later on only makes pinned entries decided, so that all readers see them, with the
//! same order of numbers. Entries of a transaction that was rolled back are among those; what
//! restores the older values is newer and was decided at the same instant.
//!
//! With timestamps, versions with different ones are different keys. Only those below the limit
//! of the history count as versions of one key: of these the newest decides for all, and operands
//! among them are merged under its timestamp. Range tombstones delete, and go, below the limit
//! only. Sequence numbers stay as they are. A job that trims the history drops what is newer than a
//! time (`history_upto`), as if it had never been written.
//!
//! References to blobs, wide columns and values with a preferred sequence number are values,
//! and are kept as they are. A blob is read when its value is needed: by a filter, by a merge,
//! or because it is to leave its file (`blobs`). Where the value is stored then, in the table or in
//! a new blob file, makes no difference to readers, so that pinned entries move, too.
//!
//! `rules` has what the rules depend on, and the rules about a single entry; `folds` merges
//! operands; `single` handles single deletions; `blobs` moves values out of old blob files.

mod blobs;
mod folds;
mod rules;
mod single;

pub(crate) use rules::{Drops, Rules, Tombstones};

use super::blob_flow::BlobFlow;
use super::source::Source;
use crate::entry::columns::{columns_of, in_place};
use crate::operators::compaction_filter::{ActiveFilter, Verdict};
use crate::stats::{StatsLevel, Ticker};
use std::collections::VecDeque;
use whitewater_concurrent::system;
use whitewater_storage::entity;
use whitewater_storage::key::{
    SequenceNumber, ValueType, append_internal_key, internal_key, parse_internal_key,
};
use whitewater_storage::manifest::BlobGarbage;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// The location of the current output entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// There is none.
    End,
    /// At the front of `ready`.
    Ready,
    /// The source's entry, unchanged.
    Source,
    /// The source's entry with the key in `zeroed`.
    Zeroed,
}

/// The entries of a merged stream that must be written.
///
/// Positioned by [`CompactionIter::seek_to_first`]. It only moves forward.
pub(crate) struct CompactionIter<'a> {
    rules: Rules<'a>,
    filter: Option<ActiveFilter<'a>>,
    source: Source<'a>,
    at: At,
    /// Entries that were decided while looking ahead.
    ready: VecDeque<(Vec<u8>, Vec<u8>)>,
    zeroed: Vec<u8>,
    /// The current user key, once there is one.
    user_key: Option<Vec<u8>>,
    /// Whether nothing of the current key was consumed yet.
    first: bool,
    /// The stripe of the current key that needs no more entries.
    settled: Option<usize>,
    /// Tombstones of the current key with nothing below them. They are needed only if an older
    /// entry of the key is kept. Nothing pinned is older (I5).
    forgotten: Vec<Vec<u8>>,
    drops: Drops,
}

impl<'a> CompactionIter<'a> {
    /// Applies `rules` to `source`, and `filter` to what they keep.
    pub fn new(rules: Rules<'a>, filter: Option<ActiveFilter<'a>>, source: Source<'a>) -> Self {
        CompactionIter {
            rules,
            filter,
            source,
            at: At::End,
            ready: VecDeque::new(),
            zeroed: Vec::new(),
            user_key: None,
            first: false,
            settled: None,
            forgotten: Vec::new(),
            drops: Drops::default(),
        }
    }

    /// Moves to the first entry.
    ///
    /// # Errors
    /// Errors of the source; `Corruption` for keys that cannot be read.
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

    /// Whether the entry comes from a block that was cached. An entry that was decided while
    /// looking ahead counts as the one after it.
    pub fn is_cached(&self) -> bool {
        self.source.valid() && self.source.is_cached()
    }

    /// Moves to the next entry.
    ///
    /// # Errors
    /// The same as [`CompactionIter::seek_to_first`], and errors of the merge operator.
    pub fn next(&mut self) -> Result<()> {
        match self.at {
            At::Source | At::Zeroed => self.consume(),
            At::Ready => _ = self.ready.pop_front(),
            At::End => return Ok(()),
        }
        self.advance()
    }

    /// The number of entries read from the source so far; all of them at the end.
    pub fn consumed(&self) -> u64 {
        self.source.consumed()
    }

    /// The blobs that the entries read refer to and that `kept` does not refer to.
    pub fn garbage(&self, kept: &BlobFlow) -> Vec<BlobGarbage> {
        self.source
            .blobs()
            .map_or_else(Vec::new, |read| read.garbage(kept))
    }

    /// The size of the keys and values of the entries read. Bytes.
    pub fn consumed_bytes(&self) -> u64 {
        self.source.consumed_bytes()
    }

    /// The entries dropped so far, without range tombstones.
    pub fn drops(&self) -> Drops {
        Drops {
            filtered: self.filter.as_ref().map_or(0, ActiveFilter::removed),
            ..self.drops
        }
    }

    fn consume(&mut self) {
        self.first = false;
        self.source.next();
    }

    /// Finds the next entry to return, starting at the source's current entry.
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
            let same =
                (self.user_key.as_deref()).is_some_and(|key| self.rules.same(key, entry.user_key));
            // In other orders, keys with different bytes may be equal.
            if !same || !self.rules.comparator.user.is_builtin() {
                let buffer = self.user_key.get_or_insert_default();
                buffer.clear();
                buffer.extend_from_slice(entry.user_key);
            }
            if !same {
                self.first = true;
                self.settled = None;
                self.forgotten.clear();
            }
            let stripe = self.rules.stripe(seq);
            if self.rules.is_pinned(seq) {
                planted!(UndecidedDropped => { self.consume(); continue });
                planted!(HiddenByUndecidedDropped => self.settled = Some(stripe));
                if let Some((ty, value)) = self.moved_out(ty)? {
                    // Nothing pinned is older than a forgotten tombstone (I5).
                    let key = internal_key(self.current_key(), seq, ty);
                    self.ready.push_back((key, value));
                    self.consume();
                    continue;
                }
                self.at = At::Source;
                return Ok(());
            }
            if self.rules.is_too_new(self.current_key()) {
                self.drops.too_new += 1;
                self.consume();
                continue;
            }
            let hidden = self.settled == Some(stripe);
            let mut meets_value = ty == ValueType::SingleDeletion;
            planted!(HiddenSingleDeleteDropped => meets_value = false);
            if self.rules.covered(self.current_key(), seq, stripe) {
                self.drops.range_deleted += 1;
                self.consume();
            } else if hidden && meets_value {
                // Something newer hides it from readers, but it must still meet its value, possibly
                // in a deeper level: when the newer value meets a single deletion too, the older
                // one must not show.
                self.single_delete(stripe, false)?;
            } else if hidden {
                self.drops.hidden += 1;
                self.consume();
            } else if self.decide(seq, ty, stripe)? {
                return Ok(());
            }
        }
    }

    fn current_key(&self) -> &[u8] {
        self.user_key.as_deref().unwrap_or_default()
    }

    /// Decides about the source's entry, which is the newest of its stripe that counts. Returns
    /// whether it is the next to return. Otherwise it was consumed, or something was put before it
    /// in `ready`.
    fn decide(&mut self, seq: SequenceNumber, ty: ValueType, stripe: usize) -> Result<bool> {
        let asks = matches!(
            ty,
            ValueType::Value | ValueType::BlobIndex | ValueType::WideColumnEntity
        );
        if asks && self.first && self.filtered(seq, ty, stripe)? {
            return Ok(false);
        }
        match ty {
            _ if self.is_deletion(ty)
                && !self.rules.is_asked_for(seq)
                && self.rules.nothing_below(self.current_key()) =>
            {
                self.settled = Some(stripe);
                let key = self.source.key().to_vec();
                self.forget_tombstone(key, stripe);
                self.consume();
                return Ok(false);
            }
            ValueType::SingleDeletion => {
                let asked_for = self.rules.is_asked_for(seq);
                return self.single_delete(stripe, asked_for).map(|()| false);
            }
            ValueType::Merge => {
                let mut all_see_it = self.rules.is_for_all(self.current_key());
                planted!(MergedAboveHistory => all_see_it = true);
                if let Some(operator) = self.rules.merge_operator
                    && all_see_it
                {
                    return self.merge(operator, seq, stripe).map(|()| false);
                }
            }
            ValueType::RangeDeletion => {
                return Err(Error::corruption("range tombstone among the points"));
            }
            _ => {}
        }
        if self.release_forgotten() {
            return Ok(false);
        }
        if ty != ValueType::Merge {
            self.settled = Some(stripe);
        }
        if let Some((ty, value)) = self.moved_out(ty)? {
            let seq = if self.can_zero(stripe, seq) { 0 } else { seq };
            let key = internal_key(self.current_key(), seq, ty);
            self.give(key, value);
            self.consume();
            return Ok(false);
        }
        self.at = At::Source;
        // A preferred sequence number needs the entry's own number.
        let can_zero = is_value(ty) && ty != ValueType::ValuePreferredSeqno;
        if can_zero && self.can_zero(stripe, seq) && seq != 0 {
            self.zeroed.clear();
            let user_key = self.user_key.as_deref().unwrap_or_default();
            append_internal_key(&mut self.zeroed, user_key, 0, ty as u8);
            self.at = At::Zeroed;
        }
        Ok(true)
    }

    /// Whether an entry of type `ty` of the current key deletes what is older, and is needed only
    /// as long as something older exists.
    fn is_deletion(&self, ty: ValueType) -> bool {
        match ty {
            ValueType::Deletion => true,
            ValueType::DeletionWithTimestamp => self.rules.is_history(self.current_key()),
            _ => false,
        }
    }

    /// Asks the filter about the source's value, which is the newest entry of its key. Returns
    /// whether it was consumed.
    fn filtered(&mut self, seq: SequenceNumber, ty: ValueType, stripe: usize) -> Result<bool> {
        let verdict = self.verdict(ty)?;
        let user_key = self.user_key.as_deref().unwrap_or_default();
        match verdict {
            Verdict::Keep => return Ok(false),
            Verdict::Remove => {
                let ty = if self.rules.has_timestamps() {
                    ValueType::DeletionWithTimestamp
                } else {
                    ValueType::Deletion
                };
                let tombstone = internal_key(user_key, seq, ty);
                let needless = !self.rules.is_asked_for(seq)
                    && (!self.rules.has_timestamps() || self.rules.is_history(user_key));
                if needless && self.rules.nothing_below(user_key) {
                    self.forget_tombstone(tombstone, stripe);
                } else {
                    self.give(tombstone, Vec::new());
                }
            }
            Verdict::Change(value) => {
                let seq = if self.can_zero(stripe, seq) { 0 } else { seq };
                let user_key = self.user_key.as_deref().unwrap_or_default();
                self.give(
                    internal_key(user_key, seq, ValueType::Value),
                    value.to_vec(),
                );
            }
            Verdict::Entity(entity) => {
                let seq = if self.can_zero(stripe, seq) { 0 } else { seq };
                let key = internal_key(self.current_key(), seq, ValueType::WideColumnEntity);
                self.give(key, entity);
            }
        }
        self.settled = Some(stripe);
        self.consume();
        Ok(true)
    }

    /// Asks the filter, if there is one, about the source's entry, of type `ty`. What is in a blob
    /// file that is not read stays.
    fn verdict(&mut self, ty: ValueType) -> Result<Verdict> {
        let Some(filter) = &mut self.filter else {
            return Ok(Verdict::Keep);
        };
        let user_key = self.user_key.as_deref().unwrap_or_default();
        let stored = self.source.value();
        let is_entity = ty == ValueType::WideColumnEntity;
        let elsewhere = ty == ValueType::BlobIndex || is_entity && entity::shape(stored)?.has_blobs;
        let read = match self.rules.blobs {
            _ if !elsewhere => None,
            None => return Ok(Verdict::Keep),
            Some(blobs) if is_entity => Some(in_place(user_key, stored, blobs)?.into()),
            Some(blobs) => Some(blobs.read(user_key, stored)?),
        };
        let value = read.as_deref().unwrap_or(stored);
        let timed = (self.rules.statistics).filter(|s| s.includes(StatsLevel::ExceptTimeForMutex));
        let start = timed.map(|_| system::now());
        let verdict = match is_entity {
            true => filter.decide_entity(user_key, &columns_of(value)),
            false => filter.decide(user_key, value),
        }?;
        if let (Some(statistics), Some(start)) = (timed, start) {
            let nanos = u64::try_from(system::since(start).as_nanos()).unwrap_or(u64::MAX);
            statistics.add(Ticker::FilterOperationTotalTime, nanos);
        }
        Ok(verdict)
    }

    /// Whether a value with the number `seq`, in `stripe`, is the only one of its key and will stay
    /// so, and nobody asks for its number.
    fn can_zero(&self, stripe: usize, seq: SequenceNumber) -> bool {
        let mut bottommost = self.rules.bottommost;
        planted!(NumberZeroedEarly => bottommost = true);
        bottommost && stripe == 0 && !self.rules.is_asked_for(seq) && !self.rules.has_timestamps()
    }

    /// Drops a tombstone with nothing below it, unless an older entry of its key turns out to be
    /// kept for a snapshot.
    fn forget_tombstone(&mut self, key: Vec<u8>, stripe: usize) {
        self.drops.obsolete += 1;
        self.drops.early += u64::from(!self.rules.bottommost);
        if stripe > 0 {
            self.forgotten.push(key);
        }
    }

    /// Emits the forgotten tombstones, which turn out to be needed.
    fn release_forgotten(&mut self) -> bool {
        let n = self.forgotten.len() as u64;
        self.drops.obsolete -= n;
        self.drops.early -= if self.rules.bottommost { 0 } else { n };
        let needed = self.forgotten.drain(..).map(|key| (key, Vec::new()));
        self.ready.extend(needed);
        !self.ready.is_empty()
    }

    fn give(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.release_forgotten();
        self.ready.push_back((key, value));
    }

    /// Whether the source's entry belongs to the current key and is pinned.
    fn is_above_pinned(&self) -> Result<bool> {
        let next = self.same_key()?;
        Ok(next.is_some_and(|(seq, _)| self.rules.is_pinned(seq)))
    }

    /// The source's entry, if it belongs to the current key.
    fn same_key(&self) -> Result<Option<(SequenceNumber, ValueType)>> {
        if !self.source.valid() {
            self.source.status()?;
            return Ok(None);
        }
        let entry = parse_internal_key(self.source.key())?;
        let same = self.rules.same(self.current_key(), entry.user_key);
        Ok(same.then_some((entry.seq, entry.ty)))
    }

    /// The source's entry, if it belongs to the current key and the stripe and is not pinned: its
    /// type, and whether a range tombstone of the stripe covers it.
    fn same_stripe(&self, stripe: usize) -> Result<Option<(ValueType, bool)>> {
        let found = self.same_key()?;
        let counts = |seq| self.rules.stripe(seq) == stripe && !self.rules.is_pinned(seq);
        let found = found.filter(|(seq, _)| counts(*seq));
        Ok(found.map(|(seq, ty)| (ty, self.rules.covered(self.current_key(), seq, stripe))))
    }
}

/// Whether entries of type `ty` give their key a value.
fn is_value(ty: ValueType) -> bool {
    matches!(
        ty,
        ValueType::Value
            | ValueType::BlobIndex
            | ValueType::WideColumnEntity
            | ValueType::ValuePreferredSeqno
    )
}

#[cfg(test)]
mod tests;
