//! Numbers as people read them: as the pages show them, for other clients to show the same.

/// A number with a decimal prefix: `12.3 k`.
pub fn count(n: f64) -> String {
    scaled(n, 1000.0, &["", " k", " M", " G", " T"])
}

/// Bytes with a binary prefix: `12.3 MiB`.
pub fn bytes(n: f64) -> String {
    scaled(n, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// Microseconds as a time: `1.2 ms`.
pub fn micros(n: f64) -> String {
    nanos(n * 1000.0)
}

/// Nanoseconds as a time.
pub fn nanos(n: f64) -> String {
    scaled(n, 1000.0, &[" ns", " us", " ms", " s"])
}

/// A share as percent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A factor.
pub fn factor(n: f64) -> String {
    format!("{n:.2}")
}

/// Seconds as hours, minutes and seconds.
pub fn clock(seconds: f64) -> String {
    let seconds = seconds as u64;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours}:{minutes:02}:{:02}", seconds % 60)
}

fn scaled(n: f64, step: f64, prefixes: &[&str]) -> String {
    let (mut n, mut at) = (n, 0);
    while n.abs() >= step && at + 1 < prefixes.len() {
        n /= step;
        at += 1;
    }
    let digits = if n.fract() == 0.0 || n.abs() >= 100.0 {
        0
    } else {
        1
    };
    format!("{n:.digits$}{}", prefixes[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_prefixes() {
        assert_eq!(count(0.0), "0");
        assert_eq!(count(999.0), "999");
        assert_eq!(count(12_345.0), "12.3 k");
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(bytes(64.0 * 1024.0 * 1024.0), "64 MiB");
        assert_eq!(micros(1234.0), "1.2 ms");
        assert_eq!(nanos(0.5), "0.5 ns");
        assert_eq!(micros(3e9), "3000 s");
        assert_eq!(clock(3723.9), "1:02:03");
    }
}
