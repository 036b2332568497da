//! Reads of random keys, one by one and several at once.

use super::super::engine::{Engine, Result};
use super::super::keygen::{Key, below};
use super::super::stats::Operation;
use super::super::worker::Worker;

/// The number of reads of `readrandomfast` between two counts.
const FAST_STEP: u64 = 100;

/// Reads random keys one by one.
pub fn random<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let stride = worker.shared.flags.multiread_stride.unsigned_abs();
    let mut key = worker.key();
    let mut pace = worker.timed_pace(job.reads);
    let mut found = 0_u64;
    let (mut number, mut of_batch) = (0, 0);
    while pace.more(1) {
        if job.batch > 1 && stride > 0 {
            of_batch = (of_batch + 1) % job.batch;
            number = match of_batch {
                0 => first_of_stride(worker, stride),
                _ => number + stride,
            };
        } else {
            number = worker.random_key();
        }
        let key = key.set(number);
        let value = worker.get(number, key)?;
        if let Some(value) = value {
            found += 1;
            worker.stats.bytes += (key.len() + value.len()) as u64;
        }
        worker.limit_reads(1);
        worker.finished(1, Operation::Read);
    }
    add_found_message(worker, found);
    Ok(())
}

/// The number of the first key of a batch whose keys are `stride` apart and all
/// exist.
fn first_of_stride<E: Engine>(worker: &mut Worker<'_, E>, stride: u64) -> u64 {
    let job = worker.job();
    let first = worker.random_key();
    if first.saturating_add((job.batch - 1).saturating_mul(stride)) >= job.key_space {
        return job
            .key_space
            .saturating_sub(job.batch.saturating_mul(stride));
    }
    first
}

/// Adds the number of keys found to the result line.
pub fn add_found_message<E: Engine>(worker: &mut Worker<'_, E>, found: u64) {
    // RocksDB's message ends its line itself; hence the empty line after it.
    worker.stats.message = format!("({found} of {} found)\n", worker.stats.operations);
}

/// Reads random keys below the next power of two, so that some do not exist.
pub fn fast<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let mut key = worker.key();
    let mut pace = worker.timed_pace(job.reads);
    let bound = job
        .key_space
        .checked_next_power_of_two()
        .unwrap_or(u64::MAX);
    let (mut read, mut found, mut beyond) = (0_u64, 0_u64, 0_u64);
    while pace.more(FAST_STEP) {
        for _ in 0..FAST_STEP {
            let number = below(&mut worker.rng, bound);
            let value = worker
                .engine
                .get(key.set(number))
                .map_err(|failure| failure.during("get error"))?;
            found += u64::from(value.is_some());
            beyond += u64::from(number >= job.key_space);
        }
        read += FAST_STEP;
        worker.limit_reads(FAST_STEP);
        worker.finished(FAST_STEP, Operation::Read);
    }
    worker.stats.message = format!("({found} of {read} found, issued {beyond} non-exist keys)\n");
    Ok(())
}

/// Reads `batch_size` random keys at once.
pub fn many<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let stride = worker.shared.flags.multiread_stride.unsigned_abs();
    let mut keys: Vec<Key<'_>> = (0..job.batch).map(|_| worker.key()).collect();
    let mut pace = worker.timed_pace(job.reads);
    let mut found = 0_u64;
    while pace.more(job.batch) {
        if stride > 0 {
            let first = first_of_stride(worker, stride);
            for (number, key) in (first..).step_by(stride as usize).zip(&mut keys) {
                key.set(number);
            }
        } else {
            for key in &mut keys {
                key.set(worker.random_key());
            }
        }
        let wanted: Vec<&[u8]> = keys.iter().map(Key::bytes).collect();
        let values = worker
            .engine
            .multi_get(&wanted)
            .map_err(|failure| failure.during("multiget error"))?;
        for (key, value) in wanted.iter().zip(values) {
            if let Some(value) = value {
                found += 1;
                worker.stats.bytes += (key.len() + value.len()) as u64;
            }
        }
        worker.limit_reads(job.batch);
        worker.finished(job.batch, Operation::Read);
    }
    worker.stats.message = format!("({found} of {} found)", worker.stats.operations);
    Ok(())
}

/// Asks for the sizes of `batch_size` random ranges at once.
pub fn sizes<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let mut ends: Vec<_> = (0..job.batch)
        .map(|_| (worker.key(), worker.key()))
        .collect();
    let mut pace = worker.timed_pace(job.reads);
    let (mut sum, mut count) = (0_u64, 0_u64);
    // RocksDB counts calls here, not ranges.
    while pace.more(1) {
        for (begin, end) in &mut ends {
            let (one, other) = (worker.random_key(), worker.random_key());
            begin.set(one.min(other));
            end.set(one.max(other));
        }
        let ranges: Vec<_> = ends
            .iter()
            .map(|(begin, end)| (begin.bytes(), end.bytes()))
            .collect();
        let sizes = worker.engine.approximate_sizes(&ranges)?;
        sum = sizes
            .iter()
            .fold(sum, |sum, size| sum.saturating_add(*size));
        count += sizes.len() as u64;
        worker.finished(job.batch, Operation::Other);
    }
    let mean = sum as f64 / count.max(1) as f64;
    worker.stats.message = format!("(Avg approx size={mean})");
    Ok(())
}
