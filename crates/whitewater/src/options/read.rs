//! Options of one read and one write, as the engine reads them.

use crate::db::snapshot::SnapshotGuard;
use std::sync::Arc;
use whitewater_storage::key::SequenceNumber;

/// Options of one read.
#[derive(Clone, Debug)]
pub(crate) struct ReadSpec {
    /// Read at this snapshot instead of now.
    pub snapshot: Option<Arc<SnapshotGuard>>,
    /// Inclusive lower bound of iteration (a user key).
    pub lower_bound: Option<Vec<u8>>,
    /// Exclusive upper bound of iteration (a user key).
    pub upper_bound: Option<Vec<u8>>,
    /// An iterator ends outside the prefix of the key it was sent to.
    pub prefix_same_as_start: bool,
    /// An iterator shows all keys in order, however memtables group them.
    pub total_order_seek: bool,
    pub verify_checksums: bool,
    pub fill_cache: bool,
    /// Bytes; 0 lets tables decide.
    pub readahead_size: usize,
    /// Internal keys an iterator may skip in one step before it fails with
    /// `Incomplete`; 0 is no limit.
    pub max_skippable_internal_keys: u64,
}

impl Default for ReadSpec {
    fn default() -> Self {
        ReadSpec {
            snapshot: None,
            lower_bound: None,
            upper_bound: None,
            prefix_same_as_start: false,
            total_order_seek: false,
            verify_checksums: true,
            fill_cache: true,
            readahead_size: 0,
            max_skippable_internal_keys: 0,
        }
    }
}

impl ReadSpec {
    /// How tables treat blocks for this read.
    pub fn table(&self) -> whitewater_storage::sst::TableReadOptions {
        whitewater_storage::sst::TableReadOptions {
            verify_checksums: self.verify_checksums,
            fill_cache: self.fill_cache,
            readahead: self.readahead_size,
        }
    }

    /// The sequence number to read at, given the latest visible one.
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
    /// Give way to compactions when they are behind.
    pub low_pri: bool,
    /// Ignore operations on column families that do not exist.
    pub ignore_missing_column_families: bool,
    /// Expect keys that follow each other in a batch to be near each other.
    pub insert_hint: bool,
}
