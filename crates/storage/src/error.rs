//! The error type that all layers share.
//!
//! An [`Error`] has a kind and a message for humans. If a file is the cause, it also names the file
//! and, if known, the byte offset. The text starts with RocksDB's prefix for the kind
//! (`Corruption: `, `IO error: `, ...), so that code which matches these prefixes keeps working.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A result with Whitewater's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, as RocksDB classifies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The key, file or object does not exist.
    NotFound,
    /// Stored bytes contradict their checksum or format.
    Corruption,
    /// The operation or option is not supported in this build or mode.
    NotSupported,
    /// The caller passed an argument that cannot be honoured.
    InvalidArgument,
    /// The file system reported a failure.
    IOError,
    /// A merge operation is still in progress.
    MergeInProgress,
    /// The result is incomplete (for example, the block was not in cache).
    Incomplete,
    /// The database is being closed.
    ShutdownInProgress,
    /// A deadline passed.
    TimedOut,
    /// The operation was aborted.
    Aborted,
    /// A resource is held by someone else.
    Busy,
    /// The object has expired.
    Expired,
    /// A conflict; the same call may succeed later.
    TryAgain,
    /// The compaction exceeds what can be done at once.
    CompactionTooLarge,
    /// The column family was dropped.
    ColumnFamilyDropped,
    /// None of the above.
    Unknown,
}

impl ErrorKind {
    /// The text that RocksDB prints before the colon.
    fn prefix(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "NotFound",
            ErrorKind::Corruption => "Corruption",
            ErrorKind::NotSupported => "Not implemented",
            ErrorKind::InvalidArgument => "Invalid argument",
            ErrorKind::IOError => "IO error",
            ErrorKind::MergeInProgress => "Merge in progress",
            ErrorKind::Incomplete => "Result incomplete",
            ErrorKind::ShutdownInProgress => "Shutdown in progress",
            ErrorKind::TimedOut => "Operation timed out",
            ErrorKind::Aborted => "Operation aborted",
            ErrorKind::Busy => "Resource busy",
            ErrorKind::Expired => "Operation expired",
            ErrorKind::TryAgain => "Operation failed. Try again.",
            ErrorKind::CompactionTooLarge => "Compaction too large",
            ErrorKind::ColumnFamilyDropped => "Column family dropped",
            ErrorKind::Unknown => "Unknown",
        }
    }
}

/// How much of a database a failure stops, in RocksDB's grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Severity {
    /// It stops only the call that met it.
    #[default]
    NoError,
    /// It stops nothing: flushes or compactions are retried automatically.
    SoftError,
    /// It stops writes, flushes and compactions, until the database is resumed.
    HardError,
    /// It stops writes, flushes and compactions, until the database is opened again.
    FatalError,
    /// It stops writes, flushes and compactions, and opening the database again may not help:
    /// stored data is damaged.
    UnrecoverableError,
}

impl Severity {
    /// RocksDB's text for the severity.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::NoError => "No Error",
            Severity::SoftError => "Soft Error",
            Severity::HardError => "Hard Error",
            Severity::FatalError => "Fatal Error",
            Severity::UnrecoverableError => "Unrecoverable Error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error of the storage engine. Clones are cheap, because one background failure is returned to
/// every writer that it concerns.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Arc<Repr>);

#[derive(Clone, PartialEq, Eq)]
struct Repr {
    kind: ErrorKind,
    text: String,
    file: Option<PathBuf>,
    offset: Option<u64>,
    io: Option<io::ErrorKind>,
    severity: Severity,
    memory_limit: bool,
    space_limit: bool,
}

impl Error {
    /// An error of `kind` with a message for humans.
    pub fn new(kind: ErrorKind, what: impl fmt::Display) -> Self {
        Error(Arc::new(Repr {
            kind,
            text: format!("{}: {what}", kind.prefix()),
            file: None,
            offset: None,
            io: None,
            severity: Severity::NoError,
            memory_limit: false,
            space_limit: false,
        }))
    }

    /// Corrupt content of `file`; the bad bytes start at `offset`.
    pub fn corruption_in(file: &Path, offset: u64, what: impl fmt::Display) -> Self {
        Error(Arc::new(Repr {
            kind: ErrorKind::Corruption,
            text: format!(
                "Corruption: {what} in {} at offset {offset}",
                file.display()
            ),
            file: Some(file.to_path_buf()),
            offset: Some(offset),
            io: None,
            severity: Severity::NoError,
            memory_limit: false,
            space_limit: false,
        }))
    }

    /// Corrupt content whose file and offset the caller does not know. The layer that knows them
    /// adds them with [`Error::in_file`].
    pub fn corruption(what: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Corruption, what)
    }

    /// An argument that cannot be honoured.
    pub fn invalid(what: impl fmt::Display) -> Self {
        Error::new(ErrorKind::InvalidArgument, what)
    }

