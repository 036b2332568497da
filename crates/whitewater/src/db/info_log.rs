//! The info log: the file LOG, for people.
//!
//! One line per event, with the UTC time in front. Failures to write it are
//! ignored: it is not data.

use parking_lot::Mutex;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use whitewater_storage::filename;
use whitewater_storage::fs::{Fs, WritableFile};

/// The file LOG.
#[derive(Debug, Default)]
pub(crate) struct InfoLog {
    file: Mutex<Option<Box<dyn WritableFile>>>,
}

impl InfoLog {
    /// Starts a new LOG in `dir`; the one before becomes `LOG.old.<micros>`,
    /// and of those only `keep` stay.
    pub fn create(fs: &dyn Fs, dir: &Path, keep: usize) -> Self {
        let path = filename::info_log(dir);
        if matches!(fs.exists(&path), Ok(true)) {
            let micros = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_micros());
            let _ = fs.rename(&path, &dir.join(format!("LOG.old.{micros}")));
        }
        let mut old: Vec<String> = fs
            .list(dir)
            .unwrap_or_default()
            .into_iter()
            .filter(|name| name.starts_with("LOG.old."))
            .collect();
        old.sort();
        let excess = old.len().saturating_sub(keep.saturating_sub(1));
        for name in &old[..excess] {
            let _ = fs.remove(&dir.join(name));
        }
        InfoLog {
            file: Mutex::new(fs.create(&path).ok()),
        }
    }

    /// Writes one line.
    pub fn write(&self, text: &str) {
        let mut file = self.file.lock();
        if let Some(f) = file.as_mut() {
            let line = format!("{} {text}\n", timestamp());
            if f.append(line.as_bytes()).and_then(|()| f.flush()).is_err() {
                *file = None;
            }
        }
    }
}

/// `2026/01/31-12:34:56.123456`, UTC.
fn timestamp() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (secs, micros) = (now.as_secs(), now.subsec_micros());
    let (y, m, d) = civil_from_days((secs / 86_400) as i64);
    let (h, min, s) = (secs / 3600 % 24, secs / 60 % 60, secs % 60);
    format!("{y:04}/{m:02}/{d:02}-{h:02}:{min:02}:{s:02}.{micros:06}")
}

/// The Gregorian date of a day counted from 1970-01-01.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    // Years start in March here, so that the leap day ends a year.
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
    use super::civil_from_days;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
        assert_eq!(civil_from_days(20_454), (2026, 1, 1));
        assert_eq!(civil_from_days(-1), (1969, 12, 31));
    }
}
