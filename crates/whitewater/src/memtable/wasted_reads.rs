//! Reads that look into a memtable in vain, for read-triggered compaction.
//!
//! Sampled reads are counted while the memtable is hardly written to. A memtable that writers fill
//! will be full soon, and an earlier flush would only take time from these writers.

use std::sync::atomic::{AtomicU64, Ordering};

/// After so many reads, sixteen sampled look-ups, the count looks at what was written meanwhile.
const WINDOW: u64 = 16 * 1024;

/// The least number of reads to each entry that is added.
const READS_PER_WRITE: u64 = 8;

/// A count of reads.
///
/// All of it is written by sampled reads, and read by them and by the flush, which hands the count
/// to the table. It publishes nothing (relaxed), and is about right if two read at the same time.
#[derive(Debug, Default)]
pub(super) struct WastedReads {
    count: AtomicU64,
    /// The count when the present window began.
    window_count: AtomicU64,
    /// The entries of the memtable then.
    window_entries: AtomicU64,
}

impl WastedReads {
    /// Counts `reads` of a memtable with `entries`. The count begins again if more than one entry
    /// for eight reads was added since the window began.
    pub fn note(&self, reads: u64, entries: u64) {
        let count = self.count.fetch_add(reads, Ordering::Relaxed) + reads;
        let in_window = count.saturating_sub(self.window_count.load(Ordering::Relaxed));
        if in_window < WINDOW {
            return;
        }
        let before = self.window_entries.swap(entries, Ordering::Relaxed);
        let added = entries.saturating_sub(before);
        let is_written = added.saturating_mul(READS_PER_WRITE) > in_window;
        let begins_at = if is_written { 0 } else { count };
        self.window_count.store(begins_at, Ordering::Relaxed);
        if is_written {
            self.count.store(0, Ordering::Relaxed);
        }
    }

    /// The reads since many writes last came to the memtable.
    pub fn get(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of a time without writes had a memtable flushed as soon as writes came.
    #[test]
    fn reads_count_while_the_memtable_is_hardly_written_to() {
        let reads = WastedReads::default();
        // What was written before is seen at the end of the first window.
        (0..16).for_each(|_| reads.note(1024, 100_000));
        assert_eq!(reads.get(), 0);
        (0..64).for_each(|_| reads.note(1024, 100_000));
        assert_eq!(reads.get(), 64 << 10);
        // An entry for eight reads.
        (1..=16).for_each(|i| reads.note(1024, 100_000 + 128 * i));
        assert_eq!(reads.get(), 80 << 10);
        // One more.
        (1..=15).for_each(|i| reads.note(1024, 102_048 + 128 * i));
        reads.note(1024, 104_097);
        assert_eq!(reads.get(), 0);
        // Iterators count for several look-ups.
        (1..=4).for_each(|i| reads.note(12 << 10, 104_097 + i));
        assert_eq!(reads.get(), 48 << 10);
    }
}
