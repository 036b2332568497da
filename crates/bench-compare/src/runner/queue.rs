//! A queue: one thread takes records at one end, another may add some at the other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand_xoshiro::rand_core::SeedableRng;
use whitewater_tools::bench::histogram::Latencies;
use whitewater_tools::bench::keygen::Rng;

use super::{Outcome, Plan, Progress, sample};
use crate::generators::Acknowledged;
use crate::keys::{Key, Layout, queued};
use crate::mixes::{Operation, Queue};
use crate::stores::{End, Store};
use crate::{Result, fail};

/// What both threads use.
struct Shared<'a, S> {
    store: &'a S,
    records: &'a Acknowledged,
    layout: &'a Layout,
    plan: &'a Plan,
    queue: &'a Queue,
    /// How many records were taken: written by the consumer, read by the producer and by the
    /// thread that samples, all relaxed, since it publishes nothing.
    taken: [Progress; 1],
    /// Set by a thread that has ended; the other ends, too. Relaxed: it publishes nothing.
    over: AtomicBool,
}

/// Runs a mix that is a queue. What counts as an operation is a record that was taken.
///
/// # Errors
/// Any error of the store; a record that was taken is not the next one, or is not what was
/// written.
pub(super) fn run<S: Store>(
    store: &S,
    records: &Acknowledged,
    layout: &Layout,
    plan: &Plan,
    queue: &Queue,
) -> Result<Outcome> {
    let shared = Shared {
        store,
        records,
        layout,
        plan,
        queue,
        taken: [Progress::default()],
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let consumer = scope.spawn(|| {
            let done = Consumer::new(&shared).work();
            shared.over.store(true, Ordering::Relaxed);
            done
        });
        let producer = queue.produced.then(|| {
            scope.spawn(|| {
                let done = produce(&shared);
                shared.over.store(true, Ordering::Relaxed);
                done
            })
        });
        let series = sample(&shared.taken, || consumer.is_finished());
        let added = producer.map(|thread| thread.join());
        let added = added.map(|added| added.unwrap_or_else(|_| fail("a thread panicked")));
        let taken = consumer.join();
        let mut outcome = taken.unwrap_or_else(|_| fail("a thread panicked"))?;
        if let Some(added) = added {
            outcome.latencies.insert(Operation::Insert, added?);
        }
        outcome.series = series;
        Ok(outcome)
    })
}

/// Adds a record for each that was taken, so that the queue keeps its length.
fn produce<S: Store>(shared: &Shared<'_, S>) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    let mut rng = Rng::seed_from_u64(shared.plan.seed);
    let mut value = Vec::new();
    let mut added = 0;
    while !shared.over.load(Ordering::Relaxed) {
        if added >= shared.taken[0].0.load(Ordering::Relaxed) {
            thread::yield_now();
            continue;
        }
        let record = queued(shared.queue.end.other(), shared.records.next_queued());
        let key = shared.layout.key(record);
        shared.layout.fill(&mut value, record, &mut rng);
        let before = Instant::now();
        shared.store.put(&key, &value)?;
        latencies.add(before.elapsed().as_nanos() as u64);
        added += 1;
    }
    Ok(latencies)
}

/// The thread that takes records.
struct Consumer<'a, S> {
    shared: &'a Shared<'a, S>,
    taken: u64,
    /// How long that took, without flushes.
    busy: Duration,
    marks: Marks,
    /// The key that was taken last.
    before: Option<Key>,
}

impl<'a, S: Store> Consumer<'a, S> {
    fn new(shared: &'a Shared<'a, S>) -> Self {
        Consumer {
            taken: 0,
            busy: Duration::ZERO,
            marks: Marks::new(shared.plan.operations),
            before: None,
            shared,
        }
    }

