//! The results of a run as JSON and as a page (`--json_file`, `--html_file`).

use serde_json::{Value, json};
use whitewater_memtable_bench::machine::{self, Machine};

use super::clock;
use super::contention::Contention;
use super::engine::Result;
use super::flags::{FlagSet, Flags};
use super::report::median;
use super::runner::Outcome;
use super::tour::grouped;
use crate::page::{self, Chart, Page, Section};

/// What one engine did.
#[derive(Clone, Debug)]
pub struct Column {
    /// The engine's name and version.
    pub engine: String,
    /// Its benchmarks, in the order of the list.
    pub rows: Vec<Row>,
}

/// All measured runs of one benchmark.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the benchmark.
    pub name: &'static str,
    /// Operations per second of each run.
    pub operations: Vec<f64>,
    /// Megabytes per second of each run that has them.
    pub megabytes: Vec<f64>,
    /// What all of these runs cost the threads and the system, if that was
    /// asked for.
    pub contention: Option<Contention>,
}

impl Row {
    /// The runs of one step.
    pub fn of(outcome: &Outcome) -> Self {
        Row {
            name: outcome.name,
            operations: outcome.samples.operations().to_vec(),
            megabytes: outcome.samples.megabytes().to_vec(),
            contention: outcome.contention.clone(),
        }
    }
}

/// The files a run will write, and what is to be known at its start.
#[derive(Debug)]
pub struct Document<'a> {
    flags: &'a Flags,
    seed: u64,
    machine: Machine,
}

impl<'a> Document<'a> {
    /// For a run that begins now.
    pub fn begin(flags: &'a Flags, seed: u64) -> Self {
        Document {
            flags,
            seed,
            machine: Machine::now(),
        }
    }

    /// Writes the files that the flags ask for.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn save(&self, columns: &[Column]) -> Result<()> {
        page::save(&self.flags.json_file, || {
            Ok(serde_json::to_string_pretty(&self.json(columns))? + "\n")
        })?;
        page::save(&self.flags.html_file, || self.page(columns).html())
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
            .map(|(column, row)| {
                json!({
                    "engine": column.engine,
                    "benchmark": row.name,
                    "operations_per_second": median(&row.operations),
                    "megabytes_per_second":
                        (!row.megabytes.is_empty()).then(|| median(&row.megabytes)),
                    "runs": row.operations,
                    "contention": row.contention.as_ref().map(Contention::json),
                })
            })
            .collect();
        json!({
            "program": "db_bench",
            "version": env!("CARGO_PKG_VERSION"),
            "date": clock::timestamp(),
            "machine": {
                "processor": self.machine.processor,
                "cores": self.machine.cores,
                "load_before": self.machine.load,
                "load_after": machine::load(),
                "transparent_huge_pages": self.machine.huge_pages,
            },
            "seed": self.seed,
            "settings": settings,
            "results": results,
        })
    }

    fn page(&self, columns: &[Column]) -> Page {
        let flags = self.flags;
        let defaults = Flags::default();
        let changed: Vec<_> = Flags::table()
            .iter()
            .filter(|spec| flags.text_of(spec.name) != defaults.text_of(spec.name))
            .filter(|spec| !["json_file", "html_file"].contains(&spec.name))
            .map(|spec| {
                format!(
                    "--{}={}",
                    spec.name,
                    flags.text_of(spec.name).trim_matches('"')
                )
            })
            .collect();
        let engines: Vec<_> = columns.iter().map(|column| column.engine.clone()).collect();
        let rows = columns.first().map_or(&[][..], |column| &column.rows);
        Page {
            title: "db_bench".to_owned(),
            facts: vec![
                ("engine", engines.join("; ")),
                ("date", format!("{} UTC", clock::timestamp())),
                ("machine", self.machine.line()),
                ("load average at the end", machine::load()),
                ("seed", self.seed.to_string()),
                ("flags", changed.join(" ")),
            ],
            sections: vec![Section {
                title: "Operations per second".to_owned(),
                about: "all threads together; median, slowest and fastest run".to_owned(),
                chart: Some(Chart {
                    unit: "ops/s",
                    groups: rows.iter().map(|row| row.name.to_owned()).collect(),
                    series: columns.iter().map(series).collect(),
                }),
                columns: [
                    "benchmark",
                    "engine",
                    "ops/s",
                    "MB/s",
                    "slowest .. fastest",
                    "runs",
                ]
                .map(str::to_owned)
                .to_vec(),
                rows: columns.iter().flat_map(fields).collect(),
            }],
            notes: vec!["Figures compare within one run only.".to_owned()],
        }
    }
}

fn series(column: &Column) -> (String, Vec<Option<f64>>) {
    let medians = column.rows.iter().map(|row| Some(median(&row.operations)));
    (column.engine.clone(), medians.collect())
}

fn fields(column: &Column) -> impl Iterator<Item = Vec<String>> {
    column.rows.iter().map(|row| {
        let rates = row.operations.iter().copied();
        let slowest = rates.clone().fold(f64::INFINITY, f64::min);
        let fastest = rates.fold(0.0, f64::max);
        vec![
            row.name.to_owned(),
            column.engine.clone(),
            grouped(median(&row.operations) as u64),
            match row.megabytes.is_empty() {
                true => "-".to_owned(),
                false => format!("{:.1}", median(&row.megabytes)),
            },
            format!("{} .. {}", grouped(slowest as u64), grouped(fastest as u64)),
            row.operations.len().to_string(),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_page_have_every_row() {
        let flags = Flags {
            threads: 3,
            ..Flags::default()
        };
        let column = |engine: &str, rate: f64| Column {
            engine: engine.into(),
            rows: ["fillseq", "readrandom"]
                .map(|name| Row {
                    name,
                    operations: vec![rate, 3.0 * rate, 2.0 * rate],
                    megabytes: vec![],
                    contention: None,
                })
                .to_vec(),
        };
        let columns = [column("one", 1000.0), column("two", 500.0)];
        let document = Document::begin(&flags, 42);
        let json = document.json(&columns);
        assert_eq!(json["seed"], 42);
        assert_eq!(json["settings"]["threads"], "3");
        assert_eq!(json["results"].as_array().map(Vec::len), Some(4));
        assert_eq!(json["results"][3]["operations_per_second"], 1000.0);
        let html = document.page(&columns).html().expect("drawn");
        assert_eq!(html.matches("<tr>").count(), 5);
        assert!(html.contains("--threads=3"), "{html}");
        assert!(html.contains("<td>2,000</td><td>-</td><td>1,000 .. 3,000</td>"));
    }
}
