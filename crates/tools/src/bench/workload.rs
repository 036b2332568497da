//! What each benchmark does, operation by operation, with the semantics of
//! RocksDB's db_bench.

use std::sync::atomic::Ordering;

use super::engine::{Batch, Cursor, Engine, Result};
use super::keygen::{KeyNumbers, Order, below};
use super::plan::{Beside, Task};
use super::stats::Operation;
use super::worker::Worker;

/// Bytes that a batch needs for each entry beside key and value, at most.
const ENTRY_OVERHEAD: u64 = 11;
/// Bytes of an empty batch.
const BATCH_HEADER: u64 = 12;

/// Runs one thread's share of the job.
///
/// # Errors
/// Those of the engine.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let benchmark = worker.job().benchmark;
    match (benchmark.beside, worker.id) {
        (Some(beside), 0) => write_beside(worker, beside),
        _ => match benchmark.task {
            Task::FillSequential => fill(worker, Order::Sequential),
            Task::FillRandom => fill(worker, Order::Random),
            Task::FillUnique => fill(worker, Order::Unique),
            Task::Update => update(worker),
            Task::Merge => merge(worker),
            Task::ReadRandom => read_random(worker),
            Task::Scan => scan(worker, false),
            Task::ScanReverse => scan(worker, true),
            Task::Seek => seek(worker),
            Task::DeleteRandom => delete(worker, Order::Random),
            Task::DeleteSequential => delete(worker, Order::Sequential),
            Task::Compact => {
                worker.engine.compact();
                Ok(())
            }
            // The runner does these itself, without threads.
            Task::Flush | Task::WaitForCompaction | Task::Property(_) => Ok(()),
        },
    }
}

fn fill<E: Engine>(worker: &mut Worker<'_, E>, order: Order) -> Result<()> {
    let job = worker.job();
    if job.keys != job.key_space {
        worker.stats.message = format!("({} ops)", job.keys);
    }
    let mut pace = match order {
        Order::Random => worker.timed_pace(job.writes),
        _ => worker.pace(job.writes),
    };
    if job.keys == 0 {
        return Ok(());
    }
    let mut numbers = KeyNumbers::new(order, job.keys, &mut worker.rng);
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let entry = job.key_size as u64 + job.value_size as u64;
    while pace.more(job.batch) {
        let written = if job.batch == 1 {
            let number = numbers.next(&mut worker.rng);
            worker.engine.put(key.set(number), values.take(), &mode)
        } else {
            let mut batch = new_batch::<E>(job.batch, entry);
            for _ in 0..job.batch {
                let number = numbers.next(&mut worker.rng);
                batch.put(key.set(number), values.take());
            }
            worker.engine.write(batch, &mode)
        };
        written.map_err(|failure| failure.during("put error"))?;
        worker.stats.bytes += entry * job.batch;
        worker.finished(job.batch, Operation::Write);
    }
    Ok(())
}

fn new_batch<E: Engine>(entries: u64, entry: u64) -> E::Batch {
    let bytes = BATCH_HEADER + entries.saturating_mul(entry + ENTRY_OVERHEAD);
    // A hint only: no more than a gigabyte up front.
    E::Batch::with_capacity(bytes.min(1 << 30) as usize)
}

fn delete<E: Engine>(worker: &mut Worker<'_, E>, order: Order) -> Result<()> {
    let job = worker.job();
    let mut pace = match order {
        Order::Random => worker.timed_pace(job.deletes),
        _ => worker.pace(job.deletes),
    };
    let mut numbers = KeyNumbers::new(order, job.key_space, &mut worker.rng);
    let mut key = worker.key();
    let mode = worker.write_mode();
    while pace.more(job.batch) {
        let written = if job.batch == 1 {
            let number = numbers.next(&mut worker.rng);
            worker.engine.delete(key.set(number), &mode)
        } else {
            let mut batch = new_batch::<E>(job.batch, job.key_size as u64);
            for _ in 0..job.batch {
                let number = numbers.next(&mut worker.rng);
                batch.delete(key.set(number));
            }
            worker.engine.write(batch, &mode)
        };
        written.map_err(|failure| failure.during("del error"))?;
        worker.finished(job.batch, Operation::Delete);
    }
    Ok(())
}

