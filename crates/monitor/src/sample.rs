//! What the sampler takes of a database at a moment, and what happened between two moments.

use crate::api::{Distribution, Point};
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use whitewater::statistics::{Histogram, HistogramCounts, HistogramData, Ticker};
use whitewater::{Observer, properties};

/// The histograms whose distribution in an interval is shown.
pub(crate) const HISTOGRAMS: [Histogram; 16] = [
    Histogram::DbWrite,
    Histogram::DbGet,
    Histogram::DbMultiget,
    Histogram::DbSeek,
    Histogram::WalFileSyncMicros,
    Histogram::WriteStall,
    Histogram::FlushTime,
    Histogram::CompactionTime,
    Histogram::SstReadMicros,
    Histogram::ReadBlockGetMicros,
    Histogram::WriteLocateNanos,
    Histogram::WriteReserveNanos,
    Histogram::WriteAppendNanos,
    Histogram::WriteInsertNanos,
    Histogram::WritePublishWaitNanos,
    Histogram::WriteSyncWaitNanos,
];

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// What a histogram has recorded or, while statistics are off, a sample of it.
fn counts(observer: &Observer, histogram: Histogram) -> Option<HistogramCounts> {
    let all = observer.histogram(histogram);
    all.or_else(|| observer.sampled_latency(histogram))
}

/// The figures of a database at a moment.
#[derive(Debug)]
pub(crate) struct Sample {
    at: Instant,
    pub unix_ms: u64,
    /// The property `rocksdb.dbstats`.
    db: BTreeMap<String, String>,
    /// The collected tickers; `None` without statistics.
    tickers: Option<Vec<(Ticker, u64)>>,
    histograms: Vec<(Histogram, HistogramCounts)>,
    memtable_bytes: u64,
    stall: u8,
}

impl Sample {
    /// Looks at a database; `None` if it was closed.
    pub fn take(observer: &Observer) -> Option<Self> {
        let families = observer.column_families();
        let memtables = families.iter().filter_map(|family| {
            observer.property_int_value(family, properties::CUR_SIZE_ALL_MEM_TABLES)
        });
        let memtable_bytes = memtables.sum();
        let is = |name| observer.property_int_value("default", name).unwrap_or(0) > 0;
        let stall = if is(properties::IS_WRITE_STOPPED) {
            2
        } else {
            u8::from(is(properties::ACTUAL_DELAYED_WRITE_RATE))
        };
        let collected = Ticker::iter().filter(|ticker| ticker.is_collected());
        let tickers = collected.map(|ticker| Some((*ticker, observer.ticker(*ticker)?)));
        let histograms = HISTOGRAMS
            .iter()
            .filter_map(|h| Some((*h, counts(observer, *h)?)));
        Some(Sample {
            at: Instant::now(),
            unix_ms: unix_ms(),
            tickers: tickers.collect(),
            histograms: histograms.collect(),
            db: observer.property_map_value("default", "rocksdb.dbstats")?,
            memtable_bytes,
            stall,
        })
    }

    /// Whether statistics are on.
    pub fn has_statistics(&self) -> bool {
        self.tickers.is_some()
    }

    /// An entry of `rocksdb.dbstats`; 0 if there is none.
    pub fn of_db(&self, name: &str) -> f64 {
        self.db
            .get(name)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0.0)
    }

    /// A ticker; `None` without statistics.
    pub fn ticker(&self, ticker: Ticker) -> Option<u64> {
        let mut all = self.tickers.as_ref()?.iter();
        all.find(|(found, _)| *found == ticker).map(|(_, n)| *n)
    }

    fn counts(&self, histogram: Histogram) -> Option<&HistogramCounts> {
        let mut all = self.histograms.iter();
        all.find(|(found, _)| *found == histogram).map(|(_, c)| c)
    }

    /// A histogram of [`HISTOGRAMS`] since the statistics began.
    pub fn total(&self, histogram: Histogram) -> Distribution {
        let counts = self.counts(histogram);
        counts.map_or_else(Distribution::default, |c| distribution(&c.data()))
    }
}

