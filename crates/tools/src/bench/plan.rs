//! The table of tasks, and the list that `--benchmarks` names: which benchmarks to
//! run, and how often.
//!
//! A name may have a suffix in brackets: `[X5]` runs the benchmark five times and
//! adds averages and the median, `[W2]` warms up with two runs that do not count,
//! and `[W2-X5]` does both. Suffixes are separated by dashes. As in RocksDB, a
//! leading dash means nothing: `[-X5]` is `[X5]`. If a fill benchmark starts on a
//! fresh database, that is created once, before the first run.

use whitewater_storage::checksum::ChecksumType;

use super::args::nearest;
pub use super::benchmarks::BENCHMARKS;
use super::engine::{Failure, Result};
use super::known;

/// What a benchmark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Writes `num` keys in order.
    FillSequential,
    /// Writes keys at random.
    FillRandom,
    /// Writes every key once, in random order.
    FillUnique,
    /// Writes `num` keys in order, then seeks them.
    FillAndSeek,
    /// Reads, then writes, random keys.
    Update,
    /// Reads random keys and writes their values back after an exclusive or.
    Xor,
    /// Reads random keys and writes their values back with more appended.
    Append,
    /// Merges into random keys.
    Merge,
    /// Reads and writes random keys, by turns.
    ReadAndWrite,
    /// Reads and merges into random keys.
    ReadAndMerge,
    /// Reads, writes and deletes groups of keys, and checks them.
    Verify,
    /// Runs transactions whose changes cancel out, and checks that at the end.
    Transact,
    /// Reads, writes and scans with the distributions of a social graph.
    Mix,
    /// Deletes keys and puts their successors.
    Replace,
    /// Writes entries of ids and times, and reads them.
    TimeSeries,
    /// Reads random keys.
    ReadRandom,
    /// Reads random keys, some of which do not exist.
    ReadFast,
    /// Reads several random keys at once.
    MultiRead,
    /// Asks for the approximate sizes of random ranges.
    ApproximateSizes,
    /// Scans in key order.
    Scan,
    /// Scans against key order.
    ScanReverse,
    /// Seeks random keys.
    Seek,
    /// Creates iterators.
    NewIterator,
    /// Takes snapshots and releases them.
    NewSnapshot,
    /// Deletes random keys.
    DeleteRandom,
    /// Deletes keys in order.
    DeleteSequential,
    /// Builds tables outside the database and ingests them.
    Ingest,
    /// Computes checksums of a block.
    Checksum(ChecksumType),
    /// Compresses a block.
    Compress,
    /// Uncompresses a block.
    Uncompress,
    /// Verifies all tables: their blocks, or each file as a whole.
    VerifyTables {
        /// Whether each file is verified as a whole.
        whole_files: bool,
    },
    /// Compacts the whole key range, and measures it.
    Compact,
    /// Compacts the whole key range except for the lowest level.
    CompactAll,
    /// Compacts level 0 into the next level that has files.
    CompactLevel0,
    /// Makes a backup, and measures it.
    BackUp,
    /// Restores a backup, and measures it.
    Restore,
    /// Flushes the memtable.
    Flush,
    /// Waits until background work is at rest.
    WaitForCompaction,
    /// Prints these properties of the database.
    Property(&'static [&'static str]),
}

/// What one extra thread does while the others run the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Puts random keys.
    Put,
    /// Merges into random keys.
    Merge,
    /// Scans everything; this thread is measured, too.
    Scan,
    /// Reads keys in snapshots again and again.
    CheckSnapshots,
}

/// A benchmark with its name.
#[derive(Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// RocksDB's name for it.
    pub name: &'static str,
    /// What its threads do.
    pub task: Task,
    /// Whether it starts on an empty database.
    pub fresh: bool,
    /// What an extra, unmeasured thread does at the same time.
    pub beside: Option<Beside>,
    /// One line for the help.
    pub help: &'static str,
}

/// One entry of the list of benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to run.
    pub benchmark: &'static Benchmark,
    /// The number of measured runs, at least 1.
    pub repeat: u32,
    /// The number of runs before them that do not count.
    pub warmup: u32,
}

