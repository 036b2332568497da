//! `/metrics`: Prometheus' text format.
//!
//! Names are those of the cargo feature `metrics` of the engine (`docs/observability.md`), or
//! RocksDB's: `rocksdb_` and the name of the ticker, histogram or property with underscores, as
//! exporters of RocksDB (Flink's, for instance) have it.

use crate::watched::{Slow, Watched};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;
use whitewater::statistics::{Histogram, Ticker};

/// Numeric properties of the database that are gauges.
const OF_DATABASE: [&str; 10] = [
    "rocksdb.num-running-flushes",
    "rocksdb.num-running-compactions",
    "rocksdb.background-errors",
    "rocksdb.num-snapshots",
    "rocksdb.oldest-snapshot-time",
    "rocksdb.actual-delayed-write-rate",
    "rocksdb.is-write-stopped",
    "rocksdb.is-file-deletions-enabled",
    "rocksdb.min-log-number-to-keep",
    "whitewater.num-pending-events",
];

/// Numeric properties of a column family that are gauges, and are known at once.
const OF_FAMILY: [&str; 21] = [
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
    "estimate-pending-compaction-bytes",
    "live-sst-files-size",
    "num-live-versions",
    "base-level",
    "block-cache-capacity",
    "block-cache-usage",
    "block-cache-pinned-usage",
    "num-blob-files",
    "total-blob-file-size",
    "live-blob-file-size",
    "live-blob-file-garbage-size",
];

/// Which names figures have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// `whitewater_*`
    Own,
    /// `rocksdb_*`
    RocksDb,
    /// Each figure under both.
    Both,
}

impl Names {
    /// The names that a query asks for; `None` for an unknown word.
    pub fn parse(word: Option<&str>) -> Option<Self> {
        match word {
            None | Some("whitewater") => Some(Names::Own),
            Some("rocksdb") => Some(Names::RocksDb),
            Some("both") => Some(Names::Both),
            Some(_) => None,
        }
    }

    fn prefixes(self) -> &'static [&'static str] {
        match self {
            Names::Own => &["whitewater_"],
            Names::RocksDb => &["rocksdb_"],
            Names::Both => &["whitewater_", "rocksdb_"],
        }
    }
}

/// Samples of one name.
#[derive(Debug, Default)]
struct Group {
    kind: &'static str,
    help: String,
    lines: String,
}

/// The text under way: groups by name, because the samples of one name must be together.
#[derive(Debug)]
struct Text {
    names: Names,
    groups: BTreeMap<String, Group>,
}

impl Text {
    /// Adds a sample of what is called `figure` in RocksDB's way, as `base` and, behind the name,
    /// `suffix` for the name of the sample.
    fn sample(&mut self, kind: &'static str, figure: &str, suffix: &str, labels: &str, value: f64) {
        for prefix in self.names.prefixes() {
            let counter = kind == "counter" && *prefix == "whitewater_";
            let end = if counter { "_total" } else { "" };
            let name = format!("{prefix}{}{end}", bare(figure));
            let group = self.groups.entry(name.clone()).or_default();
            group.kind = kind;
            figure.clone_into(&mut group.help);
            // Writing to a string cannot fail.
            let _ = writeln!(group.lines, "{name}{suffix}{{{labels}}} {value}");
        }
    }

    /// A histogram or, while statistics are off, what there is of it of a sample of calls, under
    /// another name.
    fn histogram(&mut self, histogram: Histogram, db: &str, watched: &Watched) {
        let (all, name) = (watched.observer.histogram(histogram), histogram.name());
        let (counts, name) = match all {
            Some(counts) => (Some(counts), name.to_owned()),
            None => {
                let sampled = watched.observer.sampled_latency(histogram);
                (sampled, format!("{name}.sampled"))
            }
        };
        let Some(counts) = counts else {
            return;
        };
        let (data, name) = (counts.data(), &*name);
        if data.count() == 0 {
            return;
        }
        let quantiles = [
            ("0.5", data.median()),
            ("0.95", data.p95()),
            ("0.99", data.p99()),
        ];
        for (quantile, value) in quantiles {
            let labels = format!("{db},quantile=\"{quantile}\"");
            self.sample("summary", name, "", &labels, value);
        }
        self.sample("summary", name, "_sum", db, data.sum() as f64);
        self.sample("summary", name, "_count", db, data.count() as f64);
        self.sample("gauge", &format!("{name}.max"), "", db, data.max());
    }

