//! A run over time, for `--json` and `--html`: its operations, whether writes are delayed or
//! stopped, and latencies ([`latency_timeline`](super::latency_timeline)).
//!
//! A separate thread reads the progress and a few properties at regular intervals,
//! so it costs nothing if these flags are not set. A stall shows as the share of
//! readings that found one, so short stalls show only in that share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::engine::Engine;
use super::latency_timeline::LatencyPoint;
use super::progress::Progress;
use super::stats::Operation;

/// The time between two readings.
const PAUSE: Duration = Duration::from_millis(20);
/// The maximum number of points of a run; beyond it, neighbours are merged.
const MOST: usize = 300;

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Whether writes are delayed.
    pub slowed: bool,
    /// Whether writes are stopped.
    pub stopped: bool,
    /// The number of files in level 0.
    pub level0: u64,
    /// The number of full memtables that wait to be flushed.
    pub memtables: u64,
}

impl Reading {
    fn of<E: Engine>(engine: &E) -> Self {
        let number = |name: &str| {
            let text = engine.property(name);
            text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            slowed: number("rocksdb.actual-delayed-write-rate") > 0,
            stopped: number("rocksdb.is-write-stopped") > 0,
            level0: number("rocksdb.num-files-at-level0"),
            memtables: number("rocksdb.num-immutable-mem-table"),
        }
    }
}

/// Several consecutive readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The start of the readings, in seconds after the start of the run.
    pub from: f64,
    /// The end of the readings, in seconds after the start of the run.
    pub to: f64,
    /// The operations between start and end.
    pub operations: u64,
    /// The number of readings.
    pub readings: u32,
    /// The number of readings that found writes delayed.
    pub slowed: u32,
    /// The number of readings that found writes stopped.
    pub stopped: u32,
    /// The maximum number of files in level 0.
    pub level0: u64,
    /// The maximum number of full memtables.
    pub memtables: u64,
}

impl Point {
    /// Operations per second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / (self.to - self.from).max(1e-9)
    }

    /// The percentage of readings that found writes delayed or stopped.
    pub fn stalled(&self) -> f64 {
        percent(self.slowed + self.stopped, self.readings)
    }

    fn merge(self, next: Self) -> Self {
        Self {
            from: self.from,
            to: next.to,
            operations: self.operations + next.operations,
            readings: self.readings + next.readings,
            slowed: self.slowed + next.slowed,
            stopped: self.stopped + next.stopped,
            level0: self.level0.max(next.level0),
            memtables: self.memtables.max(next.memtables),
        }
    }
}

fn percent(part: u32, all: u32) -> f64 {
    f64::from(part) * 100.0 / f64::from(all.max(1))
}

/// A run over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    points: Vec<Point>,
    /// The number of readings in each point except the last; 0 means 1.
    each: u32,
    /// How long operations took, if they were timed.
    pub latencies: Vec<(Operation, Vec<LatencyPoint>)>,
}

impl Timeline {
    /// Reads until `over` is set, and then once more.
    pub fn record<E: Engine>(engine: &E, progress: &Progress, over: &AtomicBool) -> Self {
        let mut timeline = Self::default();
        let start = Instant::now();
        let (mut last, mut done) = (0.0, 0);
        let mut next = PAUSE;
        loop {
            // Relaxed: the flag only ends the loop; `unpark` ends the wait.
            let ended = over.load(Ordering::Relaxed);
            if !ended && start.elapsed() < next {
                thread::park_timeout(next.saturating_sub(start.elapsed()));
                continue;
            }
            next = start.elapsed() + PAUSE;
            let (now, total) = (start.elapsed().as_secs_f64(), progress.done());
            timeline.add(last, now, total.saturating_sub(done), Reading::of(engine));
            (last, done) = (now, total);
            if ended {
                return timeline;
            }
        }
    }

    fn add(&mut self, from: f64, to: f64, operations: u64, reading: Reading) {
        let each = self.each.max(1);
        let point = Point {
            from,
            to,
            operations,
            readings: 1,
            // A stopped database does not count as delayed, too.
            slowed: u32::from(reading.slowed && !reading.stopped),
            stopped: u32::from(reading.stopped),
            level0: reading.level0,
            memtables: reading.memtables,
        };
        match self.points.last_mut() {
            Some(last) if last.readings < each => *last = last.merge(point),
            _ => self.points.push(point),
        }
        if self.points.len() > MOST {
            self.each = each * 2;
            let pairs = self.points.chunks(2);
            self.points = pairs
                .filter_map(|pair| pair.iter().copied().reduce(Point::merge))
                .collect();
        }
    }

    /// At most `most` points, each of the same number of readings except the last.
    pub fn points(&self, most: usize) -> Vec<Point> {
        let each = self.points.len().div_ceil(most.max(1)).max(1);
        let groups = self.points.chunks(each);
        groups
            .filter_map(|group| group.iter().copied().reduce(Point::merge))
            .collect()
    }

    /// The percentages of all readings that found writes delayed, and stopped.
    pub fn stalls(&self) -> (f64, f64) {
        let all = self.points.iter().copied().reduce(Point::merge);
        let all = all.unwrap_or_default();
        (
            percent(all.slowed, all.readings),
            percent(all.stopped, all.readings),
        )
    }

    /// The latencies over time, for a document.
    pub fn latencies_json(&self) -> Value {
        let operations = self.latencies.iter().map(|(operation, points)| {
            let points = points.iter().map(LatencyPoint::json).collect();
            (operation.word().to_owned(), points)
        });
        operations.collect::<serde_json::Map<_, _>>().into()
    }

    /// All points, for a document.
    pub fn json(&self) -> Value {
        let point = |point: &Point| {
            json!({
                "seconds": point.to,
                "operations_per_second": point.rate(),
                "slowed_percent": percent(point.slowed, point.readings),
                "stopped_percent": percent(point.stopped, point.readings),
                "level0_files": point.level0,
                "full_memtables": point.memtables,
            })
        };
        self.points.iter().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_when_there_are_many() {
        let mut timeline = Timeline::default();
        for at in 0..2 * MOST as u32 + 1 {
            let stalled = Reading {
                slowed: at % 4 == 0,
                stopped: at % 8 == 0,
                level0: u64::from(at),
                memtables: 1,
            };
            timeline.add(f64::from(at), f64::from(at) + 1.0, 10, stalled);
        }
        assert!(timeline.points.len() <= MOST, "{}", timeline.points.len());
        let all = timeline.points(1)[0];
        assert_eq!(all.readings, 601);
        assert_eq!(all.operations, 6010);
        assert_eq!((all.slowed, all.stopped), (75, 76));
        assert_eq!((all.from, all.to), (0.0, 601.0));
        assert!((all.rate() - 10.0).abs() < 1e-9);
        assert_eq!(all.level0, 600);
        assert!((10..=20).contains(&timeline.points(20).len()));
        let (slowed, stopped) = timeline.stalls();
        assert!((slowed - 12.5).abs() < 0.1 && (stopped - 12.6).abs() < 0.1);
        let json = timeline.json();
        assert_eq!(json.as_array().map(Vec::len), Some(timeline.points.len()));
        assert!((timeline.points[0].stalled() - 25.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_read_is_nothing_stalled() {
        let timeline = Timeline::default();
        assert_eq!(timeline.stalls(), (0.0, 0.0));
        assert!(timeline.points(5).is_empty());
    }
}
