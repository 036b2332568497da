//! Snapshots, of databases and of transactions.
//!
//! The snapshot of a transaction belongs to the transaction. `rocksdb/c.h` has its handle given
//! back by `rocksdb_free`, which runs nothing but `free`. So that handle is a number, under which
//! the snapshot is found here until its transaction is destroyed.

use crate::border::{Result, invalid};
use crate::held::Held;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use whitewater::{DBAccess, ReadOptions, SnapshotHandle, SnapshotWithThreadMode};

/// A snapshot of a database of any kind.
pub trait Moment {
    /// Has reads see the snapshot.
    fn apply(&self, options: &mut ReadOptions);
    fn sequence_number(&self) -> u64;
}

impl<D: DBAccess> Moment for SnapshotWithThreadMode<'static, D> {
    fn apply(&self, options: &mut ReadOptions) {
        options.set_snapshot(self);
    }
    fn sequence_number(&self) -> u64 {
        self.sequence_number()
    }
}

/// A snapshot, in memory from `malloc`.
pub struct rocksdb_snapshot_t(Kind);

enum Kind {
    /// That of a database, which it keeps open.
    Held(Held<Box<dyn Moment>>),
    /// That of a database that updates values in place and has none: reads see what is newest.
    Newest,
    /// That of a transaction. It owns nothing.
    Lent {
        /// Its number in `LENT`.
        number: u64,
        /// The sequence number of the last write it sees.
        sequence: u64,
    },
}

impl rocksdb_snapshot_t {
    pub(crate) fn held(snapshot: Held<Box<dyn Moment>>) -> Self {
        rocksdb_snapshot_t(Kind::Held(snapshot))
    }

    pub(crate) fn newest() -> Self {
        rocksdb_snapshot_t(Kind::Newest)
    }

    /// Has reads with options that have no snapshot see this one.
    ///
    /// # Errors
    /// `InvalidArgument` if its transaction was destroyed.
    pub(crate) fn apply(&self, options: &mut ReadOptions) -> Result<()> {
        match &self.0 {
            Kind::Held(snapshot) => snapshot.get().apply(options),
            Kind::Newest => {}
            Kind::Lent { number, .. } => {
                let lent = lent();
                let gone = || invalid("the transaction of the snapshot was destroyed");
                options.set_snapshot_handle(lent.snapshots.get(number).ok_or_else(gone)?);
            }
        }
        Ok(())
    }

    pub(crate) fn sequence_number(&self) -> u64 {
        match &self.0 {
            Kind::Held(snapshot) => snapshot.get().sequence_number(),
            Kind::Newest => 0,
            Kind::Lent { sequence, .. } => *sequence,
        }
    }
}

/// The snapshots that live transactions have lent, by number.
struct Lent {
    /// The last number that was given. None is given twice.
    last: u64,
    snapshots: BTreeMap<u64, SnapshotHandle>,
}

static LENT: Mutex<Lent> = Mutex::new(Lent {
    last: 0,
    snapshots: BTreeMap::new(),
});

fn lent() -> MutexGuard<'static, Lent> {
    LENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The snapshots that a transaction has lent. They are taken back when it is dropped.
#[derive(Default)]
pub(crate) struct Lender(RefCell<Vec<(u64, SnapshotHandle)>>);

impl Lender {
    /// Lends a snapshot, under the number it already has if it is the one that was lent last.
    pub(crate) fn lend(&self, snapshot: SnapshotHandle) -> rocksdb_snapshot_t {
        let sequence = snapshot.sequence_number();
        let mut own = self.0.borrow_mut();
        let known = own.last().filter(|(_, last)| last.is_same(&snapshot));
        let number = known.map(|(number, _)| *number).unwrap_or_else(|| {
            let mut lent = lent();
            lent.last += 1;
            let number = lent.last;
            lent.snapshots.insert(number, snapshot.clone());
            number
        });
        if known.is_none() {
            own.push((number, snapshot));
        }
        rocksdb_snapshot_t(Kind::Lent { number, sequence })
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        let own = self.0.get_mut();
        if own.is_empty() {
            return;
        }
        // The last reference to a snapshot is that of `own`, which is dropped without the lock.
        let mut lent = lent();
        for (number, _) in &*own {
            lent.snapshots.remove(number);
        }
    }
}
