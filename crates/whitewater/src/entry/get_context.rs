//! The state of one point look-up, fed newest entry first.
//!
//! Sources are asked from the newest to the oldest. For each of them, the caller first calls
//! [`GetContext::cover`] with the newest visible range tombstone over the key. Then it passes
//! the source's entries of the key, newest first, and only those up to the look-up's sequence
//! number (the context does not know that number). Entries whose writes were undecided are
//! passed over here, so that no source need know of them.

use super::answer::Answer;
use super::blobs::{Blobs, NoBlobs};
use super::payload::{Payload, payload};
use crate::operators::merge::{MergeOperator, Merger, full_merge};
use bytes::Bytes;
use std::ops::Range;
use whitewater_concurrent::undecided::UndecidedRanges;
use whitewater_storage::Result;
use whitewater_storage::key::{ParsedKey, SequenceNumber, ValueType};
use whitewater_storage::planted;
use whitewater_storage::sst::{PinnedValue, TableValue};

/// Called with each operand, newest first: whether older entries are wanted, too.
pub(crate) type WantsMore<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Collects what sources say about one user key, from the newest source to the oldest, until
/// the answer is known.
pub(crate) struct GetContext<'a> {
    user_key: &'a [u8],
    merger: Merger<'a>,
    /// Entries with smaller sequence numbers are deleted by a range tombstone.
    covered_below: SequenceNumber,
    /// Whether range tombstones are ignored.
    ignores_tombstones: bool,
    /// Entries with these numbers are passed over.
    undecided: Option<&'a UndecidedRanges>,
    /// The merge operands found so far, newest first.
    operands: Vec<Bytes>,
    /// What lies below the operands, once that is known.
    base: Option<Base>,
    /// The level of the table that had the answer.
    level: Option<usize>,
    /// Whether the look-up counts for others of its kind.
    is_sampled: bool,
    /// Whether older entries are wanted after an operand, if that is for the caller to say.
    wants_more: Option<WantsMore<'a>>,
    /// Whether values are copied out of blocks.
    copies: bool,
}

enum Base {
    Value(PinnedValue),
    Deleted,
    /// Boxed, because it is rare, and each look-up drops what it has of this type.
    Part(Box<BasePart>),
}

/// A base whose value is in a blob file or only a part of what is stored.
struct BasePart {
    stored: Bytes,
    /// The value, or the index that locates it in a blob file.
    range: Range<usize>,
    is_blob: bool,
    is_entity: bool,
    /// The user key that it is stored under, if that may differ from the one looked up.
    own_key: Option<Vec<u8>>,
}

impl<'a> GetContext<'a> {
    /// A look-up of `user_key`.
    #[inline]
    pub fn new(user_key: &'a [u8], operator: Option<&'a dyn MergeOperator>) -> Self {
        GetContext {
            user_key,
            merger: Merger {
                operator,
                family: "",
                asked_for_key: true,
            },
            covered_below: 0,
            ignores_tombstones: false,
            undecided: None,
            is_sampled: false,
            operands: Vec::new(),
            base: None,
            level: None,
            wants_more: None,
            copies: false,
        }
    }

    /// The same look-up, which ends at an operand for which `wants_more` is false.
    pub fn while_wanted(mut self, wants_more: WantsMore<'a>) -> Self {
        self.wants_more = Some(wants_more);
        self
    }

    /// The same look-up, with errors that name the column family.
    #[inline]
    pub fn of_family(mut self, family: &'a str) -> Self {
        self.merger.family = family;
        self
    }

    /// Records that a table of `level` had the answer.
    pub fn found_at(&mut self, level: usize) {
        self.level = Some(level);
    }

    /// The level of the table that had the answer, if a table had it.
    pub fn level(&self) -> Option<usize> {
        self.level
    }

    /// The number of merge operands found.
    pub fn num_operands(&self) -> usize {
        self.operands.len()
    }

    /// The same look-up, which ignores range tombstones if `ignored`.
    #[inline]
    pub fn ignoring_tombstones(mut self, ignored: bool) -> Self {
        self.ignores_tombstones = ignored;
        self
    }

