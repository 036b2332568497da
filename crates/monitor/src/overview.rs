//! The overview of a database: what it does now and how it got there.

use crate::api::{
    Amplification, Cache, CacheKind, Family, FamilyStall, Latency, Level, Limit, Memtables,
    Overview, Stall, Totals,
};
use crate::sample::{Interval, Sample, unix_ms};
use crate::watched::{Slow, Watched};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use whitewater::properties;
use whitewater::statistics::{Histogram, Ticker};

/// The kinds of calls whose times are shown.
const CALLS: [(&str, Histogram); 8] = [
    ("write", Histogram::DbWrite),
    ("get", Histogram::DbGet),
    ("multi_get", Histogram::DbMultiget),
    ("seek", Histogram::DbSeek),
    ("log sync", Histogram::WalFileSyncMicros),
    ("stall", Histogram::WriteStall),
    ("flush", Histogram::FlushTime),
    ("compaction", Histogram::CompactionTime),
];

/// The overview; figures that are slow to get are at most `age` old.
pub(crate) fn overview(watched: &Watched, age: Duration) -> Overview {
    let samples = watched.samples();
    let interval = samples.as_ref().map(|(from, to)| Interval { from, to });
    let fresh = Sample::take(&watched.observer);
    let families: Vec<_> = watched
        .slow(age)
        .into_iter()
        .map(|slow| family(watched, slow))
        .collect();
    let figures = fresh.as_ref();
    let int = |name: &str| watched.int("default", name);
    Overview {
        database: watched.entry(),
        reads_only: watched.reads_only,
        statistics: figures.is_some_and(Sample::has_statistics),
        unix_ms: unix_ms(),
        uptime_seconds: figures.map_or(0.0, |f| f.of_db("db.uptime")),
        commit_protocol: watched.text("whitewater.commit-protocol"),
        rates: watched.rates(),
        totals: figures.map_or_else(Totals::default, totals),
        latencies: latencies(interval, figures, &CALLS),
        stall: stall(watched),
        error: watched.error(),
        background_errors: int("rocksdb.background-errors"),
        jobs: watched.events.jobs(),
        running_flushes: int("rocksdb.num-running-flushes"),
        running_compactions: int("rocksdb.num-running-compactions"),
        cache: cache(watched, interval, figures),
        amplification: amplification(&families, interval),
        families,
        snapshots: int("rocksdb.num-snapshots"),
        oldest_snapshot_time: int("rocksdb.oldest-snapshot-time"),
    }
}

fn totals(figures: &Sample) -> Totals {
    let of = |name| figures.of_db(name) as u64;
    Totals {
        keys_written: of("db.user_keys_written"),
        bytes_written: of("db.user_bytes_written"),
        wal_bytes: of("db.wal_bytes_written"),
        wal_syncs: of("db.wal_syncs"),
        stall_micros: of("db.user_write_stall_micros"),
    }
}

/// The times of those `calls` that have happened.
pub(crate) fn latencies(
    interval: Option<Interval<'_>>,
    figures: Option<&Sample>,
    calls: &[(&str, Histogram)],
) -> Vec<Latency> {
    let all = calls.iter().map(|(operation, histogram)| Latency {
        operation: (*operation).to_owned(),
        histogram: histogram.name().to_owned(),
        recent: interval
            .map(|i| i.distribution(*histogram))
            .unwrap_or_default(),
        total: figures.map(|f| f.total(*histogram)).unwrap_or_default(),
    });
    all.filter(|latency| latency.total.count > 0).collect()
}

/// Whether writers are held back, and why.
pub(crate) fn stall(watched: &Watched) -> Stall {
    let families = watched.observer.column_families();
    let families = families.into_iter().map(|family| {
        let entries = watched
            .observer
            .property_map_value(&family, properties::WRITE_STALL);
        family_stall(family, &entries.unwrap_or_default())
    });
    let stopped = watched.int("default", "rocksdb.is-write-stopped") > 0;
    let delayed_rate = watched.int("default", "rocksdb.actual-delayed-write-rate");
    let condition = match (stopped, delayed_rate) {
        (true, _) => "stopped",
        (false, 0) => "normal",
        (false, _) => "delayed",
    };
    Stall {
        condition: condition.to_owned(),
        delayed_rate,
        families: families.collect(),
    }
}

fn family_stall(family: String, entries: &BTreeMap<String, String>) -> FamilyStall {
    let text = |name: &str| entries.get(name).cloned().unwrap_or_default();
    let number = |name: &str| entries.get(name).and_then(|n| n.parse().ok()).unwrap_or(0);
    let limits = ["memtables", "level0-files", "pending-bytes"].map(|name| Limit {
        name: name.to_owned(),
        value: number(name),
        delay: number(&format!("{name}.delay")),
        stop: number(&format!("{name}.stop")),
    });
    FamilyStall {
        family,
        condition: text("condition"),
        cause: text("cause"),
        reason: text("reason"),
        limits: limits.into(),
    }
}

fn family(watched: &Watched, slow: Slow) -> Family {
    let name = slow.family;
    let int = |property: &str| watched.int(&name, &format!("rocksdb.{property}"));
    let stats = watched
        .observer
        .property_map_value(&name, "rocksdb.cfstats");
    let stats = stats.unwrap_or_default();
    let table_bytes = int("live-sst-files-size");
    Family {
        memtables: memtables(watched, &name),
        levels: levels(&stats),
        table_bytes,
        all_table_bytes: slow.all_table_bytes,
        live_bytes: slow.live_bytes,
        keys: slow.keys,
        pending_compaction_bytes: int("estimate-pending-compaction-bytes"),
        flush_pending: int("mem-table-flush-pending") > 0,
        compaction_pending: int("compaction-pending") > 0,
        table_readers_bytes: slow.table_readers_bytes,
        blob_files: int("num-blob-files"),
        blob_bytes: int("live-blob-file-size"),
        blob_garbage_bytes: int("live-blob-file-garbage-size"),
        write_amplification: number(&stats, "compaction.Sum.WriteAmp"),
        space_amplification: ratio(table_bytes, slow.live_bytes),
        name,
    }
}

