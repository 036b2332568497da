//! The manifest: the history of the database's files as a log of edits.
//!
//! [`VersionEdit`] is one record; [`edit`] encodes and decodes it, `tags` has the stored tags.
//! [`ManifestReader`] (`reader`) reads the edits of a manifest. [`read_current`] and
//! [`set_current`] (`current`) find and choose the current manifest. The engine applies the edits.
//! `docs/format/manifest.md` describes the format.

mod current;
pub mod edit;
mod reader;
mod tags;

pub use current::{read_current, set_current};
pub use edit::{BlobFileMetaData, BlobGarbage, FileMetaData, VersionEdit};
pub use reader::ManifestReader;
