//! What every benchmark thread has: its share of the job, its random numbers,
//! its counts.
//!
//! The cost of an operation beside the engine's own is an addition, a
//! comparison and a random number; clocks are read for each operation only
//! when latencies are wanted.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use rand_xoshiro::rand_core::SeedableRng;

use super::engine::Engine;
use super::flags::Flags;
use super::keygen::{Key, Rng};
use super::pace::Pace;
use super::plan::Benchmark;
use super::progress::{IntervalLines, Progress};
use super::stats::{Operation, Stats};
use super::values::{ValuePool, Values};

/// Operations of a thread between two additions to the shared progress.
const PROGRESS_STEP: u64 = 1000;

/// The size of one benchmark: the flags, with the benchmark's own changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What runs.
    pub benchmark: &'static Benchmark,
    /// Measured threads.
    pub threads: usize,
    /// Keys that a writer chooses from.
    pub keys: u64,
    /// Keys that a reader, updater or deleter chooses from.
    pub key_space: u64,
    /// Keys that a merger chooses from.
    pub merge_keys: u64,
    /// Reads of each thread.
    pub reads: u64,
    /// Writes of each thread.
    pub writes: u64,
    /// Updates or merges of each thread.
    pub updates: u64,
    /// Deletions of each thread.
    pub deletes: u64,
    /// Bytes of a key.
    pub key_size: usize,
    /// Bytes of a value.
    pub value_size: usize,
    /// Entries of a batch.
    pub batch: u64,
    /// Whether writes wait for the disk.
    pub sync: bool,
    /// Run random benchmarks this long, whatever the counts.
    pub duration: Option<Duration>,
    /// Stop after this time even if the counts are not reached.
    pub cap: Option<Duration>,
}

impl Job {
    /// The job that `flags` make of `benchmark`.
    pub fn new(flags: &Flags, benchmark: &'static Benchmark) -> Self {
        let num = flags.num.unsigned_abs();
        let or_num = |count: i64| u64::try_from(count).unwrap_or(num);
        let updates = match (u64::try_from(flags.reads), u64::try_from(flags.writes)) {
            (Err(_), Err(_)) => num,
            (reads, writes) => reads.unwrap_or(0).max(writes.unwrap_or(0)),
        };
        let mut job = Self {
            benchmark,
            threads: usize::try_from(flags.threads).unwrap_or(1),
            keys: num,
            key_space: num,
            merge_keys: or_num(flags.merge_keys),
            reads: or_num(flags.reads),
            writes: or_num(flags.writes),
            updates,
            deletes: or_num(flags.deletes),
            key_size: usize::try_from(flags.key_size).unwrap_or(1),
            value_size: usize::try_from(flags.value_size).unwrap_or(0),
            batch: flags.batch_size.unsigned_abs(),
            sync: flags.sync,
            duration: super::progress::seconds(flags.duration.into()),
            cap: None,
        };
        match benchmark.name {
            "fillbatch" => job.batch = 1000,
            "fillsync" => {
                job.keys /= 1000;
                job.sync = true;
            }
            "fill100K" => {
                job.keys /= 1000;
                job.value_size = 100_000;
            }
            "filluniquerandom" => job.threads = 1,
            "readtocache" => {
                job.threads = 1;
                job.reads = num;
            }
            // One byte longer than any key that was written.
            "readmissing" => job.key_size += 1,
            _ => {}
        }
        // RocksDB: no writes asked for means as many as there are keys.
        if job.writes == 0 {
            job.writes = job.keys;
        }
        job
    }
}

/// What the threads of one run share.
#[derive(Debug)]
pub struct Shared<'r> {
    /// The flags.
    pub flags: &'r Flags,
    /// The job.
    pub job: &'r Job,
    /// Where values come from.
    pub pool: &'r ValuePool,
    /// Progress of all threads.
    pub progress: &'r Progress,
    /// Set by a thread that failed, read by all: stop soon. The failure itself
    /// travels by joining the thread, so relaxed is enough.
    pub stop: AtomicBool,
    /// Measured threads still running. Decremented by each at its end, read by
    /// the writer beside them; carries no data, so relaxed is enough.
    pub running: AtomicUsize,
}

/// One benchmark thread.
pub struct Worker<'r, E: Engine> {
    /// 0 for the first thread.
    pub id: usize,
    /// The database.
    pub engine: &'r E,
    /// What all threads share.
    pub shared: &'r Shared<'r>,
    /// This thread's random numbers.
    pub rng: Rng,
    /// This thread's counts.
    pub stats: Stats,
    /// Whether operations are timed, and when the last one ended.
    timed_since: Option<Instant>,
    lines: Option<IntervalLines>,
    next_tick: u64,
    reported: u64,
}

