//! The file LOG: rolling it over, and which old files are kept.
//!
//! A full or old LOG becomes `LOG.old.<micros>`, and the new one begins with the header lines
//! of the first. With `db_log_dir`, the files are in that directory and have the path of the
//! database in their names, as in RocksDB.

use crate::logger::LogLevel;
use crate::options::DbOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};
use whitewater_concurrent::system;
use whitewater_storage::filename;
use whitewater_storage::fs::{Fs, WritableFile};

/// The file LOG, open for writing.
#[derive(Debug)]
pub(super) struct LogFile {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    /// `None` after the file could not be written.
    file: Option<Box<dyn WritableFile>>,
    begun: Instant,
    /// The largest number of bytes after the header; 0 is no limit.
    max_bytes: u64,
    max_age: Option<Duration>,
    /// The number of files to keep, the current one included.
    keep: usize,
    /// The lines at the beginning of every file.
    header: Vec<String>,
}

impl LogFile {
    /// Begins a new LOG for the database in `dir`.
    pub fn create(fs: Arc<dyn Fs>, dir: &Path, options: &DbOptions) -> Self {
        let path = match &options.db_log_dir {
            None => filename::info_log(dir),
            Some(log_dir) => {
                // If this fails, creating the file will fail, too.
                let _ = fs.create_dir_all(log_dir);
                log_dir.join(name_elsewhere(dir))
            }
        };
        let mut log = LogFile {
            fs,
            path,
            file: None,
            begun: system::now(),
            max_bytes: options.max_log_file_size as u64,
            max_age: (options.log_file_time_to_roll > 0)
                .then(|| Duration::from_secs(options.log_file_time_to_roll as u64)),
            keep: options.keep_log_file_num,
            header: Vec::new(),
        };
        log.begin();
        log
    }

    /// Begins a new file. The previous one becomes an old file.
    fn begin(&mut self) {
        self.file = None;
        if matches!(self.fs.exists(&self.path), Ok(true)) {
            let now = system::wall_clock().duration_since(UNIX_EPOCH);
            let mut micros = now.map_or(0, |d| d.as_micros());
            let mut old = self.old(micros);
            while matches!(self.fs.exists(&old), Ok(true)) {
                micros += 1;
                old = self.old(micros);
            }
            let _ = self.fs.rename(&self.path, &old);
        }
        self.remove_old();
        self.file = self.fs.create(&self.path).ok();
        self.begun = system::now();
        for line in std::mem::take(&mut self.header) {
            self.append(&line);
            self.header.push(line);
        }
    }

    fn old(&self, micros: u128) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".old.{micros}"));
        name.into()
    }

    /// Removes the oldest of the old files if there are too many.
    fn remove_old(&self) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!("{name}.old.");
        let Some(dir) = self.path.parent() else {
            return;
        };
        let names = self.fs.list(dir).unwrap_or_default().into_iter();
        let mut old: Vec<(u128, String)> = names
            .filter_map(|name| Some((name.strip_prefix(&prefix)?.parse().ok()?, name)))
            .collect();
        old.sort_unstable();
        let excess = (old.len() + 1).saturating_sub(self.keep);
        for (_, name) in old.iter().take(excess) {
            let _ = self.fs.remove(&dir.join(name));
        }
    }

    /// Writes a line; header lines are repeated in later files.
    pub fn write(&mut self, level: LogLevel, text: &str) {
        let line = format!("{} {}{text}\n", timestamp(), level.mark());
        if level == LogLevel::Header {
            self.header.push(line.clone());
        } else if self.is_full() {
            self.begin();
        }
        self.append(&line);
    }

    fn is_full(&self) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        // A long header must not lead to a new file for every line.
        let header: usize = self.header.iter().map(String::len).sum();
        let bytes = file.len().saturating_sub(header as u64);
        (self.max_bytes > 0 && bytes >= self.max_bytes)
            || self
                .max_age
                .is_some_and(|age| system::since(self.begun) >= age)
    }

    fn append(&mut self, line: &str) {
        if let Some(f) = self.file.as_mut()
            && f.append(line.as_bytes()).and_then(|()| f.flush()).is_err()
        {
            self.file = None;
        }
    }
}

/// The name of a LOG that is not in its database's directory: the directory's path, with
/// underscores for characters that file names should not have.
fn name_elsewhere(dir: &Path) -> String {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    let path = dir.to_string_lossy();
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') => c,
        _ => '_',
    };
    let name: String = path.trim_start_matches('/').chars().map(plain).collect();
    format!("{name}_LOG")
}

/// The number of the calling thread, by which the lines of different jobs can be told apart.
fn thread_number() -> u64 {
    // The number for the next thread that writes to a log. Publishes nothing: relaxed.
    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = match system::number() {
            None => THREADS.fetch_add(1, Ordering::Relaxed),
            Some(number) => number as u64 + 1,
        };
    }
    NUMBER.with(|n| *n)
}

/// `2026/01/31-12:34:56.123456 1f`: the time, UTC, and the thread.
fn timestamp() -> String {
    let now = system::wall_clock()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (secs, micros) = (now.as_secs(), now.subsec_micros());
    let (y, m, d) = civil_from_days((secs / 86_400) as i64);
    let (h, min, s) = (secs / 3600 % 24, secs / 60 % 60, secs % 60);
    let thread = thread_number();
    format!("{y:04}/{m:02}/{d:02}-{h:02}:{min:02}:{s:02}.{micros:06} {thread:x}")
}

/// The Gregorian date of a day counted from 1970-01-01.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    // Years start in March here, so that the leap day is the last day of a year.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (yoe + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
        assert_eq!(civil_from_days(20_454), (2026, 1, 1));
        assert_eq!(civil_from_days(-1), (1969, 12, 31));
    }

    #[test]
    fn logs_elsewhere_are_named_after_their_database() {
        let name = name_elsewhere(Path::new("/var/lib/my db/x-1.y"));
        assert_eq!(name, "var_lib_my_db_x-1.y_LOG");
    }
}
