//! Savepoints: batch, snapshot and locks as they were.

use super::{State, Transaction};
use crate::snapshots::SnapshotGuard;
use crate::txn::errors::no_savepoint;
use crate::txn::policy::Taken;
use crate::txn::tracker::Tracker;
use std::sync::Arc;
use whitewater_storage::{Error, Result, planted};

/// What a transaction goes back to.
#[derive(Debug)]
pub(super) struct Savepoint {
    snapshot: Option<Arc<SnapshotGuard>>,
    snapshot_wanted: bool,
    /// The uses of keys since.
    pub since: Tracker,
}

impl Transaction {
    /// Remembers how the transaction is now.
    pub fn set_savepoint(&self) {
        let inner = &mut *self.inner.borrow_mut();
        inner.batch.set_savepoint();
        inner.savepoints.push(Savepoint {
            snapshot: inner.snapshot.clone(),
            snapshot_wanted: inner.snapshot_wanted,
            since: Tracker::default(),
        });
    }

    /// Goes back to the last savepoint, which is gone then: what was written since, the snapshot,
    /// and the locks of keys that were only used since.
    ///
    /// # Errors
    /// `NotFound` without a savepoint; `InvalidArgument` after prepare and commit.
    pub fn rollback_to_savepoint(&self) -> Result<()> {
        let inner = &mut *self.inner.borrow_mut();
        if inner.state != State::Started {
            return Err(Error::invalid("Transaction is beyond state for rollback."));
        }
        let savepoint = inner.savepoints.pop().ok_or_else(no_savepoint)?;
        let mut unused = inner.tracker.used_only_in(&savepoint.since);
        planted!(SavepointForgetsLock => unused.clear());
        planted!(SavepointUnlocksAll => unused = savepoint.since.used_only_in(&savepoint.since));
        for (family, key) in unused {
            self.policy.give_back(family, &key, Taken::Lock);
        }
        inner.tracker.subtract(&savepoint.since);
        inner.snapshot = savepoint.snapshot;
        inner.snapshot_wanted = savepoint.snapshot_wanted;
        inner.batch.rollback_to_savepoint()
    }

    /// Forgets the last savepoint, and keeps what came since.
    ///
    /// # Errors
    /// `NotFound` without a savepoint.
    pub fn pop_savepoint(&self) -> Result<()> {
        let inner = &mut *self.inner.borrow_mut();
        let popped = inner.savepoints.pop().ok_or_else(no_savepoint)?;
        if let Some(before) = inner.savepoints.last_mut() {
            before.since.merge(&popped.since);
        }
        inner.batch.pop_savepoint()
    }
}
