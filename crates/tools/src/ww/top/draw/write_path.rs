//! The view of the write path: where writers are, and whom they wait for.

use ratatui::style::Style;
use ratatui::text::Line;
use whitewater_monitor::api::{Step, WritePath};
use whitewater_monitor::units::{count, factor, nanos, percent};

use super::parts::{Cell, WARNING, heading, known, table, text};

/// The length of the bar of a step in which all writers are.
const BAR: f64 = 20.0;

/// The view.
pub(super) fn lines(path: &WritePath, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if path.reads_only {
        lines.push(Line::default());
        let why = "Steps of writes are known to the process itself alone.";
        lines.extend(text(why, Style::new(), width));
        return lines;
    }
    lines.extend(heading("Steps of a write, from first to last"));
    if path.timed {
        lines.extend(steps(&path.steps, path.rates.seconds, width));
        let what = "Writers: how many are in a step at a moment, on average. In the yellow steps \
                    they wait.";
        lines.extend(text(what, Style::new().dim(), width));
    } else {
        let why = "No step was timed in the last interval: there were no writes, or the \
                   statistics' level is below StatsLevel::ExceptTimeForMutex.";
        lines.extend(text(why, Style::new(), width));
    }
    lines.extend(heading("Who commits"));
    lines.extend(who(path, width));
    if !path.latencies.is_empty() {
        lines.extend(heading("Whole writes, syncs and stalls"));
        lines.extend(super::overview::latencies(&path.latencies, width));
    }
    lines.extend(heading("Before the first step: what holds writers back"));
    lines.extend(super::banner::limits(&path.stall, width));
    lines
}

fn steps(steps: &[Step], seconds: f64, width: u16) -> Vec<Line<'static>> {
    let all: f64 = steps.iter().map(|step| step.recent.sum as f64).sum();
    let rows = steps.iter().map(|step| {
        let d = &step.recent;
        let share = if all > 0.0 { d.sum as f64 / all } else { 0.0 };
        let style = if step.waits { WARNING } else { Style::new() };
        let rate = if seconds > 0.0 {
            d.count as f64 / seconds
        } else {
            0.0
        };
        vec![
            Cell::new(&*step.name, style),
            Cell::new("#".repeat((share * BAR).round() as usize), style),
            Cell::from(percent(share)),
            Cell::from(format!("{:.3}", step.writers)),
            Cell::from(count(rate)),
            Cell::from(nanos(d.mean)),
            Cell::from(nanos(d.p50)),
            Cell::from(nanos(d.p99)),
            Cell::from(nanos(d.max)),
        ]
    });
    let names = [
        "step",
        "share",
        "",
        "writers",
        "per second",
        "mean",
        "P50",
        "P99",
        "max",
    ];
    table(&names, 2, &rows.collect::<Vec<_>>(), width)
}

fn who(path: &WritePath, width: u16) -> Vec<Line<'static>> {
    let rates = &path.rates;
    let rows = [
        ("batches by their own writer/s", known(path.by_self, count)),
        ("batches by a leader/s", known(path.by_other, count)),
        (
            "calls that write to the log/s",
            known(path.log_writes, count),
        ),
        (
            "calls that extend the log/s",
            known(path.log_extends, count),
        ),
        ("log syncs/s", count(rates.wal_syncs)),
        ("writes per sync", known(rates.writes_per_sync, factor)),
    ];
    let rows = rows.map(|(name, value)| vec![Cell::from(name), Cell::from(value)]);
    table(&["", "last interval"], 1, &rows, width)
}
