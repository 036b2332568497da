//! Memtables that hold what is left of others, once garbage was collected from these.

use super::Memtable;
use crate::memtable::Home;
use crate::options::CfOptions;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use whitewater_storage::planted;

impl Memtable {
    /// An empty memtable for what is left of `others`, which are not empty and oldest first. It
    /// [stands for](Self::stand_for) them once it is complete.
    pub fn for_rest_of(others: &[Arc<Self>], options: &CfOptions, home: Home<'_>) -> Arc<Self> {
        let first = others.first().map_or(0, |m| m.wal_number());
        let last = others.last().map_or(0, |m| m.id);
        Memtable::new(options, home, first, last)
    }

    /// Makes it a purged memtable that takes the place of `others`, no write of which is under
    /// way: it keeps the logs that they keep, since nothing else has what is in them. Called under
    /// the database mutex, before others see it.
    pub fn stand_for(&self, others: &[Arc<Self>]) {
        let mut kept = others;
        planted!(PurgedLogsLetGo => kept = &kept[kept.len() - 1..]);
        let oldest = kept.iter().map(|m| m.wal_number()).min();
        self.wal_number
            .store(oldest.unwrap_or_default(), Ordering::Relaxed);
        kept.iter()
            .for_each(|m| self.keep_section(m.oldest_section()));
        let last = others.iter().map(|m| m.last_number()).max();
        self.retire(last.unwrap_or_default());
        self.purged.store(true, Ordering::Relaxed);
    }

    /// Whether it was purged.
    pub fn is_purged(&self) -> bool {
        self.purged.load(Ordering::Relaxed)
    }

    /// Whether garbage can be collected from it: everything in it is visible, versions stay as
    /// they were written, and older ones are not kept for their timestamps.
    pub fn can_be_purged(&self) -> bool {
        self.horizon() == u64::MAX && self.values.is_none() && !self.has_timestamps()
    }
}
