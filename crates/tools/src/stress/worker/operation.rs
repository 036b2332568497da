//! The kinds of operations and their frequencies.

use clap::ValueEnum;
use rand::Rng;

/// An operation of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// Write one put, merge or delete.
    Write,
    /// Write a batch over several column families.
    Batch,
    /// Delete a range.
    DeleteRange,
    /// Ingest a table.
    Ingest,
    /// Get one key.
    Get,
    /// Get several keys at once.
    GetMany,
    /// Scan in either direction.
    Scan,
    /// Scan several column families at once, in either direction.
    ScanFamilies,
    /// Take a snapshot.
    Snapshot,
    /// Compare the oldest snapshot with what held when it was taken.
    CheckSnapshot,
    /// Flush a column family.
    Flush,
    /// Compact a range manually.
    Compact,
    /// Sync the log.
    SyncLog,
    /// Change options at run time.
    SetOptions,
    /// Resume after a background error.
    Resume,
    /// Make a checkpoint and compare it.
    Checkpoint,
    /// Create or drop a column family.
    Family,
    /// Read through a read-only or secondary instance.
    SecondReader,
    /// Trim the history of a column family whose keys have timestamps.
    TrimHistory,
    /// Make a backup, restore and compare it.
    Backup,
    /// Export a column family, import it into another database and compare it.
    Export,
    /// Compact named tables.
    CompactFiles,
    /// Compare a list of files with the directory.
    ListFiles,
    /// Lock the log, and check that nothing is written.
    LockLog,
}

/// The frequency of each operation, per thousand.
const SHARES: [(Operation, u32); 24] = [
    (Operation::Write, 433),
    (Operation::Batch, 150),
    (Operation::DeleteRange, 20),
    (Operation::Ingest, 5),
    (Operation::Get, 200),
    (Operation::GetMany, 50),
    (Operation::Scan, 60),
    (Operation::ScanFamilies, 10),
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
    (Operation::Backup, 1),
    (Operation::Export, 1),
    (Operation::CompactFiles, 2),
    (Operation::ListFiles, 1),
    (Operation::LockLog, 2),
];

impl Operation {
    /// A random operation.
    pub fn draw(rng: &mut impl Rng) -> Operation {
        let mut rest: u32 = rng.random_range(0..1000);
        for (operation, share) in SHARES {
            match rest.checked_sub(share) {
                None => return operation,
                Some(less) => rest = less,
            }
        }
        unreachable!("the shares are 1000 in all")
    }

    /// All operations.
    pub fn all() -> impl Iterator<Item = Operation> {
        SHARES.into_iter().map(|(operation, _)| operation)
    }

    /// The name on the command line.
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
