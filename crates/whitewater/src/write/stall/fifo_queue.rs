//! The writers that wait out a stall, first come, first served.
//!
//! Only the writer at the head of the queue is ever woken, by a change of the
//! stall or by time; a writer that leaves wakes the next one. So the end of a
//! stall wakes one writer, which wakes the next, and no writer is woken in vain.
//!
//! Invariants:
//! * A1: waiting writers leave in the order in which they came, whatever the
//!   outcome.
//! * A2: what ends the wait of one writer ends it for all that were queued at
//!   that moment, even if the pressure returns before they have left. Otherwise
//!   newcomers, which pass while the pressure is gone, could starve them.
//! * A3: no lost wake-up: conditions change under the lock, and the thread that
//!   changes them wakes the head of the queue; a writer that leaves wakes the
//!   new head.

use super::cause::Pressure;
use super::rate::Account;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use whitewater_concurrent::system::{self, Condvar, Mutex};
use whitewater_storage::{Error, Result};

/// What the writers in a queue are subject to.
#[derive(Debug, Clone, Default)]
pub(crate) struct StallState {
    pub pressure: Pressure,
    /// Bytes per second while delayed.
    pub rate: u64,
    /// Why a stop will not end soon: the error for writers that wait or would have to.
    pub hopeless: Option<Error>,
}

/// A queue of waiting writers.
#[derive(Debug)]
pub(crate) struct FifoQueue {
    state: Mutex<State>,
    /// A writer passes if its debt is paid off within this time.
    slack: Duration,
}

#[derive(Debug)]
struct State {
    stall: StallState,
    /// Lets every writer pass: a later step tells it why nothing goes on.
    open: bool,
    account: Account,
    waiting: VecDeque<Arc<Waiter>>,
    /// Tickets issued so far.
    issued: u64,
    /// Writers with lower tickets may leave (A2).
    granted: u64,
    /// How often a waiting writer woke up. A statistic.
    wakeups: u64,
    #[cfg(test)]
    left: Vec<u64>,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    turn: Condvar,
}

impl State {
    fn wake_first(&self) {
        if let Some(first) = self.waiting.front() {
            first.turn.notify_one();
        }
    }

    /// How the wait of the writer with `ticket` ends. `None` while it goes on: until
    /// time (delayed) or a change (delayed or stopped) ends it.
    fn verdict(&self, ticket: u64) -> Option<Result<()>> {
        if self.open || ticket < self.granted || self.stall.pressure == Pressure::None {
            return Some(Ok(()));
        }
        match &self.stall.hopeless {
            Some(e) if self.stall.pressure == Pressure::Stopped => Some(Err(e.clone())),
            _ => None,
        }
    }
}

impl FifoQueue {
    /// An empty queue; a writer passes if its debt is paid off within `slack`.
    pub fn new(slack: Duration) -> Self {
        FifoQueue {
            state: Mutex::new(State {
                stall: StallState::default(),
                open: false,
                account: Account::new(system::now()),
                waiting: VecDeque::new(),
                issued: 0,
                granted: 0,
                wakeups: 0,
                #[cfg(test)]
                left: Vec::new(),
            }),
            slack,
        }
    }

    /// Changes what writers are subject to.
    pub fn set(&self, stall: StallState) {
        let mut state = self.state.lock();
        if stall.pressure == Pressure::None {
            state.granted = state.issued; // upholds A2
        }
        if (stall.pressure == Pressure::None) != (state.stall.pressure == Pressure::None) {
            // Debt does not outlive the delay that caused it.
            state.account = Account::new(system::now());
        }
        state.stall = stall;
        state.wake_first(); // upholds A3
    }

    /// Starts or stops letting every writer through.
    pub fn set_open(&self, open: bool) {
        let mut state = self.state.lock();
        state.open = open;
        if open {
            state.granted = state.issued;
        }
        state.wake_first();
    }

