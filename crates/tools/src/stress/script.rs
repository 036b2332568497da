//! A log of what the threads of a round did, in order, for the analysis of failures.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lines so far, if they are recorded. The lock is global; a simulation's threads hold
/// it only for moments.
static LINES: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn lines() -> MutexGuard<'static, Option<Vec<String>>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts recording.
pub fn begin() {
    *lines() = Some(Vec::new());
}

/// Adds a line while recording.
pub fn log(line: impl FnOnce() -> String) {
    if let Some(lines) = &mut *lines() {
        lines.push(line());
    }
}

/// Stops recording and returns the lines.
pub fn end() -> Vec<String> {
    lines().take().unwrap_or_default()
}
