//! Panics of the user's code, and of jobs, become errors.
//!
//! Comparators and prefix extractors of the user may panic: an insert, a look-up, a step of
//! an iterator or an addition to a table outside ends with an error then. Merge operators,
//! filters and listeners are caught where they are called.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater_storage::{Error, ErrorKind, Result};

/// Code in which the user's code may panic, as errors name it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Guarded {
    /// A comparator or a prefix extractor, called during this.
    Comparator(&'static str),
    /// A background job: a merge operator, say.
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

/// Runs `work`; a panic becomes an error.
///
/// # Errors
/// Those of `work`; `Aborted` when it panics.
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

/// What a panic said, if it said something.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
