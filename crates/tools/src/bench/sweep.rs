//! Several configurations in one run: `--sweep` lists the values that one flag
//! takes in turn, which form the axis of a chart. `--compare` lists sets of flags,
//! which are the lines of a chart. Each configuration runs at each value, in a
//! fresh directory of its own.

use std::io::Write;
use std::path::Path;

use super::document::{Column, Row, disagreements};
use super::engine::{Failure, Result};
use super::flags::{FlagSet, Flags, TABLE};
use super::runner::Outcome;
use crate::interrupt;

/// Flags that concern the whole run, so that a single part cannot have its own
/// value of them.
const OF_THE_RUN: [&str; 9] = [
    "sweep",
    "compare",
    "rounds",
    "json_file",
    "html_file",
    "db",
    "use_existing_db",
    "readonly",
    "use_secondary_db",
];
/// The name of a configuration without changes.
const DEFAULT: &str = "default";

/// One configuration at one value.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The name of the configuration; empty if there is only one.
    pub configuration: String,
    /// The value of the flag that is swept; empty if no flag is.
    pub at: String,
    /// All flags of this part.
    pub flags: Flags,
}

/// All parts of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The flag that is swept; empty if no flag is.
    pub flag: String,
    /// The parts: configuration by configuration, each value by value.
    pub cells: Vec<Cell>,
}

impl Plan {
    /// The plan that the flags ask for; `None` if that is a single configuration.
    ///
    /// # Errors
    /// A flag is unknown or concerns the whole run, a value is out of range, or the
    /// database exists already.
    pub fn new(flags: &Flags) -> Result<Option<Self>> {
        if flags.sweep.is_empty() && flags.compare.is_empty() {
            return Ok(None);
        }
        if flags.keeps_database() {
            return Err(Failure(
                "--sweep and --compare run on fresh databases, not with --use_existing_db".into(),
            ));
        }
        let (flag, values) = match flags.sweep.split_once('=') {
            Some((flag, values)) => (flag.trim().to_owned(), split(values)),
            None if flags.sweep.is_empty() => (String::new(), vec![String::new()]),
            None => {
                return Err(Failure(format!(
                    "--sweep={}: not of the form flag=a|b|c",
                    flags.sweep
                )));
            }
        };
        let mut cells = Vec::new();
        for configuration in configurations(&flags.compare)? {
            for value in &values {
                let mut own = Flags {
                    sweep: String::new(),
                    compare: String::new(),
                    ..flags.clone()
                };
                for (name, text) in &configuration.changes {
                    set(&mut own, "compare", name, text)?;
                }
                if !flag.is_empty() {
                    set(&mut own, "sweep", &flag, value)?;
                }
                own.validate()?;
                if own.engine == "both" {
                    return Err(Failure(
                        "--engine=both compares by itself; use --compare='engine=whitewater|rocksdb'"
                            .into(),
                    ));
                }
                cells.push(Cell {
                    configuration: configuration.name.clone(),
                    at: value.clone(),
                    flags: own,
                });
            }
        }
        Ok(Some(Self { flag, cells }))
    }

