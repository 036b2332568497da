//! Keys with timestamps.
//!
//! A user key then ends with a timestamp, and the newest version of a key comes first. An
//! iterator shows either the newest version of each key that is no newer than its own time,
//! under the key without timestamp; or all versions from one time to another, deletions
//! included, each under its internal key, as RocksDB does.

use super::{DbIter, Position};
use std::cmp::Ordering;
use whitewater_storage::key::{SequenceNumber, ValueType, append_internal_key, pack_tag};

/// Which versions an iterator shows.
#[derive(Debug, Clone)]
pub(crate) struct VersionRange {
    /// No version with a newer timestamp is shown.
    pub upto: Vec<u8>,
    /// All versions from this timestamp on are shown; when unset, the newest of each key.
    pub from: Option<Vec<u8>>,
}

/// The version shown, for iterators that show internal keys.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub tag: u64,
    pub internal_key: Vec<u8>,
}

/// Whether an entry is visible, or why it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    Visible,
    /// The sequence number is above the iterator's.
    Unpublished,
    /// Its write was undecided. Older entries of the key, and newer ones, may be visible.
    Undecided,
    /// The timestamp is above the iterator's.
    TooNew,
    /// The timestamp is below the iterator's.
    TooOld,
}

impl DbIter {
    /// Whether the iterator sees an entry.
    #[inline]
    pub(super) fn visibility(&self, user_key: &[u8], seq: SequenceNumber) -> Visibility {
        if seq >= self.visible_below
            && let Some(hidden) = self.hidden(seq)
        {
            return hidden;
        }
        match &self.versions {
            None => Visibility::Visible,
            Some(range) => self.visible_at(range, user_key),
        }
    }

    /// Why an entry with number `seq` is not visible, if its number is the reason.
    #[inline(never)]
    fn hidden(&self, seq: SequenceNumber) -> Option<Visibility> {
        if seq > self.sequence {
            return Some(Visibility::Unpublished);
        }
        let undecided = self.undecided.as_ref();
        let is_undecided = undecided.is_some_and(|ranges| ranges.contains(seq));
        is_undecided.then_some(Visibility::Undecided)
    }

    fn visible_at(&self, range: &VersionRange, user_key: &[u8]) -> Visibility {
        let time = self.time_of(user_key);
        if self
            .comparator
            .compare_timestamps(time, &range.upto)
            .is_gt()
        {
            return Visibility::TooNew;
        }
        match &range.from {
            Some(from) if self.comparator.compare_timestamps(time, from).is_lt() => {
                Visibility::TooOld
            }
            _ => Visibility::Visible,
        }
    }

    fn time_of<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        self.comparator.timestamp(user_key)
    }

    /// Whether each version is shown separately.
    #[inline]
    pub(super) fn shows_all_versions(&self) -> bool {
        self.versions.as_ref().is_some_and(|r| r.from.is_some())
    }

    /// Orders two stored user keys. Keys of which only one is shown are equal.
    #[inline]
    pub(super) fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        match &self.versions {
            None => self.comparator.compare(a, b),
            Some(range) if range.from.is_some() => self.comparator.compare(a, b),
            Some(_) => self.comparator.compare_keys(a, b),
        }
    }

    /// Whether a stored user key is of the key shown, in whatever version.
    #[inline]
    pub(super) fn is_version_of_key(&self, user_key: &[u8]) -> bool {
        self.comparator.compare_keys(user_key, &self.key).is_eq()
    }

    /// Records the version to be shown. `self.key` becomes its user key, whose bytes may differ
    /// from those of its newer versions.
    #[inline]
    pub(super) fn note_version(&mut self, seq: SequenceNumber, ty: ValueType) {
        if self.comparator.is_builtin() {
            return;
        }
        self.shown.tag = pack_tag(seq, ty as u8);
        self.key.clear();
        let stored = self.source.key();
        let user_key = &stored[..stored.len().saturating_sub(size_of::<u64>())];
        self.key.extend_from_slice(user_key);
    }

    /// Builds the internal key that is shown, if one is.
    #[inline]
    pub(super) fn show_internal_key(&mut self) {
        if self.shows_all_versions() && self.position != Position::Nowhere {
            let Shown { tag, internal_key } = &mut self.shown;
            internal_key.clear();
            append_internal_key(internal_key, &self.key, *tag >> 8, *tag as u8);
        }
    }

    /// The key to return to the caller; only while valid.
    #[inline]
    pub(super) fn key_shown(&self) -> &[u8] {
        match &self.versions {
            None => &self.key,
            Some(_) if self.shows_all_versions() => &self.shown.internal_key,
            Some(_) => self.comparator.without_timestamp(&self.key),
        }
    }

    /// The timestamp of the version shown; `None` when not valid, or if keys have no timestamps.
    pub fn timestamp(&self) -> Option<&[u8]> {
        (self.valid() && self.versions.is_some()).then(|| self.time_of(&self.key))
    }
}
