//! What a thread's calls did and how long it took.

use crate::border::{Out, exports, optional};
use libc::c_char;
use std::cell::Cell;
use whitewater::perf::set_perf_stats;
use whitewater::{PerfContext, PerfMetric, PerfStatsLevel};

/// The calling thread's measurements.
#[derive(Default)]
pub struct rocksdb_perfcontext_t(PerfContext);

thread_local! {
    /// Whether the thread has chosen what is measured.
    static CHOSEN: Cell<bool> = const { Cell::new(false) };
}

fn level(number: i32) -> PerfStatsLevel {
    match number {
        2 => PerfStatsLevel::EnableCount,
        3 => PerfStatsLevel::EnableTimeExceptForMutex,
        4 => PerfStatsLevel::EnableTimeAndCPUTimeExceptForMutex,
        5 => PerfStatsLevel::EnableTime,
        _ => PerfStatsLevel::Disable,
    }
}

exports! {
    fn rocksdb_set_perf_level(number: i32) {
        CHOSEN.set(true);
        set_perf_stats(level(number));
    }
    // In RocksDB a thread counts from its beginning; here it does from its first context.
    fn rocksdb_perfcontext_create() -> Option<Box<rocksdb_perfcontext_t>> {
        if !CHOSEN.replace(true) {
            set_perf_stats(PerfStatsLevel::EnableCount);
        }
        Some(Box::default())
    }
    fn rocksdb_perfcontext_destroy(_context: Option<Box<rocksdb_perfcontext_t>>) {}
    fn rocksdb_perfcontext_reset(context: Option<&mut rocksdb_perfcontext_t>) {
        if let Some(context) = context {
            context.0.reset();
        }
    }
    fn rocksdb_perfcontext_report(
        context: Option<&rocksdb_perfcontext_t>, exclude_zeros: u8,
    ) -> *mut c_char {
        optional(context.map(|context| context.0.report(exclude_zeros != 0)), Out::none())
    }
    // A metric that is not collected is 0.
    fn rocksdb_perfcontext_metric(context: Option<&rocksdb_perfcontext_t>, metric: i32) -> u64 {
        let known = PerfMetric::ALL.iter().find(|(known, _)| *known as i32 == metric);
        context.zip(known).map_or(0, |(context, (known, _))| context.0.metric(*known))
    }
}
