//! `--contention`: what the threads of a benchmark that writes or reads cost each other
//! and the operating system, per operation. Unlike times, these figures hardly depend on
//! what else runs on the machine.

use std::cell::Cell;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use serde_json::{Value, json};
use whitewater_concurrent::sync::rmw;
use whitewater_concurrent::waiter::{FUTEX_WAITS, FUTEX_WAKES};

use super::engine::{Engine, Result};
use super::plan::Task;

/// The property that contains the engine's tickers.
pub const STATISTICS: &str = "rocksdb.options-statistics";
/// The tickers of calls for the log: writes, syncs and preallocations.
const LOG_TICKERS: [&str; 3] = [
    "whitewater.wal.writes",
    "rocksdb.wal.synced",
    "whitewater.wal.extends",
];

/// Whether a task only writes, or writes and reads what it needs for that, or only reads.
pub fn reports(task: Task) -> bool {
    match task {
        Task::FillSequential
        | Task::FillRandom
        | Task::FillUnique
        | Task::Update
        | Task::Xor
        | Task::Append
        | Task::Merge
        | Task::Replace
        | Task::Transact
        | Task::DeleteRandom
        | Task::DeleteSequential
        | Task::ReadRandom
        | Task::ReadFast
        | Task::MultiRead
        | Task::Scan
        | Task::ScanReverse
        | Task::Seek
        | Task::NewIterator
        | Task::NewSnapshot => true,
        Task::FillAndSeek
        | Task::ReadAndWrite
        | Task::ReadAndMerge
        | Task::Verify
        | Task::Mix
        | Task::TimeSeries
        | Task::ApproximateSizes
        | Task::Ingest
        | Task::Checksum(_)
        | Task::Compress
        | Task::Uncompress
        | Task::Compact
        | Task::VerifyTables { .. }
        | Task::CompactAll
        | Task::BackUp
        | Task::Restore
        | Task::Flush
        | Task::WaitForCompaction
        | Task::CompactLevel0
        | Task::Property(_) => false,
    }
}

/// The counts of one measured thread, or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// Atomic read-modify-write operations; 0 in a build that does not count them.
    pub rmw: u64,
    /// Writes to lines that all threads share, on the way of a read; 0 in a build that does
    /// not count them.
    pub shared_writes: u64,
    /// Locks taken on the way of a read; 0 in a build that does not count them.
    pub locks: u64,
    /// System calls that read from files. Linux counts them.
    pub read_calls: u64,
    /// Voluntary context switches: a thread gave up its core in order to wait.
    pub voluntary: u64,
    /// Involuntary context switches: a thread lost its core.
    pub involuntary: u64,
}

impl Threads {
    /// The calling thread's counts so far.
    ///
    /// # Errors
    /// An error of `getrusage`.
    pub fn now() -> Result<Self> {
        let usage = thread_usage()?;
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(Self {
            rmw: rmw::on_this_thread(),
            shared_writes: rmw::shared_writes_of_this_thread(),
            locks: rmw::locks_of_this_thread(),
            read_calls: read_calls(),
            voluntary: count(usage.voluntary_context_switches()),
            involuntary: count(usage.involuntary_context_switches()),
        })
    }

    /// The counts since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            rmw: self.rmw - before.rmw,
            shared_writes: self.shared_writes - before.shared_writes,
            locks: self.locks - before.locks,
            read_calls: self.read_calls.saturating_sub(before.read_calls),
            voluntary: self.voluntary - before.voluntary,
            involuntary: self.involuntary - before.involuntary,
        }
    }

    /// Adds the counts of another thread.
    pub fn add(&mut self, other: Self) {
        self.rmw += other.rmw;
        self.shared_writes += other.shared_writes;
        self.locks += other.locks;
        self.read_calls += other.read_calls;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
    }
}

#[cfg(target_os = "linux")]
fn thread_usage() -> nix::Result<Usage> {
    getrusage(UsageWho::RUSAGE_THREAD)
}

/// The usage on systems that do not count it for each thread: the counts stay 0.
#[cfg(not(target_os = "linux"))]
fn thread_usage() -> nix::Result<Usage> {
    Ok(Usage::default())
}

/// The file in which Linux counts what the thread that reads it has done.
const OWN_IO: &str = "/proc/thread-self/io";

/// Whether the system counts calls that read.
fn counts_read_calls() -> bool {
    read_calls_so_far().is_some()
}

