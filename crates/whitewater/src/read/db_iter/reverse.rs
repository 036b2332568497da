//! Moving backward: a key's entries are met oldest first, so all visible ones are read before
//! the key can be shown. This is not needed for sources that go by key.

use super::empty::Pass;
use super::versions::Visibility;
use super::{DbIter, MAX_SEQUENTIAL_SKIP, Position, ValueAt, out_of_order, set_target};
use crate::entry::blobs::Blobs;
use crate::entry::payload::{Payload, payload};
use crate::operators::merge::{Merger, full_merge};
use crate::perf_context::{self, PerfMetric};
use crate::read::source::Source;
use std::cmp::Ordering;
use std::ops::Range;
use whitewater_storage::internal_iterator::KeyCursor;
use whitewater_storage::key::{
    SEEK_TYPE, SequenceNumber, ValueType, pack_tag, parse_internal_key, user_key,
};
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// What the entries of a key that were read so far leave below the collected operands.
enum Base {
    Nothing,
    /// A value, which is in the buffer.
    Value,
    /// A value in a blob file, stored under this user key; the buffer has its index.
    Blob(Vec<u8>),
    /// A wide-column entity, stored under this user key; the buffer has its bytes.
    Entity(Vec<u8>),
    /// A deletion, if deletions are shown, too.
    Tombstone,
    /// An entry that cannot be read. Reading fails unless a newer entry replaces it.
    Unreadable(Error),
}

/// The source as a cursor that goes by key, if it is one and is valid.
#[inline]
fn valid_by_key(source: &mut Source) -> Option<&mut dyn KeyCursor> {
    if source.valid() {
        source.by_key()
    } else {
        None
    }
}

impl DbIter {
    /// Shows the last visible key at or before the source's position, which is the oldest entry of
    /// its user key unless the source goes by key.
    pub(super) fn find_prev(&mut self) -> Result<Position> {
        if self.source.by_key().is_some() {
            return self.find_prev_by_key();
        }
        let may_pass = self.may_pass();
        self.begin_walk();
        while self.source.valid() {
            if may_pass {
                match self.pass_empty_range(false, false)? {
                    Pass::None => {}
                    Pass::Moved => continue,
                    Pass::ToTheBound => return Ok(self.nowhere_backward()),
                }
            }
            let entry = parse_internal_key(self.source.key())?;
            self.key.clear();
            self.key.extend_from_slice(entry.user_key);
            if self.below_lower(&self.key) || self.prefix.excludes(&self.key) {
                return Ok(self.nowhere_backward());
            }
            let seq = entry.seq;
            let covered_below = self.cover.at(&self.key)?;
            if seq < covered_below && self.jump(false) {
                self.skips.pass()?;
                continue;
            }
            // Leaves the source before the key: upholds I1.
            if self.read_key_backward(covered_below)? {
                self.end_walk_backward();
                return Ok(Position::BeforeKey);
            }
            self.note_passed_backward();
            planted!(PrevSkipsKey => if self.source.valid() { self.source.prev() });
            perf_context::count(
                PerfMetric::InternalDeleteSkippedCount,
                u64::from(covered_below == 0),
            );
        }
        let ended = self.source_ended()?;
        self.end_walk_backward();
        Ok(ended)
    }

    /// The outcome of a walk backward that has come to the lower bound, or to the end.
    fn nowhere_backward(&mut self) -> Position {
        self.end_walk_backward();
        Position::Nowhere
    }

    /// The same as [`DbIter::find_prev`] for a source that goes by key: moves from the newest
    /// visible entry of a key to that of the key before.
    fn find_prev_by_key(&mut self) -> Result<Position> {
        let upto = pack_tag(self.sequence, SEEK_TYPE);
        let may_pass = self.may_pass();
        self.begin_walk();
        while self.source.valid() {
            if may_pass {
                match self.pass_empty_range(false, false)? {
                    Pass::None => {}
                    Pass::Moved => continue,
                    Pass::ToTheBound => return Ok(self.nowhere_backward()),
                }
            }
            let Some(source) = self.source.by_key() else {
                break;
            };
            let mut visible = source.newest(upto);
            if self.undecided.is_some() {
                visible = visible && self.pass_over_undecided()?;
            }
            let entry = parse_internal_key(self.source.key())?;
            self.key.clear();
            self.key.extend_from_slice(entry.user_key);
            if self.below_lower(&self.key) || self.prefix.excludes(&self.key) {
                return Ok(self.nowhere_backward());
            }
            let covered_below = self.cover.at(&self.key)?;
            let covered = entry.seq < covered_below;
            if covered {
                self.skips.pass()?
            } else {
                self.skips.count()?
            }
            if visible {
                let (seq, ty) = (entry.seq, entry.ty);
                let position = self.show_from_here(seq, ty, covered_below)?;
                if position != Position::Nowhere {
                    self.end_walk_backward();
                    return Ok(position);
                }
                self.note_passed_backward();
                perf_context::count(PerfMetric::InternalDeleteSkippedCount, u64::from(!covered));
            } else {
                perf_context::count(PerfMetric::InternalRecentSkippedCount, 1);
            }
            if let Some(source) = valid_by_key(&mut self.source) {
                source.prev_key();
            }
        }
        let ended = self.source_ended()?;
        self.end_walk_backward();
        Ok(ended)
    }

