//! What the database mutex guards.

use super::cf::ColumnFamilyData;
use super::failure::Failure;
use super::stalls::{CfStall, DbStall};
use crate::compact::pick::{self, CompactCursor, LevelState};
use crate::memtable::Memtable;
use crate::options::CfOptions;
use crate::version::Version;
use crate::write::MemtableMap;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The mutable state of an open database.
///
/// Lock order: the manifest lock (in `VersionSet`) may be held when this one
/// is taken, never the other way round. No I/O happens under this lock.
#[derive(Debug, Default)]
pub(crate) struct DbState {
    pub cfs: BTreeMap<u32, CfState>,
    pub failure: Failure,
    /// Background threads are to end.
    pub closing: bool,
    pub running_flushes: usize,
    pub running_compactions: usize,
    /// Manual compactions in progress: automatic ones wait.
    pub manual_compactions: usize,
    pub next_memtable_id: u64,
    /// A flush for the budget of memory was asked for.
    pub budget_asks: bool,
    pub stalls: DbStall,
    /// Memtables of column families that were dropped while something
    /// held on to them.
    pub dropped: Vec<Weak<Memtable>>,
}

/// One column family's mutable state.
#[derive(Debug)]
pub(crate) struct CfState {
    pub data: Arc<ColumnFamilyData>,
    pub mem: Arc<Memtable>,
    /// Switched out and not flushed yet, oldest first.
    pub imm: Vec<Arc<Memtable>>,
    pub version: Arc<Version>,
    pub levels: LevelState,
    pub cursor: CompactCursor,
    /// A flush job is running; its memtables are the first ones of `imm`.
    pub flushing: bool,
    /// Flush whatever is in `imm`, however little.
    pub flush_requested: bool,
    /// How it holds writers back.
    pub stall: CfStall,
}

impl CfState {
    /// The state of a column family with these parts.
    pub fn new(data: Arc<ColumnFamilyData>, mem: Arc<Memtable>, version: Arc<Version>) -> Self {
        let levels = pick::level_state(&version, &data.options);
        CfState {
            data,
            mem,
            imm: Vec::new(),
            version,
            levels,
            cursor: CompactCursor::default(),
            flushing: false,
            flush_requested: false,
            stall: CfStall::default(),
        }
    }

    /// The options.
    pub fn options(&self) -> &CfOptions {
        &self.data.options
    }

    /// Installs `version` as the current one; returns the one before, to be
    /// dropped once the mutex is free (it may be the last to hold files open).
    #[must_use]
    pub fn set_version(&mut self, version: Arc<Version>) -> Arc<Version> {
        let before = std::mem::replace(&mut self.version, version);
        self.score_levels();
        before
    }

    /// Computes targets and scores anew: for another version, or when files
    /// are not being compacted any more.
    pub fn score_levels(&mut self) {
        self.levels = pick::level_state(&self.version, &self.data.options);
    }

    /// Makes the current parts visible to readers.
    pub fn publish(&self) {
        self.data.publish(&self.mem, &self.imm, &self.version);
    }

    /// Whether a flush job should start.
    pub fn wants_flush(&self) -> bool {
        let enough =
            self.imm.len() >= self.options().min_write_buffer_number_to_merge.max(1) as usize;
        !self.flushing && !self.imm.is_empty() && (enough || self.flush_requested)
    }

    /// Whether an automatic compaction is due.
    pub fn wants_compaction(&self) -> bool {
        !self.options().disable_auto_compactions
            && self
                .levels
                .scores
                .first()
                .is_some_and(|(score, _)| *score >= 1.0)
    }

    /// The oldest log that may hold entries not flushed yet.
    pub fn oldest_wal(&self) -> u64 {
        self.imm.first().unwrap_or(&self.mem).wal_number()
    }
}

impl DbState {
    /// The memtables that writes go to.
    pub fn memtable_map(&self) -> MemtableMap {
        let families = self.cfs.values();
        MemtableMap::new(families.map(|cf| (cf.data.clone(), cf.mem.clone())))
    }

    /// The oldest log that any column family may still need.
    pub fn oldest_wal(&self) -> u64 {
        self.cfs
            .values()
            .map(CfState::oldest_wal)
            .min()
            .unwrap_or(0)
    }

    /// Whether any flush or automatic compaction is running or due.
    pub fn busy(&self) -> bool {
        self.running_flushes > 0
            || self.running_compactions > 0
            || self
                .cfs
                .values()
                .any(|cf| cf.wants_flush() || cf.wants_compaction())
    }
}