fn read_calls_so_far() -> Option<u64> {
    let text = std::fs::read_to_string(OWN_IO).ok()?;
    let count = text.lines().find_map(|line| line.strip_prefix("syscr:"));
    count?.trim().parse().ok()
}

/// The calling thread's system calls that read, without those of this function; 0 where the
/// system does not count them.
fn read_calls() -> u64 {
    thread_local! {
        /// The calls that this function has made.
        static OWN: Cell<u64> = const { Cell::new(0) };
    }
    // Two looks, for each takes the same number of calls.
    let (Some(first), Some(second)) = (read_calls_so_far(), read_calls_so_far()) else {
        return 0;
    };
    OWN.with(|own| {
        let before = own.get();
        own.set(before + 2 * (second - first));
        first - before
    })
}

/// The counts of the process and of the database; `None` for what the engine does
/// not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    futex_waits: Option<u64>,
    futex_wakes: Option<u64>,
    /// The values of [`LOG_TICKERS`].
    log: [Option<u64>; 3],
}

impl Calls {
    fn now<E: Engine>(engine: &E) -> Self {
        let tickers = engine.property(STATISTICS).unwrap_or_default();
        Self {
            futex_waits: E::COUNTED.then(|| FUTEX_WAITS.get()),
            futex_wakes: E::COUNTED.then(|| FUTEX_WAKES.get()),
            log: LOG_TICKERS.map(|name| ticker(&tickers, name)),
        }
    }

    fn since(self, before: Self) -> Self {
        let mut log = self.log;
        for (now, before) in log.iter_mut().zip(before.log) {
            *now = difference(*now, before);
        }
        Self {
            futex_waits: difference(self.futex_waits, before.futex_waits),
            futex_wakes: difference(self.futex_wakes, before.futex_wakes),
            log,
        }
    }
}

fn difference(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

/// The value of a ticker in the engine's text.
fn ticker(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(" COUNT : ")?;
        value.trim().parse().ok()
    })
}

/// The counts of the process and of the database before a run.
#[derive(Debug)]
pub struct Before(Calls);

impl Before {
    /// Reads the counts.
    pub fn read<E: Engine>(engine: &E) -> Self {
        Self(Calls::now(engine))
    }

    /// Ends the measurement of a run in which `threads` did `operations`.
    pub fn finish<E: Engine>(self, engine: &E, operations: u64, threads: Threads) -> Contention {
        Contention {
            operations,
            rmw: (E::COUNTED && rmw::ENABLED).then_some(threads.rmw),
            shared_writes: (E::COUNTED && rmw::ENABLED).then_some(threads.shared_writes),
            locks: (E::COUNTED && rmw::ENABLED).then_some(threads.locks),
            read_calls: counts_read_calls().then_some(threads.read_calls),
            threads,
            calls: Calls::now(engine).since(self.0),
        }
    }
}

/// The report of one run, or of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    operations: u64,
    rmw: Option<u64>,
    shared_writes: Option<u64>,
    locks: Option<u64>,
    read_calls: Option<u64>,
    threads: Threads,
    calls: Calls,
}

