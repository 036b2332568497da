//! The results of a run as JSON and as a page (`--json`, `--html`).

mod charts;

use std::path::Path;

use serde_json::{Value, json};
use whitewater_memtable_bench::machine::{self, Machine};

use super::clock;
use super::contention::Contention;
use super::engine::Result;
use super::flags::{FlagSet, Flags};
use super::histogram::{self, Latencies};
use super::in_force::InForce;
use super::report::median;
use super::runner::Outcome;
use super::stats::Operation;
use super::timeline::Timeline;
use super::transactions::Endings;
use crate::page;
use whitewater_memtable_bench::table::grouped;

/// What one engine did in one configuration.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// The engine's name and version.
    pub engine: String,
    /// The name of the configuration; empty if there is only one.
    pub configuration: String,
    /// The value of the flag that is swept; empty if no flag is.
    pub at: String,
    /// The command line that runs only this configuration.
    pub command: String,
    /// The results of its benchmarks, in the order of the list.
    pub rows: Vec<Row>,
}

impl Column {
    /// Adds the results of another round.
    pub fn add(&mut self, rows: Vec<Row>) {
        for (sum, row) in self.rows.iter_mut().zip(rows) {
            sum.add(row);
        }
    }

    /// What distinguishes it from the other columns with the same value.
    pub fn label(&self) -> &str {
        match self.configuration.as_str() {
            "" => self.engine.trim_end(),
            name => name,
        }
    }
}

/// Runs disagree if the fastest is more than this many times as fast as the slowest.
const AGREE: f64 = 1.25;

/// The warnings about runs that disagree: a line for each row that has such runs.
pub fn disagreements(swept: &str, columns: &[Column]) -> Vec<String> {
    let mut lines = Vec::new();
    for column in columns {
        for row in column.rows.iter().filter(|row| row.disagrees()) {
            let at = match swept {
                "" => String::new(),
                flag => format!(", {flag}={}", column.at),
            };
            lines.push(format!(
                "{}, {}{at}: {} runs of {} operations per second disagree; their median says little",
                row.name,
                column.label().split_whitespace().collect::<Vec<_>>().join(" "),
                row.operations.len(),
                row.range()
            ));
        }
    }
    lines
}

/// All measured runs of one benchmark.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The name of the benchmark.
    pub name: &'static str,
    /// What was in force in the last of its runs.
    pub in_force: InForce,
    /// The operations per second of each run.
    pub operations: Vec<f64>,
    /// The megabytes per second of each run that counted bytes.
    pub megabytes: Vec<f64>,
    /// What all of these runs cost the threads and the system, if the flags ask for
    /// that.
    pub contention: Option<Contention>,
    /// How the transactions of these runs ended.
    pub endings: Endings,
    /// How long operations took in all of these runs, if they were timed.
    pub latencies: Vec<(Operation, Latencies)>,
    /// The last of these runs over time.
    pub timeline: Timeline,
}

impl Row {
    /// The row of one step of the list.
    pub fn of(outcome: &Outcome) -> Self {
        Row {
            name: outcome.name,
            in_force: outcome.in_force.clone(),
            operations: outcome.samples.operations().to_vec(),
            megabytes: outcome.samples.megabytes().to_vec(),
            contention: outcome.contention.clone(),
            endings: outcome.endings,
            latencies: outcome.latencies.clone(),
            timeline: outcome.timeline.clone(),
        }
    }

    /// The slowest and the fastest of several runs, in operations per second.
    pub fn spread(&self) -> Option<(f64, f64)> {
        let runs = || self.operations.iter().copied();
        let spread = (
            runs().fold(f64::INFINITY, f64::min),
            runs().fold(0.0, f64::max),
        );
        (self.operations.len() > 1).then_some(spread)
    }

    /// Whether the runs differ so much that their median says little.
    pub fn disagrees(&self) -> bool {
        self.spread()
            .is_some_and(|(slowest, fastest)| fastest > slowest * AGREE)
    }

    /// The slowest and the fastest run, formatted for a table.
    pub fn range(&self) -> String {
        self.spread().map_or_else(
            || "-".to_owned(),
            |(slowest, fastest)| format!("{} .. {}", grouped(slowest), grouped(fastest)),
        )
    }

    fn add(&mut self, other: Self) {
        self.in_force = other.in_force;
        self.operations.extend(other.operations);
        self.megabytes.extend(other.megabytes);
        self.timeline = other.timeline;
        let latencies = other
            .latencies
            .iter()
            .map(|(operation, all)| (*operation, all));
        histogram::merge_all(&mut self.latencies, latencies);
        self.endings.add(other.endings);
        if let (Some(sum), Some(cost)) = (&mut self.contention, &other.contention) {
            sum.add(cost);
        }
    }
}

/// The columns, arranged by configuration and value.
#[derive(Debug)]
pub struct Table<'c> {
    columns: &'c [Column],
    /// The names of the benchmarks.
    pub benchmarks: Vec<&'static str>,
    /// The labels of the configurations, in the order of the run.
    pub configurations: Vec<String>,
    /// The values of the flag that is swept, in order.
    pub values: Vec<String>,
}

