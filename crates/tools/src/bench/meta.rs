//! Operations that start no threads of their own: flushes, waits and properties.

use std::thread;
use std::time::Duration;

use super::engine::{Engine, Failure, Result};
use super::runner::Runner;
use super::workload;
use crate::interrupt;

/// How many consecutive readings without background work mean that it is at rest.
const QUIET_READINGS: u32 = 5;
/// A limit to the number of levels, above that of any engine.
const MOST_LEVELS: usize = 128;
/// The time between two readings of background work.
const READING_PAUSE: Duration = Duration::from_millis(20);
const BACKGROUND_WORK: [&str; 4] = [
    "rocksdb.mem-table-flush-pending",
    "rocksdb.num-running-flushes",
    "rocksdb.compaction-pending",
    "rocksdb.num-running-compactions",
];

impl<E: Engine> Runner<'_, E> {
    /// Flushes all column families.
    pub(super) fn flush(&mut self) -> Result<()> {
        let flushed = self.flush_families();
        flushed.map_err(|failure| failure.during("Flush failed"))?;
        self.print("flush memtable\n")
    }

    fn flush_families(&self) -> Result<()> {
        let engine = self.engine()?;
        let names = self.families.names();
        let families: Vec<_> = names
            .iter()
            .map(|name| engine.family(name))
            .collect::<Result<_>>()?;
        engine.flush(&families)
    }

    /// Compacts level 0 into the next level that has files, as a background compaction
    /// does when there is one file too many.
    pub(super) fn compact_level0(&mut self) -> Result<()> {
        let told = match level0_and_next(self.engine()?) {
            (0, _) => return self.print("compact0 found 0 files to compact\n"),
            (_, None) => return self.print("compact0 found no data beyond L0\n"),
            (found, Some(next)) => {
                format!("compact0 found {found} files to compact from L0 to L{next}\n")
            }
        };
        self.print(&told)?;
        let (trigger, off) = (
            self.flags.level0_file_num_compaction_trigger.to_string(),
            self.flags.disable_auto_compactions.to_string(),
        );
        let options = |trigger, off| {
            [
                ("level0_file_num_compaction_trigger", trigger),
                ("disable_auto_compactions", off),
            ]
        };
        self.engine()?.change_options(&options("1", "false"))?;
        self.rest()?;
        self.engine()?.change_options(&options(&trigger, &off))
    }

    /// Waits until background work is at rest, and reports that.
    pub(super) fn wait_for_rest(&mut self) -> Result<()> {
        let path = self.directory.display().to_string();
        self.print(&format!("waitforcompaction({path}): started\n"))?;
        self.rest()?;
        self.print(&format!("waitforcompaction({path}): finished\n"))
    }

    fn rest(&self) -> Result<()> {
        let mut quiet = 0;
        while quiet < QUIET_READINGS && !interrupt::requested() {
            let engine = self.engine()?;
            let busy = BACKGROUND_WORK.iter().any(|name| {
                engine
                    .property(name)
                    .is_some_and(|value| value.trim() != "0")
            });
            quiet = if busy { 0 } else { quiet + 1 };
            thread::sleep(READING_PAUSE);
        }
        Ok(())
    }

    /// Verifies what the transactions of `randomtransaction` have left: the sums of all
    /// sets must be equal.
    pub(super) fn verify_transactions(&mut self) -> Result<()> {
        let sets = self.flags.transaction_sets.unsigned_abs();
        let sums = workload::transaction::sums(self.engine()?, sets)
            .map_err(|failure| failure.during("RandomTransactionVerify"))?;
        let of = |sum: &u128| sums.iter().position(|other| other == sum);
        let Some(other) = sums.iter().position(|sum| of(sum) != Some(0)) else {
            return self.print("RandomTransactionVerify Success.\n");
        };
        self.print("RandomTransactionVerify FAILED!!\n")?;
        Err(Failure(format!(
            "randomtransaction: the sum of set 1 is {}, that of set {} is {}",
            sums[0],
            other + 1,
            sums[other]
        )))
    }

    /// Prints properties of the database.
    pub(super) fn print_properties(&mut self, names: &[&str]) -> Result<()> {
        for name in names {
            let value = self.engine()?.property(name).unwrap_or_else(unavailable);
            match names {
                [_] => self.print(&format!("\n{value}\n"))?,
                _ => self.print(&format!("{name}: {value}\n"))?,
            }
        }
        Ok(())
    }
}

/// The number of files in level 0, and the next level that has files.
fn level0_and_next<E: Engine>(engine: &E) -> (u64, Option<usize>) {
    let files = |level: usize| -> Option<u64> {
        let count = engine.property(&format!("rocksdb.num-files-at-level{level}"));
        count?.trim().parse().ok()
    };
    let mut below = (1..MOST_LEVELS).map_while(|level| Some((level, files(level)?)));
    let next = below.find(|(_, files)| *files > 0).map(|(level, _)| level);
    (files(0).unwrap_or(0), next)
}

/// What is printed for a property that the engine lacks, as in RocksDB.
pub(super) fn unavailable() -> String {
    "(failed)".into()
}
