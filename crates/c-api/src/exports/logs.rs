//! The write-ahead log.

use super::batches::rocksdb_writebatch_t;
use crate::border::{ErrPtr, Out, exports};
use crate::db::{on_db, open, rocksdb_t};
use whitewater::{DBWALIterator, Error, WriteBatch};

/// What was written since a moment. It stands on a batch, unless it has ended.
pub struct rocksdb_wal_iterator_t {
    rest: DBWALIterator,
    now: Option<Result<(u64, WriteBatch), Error>>,
}

/// Options of reading logs; there are none to set.
pub struct rocksdb_wal_readoptions_t(());

exports! {
    fn rocksdb_get_latest_sequence_number(db: Option<&rocksdb_t>) -> u64 {
        open(db).map_or(0, |db| on_db!(db, db => db.latest_sequence_number()))
    }
    fn rocksdb_get_updates_since(
        db: Option<&rocksdb_t>, sequence: u64, _options: Option<&rocksdb_wal_readoptions_t>,
        errptr: ErrPtr,
    ) -> Option<Box<rocksdb_wal_iterator_t>> {
        errptr.run(|| {
            // There the batch with this number is the first; here those after the number are.
            let (db, after) = (open(db)?, sequence.saturating_sub(1));
            let mut rest = on_db!(db, db => db.get_updates_since(after))?;
            let now = rest.next();
            Ok(Some(Box::new(rocksdb_wal_iterator_t { rest, now })))
        })
    }
    fn rocksdb_wal_iter_next(iter: Option<&mut rocksdb_wal_iterator_t>) {
        if let Some(iter) = iter {
            iter.now = iter.rest.next();
        }
    }
    fn rocksdb_wal_iter_valid(iter: Option<&rocksdb_wal_iterator_t>) -> u8 {
        iter.is_some_and(|iter| matches!(iter.now, Some(Ok(_)))).into()
    }
    fn rocksdb_wal_iter_status(iter: Option<&rocksdb_wal_iterator_t>, errptr: ErrPtr) {
        if let Some(Some(Err(e))) = iter.map(|iter| &iter.now) {
            errptr.save(e);
        }
    }
    fn rocksdb_wal_iter_get_batch(
        iter: Option<&rocksdb_wal_iterator_t>, sequence: Out<u64>,
    ) -> Option<Box<rocksdb_writebatch_t>> {
        let (number, batch) = iter?.now.as_ref()?.as_ref().ok()?;
        sequence.set(*number);
        Some(Box::new(rocksdb_writebatch_t::new(batch.clone())))
    }
    fn rocksdb_wal_iter_destroy(_iter: Option<Box<rocksdb_wal_iterator_t>>) {}
}
