//! Turns panics of the user's code, and of jobs, into errors.
//!
//! Comparators and prefix extractors of the user may panic. The insert, look-up, iterator step
//! or addition to an external table in which they panic then ends with an error. Panics of
//! merge operators, filters and listeners are caught where these are called.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater_storage::{Error, ErrorKind, Result};

/// Code in which the user's code may panic, as it is named in errors.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Guarded {
    /// A comparator or a prefix extractor, called during this operation.
    Comparator(&'static str),
    /// A background job, in which a merge operator may panic, for example.
    Job,
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guarded::Comparator(during) => {
                write!(
                    f,
                    "a comparator or prefix extractor panicked during {during}"
                )
            }
            Guarded::Job => f.write_str("a background job panicked"),
        }
    }
}

/// Runs `work` and turns a panic into an error.
///
/// # Errors
/// Errors of `work`; `Aborted` if it panics.
#[inline]
pub(crate) fn caught<T>(what: Guarded, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = text_of(&*panic);
        Err(Error::new(
            ErrorKind::Aborted,
            format_args!("{what}: {text}"),
        ))
    })
}

/// The message of a panic, if it has one.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
