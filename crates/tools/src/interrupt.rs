//! Ends of a run that its user asks for: Ctrl-C, and an output whose reader has gone.
//!
//! Programs look at [`requested`] where they can end in order, so that what is
//! theirs is removed and what was measured is told. A second Ctrl-C ends at once.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why the run is to end: [`NOT`] or an exit code.
/// Written by: the thread that waits for signals, and who writes to the output.
/// Read by: all who work. Publishes nothing: relaxed.
static WHY: AtomicU8 = AtomicU8::new(NOT);
const NOT: u8 = 0;
/// The exit code after Ctrl-C: 128 and SIGINT's number, as shells have it.
const INTERRUPTED: u8 = 130;
/// The exit code when nobody reads the output: 128 and SIGPIPE's number.
const UNREAD: u8 = 141;

/// Takes Ctrl-C, SIGTERM and SIGHUP as requests from now on; `hint` says on standard
/// error what happens then.
///
/// # Errors
/// The system refuses it.
pub fn listen(hint: &'static str) -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || {
        if requested() {
            std::process::exit(INTERRUPTED.into());
        }
        WHY.store(INTERRUPTED, Ordering::Relaxed);
        // Nobody may be left to tell.
        let _ = writeln!(io::stderr(), "{hint}");
    })
}

/// Lets Ctrl-C pass, for a process whose parent decides when it ends.
///
/// # Errors
/// The system refuses it.
pub fn ignore() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {})
}

/// Whether the run is to end.
pub fn requested() -> bool {
    WHY.load(Ordering::Relaxed) != NOT
}

/// The exit code of a run that was asked to end.
pub fn exit_code() -> Option<ExitCode> {
    match WHY.load(Ordering::Relaxed) {
        NOT => None,
        code => Some(ExitCode::from(code)),
    }
}

/// An output. When its reader has gone, that is a request to end, and no failure.
#[derive(Debug)]
pub struct Output<W>(pub W);

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unread(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unread(self.0.flush(), ())
    }
}

/// `otherwise` where `result` is that nobody reads.
fn unread<T>(result: io::Result<T>, otherwise: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            // What was asked for first counts.
            let _ = WHY.compare_exchange(NOT, UNREAD, Ordering::Relaxed, Ordering::Relaxed);
            Ok(otherwise)
        }
        result => result,
    }
}

/// Writes a message to standard error, if somebody reads it.
pub fn note(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
