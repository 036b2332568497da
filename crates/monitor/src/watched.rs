//! A database that is watched: its samples, its events and its figures now.

use crate::api::{Database, Point};
use crate::events::EventLog;
use crate::sample::{Interval, Sample};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use whitewater::{ErrorKind, Observer};

/// The number of intervals that are kept.
const KEPT: usize = 600;

/// See the [module](self).
pub(crate) struct Watched {
    pub id: usize,
    pub label: String,
    pub observer: Observer,
    pub events: Arc<EventLog>,
    /// Whether this instance only reads, and so has no events.
    pub reads_only: bool,
    history: Mutex<History>,
    slow: Mutex<Option<(Instant, Vec<Slow>)>>,
}

/// Figures that may open every table to be known, so they are read seldom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slow {
    pub family: String,
    pub keys: u64,
    pub live_bytes: u64,
    pub all_table_bytes: u64,
    pub table_readers_bytes: u64,
}

/// The last two samples, and the rates of earlier intervals.
#[derive(Default)]
struct History {
    samples: Option<(Arc<Sample>, Arc<Sample>)>,
    points: VecDeque<Point>,
}

impl Watched {
    /// Begins to watch a database.
    pub fn new(id: usize, label: Option<String>, observer: Observer) -> Self {
        let events = Arc::new(EventLog::default());
        let listened = observer.add_event_listener(events.clone());
        // Another error means that there will be no events, which the page shows as such.
        let reads_only = listened.is_err_and(|e| e.kind() == ErrorKind::NotSupported);
        let watched = Watched {
            id,
            label: label.unwrap_or_else(|| observer.path().display().to_string()),
            observer,
            events,
            reads_only,
            history: Mutex::default(),
            slow: Mutex::default(),
        };
        watched.sample();
        watched
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a sample, if the database is open.
    pub fn sample(&self) {
        let Some(sample) = Sample::take(&self.observer).map(Arc::new) else {
            return;
        };
        let mut history = self.history();
        let before = history.samples.take();
        let Some((_, before)) = before else {
            history.samples = Some((sample.clone(), sample));
            return;
        };
        let interval = Interval {
            from: &before,
            to: &sample,
        };
        let point = interval.point();
        if history.points.len() == KEPT {
            history.points.pop_front();
        }
        history.points.push_back(point);
        history.samples = Some((before, sample));
    }

    /// The last two samples.
    pub fn samples(&self) -> Option<(Arc<Sample>, Arc<Sample>)> {
        self.history().samples.clone()
    }

    /// The rates of the last intervals that end after `since` (Unix milliseconds), oldest first.
    pub fn points(&self, since: u64) -> Vec<Point> {
        let history = self.history();
        let newer = history.points.iter().filter(|point| point.unix_ms > since);
        newer.cloned().collect()
    }

    /// The rates of the last interval.
    pub fn rates(&self) -> Point {
        self.history().points.back().cloned().unwrap_or_default()
    }

    /// The database as lists have it.
    pub fn entry(&self) -> Database {
        Database {
            id: self.id,
            label: self.label.clone(),
            open: self.observer.is_open(),
        }
    }

    /// The error for which writes are refused; empty if they are not, and for an instance that only
    /// reads, which takes none anyway.
    pub fn error(&self) -> String {
        if self.reads_only {
            return String::new();
        }
        self.text("whitewater.background-error")
    }

    /// Figures that are no older than `age`.
    pub fn slow(&self, age: Duration) -> Vec<Slow> {
        let mut slow = self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, figures)) = &*slow
            && at.elapsed() < age
        {
            return figures.clone();
        }
        let families = self.observer.column_families();
        let figures: Vec<_> = families.into_iter().map(|cf| self.slow_of(cf)).collect();
        *slow = Some((Instant::now(), figures.clone()));
        figures
    }

    fn slow_of(&self, family: String) -> Slow {
        let int = |name: &str| self.int(&family, name);
        Slow {
            keys: int("rocksdb.estimate-num-keys"),
            live_bytes: int("rocksdb.estimate-live-data-size"),
            all_table_bytes: int("rocksdb.total-sst-files-size"),
            table_readers_bytes: int("rocksdb.estimate-table-readers-mem"),
            family,
        }
    }

    /// A numeric property of a column family; 0 if it has none.
    pub fn int(&self, family: &str, name: &str) -> u64 {
        let value = self.observer.property_int_value(family, name);
        value.unwrap_or(0)
    }

    /// A text property of the default column family.
    pub fn text(&self, name: &str) -> String {
        let value = self.observer.property_value("default", name);
        value.unwrap_or_default()
    }
}
