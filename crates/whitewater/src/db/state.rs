//! What the database mutex guards.

use super::failure::Failure;
use super::internal_stats::CfStats;
use super::stalls::{CfStall, DbStall};
use crate::column_family::{ColumnFamilyData, SharedByReaders};
use crate::compact::pick::{self, CompactCursor, Compaction, LevelState, Moment};
use crate::empty_ranges::EmptyRanges;
use crate::listener::FlushReason;
use crate::memtable::Memtable;
use crate::options::{CfOptions, DbOptions};
use crate::stats::SampledLatencies;
use crate::thread_pools::Priority;
use crate::version::Version;
use crate::version::table_cache::TableCache;
use crate::write::MemtableMap;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// The mutable state of an open database.
///
/// Lock order: the manifest lock (in `VersionSet`) may be held when this one is taken,
/// never the other way round. No I/O happens under this lock.
#[derive(Debug, Default)]
pub(crate) struct DbState {
    pub cfs: BTreeMap<u32, CfState>,
    /// What iterators know to be empty.
    pub empty_ranges: Arc<EmptyRanges>,
    /// How long calls take.
    pub latencies: Arc<SampledLatencies>,
    /// The current options of the database.
    pub options: Arc<DbOptions>,
    pub failure: Failure,
    /// Set when background threads must end.
    pub closing: bool,
    pub running_flushes: usize,
    pub running_compactions: usize,
    /// Compactions that are counted as running and wait for a thread of the pool for the
    /// last level, or of the one for reads.
    pub forwarded: VecDeque<(Priority, Arc<ColumnFamilyData>, Compaction)>,
    /// The number of jobs that are done except for deleting the files that they made
    /// obsolete.
    pub purges: usize,
    /// The number of manual compactions beside which no automatic one may start.
    pub manual_compactions: usize,
    pub next_memtable_id: u64,
    /// A flush for the shared memory budget was requested.
    pub budget_asks: bool,
    /// A flush thread retires a memtable for reads.
    pub retires_for_reads: bool,
    /// A background thread is to delete files that readers have released.
    pub purge_asked: bool,
    /// When a flush thread deletes files that were released, unless others have done so by then.
    pub purge_due: Option<Instant>,
    pub stalls: DbStall,
    /// Memtables of dropped column families that something still held when they were
    /// dropped.
    pub dropped: Vec<Weak<Memtable>>,
    /// Dropped column families that something still held when they were dropped. None where no
    /// write is ever undecided.
    pub dropped_families: Vec<Weak<ColumnFamilyData>>,
}

/// One column family's mutable state.
#[derive(Debug)]
pub(crate) struct CfState {
    pub data: Arc<ColumnFamilyData>,
    /// The current options: the requested ones, corrected.
    options: Arc<CfOptions>,
    /// The requested options, before corrections, so that a correction ends when the option
    /// that called for it changes.
    asked: Arc<CfOptions>,
    pub mem: Arc<Memtable>,
    /// Retired memtables that are not flushed yet, oldest first. Only the first may be a
    /// purged one.
    pub imm: Vec<Arc<Memtable>>,
    pub version: Arc<Version>,
    pub levels: LevelState,
    /// What `levels` was computed for, besides the version.
    pub moment: Moment,
    /// A pick found nothing although something is due: no pick will find anything until the
    /// version or the files being compacted change.
    pub nothing_to_pick: bool,
    pub cursor: CompactCursor,
    /// A flush job is running; its memtables are the first ones of `imm`.
    pub flushing: bool,
    /// `imm` is to be flushed, however little it holds.
    flush_requested: bool,
    /// Why `imm` is to be flushed: the first reason since the last flush began.
    flush_reason: Option<FlushReason>,
    /// Tables are being ingested: no compaction begins, and only the ingestion
    /// flushes.
    pub ingesting: bool,
    /// The number of requested compactions that a running one is in the way of: no
    /// automatic one begins.
    pub requests_waiting: usize,
    /// How this column family holds writers back.
    pub stall: CfStall,
    /// The totals of this column family's jobs.
    pub stats: CfStats,
    /// Flushed memtables and replaced versions that something may still hold.
    pub held: Held,
}

