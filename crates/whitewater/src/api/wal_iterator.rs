//! Batches since a sequence number.

use super::db::{DBCommon, DBInner, ThreadMode};
use super::write_batch::WriteBatch;
use crate::db::updates::{Update, Updates};
use std::fmt;
use whitewater_storage::Error;

/// The batches that were logged after a sequence number, in order, each with
/// the number of its first operation. Made by
/// [`DB::get_updates_since`](DBCommon::get_updates_since).
///
/// It goes up to what is visible when it is asked for the last one, and then
/// ends; a new one tells of later writes. Writes, flushes and compactions go on
/// meanwhile. A log stays readable while it is read, even when it is archived
/// or deleted; when the ones after it are deleted before their turn, or it is
/// [recycled](crate::Options::set_recycle_log_file_num), iteration ends with an
/// error.
///
/// ```
/// use whitewater::DB;
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path())?;
/// db.put(b"stream", b"white")?;
/// let before = db.latest_sequence_number();
/// db.put(b"river", b"blue")?;
/// for update in db.get_updates_since(before)? {
///     let (number, batch) = update?;
///     assert_eq!((number, batch.len()), (before + 1, 1));
/// }
/// # Ok(())
/// # }
/// ```
pub struct DBWALIterator {
    updates: Updates,
    /// The next batch.
    next: Option<Update>,
    /// What ended it, and whether `next` has returned that.
    failure: Option<(Error, bool)>,
    start: u64,
}

impl DBWALIterator {
    /// Reads up to the first batch that has number `start` or comes after it.
    fn new(updates: Updates, start: u64) -> Result<Self, Error> {
        let mut iterator = DBWALIterator {
            updates,
            next: None,
            failure: None,
            start,
        };
        iterator.advance();
        let ends_before = |update: &Update| update.last < start;
        while iterator.next.as_ref().is_some_and(ends_before) {
            iterator.advance();
        }
        match iterator.failure {
            Some((e, _)) => Err(e),
            None => Ok(iterator),
        }
    }

    fn advance(&mut self) {
        self.next = self.updates.next().unwrap_or_else(|e| {
            self.failure = Some((e, false));
            None
        });
    }

    /// Whether there is a batch. At first this may be the one with the number
    /// asked for, which [`next`](Iterator::next) passes over.
    pub fn valid(&self) -> bool {
        self.next.is_some()
    }

    /// What ended the iteration, if it was an error.
    ///
    /// # Errors
    /// `Corruption` for a damaged log, `NotFound` when logs were deleted before
    /// their turn, `IOError`.
    pub fn status(&self) -> Result<(), Error> {
        match &self.failure {
            Some((e, _)) => Err(e.clone()),
            None => Ok(()),
        }
    }
}

impl Iterator for DBWALIterator {
    type Item = Result<(u64, WriteBatch), Error>;

    /// The next batch whose first number is greater than the one asked for. An
    /// error that ends the iteration is returned once (the `rocksdb` crate has
    /// it in `status` alone).
    fn next(&mut self) -> Option<Self::Item> {
        while let Some(update) = self.next.take() {
            self.advance();
            if update.first > self.start {
                return Some(Ok((update.first, WriteBatch::of(update.batch))));
            }
        }
        match &mut self.failure {
            Some((e, told @ false)) => {
                *told = true;
                Some(Err(e.clone()))
            }
            _ => None,
        }
    }
}

impl fmt::Debug for DBWALIterator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DBWALIterator")
            .field("start", &self.start)
            .field("next", &self.next.as_ref().map(|update| update.first))
            .finish_non_exhaustive()
    }
}

/// Logged writes.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// The batches logged after `seq_number`, with their sequence numbers; see
    /// [`latest_sequence_number`](Self::latest_sequence_number).
    ///
    /// Writes without the log are not among them: their numbers are missing. So may be those of
    /// writes without sync that a power cut took: nobody gets them again where files changed after
    /// them. What a transaction has prepared comes as it was logged: the operations when it was
    /// prepared, and the decision by itself. They may come twice, where the database was opened in
    /// between. Operations of several writes may come as one batch where a leader logged them
    /// together. How far back it reaches depends on
    /// [`Options::set_wal_ttl_seconds`](crate::Options::set_wal_ttl_seconds) and
    /// [`Options::set_wal_size_limit_mb`](crate::Options::set_wal_size_limit_mb): without them,
    /// logs are deleted when they were flushed.
    ///
    /// # Errors
    /// `NotFound` for a number not written yet; `Corruption` ("Gap in sequence
    /// number") when logs of the next numbers are gone, where
    /// RocksDB goes on with what is left; `IOError`.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// let seen = db.latest_sequence_number();
    /// db.put("stream", "white")?;
    /// let mut updates = db.get_updates_since(seen)?;
    /// let (number, batch) = updates.next().expect("one write since")?;
    /// assert_eq!((number, batch.len()), (seen + 1, 1));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_updates_since(&self, seq_number: u64) -> Result<DBWALIterator, Error> {
        DBWALIterator::new(self.engine().updates_since(seq_number)?, seq_number)
    }
}
