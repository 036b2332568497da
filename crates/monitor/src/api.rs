//! What `/api/v1` answers with, as types. They can be read as well as written, so a client in Rust
//! may use them.
//!
//! Rates and percentiles are over the last interval between two samples, a second by default. What
//! needs statistics ([`Options::enable_statistics`](whitewater::Options::enable_statistics)) is
//! `None` without.

use serde::{Deserialize, Serialize};

/// `GET /api/v1/databases`: the databases that are watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Databases {
    /// The databases, in the order in which they were added.
    pub databases: Vec<Database>,
}

/// A database that is watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Database {
    /// Its place in paths: `/api/v1/{id}/overview`.
    pub id: usize,
    /// Its label: the path, unless the program has chosen another.
    pub label: String,
    /// Whether it is open.
    pub open: bool,
}

/// `GET /api/v1/{id}/overview`: the state of a database.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The database.
    pub database: Database,
    /// Whether this instance only reads: it was opened for reading only, or as a secondary, which
    /// follows another process by its files. Then reads are its own, and there are no stalls, jobs,
    /// events and times of writes to be seen.
    pub reads_only: bool,
    /// Whether statistics are on.
    pub statistics: bool,
    /// The time of this answer. Unix time in milliseconds.
    pub unix_ms: u64,
    /// How long the database has been open. Seconds.
    pub uptime_seconds: f64,
    /// The commit protocol in force.
    pub commit_protocol: String,
    /// The rates of the last interval.
    pub rates: Point,
    /// Sums since the database was opened.
    pub totals: Totals,
    /// How long calls took.
    pub latencies: Vec<Latency>,
    /// Whether writers are held back, and why.
    pub stall: Stall,
    /// The error for which writes are refused; empty when they are not.
    pub error: String,
    /// The number of failures of background work so far.
    pub background_errors: u64,
    /// The column families.
    pub families: Vec<Family>,
    /// The flushes and compactions that run and whose beginning was seen.
    pub jobs: Vec<Job>,
    /// The number of flushes that run.
    pub running_flushes: u64,
    /// The number of compactions that run.
    pub running_compactions: u64,
    /// The block cache of the default column family.
    pub cache: Cache,
    /// What a byte or a read costs.
    pub amplification: Amplification,
    /// The number of live snapshots.
    pub snapshots: u64,
    /// When the oldest live snapshot was taken. Unix time in seconds; 0 without one.
    pub oldest_snapshot_time: u64,
}

/// Sums since the database was opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Entries written.
    pub keys_written: u64,
    /// Bytes of the batches written.
    pub bytes_written: u64,
    /// Bytes of the write-ahead log.
    pub wal_bytes: u64,
    /// Syncs of the write-ahead log.
    pub wal_syncs: u64,
    /// The time for which writers were held back. Microseconds, all writers together.
    pub stall_micros: u64,
}

/// `GET /api/v1/{id}/series`: the rates of an interval. Per second, unless it says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The end of the interval. Unix time in milliseconds.
    pub unix_ms: u64,
    /// The length of the interval. Seconds.
    pub seconds: f64,
    /// Entries written.
    pub keys_written: f64,
    /// Batches written.
    pub writes: Option<f64>,
    /// Keys read by `get` and `multi_get`.
    pub keys_read: Option<f64>,
    /// Seeks of iterators.
    pub seeks: Option<f64>,
    /// Steps of iterators.
    pub steps: Option<f64>,
    /// Bytes of the batches written.
    pub bytes_written: f64,
    /// Bytes of the values read by `get` and `multi_get`.
    pub bytes_read: Option<f64>,
    /// Bytes of the write-ahead log.
    pub wal_bytes: f64,
    /// Syncs of the write-ahead log.
    pub wal_syncs: f64,
    /// How many writes share a sync, on average of the interval: batches or, without statistics,
    /// entries. `None` without a sync. Not a rate.
    pub writes_per_sync: Option<f64>,
    /// Bytes that flushes wrote.
    pub flush_bytes: Option<f64>,
    /// Bytes that compactions read.
    pub compaction_read_bytes: Option<f64>,
    /// Bytes that compactions wrote.
    pub compaction_write_bytes: Option<f64>,
    /// How many writers were held back, on average of the interval. Not a rate.
    pub stalled_writers: f64,
    /// The strictest condition at the end of the interval: 0 is normal, 1 delayed, 2 stopped.
    pub stall: u8,
    /// Bytes of all memtables at the end of the interval.
    pub memtable_bytes: u64,
    /// Blocks found in the cache, of those asked for. Not a rate.
    pub cache_hit_ratio: Option<f64>,
    /// The median of writes. Microseconds.
    pub write_p50: Option<f64>,
    /// The 99th percentile of writes. Microseconds.
    pub write_p99: Option<f64>,
    /// The median of `get`. Microseconds.
    pub get_p50: Option<f64>,
    /// The 99th percentile of `get`. Microseconds.
    pub get_p99: Option<f64>,
}

