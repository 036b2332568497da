//! Checkpoints.

use crate::border::{ErrPtr, Text, exports, given};
use crate::db::{
    Slot, on_db, rocksdb_optimistictransactiondb_t, rocksdb_t, rocksdb_transactiondb_t,
};
use std::sync::Arc;
use whitewater::checkpoint::Checkpoint;

/// Makes checkpoints of a database, until that is closed.
pub struct rocksdb_checkpoint_t(pub(super) Arc<Slot>);

exports! {
    fn rocksdb_checkpoint_object_create(
        db: Option<&rocksdb_t>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_checkpoint_t>> {
        errptr.run(|| {
            let slot = given(db)?.slot.clone();
            slot.open()?;
            Ok(Some(Box::new(rocksdb_checkpoint_t(slot))))
        })
    }
    fn rocksdb_transactiondb_checkpoint_object_create(
        db: Option<&rocksdb_transactiondb_t>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_checkpoint_t>> {
        rocksdb_checkpoint_object_create(db, errptr)
    }
    fn rocksdb_optimistictransactiondb_checkpoint_object_create(
        db: Option<&rocksdb_optimistictransactiondb_t>, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_checkpoint_t>> {
        rocksdb_checkpoint_object_create(db, errptr)
    }
    fn rocksdb_checkpoint_object_destroy(_checkpoint: Option<Box<rocksdb_checkpoint_t>>) {}
    fn rocksdb_checkpoint_create(
        checkpoint: Option<&rocksdb_checkpoint_t>, dir: Text, log_size: u64, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let db = given(checkpoint)?.0.open()?;
            on_db!(db, db => {
                Checkpoint::new(db)?.create_checkpoint_with_log_size(dir.path(), log_size)
            })
        });
    }
}
