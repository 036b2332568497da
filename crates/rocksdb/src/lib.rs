//! Whitewater under the name of the `rocksdb` crate: everything it has, and
//! nothing else. For `[patch.crates-io]`, so that a dependency's own `rocksdb` is
//! Whitewater; a program of your own depends on `whitewater` itself. The README
//! has the lines for `Cargo.toml`.

#![forbid(unsafe_code)]

pub use whitewater::*;
