//! Tells on the terminal that a test, or a part of one, is skipped.

use std::io::Write;

/// Says that the current test is skipped and why: what is missing on this machine.
///
/// The test harness shows what a test prints only when that test fails, so this
/// writes to the standard error of the process itself.
///
/// # Panics
///
/// If `WHITEWATER_NO_SKIP` is 1: continuous integration sets it for tests whose
/// tools it has installed.
pub fn skip(reason: &str) {
    let forbidden = std::env::var_os("WHITEWATER_NO_SKIP").is_some_and(|v| v == "1");
    assert!(!forbidden, "skipped: {reason}");
    let test = std::thread::current();
    let name = test.name().unwrap_or("a test");
    // One call, so that lines of parallel tests do not mix.
    let line = format!("SKIPPED: {name}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
