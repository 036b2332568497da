//! What OpenTelemetry exports of a database, against what the database says itself.

use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use std::collections::HashMap;
use tracing_subscriber::layer::SubscriberExt;
use whitewater::statistics::Ticker;
use whitewater::{DB, Options, properties};
use whitewater_opentelemetry::OpenTelemetryRecorder;

/// Values of counters and gauges, and counts of histograms, by name and attributes as
/// `name{key=value}`; with the unit.
type Figures = HashMap<String, (f64, String)>;

/// Meters whose figures can be looked at.
struct Meters {
    provider: SdkMeterProvider,
    exporter: InMemoryMetricExporter,
}

impl Meters {
    fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder()
            .with_periodic_exporter(exporter.clone())
            .build();
        Meters { provider, exporter }
    }

    fn recorder(&self) -> OpenTelemetryRecorder {
        OpenTelemetryRecorder::new(self.provider.meter("test"))
    }

    /// What is exported now.
    fn export(&self) -> Figures {
        self.exporter.reset();
        self.provider.force_flush().unwrap();
        let exported = self.exporter.get_finished_metrics().unwrap();
        let scopes = exported
            .iter()
            .flat_map(|resource| resource.scope_metrics());
        let mut figures = Figures::new();
        for metric in scopes.flat_map(|scope| scope.metrics()) {
            for (attributes, value) in values(metric.data()) {
                let name = format!("{}{{{attributes}}}", metric.name());
                let known = figures.insert(name.clone(), (value, metric.unit().to_owned()));
                assert_eq!(known, None, "{name} is there twice");
            }
        }
        figures
    }
}

fn text<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> String {
    let mut texts: Vec<_> = attributes
        .map(|a| format!("{}={}", a.key, a.value))
        .collect();
    texts.sort();
    texts.join(",")
}

fn values(data: &AggregatedMetrics) -> Vec<(String, f64)> {
    match data {
        AggregatedMetrics::U64(MetricData::Sum(sum)) => sum
            .data_points()
            .map(|point| (text(point.attributes()), point.value() as f64))
            .collect(),
        AggregatedMetrics::F64(MetricData::Gauge(gauge)) => gauge
            .data_points()
            .map(|point| (text(point.attributes()), point.value()))
            .collect(),
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => histogram
            .data_points()
            .map(|point| (text(point.attributes()), point.count() as f64))
            .collect(),
        other => panic!("not made by the recorder: {other:?}"),
    }
}

#[test]
fn figures_and_spans_of_a_database_are_exported() {
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder()
        .with_simple_exporter(spans.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(tracers.tracer("test"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
    let meters = Meters::new();
    let recorder = meters.recorder();

    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    options.set_metrics_label("shop");
    let db = DB::open(&options, dir.path()).unwrap();
    let write = || {
        for i in 0..100_u8 {
            db.put([i], b"value").unwrap();
        }
        db.flush().unwrap();
    };
    let publish = || metrics::with_local_recorder(&recorder, || db.publish_metrics());
    write();
    publish();
    publish(); // counts nothing twice
    let first = meters.export();
    let keys = "whitewater_number_keys_written_total{db=shop}";
    let bytes = "whitewater_bytes_written_total{db=shop}";
    assert_eq!(first[keys], (100.0, "1".to_owned()));
    let told = options.get_ticker_count(Ticker::BytesWritten) as f64;
    assert_eq!(first[bytes], (told, "By".to_owned()));
    let told = db.property_int_value(properties::LIVE_SST_FILES_SIZE);
    let size = first["whitewater_live_sst_files_size{cf=default,db=shop}"].0;
    assert_eq!(Some(size as u64), told.unwrap());
    for quantile in ["0.5", "0.99"] {
        let name = format!("whitewater_db_write_micros{{db=shop,quantile={quantile}}}");
        assert_eq!(first[&name].1, "us");
    }
    assert_eq!(first["whitewater_db_write_micros_count{db=shop}"].0, 100.0);
    write();
    publish();
    assert_eq!(meters.export()[keys].0, 200.0);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    drop(db);

    let dir = dir.path().display().to_string();
    for name in ["open", "recovery", "flush", "compaction"] {
        let spans = spans.get_finished_spans().unwrap();
        let span = spans.iter().find(|span| span.name == name);
        let attributes = &span.unwrap_or_else(|| panic!("{name}")).attributes;
        let db = attributes.iter().find(|a| a.key.as_str() == "db");
        assert_eq!(db.map(|a| a.value.to_string()), Some(dir.clone()), "{name}");
    }
}

#[test]
fn figures_of_others_in_the_process_are_exported_too() {
    let meters = Meters::new();
    metrics::with_local_recorder(&meters.recorder(), || {
        metrics::counter!("requests", "method" => "GET").increment(2);
        metrics::counter!("requests", "method" => "PUT").increment(3);
        metrics::counter!("requests", "method" => "GET").increment(4);
        metrics::gauge!("load").set(0.5);
        metrics::gauge!("load").increment(0.25);
        metrics::describe_histogram!("latency", metrics::Unit::Seconds, "of requests");
        metrics::histogram!("latency").record(0.1);
        metrics::histogram!("latency").record(0.2);
    });
    let figures = meters.export();
    let value = |name: &str| figures[name].0;
    assert_eq!(value("requests{method=GET}"), 6.0);
    assert_eq!(value("requests{method=PUT}"), 3.0);
    assert_eq!(value("load{}"), 0.75);
    assert_eq!(figures["latency{}"], (2.0, "s".to_owned()));
}
