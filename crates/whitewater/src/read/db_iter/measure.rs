//! What an iterator's movements count and time, for the thread's perf context
//! and the database's statistics.

use super::DbIter;
use crate::perf::{self, PerfMetric};
use crate::stats::Histogram;
use std::time::Instant;
use whitewater_storage::iter::BoxedIterator;

impl DbIter {
    /// Runs a seek: timed for the statistics, what it shows counted.
    #[inline]
    pub(super) fn measured(&mut self, seek: impl FnOnce(&mut Self)) {
        let statistics = self.statistics.as_deref();
        let wanted = statistics.is_some_and(|s| s.wants(Histogram::DbSeek));
        let start = wanted.then(Instant::now);
        seek(self);
        if let (Some(start), Some(statistics)) = (start, &self.statistics) {
            statistics.record(Histogram::DbSeek, Histogram::DbSeek.units(start.elapsed()));
        }
        self.count_shown();
    }

    /// Moves the source for a seek; the second argument is `self.target`.
    #[inline]
    pub(super) fn move_source(&mut self, seek: impl FnOnce(&mut BoxedIterator, &[u8])) {
        let _timer = perf::timer(PerfMetric::SeekInternalSeekTime);
        let _of_memtable = perf::timer_if(self.only_memtable, PerfMetric::SeekOnMemtableTime);
        perf::count(
            PerfMetric::SeekOnMemtableCount,
            u64::from(self.only_memtable),
        );
        seek(&mut self.source, &self.target);
    }

    /// Counts a step of a source that is a memtable; sources that are merged
    /// count their own.
    #[inline]
    pub(super) fn count_step(&self, metric: PerfMetric) {
        if self.only_memtable && self.valid() {
            perf::count(metric, 1);
        }
    }

    /// Counts the bytes of what is shown now.
    #[inline]
    pub(super) fn count_shown(&self) {
        if perf::counts() {
            let bytes = |part: Option<&[u8]>| part.map_or(0, |part| part.len() as u64);
            perf::count(
                PerfMetric::IterReadBytes,
                bytes(self.key()) + bytes(self.value()),
            );
        }
    }
}
