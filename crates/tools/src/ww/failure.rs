//! What ends a command early, and the exit code it gives.

use std::fmt::Display;
use std::io;
use std::path::Path;

use whitewater::{Error, ErrorKind};

/// A result with a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Exit code of wrong command lines.
pub const USAGE: u8 = 2;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for is not there, or a check failed; exit code 1.
    Negative(String),
    /// The command line or the input asks for something impossible; exit code 2.
    Usage(String),
    /// The database, or a file of it; exit code 3.
    Database(Error),
    /// Something else about files, input or output; exit code 3.
    Other(String),
    /// Nobody reads the output any longer; exit code 0, in silence.
    Closed,
}

impl Failure {
    /// A wrong command line or input.
    pub fn usage(what: impl Display) -> Self {
        Failure::Usage(what.to_string())
    }

    /// What was asked for is not there, or a check failed.
    pub fn negative(what: impl Display) -> Self {
        Failure::Negative(what.to_string())
    }

    /// A file that is not one of a database's.
    pub fn io(path: &Path, e: &io::Error) -> Self {
        Failure::Other(format!("{}: {e}", path.display()))
    }

    /// The code that the program exits with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::Negative(_) => 1,
            Failure::Usage(_) => USAGE,
            Failure::Database(_) | Failure::Other(_) => 3,
        }
    }

    /// What to tell, if anything.
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

/// Whether somebody else holds the lock of the database.
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

/// Of writing the output; other files are named by [`Failure::io`].
impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Other(format!("output: {e}")),
        }
    }
}