fn memtables(watched: &Watched, family: &str) -> Memtables {
    let int = |property: &str| watched.int(family, &format!("rocksdb.{property}"));
    let kind = watched
        .observer
        .property_value(family, properties::MEMTABLE);
    Memtables {
        kind: kind.unwrap_or_default(),
        active_bytes: int("cur-size-active-mem-table"),
        active_entries: int("num-entries-active-mem-table"),
        active_deletes: int("num-deletes-active-mem-table"),
        immutable: int("num-immutable-mem-table"),
        immutable_entries: int("num-entries-imm-mem-tables"),
        immutable_deletes: int("num-deletes-imm-mem-tables"),
        unflushed_bytes: int("cur-size-all-mem-tables"),
        all_bytes: int("size-all-mem-tables"),
    }
}

fn number(stats: &BTreeMap<String, String>, name: &str) -> f64 {
    stats.get(name).and_then(|n| n.parse().ok()).unwrap_or(0.0)
}

fn ratio(of: u64, to: u64) -> f64 {
    if to == 0 { 0.0 } else { of as f64 / to as f64 }
}

/// The levels that the map `rocksdb.cfstats` has.
fn levels(stats: &BTreeMap<String, String>) -> Vec<Level> {
    let level = |name: &String| -> Option<u32> {
        let level = name.strip_prefix("compaction.L")?;
        level.strip_suffix(".NumFiles")?.parse().ok()
    };
    let numbers: BTreeSet<u32> = stats.keys().filter_map(level).collect();
    let levels = numbers.into_iter().map(|level| {
        let of = |column: &str| number(stats, &format!("compaction.L{level}.{column}"));
        Level {
            level,
            files: of("NumFiles") as u64,
            compacting: of("CompactedFiles") as u64,
            bytes: of("SizeBytes") as u64,
            score: of("Score"),
            write_amplification: of("WriteAmp"),
            read_gib: of("ReadGB"),
            write_gib: of("WriteGB"),
        }
    });
    levels.collect()
}

fn cache(watched: &Watched, interval: Option<Interval<'_>>, figures: Option<&Sample>) -> Cache {
    use Ticker::*;
    let kinds = [
        ("all", BlockCacheHit, BlockCacheMiss),
        ("data", BlockCacheDataHit, BlockCacheDataMiss),
        ("index", BlockCacheIndexHit, BlockCacheIndexMiss),
        ("filter", BlockCacheFilterHit, BlockCacheFilterMiss),
    ];
    let ticker = |ticker| figures.and_then(|figures| figures.ticker(ticker));
    let kinds = kinds.into_iter().filter_map(|(kind, hit, miss)| {
        Some(CacheKind {
            kind: kind.to_owned(),
            hits: ticker(hit)?,
            misses: ticker(miss)?,
            recent_ratio: interval.and_then(|i| i.ratio(hit, miss)),
        })
    });
    let int = |name: &str| watched.int("default", name);
    Cache {
        capacity: int("rocksdb.block-cache-capacity"),
        usage: int("rocksdb.block-cache-usage"),
        pinned: int("rocksdb.block-cache-pinned-usage"),
        kinds: kinds.collect(),
        filter_useful: ticker(BloomFilterUseful),
        filter_positive: ticker(BloomFilterFullPositive),
        filter_true_positive: ticker(BloomFilterFullTruePositive),
    }
}

fn amplification(families: &[Family], interval: Option<Interval<'_>>) -> Amplification {
    use Ticker::*;
    // Weighed by what came in, of which nothing but the sum and its multiple are known.
    let written = |family: &Family| family.levels.iter().map(|l| l.write_gib).sum::<f64>();
    let came_in = |family: &Family| match family.write_amplification {
        0.0 => 0.0,
        amplification => written(family) / amplification,
    };
    let (wrote, came): (f64, f64) = (
        families.iter().map(written).sum(),
        families.iter().map(came_in).sum(),
    );
    let bytes = |of: fn(&Family) -> u64| families.iter().map(of).sum();
    let read = interval.and_then(|interval| {
        let asked = interval.rate(&[BlockCacheDataHit, BlockCacheDataMiss])?;
        let calls = interval.rate(&[NumberKeysRead, NumberMultigetKeysRead, NumberDbSeek])?;
        (calls > 0.0).then_some(asked / calls)
    });
    Amplification {
        write: if came > 0.0 { wrote / came } else { 0.0 },
        space: ratio(bytes(|f| f.table_bytes), bytes(|f| f.live_bytes)),
        read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_from_the_map() {
        let entry = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let stats = BTreeMap::from([
            entry("compaction.L0.NumFiles", "3.000000"),
            entry("compaction.L0.Score", "0.750000"),
            entry("compaction.L10.NumFiles", "1.000000"),
            entry("compaction.Sum.NumFiles", "4.000000"),
        ]);
        let levels = levels(&stats);
        assert_eq!(levels.len(), 2);
        assert_eq!(
            (levels[0].level, levels[0].files, levels[0].score),
            (0, 3, 0.75)
        );
        assert_eq!((levels[1].level, levels[1].files), (10, 1));
    }
}