/// How long calls of a kind took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The kind of call: `write`, `get`, ...
    pub operation: String,
    /// RocksDB's name of the histogram.
    pub histogram: String,
    /// In the last interval.
    pub recent: Distribution,
    /// Since the statistics began or, without them, since the database was opened, of one call in
    /// 128.
    pub total: Distribution,
}

/// A distribution of times. Microseconds, or nanoseconds for steps of writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest value.
    pub max: f64,
}

/// Whether writers are held back, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// The strictest condition of all column families: `normal`, `delayed` or `stopped`.
    pub condition: String,
    /// The rate that delayed writers share. Bytes per second; 0 when they are not delayed.
    pub delayed_rate: u64,
    /// What each column family demands.
    pub families: Vec<FamilyStall>,
}

/// What a column family demands of writers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FamilyStall {
    /// The column family.
    pub family: String,
    /// `normal`, `delayed` or `stopped`.
    pub condition: String,
    /// The cause, by RocksDB's name, such as `l0-file-count-limit`; empty when the condition is
    /// normal.
    pub cause: String,
    /// The cause in words, such as `we have 20 level-0 files`.
    pub reason: String,
    /// What the condition is decided by.
    pub limits: Vec<Limit>,
}

/// A figure that writers are held back for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// `memtables`, `level0-files` or `pending-bytes`.
    pub name: String,
    /// The figure.
    pub value: u64,
    /// The value from which writers are delayed; 0 is never.
    pub delay: u64,
    /// The value from which writers are stopped; 0 is never.
    pub stop: u64,
}

/// A column family.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Its name.
    pub name: String,
    /// Its memtables.
    pub memtables: Memtables,
    /// Its levels that hold files or have been written to.
    pub levels: Vec<Level>,
    /// Bytes of the tables of the current version.
    pub table_bytes: u64,
    /// Bytes of the tables of all versions that are in use.
    pub all_table_bytes: u64,
    /// About how many bytes of them are live.
    pub live_bytes: u64,
    /// About how many keys there are.
    pub keys: u64,
    /// About how many bytes compactions have to rewrite.
    pub pending_compaction_bytes: u64,
    /// Whether a flush is due.
    pub flush_pending: bool,
    /// Whether a compaction is due.
    pub compaction_pending: bool,
    /// Bytes of memory of open tables outside the block cache.
    pub table_readers_bytes: u64,
    /// The number of blob files, their bytes, and how many of these are garbage.
    pub blob_files: u64,
    /// Bytes of the blob files.
    pub blob_bytes: u64,
    /// Bytes of garbage in the blob files.
    pub blob_garbage_bytes: u64,
    /// Bytes written to tables for each byte flushed or ingested.
    pub write_amplification: f64,
    /// Bytes of tables for each byte that is live.
    pub space_amplification: f64,
}

/// The memtables of a column family.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Memtables {
    /// What the active one is: `art`, `skip_list`, ...
    pub kind: String,
    /// Bytes of the active one.
    pub active_bytes: u64,
    /// Entries of the active one.
    pub active_entries: u64,
    /// Deletions in the active one.
    pub active_deletes: u64,
    /// The number of those that wait for their flush.
    pub immutable: u64,
    /// Entries of those.
    pub immutable_entries: u64,
    /// Deletions in those.
    pub immutable_deletes: u64,
    /// Bytes of those that are not flushed.
    pub unflushed_bytes: u64,
    /// Bytes of all, with those that readers hold on to.
    pub all_bytes: u64,
}

/// A level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its number.
    pub level: u32,
    /// The number of its files.
    pub files: u64,
    /// How many of them are being compacted.
    pub compacting: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// From 1 on, a compaction is due.
    pub score: f64,
    /// Bytes written to it for each byte that came in.
    pub write_amplification: f64,
    /// Bytes that compactions into it have read, and written, since the database was opened; in
    /// gibibytes.
    pub read_gib: f64,
    /// Gibibytes that flushes and compactions have written to it.
    pub write_gib: f64,
}

/// A flush or a compaction that runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// `flush` or `compaction`.
    pub kind: String,
    /// Its number in the info log.
    pub id: u64,
    /// The column family.
    pub family: String,
    /// For how long it has run. Milliseconds.
    pub running_ms: u64,
    /// What it does, in words.
    pub text: String,
    /// The level that it writes to.
    pub output_level: u32,
}

