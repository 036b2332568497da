//! Tests of tables: written here and read back, written by RocksDB, and damaged.

mod cached_blocks;
mod damage;
mod files;
pub mod fixtures;
mod formats;
mod interop;
mod layouts;
mod round_trip;
