//! Loggers of the user, in place of the file LOG, and how much a line matters.

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How much a line of the info log matters.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
#[repr(i32)]
pub enum LogLevel {
    /// For those who look for errors in the engine.
    Debug = 0,
    /// What happens: flushes, compactions, changes.
    Info,
    /// Something is not as it should be, and the database goes on.
    Warn,
    /// Something has failed.
    Error,
    /// The database cannot go on.
    Fatal,
    /// What begins every log: version and options. Always logged.
    Header,
}

impl LogLevel {
    /// What a line of this level begins with.
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

/// A logger of the user, with the level that it begins at.
pub(crate) struct Logger {
    level: LogLevel,
    target: Target,
}

enum Target {
    /// The standard error stream, with a prefix.
    Stderr(String),
    Callback(Box<Callback>),
}

impl Logger {
    /// Lines go to the standard error stream.
    pub fn stderr(level: LogLevel, prefix: String) -> Self {
        Logger {
            level,
            target: Target::Stderr(prefix),
        }
    }

    /// Lines go to `callback`.
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

    /// Takes one line.
    pub fn log(&self, level: LogLevel, text: &str) {
        match &self.target {
            Target::Stderr(prefix) => {
                let line = format!("{prefix}{}{text}\n", level.mark());
                // Nobody is left to tell.
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
            // A panic must not end a job, nor leave a caller half done.
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
