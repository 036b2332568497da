//! Limits how much of the level below its own a table overlaps.
//!
//! When a table that overlaps much of the next level is compacted, all of that must be
//! compacted with it. So a table ends early, as soon as its own size and the files of that
//! level that it has passed reach `max_compaction_bytes`.

use crate::version::TableFile;
use std::sync::Arc;
use whitewater_storage::key::InternalComparator;

/// Counts the bytes of the next level's files that a growing table overlaps.
pub(super) struct Grandparents<'a> {
    comparator: &'a InternalComparator,
    /// The remaining files in key order. The first of them does not end before the current key.
    rest: &'a [Arc<TableFile>],
    limit: u64,
    /// Whether a key was seen. Files that are passed from then on are overlapped.
    started: bool,
    /// The size of the files that the table has passed. Bytes.
    overlapped: u64,
    /// Whether, since the table was begun, it has passed a file that made the limit exceeded.
    due: bool,
}

impl<'a> Grandparents<'a> {
    /// `files` are the files of the level below the output, in key order.
    pub fn new(
        comparator: &'a InternalComparator,
        files: &'a [Arc<TableFile>],
        limit: u64,
    ) -> Self {
        Grandparents {
            comparator,
            rest: files,
            limit,
            started: false,
            overlapped: 0,
            due: false,
        }
    }

    /// Whether a table of `size` bytes should end before the internal key `key`. Keys come in
    /// order.
    pub fn end_before(&mut self, key: &[u8], size: u64) -> bool {
        let mut left = false;
        while let [first, rest @ ..] = self.rest
            && self.comparator.compare(key, &first.meta.largest).is_gt()
        {
            if self.started {
                self.overlapped = self.overlapped.saturating_add(first.meta.size);
                left = true;
            }
            self.rest = rest;
        }
        self.started = true;
        self.due |= left && self.overlapped.saturating_add(size) > self.limit;
        self.due
    }

    /// Starts over for the next table.
    pub fn restart(&mut self) {
        self.overlapped = 0;
        self.due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::table_file;
    use whitewater_storage::key::{ValueType, internal_key};

    fn key(user: &str) -> Vec<u8> {
        internal_key(user.as_bytes(), 7, ValueType::Value)
    }

    #[test]
    fn a_table_ends_where_it_overlaps_too_much() {
        let comparator = InternalComparator::default();
        let file = |number, first: &str, last: &str, size| {
            let mut file = table_file(number, &key(first), &key(last));
            Arc::get_mut(&mut file).unwrap().meta.size = size;
            file
        };
        let files = [
            file(1, "a", "b", 100),
            file(2, "c", "d", 60),
            file(3, "e", "f", 60),
            file(4, "g", "h", 10),
        ];
        let mut overlap = Grandparents::new(&comparator, &files, 100);
        // Files before the first key do not count.
        assert!(!overlap.end_before(&key("bb"), 0));
        assert!(!overlap.end_before(&key("d"), 10));
        assert!(!overlap.end_before(&key("dd"), 10));
        // 60 bytes were passed, and the table has 41 bytes, but no file ends here.
        assert!(!overlap.end_before(&key("e"), 41));
        assert!(overlap.end_before(&key("g"), 0));
        // This holds until the next table is begun.
        assert!(overlap.end_before(&key("g"), 0));
        overlap.restart();
        assert!(!overlap.end_before(&key("g"), 0));
        assert!(!overlap.end_before(&key("i"), 10));
        assert!(!overlap.end_before(&key("z"), 1 << 40));
    }
}
