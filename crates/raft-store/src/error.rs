//! Errors of the store, and how they become openraft's.

use openraft::{AnyError, ErrorSubject, ErrorVerb, NodeId, StorageError, StorageIOError};
use std::error::Error as StdError;
use std::fmt;

/// What any error can be.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// An error of the store: what it was about to do, and why that failed.
#[derive(Debug)]
pub struct Error {
    what: String,
    cause: Option<Cause>,
}

impl Error {
    /// An error with its cause.
    pub(crate) fn because(what: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Error {
            what: what.into(),
            cause: Some(cause.into()),
        }
    }

    /// An error that needs no cause.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Error {
            what: what.into(),
            cause: None,
        }
    }

    /// This error as the cause of one that says more.
    pub(crate) fn within(self, what: impl Into<String>) -> Self {
        Error::because(what, self)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// The result of most functions here.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Tells openraft that `verb` of `subject` in `group` failed. It stops the node then.
pub(crate) fn fatal<N: NodeId>(
    group: u64,
    subject: ErrorSubject<N>,
    verb: ErrorVerb,
) -> impl FnOnce(Error) -> StorageError<N> {
    move |error| {
        let error = error.within(format!("group {group}"));
        StorageIOError::new(subject, verb, AnyError::new(&error)).into()
    }
}
