//! Everything in Whitewater that becomes bytes.
//!
//! File systems ([`fs`]), the write-ahead log ([`wal`]), write batches
//! ([`batch`]), block-based tables ([`sst`]), values outside of them ([`blob`]),
//! wide columns ([`entity`]), the manifest ([`manifest`]),
//! file names ([`filename`]), keys and comparators ([`key`]), and the error
//! type every layer above shares ([`error`]). All of it follows RocksDB's
//! on-disk formats, described in `docs/format/`. What reading costs a thread is
//! counted in [`perf`].
//!
//! This crate knows no memtables, no column-family state and no threads but
//! those that compress the blocks of a table: it turns values into bytes and bytes into values, and never trusts a byte it
//! reads. Nothing here panics on file content.

// Lifted in one file: `fs/map/mod.rs`, which stores into mapped files.
#![deny(unsafe_code)]

pub mod batch;
pub mod blob;
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
pub mod iter;
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
