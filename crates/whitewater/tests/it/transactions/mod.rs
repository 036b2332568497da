//! Transactions: what RocksDB's tests of them show, and the `rocksdb` crate's.
//!
//! * `locks`: who gets a key, and who does not; `lock_races`; `deadlocks`.
//! * `snapshots`: what conflicts; `validation`: where it is looked for.
//! * `own_writes`: batch over database; `iterators`; `savepoints`.
//! * `endings`: commit, rollback, expiration, names; `outside`: writes outside of transactions.
//! * `policies`: write policies, and what they refuse; `inserted_early`: `WRITE_PREPARED`;
//!   `kept_undecided`: what tables have of it.
//! * `two_phase`: prepare, commit and rollback; `recovered`: what is left of them after a crash.
//! * `undecided`: what `WRITE_PREPARED` has in memtables and tables before a commit.
//! * `unordered`: the same over unordered commit.
//! * `purged`: what is left of them when memtables are purged.
//! * `undecided_locks`: the locks of prepared transactions that nobody has.
//! * `simulated`: many threads; `isolation`: their histories, checked; `model`: random calls.
//! * `optimistic`: transactions that lock nothing.
//! * `stamps`: keys with timestamps.
//! * `families`: column families; `whole_database`: everything that is not about transactions.

/// Runs tests of a file with `WRITE_PREPARED`, too: what users of transactions see does not depend
/// on the policy. `policies` sees to it that no test is forgotten.
macro_rules! with_write_prepared {
    ($($test:ident),* $(,)?) => {
        mod write_prepared {
            $(
                #[test]
                fn $test() {
                    let policy = whitewater::WritePolicy::WritePrepared;
                    $crate::transactions::with_policy(policy, super::$test);
                }
            )*
        }
    };
}

mod closing;
mod deadlocks;
mod endings;
mod families;
mod inserted_early;
mod isolation;
mod iterators;
mod kept_undecided;
mod lock_races;
mod locks;
mod model;
mod optimistic;
mod outside;
mod own_writes;
mod policies;
mod purged;
mod recovered;
mod retention;
mod savepoints;
mod simulated;
mod snapshots;
mod stalls;
mod stamps;
mod two_phase;
mod undecided;
mod undecided_locks;
mod unordered;
mod validation;
mod whole_database;

use crate::harness::{tiny_on, views_hold};
use std::cell::Cell;
use std::path::Path;
use whitewater::fs::mem::MemFs;
use whitewater::{
    CommitProtocol, Error, ErrorKind, MultiThreaded, Options, Transaction, TransactionDB,
    TransactionDBOptions, TransactionOptions, WriteOptions, WritePolicy,
};

/// The database type of these tests.
type TxnDb = TransactionDB<MultiThreaded>;

/// A transaction of it.
type Txn<'a> = Transaction<'a, TxnDb>;

/// Where databases are.
const DIR: &str = "/data/db";

/// The text of a lock that was not had in time.
const TIMED_OUT: &str = "Operation timed out: Timeout waiting to lock key";

/// The text of a transaction that has expired.
const EXPIRED: &str = "Operation expired: ";

/// The text of a conflict.
const BUSY: &str = "Resource busy: ";

thread_local! {
    /// The write policy of what tests on this thread open.
    static POLICY: Cell<WritePolicy> = const { Cell::new(WritePolicy::WriteCommitted) };
}

/// Runs `test`, which opens its databases on this thread, with a write policy.
fn with_policy(policy: WritePolicy, test: impl FnOnce()) {
    POLICY.set(policy);
    test();
}

/// Options of databases with transactions.
fn txn_db_options() -> TransactionDBOptions {
    let mut o = TransactionDBOptions::default();
    o.set_write_policy(POLICY.get());
    o
}

/// Options of a database in memory.
fn options() -> Options {
    options_on(MemFs::new())
}

/// Options of a database on `fs`.
fn options_on(fs: MemFs) -> Options {
    let mut o = tiny_on(fs);
    if !views_hold() {
        o.set_commit_protocol(CommitProtocol::Ordered);
    }
    o
}

/// Options by which nobody waits long for a lock.
fn impatient() -> TransactionDBOptions {
    let mut o = txn_db_options();
    o.set_default_lock_timeout(1);
    o.set_txn_lock_timeout(1);
    o
}

/// A new database in memory, in which nobody waits long for a lock.
fn open() -> TxnDb {
    open_with(&options())
}

fn open_with(options: &Options) -> TxnDb {
    TxnDb::open(options, &impatient(), Path::new(DIR)).unwrap()
}

/// Begins a transaction with options that `set` changes.
fn begin(db: &TxnDb, set: impl FnOnce(&mut TransactionOptions)) -> Txn<'_> {
    let mut options = TransactionOptions::default();
    set(&mut options);
    db.transaction_opt(&WriteOptions::default(), &options)
}

/// Begins a transaction with a snapshot.
fn with_snapshot(db: &TxnDb) -> Txn<'_> {
    begin(db, |o| o.set_snapshot(true))
}

/// The text of the error that `result` is.
#[track_caller]
fn text<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(e) => e.into_string(),
    }
}

/// The kind of the error that `result` is.
#[track_caller]
fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(e) => e.kind(),
    }
}

/// A value as text.
fn shown(found: Result<Option<Vec<u8>>, Error>) -> Option<String> {
    found.unwrap().map(|v| String::from_utf8(v).unwrap())
}

/// The value of `key` in the database.
fn value(db: &TxnDb, key: &str) -> Option<String> {
    shown(db.get(key))
}
