//! What clients saw, and whether it is linearizable.
//!
//! `todc-utils` has Wing and Gong's search with Lowe's memoization, the algorithm of Porcupine.
//! Registers are checked one by one, because linearizability is local.

use crate::registers::ABSENT;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::Action::{Call, Response};
use todc_utils::linearizability::history::History;
use todc_utils::specifications::Specification;

/// What a client did, and what it learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    Read(u32),
    Write(u32),
    /// From a number to another; whether that was done, if it is known.
    Swap(u32, u32, Option<bool>),
}

/// A call of a client.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    pub register: u64,
    pub did: Did,
    pub call: u64,
    /// `None` if the answer never came: it may take effect at any time, or never.
    pub end: Option<u64>,
}

struct Register;

impl Specification for Register {
    type State = u32;
    type Operation = Did;

    fn init() -> u32 {
        ABSENT
    }

    fn apply(did: &Did, state: &u32) -> (bool, u32) {
        match *did {
            Did::Read(value) => (value == *state, *state),
            Did::Write(value) => (true, value),
            Did::Swap(from, to, done) => {
                let possible = *state == from;
                let next = if possible { to } else { *state };
                (done.is_none_or(|done| done == possible), next)
            }
        }
    }
}

/// Whether some order of the calls explains what was seen, which keeps the order of calls that did
/// not overlap.
pub fn is_linearizable(ops: &[Op]) -> bool {
    let mut events = Vec::new();
    for (n, op) in ops.iter().enumerate() {
        events.push((op.call, n, false));
        // Without an answer it may be the very last.
        events.push((op.end.unwrap_or(u64::MAX), n, true));
    }
    if events.is_empty() {
        return true;
    }
    events.sort_unstable();
    let actions = events.into_iter().map(|(_, n, ended)| {
        let did = ops[n].did;
        (n, if ended { Response(did) } else { Call(did) })
    });
    WGLChecker::<Register>::is_linearizable(History::from_actions(actions.collect()))
}

/// Checks each register by itself, and panics with the calls of one that no order explains.
pub fn check(ops: &[Op], what: &str) {
    let mut registers: Vec<u64> = ops.iter().map(|op| op.register).collect();
    registers.sort_unstable();
    registers.dedup();
    for register in registers {
        let of_it = ops.iter().filter(|op| op.register == register);
        let mut of_it: Vec<Op> = of_it.copied().collect();
        of_it.sort_unstable_by_key(|op| op.call);
        assert!(
            is_linearizable(&of_it),
            "{what}: no order explains the calls of register {register}: {of_it:#?}"
        );
    }
}

mod tests {
    use super::{Did, Op, is_linearizable};

    fn op(did: Did, call: u64, end: u64) -> Op {
        Op {
            register: 1,
            did,
            call,
            end: (end > 0).then_some(end),
        }
    }

    #[test]
    fn a_lost_write_and_a_stale_read_are_found() {
        let lost = [op(Did::Write(1), 1, 2), op(Did::Read(0), 3, 4)];
        assert!(!is_linearizable(&lost));
        let stale = [
            op(Did::Write(1), 1, 2),
            op(Did::Write(2), 3, 6),
            op(Did::Read(2), 4, 5),
            op(Did::Read(1), 7, 8),
        ];
        assert!(!is_linearizable(&stale));
        assert!(is_linearizable(&stale[..3]));
    }

    #[test]
    fn an_unanswered_call_may_have_happened_or_not() {
        let unanswered = op(Did::Swap(1, 2, None), 2, 0);
        for (value, possible) in [(1, true), (2, true), (3, false)] {
            let ops = [
                op(Did::Write(1), 0, 1),
                unanswered,
                op(Did::Read(value), 5, 6),
            ];
            assert_eq!(is_linearizable(&ops), possible);
        }
        let late = [
            op(Did::Write(1), 0, 1),
            unanswered,
            op(Did::Read(1), 3, 4),
            op(Did::Read(2), 5, 6),
            op(Did::Read(1), 7, 8),
        ];
        assert!(is_linearizable(&late[..4]) && !is_linearizable(&late));
    }

    #[test]
    fn a_swap_is_done_exactly_if_the_number_was_there() {
        let ops = |done| {
            [
                op(Did::Write(1), 1, 2),
                op(Did::Swap(1, 2, Some(done)), 3, 4),
            ]
        };
        assert!(is_linearizable(&ops(true)) && !is_linearizable(&ops(false)));
    }
}
