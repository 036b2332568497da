//! Transactions, and the indexed write batch that they collect their writes in.
//!
//! * [`indexed_batch`]: a batch whose operations can be looked up and iterated over.
//! * [`tracker`]: the keys that a transaction has read for update or written.
//! * [`transaction`]: one transaction. [`policy`]: how it keeps out of the way of others.
//! * [`database`]: what the transactions of a database share: key locks, and `names`; `direct`:
//!   writes outside of transactions. [`optimistic`]: transactions that lock nothing.
//! * [`options`]: what transactions and such databases are made with; [`errors`]: RocksDB's
//!   words.

pub(crate) mod database;
mod direct;
mod errors;
pub(crate) mod indexed_batch;
mod names;
pub(crate) mod optimistic;
pub(crate) mod options;
mod policy;
mod tracker;
pub(crate) mod transaction;
