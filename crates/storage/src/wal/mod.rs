//! The log file format that the write-ahead log and the manifest share.
//!
//! A log is a sequence of 32 KiB blocks holding physical records (fragments);
//! a logical record is any byte string. Nothing here knows what the records
//! mean. The format is in `docs/format/wal.md`.

mod block;
mod format;
mod frame;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod pack;
mod reader;
mod segment;
mod unpack;
mod writer;

pub use pack::{PACKED_HEADER, Packed};
pub use reader::{LogReader, Predecessor, ReadOutcome, RecoveryMode};
pub use segment::Segment;
pub use writer::LogWriter;
