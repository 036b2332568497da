//! From internal keys to user keys and values.
//!
//! [`DbIter`] walks the merged sources and shows, per user key, what the newest entry says that is
//! at or below its sequence number and was not undecided. The two directions are separate
//! ([`forward`], [`reverse`]) because they meet a key's entries in opposite order; both leave the
//! iterator in one of the states of [`Position`].
//!
//! Invariants:
//! * I1: the user keys shown ascend strictly forward and descend strictly backward, whatever
//!   order a damaged source delivers; and a call seeks inside one user key a bounded number of
//!   times. So every call ends.
//! * I2: an iterator that failed shows nothing until it is positioned again; one in which the
//!   user's code panicked never shows anything again.
//! * I3: nothing at or above the upper bound, and nothing below the lower bound, is shown.
//! * I4: an iterator that keeps to a prefix ([`prefix`]) shows nothing outside it, and sources
//!   are asked to keep to the prefix only while the iterator does.
//!
//! `jump` skips what range tombstones delete; `empty` skips what earlier walks have found empty;
//! `versions` handles keys with timestamps; `wide` shows wide columns; `measure` counts and times
//! what calls do; `beneath` serves iterators that show more than the database; `idle` leaves to the
//! next iterator what is worth keeping.

mod beneath;
mod empty;
mod forward;
mod idle;
mod jump;
mod measure;
mod prefix;
mod reverse;
#[cfg(test)]
mod tests;
mod versions;
mod wide;

pub(crate) use beneath::Manner;
pub(crate) use empty::EmptyRangesView;
pub(crate) use prefix::PrefixMode;
pub(crate) use versions::VersionRange;

use super::cover::{Cover, HeldTombstones};
use super::source::Source;
use crate::column_family::{IterBuffers, IteratorBase, SuperVersion};
use crate::operators::merge::{MergeOperator, Operands};
use crate::options::prefix::PrefixExtractor;
use crate::options::read::BlobReads;
use crate::panics::{Guarded, caught};
use crate::perf_context::{self, PerfMetric};
use crate::read::blob::BorrowedBlobs;
use crate::slow_operations::{Call, SlowOperations};
use crate::snapshots::{ReadPoint, SnapshotGuard};
use crate::stats::{Statistics, Ticker};
use empty::Walked;
use prefix::PrefixLimit;
use std::ops::Range;
use std::sync::Arc;
use versions::Shown;
use whitewater_concurrent::undecided::UndecidedRanges;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::coding::copy_short;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::{
    MAX_SEQUENCE, SEEK_TYPE, SequenceNumber, UserComparator, append_internal_key, user_key,
};
use whitewater_storage::planted;
use whitewater_storage::sst::ReadLimits;
use whitewater_storage::{Error, ErrorKind, Result};

/// The number of entries of one user key that are passed one by one before the iterator seeks
/// past the rest (RocksDB's `max_sequential_skip_in_iterations`).
const MAX_SEQUENTIAL_SKIP: u32 = 8;

/// The parts that a [`DbIter`] is made of.
pub(crate) struct DbIterParts {
    /// The merged sources.
    pub source: BoxedIterator,
    /// Whether the only source is a memtable.
    pub only_memtable: bool,
    /// The range tombstones of the sources, in the sources' order.
    pub tombstones: Vec<HeldTombstones>,
    pub comparator: UserComparator,
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// What the sources read; kept alive.
    pub base: Box<IteratorBase>,
    pub buffers: IterBuffers,
    /// Whether the source is left to the next iterator over the view.
    pub leaves_source: bool,
    /// How the values that entries refer to are read.
    pub blob_reads: BlobReads,
    /// Which entries are visible.
    pub point: ReadPoint,
    /// Which versions are shown; set if keys have timestamps.
    pub versions: Option<VersionRange>,
    pub bounds: Bounds,
    pub prefix_extractor: Option<PrefixExtractor>,
    pub prefix_mode: PrefixMode,
    /// The number of internal keys that one call may look at before it fails; 0 is no limit.
    pub max_skippable_internal_keys: u64,
    /// Limits on a walk over keys that are not shown.
    pub limits: ReadLimits,
    /// The database's statistics, if they are on.
    pub statistics: Option<Arc<Statistics>>,
    /// Gets movements that are slow, if those are wanted.
    pub slow: Option<Arc<SlowOperations>>,
    /// What the iterator may pass over at once.
    pub empty_ranges: Option<EmptyRangesView>,
    /// The snapshot that is read; kept alive.
    pub snapshot: Option<Arc<SnapshotGuard>>,
}

