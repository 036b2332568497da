//! Writers that wait, in the order in which they came.
//!
//! Only the first in line is ever woken, by a change or by time; whoever
//! leaves wakes the one behind. So a stall that ends wakes one writer, that
//! one the next, and no writer is woken in vain; the writer that has waited
//! longest goes first.
//!
//! Invariants:
//! * A1: those who wait leave in the order in which they came, whatever they
//!   leave with.
//! * A2: what ends a wait for one ends it for all who were in line then, also
//!   if the pressure comes back before they have left. Nobody starves because
//!   those that come later pass while the pressure is gone for a moment.
//! * A3: no lost wake-up: conditions change under the lock, and whoever
//!   changes them wakes the first in line; whoever leaves wakes the new first.

use super::cause::Pressure;
use super::rate::Account;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use whitewater_concurrent::system::{self, Condvar, Mutex};
use whitewater_storage::{Error, Result};

/// What a line's writers are under.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub pressure: Pressure,
    /// Bytes per second while delayed.
    pub rate: u64,
    /// Why a stop will not end soon: those who wait, or would have to, get it.
    pub hopeless: Option<Error>,
}

/// A line of writers.
#[derive(Debug)]
pub(crate) struct Line {
    state: Mutex<State>,
    /// A writer passes if what it owes is paid for within this time.
    slack: Duration,
}

#[derive(Debug)]
struct State {
    terms: Terms,
    /// All pass: the steps behind say why nothing goes on.
    open: bool,
    account: Account,
    waiting: VecDeque<Arc<Waiter>>,
    /// Tickets given out.
    issued: u64,
    /// Tickets below this may leave (A2).
    granted: u64,
    /// Times that a waiter woke up. Statistics.
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

    /// How the wait of a writer with `ticket` ends, unless time decides.
    fn verdict(&self, ticket: u64) -> Option<Result<()>> {
        if self.open || ticket < self.granted || self.terms.pressure == Pressure::None {
            return Some(Ok(()));
        }
        match &self.terms.hopeless {
            Some(e) if self.terms.pressure == Pressure::Stopped => Some(Err(e.clone())),
            _ => None,
        }
    }
}

