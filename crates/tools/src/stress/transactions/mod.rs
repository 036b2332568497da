//! `--transactions`: threads that own no keys, over a database with pessimistic transactions.
//!
//! * [`books`]: accounts, receipts, and how they go together;
//! * [`ledger`]: how far each transaction has come, and what may be found after a death;
//! * [`bank`]: options and opening;
//! * [`teller`]: what a thread does;
//! * [`lives`]: the modes whose file system is in memory, and load;
//! * [`kill`]: processes that are killed.

pub mod bank;
pub mod books;
pub mod kill;
pub mod ledger;
pub mod lives;
pub mod teller;
