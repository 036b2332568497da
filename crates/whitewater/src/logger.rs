//! The user's loggers, which replace the file LOG, and the levels of its lines.

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The severity of a line of the info log.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(i32)]
pub enum LogLevel {
    /// For finding errors in the engine.
    Debug = 0,
    /// Normal activity: flushes, compactions, changes.
    Info,
    /// Something is not as it should be, but the database goes on.
    Warn,
    /// Something has failed.
    Error,
    /// The database cannot go on.
    Fatal,
    /// The beginning of every log: version and options. Always logged.
    Header,
}

impl LogLevel {
    /// The mark at the beginning of a line of this level.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            LogLevel::Debug => "[DEBUG] ",
            LogLevel::Info | LogLevel::Header => "",
            LogLevel::Warn => "[WARN] ",
            LogLevel::Error => "[ERROR] ",
            LogLevel::Fatal => "[FATAL] ",
        }
    }
}

type Callback = dyn Fn(LogLevel, &str) + Send + Sync;

/// A logger that the user supplies, with its lowest level.
pub(crate) struct Logger {
    level: LogLevel,
    target: Target,
}

enum Target {
    /// The standard error stream; every line starts with this prefix.
    Stderr(String),
    Callback(Box<Callback>),
}

impl Logger {
    /// A logger that writes lines to the standard error stream.
    pub fn stderr(level: LogLevel, prefix: String) -> Self {
        Logger {
            level,
            target: Target::Stderr(prefix),
        }
    }

    /// A logger that passes lines to `callback`.
    pub fn callback(level: LogLevel, callback: Box<Callback>) -> Self {
        Logger {
            level,
            target: Target::Callback(callback),
        }
    }

    /// The lowest level that is logged.
    pub fn level(&self) -> LogLevel {
        self.level
    }

    /// Logs one line.
    pub fn log(&self, level: LogLevel, text: &str) {
        match &self.target {
            Target::Stderr(prefix) => {
                let line = format!("{prefix}{}{text}\n", level.mark());
                // An error here cannot be reported to anyone.
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
            // A panic must not end a job, nor leave a caller's work half done.
            Target::Callback(callback) => {
                let _ = catch_unwind(AssertUnwindSafe(|| callback(level, text)));
            }
        }
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger")
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}
