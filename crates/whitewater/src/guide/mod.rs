//! Guides to what the documentation of single methods does not explain.
//!
//! * [`durability`]: what survives a crash, and what a write can ask for.
//! * [`backups`]: copies of a database that outlive it.
//! * [`column_families`]: several key spaces in one database.
//! * [`transactions`]: reading and writing several keys as if nobody else were there.
//! * [`tuning_writes`]: what makes writes fast, and what holds them up.
//! * [`memory`]: where memory goes, and how to limit it.
//! * [`migrating`]: from the `rocksdb` crate, or from a RocksDB database.
//!
//! This module exists in the documentation only. The programs in `examples/` of this crate show
//! whole tasks.

pub mod backups;
pub mod column_families;
pub mod durability;
pub mod memory;
pub mod migrating;
pub mod transactions;
pub mod tuning_writes;
