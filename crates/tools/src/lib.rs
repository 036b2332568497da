//! Command-line tools around the storage engine.
//!
//! * [`mod@bench`]: `db_bench`, RocksDB's benchmark program
//! * [`memtable_bench`]: `memtablerep_bench`, memtables alone
//! * [`page`]: the page that both write
//! * [`ww`]: `ww`, RocksDB's `ldb` and `sst_dump` in one
//!
//! The binaries under `src/bin` only hand their arguments over; everything
//! they do lives here, where tests can reach it.

pub mod bench;
pub mod interrupt;
pub mod memtable_bench;
pub mod page;
pub mod stress;
pub mod ww;