fn update<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.updates);
    let mut found = 0_u64;
    while pace.more(1) {
        let key = key.set(below(&mut worker.rng, job.key_space));
        let old = worker
            .engine
            .get(key)
            .map_err(|failure| failure.during("get error"))?;
        if let Some(old) = old {
            found += 1;
            worker.stats.bytes += (key.len() + old.len()) as u64;
        }
        let value = values.take();
        worker
            .engine
            .put(key, value, &mode)
            .map_err(|failure| failure.during("put error"))?;
        worker.stats.bytes += (key.len() + value.len()) as u64;
        worker.finished(1, Operation::Update);
    }
    worker.stats.message = format!("( updates:{} found:{found})", job.updates);
    Ok(())
}

fn merge<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.updates);
    while pace.more(1) {
        let key = key.set(below(&mut worker.rng, job.merge_keys));
        let value = values.take();
        worker
            .engine
            .merge(key, value, &mode)
            .map_err(|failure| failure.during("merge error"))?;
        worker.stats.bytes += (key.len() + value.len()) as u64;
        worker.finished(1, Operation::Merge);
    }
    worker.stats.message = format!("( updates:{})", job.updates);
    Ok(())
}

fn read_random<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let mut key = worker.key();
    let mut pace = worker.timed_pace(job.reads);
    let mut found = 0_u64;
    while pace.more(1) {
        let key = key.set(below(&mut worker.rng, job.key_space));
        let value = worker
            .engine
            .get(key)
            .map_err(|failure| failure.during("get error"))?;
        if let Some(value) = value {
            found += 1;
            worker.stats.bytes += (key.len() + value.len()) as u64;
        }
        worker.finished(1, Operation::Read);
    }
    add_found_message(worker, found);
    Ok(())
}

fn add_found_message<E: Engine>(worker: &mut Worker<'_, E>, found: u64) {
    // RocksDB's message ends its line itself, hence the empty line after it.
    worker.stats.message = format!("({found} of {} found)\n", worker.stats.operations);
}

fn scan<E: Engine>(worker: &mut Worker<'_, E>, reverse: bool) -> Result<()> {
    let mut pace = worker.pace(worker.job().reads);
    let mut cursor = worker.engine.cursor();
    if reverse {
        cursor.seek_to_last();
    } else {
        cursor.seek_to_first();
    }
    while pace.more(1) {
        let Some((key, value)) = cursor.item() else {
            break;
        };
        worker.stats.bytes += (key.len() + value.len()) as u64;
        if reverse {
            cursor.prev();
        } else {
            cursor.next();
        }
        worker.finished(1, Operation::Read);
    }
    cursor
        .status()
        .map_err(|failure| failure.during("scan error"))
}

fn seek<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let flags = worker.shared.flags;
    let mut key = worker.key();
    let mut pace = worker.timed_pace(job.reads);
    let mut found = 0_u64;
    while pace.more(1) {
        let key = key.set(below(&mut worker.rng, job.key_space));
        let mut cursor = worker.engine.cursor();
        cursor.seek(key);
        found += u64::from(cursor.item().is_some_and(|(at, _)| at == key));
        for _ in 0..flags.seek_nexts {
            let Some((key, value)) = cursor.item() else {
                break;
            };
            worker.stats.bytes += (key.len() + value.len()) as u64;
            if flags.reverse_iterator {
                cursor.prev();
            } else {
                cursor.next();
            }
        }
        cursor
            .status()
            .map_err(|failure| failure.during("seek error"))?;
        worker.finished(1, Operation::Seek);
    }
    add_found_message(worker, found);
    Ok(())
}

/// Writes until the measured threads are done.
fn write_beside<E: Engine>(worker: &mut Worker<'_, E>, beside: Beside) -> Result<()> {
    let job = worker.job();
    worker.stats.excluded = true;
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    // Relaxed: both only say when to end.
    while worker.shared.running.load(Ordering::Relaxed) > 0
        && !worker.shared.stop.load(Ordering::Relaxed)
    {
        let key = key.set(below(&mut worker.rng, job.key_space));
        let value = values.take();
        let written = match beside {
            Beside::Put => worker.engine.put(key, value, &mode),
            Beside::Merge => worker.engine.merge(key, value, &mode),
        };
        written.map_err(|failure| failure.during("put or merge error"))?;
        worker.finished(1, Operation::Write);
    }
    Ok(())
}
