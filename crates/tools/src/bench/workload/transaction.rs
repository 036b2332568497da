//! `randomtransaction`: each transaction adds the same number to a random key of
//! each set, so that the sums of all sets are equal at any moment.

use std::time::Instant;

use rand_xoshiro::rand_core::RngCore;

use super::super::engine::{Batch, Bounds, Cursor, Engine, Failure, Result};
use super::super::keygen::below;
use super::super::stats::Operation;
use super::super::transactions::{Attempt, Ended, Transaction};
use super::super::worker::Worker;

/// The largest number that a transaction adds.
const LARGEST: u64 = 100;

/// One more than the number of the set comes first, then the number of the key.
fn key_of(set: u32, number: u64) -> String {
    format!("{:04}{number}", set + 1)
}

/// A value as a number; a key that is missing is 0.
fn number_of(value: Option<&[u8]>) -> Result<u64> {
    let Some(value) = value else { return Ok(0) };
    let text = std::str::from_utf8(value).ok();
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| Failure(format!("value {value:02x?} is not a number")))
}

/// What a transaction is to do.
struct Plan {
    /// The sets in the order in which they are changed, each with the number of its key.
    keys: Vec<(u32, u64)>,
    /// The number that is added to each key.
    added: u64,
}

impl Plan {
    fn new<E: Engine>(worker: &mut Worker<'_, E>) -> Self {
        let keys = worker.job().key_space;
        let sets = worker.shared.flags.transaction_sets.unsigned_abs();
        let rng = &mut worker.rng;
        let mut keys: Vec<_> = (0..sets).map(|set| (set, below(rng, keys))).collect();
        for last in (1..keys.len()).rev() {
            keys.swap(last, below(rng, last as u64 + 1) as usize);
        }
        Self {
            keys,
            added: 1 + below(rng, LARGEST),
        }
    }
}

/// Runs transactions, or, without a database that has them, batches that may
/// overwrite each other's changes.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let flags = worker.shared.flags;
    let mode = worker.write_mode();
    let how = E::transaction_mode(flags);
    let mut pace = worker.timed_pace(worker.job().updates);
    let mut batches = 0_u64;
    while pace.more(1) {
        let plan = Plan::new(worker);
        if flags.has_transactions() {
            match transaction(worker, &plan, &mode, &how) {
                Ok(()) => {}
                Err(Ended::Aborted(abort)) => worker.stats.endings.add_abort(abort),
                Err(Ended::Failed(failure)) => return Err(failure.during("transaction error")),
            }
        } else {
            batch(worker, &plan, &mode)?;
            batches += 1;
        }
        worker.finished(1, Operation::Other);
    }
    let endings = worker.stats.endings;
    worker.stats.message = if flags.has_transactions() {
        let ended = endings.committed + endings.rolled_back;
        format!("( transactions:{ended} aborts:{})", endings.aborts())
    } else {
        format!("( batches:{batches} )")
    };
    Ok(())
}

fn transaction<E: Engine>(
    worker: &mut Worker<'_, E>,
    plan: &Plan,
    mode: &E::WriteMode,
    how: &E::TransactionMode,
) -> Attempt<()> {
    let flags = worker.shared.flags;
    let transaction = worker.engine.begin(mode, how).map_err(Ended::Failed)?;
    let mut bytes = 0;
    for (set, number) in &plan.keys {
        let key = key_of(*set, *number).into_bytes();
        // Other reads are checked only by a snapshot.
        let for_update = !flags.transaction_set_snapshot || below(&mut worker.rng, 2) == 0;
        let value = if for_update {
            transaction.get_for_update(&key)?
        } else {
            transaction.get(&key)?
        };
        let value = number_of(value.as_deref()).map_err(Ended::Failed)?;
        let value = (value + plan.added).to_string();
        transaction.delete(&key)?;
        transaction.put(&key, value.as_bytes())?;
        bytes += (key.len() + value.len()) as u64;
    }
    // Optimistic transactions cannot be prepared.
    let prepares = flags.transaction_db && below(&mut worker.rng, 10) != 0;
    if prepares {
        let name = format!("db_bench-{}-{:016x}", worker.id, worker.rng.next_u64());
        transaction.prepare(name.as_bytes())?;
    }
    if below(&mut worker.rng, 20) == 0 {
        transaction.roll_back()?;
        worker.stats.endings.rolled_back += 1;
        return Ok(());
    }
    let start = flags.histogram.then(Instant::now);
    transaction.commit()?;
    if let Some(start) = start {
        let operation = if prepares {
            Operation::CommitPrepared
        } else {
            Operation::Commit
        };
        worker.stats.add_latency(operation, start.elapsed());
    }
    worker.stats.endings.committed += 1;
    worker.stats.bytes += bytes;
    Ok(())
}

fn batch<E: Engine>(worker: &mut Worker<'_, E>, plan: &Plan, mode: &E::WriteMode) -> Result<()> {
    let mut batch = E::Batch::with_capacity(0);
    let mut bytes = 0;
    for (set, number) in &plan.keys {
        let key = key_of(*set, *number).into_bytes();
        let value = worker.engine.get(&key);
        let value = value.map_err(|failure| failure.during("get error"))?;
        let value = (number_of(value.as_deref())? + plan.added).to_string();
        batch.put(&key, value.as_bytes());
        bytes += (key.len() + value.len()) as u64;
    }
    let written = worker.engine.write(batch, mode);
    written.map_err(|failure| failure.during("write error"))?;
    worker.stats.bytes += bytes;
    Ok(())
}

/// The sum of each set.
///
/// # Errors
/// Any error of the engine; a value that is not a number.
pub fn sums<E: Engine>(engine: &E, sets: u32) -> Result<Vec<u128>> {
    let sum = |set: u32| {
        let prefix = format!("{:04}", set + 1);
        let mut cursor = engine.cursor_within(Bounds {
            // The character after the digits.
            upper: Some(format!("{prefix}:").into_bytes()),
            ..Bounds::default()
        });
        let mut sum = 0;
        cursor.seek(prefix.as_bytes());
        while let Some((_, value)) = cursor.item() {
            sum += u128::from(number_of(Some(value))?);
            cursor.next();
        }
        cursor.status()?;
        Ok(sum)
    };
    (0..sets).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::flags::Flags;
    use super::super::super::memory::Memory;
    use super::*;

    #[test]
    fn sets_are_summed_up_apart_from_each_other() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let engine = Memory::open(directory.path(), &Flags::default(), None).expect("opens");
        for (set, number, value) in [(0, 5, "7"), (0, 10, "1"), (1, 0, "3"), (9998, 2, "4")] {
            let key = key_of(set, number);
            engine
                .put(key.as_bytes(), value.as_bytes(), &())
                .expect("put");
        }
        engine.put(b"0003", b"9", &()).expect("put");
        assert_eq!(sums(&engine, 4), Ok(vec![8, 3, 9, 0]));
        assert_eq!(sums(&engine, 9999).expect("sums")[9998], 4);
        engine.put(b"00011", b"x", &()).expect("put");
        assert!(sums(&engine, 1).is_err());
        assert_eq!(number_of(None), Ok(0));
    }
}
