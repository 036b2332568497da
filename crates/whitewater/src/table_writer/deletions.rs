//! Finds tables that have so many deletions that they should be compacted soon: RocksDB's
//! `CompactOnDeletionCollector`.

use crate::options::compaction::DeletionTrigger;
use whitewater_storage::key::ValueType;

/// The number of parts that the window is divided into. It moves on by one part at a time.
const BUCKETS: usize = 128;

/// Watches the entries of one table, in order.
#[derive(Debug)]
pub(crate) struct DeletionWatch {
    watches: Vec<Watch>,
}

impl DeletionWatch {
    /// A watch for any of `triggers`.
    pub fn new(triggers: &[DeletionTrigger]) -> Self {
        DeletionWatch {
            watches: triggers.iter().map(|t| Watch::new(*t)).collect(),
        }
    }

    /// Records the next entry, given the tag byte of its type.
    pub fn see(&mut self, value_type: u8) {
        let deletion = value_type == ValueType::Deletion as u8
            || value_type == ValueType::SingleDeletion as u8;
        for watch in self.watches.iter_mut().filter(|watch| !watch.reached) {
            watch.see(deletion);
        }
    }

    /// Whether the table should be compacted, once all entries were seen and it has `size` bytes.
    pub fn needs_compaction(&self, size: u64) -> bool {
        let large = |watch: &&Watch| size >= watch.trigger.min_file_size;
        let mut watches = self.watches.iter().filter(large);
        watches.any(|watch| watch.reached || watch.ratio_is_reached())
    }
}

/// The state of one trigger.
#[derive(Debug)]
struct Watch {
    trigger: DeletionTrigger,
    /// The number of entries per bucket; 0 turns the window off.
    bucket_size: usize,
    /// The number of deletions per bucket, as a ring.
    buckets: [usize; BUCKETS],
    current: usize,
    /// The number of entries in the current bucket.
    filled: usize,
    /// The number of deletions in all buckets.
    in_window: usize,
    /// There were too many deletions in a window: further entries do not matter.
    reached: bool,
    entries: u64,
    deletions: u64,
}

impl Watch {
    fn new(trigger: DeletionTrigger) -> Self {
        Watch {
            trigger,
            bucket_size: trigger.window_size.div_ceil(BUCKETS),
            buckets: [0; BUCKETS],
            current: 0,
            filled: 0,
            in_window: 0,
            reached: false,
            entries: 0,
            deletions: 0,
        }
    }

    /// Records the next entry.
    fn see(&mut self, deletion: bool) {
        self.entries += 1;
        self.deletions += u64::from(deletion);
        if self.bucket_size == 0 {
            return;
        }
        if self.filled == self.bucket_size {
            self.current = (self.current + 1) % BUCKETS;
            self.in_window -= std::mem::take(&mut self.buckets[self.current]);
            self.filled = 0;
        }
        self.filled += 1;
        if deletion {
            self.in_window += 1;
            self.buckets[self.current] += 1;
        }
        self.reached = deletion && self.in_window >= self.trigger.num_dels_trigger;
    }

    fn ratio_is_reached(&self) -> bool {
        let ratio = self.trigger.deletion_ratio;
        let enabled = ratio > 0.0 && ratio <= 1.0 && self.entries > 0;
        enabled && self.deletions as f64 / self.entries as f64 >= ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a table of these entries (`d` is a deletion) is marked for compaction.
    fn marked(window_size: usize, num_dels_trigger: usize, ratio: f64, entries: &str) -> bool {
        let mut watch = DeletionWatch::new(&[DeletionTrigger {
            window_size,
            num_dels_trigger,
            deletion_ratio: ratio,
            min_file_size: 1000,
        }]);
        for byte in entries.bytes() {
            watch.see(match byte {
                b'd' => ValueType::Deletion as u8,
                b's' => ValueType::SingleDeletion as u8,
                _ => ValueType::Value as u8,
            });
        }
        let marked = watch.needs_compaction(1000);
        assert!(!watch.needs_compaction(999), "too small");
        marked
    }

    #[test]
    fn deletions_in_a_window_are_counted() {
        assert!(marked(128, 3, 0.0, "vvdvsvvd"));
        assert!(!marked(128, 4, 0.0, "vvdvsvvd"));
        assert!(!marked(0, 1, 0.0, "ddd"));
        // Deletions that have left the window no longer count.
        let far = format!("dd{}dd", "v".repeat(126));
        assert!(!marked(128, 4, 0.0, &format!("dd{}d", "v".repeat(200))));
        assert!(!marked(128, 4, 0.0, &far));
        assert!(marked(256, 4, 0.0, &far));
    }

    #[test]
    fn the_ratio_counts_the_whole_table() {
        assert!(marked(0, 0, 0.5, "vdvd"));
        assert!(!marked(0, 0, 0.6, "vdvd"));
        assert!(!marked(0, 0, 0.5, ""));
        for off in [0.0, -1.0, 1.1] {
            assert!(!marked(0, 0, off, "dddd"), "{off}");
        }
        assert!(!DeletionWatch::new(&[]).needs_compaction(u64::MAX));
    }
}
