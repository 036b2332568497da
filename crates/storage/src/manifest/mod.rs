//! The manifest: the history of the database's files as a log of edits.
//!
//! [`VersionEdit`] is one record; [`edit`] encodes and decodes it.
//! [`ManifestReader`] reads a manifest's edits, and [`read_current`] and
//! [`set_current`] find and choose the manifest in force. What the edits add
//! up to is the engine's business (`version/`). The format is in
//! `docs/format/manifest.md`.

mod current;
pub mod edit;
mod reader;
mod tags;

pub use current::{read_current, set_current};
pub use edit::{BlobFileMetaData, BlobGarbage, FileMetaData, VersionEdit};
pub use reader::ManifestReader;
