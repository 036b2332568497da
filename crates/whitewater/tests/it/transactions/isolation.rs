//! Histories of concurrent transactions, checked for isolation by an established checker.
//!
//! Threads append to a few lists and read them, in transactions of one to four
//! operations. What each of them read, and when it began and ended, is recorded;
//! `adya` (the method of Elle) infers which transactions depend on each other, and
//! looks for the cycles that an isolation level forbids. Each level is also shown to be
//! missed where it is not promised: a checker that finds nothing proves nothing.

use super::DIR;
use crate::harness::{campaign, strict_protocols, tiny_on};
use adya::{History, Opts, Report, Valid, Workload, check};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{
    CommitProtocol, DBAccess, Error, ErrorKind, MultiThreaded, OptimisticTransactionDB,
    OptimisticTransactionOptions, Options, Transaction, TransactionDB, TransactionDBOptions,
    TransactionOptions, WriteOptions, WritePolicy,
};

const THREADS: u64 = 4;
const TRANSACTIONS: u64 = 60;
const KEYS: u64 = 4;

/// How transactions read, and how they append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// By `get_for_update`.
    ForUpdate,
    /// At the transaction's snapshot.
    AtSnapshot,
    /// By `get`, and appends are merges.
    Plain,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Read {
        key: u64,
    },
    /// By reading the list and writing a longer one.
    Rewrite {
        key: u64,
        element: u64,
    },
    Merge {
        key: u64,
        element: u64,
    },
}

/// The elements of a list as it is stored.
fn elements(stored: Option<Vec<u8>>) -> String {
    let text = stored.map(|list| String::from_utf8(list).expect("text"));
    format!("[{}]", text.unwrap_or_default())
}

/// The operations of a history: one line of JSON each, in the order of time.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn note(&self, kind: &str, process: u64, operations: &[String]) {
        let operations = operations.join(",");
        let line = format!(r#"{{"type":"{kind}","process":{process},"value":[{operations}]}}"#);
        self.0.lock().unwrap().push(line);
    }

    fn check(self, model: &str) -> Report {
        let history = History::from_json(&self.0.into_inner().unwrap().join("\n")).unwrap();
        let opts = Opts {
            models: vec![model.to_owned()],
            ..Opts::default()
        };
        check(&history, Workload::ListAppend, &opts)
    }
}

fn is_conflict(e: &Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::Busy | ErrorKind::TimedOut | ErrorKind::TryAgain
    )
}

/// What a transaction reads of list `key`.
fn read<D: DBAccess>(
    transaction: &Transaction<'_, D>,
    reads: Reads,
    key: u64,
) -> Result<Option<Vec<u8>>, Error> {
    let key = key.to_string();
    match reads {
        Reads::ForUpdate => transaction.get_for_update(key, false),
        Reads::AtSnapshot => transaction.snapshot().get(key),
        Reads::Plain => transaction.get(key),
    }
}

