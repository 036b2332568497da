//! An iterator without entries.

use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::{Error, Result};

/// An iterator without entries. Making it takes no memory.
pub(super) fn nothing() -> BoxedIterator {
    Box::new(Nothing(|| Ok(())))
}

/// An iterator without entries whose status is `error`. A caller gets it when the sources could
/// not be opened.
pub(crate) fn failed_iterator(error: Error) -> BoxedIterator {
    Box::new(Nothing(move || Err(error.clone())))
}

/// No entries, and what tells the status.
struct Nothing<S>(S);

impl<S: Fn() -> Result<()> + Send + Sync> InternalIterator for Nothing<S> {
    fn valid(&self) -> bool {
        false
    }
    fn seek_to_first(&mut self) {}
    fn seek_to_last(&mut self) {}
    fn seek(&mut self, _: &[u8]) {}
    fn seek_for_prev(&mut self, _: &[u8]) {}
    fn next(&mut self) {}
    fn prev(&mut self) {}
    fn key(&self) -> &[u8] {
        &[]
    }
    fn value(&self) -> &[u8] {
        &[]
    }
    fn status(&self) -> Result<()> {
        (self.0)()
    }
}
