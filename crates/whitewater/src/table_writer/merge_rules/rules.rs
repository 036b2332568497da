//! What the rules depend on, and the rules about a single entry.

use crate::entry::blobs::Blobs;
use crate::entry::range_tombstones::{FragmentedTombstones, Upto};
use crate::operators::merge::MergeOperator;
use crate::stats::Statistics;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::{AddAssign, Bound};
use whitewater_concurrent::undecided::UndecidedRanges;
use whitewater_storage::key::{InternalComparator, MAX_SEQUENCE, SequenceNumber, UserComparator};
use whitewater_storage::planted;
use whitewater_storage::rangedel::RangeTombstone;

/// What the rules depend on.
pub(crate) struct Rules<'a> {
    pub comparator: &'a InternalComparator,
    /// The sequence numbers of live snapshots, ascending.
    pub snapshots: &'a [SequenceNumber],
    /// The oldest write-conflict boundary, but below everything pinned; `MAX_SEQUENCE` without
    /// both.
    pub boundary: SequenceNumber,
    /// The numbers of pinned versions.
    pub pinned: Option<&'a UndecidedRanges>,
    /// The range tombstones of the input.
    pub tombstones: &'a Tombstones,
    /// The name of the column family, for errors.
    pub family: &'a str,
    /// The merge operator. Without one, operands are kept as they are.
    pub merge_operator: Option<&'a dyn MergeOperator>,
    /// Reads the values that entries refer to. Without it they are not read.
    pub blobs: Option<&'a dyn Blobs>,
    /// Values leave blob files that are older than this one.
    pub inline_below: u64,
    /// Whether nothing older than the input exists in its key range.
    pub bottommost: bool,
    /// Returns whether nothing older than the input exists of a user key.
    pub key_not_below: &'a dyn Fn(&[u8]) -> bool,
    /// The statistics that count the work of user code.
    pub statistics: Option<&'a Statistics>,
    /// The limit of the history. Of a key's versions with older timestamps only the newest counts;
    /// empty keeps all.
    pub history_low: &'a [u8],
    /// Versions with later timestamps are dropped, whatever they hide; empty drops none.
    pub history_upto: &'a [u8],
}

