//! Blob files: values that stand outside the tables which refer to them.
//!
//! A table's entry of type `BlobIndex` holds a [`BlobIndex`] in place of its
//! value: file, offset, size and compression. The file holds records of key and
//! value, each under checksums, between a header and a footer. [`mod@format`] has
//! the bytes of these, [`BlobFileReader`] takes values out of a file. Which
//! files there are and how much of them is garbage is the manifest's business.
//! The format is in `docs/format/blob.md`.
//!
//! Values with an expiration time, which only RocksDB's older stacked BlobDB
//! writes, are refused by name.

pub mod format;
mod index;
mod reader;
mod references;

pub use index::{BlobIndex, BlobPlace};
pub use reader::BlobFileReader;
pub use references::{for_each_reference, may_refer};
