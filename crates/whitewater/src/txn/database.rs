//! What the transactions of one database share: key locks, and names.
//!
//! Invariants:
//! * K3: a key is unlocked only after what was written under its lock is visible, or nothing was
//!   written: [`HeldKeys`] lives until the write has been acknowledged, and a transaction gives
//!   its locks back behind its commit.
//! * K6: a prepared transaction holds its locks until it is decided, whether somebody has it or
//!   not. Those of one that is dropped, also because its commit has failed, stay with it in the
//!   list of undecided ones. Those of one that an opening has found are taken before anybody else
//!   can lock a key: the keys that it writes; what it has only read for update is not known.
//! * X9: a name has one live transaction. A prepared transaction keeps its name until it is
//!   decided, whether somebody has it or not.

use super::errors::{not_locked, written_in_parts};
use super::names::Names;
use super::options::TransactionDbSpec;
use super::tracker::{Tracker, Use};
use crate::db::Engine;
use crate::db::two_phase::PreparedSection;
use crate::options::DbOptions;
use crate::perf_context::{self, PerfMetric};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use whitewater_concurrent::key_locks::{
    KeyLocks, KeyLocksConfig, LockMode, LockOwner, Timeout, Wait,
};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::batch::Op;
use whitewater_storage::{Result, planted};

/// A database with pessimistic transactions.
#[derive(Debug)]
pub(crate) struct TransactionDb {
    pub(super) engine: Arc<Engine>,
    pub(super) locks: KeyLocks,
    spec: TransactionDbSpec,
    /// The id of the owner of locks that was made last.
    /// Written by: threads that make an owner. Publishes nothing (relaxed).
    last_id: AtomicU64,
    /// The names of live transactions.
    names: Names,
    /// Prepared transactions that nobody has: recovery has found them, or they were dropped.
    undecided: Mutex<Vec<UndecidedTransaction>>,
}

/// A prepared transaction that nobody has.
#[derive(Debug)]
pub(crate) struct UndecidedTransaction {
    pub section: PreparedSection,
    /// Holds the locks of `keys` (K6).
    pub owner: Arc<LockOwner>,
    pub keys: Tracker,
    /// How it waits for more, if it reads for update.
    pub wait: Wait,
}

impl TransactionDb {
    /// Sets what `options` of a database that is to have transactions must have.
    ///
    /// # Errors
    /// `NotSupported` for a commit protocol that the write policy cannot be combined with, and
    /// for transactions that are written in parts.
    pub fn prepare_options(options: &mut DbOptions, spec: &TransactionDbSpec) -> Result<()> {
        spec.write_policy.check_protocol(options.protocol())?;
        if spec.default_write_batch_flush_threshold > 0 {
            return Err(written_in_parts("default_write_batch_flush_threshold"));
        }
        options.write_policy = spec.write_policy;
        options.allow_2pc = true;
        Ok(())
    }

    /// Transactions for `engine`, whose options were [prepared](Self::prepare_options).
    pub fn new(engine: Arc<Engine>, spec: TransactionDbSpec) -> Arc<Self> {
        engine.info_log().warn(&format!(
            "Transaction write_policy is {}",
            spec.write_policy as i32
        ));
        let locks = KeyLocks::new(KeyLocksConfig {
            stripes: spec.num_stripes,
            max_locks: u64::try_from(spec.max_num_locks).ok().filter(|n| *n > 0),
        });
        for cf in engine.column_families() {
            locks.add_family(cf.id);
        }
        let sections = engine.prepared_sections();
        let names = Names::default();
        for section in &sections {
            names.insert(section.name().into());
        }
        let made = TransactionDb {
            names,
            undecided: Mutex::new(Vec::new()),
            engine,
            locks,
            spec,
            last_id: AtomicU64::new(0),
        };
        let found = sections.into_iter().map(|section| made.found(section));
        let found = found.collect();
        *made.undecided.lock() = found;
        Arc::new(made)
    }

    /// The transaction whose section an opening has found. Its keys are locked for it (K6).
    fn found(&self, section: PreparedSection) -> UndecidedTransaction {
        let owner = self.new_owner(None);
        let mut keys = Tracker::default();
        let used = Use {
            valid_at: self.engine.latest_sequence_number(),
            read_only: false,
            exclusive: true,
        };
        let mut unlocked = self.spec.skip_concurrency_control;
        planted!(FoundUnlocked => unlocked = true);
        for op in section.batch().ops() {
            // Recovery has read all of them. Locks are of keys without timestamps.
            if let Ok(Op::Entry { cf, key, .. }) = op
                && let len = key.len().saturating_sub(self.engine.timestamp_size(cf))
                && let key = &key[..len]
                && !unlocked
                && self.locks.restore(&owner, cf, key)
            {
                keys.track(cf, key, used);
            }
        }
        let wait = Wait {
            timeout: timeout(self.spec.txn_lock_timeout),
            deadlock_depth: None,
        };
        UndecidedTransaction {
            section,
            owner,
            keys,
            wait,
        }
    }

