//! The kind of a file of a database, by its name.

use crate::filename::{self, FileType};
use std::fmt;
use std::path::Path;

/// The kind of a file of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A write-ahead log, archived or not.
    Log,
    /// A table, including one made outside the database.
    Table,
    /// A blob file.
    Blob,
    /// A manifest.
    Manifest,
    /// `CURRENT`
    Current,
    /// A temporary file, which is renamed once it is complete.
    Temporary,
    /// `OPTIONS-*`
    Options,
    /// `IDENTITY`
    Identity,
    /// `LOCK`
    Lock,
    /// `LOG` and older ones
    InfoLog,
    /// Everything else: a directory.
    Directory,
}

impl FileKind {
    /// The kind of the file at `path`.
    pub fn of(path: &Path) -> FileKind {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match filename::parse(&name) {
            Some(FileType::Wal(_)) => FileKind::Log,
            Some(FileType::Table(_)) => FileKind::Table,
            Some(FileType::Blob(_)) => FileKind::Blob,
            Some(FileType::Manifest(_)) => FileKind::Manifest,
            Some(FileType::Current) => FileKind::Current,
            Some(FileType::Temp(_)) => FileKind::Temporary,
            Some(FileType::Options(_)) => FileKind::Options,
            Some(FileType::Identity) => FileKind::Identity,
            Some(FileType::Lock) => FileKind::Lock,
            Some(FileType::InfoLog) => FileKind::InfoLog,
            None if name.ends_with(".sst") => FileKind::Table,
            None => FileKind::Directory,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Log => "log",
            FileKind::Table => "table",
            FileKind::Blob => "blob file",
            FileKind::Manifest => "manifest",
            FileKind::Current => "CURRENT",
            FileKind::Temporary => "temporary file",
            FileKind::Options => "options file",
            FileKind::Identity => "IDENTITY",
            FileKind::Lock => "LOCK",
            FileKind::InfoLog => "info log",
            FileKind::Directory => "directory",
        })
    }
}