    /// As elsewhere, an operation lasts from the end of the one before it, but for flushes.
    fn work(mut self) -> Result<Outcome> {
        let plan = self.shared.plan;
        let mut latencies = Latencies::default();
        let mut parts = 0;
        let mut last = Instant::now();
        while self.taken < plan.operations && self.busy < plan.limit {
            if self.shared.over.load(Ordering::Relaxed) {
                break;
            }
            if self.shared.queue.flushed && self.part() > parts {
                parts = self.part();
                self.shared.store.flush()?;
                last = Instant::now();
            }
            if !self.take()? {
                break;
            }
            let now = Instant::now();
            latencies.add((now - last).as_nanos() as u64);
            self.busy += now - last;
            last = now;
            self.taken += 1;
            self.shared.taken[0].0.store(self.taken, Ordering::Relaxed);
            self.marks.add(self.taken, self.busy);
        }
        Ok(Outcome {
            operations: self.taken,
            seconds: self.busy.as_secs_f64(),
            latencies: BTreeMap::from([(Operation::Pop, latencies)]),
            tenths: self.marks.tenths(self.taken, self.busy),
            ..Outcome::default()
        })
    }

    /// How many tenths are over: of the records, or of the time if that is sooner.
    fn part(&self) -> u128 {
        let plan = self.shared.plan;
        let of_records = u128::from(self.taken) * 10 / u128::from(plan.operations.max(1));
        let of_time = self.busy.as_nanos() * 10 / plan.limit.as_nanos().max(1);
        of_records.max(of_time)
    }

    /// Takes a record. Whether there was one.
    fn take(&mut self) -> Result<bool> {
        let (layout, end) = (self.shared.layout, self.shared.queue.end);
        let mut taken = None;
        let mut fits = false;
        let see = |key: &[u8], value: &[u8]| {
            if let Some(expected) = layout.record(value).map(|record| layout.key(record)) {
                fits = key == &*expected;
                taken = Some(expected);
            }
        };
        if !self.shared.store.pop(end, see)? {
            return Ok(false);
        }
        if !fits {
            return fail("a record that was taken has a value that it never had");
        }
        let follows = match (self.before, taken) {
            (Some(before), Some(taken)) => match end {
                End::First => before < taken,
                End::Last => before > taken,
            },
            _ => true,
        };
        self.before = taken;
        match follows {
            true => Ok(true),
            false => fail("a record was taken that is not behind the one before it"),
        }
    }
}

/// How long parts of the work took.
#[derive(Debug)]
struct Marks {
    every: u64,
    all: Vec<(u64, Duration)>,
}

impl Marks {
    /// For as many operations at most.
    fn new(operations: u64) -> Self {
        const MOST: u64 = 10_000;
        Self {
            every: operations.div_ceil(MOST).max(1),
            all: Vec::new(),
        }
    }

    fn add(&mut self, operations: u64, busy: Duration) {
        if operations.is_multiple_of(self.every) {
            self.all.push((operations, busy));
        }
    }

    /// The rates of the first and of the last tenth of what was done, to the next mark. `None` if
    /// less was done than ten marks have.
    fn tenths(&self, operations: u64, busy: Duration) -> Option<(f64, f64)> {
        if operations < 10 * self.every {
            return None;
        }
        let rate =
            |operations: u64, time: Duration| operations as f64 / time.as_secs_f64().max(1e-9);
        let reached = |count: u64| self.all.iter().find(|(operations, _)| *operations >= count);
        let (first, first_time) = reached(operations / 10)?;
        let (before, before_time) = reached(operations - operations / 10)?;
        let left = operations - before;
        // The last mark may be at the end of the last tenth.
        let last = match left {
            0 => return None,
            left => rate(left, busy - *before_time),
        };
        Some((rate(*first, *first_time), last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_are_of_what_was_done() {
        let mut marks = Marks::new(1_000_000);
        let mut busy = Duration::ZERO;
        for operations in 1..=5000 {
            // Twice as slow from the middle on.
            busy += Duration::from_micros(if operations <= 2500 { 1 } else { 2 });
            marks.add(operations, busy);
        }
        assert_eq!(marks.all.len(), 50);
        let (first, last) = marks.tenths(5000, busy).unwrap();
        assert!((first - 1e6).abs() < 1.0 && (last - 5e5).abs() < 1.0);
        assert_eq!(marks.tenths(900, busy), None);
    }
}
