//! How long operations take over time, for `--json` and `--html` with `--histogram`.
//!
//! A thread counts the operations of the present interval by itself. When one ends in a later
//! interval, the thread adds them to those of the other threads, and may wait for these, ten
//! times a second at most. No operation is charged with that time.

use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::stats::Operation;

/// The shortest interval.
const INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of intervals of a run; beyond it, neighbours are merged.
const MOST: u32 = 100;

/// The operations of one interval.
type Interval = Vec<(Operation, Histogram<u32>)>;

fn histogram(interval: &mut Interval, operation: Operation) -> &mut Histogram<u32> {
    let known = interval.iter().position(|(known, _)| *known == operation);
    let at = known.unwrap_or_else(|| {
        // One hour, two digits: the arguments are constant and valid.
        let empty = Histogram::new_with_max(3_600_000_000_000, 2)
            .expect("one hour at two digits is a valid range");
        interval.push((operation, empty));
        interval.len() - 1
    });
    &mut interval[at].1
}

fn merge(sum: &mut Interval, other: &Interval) {
    for (operation, other) in other {
        // Both histograms have the same range, so this cannot fail.
        let merged = histogram(sum, *operation).add(other);
        debug_assert!(merged.is_ok());
    }
}

#[derive(Debug, Default)]
struct Intervals {
    all: Vec<Interval>,
    /// How often neighbours were merged: each interval is this power of two of the shortest.
    merged: u32,
}

impl Intervals {
    /// Adds the operations of the shortest interval with this number.
    fn add(&mut self, number: u32, operations: &Interval) {
        while number >> self.merged >= MOST {
            self.merged += 1;
            let pairs = mem::take(&mut self.all);
            let mut pairs = pairs.into_iter();
            while let Some(mut first) = pairs.next() {
                merge(&mut first, &pairs.next().unwrap_or_default());
                self.all.push(first);
            }
        }
        let at = (number >> self.merged) as usize;
        if at >= self.all.len() {
            self.all.resize_with(at + 1, Interval::new);
        }
        merge(&mut self.all[at], operations);
    }

    fn points(&self, operation: Operation) -> Vec<LatencyPoint> {
        let length = INTERVAL.as_secs_f64() * f64::from(1u32 << self.merged);
        let numbered = self.all.iter().enumerate();
        let points = numbered.filter_map(|(at, interval)| {
            let (_, all) = interval.iter().find(|(known, _)| *known == operation)?;
            let micros = |nanoseconds: u64| nanoseconds as f64 / 1e3;
            Some(LatencyPoint {
                from: at as f64 * length,
                to: (at + 1) as f64 * length,
                count: all.len(),
                p50: micros(all.value_at_percentile(50.0)),
                p99_9: micros(all.value_at_percentile(99.9)),
                max: micros(all.max()),
            })
        });
        points.collect()
    }
}

/// The latencies of the operations that ended in one interval, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyPoint {
    /// The start of the interval, in seconds after the start of the run.
    pub from: f64,
    /// The end of the interval, in seconds after the start of the run.
    pub to: f64,
    /// The number of latencies. Operations that were done as one have one.
    pub count: u64,
    /// The median.
    pub p50: f64,
    /// The 99.9th percentile.
    pub p99_9: f64,
    /// The longest.
    pub max: f64,
}

impl LatencyPoint {
    /// The point, for a document.
    pub fn json(&self) -> Value {
        json!({
            "seconds": self.to,
            "count": self.count,
            "p50": self.p50,
            "p99.9": self.p99_9,
            "max": self.max,
        })
    }
}

/// The latencies of all threads of a run.
#[derive(Debug)]
pub struct LatencyTimeline {
    start: Instant,
    intervals: Mutex<Intervals>,
}

impl LatencyTimeline {
    /// Of a run that starts now.
    pub fn start() -> Self {
        LatencyTimeline {
            start: Instant::now(),
            intervals: Mutex::default(),
        }
    }

    fn add(&self, number: u32, operations: &Interval) {
        let intervals = self.intervals.lock();
        // A thread that panicked ends the run; what it left here is not used.
        let mut intervals = intervals.unwrap_or_else(PoisonError::into_inner);
        intervals.add(number, operations);
    }

