//! What reports begin with: the wall-clock time as text, in UTC, and the build.

use std::time::{SystemTime, UNIX_EPOCH};

/// The commit that the program was built from; empty if it is unknown.
pub fn commit() -> &'static str {
    env!("WHITEWATER_COMMIT")
}

/// The version and the commit of the program.
pub fn build() -> String {
    match commit() {
        "" => env!("CARGO_PKG_VERSION").to_owned(),
        commit => format!("{} (commit {commit})", env!("CARGO_PKG_VERSION")),
    }
}

/// Microseconds since 1970.
pub fn micros() -> u64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

/// The current time as `2024/03/01-09:05:00`.
pub fn timestamp() -> String {
    format(micros() / 1_000_000)
}

/// The current time in the format of C's `ctime`: `Fri Mar  1 09:05:00 2024`.
pub fn ctime() -> String {
    format_ctime(micros() / 1_000_000)
}

fn format_ctime(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let days = seconds / 86_400;
    let (year, month, day) = date(days);
    let second = seconds % 86_400;
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        DAYS[(days % 7) as usize],
        MONTHS[(month - 1) as usize],
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// A time in seconds since 1970, as `2024/03/01-09:05:00`.
pub fn format(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let second = seconds % 86_400;
    format!(
        "{year:04}/{month:02}/{day:02}-{:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Year, month and day of a number of days since 1970, by the Gregorian calendar.
/// Computed in eras of 400 years, each of which begins on the first of March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (
        era * 400 + year + u64::from(month <= 2),
        month,
        day_of_month,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_as_of_c() {
        assert_eq!(format_ctime(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(format_ctime(1_709_283_900), "Fri Mar  1 09:05:00 2024");
        assert_eq!(format_ctime(4_102_444_799), "Thu Dec 31 23:59:59 2099");
    }

    #[test]
    fn dates() {
        assert_eq!(format(0), "1970/01/01-00:00:00");
        assert_eq!(format(951_782_399), "2000/02/28-23:59:59");
        assert_eq!(format(951_782_400), "2000/02/29-00:00:00");
        assert_eq!(format(1_709_283_900), "2024/03/01-09:05:00");
        assert_eq!(format(4_102_444_799), "2099/12/31-23:59:59");
    }
}
