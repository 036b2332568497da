//! Iterators: over everything, from random keys on, and created only to be dropped.

use super::super::engine::{Bounds, Cursor, Engine, Failure, Result};
use super::super::keygen::{Order, below};
use super::super::stats::Operation;
use super::super::worker::Worker;
use super::reads::add_found_message;
use super::write::fill;

/// Reads in key order, or in reverse.
pub fn all<E: Engine>(worker: &mut Worker<'_, E>, reverse: bool) -> Result<()> {
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

/// Seeks random keys, and reads on from there.
pub fn seek<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let flags = worker.shared.flags;
    let distance = flags.max_scan_distance.unsigned_abs();
    let (mut key, mut bound) = (worker.key(), worker.key());
    let mut pace = worker.timed_pace(job.reads);
    let mut found = 0_u64;
    // As in RocksDB, the single tailing iterator has no bounds.
    let mut tailing = flags.use_tailing_iterator.then(|| worker.engine.cursor());
    while pace.more(1) {
        let number = below(&mut worker.rng, job.key_space);
        let key = if flags.seek_missing_prefix {
            key.set_missing_prefix(number)
        } else {
            key.set(number)
        };
        let bounds = match (distance, flags.reverse_iterator) {
            (0, _) => Bounds::default(),
            (_, true) => Bounds {
                lower: Some(bound.set(number.saturating_sub(distance)).to_vec()),
                upper: None,
            },
            (_, false) => Bounds {
                lower: None,
                upper: Some(bound.set((number + distance).min(job.key_space)).to_vec()),
            },
        };
        let mut own;
        let cursor = match &mut tailing {
            Some(cursor) => cursor,
            None => {
                own = worker.engine.cursor_within(bounds);
                &mut own
            }
        };
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
        worker.limit_reads(1);
        worker.finished(1, Operation::Seek);
    }
    drop(tailing);
    add_found_message(worker, found);
    Ok(())
}

/// Creates iterators and drops them.
pub fn create<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let mut pace = worker.timed_pace(worker.job().reads);
    while pace.more(1) {
        drop(worker.engine.cursor());
        worker.finished(1, Operation::Other);
    }
    Ok(())
}

/// Fills in key order, which is not measured. Then one iterator seeks each key in
/// order, and reads on from it.
pub fn fill_and_seek<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let keys = worker.job().key_space;
    let nexts = u64::from(worker.shared.flags.seek_nexts.unsigned_abs());
    let reverse = worker.shared.flags.reverse_iterator;
    fill(worker, Order::Sequential)?;
    worker.restart();
    let mut pace = worker.pace(u64::MAX);
    let mut key = worker.key();
    let mut cursor = worker.engine.cursor();
    let mut number = 0;
    while number < keys && pace.more(1) {
        cursor.seek(key.set(number));
        worker.finished(1, Operation::Seek);
        for _ in 0..nexts.min(keys - 1 - number) {
            if reverse {
                cursor.prev();
            } else {
                cursor.next();
            }
            number += 1;
            worker.finished(1, Operation::Seek);
        }
        let wanted = key.set(number);
        cursor.seek(wanted);
        let missing = cursor.item().is_none_or(|(at, _)| at != wanted);
        cursor
            .status()
            .map_err(|failure| failure.during("seek error"))?;
        if missing {
            return Err(Failure(format!("seek error: key {wanted:02x?} is missing")));
        }
        worker.finished(1, Operation::Seek);
        number += 1;
    }
    Ok(())
}

/// The work of the thread that scans beside readers: from the first key to the last,
/// repeatedly.
pub fn again_and_again<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let mut pace = worker.timed_pace(worker.job().reads);
    let mut cursor = worker.engine.cursor();
    let mut valid = false;
    while pace.more(1) {
        if valid {
            cursor.next();
        } else {
            cursor
                .status()
                .map_err(|failure| failure.during("scan error"))?;
            cursor.seek_to_first();
        }
        valid = cursor.item().is_some();
        worker.finished(1, Operation::Seek);
    }
    Ok(())
}
