//! Statistics for the `metrics` facade (cargo feature `metrics`).

use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use whitewater::statistics::{Histogram, StatsLevel, Ticker};
use whitewater::{DB, Options};

/// What a recorder got: value and unit by kind, name and labels.
type Seen = HashMap<String, (f64, String)>;

fn seen(snapshotter: &Snapshotter) -> Seen {
    let entries = snapshotter.snapshot().into_vec().into_iter();
    entries
        .map(|(key, unit, _, value)| {
            let labels: Vec<_> = (key.key().labels())
                .map(|l| format!("{}={}", l.key(), l.value()))
                .collect();
            let kind = match key.kind() {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram => "histogram",
            };
            let name = format!("{kind} {}{{{}}}", key.key().name(), labels.join(","));
            let value = match value {
                DebugValue::Counter(n) => n as f64,
                DebugValue::Gauge(n) => n.into_inner(),
                DebugValue::Histogram(_) => panic!("{name}: nothing is handed over as samples"),
            };
            (name, (value, format!("{unit:?}")))
        })
        .collect()
}

fn options() -> Options {
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.enable_statistics();
    opts
}

/// What `db` publishes.
fn published(db: &DB) -> Seen {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || db.publish_metrics());
    seen(&recorder.snapshotter())
}

fn value(seen: &Seen, name: &str) -> f64 {
    let Some((value, _)) = seen.get(name) else {
        let mut names: Vec<_> = seen.keys().collect();
        names.sort();
        panic!("{name} is not among {names:#?}");
    };
    *value
}

#[test]
fn a_sample_of_calls_is_published_while_statistics_are_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.set_metrics_label("orders");
    let db = DB::open(&opts, dir.path()).unwrap();
    // One in 128 is timed, at random.
    (0..20_000).for_each(|_| db.put("river", "blue").unwrap());
    let seen = published(&db);
    let counts = db.observer().sampled_latency(Histogram::DbWrite).unwrap();
    let (data, name) = (counts.data(), "whitewater_db_write_micros");
    assert!(data.count() > 0);
    let count = format!("counter {name}_sampled_count{{db=orders}}");
    assert_eq!(value(&seen, &count), data.count() as f64);
    let quantile = format!("gauge {name}_sampled{{db=orders,quantile=0.99}}");
    assert_eq!(value(&seen, &quantile), data.p99());
    assert!(!seen.contains_key(&format!("counter {name}_count{{db=orders}}")));
}

#[test]
fn tickers_are_counters_and_histograms_summaries() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = options();
    opts.set_metrics_label("orders");
    let db = DB::open(&opts, dir.path()).unwrap();
    for n in 0..3 {
        db.put(b"a", [n; 7]).unwrap();
    }
    db.get(b"a").unwrap();
    let first = published(&db);
    assert_eq!(
        value(
            &first,
            "counter whitewater_number_keys_written_total{db=orders}"
        ),
        3.0
    );
    assert_eq!(
        value(&first, "counter whitewater_wal_writes_total{db=orders}"),
        3.0
    );
    for (quantile, expected) in [("0.5", 7.0), ("0.95", 7.0), ("0.99", 7.0)] {
        let name = format!("gauge whitewater_bytes_per_read{{db=orders,quantile={quantile}}}");
        assert_eq!(value(&first, &name), expected);
        assert_eq!(first[&name].1, "Some(Bytes)");
    }
    let name = |ending| format!("counter whitewater_db_write_micros_{ending}{{db=orders}}");
    assert_eq!(value(&first, &name("count")), 3.0);
    assert_eq!(first[&name("sum")].1, "Some(Microseconds)");

    // Of histograms, only those that have entries.
    let held = Histogram::iter().filter(|h| opts.get_histogram_data(**h).count() > 0);
    let maxima = first.keys().filter(|name| name.contains("_max{"));
    assert_eq!(maxima.count(), held.count());

    // Sums, not what was added since.
    db.put(b"b", b"1").unwrap();
    let second = published(&db);
    assert_eq!(
        value(
            &second,
            "counter whitewater_number_keys_written_total{db=orders}"
        ),
        4.0
    );
}

