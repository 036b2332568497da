//! Spans and metrics of a database through OpenTelemetry, on standard output.
//!
//!     cargo run --example database
//!
//! For a collector, put the exporters of `opentelemetry-otlp` in the place of those of
//! `opentelemetry-stdout`.

use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::error::Error;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use whitewater::{DB, Options};
use whitewater_opentelemetry::OpenTelemetryRecorder;

fn main() -> Result<(), Box<dyn Error>> {
    let program = Resource::builder().with_service_name("shop").build();
    // A thread of its own exports, so that the threads of the database do not wait for it.
    let spans = SdkTracerProvider::builder()
        .with_resource(program.clone())
        .with_batch_exporter(opentelemetry_stdout::SpanExporter::default())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_location(false)
        .with_tracer(spans.tracer("whitewater"));
    // INFO has the spans; with DEBUG the lines of LOG that a job writes are events of its span.
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(LevelFilter::INFO));
    tracing::subscriber::set_global_default(subscriber)?;

    let figures = SdkMeterProvider::builder()
        .with_resource(program)
        .with_periodic_exporter(opentelemetry_stdout::MetricExporter::default())
        .build();
    metrics::set_global_recorder(OpenTelemetryRecorder::new(figures.meter("whitewater")))?;

    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics(); // without, there are properties only
    options.set_metrics_publish_period_sec(10);
    let dir = tempfile::tempdir()?;
    let db = DB::open(&options, dir.path())?;
    for i in 0..10_000_u32 {
        db.put(i.to_be_bytes(), [0; 100])?;
    }
    db.flush()?;
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    for i in 0..1_000_u32 {
        db.get(i.to_be_bytes())?;
    }
    drop(db); // publishes its figures for the last time

    figures.shutdown()?;
    spans.shutdown()?;
    Ok(())
}
