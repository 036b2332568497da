//! Blob files: values that are stored outside of the tables that refer to them.
//!
//! An entry of type `BlobIndex` in a table holds a [`BlobIndex`] (`index`) instead of its value:
//! file, offset, size and compression. `references` finds all blobs that an entry refers to. A blob
//! file holds records of key and value with checksums, between a header and a footer.
//! [`mod@format`] (`format`) encodes these; [`BlobFileWriter`] (`writer`) writes a file, and
//! [`BlobFileReader`] (`reader`) reads values from it.
//! The manifest knows which files there are and how much of them is garbage. `docs/format/blob.md`
//! describes the format.
//!
//! Values with an expiration time, which only RocksDB's older stacked BlobDB writes, are refused
//! with an error that says so.

pub mod format;
mod index;
mod reader;
mod references;
mod writer;

pub use index::{BlobIndex, BlobPlace};
pub use reader::BlobFileReader;
pub use references::{for_each_reference, may_refer};
pub use writer::BlobFileWriter;
