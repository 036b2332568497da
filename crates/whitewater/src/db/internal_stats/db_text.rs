//! The database's figures in RocksDB's layout, which tools parse.

use super::human::{self, GB, MB, rate};
use crate::db::Engine;
use crate::stats::Ticker;
use crate::write::stall::cause::counts_text;
use std::fmt::Write;
use std::time::{Duration, Instant};
use whitewater_concurrent::counter::{Counter, Sharded};
use whitewater_concurrent::system::{self, Mutex};

/// The figures that are kept for the whole database.
#[derive(Debug)]
pub(crate) struct DbStats {
    since: Instant,
    /// The number of syncs of the log.
    pub syncs: Counter,
    /// The number of bytes of writes that bypass the log. The log's size tells the bytes of
    /// all other writes.
    pub unlogged_bytes: Sharded<1>,
    /// The figures at open, which later figures are counted from.
    opened: Figures,
    /// The figures that the last text showed; its interval ended there.
    shown: Mutex<Figures>,
}

/// The totals of writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    up: Duration,
    writes: u64,
    groups: u64,
    keys: u64,
    bytes: u64,
    logged_writes: u64,
    log_bytes: u64,
    syncs: u64,
    stall_micros: u64,
}

impl DbStats {
    /// Begins counting for a database that had `opened` at open.
    pub fn new(opened: Figures) -> Self {
        DbStats {
            since: system::now(),
            syncs: Counter::new(),
            unlogged_bytes: Sharded::new(),
            opened,
            shown: Mutex::default(),
        }
    }

    /// How long the database has been open.
    pub fn up(&self) -> Duration {
        system::since(self.since)
    }
}

impl Figures {
    /// The figures of a database with no log yet, whose last number is `keys`.
    pub fn at_open(keys: u64, statistics: Option<&crate::stats::Statistics>) -> Self {
        let mut figures = Figures {
            keys,
            ..Figures::default()
        };
        figures.take_from(statistics);
        figures
    }

    /// Takes the figures that only statistics have.
    fn take_from(&mut self, statistics: Option<&crate::stats::Statistics>) {
        let Some(s) = statistics else { return };
        self.groups = s.ticker(Ticker::WriteDoneBySelf);
        self.writes = self.groups + s.ticker(Ticker::WriteDoneByOther);
        self.bytes = s.ticker(Ticker::BytesWritten);
        self.logged_writes = s.ticker(Ticker::WriteWithWal);
    }

    fn since(self, earlier: Figures) -> Figures {
        Figures {
            up: self.up.saturating_sub(earlier.up),
            writes: self.writes.saturating_sub(earlier.writes),
            groups: self.groups.saturating_sub(earlier.groups),
            keys: self.keys.saturating_sub(earlier.keys),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            logged_writes: self.logged_writes.saturating_sub(earlier.logged_writes),
            log_bytes: self.log_bytes.saturating_sub(earlier.log_bytes),
            syncs: self.syncs.saturating_sub(earlier.syncs),
            stall_micros: self.stall_micros.saturating_sub(earlier.stall_micros),
        }
    }

    /// Prints three lines; `unit` is the unit of the bytes that were written.
    fn print(&self, out: &mut String, what: &str, (unit, bytes): (&str, f64)) {
        let seconds = self.up.as_secs_f64();
        let _ = writeln!(
            out,
            "{what} writes: {} writes, {} keys, {} commit groups, {:.1} writes per commit group, \
             ingest: {:.2} {unit}, {:.2} MB/s",
            human::count(self.writes),
            human::count(self.keys),
            human::count(self.groups),
            self.writes as f64 / self.groups.max(1) as f64,
            self.bytes as f64 / bytes,
            rate(self.bytes as f64 / MB, seconds),
        );
        let _ = writeln!(
            out,
            "{what} WAL: {} writes, {} syncs, {:.2} writes per sync, written: {:.2} GB, {:.2} MB/s",
            human::count(self.logged_writes),
            human::count(self.syncs),
            self.logged_writes as f64 / self.syncs.max(1) as f64,
            self.log_bytes as f64 / GB,
            rate(self.log_bytes as f64 / MB, seconds),
        );
        let _ = writeln!(
            out,
            "{what} stall: {} H:M:S, {:.1} percent",
            human::clock(Duration::from_micros(self.stall_micros)),
            rate(self.stall_micros as f64 / 10_000.0, seconds),
        );
    }
}

impl Engine {
    fn figures(&self) -> Figures {
        let mut now = Figures {
            up: self.observers.stats.up(),
            keys: self.latest_sequence_number(),
            log_bytes: self.commit.wal.ended_bytes()
                + self
                    .commit
                    .generations
                    .load()
                    .end_so_far()
                    .map_or(0, |end| end.offset),
            syncs: self.observers.stats.syncs.get(),
            stall_micros: self.commit.gate.stall_micros(),
            ..Figures::default()
        };
        now.take_from(self.statistics());
        if self.statistics().is_none() {
            // Approximately: the logged bytes, and the counted bytes that bypassed the log.
            now.bytes = now.log_bytes + self.observers.stats.unlogged_bytes.get(0);
        }
        now.since(self.observers.stats.opened)
    }

    /// The text of `rocksdb.dbstats`. Each call ends an interval.
    pub(in crate::db) fn db_stats(&self) -> String {
        let now = self.figures();
        let before = std::mem::replace(&mut *self.observers.stats.shown.lock(), now);
        let new = now.since(before);
        let mut out = format!(
            "\n** DB Stats **\nUptime(secs): {:.1} total, {:.1} interval\n",
            now.up.as_secs_f64(),
            new.up.as_secs_f64()
        );
        now.print(&mut out, "Cumulative", ("GB", GB));
        new.print(&mut out, "Interval", ("MB", MB));
        out.push_str(&counts_text(&self.commit.stall_counts()));
        out
    }

    /// Returns `rocksdb.dbstats` as a map.
    pub(in crate::db) fn db_stats_map(&self) -> Vec<(String, String)> {
        let now = self.figures();
        let mut entries: Vec<(String, String)> = [
            ("db.wal_bytes_written", now.log_bytes),
            ("db.wal_syncs", now.syncs),
            ("db.user_bytes_written", now.bytes),
            ("db.user_keys_written", now.keys),
            ("db.user_writes_by_other", now.writes - now.groups),
            ("db.user_writes_by_self", now.groups),
            ("db.user_writes_with_wal", now.logged_writes),
            ("db.user_write_stall_micros", now.stall_micros),
        ]
        .map(|(name, n)| (name.to_owned(), n.to_string()))
        .into();
        let counts = self.commit.stall_counts();
        entries.extend(counts.into_iter().map(|(k, n)| (k, n.to_string())));
        let up = format!("{:.6}", now.up.as_secs_f64());
        entries.push(("db.uptime".to_owned(), up));
        entries
    }
}
