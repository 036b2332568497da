//! What every benchmark thread has: its share of the job, its random numbers, and
//! its counts.
//!
//! Beyond the engine's own cost, an operation costs an addition, a comparison and a
//! random number. The clock is read at each operation only if latencies are wanted.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand_xoshiro::rand_core::SeedableRng;

use super::check::Sizes;
use super::engine::{Engine, Result};
use super::expiry::Time;
use super::families::{Families, Places};
use super::flags::Flags;
use super::interval;
use super::keygen::{Key, Rng, skewed};
use super::latency_timeline::{LatencyRecorder, LatencyTimeline};
use super::limit::Limits;
use super::pace::Pace;
use super::plan::Benchmark;
use super::progress::{IntervalLines, Progress};
use super::stats::{Operation, Stats};
use super::values::{ValuePool, Values};
use crate::interrupt;

/// The maximum number of a thread's operations between two additions to the shared
/// progress. Slow operations are added one by one.
const PROGRESS_STEP: u64 = 1000;
/// The longest time between two additions to the shared progress before they become
/// twice as frequent. Below a tenth of it, they become half as frequent.
const PROGRESS_PAUSE: Duration = Duration::from_millis(20);

/// The size of one benchmark: the flags, with the changes that the benchmark makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The benchmark.
    pub benchmark: &'static Benchmark,
    /// The number of measured threads.
    pub threads: usize,
    /// The number of keys that a writer chooses from.
    pub keys: u64,
    /// The number of keys that a reader, updater or deleter chooses from.
    pub key_space: u64,
    /// The number of keys that a merger chooses from.
    pub merge_keys: u64,
    /// The number of reads of each thread.
    pub reads: u64,
    /// The number of writes of each thread.
    pub writes: u64,
    /// The number of updates or merges of each thread.
    pub updates: u64,
    /// The number of deletions of each thread.
    pub deletes: u64,
    /// The size of a key in bytes.
    pub key_size: usize,
    /// The size of a value in bytes, if sizes are fixed.
    pub value_size: usize,
    /// How the sizes of values are distributed.
    pub sizes: Sizes,
    /// The number of entries in a batch.
    pub batch: u64,
    /// Whether writes wait for the disk.
    pub sync: bool,
    /// How long to run random benchmarks, whatever the counts are.
    pub duration: Option<Duration>,
    /// The time after which to stop even if the counts are not reached.
    pub cap: Option<Duration>,
}

impl Job {
    /// The job that `flags` define for `benchmark`.
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
            sizes: flags.sizes().unwrap_or(Sizes::Fixed),
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
                job.sizes = Sizes::Fixed;
            }
            "filluniquerandom" | "ingestexternalfile" | "backup" | "restore" => job.threads = 1,
            "fillseekseq" => job.writes = num,
            "readhot" => job.key_space = num.div_ceil(100),
            "readrandomsmall" => job.reads /= 1000,
            "readtocache" => {
                job.threads = 1;
                job.reads = num;
            }
            // This is one byte longer than any key that was written.
            "readmissing" => job.key_size += 1,
            _ => {}
        }
        // As in RocksDB, if no writes are asked for, there are as many as keys.
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
    /// The column families.
    pub families: &'r Families,
    /// The database's directory.
    pub directory: &'r Path,
    /// Keys to use instead of generated ones; empty if generated keys are used.
    pub existing: &'r [Vec<u8>],
    /// The progress of all threads.
    pub progress: &'r Progress,
    /// The rate limits of the threads.
    pub limits: Limits,
    /// Set by a thread that failed, read by all: they stop soon. The failure itself is
    /// passed on when the thread is joined, so relaxed is enough.
    pub stop: AtomicBool,
    /// The number of measured threads still running. Decremented by each at its end,
    /// read by the extra writer beside them. Carries no data, so relaxed is enough.
    pub running: AtomicUsize,
    /// Set by the writing thread of `timeseries`, read by the others. Ends their loops
    /// and carries no data, so relaxed is enough.
    pub writer_over: AtomicBool,
    /// The clock of `timeseries`.
    pub time: &'r Time,
    /// Latencies over time, if a document is to show them.
    pub latencies: Option<LatencyTimeline>,
}

