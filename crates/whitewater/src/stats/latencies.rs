//! How long reads of table files take, by level, for a property of RocksDB's.

use super::buckets::{Buckets, Merged};
use std::fmt::Write;
use std::sync::OnceLock;

/// The histograms of one column family's levels. Microseconds.
#[derive(Debug, Default)]
pub(crate) struct ReadLatencies {
    /// Made when the first read is recorded.
    levels: Box<[OnceLock<Box<Buckets>>]>,
}

impl ReadLatencies {
    /// For `levels` levels.
    pub fn new(levels: usize) -> Self {
        ReadLatencies {
            levels: (0..levels).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Records a read of a table of `level`.
    pub fn record(&self, level: usize, micros: u64) {
        if let Some(buckets) = self.levels.get(level) {
            buckets.get_or_init(Box::default).record(micros);
        }
    }

    /// A part for each level with reads, in RocksDB's layout.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (level, buckets) in self.levels.iter().enumerate() {
            if let Some(buckets) = buckets.get() {
                // Writing to a string cannot fail.
                let _ = write!(
                    out,
                    "** Level {level} read latency histogram (micros):\n{}\n",
                    Merged::of(std::iter::once(&**buckets)).text()
                );
            }
        }
        out
    }
}
