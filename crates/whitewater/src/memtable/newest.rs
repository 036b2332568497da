//! The newest number of a key in a memtable.

use super::Memtable;
use whitewater_storage::Result;
use whitewater_storage::key::{
    MAX_SEQUENCE, ParsedKey, SEEK_TYPE, SequenceNumber, pack_tag, parse_internal_key, seek_key,
};

impl Memtable {
    /// The largest sequence number of an entry of `user_key`, given without timestamp, or of a
    /// range tombstone over it, whether it is visible or not; 0 if there is none.
    ///
    /// # Errors
    /// `Corruption` if a range tombstone does not match its checksum.
    pub fn newest_number(&self, user_key: &[u8]) -> Result<SequenceNumber> {
        if !self.has_timestamps() {
            return self.newest_up_to(user_key, MAX_SEQUENCE);
        }
        let user_key = &self.comparator.first_version(user_key);
        // Before the look at the entries: upholds F1 of the filter.
        let question = self.filter.as_ref().map(|f| f.about(user_key));
        let mut newest = match self.tombstones()? {
            Some(fragments) => fragments.max_covering(&self.comparator, user_key, MAX_SEQUENCE),
            None => 0,
        };
        if question.is_none_or(|q| q.may_contain()) {
            self.visit_newest(user_key, |version| newest = newest.max(version.seq))?;
        }
        Ok(newest)
    }

    /// [`newest_number`](Self::newest_number) among the numbers up to `upto`, of a key that has no
    /// timestamp.
    ///
    /// # Errors
    /// `Corruption` if a range tombstone does not match its checksum.
    pub fn newest_up_to(&self, user_key: &[u8], upto: SequenceNumber) -> Result<SequenceNumber> {
        // Before the look at the entries: upholds F1 of the filter.
        let question = self.filter.as_ref().map(|f| f.about(user_key));
        let mut newest = match self.tombstones()? {
            Some(fragments) => fragments.max_covering(&self.comparator, user_key, upto),
            None => 0,
        };
        if question.is_none_or(|q| q.may_contain()) {
            let from = pack_tag(upto, SEEK_TYPE);
            self.rep.get(user_key, from, &mut |tag, _| {
                newest = newest.max(tag >> 8);
                false
            });
        }
        Ok(newest)
    }

    /// Whether the newest version of `key`, which is given without timestamp, or a range tombstone
    /// over it is above `time`, visible or not; `None` if there is neither.
    ///
    /// # Errors
    /// Those of [`newest_number`](Self::newest_number).
    pub fn newer_version(&self, key: &[u8], time: &[u8]) -> Result<Option<bool>> {
        let first = self.comparator.first_version(key);
        let question = self.filter.as_ref().map(|f| f.about(&first));
        let mut newer = None;
        if let Some(fragments) = self.tombstones()? {
            newer = fragments.newer_than(&self.comparator, &first, time);
        }
        if newer != Some(true) && question.is_none_or(|q| q.may_contain()) {
            self.visit_newest(&first, |version| {
                let own = self.comparator.timestamp(version.user_key);
                newer = Some(self.comparator.compare_timestamps(own, time).is_gt());
            })?;
        }
        Ok(newer)
    }

    /// Passes the newest version of a key to `visit`, if there is one. `first` is where its
    /// versions begin.
    fn visit_newest(&self, first: &[u8], visit: impl FnOnce(ParsedKey<'_>)) -> Result<()> {
        let mut entries = self.iter();
        entries.seek(&seek_key(first, MAX_SEQUENCE));
        if entries.valid() {
            let entry = parse_internal_key(entries.key())?;
            if self.comparator.compare_keys(entry.user_key, first).is_eq() {
                visit(entry);
            }
        }
        entries.status()
    }
}