impl Rules<'_> {
    /// The stripe of `seq`: the index of the oldest snapshot that sees it.
    pub(super) fn stripe(&self, seq: SequenceNumber) -> usize {
        self.snapshots.partition_point(|&s| s < seq)
    }

    /// Whether an entry with the number `seq` is written as it is, and counts for no other (I4).
    #[inline]
    pub(super) fn is_pinned(&self, seq: SequenceNumber) -> bool {
        (self.pinned).is_some_and(|ranges| ranges.first() <= seq && ranges.contains(seq))
    }

    /// Whether a transaction may ask for a change with the number `seq`, so that the newest of a
    /// key with such a number must be told from older ones (I3), or something pinned may be older
    /// (I5).
    pub(super) fn is_asked_for(&self, seq: SequenceNumber) -> bool {
        seq > self.boundary
    }

    /// Whether nothing older than a tombstone exists that it deletes, now, later and for the
    /// oldest snapshot, and nobody asks for it.
    fn is_range_obsolete(&self, t: &RangeTombstone) -> bool {
        let mut obsolete = self.bottommost && self.stripe(t.seq) == 0;
        planted!(RangeTombstoneDroppedEarly => obsolete = self.stripe(t.seq) == 0);
        obsolete && !self.is_asked_for(t.seq) && self.is_for_all(&t.start)
    }

    /// Whether a range tombstone of the same stripe deletes the entry for all times that are read.
    pub(super) fn covered(&self, user_key: &[u8], seq: SequenceNumber, stripe: usize) -> bool {
        let tombstones = &self.tombstones.decided;
        if tombstones.is_empty() || !self.is_for_all(user_key) {
            return false;
        }
        let mut upto = self.snapshots.get(stripe).copied().unwrap_or(MAX_SEQUENCE);
        planted!(RangeTombstoneOverSnapshot => upto = MAX_SEQUENCE);
        let mut time = match self.has_timestamps() {
            true => Bound::Excluded(self.history_low),
            false => Bound::Unbounded,
        };
        planted!(RangeTombstoneAboveHistory => time = Bound::Unbounded);
        let upto = Upto { seq: upto, time };
        tombstones.max_covering(&self.comparator.user, user_key, upto) > seq
    }

    /// Whether a pinned range tombstone lies between two versions of a key.
    pub(super) fn is_cut_by_pinned(
        &self,
        user_key: &[u8],
        below: SequenceNumber,
        above: SequenceNumber,
    ) -> bool {
        let pinned = &self.tombstones.pinned;
        !pinned.is_empty() && pinned.max_covering(&self.comparator.user, user_key, above) > below
    }

    /// Whether an entry with the user key `next` is an older version of the same key as the entry
    /// with `user_key` before it.
    pub(super) fn same(&self, user_key: &[u8], next: &[u8]) -> bool {
        let user = &self.comparator.user;
        user.compare(user_key, next) == Ordering::Equal
            || self.is_history(user_key)
                && self.is_history(next)
                && user.compare_keys(user_key, next) == Ordering::Equal
    }

    /// Whether the version has a timestamp below the limit of the history.
    pub(super) fn is_history(&self, user_key: &[u8]) -> bool {
        let user = &self.comparator.user;
        let time = user.timestamp(user_key);
        !self.history_low.is_empty()
            && time.len() == self.history_low.len()
            && user.compare_timestamps(time, self.history_low).is_lt()
    }

    /// Whether the version has a timestamp that is later than what is kept.
    pub(super) fn is_too_new(&self, user_key: &[u8]) -> bool {
        let user = &self.comparator.user;
        !self.history_upto.is_empty()
            && user
                .compare_timestamps(user.timestamp(user_key), self.history_upto)
                .is_gt()
    }

    /// Whether the readers of all times that are read see the version, or keys have no timestamps.
    pub(super) fn is_for_all(&self, user_key: &[u8]) -> bool {
        !self.has_timestamps() || self.is_history(user_key)
    }

    pub(super) fn has_timestamps(&self) -> bool {
        self.comparator.user.timestamp_size() > 0
    }

    pub(super) fn nothing_below(&self, user_key: &[u8]) -> bool {
        planted!(TombstoneDroppedEarly => return true);
        self.bottommost || (self.key_not_below)(user_key)
    }

    /// The number of fragments of range tombstones that have nothing left to delete.
    pub fn obsolete_tombstones(&self) -> u64 {
        let pieces = self.tombstones.decided.iter(&self.comparator.user);
        pieces.filter(|t| self.is_range_obsolete(t)).count() as u64
    }

    /// The range tombstones that must be written, by start key. They may overlap. Of those that
    /// cover the same keys in the same stripe only the newest is kept, and with timestamps the
    /// newest below the limit of the history; at the bottom the oldest stripe needs none, but those
    /// that a transaction may ask for. Pinned ones are all kept.
    pub fn kept_tombstones(&self) -> Vec<RangeTombstone> {
        let user = &self.comparator.user;
        let mut kept: Vec<RangeTombstone> = Vec::new();
        // The last piece of each number, which grows when the next piece is adjacent.
        let mut growing: HashMap<(SequenceNumber, Vec<u8>), usize> = HashMap::new();
        let mut last: Option<(Vec<u8>, usize)> = None;
        for piece in self.tombstones.decided.iter(user) {
            let stripe = self.stripe(piece.seq);
            if self.is_range_obsolete(&piece) {
                continue;
            }
            let shadowed = (last.as_ref()).is_some_and(|(start, above)| {
                let mut same = *above == stripe && self.is_for_all(start);
                planted!(RangeTombstoneUnderNewer => same = true);
                let same_keys =
                    user.without_timestamp(start) == user.without_timestamp(&piece.start);
                same && same_keys && self.is_for_all(&piece.start)
            });
            if shadowed {
                continue;
            }
            last = Some((piece.start.clone(), stripe));
            let number = (piece.seq, user.timestamp(&piece.start).to_vec());
            match growing.get(&number) {
                Some(&i) if kept[i].end == piece.start => kept[i].end = piece.end,
                _ => {
                    growing.insert(number, kept.len());
                    kept.push(piece);
                }
            }
        }
        if !self.tombstones.pinned.is_empty() {
            kept.extend(self.tombstones.pinned.iter(user));
            kept.sort_by(|a, b| user.compare(&a.start, &b.start));
        }
        kept
    }
}

/// The range tombstones of a job's input.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    decided: FragmentedTombstones,
    pinned: FragmentedTombstones,
}

impl Tombstones {
    /// Sorts out those whose numbers are in `pinned`.
    pub fn new(
        all: Vec<RangeTombstone>,
        pinned: Option<&UndecidedRanges>,
        comparator: &UserComparator,
    ) -> Self {
        let is_pinned = |t: &RangeTombstone| pinned.is_some_and(|ranges| ranges.contains(t.seq));
        let (pinned, decided): (Vec<_>, Vec<_>) = all.into_iter().partition(is_pinned);
        Tombstones {
            decided: FragmentedTombstones::new(&decided, comparator),
            pinned: FragmentedTombstones::new(&pinned, comparator),
        }
    }
}

/// The number of entries that were dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// Entries that a newer entry of the key hides.
    pub hidden: u64,
    /// Tombstones that have nothing left to delete, and the entries that single deletions met.
    pub obsolete: u64,
    /// Among the obsolete, tombstones that need not go to the bottom because no deeper level has
    /// their key.
    pub early: u64,
    /// Entries that a range tombstone deletes.
    pub range_deleted: u64,
    /// Entries that a compaction filter removed.
    pub filtered: u64,
    /// Range tombstones that have nothing left to delete.
    pub range_tombstones: u64,
    /// Versions that are newer than what is kept.
    pub too_new: u64,
}

impl AddAssign for Drops {
    fn add_assign(&mut self, other: Self) {
        self.hidden += other.hidden;
        self.obsolete += other.obsolete;
        self.early += other.early;
        self.range_deleted += other.range_deleted;
        self.filtered += other.filtered;
        self.range_tombstones += other.range_tombstones;
        self.too_new += other.too_new;
    }
}
