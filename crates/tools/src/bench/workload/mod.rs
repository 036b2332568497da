//! What each benchmark does, operation by operation, with the semantics of
//! RocksDB's db_bench.

mod beside;
mod fills;
mod ingest;
mod micro;
mod mixed;
mod mixgraph;
mod reads;
mod replace;
mod scans;
mod series;
mod snapshots;
pub mod transaction;
mod update;
mod verify;
mod write;

use super::engine::{Engine, Result};
use super::keygen::Order;
use super::plan::{Beside, Task};
use super::worker::Worker;
use update::Change;

/// Runs one thread's share of the job.
///
/// # Errors
/// Any error of the engine.
pub fn run<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let benchmark = worker.job().benchmark;
    match (benchmark.beside, worker.id) {
        (Some(Beside::Scan), 0) => beside::scan(worker),
        (Some(Beside::Put), 0) => beside::write(worker, false),
        (Some(Beside::Merge), 0) => beside::write(worker, true),
        (Some(Beside::CheckSnapshots), 0) => snapshots::check(worker),
        _ => match benchmark.task {
            Task::FillSequential => write::fill(worker, Order::Sequential),
            Task::FillRandom => write::fill(worker, Order::Random),
            Task::FillUnique => write::fill(worker, Order::Unique),
            Task::FillAndSeek => scans::fill_and_seek(worker),
            Task::Update => update::run(worker, Change::Replace),
            Task::Xor => update::run(worker, Change::Xor),
            Task::Append => update::run(worker, Change::Append),
            Task::Merge => mixed::merge(worker),
            Task::ReadAndWrite => mixed::read_and_write(worker),
            Task::ReadAndMerge => mixed::read_and_merge(worker),
            Task::Verify => verify::run(worker),
            Task::Transact => transaction::run(worker),
            Task::Mix => mixgraph::run(worker),
            Task::Replace => replace::run(worker),
            Task::TimeSeries => series::run(worker),
            Task::ReadRandom => reads::random(worker),
            Task::ReadFast => reads::fast(worker),
            Task::MultiRead => reads::many(worker),
            Task::ApproximateSizes => reads::sizes(worker),
            Task::Scan => scans::all(worker, false),
            Task::ScanReverse => scans::all(worker, true),
            Task::Seek => scans::seek(worker),
            Task::NewIterator => scans::create(worker),
            Task::NewSnapshot => snapshots::take(worker),
            Task::DeleteRandom => write::delete(worker, Order::Random),
            Task::DeleteSequential => write::delete(worker, Order::Sequential),
            Task::Ingest => ingest::run(worker),
            Task::Checksum(kind) => micro::checksums(worker, kind),
            Task::Compress => micro::compress(worker),
            Task::Uncompress => micro::uncompress(worker),
            Task::Compact => {
                let compacted = worker.engine.compact(true);
                compacted.map_err(|failure| failure.during(benchmark.name))
            }
            Task::BackUp => {
                let shared = worker.shared;
                let to = shared.flags.backups_of(shared.directory);
                let made = worker.engine.back_up(&to, shared.flags);
                made.map_err(|failure| failure.during(benchmark.name))
            }
            Task::Restore => {
                let shared = worker.shared;
                let from = shared.flags.backups_of(shared.directory);
                let to = shared.flags.restored_from(shared.directory);
                let restored = E::restore(&from, &to, shared.flags);
                restored.map_err(|failure| failure.during(benchmark.name))
            }
            Task::VerifyTables { whole_files } => {
                let checked = worker.engine.verify(whole_files);
                checked.map_err(|failure| failure.during(benchmark.name))
            }
            // The runner does these itself, without threads.
            Task::CompactAll
            | Task::CompactLevel0
            | Task::Flush
            | Task::WaitForCompaction
            | Task::Property(_) => Ok(()),
        },
    }
}
