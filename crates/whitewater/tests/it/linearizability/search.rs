//! Is there a total order? An established checker answers that.
//!
//! `todc-utils` has Wing and Gong's search with Lowe's memoization, which is the algorithm of
//! Porcupine. The object is the whole store: a batch writes several slots at one moment and a
//! snapshot reads several at one moment, so the answer is exact for them, too. Histories of single
//! slots are parts of the whole one ([`History::of_slots`]) and can be longer.
//!
//! The cost grows with the number of calls in flight at once. It is quadratic in the length, so
//! histories are limited to some hundred calls.

use super::history::{History, Kind, Op, Violation, What};
use std::rc::Rc;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::Action::{Call, Response};
use todc_utils::linearizability::history::History as Actions;
use todc_utils::specifications::Specification;

/// The most slots that a history may have.
pub const MAX_SLOTS: usize = 16;

#[derive(Debug, Clone)]
enum Step {
    Write(Rc<[(usize, u32)]>),
    Read(Rc<[(usize, u32)]>),
}

/// A store of [`MAX_SLOTS`] registers that are written and read together.
struct Registers;

impl Specification for Registers {
    type State = [u32; MAX_SLOTS];
    type Operation = Step;

    fn init() -> Self::State {
        [0; MAX_SLOTS]
    }

    fn apply(step: &Step, state: &Self::State) -> (bool, Self::State) {
        match step {
            Step::Write(slots) => {
                let mut state = *state;
                for (slot, value) in slots.iter() {
                    state[*slot] = *value;
                }
                (true, state)
            }
            Step::Read(slots) => {
                let as_seen = |(slot, value): &(usize, u32)| state[*slot] == *value;
                (slots.iter().all(as_seen), *state)
            }
        }
    }
}

/// Whether what was read is explained by some total order of the calls that keeps the order of
/// calls that did not overlap.
pub fn is_linearizable(history: &History) -> bool {
    // The checker's stores start empty, so what was there is written first.
    let initial: Rc<[_]> = history.initial.iter().copied().enumerate().collect();
    let first = Step::Write(initial);
    let mut actions = vec![(0, Call(first.clone())), (0, Response(first))];
    let mut events: Vec<(u64, usize, bool)> = Vec::new();
    for (n, op) in history.ops.iter().enumerate() {
        events.push((op.call, n, false));
        events.push((op.end, n, true));
    }
    events.sort_unstable();
    let steps: Vec<Step> = history.ops.iter().map(step_of).collect();
    actions.extend(events.into_iter().map(|(_, n, ended)| {
        let step = steps[n].clone();
        // A process per call: the checker needs only the times.
        (n + 1, if ended { Response(step) } else { Call(step) })
    }));
    WGLChecker::<Registers>::is_linearizable(Actions::from_actions(actions))
}

fn step_of(op: &Op) -> Step {
    let slots: Rc<[_]> = op.slots().as_slice().into();
    match op.what {
        What::Write(_) => Step::Write(slots),
        What::Read(_) => Step::Read(slots),
    }
}

/// Checks the whole history.
///
/// # Errors A part of the history that is still wrong, without the calls that are not needed for
/// that.
pub fn check(history: &History) -> Result<(), Violation> {
    if is_linearizable(history) {
        return Ok(());
    }
    let mut least = shrink(history);
    let text = format!(
        "no total order explains {} of {} calls",
        least.ops.len(),
        history.ops.len()
    );
    add_sources(&mut least, history);
    Err(Violation {
        kind: Kind::Order,
        text,
        history: least,
    })
}

/// Checks each slot by itself.
///
/// # Errors
/// As [`check`], of the first slot that is wrong.
pub fn check_slots(history: &History) -> Result<(), Violation> {
    (0..history.initial.len()).try_for_each(|slot| check(&history.of_slots(|s| s == slot)))
}

/// Drops calls as long as what is left is not linearizable. Only those are dropped that a
/// linearizable history could do without: all calls after some moment, slots, reads, and writes
/// that no read saw. So what is left is wrong only if the whole was.
pub fn shrink(history: &History) -> History {
    let mut least = shortest_prefix(history);
    for slot in 0..history.initial.len() {
        let part = least.of_slots(|s| s != slot);
        if !part.ops.is_empty() && !is_linearizable(&part) {
            least = part;
        }
    }
    let mut step = least.ops.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < least.ops.len() {
            let mut fewer = least.clone();
            let chunk = at..(at + step).min(least.ops.len());
            let mut n = 0;
            fewer.ops.retain(|op| {
                n += 1;
                !chunk.contains(&(n - 1)) || !(op.is_read() || unseen(&least, op))
            });
            if fewer.ops.len() < least.ops.len() && !is_linearizable(&fewer) {
                least = fewer;
            } else {
                at += step;
            }
        }
        if step <= 1 {
            return least;
        }
        step /= 2;
    }
}

/// Adds writes of values that `least` sees and that had not been written by then. They began after
/// its last moment, which is why it is wrong, and complete the picture.
fn add_sources(least: &mut History, whole: &History) {
    let in_least = |slot| least.ops.iter().any(|op| op.at(slot).is_some());
    let seen = |(slot, value): &(usize, u32)| {
        *value != 0
            && least
                .ops
                .iter()
                .any(|op| op.is_read() && op.at(*slot) == Some(*value))
    };
    let writes = whole.ops.iter().filter(|op| !op.is_read());
    let missing = writes.filter(|w| least.ops.iter().all(|op| op.call != w.call));
    let sources = missing.filter(|w| w.slots().iter().any(seen));
    let of_least = sources.cloned().map(|mut op| {
        op.slots_mut().retain(|(slot, _)| in_least(*slot));
        op
    });
    let added: Vec<Op> = of_least.collect();
    least.ops.extend(added);
}

/// Whether no read can have seen `write`. A read of an absent slot may have seen any delete.
fn unseen(history: &History, write: &Op) -> bool {
    let reads = || history.ops.iter().filter(|op| op.is_read());
    let seen = |(slot, value): &(usize, u32)| reads().any(|r| r.at(*slot) == Some(*value));
    !write.slots().iter().any(seen)
}

/// The calls up to the first moment at which they are wrong. A read that had not ended then says
/// nothing. A write may or may not have happened.
fn shortest_prefix(history: &History) -> History {
    let until = |moment: u64| {
        let mut prefix = history.clone();
        prefix
            .ops
            .retain(|op| op.end <= moment || (!op.is_read() && op.call < moment));
        prefix
    };
    let mut moments: Vec<u64> = history.ops.iter().map(|op| op.end).collect();
    moments.sort_unstable();
    let wrong = moments.partition_point(|m| is_linearizable(&until(*m)));
    until(moments[wrong.min(moments.len() - 1)])
}
