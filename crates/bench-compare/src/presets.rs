//! What the options are without being given: for a run as it comes, and for each table of
//! docs/benchmarks.md (`--table`).

use clap::ValueEnum;

use crate::sequence::Work;

/// A table of results that one command makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// YCSB's mixes on data in memory
    #[value(name = "R")]
    Reads,
    /// Four mixes with less memory than data
    #[value(name = "R-low")]
    Low,
    /// Space of files right after a mixed load
    #[value(name = "R-size")]
    Size,
    /// Taking records at either end, with deletions in memory and in tables, beside a producer
    #[value(name = "R-queue")]
    Queue,
    /// Latencies of mix a by a schedule at half the peak rate
    #[value(name = "R-tail")]
    Tail,
}

/// What options are by default.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is an option, where it is described")]
pub struct Preset {
    pub mixes: &'static [&'static str],
    pub records: u64,
    pub operations: u64,
    pub pops: u64,
    pub seconds: u64,
    pub peak_seconds: u64,
    pub tail_seconds: u64,
    pub threads: &'static [usize],
    pub rounds: usize,
    pub budget_seconds: Option<u64>,
    pub key_size: usize,
    pub value_size: usize,
    pub cache_mib: u64,
    pub scan: (u64, u64),
    pub memory_limit_mib: Option<u64>,
    pub fresh: bool,
    pub settle_last: bool,
}

const YCSB: &[&str] = &[
    "c",
    "uniform",
    "absent",
    "a",
    "b",
    "d",
    "e",
    "f",
    "overwrite",
];

/// Without `--table`.
pub const DEFAULT: Preset = Preset {
    mixes: &[
        "c",
        "uniform",
        "absent",
        "a",
        "b",
        "d",
        "e",
        "f",
        "overwrite",
        "pop",
    ],
    records: 2_000_000,
    operations: 2_000_000,
    pops: 500_000,
    seconds: 60,
    peak_seconds: 10,
    tail_seconds: 300,
    threads: &[2],
    rounds: 5,
    budget_seconds: None,
    key_size: 16,
    value_size: 100,
    cache_mib: 512,
    scan: (1, 100),
    memory_limit_mib: None,
    fresh: false,
    settle_last: false,
};

impl Table {
    /// The defaults of a table: of its full form, or of one that takes some four minutes for
    /// three stores on a machine with 16 cores, its files in memory.
    pub fn preset(self, quick: bool) -> Preset {
        let full = self.full();
        match quick {
            true => self.quick(full),
            false => full,
        }
    }

    fn full(self) -> Preset {
        match self {
            Table::Reads => Preset {
                mixes: YCSB,
                threads: &[2, 8],
                scan: (50, 50),
                ..DEFAULT
            },
            Table::Low => Preset {
                mixes: &["c", "uniform", "a", "e"],
                records: 10_000_000,
                threads: &[8],
                cache_mib: 200,
                scan: (50, 50),
                memory_limit_mib: Some(600),
                ..DEFAULT
            },
            // With the load 7.3 M operations.
            Table::Size => Preset {
                mixes: &["grow"],
                records: 3_650_000,
                operations: 3_650_000,
                key_size: 24,
                value_size: 150,
                settle_last: true,
                ..DEFAULT
            },
            Table::Queue => Preset {
                mixes: &[
                    "pop",
                    "pop-last",
                    "pop-flushed",
                    "pop-last-flushed",
                    "pop-produced",
                    "pop-last-produced",
                ],
                records: 1_000_000,
                fresh: true,
                ..DEFAULT
            },
            Table::Tail => Preset {
                mixes: &["tail"],
                ..DEFAULT
            },
        }
    }

    fn quick(self, full: Preset) -> Preset {
        let quick = Preset {
            rounds: 3,
            budget_seconds: Some(220),
            records: full.records / 2,
            operations: full.operations / 2,
            pops: full.pops / 2,
            seconds: 2,
            ..full
        };
        match self {
            // Two numbers of threads, 13 runs in each child.
            Table::Reads => Preset {
                seconds: 1,
                ..quick
            },
            // The limit shrinks less than the data: write buffers stay as large.
            Table::Low => Preset {
                records: full.records / 5,
                cache_mib: 40,
                memory_limit_mib: Some(250),
                ..quick
            },
            // Six loads for each store.
            Table::Queue => quick,
            Table::Size => Preset {
                records: full.records,
                operations: full.operations,
                // The mix is to be done to its end.
                seconds: full.seconds,
                ..quick
            },
            Table::Tail => Preset {
                records: full.records,
                peak_seconds: 3,
                tail_seconds: 40,
                ..quick
            },
        }
    }
}

impl Preset {
    /// How much is done by these.
    pub fn work(&self, seed: u64) -> Work {
        Work {
            records: self.records,
            operations: self.operations,
            pops: self.pops,
            seconds: self.seconds,
            peak_seconds: self.peak_seconds,
            tail_seconds: self.tail_seconds,
            tail_rate: None,
            settle_last: self.settle_last,
            compact: false,
            direct_reads: false,
            key_size: self.key_size,
            value_size: self.value_size,
            cache_bytes: self.cache_mib << 20,
            scan_least: self.scan.0,
            scan_most: self.scan.1,
            seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixes::{LOAD, Mix};

    #[test]
    fn the_mixes_of_all_tables_exist_and_quick_ones_do_less() {
        for table in Table::value_variants() {
            let (full, quick) = (table.preset(false), table.preset(true));
            assert!(!full.mixes.is_empty());
            for name in full.mixes {
                assert!(Mix::named(name).is_some() && *name != LOAD, "{name}");
            }
            assert!(quick.rounds < full.rounds && quick.budget_seconds.is_some());
            assert!(quick.records <= full.records);
            assert_eq!((quick.mixes, quick.threads), (full.mixes, full.threads));
            // A queue is not to be empty before its end.
            assert!(quick.pops < quick.records && full.pops < full.records);
        }
    }
}
