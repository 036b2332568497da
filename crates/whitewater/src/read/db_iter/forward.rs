//! Moving forward: a key's entries are met newest first.

use super::empty::Pass;
use super::versions::Visibility;
use super::{
    DbIter, MAX_SEQUENTIAL_SKIP, Position, ValueAt, is_past, out_of_order, set_key, set_target,
    upto,
};
use crate::entry::blobs::Blobs;
use crate::entry::columns::WideColumns;
use crate::entry::payload::{Payload, payload};
use crate::operators::merge::{Merger, full_merge};
use crate::perf_context::{self, PerfMetric};
use bytes::Bytes;
use std::cmp::Ordering;
use whitewater_storage::Result;
use whitewater_storage::internal_iterator::Moved;
use whitewater_storage::key::{SEEK_TYPE, SequenceNumber, ValueType, parse_internal_key};
use whitewater_storage::planted;

/// What the next entries of the user key in `DbIter::key` are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// No user key is being passed.
    None,
    /// Older versions of a key that was shown or is deleted; they are skipped.
    Older,
    /// Versions that are not visible; a visible one may follow.
    Newer,
}

impl DbIter {
    /// Shows the first visible key from the source's position on.
    pub(super) fn find_first(&mut self) -> Result<Position> {
        self.find_forward(Run::None)
    }

    /// Shows the first visible key after `self.key`. The source stands on an entry of that key or
    /// on the first one behind it.
    pub(super) fn find_next(&mut self) -> Result<Position> {
        self.find_forward(Run::Older)
    }

    /// Passes older versions of the key shown, at most [`MAX_SEQUENTIAL_SKIP`], from where the
    /// source has `moved` on. Shows what comes then if it is a visible value of the next key.
    /// Otherwise the walk has to look closer, from where the source stands. Only if `is_plain`.
    #[inline(always)]
    pub(super) fn show_at_once(&mut self, mut moved: Moved) -> bool {
        for _ in 0..MAX_SEQUENTIAL_SKIP {
            if moved == Moved::Ended {
                return false;
            }
            let Ok(entry) = parse_internal_key(self.source.key()) else {
                return false;
            };
            let key = entry.user_key;
            let order = match moved {
                Moved::NextKey => Ordering::Greater,
                _ => self.comparator.compare(key, &self.key),
            };
            match order {
                Ordering::Greater => {
                    let upper = self.bounds.upper();
                    let shown = entry.ty == ValueType::Value
                        && entry.seq < self.visible_below
                        && !is_past(&self.comparator, upper, key);
                    if shown {
                        set_key(&mut self.key, key);
                        self.value = ValueAt::Source;
                    }
                    return shown;
                }
                Ordering::Equal if !self.skips.is_limited() => {
                    perf_context::count(PerfMetric::InternalKeySkippedCount, 1);
                    moved = self.source.advance_key();
                }
                _ => return false,
            }
        }
        false
    }

    // Long: one loop with an arm for each kind of entry.
    fn find_forward(&mut self, mut run: Run) -> Result<Position> {
        let mut passed = 0;
        let mut sought = false;
        let may_pass = self.may_pass();
        self.begin_walk();
        while self.source.valid() {
            if may_pass {
                match self.pass_empty_range(true, run != Run::None)? {
                    Pass::None => {}
                    Pass::Moved => continue,
                    Pass::ToTheBound => return Ok(self.nowhere_forward()),
                }
            }
            let covered_below = if self.cover.is_empty() {
                0
            } else {
                match self.look_at_cover(run != Run::None)? {
                    Some(covered_below) => covered_below,
                    None => continue,
                }
            };
            let entry = parse_internal_key(self.source.key())?;
            if is_past(&self.comparator, self.bounds.upper(), entry.user_key) {
                return Ok(self.nowhere_forward());
            }
            if self.prefix.excludes(entry.user_key) {
                return Ok(Position::Nowhere);
            }
            let covered = entry.seq < covered_below;
            if covered {
                self.skips.pass()?
            } else {
                self.skips.count()?
            }
            let same_key = match run {
                Run::None => false,
                _ => match self.order(entry.user_key, &self.key) {
                    Ordering::Greater => false,
                    Ordering::Equal => true,
                    Ordering::Less => return Err(out_of_order()),
                },
            };
            if !same_key {
                set_key(&mut self.key, entry.user_key);
                passed = 0;
                sought = false;
            }
            let visibility = self.visibility(entry.user_key, entry.seq);
            if visibility != Visibility::Visible && !(same_key && run == Run::Older) {
                perf_context::count(PerfMetric::InternalRecentSkippedCount, 1);
                run = Run::Newer;
            } else if same_key && run == Run::Older {
                perf_context::count(PerfMetric::InternalKeySkippedCount, u64::from(!covered));
            } else {
                let (seq, ty) = (entry.seq, entry.ty);
                self.note_version(seq, ty);
                let position = if covered {
                    Position::Nowhere
                } else {
                    self.show_from_here(seq, ty, covered_below)?
                };
                if position != Position::Nowhere {
                    self.end_walk();
                    return Ok(position);
                }
                self.note_passed();
                perf_context::count(PerfMetric::InternalDeleteSkippedCount, u64::from(!covered));
                run = Run::Older;
                passed = 0;
                sought = false;
            }
            passed += 1;
            if passed <= MAX_SEQUENTIAL_SKIP || sought {
                match run {
                    Run::Older => _ = self.source.advance_key(),
                    _ => self.source.next(),
                }
                continue;
            }
            sought = true; // upholds I1
            self.skip_by_seek(run, visibility);
        }
        let ended = self.source_ended()?;
        self.end_walk();
        Ok(ended)
    }