impl<'c> Table<'c> {
    /// Arranges these columns.
    pub fn of(columns: &'c [Column]) -> Self {
        let mut configurations: Vec<String> = Vec::new();
        let mut values: Vec<String> = Vec::new();
        for column in columns {
            if configurations.iter().all(|known| known != column.label()) {
                configurations.push(column.label().to_owned());
            }
            if !values.contains(&column.at) {
                values.push(column.at.clone());
            }
        }
        let rows = columns.first().map_or(&[][..], |column| &column.rows);
        Self {
            columns,
            benchmarks: rows.iter().map(|row| row.name).collect(),
            configurations,
            values,
        }
    }

    /// The results of a benchmark with a configuration and value, all given by index.
    pub fn row(&self, benchmark: usize, configuration: usize, value: usize) -> Option<&'c Row> {
        let (label, at) = (
            self.configurations.get(configuration)?,
            self.values.get(value)?,
        );
        let mut columns = self.columns.iter();
        let column = columns.find(|column| column.label() == label && column.at == *at)?;
        column.rows.get(benchmark)
    }

    /// The median of its operations per second.
    pub fn rate(&self, benchmark: usize, configuration: usize, value: usize) -> Option<f64> {
        let row = self.row(benchmark, configuration, value)?;
        Some(median(&row.operations))
    }
}

/// The percentiles that are reported.
const PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99];

/// The files that a run will write, and what must be recorded when it begins.
#[derive(Debug)]
pub struct Document<'a> {
    flags: &'a Flags,
    seed: u64,
    /// The flag that is swept; empty if no flag is.
    swept: String,
    machine: Machine,
    /// The type of the file system that databases are on.
    file_system: String,
}

impl<'a> Document<'a> {
    /// A document for a run that begins now, on databases in `directory`.
    pub fn begin(flags: &'a Flags, seed: u64, directory: &Path) -> Self {
        Document {
            flags,
            seed,
            swept: String::new(),
            machine: Machine::now(),
            file_system: machine::file_system(directory),
        }
    }

    /// Sets which flag is swept.
    #[must_use]
    pub fn over(mut self, flag: &str) -> Self {
        flag.clone_into(&mut self.swept);
        self
    }

    /// Writes the files that the flags ask for.
    ///
    /// # Errors
    /// The file that cannot be written, by name.
    pub fn save(&self, columns: &[Column]) -> Result<()> {
        page::save(&self.flags.json_file, || {
            Ok(serde_json::to_string_pretty(&self.json(columns))? + "\n")
        })?;
        page::save(&self.flags.html_file, || self.page(columns).html())
    }

    /// The command line of the whole run.
    fn command(&self) -> String {
        self.flags.command_line(&["json_file", "html_file"])
    }

    fn json(&self, columns: &[Column]) -> Value {
        let settings: serde_json::Map<_, _> = Flags::table()
            .iter()
            .map(|spec| {
                let text = self.flags.text_of(spec.name);
                (spec.name.to_owned(), text.trim_matches('"').into())
            })
            .collect();
        let results: Vec<_> = columns
            .iter()
            .flat_map(|column| column.rows.iter().map(move |row| (column, row)))
            .map(|(column, row)| self.result(column, row))
            .collect();
        json!({
            "program": "db_bench",
            "version": env!("CARGO_PKG_VERSION"),
            "commit": clock::commit(),
            "date": clock::timestamp(),
            "command": self.command(),
            "machine": {
                "processor": self.machine.processor,
                "cores": self.machine.cores,
                "load_before": self.machine.load,
                "load_after": machine::load(),
                "transparent_huge_pages": self.machine.huge_pages,
                "kernel": self.machine.kernel,
                "file_system": self.file_system,
            },
            "seed": self.seed,
            "settings": settings,
            "results": results,
        })
    }

    fn result(&self, column: &Column, row: &Row) -> Value {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let latencies: serde_json::Map<_, _> = row
            .latencies
            .iter()
            .map(|(operation, all)| (operation.word().to_owned(), latency(all)))
            .collect();
        let (slowed, stopped) = row.timeline.stalls();
        json!({
            "engine": column.engine,
            "configuration": some(&column.configuration),
            "swept": some(&self.swept).map(|flag| json!({ "flag": flag, "value": column.at })),
            "command": some(&column.command),
            "benchmark": row.name,
            "in_force": row.in_force.json(),
            "operations_per_second": median(&row.operations),
            "megabytes_per_second":
                (!row.megabytes.is_empty()).then(|| median(&row.megabytes)),
            "runs": row.operations,
            "rounds": row.operations.len(),
            "slowest": row.spread().map(|(slowest, _)| slowest),
            "fastest": row.spread().map(|(_, fastest)| fastest),
            "rounds_disagree": row.disagrees(),
            "latency_microseconds": latencies,
            "stalls": { "slowed_percent": slowed, "stopped_percent": stopped },
            "timeline": row.timeline.json(),
            "latency_timeline_microseconds": row.timeline.latencies_json(),
            "transactions": (row.endings.all() > 0).then(|| row.endings.json()),
            "contention": row.contention.as_ref().map(Contention::json),
        })
    }
}

fn latency(all: &Latencies) -> Value {
    let mut object: serde_json::Map<String, Value> = PERCENTILES
        .into_iter()
        .map(|percentile| (format!("p{percentile}"), all.micros_at(percentile).into()))
        .collect();
    object.insert("count".to_owned(), all.count().into());
    object.insert("mean".to_owned(), all.mean_micros().into());
    object.insert("max".to_owned(), all.most_micros().into());
    object.into()
}

#[cfg(test)]
mod tests;
