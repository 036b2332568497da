//! What a public iterator stands for.

use crate::entry::columns::WideColumn;
use crate::read::db_iter::DbIter;
use crate::txn::indexed_batch::cursor::BatchCursor;
use crate::txn::indexed_batch::over_db::BatchOverDb;
use whitewater_storage::Error;
use whitewater_storage::key::UserComparator;

/// What an iterator stands for; opaque.
pub struct IteratorHandle(Source);

/// The first kind is kept in place, for speed; the second is as large as it and behind a pointer.
#[expect(clippy::large_enum_variant, reason = "the usual kind is the large one")]
enum Source {
    Plain(DbIter),
    OverDb(Box<BatchOverDb>),
}

/// Calls a method of either kind.
macro_rules! call {
    ($handle:expr, $iterator:ident => $call:expr) => {
        match $handle {
            Source::Plain($iterator) => $call,
            Source::OverDb($iterator) => $call,
        }
    };
}

impl IteratorHandle {
    /// An iterator over a database.
    pub(crate) fn new(inner: DbIter) -> Self {
        IteratorHandle(Source::Plain(inner))
    }

    /// An iterator over a database with a batch applied.
    pub(crate) fn over_db(inner: BatchOverDb) -> Self {
        IteratorHandle(Source::OverDb(Box::new(inner)))
    }

    /// The same with a batch applied, over which `cursor` makes a cursor. A second batch is
    /// refused: the iterator then fails.
    pub(super) fn with_batch(
        self,
        cursor: impl FnOnce(&UserComparator) -> Result<BatchCursor, Error>,
    ) -> Self {
        match self.0 {
            Source::Plain(base) => {
                let cursor = cursor(base.comparator());
                Self::over_db(BatchOverDb::new(cursor, base))
            }
            Source::OverDb(mut inner) => {
                inner.fail(Error::not_supported(
                    "an iterator over a database with two batches applied",
                ));
                IteratorHandle(Source::OverDb(inner))
            }
        }
    }

    /// Becomes `now`, a later state of the same, and returns what it was. If `now` is the database
    /// alone, the batch that is applied stays; what it was is then not told, as it is not needed.
    pub(super) fn replace(&mut self, now: IteratorHandle) -> Option<DbIter> {
        match (&mut self.0, now.0) {
            (Source::OverDb(own), Source::Plain(base)) => {
                own.set_base(base);
                None
            }
            (own, now) => match std::mem::replace(own, now) {
                Source::Plain(before) => Some(before),
                Source::OverDb(_) => None,
            },
        }
    }

    /// Moves to the first key after `key`, which was shown last; `before` is what showed it, if
    /// that was an iterator over a database.
    pub(super) fn go_on_after(&mut self, key: &[u8], before: Option<DbIter>) {
        match (&mut self.0, before) {
            (Source::Plain(inner), Some(mut before)) => inner.go_on_after(key, &mut before),
            _ => {
                self.seek(key);
                if self.key() == Some(key) {
                    self.next();
                }
            }
        }
    }

    #[inline]
    pub(super) fn valid(&self) -> bool {
        call!(&self.0, inner => inner.valid())
    }

    pub(super) fn status(&self) -> Result<(), Error> {
        call!(&self.0, inner => inner.status())
    }

    pub(super) fn seek_to_first(&mut self) {
        call!(&mut self.0, inner => inner.seek_to_first());
    }

    pub(super) fn seek_to_last(&mut self) {
        call!(&mut self.0, inner => inner.seek_to_last());
    }

    pub(super) fn seek(&mut self, key: &[u8]) {
        call!(&mut self.0, inner => inner.seek(key));
    }

    pub(super) fn seek_for_prev(&mut self, key: &[u8]) {
        call!(&mut self.0, inner => inner.seek_for_prev(key));
    }

    #[inline]
    pub(super) fn next(&mut self) {
        call!(&mut self.0, inner => inner.next());
    }

    #[inline]
    pub(super) fn prev(&mut self) {
        call!(&mut self.0, inner => inner.prev());
    }

    #[inline]
    pub(super) fn key(&self) -> Option<&[u8]> {
        call!(&self.0, inner => inner.key())
    }

    #[inline]
    pub(super) fn value(&self) -> Option<&[u8]> {
        call!(&self.0, inner => inner.value())
    }

    /// The columns, when valid.
    pub(super) fn columns(&self) -> Option<Vec<WideColumn<'_>>> {
        call!(&self.0, inner => inner.columns())
    }

    /// Key and value, when valid.
    #[inline]
    pub(super) fn item(&self) -> Option<(&[u8], &[u8])> {
        call!(&self.0, inner => Some((inner.key()?, inner.value()?)))
    }

    /// The timestamp of the version, when valid and keys have timestamps. A batch over a database
    /// has none.
    pub(super) fn timestamp(&self) -> Option<&[u8]> {
        match &self.0 {
            Source::Plain(inner) => inner.timestamp(),
            Source::OverDb(_) => None,
        }
    }
}
