//! The page of the write path: where writers are, and whom they wait for.

use super::chart::chart;
use super::overview::latencies;
use super::{MOMENTS, banner, limits, line};
use crate::api::{Point, Step, WritePath};
use crate::units::{count, factor, micros, nanos, percent};
use maud::{Markup, html};

/// The live part of the page.
pub(crate) fn write_path(w: &WritePath, points: &[Point]) -> Markup {
    html! {
        (banner(&w.database, w.reads_only, &w.stall, &w.error))
        p.about {
            "A write passes these steps from left to right. The height of a step is how many \
             writers are in it at a moment, on average of the last second. In the blue steps a \
             writer works; in the orange ones it waits for others: for writers before it, or for \
             a sync that many share. Commit protocol: " b { (w.commit_protocol) }
            ", memtable: " b { (w.memtable) } "."
        }
        @if w.timed { (flow(&w.steps)) } @else {
            p.note {
                "No step was timed in the last second. Steps are timed while there are writes, \
                 with statistics at a level that includes them: "
                code { "Options::enable_statistics" } " and "
                code { "set_statistics_level(StatsLevel::ExceptTimeForMutex)" } "."
            }
        }
        section { h2 { "Steps" } (steps(&w.steps)) }
        div.charts {
            (chart("Per second", count, MOMENTS, &[
                line("entries", points, |p| Some(p.keys_written)),
                line("batches", points, |p| p.writes),
            ]))
            (chart("Log syncs per second", count, MOMENTS, &[
                line("syncs", points, |p| Some(p.wal_syncs)),
            ]))
            (chart("Writes that share a sync", count, MOMENTS, &[
                line("writes", points, |p| p.writes_per_sync),
            ]))
            (chart("Write latency", micros, MOMENTS, &[
                line("P50", points, |p| p.write_p50),
                line("P99", points, |p| p.write_p99),
            ]))
        }
        section { h2 { "Who commits" } (who(w)) }
        section { h2 { "Whole writes, syncs and stalls" } (latencies(&w.latencies)) }
        section { h2 { "Before the first step: what holds writers back" } (limits(&w.stall)) }
    }
}

/// A bar for each step.
fn flow(steps: &[Step]) -> Markup {
    const WIDTH: f64 = 150.0;
    const HEIGHT: f64 = 150.0;
    let most = steps.iter().map(|step| step.writers).fold(0.0, f64::max);
    let height = |step: &Step| {
        if most > 0.0 {
            (step.writers / most * HEIGHT).max(1.0)
        } else {
            1.0
        }
    };
    let width = WIDTH * steps.len() as f64;
    html! {
        svg.flow viewBox={ "0 0 " (width) " " (HEIGHT + 64.0) } role="img"
            aria-label="Writers in each step" {
            @for (at, step) in steps.iter().enumerate() {
                @let left = WIDTH * at as f64;
                @let tall = height(step);
                g {
                    title { (step.what) }
                    rect.waits[step.waits] x=(left + 12.0) width=(WIDTH - 24.0)
                        y=(HEIGHT + 20.0 - tall) height=(tall) rx="3" {}
                    text x=(left + WIDTH / 2.0) y=(HEIGHT + 14.0 - tall) {
                        (format!("{:.3}", step.writers)) }
                    text.name x=(left + WIDTH / 2.0) y=(HEIGHT + 40.0) { (step.name) }
                    text x=(left + WIDTH / 2.0) y=(HEIGHT + 58.0) { (nanos(step.recent.mean)) }
                }
            }
        }
    }
}

fn steps(steps: &[Step]) -> Markup {
    let all: f64 = steps.iter().map(|step| step.recent.sum as f64).sum();
    html! {
        table {
            thead { tr {
                th { "step" } th { "writers in it" } th { "share" } th { "per second" }
                th { "mean" } th { "P50" } th { "P99" } th { "max" } th { "mean, always" }
                th { "P99, always" } th { "what happens" }
            } }
            tbody {
                @for step in steps {
                    @let d = &step.recent;
                    @let share = if all > 0.0 { d.sum as f64 / all } else { 0.0 };
                    tr.waits[step.waits] {
                        td { (step.name) } td { (format!("{:.3}", step.writers)) }
                        td { (percent(share)) }
                        td { (count(d.count as f64)) } td { (nanos(d.mean)) } td { (nanos(d.p50)) }
                        td { (nanos(d.p99)) } td { (nanos(d.max)) } td { (nanos(step.total.mean)) }
                        td { (nanos(step.total.p99)) } td.text { (step.what) }
                    }
                }
            }
        }
    }
}

fn who(w: &WritePath) -> Markup {
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), count);
    let facts = [
        ("batches by their own writer, per second", rate(w.by_self)),
        (
            "batches by another writer (a leader), per second",
            rate(w.by_other),
        ),
        (
            "calls that write to the log, per second",
            rate(w.log_writes),
        ),
        ("calls that extend the log, per second", rate(w.log_extends)),
        ("log syncs per second", count(w.rates.wal_syncs)),
        (
            "writes that share a sync",
            w.rates.writes_per_sync.map_or("-".to_owned(), factor),
        ),
    ];
    html! {
        dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
    }
}
