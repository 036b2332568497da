//! Publishing the statistics of a database to the `metrics` facade (cargo feature
//! `metrics`).
//!
//! Counting is the same as without the feature, in shards. The facade is called only when
//! the statistics are published, with the sums at that moment. `docs/observability.md` has
//! the names.

use super::Engine;
use crate::stats::{Histogram, HistogramData, Statistics, Ticker};
use ::metrics::{Key, Label, Level, Metadata, Recorder, Unit, with_recorder};

/// Numeric properties of a column family that are published as gauges.
const OF_FAMILY: [&str; 20] = [
    "num-immutable-mem-table",
    "mem-table-flush-pending",
    "compaction-pending",
    "cur-size-active-mem-table",
    "cur-size-all-mem-tables",
    "size-all-mem-tables",
    "num-entries-active-mem-table",
    "num-entries-imm-mem-tables",
    "num-deletes-active-mem-table",
    "num-deletes-imm-mem-tables",
    "estimate-num-keys",
    "estimate-table-readers-mem",
    "estimate-live-data-size",
    "estimate-pending-compaction-bytes",
    "live-sst-files-size",
    "total-sst-files-size",
    "num-live-versions",
    "block-cache-capacity",
    "block-cache-usage",
    "block-cache-pinned-usage",
];

/// Numeric properties of the whole database that are published as gauges.
const OF_DATABASE: [&str; 7] = [
    "num-running-flushes",
    "num-running-compactions",
    "background-errors",
    "num-snapshots",
    "oldest-snapshot-time",
    "actual-delayed-write-rate",
    "is-write-stopped",
];

impl Engine {
    /// Passes tickers and histograms, or the sampled histograms while statistics are off, and the
    /// properties above to the recorder of the calling thread.
    pub(crate) fn publish_metrics(&self) {
        let label = self.options.metrics.label.clone();
        let db = label.unwrap_or_else(|| self.files.dir.display().to_string());
        with_recorder(|recorder| {
            let publisher = Publisher {
                recorder,
                db: Label::new("db", db),
            };
            match self.statistics() {
                Some(statistics) => publisher.statistics(statistics),
                None => self.publish_sampled(&publisher),
            }
            self.publish_properties(&publisher);
        });
    }

    fn publish_sampled(&self, publisher: &Publisher<'_>) {
        for histogram in Histogram::iter() {
            if let Some(counts) = self.sampled_latency(*histogram) {
                let name = format!("{}.sampled", histogram.name());
                publisher.histogram(*histogram, &name, &counts.data());
            }
        }
    }

    fn publish_properties(&self, publisher: &Publisher<'_>) {
        let gauge = |property: &str, value: Option<u64>, labels: &[Label]| {
            if let Some(value) = value {
                let unit = match property {
                    p if p.contains("size") || p.ends_with("bytes") || p.ends_with("mem") => {
                        Unit::Bytes
                    }
                    p if p.starts_with("block-cache") => Unit::Bytes,
                    "oldest-snapshot-time" => Unit::Seconds,
                    _ => Unit::Count,
                };
                let name = name_of(property);
                publisher.gauge(&name, property, unit, labels, value as f64);
            }
        };
        for property in OF_DATABASE {
            let value = self.property_int(self.default_cf(), &format!("rocksdb.{property}"));
            gauge(property, value, &[]);
        }
        for cf in self.column_families() {
            let family = Label::new("cf", cf.name.clone());
            for property in OF_FAMILY {
                let value = self.property_int(&cf, &format!("rocksdb.{property}"));
                gauge(property, value, std::slice::from_ref(&family));
            }
            for level in 0..cf.options().num_levels {
                let name = format!("rocksdb.num-files-at-level{level}");
                let files = self.property(&cf, &name).and_then(|n| n.parse().ok());
                let level = Label::new("level", level.to_string());
                gauge("num-files-at-level", files, &[family.clone(), level]);
            }
        }
    }
}

/// The destination of the figures of one database.
struct Publisher<'a> {
    recorder: &'a dyn Recorder,
    db: Label,
}

impl Publisher<'_> {
    fn statistics(&self, statistics: &Statistics) {
        for ticker in Ticker::iter().filter(|t| t.is_collected()) {
            let text = ticker.name();
            let name = format!("{}_total", name_of(text));
            self.counter(name, text, unit_of(text), statistics.ticker(*ticker));
        }
        for histogram in Histogram::iter().filter(|h| h.is_collected()) {
            let data = statistics.histogram(*histogram);
            self.histogram(*histogram, histogram.name(), &data);
        }
    }

    /// Publishes a histogram that holds something as a summary, under the name `text`: quantiles
    /// and the maximum are gauges, sum and count are counters.
    fn histogram(&self, histogram: Histogram, text: &str, data: &HistogramData) {
        if data.count() == 0 {
            return;
        }
        let name = name_of(text);
        let unit = match histogram {
            Histogram::WriteStall => Unit::Microseconds,
            _ => unit_of(text),
        };
        let quantiles = [
            ("0.5", data.median()),
            ("0.95", data.p95()),
            ("0.99", data.p99()),
        ];
        for (quantile, value) in quantiles {
            let label = Label::new("quantile", quantile);
            self.gauge(&name, text, unit, &[label], value);
        }
        self.gauge(&format!("{name}_max"), text, unit, &[], data.max());
        self.counter(format!("{name}_sum"), text, unit, data.sum());
        self.counter(format!("{name}_count"), text, Unit::Count, data.count());
    }

    fn counter(&self, name: String, text: &str, unit: Unit, value: u64) {
        let recorder = self.recorder;
        recorder.describe_counter(name.clone().into(), Some(unit), text.to_owned().into());
        let key = self.key(name, &[]);
        recorder.register_counter(&key, &METADATA).absolute(value);
    }

    fn gauge(&self, name: &str, text: &str, unit: Unit, labels: &[Label], value: f64) {
        let (name, recorder) = (name.to_owned(), self.recorder);
        recorder.describe_gauge(name.clone().into(), Some(unit), text.to_owned().into());
        let key = self.key(name, labels);
        recorder.register_gauge(&key, &METADATA).set(value);
    }

    fn key(&self, name: String, more: &[Label]) -> Key {
        let mut labels = vec![self.db.clone()];
        labels.extend_from_slice(more);
        Key::from_parts(name, labels)
    }
}

const METADATA: Metadata<'static> =
    Metadata::new("whitewater", Level::INFO, Some("whitewater::metrics"));

/// `whitewater_block_cache_hit` for `rocksdb.block.cache.hit`.
fn name_of(name: &str) -> String {
    let own = ["rocksdb.", "whitewater."];
    let name = own
        .iter()
        .find_map(|p| name.strip_prefix(p))
        .unwrap_or(name);
    format!("whitewater_{}", name.replace(['.', '-'], "_"))
}

/// The unit that follows from the name of a ticker or a histogram.
fn unit_of(name: &str) -> Unit {
    match name {
        n if n.contains("micros") => Unit::Microseconds,
        n if n.contains("nanos") => Unit::Nanoseconds,
        n if n.contains("bytes") => Unit::Bytes,
        _ => Unit::Count,
    }
}
