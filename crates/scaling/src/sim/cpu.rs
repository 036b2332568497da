//! Cores, their run queues, and which thread runs where.
//!
//! A thread that becomes runnable takes an idle core if there is one: that on which it
//! last ran, or one whose sibling is idle, too, or the nearest. Otherwise it joins the
//! shortest queue. Of a queue, the thread that has run for the shortest time is next. A
//! thread whose time slice is over goes back to its queue at its next primitive, if
//! another thread waits there. A core that runs out of threads takes one from the
//! longest queue. A wake-up does not preempt a running thread.

use super::{NS, Sim, ThreadId, Time, What};
use crate::machine::Topology;

/// A core, or one hardware thread of it.
#[derive(Debug, Default)]
struct Cpu {
    running: Option<ThreadId>,
    queue: Vec<Queued>,
    slice_end: Time,
}

/// A thread that waits for a core.
#[derive(Debug, Clone, Copy)]
struct Queued {
    id: ThreadId,
    /// The time for which the thread has run, or that it has given away.
    had: Time,
}

/// All cores.
#[derive(Debug)]
pub struct Cpus {
    cpus: Vec<Cpu>,
    topology: Topology,
    queued: usize,
    idle: usize,
    /// The greatest time of any thread that was taken from a queue. When a thread becomes
    /// runnable, what it is owed is counted from here.
    had: Time,
}

impl Cpus {
    /// All cores, idle.
    #[must_use]
    pub fn new(topology: &Topology) -> Self {
        let count = topology.cpus();
        Cpus {
            cpus: (0..count).map(|_| Cpu::default()).collect(),
            topology: *topology,
            queued: 0,
            idle: count,
            had: 0,
        }
    }

    /// Whether the core's other hardware thread runs something.
    pub(super) fn is_sibling_busy(&self, cpu: usize) -> bool {
        let sibling = self.topology.sibling(cpu);
        sibling.is_some_and(|other| self.cpus[other].running.is_some())
    }

    /// Whether a thread waits to run on `cpu`.
    pub(super) fn has_queue(&self, cpu: usize) -> bool {
        !self.cpus[cpu].queue.is_empty()
    }

    /// Whether the time slice of the thread that runs on `cpu` is over.
    pub(super) fn is_slice_over(&self, cpu: usize, now: Time) -> bool {
        now >= self.cpus[cpu].slice_end
    }

    fn is_idle(&self, cpu: usize) -> bool {
        self.cpus[cpu].running.is_none()
    }

    /// The best idle core for a thread that last ran on `last`.
    fn idle_for(&self, last: usize) -> Option<usize> {
        if self.idle == 0 {
            return None;
        }
        if self.is_idle(last) && !self.is_sibling_busy(last) {
            return Some(last);
        }
        let idle = (0..self.cpus.len()).filter(|&cpu| self.is_idle(cpu));
        let socket = self.topology.socket(last);
        // `min_by_key` returns the first of the best.
        idle.min_by_key(|&cpu| {
            let apart = self.topology.socket(cpu) != socket;
            (self.is_sibling_busy(cpu), apart)
        })
    }

    fn shortest_queue(&self, last: usize) -> usize {
        let queues = 0..self.cpus.len();
        queues
            .min_by_key(|&cpu| (self.cpus[cpu].queue.len(), cpu != last))
            .expect("a machine has cores")
    }

    /// The next thread for `cpu`: from its own queue, or else from the longest one.
    fn next_for(&mut self, cpu: usize) -> Option<ThreadId> {
        if self.queued == 0 {
            return None;
        }
        let own = !self.cpus[cpu].queue.is_empty();
        let from = if own {
            cpu
        } else {
            let all = 0..self.cpus.len();
            all.max_by_key(|&other| self.cpus[other].queue.len())?
        };
        let queue = &mut self.cpus[from].queue;
        let first = (0..queue.len()).min_by_key(|&at| queue[at].had)?;
        let next = queue.remove(first);
        self.queued -= 1;
        self.had = self.had.max(next.had);
        Some(next.id)
    }

    fn enqueue(&mut self, cpu: usize, id: ThreadId, had: Time) {
        self.cpus[cpu].queue.push(Queued { id, had });
        self.queued += 1;
    }
}

impl Sim {
    /// Makes `id` runnable: it runs at once or joins a queue.
    pub(super) fn make_runnable(&self, id: ThreadId) {
        let last = self.threads.borrow()[id].cpu;
        let idle = self.cpus.borrow().idle_for(last);
        if let Some(cpu) = idle {
            self.cpus.borrow_mut().idle -= 1;
            self.start(id, cpu, self.machine.wake_idle);
            return;
        }
        let mut cpus = self.cpus.borrow_mut();
        let cpu = cpus.shortest_queue(last);
        let owed = cpus.had.saturating_sub(self.machine.slice);
        let had = {
            let mut threads = self.threads.borrow_mut();
            threads[id].cpu = cpu;
            threads[id].had = threads[id].had.max(owed);
            threads[id].had
        };
        cpus.enqueue(cpu, id, had);
        let running = cpus.cpus[cpu].running.expect("not idle");
        drop(cpus);
        // A thread that yields in a loop there does so now.
        if self.threads.borrow()[running].yields {
            self.resume_at(running, self.now());
        }
    }

    /// Lets `id` run after `delay` on `cpu`, which is free.
    fn start(&self, id: ThreadId, cpu: usize, delay: Time) {
        let at = self.now() + delay + self.machine.context_switch;
        let mut cpus = self.cpus.borrow_mut();
        cpus.cpus[cpu].running = Some(id);
        cpus.cpus[cpu].slice_end = at + self.machine.slice;
        drop(cpus);
        {
            let mut threads = self.threads.borrow_mut();
            threads[id].cpu = cpu;
            threads[id].since = at;
        }
        self.resume_at(id, at);
    }

    /// Adds the time that `id` has run since it was started. Returns its core, and its total
    /// time.
    fn account(&self, id: ThreadId) -> (usize, Time) {
        let mut threads = self.threads.borrow_mut();
        let thread = &mut threads[id];
        thread.had += self.now().saturating_sub(thread.since);
        (thread.cpu, thread.had)
    }

    /// Stops running `id`; its core continues with another thread.
    pub(super) fn leave_cpu(&self, id: ThreadId) {
        let (cpu, _) = self.account(id);
        let mut cpus = self.cpus.borrow_mut();
        debug_assert_eq!(cpus.cpus[cpu].running, Some(id));
        cpus.cpus[cpu].running = None;
        let next = cpus.next_for(cpu);
        if next.is_none() {
            cpus.idle += 1;
        }
        drop(cpus);
        if let Some(next) = next {
            self.start(next, cpu, 0);
        }
    }

    /// Puts `id` back into its core's queue, which is not empty, and gives away `away` of
    /// the time that it is due.
    pub(super) fn requeue(&self, id: ThreadId, away: Time) {
        let (cpu, _) = self.account(id);
        let had = {
            let mut threads = self.threads.borrow_mut();
            threads[id].had += away;
            threads[id].had
        };
        let mut cpus = self.cpus.borrow_mut();
        let next = cpus.next_for(cpu).expect("the queue is not empty");
        cpus.enqueue(cpu, id, had);
        drop(cpus);
        self.tally.borrow_mut().involuntary += 1;
        self.start(next, cpu, 0);
    }

    /// Lets `id` sleep until `at`.
    pub(super) fn sleep_until(&self, id: ThreadId, at: Time) {
        self.tally.borrow_mut().voluntary += 1;
        self.leave_cpu(id);
        self.push(at.max(self.now() + NS), What::Runnable(id));
    }
}
