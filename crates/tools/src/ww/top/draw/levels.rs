//! The view of levels, jobs and column families.

use ratatui::style::Style;
use ratatui::text::Line;
use whitewater_monitor::api::{Family, Overview};
use whitewater_monitor::units::{bytes, count, factor, micros, percent};

use super::parts::{Cell, WARNING, heading, known, table, text};

const GIB: f64 = 1_073_741_824.0;

/// The view.
pub(super) fn lines(overview: &Overview, width: u16) -> Vec<Line<'static>> {
    let mut lines = heading("Levels").to_vec();
    lines.extend(table_of_levels(&overview.families, width));
    lines.extend(jobs(overview, width));
    lines.extend(heading("Column families"));
    lines.extend(families(&overview.families, width));
    lines.extend(heading("What a byte or a read costs"));
    let cost = &overview.amplification;
    let costs = format!(
        "write amplification {}, space amplification {}, blocks per read {}",
        factor(cost.write),
        factor(cost.space),
        known(cost.read, factor)
    );
    lines.extend(text(&costs, Style::new(), width));
    let found = format!("found in the block cache: {}", found(overview).join(", "));
    lines.extend(text(&found, Style::new(), width));
    lines
}

/// The levels of all families.
pub(super) fn table_of_levels(families: &[Family], width: u16) -> Vec<Line<'static>> {
    let rows = families.iter().flat_map(|family| {
        family.levels.iter().map(move |level| {
            let due = if level.score >= 1.0 {
                WARNING
            } else {
                Style::new()
            };
            vec![
                Cell::from(&*family.name),
                Cell::from(level.level.to_string()),
                Cell::from(count(level.files as f64)),
                Cell::from(count(level.compacting as f64)),
                Cell::from(bytes(level.bytes as f64)),
                Cell::new(factor(level.score), due),
                Cell::from(factor(level.write_amplification)),
                Cell::from(bytes(level.read_gib * GIB)),
                Cell::from(bytes(level.write_gib * GIB)),
            ]
        })
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return vec![Line::from(" There are no tables.")];
    }
    let names = [
        "family",
        "level",
        "files",
        "compacting",
        "size",
        "score",
        "write amp.",
        "read",
        "written",
    ];
    table(&names, 1, &rows, width)
}

/// What runs now, under a heading.
pub(super) fn jobs(overview: &Overview, width: u16) -> Vec<Line<'static>> {
    let running = format!(
        "Jobs: {} flushes and {} compactions run",
        overview.running_flushes, overview.running_compactions
    );
    let mut lines = heading(&running).to_vec();
    let rows = overview.jobs.iter().map(|job| {
        vec![
            Cell::from(&*job.kind),
            Cell::from(job.id.to_string()),
            Cell::from(micros(job.running_ms as f64 * 1000.0)),
            Cell::from(&*job.family),
            Cell::from(&*job.text),
        ]
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        let names = ["job", "number", "for", "family", "what"];
        lines.extend(table(&names, 5, &rows, width));
    }
    lines
}

fn families(families: &[Family], width: u16) -> Vec<Line<'static>> {
    let rows = families.iter().map(|f| {
        let due = match (f.flush_pending, f.compaction_pending) {
            (true, true) => "flush, compaction",
            (true, false) => "flush",
            (false, true) => "compaction",
            (false, false) => "-",
        };
        vec![
            Cell::from(&*f.name),
            Cell::from(due),
            Cell::from(count(f.keys as f64)),
            Cell::from(bytes(f.table_bytes as f64)),
            Cell::from(bytes(f.live_bytes as f64)),
            Cell::from(bytes(f.pending_compaction_bytes as f64)),
            Cell::from(bytes(f.blob_bytes as f64)),
            Cell::from(factor(f.write_amplification)),
            Cell::from(factor(f.space_amplification)),
        ]
    });
    let names = [
        "family",
        "due",
        "keys, about",
        "tables",
        "live, about",
        "to compact",
        "blobs",
        "write amp.",
        "space amp.",
    ];
    table(&names, 2, &rows.collect::<Vec<_>>(), width)
}

/// How often blocks of each kind were found in the cache.
fn found(overview: &Overview) -> Vec<String> {
    let kinds = overview.cache.kinds.iter().map(|kind| {
        let asked = kind.hits + kind.misses;
        let ratio = (asked > 0).then(|| kind.hits as f64 / asked as f64);
        format!("{} {}", kind.kind, known(ratio, percent))
    });
    kinds.collect()
}
