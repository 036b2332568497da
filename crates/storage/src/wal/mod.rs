//! The log file format that the write-ahead log and the manifest share.
//!
//! A log is a sequence of 32 KiB blocks that hold physical records (fragments). A logical record is
//! any byte string. Nothing here knows what the records mean. `docs/format/wal.md` describes the
//! format.
//!
//! `format`: record types and headers. `frame`: turns logical records into physical ones. `writer`:
//! appends records. `segment`: a log that many threads write at once. `block`: reads physical
//! records, and tells the end of a log from damage. `reader`: reads logical records. `compress` and
//! `decompress`: records of compressed logs.

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
