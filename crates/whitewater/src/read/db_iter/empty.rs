//! Passing over ranges of keys that are known to be empty, and telling of long walks
//! ([`crate::empty_ranges`]).

use super::{DbIter, is_past, out_of_order, set_key, set_target};
use crate::empty_ranges::{EmptyRange, LONG_WALK, List, Walk};
use std::mem;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::{MAX_SEQUENCE, SEEK_TYPE, parse_internal_key};

/// The ranges that an iterator may use, and what it has walked over in the present call. For
/// iterators that look at all keys, in a built-in order and without timestamps.
pub(crate) struct EmptyRangesView {
    pub cf: u32,
    /// Those that there were when the iterator began.
    pub begun_with: Option<Arc<List>>,
}

/// What an iterator has walked over in one call: deleted keys, and ranges known to be empty.
#[derive(Default)]
pub(super) struct Walked {
    /// Whether `first` and `last` are set.
    begun: bool,
    /// Whether it began before all keys, or behind all if it goes backward.
    from_the_end: bool,
    /// The same two of the walk that is about to begin.
    next_has_begun: bool,
    next_from_the_end: bool,
    /// The key that was passed first, or the end of the first range in the direction of the walk.
    first: Vec<u8>,
    /// Going backward, the key that was passed last.
    last: Vec<u8>,
    /// The number of keys that were passed one by one.
    keys: u64,
    /// The number of entries left before the ranges are looked at again, and how many these were
    /// at first.
    unlooked: u32,
    pause: u32,
}

impl Walked {
    /// A walk that has not begun, whose ends will be in `first` and `last`.
    pub fn with_buffers(first: Vec<u8>, last: Vec<u8>) -> Self {
        Walked {
            first,
            last,
            ..Walked::default()
        }
    }

    /// Forgets what was said of the next walk, in case the last move failed before it began one.
    pub fn forget(&mut self) {
        self.next_has_begun = false;
        self.next_from_the_end = false;
    }

    pub fn buffers(&mut self) -> [&mut Vec<u8>; 2] {
        [&mut self.first, &mut self.last]
    }
}

/// The most entries between two looks at the ranges, each of which takes as long as some steps. It
/// is none at the beginning of a walk, more each time that no range is found, and all of these
/// behind a range.
const MOST_UNLOOKED: u32 = 7;

/// What is done about the range that the source stands in.
pub(super) enum Pass {
    /// It stands in none.
    None,
    /// The source has moved past it.
    Moved,
    /// The rest of what the iterator may show is in it.
    ToTheBound,
}

impl DbIter {
    /// Begins a walk.
    #[inline]
    pub(super) fn begin_walk(&mut self) {
        self.walked.begun = mem::take(&mut self.walked.next_has_begun);
        self.walked.from_the_end = mem::take(&mut self.walked.next_from_the_end);
        self.walked.keys = 0;
        self.walked.unlooked = if self.walked.begun { MOST_UNLOOKED } else { 0 };
        self.walked.pause = 0;
    }

    /// Whether there are ranges to look for.
    #[inline]
    pub(super) fn may_pass(&self) -> bool {
        (self.empty_ranges.as_ref()).is_some_and(|ranges| ranges.begun_with.is_some())
    }

    /// Notes that `self.key` was passed, going forward, because it is deleted.
    #[inline]
    pub(super) fn note_passed(&mut self) {
        if !self.walked.begun {
            self.walked.begun = true;
            set_key(&mut self.walked.first, &self.key);
        }
        self.walked.keys += 1;
    }

    /// The same, going backward.
    #[inline]
    pub(super) fn note_passed_backward(&mut self) {
        self.note_passed();
        set_key(&mut self.walked.last, &self.key);
    }

    /// Ends a walk, forward, before `self.key`: the key found, the last one passed, or, if nothing
    /// came behind a range, any key before.
    #[inline]
    pub(super) fn end_walk(&mut self) {
        if self.walked.begun && (self.walked.keys >= LONG_WALK || self.may_pass()) {
            self.tell_of_walk(true);
        }
    }

