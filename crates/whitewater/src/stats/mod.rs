//! Statistics: tickers and histograms under RocksDB's names.
//!
//! They are collected only when a database is opened with statistics on. Each thread counts in
//! one of a few shards, each on cache lines of its own, so that counting does not make threads
//! wait for one another. Reading a value adds up the shards. A shard allocates a histogram when
//! it first records a value of it.
//!
//! * `ticker`, `histogram`: the names; `names`: finding a name by its text.
//! * `buckets`: the counts of a histogram; `data`: what users see of them.
//! * `level`: how much is collected; `stopwatch`: times for histograms.
//! * `sampled`: times of some calls while statistics are off; `sampler`: which calls these are.
//! * `tables`: counting what tables report; `latencies`: reads of tables by level; `activity`:
//!   the purpose for which a thread reads tables.
//! * `job_stats`: what flushes and compactions did.

mod activity;
mod buckets;
mod data;
mod histogram;
mod job_stats;
mod latencies;
mod level;
mod names;
mod sampled;
mod sampler;
mod stopwatch;
mod tables;
mod ticker;

pub(crate) use activity::{Activity, During};
pub use data::{HistogramCounts, HistogramData};
pub use histogram::Histogram;
pub(crate) use job_stats::JobStats;
pub(crate) use latencies::ReadLatencies;
pub use level::StatsLevel;
pub use names::NameParseError;
pub(crate) use sampled::SampledLatencies;
pub(crate) use sampler::Sampler;
pub(crate) use stopwatch::{Stopwatch, time, time_call};
pub(crate) use tables::table_events;
pub use ticker::Ticker;

use buckets::{Buckets, Merged};
use crossbeam_utils::CachePadded;
use level::CurrentLevel;
use std::array::from_fn;
use std::fmt;
use std::sync::OnceLock;
use whitewater_concurrent::counter::{Counter, thread_number};
use whitewater_concurrent::system;
use whitewater_storage::Result;

const SHARDS: usize = 16;

#[derive(Debug)]
struct Shard {
    tickers: [Counter; Ticker::COUNT],
    histograms: [OnceLock<Box<Buckets>>; Histogram::COUNT],
}

impl Default for Shard {
    fn default() -> Self {
        Shard {
            tickers: from_fn(|_| Counter::new()),
            histograms: from_fn(|_| OnceLock::new()),
        }
    }
}

/// The statistics of one or more databases.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    level: CurrentLevel,
    shards: [CachePadded<Shard>; SHARDS],
}

impl Statistics {
    /// Chooses what is collected from now on.
    pub fn set_level(&self, level: StatsLevel) {
        self.level.set(level);
    }

    /// Adds `n` to a ticker.
    #[inline]
    pub fn add(&self, ticker: Ticker, n: u64) {
        debug_assert!(ticker.is_collected(), "{ticker} says that it stays 0");
        if self.level.includes(StatsLevel::ExceptHistogramOrTimers) {
            self.shards[thread_number() % SHARDS].tickers[ticker as usize].add(n);
        }
    }

    /// Whether what `level` includes is collected.
    #[inline]
    pub fn includes(&self, level: StatsLevel) -> bool {
        self.level.includes(level)
    }

    /// Whether values of the histogram are collected.
    #[inline]
    pub fn wants(&self, histogram: Histogram) -> bool {
        self.level.includes(histogram.level())
    }

    /// Records a value, if the level includes the histogram.
    #[inline]
    pub fn record(&self, histogram: Histogram, value: u64) {
        debug_assert!(histogram.is_collected(), "{histogram} says it stays empty");
        if self.wants(histogram) {
            self.shards[thread_number() % SHARDS].histograms[histogram as usize]
                .get_or_init(Box::default)
                .record(value);
        }
    }

    /// The value of a ticker at some recent moment.
    pub fn ticker(&self, ticker: Ticker) -> u64 {
        let shards = self.shards.iter();
        shards.map(|s| s.tickers[ticker as usize].get()).sum()
    }

    /// A histogram at some recent moment.
    pub fn histogram(&self, histogram: Histogram) -> HistogramData {
        self.counts(histogram).data()
    }