impl<'r, E: Engine> Worker<'r, E> {
    /// A thread that starts now.
    pub fn new(id: usize, seed: u64, engine: &'r E, shared: &'r Shared<'r>) -> Self {
        let stats = Stats::start();
        let lines = IntervalLines::new(shared.flags);
        Self {
            id,
            engine,
            shared,
            rng: Rng::seed_from_u64(seed),
            timed_since: shared.flags.histogram.then_some(stats.start),
            stats,
            next_tick: lines
                .as_ref()
                .map_or(PROGRESS_STEP, |lines| lines.next().min(PROGRESS_STEP)),
            lines,
            reported: 0,
        }
    }

    /// The job.
    pub fn job(&self) -> &'r Job {
        self.shared.job
    }

    /// A key of the job's size.
    pub fn key(&self) -> Key {
        Key::with_prefix(self.job().key_size, self.shared.flags.key_prefix())
    }

    /// Values of the job's size.
    pub fn values(&self) -> Values<'r> {
        self.shared.pool.values(self.id, self.job().value_size)
    }

    /// How writes of the job are done.
    pub fn write_mode(&self) -> E::WriteMode {
        E::write_mode(self.job().sync, self.shared.flags)
    }

    /// Paces a random benchmark: `count` operations, or the job's duration.
    pub fn timed_pace(&self, count: u64) -> Pace<'r> {
        match self.job().duration {
            Some(duration) => self.pace_until(u64::MAX, Some(duration)),
            None => self.pace(count),
        }
    }

    /// Paces a benchmark that ignores the job's duration.
    pub fn pace(&self, count: u64) -> Pace<'r> {
        self.pace_until(count, self.job().cap)
    }

    fn pace_until(&self, count: u64, deadline: Option<Duration>) -> Pace<'r> {
        let every = u64::try_from(self.shared.flags.ops_between_duration_checks)
            .unwrap_or(1)
            .max(1);
        Pace::new(count, deadline, every, &self.shared.stop)
    }

    /// Counts `count` operations that were done as one.
    #[inline]
    pub fn finished(&mut self, count: u64, operation: Operation) {
        self.stats.operations += count;
        if let Some(since) = self.timed_since {
            let now = Instant::now();
            self.stats.add_latency(operation, now - since);
            self.timed_since = Some(now);
        }
        if self.stats.operations >= self.next_tick {
            self.tick();
        }
    }

    #[cold]
    fn tick(&mut self) {
        let done = self.stats.operations;
        if !self.stats.excluded {
            self.shared.progress.add(done - self.reported);
        }
        self.reported = done;
        self.next_tick = done + PROGRESS_STEP;
        if let Some(lines) = &mut self.lines {
            if let Some(line) = lines.line(self.id, &self.stats) {
                eprintln!("{line}");
            }
            self.next_tick = self.next_tick.min(lines.next());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::lookup;
    use super::*;

    fn job(name: &str, flags: &Flags) -> Job {
        Job::new(flags, lookup(name).expect(name))
    }

    #[test]
    fn counts_follow_num_unless_given() {
        let flags = Flags {
            num: 500,
            ..Flags::default()
        };
        let plain = job("updaterandom", &flags);
        assert_eq!(
            (
                plain.reads,
                plain.writes,
                plain.updates,
                plain.deletes,
                plain.merge_keys
            ),
            (500, 500, 500, 500, 500)
        );
        let flags = Flags {
            num: 500,
            reads: 7,
            deletes: 3,
            merge_keys: 2,
            ..flags
        };
        let given = job("updaterandom", &flags);
        assert_eq!(
            (
                given.reads,
                given.writes,
                given.updates,
                given.deletes,
                given.merge_keys
            ),
            (7, 500, 7, 3, 2)
        );
    }

    #[test]
    fn benchmarks_change_their_own_sizes() {
        let flags = Flags {
            num: 20_000,
            threads: 4,
            ..Flags::default()
        };
        assert_eq!(job("fillbatch", &flags).batch, 1000);
        let sync = job("fillsync", &flags);
        assert_eq!((sync.keys, sync.writes, sync.sync), (20, 20_000, true));
        assert_eq!(job("fill100K", &flags).value_size, 100_000);
        assert_eq!(job("readmissing", &flags).key_size, 17);
        assert_eq!(job("filluniquerandom", &flags).threads, 1);
        assert_eq!(job("readrandom", &flags).threads, 4);
    }
}