/// The benchmark called `name`.
pub fn lookup(name: &str) -> Option<&'static Benchmark> {
    BENCHMARKS.iter().find(|benchmark| benchmark.name == name)
}

/// Reads a comma-separated list; empty entries are skipped.
///
/// # Errors
/// A name is unknown or is run only by RocksDB, or a suffix is malformed.
pub fn parse(list: &str) -> Result<Vec<Step>> {
    let entries = list
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty());
    entries.map(parse_step).collect()
}

fn parse_step(entry: &str) -> Result<Step> {
    let (name, suffix) = match entry.strip_suffix(']').map(|body| body.split_once('[')) {
        Some(Some((name, suffix))) => (name, suffix),
        Some(None) => return Err(Failure(format!("unknown benchmark arguments '{entry}'"))),
        None => (entry, ""),
    };
    let benchmark = lookup(name).ok_or_else(|| unknown(name))?;
    let mut step = Step {
        benchmark,
        repeat: 1,
        warmup: 0,
    };
    for part in suffix.split('-').filter(|part| !part.is_empty()) {
        let count = part.get(1..).and_then(|digits| digits.parse::<u32>().ok());
        match (part.chars().next(), count) {
            (Some('X'), Some(count)) if count > 0 => step.repeat = count,
            (Some('W'), Some(count)) => step.warmup = count,
            _ => {
                return Err(Failure(format!(
                    "benchmark '{entry}': suffix '{part}' is neither X nor W with a number of runs"
                )));
            }
        }
    }
    Ok(step)
}

fn unknown(name: &str) -> Failure {
    if let Some(why) = known::impossible(name) {
        return Failure(format!(
            "benchmark '{name}': RocksDB's db_bench has it, this build cannot run it: {why}"
        ));
    }
    if known::benchmarks().any(|known| known == name) {
        return Failure(format!(
            "benchmark '{name}': RocksDB's db_bench has it, this build does not run it yet"
        ));
    }
    let names = BENCHMARKS
        .iter()
        .map(|benchmark| benchmark.name)
        .chain(known::benchmarks());
    Failure(format!(
        "unknown benchmark '{name}'; the nearest known one is {}",
        nearest(name, names)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(entry: &str) -> (&'static str, u32, u32) {
        let steps = parse(entry).expect(entry);
        assert_eq!(steps.len(), 1, "{entry}");
        (steps[0].benchmark.name, steps[0].repeat, steps[0].warmup)
    }

    #[test]
    fn suffixes() {
        assert_eq!(one("fillrandom"), ("fillrandom", 1, 0));
        assert_eq!(one("fillrandom[X5]"), ("fillrandom", 5, 0));
        assert_eq!(one("fillrandom[-X5]"), ("fillrandom", 5, 0));
        assert_eq!(one("readrandom[W2]"), ("readrandom", 1, 2));
        assert_eq!(one("readrandom[W2-X3]"), ("readrandom", 3, 2));
        assert_eq!(one("readrandom[X3-W2]"), ("readrandom", 3, 2));
        assert_eq!(one(" readrandom[] "), ("readrandom", 1, 0));
    }

    #[test]
    fn lists_keep_their_order_and_skip_empty_entries() {
        let names: Vec<_> = parse("fillseq,,readseq[X2], stats")
            .expect("list")
            .iter()
            .map(|step| step.benchmark.name)
            .collect();
        assert_eq!(names, ["fillseq", "readseq", "stats"]);
    }

    #[test]
    fn errors_name_the_entry() {
        for (entry, expected) in [
            ("filrandom", "nearest known one is fillrandom"),
            ("acquireload", "RocksDB's db_bench has it"),
            ("compact1", "no call that compacts given files"),
            ("fillrandom[Y3]", "suffix 'Y3'"),
            ("fillrandom[X]", "suffix 'X'"),
            ("fillrandom[X0]", "suffix 'X0'"),
            ("fillrandom]", "unknown benchmark arguments"),
            ("fillrandom[X3", "unknown benchmark"),
        ] {
            let error = parse(entry).expect_err(entry).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_default_list_is_valid() {
        assert!(parse(super::super::flags::DEFAULT_BENCHMARKS).is_ok());
    }
}