#[test]
fn names_are_told_apart_and_fit_prometheus_and_units_are_those_of_the_names() {
    let dir = tempfile::tempdir().unwrap();
    let opts = options();
    opts.set_statistics_level(StatsLevel::All);
    let db = DB::open(&opts, dir.path()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.get(b"a").unwrap();
    let seen = published(&db);
    let unit = |name: &str| {
        let of_name = |at: &&String| at.split(['{', ' ']).nth(1) == Some(name);
        let at = seen.keys().find(of_name).expect(name);
        seen[at].1.as_str()
    };
    assert_eq!(unit("whitewater_block_cache_hit_total"), "Some(Count)");
    assert_eq!(unit("whitewater_memtable_hit_total"), "Some(Count)");
    assert_eq!(unit("whitewater_bytes_written_total"), "Some(Bytes)");
    assert_eq!(unit("whitewater_db_get_micros_sum"), "Some(Microseconds)");
    assert_eq!(
        unit("whitewater_write_append_nanos_sum"),
        "Some(Nanoseconds)"
    );
    let names: BTreeSet<_> = (seen.keys().map(|at| at.split(['{', ' ']).nth(1)))
        .map(|name| name.expect("a kind and a name"))
        .collect();
    for name in names {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(
            name.starts_with("whitewater_") && name.chars().all(fits),
            "{name}"
        );
    }
    // No two tickers have one name, or there would be fewer than are counted.
    let collected = Ticker::iter().filter(|t| t.is_collected()).count();
    let totals = seen.keys().filter(|name| name.contains("_total{"));
    assert_eq!(totals.count(), collected);
}

#[test]
fn properties_are_gauges_with_or_without_statistics() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.create_missing_column_families(true);
    opts.set_disable_auto_compactions(true);
    let db = DB::open_cf(&opts, dir.path(), ["default", "other"]).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"1").unwrap();
    let _snapshot = db.snapshot();
    let seen = published(&db);
    assert!(seen.keys().all(|name| name.starts_with("gauge ")));
    // By default, databases are told apart by their paths.
    let db_label = format!("db={}", dir.path().display());
    let of = |name: &str, labels: &str| {
        value(
            &seen,
            &format!("gauge whitewater_{name}{{{db_label}{labels}}}"),
        )
    };
    assert_eq!(of("num_snapshots", ""), 1.0);
    assert_eq!(of("is_write_stopped", ""), 0.0);
    assert_eq!(of("num_entries_active_mem_table", ",cf=default"), 1.0);
    assert_eq!(of("num_entries_active_mem_table", ",cf=other"), 0.0);
    assert_eq!(of("num_files_at_level", ",cf=default,level=0"), 1.0);
    assert_eq!(of("num_files_at_level", ",cf=default,level=6"), 0.0);
    assert!(of("live_sst_files_size", ",cf=default") > 0.0);
}

/// Opens a database that publishes every second, and waits for a value. Returns the number of
/// written keys that closing has published.
fn published_by_itself(dir: &Path, snapshotter: &Snapshotter) -> f64 {
    let mut opts = options();
    opts.set_metrics_label("itself");
    opts.set_metrics_publish_period_sec(1);
    let db = DB::open(&opts, dir).unwrap();
    let name = "counter whitewater_number_keys_written_total{db=itself}";
    let written = || Some(seen(snapshotter).get(name)?.0);
    db.put(b"a", b"1").unwrap();
    while written() != Some(1.0) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    db.put(b"b", b"2").unwrap();
    db.put(b"c", b"3").unwrap();
    drop(db);
    written().unwrap()
}

#[test]
fn a_database_publishes_by_itself_and_when_it_closes() {
    // This is the only test that looks at the recorder of the whole process.
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    recorder.install().unwrap();
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(published_by_itself(dir.path(), &snapshotter), 3.0);
}