    fn family(&mut self, db: &str, slow: &Slow, watched: &Watched) {
        let family = &slow.family;
        let labels = format!("{db},cf=\"{}\"", escaped(family));
        for property in OF_FAMILY {
            let name = format!("rocksdb.{property}");
            if let Some(value) = watched.observer.property_int_value(family, &*name) {
                self.sample("gauge", &name, "", &labels, value as f64);
            }
        }
        for (name, value) in [
            ("rocksdb.estimate-num-keys", slow.keys),
            ("rocksdb.estimate-live-data-size", slow.live_bytes),
            ("rocksdb.total-sst-files-size", slow.all_table_bytes),
            (
                "rocksdb.estimate-table-readers-mem",
                slow.table_readers_bytes,
            ),
        ] {
            self.sample("gauge", name, "", &labels, value as f64);
        }
        for level in 0.. {
            let name = format!("rocksdb.num-files-at-level{level}");
            let Some(files) = watched.observer.property_int_value(family, &*name) else {
                break;
            };
            let labels = format!("{labels},level=\"{level}\"");
            self.sample(
                "gauge",
                "rocksdb.num-files-at-level",
                "",
                &labels,
                files as f64,
            );
        }
        self.stall(&labels, family, watched);
    }

    fn stall(&mut self, labels: &str, family: &str, watched: &Watched) {
        let counts = watched
            .observer
            .property_map_value(family, "rocksdb.cf-write-stall-stats");
        for (cause, count) in counts.unwrap_or_default() {
            let labels = format!("{labels},cause=\"{}\"", escaped(&cause));
            let count = count.parse().unwrap_or(0.0);
            self.sample("counter", "rocksdb.cf-write-stall", "", &labels, count);
        }
    }

    fn database(&mut self, watched: &Watched, age: Duration) {
        let db = format!("db=\"{}\"", escaped(&watched.label));
        let open = watched.observer.is_open();
        self.sample("gauge", "whitewater.up", "", &db, f64::from(u8::from(open)));
        for ticker in Ticker::iter().filter(|ticker| ticker.is_collected()) {
            if let Some(count) = watched.observer.ticker(*ticker) {
                self.sample("counter", ticker.name(), "", &db, count as f64);
            }
        }
        for histogram in Histogram::iter().filter(|h| h.is_collected()) {
            self.histogram(*histogram, &db, watched);
        }
        let stats = watched
            .observer
            .property_map_value("default", "rocksdb.dbstats");
        for (name, value) in stats.unwrap_or_default() {
            let value = value.parse().unwrap_or(0.0);
            match name.as_str() {
                "db.uptime" => self.sample("gauge", "rocksdb.uptime.seconds", "", &db, value),
                name => self.sample("counter", name, "", &db, value),
            }
        }
        for property in OF_DATABASE {
            if let Some(value) = watched.observer.property_int_value("default", property) {
                self.sample("gauge", property, "", &db, value as f64);
            }
        }
        for slow in watched.slow(age) {
            self.family(&db, &slow, watched);
        }
    }

    fn finish(self) -> String {
        let mut out = String::new();
        for (name, group) in self.groups {
            let help = group.help.replace('\\', "\\\\").replace('\n', "\\n");
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "# HELP {name} {help}\n# TYPE {name} {}\n{}",
                group.kind, group.lines
            );
        }
        out
    }
}

/// The metrics of `databases`; figures that are slow to get are at most `age` old.
pub(crate) fn text<'a>(
    databases: impl Iterator<Item = &'a Watched>,
    names: Names,
    age: Duration,
) -> String {
    let mut text = Text {
        names,
        groups: BTreeMap::new(),
    };
    for watched in databases {
        text.database(watched, age);
    }
    text.finish()
}

/// `block_cache_hit` for `rocksdb.block.cache.hit`.
fn bare(figure: &str) -> String {
    let own = ["rocksdb.", "whitewater."];
    let short = own.iter().find_map(|prefix| figure.strip_prefix(prefix));
    let name = short.unwrap_or(figure);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(plain).collect()
}

/// A label's value, with what would end it escaped.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_what_prometheus_reads() {
        assert_eq!(bare("rocksdb.num-files-at-level"), "num_files_at_level");
        assert_eq!(bare("whitewater.write.append.nanos"), "write_append_nanos");
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    #[test]
    fn the_samples_of_a_name_are_together() {
        let mut text = Text {
            names: Names::Both,
            groups: BTreeMap::new(),
        };
        text.sample("counter", "rocksdb.wal.synced", "", "db=\"a\"", 1.0);
        text.sample("gauge", "rocksdb.num-snapshots", "", "db=\"a\"", 2.0);
        text.sample("counter", "rocksdb.wal.synced", "", "db=\"b\"", 3.0);
        let expected = "\
# HELP rocksdb_num_snapshots rocksdb.num-snapshots
# TYPE rocksdb_num_snapshots gauge
rocksdb_num_snapshots{db=\"a\"} 2
# HELP rocksdb_wal_synced rocksdb.wal.synced
# TYPE rocksdb_wal_synced counter
rocksdb_wal_synced{db=\"a\"} 1
rocksdb_wal_synced{db=\"b\"} 3
# HELP whitewater_num_snapshots rocksdb.num-snapshots
# TYPE whitewater_num_snapshots gauge
whitewater_num_snapshots{db=\"a\"} 2
# HELP whitewater_wal_synced_total rocksdb.wal.synced
# TYPE whitewater_wal_synced_total counter
whitewater_wal_synced_total{db=\"a\"} 1
whitewater_wal_synced_total{db=\"b\"} 3
";
        assert_eq!(text.finish(), expected);
    }
}
