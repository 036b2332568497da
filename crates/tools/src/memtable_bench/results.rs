//! The results of `memtablerep_bench` as JSON and as a page.

use serde_json::{Value, json};
use whitewater_concurrent::sync::rmw;
use whitewater_memtable_bench::machine::{self, Machine};
use whitewater_memtable_bench::measure::{Bytes, Cell, Rmw};
use whitewater_memtable_bench::table;
use whitewater_memtable_bench::workload::Workload;

use super::flags::{Flags, TABLE};
use crate::bench::clock;
use crate::bench::engine::Result;
use crate::page::{self, Chart, Page, Section};

/// The results of a finished run.
#[derive(Debug)]
pub struct Results<'a> {
    flags: &'a Flags,
    /// The machine before the run.
    machine: Machine,
    /// The load averages after the run.
    load_after: String,
    cells: Vec<Cell>,
}

impl<'a> Results<'a> {
    /// The results of a run that began on `machine` and ends now.
    pub fn new(flags: &'a Flags, machine: Machine, cells: Vec<Cell>) -> Self {
        Results {
            flags,
            machine,
            load_after: machine::load(),
            cells,
        }
    }

    /// Writes the files that the flags ask for.
    ///
    /// # Errors
    /// The file that cannot be written, by name.
    pub fn save(&self) -> Result<()> {
        page::save(&self.flags.json_file, || {
            Ok(serde_json::to_string_pretty(&self.json())? + "\n")
        })?;
        page::save(&self.flags.html_file, || self.page().html())
    }

    /// All results as text for a terminal.
    pub fn text(&self) -> String {
        let mut text = table::text(&self.cells);
        text += &format!("\nload average at the end: {}\n", self.load_after);
        for note in table::NOTES {
            text += note;
            text += "\n";
        }
        text
    }

    /// All results as JSON, including every run of every cell.
    pub fn json(&self) -> Value {
        let settings: serde_json::Map<_, _> = TABLE
            .iter()
            .map(|spec| {
                let text = self.flags.text_of(spec.name);
                (spec.name.to_owned(), text.trim_matches('"').into())
            })
            .collect();
        json!({
            "program": "memtablerep_bench",
            "version": env!("CARGO_PKG_VERSION"),
            "commit": clock::commit(),
            "date": clock::timestamp(),
            "machine": {
                "processor": self.machine.processor,
                "cores": self.machine.cores,
                "load_before": self.machine.load,
                "load_after": self.load_after,
                "transparent_huge_pages": self.machine.huge_pages,
                "kernel": self.machine.kernel,
            },
            "settings": settings,
            "rmw_counted": rmw::ENABLED,
            "results": self.cells.iter().map(cell).collect::<Vec<_>>(),
        })
    }

    /// All results as a page.
    pub fn page(&self) -> Page {
        let flags = self.flags;
        let mut workloads: Vec<Workload> = Vec::new();
        for cell in &self.cells {
            if !workloads.contains(&cell.place.workload) {
                workloads.push(cell.place.workload);
            }
        }
        Page {
            title: "Memtables".to_owned(),
            facts: vec![
                ("program", format!("memtablerep_bench {}", clock::build())),
                ("date", format!("{} UTC", clock::timestamp())),
                ("machine", self.machine.line()),
                ("load average at the end", self.load_after.clone()),
                (
                    "entries",
                    format!(
                        "{} of {}-byte {} keys and {}-byte values",
                        table::grouped(flags.num as f64),
                        flags.key_size,
                        flags.keys,
                        flags.value_size
                    ),
                ),
                ("rounds", flags.rounds.to_string()),
            ],
            sections: workloads.into_iter().map(|w| self.section(w)).collect(),
            commands: Vec::new(),
            notes: table::NOTES.map(str::to_owned).to_vec(),
        }
    }

    fn section(&self, workload: Workload) -> Section {
        let cells = || {
            self.cells
                .iter()
                .filter(move |cell| cell.place.workload == workload)
        };
        let mut threads: Vec<usize> = cells().map(|cell| cell.place.threads).collect();
        threads.dedup();
        let mut series: Vec<(String, Vec<Option<f64>>)> = Vec::new();
        for cell in cells() {
            let name = cell.place.kind.name;
            let figures = cell.outcome.as_ref().ok();
            let value = figures.map(|figures| figures.operations_per_second());
            match series.iter_mut().find(|(other, _)| other == name) {
                Some((_, values)) => values.push(value),
                None => series.push((name.to_owned(), vec![value])),
            }
        }
        let row = |cell: &Cell| {
            let mut row = table::row(cell).to_vec();
            row.insert(1, cell.place.threads.to_string());
            row
        };
        let mut columns = table::COLUMNS.map(str::to_owned).to_vec();
        columns.insert(1, "threads".to_owned());
        Section {
            title: workload.name().to_owned(),
            about: workload.about().to_owned(),
            chart: Some(Chart {
                unit: "ops/s",
                groups: threads
                    .into_iter()
                    .map(|threads| match threads {
                        1 => "1 thread".to_owned(),
                        _ => format!("{threads} threads"),
                    })
                    .collect(),
                series,
            }),
            lines: Vec::new(),
            columns,
            rows: cells().map(row).collect(),
        }
    }
}

fn cell(cell: &Cell) -> Value {
    let mut value = json!({
        "benchmark": cell.place.workload.name(),
        "threads": cell.place.threads,
        "structure": cell.place.kind.name,
    });
    let more = match &cell.outcome {
        Err(why) => json!({ "not_applicable": why }),
        Ok(figures) => {
            let bytes = figures.bytes_per_entry.map(|bytes| match bytes {
                Bytes::Own(bytes) => (bytes, "own account"),
                Bytes::Heap(bytes) => (bytes, "heap growth"),
            });
            let rmw = figures.rmw_per_operation.map(|rmw| match rmw {
                Rmw::Counted(count) => (count, "counted"),
                Rmw::Documented(count) => (count, "source"),
            });
            json!({
                "operations_per_second": figures.operations_per_second(),
                "nanoseconds_per_operation": figures.nanoseconds(),
                "cpu_nanoseconds_per_operation": figures.cpu_nanoseconds(),
                "bytes_per_entry": bytes.map(|(bytes, _)| bytes),
                "bytes_from": bytes.map(|(_, from)| from),
                "rmw_per_operation": rmw.map(|(count, _)| count),
                "rmw_from": rmw.map(|(_, from)| from),
                "rounds": figures.samples.iter().map(|sample| json!({
                    "seconds": sample.seconds,
                    "thread_seconds": sample.thread_seconds,
                    "cpu_seconds": sample.cpu_seconds,
                    "operations": sample.operations,
                    "writes": sample.writes,
                })).collect::<Vec<_>>(),
            })
        }
    };
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
    }
    value
}
