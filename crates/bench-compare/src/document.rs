//! The results as JSON and as a page (`--json`, `--html`); the page is that of the other
//! benchmarks (`whitewater_tools::page`).

use serde_json::{Value, json};
use whitewater_memtable_bench::machine::{self, Machine};
use whitewater_memtable_bench::table::grouped;
use whitewater_tools::bench::clock;
use whitewater_tools::page::{self, Axis, Chart, Lines, Page, Section};

use crate::Result;
use crate::mixes::{ALL, Mix};
use crate::results::{Cell, Results};
use crate::rounds::Run;
use crate::runner::Point;
use crate::sequence::PERCENTILES;
use crate::terminal::{NOTES, count_of_threads, mib, micros, of_threads, percentile};

/// What must be known when a run begins.
#[derive(Debug)]
pub struct Document<'a> {
    run: &'a Run<'a>,
    command: String,
    machine: Machine,
    file_system: String,
}

impl<'a> Document<'a> {
    /// A document for a run that begins now.
    pub fn begin(run: &'a Run<'a>, command: String) -> Self {
        Document {
            run,
            command,
            machine: Machine::now(),
            file_system: machine::file_system(run.directory),
        }
    }

    /// Writes the files whose names are not empty.
    ///
    /// # Errors
    /// The file that cannot be written, by name.
    pub fn save(&self, results: &Results, json: &str, html: &str) -> Result<()> {
        page::save(json, || {
            Ok(serde_json::to_string_pretty(&self.json(results))? + "\n")
        })?;
        page::save(html, || self.page(results).html())
    }

    fn json(&self, results: &Results) -> Value {
        let cell = |cell: &Cell| {
            json!({
                "store": cell.engine.name(),
                "version": cell.engine.title(),
                "threads": cell.threads,
                "mix": cell.mix.name,
                "medians": cell.medians(),
                "rounds": cell.rounds,
            })
        };
        let engines = self.run.engines.iter();
        json!({
            "program": "bench-compare",
            "version": env!("CARGO_PKG_VERSION"),
            "date": clock::timestamp(),
            "command": self.command,
            "machine": {
                "processor": self.machine.processor,
                "cores": self.machine.cores,
                "load_before": self.machine.load,
                "load_after": machine::load(),
                "transparent_huge_pages": self.machine.huge_pages,
                "kernel": self.machine.kernel,
                "file_system": self.file_system,
            },
            "work": self.run.work,
            "rounds": results.rounds(),
            "memory_limit_bytes": self.run.limit,
            "percentiles": PERCENTILES,
            "stores": engines.map(|engine| json!({
                "name": engine.name(),
                "version": engine.title(),
                "setup": engine.setup(),
            })).collect::<Vec<_>>(),
            "results": results.cells.iter().map(cell).collect::<Vec<_>>(),
        })
    }

    fn page(&self, results: &Results) -> Page {
        let work = &self.run.work;
        let mut facts = vec![
            ("date", format!("{} UTC", clock::timestamp())),
            ("machine", self.machine.line()),
            ("file system", self.file_system.clone()),
            ("load average at the end", machine::load()),
            (
                "records",
                format!(
                    "{} of {}-byte keys and {}-byte values",
                    grouped(work.records as f64),
                    work.key_size,
                    work.value_size
                ),
            ),
            (
                "a mix",
                format!(
                    "{} operations, at most {} seconds",
                    grouped(work.operations as f64),
                    work.seconds
                ),
            ),
            ("cache", format!("{} MiB", mib(work.cache_bytes as f64))),
            ("rounds", results.rounds().to_string()),
            ("seed", work.seed.to_string()),
        ];
        if work.compact {
            facts.push(("settling", "LSM trees compact everything".to_owned()));
        }
        if work.direct_reads {
            facts.push(("reads", "past the system's cache".to_owned()));
        }
        if let Some(limit) = self.run.limit {
            facts.push(("limit to memory", format!("{} MiB", mib(limit as f64))));
        }
        let mut sections = Vec::new();
        for &threads in self.run.threads {
            sections.push(self.rates(results, threads));
            for mix in ALL {
                sections.extend(self.of_mix(results, threads, mix));
            }
        }
        let engines = self.run.engines.iter();
        let setups = engines.map(|engine| format!("{}: {}.", engine.title(), engine.setup()));
        Page {
            title: "Whitewater and other stores: YCSB's mixes".to_owned(),
            facts,
            sections,
            commands: vec![self.command.clone()],
            notes: setups.chain(NOTES.map(str::to_owned)).collect(),
        }
    }

    /// The rates of all mixes.
    fn rates(&self, results: &Results, threads: usize) -> Section {
        let engines = self.run.engines;
        let rows: Vec<_> = ALL
            .iter()
            .map(|mix| (mix, results.row(engines, threads, mix)))
            .filter(|(_, row)| row.iter().any(Option::is_some))
            .collect();
        let rate = |cell: &Option<&Cell>| cell.map(Cell::rate);
        let series = engines.iter().enumerate().map(|(at, engine)| {
            let rates = rows.iter().map(|(_, row)| rate(&row[at]));
            (engine.name().to_owned(), rates.collect())
        });
        let table = rows.iter().map(|(mix, row)| {
            let first = rate(&row[0]);
            let field = |cell: &Option<&Cell>| match (rate(cell), first) {
                (None, _) => "-".to_owned(),
                (Some(rate), Some(first)) if first > 0.0 => {
                    format!("{}\n{:.2}", grouped(rate), rate / first)
                }
                (Some(rate), _) => grouped(rate),
            };
            let name = format!("{}\n{}", mix.name, mix.about);
            std::iter::once(name).chain(row.iter().map(field)).collect()
        });
        let titles = engines.iter().map(|engine| engine.title());
        Section {
            title: format!("Operations per second, {}", count_of_threads(threads)),
            about: "medians, below them the ratio to the first store".to_owned(),
            chart: Some(Chart {
                unit: "ops/s",
                groups: rows.iter().map(|(mix, _)| mix.name.to_owned()).collect(),
                series: series.collect(),
            }),
            columns: std::iter::once("mix".to_owned()).chain(titles).collect(),
            rows: table.collect(),
            ..Section::default()
        }
    }