/// What happened between two samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval<'a> {
    pub from: &'a Sample,
    pub to: &'a Sample,
}

impl Interval<'_> {
    /// Its length in seconds; never 0.
    pub fn seconds(&self) -> f64 {
        (self.to.at - self.from.at).as_secs_f64().max(1e-6)
    }

    fn of_db(&self, name: &str) -> f64 {
        (self.to.of_db(name) - self.from.of_db(name)).max(0.0)
    }

    /// How much a ticker has grown.
    pub fn ticker(&self, ticker: Ticker) -> Option<f64> {
        let grown = self
            .to
            .ticker(ticker)?
            .saturating_sub(self.from.ticker(ticker)?);
        Some(grown as f64)
    }

    fn sum(&self, tickers: &[Ticker]) -> Option<f64> {
        tickers.iter().map(|ticker| self.ticker(*ticker)).sum()
    }

    /// How much tickers together have grown for each second.
    pub fn rate(&self, tickers: &[Ticker]) -> Option<f64> {
        Some(self.sum(tickers)? / self.seconds())
    }

    /// The share of `hits` in hits and `misses`; `None` if there was neither.
    pub fn ratio(&self, hits: Ticker, misses: Ticker) -> Option<f64> {
        let (hits, misses) = (self.ticker(hits)?, self.ticker(misses)?);
        (hits + misses > 0.0).then(|| hits / (hits + misses))
    }

    /// What a histogram of [`HISTOGRAMS`] has recorded in it.
    pub fn distribution(&self, histogram: Histogram) -> Distribution {
        let (Some(to), Some(from)) = (self.to.counts(histogram), self.from.counts(histogram))
        else {
            return Distribution::default();
        };
        distribution(&to.since(from).data())
    }

    /// Its rates.
    pub fn point(&self) -> Point {
        use Ticker::*;
        let seconds = self.seconds();
        let rate = |name| self.of_db(name) / seconds;
        let (keys, syncs) = (
            self.of_db("db.user_keys_written"),
            self.of_db("db.wal_syncs"),
        );
        let writes = self.sum(&[WriteDoneBySelf, WriteDoneByOther]);
        let of = |histogram| Some(self.distribution(histogram)).filter(|d| d.count > 0);
        let (write, get) = (of(Histogram::DbWrite), of(Histogram::DbGet));
        Point {
            unix_ms: self.to.unix_ms,
            seconds,
            keys_written: keys / seconds,
            writes: writes.map(|writes| writes / seconds),
            keys_read: self.rate(&[NumberKeysRead, NumberMultigetKeysRead]),
            seeks: self.rate(&[NumberDbSeek]),
            steps: self.rate(&[NumberDbNext, NumberDbPrev]),
            bytes_written: rate("db.user_bytes_written"),
            bytes_read: self.rate(&[BytesRead, NumberMultigetBytesRead]),
            wal_bytes: rate("db.wal_bytes_written"),
            wal_syncs: syncs / seconds,
            writes_per_sync: (syncs > 0.0)
                .then(|| self.ticker(WriteWithWal).unwrap_or(keys) / syncs),
            flush_bytes: self.rate(&[FlushWriteBytes]),
            compaction_read_bytes: self.rate(&[CompactReadBytes]),
            compaction_write_bytes: self.rate(&[CompactWriteBytes]),
            stalled_writers: self.of_db("db.user_write_stall_micros") / 1e6 / seconds,
            stall: self.to.stall,
            memtable_bytes: self.to.memtable_bytes,
            cache_hit_ratio: self.ratio(BlockCacheHit, BlockCacheMiss),
            write_p50: write.as_ref().map(|d| d.p50),
            write_p99: write.as_ref().map(|d| d.p99),
            get_p50: get.as_ref().map(|d| d.p50),
            get_p99: get.as_ref().map(|d| d.p99),
        }
    }
}

fn distribution(data: &HistogramData) -> Distribution {
    Distribution {
        count: data.count(),
        sum: data.sum(),
        mean: data.average(),
        p50: data.median(),
        p95: data.p95(),
        p99: data.p99(),
        max: data.max(),
    }
}
