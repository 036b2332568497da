//! Reads a random key, and writes it back changed.

use super::super::engine::{Engine, Result};
use super::super::keygen::below;
use super::super::merge;
use super::super::stats::Operation;
use super::super::worker::Worker;

/// What is written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new value.
    Replace,
    /// The old value after an exclusive or with a new one of its size.
    Xor,
    /// The old value, followed by a comma and a new one.
    Append,
}

/// Updates random keys.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>, change: Change) -> Result<()> {
    let job = worker.job();
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.updates);
    let mut found = 0_u64;
    let mut new = Vec::new();
    // As in RocksDB, a key that is missing gets as many bytes as the last one that was
    // found.
    let mut size = 0;
    while pace.more(1) {
        let key = key.set(below(&mut worker.rng, job.key_space));
        let old = worker
            .engine
            .get(key)
            .map_err(|failure| failure.during("get error"))?;
        let mut read = 0;
        if let Some(old) = &old {
            found += 1;
            size = old.len();
            read = key.len() + size;
        }
        let value = match change {
            Change::Replace => values.take(),
            Change::Xor => {
                let operand = values.take_of(size);
                new = merge::bytes_xor(old.as_deref(), std::iter::once(operand));
                &new
            }
            Change::Append => {
                new.clear();
                if let Some(old) = old.as_deref().filter(|old| !old.is_empty()) {
                    new.extend_from_slice(old);
                    new.push(b',');
                }
                new.extend_from_slice(values.take());
                &new
            }
        };
        drop(old);
        worker
            .engine
            .put(key, value, &mode)
            .map_err(|failure| failure.during("put error"))?;
        let operation = match change {
            // RocksDB counts neither the bytes of this change nor the operation as an update.
            Change::Xor => Operation::Other,
            Change::Replace | Change::Append => {
                worker.stats.bytes += (read + key.len() + value.len()) as u64;
                Operation::Update
            }
        };
        worker.finished(1, operation);
    }
    worker.stats.message = format!("( updates:{} found:{found})", job.updates);
    Ok(())
}
