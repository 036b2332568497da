//! Picks of FIFO compaction: whole files are deleted, the oldest first.

use super::{Compaction, Files, Moment, Picker};
use crate::compact::reason::CompactionReason;
use crate::compact::score::expired_tail;
use crate::version::{TableFile, total_bytes};
use std::sync::Arc;

impl Picker<'_> {
    /// Picks files that are too old, if deleting them is enough. Otherwise picks the oldest files
    /// until the rest is small enough. One such compaction runs at a time.
    pub(super) fn fifo(&self, moment: &Moment) -> Option<Compaction> {
        let files = || self.version.levels.iter().flatten();
        if files().any(|f| f.being_compacted()) {
            return None;
        }
        let limit = self.options.compaction_options_fifo.max_table_files_size;
        let total: u64 = files().map(|f| f.meta.size).sum();
        self.too_old(total, limit, moment)
            .or_else(|| self.too_much(total, limit))
            .or_else(|| self.small_files(total, limit))
    }

    fn too_old(&self, total: u64, limit: u64, moment: &Moment) -> Option<Compaction> {
        let level0 = &self.version.levels[0];
        let old = expired_tail(self.version, self.options, moment);
        let old = level0[level0.len() - old..].to_vec();
        let enough = total - total_bytes(&old) <= limit;
        (!old.is_empty() && enough)
            .then(|| self.deletion(0, old, CompactionReason::FifoTtl))
            .flatten()
    }

    fn too_much(&self, total: u64, limit: u64) -> Option<Compaction> {
        if total <= limit {
            return None;
        }
        // Files in deeper levels come from another compaction style, and are deleted first.
        let level = self.version.last_level();
        let files = &self.version.levels[level];
        let mut rest = total;
        let mut go = |f: &&Arc<TableFile>| {
            let goes = rest > limit;
            rest = rest.saturating_sub(f.meta.size);
            goes
        };
        let victims = match level {
            0 => files[files.len() - files.iter().rev().take_while(&mut go).count()..].to_vec(),
            _ => files.iter().take_while(&mut go).cloned().collect(),
        };
        self.deletion(level, victims, CompactionReason::FifoMaxSize)
    }

    /// With `allow_compaction`: picks files that are hardly larger than a memtable. Larger files
    /// are left alone, because merged they would stay longer than they should.
    fn small_files(&self, total: u64, limit: u64) -> Option<Compaction> {
        let merges = self.options.compaction_options_fifo.allow_compaction;
        if !merges || total > limit || self.version.last_level() > 0 {
            return None;
        }
        let trigger = self.options.level0_file_num_compaction_trigger.max(2) as usize;
        let memtable = (self.options.write_buffer_size as f64 * 1.1) as u64;
        let files = self.level0_span(trigger, memtable)?;
        self.finish(vec![(0, files)], 0, CompactionReason::FifoReduceNumFiles)
    }

    fn deletion(&self, level: usize, files: Files, reason: CompactionReason) -> Option<Compaction> {
        let mut picked = self.finish(vec![(level, files)], level, reason)?;
        picked.deletes = true;
        Some(picked)
    }
}
