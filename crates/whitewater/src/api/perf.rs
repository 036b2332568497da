//! What one thread's calls did and how long it took: RocksDB's perf context.
//!
//! A thread chooses with [`set_perf_stats`] how much it measures of its own
//! calls, and reads it through a [`PerfContext`]. Nothing is shared between
//! threads. Unlike RocksDB, a thread measures nothing until it asks to.
//!
//! ```
//! use whitewater::perf::set_perf_stats;
//! use whitewater::{DB, PerfContext, PerfMetric, PerfStatsLevel};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db = DB::open_default(dir.path())?;
//! db.put(b"stream", b"white")?;
//!
//! set_perf_stats(PerfStatsLevel::EnableTime);
//! let mut context = PerfContext::default();
//! context.reset();
//! db.get(b"stream")?;
//! assert_eq!(context.metric(PerfMetric::GetFromMemtableCount), 1);
//! assert_eq!(context.metric(PerfMetric::GetReadBytes), 5);
//! println!("{}", context.report(true));
//! set_perf_stats(PerfStatsLevel::Disable);
//! # Ok(())
//! # }
//! ```

pub use super::memory_usage::{
    MemoryUsage, MemoryUsageBuilder, MemoryUsageStats, get_memory_usage_stats,
};
pub use crate::perf_context::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
