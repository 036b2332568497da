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
//!   merge results, what a filter decided, and sequence numbers that became 0.
//!
//! Where keys have timestamps, versions with different ones are different keys.
//! Only those below the limit of the history count as versions of one key: of
//! these the newest decides for all. Their sequence numbers stay as they are.
//!
//! References to blobs, wide columns and values with a preferred sequence number
//! are values, and are kept as they are. A blob is read where its value is asked
//! for: by a filter, by a merge, and where it is to leave its file.

use super::blob_flow::BlobFlow;
use super::filter::{ActiveFilter, Verdict};
use super::source::Source;
use crate::read::blob::Blobs;
use crate::read::merge::{self, MergeOperator};
use crate::read::payload::{Payload, payload};
use crate::read::rangedel::FragmentedTombstones;
use crate::stats::{Statistics, StatsLevel, Ticker, counted_merge};
use bytes::Bytes;
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::ops::AddAssign;
use std::time::Instant;
use whitewater_storage::blob::BlobIndex;
use whitewater_storage::entity::{self, ColumnValue};
use whitewater_storage::key::{
    InternalComparator, MAX_SEQUENCE, SequenceNumber, ValueType, append_internal_key, internal_key,
    parse_internal_key, user_key,
};
use whitewater_storage::manifest::BlobGarbage;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Error, Result};

/// Merges the operands of a run with the base value that it is given.
type FullMerge<'a> = dyn Fn(Option<&[u8]>) -> Result<Vec<u8>> + 'a;

/// What the rules depend on.
pub(crate) struct Rules<'a> {
    pub comparator: &'a InternalComparator,
    /// Live snapshots, ascending.
    pub snapshots: &'a [SequenceNumber],
    /// The range tombstones of the input.
    pub tombstones: &'a FragmentedTombstones,
    /// Without one, operands are kept as they are.
    pub merge_operator: Option<&'a dyn MergeOperator>,
    /// Where values are that entries refer to. Without it they are not read.
    pub blobs: Option<&'a dyn Blobs>,
    /// Values in older blob files than this one are written in place.
    pub inline_below: u64,
    /// Nothing older than the input exists in its key range.
    pub bottommost: bool,
    /// Whether nothing older than the input exists of this user key.
    pub key_not_below: &'a dyn Fn(&[u8]) -> bool,
    /// Where the work of user code is counted.
    pub statistics: Option<&'a Statistics>,
    /// Of versions of a key with older timestamps only the newest counts;
    /// empty keeps all.
    pub history_low: &'a [u8],
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

    /// Whether an entry with the user key `next` is an older version of what
    /// one with `user_key` before it says.
    fn same(&self, user_key: &[u8], next: &[u8]) -> bool {
        let user = &self.comparator.user;
        user.compare(user_key, next) == Ordering::Equal
            || self.is_history(user_key)
                && self.is_history(next)
                && user.compare_keys(user_key, next) == Ordering::Equal
    }

    /// Whether the version has a timestamp below the limit of the history.
    fn is_history(&self, user_key: &[u8]) -> bool {
        let user = &self.comparator.user;
        let time = &user_key[user.without_timestamp(user_key).len()..];
        !self.history_low.is_empty()
            && time.len() == self.history_low.len()
            && user.compare_timestamps(time, self.history_low).is_lt()
    }

    fn has_timestamps(&self) -> bool {
        self.comparator.user.timestamp_size() > 0
    }

    fn nothing_below(&self, user_key: &[u8]) -> bool {
        self.bottommost || (self.key_not_below)(user_key)
    }

    /// The fragments of range tombstones that have nothing to delete any more.
    pub fn obsolete_tombstones(&self) -> u64 {
        if !self.bottommost {
            return 0;
        }
        let oldest = |piece: &RangeTombstone| self.stripe(piece.seq) == 0;
        self.tombstones.iter().filter(oldest).count() as u64
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

/// Entries that were dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// A newer entry of the key hides them.
    pub hidden: u64,
    /// Tombstones that have nothing to delete any more, and what single
    /// deletions met.
    pub obsolete: u64,
    /// Of these, tombstones that need not go to the bottom: no deeper level
    /// has their key.
    pub early: u64,
    /// A range tombstone deletes them.
    pub range_deleted: u64,
    /// A compaction filter removed them.
    pub filtered: u64,
    /// Range tombstones that have nothing to delete any more.
    pub range_tombstones: u64,
}

