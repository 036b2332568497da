//! Read-triggered compaction: how reads ask for one.
//!
//! Sampled reads count for the tables that they look into in vain (`read::sampling`), and for the
//! active memtable. Each of them then looks whether a compaction is worth it by now
//! (`compact::score`), and wakes the threads that compact. A look-up counts where it goes on to an
//! older table. An iterator counts once, when it is made, for each table of level 0 but the oldest
//! source: it merges them all.
//!
//! If it is worth it to compact the memtable as well, it is flushed first, by a flush thread. Its
//! table takes over what was counted, so that the compaction is due then.

use super::Engine;
use super::reader::Role;
use super::state::DbState;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::compact::score::{self, ReadMemtable};
use crate::listener::FlushReason;
use crate::panics::{Guarded, caught};
use crate::read::sampling::RATE;
use crate::thread_pools::Priority;

/// How many look-ups an iterator counts for. It merges a table at each of its steps: for some 50 of
/// them, a table of level 0 costs it 1.3 us, where a look-up in vain costs 0.11.
const ITERATOR_WEIGHT: u64 = 12;

/// Counts a sampled read that looks into the active memtable of `view` in vain, for `weight`
/// look-ups.
#[cold]
#[inline(never)]
pub(super) fn count_in_memtable(view: &SuperVersion, weight: u64) {
    if !view.mem.is_empty() {
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
        if has_deeper || !level0.is_empty() {
            count_in_memtable(view, ITERATOR_WEIGHT);
        }
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
        let (version, user) = (&view.version, &cf.comparator.user);
        let memtable = ReadMemtable {
            wasted_reads: view.mem.wasted_reads(),
            bytes: view.mem.memory_usage() as u64,
            key_span: &|| view.mem.key_span(),
        };
        // Where another memtable waits for its flush, there will be more tables first.
        if view.imm.is_empty() && score::flush_is_due(version, options, user, &memtable) {
            if view.mem.ask_for_flush() {
                self.background.work.wake(Priority::High);
            }
        } else if score::is_due_around(version, options, user, user_key) {
            self.background.ask_for_reads();
        }
    }

    /// A column family whose active memtable reads have asked to flush, if there is one. The caller
    /// answers.
    pub(super) fn asked_by_reads(state: &DbState) -> Option<u32> {
        let mut families = state.cfs.values();
        let asks = families.find(|cf| cf.mem.is_asked_for_flush() && cf.imm.is_empty())?;
        Some(asks.data.id)
    }

    /// Retires the active memtable of column family `id`, called by a flush thread without locks.
    /// If that fails, or the log is locked, reads ask again.
    pub(super) fn flush_for_reads(&self, id: u32) {
        if self.wal_is_locked() {
            return;
        }
        // The thread must survive, for the flushes of a resumed database.
        let switched = caught(Guarded::Job, || {
            let switching = self.switching()?;
            let ids = self.with_others(vec![id]).into_iter();
            let due = ids.map(|id| (id, FlushReason::AutoCompaction)).collect();
            self.switch_memtables(&switching, due)
        });
        if let Err(e) = switched {
            self.info_log.warn(&format!("no flush for reads: {e}"));
        }
    }
}
