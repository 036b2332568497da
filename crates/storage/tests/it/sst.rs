//! Tables: written here and read back, written by RocksDB, and damaged.

mod damage;
mod files;
mod fixtures;
mod interop;
mod round_trip;