impl AddAssign for Drops {
    fn add_assign(&mut self, other: Self) {
        self.hidden += other.hidden;
        self.obsolete += other.obsolete;
        self.early += other.early;
        self.range_deleted += other.range_deleted;
        self.filtered += other.filtered;
        self.range_tombstones += other.range_tombstones;
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
    /// A value to merge with: the source's, of this type.
    Value(ValueType),
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
    filter: Option<ActiveFilter<'a>>,
    source: Source<'a>,
    at: At,
    /// Entries that were decided while looking ahead.
    ready: VecDeque<(Vec<u8>, Vec<u8>)>,
    zeroed: Vec<u8>,
    /// The user key at hand, once there is one.
    user_key: Option<Vec<u8>>,
    /// Nothing of the key at hand was consumed yet.
    first: bool,
    /// The stripe of the key at hand that needs no more entries.
    settled: Option<usize>,
    /// Tombstones of the key at hand that are needed only if an older entry of
    /// the key is kept: nothing lies below.
    undecided: Vec<Vec<u8>>,
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
            undecided: Vec::new(),
            drops: Drops::default(),
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
        self.source.consumed()
    }

    /// What of the blobs that were read of, `kept` does not refer to.
    pub fn garbage(&self, kept: &BlobFlow) -> Vec<BlobGarbage> {
        self.source
            .blobs()
            .map_or_else(Vec::new, |read| read.garbage(kept))
    }

    /// Bytes of the keys and values of these entries.
    pub fn consumed_bytes(&self) -> u64 {
        self.source.consumed_bytes()
    }

