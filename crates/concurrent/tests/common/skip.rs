//! Tells on the terminal that a test, or a part of one, is skipped.

use std::io::Write;

/// Says that the current test is skipped and why: what is missing on this machine.
///
/// The test harness shows what a test prints only when that test fails, so this
/// writes to the standard error of the process itself.
///
/// # Panics
///
/// If `WHITEWATER_NO_SKIP` is 1.
#[allow(dead_code, reason = "some test programs need tools only")]
pub fn skip(reason: &str) {
    skip_unless(&["1"], reason);
}

/// Like [`skip`], for want of a program that can be installed.
///
/// # Panics
///
/// If `WHITEWATER_NO_SKIP` is 1, or `tools`: continuous integration has installed them all.
#[allow(dead_code, reason = "not every test program needs a tool")]
pub fn skip_without(tool: &str) {
    skip_unless(&["1", "tools"], &format!("no {tool}"));
}

fn skip_unless(forbidden: &[&str], reason: &str) {
    let wanted = std::env::var("WHITEWATER_NO_SKIP").unwrap_or_default();
    assert!(!forbidden.contains(&wanted.as_str()), "skipped: {reason}");
    let test = std::thread::current();
    let name = test.name().unwrap_or("a test");
    // One call, so that lines of parallel tests do not mix.
    let line = format!("SKIPPED: {name}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
