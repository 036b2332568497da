//! Operations that take no threads of their own: flushes, waiting, properties.

use std::thread;
use std::time::Duration;

use super::engine::{Engine, Result};
use super::runner::Runner;

/// Consecutive readings without background work that count as rest.
const QUIET_READINGS: u32 = 5;
/// Time between two such readings.
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

    /// Waits until background work has come to rest.
    pub(super) fn wait_for_rest(&mut self) -> Result<()> {
        let path = self.directory.display().to_string();
        self.print(&format!("waitforcompaction({path}): started\n"))?;
        let mut quiet = 0;
        while quiet < QUIET_READINGS {
            let engine = self.engine()?;
            let busy = BACKGROUND_WORK.iter().any(|name| {
                engine
                    .property(name)
                    .is_some_and(|value| value.trim() != "0")
            });
            quiet = if busy { 0 } else { quiet + 1 };
            thread::sleep(READING_PAUSE);
        }
        self.print(&format!("waitforcompaction({path}): finished\n"))
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

/// What stands for a property that the engine lacks, as in RocksDB.
pub(super) fn unavailable() -> String {
    "(failed)".into()
}
