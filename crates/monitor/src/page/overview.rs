//! The page of a database.

use super::chart::chart;
use super::{MOMENTS, banner, bar, limits, line};
use crate::api::{Cache, Family, Job, Latency, OptionInForce, Overview, Point};
use crate::units::{bytes, clock, count, factor, micros, percent};
use maud::{Markup, html};

/// The live part of the page.
pub(crate) fn overview(o: &Overview, points: &[Point], options: &[OptionInForce]) -> Markup {
    html! {
        (banner(&o.database, o.reads_only, &o.stall, &o.error))
        (facts(o))
        (charts(points, o.statistics))
        @if !o.statistics {
            p.note { "Statistics are off, so reads and the cache are not counted, and latencies are "
                "those of one call in 128: "
                code { "Options::enable_statistics" } " turns them on." }
        }
        section { h2 { "Latencies" } (latencies(&o.latencies)) }
        section { h2 { "What holds writers back" } (limits(&o.stall)) }
        section { h2 { "Levels" } (levels(&o.families)) }
        section { h2 { "Running jobs" } (jobs(o)) }
        section { h2 { "Memtables" } (memtables(&o.families)) }
        section { h2 { "Block cache" } (cache(&o.cache)) }
        section { h2 { "Column families" } (families(&o.families)) }
        section { h2 { "Options that differ from the default" } (changed(options)) }
    }
}

fn facts(o: &Overview) -> Markup {
    let facts = [
        ("open for", clock(o.uptime_seconds)),
        ("commit", o.commit_protocol.clone()),
        ("entries written", count(o.totals.keys_written as f64)),
        ("bytes written", bytes(o.totals.bytes_written as f64)),
        ("log", bytes(o.totals.wal_bytes as f64)),
        ("log syncs", count(o.totals.wal_syncs as f64)),
        ("time held back", micros(o.totals.stall_micros as f64)),
        ("write amplification", factor(o.amplification.write)),
        ("space amplification", factor(o.amplification.space)),
        (
            "blocks per read",
            o.amplification.read.map_or("-".to_owned(), factor),
        ),
        ("snapshots", o.snapshots.to_string()),
        ("background errors", o.background_errors.to_string()),
    ];
    html! {
        dl.facts {
            @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
        }
    }
}

fn charts(points: &[Point], statistics: bool) -> Markup {
    let p = points;
    html! {
        div.charts {
            (chart("Per second", count, MOMENTS, &[
                line("entries written", p, |p| Some(p.keys_written)),
                line("keys read", p, |p| p.keys_read),
                line("seeks", p, |p| p.seeks),
            ]))
            (chart("Log syncs per second", count, MOMENTS, &[
                line("syncs", p, |p| Some(p.wal_syncs)),
            ]))
            (chart("Writes that share a sync", count, MOMENTS, &[
                line("writes", p, |p| p.writes_per_sync),
            ]))
            (chart("Writers held back", factor, MOMENTS, &[
                line("on average", p, |p| Some(p.stalled_writers)),
            ]))
            @if statistics {
                (chart("Write latency", micros, MOMENTS, &[
                    line("P50", p, |p| p.write_p50),
                    line("P99", p, |p| p.write_p99),
                ]))
                (chart("Get latency", micros, MOMENTS, &[
                    line("P50", p, |p| p.get_p50),
                    line("P99", p, |p| p.get_p99),
                ]))
            }
            (chart("Bytes per second", bytes, MOMENTS, &[
                line("written", p, |p| Some(p.bytes_written)),
                line("flushed", p, |p| p.flush_bytes),
                line("compacted", p, |p| p.compaction_write_bytes),
            ]))
            (chart("Memtables", bytes, MOMENTS, &[
                line("memory", p, |p| Some(p.memtable_bytes as f64)),
            ]))
        }
    }
}

