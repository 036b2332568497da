//! Whitewater behind the C interface of RocksDB, `rocksdb/c.h`: programs that were built for
//! `librocksdb` run on this library unchanged.
//!
//! * [`border`]: the types that functions of C have as arguments and results. All of `unsafe` is
//!   there, in `held` and in `callbacks`.
//! * `held`: values that keep what they were read from alive.
//! * [`db`], [`families`], [`iterator`], [`snapshot`], [`transaction`]: what handles stand for.
//!   `callbacks`: comparators, merge operators and filters written in C.
//! * [`listeners`]: what is called when something happens in a database.
//! * [`options`]: options, most of them by table. `exports`: everything else.
//!
//! Differences from RocksDB:
//! * A closed database refuses what is asked of it, as often as it is closed. That takes about a
//!   hundred bytes for each database that was opened, which are never given back.
//! * Iterators, snapshots, values and transactions keep their database open, also after
//!   `rocksdb_close`.
//! * The snapshot of a transaction keeps nothing open, since `rocksdb_free` gives it back. Reads at
//!   one whose transaction was destroyed fail.
//! * The batch that a transaction lends is as it was when it was lent last, and only read.
//! * A single deletion with a timestamp is a deletion.
//! * The columns of an iterator are a copy, and stay when it moves.
//! * As in RocksDB, nothing but a database may be used after it was destroyed, and functions in C
//!   may be called until their destructor was.
//! * A comparator's destructor runs when nothing uses the comparator any longer, which may be after
//!   `rocksdb_comparator_destroy`.
//! * A panic becomes an error, or nothing, where a function returns no errors.
//! * A function that is there only to be linked refuses by its name; `docs/c-api-absent.tsv` says
//!   why.

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
pub mod held;
pub mod iterator;
pub mod listeners;
pub mod options;
pub mod snapshot;
pub mod transaction;

#[cfg(test)]
mod tests;
