//! Transactions in the public API.
//!
//! * [`options`]: of transactions, and of databases with transactions.
//! * [`transaction_db`]: a database with pessimistic transactions.
//! * [`optimistic_db`]: a database with optimistic transactions.
//! * [`transaction`]: a transaction, whatever kind it is of.

mod optimistic_db;
mod options;
mod transaction;
mod transaction_db;

pub use optimistic_db::OptimisticTransactionDB;
pub use options::{OptimisticTransactionOptions, TransactionDBOptions, TransactionOptions};
pub use transaction::Transaction;
pub use transaction_db::TransactionDB;
pub use whitewater_concurrent::key_locks::{
    DeadlockPath, DeadlockStep, LockMode, LockStatus, WaitingFor,
};
