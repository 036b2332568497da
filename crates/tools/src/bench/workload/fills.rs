//! What fills do besides writing: overwrite some of the last keys, move on to new
//! column families, and follow a sine.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rand_xoshiro::rand_core::RngCore;

use super::super::engine::{Engine, Result};
use super::super::keygen::{KeyNumbers, Order, Rng, below};
use super::super::limit::sine;
use super::super::worker::Worker;

/// The numbers of keys that a fill writes.
pub struct Numbers {
    numbers: KeyNumbers,
    /// The share of writes that overwrite one of the last keys.
    overwrites: f64,
    /// The maximum number of last keys that may be overwritten.
    window: usize,
    last: VecDeque<u64>,
    new: u64,
    again: u64,
}

impl Numbers {
    /// The numbers in this order, with the overwrites that the flags ask for.
    pub fn new<E: Engine>(order: Order, worker: &mut Worker<'_, E>) -> Self {
        let flags = worker.shared.flags;
        let keys = worker.job().keys;
        let overwrites = match order {
            Order::Unique => flags.overwrite_probability,
            Order::Sequential | Order::Random => 0.0,
        };
        Self {
            numbers: KeyNumbers::new(order, keys, &mut worker.rng),
            overwrites,
            window: usize::try_from(flags.overwrite_window_size).unwrap_or(usize::MAX),
            last: VecDeque::new(),
            new: 0,
            again: 0,
        }
    }

    /// The next number.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> u64 {
        if self.overwrites > 0.0 {
            self.next_or_again(rng)
        } else {
            self.numbers.next(rng)
        }
    }

    fn next_or_again(&mut self, rng: &mut Rng) -> u64 {
        let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if uniform < self.overwrites && !self.last.is_empty() {
            self.again += 1;
            let at = below(rng, self.last.len() as u64);
            return self.last[at as usize];
        }
        self.new += 1;
        let number = self.numbers.next(rng);
        if self.last.len() >= self.window {
            self.last.pop_front();
        }
        self.last.push_back(number);
        number
    }

    /// Reports how many keys were new and how many were not.
    pub fn report<E: Engine>(&self, worker: &mut Worker<'_, E>) {
        if self.overwrites > 0.0 {
            let Self { new, again, .. } = self;
            worker.stats.message = format!("(unique keys:{new} overwrites:{again})");
        }
    }
}

/// The column families of a fill, stage by stage.
pub struct Stages {
    batch: u64,
    most: u64,
    each: u64,
    done: u64,
    stage: u64,
}

impl Stages {
    /// The stages of this thread's fill.
    pub fn new<E: Engine>(worker: &Worker<'_, E>) -> Self {
        let job = worker.job();
        Self {
            batch: job.batch,
            most: job.writes,
            each: worker.shared.families.operations_per_stage(job.writes),
            done: 0,
            stage: 0,
        }
    }

    /// Moves on to new column families if it is time for them. Called before each batch.
    ///
    /// # Errors
    /// Any error of the engine.
    #[inline]
    pub fn before<E: Engine>(&mut self, worker: &Worker<'_, E>) -> Result<()> {
        self.done += self.batch;
        let stage = self.done.min(self.most.saturating_sub(1)) / self.each;
        if stage != self.stage {
            self.stage = stage;
            let families = worker.shared.families;
            families
                .enter(worker.engine, stage)
                .map_err(|failure| failure.during("create column family error"))?;
        }
        Ok(())
    }
}

/// The write rate that `--sine_write_rate` varies.
pub struct SineRate {
    start: Instant,
    interval: Duration,
    /// The time of the next change, after the start; `None` without the flag.
    next: Option<Duration>,
}

impl SineRate {
    /// The rate of this thread's fill.
    pub fn new<E: Engine>(worker: &Worker<'_, E>) -> Self {
        let flags = worker.shared.flags;
        let interval = Duration::from_millis(flags.sine_write_rate_interval_milliseconds);
        Self {
            start: Instant::now(),
            interval,
            next: flags.sine_write_rate.then_some(interval),
        }
    }

    /// Updates the limit if it is time to do so.
    #[inline]
    pub fn follow<E: Engine>(&mut self, worker: &Worker<'_, E>) {
        let Some(next) = self.next else {
            return;
        };
        let now = self.start.elapsed();
        if now <= next {
            return;
        }
        self.next = Some(now + self.interval);
        let rate = sine(worker.shared.flags, now.as_secs_f64());
        worker.shared.limits.writes.set(rate as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn overwrites_are_of_the_last_keys() {
        let mut rng = Rng::seed_from_u64(1);
        let mut numbers = Numbers {
            numbers: KeyNumbers::new(Order::Sequential, 10_000, &mut rng),
            overwrites: 0.5,
            window: 10,
            last: VecDeque::new(),
            new: 0,
            again: 0,
        };
        let mut newest = 0;
        for _ in 0..10_000 {
            let number = numbers.next(&mut rng);
            assert!(number + 10 > newest, "{number} after {newest}");
            newest = newest.max(number);
        }
        assert_eq!(numbers.new + numbers.again, 10_000);
        assert!((4_800..5_200).contains(&numbers.again), "{}", numbers.again);
        assert_eq!(numbers.new, newest + 1);
    }
}
