//! The flags of `memtablerep_bench`, and the request that they form.
//!
//! Where RocksDB's program of this name has a flag, its spelling is accepted
//! (`--memtablerep`, `--num_operations`, `--num_threads`, `--item_size`,
//! `--num_scans`). Where db_bench has a flag with the same meaning, db_bench's name
//! comes first.

use whitewater_concurrent::region::HugePages;
use whitewater_memtable_bench::input::Spread;
use whitewater_memtable_bench::measure::Plan;
use whitewater_memtable_bench::structure::{Kind as Structure, Shape};
use whitewater_memtable_bench::structures;
use whitewater_memtable_bench::workload::Workload;

use crate::bench::args::nearest;
use crate::bench::engine::{Failure, Result};
use crate::bench::flags::{FlagSet, FlagValue, Kind, Spec, flags};
use crate::bench::known::Known;

flags! {
    "What to run" {
        benchmarks: String = "fillrandom,fillseq,fillclustered,fillbatch,readrandom,readseq,readreverse,seekrandom,readwrite",
            "A comma-separated list of benchmarks, see below.";
        structures: String = "all",
            "A comma-separated list of structures, see below, or all. RocksDB's name for it is --memtablerep.";
        threads: String = "1,2",
            "A comma-separated list of thread counts. Also --num_threads.";
        num: i64 = 1_000_000,
            "The number of entries, divided among the threads that insert or read them. Also --num_operations.";
        rounds: i32 = 3, "The number of times that everything runs, structures in turn; results are medians.";
        num_scans: i32 = 1, "The number of scans of each thread in readseq and readreverse. (RocksDB: 10.)";
        seek_nexts: i32 = 0, "The number of entries read after each seek of seekrandom.";
        batch_size: i64 = 512, "The number of entries of each batch of fillbatch.";
        huge_pages: bool = false, "Allocate this project's structures in transparent huge pages.";
        keep_memory: bool = true, "Reuse the memory of earlier runs; otherwise each run gets fresh memory from the system.";
        seed: i64 = 0, "The seed of keys, values and orders; the same seed gives the same run.";
    }
    "Keys and values" {
        key_size: i32 = 16, "The size of each key in bytes.";
        value_size: i32 = 100, "The size of each value in bytes. Also --item_size.";
        keys: String = "random",
            "random: every byte of a key is random. dense: as in db_bench, consecutive numbers as 8 big-endian bytes, padded with '0'.";
    }
    "What to report" {
        progress_reports: bool = true, "Show a progress bar if standard error is a terminal.";
        json_file: String = "", "The file for the results as JSON; empty: none.";
        html_file: String = "", "The file for the results as a page with charts; empty: none.";
    }
}

/// Alternative names of flags; they are RocksDB's.
const ALIASES: [(&str, &str); 4] = [
    ("memtablerep", "structures"),
    ("num_threads", "threads"),
    ("num_operations", "num"),
    ("item_size", "value_size"),
];

/// RocksDB's names of structures that have other names in this build.
const STRUCTURE_ALIASES: [(&str, &str); 3] = [
    ("skiplist", "skip_list"),
    ("hashskiplist", "hash_skip_list"),
    ("hashlinklist", "hash_linked_list"),
];

/// Flags of RocksDB's program for features that this build lacks, with the value
/// that means "not used" if there is one.
const KNOWN: [(&str, Option<&str>); 11] = [
    ("average_data_size", None),
    ("bucket_count", None),
    ("bucket_entries_logging_threshold", None),
    ("hash_function_count", None),
    ("hashskiplist_branching_factor", None),
    ("hashskiplist_height", None),
    ("huge_page_tlb_size", Some("0")),
    ("prefix_length", None),
    ("threshold_use_skiplist", None),
    ("vectorrep_count", Some("0")),
    ("write_buffer_size", None),
];

/// The names of RocksDB's structures that this build lacks.
const KNOWN_STRUCTURES: [&str; 1] = ["cuckoo"];
/// The names of RocksDB's benchmarks that this build lacks.
const KNOWN_BENCHMARKS: [&str; 1] = ["seqreadwrite"];

