//! Transactions, as workloads use them, and how they ended.

use serde_json::{Value, json};

use super::engine::Failure;
use super::perf::Measured;

/// The name that engines have for the number of waits for locks of keys.
const LOCK_WAITS: &str = "key_lock_wait_count";

/// Why an engine gave up a transaction that may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// Another transaction has changed a key since this one's snapshot, or there was a
    /// deadlock.
    Busy,
    /// Another transaction had a key locked for too long.
    TimedOut,
    /// The engine could not tell whether keys have been changed.
    TryAgain,
}

/// Why a call of a transaction did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The transaction may be tried again.
    Aborted(Abort),
    /// The run ends.
    Failed(Failure),
}

/// The result of a call of a transaction.
pub type Attempt<T> = std::result::Result<T, Ended>;

/// A transaction. Dropping it rolls it back, unless it is prepared.
pub trait Transaction {
    /// Reads a key.
    ///
    /// # Errors
    /// Any error of the engine.
    fn get(&self, key: &[u8]) -> Attempt<Option<Vec<u8>>>;
    /// Reads a key that must not be changed by others before the commit.
    ///
    /// # Errors
    /// Any error of the engine.
    fn get_for_update(&self, key: &[u8]) -> Attempt<Option<Vec<u8>>>;
    /// Puts an entry.
    ///
    /// # Errors
    /// Any error of the engine.
    fn put(&self, key: &[u8], value: &[u8]) -> Attempt<()>;
    /// Deletes a key.
    ///
    /// # Errors
    /// Any error of the engine.
    fn delete(&self, key: &[u8]) -> Attempt<()>;
    /// Prepares it for a commit in two phases. No other live transaction may have the name.
    ///
    /// # Errors
    /// Any error of the engine.
    fn prepare(&self, name: &[u8]) -> Attempt<()>;
    /// Commits it.
    ///
    /// # Errors
    /// Any error of the engine.
    fn commit(self) -> Attempt<()>;
    /// Rolls it back.
    ///
    /// # Errors
    /// Any error of the engine.
    fn roll_back(self) -> Attempt<()>;
}

/// The transaction of a database without transactions.
#[derive(Debug)]
pub enum NoTransaction {}

impl Transaction for NoTransaction {
    fn get(&self, _key: &[u8]) -> Attempt<Option<Vec<u8>>> {
        match *self {}
    }

    fn get_for_update(&self, _key: &[u8]) -> Attempt<Option<Vec<u8>>> {
        match *self {}
    }

    fn put(&self, _key: &[u8], _value: &[u8]) -> Attempt<()> {
        match *self {}
    }

    fn delete(&self, _key: &[u8]) -> Attempt<()> {
        match *self {}
    }

    fn prepare(&self, _name: &[u8]) -> Attempt<()> {
        match *self {}
    }

    fn commit(self) -> Attempt<()> {
        match self {}
    }

    fn roll_back(self) -> Attempt<()> {
        match self {}
    }
}

impl NoTransaction {
    /// Why a database without transactions begins none.
    pub fn failure() -> Failure {
        Failure("the database was opened without transactions".to_owned())
    }
}

/// How the transactions of one thread, or of several, ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endings {
    /// The number of commits.
    pub committed: u64,
    /// The number of transactions that were rolled back as planned.
    pub rolled_back: u64,
    busy: u64,
    timed_out: u64,
    try_again: u64,
}

impl Endings {
    /// Counts a transaction that the engine gave up.
    pub fn add_abort(&mut self, abort: Abort) {
        match abort {
            Abort::Busy => self.busy += 1,
            Abort::TimedOut => self.timed_out += 1,
            Abort::TryAgain => self.try_again += 1,
        }
    }

    /// Adds the transactions of other threads or runs.
    pub fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.busy += other.busy;
        self.timed_out += other.timed_out;
        self.try_again += other.try_again;
    }

    /// The number of transactions that the engine gave up.
    pub fn aborts(&self) -> u64 {
        self.busy + self.timed_out + self.try_again
    }

    /// The number of all transactions.
    pub fn all(&self) -> u64 {
        self.committed + self.rolled_back + self.aborts()
    }

    /// The line below the result line; ends with a newline.
    pub fn line(&self, benchmark: &str, measured: &Measured) -> String {
        let waits = match measured.value(LOCK_WAITS) {
            Some(waits) => waits.to_string(),
            None if measured.is_empty() => "not counted (--perf_level=2 counts them)".to_owned(),
            None => "0".to_owned(),
        };
        format!(
            "{benchmark:<12} : committed {}, rolled back {}, \
             aborts {} (Busy {}, TimedOut {}, TryAgain {}), lock waits {waits}\n",
            self.committed,
            self.rolled_back,
            self.aborts(),
            self.busy,
            self.timed_out,
            self.try_again,
        )
    }

    /// The same counts for a document.
    pub fn json(&self) -> Value {
        json!({
            "committed": self.committed,
            "rolled_back": self.rolled_back,
            "busy": self.busy,
            "timed_out": self.timed_out,
            "try_again": self.try_again,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_add_up() {
        let mut all = Endings {
            committed: 3,
            ..Endings::default()
        };
        for abort in [Abort::Busy, Abort::TimedOut, Abort::Busy, Abort::TryAgain] {
            all.add_abort(abort);
        }
        all.add(Endings {
            rolled_back: 2,
            ..all
        });
        assert_eq!((all.aborts(), all.all()), (8, 16));
        assert_eq!(
            all.line("x", &Measured::parse("key_lock_wait_count = 9")),
            "x            : committed 6, rolled back 2, \
             aborts 8 (Busy 4, TimedOut 2, TryAgain 2), lock waits 9\n"
        );
        let line = all.line("x", &Measured::default());
        assert!(line.contains("lock waits not counted"), "{line}");
        let line = all.line("x", &Measured::parse("get_read_bytes = 9"));
        assert!(line.ends_with("lock waits 0\n"), "{line}");
        assert_eq!(all.json()["timed_out"], 2);
    }
}
