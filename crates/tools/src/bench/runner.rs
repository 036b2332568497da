//! Runs a list of benchmarks against one engine: opens and recreates the database,
//! starts the threads, and prints the results.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::check::Expiry;
use super::contention::{self, Contention};
use super::counters::Counters;
use super::engine::{Cursor, Engine, Failure, Result};
use super::expiry::{Expired, Time};
use super::families::{self, Families};
use super::flags::Flags;
use super::header;
use super::histogram;
use super::histogram::Latencies;
use super::in_force::InForce;
use super::latency_timeline::LatencyTimeline;
use super::levels;
use super::limit::Limits;
use super::meta;
use super::perf::Measured;
use super::plan::{Benchmark, Step, Task};
use super::progress::Progress;
use super::report::{self, Samples};
use super::stats::{Operation, Stats};
use super::timeline::Timeline;
use super::transactions::Endings;
use super::values::ValuePool;
use super::worker::{Job, Shared, Worker};
use super::workload;
use crate::interrupt;

/// The throughput of one step.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the benchmark.
    pub name: &'static str,
    /// What was in force while the benchmark ran.
    pub in_force: InForce,
    /// The throughput of its measured runs.
    pub samples: Samples,
    /// What these runs cost the threads and the system, if the flags ask for that.
    pub contention: Option<Contention>,
    /// How the transactions of these runs ended.
    pub endings: Endings,
    /// How long operations took in all of these runs, if they were timed.
    pub latencies: Vec<(Operation, Latencies)>,
    /// The last of these runs over time, if a document is wanted.
    pub timeline: Timeline,
}

/// The results of one run.
struct Run {
    stats: Stats,
    timeline: Timeline,
    contention: Option<Contention>,
    /// Whether the run was interrupted, so that its figures cover only a part.
    stopped_short: bool,
}

/// A list of benchmarks on one engine and one database, with the same flags.
pub struct Runner<'a, E: Engine> {
    pub(super) flags: Flags,
    pub(super) directory: PathBuf,
    /// The keys that `use_existing_keys` has found.
    existing: Vec<Vec<u8>>,
    engine: Option<E>,
    pub(super) families: Families,
    time: Time,
    /// How often a secondary has caught up with its primary.
    caught_up: u64,
    seed: u64,
    threads_started: u64,
    cap: Option<Duration>,
    /// What a progress bar shows before the benchmark's name.
    label: String,
    pool: ValuePool,
    output: &'a mut (dyn Write + Send),
}

impl<'a, E: Engine> Runner<'a, E> {
    /// Opens the database in `directory`, after destroying an old one there unless
    /// `use_existing_db` is set. Results go to `output`.
    ///
    /// # Errors
    /// An error of the file system or of the engine.
    pub fn new(
        flags: &Flags,
        directory: &Path,
        seed: u64,
        output: &'a mut (dyn Write + Send),
    ) -> Result<Self> {
        // The pool must fit the largest value of any benchmark.
        let block = usize::try_from(flags.block_size)?;
        let largest = flags.largest_value().max(100_000).max(block);
        let mut runner = Self {
            flags: flags.clone(),
            directory: directory.to_owned(),
            existing: Vec::new(),
            engine: None,
            families: Families::new(flags)?,
            time: Time::default(),
            caught_up: 0,
            seed,
            threads_started: 0,
            cap: None,
            label: String::new(),
            pool: ValuePool::new(largest, flags.compression_ratio),
            output,
        };
        if flags.keeps_database() {
            runner.open(None)?;
        } else {
            runner.renew(None)?;
        }
        if flags.use_existing_keys {
            runner.load_keys()?;
        }
        Ok(runner)
    }

    /// Ends every run after `cap`, whether its counts are reached or not.
    #[must_use]
    pub fn with_cap(mut self, cap: Duration) -> Self {
        self.cap = Some(cap);
        self
    }

    /// Shows `label` before the benchmark's name in progress bars.
    #[must_use]
    pub fn with_label(mut self, label: String) -> Self {
        self.label = label;
        self
    }

