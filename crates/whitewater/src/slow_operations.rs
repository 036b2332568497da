//! Calls that took long, in the info log (`slow_operation_micros`).
//!
//! While the option is set, each call has its thread measure everything, and if it took that long,
//! a line tells what the time went to, by the names of the perf context. Of each kind there is a
//! line a second at most; it says how many had none. While the option is not set, a call reads it
//! and no clock.

use crate::info_log::InfoLog;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use whitewater_concurrent::system::{self, Mutex};
use whitewater_storage::perf::{Measurement, measure};

/// The time between two lines about calls of one kind.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// A kind of call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    Get,
    MultiGet,
    Write,
    Seek,
    Next,
    Prev,
}

impl Call {
    const COUNT: usize = Call::Prev as usize + 1;

    const fn name(self) -> &'static str {
        match self {
            Call::Get => "get",
            Call::MultiGet => "multi_get",
            Call::Write => "write",
            Call::Seek => "seek",
            Call::Next => "next",
            Call::Prev => "prev",
        }
    }
}

/// Finds slow calls of a database.
#[derive(Debug)]
pub(crate) struct SlowOperations {
    /// Microseconds from which a call is slow; 0: none is. Written by: threads that change the
    /// option. Read by: all calls (relaxed: a change that is seen late adds or loses a few lines).
    /// Publishes nothing.
    threshold: AtomicU64,
    /// By kind. A leaf, which only slow calls take.
    lines: Mutex<[Lines; Call::COUNT]>,
    info_log: Arc<InfoLog>,
}

impl SlowOperations {
    /// `threshold` in microseconds; 0 for none.
    pub fn new(threshold: u64, info_log: Arc<InfoLog>) -> Self {
        SlowOperations {
            threshold: AtomicU64::new(threshold),
            lines: Mutex::default(),
            info_log,
        }
    }

    /// Changes the threshold, as in [`new`](Self::new).
    pub fn set_threshold(&self, threshold: u64) {
        self.threshold.store(threshold, Ordering::Relaxed);
    }

    /// Whether any call is slow.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.threshold.load(Ordering::Relaxed) != 0
    }

    /// Measures `call` until the result is dropped, if any call is slow. Boxed, so that callers
    /// keep no room for what is seldom there.
    #[inline]
    pub fn begin(&self, call: Call) -> Option<Box<Measured<'_>>> {
        self.is_on().then(|| self.measured(call))
    }

    #[cold]
    fn measured(&self, call: Call) -> Box<Measured<'_>> {
        Box::new(Measured {
            slow: self,
            call,
            steps: measure(),
            begun: system::now(),
        })
    }

    /// Writes the line about a call that took `took`, unless there was one just now.
    fn tell(&self, call: Call, took: Duration, steps: &Measurement) {
        let untold = self.lines.lock()[call as usize].take(system::now());
        let Some(untold) = untold else {
            return;
        };
        let mut line = format!("slow {} of {} us", call.name(), took.as_micros());
        let mut separator = ": ";
        for (name, growth) in steps.growth() {
            let _ = write!(line, "{separator}{name} = {growth}"); // a String takes it
            separator = ", ";
        }
        if untold > 0 {
            let _ = write!(line, "; {untold} more since the last line"); // as above
        }
        self.info_log.warn(&line);
    }
}

/// A call that is measured because it may be slow. Made by [`SlowOperations::begin`].
#[derive(Debug)]
#[must_use = "it measures until it is dropped"]
pub(crate) struct Measured<'a> {
    slow: &'a SlowOperations,
    call: Call,
    steps: Measurement,
    begun: Instant,
}

impl Drop for Measured<'_> {
    fn drop(&mut self) {
        let took = system::since(self.begun);
        let threshold = self.slow.threshold.load(Ordering::Relaxed);
        if threshold != 0 && took >= Duration::from_micros(threshold) {
            self.slow.tell(self.call, took, &self.steps);
        }
    }
}

/// Which slow calls of a kind have lines.
#[derive(Debug, Default)]
struct Lines {
    last: Option<Instant>,
    /// Calls since then.
    untold: u64,
}

impl Lines {
    /// Whether a call that ends `now` has a line, and how many before it had none.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let due = |last: Instant| now.saturating_duration_since(last) >= BETWEEN_LINES;
        if !self.last.is_none_or(due) {
            self.untold += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_line_a_second_which_tells_how_many_had_none() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let mut lines = Lines::default();
        let takes = [0, 1, 999, 1000, 1500, 2000, 9000].map(|millis| lines.take(at(millis)));
        let (none, some) = (None, Some);
        assert_eq!(
            takes,
            [some(0), none, none, some(2), none, some(1), some(0)]
        );
    }
}
