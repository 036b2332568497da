//! Where writers are: the steps of a write, how many writers are in each, and for how long.

use crate::api::{Step, WritePath};
use crate::overview::{latencies, stall};
use crate::sample::{Interval, Sample};
use crate::watched::Watched;
use whitewater::statistics::{Histogram, Ticker};

/// The steps: name, what happens in them, whether the writer waits for others, histogram.
const STEPS: [(&str, &str, bool, Histogram); 6] = [
    (
        "locate",
        "finds the keys' places in the memtable and copies the values, under no number",
        false,
        Histogram::WriteLocateNanos,
    ),
    (
        "reserve",
        "takes sequence numbers and a place in the log, in one atomic step",
        false,
        Histogram::WriteReserveNanos,
    ),
    (
        "append",
        "copies the record to its place in the log",
        false,
        Histogram::WriteAppendNanos,
    ),
    (
        "insert",
        "links the entries into the memtable",
        false,
        Histogram::WriteInsertNanos,
    ),
    (
        "publish",
        "waits until its last number is visible: for writers before it",
        true,
        Histogram::WritePublishWaitNanos,
    ),
    (
        "sync",
        "waits until the log is durable: for one sync that many writers share",
        true,
        Histogram::WriteSyncWaitNanos,
    ),
];

/// What is timed as a whole.
const CALLS: [(&str, Histogram); 3] = [
    ("write", Histogram::DbWrite),
    ("log sync", Histogram::WalFileSyncMicros),
    ("stall", Histogram::WriteStall),
];

/// The write path of a database in the last interval.
pub(crate) fn write_path(watched: &Watched) -> WritePath {
    let samples = watched.samples();
    let interval = samples.as_ref().map(|(from, to)| Interval { from, to });
    let figures = Sample::take(&watched.observer);
    let steps: Vec<_> = STEPS
        .iter()
        .map(|(name, what, waits, histogram)| {
            let recent = interval.map(|i| i.distribution(*histogram));
            let recent = recent.unwrap_or_default();
            let seconds = interval.map_or(1.0, |i| i.seconds());
            let total = figures.as_ref().map(|f| f.total(*histogram));
            Step {
                name: (*name).to_owned(),
                what: (*what).to_owned(),
                waits: *waits,
                // By Little's law: the time that all writers spent there, for each second.
                writers: recent.sum as f64 / 1e9 / seconds,
                recent,
                total: total.unwrap_or_default(),
            }
        })
        .collect();
    let rate = |ticker| interval.and_then(|i| i.rate(&[ticker]));
    WritePath {
        database: watched.entry(),
        commit_protocol: watched.text("whitewater.commit-protocol"),
        reads_only: watched.reads_only,
        memtable: watched.text("whitewater.memtable"),
        timed: steps.iter().any(|step| step.recent.count > 0),
        steps,
        rates: watched.rates(),
        latencies: latencies(interval, figures.as_ref(), &CALLS),
        by_self: rate(Ticker::WriteDoneBySelf),
        by_other: rate(Ticker::WriteDoneByOther),
        log_writes: rate(Ticker::WalWriteCalls),
        log_extends: rate(Ticker::WalExtendCalls),
        stall: stall(watched),
        error: watched.error(),
    }
}
