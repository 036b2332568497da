//! Checksums of the entries in a memtable (`memtable_protection_bytes_per_key`).
//!
//! A checksum over user key, sequence number, type and value is appended to the value that
//! the representation stores, and checked and removed whenever an entry is read: by
//! look-ups, iterators and flushes. So it works with every representation, is part of its
//! memory, and costs nothing when it is off. It is derived from the checksum that the
//! entry had in its batch, if that was protected, and else computed from the batch's
//! bytes. Its low bytes are kept ([`KvSum::in_memtable`]).

use super::rep::Entry;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{SequenceNumber, tag, user_key};
use whitewater_storage::protection::KvSum;
use whitewater_storage::{Error, Result};

use std::fmt::Write as _;
use std::sync::Arc;

/// The most bytes of a key that a message shows.
const SHOWN: usize = 32;

/// The bytes of an entry's checksum, 0 to 8; 0 is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Protection(usize);

impl Protection {
    /// Checksums of `bytes` bytes: 0, 1, 2, 4 or 8, which options are checked for.
    pub fn new(bytes: u32) -> Self {
        debug_assert!(matches!(bytes, 0 | 1 | 2 | 4 | 8));
        Protection((bytes as usize).min(8))
    }

    /// Whether entries have checksums.
    pub fn is_on(self) -> bool {
        self.0 > 0
    }

    /// Bytes that [`Protection::append`] adds to a value.
    pub fn bytes(self) -> usize {
        self.0
    }

    /// Appends the value of `entry` and its checksum to `out`. The checksum is derived from
    /// `sum`, or computed from the entry's own bytes, before the value is copied: a wrong
    /// copy is then noticed.
    pub fn append(self, entry: &Entry<'_>, sum: Option<KvSum>, out: &mut Vec<u8>) {
        let sum = sum.unwrap_or_else(|| KvSum::of(entry.user_key, entry.value));
        let sum = sum.in_memtable(entry.tag).to_le_bytes();
        out.extend_from_slice(entry.value);
        out.extend_from_slice(&sum[..self.0]);
    }

    /// The value in `stored`; `None` if the checksum does not match.
    pub fn open<'a>(self, user_key: &[u8], tag: u64, stored: &'a [u8]) -> Option<&'a [u8]> {
        if !self.is_on() {
            return Some(stored);
        }
        let (value, sum) = stored.split_at_checked(stored.len().checked_sub(self.0)?)?;
        let expected = KvSum::of(user_key, value).in_memtable(tag).to_le_bytes();
        (expected[..self.0] == *sum).then_some(value)
    }
}

/// The error for an entry whose checksum does not match.
#[cold]
pub(super) fn mismatch(family: &str, user_key: &[u8], seq: SequenceNumber) -> Error {
    let mut key = String::new();
    for byte in user_key.iter().take(SHOWN) {
        // Writing to a string does not fail.
        let _ = write!(key, "{byte:02x}");
    }
    let more = if user_key.len() > SHOWN { "..." } else { "" };
    Error::corruption(format_args!(
        "checksum mismatch in the memtable of column family [{family}]: \
         key 0x{key}{more} ({} bytes), sequence number {seq}",
        user_key.len()
    ))
}

/// A memtable's cursor that checks each entry it is positioned at, and shows the values
/// without their checksums. It moves version by version, so that it checks each of them.
/// After a mismatch it is invalid, with an error as its status, until it is positioned
/// again.
pub(super) struct Verified {
    inner: BoxedIterator,
    protection: Protection,
    family: Arc<str>,
    failure: Option<Error>,
}

impl Verified {
    pub fn new(inner: BoxedIterator, protection: Protection, family: Arc<str>) -> Self {
        Verified {
            inner,
            protection,
            family,
            failure: None,
        }
    }

    fn check(&mut self) {
        self.failure = None;
        if !self.inner.valid() {
            return;
        }
        let key = self.inner.key();
        let (user_key, tag) = (user_key(key), tag(key));
        if self
            .protection
            .open(user_key, tag, self.inner.value())
            .is_none()
        {
            self.failure = Some(mismatch(&self.family, user_key, tag >> 8));
        }
    }
}

impl InternalIterator for Verified {
    fn valid(&self) -> bool {
        self.failure.is_none() && self.inner.valid()
    }
    fn seek_to_first(&mut self) {
        self.inner.seek_to_first();
        self.check();
    }
    fn seek_to_last(&mut self) {
        self.inner.seek_to_last();
        self.check();
    }
    fn seek(&mut self, target: &[u8]) {
        self.inner.seek(target);
        self.check();
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.inner.seek_for_prev(target);
        self.check();
    }
    fn next(&mut self) {
        self.inner.next();
        self.check();
    }
    fn prev(&mut self) {
        self.inner.prev();
        self.check();
    }
    fn key(&self) -> &[u8] {
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        let stored = self.inner.value();
        &stored[..stored.len().saturating_sub(self.protection.bytes())]
    }
    fn keep_to_prefix(&mut self, on: bool) {
        self.inner.keep_to_prefix(on);
    }
    fn release(&mut self) -> bool {
        self.failure = None;
        self.inner.release()
    }
    fn status(&self) -> Result<()> {
        self.failure
            .clone()
            .map_or_else(|| self.inner.status(), Err)
    }
}
