//! The histograms, by RocksDB's names.

use super::StatsLevel;
use super::names::named_enum;
use std::time::Duration;

named_enum! {
    /// A quantity whose distribution is recorded. The list is RocksDB's, in its order, followed by
    /// the steps of writes that only this engine has (`whitewater.write.*`). Names include the
    /// unit. A name without a unit means bytes or counts, except for `rocksdb.db.write.stall`,
    /// which is in microseconds. Histograms for which [`is_collected`](Self::is_collected) is false
    /// stay empty.
    pub enum Histogram {
        DbGet = "rocksdb.db.get.micros",
        DbWrite = "rocksdb.db.write.micros",
        CompactionTime = "rocksdb.compaction.times.micros",
        CompactionCpuTime = "rocksdb.compaction.times.cpu_micros",
        SubcompactionSetupTime = "rocksdb.subcompaction.setup.times.micros",
        TableSyncMicros = "rocksdb.table.sync.micros",
        CompactionOutfileSyncMicros = "rocksdb.compaction.outfile.sync.micros",
        WalFileSyncMicros = "rocksdb.wal.file.sync.micros",
        ManifestFileSyncMicros = "rocksdb.manifest.file.sync.micros",
        TableOpenIoMicros = "rocksdb.table.open.io.micros",
        DbMultiget = "rocksdb.db.multiget.micros",
        ReadBlockCompactionMicros = "rocksdb.read.block.compaction.micros",
        ReadBlockGetMicros = "rocksdb.read.block.get.micros",
        WriteRawBlockMicros = "rocksdb.write.raw.block.micros",
        NumFilesInSingleCompaction = "rocksdb.numfiles.in.singlecompaction",
        DbSeek = "rocksdb.db.seek.micros",
        WriteStall = "rocksdb.db.write.stall",
        SstReadMicros = "rocksdb.sst.read.micros",
        FileReadFlushMicros = "rocksdb.file.read.flush.micros",
        FileReadCompactionMicros = "rocksdb.file.read.compaction.micros",
        FileReadDbOpenMicros = "rocksdb.file.read.db.open.micros",
        FileReadGetMicros = "rocksdb.file.read.get.micros",
        FileReadMultigetMicros = "rocksdb.file.read.multiget.micros",
        FileReadDbIteratorMicros = "rocksdb.file.read.db.iterator.micros",
        FileReadVerifyDbChecksumMicros = "rocksdb.file.read.verify.db.checksum.micros",
        FileReadVerifyFileChecksumsMicros = "rocksdb.file.read.verify.file.checksums.micros",
        SstWriteMicros = "rocksdb.sst.write.micros",
        FileWriteFlushMicros = "rocksdb.file.write.flush.micros",
        FileWriteCompactionMicros = "rocksdb.file.write.compaction.micros",
        FileWriteDbOpenMicros = "rocksdb.file.write.db.open.micros",
        NumSubcompactionsScheduled = "rocksdb.num.subcompactions.scheduled",
        BytesPerRead = "rocksdb.bytes.per.read",
        BytesPerWrite = "rocksdb.bytes.per.write",
        BytesPerMultiget = "rocksdb.bytes.per.multiget",
        CompressionTimesNanos = "rocksdb.compression.times.nanos",
        DecompressionTimesNanos = "rocksdb.decompression.times.nanos",
        ReadNumMergeOperands = "rocksdb.read.num.merge_operands",
        BlobDbKeySize = "rocksdb.blobdb.key.size",
        BlobDbValueSize = "rocksdb.blobdb.value.size",
        BlobDbWriteMicros = "rocksdb.blobdb.write.micros",
        BlobDbGetMicros = "rocksdb.blobdb.get.micros",
        BlobDbMultigetMicros = "rocksdb.blobdb.multiget.micros",
        BlobDbSeekMicros = "rocksdb.blobdb.seek.micros",
        BlobDbNextMicros = "rocksdb.blobdb.next.micros",
        BlobDbPrevMicros = "rocksdb.blobdb.prev.micros",
        BlobDbBlobFileWriteMicros = "rocksdb.blobdb.blob.file.write.micros",
        BlobDbBlobFileReadMicros = "rocksdb.blobdb.blob.file.read.micros",
        BlobDbBlobFileSyncMicros = "rocksdb.blobdb.blob.file.sync.micros",
        BlobDbCompressionMicros = "rocksdb.blobdb.compression.micros",
        BlobDbDecompressionMicros = "rocksdb.blobdb.decompression.micros",
        FlushTime = "rocksdb.db.flush.micros",
        SstBatchSize = "rocksdb.sst.batch.size",
        MultigetIoBatchSize = "rocksdb.multiget.io.batch.size",
        NumIndexAndFilterBlocksReadPerLevel = "rocksdb.num.index.and.filter.blocks.read.per.level",
        NumSstReadPerLevel = "rocksdb.num.sst.read.per.level",
        NumLevelReadPerMultiget = "rocksdb.num.level.read.per.multiget",
        ErrorHandlerAutoresumeRetryCount = "rocksdb.error.handler.autoresume.retry.count",
        AsyncReadBytes = "rocksdb.async.read.bytes",
        PollWaitMicros = "rocksdb.poll.wait.micros",
        PrefetchedBytesDiscarded = "rocksdb.prefetched.bytes.discarded",
        AsyncPrefetchAbortMicros = "rocksdb.async.prefetch.abort.micros",
        TableOpenPrefetchTailReadBytes = "rocksdb.table.open.prefetch.tail.read.bytes",
        // Histograms that only this engine has.
        WriteLocateNanos = "whitewater.write.locate.nanos",
        WriteReserveNanos = "whitewater.write.reserve.nanos",
        WriteAppendNanos = "whitewater.write.append.nanos",
        WriteInsertNanos = "whitewater.write.insert.nanos",
        WritePublishWaitNanos = "whitewater.write.publish.wait.nanos",
        WriteSyncWaitNanos = "whitewater.write.sync.wait.nanos",
    }
}

