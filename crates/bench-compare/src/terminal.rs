//! The results as text for a terminal.

use std::fmt::Write as _;

use whitewater_memtable_bench::table::grouped;

use crate::mixes::{ALL, Mix};
use crate::results::{Cell, MedianLatency, Medians, Results};
use crate::sequence::PERCENTILES;
use crate::stores::Engine;

/// The titles of the columns.
const COLUMNS: [&str; 14] = [
    "store",
    "ops/s",
    "slowest .. fastest",
    "us:",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "p99.99",
    "max",
    "memory",
    "files",
    "read",
    "written",
];
/// How many of [`PERCENTILES`] have a column.
const SHOWN: usize = 5;

/// How to read the columns.
pub const NOTES: [&str; 6] = [
    "Medians of the rounds. Figures compare within one run only.",
    "us: latencies in microseconds; an operation lasts from the end of the one before it.",
    "tail: an operation lasts from when it was due by its schedule; max is the longest stall.",
    "pop and the like: operations are records that were taken; flushes between are not counted.",
    "memory: resident, in MiB, pages of mapped files included. files: their space right after, in \
     MiB, without holes; behind a slash, when the store has settled.",
    "read, written: MiB by calls of the system, in the background as well; writes through a \
     mapping are not among them (the JSON file has bytes from and to the disk).",
];

type Fields = [String; COLUMNS.len()];

/// All results, in one block for each number of threads and mix.
pub fn text(results: &Results, engines: &[Engine], threads: &[usize]) -> String {
    let mut text = String::new();
    for &threads in threads {
        for mix in ALL {
            let row = results.row(engines, threads, mix);
            let cells: Vec<_> = row.into_iter().flatten().collect();
            if !cells.is_empty() {
                block(&mut text, mix, threads, &cells);
            }
        }
    }
    text
}

fn block(text: &mut String, mix: &Mix, threads: usize, cells: &[&Cell]) {
    let threads = of_threads(mix, threads);
    let _ = writeln!(text, "\n{}: {}, {threads}", mix.name, mix.about);
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(cells.iter().flat_map(|cell| fields(cell)));
    let mut widths = [0; COLUMNS.len()];
    for row in &rows {
        for (width, field) in widths.iter_mut().zip(row) {
            *width = field.len().max(*width);
        }
    }
    for row in rows {
        let mut line = String::new();
        for (at, (field, width)) in row.iter().zip(widths).enumerate() {
            let _ = match at {
                0 | 3 => write!(line, "  {field:<width$}"),
                _ => write!(line, "  {field:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for line in cells.iter().filter_map(|cell| more(cell)) {
        let _ = writeln!(text, "  {line}");
    }
}

/// The rows of a cell: one for each kind of operation.
fn fields(cell: &Cell) -> Vec<Fields> {
    let medians = cell.medians();
    let mut rows: Vec<_> = medians.latencies.iter().map(latency).collect();
    let Some(first) = rows.first_mut() else {
        return rows;
    };
    let (slowest, fastest) = medians.range;
    first[0] = cell.engine.name().to_owned();
    first[1] = grouped(medians.operations_per_second);
    if cell.rounds.len() > 1 {
        first[2] = format!("{} .. {}", grouped(slowest), grouped(fastest));
    }
    first[10] = mib(medians.resident);
    first[11] = medians.files();
    first[12] = mib(medians.read.0);
    first[13] = mib(medians.written.0);
    rows
}

/// What the columns do not have: the rates at the ends of a queue's run, the rate of a schedule.
fn more(cell: &Cell) -> Option<String> {
    let medians = cell.medians();
    if let Some((first, last)) = medians.tenths {
        return Some(format!(
            "{}: first tenth {}/s, last tenth {}/s, {:.2} of it",
            cell.engine,
            grouped(first),
            grouped(last),
            last / first.max(1e-9)
        ));
    }
    let rate = medians.scheduled_rate?;
    Some(format!("{}: schedule of {}/s", cell.engine, grouped(rate)))
}

fn latency(latency: &MedianLatency) -> Fields {
    let mut fields: Fields = std::array::from_fn(|_| String::new());
    fields[3].clone_from(&latency.operation);
    for (at, value) in latency.percentiles.iter().take(SHOWN).enumerate() {
        fields[4 + at] = micros(*value);
    }
    fields[4 + SHOWN] = micros(latency.most.1);
    fields
}

/// How many threads run a mix when all run with `threads`, in words.
pub fn of_threads(mix: &Mix, threads: usize) -> String {
    count_of_threads(mix.threads(threads))
}

/// A number of threads in words.
pub fn count_of_threads(threads: usize) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        _ => format!("{threads} threads"),
    }
}

/// A number of microseconds, with three digits or more.
pub fn micros(value: f64) -> String {
    match value {
        value if value >= 100.0 => grouped(value),
        value if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

impl Medians {
    /// The space of files in MiB: right after, and when the store has settled.
    pub fn files(&self) -> String {
        match self.settled_file_bytes {
            Some(settled) => format!("{} / {}", mib(self.file_bytes), mib(settled)),
            None => mib(self.file_bytes),
        }
    }
}

/// Bytes as MiB.
pub fn mib(bytes: f64) -> String {
    grouped(bytes / f64::from(1 << 20))
}

/// The name of a percentile: `p99.9`.
pub fn percentile(at: usize) -> String {
    format!("p{}", PERCENTILES[at])
}
