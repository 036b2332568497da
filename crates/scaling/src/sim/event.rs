//! The queue of events: what happens next, and when.

use super::{ThreadId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The thread's primitive is over, so its program continues.
    Resume(ThreadId),
    /// The thread no longer sleeps.
    Runnable(ThreadId),
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// The time of the event.
    pub at: Time,
    /// The number of the event, in the order of creation. It decides between events at the
    /// same time (E1).
    pub number: u64,
    /// What happens.
    pub what: What,
}

/// The events that are still to come.
#[derive(Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<Event>>,
    made: u64,
}

impl Events {
    /// Adds an event; returns its number, which is not 0.
    pub fn push(&mut self, at: Time, what: What) -> u64 {
        self.made += 1;
        let number = self.made;
        self.heap.push(Reverse(Event { at, number, what }));
        number
    }

    /// Removes and returns the earliest event.
    pub fn pop(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse(event)| event)
    }

    /// The time of the earliest event.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(event)| event.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_they_were_made() {
        let mut events = Events::default();
        events.push(7, What::Resume(1));
        events.push(3, What::Resume(2));
        events.push(7, What::Runnable(0));
        assert_eq!(events.next_at(), Some(3));
        let order: Vec<_> = std::iter::from_fn(|| events.pop())
            .map(|e| e.what)
            .collect();
        assert_eq!(order, [What::Resume(2), What::Resume(1), What::Runnable(0)]);
    }
}
