//! What an extra thread does while the others read.

use std::sync::atomic::Ordering;

use super::super::engine::{Engine, Result};
use super::super::keygen::below;
use super::super::stats::Operation;
use super::super::worker::Worker;
use super::scans;
use super::write::Ranges;

/// Writes or merges until the readers are finished; with `finish_after_writes`,
/// until its own writes are.
pub fn write<E: Engine>(worker: &mut Worker<'_, E>, merges: bool) -> Result<()> {
    let job = worker.job();
    let by_count = worker.shared.flags.finish_after_writes;
    worker.stats.excluded = true;
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut ranges = Ranges::new(worker);
    let mut written = 0;
    // Relaxed: both flags only say when to end.
    while !worker.is_stopped()
        && if by_count {
            written < job.writes
        } else {
            worker.shared.running.load(Ordering::Relaxed) > 0
        }
    {
        let key = key.set(below(&mut worker.rng, job.key_space));
        let value = values.take();
        let done = if merges {
            worker.engine.merge(key, value, &mode)
        } else {
            worker.engine.put(key, value, &mode)
        };
        done.map_err(|failure| failure.during("put or merge error"))?;
        let bytes = (key.len() + value.len()) as u64;
        written += 1;
        worker.stats.bytes += bytes;
        worker.finished(1, Operation::Write);
        worker.limit_writes(bytes);
        ranges.written(worker, None, &mode)?;
    }
    Ok(())
}

/// Scans everything, as many entries as the readers read. As in RocksDB, these
/// entries count, too.
pub fn scan<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    scans::again_and_again(worker)
}
