//! Operations that begin by a schedule, whether earlier ones have ended or not.
//!
//! An operation's latency counts from when it was due. A store that stalls for a second is thus
//! charged with every operation that was due in that second, as its users would see it; a loop
//! that waits for each operation before it begins the next would see a single slow one
//! (*coordinated omission*).

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::mixes::Operation;

/// When the operations of one thread are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub from: Instant,
    /// Operations a second of all threads.
    pub rate: f64,
    pub threads: u64,
    /// The number of this thread.
    pub number: u64,
    /// When nothing is due any more.
    pub limit: Duration,
}

impl Schedule {
    /// When an operation of this thread is due. Those of all threads are due at equal distances.
    pub fn due(&self, operation: u64) -> Instant {
        let place = operation * self.threads + self.number;
        self.from + Duration::from_secs_f64(place as f64 / self.rate)
    }

    /// Waits until an operation is due, if it is before the end. Returns when it was due.
    pub fn wait(&self, operation: u64) -> Option<Instant> {
        /// A sleep may last longer than it should by about this much.
        const OVERSLEPT: Duration = Duration::from_micros(200);
        /// Giving the processor to another thread takes about this long.
        const YIELDED: Duration = Duration::from_micros(5);
        let due = self.due(operation);
        if due >= self.from + self.limit {
            return None;
        }
        loop {
            let left = due.saturating_duration_since(Instant::now());
            match left {
                Duration::ZERO => return Some(due),
                left if left > OVERSLEPT => thread::sleep(left - OVERSLEPT),
                left if left > YIELDED => thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// How many intervals a run has.
const WINDOWS: u32 = 60;

/// The latencies of one thread, or of all, by the interval in which operations were due.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    length: Duration,
    all: Vec<BTreeMap<Operation, Histogram<u32>>>,
}

impl Windows {
    /// For a run of this length.
    pub fn new(limit: Duration) -> Self {
        let length = (limit / WINDOWS).max(Duration::from_nanos(1));
        Self {
            length,
            all: Vec::new(),
        }
    }

    /// Adds an operation that was due `at` this time after the start.
    pub fn add(&mut self, at: Duration, operation: Operation, nanoseconds: u64) {
        let at = (at.as_nanos() / self.length.as_nanos()) as usize;
        if at >= self.all.len() {
            self.all.resize_with(at + 1, BTreeMap::new);
        }
        let histogram = self.all[at].entry(operation).or_insert_with(histogram);
        histogram.saturating_record(nanoseconds);
    }

    /// Adds those of another thread of the same run.
    pub fn merge(&mut self, other: &Self) {
        self.length = self.length.max(other.length);
        if self.all.len() < other.all.len() {
            self.all.resize_with(other.all.len(), BTreeMap::new);
        }
        for (window, others) in self.all.iter_mut().zip(&other.all) {
            for (operation, other) in others {
                let histogram = window.entry(*operation).or_insert_with(histogram);
                // Both have the same range, so this cannot fail.
                let merged = histogram.add(other);
                debug_assert!(merged.is_ok());
            }
        }
    }

    /// What came of it, one for each kind of operation.
    pub fn over_time(&self) -> Vec<OverTime> {
        let mut all = BTreeMap::<Operation, OverTime>::new();
        for (at, window) in self.all.iter().enumerate() {
            for (operation, histogram) in window {
                let over_time = all.entry(*operation).or_insert_with(|| OverTime {
                    operation: operation.name().to_owned(),
                    points: Vec::new(),
                });
                let micros = |nanoseconds: u64| nanoseconds as f64 / 1e3;
                over_time.points.push(Point {
                    seconds: self.length.as_secs_f64() * (at + 1) as f64,
                    p50: micros(histogram.value_at_percentile(50.0)),
                    p99_9: micros(histogram.value_at_percentile(99.9)),
                    most: micros(histogram.max()),
                });
            }
        }
        all.into_values().collect()
    }
}

fn histogram() -> Histogram<u32> {
    // Ten minutes, two digits: the arguments are constant and valid.
    Histogram::new_with_max(600_000_000_000, 2).expect("ten minutes at two digits is a valid range")
}

/// Latencies of one kind of operation over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// The kind.
    pub operation: String,
    /// An interval each.
    pub points: Vec<Point>,
}

/// Latencies of the operations that were due in one interval, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// When the interval ended, in seconds after the start.
    pub seconds: f64,
    /// The median.
    pub p50: f64,
    /// That which one of a thousand exceeds.
    pub p99_9: f64,
    /// The longest.
    pub most: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_all_threads_are_due_at_equal_distances() {
        let from = Instant::now();
        let schedule = |number| Schedule {
            from,
            rate: 2000.0,
            threads: 2,
            number,
            limit: Duration::from_millis(2),
        };
        let due = |number, operation| schedule(number).due(operation) - from;
        assert_eq!(due(0, 0), Duration::ZERO);
        assert_eq!(due(1, 0), Duration::from_micros(500));
        assert_eq!(due(0, 3), Duration::from_millis(3));
        assert_eq!(
            schedule(1).wait(1),
            Some(from + Duration::from_micros(1500))
        );
        assert!(from.elapsed() >= Duration::from_micros(1500));
        assert_eq!(schedule(0).wait(2), None, "due when all is over");
    }

    #[test]
    fn latencies_are_those_of_the_interval_in_which_operations_were_due() {
        let second = Duration::from_secs(1);
        let mut windows = Windows::new(second * WINDOWS);
        let mut other = windows.clone();
        windows.add(second / 2, Operation::Read, 1_000);
        windows.add(second * 2, Operation::Read, 8_000_000);
        other.add(second / 4, Operation::Read, 3_000);
        other.add(second * 3, Operation::Update, 5_000);
        windows.merge(&other);
        let all = windows.over_time();
        assert_eq!(
            (all[0].operation.as_str(), all[0].points.len()),
            ("read", 2)
        );
        let (first, third) = (all[0].points[0], all[0].points[1]);
        assert_eq!((first.seconds, third.seconds), (1.0, 3.0));
        assert!((first.most - 3.0).abs() < 0.1 && (first.p50 - 1.0).abs() < 0.1);
        assert!((third.most - 8_000.0).abs() < 100.0, "{third:?}");
        assert_eq!(all[1].operation, "update");
        assert_eq!(all[1].points[0].seconds, 4.0);
    }
}
