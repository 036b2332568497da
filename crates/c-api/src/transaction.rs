//! Transactions.

use crate::border::{Result, invalid};
use crate::db::{Db, Optimistic, Pessimistic};
use crate::held::Held;
use crate::snapshot::{Lender, rocksdb_snapshot_t};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use whitewater::{
    DBAccess, OptimisticTransactionOptions, Transaction, TransactionOptions, WriteBatchWithIndex,
    WriteOptions,
};

/// A transaction of either kind.
pub(crate) enum Txn {
    Optimistic(Transaction<'static, Optimistic>),
    Pessimistic(Transaction<'static, Pessimistic>),
}

/// Calls a method of either kind.
macro_rules! on_txn {
    ($txn:expr, $name:ident => $call:expr) => {
        match $txn {
            $crate::transaction::Txn::Optimistic($name) => $call,
            $crate::transaction::Txn::Pessimistic($name) => $call,
        }
    };
}
pub(crate) use on_txn;

/// The batches that live transactions have lent, by number. As a snapshot of a transaction, a batch
/// is given back by `rocksdb_free`, which runs nothing but `free`.
struct Lent {
    /// The last number that was given. None is given twice.
    last: u64,
    batches: BTreeMap<u64, Arc<WriteBatchWithIndex>>,
}

static LENT: Mutex<Lent> = Mutex::new(Lent {
    last: 0,
    batches: BTreeMap::new(),
});

fn lent() -> MutexGuard<'static, Lent> {
    LENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The batch of the number `number`.
///
/// # Errors
/// `InvalidArgument` if its transaction was destroyed.
pub(crate) fn lent_batch(number: u64) -> Result<Arc<WriteBatchWithIndex>> {
    let batch = lent().batches.get(&number).cloned();
    batch.ok_or_else(|| invalid("the transaction of the batch was destroyed"))
}

/// A transaction. It keeps its database open; iterators over it keep it.
pub struct rocksdb_transaction_t(pub(crate) Arc<Held<Txn>>, Lender, LentBatch);

/// The number of a batch that was lent, which is taken back with this.
#[derive(Default)]
struct LentBatch(Cell<Option<u64>>);

impl Drop for LentBatch {
    fn drop(&mut self) {
        let taken = self.0.get().map(|number| lent().batches.remove(&number));
        drop(taken);
    }
}

impl rocksdb_transaction_t {
    pub(crate) fn new(txn: Arc<Held<Txn>>) -> Self {
        rocksdb_transaction_t(txn, Lender::default(), LentBatch::default())
    }

    /// Lends the batch as it is now, always under one number: what was lent before is the same
    /// batch, as in RocksDB.
    pub(crate) fn lend_batch(&self) -> u64 {
        let batch = on_txn!(self.0.get(), txn => txn.indexed_batch());
        let mut lent = lent();
        let number = self.2.0.get().unwrap_or_else(|| {
            lent.last += 1;
            lent.last
        });
        self.2.0.set(Some(number));
        let known = lent.batches.get(&number);
        // What C has of a batch that has not changed stays.
        let replaced = if known.is_some_and(|known| known.data() == batch.data()) {
            None
        } else {
            lent.batches.insert(number, Arc::new(batch))
        };
        drop(lent);
        drop(replaced);
        number
    }

    /// The snapshot, until the transaction is destroyed or begun again.
    pub(crate) fn snapshot(&self) -> rocksdb_snapshot_t {
        let snapshot = on_txn!(self.0.get(), txn => txn.create_snapshot());
        self.1.lend(snapshot)
    }
}

/// Shares a transaction with its iterators.
#[expect(
    clippy::arc_with_non_send_sync,
    reason = "rocksdb/c.h has a transaction used by one thread at a time"
)]
pub(crate) fn shared(txn: Held<Txn>) -> Arc<Held<Txn>> {
    Arc::new(txn)
}

/// Begins a transaction with locks; `None` in a database that has none.
pub(crate) fn begin_pessimistic(
    db: &Arc<Db>,
    write: &WriteOptions,
    options: &TransactionOptions,
) -> Option<Held<Txn>> {
    let begun = Held::try_new(db, |db| match db {
        Db::Pessimistic(db) => Ok(Txn::Pessimistic(db.transaction_opt(write, options))),
        _ => Err(()),
    });
    begun.ok()
}

/// Begins a transaction that validates; `None` in a database that has none.
pub(crate) fn begin_optimistic(
    db: &Arc<Db>,
    write: &WriteOptions,
    options: &OptimisticTransactionOptions,
) -> Option<Held<Txn>> {
    let begun = Held::try_new(db, |db| match db {
        Db::Optimistic(db) => Ok(Txn::Optimistic(db.transaction_opt(write, options))),
        _ => Err(()),
    });
    begun.ok()
}