/// The positions of the iterator and of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The iterator is not positioned, is past an end, or has failed.
    Nowhere,
    /// The source stands on the entry shown.
    OnEntry,
    /// The entry shown was merged, and the source stands somewhere behind its newest operand.
    BehindOperands,
    /// The iterator goes backward, and the source stands on the last entry before the user key
    /// shown, or before its start.
    BeforeKey,
}

/// Where the value shown is.
#[derive(Debug)]
enum ValueAt {
    /// The whole value of the source.
    Source,
    /// A part of the source's value.
    PartOfSource(Range<usize>),
    /// The value is in `DbIter::buffer`.
    Buffer,
    /// The source's value is a wide-column entity; this part of it is the default column.
    EntityOfSource(Range<usize>),
    /// `DbIter::buffer` has a wide-column entity; this part of it is the default column.
    EntityInBuffer(Range<usize>),
}

/// The iterator behind the public ones. It shows visible user keys with the newest version of
/// each, applies merges, hides tombstones, keeps to bounds, and goes in both directions.
pub(crate) struct DbIter {
    source: Source,
    cover: Cover,
    comparator: UserComparator,
    operator: Option<Arc<dyn MergeOperator>>,
    /// Whether keys are compared, or their prefixes extracted, by the user's code.
    runs_user_code: bool,
    /// The error of a move in which the user's code panicked. The source may be anywhere, so all
    /// later moves fail, too.
    panicked: Option<Error>,
    blob_reads: BlobReads,
    /// Entries with a larger sequence number are not visible.
    sequence: SequenceNumber,
    /// Entries with these numbers are not visible, either.
    undecided: Option<Arc<UndecidedRanges>>,
    /// All entries with smaller numbers are visible. The only number that most entries are
    /// compared with.
    visible_below: SequenceNumber,
    /// Which versions are shown; set if keys have timestamps.
    versions: Option<VersionRange>,
    shown: Shown,
    bounds: Bounds,
    prefix: PrefixLimit,
    skips: SkipLimit,
    position: Position,
    /// The user key shown or being skipped, with its timestamp.
    key: Vec<u8>,
    value: ValueAt,
    /// Holds merged and copied values.
    buffer: Vec<u8>,
    operands: Operands,
    /// The target of seeks; kept to reuse its memory.
    target: Vec<u8>,
    error: Option<Error>,
    /// The number of bytes at the end of each value that are not shown.
    hidden_suffix: usize,
    only_memtable: bool,
    /// Whether most entries are shown after no more than a look at them: nothing but the upper
    /// bound and the sequence number decides about a plain value.
    is_plain: bool,
    empty_ranges: Option<EmptyRangesView>,
    walked: Walked,
    statistics: Option<Arc<Statistics>>,
    slow: Option<Arc<SlowOperations>>,
    /// Whether either of the two is there.
    is_watched: bool,
    /// Whether the source is left to the next iterator.
    leaves_source: bool,
    /// Declared after the source, so that what the source reads from outlives it. Always there,
    /// until the iterator is dropped.
    base: Option<Box<IteratorBase>>,
    _snapshot: Option<Arc<SnapshotGuard>>,
}

impl Drop for DbIter {
    fn drop(&mut self) {
        if let Some(statistics) = &self.statistics {
            statistics.add(Ticker::NoIteratorDeleted, 1);
        }
        if self.leaves_source {
            self.leave_to_the_next();
        }
    }
}

