//! Whitewater under the name and version of the `rocksdb` crate 0.23, for
//! `[patch.crates-io]`: a dependency that asks for that version uses Whitewater. The
//! README of `crates/rocksdb` has the lines for `Cargo.toml`, and says what of 0.23
//! is not the same here.

#![forbid(unsafe_code)]

/// The iterator of batches as it was before 0.24; this name hides that of 0.25.
pub use whitewater::older_rocksdb::WriteBatchIterator;
pub use whitewater::*;