    /// Runs all parts `rounds` times with `run`, which receives the flags, a directory
    /// below `base` and the output, and which returns the engine's name and the results.
    ///
    /// # Errors
    /// The first failure of a part.
    pub fn run(
        &self,
        rounds: usize,
        base: &Path,
        output: &mut (dyn Write + Send),
        mut run: impl FnMut(&Cell, &Path, &mut (dyn Write + Send)) -> Result<(String, Vec<Outcome>)>,
    ) -> Result<Vec<Column>> {
        let mut columns: Vec<Option<Column>> = vec![None; self.cells.len()];
        let all = rounds * self.cells.len();
        for round in 0..rounds {
            for position in 0..self.cells.len() {
                // The order alternates between rounds, so that no part always runs on a
                // warmer machine or a fuller disk.
                let at = match round % 2 {
                    0 => position,
                    _ => self.cells.len() - 1 - position,
                };
                if interrupt::requested() {
                    break;
                }
                let cell = &self.cells[at];
                let number = round * self.cells.len() + position + 1;
                writeln!(output, "\n=== {number} of {all}: {}", self.title(cell))?;
                let directory = base.join(format!("part-{number}"));
                let (engine, outcomes) = run(cell, &directory, output)?;
                let rows: Vec<_> = outcomes.iter().map(Row::of).collect();
                match &mut columns[at] {
                    Some(column) => column.add(rows),
                    empty => {
                        *empty = Some(Column {
                            engine,
                            configuration: cell.configuration.clone(),
                            at: cell.at.clone(),
                            command: cell.flags.command_line(&OF_THE_RUN),
                            rows,
                        });
                    }
                }
            }
        }
        let columns: Vec<_> = columns.into_iter().flatten().collect();
        print_tables(&self.flag, &columns, output)?;
        Ok(columns)
    }

    fn title(&self, cell: &Cell) -> String {
        let value = match self.flag.as_str() {
            "" => String::new(),
            flag => format!("{flag}={}", cell.at),
        };
        let parts = [cell.configuration.as_str(), value.as_str()];
        parts.join(" ").trim().to_owned()
    }
}

fn split(values: &str) -> Vec<String> {
    values.split('|').map(|one| one.trim().to_owned()).collect()
}

fn set(flags: &mut Flags, by: &str, name: &str, text: &str) -> Result<()> {
    let wrong = |why: &str| Failure(format!("--{by}: --{name} {why}"));
    if OF_THE_RUN.contains(&name) {
        return Err(wrong("is the same for the whole run"));
    }
    let name = Flags::alias(name).unwrap_or(name);
    if TABLE.iter().all(|spec| spec.name != name) {
        return Err(wrong("is not a flag of this program"));
    }
    flags.set(name, text)
}

/// One alternative of `--compare`.
#[derive(Debug, PartialEq)]
struct Configuration {
    name: String,
    changes: Vec<(String, String)>,
}

/// The alternatives of `--compare`; a single one without changes if it is empty.
/// If an alternative names no flag, it is another value of the previous flag.
fn configurations(compare: &str) -> Result<Vec<Configuration>> {
    if compare.is_empty() {
        return Ok(vec![Configuration {
            name: String::new(),
            changes: Vec::new(),
        }]);
    }
    let mut last: Option<String> = None;
    let mut found: Vec<Configuration> = Vec::new();
    for alternative in split(compare) {
        let mut changes = Vec::new();
        if alternative != DEFAULT {
            for change in alternative.split(',') {
                let (name, text) = match (change.split_once('='), &last) {
                    (Some((name, text)), _) => (name.trim().replace('-', "_"), text),
                    (None, Some(name)) if !change.trim().is_empty() => (name.clone(), change),
                    _ => {
                        return Err(Failure(format!(
                            "--compare={compare}: '{change}' is not of the form flag=value"
                        )));
                    }
                };
                last = Some(name.clone());
                changes.push((name, text.trim().to_owned()));
            }
        }
        let texts: Vec<_> = changes
            .iter()
            .map(|(name, text)| format!("{name}={text}"))
            .collect();
        let name = if texts.is_empty() {
            DEFAULT.to_owned()
        } else {
            texts.join(" ")
        };
        if found.iter().any(|other| other.name == name) {
            return Err(Failure(format!("--compare={compare}: '{name}' twice")));
        }
        found.push(Configuration { name, changes });
    }
    Ok(found)
}

