//! The info log: the file LOG, for people and for tools that read RocksDB's.
//!
//! There is one line per event, with the UTC time, the thread, and the level unless it is
//! `Info`. The log begins with the options ([`dump`]). Jobs have numbers:
//! `[family] [JOB 3] ...`. What tools look for is on lines `EVENT_LOG_v1 {...}` ([`event`]).
//! Lines may go to a logger of the user instead of the file (`file`). With the cargo feature
//! `tracing`, they go to its subscriber, too. Failures to write are ignored, because the log is
//! not data.

pub(crate) mod dump;
pub(crate) mod event;
mod file;

use crate::logger::{LogLevel, Logger};
use crate::options::DbOptions;
use file::LogFile;
use std::path::Path;
#[cfg(feature = "tracing")]
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::fs::Fs;

/// A log that writes lines of a level and above to a sink.
#[derive(Debug)]
pub(crate) struct InfoLog {
    level: LogLevel,
    sink: Sink,
    /// The database's directory, for `tracing`.
    #[cfg(feature = "tracing")]
    dir: PathBuf,
}

#[derive(Debug)]
enum Sink {
    File(Mutex<LogFile>),
    Logger(Arc<Logger>),
    Nowhere,
}

impl InfoLog {
    /// The log of the database in `dir`: a new file LOG, or the user's logger.
    pub fn create(fs: &Arc<dyn Fs>, dir: &Path, options: &DbOptions) -> Self {
        let (level, sink) = match &options.info_logger {
            Some(logger) => (logger.level(), Sink::Logger(logger.clone())),
            None => {
                let file = LogFile::create(fs.clone(), dir, options);
                (options.info_log_level, Sink::File(Mutex::new(file)))
            }
        };
        InfoLog::new(level, sink, dir)
    }

    fn new(level: LogLevel, sink: Sink, dir: &Path) -> Self {
        // The directory is unused without `tracing`.
        let _ = dir;
        InfoLog {
            level,
            sink,
            #[cfg(feature = "tracing")]
            dir: dir.to_path_buf(),
        }
    }

    /// The log of an instance of the database in `dir` that writes no file: the user's logger, or
    /// nothing.
    pub fn without_file(dir: &Path, options: &DbOptions) -> Self {
        let logger = options.info_logger.as_ref();
        InfoLog::new(
            logger.map_or(options.info_log_level, |logger| logger.level()),
            logger.map_or(Sink::Nowhere, |logger| Sink::Logger(logger.clone())),
            dir,
        )
    }

    /// Writes a line about normal activity.
    pub fn write(&self, text: &str) {
        self.log(LogLevel::Info, text);
    }

    /// Writes a line about something that is not as it should be.
    pub fn warn(&self, text: &str) {
        self.log(LogLevel::Warn, text);
    }

    /// Writes a line about a failure.
    pub fn error(&self, text: &str) {
        self.log(LogLevel::Error, text);
    }

    /// Writes a line that every file begins with.
    pub fn header(&self, text: &str) {
        self.log(LogLevel::Header, text);
    }

    /// Whether lines of `level` are written.
    pub fn takes(&self, level: LogLevel) -> bool {
        level as i32 >= self.level as i32
    }

    /// Writes a message of `level`, if such messages are written.
    pub fn log(&self, level: LogLevel, text: &str) {
        if !self.takes(level) {
            return;
        }
        match &self.sink {
            Sink::File(file) => file.lock().write(level, text),
            Sink::Logger(logger) => logger.log(level, text),
            Sink::Nowhere => {}
        }
        #[cfg(feature = "tracing")]
        crate::trace::line(&self.dir, level, text);
    }
}
