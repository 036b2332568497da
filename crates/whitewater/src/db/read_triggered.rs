//! Read-triggered compaction: how reads ask for one.
//!
//! Sampled reads count for the tables that they look into in vain (`read::sampling`), and for the
//! active memtable. Each of them then looks whether a compaction is worth it by now
//! (`compact::score`), and wakes the threads that compact. A look-up counts where it goes on to an
//! older table. An iterator counts once, when it is made, for each table of level 0 but the oldest
//! source: it merges them all.
//!
//! If it is worth it to compact the memtable as well, the read asks a flush thread to flush it
//! first. Its table takes over what was counted, and reads of the column family ask for no
//! compaction until then.

use super::Engine;
use super::reader::Role;
use super::state::{CfState, DbState};
use super::switch::Due;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::compact::score::{self, ReadMemtable};
use crate::listener::FlushReason;
use crate::panics::{Guarded, caught};
use crate::read::sampling::RATE;
use crate::thread_pools::Priority;
use whitewater_storage::Result;

/// How many look-ups an iterator counts for. It merges a table at each of its steps: for some 50 of
/// them, a table of level 0 costs it 1.3 us, where a look-up in vain costs 0.11.
const ITERATOR_WEIGHT: u64 = 12;

/// Counts a sampled read that goes on from the active memtable of `view` to tables, for `weight`
/// look-ups.
#[cold]
#[inline(never)]
pub(super) fn count_in_memtable(view: &SuperVersion, weight: u64) {
    let has_tables = view.version.levels.iter().any(|files| !files.is_empty());
    if has_tables && !view.mem.is_empty() {
        view.mem.note_wasted_reads(RATE * weight);
    }
}

impl Engine {
    /// Counts a sampled iterator over `view`.
    #[cold]
    #[inline(never)]
    pub(super) fn count_iterator(&self, cf: &ColumnFamilyData, view: &SuperVersion) {
        let levels = &view.version.levels;
        let Some((level0, deeper)) = levels.split_first() else {
            return;
        };
        let has_deeper = deeper.iter().any(|files| !files.is_empty());
        let wasted = level0.len().saturating_sub(usize::from(!has_deeper));
        for file in &level0[..wasted] {
            file.note_wasted_reads(RATE * ITERATOR_WEIGHT);
        }
        count_in_memtable(view, ITERATOR_WEIGHT);
        self.look_for_wasted_reads(cf, view, None);
    }

    /// Wakes the threads that flush, or those that compact, if reads, among others of `user_key`,
    /// have made it worth it for `view`.
    #[cold]
    #[inline(never)]
    pub(super) fn look_for_wasted_reads(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        user_key: Option<&[u8]>,
    ) {
        let options = &view.options;
        if options.disable_auto_compactions || !matches!(self.role, Role::Primary) {
            return;
        }
        if view.memtables().any(|mem| mem.asks_for_flush()) {
            return; // its table is compacted with the others
        }
        let (version, user) = (&view.version, &cf.comparator.user);
        let memtable = ReadMemtable {
            wasted_reads: view.mem.wasted_reads(),
            bytes: view.mem.entry_bytes() as u64,
            key_span: &|| view.mem.key_span(),
        };
        if self.may_flush_for_reads(view) && score::flush_is_due(version, options, user, &memtable)
        {
            view.mem.ask_for_flush(true);
            self.background.work.wake(Priority::High);
        } else if score::is_due_around(version, options, user, user_key) {
            self.background.ask_for_reads();
        }
    }

    /// Whether the active memtable of `view` may be flushed for reads. Where another one waits for
    /// its flush, there will be more tables first. Atomic flushes would make tables of memtables
    /// that nobody reads.
    fn may_flush_for_reads(&self, view: &SuperVersion) -> bool {
        view.imm.is_empty() && !self.options.atomic_flush && !self.wal_is_locked()
    }

    /// Requests the flush of memtables that were to be flushed for reads and that writers have
    /// retired since.
    pub(super) fn flush_retired_for_reads(state: &mut DbState) {
        let asks = |cf: &&mut CfState| cf.imm.iter().any(|mem| mem.asks_for_flush());
        for cf in state.cfs.values_mut().filter(asks) {
            if !cf.flushing && !cf.wants_flush() {
                cf.request_flush(FlushReason::AutoCompaction);
            }
        }
    }

    /// A column family whose active memtable is to be flushed for reads, if there is one. The
    /// caller retires it; one thread does that at a time.
    pub(super) fn asked_by_reads(state: &mut DbState) -> Option<u32> {
        if state.retires_for_reads {
            return None;
        }
        let mut families = state.cfs.values();
        let asked = families.find(|cf| cf.mem.asks_for_flush())?.data.id;
        state.retires_for_reads = true;
        Some(asked)
    }

    /// Retires the active memtable of column family `id` for reads, called by a flush thread
    /// without locks. If that fails, reads ask again, unless the failure stops the database.
    pub(super) fn flush_for_reads(&self, id: u32) {
        // The thread must survive, for the flushes of a resumed database.
        let retired = caught(Guarded::Job, || self.retire_for_reads(id));
        if let Err(e) = retired {
            self.info_log.warn(&format!("no flush for reads: {e}"));
        }
        let mut state = self.state.lock();
        state.retires_for_reads = false;
        if let Some(cf) = state.cfs.get(&id) {
            cf.mem.ask_for_flush(false);
        }
    }

    fn retire_for_reads(&self, id: u32) -> Result<()> {
        if self.wal_is_locked() {
            return Ok(());
        }
        let switching = self.switching()?;
        {
            // Others may have switched meanwhile.
            let state = self.lock_state();
            Self::check_healthy(&state)?;
            let asks = |cf: &CfState| cf.mem.asks_for_flush() && cf.imm.is_empty();
            if state.closing || !state.cfs.get(&id).is_some_and(asks) {
                return Ok(());
            }
        }
        let due = Due::from([(id, FlushReason::AutoCompaction)]);
        self.switch_memtables(&switching, due)
    }
}
