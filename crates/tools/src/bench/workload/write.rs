//! Fills and deletions, in batches if `batch_size` asks for that.

use super::super::engine::{Batch, Engine, Result};
use super::super::keygen::{Key, KeyNumbers, Order, below};
use super::super::stats::Operation;
use super::super::worker::Worker;
use super::fills::{Numbers, SineRate, Stages};

/// The maximum number of bytes that a batch needs for an entry besides key and value.
const ENTRY_OVERHEAD: u64 = 11;
/// The size of an empty batch in bytes.
const BATCH_HEADER: u64 = 12;

/// Writes keys in the given order.
pub fn fill<E: Engine>(worker: &mut Worker<'_, E>, order: Order) -> Result<()> {
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
    let mut numbers = Numbers::new(order, worker);
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    let mut ranges = Ranges::new(worker);
    let mut stages = Stages::new(worker);
    let mut rate = SineRate::new(worker);
    let entry = job.key_size as u64 + job.value_size as u64;
    let engine = worker.engine;
    while pace.more(job.batch) {
        stages.before(worker)?;
        let (mut bytes, mut number) = (0, 0);
        let written = if job.batch == 1 {
            number = numbers.next(&mut worker.rng);
            let (key, value) = (key.set(number), values.take());
            bytes += (key.len() + value.len()) as u64;
            match worker.family(number)? {
                None => engine.put(key, value, &mode),
                Some(family) => engine.put_in(family, key, value, &mode),
            }
        } else {
            let mut batch = new_batch::<E>(job.batch, entry);
            for _ in 0..job.batch {
                number = numbers.next(&mut worker.rng);
                let (key, value) = (key.set(number), values.take());
                bytes += (key.len() + value.len()) as u64;
                match worker.family(number)? {
                    None => batch.put(key, value),
                    Some(family) => E::batch_put_in(&mut batch, family, key, value),
                }
            }
            engine.write(batch, &mode)
        };
        written.map_err(|failure| failure.during("put error"))?;
        worker.stats.bytes += bytes;
        worker.finished(job.batch, Operation::Write);
        rate.follow(worker);
        worker.limit_writes(bytes);
        for _ in 0..job.batch {
            ranges.written(worker, Some(number), &mode)?;
        }
    }
    numbers.report(worker);
    Ok(())
}

fn new_batch<E: Engine>(entries: u64, entry: u64) -> E::Batch {
    let bytes = BATCH_HEADER + entries.saturating_mul(entry + ENTRY_OVERHEAD);
    // This is only a hint, so it is limited to a gigabyte.
    E::Batch::with_capacity(bytes.min(1 << 30) as usize)
}

/// Deletes keys in the given order.
pub fn delete<E: Engine>(worker: &mut Worker<'_, E>, order: Order) -> Result<()> {
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

/// The range deletions of a writing thread (`writes_per_range_tombstone`).
pub struct Ranges<'r> {
    each: u64,
    before: u64,
    most: u64,
    width: u64,
    expand: bool,
    keys: u64,
    written: u64,
    begin: Key<'r>,
    end: Key<'r>,
}

impl<'r> Ranges<'r> {
    /// The range deletions that the flags ask for.
    pub fn new<E: Engine>(worker: &Worker<'r, E>) -> Self {
        let flags = worker.shared.flags;
        Self {
            each: flags.writes_per_range_tombstone.unsigned_abs(),
            before: flags.writes_before_delete_range.unsigned_abs(),
            most: flags.max_num_range_tombstones.unsigned_abs(),
            width: flags.range_tombstone_width.unsigned_abs(),
            expand: flags.expand_range_tombstones,
            keys: worker.job().key_space,
            written: 0,
            begin: worker.key(),
            end: worker.key(),
        }
    }

    /// Called after each write: deletes a range if it is time for one, in the column
    /// family of the key with this number, or in the default one.
    ///
    /// # Errors
    /// Any error of the engine.
    #[inline]
    pub fn written<E: Engine>(
        &mut self,
        worker: &mut Worker<'_, E>,
        number: Option<u64>,
        mode: &E::WriteMode,
    ) -> Result<()> {
        if self.each == 0 {
            return Ok(());
        }
        self.written += 1;
        let after = self.written.saturating_sub(self.before);
        if after == 0 || after / self.each > self.most || !after.is_multiple_of(self.each) {
            return Ok(());
        }
        self.delete(worker, number, mode)
            .map_err(|failure| failure.during("deleterange error"))
    }

    fn delete<E: Engine>(
        &mut self,
        worker: &mut Worker<'_, E>,
        number: Option<u64>,
        mode: &E::WriteMode,
    ) -> Result<()> {
        let first = below(&mut worker.rng, self.keys);
        let engine = worker.engine;
        let family = match number {
            None => None,
            Some(number) => worker.family(number)?,
        };
        let mut batch = E::Batch::with_capacity(0);
        if self.expand {
            for number in first..first + self.width {
                let key = self.begin.set(number);
                match family {
                    None => batch.delete(key),
                    Some(family) => E::batch_delete_in(&mut batch, family, key),
                }
            }
        } else {
            let (begin, end) = (self.begin.set(first), self.end.set(first + self.width));
            match family {
                None => batch.delete_range(begin, end)?,
                Some(family) => E::batch_delete_range_in(&mut batch, family, begin, end)?,
            }
        }
        engine.write(batch, mode)?;
        worker.finished(1, Operation::Write);
        Ok(())
    }
}
