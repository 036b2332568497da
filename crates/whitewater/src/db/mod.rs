//! The database, stage by stage of its life.
//!
//! [`Engine`] is the whole of it behind the public API, which only converts
//! types and keeps lifetimes.

pub(crate) mod snapshot;

use crate::options::read::{ReadSpec, WriteSpec};
use crate::options::{CfOptions, DbOptions};
use crate::read::db_iter::DbIter;
use bytes::Bytes;
use snapshot::SnapshotGuard;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::batch::Batch;
use whitewater_storage::key::SequenceNumber;

/// A column family while the database is open. Handles keep it alive after it
/// was dropped; writes to it then fail, reads go on.
#[derive(Debug)]
pub(crate) struct ColumnFamilyData {
    pub id: u32,
    pub name: String,
}

/// How a manual compaction treats the bottommost level. RocksDB's meanings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Bottommost {
    Skip,
    #[default]
    IfHaveCompactionFilter,
    Force,
    ForceOptimized,
}

/// A live table file, for `DB::live_files`.
#[derive(Debug, Clone)]
pub(crate) struct LiveTable {
    pub column_family_name: String,
    pub name: String,
    pub size: usize,
    pub level: i32,
    pub start_key: Option<Vec<u8>>,
    pub end_key: Option<Vec<u8>>,
    pub smallest_seqno: u64,
    pub largest_seqno: u64,
    pub num_entries: u64,
    pub num_deletions: u64,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Engine {}

impl Engine {
    /// Opens the database in `dir` with the listed column families ("default"
    /// is added when missing from the list).
    pub fn open(
        dir: &Path,
        options: DbOptions,
        column_families: Vec<(String, CfOptions)>,
    ) -> Result<Arc<Engine>> {
        let _ = (dir, options, column_families);
        todo!()
    }
    /// Stops background work, syncs nothing, releases the lock. Idempotent;
    /// called when the public handle is dropped.
    pub fn close(&self) {
        todo!()
    }
    /// Names of the column families of the database in `dir`.
    pub fn list_column_families(dir: &Path, options: &DbOptions) -> Result<Vec<String>> {
        let _ = (dir, options);
        todo!()
    }
    /// Removes the database in `dir`; other files there stay.
    pub fn destroy(dir: &Path, options: &DbOptions) -> Result<()> {
        let _ = (dir, options);
        todo!()
    }
    pub fn path(&self) -> &Path {
        todo!()
    }
    pub fn identity(&self) -> String {
        todo!()
    }
    /// The column family called "default".
    pub fn default_cf(&self) -> &Arc<ColumnFamilyData> {
        todo!()
    }
    /// Live column families by name, ascending.
    pub fn column_families(&self) -> Vec<Arc<ColumnFamilyData>> {
        todo!()
    }
    pub fn create_cf(&self, name: &str, options: CfOptions) -> Result<Arc<ColumnFamilyData>> {
        let _ = (name, options);
        todo!()
    }
    pub fn drop_cf(&self, cf: &Arc<ColumnFamilyData>) -> Result<()> {
        let _ = cf;
        todo!()
    }
    /// Commits `batch`.
    pub fn write(&self, batch: &Batch, spec: &WriteSpec) -> Result<()> {
        let _ = (batch, spec);
        todo!()
    }
    pub fn get(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
    ) -> Result<Option<Bytes>> {
        let _ = (cf, key, spec);
        todo!()
    }
    /// One consistent view over all keys, whatever their column families.
    pub fn multi_get(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, &[u8])],
        spec: &ReadSpec,
    ) -> Vec<Result<Option<Bytes>>> {
        let _ = (keys, spec);
        todo!()
    }
    /// Whether `key` may exist, asking only memory (memtables, filters and the
    /// tables' indexes); with its value when a memtable has it.
    pub fn key_may_exist(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
    ) -> (bool, Option<Bytes>) {
        let _ = (cf, key, spec);
        todo!()
    }
    /// An iterator; failures to make one are met at its first use.
    pub fn iter(&self, cf: &Arc<ColumnFamilyData>, spec: &ReadSpec) -> DbIter {
        let _ = (cf, spec);
        todo!()
    }
    pub fn snapshot(&self) -> SnapshotGuard {
        todo!()
    }
    pub fn latest_sequence_number(&self) -> SequenceNumber {
        todo!()
    }
    pub fn flush(&self, cfs: &[Arc<ColumnFamilyData>], wait: bool) -> Result<()> {
        let _ = (cfs, wait);
        todo!()
    }
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        let _ = sync;
        todo!()
    }
    pub fn compact_range(
        &self,
        cf: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        bottommost: Bottommost,
    ) -> Result<()> {
        let _ = (cf, begin, end, bottommost);
        todo!()
    }
    /// Waits until no flush or compaction is running or due.
    ///
    /// # Errors
    /// `TimedOut` after `timeout`.
    pub fn wait_for_compact(
        &self,
        flush: bool,
        timeout: Option<std::time::Duration>,
    ) -> Result<()> {
        let _ = (flush, timeout);
        todo!()
    }
    /// Stops background work for good; waits for running jobs if asked.
    pub fn cancel_all_background_work(&self, wait: bool) {
        let _ = wait;
        todo!()
    }
    /// A property by RocksDB's name; `None` for unknown names.
    pub fn property(&self, cf: &Arc<ColumnFamilyData>, name: &str) -> Option<String> {
        let _ = (cf, name);
        todo!()
    }
    /// A numeric property; `None` for unknown or textual ones.
    pub fn property_int(&self, cf: &Arc<ColumnFamilyData>, name: &str) -> Option<u64> {
        let _ = (cf, name);
        todo!()
    }
    /// About how many file bytes hold the keys of each `[start, end)`.
    pub fn approximate_sizes(
        &self,
        cf: &Arc<ColumnFamilyData>,
        ranges: &[(&[u8], &[u8])],
    ) -> Vec<u64> {
        let _ = (cf, ranges);
        todo!()
    }
    pub fn live_tables(&self) -> Result<Vec<LiveTable>> {
        todo!()
    }
}
