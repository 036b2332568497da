//! The public view of a thread's counters.

use super::PerfMetric;
use std::fmt::Write;
use std::marker::PhantomData;
use whitewater_storage::perf;

/// What the calling thread has measured. A view: all contexts of a thread show
/// the same counters, and making one changes nothing. Stays with its thread.
pub struct PerfContext {
    /// Another thread's counters are others.
    _of_this_thread: PhantomData<*const ()>,
}

impl Default for PerfContext {
    /// The calling thread's counters, as they are.
    fn default() -> Self {
        PerfContext {
            _of_this_thread: PhantomData,
        }
    }
}

impl PerfContext {
    /// Sets the thread's counters to 0.
    pub fn reset(&mut self) {
        perf::reset();
    }

    /// The counters as text, `name = value` with commas between, in the order
    /// of [`PerfMetric`]; with `exclude_zero_counters` without those at 0.
    pub fn report(&self, exclude_zero_counters: bool) -> String {
        let mut text = String::new();
        for (metric, name) in PerfMetric::ALL {
            let value = perf::value(metric);
            if exclude_zero_counters && value == 0 {
                continue;
            }
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{name} = {value}"); // a String takes it
        }
        text
    }

    /// The value of a metric: a count, bytes or nanoseconds.
    pub fn metric(&self, id: PerfMetric) -> u64 {
        perf::value(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_context::{PerfStatsLevel, count, set_perf_stats};

    #[test]
    fn reports_are_in_rocksdbs_form() {
        set_perf_stats(PerfStatsLevel::EnableCount);
        let mut context = PerfContext::default();
        context.reset();
        assert_eq!(context.report(true), "");
        count(PerfMetric::InternalMergeCount, 4);
        count(PerfMetric::BlockReadByte, 4096);
        set_perf_stats(PerfStatsLevel::Disable);
        assert_eq!(
            context.report(true),
            "block_read_byte = 4096, internal_merge_count = 4"
        );
        let all = context.report(false);
        assert!(all.starts_with("user_key_comparison_count = 0, block_cache_hit_count = 0, "));
        assert!(all.ends_with(", env_new_logger_nanos = 0"), "{all}");
        assert_eq!(all.split(", ").count(), 68);
        context.reset();
        assert_eq!(context.metric(PerfMetric::BlockReadByte), 0);
    }
}
