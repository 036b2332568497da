//! Threads run one mix on one store: as fast as it goes or by a [`schedule`]; a [`queue`] has
//! threads of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use rand_xoshiro::rand_core::SeedableRng;
use whitewater_tools::bench::histogram::Latencies;
use whitewater_tools::bench::keygen::{Rng, below};

use crate::generators::{Acknowledged, Chooser};
use crate::keys::{ABSENT, Layout};
use crate::mixes::{Mix, Operation};
use crate::stores::Store;
use crate::{Failure, Result, fail};

mod queue;
mod schedule;

pub use schedule::{OverTime, Point};

use schedule::{Schedule, Windows};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The mix.
    pub mix: &'static Mix,
    /// How many threads run it, at least 1.
    pub threads: usize,
    /// How many operations all threads do together.
    pub operations: u64,
    /// When threads stop before they have done all.
    pub limit: Duration,
    /// The least and the most records of a scan.
    pub scan: (u64, u64),
    /// Decides what the threads' random numbers are.
    pub seed: u64,
    /// Whether only the operations that read are done, to warm caches.
    pub warming: bool,
    /// How many operations a second all threads together begin, whether earlier ones have ended
    /// or not, until `limit`; `None`: the next begins when the last has ended.
    pub rate: Option<f64>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How many operations all threads did.
    pub operations: u64,
    /// From the first thread's start to the last one's end.
    pub seconds: f64,
    /// How long operations took.
    pub latencies: BTreeMap<Operation, Latencies>,
    /// Operations a second over time, each with the second at which that interval ended.
    pub series: Vec<(f64, f64)>,
    /// Latencies over time, of a run by a schedule.
    pub over_time: Vec<OverTime>,
    /// Operations a second in the first and in the last tenth, of a queue.
    pub tenths: Option<(f64, f64)>,
}

/// What the threads of a run share.
struct Shared<'a, S> {
    store: &'a S,
    records: &'a Acknowledged,
    layout: &'a Layout,
    plan: &'a Plan,
    operations: Vec<(Operation, u32)>,
    /// How many operations no thread has taken. Written and read by all threads, relaxed: it
    /// publishes nothing.
    left: AtomicU64,
    /// Set by a thread that fails. Relaxed: it publishes nothing.
    stop: AtomicBool,
    start: Barrier,
}

/// How many operations a thread takes at once. Threads end together, then, and a thread whose
/// processor has other work does less, instead of making the others wait for its share.
const TAKEN_AT_ONCE: u64 = 128;

impl<S> Shared<'_, S> {
    /// Takes operations for a thread; 0 if none are left.
    fn take(&self) -> u64 {
        let (mut taken, order) = (0, Ordering::Relaxed);
        let rest = |left: u64| {
            taken = left.min(TAKEN_AT_ONCE);
            (taken > 0).then(|| left - taken)
        };
        let _ = self.left.fetch_update(order, order, rest); // fails if none are left
        taken
    }
}

/// The operations that a thread has done: written by that thread, read by the one that samples,
/// both relaxed, since it publishes nothing. On lines of its own.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Progress(AtomicU64);

/// What a thread did, and when.
struct Part {
    operations: u64,
    from: Instant,
    to: Instant,
    latencies: BTreeMap<Operation, Latencies>,
    windows: Windows,
}