/// Prints a table for each benchmark: a row for each value, a column for each
/// configuration, and the ratio of each to the first.
fn print_tables(flag: &str, columns: &[Column], output: &mut (dyn Write + Send)) -> Result<()> {
    let table = super::document::Table::of(columns);
    let all = columns.iter().flat_map(|column| &column.rows);
    let rounds = all.map(|row| row.operations.len()).max().unwrap_or(0);
    let repeated = rounds > 1;
    for (row, name) in table.benchmarks.iter().enumerate() {
        match rounds {
            1 => writeln!(output, "\n{name}, operations per second")?,
            _ => writeln!(
                output,
                "\n{name}, operations per second, medians of {rounds} runs"
            )?,
        }
        write!(output, "{flag:<12}")?;
        for (at, configuration) in table.configurations.iter().enumerate() {
            let title = match configuration.as_str() {
                "" => "ops/s",
                title => title,
            };
            write!(output, "  {title:>16}")?;
            if repeated {
                write!(output, "  {:>24}", "slowest .. fastest")?;
            }
            if at > 0 {
                write!(output, "{:>8}", "ratio")?;
            }
        }
        writeln!(output)?;
        for (line, value) in table.values.iter().enumerate() {
            write!(output, "{value:<12}")?;
            let first = table.rate(row, 0, line);
            for (at, title) in table.configurations.iter().enumerate() {
                let wide = title.len().max(16);
                match table.rate(row, at, line) {
                    Some(rate) => write!(output, "  {rate:>wide$.0}")?,
                    None => write!(output, "  {:>wide$}", "-")?,
                }
                if repeated {
                    let range = table.row(row, at, line).map(Row::range);
                    write!(output, "  {:>24}", range.as_deref().unwrap_or("-"))?;
                }
                let ratio = table
                    .rate(row, at, line)
                    .zip(first)
                    .filter(|(_, f)| *f > 0.0);
                if let (true, Some((rate, first))) = (at > 0, ratio) {
                    write!(output, "{:>8.2}", rate / first)?;
                }
            }
            writeln!(output)?;
        }
    }
    for line in disagreements(flag, columns) {
        writeln!(output, "WARNING: {line}")?;
    }
    output.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(compare: &str) -> Vec<String> {
        let all = configurations(compare).expect(compare);
        all.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn alternatives() {
        assert_eq!(
            names("commit_protocol=grouped|ordered"),
            ["commit_protocol=grouped", "commit_protocol=ordered"]
        );
        assert_eq!(
            names("default|commit_protocol=grouped,memtablerep=art|vector"),
            [
                "default",
                "commit_protocol=grouped memtablerep=art",
                "memtablerep=vector"
            ]
        );
        assert_eq!(names(""), [""]);
        for wrong in ["grouped", "a=1|a=1", "a=1,|b=2"] {
            assert!(configurations(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_configuration_runs_at_every_value() {
        let flags = Flags {
            sweep: "threads=1|2|4".into(),
            compare: "commit_protocol=grouped|ordered".into(),
            html_file: "x.html".into(),
            ..Flags::default()
        };
        let plan = Plan::new(&flags).expect("valid").expect("several");
        let cells: Vec<_> = plan
            .cells
            .iter()
            .map(|cell| (cell.flags.commit_protocol.as_str(), cell.flags.threads))
            .collect();
        assert_eq!(
            cells,
            [
                ("grouped", 1),
                ("grouped", 2),
                ("grouped", 4),
                ("ordered", 1),
                ("ordered", 2),
                ("ordered", 4)
            ]
        );
        assert_eq!(
            plan.title(&plan.cells[1]),
            "commit_protocol=grouped threads=2"
        );
        assert!(Plan::new(&Flags::default()).expect("valid").is_none());
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for (sweep, compare, expected) in [
            ("threads", "", "flag=a|b|c"),
            ("threads=1|x", "", "'x' is not an integer"),
            ("threads=0|1", "", "--threads=0"),
            ("thread=1|2", "", "--thread is not a flag"),
            ("html_file=a|b", "", "the whole run"),
            ("", "engine=both|rocksdb", "compares by itself"),
            ("", "db=a|b", "the whole run"),
        ] {
            let flags = Flags {
                sweep: sweep.into(),
                compare: compare.into(),
                ..Flags::default()
            };
            let error = Plan::new(&flags).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
