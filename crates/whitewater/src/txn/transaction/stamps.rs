//! Timestamps of what a transaction writes, for `WRITE_COMMITTED`.
//!
//! The keys of a transaction have no timestamps: not in its batch, its index and its locks. The
//! commit gives all of them its own. So a transaction reads its writes whatever time it reads the
//! database at. A prepared section has zeros there, as in RocksDB, and the commit's marker in the
//! log has the timestamp.

use super::{Inner, Transaction};
use crate::column_family::{ColumnFamilyData, no_timestamp};
use crate::db::timestamps::{Stamped, with_timestamp};
use crate::db::two_phase::PreparedSection;
use crate::options::read::ReadSpec;
use crate::txn::errors::conflict;
use std::sync::Arc;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::{Error, Result, planted};

/// Bytes of the timestamps that transactions give.
const SIZE: usize = size_of::<u64>();

/// That the commit has no timestamp for keys that need one, in RocksDB's words.
const UNSET: &str = "Must assign a commit timestamp";

/// The timestamps that a transaction was given.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Stamps {
    /// That of its writes.
    commit: Option<u64>,
    /// Keys with newer versions conflict.
    read: Option<u64>,
    /// Whether it may have written keys that are to have one.
    pub written: bool,
}

impl Transaction {
    /// Sets the timestamp that the commit gives to keys.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not above the one that keys are validated at; `NotSupported` for
    /// an optimistic transaction.
    pub fn set_commit_timestamp(&self, time: u64) -> Result<()> {
        self.check_takes_timestamps()?;
        let mut inner = self.inner.borrow_mut();
        if inner.stamps.read.is_some_and(|read| time <= read) {
            return Err(Error::invalid(
                "Cannot commit at timestamp smaller than or equal to read timestamp",
            ));
        }
        inner.stamps.commit = Some(time);
        Ok(())
    }

    /// The timestamp that the commit gives to keys, if one was set.
    pub fn commit_timestamp(&self) -> Option<u64> {
        self.inner.borrow().stamps.commit
    }

    /// Sets the timestamp at which keys are validated from now on.
    ///
    /// # Errors
    /// `InvalidArgument` if it is below the one before; `NotSupported` for an optimistic
    /// transaction.
    pub fn set_read_timestamp_for_validation(&self, time: u64) -> Result<()> {
        self.check_takes_timestamps()?;
        let mut inner = self.inner.borrow_mut();
        if inner.stamps.read.is_some_and(|read| time < read) {
            return Err(Error::invalid(
                "Cannot decrease read timestamp for validation",
            ));
        }
        inner.stamps.read = Some(time);
        Ok(())
    }

    fn check_takes_timestamps(&self) -> Result<()> {
        if self.policy.validates_at_commit() {
            return Err(Error::not_supported(
                "timestamps in optimistic transactions",
            ));
        }
        Ok(())
    }

    /// Whether keys of `cf` get timestamps at the commit.
    ///
    /// # Errors
    /// `InvalidArgument` if they have timestamps that a transaction cannot give: in an optimistic
    /// one, and where they have another size.
    pub(super) fn stamps(&self, cf: &ColumnFamilyData) -> Result<bool> {
        match cf.comparator.user.timestamp_size() {
            0 => Ok(false),
            _ if self.policy.validates_at_commit() => Err(no_timestamp(&cf.name)),
            SIZE => Ok(true),
            size => Err(Error::invalid(format_args!(
                "transactions give timestamps of {SIZE} bytes, the keys of column family {} have \
                 timestamps of {size}",
                cf.name
            ))),
        }
    }

    /// Checks that `key` has no version above the timestamp that keys are validated at, if there
    /// is one.
    ///
    /// # Errors
    /// `Busy` if it has; errors of reading tables.
    pub(super) fn check_newest_version(
        &self,
        inner: &Inner,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
    ) -> Result<()> {
        let Some(time) = inner.stamps.read else {
            return Ok(());
        };
        planted!(NewerVersionMissed => return Ok(()));
        if cf.comparator.user.timestamp_size() == SIZE
            && (self.engine).changed_after(cf, key, &time.to_le_bytes())?
        {
            return Err(conflict());
        }
        Ok(())
    }

    /// How a key is read for update: at the timestamp that keys are validated at.
    ///
    /// # Errors
    /// `InvalidArgument` for another timestamp, and if there is none to validate at, or one
    /// without validation.
    pub(super) fn read_for_update(
        &self,
        cf: &ColumnFamilyData,
        spec: &ReadSpec,
        validate: bool,
    ) -> Result<Option<ReadSpec>> {
        if !self.stamps(cf)? {
            return Ok(None);
        }
        let read = self.inner.borrow().stamps.read;
        match read {
            Some(_) if !validate => {
                return Err(Error::invalid(
                    "If do_validate is false then GetForUpdate with read_timestamp is not defined.",
                ));
            }
            None if validate => {
                return Err(Error::invalid("read_timestamp must be set for validation"));
            }
            _ => {}
        }
        let time = read.unwrap_or(u64::MAX).to_le_bytes();
        if spec.timestamp.as_ref().is_some_and(|given| **given != time) {
            return Err(Error::invalid("Must read from the same read_timestamp"));
        }
        Ok(Some(ReadSpec {
            timestamp: Some(time.to_vec()),
            ..spec.clone()
        }))
    }

    /// Whether `batch` has keys with timestamps.
    fn has_stamped(&self, batch: &Batch) -> bool {
        let is_stamped = |op| match op {
            Ok(Op::Entry { cf, .. }) => self.engine.timestamp_size(cf) > 0,
            _ => false,
        };
        batch.ops().any(is_stamped)
    }

    /// The batch with the commit's timestamp behind the keys that have one; `None` if there are
    /// no such keys.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no timestamp for them.
    pub(super) fn stamped_batch(&self, inner: &Inner) -> Result<Option<(Batch, Stamped)>> {
        self.batch_at(inner, inner.stamps.commit)
    }

    /// The batch as it is prepared, with zeros for the timestamps that the commit gives; `None` if
    /// there are no keys with timestamps.
    ///
    /// # Errors
    /// `InvalidArgument` for a key and value that are too long.
    pub(super) fn prepared_batch(&self, inner: &Inner) -> Result<Option<(Batch, Stamped)>> {
        self.batch_at(inner, Some(0))
    }

    fn batch_at(&self, inner: &Inner, time: Option<u64>) -> Result<Option<(Batch, Stamped)>> {
        if !inner.stamps.written {
            return Ok(None);
        }
        let time = time.map(u64::to_le_bytes);
        with_timestamp(
            inner.batch.batch(),
            |cf| self.engine.timestamp_size(cf),
            time.as_ref().map(|time| &time[..]),
            UNSET,
        )
    }

    /// The timestamp for the keys of `section`, if any of them has one.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none for them.
    pub(super) fn section_time(
        &self,
        inner: &Inner,
        section: &PreparedSection,
    ) -> Result<Option<[u8; SIZE]>> {
        if !self.has_stamped(section.batch()) {
            return Ok(None);
        }
        let time = inner.stamps.commit.ok_or_else(|| Error::invalid(UNSET))?;
        Ok(Some(time.to_le_bytes()))
    }
}