/// The block cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Bytes that it may hold.
    pub capacity: u64,
    /// Bytes in it.
    pub usage: u64,
    /// Bytes of them that are in use or charged for memory elsewhere.
    pub pinned: u64,
    /// Hits by kind of block: all, data, index, filter.
    pub kinds: Vec<CacheKind>,
    /// Filters that have spared a read, and those that were asked and have not.
    pub filter_useful: Option<u64>,
    /// Filters that were passed.
    pub filter_positive: Option<u64>,
    /// Filters that were rightly passed.
    pub filter_true_positive: Option<u64>,
}

/// How often blocks of a kind were found in the cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheKind {
    /// The kind.
    pub kind: String,
    /// Blocks found since the statistics began.
    pub hits: u64,
    /// Blocks not found since the statistics began.
    pub misses: u64,
    /// The share of blocks found, in the last interval; `None` if none was asked for.
    pub recent_ratio: Option<f64>,
}

/// What a byte or a read costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Amplification {
    /// Bytes written to tables for each byte flushed or ingested, of all column families.
    pub write: f64,
    /// Bytes of tables for each byte that is live.
    pub space: f64,
    /// Blocks of tables that were asked for, for each key read or seek.
    pub read: Option<f64>,
}

/// `GET /api/v1/{id}/write-path`: where writers are, step by step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WritePath {
    /// The database.
    pub database: Database,
    /// The commit protocol in force.
    pub commit_protocol: String,
    /// What the active memtable of the default column family is.
    pub memtable: String,
    /// [`Overview::reads_only`].
    pub reads_only: bool,
    /// Whether the steps are timed
    /// ([`StatsLevel::ExceptTimeForMutex`](whitewater::statistics::StatsLevel) and above). It is
    /// also false while nothing is written.
    pub timed: bool,
    /// The steps, in the order in which a write takes them.
    pub steps: Vec<Step>,
    /// The rates of the last interval.
    pub rates: Point,
    /// Times of whole writes, of syncs, and of waits at stalls. Microseconds.
    pub latencies: Vec<Latency>,
    /// Batches that their own writer committed, and those that a leader committed, per second.
    pub by_self: Option<f64>,
    /// Batches that another writer committed, per second.
    pub by_other: Option<f64>,
    /// Calls that write to the log, and calls that extend it, per second.
    pub log_writes: Option<f64>,
    /// Calls that extend the log, per second.
    pub log_extends: Option<f64>,
    /// Whether writers are held back before all this.
    pub stall: Stall,
    /// The error for which writes are refused; empty when they are not.
    pub error: String,
}

/// A step of a write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name: `locate`, `reserve`, `append`, `insert`, `publish`, `sync`.
    pub name: String,
    /// What is done in it, or waited for.
    pub what: String,
    /// Whether the writer waits for others in it.
    pub waits: bool,
    /// The number of writers that are in it at a moment, on average of the interval.
    pub writers: f64,
    /// Its times in the last interval. Nanoseconds.
    pub recent: Distribution,
    /// Its times since the statistics began. Nanoseconds.
    pub total: Distribution,
}

/// `GET /api/v1/{id}/events`: something that has happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number; grows.
    pub number: u64,
    /// When it was told. Unix time in milliseconds.
    pub unix_ms: u64,
    /// Its kind, such as `flush_completed`.
    pub kind: String,
    /// The column family; empty if it concerns the database.
    pub family: String,
    /// What has happened, in words.
    pub text: String,
    /// Whether it is a stall or a failure.
    pub warning: bool,
}

/// `GET /api/v1/{id}/options`: an option in force.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OptionInForce {
    /// The column family whose option it is; `None` for one of the database.
    pub family: Option<String>,
    /// The name.
    pub name: String,
    /// The value, as in an OPTIONS file.
    pub value: String,
    /// The default.
    pub default: String,
    /// Whether it can be changed while the database is open.
    pub changes_live: bool,
}

/// `GET /api/v1/{id}/files`: a table file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// The column family.
    pub family: String,
    /// The name, without its directory.
    pub name: String,
    /// The level.
    pub level: u32,
    /// The size. Bytes.
    pub bytes: u64,
    /// The number of entries.
    pub entries: u64,
    /// The number of entries that are deletions.
    pub deletions: u64,
    /// The smallest user key, with bytes that are no printable ASCII escaped; only if keys may be
    /// shown ([`Builder::show_keys`](crate::Builder::show_keys)).
    pub smallest: Option<String>,
    /// The largest user key.
    pub largest: Option<String>,
}
