//! Reads a table that was just written, to check that it contains what was passed to it
//! (`paranoid_file_checks`).
//!
//! The blocks of a table have checksums, but these are computed from what the table's writer
//! built. A key or value that changed before, in a buffer, looks sound to them. What is
//! compared here was computed from the entries as they were passed in, when the memtable or the
//! inputs of a compaction had just checked them.

use crate::version::table_cache::open_alone;
use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::internal_iterator::InternalIterator;
use whitewater_storage::key::InternalComparator;
use whitewater_storage::protection::KvSum;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::TableReadOptions;
use whitewater_storage::{Error, Result};

/// The entries in their order, reduced to one number, and the tombstones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Content {
    entries: u64,
    sum: u64,
    tombstones: u64,
}

impl Content {
    /// Adds the next entry.
    pub fn add(&mut self, ikey: &[u8], value: &[u8]) {
        self.entries += 1;
        // The sum is rotated so that the order matters.
        self.sum = self.sum.rotate_left(1) ^ KvSum::of(ikey, value).in_memtable(self.entries);
    }

    /// Adds a range tombstone. The order does not matter.
    pub fn add_tombstone(&mut self, t: &RangeTombstone) {
        let sum = KvSum::of(&t.start, &t.end).in_memtable(t.seq);
        self.tombstones = self.tombstones.wrapping_add(sum);
    }

    /// Reads the whole table at `path` and compares.
    ///
    /// # Errors
    /// `Corruption` if it contains anything else or is damaged; errors of reading.
    pub fn check(
        self,
        fs: &dyn Fs,
        path: &Path,
        number: u64,
        comparator: &InternalComparator,
    ) -> Result<()> {
        let table = open_alone(fs, path, number, comparator)?;
        let mut found = Content::default();
        for t in table.range_tombstones() {
            found.add_tombstone(t);
        }
        let mut entries = table.iter(TableReadOptions {
            fill_cache: false,
            ..TableReadOptions::default()
        });
        entries.seek_to_first();
        while entries.valid() {
            found.add(entries.key(), entries.value());
            entries.next();
        }
        entries.status()?;
        if found != self {
            return Err(Error::corruption(format_args!(
                "the table does not hold the {} entries that were written to it, but others: {}",
                self.entries, found.entries
            ))
            .in_file(path, None));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(&[u8], &[u8])]) -> Content {
        let mut content = Content::default();
        entries.iter().for_each(|(k, v)| content.add(k, v));
        content
    }

    #[test]
    fn content_is_every_byte_and_the_order() {
        let whole = of(&[(b"a", b"1"), (b"b", b"2"), (b"b", b"")]);
        assert_eq!(whole, of(&[(b"a", b"1"), (b"b", b"2"), (b"b", b"")]));
        assert_ne!(whole, of(&[(b"a", b"1"), (b"b", b"2"), (b"c", b"")]));
        assert_ne!(whole, of(&[(b"a", b"1"), (b"b", b"3"), (b"b", b"")]));
        assert_ne!(whole, of(&[(b"b", b"2"), (b"a", b"1"), (b"b", b"")]));
        assert_ne!(whole, of(&[(b"a", b"1"), (b"b", b"2")]));
        // Two equal entries do not cancel out.
        assert_ne!(
            of(&[(b"a", b"1"), (b"a", b"1")]),
            of(&[(b"b", b"1"), (b"b", b"1")])
        );
    }

    #[test]
    fn tombstones_are_compared_in_any_order() {
        let t = |start: &[u8], seq| RangeTombstone {
            start: start.to_vec(),
            end: b"z".to_vec(),
            seq,
        };
        let of = |all: &[RangeTombstone]| {
            let mut content = Content::default();
            all.iter().for_each(|t| content.add_tombstone(t));
            content
        };
        assert_eq!(of(&[t(b"a", 1), t(b"b", 2)]), of(&[t(b"b", 2), t(b"a", 1)]));
        assert_ne!(of(&[t(b"a", 1), t(b"b", 2)]), of(&[t(b"a", 2), t(b"b", 1)]));
        assert_ne!(of(&[t(b"a", 1), t(b"a", 1)]), of(&[]));
    }
}
