//! Figures: properties, statistics, the cost of a call, and events.
//!
//! ```sh
//! cargo run -p whitewater --example metrics
//! ```
//!
//! With the Cargo feature `metrics`, `DB::publish_metrics` hands the same figures to the
//! recorder that a program has installed for the `metrics` crate.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater::listener::{EventListener, FlushJobInfo};
use whitewater::perf::{PerfStatsLevel, set_perf_stats};
use whitewater::statistics::{Histogram, Ticker};
use whitewater::{DB, Options, PerfContext, PerfMetric, properties};

/// Counts flushed entries. A thread of the database calls it, shortly after the fact.
#[derive(Default)]
struct Flushed(AtomicU64);

impl EventListener for Flushed {
    fn on_flush_completed(&self, info: &FlushJobInfo) {
        self.0.fetch_add(info.num_entries, Ordering::Relaxed);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let flushed = Arc::new(Flushed::default());
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    options.add_event_listener(flushed.clone());
    let db = DB::open(&options, dir.path())?;

    for key in 0..1_000 {
        db.put(format!("key {key:04}"), "x".repeat(100))?;
    }
    db.flush()?;

    // Properties are of this moment, and are always there.
    let tables = db.property_int_value(properties::TOTAL_SST_FILES_SIZE)?;
    println!("tables: {tables:?} bytes");
    assert!(tables.is_some_and(|bytes| bytes > 0));
    let levels = db.property_value(properties::LEVELSTATS)?;
    println!("{}", levels.unwrap_or_default());

    // Statistics count from the opening on, in all threads together.
    assert_eq!(options.get_ticker_count(Ticker::NumberKeysWritten), 1_000);
    let writes = options.get_histogram_data(Histogram::DbWrite);
    println!(
        "a write: median {:.1} us, p99 {:.1} us",
        writes.median(),
        writes.p99()
    );

    // A perf context counts what the calls of this thread do.
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut context = PerfContext::default();
    context.reset();
    assert!(db.get("key 0500")?.is_some());
    println!("a get: {}", context.report(true));
    assert!(context.metric(PerfMetric::BlockReadCount) > 0);
    set_perf_stats(PerfStatsLevel::Disable);

    // Listeners have heard of everything before the database is closed.
    drop(db);
    assert_eq!(flushed.0.load(Ordering::Relaxed), 1_000);
    Ok(())
}
