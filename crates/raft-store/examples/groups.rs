//! Appends per second of many groups in one database, each with one entry on its way.
//!
//! `cargo run --release --example groups -- --dir /a/disk` appends with 1, 16, 256 and 4096 groups.
//! Built with `--features peer-rocksdb`, it does so over RocksDB as well, in turn with Whitewater,
//! in this process. A group appends an entry, waits until it is durable, and appends the next; it
//! purges what is old. So the rate is that of syncs, times how many appends share one.

use clap::Parser;
use openraft::storage::{RaftLogStorage, RaftLogStorageExt};
use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use whitewater_raft_store::engine::{Engine, Whitewater};
use whitewater_raft_store::{SnapshotFiles, Store};

openraft::declare_raft_types!(
    /// Requests are texts.
    Types: SnapshotData = SnapshotFiles
);

#[derive(Parser)]
#[command(about = "Appends per second of many Raft groups in one database.")]
struct Flags {
    /// Where databases are made, and removed
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Numbers of groups
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 256, 4096])]
    groups: Vec<u64>,
    /// Seconds for each number of groups, engine and round
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rounds
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Bytes of a request
    #[arg(long, default_value_t = 128)]
    bytes: usize,
    /// Entries that a group keeps
    #[arg(long, default_value_t = 1000)]
    keep: u64,
    /// Threads of the runtime
    #[arg(long, default_value_t = 4)]
    threads: usize,
}

fn log_id(index: u64) -> LogId<u64> {
    LogId::new(CommittedLeaderId::new(1, 1), index)
}

/// A group that appends until `until`. Returns how long each append took.
async fn append<E: Engine>(
    store: Store<E>,
    group: u64,
    (request, keep): (String, u64),
    until: Instant,
) -> Vec<Duration> {
    let mut log = store.log::<Types>(group);
    let mut times = Vec::new();
    let mut index = 0;
    let mut begun = Instant::now();
    while begun < until {
        let entry = Entry {
            log_id: log_id(index),
            payload: EntryPayload::Normal(request.clone()),
        };
        log.blocking_append([entry]).await.expect("append");
        index += 1;
        if index % keep == 0 {
            log.purge(log_id(index - keep / 2)).await.expect("purge");
        }
        let now = Instant::now();
        times.push(now - begun);
        begun = now;
    }
    times
}

/// Runs `groups` over one engine, and prints a line.
fn run<E: Engine>(
    name: &str,
    groups: u64,
    flags: &Flags,
    runtime: &Runtime,
    dir: &Path,
) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir_in(dir)?;
    let store = Store::<E>::open(dir.path())?;
    let begun = Instant::now();
    let until = begun + Duration::from_secs(flags.seconds);
    let mut times = runtime.block_on(async {
        let mut appending = JoinSet::new();
        for group in 0..groups {
            let what = ("x".repeat(flags.bytes), flags.keep.max(2));
            appending.spawn(append(store.clone(), group, what, until));
        }
        appending.join_all().await.concat()
    });
    let elapsed = begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let counts = store.sync_counts();
    let percentile = |p: usize| {
        let time = times.get(times.len() * p / 100).copied();
        time.unwrap_or_default().as_secs_f64() * 1e3
    };
    println!(
        "{name:<11} {groups:>6} {:>12.0} {:>10.0} {:>10.1} {:>10.3} {:>10.3}",
        times.len() as f64 / elapsed,
        counts.syncs as f64 / elapsed,
        counts.writes as f64 / counts.syncs.max(1) as f64,
        percentile(50),
        percentile(99),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let flags = Flags::parse();
    let dir = flags.dir.clone().unwrap_or_else(std::env::temp_dir);
    let runtime = Builder::new_multi_thread()
        .worker_threads(flags.threads)
        .enable_all()
        .build()?;
    println!(
        "{:<11} {:>6} {:>12} {:>10} {:>10} {:>10} {:>10}",
        "engine", "groups", "appends/s", "syncs/s", "per sync", "p50 ms", "p99 ms"
    );
    for _ in 0..flags.rounds {
        for &groups in &flags.groups {
            run::<Whitewater>("whitewater", groups, &flags, &runtime, &dir)?;
            #[cfg(feature = "peer-rocksdb")]
            run::<whitewater_raft_store::engine::RocksDb>(
                "rocksdb", groups, &flags, &runtime, &dir,
            )?;
        }
    }
    Ok(())
}
