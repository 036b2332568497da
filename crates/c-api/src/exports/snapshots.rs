//! Snapshots.

use crate::border::exports;
use crate::db::{Db, on_db, open, rocksdb_t, rocksdb_transactiondb_t};
use crate::held::Held;
use crate::snapshot::{Moment, rocksdb_snapshot_t};

exports! {
    fn rocksdb_create_snapshot(db: Option<&rocksdb_t>) -> Option<Box<rocksdb_snapshot_t>> {
        if db?.slot.updates_in_place {
            return Some(Box::new(rocksdb_snapshot_t(None)));
        }
        let db = open(db).ok()?;
        let snapshot = Held::new(&*db, |db: &'static Db| on_db!(&db, db => {
            let moment: Box<dyn Moment> = Box::new(db.snapshot());
            moment
        }));
        Some(Box::new(rocksdb_snapshot_t(Some(snapshot))))
    }
    fn rocksdb_release_snapshot(
        _db: Option<&rocksdb_t>, _snapshot: Option<Box<rocksdb_snapshot_t>>,
    ) {}
    fn rocksdb_transactiondb_create_snapshot(
        db: Option<&rocksdb_transactiondb_t>,
    ) -> Option<Box<rocksdb_snapshot_t>> {
        rocksdb_create_snapshot(db)
    }
    fn rocksdb_transactiondb_release_snapshot(
        _db: Option<&rocksdb_transactiondb_t>, _snapshot: Option<Box<rocksdb_snapshot_t>>,
    ) {}
    fn rocksdb_snapshot_get_sequence_number(snapshot: Option<&rocksdb_snapshot_t>) -> u64 {
        let snapshot = snapshot.and_then(|snapshot| snapshot.0.as_ref());
        snapshot.map_or(0, |snapshot| snapshot.get().sequence_number())
    }
}
