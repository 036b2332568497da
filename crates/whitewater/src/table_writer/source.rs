//! The input of a job: the entries of a merged stream within a part of the keys, counted, until
//! the job is cancelled.

use super::blob_flow::BlobFlow;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::{InternalComparator, MAX_SEQUENCE, seek_key, user_key};
use whitewater_storage::planted;
use whitewater_storage::{Error, ErrorKind, Result};

/// The number of entries between two looks at the flags that end a job.
const CANCEL_INTERVAL: u64 = 1024;

/// The user keys from `from` on, up to but not including `to`; `None` is unbounded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part<'a> {
    pub from: Option<&'a [u8]>,
    pub to: Option<&'a [u8]>,
}

/// A cursor that moves forward over a part of a merged stream.
pub(crate) struct Source<'a> {
    entries: BoxedIterator,
    comparator: &'a InternalComparator,
    part: Part<'a>,
    /// Any of these flags ends the job.
    /// Written by: other threads. Read by: this one (relaxed, because nothing else is read on
    /// account of it).
    cancel: [&'a AtomicBool; 2],
    cancelled: bool,
    consumed: u64,
    /// The size of the consumed entries' keys and values. Bytes.
    bytes: u64,
    /// The blobs that consumed entries refer to, if these are counted.
    blobs: Option<BlobFlow>,
    /// The error of an entry whose blobs cannot be counted.
    failure: Option<Error>,
    valid: bool,
}

impl<'a> Source<'a> {
    /// The entries of `entries` within `part`, until one of `cancel` is set.
    pub fn new(
        entries: BoxedIterator,
        comparator: &'a InternalComparator,
        part: Part<'a>,
        cancel: [&'a AtomicBool; 2],
    ) -> Self {
        Source {
            entries,
            comparator,
            part,
            cancel,
            cancelled: false,
            consumed: 0,
            bytes: 0,
            blobs: None,
            failure: None,
            valid: false,
        }
    }

    /// The same source, which counts the blobs that its entries refer to.
    #[must_use]
    pub fn counting_blobs(mut self, counts: bool) -> Self {
        self.blobs = counts.then(BlobFlow::default);
        self
    }

    /// Moves to the first entry of the part.
    pub fn seek_to_first(&mut self) {
        match self.part.from {
            None => self.entries.seek_to_first(),
            Some(from) => self.entries.seek(&seek_key(from, MAX_SEQUENCE)),
        }
        planted!(PartBoundaryLost => if self.part.from.is_some() { self.entries.next() });
        self.look();
    }

    /// Whether there is an entry.
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// The internal key; only while valid.
    pub fn key(&self) -> &[u8] {
        self.entries.key()
    }

    /// The value; only while valid.
    pub fn value(&self) -> &[u8] {
        self.entries.value()
    }

    /// Whether the entry comes from a block that was cached; only while valid.
    pub fn is_cached(&self) -> bool {
        self.entries.is_cached()
    }

    /// Moves to the next entry; only while valid.
    pub fn next(&mut self) {
        self.consumed += 1;
        self.bytes += (self.entries.key().len() + self.entries.value().len()) as u64;
        if let Some(blobs) = &mut self.blobs
            && let Err(e) = blobs.see(self.entries.key(), self.entries.value())
        {
            self.failure = Some(e);
            self.valid = false;
            return;
        }
        self.entries.next();
        self.look();
    }

    /// The number of entries consumed so far; all of the part at the end.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The size of the consumed entries' keys and values. Bytes.
    pub fn consumed_bytes(&self) -> u64 {
        self.bytes
    }

    /// The blobs that consumed entries refer to, if they are counted.
    pub fn blobs(&self) -> Option<&BlobFlow> {
        self.blobs.as_ref()
    }

    /// The reason why there is no entry, unless it is the end of the part.
    ///
    /// # Errors
    /// Errors of the stream; `ShutdownInProgress` when the job was cancelled.
    pub fn status(&self) -> Result<()> {
        if self.cancelled {
            return Err(cancelled());
        }
        if let Some(e) = &self.failure {
            return Err(e.clone());
        }
        self.entries.status()
    }

    fn look(&mut self) {
        if self.consumed.is_multiple_of(CANCEL_INTERVAL)
            && self.cancel.iter().any(|flag| flag.load(Relaxed))
        {
            self.cancelled = true;
        }
        self.valid = !self.cancelled && self.entries.valid() && self.within();
    }

    /// Whether the stream's entry is before the end of the part.
    fn within(&self) -> bool {
        let Some(to) = self.part.to else { return true };
        // It is left to the reader to refuse keys that cannot be parsed.
        let key = self.entries.key();
        key.len() < 8 || self.comparator.compare_user(user_key(key), to) == Ordering::Less
    }
}

/// The error of a job that was cancelled.
pub(super) fn cancelled() -> Error {
    Error::new(ErrorKind::ShutdownInProgress, "the job was cancelled")
}
