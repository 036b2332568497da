//! Jumping over what range tombstones delete.

use super::{DbIter, is_past, out_of_order, set_target};
use std::ops::Bound;
use whitewater_storage::Result;
use whitewater_storage::key::{MAX_SEQUENCE, SEEK_TYPE, SequenceNumber, parse_internal_key};

impl DbIter {
    /// Returns the newest range tombstone over the user key that the source stands on, or 0; `None`
    /// if the source has jumped over what that tombstone deletes. For a key outside of what the
    /// iterator shows, no table is asked. `passing`: the walk has already passed `self.key`.
    #[inline(never)]
    pub(super) fn look_at_cover(&mut self, passing: bool) -> Result<Option<SequenceNumber>> {
        let entry = parse_internal_key(self.source.key())?;
        let upper = self.bounds.upper();
        let outside = is_past(&self.comparator, upper, entry.user_key);
        if outside || self.prefix.excludes(entry.user_key) {
            return Ok(Some(0));
        }
        let covered_below = self.cover.at(entry.user_key)?;
        if entry.seq >= covered_below {
            return Ok(Some(covered_below));
        }
        // A jump seeks, and may seek back to where the walk has been: upholds I1.
        if passing && self.order(entry.user_key, &self.key).is_lt() {
            return Err(out_of_order());
        }
        if !self.jump(true) {
            return Ok(Some(covered_below));
        }
        self.skips.pass()?;
        Ok(None)
    }

    /// Moves the sources that are older than a range tombstone over the current key past everything
    /// that it covers. The source stands on that key, and the cover was asked about it last.
    /// Returns whether the source moved.
    pub(super) fn jump(&mut self, forward: bool) -> bool {
        let Some(newest) = self.cover.newest_source() else {
            return false;
        };
        let Some(merged) = self.source.merged() else {
            return false;
        };
        if merged.source() <= newest {
            return false;
        }
        let shown = |end| match end {
            Bound::Included(key) | Bound::Excluded(key) if !self.prefix.hides(key) => {
                Some((key, end))
            }
            _ => None,
        };
        // If the end of the stretch cannot be used, a part of it is jumped over, so that the whole
        // stretch is not looked at for each of its keys.
        let end = shown(self.cover.stretch(forward));
        let Some((end_key, end)) = end.or_else(|| shown(self.cover.end(forward))) else {
            return false;
        };
        let (upper, lower) = (self.bounds.upper(), self.bounds.lower());
        let before_start = (MAX_SEQUENCE, SEEK_TYPE);
        // Bounds have no timestamps.
        let first = |bound: &[u8]| self.comparator.first_version(bound);
        let at_bound;
        let (key, (seq, ty)) = match forward {
            true if is_past(&self.comparator, upper, end_key) => {
                at_bound = upper.map_or_else(|| end_key.to_vec(), first);
                (&at_bound[..], before_start)
            }
            true if matches!(end, Bound::Included(_)) => (end_key, (0, 0)),
            true => (end_key, before_start),
            false => match lower {
                Some(lower) if self.comparator.compare_to_bound(end_key, lower).is_lt() => {
                    at_bound = first(lower);
                    (&at_bound[..], before_start)
                }
                _ if matches!(end, Bound::Excluded(_)) => (end_key, (0, 0)),
                _ => (end_key, before_start),
            },
        };
        set_target(&mut self.target, key, &[], seq, ty);
        merged.pass_older(newest, &self.target, forward)
    }
}