/// How the values of a histogram are obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Bytes, or a time that is measured anyway.
    Plain,
    /// Microseconds; the clock is read for this histogram.
    Micros,
    /// Nanoseconds; the clock is read for this histogram many times in a call.
    Nanos,
}

impl Histogram {
    const fn kind(self) -> Option<Kind> {
        match self {
            Histogram::BytesPerRead
            | Histogram::BytesPerWrite
            | Histogram::BytesPerMultiget
            | Histogram::ErrorHandlerAutoresumeRetryCount
            | Histogram::NumFilesInSingleCompaction
            | Histogram::NumSubcompactionsScheduled
            | Histogram::ReadNumMergeOperands
            | Histogram::WriteStall => Some(Kind::Plain),
            Histogram::DbGet
            | Histogram::DbWrite
            | Histogram::DbMultiget
            | Histogram::DbSeek
            | Histogram::BlobDbBlobFileWriteMicros
            | Histogram::BlobDbBlobFileReadMicros
            | Histogram::BlobDbBlobFileSyncMicros
            | Histogram::BlobDbCompressionMicros
            | Histogram::BlobDbDecompressionMicros
            | Histogram::WalFileSyncMicros
            | Histogram::FlushTime
            | Histogram::CompactionTime
            | Histogram::CompactionCpuTime
            | Histogram::SubcompactionSetupTime
            | Histogram::TableSyncMicros
            | Histogram::CompactionOutfileSyncMicros
            | Histogram::ManifestFileSyncMicros
            | Histogram::TableOpenIoMicros
            | Histogram::ReadBlockCompactionMicros
            | Histogram::ReadBlockGetMicros
            | Histogram::WriteRawBlockMicros
            | Histogram::SstReadMicros
            | Histogram::FileReadCompactionMicros
            | Histogram::FileReadDbOpenMicros
            | Histogram::FileReadGetMicros
            | Histogram::FileReadMultigetMicros
            | Histogram::FileReadDbIteratorMicros
            | Histogram::SstWriteMicros
            | Histogram::FileWriteFlushMicros
            | Histogram::FileWriteCompactionMicros
            | Histogram::FileWriteDbOpenMicros => Some(Kind::Micros),
            Histogram::CompressionTimesNanos
            | Histogram::DecompressionTimesNanos
            | Histogram::WriteLocateNanos
            | Histogram::WriteReserveNanos
            | Histogram::WriteAppendNanos
            | Histogram::WriteInsertNanos
            | Histogram::WritePublishWaitNanos
            | Histogram::WriteSyncWaitNanos => Some(Kind::Nanos),
            _ => None,
        }
    }

    /// Whether this engine collects the histogram.
    pub const fn is_collected(&self) -> bool {
        self.kind().is_some()
    }

    /// The lowest level at which the histogram is collected.
    #[inline]
    pub(crate) const fn level(self) -> StatsLevel {
        match self.kind() {
            None | Some(Kind::Plain) => StatsLevel::ExceptTimers,
            Some(Kind::Micros) => StatsLevel::ExceptDetailedTimers,
            Some(Kind::Nanos) => StatsLevel::ExceptTimeForMutex,
        }
    }

    /// A duration in the histogram's unit.
    #[inline]
    pub(crate) fn units(self, time: Duration) -> u64 {
        let units = match self.kind() {
            Some(Kind::Nanos) => time.as_nanos(),
            _ => time.as_micros(),
        };
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_names() {
        let time = Duration::from_nanos(1_234_567);
        for histogram in Histogram::iter().filter(|h| h.is_collected()) {
            let units = histogram.units(time);
            if histogram.name().ends_with(".nanos") {
                assert_eq!(units, 1_234_567, "{histogram}");
            } else {
                assert_eq!(units, 1_234, "{histogram}");
            }
        }
    }
}