    /// The options.
    pub fn spec(&self) -> &TransactionDbSpec {
        &self.spec
    }

    /// The key locks.
    pub fn locks(&self) -> &KeyLocks {
        &self.locks
    }

    /// Lets keys of a column family be locked.
    pub fn add_family(&self, id: u32) {
        self.locks.add_family(id);
    }

    /// Forgets the locks of a column family.
    pub fn remove_family(&self, id: u32) {
        self.locks.remove_family(id);
    }

    /// An owner of locks.
    pub(super) fn new_owner(&self, expiration: Option<Instant>) -> Arc<LockOwner> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(LockOwner::new(id, expiration))
    }

    /// Locks a key for `owner`.
    ///
    /// # Errors
    /// Those of [`not_locked`]. Nothing has changed then.
    pub(super) fn lock(
        &self,
        owner: &Arc<LockOwner>,
        family: u32,
        key: &[u8],
        mode: LockMode,
        wait: &Wait,
    ) -> Result<()> {
        let before = owner.waits();
        let locked = self.locks.lock(owner, family, key, mode, wait);
        let after = owner.waits();
        if after.0 > before.0 {
            let nanos = (after.1 - before.1).as_nanos();
            perf_context::count(PerfMetric::KeyLockWaitCount, after.0 - before.0);
            perf_context::count(
                PerfMetric::KeyLockWaitTime,
                u64::try_from(nanos).unwrap_or(u64::MAX),
            );
        }
        locked.map_err(|e| not_locked(e, family))
    }

    /// Takes `name` for a live transaction. Returns whether it was free.
    pub(super) fn take_name(&self, name: &Arc<[u8]>) -> bool {
        planted!(NameGivenTwice => return true);
        self.names.insert(name.clone())
    }

    /// Keeps a prepared transaction that is dropped.
    pub(super) fn leave_undecided(&self, left: UndecidedTransaction) {
        self.undecided.lock().push(left);
    }

    /// Takes the prepared transactions that nobody has, by name.
    pub fn take_undecided(&self) -> Vec<UndecidedTransaction> {
        let mut all = std::mem::take(&mut *self.undecided.lock());
        all.sort_by(|a, b| a.section.name().cmp(b.section.name()));
        all
    }

    /// Gives `name` back.
    pub(super) fn free_name(&self, name: &[u8]) {
        self.names.remove(name);
    }
}

/// How long `millis` are: below 0 is for ever.
pub(super) fn timeout(millis: i64) -> Timeout {
    match u64::try_from(millis) {
        Ok(0) => Timeout::No,
        Ok(millis) => Timeout::For(Duration::from_millis(millis)),
        Err(_) => Timeout::Forever,
    }
}

/// Keys that are locked for one write outside of transactions. Unlocks them when it is dropped.
pub(super) struct HeldKeys<'a> {
    db: &'a TransactionDb,
    owner: Arc<LockOwner>,
    keys: Vec<(u32, &'a [u8])>,
}

impl<'a> HeldKeys<'a> {
    /// Locks `keys`, which ascend, one after the other.
    ///
    /// # Errors
    /// Errors of [`TransactionDb::lock`]. Nothing is locked then.
    pub fn lock(db: &'a TransactionDb, keys: Vec<(u32, &'a [u8])>) -> Result<Self> {
        let wait = Wait {
            timeout: timeout(db.spec.default_lock_timeout),
            deadlock_depth: None,
        };
        let mut held = HeldKeys {
            db,
            owner: db.new_owner(None),
            keys: Vec::with_capacity(keys.len()),
        };
        for (family, key) in keys {
            db.lock(&held.owner, family, key, LockMode::Exclusive, &wait)?;
            held.keys.push((family, key));
        }
        Ok(held)
    }
}

impl Drop for HeldKeys<'_> {
    fn drop(&mut self) {
        for (family, key) in &self.keys {
            self.db.locks.unlock(&self.owner, *family, key);
        }
    }
}