    /// Latencies, memory, files and rates over time of one mix.
    fn of_mix(&self, results: &Results, threads: usize, mix: &Mix) -> Option<Section> {
        let row = results.row(self.run.engines, threads, mix);
        let cells: Vec<_> = row.into_iter().flatten().collect();
        if cells.is_empty() {
            return None;
        }
        let mut columns = vec!["store".to_owned(), "slowest .. fastest".to_owned()];
        columns.push("us:".to_owned());
        columns.extend((0..PERCENTILES.len()).map(percentile));
        let rest = ["max", "memory MiB", "files MiB", "read MiB", "written MiB"];
        columns.extend(rest.map(str::to_owned));
        let mut lines = vec![latency_chart(&cells), time_chart(&cells)];
        if mix.scheduled {
            columns.push("schedule, ops/s".to_owned());
            lines.push(over_time("Latency over time: p99.9", &cells, |at| at.p99_9));
            lines.push(over_time("Latency over time: longest", &cells, |at| {
                at.most
            }));
        }
        if mix.queue.is_some() {
            columns.push("first tenth, last tenth, ops/s".to_owned());
        }
        Some(Section {
            title: format!("{}, {}", mix.name, of_threads(mix, threads)),
            about: mix.about.to_owned(),
            lines,
            columns,
            rows: cells.iter().flat_map(|cell| fields(cell)).collect(),
            ..Section::default()
        })
    }
}

/// A row for each kind of operation.
fn fields(cell: &Cell) -> Vec<Vec<String>> {
    let medians = cell.medians();
    let (slowest, fastest) = medians.range;
    let kinds = medians.latencies.iter().enumerate();
    kinds
        .map(|(at, kind)| {
            let once = |text: String| if at == 0 { text } else { String::new() };
            let mut row = vec![
                once(cell.engine.name().to_owned()),
                once(format!("{} .. {}", grouped(slowest), grouped(fastest))),
                kind.operation.clone(),
            ];
            row.extend(kind.percentiles.iter().map(|value| micros(*value)));
            row.push(micros(kind.most.1));
            row.push(once(mib(medians.resident)));
            row.push(once(medians.files()));
            row.push(once(mib(medians.read.0)));
            row.push(once(mib(medians.written.0)));
            if cell.mix.scheduled {
                row.push(once(grouped(medians.scheduled_rate.unwrap_or(0.0))));
            }
            if cell.mix.queue.is_some() {
                let tenths = medians.tenths.map_or_else(
                    || "-".to_owned(),
                    |(first, last)| format!("{} .. {}", grouped(first), grouped(last)),
                );
                row.push(once(tenths));
            }
            row
        })
        .collect()
}

fn latency_chart(cells: &[&Cell]) -> Lines {
    let mut series = Vec::new();
    for cell in cells {
        for kind in cell.medians().latencies {
            let points = kind.percentiles.iter().enumerate();
            series.push((
                format!("{}: {}", cell.engine, kind.operation),
                points.map(|(at, value)| (at as f64, *value)).collect(),
            ));
        }
    }
    Lines {
        caption: "Latency".to_owned(),
        unit: "us",
        across: "percentile".to_owned(),
        axis: Axis::Labels((0..PERCENTILES.len()).map(percentile).collect()),
        logarithmic: true,
        mark: None,
        reach: 0.0,
        series,
    }
}

/// The last round over time.
fn time_chart(cells: &[&Cell]) -> Lines {
    let series = cells.iter().map(|cell| {
        let last = cell.rounds.last().map(|round| round.series.clone());
        (cell.engine.name().to_owned(), last.unwrap_or_default())
    });
    Lines {
        caption: "Operations per second over time, last round".to_owned(),
        unit: "ops/s",
        across: "seconds".to_owned(),
        axis: Axis::Numbers,
        logarithmic: false,
        mark: None,
        reach: 0.0,
        series: series.collect(),
    }
}

/// The last round's latencies over time.
fn over_time(caption: &str, cells: &[&Cell], figure: fn(&Point) -> f64) -> Lines {
    let mut series = Vec::new();
    for cell in cells {
        for kind in cell.rounds.last().iter().flat_map(|round| &round.over_time) {
            let points = kind.points.iter().map(|at| (at.seconds, figure(at)));
            series.push((
                format!("{}: {}", cell.engine, kind.operation),
                points.collect(),
            ));
        }
    }
    Lines {
        caption: format!("{caption}, last round"),
        unit: "us",
        across: "seconds".to_owned(),
        axis: Axis::Numbers,
        logarithmic: true,
        mark: None,
        reach: 0.0,
        series,
    }
}
