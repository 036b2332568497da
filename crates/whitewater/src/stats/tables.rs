//! Counting the events that tables report: filters, the block cache, checksums, compression.

use super::{Histogram, Statistics, Ticker};
use crate::stats::Activity;
use std::sync::Arc;
use std::time::Duration;
use whitewater_storage::sst::{BlockCompression, BlockKind, BlockStep, FilterEvent, TableEvents};

impl TableEvents for Statistics {
    fn filter(&self, event: FilterEvent) {
        let ticker = match event {
            FilterEvent::Useful => Ticker::BloomFilterUseful,
            FilterEvent::FullPositive => Ticker::BloomFilterFullPositive,
            FilterEvent::FullTruePositive => Ticker::BloomFilterFullTruePositive,
            FilterEvent::PrefixChecked => Ticker::BloomFilterPrefixChecked,
            FilterEvent::PrefixUseful => Ticker::BloomFilterPrefixUseful,
            FilterEvent::PrefixTruePositive => Ticker::BloomFilterPrefixTruePositive,
        };
        self.add(ticker, 1);
    }

    fn cache_hit(&self, kind: BlockKind, bytes: usize) {
        self.add(Ticker::BlockCacheHit, 1);
        self.add(Ticker::BlockCacheBytesRead, bytes as u64);
        let ticker = match kind {
            BlockKind::Data => Ticker::BlockCacheDataHit,
            BlockKind::Index => Ticker::BlockCacheIndexHit,
            BlockKind::Filter => Ticker::BlockCacheFilterHit,
        };
        self.add(ticker, 1);
    }

    fn cache_miss(&self, kind: BlockKind) {
        self.add(Ticker::BlockCacheMiss, 1);
        let ticker = match kind {
            BlockKind::Data => Ticker::BlockCacheDataMiss,
            BlockKind::Index => Ticker::BlockCacheIndexMiss,
            BlockKind::Filter => Ticker::BlockCacheFilterMiss,
        };
        self.add(ticker, 1);
    }

    fn cache_add(&self, kind: BlockKind, bytes: usize) {
        self.add(Ticker::BlockCacheAdd, 1);
        self.add(Ticker::BlockCacheBytesWrite, bytes as u64);
        let (number, inserted) = match kind {
            BlockKind::Data => (Ticker::BlockCacheDataAdd, Ticker::BlockCacheDataBytesInsert),
            BlockKind::Index => (
                Ticker::BlockCacheIndexAdd,
                Ticker::BlockCacheIndexBytesInsert,
            ),
            BlockKind::Filter => (
                Ticker::BlockCacheFilterAdd,
                Ticker::BlockCacheFilterBytesInsert,
            ),
        };
        self.add(number, 1);
        self.add(inserted, bytes as u64);
    }

    fn cache_add_failed(&self) {
        self.add(Ticker::BlockCacheAddFailures, 1);
    }

    fn checksum(&self, matches: bool) {
        self.add(Ticker::BlockChecksumComputeCount, 1);
        if !matches {
            self.add(Ticker::BlockChecksumMismatchCount, 1);
        }
    }

    fn compressed(&self, outcome: BlockCompression, from: usize, to: usize) {
        let (number, bytes) = match outcome {
            BlockCompression::Compressed => {
                self.add(Ticker::BytesCompressedTo, to as u64);
                (Ticker::NumberBlockCompressed, Ticker::BytesCompressedFrom)
            }
            BlockCompression::Rejected => (
                Ticker::NumberBlockCompressionRejected,
                Ticker::BytesCompressionRejected,
            ),
            BlockCompression::Bypassed => (
                Ticker::NumberBlockCompressionBypassed,
                Ticker::BytesCompressionBypassed,
            ),
        };
        self.add(number, 1);
        self.add(bytes, from as u64);
    }

    fn decompressed(&self, from: usize, to: usize) {
        self.add(Ticker::NumberBlockDecompressed, 1);
        self.add(Ticker::BytesDecompressedFrom, from as u64);
        self.add(Ticker::BytesDecompressedTo, to as u64);
    }

    fn wants(&self, step: BlockStep) -> bool {
        Statistics::wants(self, histogram(step))
    }

    fn took(&self, step: BlockStep, time: Duration) {
        let histogram = histogram(step);
        self.record(histogram, histogram.units(time));
    }
}

/// The histogram for the times of a step, given what the calling thread is doing.
fn histogram(step: BlockStep) -> Histogram {
    match step {
        BlockStep::Read => match Activity::current() {
            Some(Activity::Compaction) => Histogram::ReadBlockCompactionMicros,
            _ => Histogram::ReadBlockGetMicros,
        },
        BlockStep::Write => Histogram::WriteRawBlockMicros,
        BlockStep::Compress => Histogram::CompressionTimesNanos,
        BlockStep::Decompress => Histogram::DecompressionTimesNanos,
    }
}

/// The receiver of tables' events, which counts them in `statistics`, if they are on.
pub(crate) fn table_events(statistics: Option<&Arc<Statistics>>) -> Option<Arc<dyn TableEvents>> {
    statistics.map(|s| s.clone() as Arc<dyn TableEvents>)
}