/// Memtables and versions of a column family that are no longer current and that readers
/// may still hold.
#[derive(Debug, Default)]
pub(crate) struct Held {
    memtables: Vec<Weak<Memtable>>,
    versions: Vec<Weak<Version>>,
}

impl Held {
    /// Notes that `memtables` were flushed.
    pub fn note_flushed<'a>(&mut self, memtables: impl IntoIterator<Item = &'a Arc<Memtable>>) {
        self.memtables.retain(|mem| mem.strong_count() > 0);
        let flushed = memtables.into_iter().map(Arc::downgrade);
        self.memtables.extend(flushed);
    }

    fn note_replaced(&mut self, version: &Arc<Version>) {
        self.versions.retain(|version| version.strong_count() > 0);
        self.versions.push(Arc::downgrade(version));
    }

    /// The memtables that still exist. The caller drops them without the mutex.
    pub fn memtables(&self) -> Vec<Arc<Memtable>> {
        self.memtables.iter().filter_map(Weak::upgrade).collect()
    }

    /// The versions that still exist. The caller drops them without the mutex.
    pub fn versions(&self) -> Vec<Arc<Version>> {
        self.versions.iter().filter_map(Weak::upgrade).collect()
    }
}

impl CfState {
    /// The state of a column family with these parts.
    pub fn new(data: Arc<ColumnFamilyData>, mem: Arc<Memtable>, version: Arc<Version>) -> Self {
        let options = data.options();
        let mut cf = CfState {
            data,
            asked: options.clone(),
            options,
            mem,
            imm: Vec::new(),
            version,
            levels: LevelState::default(),
            moment: Moment::default(),
            nothing_to_pick: false,
            cursor: CompactCursor::default(),
            flushing: false,
            flush_requested: false,
            flush_reason: None,
            ingesting: false,
            requests_waiting: 0,
            stall: CfStall::default(),
            stats: CfStats::default(),
            held: Held::default(),
        };
        cf.score_levels();
        cf
    }

    /// The current options.
    pub fn options(&self) -> &Arc<CfOptions> {
        &self.options
    }

    /// The options as they were requested.
    pub fn asked_options(&self) -> &CfOptions {
        &self.asked
    }

    /// Makes `options` the current options, which correct the requested ones (`asked`), and
    /// publishes them to readers.
    pub fn set_options(&mut self, asked: CfOptions, options: CfOptions) {
        self.asked = Arc::new(asked);
        self.options = Arc::new(options);
        self.mem.shrink_to(self.options.write_buffer_size);
        self.score_levels();
        self.publish();
    }

    /// Makes `mem` the memtable that writes go to; returns the one before. The options may
    /// have changed since `mem` was made.
    pub fn set_memtable(&mut self, mem: Arc<Memtable>) -> Arc<Memtable> {
        mem.shrink_to(self.options.write_buffer_size);
        std::mem::replace(&mut self.mem, mem)
    }

    /// Installs `version` as the current one; returns the one before, to be dropped once
    /// the mutex is free (it may be the last reference that holds files open).
    #[must_use]
    pub fn set_version(&mut self, version: Arc<Version>) -> Arc<Version> {
        let before = std::mem::replace(&mut self.version, version);
        self.held.note_replaced(&before);
        self.score_levels();
        before
    }

    /// Recomputes what is due: for another version or moment, or when files are no longer
    /// being compacted.
    ///
    /// A custom comparator may panic here, amid a change of this state that has to be finished.
    /// Nothing is due then until this is called again.
    pub fn score_levels(&mut self) {
        let user = &self.data.comparator.user;
        let score = || pick::level_state(&self.version, &self.options, user, &self.moment);
        self.levels = catch_unwind(AssertUnwindSafe(score)).unwrap_or_default();
        self.nothing_to_pick = false;
    }

