//! `timeseries`: one thread writes entries of ids and times; the others read
//! all entries of an id, or delete those that have expired.
//!
//! A key is 8 bytes of the id and 8 bytes of the time, both big-endian. A reader
//! reads all entries of its id. RocksDB's program, in contrast, compares whole keys
//! and so stops at the first entry whose time is not 0.

use std::sync::atomic::Ordering;

use super::super::check::Expiry;
use super::super::engine::{Cursor, Engine, Failure, Result};
use super::super::expiry::{PART, time_of};
use super::super::keygen::below;
use super::super::stats::Operation;
use super::super::worker::Worker;

/// The size in bytes of a key that consists of an id and a time.
const BOTH: usize = 2 * PART;

/// Does the writer's work in the first thread, a reader's in the others.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    if worker.job().key_size < BOTH {
        return Err(Failure(format!(
            "timeseries needs --key_size of at least {BOTH}"
        )));
    }
    match worker.id {
        0 => {
            let result = write(worker);
            // Relaxed: the flag only ends the readers' loops.
            worker.shared.writer_over.store(true, Ordering::Relaxed);
            result
        }
        reader => {
            let flags = worker.shared.flags;
            let deletes = flags.expiry()? == Expiry::Delete
                && reader <= usize::try_from(flags.num_deletion_threads)?;
            read(worker, deletes)
        }
    }
}

fn id_of(number: u64) -> [u8; PART] {
    number.to_be_bytes()
}

fn write<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    worker.stats.excluded = true;
    let ids = u64::from(worker.shared.flags.key_id_range.unsigned_abs());
    let mut key = vec![b'0'; job.key_size];
    let mut values = worker.values();
    let mode = worker.write_mode();
    let mut pace = worker.timed_pace(job.writes);
    while pace.more(1) {
        // Relaxed: readers only compare the time with times that they have read.
        let time = worker.shared.time.fetch_add(1, Ordering::Relaxed);
        key[..PART].copy_from_slice(&id_of(below(&mut worker.rng, ids)));
        key[PART..BOTH].copy_from_slice(&time.to_be_bytes());
        let value = values.take();
        worker
            .engine
            .put(&key, value, &mode)
            .map_err(|failure| failure.during("put error"))?;
        let bytes = (key.len() + value.len()) as u64;
        worker.stats.bytes += bytes;
        worker.finished(1, Operation::Write);
        worker.limit_writes(bytes);
    }
    Ok(())
}

fn read<E: Engine>(worker: &mut Worker<'_, E>, deletes: bool) -> Result<()> {
    let flags = worker.shared.flags;
    let ids = u64::from(flags.key_id_range.unsigned_abs());
    let mode = worker.write_mode();
    let (mut read, mut found) = (0_u64, 0_u64);
    while !worker.shared.writer_over.load(Ordering::Relaxed) && !worker.is_stopped() {
        let id = id_of(below(&mut worker.rng, ids));
        let mut cursor = worker.engine.cursor();
        cursor.seek(&id);
        read += 1;
        let mut is_there = false;
        while let Some((key, value)) = cursor.item().filter(|(key, _)| key.starts_with(&id)) {
            is_there = true;
            if deletes {
                worker.stats.bytes += key.len() as u64;
                let now = worker.shared.time.load(Ordering::Relaxed);
                let age = time_of(key).map(|time| now.saturating_sub(time));
                // Times ascend, so the entries that follow are younger.
                if age.is_none_or(|age| age <= flags.time_range) {
                    break;
                }
                worker
                    .engine
                    .delete(key, &mode)
                    .map_err(|failure| failure.during("delete error"))?;
                worker.finished(1, Operation::Delete);
            } else {
                worker.stats.bytes += (key.len() + value.len()) as u64;
                worker.finished(1, Operation::Read);
            }
            cursor.next();
        }
        cursor
            .status()
            .map_err(|failure| failure.during("seek error"))?;
        found += u64::from(is_there);
        drop(cursor);
        worker.limit_reads(1);
    }
    worker.stats.message = format!("({found} of {read} found)");
    Ok(())
}