impl FlagSet for Flags {
    fn table() -> &'static [Spec] {
        TABLE
    }

    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        self.set(name, text)
    }

    fn text_of(&self, name: &str) -> String {
        self.text_of(name)
    }

    fn validate(&self) -> Result<()> {
        self.request().map(|_| ())
    }

    const PROGRAM: &'static str = "memtablerep_bench";
    const PEER: &'static str = "RocksDB's memtablerep_bench";

    fn known() -> Vec<Known> {
        let switch = Known {
            name: "if_log_bucket_dist_when_flash",
            kind: Kind::Switch,
            unused: None,
        };
        let values = KNOWN.into_iter().map(|(name, unused)| Known {
            name,
            kind: Kind::Value,
            unused,
        });
        values.chain([switch]).collect()
    }

    fn alias(name: &str) -> Option<&'static str> {
        let found = ALIASES.into_iter().find(|(alias, _)| *alias == name);
        found.map(|(_, name)| name)
    }
}

/// What the flags ask for.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to run.
    pub plan: Plan,
    /// The sizes of the entries.
    pub shape: Shape,
    /// How the keys are distributed.
    pub spread: Spread,
}

impl Flags {
    /// The request that the flags form.
    ///
    /// # Errors
    /// The first flag that cannot be honoured.
    pub fn request(&self) -> Result<Request> {
        let list = |name, text| list(name, text);
        let plan = Plan {
            kinds: match self.structures.as_str() {
                "all" => structures::ALL.iter().collect(),
                names => list("structures", names)?
                    .map(structure)
                    .collect::<Result<_>>()?,
            },
            workloads: list("benchmarks", &self.benchmarks)?
                .map(workload)
                .collect::<Result<_>>()?,
            threads: list("threads", &self.threads)?
                .map(|text| match text.parse() {
                    Ok(threads @ 1..=4096) => Ok(threads),
                    _ => Err(Failure(format!(
                        "--threads: '{text}' is not between 1 and 4096"
                    ))),
                })
                .collect::<Result<_>>()?,
            rounds: at_least(1, "rounds", self.rounds.into())?,
            batch_size: at_least(1, "batch_size", self.batch_size)?,
            scans: at_least(1, "num_scans", self.num_scans.into())?,
            seek_nexts: at_least(0, "seek_nexts", self.seek_nexts.into())?,
            keep_memory: self.keep_memory,
        };
        let spread = match self.keys.as_str() {
            "random" => Spread::Random,
            "dense" => Spread::Dense,
            other => {
                return Err(Failure(format!(
                    "--keys={other}: unknown; there are random and dense"
                )));
            }
        };
        let shape = Shape {
            entries: at_least(2, "num", self.num)?,
            key_size: at_least(1, "key_size", self.key_size.into())?,
            value_size: at_least(0, "value_size", self.value_size.into())?,
            pages: if self.huge_pages {
                HugePages::Transparent
            } else {
                HugePages::Off
            },
        };
        Ok(Request {
            plan,
            shape,
            spread,
        })
    }
}

fn at_least(least: i64, name: &str, value: i64) -> Result<usize> {
    match usize::try_from(value) {
        Ok(size) if value >= least => Ok(size),
        _ => Err(Failure(format!("--{name}={value} is less than {least}"))),
    }
}

/// The entries of a list without the empty ones; at least one must remain.
fn list<'a>(name: &str, text: &'a str) -> Result<impl Iterator<Item = &'a str>> {
    let mut entries = text
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .peekable();
    match entries.peek() {
        Some(_) => Ok(entries),
        None => Err(Failure(format!("--{name}={text}: nothing is listed"))),
    }
}

fn structure(name: &str) -> Result<&'static Structure> {
    let alias = STRUCTURE_ALIASES
        .into_iter()
        .find(|(alias, _)| *alias == name);
    let own = alias.map_or(name, |(_, own)| own);
    structures::find(own).ok_or_else(|| {
        unknown(
            "structure",
            name,
            structures::ALL.iter().map(|kind| kind.name),
            &KNOWN_STRUCTURES,
        )
    })
}

fn workload(name: &str) -> Result<Workload> {
    let found = Workload::ALL
        .into_iter()
        .find(|workload| workload.name() == name);
    found.ok_or_else(|| {
        unknown(
            "benchmark",
            name,
            Workload::ALL.into_iter().map(Workload::name),
            &KNOWN_BENCHMARKS,
        )
    })
}

fn unknown<'a>(
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
    known: &[&str],
) -> Failure {
    if known.contains(&name) {
        return Failure(format!(
            "{what} '{name}': {} knows it, this build does not run it yet",
            Flags::PEER
        ));
    }
    Failure(format!(
        "unknown {what} '{name}'; the nearest known one is {}",
        nearest(name, names)
    ))
}