    /// Moves, within the user key, from an entry to the newest one that was not undecided, if the
    /// source goes by key. Returns `false`, and stays on the user key, if there is none.
    #[cold]
    fn pass_over_undecided(&mut self) -> Result<bool> {
        loop {
            let entry = parse_internal_key(self.source.key())?;
            if self.visibility(entry.user_key, entry.seq) != Visibility::Undecided {
                return Ok(true);
            }
            let Some(below) = entry.seq.checked_sub(1) else {
                return Ok(false);
            };
            let older = self.source.by_key();
            if !older.is_some_and(|source| source.newest(pack_tag(below, SEEK_TYPE))) {
                return Ok(false);
            }
        }
    }

    /// Moves from an entry of the key shown, or from behind its newest entry, to the last entry
    /// before the key.
    pub(super) fn leave_key(&mut self) -> Result<()> {
        if self.position == Position::OnEntry
            && let Some(source) = self.source.by_key()
        {
            source.prev_key();
            return Ok(());
        }
        self.seek_before_key()
    }

    /// Shows the last visible key before the user key `bound`.
    pub(super) fn find_before(&mut self, bound: &[u8]) -> Result<Position> {
        self.key.clear();
        self.key.extend_from_slice(bound);
        if self.versions.is_some() {
            self.key = self.comparator.first_version(bound);
        }
        self.seek_before_key()?;
        self.find_prev()
    }

    /// Moves the source to the last entry before all entries of `self.key`.
    pub(super) fn seek_before_key(&mut self) -> Result<()> {
        self.target_first_of_key();
        self.source.seek_for_prev(&self.target);
        while self.source.valid() {
            let entry = parse_internal_key(self.source.key())?;
            if self.order(entry.user_key, &self.key).is_lt() {
                return Ok(());
            }
            self.source.prev();
        }
        self.source.status()
    }

    /// Reads the entries of `self.key`, shows the value that they make from the buffer, and returns
    /// whether there is one. The source stands on the oldest entry at first, and before the key at
    /// the end.
    fn read_key_backward(&mut self, covered_below: SequenceNumber) -> Result<bool> {
        let mut base = Base::Nothing;
        self.operands.clear();
        let mut visible = 0;
        while self.on_key_backward(covered_below)? {
            let entry = parse_internal_key(self.source.key())?;
            match self.visibility(entry.user_key, entry.seq) {
                Visibility::Visible => {}
                Visibility::Undecided => {
                    self.source.prev();
                    continue;
                }
                // An entry with a newer timestamp may have been written earlier.
                Visibility::Unpublished if self.versions.is_some() => {
                    self.source.prev();
                    continue;
                }
                Visibility::TooOld => {
                    self.source.prev();
                    continue;
                }
                Visibility::Unpublished | Visibility::TooNew => {
                    self.leave_key_backward(covered_below)?;
                    break;
                }
            }
            if visible == MAX_SEQUENTIAL_SKIP && self.versions.is_none() {
                return self.read_key_by_seek(covered_below);
            }
            perf_context::count(PerfMetric::InternalKeySkippedCount, u64::from(visible > 0));
            visible += 1;
            let (seq, ty) = (entry.seq, entry.ty);
            self.note_version(seq, ty);
            let stored = self.source.value();
            let covered = seq < covered_below;
            let payload = if covered {
                Ok(Payload::Deletion)
            } else {
                payload(ty, stored)
            };
            if payload == Ok(Payload::Operand) && self.shows_all_versions() {
                // What it merges with is in older versions, which the source has passed.
                return self.read_key_by_seek(covered_below);
            }
            if payload == Ok(Payload::Operand) {
                self.operands.push(stored);
            } else {
                self.operands.clear();
                base = if covered {
                    Base::Nothing
                } else {
                    self.base_of(ty, payload)
                };
            }
            self.source.prev();
        }
        self.combine(base)
    }

