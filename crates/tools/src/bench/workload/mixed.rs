//! Merges, and mixes of reads and writes in one thread.

use super::super::engine::{Engine, Result};
use super::super::keygen::below;
use super::super::stats::Operation;
use super::super::worker::Worker;

/// Merges into random keys.
pub fn merge<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.updates);
    while pace.more(1) {
        let number = below(&mut worker.rng, job.merge_keys);
        let (key, value) = (key.set(number), values.take());
        let engine = worker.engine;
        let merged = match worker.family(number)? {
            None => engine.merge(key, value, &mode),
            Some(family) => engine.merge_in(family, key, value, &mode),
        };
        merged.map_err(|failure| failure.during("merge error"))?;
        worker.stats.bytes += (key.len() + value.len()) as u64;
        worker.finished(1, Operation::Merge);
    }
    worker.stats.message = format!("( updates:{})", job.updates);
    Ok(())
}

/// In each hundred operations, does first the reads, then the writes.
pub fn read_and_write<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let percent = u64::from(worker.shared.flags.readwritepercent.unsigned_abs());
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.updates);
    let (mut reads, mut writes, mut found) = (0_u64, 0_u64, 0_u64);
    while pace.more(1) {
        let key = key.set(below(&mut worker.rng, job.key_space));
        if (reads + writes) % 100 < percent {
            let value = worker
                .engine
                .get(key)
                .map_err(|failure| failure.during("get error"))?;
            found += u64::from(value.is_some());
            reads += 1;
            drop(value);
            worker.finished(1, Operation::Read);
        } else {
            worker
                .engine
                .put(key, values.take(), &mode)
                .map_err(|failure| failure.during("put error"))?;
            writes += 1;
            worker.finished(1, Operation::Write);
        }
    }
    worker.stats.message = format!(
        "( reads:{reads} writes:{writes} total:{} found:{found})",
        job.updates
    );
    Ok(())
}

/// Merges into random keys and reads random keys, in random order.
pub fn read_and_merge<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let percent = u64::from(worker.shared.flags.mergereadpercent.unsigned_abs());
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.updates);
    let (mut reads, mut merges, mut hits, mut longest) = (0_u64, 0_u64, 0_u64, 0);
    while pace.more(1) {
        let key = key.set(below(&mut worker.rng, job.merge_keys));
        if below(&mut worker.rng, 100) < percent {
            worker
                .engine
                .merge(key, values.take(), &mode)
                .map_err(|failure| failure.during("merge error"))?;
            merges += 1;
            worker.finished(1, Operation::Merge);
        } else {
            let value = worker
                .engine
                .get(key)
                .map_err(|failure| failure.during("get error"))?;
            if let Some(value) = value {
                hits += 1;
                longest = longest.max(value.len());
            }
            reads += 1;
            worker.finished(1, Operation::Read);
        }
    }
    worker.stats.message = format!(
        "(reads:{reads} merges:{merges} total:{} hits:{hits} maxlength:{longest})",
        job.updates
    );
    Ok(())
}
