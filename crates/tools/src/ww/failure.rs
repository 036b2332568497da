//! The failures that end a command early, and their exit codes.

use std::fmt::Display;
use std::io;
use std::path::Path;

use whitewater::{Error, ErrorKind};

/// A result with a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// The exit code for a wrong command line.
pub const USAGE: u8 = 2;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The key or file was not found, or a check failed; exit code 1.
    Negative(String),
    /// The command line or the input is invalid; exit code 2.
    Usage(String),
    /// An error of the database or one of its files; exit code 3.
    Database(Error),
    /// An error of another file, of input or of output; exit code 3.
    Other(String),
    /// The reader of the output is gone; exit code 0, without a message.
    Closed,
}

impl Failure {
    /// An invalid command line or input.
    pub fn usage(what: impl Display) -> Self {
        Failure::Usage(what.to_string())
    }

    /// Something was not found, or a check failed.
    pub fn negative(what: impl Display) -> Self {
        Failure::Negative(what.to_string())
    }

    /// An error of a file that does not belong to a database.
    pub fn io(path: &Path, e: &io::Error) -> Self {
        Failure::Other(format!("{}: {e}", path.display()))
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::Negative(_) => 1,
            Failure::Usage(_) => USAGE,
            Failure::Database(_) | Failure::Other(_) => 3,
        }
    }

    /// The message, if there is one.
    pub fn message(&self) -> Option<String> {
        match self {
            Failure::Negative(text) | Failure::Usage(text) | Failure::Other(text) => {
                Some(text.clone())
            }
            Failure::Database(e) if is_locked(e) => Some(format!(
                "the database is open for writing elsewhere; commands that only read work \
                 beside it ({e})"
            )),
            Failure::Database(e) => Some(e.to_string()),
            Failure::Closed => None,
        }
    }
}

/// Whether another process holds the lock of the database.
fn is_locked(e: &Error) -> bool {
    let is_lock = |path: &Path| path.file_name().is_some_and(|name| name == "LOCK");
    e.kind() == ErrorKind::IOError
        && e.io_kind() == Some(io::ErrorKind::WouldBlock)
        && e.file().is_some_and(is_lock)
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Database(e)
    }
}

/// Errors of the output. [`Failure::io`] names other files.
impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Other(format!("output: {e}")),
        }
    }
}