    /// The base that the source's entry, of type `ty`, is. Puts what is needed of it into the
    /// buffer.
    fn base_of(&mut self, ty: ValueType, payload: Result<Payload>) -> Base {
        let stored = self.source.value();
        let entry_key = || user_key(self.source.key()).to_vec();
        let (part, base) = match payload {
            Ok(Payload::Value(_) | Payload::Blob(_)) if ty == ValueType::WideColumnEntity => {
                (stored, Base::Entity(entry_key()))
            }
            Ok(Payload::Value(range)) => (&stored[range], Base::Value),
            Ok(Payload::Blob(range)) => (&stored[range], Base::Blob(entry_key())),
            Ok(Payload::Deletion) if self.shows_all_versions() => return Base::Tombstone,
            Ok(_) => return Base::Nothing,
            Err(e) => return Base::Unreadable(e),
        };
        self.buffer.clear();
        self.buffer.extend_from_slice(part);
        base
    }

    /// Combines `base` and the operands into what is shown from the buffer.
    fn combine(&mut self, base: Base) -> Result<bool> {
        self.value = ValueAt::Buffer;
        let exists = match base {
            Base::Unreadable(e) => return Err(e),
            Base::Nothing => false,
            Base::Tombstone if self.operands.is_empty() => {
                self.buffer.clear();
                return Ok(true);
            }
            Base::Tombstone => false,
            Base::Value => true,
            Base::Entity(key) => return self.combine_entity(&key).map(|()| true),
            Base::Blob(key) => {
                let value = self.blobs().read(&key, &self.buffer)?;
                self.buffer.clear();
                self.buffer.extend_from_slice(&value);
                true
            }
        };
        if !self.operands.is_empty() {
            let existing = exists.then_some(&self.buffer[..]);
            let operands = self.operands.in_order();
            let merger = Merger {
                operator: self.operator.as_deref(),
                family: self.view().mem.family(),
                asked_for_key: false,
            };
            let key = self.comparator.without_timestamp(&self.key);
            self.buffer = full_merge(merger, key, existing, &operands)?;
            return Ok(true);
        }
        Ok(exists)
    }

    /// Reads a key with many versions from its newest visible entry.
    fn read_key_by_seek(&mut self, covered_below: SequenceNumber) -> Result<bool> {
        set_target(&mut self.target, &self.key, &[], self.sequence, SEEK_TYPE);
        self.source.seek(&self.target);
        let (seq, ty): (SequenceNumber, _) = loop {
            if !self.source.valid() {
                self.source.status()?;
                return Err(out_of_order()); // it has just been there
            }
            let entry = parse_internal_key(self.source.key())?;
            let same_key = self.comparator.compare(entry.user_key, &self.key).is_eq();
            if !same_key || entry.seq > self.sequence {
                return Err(out_of_order());
            }
            if self.visibility(entry.user_key, entry.seq) == Visibility::Visible {
                break (entry.seq, entry.ty);
            }
            self.source.next();
        };
        self.note_version(seq, ty);
        let position = self.show_from_here(seq, ty, covered_below)?;
        if position == Position::OnEntry {
            match &self.value {
                ValueAt::Source => self.show_copy(0..self.source.value().len()),
                ValueAt::PartOfSource(range) => self.show_copy(range.clone()),
                ValueAt::EntityOfSource(range) => {
                    let default = range.clone();
                    self.show_copy(0..self.source.value().len());
                    self.value = ValueAt::EntityInBuffer(default);
                }
                ValueAt::Buffer | ValueAt::EntityInBuffer(_) => {}
            }
        }
        self.seek_before_key()?;
        Ok(position != Position::Nowhere)
    }

    /// Shows a copy of a part of the source's value.
    fn show_copy(&mut self, part: Range<usize>) {
        self.buffer.clear();
        self.buffer.extend_from_slice(&self.source.value()[part]);
        self.value = ValueAt::Buffer;
    }

    /// Skips the entries of `self.key` that are too new to be visible.
    fn leave_key_backward(&mut self, covered_below: SequenceNumber) -> Result<()> {
        for _ in 0..MAX_SEQUENTIAL_SKIP {
            self.source.prev();
            if !self.on_key_backward(covered_below)? {
                return Ok(());
            }
        }
        self.seek_before_key()
    }

    /// Whether the source, coming from behind, still stands on `self.key`. Entries of the key below
    /// `covered_below` are deleted.
    fn on_key_backward(&mut self, covered_below: SequenceNumber) -> Result<bool> {
        if !self.source.valid() {
            self.source.status()?;
            return Ok(false);
        }
        let entry = parse_internal_key(self.source.key())?;
        match self.order(entry.user_key, &self.key) {
            Ordering::Less => Ok(false),
            Ordering::Equal if entry.seq < covered_below => self.skips.pass().map(|()| true),
            Ordering::Equal => self.skips.count().map(|()| true),
            Ordering::Greater => Err(out_of_order()),
        }
    }
}
