//! The `metrics` facade over OpenTelemetry's instruments, for programs that export the figures of
//! a Whitewater database by OpenTelemetry.
//!
//! The database hands absolute values to the facade (its cargo feature `metrics`). OpenTelemetry
//! asks for such values when it exports: its observable instruments. So a counter or a gauge is a
//! number here that the facade sets and a callback reads. Histograms, which the database does not
//! use but others may, are OpenTelemetry's own.
//!
//! `examples/database.rs` shows it with spans, in one program.

use metrics::atomics::AtomicU64;
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recorder for [`metrics::set_global_recorder`] that makes an instrument of the meter for each
/// name, and keeps it for good.
pub struct OpenTelemetryRecorder {
    meter: Meter,
    known: Mutex<Known>,
}

/// What was described and registered so far.
#[derive(Default)]
struct Known {
    /// By name. What is described after the first registration of a name is not used.
    descriptions: HashMap<KeyName, (Option<Unit>, SharedString)>,
    /// By name and labels. Written by: users of the facade. Read by: the thread that exports
    /// (a number of its own each, so in no order with others).
    counters: HashMap<Key, Arc<AtomicU64>>,
    /// The same; the bits of a float.
    gauges: HashMap<Key, Arc<AtomicU64>>,
    histograms: HashMap<Key, Histogram>,
}

impl fmt::Debug for OpenTelemetryRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTelemetryRecorder")
            .finish_non_exhaustive()
    }
}

impl OpenTelemetryRecorder {
    /// A recorder whose instruments belong to `meter`.
    pub fn new(meter: Meter) -> Self {
        OpenTelemetryRecorder {
            meter,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Every change is an insertion, complete or not there.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.known().descriptions.insert(name, (unit, description));
    }
}

impl Known {
    /// The unit, in OpenTelemetry's names, and the description of what has this key.
    fn description(&self, key: &Key) -> (&'static str, String) {
        match self.descriptions.get(key.name()) {
            Some((unit, text)) => (unit.map_or("", unit_name), text.to_string()),
            None => ("", String::new()),
        }
    }
}

impl Recorder for OpenTelemetryRecorder {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(name, unit, description);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(name, unit, description);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(name, unit, description);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let mut known = self.known();
        if let Some(value) = known.counters.get(key) {
            return Counter::from_arc(value.clone());
        }
        let (unit, description) = known.description(key);
        let value = Arc::new(AtomicU64::new(0));
        let (read, attributes) = (value.clone(), attributes(key));
        self.meter
            .u64_observable_counter(key.name().to_owned())
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |to| to.observe(read.load(Relaxed), &attributes))
            .build();
        known.counters.insert(key.clone(), value.clone());
        Counter::from_arc(value)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let mut known = self.known();
        if let Some(value) = known.gauges.get(key) {
            return Gauge::from_arc(value.clone());
        }
        let (unit, description) = known.description(key);
        let value = Arc::new(AtomicU64::new(0));
        let (read, attributes) = (value.clone(), attributes(key));
        self.meter
            .f64_observable_gauge(key.name().to_owned())
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |to| to.observe(f64::from_bits(read.load(Relaxed)), &attributes))
            .build();
        known.gauges.insert(key.clone(), value.clone());
        Gauge::from_arc(value)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let mut known = self.known();
        if let Some(histogram) = known.histograms.get(key) {
            return histogram.clone();
        }
        let (unit, description) = known.description(key);
        let samples = self
            .meter
            .f64_histogram(key.name().to_owned())
            .with_unit(unit)
            .with_description(description)
            .build();
        let histogram = Histogram::from_arc(Arc::new(Samples {
            samples,
            attributes: attributes(key),
        }));
        known.histograms.insert(key.clone(), histogram.clone());
        histogram
    }
}

/// A histogram with the attributes of a key.
struct Samples {
    samples: opentelemetry::metrics::Histogram<f64>,
    attributes: Vec<KeyValue>,
}

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        self.samples.record(value, &self.attributes);
    }
}

/// The labels of a key, as attributes.
fn attributes(key: &Key) -> Vec<KeyValue> {
    key.labels()
        .map(|label| KeyValue::new(label.key().to_owned(), label.value().to_owned()))
        .collect()
}

/// The name that the Unified Code for Units of Measure, which OpenTelemetry asks for, has for
/// `unit`.
fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::Milliseconds => "ms",
        Unit::Microseconds => "us",
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "By",
        Unit::Count => "1",
        Unit::Percent => "%",
        other => other.as_str(),
    }
}
