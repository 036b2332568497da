//! The format of a directory of backups: what its files are called and what its metadata say.
//!
//! ```text
//! meta/N                       what backup N consists of; it exists as long as this file does
//! private/N/NAME               files that only backup N has
//! shared_checksum/NAME         tables and blob files of any number of backups
//! shared/NAME                  the same under names that do not tell databases apart
//! ```
//!
//! * [`meta`]: the metadata of a backup. [`names`]: the names of files.
//!
//! `docs/format/backup.md` describes the format, which is RocksDB's.

pub mod meta;
pub mod names;

pub use meta::{Meta, MetaFile, Schema};
pub use names::{Place, StoredName};
