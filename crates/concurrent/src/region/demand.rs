//! How many bytes of regions are in use, and how many were at once within the last seconds.
//!
//! Time is cut into *spans* of at least [`IDLE`]. The most that was in use is known for the
//! present span and for the one before, so need is forgotten after one to two spans.

use std::time::Instant;

use super::PIECE;
use super::pool::IDLE;

/// What is kept may exceed need by one byte for this many bytes, or by a piece: owners do
/// not use exactly as much as those before them.
const SLACK_PART: usize = 8;

/// Bytes in use now, and the most of the last two spans.
#[derive(Debug)]
pub(super) struct Demand {
    used: usize,
    /// The most that was used at once in the span before.
    before: usize,
    /// The most that was used at once in the present span.
    most: usize,
    /// When the present span began.
    since: Option<Instant>,
}

impl Demand {
    /// Nothing was ever used.
    pub(super) const NONE: Demand = Demand {
        used: 0,
        before: 0,
        most: 0,
        since: None,
    };

    /// Begins a new span if it is time to.
    fn turn(&mut self, now: Instant) {
        let begun = *self.since.get_or_insert(now);
        let age = now.saturating_duration_since(begun);
        if age < IDLE {
            return;
        }
        // Without a change for a whole span, what is used now was used in it, too.
        self.before = if age < 2 * IDLE { self.most } else { self.used };
        self.most = self.used;
        self.since = Some(now);
    }

    /// Adds bytes that are used from `now` on.
    pub(super) fn begin_use(&mut self, bytes: usize, now: Instant) {
        self.turn(now);
        self.used += bytes;
        self.most = self.most.max(self.used);
    }

    /// Subtracts bytes that are no longer used at `now`.
    pub(super) fn end_use(&mut self, bytes: usize, now: Instant) {
        self.turn(now);
        self.used = self.used.saturating_sub(bytes);
    }

    /// The bytes that may be kept at `now` besides those in use.
    pub(super) fn room(&mut self, now: Instant) -> usize {
        self.turn(now);
        let most = self.most.max(self.before);
        let slack = (most / SLACK_PART).max(PIECE.min(most));
        (most + slack).saturating_sub(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MIB: usize = 1 << 20;

    #[test]
    fn what_may_be_kept_is_what_was_used_beyond_present_use_and_some_slack() {
        let now = Instant::now();
        let mut demand = Demand::NONE;
        assert_eq!(demand.room(now), 0);
        demand.begin_use(64 * MIB, now);
        demand.begin_use(64 * MIB, now);
        assert_eq!(demand.room(now), 16 * MIB);
        demand.end_use(64 * MIB, now);
        assert_eq!(demand.room(now), 80 * MIB);
        demand.begin_use(40 * MIB, now);
        assert_eq!(demand.room(now), 40 * MIB);
        demand.end_use(104 * MIB, now);
        assert_eq!(demand.room(now), 144 * MIB);
    }

    #[test]
    fn need_is_forgotten_after_two_spans() {
        let start = Instant::now();
        let mut demand = Demand::NONE;
        demand.begin_use(80 * MIB, start);
        demand.end_use(72 * MIB, start);
        let later = |n: u32| start + n * IDLE;
        assert_eq!(demand.room(later(1)), 82 * MIB, "of the span before");
        assert_eq!(demand.room(later(2)), 2 * MIB, "8 MiB are in use since");
        demand.begin_use(8 * MIB, later(2));
        demand.end_use(8 * MIB, later(2));
        // No span in between was looked at.
        assert_eq!(demand.room(later(5)), 2 * MIB);
    }

    #[test]
    fn a_clock_that_goes_back_changes_nothing() {
        let now = Instant::now() + Duration::from_secs(5);
        let mut demand = Demand::NONE;
        demand.begin_use(8 * MIB, now);
        demand.end_use(8 * MIB, now - Duration::from_secs(5));
        assert_eq!(demand.room(now), 10 * MIB);
    }
}
