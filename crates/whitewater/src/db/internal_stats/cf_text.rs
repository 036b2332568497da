//! A column family's figures in RocksDB's layout, which tools parse.

use super::Dumped;
use super::human::{self, GB, MB, rate};
use crate::db::state::CfState;
use crate::stats::JobStats;
use crate::write::stall::cause::{StallCounts, counts_text};
use std::collections::BTreeMap;
use std::fmt::Write;
use whitewater_concurrent::system;

/// Names of the columns in maps.
const COLUMNS: [&str; 22] = [
    "NumFiles",
    "CompactedFiles",
    "SizeBytes",
    "Score",
    "ReadGB",
    "RnGB",
    "Rnp1GB",
    "WriteGB",
    "WPreCompGB",
    "WnewGB",
    "MovedGB",
    "WriteAmp",
    "ReadMBps",
    "WriteMBps",
    "CompSec",
    "CompMergeCPU",
    "CompCount",
    "AvgSec",
    "KeyIn",
    "KeyDrop",
    "RblobGB",
    "WblobGB",
];

/// Headings of the columns, after the heading of the rows' names.
const HEADINGS: &str = "    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) \
     WPreComp(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) \
     Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)";

/// One row: a level, the sum of all levels, the last interval, or a priority.
#[derive(Debug, Default)]
struct Row {
    files: usize,
    compacted: usize,
    bytes: u64,
    score: f64,
    write_amp: f64,
    jobs: JobStats,
}

impl Row {
    /// The figures, in the order of [`COLUMNS`].
    fn values(&self) -> [f64; COLUMNS.len()] {
        let j = &self.jobs;
        let seconds = (j.micros + 1) as f64 / 1e6;
        let new = j.bytes_written as f64 - j.bytes_read_same as f64;
        let average = match j.count {
            0 => 0.0,
            n => j.micros as f64 / 1e6 / n as f64,
        };
        [
            self.files as f64,
            self.compacted as f64,
            self.bytes as f64,
            self.score,
            j.bytes_read() as f64 / GB,
            j.bytes_read_above as f64 / GB,
            j.bytes_read_same as f64 / GB,
            j.bytes_written as f64 / GB,
            j.bytes_written_raw as f64 / GB,
            new / GB,
            j.bytes_moved as f64 / GB,
            self.write_amp,
            j.bytes_read() as f64 / MB / seconds,
            j.bytes_written as f64 / MB / seconds,
            j.micros as f64 / 1e6,
            j.cpu_micros as f64 / 1e6,
            j.count as f64,
            average,
            j.records_in as f64,
            j.records_dropped() as f64,
            j.blob_bytes_read as f64 / GB,
            j.blob_bytes_written as f64 / GB,
        ]
    }

    fn print(&self, out: &mut String, name: &str) {
        let v = self.values();
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            out,
            "{name:>4} {:>6}/{:<3} {:>10} {:>5.1} ",
            self.files,
            self.compacted,
            human::bytes(self.bytes),
            self.score
        );
        let _ = write!(
            out,
            "{:>8.1} {:>7.1} {:>8.1} {:>9.1} {:>9.1} {:>8.1} {:>9.1} {:>5.1} ",
            v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]
        );
        let _ = writeln!(
            out,
            "{:>8.1} {:>8.1} {:>9.2} {:>17.2} {:>9} {:>8.3} {:>7} {:>6} {:>9.1} {:>9.1}",
            v[12],
            v[13],
            v[14],
            v[15],
            self.jobs.count,
            v[17],
            human::count(self.jobs.records_in),
            human::count(self.jobs.records_dropped()),
            v[20],
            v[21]
        );
    }
}

fn print_header(out: &mut String, family: &str, group_by: &str) {
    let line = format!("{group_by}{HEADINGS}");
    let rule = "-".repeat(line.len() + 1);
    let _ = write!(out, "\n** Compaction Stats [{family}] **\n{line}\n{rule}\n");
}

/// The figures of a column family at one moment.
struct View<'a> {
    cf: &'a CfState,
    levels: BTreeMap<usize, Row>,
    sum: Row,
}

impl<'a> View<'a> {
    fn new(cf: &'a CfState) -> Self {
        let stats = &cf.stats;
        let coming_in = stats.flushes.bytes_written + stats.ingested.bytes;
        let mut view = View {
            cf,
            levels: BTreeMap::new(),
            sum: Row {
                jobs: stats.total(),
                ..Row::default()
            },
        };
        for (level, files) in cf.version.levels.iter().enumerate() {
            let jobs = stats.at_level(level);
            view.sum.files += files.len();
            let compacted = files.iter().filter(|f| f.being_compacted()).count();
            view.sum.compacted += compacted;
            if files.is_empty() && jobs.micros == 0 && jobs.cpu_micros == 0 {
                continue;
            }
            let score = cf.levels.scores.iter().find(|(_, l)| *l == level);
            let row = Row {
                files: files.len(),
                compacted,
                bytes: cf.version.level_bytes(level),
                score: score.map_or(0.0, |(score, _)| *score),
                write_amp: match level {
                    0 => ratio(jobs.bytes_written, coming_in),
                    _ => ratio(jobs.bytes_written, jobs.bytes_read_above),
                },
                jobs,
            };
            view.sum.bytes += row.bytes;
            view.levels.insert(level, row);
        }
        view.sum.write_amp = ratio(view.sum.jobs.bytes_written, coming_in);
        view
    }
}

