//! Estimates of the positions of keys in a table, and of the amount of data between them.

use crate::error::Result;
use crate::key::user_key;
use crate::sst::options::read_options::{BlockReadOptions, TableReadOptions};
use crate::sst::read::index_cursor::IndexCursor;
use crate::sst::read::table::Table;

impl Table {
    /// Approximately how many bytes of the file precede the internal key `target`.
    pub fn approximate_offset_of(&self, target: &[u8]) -> u64 {
        let read_options = BlockReadOptions::from(TableReadOptions::default());
        let mut index = IndexCursor::new(self, read_options, Vec::new());
        match index.seek(self, target) {
            Ok(()) if index.valid() => index.handle().offset,
            _ => self.data_end,
        }
    }

    /// User keys, ascending, that divide the table's data into up to `count` parts of similar
    /// size. Each comes with the size of its part: the bytes of the file that the data blocks after
    /// the key before it take. No entry of these blocks is greater than the key.
    ///
    /// # Errors
    /// Errors of reading the index.
    pub fn anchors(&self, count: usize) -> Result<Vec<(Vec<u8>, u64)>> {
        let read_options = BlockReadOptions::from(TableReadOptions::default());
        let mut index = IndexCursor::new(self, read_options, Vec::new());
        let step = (self.data_end / count.max(1) as u64).max(1);
        let mut anchors = Vec::new();
        let mut last = Vec::new();
        let (mut start, mut end) = (0u64, 0);
        index.seek_to_first(self)?;
        while index.valid() {
            let handle = index.handle();
            let key = if self.index_format.user_keys {
                index.key(self)
            } else {
                user_key(index.key(self))
            };
            last.clear();
            last.extend_from_slice(key);
            // A damaged handle may lie anywhere.
            end = handle.end().unwrap_or(end).max(end);
            if end - start >= step {
                anchors.push((last.clone(), end - start));
                start = end;
            }
            index.next(self)?;
        }
        if end > start {
            anchors.push((last, end - start));
        }
        Ok(anchors)
    }
}
