//! How the index blocks of a table are encoded.

use crate::key::TAG_SIZE;
use crate::sst::format::block::{Cursor, EntryLayout};

/// The encoding of a table's index blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexFormat {
    pub(crate) layout: EntryLayout,
    /// Keys are user keys, without tags.
    pub(crate) user_keys: bool,
    /// Entries of the top block point to index blocks, not to data blocks.
    pub(crate) partitioned: bool,
}

impl IndexFormat {
    /// A cursor over one index block, with `buf` as its key buffer.
    pub(crate) fn cursor(self, buf: Vec<u8>) -> Cursor {
        let min_key = if self.user_keys { 0 } else { TAG_SIZE };
        Cursor::with_buffer(self.layout, min_key, buf)
    }
}
