//! Fetching what a forward walk will come to.
//!
//! A walk in level 0 finds out where a node is only from the one before: one
//! cache miss after another. Links of level 1 lead past four nodes on average,
//! and so cut what lies ahead into *segments* whose nodes can be asked for
//! side by side:
//!
//! ```text
//!  level 1   S0 -----------> S1 -----------> S2 -------> tip
//!  level 0   S0 -> a -> b -> S1 -> c -> d -> S2 -> e -> tip
//!                  ^ the cursor    ^ lane 1        ^ lane 2
//! ```
//!
//! A *lane* walks one segment, a step at a time, and asks the processor for
//! each node it finds. Lanes take turns, so that what one of them has asked
//! for arrives while the others and the cursor's user are busy.
//!
//! All of this is about speed: lanes hold nodes of the list (invariant N1 of
//! `node`), and a lane that is late, or that misses a node inserted meanwhile,
//! costs the cursor a cache miss.

use super::node::{MAX_HEIGHT, Node};
use super::{EntryLayout, KeyOrder, SkipList};

/// Lanes: enough that a node arrives before its lane has its next turn.
const LANES: usize = 16;

/// Lanes that take a step for each of the cursor's: there must be more steps
/// than the cursor's, as the turns of lanes that have ended are lost.
const STEPS: usize = 3;

/// Steps of the cursor from the opening of one lane to that of the next: where
/// a lane ends must have arrived before the next one is opened there. Fewer
/// than a segment has nodes on average.
const PAUSE: usize = 2;

/// Links of this level bound the segments.
const LEVEL: usize = 1;
const _: () = assert!(LEVEL < MAX_HEIGHT);

/// A segment: from the node before `at` to `end`.
#[derive(Clone, Copy)]
struct Lane {
    /// A node that was asked for; `None` when the segment is done.
    at: Option<Node>,
    /// A node with more than [`LEVEL`] levels; `None` is the end of the list.
    end: Option<Node>,
}

/// The lanes ahead of one cursor.
pub(super) struct Ahead {
    /// A ring. The cursor is in the segment of `first`.
    lanes: [Lane; LANES],
    first: usize,
    /// Lanes in use, from `first` on. At least one.
    open: usize,
    /// Whose turn it is.
    turn: usize,
    /// Steps of the cursor since a lane was opened, up to [`PAUSE`].
    rested: usize,
    /// Whether to ask for the ends of long entries, too.
    whole: bool,
}

impl Ahead {
    /// What is ahead of `at`, a node of `list` and not its head. `whole` says
    /// that all of each entry will be read; only for entries in their nodes.
    pub(super) fn of<O: KeyOrder, L: EntryLayout>(
        list: &SkipList<O, L>,
        at: Node,
        whole: bool,
    ) -> Self {
        // SAFETY: a published node of the list, which is borrowed.
        let key = unsafe { at.key_as::<L>() };
        let current = Lane {
            at: None,
            end: list.first_in_level(key, LEVEL),
        };
        Ahead {
            lanes: [current; LANES],
            first: 0,
            open: 1,
            turn: 0,
            rested: PAUSE,
            whole: whole && L::INLINE,
        }
    }

    /// Called when the cursor has moved to `at`, and with the first `at`, too.
    ///
    /// # Safety
    /// The list must be alive.
    #[inline]
    pub(super) unsafe fn follow(&mut self, at: Node) {
        self.rested = (self.rested + 1).min(PAUSE);
        if self.open < LANES && (self.rested == PAUSE || self.open == 1) {
            self.rested = 0;
            // SAFETY: the caller's promise.
            unsafe { self.open_lane() };
        }
        // The cursor meets every end, as no node goes away.
        if self.lanes[self.first].end == Some(at) {
            debug_assert!(self.open > 1, "a lane was opened where this one ends");
            self.first = (self.first + 1) % LANES;
            self.open -= 1;
        }
        for _ in 0..STEPS {
            self.turn = (self.turn + 1) % LANES;
            // SAFETY: the caller's promise.
            unsafe { self.lanes[self.turn].step(self.whole) };
        }
    }

    /// Starts a lane where the last one ends.
    ///
    /// # Safety
    /// As for [`Ahead::follow`].
    unsafe fn open_lane(&mut self) {
        let last = (self.first + self.open - 1) % LANES;
        let Some(start) = self.lanes[last].end else {
            return;
        };
        // SAFETY: the end of a lane has the level.
        let end = unsafe { start.next(LEVEL) };
        if let Some(end) = end {
            end.prefetch();
            // Its link of the level, which is read first, may lie in the line
            // before.
            end.prefetch_link(LEVEL);
        }
        self.lanes[(last + 1) % LANES] = Lane {
            at: Some(start),
            end,
        };
        self.open += 1;
    }
}

impl Lane {
    /// # Safety
    /// As for [`Ahead::follow`].
    #[inline]
    unsafe fn step(&mut self, whole: bool) {
        let Some(node) = self.at else {
            return;
        };
        if whole {
            // SAFETY: a published node, by the caller's promise in its list,
            // and not the head: lanes begin at nodes after the cursor's.
            unsafe { node.prefetch_rest() };
        }
        // SAFETY: every node has level 0.
        let next = unsafe { node.next(0) };
        self.at = if next == self.end { None } else { next };
        if let Some(node) = self.at {
            node.prefetch();
        }
    }
}
