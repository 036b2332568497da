//! `randomwithverify`: groups of three keys that are put and deleted together. In a
//! snapshot, all keys of a group must have the same value.

use super::super::engine::{Batch, Engine, Failure, Result, Snapshot};
use super::super::keygen::below;
use super::super::stats::Operation;
use super::super::worker::Worker;

/// The last bytes of the keys of a group.
const SUFFIXES: [u8; 3] = *b"012";

/// In each hundred operations, does the reads, then the writes, then the deletions.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let job = worker.job();
    let flags = worker.shared.flags;
    let groups = flags.numdistinct.unsigned_abs();
    let reads_of_100 = u64::from(flags.readwritepercent.unsigned_abs());
    let deletes_of_100 = u64::from(flags.deletepercent.unsigned_abs());
    let (mut key, mut values) = (worker.key(), worker.values());
    let mode = worker.write_mode();
    // As in RocksDB, the count ends the run, whatever the duration is.
    let mut pace = worker.pace(job.updates);
    let (mut gets, mut puts, mut deletes, mut found) = (0_u64, 0_u64, 0_u64, 0_u64);
    while pace.more(1) {
        let group = below(&mut worker.rng, groups);
        let prefix = key.set(group);
        match (gets + puts + deletes) % 100 {
            at if at < reads_of_100 => {
                found += u64::from(read::<E>(worker.engine, prefix)?);
                gets += 1;
                worker.finished(1, Operation::Read);
            }
            at if at < 100 - deletes_of_100 => {
                let value = values.take();
                let mut batch = E::Batch::with_capacity(0);
                for suffix in SUFFIXES {
                    batch.put(&[prefix, &[suffix]].concat(), value);
                }
                worker
                    .engine
                    .write(batch, &mode)
                    .map_err(|failure| failure.during("putmany error"))?;
                puts += 1;
                worker.finished(1, Operation::Write);
            }
            _ => {
                let mut batch = E::Batch::with_capacity(0);
                for suffix in SUFFIXES {
                    batch.delete(&[prefix, &[suffix]].concat());
                }
                worker
                    .engine
                    .write(batch, &mode)
                    .map_err(|failure| failure.during("deletemany error"))?;
                deletes += 1;
                worker.finished(1, Operation::Delete);
            }
        }
    }
    worker.stats.message = format!(
        "( get:{gets} put:{puts} del:{deletes} total:{} found:{found})",
        job.updates
    );
    Ok(())
}

/// Whether the group exists. If its keys differ, the run ends, unlike in RocksDB's
/// program, because such a group is what the benchmark looks for.
fn read<E: Engine>(engine: &E, prefix: &[u8]) -> Result<bool> {
    let snapshot = engine.snapshot();
    let [first, second, third] = SUFFIXES.map(|suffix| snapshot.get(&[prefix, &[suffix]].concat()));
    let during = |failure: Failure| failure.during("getmany error");
    let (first, second, third) = (
        first.map_err(during)?,
        second.map_err(during)?,
        third.map_err(during)?,
    );
    if first != second || second != third {
        return Err(Failure(format!(
            "inconsistent values for key {prefix:02x?}: {first:02x?}, {second:02x?}, {third:02x?}"
        )));
    }
    Ok(first.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::super::flags::Flags;
    use super::super::super::memory::Memory;
    use super::*;

    #[test]
    fn groups_are_alike_or_the_run_ends() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let engine = Memory::open(directory.path(), &Flags::default(), None).expect("opens");
        assert_eq!(read(&engine, b"k"), Ok(false));
        for suffix in SUFFIXES {
            engine.put(&[b'k', suffix], b"v", &()).expect("put");
        }
        assert_eq!(read(&engine, b"k"), Ok(true));
        engine.delete(b"k1", &()).expect("deleted");
        let failure = read(&engine, b"k").expect_err("one is missing");
        assert!(failure.to_string().contains("inconsistent"), "{failure}");
    }
}
