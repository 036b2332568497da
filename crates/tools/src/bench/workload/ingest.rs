//! `ingestexternalfile`: tables that are built outside the database, all of the same
//! keys, and ingested several at a time.

use super::super::engine::{Engine, External, Result};
use super::super::stats::Operation;
use super::super::worker::Worker;

/// Runs the benchmark. As in RocksDB's program, the operations are the ingestions;
/// the time includes building the tables.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let flags = worker.shared.flags;
    let (batches, tables) = (
        flags.ingest_external_file_num_batches,
        flags.ingest_external_file_batch_size,
    );
    let keys = worker.job().keys;
    let directory = worker.shared.directory.join("ingest_tmp");
    std::fs::create_dir_all(&directory)?;
    let (mut key, mut values) = (worker.key(), worker.values());
    let mut pace = worker.pace(u64::from(batches.unsigned_abs()));
    let mut batch = 0;
    while pace.more(1) {
        let name = |table| directory.join(format!("ingest_{batch}_{table}.sst"));
        let files: Vec<_> = (0..tables).map(name).collect();
        for file in &files {
            let mut table = worker.engine.external(file)?;
            for number in 0..keys {
                let (key, value) = (key.set(number), values.take());
                table.put(key, value)?;
                worker.stats.bytes += (key.len() + value.len()) as u64;
            }
            table.finish()?;
        }
        worker
            .engine
            .ingest(files)
            .map_err(|failure| failure.during("ingest error"))?;
        worker.finished(1, Operation::Write);
        batch += 1;
    }
    std::fs::remove_dir_all(&directory)?;
    worker.stats.message = format!("({batch} batches x {tables} files, {keys} keys/file)");
    Ok(())
}
