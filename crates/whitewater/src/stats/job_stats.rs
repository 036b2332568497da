//! Statistics of flushes and compactions.

use std::ops::{AddAssign, Sub};

/// The sum of what jobs that wrote to one level did. A flush writes to level 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct JobStats {
    pub micros: u64,
    /// CPU time of all parts of a job.
    pub cpu_micros: u64,
    /// Bytes of inputs from levels other than the one written to.
    pub bytes_read_above: u64,
    /// Bytes of inputs from the level written to.
    pub bytes_read_same: u64,
    pub bytes_written: u64,
    /// Bytes of keys and values of the tables written, before compression.
    pub bytes_written_raw: u64,
    /// Bytes of records of blob files that were read, and written.
    pub blob_bytes_read: u64,
    pub blob_bytes_written: u64,
    /// Bytes of files that were only moved.
    pub bytes_moved: u64,
    pub records_in: u64,
    pub records_out: u64,
    /// The number of input files, and of tables written.
    pub files_in: u64,
    pub files_out: u64,
    pub count: u64,
}

impl JobStats {
    /// Bytes of all inputs.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read_above + self.bytes_read_same
    }

    /// The number of entries that were read and not written again.
    pub fn records_dropped(&self) -> u64 {
        self.records_in.saturating_sub(self.records_out)
    }

    /// Applies the same operation to each pair of figures.
    fn combine(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        JobStats {
            micros: f(self.micros, other.micros),
            cpu_micros: f(self.cpu_micros, other.cpu_micros),
            bytes_read_above: f(self.bytes_read_above, other.bytes_read_above),
            bytes_read_same: f(self.bytes_read_same, other.bytes_read_same),
            bytes_written: f(self.bytes_written, other.bytes_written),
            bytes_written_raw: f(self.bytes_written_raw, other.bytes_written_raw),
            blob_bytes_read: f(self.blob_bytes_read, other.blob_bytes_read),
            blob_bytes_written: f(self.blob_bytes_written, other.blob_bytes_written),
            bytes_moved: f(self.bytes_moved, other.bytes_moved),
            records_in: f(self.records_in, other.records_in),
            records_out: f(self.records_out, other.records_out),
            files_in: f(self.files_in, other.files_in),
            files_out: f(self.files_out, other.files_out),
            count: f(self.count, other.count),
        }
    }
}

impl AddAssign for JobStats {
    fn add_assign(&mut self, other: Self) {
        *self = self.combine(other, u64::saturating_add);
    }
}

impl Sub for JobStats {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        self.combine(earlier, u64::saturating_sub)
    }
}
