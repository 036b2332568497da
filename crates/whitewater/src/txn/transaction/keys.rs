//! Using keys: locking them, and checking that they have not changed.

use super::{Inner, Transaction};
use crate::column_family::ColumnFamilyData;
use crate::snapshots::ReadPoint;
use crate::txn::errors::conflict;
use crate::txn::policy::Taken;
use crate::txn::tracker::{TakenBack, Tracked, Use};
use std::sync::Arc;
use whitewater_concurrent::key_locks::LockMode;
use whitewater_storage::key::{MAX_SEQUENCE, SequenceNumber};
use whitewater_storage::{Result, planted};

/// How a key is used.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyUse {
    /// A read for update; otherwise a write.
    pub read_only: bool,
    pub exclusive: bool,
    /// Whether a change since the snapshot is a conflict.
    pub validate: bool,
}

impl Transaction {
    /// Locks `key` and checks that it has not changed since the snapshot, if there is one. An
    /// optimistic transaction notes what is to be checked at its commit.
    ///
    /// # Errors
    /// Errors of locking; `Busy` if the key has changed. The key is locked as it was before then.
    pub(super) fn use_key(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        how: KeyUse,
    ) -> Result<()> {
        if self.policy.is_unlocked() {
            return Ok(());
        }
        // RocksDB's untracked writes: they are not checked later, either.
        if self.policy.validates_at_commit() && !how.read_only && !how.validate {
            return Ok(());
        }
        let known = self.inner.borrow().tracker.get(cf.id, key);
        let mode = match how.exclusive {
            true => LockMode::Exclusive,
            false => LockMode::Shared,
        };
        let held = known.map(|known| match known.exclusive {
            true => LockMode::Exclusive,
            false => LockMode::Shared,
        });
        let taken = self.policy.take(cf.id, key, held, mode)?;
        self.take_snapshot_if_wanted();
        let valid_at = match self.valid_at(cf, key, known, how.validate) {
            Ok(valid_at) => valid_at,
            Err(e) => {
                self.policy.give_back(cf.id, key, taken);
                return Err(e);
            }
        };
        let used = Use {
            valid_at,
            read_only: how.read_only,
            exclusive: how.exclusive,
        };
        let inner = &mut *self.inner.borrow_mut();
        inner.tracker.track(cf.id, key, used);
        if let Some(savepoint) = inner.savepoints.last_mut() {
            savepoint.since.track(cf.id, key, used);
        }
        Ok(())
    }

    fn take_snapshot_if_wanted(&self) {
        let wanted = self.inner.borrow().snapshot_wanted;
        if wanted {
            self.set_snapshot();
        }
    }

    /// A number since which `key`, which is locked, has not been changed by others.
    fn valid_at(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        known: Option<Tracked>,
        validate: bool,
    ) -> Result<SequenceNumber> {
        let known = known.map_or(MAX_SEQUENCE, |known| known.valid_at);
        if self.policy.validates_at_commit() {
            return Ok(known.min(self.unchanged_since()));
        }
        let inner = self.inner.borrow();
        let point = inner.snapshot.as_ref().map(|snapshot| snapshot.point());
        if validate {
            self.check_newest_version(&inner, cf, key)?;
        }
        let Some(point) = point.filter(|_| validate) else {
            // It has not been changed since it was locked.
            return Ok(known.min(self.latest_after(point)));
        };
        if known > point.sequence {
            planted!(ChangeBeforeLockMissed => return Ok(point.sequence));
            // Nobody else can change it now.
            if self.engine.changed_since(cf, key, point)? {
                return Err(conflict());
            }
        }
        Ok(known.min(point.sequence))
    }

    /// The newest visible number, or a larger one: above that of `point` if what was undecided
    /// there may have been decided since, for which no new number is needed.
    fn latest_after(&self, point: Option<&ReadPoint>) -> SequenceNumber {
        let latest = self.engine.latest_sequence_number();
        match point {
            Some(point) if point.undecided.is_some() => latest.max(point.sequence + 1),
            _ => latest,
        }
    }

    /// The number since which others must not change a key that is used now: the snapshot's, or
    /// that of the newest write that a read would see.
    fn unchanged_since(&self) -> SequenceNumber {
        let inner = &mut *self.inner.borrow_mut();
        self.keep_boundary(inner);
        match &inner.snapshot {
            Some(snapshot) => snapshot.sequence(),
            None => self.engine.latest_sequence_number(),
        }
    }

    /// Takes one read for update of `key` back, and unlocks the key if it was the only use. Reads
    /// before the last savepoint cannot be taken back.
    pub fn undo_get_for_update(&self, cf: &Arc<ColumnFamilyData>, key: &[u8]) {
        let inner = &mut *self.inner.borrow_mut();
        let since = inner.savepoints.last_mut().map(|s| &mut s.since);
        let was_since = since.is_none_or(|s| s.take_back(cf.id, key) != TakenBack::Nothing);
        if was_since && inner.tracker.take_back(cf.id, key) == TakenBack::Last {
            self.policy.give_back(cf.id, key, Taken::Lock);
        }
    }

    /// Forgets all keys, and unlocks them.
    pub(super) fn release_keys(&self, inner: &mut Inner) {
        for (family, key, _) in inner.tracker.iter() {
            self.policy.give_back(family, key, Taken::Lock);
        }
        inner.tracker.clear();
    }
}
