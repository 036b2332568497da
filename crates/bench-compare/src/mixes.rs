//! The workloads: YCSB's load and core mixes A to F, and what they leave out.

use crate::generators::Distribution;

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
    /// Takes the record with the first key.
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
}

impl Mix {
    /// How many of 100 operations insert a record.
    pub fn inserts(&self) -> u32 {
        let all = self.operations.iter();
        all.filter(|(operation, _)| *operation == Operation::Insert)
            .map(|(_, share)| share)
            .sum()
    }

    /// Whether it takes the first record again and again, as the one consumer of a queue does:
    /// a single thread runs it.
    pub fn is_queue(&self) -> bool {
        self.operations
            .iter()
            .any(|(operation, _)| *operation == Operation::Pop)
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
    }
}

const fn warmed(mix: Mix) -> Mix {
    Mix {
        warmed: true,
        ..mix
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
        "pop",
        "takes the first record again and again",
        Distribution::Uniform,
        &[(Operation::Pop, 100)],
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