    /// Entries dropped so far; range tombstones are not looked at here.
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
            let same =
                (self.user_key.as_deref()).is_some_and(|key| self.rules.same(key, entry.user_key));
            // Other orders may call keys of different bytes the same.
            if !same || !self.rules.comparator.user.is_builtin() {
                let buffer = self.user_key.get_or_insert_default();
                buffer.clear();
                buffer.extend_from_slice(entry.user_key);
            }
            if !same {
                self.first = true;
                self.settled = None;
                self.undecided.clear();
            }
            let stripe = self.rules.stripe(seq);
            let hidden = self.settled == Some(stripe);
            if self.rules.covered(self.current_key(), seq, stripe) {
                self.drops.range_deleted += 1;
                self.consume();
            } else if hidden && ty == ValueType::SingleDeletion {
                // Something newer hides it from readers, but it still has to
                // meet its value, in a deeper level maybe: when the newer value
                // meets a single deletion too, the older one must not show.
                self.single_delete(stripe)?;
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

    /// Decides about the source's entry, the newest of its stripe that counts.
    /// Returns whether it is the next to give; otherwise it was consumed, or
    /// something was put before it in `ready`.
    fn decide(&mut self, seq: SequenceNumber, ty: ValueType, stripe: usize) -> Result<bool> {
        let asks = matches!(ty, ValueType::Value | ValueType::BlobIndex);
        if asks && self.first && self.filtered(seq, ty, stripe)? {
            return Ok(false);
        }
        match ty {
            _ if self.is_deletion(ty) && self.rules.nothing_below(self.current_key()) => {
                self.settled = Some(stripe);
                let key = self.source.key().to_vec();
                self.forget_tombstone(key, stripe);
                self.consume();
                return Ok(false);
            }
            ValueType::SingleDeletion => return self.single_delete(stripe).map(|()| false),
            ValueType::Merge => {
                if let Some(operator) = self.rules.merge_operator
                    && !self.rules.has_timestamps()
                {
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
        if ty == ValueType::BlobIndex
            && let Some(value) = self.value_to_inline()?
        {
            let seq = if self.can_zero(stripe) { 0 } else { seq };
            let key = internal_key(self.current_key(), seq, ValueType::Value);
            self.give(key, value.into());
            self.consume();
            return Ok(false);
        }
        self.at = At::Source;
        // A preferred sequence number goes with the entry's own.
        let can_zero = is_value(ty) && ty != ValueType::ValuePreferredSeqno;
        if can_zero && self.can_zero(stripe) && seq != 0 {
            self.zeroed.clear();
            let user_key = self.user_key.as_deref().unwrap_or_default();
            append_internal_key(&mut self.zeroed, user_key, 0, ty as u8);
            self.at = At::Zeroed;
        }
        Ok(true)
    }

    /// Whether an entry of type `ty` of the key at hand deletes what is older,
    /// and is needed only as long as there is any.
    fn is_deletion(&self, ty: ValueType) -> bool {
        match ty {
            ValueType::Deletion => true,
            ValueType::DeletionWithTimestamp => self.rules.is_history(self.current_key()),
            _ => false,
        }
    }

    /// Asks the filter about the source's value, the newest entry of its key.
    /// Returns whether it was consumed.
    fn filtered(&mut self, seq: SequenceNumber, ty: ValueType, stripe: usize) -> Result<bool> {
        let Some(filter) = &mut self.filter else {
            return Ok(false);
        };
        let user_key = self.user_key.as_deref().unwrap_or_default();
        let stored = self.source.value();
        let in_blob_file = match (ty, self.rules.blobs) {
            (ValueType::BlobIndex, None) => return Ok(false),
            (ValueType::BlobIndex, Some(blobs)) => Some(blobs.read(user_key, stored)?),
            _ => None,
        };
        let timed = (self.rules.statistics).filter(|s| s.includes(StatsLevel::ExceptTimeForMutex));
        let start = timed.map(|_| Instant::now());
        let verdict = filter.decide(user_key, in_blob_file.as_deref().unwrap_or(stored))?;
        if let (Some(statistics), Some(start)) = (timed, start) {
            let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            statistics.add(Ticker::FilterOperationTotalTime, nanos);
        }
        match verdict {
            Verdict::Keep => return Ok(false),
            Verdict::Remove => {
                let ty = match self.rules.has_timestamps() {
                    true => ValueType::DeletionWithTimestamp,
                    false => ValueType::Deletion,
                };
                let tombstone = internal_key(user_key, seq, ty);
                let needless = !self.rules.has_timestamps() || self.rules.is_history(user_key);
                if needless && self.rules.nothing_below(user_key) {
                    self.forget_tombstone(tombstone, stripe);
                } else {
                    self.give(tombstone, Vec::new());
                }
            }
            Verdict::Change(value) => {
                let seq = if self.can_zero(stripe) { 0 } else { seq };
                let user_key = self.user_key.as_deref().unwrap_or_default();
                self.give(
                    internal_key(user_key, seq, ValueType::Value),
                    value.to_vec(),
                );
            }
        }
        self.settled = Some(stripe);
        self.consume();
        Ok(true)
    }

    /// The value that the source's entry refers to, if it is to leave its file.
    fn value_to_inline(&self) -> Result<Option<Bytes>> {
        let Some(blobs) = self.rules.blobs.filter(|_| self.rules.inline_below > 0) else {
            return Ok(None);
        };
        let index = self.source.value();
        match BlobIndex::place(index)?.file < self.rules.inline_below {
            true => blobs.read(self.current_key(), index).map(Some),
            false => Ok(None),
        }
    }

    /// Whether a value in `stripe` is the only one of its key, for good.
    fn can_zero(&self, stripe: usize) -> bool {
        self.rules.bottommost && stripe == 0 && !self.rules.has_timestamps()
    }

    /// Drops a tombstone that has nothing below it, unless an older entry of
    /// its key turns out to be kept for a snapshot.
    fn forget_tombstone(&mut self, key: Vec<u8>, stripe: usize) {
        self.drops.obsolete += 1;
        self.drops.early += u64::from(!self.rules.bottommost);
        if stripe > 0 {
            self.undecided.push(key);
        }
    }

    /// Gives the tombstones that turn out to be needed.
    fn release_undecided(&mut self) -> bool {
        let n = self.undecided.len() as u64;
        self.drops.obsolete -= n;
        self.drops.early -= if self.rules.bottommost { 0 } else { n };
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
        let same = self.rules.same(self.current_key(), entry.user_key);
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
                Some((_, true)) => self.drops.range_deleted += 1,
                Some((ValueType::SingleDeletion, _)) => {
                    self.drops.obsolete += 1;
                    key.clear();
                    key.extend_from_slice(self.source.key());
                }
                // The older tombstone says the same, and more.
                Some((ValueType::Deletion, _)) => {
                    self.drops.obsolete += 1;
                    return Ok(());
                }
                // Undefined by contract; the tombstone still hides the operand.
                Some((ValueType::Merge | ValueType::DeletionWithTimestamp, _)) => {
                    self.give(key, Vec::new());
                    break;
                }
                Some(_) => {
                    self.drops.obsolete += 1;
                    return self.skip_values(stripe);
                }
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
                Some((_, covered)) => {
                    match covered {
                        true => self.drops.range_deleted += 1,
                        false => self.drops.obsolete += 1,
                    }
                    self.consume();
                }
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
                Some((ty, _)) if is_value(ty) => break Base::Value(ty),
                Some(_) => break Base::Unknown,
                None if self.same_key()?.is_some() => break Base::Unknown,
                None if self.rules.nothing_below(self.current_key()) => break Base::Nothing,
                None => break Base::Unknown,
            }
        };
        let operands: Vec<&[u8]> = run.iter().rev().map(|(_, value)| &value[..]).collect();
        let key = self.current_key();
        let full = |existing: Option<&[u8]>| {
            let full = || merge::full_merge(Some(operator), key, existing, &operands);
            match self.rules.statistics {
                Some(statistics) => counted_merge(statistics, full),
                None => full(),
            }
        };
        let merged = match base {
            Base::Value(ty) => self.merge_with_source(ty, &full)?,
            Base::Nothing => Some((ValueType::Value, full(None)?)),
            Base::Unknown => None,
        };
        let Some((ty, value)) = merged else {
            let merged = merge::partial_merge(operator, self.current_key(), &operands)?;
            return self.give_operands(run, merged);
        };
        let seq = if self.can_zero(stripe) { 0 } else { newest };
        let key = internal_key(self.current_key(), seq, ty);
        self.give(key, value);
        self.settled = Some(stripe);
        Ok(())
    }

    /// What `full` makes of the source's value, of type `ty`. With an entity it
    /// is the entity with another default column. `None` for a value in a blob
    /// file that is not read, and for an entity with columns in blob files,
    /// which cannot be written.
    fn merge_with_source(
        &self,
        ty: ValueType,
        full: &FullMerge<'_>,
    ) -> Result<Option<(ValueType, Vec<u8>)>> {
        let stored = self.source.value();
        if ty == ValueType::WideColumnEntity {
            let merged = merge_entity(stored, full)?;
            return Ok(merged.map(|entity| (ty, entity)));
        }
        let value = match payload(ty, stored)? {
            Payload::Blob(range) => match self.rules.blobs {
                // The base may spell its key otherwise than the operands.
                Some(blobs) => {
                    let key = user_key(self.source.key());
                    full(Some(&blobs.read(key, &stored[range])?))
                }
                None => return Ok(None),
            },
            Payload::Value(range) => full(Some(&stored[range])),
            Payload::Operand | Payload::Deletion => {
                Err(Error::corruption("a merge with what is no value"))
            }
        };
        Ok(Some((ValueType::Value, value?)))
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

/// The entity `stored` with what `full` makes of its default column; `None` when
/// columns of it are in blob files.
fn merge_entity(stored: &[u8], full: &FullMerge<'_>) -> Result<Option<Vec<u8>>> {
    let mut columns: Vec<(&[u8], &[u8])> = Vec::new();
    for column in entity::columns(stored)? {
        match column.value {
            ColumnValue::Inline(range) => columns.push((column.name, &stored[range])),
            ColumnValue::Blob(_) => return Ok(None),
        }
    }
    let has_default = columns.first().is_some_and(|(name, _)| name.is_empty());
    if !has_default {
        columns.insert(0, (b"", b""));
    }
    let merged = full(Some(columns[0].1))?;
    columns[0].1 = &merged;
    Ok(Some(entity::encode(&columns)))
}

#[cfg(test)]
mod tests;