impl DbIter {
    /// An iterator that is not positioned yet.
    pub fn new(parts: DbIterParts) -> Self {
        let sequence = parts.point.sequence;
        let has_empty_ranges = |view: &EmptyRangesView| view.begun_with.is_some();
        let is_plain = parts.tombstones.is_empty()
            && parts.versions.is_none()
            && parts.prefix_mode == PrefixMode::Never
            && parts.comparator.is_builtin()
            && !parts.empty_ranges.as_ref().is_some_and(has_empty_ranges);
        DbIter {
            source: Source::new(parts.source),
            cover: Cover::new(
                parts.tombstones,
                parts.comparator.clone(),
                sequence,
                parts.versions.as_ref().map(|range| range.upto.clone()),
            ),
            runs_user_code: matches!(parts.comparator, UserComparator::Custom(_))
                || (parts.prefix_extractor.as_ref()).is_some_and(PrefixExtractor::runs_user_code),
            panicked: None,
            comparator: parts.comparator,
            operator: parts.merge_operator,
            blob_reads: parts.blob_reads,
            sequence,
            visible_below: parts.point.all_visible_up_to().saturating_add(1),
            undecided: parts.point.undecided,
            versions: parts.versions,
            shown: Shown::default(),
            bounds: parts.bounds,
            prefix: PrefixLimit::new(parts.prefix_extractor, parts.prefix_mode),
            skips: SkipLimit {
                limit: parts.max_skippable_internal_keys,
                seen: 0,
                covered: 0,
                time: parts.limits,
            },
            position: Position::Nowhere,
            key: parts.buffers.key,
            value: ValueAt::Buffer,
            buffer: parts.buffers.value,
            operands: Operands::default(),
            target: parts.buffers.target,
            error: None,
            hidden_suffix: 0,
            only_memtable: parts.only_memtable,
            is_plain,
            empty_ranges: parts.empty_ranges,
            walked: Walked::with_buffers(parts.buffers.first, parts.buffers.last),
            is_watched: parts.statistics.is_some() || parts.slow.is_some(),
            statistics: parts.statistics,
            slow: parts.slow,
            leaves_source: parts.leaves_source,
            base: Some(parts.base),
            _snapshot: parts.snapshot,
        }
    }

    /// What the sources read.
    fn view(&self) -> &SuperVersion {
        &self.base.as_ref().expect("it is in use").view
    }