    /// The same look-up, which passes over entries with the numbers of `undecided`. (Not over range
    /// tombstones: databases that have such numbers take none.)
    #[inline]
    pub fn passing_over(mut self, undecided: Option<&'a UndecidedRanges>) -> Self {
        self.undecided = undecided;
        self
    }

    /// Lets the look-up count for others of its kind (`read::sampling`).
    #[inline]
    pub fn sampled(mut self, is_sampled: bool) -> Self {
        self.is_sampled = is_sampled;
        self
    }

    /// The same look-up, which copies values out of blocks if `copies`, instead of sharing the
    /// memory of the blocks. For answers that are copies anyway.
    #[inline]
    pub fn copying(mut self, copies: bool) -> Self {
        self.copies = copies;
        self
    }

    /// Whether the look-up counts for others of its kind.
    #[inline]
    pub fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    /// Whether it may not look at all entries that another one with its sequence number looks at:
    /// it passes over some, or ends where its caller says.
    #[inline]
    pub fn is_selective(&self) -> bool {
        self.undecided.is_some() || self.wants_more.is_some()
    }

    /// Records that a range tombstone at `seq` covers the key, so that it deletes older entries of
    /// this and later sources. Must be called before the entries of the same source.
    pub fn cover(&mut self, seq: SequenceNumber) {
        if !self.ignores_tombstones {
            self.covered_below = self.covered_below.max(seq);
        }
    }

    /// Whether a range tombstone covers the key. Sources older than the one with the tombstone hold
    /// nothing that is not covered.
    pub fn covered(&self) -> bool {
        self.covered_below > 0
    }

    /// Takes the next older entry. `value` is called only if the entry is kept. Returns whether
    /// older entries are still wanted.
    ///
    /// # Errors
    /// `NotSupported` for entry types that the engine does not read yet; `Corruption` for stored
    /// bytes that do not fit their type.
    #[inline]
    pub fn entry<V: Into<PinnedValue>>(
        &mut self,
        seq: SequenceNumber,
        ty: ValueType,
        value: impl FnOnce() -> V,
    ) -> Result<bool> {
        if self.done() {
            return Ok(false);
        }
        if self.undecided.is_some() && self.is_undecided(seq) {
            return Ok(true);
        }
        let deleted = matches!(
            ty,
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp
        );
        if deleted || seq < self.covered_below {
            self.base = Some(Base::Deleted);
            return Ok(false);
        }
        let value = value().into();
        if ty == ValueType::Value {
            self.base = Some(Base::Value(value));
            return Ok(false);
        }
        self.unusual(ty, value.into_bytes())
    }

    /// [`entry`](Self::entry) of another type than a plain value.
    fn unusual(&mut self, ty: ValueType, stored: Bytes) -> Result<bool> {
        let (range, is_blob) = match payload(ty, &stored)? {
            Payload::Operand => {
                if self
                    .wants_more
                    .is_some_and(|wants_more| !wants_more(&stored))
                {
                    self.base = Some(Base::Deleted); // nothing is wanted below
                }
                self.operands.push(stored);
                return Ok(!self.done());
            }
            Payload::Deletion => {
                self.base = Some(Base::Deleted);
                return Ok(false);
            }
            Payload::Value(range) => (range, false),
            Payload::Blob(range) => (range, true),
        };
        self.base = Some(Base::Part(Box::new(BasePart {
            stored,
            range,
            is_blob,
            is_entity: ty == ValueType::WideColumnEntity,
            own_key: None,
        })));
        Ok(false)
    }

    /// Whether the write of the entry with number `seq` was undecided. Rarely asked, so kept out of
    /// the way of those that need not ask.
    #[cold]
    #[inline(never)]
    fn is_undecided(&self, seq: SequenceNumber) -> bool {
        self.undecided.is_some_and(|ranges| ranges.contains(seq))
    }

    /// The same as [`GetContext::entry`], for an entry of a table.
    #[inline]
    pub fn stored(&mut self, key: ParsedKey<'_>, value: &TableValue<'_>) -> Result<bool> {
        let copies = self.copies;
        self.parsed(key, || match copies {
            true => Bytes::copy_from_slice(value).into(),
            false => value.share(),
        })
    }

