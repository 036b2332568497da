//! How long reads of table files take, by level. One of RocksDB's properties shows it.

use super::buckets::{Buckets, Merged};
use std::fmt::Write;
use std::sync::OnceLock;

/// The histograms of one column family's levels, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct ReadLatencies {
    /// A level's histogram is allocated when its first read is recorded.
    levels: Box<[OnceLock<Box<Buckets>>]>,
}

impl ReadLatencies {
    /// Histograms for `levels` levels.
    pub fn new(levels: usize) -> Self {
        ReadLatencies {
            levels: (0..levels).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Records a read of a table in `level`.
    pub fn record(&self, level: usize, micros: u64) {
        if let Some(buckets) = self.levels.get(level) {
            buckets.get_or_init(Box::default).record(micros);
        }
    }

    /// A section for each level with reads, in RocksDB's layout.
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