    /// Whether the iterator stands on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.position != Position::Nowhere
    }

    /// Moves to the first key within bounds.
    pub fn seek_to_first(&mut self) {
        self.measured(Self::go_to_first);
    }

    fn go_to_first(&mut self) {
        self.restart();
        if let Some(lower) = self.bounds.lower() {
            let upto = upto(&self.versions);
            set_target(&mut self.target, lower, upto, self.sequence, SEEK_TYPE);
            self.move_source(|source, target| source.seek(target));
        } else if !self.go_to_end_past_range(true) {
            self.move_source(|source, _| source.seek_to_first());
        }
        let found = self.timed(Self::find_first);
        self.settle(found);
        self.limit_to_prefix_found();
    }

    /// Moves to the last key within bounds.
    pub fn seek_to_last(&mut self) {
        self.measured(|it| {
            it.restart();
            it.find_last();
            it.limit_to_prefix_found();
        });
    }

    /// Shows the last key within bounds.
    fn find_last(&mut self) {
        let bounds = self.bounds.share();
        let found = match bounds.upper() {
            Some(upper) => self.find_before(upper),
            None => {
                if !self.go_to_end_past_range(false) {
                    self.move_source(|source, _| source.seek_to_last());
                }
                self.timed(Self::find_prev)
            }
        };
        self.settle(found);
    }

    /// Moves to the first key at or after `target`.
    pub fn seek(&mut self, target: &[u8]) {
        self.measured(|it| it.go_to(target));
    }

    fn go_to(&mut self, target: &[u8]) {
        self.restart();
        if self.past_upper(target) && !self.source_failed() {
            return;
        }
        let from = match self.bounds.lower() {
            Some(lower) if self.comparator.compare_bounds(target, lower).is_lt() => lower,
            _ => target,
        };
        if self.prefix.sent_to(target, from) {
            self.source.keep_to_prefix(true);
        }
        let upto = upto(&self.versions);
        set_target(&mut self.target, from, upto, self.sequence, SEEK_TYPE);
        let range = self.range_around(user_key(&self.target));
        if range.is_some_and(|range| self.go_past_range(&range, true)) {
            let found = self.timed(Self::find_first);
            return self.settle(found);
        }
        self.go_to_target();
    }

    /// Shows the first key at or after `self.target`.
    fn go_to_target(&mut self) {
        self.move_source(|source, target| source.seek(target));
        let found = self.timed(Self::find_first);
        self.settle(found);
    }

    /// Moves to the first key after `key`, which `before` showed last. If `before` kept to a
    /// prefix, this iterator keeps to it, too.
    pub fn go_on_after(&mut self, key: &[u8], before: &mut DbIter) {
        let limit = std::mem::take(&mut before.prefix);
        let mut is_there = false;
        self.measured(|it| {
            it.restart();
            if it.prefix.go_on_as(limit) {
                it.source.keep_to_prefix(true);
            }
            let upto = upto(&it.versions);
            set_target(&mut it.target, key, upto, it.sequence, SEEK_TYPE);
            it.go_to_target();
            is_there = it.valid() && it.comparator.compare_to_bound(&it.key, key).is_eq();
        });
        if is_there {
            self.next();
        }
    }

    /// Moves to the last key at or before `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.measured(|it| it.go_to_or_before(target));
    }

    fn go_to_or_before(&mut self, target: &[u8]) {
        self.restart();
        let past_upper = self.past_upper(target);
        let from = self.bounds.upper().filter(|_| past_upper);
        if self.prefix.sent_to(target, from.unwrap_or(target)) {
            self.source.keep_to_prefix(true);
        }
        if past_upper {
            return self.find_last();
        }
        let lower = self.bounds.lower();
        if lower.is_some_and(|lower| self.comparator.compare_bounds(target, lower).is_lt())
            && !self.source_failed()
        {
            return;
        }
        self.go_to_before(target);
    }

    /// Shows the last key at or before `target`.
    fn go_to_before(&mut self, target: &[u8]) {
        let range = self.range_around(target);
        if range.is_some_and(|range| self.go_past_range(&range, false)) {
            let found = self.timed(Self::find_prev);
            return self.settle(found);
        }
        // The last internal key that a user key can have.
        let oldest = self.comparator.last_version(target);
        set_target(&mut self.target, &oldest, &[], 0, 0);
        self.move_source(|source, target| source.seek_for_prev(target));
        let found = self.timed(Self::find_prev);
        self.settle(found);
    }

    /// Runs a move. If the user's code panics in it, the iterator has failed for good.
    #[cold]
    fn catching(&mut self, moves: impl FnOnce(&mut Self)) {
        let outcome = match &self.panicked {
            Some(e) => Err(e.clone()),
            None => caught(Guarded::Comparator("a step of an iterator"), || {
                moves(self);
                Ok(())
            }),
        };
        if let Err(e) = outcome {
            self.position = Position::Nowhere;
            self.error = Some(e.clone());
            self.panicked = Some(e);
        }
    }

    /// Moves forward. Has no effect when not valid.
    pub fn next(&mut self) {
        if self.runs_user_code {
            return self.catching(Self::next_watched);
        }
        self.next_watched();
    }

    #[inline(always)]
    fn next_watched(&mut self) {
        if self.is_watched {
            let tickers = [Ticker::NumberDbNext, Ticker::NumberDbNextFound];
            return self.watched_step(Call::Next, tickers, Self::next_measured);
        }
        self.next_measured();
    }

    #[inline(always)]
    fn next_measured(&mut self) {
        if perf_context::counts() {
            return self.measured_step(PerfMetric::NextOnMemtableCount, Self::step_forward);
        }
        self.step_forward();
    }

    #[inline(always)]
    fn step_forward(&mut self) {
        self.skips.begin();
        match self.position {
            Position::Nowhere => return,
            Position::OnEntry => {
                let moved = self.source.advance_key();
                if self.is_plain && self.show_at_once(moved) {
                    return;
                }
            }
            Position::BehindOperands => {}
            Position::BeforeKey => self.seek_past_key(),
        }
        let found = self.find_next();
        self.settle(found);
    }

    /// Moves backward. Has no effect when not valid.
    pub fn prev(&mut self) {
        if self.runs_user_code {
            return self.catching(Self::prev_watched);
        }
        self.prev_watched();
    }

    #[inline(always)]
    fn prev_watched(&mut self) {
        if self.is_watched {
            let tickers = [Ticker::NumberDbPrev, Ticker::NumberDbPrevFound];
            return self.watched_step(Call::Prev, tickers, Self::prev_measured);
        }
        self.prev_measured();
    }

    #[inline(always)]
    fn prev_measured(&mut self) {
        if perf_context::counts() {
            return self.measured_step(PerfMetric::PrevOnMemtableCount, Self::step_backward);
        }
        self.step_backward();
    }

    #[inline(always)]
    fn step_backward(&mut self) {
        self.skips.begin();
        let found = match self.position {
            Position::Nowhere => return,
            Position::BeforeKey => self.find_prev(),
            Position::OnEntry | Position::BehindOperands => {
                self.leave_key().and_then(|()| self.find_prev())
            }
        };
        self.settle(found);
    }

    /// The user key, when valid.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        self.valid().then(|| self.key_shown())
    }

    /// The value, when valid, without its hidden suffix.
    #[inline]
    pub fn value(&self) -> Option<&[u8]> {
        let value = self.valid().then(|| self.whole_value())?;
        Some(&value[..value.len().saturating_sub(self.hidden_suffix)])
    }

    fn whole_value(&self) -> &[u8] {
        match &self.value {
            ValueAt::Source => self.source.value(),
            ValueAt::PartOfSource(range) | ValueAt::EntityOfSource(range) => {
                &self.source.value()[range.clone()]
            }
            ValueAt::Buffer => &self.buffer,
            ValueAt::EntityInBuffer(range) => &self.buffer[range.clone()],
        }
    }

    /// Hides the last `bytes` bytes of values from the caller.
    pub fn hide_suffix(&mut self, bytes: usize) {
        self.hidden_suffix = bytes;
    }

    /// The first failure since the iterator was last positioned.
    pub fn status(&self) -> Result<()> {
        match &self.error {
            Some(e) => Err(e.clone()),
            None if self.valid() && self.whole_value().len() < self.hidden_suffix => Err(
                Error::corruption("Error: value's length less than timestamp's"),
            ),
            None if self.valid() => Ok(()),
            None => self.source.status(),
        }
    }

    /// Whether the source still reports the failure of an earlier walk. If so, it must seek even
    /// where a bound already determines what is found. An error that it reports after that concerns
    /// this seek, or it could not be opened at all.
    fn source_failed(&self) -> bool {
        self.source.status().is_err()
    }

    /// Reads the values that entries refer to.
    fn blobs(&self) -> BorrowedBlobs<'_> {
        BorrowedBlobs {
            version: &self.view().version,
            tables: &self.view().tables,
            reads: self.blob_reads,
            ahead: None,
        }
    }

    /// Resets the position and its failure.
    fn restart(&mut self) {
        self.position = Position::Nowhere;
        self.error = None;
        self.skips.begin();
        self.walked.forget();
        if self.prefix.possible() {
            self.prefix.clear();
            self.source.keep_to_prefix(false);
        }
    }

    /// Keeps to the prefix of the key found at an end, if the mode says so.
    fn limit_to_prefix_found(&mut self) {
        if self.valid() {
            self.prefix.found_at_end(&self.key);
        }
    }

    /// Sets the target to the first internal key that `self.key`, or any version of it, can have.
    fn target_first_of_key(&mut self) {
        if self.versions.is_none() || self.shows_all_versions() {
            return set_target(&mut self.target, &self.key, &[], MAX_SEQUENCE, SEEK_TYPE);
        }
        let newest = self.comparator.without_timestamp(&self.key);
        let newest = self.comparator.first_version(newest);
        set_target(&mut self.target, &newest, &[], MAX_SEQUENCE, SEEK_TYPE);
    }

    /// Sets the target to the last internal key that `self.key`, or any version of it, can have.
    fn target_last_of_key(&mut self) {
        if self.versions.is_none() || self.shows_all_versions() {
            return set_target(&mut self.target, &self.key, &[], 0, 0);
        }
        let oldest = self.comparator.without_timestamp(&self.key);
        let oldest = self.comparator.last_version(oldest);
        set_target(&mut self.target, &oldest, &[], 0, 0);
    }

    /// Records the outcome of a movement.
    #[inline]
    fn settle(&mut self, found: Result<Position>) {
        self.position = found.unwrap_or_else(|e| {
            self.error = Some(e);
            Position::Nowhere // upholds I2
        });
        self.show_internal_key();
    }

    /// The outcome of a walk that found the source not valid.
    fn source_ended(&self) -> Result<Position> {
        self.source.status().map(|()| Position::Nowhere)
    }

    fn past_upper(&self, user_key: &[u8]) -> bool {
        (self.bounds.upper())
            .is_some_and(|upper| self.comparator.compare_bounds(user_key, upper).is_ge())
    }

    /// Whether a stored user key is below the lower bound.
    fn below_lower(&self, user_key: &[u8]) -> bool {
        match self.bounds.lower() {
            Some(lower) => self.comparator.compare_to_bound(user_key, lower).is_lt(),
            None => false,
        }
    }
}

