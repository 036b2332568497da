//! What a thread counts while it runs, and how the counts of threads and runs add up.

use std::time::{Duration, Instant};

use super::contention::Threads;
use super::histogram::Latencies;
use super::perf::Measured;
use super::transactions::Endings;

/// Kinds of operations that are timed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads, by key or by iteration.
    Read,
    /// Puts.
    Write,
    /// Deletions.
    Delete,
    /// Seeks.
    Seek,
    /// Merges.
    Merge,
    /// A read and a write.
    Update,
    /// Compressions.
    Compress,
    /// Uncompressions.
    Uncompress,
    /// Checksums by CRC.
    Crc,
    /// Checksums by a hash.
    Hash,
    /// Commits of transactions that were not prepared; each is a part of another operation.
    Commit,
    /// Commits of prepared transactions; each is a part of another operation.
    CommitPrepared,
    /// Anything else.
    Other,
}

impl Operation {
    const ALL: [Self; 13] = [
        Self::Read,
        Self::Write,
        Self::Delete,
        Self::Seek,
        Self::Merge,
        Self::Update,
        Self::Compress,
        Self::Uncompress,
        Self::Crc,
        Self::Hash,
        Self::Commit,
        Self::CommitPrepared,
        Self::Other,
    ];

    /// The word that RocksDB prints above the histogram.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Seek => "seek",
            Self::Merge => "merge",
            Self::Update => "update",
            Self::Compress => "compress",
            Self::Uncompress => "uncompress",
            Self::Crc => "crc",
            Self::Hash => "hash",
            Self::Commit => "commit",
            Self::CommitPrepared => "commit of a prepared transaction",
            Self::Other => "op",
        }
    }
}

/// The counts of one thread, or of several added up.
#[derive(Clone, Debug)]
pub struct Stats {
    /// When the (first) thread started.
    pub start: Instant,
    /// When the (last) thread ended.
    pub finish: Instant,
    /// The sum of all threads' times.
    pub busy: Duration,
    /// The number of operations done.
    pub operations: u64,
    /// The number of bytes of keys and values read or written.
    pub bytes: u64,
    /// The text that the benchmark adds to the result line.
    pub message: String,
    /// Whether the thread ran beside the measured ones, so that it does not count.
    pub excluded: bool,
    /// What the threads measured of the engine's calls.
    pub measured: Measured,
    /// What the threads cost each other.
    pub contention: Threads,
    /// How transactions ended.
    pub endings: Endings,
    latencies: [Option<Box<Latencies>>; Operation::ALL.len()],
}

impl Stats {
    /// Empty counts; the clock starts now.
    pub fn start() -> Self {
        let now = Instant::now();
        Self {
            start: now,
            finish: now,
            busy: Duration::ZERO,
            operations: 0,
            bytes: 0,
            message: String::new(),
            excluded: false,
            measured: Measured::default(),
            contention: Threads::default(),
            endings: Endings::default(),
            latencies: Default::default(),
        }
    }

    /// Stops the clock.
    pub fn stop(&mut self) {
        self.finish = Instant::now();
        self.busy = self.finish - self.start;
    }

    /// Adds the duration of one operation.
    pub fn add_latency(&mut self, operation: Operation, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.latencies[operation as usize]
            .get_or_insert_default()
            .add(nanoseconds);
    }

    /// The distributions that are not empty.
    pub fn latencies(&self) -> impl Iterator<Item = (Operation, &Latencies)> {
        Operation::ALL
            .into_iter()
            .zip(&self.latencies)
            .filter_map(|(operation, latencies)| Some((operation, latencies.as_deref()?)))
    }

    /// Adds up the threads that are not excluded. The message is that of the first
    /// thread that has one, of the excluded ones if no other has. `None` if there are no threads.
    pub fn sum(threads: impl IntoIterator<Item = Self>) -> Option<Self> {
        let (excluded, counted): (Vec<_>, Vec<_>) =
            threads.into_iter().partition(|stats| stats.excluded);
        let mut beside = excluded.into_iter().map(|stats| stats.message);
        let beside = beside.find(|message| !message.is_empty());
        let mut sum = counted.into_iter().reduce(|mut sum, stats| {
            sum.start = sum.start.min(stats.start);
            sum.finish = sum.finish.max(stats.finish);
            sum.busy += stats.busy;
            sum.operations += stats.operations;
            sum.bytes += stats.bytes;
            sum.measured.add(stats.measured);
            sum.contention.add(stats.contention);
            sum.endings.add(stats.endings);
            if sum.message.is_empty() {
                sum.message = stats.message;
            }
            for (sum, other) in sum.latencies.iter_mut().zip(stats.latencies) {
                match (sum.as_mut(), other) {
                    (Some(sum), Some(other)) => sum.merge(&other),
                    (None, other) => *sum = other,
                    (Some(_), None) => {}
                }
            }
            sum
        })?;
        if sum.message.is_empty() {
            sum.message = beside.unwrap_or_default();
        }
        Some(sum)
    }

    /// The time from the first start to the last end.
    pub fn elapsed(&self) -> Duration {
        self.finish - self.start
    }

    /// Operations per second of [`Self::elapsed`]. A run that counted none counts as
    /// one operation.
    pub fn operations_per_second(&self) -> f64 {
        self.operations.max(1) as f64 / self.elapsed().as_secs_f64().max(1e-9)
    }

    /// Megabytes (2^20 bytes) per second; `None` if no bytes were counted.
    pub fn megabytes_per_second(&self) -> Option<f64> {
        (self.bytes > 0)
            .then(|| self.bytes as f64 / 1_048_576.0 / self.elapsed().as_secs_f64().max(1e-9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let mut first = Stats::start();
        first.finish = first.start + Duration::from_secs(2);
        first.busy = Duration::from_secs(2);
        first.operations = 10;
        first.bytes = 3 << 20;
        first.add_latency(Operation::Read, Duration::from_micros(3));
        let mut second = first.clone();
        second.start = first.start + Duration::from_secs(1);
        second.finish = first.start + Duration::from_secs(3);
        second.message = "(1 of 2 found)".into();
        second.contention.voluntary = 3;
        second.endings.committed = 5;
        second.measured = Measured::parse("get_read_bytes = 4");
        second.add_latency(Operation::Seek, Duration::from_micros(4));
        let mut writer = first.clone();
        writer.excluded = true;

        let sum = Stats::sum([writer, first, second]).expect("two threads count");
        assert_eq!(sum.elapsed(), Duration::from_secs(3));
        assert_eq!(sum.busy, Duration::from_secs(4));
        assert_eq!((sum.operations, sum.bytes), (20, 6 << 20));
        assert_eq!(sum.message, "(1 of 2 found)");
        assert_eq!(sum.contention.voluntary, 3);
        assert_eq!(sum.endings.all(), 5);
        assert_eq!(sum.measured.report(), "get_read_bytes = 4");
        assert!((sum.operations_per_second() - 20.0 / 3.0).abs() < 1e-9);
        assert_eq!(sum.megabytes_per_second(), Some(2.0));
        let kinds: Vec<_> = sum.latencies().map(|(operation, _)| operation).collect();
        assert_eq!(kinds, [Operation::Read, Operation::Seek]);
        assert!(Stats::sum([]).is_none());
    }
}
