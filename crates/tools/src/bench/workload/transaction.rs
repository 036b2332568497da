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
fn key_of(set: u32, number: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(24);
    push_decimal(&mut key, u64::from(set) + 1, 4);
    push_decimal(&mut key, number, 1);
    key
}

/// Appends `number` with at least `width` digits. Formatting would take a tenth of the time of a
/// transaction.
fn push_decimal(text: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    while number > 0 || digits.len() - first < width {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text.extend_from_slice(&digits[first..]);
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
    let mut text = Vec::with_capacity(24);
    for (set, number) in &plan.keys {
        let key = key_of(*set, *number);
        // Other reads are checked only by a snapshot.
        let for_update = !flags.transaction_set_snapshot || below(&mut worker.rng, 2) == 0;
        let value = if for_update {
            transaction.get_for_update(&key)?
        } else {
            transaction.get(&key)?
        };
        let value = number_of(value.as_deref()).map_err(Ended::Failed)?;
        text.clear();
        push_decimal(&mut text, value + plan.added, 1);
        transaction.delete(&key)?;
        transaction.put(&key, &text)?;
        bytes += (key.len() + text.len()) as u64;
    }
    // Optimistic transactions cannot be prepared.
    let prepares = flags.transaction_db && below(&mut worker.rng, 10) != 0;
    if prepares {
        text.clear();
        text.extend_from_slice(b"db_bench-");
        push_decimal(&mut text, worker.id as u64, 1);
        text.push(b'-');
        push_decimal(&mut text, worker.rng.next_u64(), 20);
        transaction.prepare(&text)?;
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
        let now = Instant::now();
        worker.add_latency(operation, now - start, now);
    }
    worker.stats.endings.committed += 1;
    worker.stats.bytes += bytes;
    Ok(())
}

fn batch<E: Engine>(worker: &mut Worker<'_, E>, plan: &Plan, mode: &E::WriteMode) -> Result<()> {
    let mut batch = E::Batch::with_capacity(0);
    let mut bytes = 0;
    for (set, number) in &plan.keys {
        let key = key_of(*set, *number);
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
    fn keys_have_four_digits_of_their_set_before_their_number() {
        assert_eq!(key_of(0, 0), b"00010");
        assert_eq!(key_of(41, 1_234_567), b"00421234567");
        assert_eq!(key_of(9999, u64::MAX), b"1000018446744073709551615");
        let mut text = Vec::new();
        push_decimal(&mut text, 7, 20);
        assert_eq!(text, b"00000000000000000007");
    }

    #[test]
    fn sets_are_summed_up_apart_from_each_other() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let engine = Memory::open(directory.path(), &Flags::default(), None).expect("opens");
        for (set, number, value) in [(0, 5, "7"), (0, 10, "1"), (1, 0, "3"), (9998, 2, "4")] {
            let key = key_of(set, number);
            engine.put(&key, value.as_bytes(), &()).expect("put");
        }
        engine.put(b"0003", b"9", &()).expect("put");
        assert_eq!(sums(&engine, 4), Ok(vec![8, 3, 9, 0]));
        assert_eq!(sums(&engine, 9999).expect("sums")[9998], 4);
        engine.put(b"00011", b"x", &()).expect("put");
        assert!(sums(&engine, 1).is_err());
        assert_eq!(number_of(None), Ok(0));
    }
}
