//! What the threads of a round did, in order: for those who look into a failure.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lines so far, if anybody wants them. A lock of the whole process, which a
/// simulation's threads hold for moments.
static LINES: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn lines() -> MutexGuard<'static, Option<Vec<String>>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes lines from now on.
pub fn begin() {
    *lines() = Some(Vec::new());
}

/// Adds a line, if they are wanted.
pub fn log(line: impl FnOnce() -> String) {
    if let Some(lines) = &mut *lines() {
        lines.push(line());
    }
}

/// What was told since the beginning; writes no more.
pub fn end() -> Vec<String> {
    lines().take().unwrap_or_default()
}