/// Runs `steps`; returns them with what they read, for the history. A transaction with a `name` is
/// prepared before its commit.
fn run<D: DBAccess>(
    transaction: Transaction<'_, D>,
    reads: Reads,
    steps: &[Step],
    name: Option<String>,
) -> Result<Vec<String>, Error> {
    let mut seen = Vec::new();
    for step in steps {
        // Others come in between, however few cores there are.
        std::thread::sleep(Duration::from_micros(20));
        match *step {
            Step::Read { key } => {
                let list = elements(read(&transaction, reads, key)?);
                seen.push(format!(r#"["r",{key},{list}]"#));
            }
            Step::Rewrite { key, element } => {
                let before = read(&transaction, reads, key)?;
                let list = match &before {
                    Some(list) => [&list[..], element.to_string().as_bytes()].join(&b','),
                    None => element.to_string().into_bytes(),
                };
                transaction.put(key.to_string(), list)?;
                seen.push(format!(r#"["r",{key},{}]"#, elements(before)));
                seen.push(format!(r#"["append",{key},{element}]"#));
            }
            Step::Merge { key, element } => {
                transaction.merge(key.to_string(), element.to_string())?;
                seen.push(format!(r#"["append",{key},{element}]"#));
            }
        }
    }
    if let Some(name) = name {
        transaction.set_name(name.as_bytes())?;
        transaction.prepare()?;
        std::thread::sleep(Duration::from_micros(20));
    }
    transaction.commit()?;
    Ok(seen)
}

/// What the history says of `steps` before they run.
fn invoked(steps: &[Step]) -> Vec<String> {
    let operations = steps.iter().flat_map(|step| match *step {
        Step::Read { key } => vec![format!(r#"["r",{key},null]"#)],
        Step::Rewrite { key, element } => vec![
            format!(r#"["r",{key},null]"#),
            format!(r#"["append",{key},{element}]"#),
        ],
        Step::Merge { key, element } => vec![format!(r#"["append",{key},{element}]"#)],
    });
    operations.collect()
}

fn steps(rng: &mut StdRng, reads: Reads, next: &AtomicU64) -> Vec<Step> {
    let count = rng.random_range(1..=4);
    let step = |_| {
        let key = rng.random_range(0..KEYS);
        let element = || next.fetch_add(1, Ordering::Relaxed);
        match rng.random_range(0..4) {
            0 | 1 => Step::Read { key },
            2 if reads != Reads::Plain => Step::Rewrite {
                key,
                element: element(),
            },
            _ => Step::Merge {
                key,
                element: element(),
            },
        }
    };
    (0..count).map(step).collect()
}

/// Makes the log fail now and then, and lets the database go on after that.
struct Trouble<'a> {
    fs: &'a FaultFs,
    resume: &'a (dyn Fn() -> Result<(), Error> + Sync),
    /// How often writes failed. Written by all threads, read at the end; publishes nothing.
    failures: &'a AtomicU64,
}

impl Trouble<'_> {
    /// Lets one of the next writes or syncs of a log fail.
    fn begin(&self, rng: &mut StdRng) {
        let ops = [FaultOp::Append, FaultOp::Sync];
        self.fs.add_rule(Rule {
            ops: OpSet::of(&ops[rng.random_range(0..2)..][..1]),
            path: PathMatch::EndsWith(".log".to_owned()),
            when: When::Nth(rng.random_range(1..4)),
            fault: Fault::Eio,
            sticky: false,
        });
    }

    /// A write has failed with `e`.
    fn end(&self, e: &Error) {
        assert_eq!(e.kind(), ErrorKind::IOError, "{e}");
        self.failures.fetch_add(1, Ordering::Relaxed);
        // What is to fail may fail in the resumption, too.
        let resumed = (0..100).any(|_| (self.resume)().is_ok());
        assert!(resumed, "{:?}", (self.resume)());
    }
}

/// Records a history of transactions that `begin` begins, with failures if there is `trouble`. A
/// transaction whose commit fails is not seen by anybody, which is more than its users are told.
/// Half of them are prepared if they can be.
fn record<'db, D: DBAccess + 'db>(
    seed: u64,
    reads: Reads,
    can_prepare: bool,
    begin: &(impl Fn() -> Transaction<'db, D> + Sync),
    trouble: Option<&Trouble<'_>>,
) -> Recorder {
    let recorder = Recorder::default();
    let next = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for process in 0..THREADS {
            let (recorder, next) = (&recorder, &next);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed * THREADS + process);
                for n in 0..TRANSACTIONS {
                    if let Some(trouble) = trouble.filter(|_| n % 16 == 4 * process) {
                        trouble.begin(&mut rng);
                    }
                    let prepares = can_prepare && rng.random();
                    let name = prepares.then(|| format!("{process} {n}"));
                    let steps = steps(&mut rng, reads, next);
                    recorder.note("invoke", process, &invoked(&steps));
                    match run(begin(), reads, &steps, name) {
                        Ok(seen) => recorder.note("ok", process, &seen),
                        Err(e) if is_conflict(&e) => {
                            recorder.note("fail", process, &invoked(&steps));
                        }
                        Err(e) => {
                            let trouble = trouble.unwrap_or_else(|| panic!("{steps:?}: {e}"));
                            recorder.note("fail", process, &invoked(&steps));
                            trouble.end(&e);
                        }
                    }
                }
            });
        }
    });
    // Nothing that was acknowledged is lost.
    let all: Vec<_> = (0..KEYS).map(|key| Step::Read { key }).collect();
    recorder.note("invoke", THREADS, &invoked(&all));
    let seen = run(begin(), reads, &all, None).expect("nobody else is there");
    recorder.note("ok", THREADS, &seen);
    recorder
}

fn options(protocol: CommitProtocol) -> Options {
    let mut options = tiny_on(MemFs::new());
    options.set_commit_protocol(protocol);
    options
}

/// [`options`] of a database whose files may fail.
fn fallible(protocol: CommitProtocol) -> (Options, FaultFs) {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let mut options = options(protocol);
    options.set_fs(Arc::new(fs.clone()));
    (options, fs)
}

/// Write options of a transaction, one in two of which is durable.
fn durable_or_not() -> WriteOptions {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = WriteOptions::default();
    options.set_sync(COUNT.fetch_add(1, Ordering::Relaxed).is_multiple_of(2));
    options
}

/// The report on a history of pessimistic transactions.
fn pessimistic(
    seed: u64,
    protocol: CommitProtocol,
    policy: WritePolicy,
    (reads, model): (Reads, &str),
    change: impl Fn(&mut TransactionDBOptions),
) -> Report {
    let mut txn_db = TransactionDBOptions::default();
    txn_db.set_write_policy(policy);
    change(&mut txn_db);
    let db: TransactionDB<MultiThreaded> =
        TransactionDB::open(&options(protocol), &txn_db, Path::new(DIR)).unwrap();
    let mut txn = TransactionOptions::default();
    txn.set_snapshot(reads == Reads::AtSnapshot);
    txn.set_deadlock_detect(true);
    let begin = || db.transaction_opt(&WriteOptions::default(), &txn);
    record(seed, reads, true, &begin, None).check(model)
}

/// The report on a history of optimistic transactions.
fn optimistic(seed: u64, protocol: CommitProtocol, reads: Reads, model: &str) -> Report {
    let db: OptimisticTransactionDB<MultiThreaded> =
        OptimisticTransactionDB::open(&options(protocol), Path::new(DIR)).unwrap();
    let mut txn = OptimisticTransactionOptions::default();
    txn.set_snapshot(reads == Reads::AtSnapshot);
    let begin = || db.transaction_opt(&WriteOptions::default(), &txn);
    record(seed, reads, false, &begin, None).check(model)
}

/// The commit protocols with the write policies that they go with.
fn combinations() -> impl Iterator<Item = (CommitProtocol, WritePolicy)> {
    use WritePolicy::{WriteCommitted, WritePrepared};
    let both = [WriteCommitted, WritePrepared].into_iter();
    let strict = strict_protocols().into_iter();
    strict.flat_map(move |protocol| both.clone().map(move |policy| (protocol, policy)))
}

/// What is promised: how transactions read, and the level that follows.
const PROMISES: [(Reads, &str); 3] = [
    (Reads::ForUpdate, "strict-serializable"),
    (Reads::AtSnapshot, "snapshot-isolation"),
    (Reads::Plain, "read-committed"),
];

#[test]
fn pessimistic_transactions_are_as_isolated_as_their_reads_promise() {
    const TEST: &str = "pessimistic_transactions_are_as_isolated_as_their_reads_promise";
    campaign(TEST, 1, 3, |seed| {
        for (protocol, policy) in combinations() {
            for promise in PROMISES {
                let report = pessimistic(seed, protocol, policy, promise, |_| {});
                assert_eq!(
                    report.valid,
                    Valid::True,
                    "{protocol} {policy} {promise:?}: {report:#?}"
                );
            }
        }
    });
}

/// The same over unordered commit, where what is not inserted yet is undecided.
#[test]
fn pessimistic_transactions_over_unordered_commit_are_isolated_under_write_prepared() {
    const TEST: &str =
        "pessimistic_transactions_over_unordered_commit_are_isolated_under_write_prepared";
    campaign(TEST, 1, 6, |seed| {
        for promise in PROMISES {
            let (protocol, policy) = (CommitProtocol::Unordered, WritePolicy::WritePrepared);
            let report = pessimistic(seed, protocol, policy, promise, |_| {});
            assert_eq!(report.valid, Valid::True, "{promise:?}: {report:#?}");
        }
    });
}

#[test]
fn optimistic_transactions_are_as_isolated_as_their_reads_promise() {
    const TEST: &str = "optimistic_transactions_are_as_isolated_as_their_reads_promise";
    campaign(TEST, 1, 3, |seed| {
        for protocol in strict_protocols() {
            for (reads, model) in PROMISES {
                let report = optimistic(seed, protocol, reads, model);
                assert_eq!(
                    report.valid,
                    Valid::True,
                    "{protocol:?} {model}: {report:#?}"
                );
            }
        }
    });
}

/// Whether one of the histories is not as isolated as `model`.
fn is_missed(model: &str, history: impl Fn(u64) -> Report) -> bool {
    (1..=20).any(|seed| {
        let report = history(seed);
        assert_ne!(report.valid, Valid::Unknown, "{model}: {report:#?}");
        report.valid == Valid::False
    })
}

#[test]
fn without_key_locks_updates_are_lost() {
    for policy in [WritePolicy::WriteCommitted, WritePolicy::WritePrepared] {
        let history = |seed| {
            let promise = (Reads::ForUpdate, "read-committed");
            pessimistic(seed, CommitProtocol::Ordered, policy, promise, |o| {
                o.set_skip_concurrency_control(true);
            })
        };
        assert!(is_missed("read-committed", history), "{policy}");
    }
}

#[test]
fn reads_at_a_snapshot_allow_write_skew_and_plain_ones_more() {
    const ORDERED: CommitProtocol = CommitProtocol::Ordered;
    for more in [
        (Reads::AtSnapshot, "serializable"),
        (Reads::Plain, "snapshot-isolation"),
    ] {
        let (reads, model) = more;
        let history = |seed| optimistic(seed, ORDERED, reads, model);
        assert!(is_missed(model, history), "optimistic, {model}");
        for policy in [WritePolicy::WriteCommitted, WritePolicy::WritePrepared] {
            let history = |seed| pessimistic(seed, ORDERED, policy, more, |_| {});
            assert!(is_missed(model, history), "{policy}, {model}");
        }
    }
}

/// The log fails in the middle, and the database goes on after a resumption. What has failed is
/// not seen, and what was acknowledged is not lost.
#[test]
fn histories_with_failed_log_writes_are_as_isolated() {
    const TEST: &str = "histories_with_failed_log_writes_are_as_isolated";
    let failures = &AtomicU64::new(0);
    campaign(TEST, 1, 2, |seed| {
        for protocol in strict_protocols() {
            for promise in PROMISES {
                let report = optimistic_in_trouble(seed, protocol, promise, failures);
                let what = format!("{protocol} {promise:?}: {report:#?}");
                assert_eq!(report.valid, Valid::True, "{what}");
            }
        }
        for combination in combinations() {
            for promise in PROMISES {
                let report = pessimistic_in_trouble(seed, combination, promise, failures);
                let what = format!("{combination:?} {promise:?}: {report:#?}");
                assert_eq!(report.valid, Valid::True, "{what}");
            }
        }
    });
    assert!(failures.load(Ordering::Relaxed) > 0, "nothing has failed");
}

fn pessimistic_in_trouble(
    seed: u64,
    (protocol, policy): (CommitProtocol, WritePolicy),
    (reads, model): (Reads, &str),
    failures: &AtomicU64,
) -> Report {
    let (options, fs) = fallible(protocol);
    let mut of_db = TransactionDBOptions::default();
    of_db.set_write_policy(policy);
    let db: TransactionDB<MultiThreaded> =
        TransactionDB::open(&options, &of_db, Path::new(DIR)).unwrap();
    let mut txn = TransactionOptions::default();
    txn.set_snapshot(reads == Reads::AtSnapshot);
    txn.set_deadlock_detect(true);
    let begin = || db.transaction_opt(&durable_or_not(), &txn);
    let trouble = Trouble {
        fs: &fs,
        resume: &|| db.resume(),
        failures,
    };
    record(seed, reads, false, &begin, Some(&trouble)).check(model)
}

fn optimistic_in_trouble(
    seed: u64,
    protocol: CommitProtocol,
    (reads, model): (Reads, &str),
    failures: &AtomicU64,
) -> Report {
    let (options, fs) = fallible(protocol);
    let db: OptimisticTransactionDB<MultiThreaded> =
        OptimisticTransactionDB::open(&options, Path::new(DIR)).unwrap();
    let mut txn = OptimisticTransactionOptions::default();
    txn.set_snapshot(reads == Reads::AtSnapshot);
    let begin = || db.transaction_opt(&durable_or_not(), &txn);
    let trouble = Trouble {
        fs: &fs,
        resume: &|| db.resume(),
        failures,
    };
    record(seed, reads, false, &begin, Some(&trouble)).check(model)
}
