//! The log file format that the write-ahead log and the manifest share.
//!
//! A log is a sequence of 32 KiB blocks holding physical records (fragments);
//! a logical record is any byte string. Nothing here knows what the records
//! mean. The format is in `docs/format/wal.md`.

mod block;
mod compress;
mod decompress;
mod format;
mod frame;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod reader;
mod segment;
mod writer;

pub use compress::{CompressedRecord, UNCOMPRESSED_HEADER};
pub use reader::{LogReader, Predecessor, ReadOutcome, RecoveryMode};
pub use segment::Segment;
pub use writer::LogWriter;
