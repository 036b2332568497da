//! Statistics: tickers under RocksDB's names.
//!
//! Collected only when a database is opened with statistics on. Each thread
//! counts in one of a few shards, each on cache lines of its own, so that
//! counting does not make threads wait for one another; reading adds them up.

use crossbeam_utils::CachePadded;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use whitewater_concurrent::counter::Counter;

macro_rules! tickers {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What is counted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Ticker { $($(#[$doc])* $name,)* }

        /// Names in the order of the variants.
        const NAMES: &[&str] = &[$($text,)*];
    };
}

tickers! {
    /// Point look-ups answered by a memtable.
    MemtableHit = "rocksdb.memtable.hit",
    /// Point look-ups that went on to tables.
    MemtableMiss = "rocksdb.memtable.miss",
    /// Keys of committed batches.
    KeysWritten = "rocksdb.number.keys.written",
    /// Keys looked up.
    KeysRead = "rocksdb.number.keys.read",
    /// Bytes of committed batches.
    BytesWritten = "rocksdb.bytes.written",
    /// Bytes of values that look-ups returned.
    BytesRead = "rocksdb.bytes.read",
    /// Iterators made.
    Iterators = "rocksdb.num.iterator.created",
    /// Records appended to the log.
    LogWrites = "rocksdb.write.wal",
    /// Bytes appended to the log.
    LogBytes = "rocksdb.wal.bytes",
    /// Syncs of the log.
    LogSyncs = "rocksdb.wal.synced",
    /// Microseconds writers waited for background work.
    StallMicros = "rocksdb.stall.micros",
    /// Bytes of tables written by flushes.
    FlushWriteBytes = "rocksdb.flush.write.bytes",
    /// Bytes of tables read by compactions.
    CompactReadBytes = "rocksdb.compact.read.bytes",
    /// Bytes of tables written by compactions.
    CompactWriteBytes = "rocksdb.compact.write.bytes",
}

const SHARDS: usize = 16;

#[derive(Debug, Default)]
struct Shard([Counter; NAMES.len()]);

/// Tickers of one or more databases.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    shards: [CachePadded<Shard>; SHARDS],
}

impl Statistics {
    /// Adds `n` to a ticker.
    pub fn add(&self, ticker: Ticker, n: u64) {
        self.shards[own_shard()].0[ticker as usize].add(n);
    }

    /// The sum of the ticker at a position.
    fn sum(&self, at: usize) -> u64 {
        self.shards.iter().map(|s| s.0[at].get()).sum()
    }
}

/// Adds to a ticker of statistics that may be off.
#[inline]
pub(crate) fn tick(statistics: Option<&Statistics>, ticker: Ticker, n: u64) {
    if let Some(s) = statistics {
        s.add(ticker, n);
    }
}

/// The shard of the calling thread: threads take them in turn.
fn own_shard() -> usize {
    /// Numbers threads. Written and read by: threads at their first count.
    /// Publishes nothing.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
    OWN.with(|s| *s)
}

/// One line per ticker, as RocksDB prints them.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in NAMES.iter().enumerate() {
            writeln!(f, "{name} COUNT : {}", self.sum(i))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let s = Statistics::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| s.add(Ticker::LogSyncs, 3));
            }
        });
        assert!(s.to_string().contains("rocksdb.wal.synced COUNT : 60\n"));
        assert!(s.to_string().contains("rocksdb.memtable.hit COUNT : 0\n"));
    }
}
