//! Limits on the file reads of one call: no reads at all, or a deadline.

use crate::error::{Error, ErrorKind, Result};
use std::time::{Duration, UNIX_EPOCH};
use whitewater_concurrent::system;

/// Limits on the file reads that one call makes. By default there are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadLimits {
    /// Opens and reads no file. A call that would have to read one fails with `Incomplete`.
    pub memory_only: bool,
    /// Reads no file after this moment, in microseconds since 1970: the call fails with
    /// `TimedOut`. 0 means no limit.
    pub deadline: u64,
    /// The longest time that one read of a file may take, in microseconds. A longer read is not
    /// interrupted, but the call fails with `TimedOut` afterwards. 0 means no limit.
    pub timeout: u64,
}

impl ReadLimits {
    /// Runs `read`, which reads a file, within the limits.
    ///
    /// # Errors
    /// `Incomplete` if no file may be read; `TimedOut` if the deadline has passed or `read` took
    /// too long; and the errors of `read`.
    #[inline]
    pub fn run<T>(self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if self == ReadLimits::default() {
            return read();
        }
        self.run_limited(read)
    }

    #[cold]
    fn run_limited<T>(self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.memory_only {
            return Err(Error::new(ErrorKind::Incomplete, "no blocking io"));
        }
        self.check_deadline()?;
        let begun = system::now();
        let outcome = read()?;
        if self.timeout > 0 && system::since(begun) > Duration::from_micros(self.timeout) {
            return Err(Error::new(ErrorKind::TimedOut, "IO timeout exceeded"));
        }
        Ok(outcome)
    }

    /// Checks that the deadline has not passed.
    ///
    /// # Errors
    /// `TimedOut` if it has.
    #[inline]
    pub fn check_deadline(self) -> Result<()> {
        if self.deadline > 0 && now_micros() > self.deadline {
            return Err(Error::new(ErrorKind::TimedOut, "Deadline exceeded"));
        }
        Ok(())
    }
}

/// Microseconds since 1970.
fn now_micros() -> u64 {
    let now = system::wall_clock().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(limits: ReadLimits, read: impl FnOnce()) -> std::result::Result<(), ErrorKind> {
        let read = || {
            read();
            Ok(())
        };
        limits.run(read).map_err(|e| e.kind())
    }

    #[test]
    fn limits_forbid_and_time_reads() {
        let none = ReadLimits::default();
        assert_eq!(outcome(none, || ()), Ok(()));
        let memory = ReadLimits {
            memory_only: true,
            ..none
        };
        let unread = || panic!("a file was read");
        assert_eq!(outcome(memory, unread), Err(ErrorKind::Incomplete));
        let past = ReadLimits {
            deadline: 1,
            ..none
        };
        assert_eq!(outcome(past, unread), Err(ErrorKind::TimedOut));
        let ample = ReadLimits {
            deadline: u64::MAX,
            timeout: u64::MAX,
            ..none
        };
        assert_eq!(outcome(ample, || ()), Ok(()));
        let slow = || {
            let begun = system::now();
            while system::since(begun) < Duration::from_micros(50) {
                std::hint::spin_loop();
            }
        };
        let short = ReadLimits {
            timeout: 10,
            ..none
        };
        assert_eq!(outcome(short, slow), Err(ErrorKind::TimedOut));
    }
}
