//! Waiting: spins, yields as far as that has paid off, then sleeps. Models
//! `concurrent::waiter`.

use crate::sim::thread::Patience;
use crate::sim::{NS, Sim, Thread, Time, Word};
use std::cell::Cell;

/// The value of a word whose waiter sleeps.
pub const BLOCKED: u64 = u32::MAX as u64;

const SPIN: Time = 1_000 * NS;
const MAX_YIELD: Time = 100_000 * NS;
const SLOW_YIELD: Time = 3_000 * NS;

/// How far yielding has paid off at one place in the code.
#[derive(Debug, Default)]
pub struct Site {
    credit: Cell<i64>,
}

impl Site {
    fn update(&self, success: bool) {
        let v = self.credit.get();
        let step = if success { 1 << 17 } else { -(1 << 17) };
        self.credit.set(v - v / 1024 + step);
    }
}

/// Spins and yields until `reached` returns a value for that of `word`; `None` if that
/// takes too long.
pub async fn spin_and_yield<T>(
    thread: &Thread,
    word: &Word,
    site: &Site,
    mut reached: impl FnMut(u64) -> Option<T>,
) -> Option<T> {
    let found = thread.watch(word, Patience::For(SPIN), &mut reached).await;
    if found.is_some() {
        return found;
    }
    let sampled = thread.sim().random().is_multiple_of(256);
    if site.credit.get() < 0 && !sampled {
        return None;
    }
    let start = thread.now();
    let (mut found, mut slow, mut hard_failure) = (None, 0, false);
    while thread.now() - start <= MAX_YIELD {
        let took = thread.yield_now().await;
        thread.compute(thread.sim().machine().clock).await;
        if took >= SLOW_YIELD {
            slow += 1;
            found = reached(thread.load(word).await);
            if found.is_some() {
                break;
            }
            if slow >= 3 {
                hard_failure = true;
                break;
            }
            continue;
        }
        // No other thread wants the core, so all yields until that changes are one.
        let left = (start + MAX_YIELD).saturating_sub(thread.now());
        let patience = Patience::Yielding(left);
        found = thread.watch(word, patience, &mut reached).await;
        if found.is_some() {
            break;
        }
    }
    if sampled || hard_failure {
        site.update(found.is_some());
    }
    found
}

/// A word that one thread waits for.
#[derive(Debug)]
pub struct StateWord(pub Word);

impl StateWord {
    /// A word with the value `state`.
    #[must_use]
    pub fn new(sim: &Sim, name: &'static str, state: u64) -> Self {
        StateWord(Word::new(sim, name, state).counted())
    }

    /// Sets the state and wakes the waiter if it sleeps.
    pub async fn set(&self, thread: &Thread, state: u64) {
        if thread.rmw(&self.0, |_| state).await == BLOCKED {
            thread.futex_wake(&self.0, 1).await;
        }
    }

    /// Waits until the state is one of the bits of `goal`, and returns it.
    pub async fn wait(&self, thread: &Thread, goal: u64, site: &Site) -> u64 {
        let reached = |state: u64| (state < 32 && goal & (1 << state) != 0).then_some(state);
        if let Some(state) = spin_and_yield(thread, &self.0, site, reached).await {
            return state;
        }
        loop {
            let state = thread.load(&self.0).await;
            if state != BLOCKED {
                if let Some(state) = reached(state) {
                    return state;
                }
                let blocked = thread.exchange(&self.0, state, BLOCKED).await;
                if blocked.is_err() {
                    continue;
                }
            }
            thread.futex_wait(&self.0, BLOCKED).await;
        }
    }
}

/// A place where many threads sleep until they must look again.
#[derive(Debug)]
pub struct EventCount(pub Word);

impl EventCount {
    /// An event count without sleepers.
    #[must_use]
    pub fn new(sim: &Sim, name: &'static str) -> Self {
        EventCount(Word::new(sim, name, 0).counted())
    }

    /// Wakes all sleepers, which look again.
    pub async fn notify_all(&self, thread: &Thread) {
        thread.rmw(&self.0, |turn| turn + 1).await;
        thread.futex_wake(&self.0, usize::MAX).await;
    }
}
