//! Limits on the file reads of one call: no reads at all, a deadline, or a rate.

use crate::error::{Error, ErrorKind, Result};
use crate::sst::options::io_priority::{Charged, IoPriority};
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
    /// The priority at which files that have a rate limiter charge it for reads. `None` reads
    /// without asking it.
    pub priority: Option<IoPriority>,
}

impl ReadLimits {
    /// No limits.
    pub const NONE: ReadLimits = ReadLimits {
        memory_only: false,
        deadline: 0,
        timeout: 0,
        priority: None,
    };

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
        let _charged = self.priority.map(Charged::at);
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
    fn reads_are_charged_at_the_priority_of_their_limits_and_no_longer() {
        let limits = |priority| ReadLimits {
            priority,
            ..ReadLimits::NONE
        };
        let charged = || Ok(Charged::priority());
        let nested = limits(Some(IoPriority::Low)).run(|| {
            let inner = limits(Some(IoPriority::User)).run(charged)?;
            Ok((inner, Charged::priority()))
        });
        let expected = (Some(IoPriority::User), Some(IoPriority::Low));
        assert_eq!(nested.unwrap(), expected);
        assert_eq!(limits(None).run(charged).unwrap(), None);
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