impl Line {
    /// An empty line; what is paid for within `slack` passes.
    pub fn new(slack: Duration) -> Self {
        Line {
            state: Mutex::new(State {
                terms: Terms::default(),
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

    /// Changes the terms.
    pub fn set(&self, terms: Terms) {
        let mut state = self.state.lock();
        if terms.pressure == Pressure::None {
            state.granted = state.issued; // upholds A2
        }
        if (terms.pressure == Pressure::None) != (state.terms.pressure == Pressure::None) {
            // Debts do not outlive the delay they come from.
            state.account = Account::new(system::now());
        }
        state.terms = terms;
        state.wake_first(); // upholds A3
    }

    /// Lets all through, or not any more.
    pub fn set_open(&self, open: bool) {
        let mut state = self.state.lock();
        state.open = open;
        if open {
            state.granted = state.issued;
        }
        state.wake_first();
    }

    /// Writers in line.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Waits until a write of `bytes` may go ahead; returns for how long.
    /// `impatient` instead of waiting, if there is one.
    ///
    /// # Errors
    /// `impatient`; the reason why there is no hope.
    pub fn pass(&self, bytes: usize, impatient: Option<Error>) -> Result<Duration> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() {
            if let Some(outcome) = state.verdict(u64::MAX) {
                return outcome.map(|()| Duration::ZERO);
            }
            if state.terms.pressure == Pressure::Delayed {
                let now = system::now();
                let due = state.account.due(now, bytes, state.terms.rate);
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
        // What this write owes is put on the books once, when it is its turn.
        let mut due = None;
        let outcome = loop {
            if state.waiting[0].ticket != ticket {
                me.turn.wait(&mut state);
            } else if let Some(outcome) = state.verdict(ticket) {
                break outcome;
            } else if state.terms.pressure == Pressure::Stopped {
                me.turn.wait(&mut state);
            } else {
                let now = system::now();
                let rate = state.terms.rate;
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

    fn terms(pressure: Pressure, rate: u64) -> Terms {
        Terms {
            pressure,
            rate,
            hopeless: None,
        }
    }

    fn line() -> Arc<Line> {
        Arc::new(Line::new(Duration::from_millis(1)))
    }

    /// `n` writers in line, in the order of their tickets.
    fn queue(line: &Arc<Line>, n: usize) -> Vec<JoinHandle<Result<Duration>>> {
        let join = |_| {
            let writer = line.clone();
            let issued = line.state.lock().issued;
            let handle = thread::spawn(move || writer.pass(1, None));
            while line.state.lock().issued == issued {
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
        let line = line();
        line.set(terms(Pressure::Stopped, 0));
        let writers = queue(&line, 16);
        assert_eq!(line.state.lock().wakeups, 0);
        assert!(line.pass(1, busy()).is_err(), "at once, with 16 in line");
        line.set(terms(Pressure::None, 0));
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        let state = line.state.lock();
        assert_eq!(state.left, (0..16).collect::<Vec<_>>());
        assert_eq!(state.wakeups, 16, "nobody was woken in vain");
    }

    #[test]
    fn whoever_waited_when_a_stall_ended_is_not_stopped_by_the_next() {
        let line = line();
        line.set(terms(Pressure::Stopped, 0));
        let writers = queue(&line, 8);
        {
            // Both changes before anybody can leave.
            let mut state = line.state.lock();
            state.granted = state.issued;
            state.wake_first();
        }
        let late = queue(&line, 1);
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        assert_eq!(line.waiting(), 1, "the one that came later");
        line.set(terms(Pressure::None, 0));
        for writer in late {
            writer.join().unwrap().unwrap();
        }
        assert_eq!(line.state.lock().left, (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_in_line_alone_waits_for_time() {
        let line = line();
        line.set(terms(Pressure::Stopped, 0));
        let writers = queue(&line, 8);
        // 1 byte at 200 bytes per second: 5 ms each.
        line.set(terms(Pressure::Delayed, 200));
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        let state = line.state.lock();
        assert_eq!(state.left, (0..8).collect::<Vec<_>>());
        // Each is woken to be first, and once more by time.
        assert!(state.wakeups <= 16, "{}", state.wakeups);
    }

    #[test]
    fn a_delayed_writer_passes_while_it_is_paid_for() {
        let line = line();
        line.set(terms(Pressure::Delayed, 1 << 30));
        assert_eq!(line.pass(1, busy()).unwrap(), Duration::ZERO);
        line.set(terms(Pressure::Delayed, 1));
        assert!(line.pass(10, busy()).is_err());
        assert!(line.pass(10, busy()).is_err());
        line.set(terms(Pressure::None, 0));
        assert!(line.pass(10, busy()).is_ok());
    }

    #[test]
    fn without_hope_all_get_the_reason() {
        let line = line();
        line.set(terms(Pressure::Stopped, 0));
        let writers = queue(&line, 4);
        let reason = Error::new(ErrorKind::IOError, "no space");
        line.set(Terms {
            hopeless: Some(reason.clone()),
            ..terms(Pressure::Stopped, 0)
        });
        for writer in writers {
            assert_eq!(writer.join().unwrap().unwrap_err(), reason);
        }
        assert_eq!(line.pass(1, None).unwrap_err(), reason);
        line.set(terms(Pressure::Delayed, 1 << 30));
        assert!(line.pass(1, None).is_ok());
    }

    #[test]
    fn an_open_line_stops_nobody() {
        let line = line();
        line.set(terms(Pressure::Stopped, 0));
        let writers = queue(&line, 4);
        line.set_open(true);
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
        assert!(line.pass(1 << 20, None).is_ok());
        line.set_open(false);
        assert!(line.pass(1, busy()).is_err());
    }

    #[test]
    fn debts_do_not_outlive_their_delay() {
        let line = line();
        line.set(terms(Pressure::Delayed, 1 << 10));
        let debtor = {
            let line = line.clone();
            thread::spawn(move || line.pass(1 << 20, None))
        };
        while line.waiting() == 0 {
            thread::yield_now();
        }
        line.set(terms(Pressure::None, 0));
        assert!(debtor.join().unwrap().is_ok());
        line.set(terms(Pressure::Delayed, 1 << 30));
        assert!(line.pass(1, busy()).is_ok());
    }
}