    /// Makes the current parts visible to readers.
    pub fn publish(&self) {
        self.data
            .publish(&self.mem, &self.imm, &self.version, &self.options);
    }

    /// Adds `memtable`, which was retired for `reason`, to those that are to be flushed.
    pub fn add_retired(&mut self, memtable: Arc<Memtable>, reason: FlushReason) {
        self.imm.push(memtable);
        if self.holds_enough() {
            self.flush_reason.get_or_insert(reason);
        }
    }

    /// Requests that the retired memtables are flushed for `reason`, however little they hold. If
    /// there are none, nothing is requested: a request must not last until later ones come.
    pub fn request_flush(&mut self, reason: FlushReason) {
        if !self.imm.is_empty() {
            self.flush_requested = true;
            self.flush_reason.get_or_insert(reason);
        }
    }

    /// Whether a flush of the retired memtables was requested.
    pub fn is_flush_requested(&self) -> bool {
        self.flush_requested
    }

    /// Clears the request of a flush of the retired memtables; returns the reason to flush them.
    pub fn take_flush_reason(&mut self) -> FlushReason {
        self.flush_requested = false;
        let reason = self.flush_reason.take();
        // If nothing gave a reason, an option was lowered, and full memtables are enough now.
        reason.unwrap_or(FlushReason::WriteBufferFull)
    }

    /// Ends a flush. After a failure, the memtables are to be flushed again however little they
    /// hold, because the request was cleared.
    pub fn end_flush(&mut self, failed: bool) {
        self.flushing = false;
        if self.imm.is_empty() {
            // Requests that came meanwhile were for what the flush has taken.
            self.flush_requested = false;
            self.flush_reason = None;
        } else if failed {
            self.flush_requested = true;
            self.flush_reason = Some(FlushReason::ErrorRecoveryRetryFlush);
        } else if !self.flush_requested && !self.holds_enough() {
            self.flush_reason = None;
        }
    }

    /// Whether there are enough full memtables to flush them. What was purged waits for more.
    fn holds_enough(&self) -> bool {
        let full = self.imm.iter().filter(|m| !m.is_purged()).count();
        full >= self.options().min_write_buffer_number_to_merge.max(1) as usize
    }

    /// Whether a flush job should start.
    pub fn wants_flush(&self) -> bool {
        !self.flushing && !self.imm.is_empty() && (self.holds_enough() || self.flush_requested)
    }

    /// Whether an automatic compaction is due.
    pub fn wants_compaction(&self) -> bool {
        !self.options().disable_auto_compactions
            && !self.ingesting
            && self.levels.is_due()
            && !self.nothing_to_pick
    }

    /// The oldest log that may hold entries that are not flushed yet.
    pub fn oldest_wal(&self) -> u64 {
        self.oldest_wal_after(0)
    }

    /// The oldest log that is needed once the first `flushed` of `imm` are in tables.
    pub fn oldest_wal_after(&self, flushed: usize) -> u64 {
        let later = self.imm.iter().skip(flushed).map(|m| m.oldest_log());
        later.fold(self.mem.oldest_log(), u64::min)
    }
}

impl DbState {
    /// What readers of a column family share with those of others; `tables` is the database's.
    pub fn shared_by_readers(&self, tables: &Arc<TableCache>) -> SharedByReaders {
        SharedByReaders {
            tables: tables.clone(),
            empty_ranges: self.empty_ranges.clone(),
            latencies: self.latencies.clone(),
        }
    }

    /// Prevents further background jobs from starting; returns whether that was so already.
    pub fn close(&mut self) -> bool {
        self.running_compactions -= self.forwarded.len();
        self.forwarded.clear();
        std::mem::replace(&mut self.closing, true)
    }

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