    /// Writers that wait.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Waits until a write of `bytes` may go ahead, and returns how long that took.
    /// Fails with `impatient` instead of waiting, if it is set.
    ///
    /// # Errors
    /// `impatient`, or [`StallState::hopeless`].
    pub fn pass(&self, bytes: usize, impatient: Option<Error>) -> Result<Duration> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() {
            if let Some(outcome) = state.verdict(u64::MAX) {
                return outcome.map(|()| Duration::ZERO);
            }
            if state.stall.pressure == Pressure::Delayed {
                let now = system::now();
                let due = state.account.due(now, bytes, state.stall.rate);
                if due <= now + self.slack {
                    state.account.charge(due);
                    return Ok(Duration::ZERO);
                }
            }
        }
        if let Some(e) = impatient {
            return Err(e);
        }
        let start = system::now();
        let ticket = state.issued;
        state.issued += 1;
        let me = Arc::new(Waiter {
            ticket,
            turn: Condvar::new(),
        });
        state.waiting.push_back(me.clone());
        // The write is charged once, when it reaches the head of the queue.
        let mut due = None;
        let outcome = loop {
            if state.waiting[0].ticket != ticket {
                me.turn.wait(&mut state);
            } else if let Some(outcome) = state.verdict(ticket) {
                break outcome;
            } else if state.stall.pressure == Pressure::Stopped {
                me.turn.wait(&mut state);
            } else {
                let now = system::now();
                let rate = state.stall.rate;
                let due = *due.get_or_insert_with(|| {
                    let due = state.account.due(now, bytes, rate);
                    state.account.charge(due);
                    due
                });
                if due <= now + self.slack {
                    break Ok(());
                }
                let _ = me.turn.wait_until(&mut state, due);
            }
            state.wakeups += 1;
        };
        state.waiting.pop_front(); // this one: upholds A1
        #[cfg(test)]
        state.left.push(ticket);
        state.wake_first(); // upholds A3
        drop(state);
        outcome.map(|()| system::since(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{self, JoinHandle};
    use whitewater_storage::ErrorKind;

    fn stall(pressure: Pressure, rate: u64) -> StallState {
        StallState {
            pressure,
            rate,
            hopeless: None,
        }
    }

    fn empty() -> Arc<FifoQueue> {
        Arc::new(FifoQueue::new(Duration::from_millis(1)))
    }

    /// `n` waiting writers, in the order of their tickets.
    fn enqueue(queue: &Arc<FifoQueue>, n: usize) -> Vec<JoinHandle<Result<Duration>>> {
        let join = |_| {
            let writer = queue.clone();
            let issued = queue.state.lock().issued;
            let handle = thread::spawn(move || writer.pass(1, None));
            while queue.state.lock().issued == issued {
                thread::yield_now();
            }
            handle
        };
        (0..n).map(join).collect()
    }

    fn busy() -> Option<Error> {
        Some(Error::new(ErrorKind::Incomplete, "Write stall"))
    }

    #[test]
    fn the_end_of_a_stall_wakes_each_writer_once_and_in_order() {
        let queue = empty();
        queue.set(stall(Pressure::Stopped, 0));
        let writers = enqueue(&queue, 16);
        assert_eq!(queue.state.lock().wakeups, 0);
        assert!(queue.pass(1, busy()).is_err(), "at once, with 16 queued");
        queue.set(stall(Pressure::None, 0));
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        let state = queue.state.lock();
        assert_eq!(state.left, (0..16).collect::<Vec<_>>());
        assert_eq!(state.wakeups, 16, "nobody was woken in vain");
    }

    #[test]
    fn a_writer_that_waited_when_a_stall_ended_is_not_stopped_by_the_next() {
        let queue = empty();
        queue.set(stall(Pressure::Stopped, 0));
        let writers = enqueue(&queue, 8);
        {
            // Both changes happen before a writer can leave.
            let mut state = queue.state.lock();
            state.granted = state.issued;
            state.wake_first();
        }
        let late = enqueue(&queue, 1);
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        assert_eq!(queue.waiting(), 1, "the one that came later");
        queue.set(stall(Pressure::None, 0));
        for writer in late {
            writer.join().unwrap().unwrap();
        }
        assert_eq!(queue.state.lock().left, (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn the_head_of_the_queue_alone_waits_for_time() {
        let queue = empty();
        queue.set(stall(Pressure::Stopped, 0));
        let writers = enqueue(&queue, 8);
        // 1 byte at 200 bytes per second: 5 ms each.
        queue.set(stall(Pressure::Delayed, 200));
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        let state = queue.state.lock();
        assert_eq!(state.left, (0..8).collect::<Vec<_>>());
        // Each is woken as the new head, and once more by time.
        assert!(state.wakeups <= 16, "{}", state.wakeups);
    }

    #[test]
    fn a_delayed_writer_passes_while_it_is_paid_for() {
        let queue = empty();
        queue.set(stall(Pressure::Delayed, 1 << 30));
        assert_eq!(queue.pass(1, busy()).unwrap(), Duration::ZERO);
        queue.set(stall(Pressure::Delayed, 1));
        assert!(queue.pass(10, busy()).is_err());
        assert!(queue.pass(10, busy()).is_err());
        queue.set(stall(Pressure::None, 0));
        assert!(queue.pass(10, busy()).is_ok());
    }

    #[test]
    fn without_hope_all_get_the_reason() {
        let queue = empty();
        queue.set(stall(Pressure::Stopped, 0));
        let writers = enqueue(&queue, 4);
        let reason = Error::new(ErrorKind::IOError, "no space");
        queue.set(StallState {
            hopeless: Some(reason.clone()),
            ..stall(Pressure::Stopped, 0)
        });
        for writer in writers {
            assert_eq!(writer.join().unwrap().unwrap_err(), reason);
        }
        assert_eq!(queue.pass(1, None).unwrap_err(), reason);
        queue.set(stall(Pressure::Delayed, 1 << 30));
        assert!(queue.pass(1, None).is_ok());
    }

    #[test]
    fn an_open_queue_stops_nobody() {
        let queue = empty();
        queue.set(stall(Pressure::Stopped, 0));
        let writers = enqueue(&queue, 4);
        queue.set_open(true);
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        assert!(queue.pass(1 << 20, None).is_ok());
        queue.set_open(false);
        assert!(queue.pass(1, busy()).is_err());
    }

    #[test]
    fn debts_do_not_outlive_their_delay() {
        let queue = empty();
        queue.set(stall(Pressure::Delayed, 1 << 10));
        let debtor = {
            let queue = queue.clone();
            thread::spawn(move || queue.pass(1 << 20, None))
        };
        while queue.waiting() == 0 {
            thread::yield_now();
        }
        queue.set(stall(Pressure::None, 0));
        assert!(debtor.join().unwrap().is_ok());
        queue.set(stall(Pressure::Delayed, 1 << 30));
        assert!(queue.pass(1, busy()).is_ok());
    }
}