/// Whether the stored `user_key` is at or past the exclusive bound `upper`.
#[inline]
fn is_past(comparator: &UserComparator, upper: Option<&[u8]>, user_key: &[u8]) -> bool {
    upper.is_some_and(|upper| {
        let order = comparator.compare_to_bound(user_key, upper);
        planted!(UpperBoundInclusive => return order.is_gt());
        order.is_ge()
    })
}

/// The newest timestamp shown; empty if keys have no timestamps.
fn upto(versions: &Option<VersionRange>) -> &[u8] {
    versions.as_ref().map_or(&[], |range| &range.upto)
}

/// Sets `key` to `to`. Often all keys have one length, and then there is nothing to be made room
/// for.
#[inline(always)]
fn set_key(key: &mut Vec<u8>, to: &[u8]) {
    if key.len() == to.len() {
        copy_short(key, to);
    } else {
        key.clear();
        key.extend_from_slice(to);
    }
}

/// Sets `target` to the internal key of `key` and `timestamp`.
fn set_target(target: &mut Vec<u8>, key: &[u8], timestamp: &[u8], seq: SequenceNumber, ty: u8) {
    target.clear();
    target.reserve(key.len() + timestamp.len() + size_of::<u64>());
    target.extend_from_slice(key);
    append_internal_key(target, timestamp, seq, ty);
}

