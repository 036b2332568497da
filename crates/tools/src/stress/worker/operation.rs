//! What a thread may do, and how often.

use clap::ValueEnum;
use rand::Rng;

/// Something that a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// One put, merge or delete.
    Write,
    /// Some of them at once, over column families.
    Batch,
    /// A range deletion.
    DeleteRange,
    /// A table from outside.
    Ingest,
    /// A look-up.
    Get,
    /// Some of them at once.
    GetMany,
    /// A scan, in either direction.
    Scan,
    /// Takes a snapshot.
    Snapshot,
    /// Compares the oldest snapshot with what held then.
    CheckSnapshot,
    /// A flush.
    Flush,
    /// A manual compaction.
    Compact,
    /// Makes the log durable.
    SyncLog,
    /// Changes options.
    SetOptions,
    /// Resumes after a failure.
    Resume,
    /// Makes a checkpoint, and compares it.
    Checkpoint,
    /// Creates a column family, or drops it.
    Family,
    /// Looks at the database through an instance that only reads.
    SecondReader,
    /// Shortens the history of one whose keys have timestamps.
    TrimHistory,
}

/// How often each is done, of a thousand times.
const SHARES: [(Operation, u32); 18] = [
    (Operation::Write, 440),
    (Operation::Batch, 150),
    (Operation::DeleteRange, 20),
    (Operation::Ingest, 5),
    (Operation::Get, 200),
    (Operation::GetMany, 50),
    (Operation::Scan, 70),
    (Operation::Snapshot, 20),
    (Operation::CheckSnapshot, 15),
    (Operation::Flush, 6),
    (Operation::Compact, 3),
    (Operation::SyncLog, 4),
    (Operation::SetOptions, 5),
    (Operation::Resume, 1),
    (Operation::Checkpoint, 1),
    (Operation::Family, 5),
    (Operation::SecondReader, 2),
    (Operation::TrimHistory, 3),
];

impl Operation {
    /// One of them.
    pub fn draw(rng: &mut impl Rng) -> Operation {
        let mut rest: u32 = rng.random_range(0..1000);
        for (operation, share) in SHARES {
            match rest.checked_sub(share) {
                None => return operation,
                Some(less) => rest = less,
            }
        }
        unreachable!("the shares are 1000 run_threads")
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Operation> {
        SHARES.into_iter().map(|(operation, _)| operation)
    }

    /// As the command line has it.
    pub fn name(self) -> String {
        let value = self.to_possible_value().expect("none is skipped");
        value.get_name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_a_whole() {
        assert_eq!(SHARES.iter().map(|(_, share)| share).sum::<u32>(), 1000);
        assert!(
            Operation::value_variants()
                .iter()
                .copied()
                .eq(Operation::all())
        );
        assert_eq!(Operation::GetMany.name(), "get-many");
    }
}