/// A table of times of calls.
pub(super) fn latencies(latencies: &[Latency]) -> Markup {
    html! {
        table {
            thead { tr {
                th { "call" } th { "in the last second" } th { "P50" } th { "P95" } th { "P99" }
                th { "max" } th { "since the beginning" } th { "P50" } th { "P95" } th { "P99" }
                th { "max" }
            } }
            tbody {
                @for latency in latencies {
                    tr {
                        td { (latency.operation) }
                        @for d in [&latency.recent, &latency.total] {
                            td { (count(d.count as f64)) }
                            @for value in [d.p50, d.p95, d.p99, d.max] {
                                td { @if d.count > 0 { (micros(value)) } @else { "-" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn levels(families: &[Family]) -> Markup {
    let all = families.iter().flat_map(|family| &family.levels);
    let most = all.map(|level| level.bytes).max().unwrap_or(0);
    html! {
        table {
            thead { tr {
                th { "column family" } th { "level" } th { "files" } th { "being compacted" }
                th { "size" } th { "" } th { "score" } th { "write amplification" }
                th { "read" } th { "written" }
            } }
            tbody {
                @for family in families {
                    @for level in &family.levels {
                        tr {
                            td { (family.name) } td { (level.level) } td { (level.files) }
                            td { (level.compacting) } td { (bytes(level.bytes as f64)) }
                            td { (bar(level.bytes, most)) }
                            td.warning[level.score >= 1.0] { (factor(level.score)) }
                            td { (factor(level.write_amplification)) }
                            td { (bytes(level.read_gib * 1_073_741_824.0)) }
                            td { (bytes(level.write_gib * 1_073_741_824.0)) }
                        }
                    }
                }
            }
        }
    }
}

fn jobs(o: &Overview) -> Markup {
    let job = |job: &Job| {
        html! {
            tr {
                td { (job.kind) } td { (job.id) } td { (job.family) }
                td { (micros(job.running_ms as f64 * 1000.0)) } td { (job.text) }
            }
        }
    };
    html! {
        p { (o.running_flushes) " flushes and " (o.running_compactions) " compactions run." }
        @if !o.jobs.is_empty() {
            table {
                thead { tr {
                    th { "job" } th { "number" } th { "column family" } th { "for" } th { "what" }
                } }
                tbody { @for one in &o.jobs { (job(one)) } }
            }
        }
    }
}

fn memtables(families: &[Family]) -> Markup {
    html! {
        table {
            thead { tr {
                th { "column family" } th { "kind" } th { "active" } th { "entries" }
                th { "deletions" } th { "waiting for flush" } th { "entries" } th { "deletions" }
                th { "not flushed" } th { "with those of readers" }
            } }
            tbody {
                @for family in families {
                    @let m = &family.memtables;
                    tr {
                        td { (family.name) } td { (m.kind) } td { (bytes(m.active_bytes as f64)) }
                        td { (count(m.active_entries as f64)) }
                        td { (count(m.active_deletes as f64)) } td { (m.immutable) }
                        td { (count(m.immutable_entries as f64)) }
                        td { (count(m.immutable_deletes as f64)) }
                        td { (bytes(m.unflushed_bytes as f64)) } td { (bytes(m.all_bytes as f64)) }
                    }
                }
            }
        }
    }
}

fn cache(cache: &Cache) -> Markup {
    let total = |hits: u64, misses: u64| match hits + misses {
        0 => "-".to_owned(),
        all => percent(hits as f64 / all as f64),
    };
    html! {
        p {
            (bytes(cache.usage as f64)) " of " (bytes(cache.capacity as f64)) " used, "
            (bytes(cache.pinned as f64)) " in use now. " (bar(cache.usage, cache.capacity))
        }
        table {
            thead { tr {
                th { "blocks" } th { "found, last second" } th { "found, always" } th { "hits" }
                th { "misses" }
            } }
            tbody {
                @for kind in &cache.kinds {
                    tr {
                        td { (kind.kind) }
                        td { (kind.recent_ratio.map_or("-".to_owned(), percent)) }
                        td { (total(kind.hits, kind.misses)) } td { (count(kind.hits as f64)) }
                        td { (count(kind.misses as f64)) }
                    }
                }
            }
        }
        @if let (Some(useful), Some(positive), Some(truly)) =
            (cache.filter_useful, cache.filter_positive, cache.filter_true_positive) {
            p {
                "Filters have spared " (count(useful as f64)) " reads of tables and let "
                (count(positive as f64)) " pass, " (count(truly as f64)) " of them rightly."
            }
        }
    }
}

fn families(families: &[Family]) -> Markup {
    html! {
        table {
            thead { tr {
                th { "column family" } th { "keys, about" } th { "tables" } th { "live, about" }
                th { "with old versions" } th { "to compact" } th { "due" } th { "open tables" }
                th { "blob files" } th { "blobs" } th { "garbage" } th { "write amp." }
                th { "space amp." }
            } }
            tbody {
                @for f in families {
                    tr {
                        td { (f.name) } td { (count(f.keys as f64)) }
                        td { (bytes(f.table_bytes as f64)) } td { (bytes(f.live_bytes as f64)) }
                        td { (bytes(f.all_table_bytes as f64)) }
                        td { (bytes(f.pending_compaction_bytes as f64)) }
                        td { (due(f)) } td { (bytes(f.table_readers_bytes as f64)) }
                        td { (f.blob_files) } td { (bytes(f.blob_bytes as f64)) }
                        td { (bytes(f.blob_garbage_bytes as f64)) }
                        td { (factor(f.write_amplification)) }
                        td { (factor(f.space_amplification)) }
                    }
                }
            }
        }
    }
}

fn due(family: &Family) -> &'static str {
    match (family.flush_pending, family.compaction_pending) {
        (true, true) => "flush, compaction",
        (true, false) => "flush",
        (false, true) => "compaction",
        (false, false) => "-",
    }
}

fn changed(options: &[OptionInForce]) -> Markup {
    html! {
        table.options {
            thead { tr {
                th { "column family" } th { "option" } th { "value" } th { "default" }
                th { "changes live" }
            } }
            tbody {
                @for option in options {
                    tr {
                        td { (option.family.as_deref().unwrap_or("(database)")) }
                        td { code { (option.name) } } td { code { (option.value) } }
                        td { code { (option.default) } }
                        td { @if option.changes_live { "yes" } @else { "no" } }
                    }
                }
            }
        }
    }
}
