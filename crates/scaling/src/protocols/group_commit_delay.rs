//! How long the thread that syncs waits for others. Models
//! `concurrent::publish::group_commit_delay`.

use crate::sim::{NS, Time};
use std::cell::Cell;

const WORTH_WAITING: Time = 40_000 * NS;
const LONGEST: Time = 2;
const PATIENCE: Time = 16;
const WAKE_UP: Time = 50_000 * NS;
const MOST_PATIENCE: Time = 4;
const LONGEST_PAUSE: u32 = 64;

/// What the latest syncs were like.
#[derive(Debug)]
pub struct GroupCommitDelay {
    expected: Cell<u64>,
    takes: Cell<Time>,
    pause: Cell<u32>,
    next_pause: Cell<u32>,
}

impl GroupCommitDelay {
    /// A delay without any experience yet.
    pub(super) fn new() -> Self {
        GroupCommitDelay {
            expected: Cell::new(0),
            takes: Cell::new(0),
            pause: Cell::new(0),
            next_pause: Cell::new(1),
        }
    }

    /// The number of ranges to wait for; `None` if `present` are enough or waiting is not
    /// worthwhile.
    pub fn waits_for(&self, present: u64) -> Option<u64> {
        if present >= self.expected.get() || self.takes.get() < WORTH_WAITING {
            return None;
        }
        let pause = self.pause.get();
        self.pause.set(pause.saturating_sub(1));
        (pause == 0).then_some(self.expected.get())
    }

    /// Whether the wait is over, given the time since it began and since the last range
    /// joined.
    pub fn is_over(&self, begun: Time, joined: Time) -> bool {
        let takes = self.takes.get();
        let patience = (takes / PATIENCE).max(WAKE_UP.min(takes / MOST_PATIENCE));
        begun > takes / LONGEST || joined > patience
    }

    /// Records that there was a wait, and whether any range joined.
    pub fn waited(&self, helped: bool) {
        let next = if helped {
            1
        } else {
            self.pause.set(self.next_pause.get());
            LONGEST_PAUSE.min(self.next_pause.get() * 2)
        };
        self.next_pause.set(next);
    }

    /// Records a sync that took `took` and was for `count` ranges, including those finished
    /// behind them meanwhile.
    pub fn record_sync(&self, took: Time, count: u64) {
        self.takes.set(match self.takes.get() {
            0 => took,
            before if took < before => before.midpoint(took),
            before => took.min(before + before / 8 + 1),
        });
        self.expected.set(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_were_let_go_are_waited_for() {
        let delay = GroupCommitDelay::new();
        assert_eq!(delay.waits_for(1), None, "nothing is known");
        delay.record_sync(WORTH_WAITING, 3);
        assert_eq!(delay.waits_for(3), None);
        assert_eq!(delay.waits_for(1), Some(3));
        delay.waited(true);
        assert_eq!(delay.waits_for(1), Some(3));
        delay.waited(false);
        assert_eq!(delay.waits_for(1), None, "for nothing just now");
        assert_eq!(delay.waits_for(1), Some(3));
        delay.record_sync(0, 3);
        assert_eq!(delay.waits_for(1), None, "syncs are cheap");
    }
}
