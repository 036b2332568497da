//! Snapshots: the tables of a group's state, as files that are streamed.
//!
//! * `header`: what the stream begins with, the list of tables.
//! * `directory`: the directory that a snapshot's tables are in.
//! * `incoming`: a stream that is written into such a directory.
//! * `pending`: which groups have a snapshot that is not installed yet.
//! * `stream`, [`SnapshotFiles`]: both directions, as openraft wants them.

pub(crate) mod directory;
pub(crate) mod header;
pub(crate) mod incoming;
pub(crate) mod pending;
pub(crate) mod stream;

pub use self::stream::SnapshotFiles;
