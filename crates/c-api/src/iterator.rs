//! Iterators.

use crate::border::Result;
use crate::held::Held;
use whitewater::{DBAccess, DBRawIteratorWithThreadMode, WideColumn, WriteBatchWithIndex};

/// An iterator over a database or a transaction of any kind.
pub trait Cursor {
    fn valid(&self) -> bool;
    fn status(&self) -> Result<()>;
    fn refresh(&mut self) -> Result<()>;
    fn seek_to_first(&mut self);
    fn seek_to_last(&mut self);
    fn seek(&mut self, key: &[u8]);
    fn seek_for_prev(&mut self, key: &[u8]);
    fn next(&mut self);
    fn prev(&mut self);
    fn key(&self) -> Option<&[u8]>;
    fn value(&self) -> Option<&[u8]>;
    fn columns(&self) -> Option<Vec<WideColumn<'_>>>;
    fn timestamp(&self) -> Option<&[u8]>;
    fn with_batch(self: Box<Self>, batch: &WriteBatchWithIndex) -> Box<dyn Cursor>;
}

impl<D: DBAccess> Cursor for DBRawIteratorWithThreadMode<'static, D> {
    fn valid(&self) -> bool {
        self.valid()
    }
    fn status(&self) -> Result<()> {
        self.status()
    }
    fn refresh(&mut self) -> Result<()> {
        self.refresh()
    }
    fn seek_to_first(&mut self) {
        self.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.seek_to_last();
    }
    fn seek(&mut self, key: &[u8]) {
        self.seek(key);
    }
    fn seek_for_prev(&mut self, key: &[u8]) {
        self.seek_for_prev(key);
    }
    fn next(&mut self) {
        self.next();
    }
    fn prev(&mut self) {
        self.prev();
    }
    fn key(&self) -> Option<&[u8]> {
        self.key()
    }
    fn value(&self) -> Option<&[u8]> {
        self.value()
    }
    fn columns(&self) -> Option<Vec<WideColumn<'_>>> {
        self.columns()
    }
    fn timestamp(&self) -> Option<&[u8]> {
        self.timestamp()
    }
    fn with_batch(self: Box<Self>, batch: &WriteBatchWithIndex) -> Box<dyn Cursor> {
        Box::new(batch.sorted_iterator_with_base(*self))
    }
}

/// An iterator. It keeps its database open.
pub struct rocksdb_iterator_t(pub(crate) Held<Box<dyn Cursor>>);
