//! Comparators and prefix extractors of the user, which may panic: an insert, a look-up,
//! a step of an iterator or an addition to a table outside ends with an error then. Merge operators, filters and
//! listeners are caught where they are called.

use crate::jobs::text_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater_storage::{Error, ErrorKind, Result};

/// Runs `work`, in which such code may panic, for `what`.
///
/// # Errors
/// Those of `work`; `Aborted` when it panics.
#[inline]
pub(crate) fn caught<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = text_of(&*panic);
        Err(Error::new(
            ErrorKind::Aborted,
            format_args!("a comparator or prefix extractor panicked during {what}: {text}"),
        ))
    })
}
