//! `--perf_counters`: what the operating system counted for this process during a
//! run.

use nix::sys::resource::{Usage, UsageWho, getrusage};

use super::engine::Result;

/// A reading of the process's counters, background threads included.
#[derive(Debug)]
pub struct Counters {
    usage: Usage,
}

impl Counters {
    /// Reads the counters.
    ///
    /// # Errors
    /// An error of `getrusage`.
    pub fn read() -> Result<Self> {
        Ok(Self {
            usage: getrusage(UsageWho::RUSAGE_SELF)?,
        })
    }

    /// The line of counts since this reading, divided by `operations`; ends with a
    /// newline.
    ///
    /// # Errors
    /// An error of `getrusage`.
    pub fn line_since(&self, name: &str, operations: u64) -> Result<String> {
        let now = Self::read()?;
        let operations = operations.max(1) as f64;
        let each =
            |read: fn(&Usage) -> i64| (read(&now.usage) - read(&self.usage)) as f64 / operations;
        let user = each(|usage| micros(usage.user_time()));
        let system = each(|usage| micros(usage.system_time()));
        Ok(format!(
            "{name:<12} : counters per op: {user:.3} us user, {system:.3} us system, {:.5} voluntary and {:.5} involuntary context switches, {:.5} minor and {:.5} major faults\n",
            each(|usage| usage.voluntary_context_switches()),
            each(|usage| usage.involuntary_context_switches()),
            each(|usage| usage.minor_page_faults()),
            each(|usage| usage.major_page_faults()),
        ))
    }
}

fn micros(time: nix::sys::time::TimeVal) -> i64 {
    time.tv_sec() * 1_000_000 + time.tv_usec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_a_voluntary_switch() {
        let before = Counters::read().expect("getrusage");
        std::thread::sleep(std::time::Duration::from_millis(1));
        let line = before.line_since("fillseq", 1).expect("getrusage");
        assert!(
            line.starts_with("fillseq      : counters per op: "),
            "{line}"
        );
        assert!(!line.contains(" 0.00000 voluntary"), "{line}");
    }
}