impl Contention {
    /// Adds another run of the same benchmark.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        self.operations += other.operations;
        self.rmw = sum(self.rmw, other.rmw);
        self.shared_writes = sum(self.shared_writes, other.shared_writes);
        self.locks = sum(self.locks, other.locks);
        self.read_calls = sum(self.read_calls, other.read_calls);
        self.threads.add(other.threads);
        self.calls.futex_waits = sum(self.calls.futex_waits, other.calls.futex_waits);
        self.calls.futex_wakes = sum(self.calls.futex_wakes, other.calls.futex_wakes);
        for (a, b) in self.calls.log.iter_mut().zip(other.calls.log) {
            *a = sum(*a, b);
        }
    }

    /// The title, the name in JSON, and the count of each row.
    fn rows(&self) -> [(&'static str, &'static str, Option<u64>); 11] {
        let [writes, syncs, extends] = self.calls.log;
        let (threads, calls) = (self.threads, self.calls);
        [
            ("atomic read-modify-writes", "rmw", self.rmw),
            (
                "reads' writes to shared lines",
                "shared_writes",
                self.shared_writes,
            ),
            ("reads' locks", "locks", self.locks),
            ("system calls that read", "read_calls", self.read_calls),
            (
                "voluntary context switches",
                "voluntary_switches",
                Some(threads.voluntary),
            ),
            (
                "involuntary context switches",
                "involuntary_switches",
                Some(threads.involuntary),
            ),
            ("futex waits", "futex_waits", calls.futex_waits),
            ("futex wakes", "futex_wakes", calls.futex_wakes),
            ("log writes", "log_writes", writes),
            ("log syncs", "log_syncs", syncs),
            ("log extensions", "log_extends", extends),
        ]
    }

    fn each(&self, count: u64) -> f64 {
        count as f64 / self.operations.max(1) as f64
    }

    /// The table below the result line; ends with a newline.
    pub fn table(&self, benchmark: &str) -> String {
        let mut text = format!("{benchmark:<12} : contention per operation\n");
        for (title, name, count) in self.rows() {
            let value = match count {
                Some(count) => format!("{:.6}", self.each(count)),
                None if matches!(name, "rmw" | "shared_writes" | "locks") => {
                    "not counted in this build".to_owned()
                }
                None => "not counted".to_owned(),
            };
            text += &format!("  {title:<30} {value}\n");
        }
        text
    }

    /// The same figures for a document, per operation; `null` for what is not counted.
    pub fn json(&self) -> Value {
        let rows = self.rows().into_iter().map(|(_, name, count)| {
            let each = count.map(|count| self.each(count));
            (name.to_owned(), each.into())
        });
        let mut object: serde_json::Map<String, Value> = rows.collect();
        object.insert("operations".to_owned(), json!(self.operations));
        object.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Contention {
        Contention {
            operations: 10,
            rmw: None,
            shared_writes: Some(20),
            locks: Some(5),
            read_calls: None,
            threads: Threads {
                voluntary: 5,
                involuntary: 1,
                ..Threads::default()
            },
            calls: Calls {
                futex_waits: Some(4),
                futex_wakes: Some(3),
                log: [Some(10), Some(0), None],
            },
        }
    }

    #[test]
    fn tables_and_documents_are_per_operation() {
        let mut both = sample();
        both.add(&Contention {
            threads: Threads {
                voluntary: 7,
                ..Threads::default()
            },
            ..sample()
        });
        let text = both.table("fillseq");
        assert!(text.starts_with("fillseq      : contention per operation\n"));
        for line in [
            "  atomic read-modify-writes      not counted in this build",
            "  reads' writes to shared lines  2.000000",
            "  reads' locks                   0.500000",
            "  system calls that read         not counted",
            "  voluntary context switches     0.600000",
            "  involuntary context switches   0.050000",
            "  futex waits                    0.400000",
            "  log writes                     1.000000",
            "  log syncs                      0.000000",
            "  log extensions                 not counted",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        let json = both.json();
        assert_eq!(json["operations"], 20);
        assert_eq!(json["futex_wakes"], 0.3);
        assert_eq!(json["rmw"], Value::Null);
        assert_eq!(json["shared_writes"], 2.0);
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(12));
    }

    #[test]
    fn tickers_are_found_by_their_whole_name() {
        let text = "rocksdb.wal.synced.more COUNT : 3\nrocksdb.wal.synced COUNT : 7\n";
        assert_eq!(ticker(text, "rocksdb.wal.synced"), Some(7));
        assert_eq!(ticker(text, "rocksdb.wal"), None);
        assert_eq!(difference(Some(9), Some(7)), Some(2));
        assert_eq!(difference(Some(9), None), None);
    }

    #[test]
    fn calls_that_read_are_counted_without_those_of_counting() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        let read = |times: usize| {
            let before = Threads::now().expect("getrusage");
            for _ in 0..times {
                let mut one = [0];
                let found = std::os::unix::fs::FileExt::read_at(file.as_file(), &mut one, 0);
                assert_eq!(found.ok(), Some(0), "the file is empty");
            }
            Threads::now().expect("getrusage").since(before).read_calls
        };
        let counted = |times| if counts_read_calls() { times } else { 0 };
        assert_eq!((read(0), read(3)), (0, counted(3)));
    }

    #[test]
    fn a_sleep_is_a_switch_of_this_thread() {
        let before = Threads::now().expect("getrusage");
        std::thread::sleep(std::time::Duration::from_millis(1));
        let slept = Threads::now().expect("getrusage").since(before);
        assert_eq!(slept.voluntary > 0, cfg!(target_os = "linux"), "{slept:?}");
    }
}
