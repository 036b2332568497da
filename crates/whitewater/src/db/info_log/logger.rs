//! Loggers of the user, in place of the file LOG.

use super::LogLevel;
use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