    /// The same as [`GetContext::entry`], for a parsed key.
    pub fn parsed<V: Into<PinnedValue>>(
        &mut self,
        key: ParsedKey<'_>,
        value: impl FnOnce() -> V,
    ) -> Result<bool> {
        let more = self.entry(key.seq, key.ty, value)?;
        if let Some(Base::Part(part)) = &mut self.base
            && (part.is_blob || part.is_entity)
            && part.own_key.is_none()
            && key.user_key != self.user_key
        {
            part.own_key = Some(key.user_key.to_vec());
        }
        Ok(more)
    }

    /// Whether the answer is known. If there is an operand but no operator, the answer is an error.
    pub fn done(&self) -> bool {
        self.base.is_some() || (!self.operands.is_empty() && self.merger.operator.is_none())
    }

    /// Whether a wide-column entity lies below the operands.
    pub fn has_entity(&self) -> bool {
        matches!(&self.base, Some(Base::Part(part)) if part.is_entity)
    }

    /// Whether merge operands were found, so that the key exists in some form.
    pub fn has_operands(&self) -> bool {
        !self.operands.is_empty()
    }

    /// The answer of memtables, which refer to no blob file.
    ///
    /// # Errors
    /// The same as [`GetContext::finish_with`].
    pub fn finish(mut self) -> Result<Option<Bytes>> {
        self.finish_with(&NoBlobs)
    }

    /// The answer. If no base was found, pending merge operands are applied to nothing. A value in
    /// a blob file is read from `blobs`. Called once, at the end.
    ///
    /// # Errors
    /// Errors of the merge (see [`full_merge`]) and of reading a blob.
    #[inline]
    pub fn finish_with<A: Answer>(&mut self, blobs: &dyn Blobs) -> Result<Option<A>> {
        if !self.operands.is_empty() && self.merger.operator.is_none() {
            // Nothing is read for a merge that is going to fail.
            let merged = full_merge(self.merger, self.user_key, None, &[])?;
            return Ok(Some(A::of_value(merged.into())));
        }
        let existing = self.take_base(blobs)?;
        if self.operands.is_empty() {
            return Ok(existing);
        }
        let mut operands: Vec<&[u8]> = self.operands.iter().rev().map(|o| &o[..]).collect();
        planted!(OperandsReversed => operands.reverse());
        let base = existing.as_ref().map(A::merge_base);
        let merged = full_merge(self.merger, self.user_key, base, &operands)?;
        Ok(Some(match &existing {
            Some(existing) => existing.with_merged(merged),
            None => A::of_value(merged.into()),
        }))
    }

    /// The operands, oldest first, with the value that they apply to before them, if there is one.
    /// Called once, instead of [`finish_with`](Self::finish_with).
    ///
    /// # Errors
    /// `InvalidArgument` for operands without an operator; errors of reading a blob.
    pub fn finish_operands(&mut self, blobs: &dyn Blobs) -> Result<Vec<Bytes>> {
        if !self.operands.is_empty() && self.merger.operator.is_none() {
            full_merge(self.merger, self.user_key, None, &[])?;
        }
        let base: Option<Bytes> = self.take_base(blobs)?;
        let operands = std::mem::take(&mut self.operands).into_iter().rev();
        Ok(base.into_iter().chain(operands).collect())
    }

    /// What lies below the operands.
    ///
    /// # Errors
    /// Errors of reading a blob.
    #[inline]
    fn take_base<A: Answer>(&mut self, blobs: &dyn Blobs) -> Result<Option<A>> {
        Ok(match self.base.take() {
            Some(Base::Value(value)) => Some(A::of_value(value)),
            Some(Base::Part(part)) => Some(part.answer(self.user_key, blobs)?),
            Some(Base::Deleted) | None => None,
        })
    }
}