    /// The points of an operation, once all recorders are dropped.
    pub fn points(&self, operation: Operation) -> Vec<LatencyPoint> {
        let intervals = self.intervals.lock();
        let intervals = intervals.unwrap_or_else(PoisonError::into_inner);
        intervals.points(operation)
    }
}

/// What one thread adds to a [`LatencyTimeline`]: each interval when it is over, and the last
/// one when the recorder is dropped.
#[derive(Debug)]
pub struct LatencyRecorder<'r> {
    timeline: &'r LatencyTimeline,
    /// The number of the present interval.
    number: u32,
    /// When it is over.
    until: Instant,
    /// Its operations.
    operations: Interval,
}

impl<'r> LatencyRecorder<'r> {
    /// Of a thread that starts now.
    pub fn new(timeline: &'r LatencyTimeline) -> Self {
        LatencyRecorder {
            timeline,
            number: 0,
            until: timeline.start + INTERVAL,
            operations: Interval::new(),
        }
    }

    /// Adds an operation that took this long and ended `now`. Returns how long the thread was
    /// kept by the end of an interval.
    pub fn add(&mut self, operation: Operation, took: Duration, now: Instant) -> Duration {
        let mut kept = Duration::ZERO;
        if now >= self.until {
            let begun = Instant::now();
            self.flush();
            let passed = (now - self.timeline.start).as_nanos() / INTERVAL.as_nanos();
            // 13 years have fewer.
            self.number = passed as u32;
            self.until = self.timeline.start + INTERVAL * (self.number + 1);
            kept = begun.elapsed();
        }
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        histogram(&mut self.operations, operation).saturating_record(nanoseconds);
        kept
    }

    fn flush(&mut self) {
        self.operations.retain(|(_, all)| !all.is_empty());
        self.timeline.add(self.number, &self.operations);
        self.operations.iter_mut().for_each(|(_, all)| all.reset());
    }
}

impl Drop for LatencyRecorder<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_in_the_interval_in_which_they_ended() {
        let timeline = LatencyTimeline::start();
        let add = |recorder: &mut LatencyRecorder<'_>, operation, micros, at| {
            let now = timeline.start + Duration::from_millis(at);
            recorder.add(operation, Duration::from_micros(micros), now);
        };
        let mut one = LatencyRecorder::new(&timeline);
        let mut other = LatencyRecorder::new(&timeline);
        for at in [0, 50, 99] {
            add(&mut one, Operation::Read, 10, at);
        }
        add(&mut other, Operation::Read, 2_000, 20);
        add(&mut other, Operation::Write, 5, 30);
        // The second interval has none.
        add(&mut one, Operation::Read, 30, 200);
        add(&mut other, Operation::Write, 7, 299);
        add(&mut other, Operation::Write, 9, 300);
        drop((one, other));
        let figures = |operation| -> Vec<_> {
            let points = timeline.points(operation).into_iter();
            let figures = points.map(|at| {
                let tenths = (at.to * 10.0).round() as u64;
                (tenths, at.count, at.p50.round())
            });
            figures.collect()
        };
        assert_eq!(figures(Operation::Read), [(1, 4, 10.0), (3, 1, 30.0)]);
        let first = timeline.points(Operation::Read)[0];
        assert!((2_000.0..2_020.0).contains(&first.max), "{first:?}");
        assert_eq!(first.p99_9, first.max);
        assert_eq!(
            figures(Operation::Write),
            [(1, 1, 5.0), (3, 1, 7.0), (4, 1, 9.0)]
        );
        assert!(figures(Operation::Seek).is_empty());
    }

    #[test]
    fn a_long_run_has_longer_intervals() {
        let timeline = LatencyTimeline::start();
        let mut recorder = LatencyRecorder::new(&timeline);
        for second in 0..100 {
            let now = timeline.start + Duration::from_secs(second);
            recorder.add(Operation::Read, Duration::from_micros(second + 1), now);
        }
        drop(recorder);
        let points = timeline.points(Operation::Read);
        assert!((50..=100).contains(&points.len()), "{}", points.len());
        assert_eq!(points.iter().map(|at| at.count).sum::<u64>(), 100);
        let last = points[points.len() - 1];
        assert!((99.0..102.0).contains(&last.to), "{last:?}");
        assert!((99.0..101.0).contains(&last.max), "{last:?}");
        assert_eq!(last.json()["max"], last.max);
    }
}
