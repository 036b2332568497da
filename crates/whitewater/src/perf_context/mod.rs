//! What one thread's calls did and how long it took: RocksDB's perf context.
//!
//! For the engine there are `count`, `timer`, `timer_if` and `add_nanos`: a load
//! of a thread-local and a branch when the level does not ask for the metric;
//! and `step` for the steps of a write.
//!
//! `context` reads the figures of a thread; `step` times the steps of a write.

mod context;
mod step;

pub use context::PerfContext;
pub(crate) use step::{Step, StepTimer, step};
pub use whitewater_storage::perf::{PerfMetric, PerfStatsLevel, set_perf_stats};
pub(crate) use whitewater_storage::perf::{add_nanos, count, counts, timer, timer_if};