    /// An option, format or operation that is not supported.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        Error::new(ErrorKind::NotSupported, what)
    }

    /// A memory limit that leaves no room. The kind is `Aborted`, and the message is RocksDB's.
    pub fn memory_limit(what: impl fmt::Display) -> Self {
        let mut e = Error::new(
            ErrorKind::Aborted,
            format_args!("Memory limit reached: {what}"),
        );
        Arc::make_mut(&mut e.0).memory_limit = true;
        e
    }

    /// A limit on the space of files that is reached. The kind is `IOError`, and the message is
    /// RocksDB's.
    pub fn space_limit(what: impl fmt::Display) -> Self {
        let mut e = Error::new(
            ErrorKind::IOError,
            format_args!("Space limit reached: {what}"),
        );
        Arc::make_mut(&mut e.0).space_limit = true;
        e
    }

    /// A failed file-system operation `op` (a verb phrase) on `path`.
    pub fn io(op: &str, path: &Path, source: &io::Error) -> Self {
        Error(Arc::new(Repr {
            kind: ErrorKind::IOError,
            text: format!("IO error: While {op}: {}: {source}", path.display()),
            file: Some(path.to_path_buf()),
            offset: None,
            io: Some(source.kind()),
            severity: Severity::NoError,
            memory_limit: false,
            space_limit: false,
        }))
    }

    /// Adds the file, and the offset if known, to an error that lacks them.
    #[must_use]
    pub fn in_file(mut self, file: &Path, offset: Option<u64>) -> Self {
        if self.0.file.is_none() {
            let repr = Arc::make_mut(&mut self.0);
            repr.file = Some(file.to_path_buf());
            repr.text.push_str(" in ");
            repr.text.push_str(&file.display().to_string());
            if let Some(offset) = offset {
                repr.offset = Some(offset);
                repr.text.push_str(&format!(" at offset {offset}"));
            }
        }
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file that caused the error, if known.
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The byte offset in [`Error::file`], if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The operating system's kind of an I/O failure.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.0.io
    }

    /// The same error with this severity.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        Arc::make_mut(&mut self.0).severity = severity;
        self
    }

    /// How much of the database the failure stopped. [`Severity::NoError`] if it concerns only the
    /// call that returned it.
    pub fn severity(&self) -> Severity {
        self.0.severity
    }

    /// Whether the device or a quota was full.
    pub fn is_no_space(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self.0.io, Some(StorageFull | QuotaExceeded))
    }

    /// Whether files took all the space that a limit allows them.
    pub fn is_space_limit(&self) -> bool {
        self.0.space_limit
    }

    /// Whether a memory limit left no room, such as that of a
    /// [strict](crate::cache::CacheOptions::strict_capacity_limit) cache.
    pub fn is_memory_limit(&self) -> bool {
        self.0.memory_limit
    }

    /// Whether the same call may succeed later without resuming or reopening the database. That is
    /// so after a stall (`Incomplete`), a conflict (`Busy`, `TryAgain`), a deadline, a memory
    /// limit, and a failure of the file system that stopped only this call or is being retried.
    pub fn is_retryable(&self) -> bool {
        match self.0.kind {
            ErrorKind::Incomplete | ErrorKind::Busy | ErrorKind::TryAgain | ErrorKind::TimedOut => {
                true
            }
            ErrorKind::IOError => self.0.severity <= Severity::SoftError,
            ErrorKind::Aborted => self.0.memory_limit,
            _ => false,
        }
    }

    /// Whether a file or directory did not exist.
    pub fn is_missing_file(&self) -> bool {
        self.0.io == Some(io::ErrorKind::NotFound)
    }

    /// The message, as [`fmt::Display`] prints it.
    pub fn into_string(self) -> String {
        self.0.text.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.text)
            .finish()
    }
}

impl From<Error> for String {
    fn from(e: Error) -> String {
        e.into_string()
    }
}

impl AsRef<str> for Error {
    fn as_ref(&self) -> &str {
        &self.0.text
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_starts_with_the_prefix_of_its_kind() {
        let e = Error::corruption("bad block").in_file(Path::new("/db/000007.sst"), Some(42));
        assert_eq!(
            e.to_string(),
            "Corruption: bad block in /db/000007.sst at offset 42"
        );
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert_eq!(e.file(), Some(Path::new("/db/000007.sst")));
        assert_eq!(e.offset(), Some(42));
    }

    #[test]
    fn limits_of_memory_are_told_from_other_ends() {
        let e = Error::memory_limit("no room").in_file(Path::new("a"), None);
        assert_eq!(
            e.to_string(),
            "Operation aborted: Memory limit reached: no room in a"
        );
        assert!(e.is_memory_limit() && e.is_retryable());
        let other = Error::new(ErrorKind::Aborted, "no room");
        assert!(!other.is_memory_limit() && !other.is_retryable());
    }

    #[test]
    fn the_first_place_named_wins() {
        let e = Error::corruption_in(Path::new("a"), 1, "x").in_file(Path::new("b"), Some(2));
        assert_eq!(e.to_string(), "Corruption: x in a at offset 1");
    }
}
