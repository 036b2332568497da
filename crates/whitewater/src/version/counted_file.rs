//! Table files whose reads are counted and timed, for statistics.

use crate::stats::{Activity, Histogram, ReadLatencies, Statistics, Ticker};
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use whitewater_concurrent::system;
use whitewater_storage::Result;
use whitewater_storage::fs::RandomAccessFile;

/// Describes a file for the statistics that count its reads.
#[derive(Debug)]
pub(super) struct Counted {
    pub statistics: Arc<Statistics>,
    pub latencies: Arc<ReadLatencies>,
    /// The level of the table when it was opened.
    pub level: usize,
    /// Whether there is no deeper level.
    pub is_last: bool,
}

/// A file whose reads are counted.
#[derive(Debug)]
pub(super) struct CountedFile {
    pub file: Arc<dyn RandomAccessFile>,
    pub counted: Counted,
}

impl CountedFile {
    /// Runs `read`, and counts it as a read of `bytes` bytes if it succeeds.
    fn counting<T>(&self, bytes: usize, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let timed = self.counted.statistics.wants(Histogram::SstReadMicros);
        let start = timed.then(system::now);
        let read = read()?;
        self.count(bytes, start);
        Ok(read)
    }

    fn count(&self, bytes: usize, start: Option<Instant>) {
        let Counted {
            statistics,
            latencies,
            level,
            is_last,
        } = &self.counted;
        let (count, sum) = if *is_last {
            (Ticker::LastLevelReadCount, Ticker::LastLevelReadBytes)
        } else {
            (Ticker::NonLastLevelReadCount, Ticker::NonLastLevelReadBytes)
        };
        statistics.add(count, 1);
        statistics.add(sum, bytes as u64);
        if let Some(start) = start {
            let micros = Histogram::SstReadMicros.units(system::since(start));
            statistics.record(Histogram::SstReadMicros, micros);
            latencies.record(*level, micros);
            if let Some(activity) = Activity::current() {
                statistics.record(activity.histogram(), micros);
            }
        }
    }
}

impl RandomAccessFile for CountedFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.counting(len, || self.file.read_at(offset, len))
    }
    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.counting(buf.len(), || self.file.read_into(offset, buf))
    }
    fn len(&self) -> Result<u64> {
        self.file.len()
    }
    fn is_empty(&self) -> Result<bool> {
        self.file.is_empty()
    }
    fn prefetch(&self, offset: u64, len: usize) {
        self.file.prefetch(offset, len);
    }
    fn takes_hints(&self) -> bool {
        self.file.takes_hints()
    }
    fn has_page_cache(&self) -> bool {
        self.file.has_page_cache()
    }
    fn data_from(&self, offset: u64) -> u64 {
        self.file.data_from(offset)
    }
    fn path(&self) -> &Path {
        self.file.path()
    }
}
