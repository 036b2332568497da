//! The steps of a write, timed once for both who ask: the thread's perf
//! context and the database's histograms.
//!
//! A protocol puts `let _timer = engine.step(Step::...)` around a step. The
//! clock is read twice if the thread or the statistics want the time, not at
//! all otherwise.

use super::PerfMetric;
use crate::stats::{Histogram, Statistics};
use std::time::Instant;
use whitewater_concurrent::system;
use whitewater_storage::perf;

/// A step of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// What is done for inserting before the numbers are known.
    Locate,
    /// Taking sequence numbers and a place in the log.
    Reserve,
    /// Writing the log, syncs left out.
    Append,
    /// Inserting into memtables.
    Insert,
    /// Waiting for earlier writes before one's own is visible.
    PublishWait,
    /// Waiting until the log is durable, the own sync included.
    SyncWait,
}

impl Step {
    /// RocksDB has one metric for all that is neither log nor memtable.
    #[inline]
    const fn metric(self) -> PerfMetric {
        match self {
            Step::Append => PerfMetric::WriteWalTime,
            Step::Locate | Step::Insert => PerfMetric::WriteMemtableTime,
            Step::SyncWait => PerfMetric::WriteWalTime,
            Step::Reserve | Step::PublishWait => PerfMetric::WritePreAndPostProcessTime,
        }
    }

    #[inline]
    const fn histogram(self) -> Histogram {
        match self {
            Step::Locate => Histogram::WriteLocateNanos,
            Step::Reserve => Histogram::WriteReserveNanos,
            Step::Append => Histogram::WriteAppendNanos,
            Step::Insert => Histogram::WriteInsertNanos,
            Step::PublishWait => Histogram::WritePublishWaitNanos,
            Step::SyncWait => Histogram::WriteSyncWaitNanos,
        }
    }
}

/// Measures a step until it is dropped. Made by [`step`].
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub(crate) struct StepTimer<'a> {
    step: Step,
    statistics: Option<&'a Statistics>,
    /// Unset when nobody wants the time.
    start: Option<Instant>,
}

/// Measures `step` until what it returns is dropped.
#[inline]
pub(crate) fn step(statistics: Option<&Statistics>, step: Step) -> StepTimer<'_> {
    let statistics = statistics.filter(|s| s.wants(step.histogram()));
    let wanted = statistics.is_some() || perf::wants(step.metric());
    StepTimer {
        step,
        statistics,
        start: wanted.then(system::now),
    }
}

impl Drop for StepTimer<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(start) = self.start {
            finish(self.step, self.statistics, start);
        }
    }
}

// By value: a timer that is not wanted then stays in registers.
#[cold]
fn finish(step: Step, statistics: Option<&Statistics>, start: Instant) {
    let nanos = u64::try_from(system::since(start).as_nanos()).unwrap_or(u64::MAX);
    perf::add_nanos(step.metric(), nanos);
    if let Some(statistics) = statistics {
        statistics.record(step.histogram(), nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_context::{PerfContext, PerfStatsLevel, set_perf_stats};
    use crate::stats::StatsLevel;

    const ALL: [Step; 5] = [
        Step::Reserve,
        Step::Append,
        Step::Insert,
        Step::PublishWait,
        Step::SyncWait,
    ];

    #[test]
    fn steps_go_to_whoever_asks() {
        let statistics = Statistics::default();
        let mut context = PerfContext::default();
        let pause = std::time::Duration::from_millis(1);
        for one in ALL {
            context.reset();
            let idle = step(Some(&statistics), one);
            assert!(idle.start.is_none(), "neither wants it");
            drop(idle);

            set_perf_stats(PerfStatsLevel::EnableTimeExceptForMutex);
            let timer = step(None, one);
            std::thread::sleep(pause);
            drop(timer);
            set_perf_stats(PerfStatsLevel::Disable);
            assert!(context.metric(one.metric()) >= 1_000_000, "{one:?}");
            assert_eq!(statistics.histogram(one.histogram()).count(), 0);

            context.reset();
            statistics.set_level(StatsLevel::ExceptTimeForMutex);
            let timer = step(Some(&statistics), one);
            std::thread::sleep(pause);
            drop(timer);
            statistics.set_level(StatsLevel::ExceptDetailedTimers);
            let data = statistics.histogram(one.histogram());
            assert!(data.count() == 1 && data.min() >= 1e6, "{one:?} {data:?}");
            assert_eq!(context.metric(one.metric()), 0);
        }
    }
}
