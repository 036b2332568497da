//! One transaction: what it has written, what it has locked, and how it ends.
//!
//! It is used by one thread at a time; that is why its methods take `&self` and its state is in
//! cells.
//!
//! * here: making one, its snapshot, its name; `keys`: locking and validating keys;
//! * `writes`: puts, deletions, merges; `reads`: look-ups and iterators over batch and database;
//! * `savepoints`; `stamps`: timestamps; `ending`: prepare, commit, rollback, and being dropped.
//!
//! Invariant X10: what a transaction writes is one batch, or one section and its commit, so its
//! effects are visible at one number.
//!
//! No number since which a key must not have changed is below the transaction's write-conflict
//! boundary, which is taken before the first of them and lives as long as the last (X6 of
//! `snapshots`).

mod ending;
mod keys;
mod reads;
mod savepoints;
mod stamps;
mod writes;

pub(crate) use reads::ForUpdate;
pub(crate) use writes::Conflicts;

use super::database::{TransactionDb, UndecidedTransaction};
use super::indexed_batch::IndexedBatch;
use super::optimistic::{Optimistic, OptimisticDb};
use super::options::TransactionSpec;
use super::policy::{Pessimistic, Policy};
use super::tracker::Tracker;
use crate::db::Engine;
use crate::db::two_phase::PreparedSection;
use crate::options::read::WriteSpec;
use crate::snapshots::{BoundaryGuard, SnapshotGuard};
use savepoints::Savepoint;
use stamps::Stamps;
use std::cell::RefCell;
use std::sync::Arc;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::{Error, Result};

/// The longest name of a transaction. Bytes.
const LONGEST_NAME: usize = 512;

/// A transaction.
#[derive(Debug)]
pub(crate) struct Transaction {
    engine: Arc<Engine>,
    policy: Policy,
    write_spec: WriteSpec,
    /// Bytes; 0 is no limit.
    max_write_batch_size: usize,
    /// Whether a commit needs no prepare.
    skip_prepare: bool,
    /// Whether it asks to be written in parts, and so is refused.
    in_parts: bool,
    inner: RefCell<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// Given once at most.
    name: Option<Arc<[u8]>>,
    batch: IndexedBatch,
    /// What was prepared, if the state is that.
    section: Option<PreparedSection>,
    /// Operations that the commit of a prepared transaction adds.
    commit_time: Batch,
    tracker: Tracker,
    savepoints: Vec<Savepoint>,
    snapshot: Option<Arc<SnapshotGuard>>,
    /// At or below the snapshot, those of savepoints, and the numbers in `tracker`.
    boundary: Option<BoundaryGuard>,
    /// Whether the next use of a key takes a snapshot.
    snapshot_wanted: bool,
    stamps: Stamps,
}

/// How far a transaction is. A call on it sees no state between these. Whether its locks were
/// stolen, the owner of the locks knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Started,
    /// The section is in the log.
    Prepared,
    Committed,
    /// It was prepared before. Otherwise it is as new.
    RolledBack,
}

impl Transaction {
    /// A transaction that locks what it uses.
    pub fn pessimistic(
        db: &Arc<TransactionDb>,
        write_spec: &WriteSpec,
        spec: &TransactionSpec,
    ) -> Self {
        let policy = Policy::Pessimistic(Pessimistic::new(db.clone(), spec));
        Self::new(db.engine.clone(), policy, write_spec, spec)
    }

    /// A transaction that locks nothing.
    pub fn optimistic(
        db: &Arc<OptimisticDb>,
        write_spec: &WriteSpec,
        spec: &TransactionSpec,
    ) -> Self {
        let policy = Policy::Optimistic(Optimistic::new(db.clone()));
        Self::new(db.engine().clone(), policy, write_spec, spec)
    }