fn ratio(of: u64, to: u64) -> f64 {
    match to {
        0 => 0.0,
        to => of as f64 / to as f64,
    }
}

/// The text of `rocksdb.cfstats-no-file-histogram`.
// Long: RocksDB's text, line by line.
pub(in crate::db) fn text(cf: &CfState) -> String {
    let stats = &cf.stats;
    let before = &stats.dumped;
    let view = View::new(cf);
    let mut out = String::new();
    print_header(&mut out, &cf.data.name, "Level");
    for (level, row) in &view.levels {
        row.print(&mut out, &format!("L{level}"));
    }
    view.sum.print(&mut out, "Sum");
    let jobs = view.sum.jobs - before.jobs;
    let flushed = stats.flushes.bytes_written;
    let new_flushed = flushed - before.flushed;
    let ingested = stats.ingested;
    let new_bytes = ingested.bytes - before.ingested.bytes;
    let interval = Row {
        write_amp: ratio(jobs.bytes_written, new_flushed + new_bytes + 1),
        jobs,
        ..Row::default()
    };
    interval.print(&mut out, "Int");
    print_header(&mut out, &cf.data.name, "Priority");
    for (name, jobs) in [("Low", stats.compactions), ("High", stats.flushes)] {
        if jobs.micros > 0 {
            let row = Row {
                jobs,
                ..Row::default()
            };
            row.print(&mut out, name);
        }
    }
    let blobs = &cf.version.blobs;
    let _ = writeln!(
        out,
        "\nBlob file count: {}, total size: {:.1} GB, garbage size: {:.1} GB, space amp: {:.1}\n",
        blobs.count(),
        blobs.bytes() as f64 / GB,
        blobs.garbage_bytes() as f64 / GB,
        blobs.space_amplification()
    );
    let up = system::since(stats.since);
    let (total, recent) = (up.as_secs_f64(), (up - before.up).as_secs_f64());
    let _ = writeln!(out, "Uptime(secs): {total:.1} total, {recent:.1} interval");
    for (what, all, new) in [
        ("Flush", flushed, new_flushed),
        ("AddFile", ingested.bytes, new_bytes),
    ] {
        let (all, new) = (all as f64 / GB, new as f64 / GB);
        let _ = writeln!(out, "{what}(GB): cumulative {all:.3}, interval {new:.3}");
    }
    let before_in = before.ingested;
    for (what, all, earlier) in [
        ("Total Files", ingested.files, before_in.files),
        ("L0 Files", ingested.level0_files, before_in.level0_files),
        ("Keys", ingested.keys, before_in.keys),
    ] {
        let new = all - earlier;
        let _ = writeln!(out, "AddFile({what}): cumulative {all}, interval {new}");
    }
    for (what, jobs, seconds) in [
        ("Cumulative", view.sum.jobs, total),
        ("Interval", jobs, recent),
    ] {
        let (written, read) = (jobs.bytes_written as f64, jobs.bytes_read() as f64);
        let _ = writeln!(
            out,
            "{what} compaction: {:.2} GB write, {:.2} MB/s write, {:.2} GB read, {:.2} MB/s read, \
             {:.1} seconds",
            written / GB,
            rate(written / MB, seconds),
            read / GB,
            rate(read / MB, seconds),
            jobs.micros as f64 / 1e6
        );
    }
    let pending = cf.levels.pending_bytes;
    let _ = writeln!(out, "Estimated pending compaction bytes: {pending}");
    out.push_str(&stall_text(&cf.stall.counts, before.stalls));
    out
}

/// The counts of stalls, and how many stalls were in the last interval.
fn stall_text(counts: &StallCounts, before: u64) -> String {
    let mut text = counts_text(&counts.entries());
    let total = counts.total();
    if total > 0 {
        let _ = writeln!(text, "interval: {} total count", total - before);
    }
    text
}

/// Begins a new interval, because the figures were written to the info log.
pub(in crate::db) fn note_dump(cf: &mut CfState) {
    let stats = &mut cf.stats;
    stats.dumped = Dumped {
        up: system::since(stats.since),
        jobs: stats.total(),
        flushed: stats.flushes.bytes_written,
        ingested: stats.ingested,
        stalls: cf.stall.counts.total(),
    };
}

/// `rocksdb.cfstats` as a map: `compaction.L0.NumFiles` and so on, and the
/// counts of stalls.
pub(in crate::db) fn map(cf: &CfState) -> Vec<(String, String)> {
    let view = View::new(cf);
    let levels = view.levels.iter().map(|(l, row)| (format!("L{l}"), row));
    let rows = levels.chain([("Sum".to_owned(), &view.sum)]);
    let mut entries = Vec::new();
    for (level, row) in rows {
        for (name, value) in COLUMNS.iter().zip(row.values()) {
            entries.push((format!("compaction.{level}.{name}"), format!("{value:.6}")));
        }
    }
    for (reason, n) in &view.cf.stats.reasons {
        entries.push((format!("compactions.{reason}"), n.to_string()));
    }
    let counts = view.cf.stall.counts.entries();
    entries.extend(counts.into_iter().map(|(k, n)| (k, n.to_string())));
    entries
}
