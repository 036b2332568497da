//! Whitewater: an embedded key-value store in pure Rust.
//!
//! An LSM tree in the RocksDB family whose reason to exist is its write path.
//! It opens RocksDB databases and RocksDB opens its; the public API is the
//! `rocksdb` crate's.
//!
//! ```
//! use whitewater::{DB, Options, WriteBatch};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let mut opts = Options::default();
//! opts.create_if_missing(true);
//! let db = DB::open(&opts, dir.path())?;
//!
//! db.put(b"stream", b"white")?;
//! let mut batch = WriteBatch::default();
//! batch.put(b"river", b"blue");
//! batch.delete(b"stream");
//! db.write(batch)?;
//!
//! assert_eq!(db.get(b"river")?.as_deref(), Some(&b"blue"[..]));
//! assert_eq!(db.get(b"stream")?, None);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod api;
mod compact;
mod db;
mod flush;
mod jobs;
mod memtable;
mod options;
mod read;
mod stats;
mod version;
mod write;

pub use whitewater_storage::{Error, ErrorKind};