/// One benchmark thread.
pub struct Worker<'r, E: Engine> {
    /// The number of the thread, beginning with 0.
    pub id: usize,
    /// The database.
    pub engine: &'r E,
    /// What all threads share.
    pub shared: &'r Shared<'r>,
    /// The column families that keys belong to.
    places: Places<'r, E>,
    /// This thread's random numbers.
    pub rng: Rng,
    /// This thread's counts.
    pub stats: Stats,
    /// When the last operation ended; `None` if operations are not timed.
    timed_since: Option<Instant>,
    recorder: Option<LatencyRecorder<'r>>,
    lines: Option<IntervalLines>,
    next_tick: u64,
    reported: u64,
    /// The number of operations between two additions to the shared progress.
    step: u64,
    ticked: Instant,
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
            places: Places::new(shared.families),
            rng: Rng::seed_from_u64(seed),
            timed_since: shared.flags.histogram.then_some(stats.start),
            recorder: shared.latencies.as_ref().map(LatencyRecorder::new),
            ticked: stats.start,
            stats,
            next_tick: 1,
            lines,
            reported: 0,
            step: 1,
        }
    }

    /// The job of this run.
    pub fn job(&self) -> &'r Job {
        self.shared.job
    }

    /// A key of the job's size.
    pub fn key(&self) -> Key<'r> {
        Key::with_prefix(self.job().key_size, self.shared.flags.key_prefix())
            .of_existing(self.shared.existing)
    }

    /// The number of a key to read.
    pub fn random_key(&mut self) -> u64 {
        let skew = self.shared.flags.read_random_exp_range;
        let keys = self.job().key_space;
        skewed(&mut self.rng, keys, skew)
    }

    /// The column family of a key, given the key's number; `None` if there is only the
    /// default one.
    ///
    /// # Errors
    /// Any error of the engine.
    #[inline]
    pub fn family(&mut self, number: u64) -> Result<Option<&E::Family<'r>>> {
        self.places.of(self.engine, number)
    }

    /// Reads a key, given also its number, in its column family.
    ///
    /// # Errors
    /// Any error of the engine.
    #[inline]
    pub fn get(&mut self, number: u64, key: &[u8]) -> Result<Option<E::Value<'r>>> {
        let engine = self.engine;
        let found = match self.family(number)? {
            None => engine.get(key),
            Some(family) => engine.get_in(family, key),
        };
        found.map_err(|failure| failure.during("get error"))
    }

    /// Values of the job's size.
    pub fn values(&self) -> Values<'r> {
        let job = self.job();
        self.shared.pool.values(self.id, job.value_size, job.sizes)
    }

    /// Whether another thread has failed, or the run is to end.
    pub fn is_stopped(&self) -> bool {
        // Relaxed: the flag carries no data.
        self.shared.stop.load(Ordering::Relaxed) || interrupt::requested()
    }

    /// Waits until the rate limit allows `count` more reads.
    pub fn limit_reads(&self, count: u64) {
        self.shared.limits.reads.wait(count, || self.is_stopped());
    }

    /// Waits until the rate limit allows `bytes` more bytes to be written.
    pub fn limit_writes(&self, bytes: u64) {
        self.shared.limits.writes.wait(bytes, || self.is_stopped());
    }

    /// Whether this is the extra thread that runs beside the measured ones.
    pub fn is_beside(&self) -> bool {
        self.id == 0 && self.job().benchmark.beside.is_some()
    }

    /// Resets the counts and restarts the clock, after operations of other kinds than those to
    /// be measured: latencies over time are told apart by the kind.
    pub fn restart(&mut self) {
        self.stats = Stats::start();
        self.reported = 0;
        self.next_tick = 1;
        self.lines = IntervalLines::new(self.shared.flags);
        self.timed_since = self.timed_since.map(|_| self.stats.start);
    }

    /// How the job's writes are done.
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
            self.timed_since = Some(now);
            self.add_latency(operation, now - since, now);
        }
        if self.stats.operations >= self.next_tick {
            self.tick();
        }
    }

    /// Adds an operation that took this long and ended `now`.
    pub fn add_latency(&mut self, operation: Operation, took: Duration, now: Instant) {
        self.stats.add_latency(operation, took);
        if let Some(recorder) = &mut self.recorder
            && !self.stats.excluded
        {
            let kept = recorder.add(operation, took, now);
            // No part of the operation that is being timed, or of the next one.
            self.timed_since = self.timed_since.map(|since| since + kept);
        }
    }

    /// Adds the operations that were not yet added to the shared progress.
    pub fn report(&mut self) {
        let done = self.stats.operations;
        if !self.stats.excluded {
            self.shared.progress.add(done - self.reported);
        }
        self.reported = done;
    }

    #[cold]
    fn tick(&mut self) {
        self.report();
        let now = Instant::now();
        let since = now - self.ticked;
        self.ticked = now;
        if since > PROGRESS_PAUSE {
            self.step = (self.step / 2).max(1);
        } else if since < PROGRESS_PAUSE / 10 {
            self.step = (self.step * 2).min(PROGRESS_STEP);
        }
        self.next_tick = self.stats.operations + self.step;
        if let Some(lines) = &mut self.lines {
            if let Some(line) = lines.line(self.id, &self.stats) {
                interrupt::note(&format!("{line}\n"));
                if self.id == 0 && self.shared.flags.stats_per_interval > 0 {
                    interrupt::note(&interval::text(self.engine, self.shared));
                }
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
        assert_eq!(job("readhot", &flags).key_space, 200);
        assert_eq!(job("readrandomsmall", &flags).reads, 20);
    }
}
