//! Where the info log goes, and what is in it.

use super::Options;
use crate::listener::EventListener;
use crate::logger::{LogLevel, Logger};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Takes the lines of the info log in place of the file LOG. Clones share it.
#[derive(Clone)]
pub struct InfoLogger {
    /// `None` stands for the file.
    logger: Option<Arc<Logger>>,
}

impl InfoLogger {
    /// A logger that writes lines from `log_level` on to the standard error
    /// stream, each behind `prefix`.
    pub fn new_stderr_logger<S: AsRef<str>>(log_level: LogLevel, prefix: Option<S>) -> Self {
        let prefix = prefix.map_or_else(String::new, |p| p.as_ref().to_owned());
        InfoLogger {
            logger: Some(Arc::new(Logger::stderr(log_level, prefix))),
        }
    }

    /// A logger that calls `cb` with lines from `level` on, by any thread, some
    /// of which are about to answer a caller: it should be quick, and must not
    /// use the database. A panic in it is lost.
    ///
    /// ```
    /// use whitewater::{DB, InfoLogger, LogLevel, Options};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.set_info_logger(InfoLogger::new_callback_logger(
    ///     LogLevel::Warn,
    ///     |level, line| eprintln!("{level:?}: {line}"),
    /// ));
    /// let db = DB::open(&opts, path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn new_callback_logger<F: Fn(LogLevel, &str) + Sync + Send + 'static>(
        level: LogLevel,
        cb: F,
    ) -> Self {
        InfoLogger {
            logger: Some(Arc::new(Logger::callback(level, Box::new(cb)))),
        }
    }
}

impl fmt::Debug for InfoLogger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InfoLogger").field(&self.logger).finish()
    }
}

/// The info log.
impl Options {
    /// Has `logger` take the info log, from its own level on, in place of a
    /// file. Options about files have no effect then. Default none. Fixed while the
    /// database is open.
    pub fn set_info_logger(&mut self, logger: InfoLogger) {
        self.db.info_logger = logger.logger;
    }

    /// The time from which a call is slow: a get, a `multi_get`, a write, or a seek or step of an
    /// iterator. A slow call has a line of level Warn in the info log, with the time and what the
    /// [`PerfContext`](crate::PerfContext) of its thread would say of it; no keys and no values.
    /// Of each kind of call there is a line a second at most, which says how many have none.
    ///
    /// **Option `slow_operation_micros`**: microseconds, default 0; can be changed while the
    /// database is open.
    ///
    /// While the option is set, every call measures its steps as at
    /// [`PerfStatsLevel::EnableTime`](crate::perf::PerfStatsLevel::EnableTime). The context of the
    /// thread is left as it is. A thread that has chosen a level itself measures at that level.
    /// An iterator that was made while the option was not set is not timed. Not in the `rocksdb`
    /// crate.
    pub fn set_slow_operation_micros(&mut self, micros: u64) {
        self.db.slow_operation_micros = micros;
    }

    /// How often the database writes its statistics to the info log: the properties
    /// [`DBSTATS`](crate::properties::DBSTATS) and [`CFSTATS`](crate::properties::CFSTATS) of all
    /// column families, and tickers and histograms where they are on. Each time, a new interval
    /// begins in these. 0 is never. A read-only or secondary instance
    /// writes none.
    ///
    /// **Option `stats_dump_period_sec`**: seconds, default 600; can be changed while the database
    /// is open.
    pub fn set_stats_dump_period_sec(&mut self, period: u32) {
        self.db.stats_dump_period_sec = period;
    }

    /// How often the database hands its figures to the recorder of the `metrics`
    /// facade that is installed for the whole process, as
    /// [`publish_metrics`](crate::DBCommon::publish_metrics) does; and once more
    /// when it closes. Seconds; 0 is never. Default 0. Cannot be changed while the
    /// database is open. Not in the `rocksdb` crate. A read-only or secondary
    /// instance does nothing by itself.
    #[cfg(feature = "metrics")]
    pub fn set_metrics_publish_period_sec(&mut self, period: u32) {
        self.db.metrics.period_sec = period;
    }

    /// The value of the label `db` of everything that the database publishes. By
    /// default the path of the database. Two databases with one label, or with
    /// shared statistics, overwrite each other's figures in recorders. Cannot be
    /// changed while the database is open. Not in the `rocksdb` crate.
    #[cfg(feature = "metrics")]
    pub fn set_metrics_label(&mut self, label: impl Into<String>) {
        self.db.metrics.label = Some(label.into());
    }

    /// Has `listener` told what happens in the database, besides those that
    /// were added before; see [`listener`](crate::listener) for the thread that
    /// calls it. Not in the `rocksdb` crate. A read-only or secondary instance
    /// has no events. Default none. Fixed while the database is open.
    pub fn add_event_listener(&mut self, listener: Arc<dyn EventListener>) {
        self.db.listeners.0.push(listener);
    }

    /// The logger that was set; one that stands for the file when there is
    /// none.
    pub fn get_info_logger(&self) -> InfoLogger {
        InfoLogger {
            logger: self.db.info_logger.clone(),
        }
    }

    /// The lowest level of lines that go to LOG. A logger of the user has its own.
    ///
    /// **Option `info_log_level`**: default `INFO_LEVEL`; fixed while the database is open.
    pub fn set_log_level(&mut self, level: LogLevel) {
        self.db.info_log_level = level;
    }

    /// The directory of LOG, which carries the path of the database in its name there. Default, and
    /// with the empty path, the database's own. [`DB::destroy`](crate::DB::destroy) leaves what is
    /// there.
    ///
    /// **Option `db_log_dir`**: default none; fixed while the database is open.
    pub fn set_db_log_dir<P: AsRef<Path>>(&mut self, path: P) {
        let path = path.as_ref();
        self.db.db_log_dir = (!path.as_os_str().is_empty()).then(|| path.to_path_buf());
    }

    /// Size at which a new LOG is begun, without the options that each begins
    /// with. 0, the default, is no limit.
    ///
    /// **Option `max_log_file_size`**: bytes, default 0; fixed while the database is open.
    pub fn set_max_log_file_size(&mut self, size: usize) {
        self.db.max_log_file_size = size;
    }

    /// Age at which a new LOG is begun, by the next line. 0, the default, is no limit.
    ///
    /// **Option `log_file_time_to_roll`**: seconds, default 0; fixed while the database is open.
    pub fn set_log_file_time_to_roll(&mut self, secs: usize) {
        self.db.log_file_time_to_roll = secs;
    }
}
