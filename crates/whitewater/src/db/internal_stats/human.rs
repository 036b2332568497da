//! Numbers in the short forms of RocksDB's statistics.

use std::time::Duration;

pub(super) const MB: f64 = 1_048_576.0;
pub(super) const GB: f64 = MB * 1024.0;

/// A count: `9999`, `10K`, `12M`, `34G`.
pub(super) fn count(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{}K", n / 1000),
        10_000_000..10_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}

/// A size: `0.00 KB`, `1.50 MB`.
pub(super) fn bytes(n: u64) -> String {
    let mut size = n as f64 / 1024.0;
    let mut units = ["KB", "MB", "GB", "TB"].into_iter().peekable();
    let mut unit = units.next().unwrap_or_default();
    while size >= 1024.0 && units.peek().is_some() {
        size /= 1024.0;
        unit = units.next().unwrap_or_default();
    }
    format!("{size:.2} {unit}")
}

/// A duration: `00:01:2.345`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let rest = (time - Duration::from_secs(seconds / 60 * 60)).as_secs_f64();
    format!("{:02}:{:02}:{rest:05.3}", seconds / 3600, seconds / 60 % 60)
}

/// `n` divided by `seconds`, which may be nearly 0.
pub(super) fn rate(n: f64, seconds: f64) -> f64 {
    n / seconds.max(0.001)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened_as_in_rocksdb() {
        for (n, text) in [
            (0, "0"),
            (9999, "9999"),
            (10_000, "10K"),
            (9_999_999, "9999K"),
            (10_000_000, "10M"),
            (10_000_000_000, "10G"),
        ] {
            assert_eq!(count(n), text);
        }
        for (n, text) in [
            (0, "0.00 KB"),
            (1 << 10, "1.00 KB"),
            (1536 << 10, "1.50 MB"),
            (3 << 30, "3.00 GB"),
            (5000 << 40, "5000.00 TB"),
        ] {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(clock(Duration::ZERO), "00:00:0.000");
        assert_eq!(clock(Duration::from_millis(590_644)), "00:09:50.644");
        assert_eq!(clock(Duration::from_secs(3_723)), "01:02:3.000");
        assert_eq!(rate(2.0, 0.0), 2000.0);
    }
}
