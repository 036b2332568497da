//! The queue of writers that wait for a sync.

use super::calls::Call;
use std::mem::take;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Writers that wait for a sync. The thread that syncs is woken when there are as many as it waits
/// for, rather than for each.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Notified when there are enough, or the queue is closed. The thread that syncs waits for it.
    enough: Condvar,
}

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    /// How many the thread that syncs waits for; 0 while it does not wait.
    wanted: usize,
    closed: bool,
}

impl State {
    fn are_enough(&self) -> bool {
        self.closed || self.calls.len() >= self.wanted
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // It is changed in one step each.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds `call`, or returns it if the queue is closed.
    pub fn add(&self, call: Call) -> Result<(), Call> {
        let mut state = self.state();
        if state.closed {
            return Err(call);
        }
        state.calls.push(call);
        let notifies = state.calls.len() == state.wanted;
        drop(state);
        if notifies {
            self.enough.notify_one();
        }
        Ok(())
    }

    /// Waits for a writer, and then for `wanted` of them until `deadline`, if there is one. Moves
    /// all that wait to `calls`: none if the queue is closed and empty.
    pub fn take(&self, calls: &mut Vec<Call>, wanted: usize, deadline: Option<Instant>) {
        let mut state = self.state();
        state.wanted = 1;
        while !state.are_enough() {
            let waited = self.enough.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.wanted = wanted;
        while !state.are_enough()
            && let Some(left) =
                deadline.and_then(|until| until.checked_duration_since(Instant::now()))
        {
            let waited = self.enough.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.wanted = 0;
        calls.append(&mut state.calls);
    }

    /// The number of writers that wait.
    pub fn len(&self) -> usize {
        self.state().calls.len()
    }

    /// No more writers are added. Those that wait still get their sync.
    pub fn close(&self) {
        self.state().closed = true;
        self.enough.notify_one();
    }

    /// Closes the queue, and drops those that wait. What they would have called is dropped, which
    /// their callers notice.
    pub fn abandon(&self) {
        let mut state = self.state();
        state.closed = true;
        let calls = take(&mut state.calls);
        drop(state);
        drop(calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvError, channel};
    use std::thread;
    use std::time::Duration;

    fn add(queue: &Queue, writers: usize) {
        for _ in 0..writers {
            assert!(queue.add(Call::new(|_| ())).is_ok());
        }
    }

    fn taken(queue: &Queue, wanted: usize, deadline: Option<Instant>) -> usize {
        let mut calls = Vec::new();
        queue.take(&mut calls, wanted, deadline);
        calls.len()
    }

    /// A time that no test reaches.
    fn far() -> Option<Instant> {
        Some(Instant::now() + Duration::from_secs(3600))
    }

    #[test]
    fn a_sync_waits_for_those_that_the_last_one_let_go() {
        let queue = Queue::default();
        add(&queue, 1);
        thread::scope(|scope| {
            let taken = scope.spawn(|| taken(&queue, 3, far()));
            add(&queue, 2);
            assert_eq!(taken.join().unwrap(), 3);
        });
    }

    #[test]
    fn a_single_writer_is_not_waited_for() {
        let queue = Queue::default();
        add(&queue, 1);
        assert_eq!(taken(&queue, 1, far()), 1);
    }

    #[test]
    fn a_sync_does_not_wait_for_ever() {
        let queue = Queue::default();
        add(&queue, 1);
        assert_eq!(taken(&queue, 2, Some(Instant::now())), 1);
    }

    #[test]
    fn writers_that_came_during_quick_syncs_are_taken_at_once() {
        let queue = Queue::default();
        add(&queue, 3);
        assert_eq!(taken(&queue, 8, None), 3);
    }

    #[test]
    fn a_closed_queue_gives_what_it_has_and_takes_no_more() {
        let queue = Queue::default();
        add(&queue, 1);
        queue.close();
        assert!(queue.add(Call::new(|_| ())).is_err());
        assert_eq!(taken(&queue, 2, far()), 1);
        assert_eq!(taken(&queue, 2, far()), 0);
    }

    #[test]
    fn callbacks_of_an_abandoned_queue_are_dropped() {
        let queue = Queue::default();
        let (to, told) = channel::<()>();
        let waits = Call::new(move |_| to.send(()).unwrap());
        assert!(queue.add(waits).is_ok());
        queue.abandon();
        assert_eq!(told.recv(), Err(RecvError));
        assert!(queue.add(Call::new(|_| ())).is_err());
    }
}