impl BasePart {
    /// The answer that the base is, for a look-up of `user_key`.
    ///
    /// # Errors
    /// Errors of reading a blob.
    #[cold]
    fn answer<A: Answer>(self, user_key: &[u8], blobs: &dyn Blobs) -> Result<A> {
        let key = self.own_key.as_deref().unwrap_or(user_key);
        if self.is_entity {
            return A::of_entity(key, self.stored, blobs);
        }
        Ok(A::of_value(match self.is_blob {
            true => blobs.read(key, &self.stored[self.range])?.into(),
            false => self.stored.slice(self.range).into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::range_tombstones::FragmentedTombstones;
    use crate::read::model::{History, KEYS, Outcome};
    use crate::read::testing::{Append, entity_v1};
    use rand::rngs::StdRng;
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};
    use whitewater_storage::key::UserComparator;
    use whitewater_storage::{Error, ErrorKind};

    type Entry<'a> = (u64, ValueType, &'a [u8]);

    fn get(cover: u64, entries: &[Entry<'_>]) -> Result<Option<Bytes>> {
        let mut ctx = GetContext::new(b"k", Some(&Append));
        ctx.cover(cover);
        for &(seq, ty, value) in entries {
            if !ctx.entry(seq, ty, || Bytes::copy_from_slice(value))? {
                assert!(ctx.done());
                break;
            }
        }
        ctx.finish()
    }

    fn found(cover: u64, entries: &[Entry<'_>]) -> Option<Vec<u8>> {
        get(cover, entries).unwrap().map(|v| v.to_vec())
    }

    #[test]
    fn the_newest_entry_decides() {
        use ValueType::*;
        assert_eq!(found(0, &[]), None);
        assert_eq!(
            found(0, &[(5, Value, b"v"), (4, BlobIndex, b"")]),
            Some(b"v".to_vec())
        );
        assert_eq!(found(0, &[(5, Deletion, b""), (4, Value, b"v")]), None);
        assert_eq!(
            found(0, &[(5, SingleDeletion, b""), (4, Value, b"v")]),
            None
        );
        assert_eq!(
            found(0, &[(5, ValuePreferredSeqno, b"v12345678")]),
            Some(b"v".to_vec())
        );
    }

    #[test]
    fn operands_pile_up_until_a_base() {
        use ValueType::*;
        let ops: &[Entry<'_>] = &[(9, Merge, b"c"), (8, Merge, b"b"), (7, Value, b"a")];
        assert_eq!(found(0, ops), Some(b"a,b,c".to_vec()));
        assert_eq!(found(8, ops), Some(b"b,c".to_vec()));
        assert_eq!(found(9, ops), Some(b"c".to_vec()));
        assert_eq!(found(10, ops), None);
        assert_eq!(found(0, &ops[..2]), Some(b"b,c".to_vec()));
        let deleted: &[Entry<'_>] = &[(9, Merge, b"c"), (8, Deletion, b""), (7, Value, b"a")];
        assert_eq!(found(0, deleted), Some(b"c".to_vec()));
    }

    #[test]
    fn entities_read_as_their_default_column() {
        use ValueType::*;
        let full = entity_v1(&[(b"", b"d"), (b"x", b"y")]);
        let bare = entity_v1(&[(b"x", b"y")]);
        assert_eq!(
            found(0, &[(5, WideColumnEntity, &full)]),
            Some(b"d".to_vec())
        );
        assert_eq!(found(0, &[(5, WideColumnEntity, &bare)]), Some(Vec::new()));
        let merged = found(0, &[(6, Merge, b"m"), (5, WideColumnEntity, &full)]);
        assert_eq!(merged, Some(b"d,m".to_vec()));
        let merged = found(0, &[(6, Merge, b"m"), (5, WideColumnEntity, &bare)]);
        assert_eq!(merged, Some(b",m".to_vec()));
    }

    /// The values of blobs by index.
    struct Known;
    impl Blobs for Known {
        fn read(&self, user_key: &[u8], index: &[u8]) -> Result<Bytes> {
            assert_eq!(user_key, b"k");
            match index {
                b"#1" => Ok(Bytes::from_static(b"one")),
                _ => Err(Error::corruption("no such blob")),
            }
        }
    }

    #[test]
    fn references_are_followed_for_values_and_bases() {
        use ValueType::*;
        let get = |entries: &[Entry<'_>]| {
            let mut ctx = GetContext::new(b"k", Some(&Append));
            for &(seq, ty, value) in entries {
                ctx.entry(seq, ty, || Bytes::copy_from_slice(value))
                    .unwrap();
            }
            ctx.finish_with::<Bytes>(&Known)
                .map(|v| v.map(|v| v.to_vec()))
        };
        assert_eq!(get(&[(5, BlobIndex, b"#1")]), Ok(Some(b"one".to_vec())));
        let merged = get(&[(6, Merge, b"m"), (5, BlobIndex, b"#1")]);
        assert_eq!(merged, Ok(Some(b"one,m".to_vec())));
        assert_eq!(get(&[(6, Deletion, b""), (5, BlobIndex, b"#2")]), Ok(None));
        let newer = get(&[(6, Value, b"v"), (5, BlobIndex, b"#2")]);
        assert_eq!(newer, Ok(Some(b"v".to_vec())));
        assert!(get(&[(5, BlobIndex, b"#2")]).is_err());
    }

    #[test]
    fn failures_surface() {
        use ValueType::*;
        let kind = |e: &[Entry<'_>]| get(0, e).unwrap_err().kind();
        assert_eq!(kind(&[(5, BlobIndex, b"")]), ErrorKind::Corruption);
        assert_eq!(
            kind(&[(6, Merge, b"a"), (5, BlobIndex, b"")]),
            ErrorKind::Corruption
        );
        assert_eq!(kind(&[(6, Merge, b"FAIL")]), ErrorKind::Corruption);
        assert_eq!(found(6, &[(5, BlobIndex, b"")]), None);

        let mut ctx = GetContext::new(b"k", None);
        assert_eq!(ctx.entry(3, Merge, || Bytes::from_static(b"m")), Ok(false));
        assert!(ctx.done());
        assert_eq!(ctx.finish().unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    /// What sources say about `user_key`, newest source first, as the engine asks them. Each source
    /// has the sequence numbers from one of `cuts` on.
    fn look_up(history: &History, user_key: &[u8], sequence: u64, cuts: &[u64]) -> Outcome {
        let c = UserComparator::default();
        let mut ctx = GetContext::new(user_key, Some(&Append));
        let mut below = u64::MAX;
        for &cut in cuts {
            let here = |seq: u64| seq >= cut && seq < below && seq <= sequence;
            let mut tombstones = history.tombstones.clone();
            tombstones.retain(|t| here(t.seq));
            let fragments = FragmentedTombstones::new(&tombstones, &c);
            ctx.cover(fragments.max_covering(&c, user_key, sequence));
            let mut entries: Vec<_> = history.entries.iter().collect();
            entries.retain(|e| e.user_key == user_key && here(e.seq));
            entries.sort_by_key(|e| std::cmp::Reverse(e.seq));
            for e in entries {
                let value = || Bytes::copy_from_slice(&e.stored);
                if !ctx.entry(e.seq, e.ty, value).map_err(|e| e.kind())? {
                    break;
                }
            }
            if ctx.done() || ctx.covered() {
                break;
            }
            below = cut;
        }
        let found = ctx.finish().map_err(|e| e.kind())?;
        Ok(found.map(|v| v.to_vec()))
    }

    #[test]
    fn random_look_ups_match_the_model() {
        for seed in 0..6000 {
            let rng = &mut StdRng::seed_from_u64(seed);
            let failures = rng.random();
            let history = History::random(rng, &UserComparator::default(), failures);
            for _ in 0..10 {
                let sequence = rng.random_range(0..=history.last);
                let user_key = KEYS.choose(rng).unwrap();
                let mut cuts: Vec<u64> = (0..rng.random_range(0..4))
                    .map(|_| rng.random_range(0..=history.last))
                    .collect();
                cuts.push(0);
                cuts.sort_by(|a, b| b.cmp(a));
                cuts.dedup();
                let found = look_up(&history, user_key, sequence, &cuts);
                assert_eq!(found, history.get(user_key, sequence), "seed {seed}");
            }
        }
    }
}
