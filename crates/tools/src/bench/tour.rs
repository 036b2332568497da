//! The run without arguments: it fills, overwrites, reads and scans a temporary
//! database with 1, 2 and 16 threads, and prints one table.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use whitewater_memtable_bench::table::grouped;

use super::engine::{Engine, Failure, Result};
use super::flags::Flags;
use super::plan;
use super::runner::{Outcome, Runner};

/// The size of the tour.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of keys, and of operations of all threads together in each cell.
    pub entries: i64,
    /// The maximum time of a cell.
    pub cap: Duration,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            entries: 400_000,
            cap: Duration::from_millis(3500),
        }
    }
}

/// The benchmarks of each column. `waitforcompaction` comes before the reads, so that
/// they find tables: chance does not decide whether the writes are flushed by then.
const BENCHMARKS: &str = "fillrandom,overwrite,waitforcompaction,readrandom,readseq";
const THREADS: [i32; 3] = [1, 2, 16];
const ROWS: [(&str, &str); 4] = [
    ("fillrandom", "write new entries in random order"),
    ("overwrite", "write them again"),
    ("readrandom", "read one at a time"),
    ("readseq", "scan in key order"),
];
const MORE: &str = "\
More: db_bench --benchmarks=fillrandom,readrandom --num=1000000 --threads=4
      db_bench --help
";

/// Runs the tour in `directory` and prints its table to `output`.
///
/// # Errors
/// An error of the engine or of the output.
pub fn run<E: Engine>(size: Size, directory: &Path, output: &mut (dyn Write + Send)) -> Result<()> {
    let defaults = Flags::default();
    writeln!(
        output,
        "{}\n{} entries of {}-byte keys and {}-byte values in a temporary database, log not synced\n",
        E::title(),
        grouped(size.entries as f64),
        defaults.key_size,
        defaults.value_size,
    )?;
    let columns = THREADS
        .iter()
        .map(|threads| run_column::<E>(size, *threads, directory))
        .collect::<Result<Vec<_>>>()?;
    let titles = THREADS.map(|threads| match threads {
        1 => "1 thread".to_owned(),
        _ => format!("{threads} threads"),
    });
    write!(output, "{:<48}", "operations per second")?;
    for title in titles {
        write!(output, "{title:>14}")?;
    }
    writeln!(output)?;
    for (name, what) in ROWS {
        write!(output, "{:<48}", format!("{name:<12}{what}"))?;
        for column in &columns {
            let outcome = column.iter().find(|outcome| outcome.name == name);
            let rate = outcome.map(|outcome| grouped(outcome.samples.median()));
            write!(output, "{:>14}", rate.as_deref().unwrap_or("-"))?;
        }
        writeln!(output)?;
    }
    write!(output, "\n{MORE}")?;
    output.flush()?;
    Ok(())
}

/// Runs all benchmarks with this number of threads.
fn run_column<E: Engine>(size: Size, threads: i32, directory: &Path) -> Result<Vec<Outcome>> {
    let each = size.entries / i64::from(threads);
    let flags = Flags {
        num: size.entries,
        reads: each,
        writes: each,
        threads,
        seed: 1,
        ..Flags::default()
    };
    let mut lines = Vec::new();
    let mut runner = Runner::<E>::new(&flags, directory, 1, &mut lines)?.with_cap(size.cap);
    let outcomes = runner.run(&plan::parse(BENCHMARKS)?)?;
    drop(runner);
    E::destroy(directory, &flags)
        .map_err(|Failure(why)| Failure(format!("destroy error: {why}")))?;
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_benchmark() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let size = Size {
            entries: 320,
            cap: Duration::from_secs(10),
        };
        let mut output = Vec::new();
        run::<Memory>(size, directory.path(), &mut output).expect("the tour runs");
        let text = String::from_utf8(output).expect("text");
        for (name, _) in ROWS {
            let row = text
                .lines()
                .find(|line| line.starts_with(name))
                .expect(name);
            let cells: Vec<_> = row[48..].split_whitespace().collect();
            assert_eq!(cells.len(), 3, "{row}");
            assert!(cells.iter().all(|cell| *cell != "0"), "{row}");
        }
        assert!(
            text.contains("1 thread     2 threads    16 threads"),
            "{text}"
        );
        assert!(text.ends_with(MORE), "{text}");
    }
}
