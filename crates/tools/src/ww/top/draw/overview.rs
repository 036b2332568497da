//! The view of everything in short.

use std::collections::VecDeque;

use ratatui::style::Style;
use ratatui::text::Line;
use whitewater_monitor::api::{Cache, Family, Latency, Overview, Point};
use whitewater_monitor::units::{bytes, count, factor, micros, percent};

use super::WIDE;
use super::parts::{Cell, bars, heading, known, table, text};
use crate::ww::top::state::State;

/// How many events are shown beside everything else.
const EVENTS: usize = 8;
/// The width of the bars of rates, in a column of this width or more.
const BARS: u16 = 60;

/// The view in one or two columns.
pub(super) fn lines(state: &State, overview: &Overview, width: u16) -> Vec<Vec<Line<'static>>> {
    let column = if width >= WIDE { width / 2 } else { width };
    let mut left = rates(&overview.rates, &state.points, column);
    if !overview.latencies.is_empty() {
        left.extend(heading("Times of calls"));
        left.extend(latencies(&overview.latencies, column));
    }
    if !overview.reads_only {
        left.extend(heading("What holds writers back"));
        left.extend(super::banner::limits(&overview.stall, column));
    }
    let mut right = Vec::new();
    right.extend(heading("Levels"));
    right.extend(super::levels::table_of_levels(&overview.families, column));
    right.extend(super::levels::jobs(overview, column));
    right.extend(heading("Memory"));
    right.extend(memtables(&overview.families, column));
    right.extend(text(&cache(&overview.cache), Style::new(), column));
    if !overview.reads_only {
        right.extend(heading("Last events"));
        right.extend(super::events::last(&state.events, EVENTS, column));
    }
    if width >= WIDE {
        return vec![left, right];
    }
    left.extend(right);
    vec![left]
}

/// The rates of the last interval, and bars of the intervals before.
fn rates(now: &Point, points: &VecDeque<Point>, width: u16) -> Vec<Line<'static>> {
    type Get = fn(&Point) -> Option<f64>;
    type Row = (&'static str, Get, fn(f64) -> String);
    let rows: [Row; 12] = [
        ("entries written/s", |p| Some(p.keys_written), count),
        ("batches written/s", |p| p.writes, count),
        ("keys read/s", |p| p.keys_read, count),
        ("seeks/s", |p| p.seeks, count),
        ("written/s", |p| Some(p.bytes_written), bytes),
        ("read/s", |p| p.bytes_read, bytes),
        ("log syncs/s", |p| Some(p.wal_syncs), count),
        ("writes per sync", |p| p.writes_per_sync, factor),
        ("writers held back", |p| Some(p.stalled_writers), factor),
        ("flushed/s", |p| p.flush_bytes, bytes),
        ("compacted/s", |p| p.compaction_write_bytes, bytes),
        ("blocks in the cache", |p| p.cache_hit_ratio, percent),
    ];
    let room = usize::from(width.saturating_sub(34).min(BARS));
    let rows = rows.map(|(name, get, unit)| {
        vec![
            Cell::from(name),
            Cell::from(known(get(now), unit)),
            Cell::from(bars(points.iter().map(get), room)),
        ]
    });
    let names = ["rate", "last interval", "before"];
    let mut lines = vec![Line::default()];
    lines.extend(table(&names, 1, &rows, width));
    lines
}

/// How long calls took.
pub(super) fn latencies(latencies: &[Latency], width: u16) -> Vec<Line<'static>> {
    let rows = latencies.iter().map(|latency| {
        let (recent, total) = (&latency.recent, &latency.total);
        let mut row = vec![
            Cell::from(&*latency.operation),
            Cell::from(count(recent.count as f64)),
        ];
        for value in [recent.p50, recent.p95, recent.p99, recent.max] {
            row.push(Cell::from(known(
                (recent.count > 0).then_some(value),
                micros,
            )));
        }
        row.push(Cell::from(count(total.count as f64)));
        row.push(Cell::from(micros(total.p99)));
        row
    });
    let names = [
        "call",
        "calls",
        "P50",
        "P95",
        "P99",
        "max",
        "all calls",
        "P99 of all",
    ];
    table(&names, 1, &rows.collect::<Vec<_>>(), width)
}

fn memtables(families: &[Family], width: u16) -> Vec<Line<'static>> {
    let rows = families.iter().map(|family| {
        let m = &family.memtables;
        vec![
            Cell::from(&*family.name),
            Cell::from(&*m.kind),
            Cell::from(bytes(m.active_bytes as f64)),
            Cell::from(count(m.active_entries as f64)),
            Cell::from(count(m.immutable as f64)),
            Cell::from(bytes(m.all_bytes as f64)),
            Cell::from(bytes(family.table_readers_bytes as f64)),
        ]
    });
    let names = [
        "family",
        "memtable",
        "active",
        "entries",
        "to flush",
        "all",
        "open tables",
    ];
    table(&names, 2, &rows.collect::<Vec<_>>(), width)
}

fn cache(cache: &Cache) -> String {
    let mut text = format!(
        "block cache: {} of {}, {} in use",
        bytes(cache.usage as f64),
        bytes(cache.capacity as f64),
        bytes(cache.pinned as f64)
    );
    let all = cache.kinds.first();
    if let Some(all) = all.filter(|all| all.hits + all.misses > 0) {
        text += &format!(
            "; found {} now, {} since the beginning",
            known(all.recent_ratio, percent),
            percent(all.hits as f64 / (all.hits + all.misses) as f64)
        );
    }
    text
}
