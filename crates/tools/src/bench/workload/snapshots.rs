//! Snapshots that are only taken and released, and the thread beside `overwritewhilechecking`: it
//! reads keys in a snapshot twice, and ends the run if a value has changed. RocksDB's
//! `unordered_write` is the mode that this is for.

use std::sync::atomic::Ordering;

use super::super::engine::{Engine, Failure, Result, Snapshot};
use super::super::keygen::below;
use super::super::stats::Operation;
use super::super::worker::Worker;

/// Takes snapshots and releases them.
pub fn take<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let mut pace = worker.timed_pace(worker.job().reads);
    while pace.more(1) {
        drop(worker.engine.snapshot());
        worker.finished(1, Operation::Other);
    }
    Ok(())
}

/// How many keys are read in a snapshot.
const KEYS: u64 = 16;

/// Checks one snapshot after the other until the writers are finished.
pub fn check<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    worker.stats.excluded = true;
    let space = worker.job().key_space;
    let mut key = worker.key();
    let mut snapshots = 0_u64;
    // Relaxed: the flag only says when to end.
    while !worker.is_stopped() && worker.shared.running.load(Ordering::Relaxed) > 0 {
        let keys: Vec<Vec<u8>> = (0..KEYS.min(space))
            .map(|_| key.set(below(&mut worker.rng, space)).to_vec())
            .collect();
        stays_the_same(&worker.engine.snapshot(), &keys)?;
        snapshots += 1;
    }
    worker.stats.message = format!("({snapshots} snapshots stayed the same)");
    Ok(())
}

/// Reads the keys twice.
fn stays_the_same(snapshot: &impl Snapshot, keys: &[Vec<u8>]) -> Result<()> {
    let read = || -> Result<Vec<_>> {
        let values = keys.iter().map(|key| snapshot.get(key));
        let values: Result<_> = values.collect();
        values.map_err(|failure| failure.during("get error"))
    };
    let (first, second) = (read()?, read()?);
    for ((key, first), second) in keys.iter().zip(first).zip(second) {
        if first != second {
            return Err(Failure(format!(
                "a snapshot has changed: key {key:02x?} was {first:02x?} and is {second:02x?}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A snapshot in which the key `changing` has another value at each look.
    struct Loose(Cell<u8>);

    impl Snapshot for Loose {
        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
            self.0.set(self.0.get() + 1);
            Ok((key == b"changing").then(|| vec![self.0.get()]))
        }
    }

    #[test]
    fn a_value_that_changes_in_a_snapshot_ends_the_run() {
        let snapshot = Loose(Cell::new(0));
        let missing = [b"a".to_vec(), b"b".to_vec()];
        assert_eq!(stays_the_same(&snapshot, &missing), Ok(()));
        let keys = [b"a".to_vec(), b"changing".to_vec()];
        let failure = stays_the_same(&snapshot, &keys).expect_err("it changes");
        assert!(
            failure.to_string().contains("a snapshot has changed"),
            "{failure}"
        );
    }
}