    /// Prints the block of facts above the results.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn print_header(&mut self) -> Result<()> {
        let text = header::summary(&self.flags, &InForce::of(self.engine()?))?;
        self.print(&text)
    }

    /// Runs the steps in order, and prints the engine's statistics at the end.
    ///
    /// # Errors
    /// The first failure of a thread or of the output.
    pub fn run(&mut self, steps: &[Step]) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for step in steps {
            if interrupt::requested() {
                break;
            }
            outcomes.extend(self.run_step(step)?);
        }
        if self.flags.statistics {
            let statistics = self
                .engine()?
                .property(contention::STATISTICS)
                .unwrap_or_else(meta::unavailable);
            self.print(&format!("STATISTICS:\n{statistics}\n"))?;
        }
        if self.flags.use_secondary_db {
            let times = self.caught_up;
            self.print(&format!("Secondary instance updated  {times} times.\n"))?;
        }
        Ok(outcomes)
    }

    pub(super) fn print(&mut self, text: &str) -> Result<()> {
        self.output.write_all(text.as_bytes())?;
        self.output.flush()?;
        Ok(())
    }

    pub(super) fn engine(&self) -> Result<&E> {
        self.engine
            .as_ref()
            .ok_or_else(|| Failure("the database is not open".into()))
    }

    fn open(&mut self, expired: Option<Expired>) -> Result<()> {
        std::fs::create_dir_all(&self.directory)
            .map_err(|error| Failure(format!("{}: {error}", self.directory.display())))?;
        let start = Instant::now();
        self.engine = Some(
            E::open(&self.directory, &self.flags, expired)
                .map_err(|failure| failure.during("open error"))?,
        );
        self.families = Families::new(&self.flags)?;
        if self.flags.report_open_timing {
            let milliseconds = start.elapsed().as_secs_f64() * 1e3;
            self.print(&format!("OpenDb:     {milliseconds} milliseconds\n"))?;
        }
        Ok(())
    }

    /// Reads all existing keys; their number replaces `num`.
    fn load_keys(&mut self) -> Result<()> {
        let mut keys = Vec::new();
        let mut cursor = self.engine()?.cursor();
        cursor.seek_to_first();
        while let Some((key, _)) = cursor.item() {
            keys.push(key.to_vec());
            cursor.next();
        }
        cursor
            .status()
            .map_err(|failure| failure.during("scan error"))?;
        drop(cursor);
        self.flags.num = i64::try_from(keys.len())?;
        self.existing = keys;
        Ok(())
    }

    fn renew(&mut self, expired: Option<Expired>) -> Result<()> {
        // Dropping the engine closes the database.
        self.engine = None;
        if self.directory.exists() {
            E::destroy(&self.directory, &self.flags)
                .map_err(|failure| failure.during("destroy error"))?;
        }
        self.open(expired)
    }

    fn run_step(&mut self, step: &Step) -> Result<Option<Outcome>> {
        let Benchmark {
            name, task, fresh, ..
        } = *step.benchmark;
        let merges = matches!(task, Task::Merge | Task::ReadAndMerge);
        if merges && self.flags.merge_operator.is_empty() {
            self.print(&format!(
                "{name:<12} : skipped (--merge_operator is unknown)\n"
            ))?;
            return Err(Failure(format!("{name} needs --merge_operator")));
        }
        if task == Task::TimeSeries && self.flags.threads < 2 {
            return Err(Failure(format!(
                "{name} needs --threads of at least 2: one writes, the others read"
            )));
        }
        if fresh && self.flags.keeps_database() {
            self.print(&format!(
                "{name:<12} : skipped (--use_existing_db is true)\n"
            ))?;
            return Ok(None);
        }
        if fresh {
            let expired = match task {
                Task::TimeSeries => self.begin_time()?,
                _ => None,
            };
            self.renew(expired)?;
        }
        match task {
            Task::Flush => self.flush()?,
            Task::CompactAll => self.engine()?.compact(false)?,
            Task::CompactLevel0 => self.compact_level0()?,
            Task::WaitForCompaction => self.wait_for_rest()?,
            Task::Property(names) => self.print_properties(names)?,
            Task::Transact if self.flags.has_transactions() => {
                let outcome = self.measure(step)?;
                self.verify_transactions()?;
                return Ok(outcome);
            }
            _ => return self.measure(step),
        }
        Ok(None)
    }

    /// Starts the clock of `timeseries`. Returns what compactions are to remove.
    fn begin_time(&mut self) -> Result<Option<Expired>> {
        self.time = Time::default();
        if self.flags.expiry()? != Expiry::CompactionFilter {
            return Ok(None);
        }
        self.print("Compaction filter is used to remove expired data\n")?;
        Ok(Some(Expired {
            now: Time::clone(&self.time),
            range: self.flags.time_range,
        }))
    }

    /// Runs a benchmark as often as its step says; `None` if the run is to end before
    /// the first of them is finished.
    fn measure(&mut self, step: &Step) -> Result<Option<Outcome>> {
        let name = step.benchmark.name;
        let mut job = Job::new(&self.flags, step.benchmark);
        job.cap = self.cap;
        self.print(&format!("DB path: [{}]\n", self.directory.display()))?;
        if matches!(step.benchmark.task, Task::BackUp | Task::Restore) {
            let backups = self.flags.backups_of(&self.directory);
            self.print(&format!("Backup path: [{}]\n", backups.display()))?;
        }
        if step.benchmark.task == Task::Restore {
            let restored = self.flags.restored_from(&self.directory);
            self.print(&format!("Restore path: [{}]\n", restored.display()))?;
        }
        if step.warmup > 0 {
            self.print(&format!(
                "Warming up benchmark by running {} times\n",
                step.warmup
            ))?;
        }
        for _ in 0..step.warmup {
            self.measure_once(&job)?;
        }
        if step.repeat > 1 {
            self.print(&format!("Running benchmark for {} times\n", step.repeat))?;
        }
        let mut samples = Samples::default();
        let mut contention: Option<Contention> = None;
        let mut endings = Endings::default();
        let mut latencies = Vec::new();
        let mut timeline = Timeline::default();
        for _ in 0..step.repeat {
            let run = self.measure_once(&job)?;
            if run.stopped_short {
                break;
            }
            samples.add(&run.stats);
            endings.add(run.stats.endings);
            timeline = run.timeline;
            histogram::merge_all(&mut latencies, run.stats.latencies());
            contention = match (contention, run.contention) {
                (Some(mut sum), Some(cost)) => {
                    sum.add(&cost);
                    Some(sum)
                }
                (sum, cost) => sum.or(cost),
            };
            let line = if self.flags.confidence_interval_only {
                samples.interval(name)
            } else {
                samples.so_far(name)
            };
            self.print(&line)?;
        }
        self.print(&samples.last(name))?;
        if samples.operations().is_empty() {
            return Ok(None);
        }
        Ok(Some(Outcome {
            name,
            in_force: InForce::of(self.engine()?),
            samples,
            contention,
            endings,
            latencies,
            timeline,
        }))
    }

    fn measure_once(&mut self, job: &Job) -> Result<Run> {
        let counters = self.flags.perf_counters.then(Counters::read).transpose()?;
        let wanted = self.flags.contention && contention::reports(job.benchmark.task);
        let before = if wanted {
            Some(contention::Before::read(self.engine()?))
        } else {
            None
        };
        let (stats, timeline) = self.run_threads(job)?;
        let contention = match before {
            Some(before) => Some(before.finish(self.engine()?, stats.operations, stats.contention)),
            None => None,
        };
        let name = job.benchmark.name;
        if interrupt::requested() {
            self.print(&format!("{name:<12} : interrupted\n"))?;
            return Ok(Run {
                stats,
                timeline,
                contention,
                stopped_short: true,
            });
        }
        let mut text = report::result(name, &stats);
        if stats.endings.all() > 0 {
            text += &stats.endings.line(name, &stats.measured);
        }
        if self.flags.perf_level > levels::NOTHING {
            text += &format!("PERF_CONTEXT:\n{}\n", stats.measured.report());
        }
        if let Some(counters) = counters {
            text += &counters.line_since(name, stats.operations)?;
        }
        if let Some(contention) = &contention {
            text += &contention.table(name);
        }
        self.print(&text)?;
        Ok(Run {
            stats,
            timeline,
            contention,
            stopped_short: false,
        })
    }

    // Long: what the threads share, their start, and their end, in one scope.
    fn run_threads(&mut self, job: &Job) -> Result<(Stats, Timeline)> {
        let threads = job.threads + usize::from(job.benchmark.beside.is_some());
        let first_seed = self.seed.wrapping_add(self.threads_started).wrapping_add(1);
        self.threads_started += threads as u64;
        let engine = self.engine()?;
        let name = format!("{} {}", self.label, job.benchmark.name);
        let progress = Progress::new(&self.flags, name.trim(), expected_operations(job));
        let shared = Shared {
            flags: &self.flags,
            job,
            pool: &self.pool,
            families: &self.families,
            directory: &self.directory,
            existing: &self.existing,
            progress: &progress,
            limits: Limits::new(&self.flags),
            stop: AtomicBool::new(false),
            running: AtomicUsize::new(job.threads),
            writer_over: AtomicBool::new(false),
            time: &self.time,
            latencies: (self.flags.histogram && self.flags.wants_document())
                .then(LatencyTimeline::start),
        };
        let start = Barrier::new(threads);
        let over = &AtomicBool::new(false);
        let every = super::progress::seconds(self.flags.secondary_update_interval.into())
            .filter(|_| self.flags.use_secondary_db);
        let (results, reported, recorded, caught_up) = thread::scope(|scope| {
            let follower =
                every.map(|every| scope.spawn(move || families::follow(engine, every, over)));
            let reporter = scope.spawn(|| progress.report(&self.flags, over));
            let recorder = self
                .flags
                .wants_document()
                .then(|| scope.spawn(|| Timeline::record(engine, &progress, over)));
            let workers: Vec<_> = (0..threads)
                .map(|id| {
                    let (shared, start) = (&shared, &start);
                    scope.spawn(move || {
                        start.wait();
                        run_thread(id, first_seed.wrapping_add(id as u64), engine, shared)
                    })
                })
                .collect();
            let results: Vec<_> = workers
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect();
            // Relaxed: the flag ends the reporter's loop and carries no data.
            over.store(true, Ordering::Relaxed);
            reporter.thread().unpark();
            let recorded = recorder.map(|recorder| {
                recorder.thread().unpark();
                recorder.join()
            });
            let caught_up = follower.map(|follower| {
                follower.thread().unpark();
                follower.join()
            });
            (results, reporter.join(), recorded, caught_up)
        });
        progress.finish();
        let latencies = shared.latencies;
        let flatten = |failed: thread::Result<_>| {
            failed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let stats: Vec<Stats> = results.into_iter().map(flatten).collect::<Result<_>>()?;
        reported.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if let Some(caught_up) = caught_up {
            self.caught_up += caught_up.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let mut timeline = recorded.map_or_else(Timeline::default, |recorded| {
            recorded.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let writer = match job.benchmark.task {
            Task::TimeSeries => stats.iter().find(|stats| stats.excluded),
            _ => None,
        };
        if let Some(writer) = writer {
            let line = report::result("timeseries write", writer);
            self.print(&line)?;
        }
        let sum = Stats::sum(stats).ok_or_else(|| Failure("no thread was measured".into()))?;
        if let Some(latencies) = latencies {
            // Not of kinds that were only done before `Worker::restart`.
            let counted = sum.latencies();
            let counted = counted.map(|(operation, _)| (operation, latencies.points(operation)));
            timeline.latencies = counted.collect();
        }
        Ok((sum, timeline))
    }
}

/// Runs one thread from start to end. If it fails, the other threads stop soon.
fn run_thread<E: Engine>(id: usize, seed: u64, engine: &E, shared: &Shared<'_>) -> Result<Stats> {
    let mut worker = Worker::new(id, seed, engine, shared);
    let result = run_measured(&mut worker);
    if !worker.is_beside() {
        // Relaxed: the count ends the loop of the extra thread and carries no data.
        shared.running.fetch_sub(1, Ordering::Relaxed);
    }
    if result.is_err() {
        shared.stop.store(true, Ordering::Relaxed);
    }
    result.map(|()| worker.stats)
}

/// Runs the workload, and takes the measurements around it that the flags ask for.
fn run_measured<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let flags = worker.shared.flags;
    let measures = flags.perf_level > levels::NOTHING;
    if measures {
        E::measure_this_thread(flags.perf_level)?;
    }
    let before = contention::Threads::now()?;
    let result = workload::run(worker);
    worker.stats.stop();
    worker.report();
    worker.stats.contention = contention::Threads::now()?.since(before);
    if measures {
        worker.stats.measured = Measured::parse(&E::measured());
    }
    result
}

/// The number of operations that a progress bar counts up to, if it is known.
fn expected_operations(job: &Job) -> Option<u64> {
    let (each, random) = match job.benchmark.task {
        Task::FillRandom => (job.writes, true),
        Task::FillSequential | Task::FillUnique => (job.writes, false),
        Task::Update
        | Task::Xor
        | Task::Append
        | Task::Merge
        | Task::ReadAndWrite
        | Task::ReadAndMerge
        | Task::Transact => (job.updates, true),
        Task::Verify => (job.updates, false),
        Task::Replace => (job.key_space, true),
        Task::ReadRandom
        | Task::ReadFast
        | Task::MultiRead
        | Task::Seek
        | Task::NewIterator
        | Task::NewSnapshot
        | Task::Mix => (job.reads, true),
        Task::Scan | Task::ScanReverse => (job.reads, false),
        Task::DeleteRandom => (job.deletes, true),
        Task::DeleteSequential => (job.deletes, false),
        Task::FillAndSeek
        | Task::TimeSeries
        | Task::ApproximateSizes
        | Task::Ingest
        | Task::Checksum(_)
        | Task::Compress
        | Task::Uncompress
        | Task::Compact
        | Task::VerifyTables { .. }
        | Task::CompactAll
        | Task::CompactLevel0
        | Task::BackUp
        | Task::Restore
        | Task::Flush
        | Task::WaitForCompaction
        | Task::Property(_) => return None,
    };
    (!random || job.duration.is_none()).then(|| each * job.threads as u64)
}