    /// The same, backward, after the key that was passed last.
    #[inline]
    pub(super) fn end_walk_backward(&mut self) {
        if self.walked.begun && (self.walked.keys >= LONG_WALK || self.may_pass()) {
            self.tell_of_walk(false);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_walk(&self, forward: bool) {
        let (Some(ranges), None) = (&self.empty_ranges, &self.undecided) else {
            return;
        };
        let (start, end) = if forward {
            (&self.walked.first, &self.key)
        } else {
            (&self.walked.last, &self.walked.first)
        };
        let walk = Walk {
            cf: ranges.cf,
            comparator: &self.comparator,
            start,
            end,
            is_first: forward && self.walked.from_the_end,
            is_last: !forward && self.walked.from_the_end,
            passed: self.walked.keys,
            point: self.sequence,
        };
        let begun_with = ranges.begun_with.as_deref().map_or(&[][..], |list| list);
        self.view().empty_ranges.walked(&walk, begun_with);
    }

    /// The range known to be empty with `user_key` in it, if any.
    #[inline]
    pub(super) fn range_around(&self, user_key: &[u8]) -> Option<Arc<EmptyRange>> {
        let ranges = self.empty_ranges.as_ref()?;
        let list = ranges.begun_with.as_ref()?; // mostly there are none
        let holds = |range: &&Arc<EmptyRange>| {
            range.is_of(ranges.cf) && range.is_empty_at(self.sequence) && range.holds(user_key)
        };
        list.iter().rev().find(holds).cloned()
    }

    /// Moves the source as a move to the first key of all does, or to the last one, but past what
    /// is known to be empty there. Returns `false` and moves nothing if nothing is known.
    pub(super) fn go_to_end_past_range(&mut self, forward: bool) -> bool {
        self.walked.next_from_the_end = true;
        let ranges = self.empty_ranges.as_ref();
        let range = ranges.and_then(|ranges| {
            let list = ranges.begun_with.as_ref()?;
            let known = &self.view().empty_ranges;
            known.at_the_end(list, ranges.cf, forward, self.sequence)
        });
        range.is_some_and(|range| self.go_past_range(&range, forward))
    }

    /// Moves the source to what comes after `range`, and has the next walk begin with the range.
    /// Returns `false` and does nothing if that is beyond the bounds.
    pub(super) fn go_past_range(&mut self, range: &EmptyRange, forward: bool) -> bool {
        let (ahead, behind) = range.edges(forward);
        if self.is_beyond_bound(ahead, forward) {
            return false;
        }
        self.walked.next_has_begun = true;
        set_key(&mut self.walked.first, behind);
        set_key(&mut self.walked.last, ahead);
        self.seek_past(ahead, forward);
        true
    }

    /// Whether nothing beyond the edge of a range may be shown.
    fn is_beyond_bound(&self, edge: &[u8], forward: bool) -> bool {
        match forward {
            true => is_past(&self.comparator, self.bounds.upper(), edge),
            false => self.below_lower(edge),
        }
    }

    /// Moves the source beyond the edge of a range.
    fn seek_past(&mut self, edge: &[u8], forward: bool) {
        set_target(&mut self.target, edge, &[], MAX_SEQUENCE, SEEK_TYPE);
        self.move_source(|source, target| match forward {
            true => source.seek(target),
            false => source.seek_for_prev(target),
        });
    }

    /// Moves the source past the range that it stands in, if it does in one and it is time to look
    /// ([`MOST_UNLOOKED`]). `passing`: the walk has already passed `self.key`.
    #[inline]
    pub(super) fn pass_empty_range(&mut self, forward: bool, passing: bool) -> Result<Pass> {
        if self.walked.unlooked > 0 {
            self.walked.unlooked -= 1;
            return Ok(Pass::None);
        }
        let passed = self.pass_range_around(forward, passing)?;
        let walked = &mut self.walked;
        match passed {
            Pass::None => {
                walked.unlooked = walked.pause;
                walked.pause = MOST_UNLOOKED.min(2 * walked.pause + 1);
            }
            Pass::Moved => walked.unlooked = MOST_UNLOOKED,
            Pass::ToTheBound => {}
        }
        Ok(passed)
    }

    #[inline(never)]
    fn pass_range_around(&mut self, forward: bool, passing: bool) -> Result<Pass> {
        let entry = parse_internal_key(self.source.key())?;
        let user_key = entry.user_key;
        let Some(range) = self.range_around(user_key) else {
            return Ok(Pass::None);
        };
        // A seek may lead back to where the walk has been: upholds I1.
        let order = self.order(user_key, &self.key);
        if passing
            && if forward {
                order.is_lt()
            } else {
                order.is_gt()
            }
        {
            return Err(out_of_order());
        }
        let (ahead, behind) = range.edges(forward);
        if !self.walked.begun {
            self.walked.begun = true;
            set_key(&mut self.walked.first, behind);
        }
        set_key(&mut self.walked.last, ahead);
        self.skips.pass()?;
        if self.is_beyond_bound(ahead, forward) {
            return Ok(Pass::ToTheBound);
        }
        self.seek_past(ahead, forward);
        if self.source.valid() && range.holds(parse_internal_key(self.source.key())?.user_key) {
            return Err(out_of_order());
        }
        Ok(Pass::Moved)
    }
}
