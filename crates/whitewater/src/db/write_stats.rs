//! What the write path counts, in addition to the steps it times.
//!
//! Called by committing threads. A call costs a few branches if the figures are not wanted.

use super::Engine;
use crate::compact::pick::Compaction;
use crate::compact::reason::CompactionReason;
use crate::listener::FlushReason;
use crate::perf_context::{self, PerfMetric};
use crate::stats::{Histogram, JobStats, Ticker};
use crate::table_writer::merge_rules::Drops;
use crate::write::request::Write;
use std::time::Duration;
use whitewater_storage::{Error, ErrorKind};

impl Engine {
    /// Counts a writer's wait for background work.
    pub(crate) fn count_stall(&self, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        perf_context::add_nanos(PerfMetric::WriteDelayTime, nanos);
        if let Some(statistics) = self.statistics() {
            let micros = Histogram::WriteStall.units(waited);
            statistics.add(Ticker::StallMicros, micros);
            statistics.record(Histogram::WriteStall, micros);
        }
    }

    /// Counts the time that a writer of low priority gave way to compactions.
    pub(crate) fn count_low_pri(&self, waited: Duration) {
        if !waited.is_zero() {
            let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
            perf_context::add_nanos(PerfMetric::WriteDelayTime, nanos);
        }
    }

    /// Counts a finished compaction.
    pub(super) fn count_compaction(
        &self,
        compaction: &Compaction,
        stats: &JobStats,
        drops: &Drops,
    ) {
        let Some(s) = self.statistics() else { return };
        let (read, written) = (stats.bytes_read(), stats.bytes_written);
        s.add(Ticker::CompactReadBytes, read);
        s.add(Ticker::CompactWriteBytes, written);
        let by_reason = match compaction.reason {
            CompactionReason::FilesMarkedForCompaction => Some((
                Ticker::CompactReadBytesMarked,
                Ticker::CompactWriteBytesMarked,
            )),
            CompactionReason::PeriodicCompaction => Some((
                Ticker::CompactReadBytesPeriodic,
                Ticker::CompactWriteBytesPeriodic,
            )),
            CompactionReason::Ttl => {
                Some((Ticker::CompactReadBytesTtl, Ticker::CompactWriteBytesTtl))
            }
            CompactionReason::FifoMaxSize => {
                s.add(Ticker::FifoMaxSizeCompactions, 1);
                None
            }
            CompactionReason::FifoTtl => {
                s.add(Ticker::FifoTtlCompactions, 1);
                None
            }
            _ => None,
        };
        if let Some((reads, writes)) = by_reason {
            s.add(reads, read);
            s.add(writes, written);
        }
        s.add(Ticker::CompactionCpuTotalTime, stats.cpu_micros);
        if stats.count > 0 {
            s.record(Histogram::NumFilesInSingleCompaction, stats.files_in);
            s.record(Histogram::CompactionTime, stats.micros);
            s.record(Histogram::CompactionCpuTime, stats.cpu_micros);
        }
        self.count_drops(drops);
    }

    /// Counts a compaction that ended with `error`, if it was cancelled.
    pub(super) fn count_cancelled(&self, error: &Error) {
        let kinds = [ErrorKind::ShutdownInProgress, ErrorKind::CompactionTooLarge];
        if kinds.contains(&error.kind()) {
            self.tick(Ticker::CompactionCancelled, 1);
        }
    }

    /// Counts the flush of one column family for `reason`.
    pub(crate) fn count_flush(&self, reason: FlushReason) {
        let ticker = match reason {
            FlushReason::WriteBufferFull => Ticker::FlushReasonWriteBufferFull,
            FlushReason::WriteBufferManager => Ticker::FlushReasonWriteBufferManager,
            FlushReason::MemtableMaxRangeDeletions => Ticker::FlushReasonMemtableMaxRangeDeletions,
            _ => return,
        };
        self.tick(ticker, 1);
    }

    /// Counts an atomic flush for `reason`.
    pub(crate) fn count_atomic_flush(&self, reason: FlushReason) {
        let ticker = match reason {
            FlushReason::WriteBufferFull => Ticker::AtomicFlushRequestReasonWriteBufferFull,
            FlushReason::WriteBufferManager => Ticker::AtomicFlushRequestReasonWriteBufferManager,
            FlushReason::MemtableMaxRangeDeletions => {
                Ticker::AtomicFlushRequestReasonMemtableMaxRangeDeletions
            }
            _ => Ticker::AtomicFlushRequestReasonOther,
        };
        self.tick(ticker, 1);
    }

    /// Counts entries that a job did not write again.
    pub(crate) fn count_drops(&self, drops: &Drops) {
        let Some(s) = self.statistics() else { return };
        for (ticker, n) in [
            (Ticker::CompactionKeyDropNewerEntry, drops.hidden),
            (Ticker::CompactionKeyDropObsolete, drops.obsolete),
            (Ticker::CompactionKeyDropRangeDel, drops.range_deleted),
            (Ticker::CompactionKeyDropUser, drops.filtered),
            (
                Ticker::CompactionRangeDelDropObsolete,
                drops.range_tombstones,
            ),
            (Ticker::CompactionOptimizedDelDropObsolete, drops.early),
        ] {
            if n > 0 {
                s.add(ticker, n);
            }
        }
    }

    /// Counts the insert of a batch with `keys` operations.
    #[inline]
    pub(crate) fn count_write(&self, write: &Write<'_>, keys: u64) {
        if let Some(statistics) = self.statistics() {
            let bytes = write.operations.size() as u64;
            statistics.add(Ticker::NumberKeysWritten, keys);
            statistics.add(Ticker::BytesWritten, bytes);
            statistics.record(Histogram::BytesPerWrite, bytes);
            if !write.flags.disable_wal {
                statistics.add(Ticker::WriteWithWal, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::perf_context::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
    use crate::stats::{Histogram, Ticker};
    use crate::write::stall::rate::DelayRate;
    use crate::write::stall::{Demand, Pressure};
    use crate::{DB, Options};
    use std::sync::Arc;
    use whitewater_storage::fs::mem::MemFs;

    #[test]
    fn stalls_are_counted_and_recorded() {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_fs(Arc::new(MemFs::new()));
        options.enable_statistics();
        let db = DB::open(&options, "/db").unwrap();
        let mut context = PerfContext::default();
        context.reset();
        set_perf_stats(PerfStatsLevel::EnableTime);
        db.put(b"a", b"1").unwrap();
        assert_eq!(context.metric(PerfMetric::WriteDelayTime), 0);
        db.engine().commit.gate.set(Demand {
            pressure: Pressure::Delayed,
            behind: false,
            rate: DelayRate::new(100 << 10),
            hopeless: None,
        });
        // This takes 20 ms at that rate.
        db.put(b"a", vec![0; 2 << 10]).unwrap();
        set_perf_stats(PerfStatsLevel::Disable);
        let stalls = options.get_histogram_data(Histogram::WriteStall);
        assert_eq!(stalls.count(), 1);
        assert_eq!(stalls.sum(), options.get_ticker_count(Ticker::StallMicros));
        let delay = context.metric(PerfMetric::WriteDelayTime);
        assert!(delay > 0);
        assert_eq!(delay / 1000, stalls.sum());
    }
}