    /// The outcome of a walk that has come to the upper bound.
    #[inline]
    fn nowhere_forward(&mut self) -> Position {
        self.end_walk();
        Position::Nowhere
    }

    /// Moves the source on from a hidden entry of `self.key`, by a seek where there may be many
    /// more of them. Kept out of the loop, whose registers it would need.
    #[cold]
    #[inline(never)]
    fn skip_by_seek(&mut self, run: Run, visibility: Visibility) {
        if run == Run::Older {
            self.seek_past_key();
        } else if visibility == Visibility::Undecided {
            // A seek to the iterator's number would lead back.
            self.source.next();
        } else if self.versions.is_none() {
            let mut upto = self.sequence;
            planted!(ReseekTooOld => upto = upto.saturating_sub(1));
            set_target(&mut self.target, &self.key, &[], upto, SEEK_TYPE);
            self.source.seek(&self.target);
        } else if visibility == Visibility::TooNew && !self.shows_all_versions() {
            let key = self.comparator.without_timestamp(&self.key);
            let upto = upto(&self.versions);
            set_target(&mut self.target, key, upto, self.sequence, SEEK_TYPE);
            self.source.seek(&self.target);
        } else {
            self.source.next();
        }
    }

    /// Moves the source behind all but the last possible entry of `self.key`.
    pub(super) fn seek_past_key(&mut self) {
        self.target_last_of_key();
        self.source.seek(&self.target);
    }

    /// Shows `self.key` from its newest visible entry, of sequence number `seq` and type `ty`, on
    /// which the source stands. Returns `Nowhere` if the key is deleted, possibly by the range
    /// tombstone `covered_below`. The source stays on the key or goes to the one behind it.
    #[inline]
    pub(super) fn show_from_here(
        &mut self,
        seq: SequenceNumber,
        ty: ValueType,
        covered_below: SequenceNumber,
    ) -> Result<Position> {
        if seq < covered_below {
            return Ok(Position::Nowhere);
        }
        if ty == ValueType::Value {
            self.value = ValueAt::Source;
            return Ok(Position::OnEntry);
        }
        self.show_payload(ty, covered_below)
    }

    /// [`DbIter::show_from_here`] for an entry that is not covered and not a plain value.
    fn show_payload(&mut self, ty: ValueType, covered_below: SequenceNumber) -> Result<Position> {
        if ty == ValueType::WideColumnEntity {
            return self.show_entity().map(|()| Position::OnEntry);
        }
        match payload(ty, self.source.value())? {
            Payload::Deletion if self.shows_all_versions() => {
                self.buffer.clear();
                self.value = ValueAt::Buffer;
            }
            Payload::Deletion => return Ok(Position::Nowhere),
            Payload::Operand => {
                self.merge_from_here(covered_below)?;
                if self.shows_all_versions() {
                    // The merge went through older versions, which are shown, too.
                    self.seek_past_key();
                }
                return Ok(Position::BehindOperands);
            }
            Payload::Value(range) => self.value = ValueAt::PartOfSource(range),
            Payload::Blob(range) => {
                let index = &self.source.value()[range];
                let value = self.blobs().read(&self.key, index)?;
                self.buffer.clear();
                self.buffer.extend_from_slice(&value);
                self.value = ValueAt::Buffer;
            }
        }
        Ok(Position::OnEntry)
    }

    /// Merges the operands of `self.key` into the buffer. The source stands on the newest operand.
    fn merge_from_here(&mut self, covered_below: SequenceNumber) -> Result<()> {
        self.value = ValueAt::Buffer;
        self.operands.clear();
        self.operands.push(self.source.value());
        let blob;
        let mut base = None;
        let mut columns = None;
        loop {
            self.source.next();
            if !self.source.valid() {
                self.source.status()?;
                break;
            }
            let entry = parse_internal_key(self.source.key())?;
            let is_older = self.is_version_of_key(entry.user_key);
            if !is_older || entry.seq < covered_below {
                break;
            }
            match self.visibility(entry.user_key, entry.seq) {
                // A version is merged with all older ones, whether they are shown or not.
                Visibility::Visible | Visibility::TooOld => {}
                _ => continue,
            }
            if entry.ty == ValueType::WideColumnEntity {
                let stored = Bytes::copy_from_slice(self.source.value());
                columns = Some(WideColumns::decode(entry.user_key, stored, &self.blobs())?);
                break;
            }
            match payload(entry.ty, self.source.value())? {
                Payload::Operand => {
                    self.operands.push(self.source.value());
                    continue;
                }
                Payload::Value(range) => base = Some(&self.source.value()[range]),
                Payload::Blob(range) => {
                    let index = &self.source.value()[range];
                    blob = self.blobs().read(entry.user_key, index)?;
                    base = Some(&blob[..]);
                }
                Payload::Deletion => {}
            }
            break;
        }
        if let Some(columns) = columns {
            let operands = std::mem::take(&mut self.operands);
            let shown = self.show_merged(&columns, &operands.reversed());
            self.operands = operands;
            return shown;
        }
        let operands = self.operands.reversed();
        let merger = Merger {
            operator: self.operator.as_deref(),
            family: self.view().mem.family(),
            asked_for_key: false,
        };
        let key = self.comparator.without_timestamp(&self.key);
        self.buffer = full_merge(merger, key, base, &operands)?;
        Ok(())
    }
}
