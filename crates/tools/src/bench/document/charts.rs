//! The page of a document: throughput and its ratios, latencies, and runs over time.

use whitewater_memtable_bench::machine;

use super::{Column, Document, PERCENTILES, Row, Table, disagreements};
use crate::bench::clock;
use crate::bench::latency_timeline::LatencyPoint;
use crate::bench::report::median;
use crate::bench::stats::Operation;
use crate::bench::timeline::Point;
use crate::page::{Axis, Chart, Lines, Page, Section};
use whitewater_memtable_bench::table::grouped;

/// The maximum number of points of a line over time.
const POINTS: usize = 50;

impl Document<'_> {
    pub(super) fn page(&self, columns: &[Column]) -> Page {
        let mut engines: Vec<_> = columns.iter().map(|column| column.engine.clone()).collect();
        engines.dedup();
        let table = Table::of(columns);
        let mut sections = match self.swept.as_str() {
            "" => vec![bars(&table)],
            flag => (0..table.benchmarks.len())
                .map(|benchmark| sweep(&table, benchmark, flag))
                .collect(),
        };
        for benchmark in 0..table.benchmarks.len() {
            sections.extend(self.latencies(&table, benchmark));
            sections.extend(self.over_time(&table, benchmark));
        }
        let mut commands = vec![self.command()];
        let parts = columns.iter().map(|column| column.command.clone());
        commands.extend(parts.filter(|command| !command.is_empty()));
        Page {
            title: "db_bench".to_owned(),
            facts: vec![
                ("engine", engines.join("; ")),
                ("program", format!("db_bench {}", clock::build())),
                ("in force", in_force(columns)),
                ("rounds", rounds(columns)),
                ("date", format!("{} UTC", clock::timestamp())),
                ("machine", self.machine.line()),
                ("file system", self.file_system.clone()),
                ("load average at the end", machine::load()),
                (
                    "entries",
                    format!(
                        "{} of {}-byte keys and {}-byte values",
                        grouped(self.flags.num as f64),
                        self.flags.key_size,
                        self.flags.value_size
                    ),
                ),
                ("seed", self.seed.to_string()),
            ],
            sections,
            commands,
            notes: notes(&self.swept, columns),
        }
    }

    /// What a section about one value of the sweep says about it.
    fn at(&self, value: &str) -> String {
        match self.swept.as_str() {
            "" => String::new(),
            flag => format!(", {flag}={value}"),
        }
    }

    fn latencies(&self, table: &Table<'_>, benchmark: usize) -> Option<Section> {
        let last = table.values.len().checked_sub(1)?;
        let value = &table.values[last];
        let mut series = Vec::new();
        let mut rows = Vec::new();
        for (configuration, label) in table.configurations.iter().enumerate() {
            for at in 0..=last {
                let Some(row) = table.row(benchmark, configuration, at) else {
                    continue;
                };
                for (operation, all) in &row.latencies {
                    let label = name_of(label, *operation, row);
                    let micros = PERCENTILES.map(|percentile| all.micros_at(percentile));
                    if at == last {
                        let points = micros.iter().enumerate();
                        series.push((
                            label.clone(),
                            points.map(|(at, micros)| (at as f64, *micros)).collect(),
                        ));
                    }
                    let mut fields = vec![label, table.values[at].clone()];
                    fields.extend(
                        micros
                            .iter()
                            .chain([&all.most_micros(), &all.mean_micros()])
                            .map(|micros| format!("{micros:.1}")),
                    );
                    if self.swept.is_empty() {
                        fields.remove(1);
                    }
                    rows.push(fields);
                }
            }
        }
        if series.is_empty() {
            return None;
        }
        let labels = PERCENTILES.map(|percentile| format!("P{percentile}"));
        let mut columns = vec!["configuration".to_owned(), self.swept.clone()];
        columns.extend(labels.clone());
        columns.extend(["max", "mean"].map(str::to_owned));
        columns.retain(|title| !title.is_empty());
        Some(Section {
            title: format!("{}: latencies", table.benchmarks[benchmark]),
            about: "microseconds of one operation".to_owned(),
            lines: vec![Lines {
                caption: format!("Latency by percentile{}", self.at(value)),
                unit: "microseconds",
                across: "percentile of operations".to_owned(),
                axis: Axis::Labels(labels.to_vec()),
                logarithmic: true,
                mark: None,
                reach: 0.0,
                series,
            }],
            columns,
            rows,
            ..Section::default()
        })
    }

    // Long: one chart, from its title to its lines.
    fn over_time(&self, table: &Table<'_>, benchmark: usize) -> Option<Section> {
        let last = table.values.len().checked_sub(1)?;
        let lines = |figure: fn(&Point) -> f64| -> Vec<(String, Vec<(f64, f64)>)> {
            let labels = table.configurations.iter().enumerate();
            // A configuration without points keeps its place, so that the others keep their
            // colours.
            let series = labels.map(|(configuration, label)| {
                let row = table.row(benchmark, configuration, last);
                let points = row.map(|row| row.timeline.points(POINTS));
                let points = points.unwrap_or_default();
                let middle = |point: &Point| f64::midpoint(point.from, point.to);
                let points: Vec<_> = points
                    .iter()
                    .map(|point| (middle(point), figure(point)))
                    .collect();
                (label.clone(), points)
            });
            series.collect()
        };
        let throughput = lines(Point::rate);
        if throughput.iter().all(|(_, points)| points.is_empty()) {
            return None;
        }
        let value = &table.values[last];
        let chart = |caption: &str, unit, reach, series| Lines {
            caption: format!("{caption}{}", self.at(value)),
            unit,
            across: "seconds".to_owned(),
            axis: Axis::Numbers,
            logarithmic: false,
            mark: None,
            reach,
            series,
        };
        let mut rows = Vec::new();
        for (configuration, label) in table.configurations.iter().enumerate() {
            for (at, value) in table.values.iter().enumerate() {
                if let Some(row) = table.row(benchmark, configuration, at) {
                    let (slowed, stopped) = row.timeline.stalls();
                    let mut fields = vec![
                        label.clone(),
                        value.clone(),
                        format!("{slowed:.1} %"),
                        format!("{stopped:.1} %"),
                    ];
                    if self.swept.is_empty() {
                        fields.remove(1);
                    }
                    rows.push(fields);
                }
            }
        }
        let mut columns = vec!["configuration".to_owned(), self.swept.clone()];
        columns.extend(["writes slowed down", "writes stopped"].map(str::to_owned));
        columns.retain(|title| !title.is_empty());
        let stalls = chart(
            "Stalls: share of time in which writes were slowed down or stopped",
            "%",
            100.0,
            lines(Point::stalled),
        );
        let about = if stalls.is_empty() {
            "the last run of each; no write was seen to be slowed down or stopped"
        } else {
            "the last run of each"
        };
        let latencies = |figure| latencies_over_time(table, benchmark, figure);
        let latency = |caption, series| Lines {
            logarithmic: true,
            ..chart(caption, "microseconds", 0.0, series)
        };
        let mut charts = vec![
            chart("Operations per second", "ops/s", 0.0, throughput),
            stalls,
            chart(
                "Files of level 0",
                "files",
                4.0,
                lines(|point| point.level0 as f64),
            ),
        ];
        let longest = latencies(|point| point.max);
        if longest.iter().any(|(_, points)| !points.is_empty()) {
            let p99_9 = latencies(|point| point.p99_9);
            charts.push(latency("Latency over time: P99.9", p99_9));
            charts.push(latency("Latency over time: longest", longest));
        }
        Some(Section {
            title: format!("{}: over time", table.benchmarks[benchmark]),
            about: about.to_owned(),
            lines: charts,
            columns,
            rows,
            ..Section::default()
        })
    }
}

