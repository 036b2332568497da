//! Transactions.

use crate::db::{Db, Optimistic, Pessimistic};
use crate::held::Held;
use crate::snapshot::{Lender, rocksdb_snapshot_t};
use std::sync::Arc;
use whitewater::{
    DBAccess, OptimisticTransactionOptions, Transaction, TransactionOptions, WriteOptions,
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

/// A transaction. It keeps its database open; iterators over it keep it.
pub struct rocksdb_transaction_t(pub(crate) Arc<Held<Txn>>, Lender);

impl rocksdb_transaction_t {
    pub(crate) fn new(txn: Arc<Held<Txn>>) -> Self {
        rocksdb_transaction_t(txn, Lender::default())
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
