//! Counts and times an iterator's movements, for the thread's perf context and for the
//! database's statistics.

use super::{DbIter, Position};
use crate::perf_context::{self, PerfMetric};
use crate::read::source::Source;
use crate::slow_operations::Call;
use crate::stats::{Activity, Histogram, SampledLatencies, Statistics, Ticker};
use std::time::Duration;
use whitewater_concurrent::system;
use whitewater_storage::Result;

impl DbIter {
    /// Runs a seek, times it, and counts what it shows.
    #[inline]
    pub(super) fn measured(&mut self, seek: impl FnOnce(&mut Self)) {
        self.timed_if_slow(Call::Seek, |it| it.counted_seek(seek));
    }

    #[inline]
    fn counted_seek(&mut self, seek: impl FnOnce(&mut Self)) {
        let statistics = self.statistics.as_deref();
        let timed = match statistics {
            Some(statistics) => statistics.wants(Histogram::DbSeek),
            None => SampledLatencies::is_turn(),
        };
        let start = timed.then(system::now);
        let activity = statistics.map(|_| Activity::Iterator.begin());
        if self.runs_user_code {
            self.catching(seek)
        } else {
            seek(self)
        }
        drop(activity);
        if let Some(start) = start {
            self.seek_took(system::since(start));
        }
        if let Some(statistics) = &self.statistics {
            statistics.add(Ticker::NumberDbSeek, 1);
            self.count_found(statistics, Ticker::NumberDbSeekFound);
        }
        self.count_shown();
    }

    #[cold]
    fn seek_took(&self, time: Duration) {
        let took = Histogram::DbSeek.units(time);
        match &self.statistics {
            Some(statistics) => statistics.record(Histogram::DbSeek, took),
            None => self.view().latencies.record(Histogram::DbSeek, took),
        }
    }

    /// Runs a step of an iterator that is watched.
    #[cold]
    pub(super) fn watched_step(&mut self, call: Call, tickers: [Ticker; 2], step: fn(&mut Self)) {
        if !self.valid() {
            return step(self);
        }
        let activity = Activity::Iterator.begin();
        self.timed_if_slow(call, step);
        drop(activity);
        if let Some(statistics) = &self.statistics {
            statistics.add(tickers[0], 1);
            self.count_found(statistics, tickers[1]);
        }
    }

    /// Runs a movement, and has a line written if it is slow and slow ones are wanted.
    #[inline]
    fn timed_if_slow(&mut self, call: Call, moves: impl FnOnce(&mut Self)) {
        // Out of its place, because the movement takes all of the iterator.
        let slow = self.slow.take();
        let measured = slow.as_deref().and_then(|slow| slow.begin(call));
        moves(self);
        drop(measured);
        self.slow = slow;
    }

    /// Counts what is shown now, if anything is.
    fn count_found(&self, statistics: &Statistics, ticker: Ticker) {
        let (Some(key), Some(value)) = (self.key(), self.value()) else {
            return;
        };
        statistics.add(ticker, 1);
        statistics.add(Ticker::IterBytesRead, (key.len() + value.len()) as u64);
    }

    /// Moves the source for a seek; the second argument is `self.target`.
    #[inline]
    pub(super) fn move_source(&mut self, seek: impl FnOnce(&mut Source, &[u8])) {
        let _timer = perf_context::timer(PerfMetric::SeekInternalSeekTime);
        let _of_memtable =
            perf_context::timer_if(self.only_memtable, PerfMetric::SeekOnMemtableTime);
        perf_context::count(
            PerfMetric::SeekOnMemtableCount,
            u64::from(self.only_memtable),
        );
        seek(&mut self.source, &self.target);
    }

    /// Finds the key to show after a seek, and times that.
    #[inline]
    pub(super) fn timed(
        &mut self,
        find: impl FnOnce(&mut Self) -> Result<Position>,
    ) -> Result<Position> {
        let _timer = perf_context::timer(PerfMetric::FindNextUserEntryTime);
        find(self)
    }

    /// Runs a step for a thread that measures. `in_memtable` is counted if the source is a
    /// memtable; sources that are merged count their own steps.
    #[cold]
    pub(super) fn measured_step(&mut self, in_memtable: PerfMetric, step: fn(&mut Self)) {
        if self.only_memtable && self.valid() {
            perf_context::count(in_memtable, 1);
        }
        let timer = perf_context::timer(PerfMetric::FindNextUserEntryTime);
        step(self);
        timer.stop();
        self.count_shown();
    }

    /// Counts the bytes of what is shown now.
    #[inline]
    fn count_shown(&self) {
        if perf_context::counts() {
            let bytes = |part: Option<&[u8]>| part.map_or(0, |part| part.len() as u64);
            perf_context::count(
                PerfMetric::IterReadBytes,
                bytes(self.key()) + bytes(self.value()),
            );
        }
    }
}
