//! Everything in Whitewater that becomes bytes.
//!
//! * [`fs`]: file systems.
//! * [`wal`]: the log format of write-ahead logs and manifests. [`batch`]: write batches.
//! * [`manifest`]: version edits. [`filename`]: names of a database's files.
//! * [`backup`]: metadata and names of backups.
//! * [`sst`]: block-based tables. [`blob`]: values outside of tables. [`entity`]: wide columns.
//! * [`cache`]: the block cache.
//! * [`key`]: keys and comparators. [`timestamp`]: a comparator of keys with timestamps.
//!   [`internal_iterator`]: iterators over internal keys. [`rangedel`]: range tombstones.
//! * [`coding`]: integers and strings as bytes. [`checksum`]: checksums of blocks and records.
//!   [`file_checksum`]: checksums of whole files. [`protection`]: checksums of single entries.
//! * [`error`]: the error type that all layers share. [`perf`]: counters of a thread.
//!   `planted`: deliberate bugs, for tests that show that other tests can fail.
//!
//! All formats are RocksDB's; `docs/format/` describes them.
//!
//! This crate knows no memtables and no column families, and has no threads except those that
//! compress the blocks of a table. It turns values into bytes and bytes into values. It never
//! trusts a byte it reads: no file content makes it panic.

// Allowed in one file only: `fs/map/mod.rs`, which stores into mapped files.
#![deny(unsafe_code)]

pub mod backup;
pub mod batch;
pub mod blob;
pub mod bounds;
pub mod cache;
pub mod checksum;
pub mod coding;
pub mod entity;
pub mod error;
pub mod file_checksum;
pub mod filename;
pub mod fs;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod internal_iterator;
pub mod key;
pub mod manifest;
pub mod perf;
#[doc(hidden)]
pub mod planted;
pub mod protection;
pub mod rangedel;
pub mod sst;
pub mod timestamp;
pub mod wal;

pub use error::{Error, ErrorKind, Result, Severity};
