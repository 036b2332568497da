//! The workloads: YCSB's load and core mixes A to F, and what they leave out.

use crate::generators::Distribution;
use crate::stores::{End, Engine};

/// What one operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Reads a record that exists.
    Read,
    /// Reads a record that does not exist.
    ReadAbsent,
    /// Writes a record that exists, without reading it.
    Update,
    /// Writes a new record.
    Insert,
    /// Reads records in the order of keys.
    Scan,
    /// Reads a record, then writes it.
    ReadModifyWrite,
    /// Takes the record at an end of the order of keys.
    Pop,
}

/// All operations, in the order of results.
pub const OPERATIONS: [Operation; 7] = [
    Operation::Read,
    Operation::ReadAbsent,
    Operation::Update,
    Operation::Insert,
    Operation::Scan,
    Operation::ReadModifyWrite,
    Operation::Pop,
];

impl Operation {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::ReadAbsent => "read absent",
            Operation::Update => "update",
            Operation::Insert => "insert",
            Operation::Scan => "scan",
            Operation::ReadModifyWrite => "read-modify-write",
            Operation::Pop => "pop",
        }
    }

    /// Whether it leaves the store as it is.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadAbsent | Self::Scan)
    }
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Its operations, with how many of 100 are of each kind.
    pub operations: &'static [(Operation, u32)],
    /// Which records it asks for.
    pub records: Distribution,
    /// Whether its reads run once before they are measured.
    pub warmed: bool,
    /// Where it takes records from, if it is a queue. A single thread runs it then.
    pub queue: Option<Queue>,
    /// Whether operations begin by a schedule, at half the rate that the mix reaches without.
    pub scheduled: bool,
}

/// How one thread takes records, as the one consumer of a queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The end that records are taken from.
    pub end: End,
    /// Whether the store is made to flush after each tenth, so that deletions are in tables.
    pub flushed: bool,
    /// Whether another thread adds a record at the other end for each that is taken.
    pub produced: bool,
}

impl Mix {
    /// How many of 100 operations insert a record.
    pub fn inserts(&self) -> u32 {
        let all = self.operations.iter();
        all.filter(|(operation, _)| *operation == Operation::Insert)
            .map(|(_, share)| share)
            .sum()
    }

    /// How many threads run it if all run with `threads`. The producer of a queue comes on top.
    pub fn threads(&self, threads: usize) -> usize {
        if self.queue.is_some() { 1 } else { threads }
    }

    /// Whether a store can run it.
    pub fn suits(&self, engine: Engine) -> bool {
        self.queue.is_none_or(|queue| queue.end == End::First) || engine.reads_backwards()
    }

    /// The mix called `name`.
    pub fn named(name: &str) -> Option<&'static Mix> {
        ALL.iter().find(|mix| mix.name == name)
    }
}

/// The name of the mix that all runs begin with.
pub const LOAD: &str = "load";

const fn mix(
    name: &'static str,
    about: &'static str,
    records: Distribution,
    operations: &'static [(Operation, u32)],
) -> Mix {
    Mix {
        name,
        about,
        operations,
        records,
        warmed: false,
        queue: None,
        scheduled: false,
    }
}

const fn warmed(mix: Mix) -> Mix {
    Mix {
        warmed: true,
        ..mix
    }
}

const fn pop(
    name: &'static str,
    about: &'static str,
    end: End,
    flushed: bool,
    produced: bool,
) -> Mix {
    let operations: &[_] = match produced {
        true => &[(Operation::Pop, 50), (Operation::Insert, 50)],
        false => &[(Operation::Pop, 100)],
    };
    Mix {
        queue: Some(Queue {
            end,
            flushed,
            produced,
        }),
        ..mix(name, about, Distribution::Uniform, operations)
    }
}

/// All mixes, in the order in which they run: those that only read come first, while the store
/// is as the load has left it.
pub const ALL: &[Mix] = &[
    mix(
        LOAD,
        "inserts all records, in random order of keys",
        Distribution::Uniform,
        &[(Operation::Insert, 100)],
    ),
    warmed(mix(
        "c",
        "reads, zipfian",
        Distribution::Zipfian,
        &[(Operation::Read, 100)],
    )),
    warmed(mix(
        "uniform",
        "reads, uniform",
        Distribution::Uniform,
        &[(Operation::Read, 100)],
    )),
    warmed(mix(
        "absent",
        "reads of absent keys, uniform",
        Distribution::Uniform,
        &[(Operation::ReadAbsent, 100)],
    )),
    mix(
        "a",
        "50% reads, 50% updates, zipfian",
        Distribution::Zipfian,
        &[(Operation::Read, 50), (Operation::Update, 50)],
    ),
    mix(
        "b",
        "95% reads, 5% updates, zipfian",
        Distribution::Zipfian,
        &[(Operation::Read, 95), (Operation::Update, 5)],
    ),
    mix(
        "d",
        "95% reads of the latest, 5% inserts",
        Distribution::Latest,
        &[(Operation::Read, 95), (Operation::Insert, 5)],
    ),
    warmed(mix(
        "e",
        "95% scans, 5% inserts, zipfian",
        Distribution::Zipfian,
        &[(Operation::Scan, 95), (Operation::Insert, 5)],
    )),
    mix(
        "f",
        "50% reads, 50% read-modify-writes, zipfian",
        Distribution::Zipfian,
        &[(Operation::Read, 50), (Operation::ReadModifyWrite, 50)],
    ),
    mix(
        "overwrite",
        "updates, uniform",
        Distribution::Uniform,
        &[(Operation::Update, 100)],
    ),
    mix(
        "grow",
        "50% inserts, 50% updates, zipfian",
        Distribution::Zipfian,
        &[(Operation::Insert, 50), (Operation::Update, 50)],
    ),
    Mix {
        scheduled: true,
        ..mix(
            "tail",
            "mix a by a schedule: latencies from the time at which an operation was due",
            Distribution::Zipfian,
            &[(Operation::Read, 50), (Operation::Update, 50)],
        )
    },
    pop(
        "pop",
        "takes the first record again and again",
        End::First,
        false,
        false,
    ),
    pop(
        "pop-last",
        "takes the last record again and again",
        End::Last,
        false,
        false,
    ),
    pop(
        "pop-flushed",
        "takes the first record; a flush after each tenth",
        End::First,
        true,
        false,
    ),
    pop(
        "pop-last-flushed",
        "takes the last record; a flush after each tenth",
        End::Last,
        true,
        false,
    ),
    pop(
        "pop-produced",
        "takes the first record while another thread adds last ones",
        End::First,
        false,
        true,
    ),
    pop(
        "pop-last-produced",
        "takes the last record while another thread adds first ones",
        End::Last,
        false,
        true,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_names_are_unique() {
        for mix in ALL {
            let sum: u32 = mix.operations.iter().map(|(_, share)| share).sum();
            assert_eq!(sum, 100, "{}", mix.name);
            assert_eq!(Mix::named(mix.name), Some(mix));
        }
        assert_eq!(ALL[0].name, LOAD);
        assert_eq!(Mix::named("d").unwrap().inserts(), 5);
    }
}