/// A figure of the latencies in the last run of each configuration, for the last value of the
/// sweep. A configuration that was not run keeps a place.
fn latencies_over_time(
    table: &Table<'_>,
    benchmark: usize,
    figure: fn(&LatencyPoint) -> f64,
) -> Vec<(String, Vec<(f64, f64)>)> {
    let last = table.values.len().saturating_sub(1);
    let mut series = Vec::new();
    for (configuration, label) in table.configurations.iter().enumerate() {
        let Some(row) = table.row(benchmark, configuration, last) else {
            series.push((label.clone(), Vec::new()));
            continue;
        };
        for (operation, points) in &row.timeline.latencies {
            let points = points
                .iter()
                .map(|at| (f64::midpoint(at.from, at.to), figure(at)));
            series.push((name_of(label, *operation, row), points.collect()));
        }
    }
    series
}

/// What a reader must know; the figures that say little come first.
fn notes(swept: &str, columns: &[Column]) -> Vec<String> {
    let warnings = disagreements(swept, columns).into_iter();
    let mut notes: Vec<_> = warnings.map(|line| format!("Warning: {line}.")).collect();
    notes.push("Figures compare within one run only.".to_owned());
    notes
}

/// The number of runs that a figure is the median of.
fn rounds(columns: &[Column]) -> String {
    let rows = columns.iter().flat_map(|column| &column.rows);
    let counts: std::collections::BTreeSet<_> = rows.map(|row| row.operations.len()).collect();
    let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
    counts.join(" or ")
}

/// What was in force; said only once if it was the same everywhere.
fn in_force(columns: &[Column]) -> String {
    let mut all: Vec<(String, String)> = Vec::new();
    for column in columns {
        let lines = column.rows.iter().map(|row| row.in_force.line());
        for line in lines.filter(|line| !line.is_empty()) {
            let label = column.label().to_owned();
            if !all.contains(&(label.clone(), line.clone())) {
                all.push((label, line));
            }
        }
    }
    match all.split_first() {
        None => "unknown".to_owned(),
        Some((first, rest)) if rest.iter().all(|(_, line)| *line == first.1) => first.1.clone(),
        Some(_) => {
            let lines = all.iter().map(|(label, line)| format!("{label}: {line}"));
            lines.collect::<Vec<_>>().join("; ")
        }
    }
}