/// The error for a source that goes back where it must not. Without this check a damaged table
/// could show keys twice, or keep a walk going forever.
#[cold]
fn out_of_order() -> Error {
    Error::corruption("internal keys out of order")
}

/// Counts the internal keys that one call looks at.
struct SkipLimit {
    /// The largest number of keys; 0 is no limit.
    limit: u64,
    /// The number of keys looked at so far.
    seen: u64,
    /// The number of these keys that do not count, because range tombstones delete them.
    covered: u64,
    /// Limits how long the call may take.
    time: ReadLimits,
}

/// The number of internal keys that one call looks at between two looks at the clock.
const KEYS_PER_CLOCK: u64 = 64;

impl SkipLimit {
    /// Whether there is a limit on the number of keys. Without one, a few may be passed uncounted:
    /// they are counted only to look at the clock now and then.
    #[inline]
    fn is_limited(&self) -> bool {
        self.limit > 0
    }

    /// Counts a key.
    #[inline]
    fn count(&mut self) -> Result<()> {
        if self.limit > 0 && self.seen - self.covered > self.limit {
            return Err(Error::new(
                ErrorKind::Incomplete,
                "Too many internal keys skipped.",
            ));
        }
        self.seen += 1;
        self.look_at_clock()
    }

    /// Passes a key that a range tombstone deletes. As in RocksDB, it does not count.
    #[inline]
    fn pass(&mut self) -> Result<()> {
        self.seen += 1;
        self.covered += 1;
        self.look_at_clock()
    }

    #[inline]
    fn look_at_clock(&self) -> Result<()> {
        if self.seen.is_multiple_of(KEYS_PER_CLOCK) {
            return self.check_deadline();
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn check_deadline(&self) -> Result<()> {
        self.time.check_deadline()
    }

    /// Starts over for another call.
    #[inline]
    fn begin(&mut self) {
        (self.seen, self.covered) = (0, 0);
    }
}