/// Runs a mix. `records` are those that exist.
///
/// # Errors
/// Any error of the store; a record that should exist does not, or the other way round, or has
/// another value than was written.
pub fn run<S: Store>(
    store: &S,
    records: &Acknowledged,
    layout: &Layout,
    plan: &Plan,
) -> Result<Outcome> {
    if let Some(queue) = &plan.mix.queue {
        return queue::run(store, records, layout, plan, queue);
    }
    let all = plan.mix.operations.iter().copied();
    let shared = Shared {
        store,
        records,
        layout,
        plan,
        operations: all
            .filter(|(operation, _)| !plan.warming || operation.only_reads())
            .collect(),
        left: AtomicU64::new(plan.operations),
        stop: AtomicBool::new(false),
        start: Barrier::new(plan.threads),
    };
    let inserts = plan.operations * u64::from(plan.mix.inserts()) / 100;
    let chooser = Chooser::new(plan.mix.records, records.limit().max(1), inserts);
    let progress: Arc<[Progress]> = (0..plan.threads).map(|_| Progress::default()).collect();
    let mut outcome = Outcome::default();
    let parts: Vec<Result<Part>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|number| {
                let (shared, chooser) = (&shared, chooser.clone());
                let progress = &progress[number];
                scope.spawn(move || {
                    let done = Worker::new(shared, number, chooser).work(&progress.0);
                    shared.stop.fetch_or(done.is_err(), Ordering::Relaxed);
                    done
                })
            })
            .collect();
        outcome.series = sample(&progress, || {
            threads.iter().all(|thread| thread.is_finished())
        });
        let parts = threads.into_iter().map(|thread| thread.join());
        parts
            .map(|part| part.unwrap_or_else(|_| fail("a thread panicked")))
            .collect()
    });
    let parts: Vec<_> = parts.into_iter().collect::<Result<_>>()?;
    let from = parts.iter().map(|part| part.from).min();
    let to = parts.iter().map(|part| part.to).max();
    if let (Some(from), Some(to)) = (from, to) {
        outcome.seconds = (to - from).as_secs_f64();
    }
    let mut windows = Windows::default();
    for part in parts {
        outcome.operations += part.operations;
        windows.merge(&part.windows);
        for (operation, latencies) in part.latencies {
            outcome
                .latencies
                .entry(operation)
                .or_default()
                .merge(&latencies);
        }
    }
    outcome.over_time = windows.over_time();
    Ok(outcome)
}

/// Samples the rate until all is `done`; returns at most a few dozen intervals.
fn sample(progress: &[Progress], done: impl Fn() -> bool) -> Vec<(f64, f64)> {
    const MOST: usize = 64;
    let (start, mut every) = (Instant::now(), Duration::from_millis(20));
    let mut counts = vec![(0.0, 0_u64)];
    let mut last = start;
    while !done() {
        thread::sleep(Duration::from_millis(5));
        if last.elapsed() < every {
            continue;
        }
        last = Instant::now();
        let count = progress
            .iter()
            .map(|one| one.0.load(Ordering::Relaxed))
            .sum();
        counts.push((start.elapsed().as_secs_f64(), count));
        if counts.len() > MOST {
            // Every other one goes, and intervals are twice as long from now on.
            let mut keep = [true, false].into_iter().cycle();
            counts.retain(|_| keep.next() == Some(true));
            every *= 2;
        }
    }
    let rate = |pair: &[(f64, u64)]| {
        let (before, after) = (pair[0], pair[1]);
        (after.0, (after.1 - before.1) as f64 / (after.0 - before.0))
    };
    counts.windows(2).map(rate).collect()
}

/// One thread.
struct Worker<'a, S> {
    shared: &'a Shared<'a, S>,
    number: u64,
    rng: Rng,
    chooser: Chooser,
    value: Vec<u8>,
    /// The sum of the operations' shares.
    shares: u64,
}

impl<'a, S: Store> Worker<'a, S> {
    fn new(shared: &'a Shared<'a, S>, number: usize, chooser: Chooser) -> Self {
        let seed = shared
            .plan
            .seed
            .wrapping_mul(1000)
            .wrapping_add(number as u64);
        Worker {
            number: number as u64,
            rng: Rng::seed_from_u64(seed),
            chooser,
            value: Vec::new(),
            shares: shared
                .operations
                .iter()
                .map(|(_, share)| u64::from(*share))
                .sum(),
            shared,
        }
    }

    /// Does operations as long as some are left. Without a schedule an operation lasts from the
    /// end of the one before it, so that the clock is read once for each.
    fn work(mut self, progress: &AtomicU64) -> Result<Part> {
        let plan = self.shared.plan;
        let threads = plan.threads as u64;
        let mut latencies = BTreeMap::<Operation, Latencies>::new();
        for (operation, _) in &self.shared.operations {
            latencies.insert(*operation, Latencies::default());
        }
        self.shared.start.wait();
        let from = Instant::now();
        let schedule = plan.rate.map(|rate| Schedule {
            from,
            rate,
            threads,
            number: self.number,
            limit: plan.limit,
        });
        let mut windows = Windows::new(plan.limit);
        let mut to = from;
        let (mut operations, mut taken) = (0, 0);
        while to - from < plan.limit && !self.shared.stop.load(Ordering::Relaxed) {
            if operations == taken {
                taken += self.shared.take();
            }
            if operations == taken {
                break;
            }
            let operation = self.draw();
            let mut begin = to;
            if let Some(schedule) = &schedule {
                match schedule.wait(operations) {
                    Some(due) => begin = due,
                    None => break,
                }
            }
            self.operate(operation)?;
            to = Instant::now();
            let nanoseconds = (to - begin).as_nanos() as u64;
            if let Some(latencies) = latencies.get_mut(&operation) {
                latencies.add(nanoseconds);
            }
            if schedule.is_some() {
                windows.add(begin - from, operation, nanoseconds);
            }
            operations += 1;
            progress.store(operations, Ordering::Relaxed);
        }
        if let Some(schedule) = &schedule {
            self.not_begun(schedule, operations, &mut latencies, &mut windows);
        }
        Ok(Part {
            operations,
            from,
            to,
            latencies,
            windows,
        })
    }

