//! Command-line tools around the storage engine.
//!
//! So far one: `db_bench`, the benchmark program ([`mod@bench`]). The binaries
//! under `src/bin` only hand their arguments over; everything they do lives
//! here, where tests can reach it.

pub mod bench;
