//! A discrete-event simulator of threads on a machine.
//!
//! What runs are *programs*: `async` functions that call the primitives of a [`Thread`]
//! (compute, load, read-modify-write, futex calls, a sync) and await them. So a program
//! reads like the code that it models. A thread inside a primitive has one event in the
//! future. The simulator takes the earliest event, sets the clock, and lets the event's
//! thread continue to its next primitive. Nothing runs in parallel, and there is no
//! waker.
//!
//! | | |
//! |---|---|
//! | [`event`] | the clock and the queue of events |
//! | [`line`](mod@line) | cache lines: who has them, what a transfer costs, who waits for it |
//! | [`cpu`] | run queues, time slices, wake-ups |
//! | [`device`] | a disk that syncs |
//! | [`thread`] | the primitives |
//! | [`tally`] | what is counted |
//!
//! Invariants:
//! * E1: the same machine, program and seed give the same run. Events at the same time
//!   are taken in the order of their creation, and nothing depends on addresses or on
//!   the real clock.
//! * E2: time never goes backwards.
//! * E3: a thread has at most one valid event. An event that was made for an earlier
//!   wait is recognized by its number and dropped.

pub mod cpu;
pub mod device;
pub mod event;
pub mod line;
pub mod tally;
pub mod thread;
pub mod word;

use crate::machine::Machine;
use event::{Events, What};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tally::Tally;

pub use thread::Thread;
pub use word::Word;

/// A time in picoseconds since the start.
pub type Time = u64;

/// The number of picoseconds in a nanosecond.
pub const NS: Time = 1_000;

/// The number of picoseconds in a second.
pub const SECOND: Time = 1_000_000_000 * NS;

/// The number of a thread.
pub type ThreadId = usize;

type Program = Pin<Box<dyn Future<Output = ()>>>;

/// A machine with threads on it.
pub struct Sim {
    machine: Machine,
    events: RefCell<Events>,
    now: Cell<Time>,
    cpus: RefCell<cpu::Cpus>,
    lines: RefCell<line::Lines>,
    device: RefCell<device::Device>,
    bandwidth: RefCell<Vec<Time>>,
    threads: RefCell<Vec<ThreadState>>,
    tally: RefCell<Tally>,
    random: RefCell<Xoshiro256PlusPlus>,
    stopped: Cell<bool>,
}

/// What the simulator knows about a thread besides its program.
#[derive(Debug, Default)]
struct ThreadState {
    /// The core on which the thread runs, or last ran.
    cpu: usize,
    /// The time at which the thread began to run there.
    since: Time,
    /// The time for which the thread has run, or that it has given away.
    had: Time,
    /// The number of the event that the thread waits for (E3).
    awaited: u64,
    /// Whether the thread watches its run queue, and would rather yield than continue.
    yields: bool,
}

impl std::fmt::Debug for Sim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sim")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl Sim {
    /// An idle machine. The random numbers of programs follow from `seed`.
    #[must_use]
    pub fn new(machine: Machine, seed: u64) -> Rc<Self> {
        let sockets = machine.topology.sockets;
        Rc::new(Sim {
            events: RefCell::default(),
            now: Cell::new(0),
            cpus: RefCell::new(cpu::Cpus::new(&machine.topology)),
            lines: RefCell::default(),
            device: RefCell::new(device::Device::new(machine.sync_lanes)),
            bandwidth: RefCell::new(vec![0; sockets]),
            threads: RefCell::default(),
            tally: RefCell::default(),
            random: RefCell::new(Xoshiro256PlusPlus::seed_from_u64(seed)),
            stopped: Cell::new(false),
            machine,
        })
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now.get()
    }

    /// The counts so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = self.tally.borrow().clone();
        tally.lines = self.lines.borrow().blame();
        tally
    }

    /// Ends the run after the current event.
    pub fn stop(&self) {
        self.stopped.set(true);
    }

    /// A random number.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.random.borrow_mut().next_u64()
    }

    /// Runs `threads` programs until all have ended, no event is left, or the run is
    /// [stopped](Self::stop).
    pub fn run<F, P>(self: &Rc<Self>, threads: usize, program: F)
    where
        F: Fn(Thread) -> P,
        P: Future<Output = ()> + 'static,
    {
        let mut programs: Vec<Option<Program>> = Vec::with_capacity(threads);
        for id in 0..threads {
            self.threads.borrow_mut().push(ThreadState::default());
            let thread = Thread::new(self.clone(), id);
            programs.push(Some(Box::pin(program(thread))));
            self.make_runnable(id);
        }
        let mut context = Context::from_waker(Waker::noop());
        while !self.stopped.get() {
            let Some(event) = self.events.borrow_mut().pop() else {
                break;
            };
            debug_assert!(event.at >= self.now.get(), "E2");
            self.now.set(event.at);
            match event.what {
                What::Runnable(id) => self.make_runnable(id),
                What::Resume(id) => {
                    if self.threads.borrow()[id].awaited != event.number {
                        continue; // E3
                    }
                    let Some(program) = programs[id].as_mut() else {
                        continue;
                    };
                    if program.as_mut().poll(&mut context) == Poll::Ready(()) {
                        programs[id] = None;
                        self.leave_cpu(id);
                    }
                }
            }
        }
    }

    /// Lets `id` continue at `at`.
    fn resume_at(&self, id: ThreadId, at: Time) {
        let number = self.push(at, What::Resume(id));
        self.threads.borrow_mut()[id].awaited = number;
    }

    fn push(&self, at: Time, what: What) -> u64 {
        self.events.borrow_mut().push(at, what)
    }

    /// Whether the first event that is still to come is after `at`, so that the running
    /// thread may continue until then without asking.
    fn is_quiet_until(&self, at: Time) -> bool {
        let events = self.events.borrow();
        events.next_at().is_none_or(|next| next > at) && !self.stopped.get()
    }
}

#[cfg(test)]
mod tests;
