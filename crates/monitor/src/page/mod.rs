//! The pages. They are rendered here, escaped by `maud`; the script in the browser only puts a
//! newer rendering in place of the last one and lists events as they come.
//!
//! * `overview`, `write_path`: the two pages of a database.
//! * `chart`: charts.

mod chart;
mod overview;
mod write_path;

pub(crate) use overview::overview;
pub(crate) use write_path::write_path;

use crate::api::{Database, Event, Stall};
use crate::units;
use chart::Line;
use maud::{DOCTYPE, Markup, html};

/// The style sheet.
pub(crate) const STYLE: &str = include_str!("../../assets/monitor.css");
/// The script.
pub(crate) const SCRIPT: &str = include_str!("../../assets/monitor.js");

/// How much time charts show. Milliseconds.
pub(crate) const SHOWN_MS: u64 = 120_000;
/// The number of moments that charts have room for.
const MOMENTS: usize = 120;
/// The number of events on a page.
pub(crate) const SHOWN_EVENTS: usize = 50;

/// Which page of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Overview,
    WritePath,
}

/// What is around the live part of a page.
pub(crate) struct Frame<'a> {
    pub kind: Kind,
    pub database: &'a Database,
    pub databases: &'a [Database],
    /// The last events, newest last.
    pub events: &'a [Event],
}

impl Frame<'_> {
    /// The whole page with its live part.
    pub fn html(&self, live: &Markup) -> String {
        let id = self.database.id;
        let last = self.events.last().map_or(0, |event| event.number);
        let stream = format!("/api/v1/{id}/events/stream");
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&self.database.label))
                body {
                    header {
                        h1 { (self.database.label) }
                        nav {
                            @for (kind, path, name) in [
                                (Kind::Overview, format!("/db/{id}"), "Overview"),
                                (Kind::WritePath, format!("/db/{id}/write-path"), "Write path"),
                            ] {
                                @if kind == self.kind { b { (name) } }
                                @else { a href=(path) { (name) } }
                            }
                            @if self.databases.len() > 1 { a href="/" { "All databases" } }
                            a href="/metrics" { "Metrics" }
                        }
                        p #offline.bad hidden { "There is no answer; the figures are old." }
                    }
                    main #live { (live) }
                    section {
                        h2 { "Last events" }
                        ol #events data-stream=(stream) data-last=(last)
                            data-most=(SHOWN_EVENTS) {
                            @for event in self.events.iter().rev() { (event_line(event)) }
                        }
                    }
                }
            }
        };
        page.into_string()
    }
}

fn event_line(event: &Event) -> Markup {
    html! {
        li.warning[event.warning] {
            time data-ms=(event.unix_ms) { (units::clock((event.unix_ms / 1000 % 86_400) as f64)) }
            span.family { (event.family) }
            span { (event.text) }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { (title) " - Whitewater" }
            link rel="stylesheet" href="/assets/monitor.css";
            link rel="icon" href="data:,";
            script src="/assets/monitor.js" defer {}
        }
    }
}

/// The list of all databases.
pub(crate) fn front(databases: &[Database]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head("Databases"))
            body {
                header { h1 { "Databases" } }
                main {
                    ul {
                        @for database in databases {
                            li {
                                a href={ "/db/" (database.id) } { (database.label) }
                                @if !database.open { " (closed)" }
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

/// The state of writers and, if they are held back, why; and the error that stops writes. An
/// instance that only reads knows nothing of that.
fn banner(database: &Database, reads_only: bool, stall: &Stall, error: &str) -> Markup {
    let held = stall.families.iter().filter(|f| !f.reason.is_empty());
    html! {
        @if !database.open {
            p.banner.bad { "The database is closed." }
        } @else if !error.is_empty() {
            p.banner.bad { "Writes are refused: " (error) }
        } @else if reads_only {
            p.banner {
                "This instance only reads the files. Whether writers are held back, reads, times \
                 and events are known to the process that writes."
            }
        } @else if stall.condition == "normal" {
            p.banner.good { "Writes are not held back." }
        } @else {
            p.banner.bad[stall.condition == "stopped"].warn[stall.condition == "delayed"] {
                "Writes are " (stall.condition)
                @if stall.delayed_rate > 0 {
                    " (to " (units::bytes(stall.delayed_rate as f64)) " per second)"
                }
                @for family in held {
                    "; " (family.family) ": " (family.reason)
                }
                "."
            }
        }
    }
}

/// What decides whether writers are held back, beside the values from which they are.
fn limits(stall: &Stall) -> Markup {
    html! {
        table {
            thead { tr {
                th { "column family" } th { "condition" } th { "what" } th { "now" }
                th { "delays from" } th { "stops from" } th { "" }
            } }
            tbody {
                @for family in &stall.families {
                    @for limit in &family.limits {
                        @let unit = unit_of(&limit.name);
                        @let most = if limit.stop > 0 { limit.stop } else { limit.delay };
                        tr {
                            td { (family.family) } td { (family.condition) } td { (limit.name) }
                            td { (unit(limit.value as f64)) }
                            td { (or_never(limit.delay, unit)) } td { (or_never(limit.stop, unit)) }
                            td { (bar(limit.value, most)) }
                        }
                    }
                }
            }
        }
    }
}

fn unit_of(limit: &str) -> fn(f64) -> String {
    match limit {
        "pending-bytes" => units::bytes,
        _ => units::count,
    }
}

fn or_never(value: u64, unit: fn(f64) -> String) -> String {
    if value == 0 {
        "never".to_owned()
    } else {
        unit(value as f64)
    }
}

/// A bar that is full when `value` is `most`.
fn bar(value: u64, most: u64) -> Markup {
    html! {
        @if most > 0 { progress value=(value.min(most)) max=(most) {} }
    }
}

/// A line of a chart.
fn line<T>(name: &'static str, points: &[T], value: impl Fn(&T) -> Option<f64>) -> Line {
    Line {
        name,
        values: points.iter().map(value).collect(),
    }
}
