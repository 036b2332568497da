//! A source that ignores requests to keep to a prefix, because its prefixes differ from its
//! caller's.

use whitewater_storage::Result;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator, KeyCursor};

/// A cursor that leaves no entries out, even when it is asked to keep to a prefix.
pub(crate) struct AllPrefixes(pub BoxedIterator);

impl InternalIterator for AllPrefixes {
    fn valid(&self) -> bool {
        self.0.valid()
    }
    fn seek_to_first(&mut self) {
        self.0.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.0.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.0.seek(target);
    }
    fn expect_seek(&mut self, target: &[u8]) {
        self.0.expect_seek(target);
    }
    fn expect_further(&mut self, target: &[u8]) {
        self.0.expect_further(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.0.seek_for_prev(target);
    }
    fn next(&mut self) {
        self.0.next();
    }
    fn prev(&mut self) {
        self.0.prev();
    }
    fn key(&self) -> &[u8] {
        self.0.key()
    }
    fn value(&self) -> &[u8] {
        self.0.value()
    }
    fn status(&self) -> Result<()> {
        self.0.status()
    }
    fn keep_to_prefix(&mut self, _on: bool) {}
    fn keep_within(&mut self, bounds: &Bounds) {
        self.0.keep_within(bounds);
    }
    fn by_key(&mut self) -> Option<&mut dyn KeyCursor> {
        self.0.by_key()
    }
}
