//! `--engine=both`: runs the whole list of benchmarks on two engines alternately,
//! in five rounds with fresh directories, and prints the medians side by side.
//!
//! The order of the engines alternates between rounds, so that neither always
//! runs on a warmer machine or a fuller disk.

use std::io::Write;
use std::path::Path;

use super::contention::Contention;
use super::document;
use super::engine::{Engine, Result};
use super::flags::Flags;
use super::in_force::InForce;
use super::plan::Step;
use super::report::median;
use super::runner::{Outcome, Runner};
use super::transactions::Endings;
use crate::interrupt;

/// The number of rounds of a comparison.
pub const ROUNDS: usize = 5;

/// The throughput of one engine: for every benchmark of the list, one number for
/// each round.
#[derive(Debug, Default)]
struct Column {
    names: Vec<&'static str>,
    rounds: Vec<Vec<f64>>,
    /// What was in force in the last round.
    in_force: Vec<InForce>,
    /// The contention of all rounds together.
    contention: Vec<Option<Contention>>,
    /// How the transactions of all rounds ended.
    endings: Vec<Endings>,
}

impl Column {
    /// Adds a round. A round that was interrupted does not count.
    fn add(&mut self, outcomes: &[Outcome]) {
        if interrupt::requested() {
            return;
        }
        self.names = outcomes.iter().map(|outcome| outcome.name).collect();
        let in_force = outcomes.iter().map(|outcome| outcome.in_force.clone());
        self.in_force = in_force.collect();
        let costs = outcomes.iter().map(|outcome| outcome.contention.clone());
        if self.contention.is_empty() {
            self.contention = costs.collect();
        } else {
            for (sum, cost) in self.contention.iter_mut().zip(costs) {
                if let (Some(sum), Some(cost)) = (sum, cost) {
                    sum.add(&cost);
                }
            }
        }
        self.endings.resize(outcomes.len(), Endings::default());
        for (sum, outcome) in self.endings.iter_mut().zip(outcomes) {
            sum.add(outcome.endings);
        }
        self.rounds.push(
            outcomes
                .iter()
                .map(|outcome| outcome.samples.median())
                .collect(),
        );
    }

    /// The throughput of one benchmark, one number for each round.
    fn row(&self, row: usize) -> Vec<f64> {
        let rounds = self.rounds.iter();
        rounds.filter_map(|round| round.get(row)).copied().collect()
    }

    /// The column as the files of results show it.
    fn document(&self, engine: String) -> document::Column {
        let rows = self.names.iter().enumerate();
        document::Column {
            engine,
            rows: rows
                .map(|(row, name)| document::Row {
                    name,
                    in_force: self.in_force.get(row).cloned().unwrap_or_default(),
                    operations: self.row(row),
                    contention: self.contention.get(row).cloned().flatten(),
                    endings: self.endings.get(row).copied().unwrap_or_default(),
                    ..document::Row::default()
                })
                .collect(),
            ..document::Column::default()
        }
    }
}

/// Runs `steps` on `Own` and `Peer` alternately, in directories under `base`, then
/// prints all results and the table. Returns both engines' medians of each round.
///
/// # Errors
/// The first failure of either engine.
pub fn run<Own: Engine, Peer: Engine>(
    flags: &Flags,
    steps: &[Step],
    base: &Path,
    seed: u64,
    output: &mut (dyn Write + Send),
) -> Result<[document::Column; 2]> {
    let (mut own, mut peer) = (Column::default(), Column::default());
    for round in 1..=ROUNDS {
        let seed = seed.wrapping_add(1000 * round as u64);
        let mut run_own = |output: &mut (dyn Write + Send)| {
            writeln!(output, "round {round} of {ROUNDS}: {}", Own::title())?;
            own.add(&run_round::<Own>(
                flags,
                steps,
                &base.join(format!("own-{round}")),
                seed,
                output,
            )?);
            Result::Ok(())
        };
        let mut run_peer = |output: &mut (dyn Write + Send)| {
            writeln!(output, "round {round} of {ROUNDS}: {}", Peer::title())?;
            peer.add(&run_round::<Peer>(
                flags,
                steps,
                &base.join(format!("peer-{round}")),
                seed,
                output,
            )?);
            Result::Ok(())
        };
        if interrupt::requested() {
            break;
        }
        if round % 2 == 1 {
            run_own(output)?;
            run_peer(output)?;
        } else {
            run_peer(output)?;
            run_own(output)?;
        }
    }
    let columns = [own.document(Own::title()), peer.document(Peer::title())];
    print_table(&columns, output)?;
    Ok(columns)
}

