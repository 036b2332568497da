//! Whether writers are held back, and why: in words, and as figures beside their limits.

use ratatui::style::Style;
use ratatui::text::Line;
use whitewater_monitor::api::{Database, FamilyStall, Limit, Overview, Stall};
use whitewater_monitor::units;

use super::parts::{BAD, Cell, GOOD, WARNING, table, text};

/// The state of writers in lines of `width`.
pub(super) fn lines(overview: &Overview, width: u16) -> Vec<Line<'static>> {
    let (words, style) = held_back(overview);
    text(&words, style, width)
}

fn held_back(overview: &Overview) -> (String, Style) {
    let Overview {
        database: Database { open, .. },
        error,
        stall,
        ..
    } = overview;
    if !open {
        return ("The database is closed.".to_owned(), BAD);
    }
    if overview.reads_only {
        let words = "Seen by its files. Reads, times, stalls and events are known to its process.";
        return (words.to_owned(), Style::new().dim());
    }
    if !error.is_empty() {
        return (format!("Writes are refused: {error}"), BAD);
    }
    let style = match stall.condition.as_str() {
        "normal" => return ("Writes are not held back.".to_owned(), GOOD),
        "delayed" => WARNING,
        _ => BAD,
    };
    let mut words = format!("Writes are {}", stall.condition);
    if stall.delayed_rate > 0 {
        let rate = units::bytes(stall.delayed_rate as f64);
        words += &format!(" (to {rate} per second)");
    }
    for family in stall.families.iter().filter(|f| !f.reason.is_empty()) {
        words += &format!("; {}: {} ({}", family.family, family.reason, family.cause);
        if let Some(limit) = limit_of(family) {
            let [_, delay, stop] = figures(limit);
            words += &format!(": delays from {delay}, stops from {stop}");
        }
        words += ")";
    }
    (words + ".", style)
}

/// The limit that a column family's cause is about.
fn limit_of(family: &FamilyStall) -> Option<&Limit> {
    let name = match family.cause.as_str() {
        "memtable-limit" => "memtables",
        "l0-file-count-limit" => "level0-files",
        "pending-compaction-bytes" => "pending-bytes",
        _ => return None,
    };
    family.limits.iter().find(|limit| limit.name == name)
}

/// A limit's value, and from which ones writers are delayed and stopped.
fn figures(limit: &Limit) -> [String; 3] {
    let unit = match limit.name.as_str() {
        "pending-bytes" => units::bytes,
        _ => units::count,
    };
    let or_never = |value: u64| match value {
        0 => "never".to_owned(),
        value => unit(value as f64),
    };
    [
        unit(limit.value as f64),
        or_never(limit.delay),
        or_never(limit.stop),
    ]
}

/// What decides whether writers are held back, beside the values from which they are.
pub(super) fn limits(stall: &Stall, width: u16) -> Vec<Line<'static>> {
    let rows = stall.families.iter().flat_map(|family| {
        family.limits.iter().map(move |limit| {
            let style = match limit.value {
                value if limit.stop > 0 && value >= limit.stop => BAD,
                value if limit.delay > 0 && value >= limit.delay => WARNING,
                _ => Style::new(),
            };
            let [value, delay, stop] = figures(limit);
            vec![
                Cell::from(&*family.family),
                Cell::from(&*limit.name),
                Cell::new(value, style),
                Cell::from(delay),
                Cell::from(stop),
            ]
        })
    });
    let names = [
        "family",
        "what holds back",
        "now",
        "delays from",
        "stops from",
    ];
    table(&names, 2, &rows.collect::<Vec<_>>(), width)
}
