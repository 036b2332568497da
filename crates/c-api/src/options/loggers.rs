//! Loggers.

use super::database::with;
use super::rocksdb_options_t;
use crate::border::{Text, exports};
use crate::callbacks::State;
use libc::{c_char, c_uint};
use whitewater::{InfoLogger, LogLevel, Options};

/// Takes the lines of the info log.
pub struct rocksdb_logger_t(pub(crate) InfoLogger);

type Log = extern "C" fn(State, c_uint, *mut c_char, usize);

fn level(number: i32) -> LogLevel {
    match number {
        0 => LogLevel::Debug,
        1 => LogLevel::Info,
        2 => LogLevel::Warn,
        3 => LogLevel::Error,
        4 => LogLevel::Fatal,
        _ => LogLevel::Header,
    }
}

/// The logger that writes the file LOG.
fn file() -> InfoLogger {
    Options::default().get_info_logger()
}

exports! {
    fn rocksdb_logger_create_stderr_logger(
        log_level: i32, prefix: Text,
    ) -> Option<Box<rocksdb_logger_t>> {
        let logger = InfoLogger::new_stderr_logger(level(log_level), Some(prefix.lossy()));
        Some(Box::new(rocksdb_logger_t(logger)))
    }
    fn rocksdb_logger_create_callback_logger(
        log_level: i32, log: Option<Log>, state: State,
    ) -> Option<Box<rocksdb_logger_t>> {
        let log = log?;
        let logger = InfoLogger::new_callback_logger(level(log_level), move |level, line| {
            // The text is C's to change, and ends with a NUL byte.
            let mut text: Vec<c_char> = line.bytes().map(|byte| byte as c_char).collect();
            text.push(0);
            log(state, level as c_uint, text.as_mut_ptr(), line.len());
        });
        Some(Box::new(rocksdb_logger_t(logger)))
    }
    fn rocksdb_logger_destroy(_logger: Option<Box<rocksdb_logger_t>>) {}
    fn rocksdb_options_set_info_log(
        options: Option<&mut rocksdb_options_t>, logger: Option<&rocksdb_logger_t>,
    ) {
        let logger = logger.map_or_else(file, |logger| logger.0.clone());
        with(options, |options| options.set_info_logger(logger));
    }
    fn rocksdb_options_get_info_log(
        options: Option<&rocksdb_options_t>,
    ) -> Option<Box<rocksdb_logger_t>> {
        let logger = options?.options.get_info_logger();
        Some(Box::new(rocksdb_logger_t(logger)))
    }
}
