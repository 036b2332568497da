//! `mixgraph`: reads, writes and scans with the distributions of [`Mix`].

use std::time::{Duration, Instant};

use rand_xoshiro::rand_core::RngCore;

use super::super::engine::{Cursor, Engine, Result};
use super::super::limit::sine;
use super::super::mix::{Mix, Query};
use super::super::stats::Operation;
use super::super::worker::Worker;

/// The number of operations of a kind between two checks of its limit.
const LIMIT_STEP: u64 = 100;

/// What a thread has done.
#[derive(Default)]
struct Counts {
    gets: u64,
    puts: u64,
    seeks: u64,
    found: u64,
    value_bytes: u64,
    scanned: u64,
}

impl Counts {
    fn message(&self) -> String {
        let each = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        // RocksDB's message ends its line itself.
        format!(
            "( Gets:{} Puts:{} Seek:{}, reads {} in {} found, avg size: {:.1} value, {:.1} scan)\n",
            self.gets,
            self.puts,
            self.seeks,
            self.found,
            self.gets + self.seeks,
            each(self.value_bytes, self.puts),
            each(self.scanned, self.seeks),
        )
    }
}

/// Runs the mix.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let flags = worker.shared.flags;
    let mix = Mix::new(flags, job.key_space)?;
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.reads);
    let mut counts = Counts::default();
    let started = Instant::now();
    let interval = Duration::from_millis(flags.sine_mix_rate_interval_milliseconds);
    let mut next_rate = Duration::ZERO;
    while pace.more(1) {
        let step = mix.step(worker.random_key());
        let key = key.set(step.key);
        if flags.sine_mix_rate && started.elapsed() >= next_rate {
            next_rate = started.elapsed() + interval;
            set_rates(worker, &mix, started.elapsed().as_secs_f64());
        }
        match step.query {
            Query::Get => {
                counts.gets += 1;
                let value = worker.get(step.key, key)?;
                if let Some(value) = value {
                    counts.found += 1;
                    worker.stats.bytes += (key.len() + value.len()) as u64;
                }
                worker.finished(1, Operation::Read);
            }
            Query::Put => {
                counts.puts += 1;
                let value = values.take_of(step.value_size);
                counts.value_bytes += value.len() as u64;
                worker
                    .engine
                    .put(key, value, &mode)
                    .map_err(|failure| failure.during("put error"))?;
                worker.finished(1, Operation::Write);
                if counts.puts.is_multiple_of(LIMIT_STEP) {
                    let over = || worker.is_stopped();
                    worker.shared.limits.puts.wait(LIMIT_STEP, over);
                }
            }
            Query::Seek => {
                counts.seeks += 1;
                let mut cursor = worker.engine.cursor();
                cursor.seek(key);
                counts.found += u64::from(cursor.item().is_some_and(|(at, _)| at == key));
                for _ in 0..step.scan {
                    let Some((key, value)) = cursor.item() else {
                        break;
                    };
                    worker.stats.bytes += (key.len() + value.len()) as u64;
                    cursor.next();
                    counts.scanned += 1;
                }
                cursor
                    .status()
                    .map_err(|failure| failure.during("seek error"))?;
                drop(cursor);
                worker.finished(1, Operation::Seek);
            }
        }
        let reads = counts.gets + counts.seeks;
        if step.query != Query::Put && reads.is_multiple_of(LIMIT_STEP) {
            worker.limit_reads(LIMIT_STEP);
        }
    }
    worker.stats.message = counts.message();
    Ok(())
}

/// Sets the limits to the sine at a time after the start, with its noise.
fn set_rates<E: Engine>(worker: &mut Worker<'_, E>, mix: &Mix, seconds: f64) {
    let flags = worker.shared.flags;
    let uniform = (worker.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let noise = if (0.0..=1.0).contains(&flags.sine_mix_rate_noise) {
        (uniform - 0.5) * flags.sine_a * flags.sine_mix_rate_noise
    } else {
        0.0
    };
    let exact = sine(flags, seconds);
    let rate = if exact + noise < 0.0 {
        exact
    } else {
        exact + noise
    };
    let limits = &worker.shared.limits;
    for (limit, share) in [
        (&limits.reads, mix.reading()),
        (&limits.puts, 1.0 - mix.reading()),
    ] {
        // As in RocksDB, a rate that is not positive leaves the previous one in force.
        let rate = rate * share;
        if rate >= 1.0 {
            limit.set(rate as u64);
        }
    }
}
