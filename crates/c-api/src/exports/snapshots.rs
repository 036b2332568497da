//! Snapshots.

use crate::border::{MallocedHandle, Nothing, exports};
use crate::db::{Db, on_db, open, rocksdb_t, rocksdb_transactiondb_t};
use crate::held::Held;
use crate::snapshot::{Moment, rocksdb_snapshot_t};

type Snapshot = MallocedHandle<rocksdb_snapshot_t>;

/// A snapshot of an open database.
fn create(db: Option<&rocksdb_t>) -> Option<rocksdb_snapshot_t> {
    if db?.slot.updates_in_place {
        return Some(rocksdb_snapshot_t::newest());
    }
    let db = open(db).ok()?;
    let snapshot = Held::new(&*db, |db: &'static Db| {
        on_db!(&db, db => {
            let moment: Box<dyn Moment> = Box::new(db.snapshot());
            moment
        })
    });
    Some(rocksdb_snapshot_t::held(snapshot))
}

exports! {
    fn rocksdb_create_snapshot(db: Option<&rocksdb_t>) -> Snapshot {
        create(db).map_or_else(Nothing::nothing, MallocedHandle::new)
    }
    fn rocksdb_release_snapshot(_db: Option<&rocksdb_t>, snapshot: Snapshot) {
        drop(snapshot.take());
    }
    fn rocksdb_transactiondb_create_snapshot(
        db: Option<&rocksdb_transactiondb_t>,
    ) -> Snapshot {
        rocksdb_create_snapshot(db)
    }
    fn rocksdb_transactiondb_release_snapshot(
        _db: Option<&rocksdb_transactiondb_t>, snapshot: Snapshot,
    ) {
        drop(snapshot.take());
    }
    fn rocksdb_snapshot_get_sequence_number(snapshot: Option<&rocksdb_snapshot_t>) -> u64 {
        snapshot.map_or(0, rocksdb_snapshot_t::sequence_number)
    }
}
