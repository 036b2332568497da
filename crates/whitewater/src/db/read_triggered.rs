//! Read-triggered compaction: how reads ask for one.
//!
//! Sampled reads count for the tables that they look into in vain (`read::sampling`). Each of them
//! then looks whether a compaction is worth it by now (`compact::score`), and wakes the threads
//! that compact. A look-up counts where it goes on to an older table. An iterator counts once, when
//! it is made, for each table of level 0 but the oldest source: it merges them all.

use super::Engine;
use super::reader::Role;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::compact::score;
use crate::read::sampling::RATE;

/// How many look-ups an iterator counts for. It merges a table at each of its steps: for some 50 of
/// them, a table of level 0 costs it 1.3 us, where a look-up in vain costs 0.11.
const ITERATOR_WEIGHT: u64 = 12;

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
        self.look_for_wasted_reads(cf, view, None);
    }

    /// Wakes the threads that compact if reads, among others of `user_key`, have made a compaction
    /// of `view` worth it.
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
        if score::is_due_around(&view.version, options, &cf.comparator.user, user_key) {
            self.background.ask_for_reads();
        }
    }
}
