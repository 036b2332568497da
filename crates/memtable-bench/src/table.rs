//! The results as text for a terminal.

use std::fmt::Write as _;

use crate::measure::{Bytes, Cell, Figures, Rmw};

/// The text where there is no figure.
const NONE: &str = "-";

/// The titles of the columns.
pub const COLUMNS: [&str; 7] = [
    "structure",
    "ops/s",
    "ns/op",
    "CPU ns/op",
    "bytes/entry",
    "RMW/op",
    "slowest .. fastest",
];

/// How to read the columns, one sentence each.
pub const NOTES: [&str; 5] = [
    "Figures compare within one run only.",
    "ops/s: all threads together, median of the rounds. ns/op: time of a thread for one operation; \
     CPU ns/op: its processor time, without what other programs take.",
    "bytes/entry: by the structure's own account; with an h, growth of the process's heap \
     (bytes asked for, without the allocator's own) while one thread filled it.",
    "RMW/op: atomic read-modify-writes on shared memory, counted as the workload ran (a build \
     with the feature count-rmw); with an s, as its source has them without contention.",
    "readwrite: ops/s adds up inserts and reads.",
];

/// The row of a cell, with the fields of [`COLUMNS`].
pub fn row(cell: &Cell) -> [String; 7] {
    let name = cell.place.kind.name.to_owned();
    match &cell.outcome {
        Ok(figures) => {
            let (slowest, fastest) = figures.range();
            [
                name,
                grouped(figures.operations_per_second()),
                nanoseconds(Some(figures.nanoseconds())),
                nanoseconds(figures.cpu_nanoseconds()),
                bytes(figures),
                rmw(figures),
                format!("{} .. {}", grouped(slowest), grouped(fastest)),
            ]
        }
        Err(why) => {
            let none = || NONE.to_owned();
            [
                name,
                "n/a".to_owned(),
                none(),
                none(),
                none(),
                none(),
                format!("({why})"),
            ]
        }
    }
}

fn nanoseconds(time: Option<f64>) -> String {
    match time {
        Some(long) if long >= 1000.0 => grouped(long),
        Some(short) => format!("{short:.1}"),
        None => NONE.to_owned(),
    }
}

fn bytes(figures: &Figures) -> String {
    match figures.bytes_per_entry {
        Some(Bytes::Own(bytes)) => format!("{bytes:.1}  "),
        Some(Bytes::Heap(bytes)) => format!("{bytes:.1} h"),
        None => format!("{NONE}  "),
    }
}

fn rmw(figures: &Figures) -> String {
    match figures.rmw_per_operation {
        Some(Rmw::Counted(count)) => format!("{count:.2}  "),
        Some(Rmw::Documented(count)) => format!("{count:.2} s"),
        None => format!("{NONE}  "),
    }
}

/// All cells, in one block for each workload and number of threads.
pub fn text(cells: &[Cell]) -> String {
    let rows: Vec<_> = cells.iter().map(row).collect();
    let mut widths = COLUMNS.map(str::len);
    for row in &rows {
        for (width, field) in widths.iter_mut().zip(row) {
            *width = field.len().max(*width);
        }
    }
    let mut text = String::new();
    let mut block = None;
    for (cell, row) in cells.iter().zip(&rows) {
        let here = (cell.place.workload, cell.place.threads);
        if block != Some(here) {
            block = Some(here);
            let plural = if here.1 == 1 { "" } else { "s" };
            let _ = writeln!(text, "\n{}, {} thread{plural}", here.0.name(), here.1);
            line(&mut text, &COLUMNS, &widths);
        }
        line(&mut text, row, &widths);
    }
    text
}

/// Appends one line, with names on the left and figures on the right.
fn line(text: &mut String, fields: &[impl AsRef<str>; 7], widths: &[usize; 7]) {
    let mut line = String::new();
    for (at, (field, width)) in fields.iter().zip(widths).enumerate() {
        let field = field.as_ref();
        let _ = match at {
            0 => write!(line, "  {field:<width$}"),
            // Remarks begin with a parenthesis.
            6 if field.starts_with('(') => write!(line, "  {field}"),
            _ => write!(line, "  {field:>width$}"),
        };
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

/// A number without its fraction, with commas between groups of three digits.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Place, Sample};
    use crate::structures;
    use crate::workload::Workload;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn blocks_rows_and_remarks() {
        let place = |kind: usize, threads| Place {
            kind: &structures::ALL[kind],
            workload: Workload::FillSeq,
            threads,
        };
        let sample = Sample {
            seconds: 0.5,
            thread_seconds: 1.0,
            cpu_seconds: Some(0.75),
            operations: 1_000_000,
            writes: 1_000_000,
            rmw: 0,
        };
        let cells = [
            Cell {
                place: place(0, 1),
                outcome: Ok(Figures {
                    samples: vec![sample],
                    bytes_per_entry: Some(Bytes::Own(31.25)),
                    rmw_per_operation: Some(Rmw::Counted(2.5)),
                }),
            },
            Cell {
                place: place(1, 1),
                outcome: Err("too small"),
            },
            Cell {
                place: place(1, 2),
                outcome: Ok(Figures {
                    samples: vec![sample, sample],
                    bytes_per_entry: Some(Bytes::Heap(100.0)),
                    rmw_per_operation: None,
                }),
            },
        ];
        let text = text(&cells);
        for part in [
            "\nfillseq, 1 thread\n  structure",
            "  skip_list           2,000,000  1,000",
            "31.2  ",
            "2.50  ",
            "n/a",
            "(too small)\n",
            "\nfillseq, 2 threads\n",
            "100.0 h",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert_eq!(text.matches("structure").count(), 2);
    }
}
