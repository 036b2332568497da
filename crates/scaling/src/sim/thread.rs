//! The primitives that programs consist of.

use super::line::Access;
use super::{NS, Sim, ThreadId, Time, Word};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A simulated thread, as its program sees it.
#[derive(Debug, Clone)]
pub struct Thread {
    sim: Rc<Sim>,
    id: ThreadId,
}

/// A future that waits for the thread's next event.
struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        Poll::Pending
    }
}

/// When a [`Thread::watch`] ends without success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It ends after this time.
    For(Time),
    /// It ends after this time, or as soon as another thread wants the core.
    Yielding(Time),
}

impl Thread {
    pub(super) fn new(sim: Rc<Sim>, id: ThreadId) -> Self {
        Thread { sim, id }
    }

    /// The number of the thread.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The simulator that the thread runs in.
    #[must_use]
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.sim.now()
    }

    fn cpu(&self) -> usize {
        self.sim.threads.borrow()[self.id].cpu
    }

    /// Works for `time`; takes longer if the core's other hardware thread is busy.
    pub async fn compute(&self, time: Time) {
        if time == 0 {
            return;
        }
        self.give_way().await;
        let time = self.slowed(time);
        self.busy_until(self.now() + time).await;
    }

    /// Makes a system call that takes `time`.
    pub async fn system_call(&self, time: Time) {
        self.compute(time).await;
    }

    fn slowed(&self, time: Time) -> Time {
        if self.sim.cpus.borrow().is_sibling_busy(self.cpu()) {
            (time as f64 * self.sim.machine.smt_slowdown) as Time
        } else {
            time
        }
    }

    /// Moves `bytes` between memory and the core's socket. Uses up a share of its bandwidth,
    /// and takes time only if none is left.
    pub async fn stream(&self, bytes: u64) {
        let machine = &self.sim.machine;
        let socket = machine.topology.socket(self.cpu());
        let end = {
            let mut free = self.sim.bandwidth.borrow_mut();
            // Bandwidth that was not used earlier is lost.
            free[socket] = free[socket].max(self.now()) + machine.stream_time(bytes);
            free[socket]
        };
        if end > self.now() + machine.memory {
            self.busy_until(end - machine.memory).await;
        }
    }

    /// Loads a word.
    pub async fn load(&self, word: &Word) -> u64 {
        self.give_way().await;
        self.get(word, Access::Read).await;
        word.value.get()
    }

    /// Stores to a word. In programs, a fence or a read-modify-write follows a store, so the
    /// time to get the line counts as the thread's.
    pub async fn store(&self, word: &Word, value: u64) {
        self.give_way().await;
        self.get(word, Access::Write).await;
        word.value.set(value);
        self.tell_watchers(word);
    }

    /// Stores to a line of memory that is in no cache. The cost of getting it is part of the
    /// copy that the store begins.
    pub async fn begin_line(&self, word: &Word, value: u64) {
        self.give_way().await;
        self.sim
            .lines
            .borrow_mut()
            .forget(word.line, self.cpu(), self.now());
        self.busy_until(self.now() + self.sim.machine.hit).await;
        word.value.set(value);
    }

    /// Does a read-modify-write; returns the value before.
    pub async fn rmw(&self, word: &Word, change: impl FnOnce(u64) -> u64) -> u64 {
        self.give_way().await;
        {
            let mut tally = self.sim.tally.borrow_mut();
            tally.rmw += 1;
            tally.counted_rmw += u64::from(word.counted);
        }
        let got = self.ask(word, Access::Write);
        self.busy_until(got + self.sim.machine.atomic).await;
        let before = word.value.get();
        let after = change(before);
        word.value.set(after);
        if after != before {
            self.tell_watchers(word);
        }
        before
    }

    /// Does a compare-exchange; the error is the value found.
    pub async fn exchange(&self, word: &Word, from: u64, to: u64) -> Result<u64, u64> {
        let found = self
            .rmw(word, |now| if now == from { to } else { now })
            .await;
        if found == from { Ok(found) } else { Err(found) }
    }

    /// Executes a full fence.
    pub async fn fence(&self) {
        self.compute(self.sim.machine.atomic).await;
    }

    /// Copies `bytes` from this core's cache, or to it.
    pub async fn copy(&self, bytes: u64) {
        let time = self.sim.machine.copy_time(bytes);
        self.compute(time).await;
    }

    fn ask(&self, word: &Word, access: Access) -> Time {
        let mut lines = self.sim.lines.borrow_mut();
        let (cpu, now) = (self.cpu(), self.now());
        lines.access(word.line, cpu, access, now, &self.sim.machine)
    }

    async fn get(&self, word: &Word, access: Access) {
        let got = self.ask(word, access);
        self.busy_until(got + self.sim.machine.hit).await;
    }

    fn tell_watchers(&self, word: &Word) {
        let watchers = self.sim.lines.borrow_mut().take_watchers(word.line);
        for id in watchers {
            self.sim.resume_at(id, self.now());
        }
    }

    /// Watches a word until `reached` returns something for its value, or patience ends.
    /// Keeps the core.
    pub async fn watch<T>(
        &self,
        word: &Word,
        patience: Patience,
        mut reached: impl FnMut(u64) -> Option<T>,
    ) -> Option<T> {
        let (time, yielding) = match patience {
            Patience::For(time) => (time, false),
            Patience::Yielding(time) => (time, true),
        };
        let deadline = self.now() + time;
        loop {
            if let Some(found) = reached(self.load(word).await) {
                return Some(found);
            }
            let queued = yielding && self.sim.cpus.borrow().has_queue(self.cpu());
            if self.now() >= deadline || queued {
                return None;
            }
            self.sim.lines.borrow_mut().watch(word.line, self.id);
            self.sim.threads.borrow_mut()[self.id].yields = yielding;
            self.sim.resume_at(self.id, deadline);
            Pause(false).await;
            self.sim.threads.borrow_mut()[self.id].yields = false;
            self.sim.lines.borrow_mut().unwatch(word.line, self.id);
        }
    }

    /// Lets another thread run that waits for this core, if there is one. Returns how long
    /// that took.
    pub async fn yield_now(&self) -> Time {
        let start = self.now();
        self.system_call(self.sim.machine.yield_call).await;
        if self.sim.cpus.borrow().has_queue(self.cpu()) {
            self.sim.requeue(self.id, self.sim.machine.slice);
            Pause(false).await;
        }
        self.now() - start
    }

    /// Sleeps while `word` holds `value`, until it is woken.
    pub async fn futex_wait(&self, word: &Word, value: u64) {
        self.sim.tally.borrow_mut().futex_waits += 1;
        self.system_call(self.sim.machine.wait_call).await;
        if word.value.get() != value {
            return;
        }
        word.sleepers.borrow_mut().push_back(self.id);
        self.sim.tally.borrow_mut().voluntary += 1;
        self.sim.leave_cpu(self.id);
        Pause(false).await;
    }

    /// Wakes up to `most` threads that sleep on `word`, one after the other.
    pub async fn futex_wake(&self, word: &Word, most: usize) {
        self.sim.tally.borrow_mut().futex_wakes += 1;
        self.system_call(self.sim.machine.wake_call).await;
        // Only threads that sleep now are woken; those that come meanwhile continue to sleep.
        let sleepers: Vec<ThreadId> = {
            let mut sleepers = word.sleepers.borrow_mut();
            let count = most.min(sleepers.len());
            sleepers.drain(..count).collect()
        };
        for sleeper in sleepers {
            // A sleeper runs only after the waker is done with it.
            self.system_call(self.sim.machine.wake_each).await;
            self.sim.make_runnable(sleeper);
        }
    }

    /// Makes `bytes` durable; sleeps meanwhile.
    pub async fn fdatasync(&self, bytes: u64) {
        self.sim.tally.borrow_mut().syncs += 1;
        let machine = &self.sim.machine;
        let duration = machine.sync + machine.write_back_time(bytes);
        let end = {
            let mut device = self.sim.device.borrow_mut();
            device.serve(self.now(), duration)
        };
        self.sim.sleep_until(self.id, end);
        Pause(false).await;
    }

    /// Sleeps for `time`.
    pub async fn sleep(&self, time: Time) {
        self.sim.sleep_until(self.id, self.now() + time.max(NS));
        Pause(false).await;
    }

    /// Counts a write to the log.
    pub fn count_log_write(&self) {
        self.sim.tally.borrow_mut().log_writes += 1;
    }

    /// Lets another thread have the core if this thread's time slice is over.
    async fn give_way(&self) {
        let lost = {
            let cpus = self.sim.cpus.borrow();
            let cpu = self.cpu();
            cpus.has_queue(cpu) && cpus.is_slice_over(cpu, self.now())
        };
        if lost {
            self.sim.requeue(self.id, 0);
            Pause(false).await;
        }
    }

    async fn busy_until(&self, end: Time) {
        if end <= self.now() {
            return;
        }
        // If nothing happens before `end`, the thread need not wait.
        if self.sim.is_quiet_until(end) {
            self.sim.now.set(end);
            return;
        }
        self.sim.resume_at(self.id, end);
        Pause(false).await;
    }
}
