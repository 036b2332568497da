//! The manifest: the history of the database's files as a log of edits.
//!
//! [`VersionEdit`] is one record; [`edit`] encodes and decodes it. What the
//! edits add up to is the engine's business (`version/`). The format is in
//! `docs/format/manifest.md`.

pub mod edit;

pub use edit::{FileMetaData, VersionEdit};
