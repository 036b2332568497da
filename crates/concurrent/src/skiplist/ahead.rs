//! Prefetching the nodes that a forward walk will reach.
//!
//! A walk in level 0 learns the address of a node only from the node before: one cache
//! miss after another. Links of level 1 skip four nodes on average, and so divide the
//! nodes ahead into *segments* that can be prefetched in parallel:
//!
//! ```text
//!  level 1   S0 -----------> S1 -----------> S2 -------> tip
//!  level 0   S0 -> a -> b -> S1 -> c -> d -> S2 -> e -> tip
//!                  ^ the cursor    ^ lane 1        ^ lane 2
//! ```
//!
//! A *lane* walks one segment, a step at a time, and prefetches each node that it finds.
//! Lanes take turns, so that what one of them has prefetched arrives while the other
//! lanes and the cursor's user are busy.
//!
//! All of this affects only speed: lanes hold nodes of the list (invariant N1 of `node`),
//! and a lane that is late, or that misses a node inserted meanwhile, costs the cursor a
//! cache miss.

use super::node::{MAX_HEIGHT, Node};
use super::{EntryLayout, KeyOrder, SkipList};

/// The number of lanes: enough that a node arrives before its lane's next turn.
const LANES: usize = 16;

/// How many lanes take a step for each step of the cursor. It must be more than one,
/// since the turns of lanes that have ended are lost.
const STEPS: usize = 3;

/// The steps of the cursor between opening one lane and opening the next: the end of a
/// lane must have arrived before the next lane is opened there. It is less than the
/// number of nodes of a segment on average.
const PAUSE: usize = 2;

/// The level whose links bound the segments.
const LEVEL: usize = 1;
const _: () = assert!(LEVEL < MAX_HEIGHT);

/// A lane in its segment, which goes from the node before `at` to `end`.
#[derive(Clone, Copy)]
struct Lane {
    /// A node that was prefetched; `None` when the segment is done.
    at: Option<Node>,
    /// A node with more than [`LEVEL`] levels; `None` for the end of the list.
    end: Option<Node>,
}

/// The lanes ahead of one cursor.
pub(super) struct Ahead {
    /// A ring. The cursor is in the segment of the lane `first`.
    lanes: [Lane; LANES],
    first: usize,
    /// The number of lanes in use, from `first` on. At least one.
    open: usize,
    /// The lane whose turn it is.
    turn: usize,
    /// The cursor's steps since a lane was opened, up to [`PAUSE`].
    rested: usize,
    /// Whether to prefetch the ends of long entries, too.
    whole: bool,
}

impl Ahead {
    /// The lanes ahead of `at`, which is a node of `list` and not its head. `whole` says
    /// that all bytes of each entry will be read; it has an effect only on inline
    /// entries.
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

    /// To be called when the cursor has moved to `at`, and also for the first `at`.
    ///
    /// # Safety
    /// The list must be alive.
    #[inline]
    pub(super) unsafe fn follow(&mut self, at: Node) {
        self.rested = (self.rested + 1).min(PAUSE);
        if self.open < LANES && (self.rested == PAUSE || self.open == 1) {
            self.rested = 0;
            // SAFETY: by this function's contract.
            unsafe { self.open_lane() };
        }
        // The cursor meets every end, since nodes are not removed.
        if self.lanes[self.first].end == Some(at) {
            debug_assert!(self.open > 1, "a lane was opened where this one ends");
            self.first = (self.first + 1) % LANES;
            self.open -= 1;
        }
        for _ in 0..STEPS {
            self.turn = (self.turn + 1) % LANES;
            // SAFETY: by this function's contract.
            unsafe { self.lanes[self.turn].step(self.whole) };
        }
    }

    /// Opens a lane where the last one ends.
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
            // The end's link of this level, which is read first, may be in the cache line
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
            // SAFETY: a published node of a list that is alive by this function's
            // contract, and not the head: lanes begin at nodes after the cursor's.
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
