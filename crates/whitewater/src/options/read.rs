//! Options of one read and one write, as the engine reads them.

use crate::snapshots::SnapshotGuard;
use std::sync::Arc;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::sst::{IoPriority, ReadLimits, TableReadOptions};
use whitewater_storage::{Error, Result};

/// How values in blob files are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlobReads {
    /// Limits on the reads of files.
    pub limits: ReadLimits,
    /// Whether values that are read go into the blob cache.
    pub fill_cache: bool,
}

impl BlobReads {
    /// The reads of a background job, which do not fill the cache.
    pub const fn of_job(limits: ReadLimits) -> Self {
        BlobReads {
            limits,
            fill_cache: false,
        }
    }
}

/// Options of one read.
#[derive(Clone, Debug)]
pub(crate) struct ReadSpec {
    /// Read at this snapshot instead of now.
    pub snapshot: Option<Arc<SnapshotGuard>>,
    /// Bounds of iteration.
    pub bounds: Bounds,
    /// End an iterator outside the prefix of the key that it was positioned to.
    pub prefix_same_as_start: bool,
    /// Let an iterator show all keys in order, however memtables group them.
    pub total_order_seek: bool,
    pub verify_checksums: bool,
    pub fill_cache: bool,
    /// Amount of read-ahead. Bytes; 0 lets tables decide.
    pub readahead_size: usize,
    /// Whether the system is told ahead of time what iterators will read.
    pub async_io: bool,
    /// Number of internal keys that an iterator may skip in one step before it fails with
    /// `Incomplete`; 0 is no limit. Those that are skipped at once do not count.
    pub max_skippable_internal_keys: u64,
    pub tier: ReadTier,
    /// Ignore range tombstones, so that they delete nothing.
    pub ignore_range_deletions: bool,
    /// The time after which nothing more is read. Microseconds since 1970; 0 is no limit.
    pub deadline: u64,
    /// Longest time that one read of a file may take. Microseconds; 0 is no limit.
    pub io_timeout: u64,
    /// The priority at which reads of files are charged to the rate limiter, if that limits reads.
    /// `None` reads without asking it.
    pub io_priority: Option<IoPriority>,
    /// Hide versions with newer timestamps; required if keys have timestamps.
    pub timestamp: Option<Vec<u8>>,
    /// Let an iterator show all versions with timestamps from this one on.
    pub iter_start_ts: Option<Vec<u8>>,
    /// Let an iterator read the current state of the database whenever it is positioned.
    pub tailing: bool,
    /// Leave files that only an iterator kept to background threads.
    pub background_purge: bool,
}

/// Which data a read may look at. The numbers are RocksDB's.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde1", derive(serde::Serialize, serde::Deserialize))]
#[repr(i32)]
pub enum ReadTier {
    /// All data. The default.
    All = 0,
    /// Memtables, open tables and the block cache. If a file would have to be opened or read, the
    /// read fails with `Incomplete`.
    BlockCache,
    /// Only data that would survive a crash of the process: memtables are skipped if anything was
    /// written without the log since the database was opened. Only look-ups support this; iterators
    /// fail with `NotSupported`.
    Persisted,
    /// Memtables only. (RocksDB's look-ups treat this as [`All`](Self::All); here they keep to it,
    /// as iterators do.)
    Memtable,
}

impl Default for ReadSpec {
    fn default() -> Self {
        ReadSpec {
            snapshot: None,
            bounds: Bounds::default(),
            prefix_same_as_start: false,
            total_order_seek: false,
            verify_checksums: true,
            fill_cache: true,
            readahead_size: 0,
            async_io: false,
            max_skippable_internal_keys: 0,
            tier: ReadTier::All,
            ignore_range_deletions: false,
            deadline: 0,
            io_timeout: 0,
            io_priority: None,
            timestamp: None,
            iter_start_ts: None,
            tailing: false,
            background_purge: false,
        }
    }
}

impl ReadSpec {
    /// How tables treat blocks for this read.
    pub fn table(&self) -> TableReadOptions {
        TableReadOptions {
            verify_checksums: self.verify_checksums,
            fill_cache: self.fill_cache,
            readahead: self.readahead_size,
            in_background: self.async_io,
            limits: self.limits(),
        }
    }

    /// Whether an iterator for this read looks into everything in the same way as one for any
    /// other such read: it may go on with what that has left.
    pub fn has_usual_sources(&self) -> bool {
        // Exhaustive, so that nobody adds a field without deciding whether it counts.
        let ReadSpec {
            prefix_same_as_start: _, // part of `PrefixMode`
            total_order_seek: _,     // the same
            verify_checksums,
            fill_cache,
            readahead_size,
            async_io,
            tier,
            ignore_range_deletions,
            deadline,
            io_timeout,
            io_priority,
            // What the sources do not know, or are told each time.
            bounds: _,
            snapshot: _,
            max_skippable_internal_keys: _,
            timestamp: _,
            iter_start_ts: _,
            tailing: _,
            background_purge: _,
        } = self;
        let limited = (*deadline, *io_timeout) != (0, 0) || io_priority.is_some();
        let usual = *verify_checksums && *fill_cache && *readahead_size == 0 && !async_io;
        usual && !limited && *tier == ReadTier::All && !ignore_range_deletions
    }

    /// The limits on file reads for this read.
    pub fn limits(&self) -> ReadLimits {
        ReadLimits {
            memory_only: self.tier == ReadTier::BlockCache,
            deadline: self.deadline,
            timeout: self.io_timeout,
            priority: self.io_priority,
        }
    }

    /// How this read reads blobs.
    pub fn blobs(&self) -> BlobReads {
        BlobReads {
            limits: self.limits(),
            fill_cache: self.fill_cache,
        }
    }

    /// The sequence number to read at, given the latest visible number.
    pub fn sequence(&self, visible: SequenceNumber) -> SequenceNumber {
        self.snapshot.as_ref().map_or(visible, |s| s.sequence())
    }
}

/// Options of one write.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteSpec {
    /// Acknowledge only once the write survives a power cut.
    pub sync: bool,
    /// Do not log; the write is lost if the process dies before a flush.
    pub disable_wal: bool,
    /// Fail with `Incomplete` instead of waiting while writes are stalled.
    pub no_slowdown: bool,
    /// Give way to compactions when they fall behind.
    pub low_pri: bool,
    /// Ignore operations on column families that do not exist.
    pub ignore_missing_column_families: bool,
    /// Expect consecutive keys of a batch to be close to each other.
    pub insert_hint: bool,
    /// Size of the checksum of each entry. Bytes: 0 or 8.
    pub protection_bytes_per_key: usize,
}

/// Whether the entries of a batch have checksums, given the size of a checksum.
///
/// # Errors
/// `InvalidArgument` if the size is not supported.
#[inline]
pub(crate) fn has_checksums(protection_bytes_per_key: usize) -> Result<bool> {
    match protection_bytes_per_key {
        0 => Ok(false),
        8 => Ok(true),
        n => Err(Error::invalid(format_args!(
            "protection_bytes_per_key of a write is {n}: it must be 0 or 8"
        ))),
    }
}
