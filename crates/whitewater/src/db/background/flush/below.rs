//! The entries of a memtable up to a number.

use whitewater_storage::Result;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{self, SequenceNumber};

/// An iterator that skips entries with numbers above `last`.
pub(super) struct Below {
    entries: BoxedIterator,
    last: SequenceNumber,
}

impl Below {
    /// The entries with numbers up to `last`.
    pub fn new(entries: BoxedIterator, last: SequenceNumber) -> Self {
        Below { entries, last }
    }

    fn hidden(&self) -> bool {
        self.entries.valid() && key::sequence(self.entries.key()) > self.last
    }

    fn forward(&mut self) {
        while self.hidden() {
            self.entries.next();
        }
    }

    fn backward(&mut self) {
        while self.hidden() {
            self.entries.prev();
        }
    }
}

impl InternalIterator for Below {
    fn valid(&self) -> bool {
        self.entries.valid()
    }
    fn seek_to_first(&mut self) {
        self.entries.seek_to_first();
        self.forward();
    }
    fn seek_to_last(&mut self) {
        self.entries.seek_to_last();
        self.backward();
    }
    fn seek(&mut self, target: &[u8]) {
        self.entries.seek(target);
        self.forward();
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.entries.seek_for_prev(target);
        self.backward();
    }
    fn next(&mut self) {
        self.entries.next();
        self.forward();
    }
    fn prev(&mut self) {
        self.entries.prev();
        self.backward();
    }
    fn key(&self) -> &[u8] {
        self.entries.key()
    }
    fn value(&self) -> &[u8] {
        self.entries.value()
    }
    fn status(&self) -> Result<()> {
        self.entries.status()
    }
}