/// The name of a configuration, with its operation if the benchmark has several.
fn name_of(label: &str, operation: Operation, row: &Row) -> String {
    match row.latencies.len() {
        1 => label.to_owned(),
        _ => format!("{label}: {}", operation.word()),
    }
}

/// The throughput by the values of the swept flag, and its ratios to that of the
/// first configuration.
// Long: one chart, from its title to its lines.
fn sweep(table: &Table<'_>, benchmark: usize, flag: &str) -> Section {
    let rate = |configuration, value| table.rate(benchmark, configuration, value);
    let ratio = |configuration, value| {
        let (own, first) = (rate(configuration, value)?, rate(0, value)?);
        (first > 0.0).then_some(own / first)
    };
    let chart = |caption: &str, unit, mark, figure: &dyn Fn(usize, usize) -> Option<f64>| Lines {
        caption: caption.to_owned(),
        unit,
        across: flag.to_owned(),
        axis: Axis::Labels(table.values.clone()),
        logarithmic: false,
        mark,
        reach: 0.0,
        series: table
            .configurations
            .iter()
            .enumerate()
            .map(|(configuration, label)| {
                let values = 0..table.values.len();
                let points = values.filter_map(|at| Some((at as f64, figure(configuration, at)?)));
                (label.clone(), points.collect())
            })
            .collect(),
    };
    let mut lines = vec![chart("Operations per second", "ops/s", None, &rate)];
    let several = table.configurations.len() > 1;
    if several {
        let caption = format!("Ratio to {}", table.configurations[0]);
        lines.push(chart(&caption, "ratio", Some(1.0), &ratio));
    }
    let mut columns = vec![flag.to_owned()];
    let row = |at, value| table.row(benchmark, at, value);
    let repeated = (0..table.configurations.len())
        .any(|at| row(at, 0).is_some_and(|row| row.spread().is_some()));
    for (at, label) in table.configurations.iter().enumerate() {
        columns.push(label.clone());
        if at > 0 {
            columns.push("ratio".to_owned());
        }
    }
    let rows = table.values.iter().enumerate().map(|(value, text)| {
        let mut fields = vec![text.clone()];
        for at in 0..table.configurations.len() {
            let figure = rate(at, value);
            let mut field = figure.map_or_else(|| "-".to_owned(), grouped);
            if repeated {
                let range = row(at, value).map(Row::range);
                field += &range.map_or_else(String::new, |range| format!("\n{range}"));
            }
            fields.push(field);
            if at > 0 {
                let figure = ratio(at, value);
                fields.push(figure.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")));
            }
        }
        fields
    });
    Section {
        title: format!("{}: throughput by {flag}", table.benchmarks[benchmark]),
        about: if repeated {
            "all threads together; medians, below them slowest and fastest run".to_owned()
        } else {
            "all threads together".to_owned()
        },
        lines,
        columns,
        rows: rows.collect(),
        ..Section::default()
    }
}

/// The throughput of all benchmarks when nothing is swept.
fn bars(table: &Table<'_>) -> Section {
    let series = |(configuration, label): (usize, &String)| {
        let benchmarks = 0..table.benchmarks.len();
        let rates = benchmarks.map(|benchmark| table.rate(benchmark, configuration, 0));
        (label.clone(), rates.collect())
    };
    let mut rows = Vec::new();
    for (configuration, label) in table.configurations.iter().enumerate() {
        for benchmark in 0..table.benchmarks.len() {
            rows.extend(
                table
                    .row(benchmark, configuration, 0)
                    .map(|row| fields(row, label)),
            );
        }
    }
    Section {
        title: "Operations per second".to_owned(),
        about: "all threads together; median, slowest and fastest run".to_owned(),
        chart: Some(Chart {
            unit: "ops/s",
            groups: table
                .benchmarks
                .iter()
                .map(|&name| name.to_owned())
                .collect(),
            series: table
                .configurations
                .iter()
                .enumerate()
                .map(series)
                .collect(),
        }),
        columns: [
            "benchmark",
            "configuration",
            "ops/s",
            "MB/s",
            "slowest .. fastest",
            "runs",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
        ..Section::default()
    }
}

fn fields(row: &Row, label: &str) -> Vec<String> {
    vec![
        row.name.to_owned(),
        label.to_owned(),
        grouped(median(&row.operations)),
        if row.megabytes.is_empty() {
            "-".to_owned()
        } else {
            format!("{:.1}", median(&row.megabytes))
        },
        row.range(),
        row.operations.len().to_string(),
    ]
}
