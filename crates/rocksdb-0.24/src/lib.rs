//! Whitewater under the name and version of the `rocksdb` crate 0.24, for
//! `[patch.crates-io]`: a dependency that asks for that version uses Whitewater. The
//! README of `crates/rocksdb` has the lines for `Cargo.toml`, and says what of 0.24
//! is not the same here.

#![forbid(unsafe_code)]

pub use whitewater::*;