fn run_round<E: Engine>(
    flags: &Flags,
    steps: &[Step],
    directory: &Path,
    seed: u64,
    output: &mut (dyn Write + Send),
) -> Result<Vec<Outcome>> {
    let mut runner = Runner::<E>::new(flags, directory, seed, output)?;
    let outcomes = runner.run(steps)?;
    drop(runner);
    remove::<E>(directory, flags)?;
    Ok(outcomes)
}

/// Destroys a closed database and removes its directory.
///
/// # Errors
/// An error of the engine or of the file system.
pub fn remove<E: Engine>(directory: &Path, flags: &Flags) -> Result<()> {
    E::destroy(directory, flags)?;
    // Engines may leave files behind, such as an info log.
    std::fs::remove_dir_all(directory).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    Ok(())
}

fn print_table(columns: &[document::Column; 2], output: &mut (dyn Write + Send)) -> Result<()> {
    let [own, peer] = columns;
    let rounds = own.rows.first().map_or(0, |row| row.operations.len());
    writeln!(
        output,
        "\nmedians of {rounds} rounds, operations per second"
    )?;
    writeln!(
        output,
        "{:<24}{:>14}  {:>24}{:>14}  {:>24}{:>8}",
        "benchmark", "whitewater", "slowest .. fastest", "rocksdb", "slowest .. fastest", "ratio"
    )?;
    for (own, peer) in own.rows.iter().zip(&peer.rows) {
        let rates = (median(&own.operations), median(&peer.operations));
        let ratio = if rates.1 > 0.0 {
            rates.0 / rates.1
        } else {
            0.0
        };
        writeln!(
            output,
            "{:<24}{:>14.0}  {:>24}{:>14.0}  {:>24}{ratio:>8.2}",
            own.name,
            rates.0,
            own.range(),
            rates.1,
            peer.range()
        )?;
    }
    for line in document::disagreements("", columns) {
        writeln!(output, "WARNING: {line}")?;
    }
    output.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::plan;
    use super::*;

    #[test]
    fn five_rounds_each_and_one_row_for_each_benchmark() {
        let flags = Flags {
            num: 100,
            ..Flags::default()
        };
        let steps = plan::parse("fillseq,readseq[X2],levelstats").expect("list");
        let directory = tempfile::tempdir().expect("temporary directory");
        let mut output = Vec::new();
        run::<Memory, Memory>(&flags, &steps, directory.path(), 7, &mut output).expect("both run");
        let text = String::from_utf8(output).expect("text");
        assert_eq!(text.matches("fillseq      : ").count(), 10, "{text}");
        assert_eq!(text.matches("[MEDIAN 2 runs]").count(), 10, "{text}");
        let table: Vec<_> = text
            .lines()
            .skip_while(|line| !line.starts_with("benchmark "))
            .filter(|line| !line.starts_with("WARNING: "))
            .collect();
        assert_eq!(table.len(), 3, "{text}");
        assert!(
            table[1].starts_with("fillseq ") && table[2].starts_with("readseq "),
            "{text}"
        );
        assert_eq!(
            std::fs::read_dir(directory.path())
                .expect("directory")
                .count(),
            0
        );
    }
}
