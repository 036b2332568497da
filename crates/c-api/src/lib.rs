//! Whitewater behind the C interface of RocksDB, `rocksdb/c.h`: programs that were built for
//! `librocksdb` run on this library unchanged.
//!
//! * [`border`]: the types that functions of C have as arguments and results. All of `unsafe` is
//!   there, in `held` and in `callbacks`.
//! * `held`: values that keep what they were read from alive.
//! * [`db`], [`families`], [`iterator`], [`snapshot`], [`transaction`]: what handles stand for.
//!   `callbacks`: comparators, merge operators and filters written in C.
//! * [`options`]: options, most of them by table. `exports`: everything else.
//!
//! Differences from RocksDB:
//! * A closed database refuses what is asked of it. Iterators, snapshots, values and transactions
//!   keep their database open, also after `rocksdb_close`.
//! * A comparator's destructor runs when nothing uses the comparator any longer, which may be after
//!   `rocksdb_comparator_destroy`.
//! * A panic becomes an error, or nothing, where a function returns no errors.
//! * A function that is not there is in `docs/c-api-absent.tsv`.

#![expect(
    non_camel_case_types,
    reason = "types have the names that they have in rocksdb/c.h"
)]
#![allow(missing_docs, reason = "rocksdb/c.h documents the functions and types")]

pub mod border;
mod callbacks;
pub mod db;
mod exports;
pub mod families;
mod held;
pub mod iterator;
pub mod options;
pub mod snapshot;
pub mod transaction;

#[cfg(test)]
mod tests;