    /// A prepared transaction that nobody has, with the locks that it holds.
    pub fn undecided(db: &Arc<TransactionDb>, left: UndecidedTransaction) -> Self {
        let UndecidedTransaction {
            section,
            owner,
            keys,
            wait,
        } = left;
        let policy = Policy::Pessimistic(Pessimistic::with(db.clone(), owner, wait));
        let write_spec = WriteSpec {
            sync: true,
            ..WriteSpec::default()
        };
        let spec = TransactionSpec::default();
        let made = Self::new(db.engine.clone(), policy, &write_spec, &spec);
        let mut inner = made.inner.borrow_mut();
        inner.state = State::Prepared;
        inner.tracker = keys;
        inner.name = Some(section.name().into());
        for op in section.batch().ops() {
            // What cannot be read back is not shown; the section is committed as it is.
            if let Ok(Op::Entry { cf, ty, key, value }) = op
                && let Some(cf) = db.engine.family(cf)
            {
                // The timestamp is the commit's.
                let len = key
                    .len()
                    .saturating_sub(cf.comparator.user.timestamp_size());
                let _ = inner.batch.write(&cf, ty, &key[..len], value);
            }
        }
        inner.section = Some(section);
        drop(inner);
        made
    }

    fn new(
        engine: Arc<Engine>,
        policy: Policy,
        write_spec: &WriteSpec,
        spec: &TransactionSpec,
    ) -> Self {
        let made = Transaction {
            engine,
            policy,
            write_spec: write_spec.clone(),
            max_write_batch_size: spec.max_write_batch_size,
            skip_prepare: spec.skip_prepare,
            in_parts: spec.write_batch_flush_threshold > 0,
            inner: RefCell::new(Inner {
                state: State::Started,
                name: None,
                batch: IndexedBatch::of_transaction(),
                section: None,
                commit_time: Batch::default(),
                tracker: Tracker::default(),
                savepoints: Vec::new(),
                snapshot: None,
                boundary: None,
                snapshot_wanted: false,
                stamps: Stamps::default(),
            }),
        };
        if spec.snapshot {
            made.set_snapshot();
        }
        made
    }

    /// The database.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The id, by which others know who holds a lock.
    pub fn id(&self) -> u64 {
        self.policy.id()
    }

    /// Takes a snapshot, which from now on decides what conflicts.
    pub fn set_snapshot(&self) {
        let mut inner = self.inner.borrow_mut();
        self.keep_boundary(&mut inner);
        inner.snapshot = Some(Arc::new(self.engine.snapshot()));
        inner.snapshot_wanted = false;
    }

    /// Makes sure that changes from now on can be told from older ones.
    fn keep_boundary(&self, inner: &mut Inner) {
        let boundary = || self.engine.write_conflict_boundary();
        inner.boundary.get_or_insert_with(boundary);
    }

    /// Lets the next use of a key take a snapshot, after its lock.
    pub fn set_snapshot_on_next_operation(&self) {
        self.inner.borrow_mut().snapshot_wanted = true;
    }

    /// Gives the snapshot up, so that only what changes after a lock conflicts.
    pub fn clear_snapshot(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.snapshot = None;
        inner.snapshot_wanted = false;
    }

    /// The snapshot, if it has one.
    pub fn snapshot(&self) -> Option<Arc<SnapshotGuard>> {
        self.inner.borrow().snapshot.clone()
    }

    /// Sets how long later locks are waited for, if there are any. Milliseconds; below 0 is for
    /// ever.
    pub fn set_lock_timeout(&self, millis: i64) {
        if let Some(this) = self.policy.pessimistic() {
            this.set_lock_timeout(millis);
        }
    }

    /// The name; empty until it has one.
    pub fn name(&self) -> Vec<u8> {
        self.inner
            .borrow()
            .name
            .as_deref()
            .unwrap_or_default()
            .to_vec()
    }

    /// Gives the transaction a name, which it needs to be prepared.
    ///
    /// # Errors
    /// `InvalidArgument` if it has one, has ended, or another live transaction has this one, and
    /// for names that are empty or too long; for every name if the transaction is optimistic.
    pub fn set_name(&self, name: &[u8]) -> Result<()> {
        let mut inner = self.inner.borrow_mut();
        let Policy::Pessimistic(this) = &self.policy else {
            return Err(Error::invalid("Optimistic transactions cannot be named."));
        };
        if inner.state != State::Started || this.is_robbed() {
            return Err(Error::invalid("Transaction is beyond state for naming."));
        }
        if inner.name.is_some() {
            return Err(Error::invalid("Transaction has already been named."));
        }
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(Error::invalid(format_args!(
                "Transaction name length must be between 1 and {LONGEST_NAME} chars."
            )));
        }
        let name = Arc::from(name);
        if !this.db.take_name(&name) {
            return Err(Error::invalid(format_args!(
                "Duplicate txn name {}",
                name.escape_ascii()
            )));
        }
        inner.name = Some(name);
        Ok(())
    }
}