    /// Counts the operations that were due and were not begun when the time was over, with the
    /// time that they had waited by then: leaving them out would hide a stall at the end.
    fn not_begun(
        &mut self,
        schedule: &Schedule,
        begun: u64,
        latencies: &mut BTreeMap<Operation, Latencies>,
        windows: &mut Windows,
    ) {
        let end = schedule.from + schedule.limit;
        let mut next = begun;
        while schedule.due(next) < end && !self.shared.stop.load(Ordering::Relaxed) {
            let due = schedule.due(next);
            let operation = self.draw();
            let nanoseconds = (end - due).as_nanos() as u64;
            if let Some(latencies) = latencies.get_mut(&operation) {
                latencies.add(nanoseconds);
            }
            windows.add(due - schedule.from, operation, nanoseconds);
            next += 1;
        }
    }

    fn draw(&mut self) -> Operation {
        let all = &self.shared.operations;
        let mut place = match all.len() {
            1 => 0,
            _ => below(&mut self.rng, self.shares) as u32,
        };
        for (operation, share) in all {
            if place < *share {
                return *operation;
            }
            place -= share;
        }
        all[0].0
    }

    /// A record that exists.
    fn existing(&mut self) -> u64 {
        let limit = self.shared.records.limit();
        self.chooser.next(&mut self.rng, limit)
    }

    fn operate(&mut self, operation: Operation) -> Result<()> {
        match operation {
            Operation::Read => {
                let record = self.existing();
                self.read(record)?;
            }
            Operation::ReadAbsent => {
                let key = self.shared.layout.key(ABSENT + self.existing());
                if self.shared.store.get(&key, |_| ())? {
                    return fail("a record that was never written is there");
                }
            }
            Operation::Update => {
                let record = self.existing();
                self.write(record)?;
            }
            Operation::Insert => {
                let record = self.shared.records.next();
                let written = self.write(record);
                // Whether it was written or not: others wait for this number.
                self.shared.records.acknowledge(record);
                written?;
            }
            Operation::Scan => self.scan()?,
            Operation::ReadModifyWrite => {
                let record = self.existing();
                self.read(record)?;
                self.write(record)?;
            }
            // A queue has threads of its own.
            Operation::Pop => return fail("this mix is no queue"),
        }
        Ok(())
    }

    fn read(&mut self, record: u64) -> Result<()> {
        let layout = self.shared.layout;
        let mut fits = false;
        let see = |value: &[u8]| fits = layout.fits(value, record);
        let found = self.shared.store.get(&layout.key(record), see)?;
        match (found, fits) {
            (true, true) => Ok(()),
            (true, false) => fail(format!("record {record} has a value that it never had")),
            (false, _) => fail(format!("record {record} was written and is not there")),
        }
    }

    fn write(&mut self, record: u64) -> Result<()> {
        let layout = self.shared.layout;
        layout.fill(&mut self.value, record, &mut self.rng);
        self.shared.store.put(&layout.key(record), &self.value)
    }

    fn scan(&mut self) -> Result<()> {
        let (least, most) = self.shared.plan.scan;
        let count = least + below(&mut self.rng, most - least + 1);
        let from = self.shared.layout.key(self.existing());
        let mut first = None;
        let see = |key: &[u8], value: &[u8]| {
            first.get_or_insert_with(|| key == &*from);
            std::hint::black_box(value.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        };
        self.shared.store.scan(&from, count as usize, see)?;
        match first {
            Some(true) => Ok(()),
            _ => Err(Failure(
                "a scan did not begin at the record it was asked for".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests;
