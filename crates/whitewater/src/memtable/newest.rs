//! The newest number of a key in a memtable.

use super::Memtable;
use whitewater_storage::Result;
use whitewater_storage::key::{MAX_SEQUENCE, SEEK_TYPE, SequenceNumber, pack_tag};

impl Memtable {
    /// The largest sequence number of an entry of `user_key`, or of a range tombstone over it,
    /// whether it is visible or not; 0 if there is none.
    ///
    /// # Errors
    /// `Corruption` if a range tombstone does not match its checksum.
    pub fn newest_number(&self, user_key: &[u8]) -> Result<SequenceNumber> {
        // Before the look at the entries: upholds F1 of the filter.
        let question = self.filter.as_ref().map(|f| f.about(user_key));
        let mut newest = match self.tombstones()? {
            Some(fragments) => fragments.max_covering(&self.comparator, user_key, MAX_SEQUENCE),
            None => 0,
        };
        if question.is_some_and(|q| !q.may_contain()) {
            return Ok(newest);
        }
        let from = pack_tag(MAX_SEQUENCE, SEEK_TYPE);
        self.rep.get(user_key, from, &mut |tag, _| {
            newest = newest.max(tag >> 8);
            false
        });
        Ok(newest)
    }
}