    /// What a histogram has recorded until some recent moment.
    pub fn counts(&self, histogram: Histogram) -> HistogramCounts {
        let shards = self.shards.iter();
        let recorded = shards.filter_map(|s| s.histograms[histogram as usize].get());
        HistogramCounts(Merged::of(recorded.map(|buckets| &**buckets)))
    }
}

/// Adds to a ticker, if statistics are on.
#[inline]
pub(crate) fn tick(statistics: Option<&Statistics>, ticker: Ticker, n: u64) {
    if let Some(s) = statistics {
        s.add(ticker, n);
    }
}

/// Runs a merge operator, and counts and times it.
///
/// # Errors
/// The errors of `merge`.
pub(crate) fn counted_merge<T>(
    statistics: &Statistics,
    merge: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let timed = statistics.level.includes(StatsLevel::ExceptDetailedTimers);
    let start = timed.then(system::now);
    let merged = merge();
    if let Some(start) = start {
        let nanos = u64::try_from(system::since(start).as_nanos()).unwrap_or(u64::MAX);
        statistics.add(Ticker::MergeOperationTotalTime, nanos);
    }
    if merged.is_err() {
        statistics.add(Ticker::NumberMergeFailures, 1);
    }
    merged
}

/// One line for each ticker and histogram that is collected, as RocksDB prints them.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ticker in Ticker::iter().filter(|t| t.is_collected()) {
            writeln!(f, "{ticker} COUNT : {}", self.ticker(*ticker))?;
        }
        for histogram in Histogram::iter().filter(|h| h.is_collected()) {
            let data = self.histogram(*histogram);
            writeln!(
                f,
                "{histogram} P50 : {:.6} P95 : {:.6} P99 : {:.6} P100 : {:.6} COUNT : {} SUM : {}",
                data.median, data.p95, data.p99, data.max, data.count, data.sum
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let s = Statistics::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    s.add(Ticker::WalFileSynced, 3);
                    s.record(Histogram::BytesPerWrite, 9);
                });
            }
        });
        assert_eq!(s.ticker(Ticker::WalFileSynced), 60);
        let text = s.to_string();
        assert!(text.contains("rocksdb.wal.synced COUNT : 60\n"));
        assert!(text.contains("rocksdb.memtable.hit COUNT : 0\n"));
        let line = "rocksdb.bytes.per.write P50 : 9.000000 P95 : 9.000000 P99 : 9.000000 \
                    P100 : 9.000000 COUNT : 20 SUM : 180\n";
        assert!(text.contains(line), "{text}");
        assert!(!text.contains("rocksdb.read.amp"), "nobody collects these");
    }

    /// Whether each kind of value is collected at `level`: a ticker, a size, the time of a call,
    /// the time of a step.
    fn collected(level: StatsLevel) -> [bool; 4] {
        let s = Statistics::default();
        s.set_level(level);
        s.add(Ticker::BytesRead, 1);
        let histograms = [
            Histogram::BytesPerRead,
            Histogram::DbGet,
            Histogram::WriteAppendNanos,
        ];
        let [size, call, step] = histograms.map(|h| {
            s.record(h, 1);
            assert_eq!(s.wants(h), s.histogram(h).count() == 1);
            s.wants(h)
        });
        [s.ticker(Ticker::BytesRead) == 1, size, call, step]
    }

    #[test]
    fn levels_say_what_is_collected() {
        use StatsLevel::*;
        assert_eq!(collected(DisableAll), [false; 4]);
        assert_eq!(
            collected(ExceptHistogramOrTimers),
            [true, false, false, false]
        );
        assert_eq!(collected(ExceptTimers), [true, true, false, false]);
        assert_eq!(collected(ExceptDetailedTimers), [true, true, true, false]);
        assert_eq!(collected(ExceptTimeForMutex), [true; 4]);
        assert_eq!(collected(All), [true; 4]);
        let untouched = Statistics::default();
        assert!(untouched.wants(Histogram::DbGet));
        assert!(!untouched.wants(Histogram::WriteAppendNanos));
    }
}
