//! `randomreplacekeys`: deletes a key and puts its successor, again and again, with
//! keys in the middle chosen more often.

use super::super::engine::{Batch, Engine, Result};
use super::super::keygen::normal;
use super::super::stats::Operation;
use super::super::worker::Worker;

/// The number of successors of a key before the first one comes again.
const SUCCESSORS: u64 = 50;

/// Puts all keys, then replaces them while a snapshot of the first state is held.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let flags = worker.shared.flags;
    let single = flags.use_single_deletes;
    let keys = usize::try_from(flags.numdistinct)?;
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    for number in 0..keys as u64 {
        let key = key.set(number * SUCCESSORS);
        let put = worker.engine.put(key, values.take(), &mode);
        put.map_err(|failure| failure.during("put error"))?;
    }
    // Until the end, the snapshot keeps compactions from dropping replaced keys.
    let _snapshot = worker.engine.snapshot();
    let mut successors = vec![0_u64; keys];
    let mut pace = worker.timed_pace(worker.job().key_space);
    while pace.more(1) {
        let drawn = normal(&mut worker.rng, keys as f64 / 2.0, flags.stddev);
        let at = (drawn as usize).min(keys - 1);
        let first = at as u64 * SUCCESSORS;
        let old = key.set(first + successors[at]);
        let deleted = if single {
            let mut batch = E::Batch::with_capacity(0);
            batch.single_delete(old);
            worker.engine.write(batch, &mode)
        } else {
            worker.engine.delete(old, &mode)
        };
        successors[at] = (successors[at] + 1) % SUCCESSORS;
        deleted
            .and_then(|()| {
                let new = key.set(first + successors[at]);
                worker.engine.put(new, b"", &mode)
            })
            .map_err(|failure| failure.during("replace error"))?;
        worker.finished(1, Operation::Other);
    }
    worker.stats.message = format!(
        "use single deletes: {}, standard deviation: {:.6}\n",
        i32::from(single),
        flags.stddev
    );
    Ok(())
}
