//! Keeping writes away from what optimistic transactions validate.
//!
//! At its commit a transaction makes sure that nobody has changed the keys that it has noted,
//! and then writes. Meanwhile it has latched the buckets of the keys that it has noted or
//! writes. All other writes of such a database are in flight in the buckets of their keys, from
//! before they have a place until they are acknowledged. What cannot name its keys, range
//! deletions and ingestions, has the database to itself as far as transactions go: `ranges`.
//!
//! Invariant O1: of two transactions, one of which writes what the other has noted, and which
//! both are between validation and insert, none exists: they have a bucket in common. Any other
//! write is acknowledged before the validation, which then finds it, or gets its numbers after
//! the transaction has its own.
//!
//! Buckets go by bytes. A comparator by which different bytes are one key does not matter to
//! validation, but what is written between validation and insert may have the other bytes.
//!
//! Lock order: `ranges`, then buckets ascending, both before all locks of `docs/locks.md` but
//! those of keys, and never while a generation is held.

use super::Engine;
use crate::column_family::ColumnFamilyData;
use crate::memtable::operations::SingleOp;
use crate::options::read::WriteSpec;
use crate::sync_points::Point;
use std::sync::Arc;
use whitewater_concurrent::system::{RwLock, RwLockWriteGuard};
use whitewater_concurrent::validation_latches::{Buckets, InFlight, ValidationLatches};
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::{SequenceNumber, ValueType};
use whitewater_storage::{Error, ErrorKind, Result, planted};

/// Where writes of a database meet transactions that commit.
#[derive(Debug)]
pub(crate) struct Validation {
    latches: ValidationLatches,
    /// Nothing; held shared by transactions that commit, exclusively by what changes keys that
    /// it does not name.
    ranges: RwLock<()>,
}

/// A key that nobody else may have changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted<'a> {
    pub family: u32,
    pub key: &'a [u8],
    /// The number after which it has not changed.
    pub since: SequenceNumber,
}

/// A write that is kept apart from transactions that commit, until this is dropped.
#[must_use = "a write is kept apart as long as this is kept"]
pub(super) struct Apart<'a> {
    _points: Option<InFlight<'a>>,
    _ranges: Option<RwLockWriteGuard<'a, ()>>,
}

/// The keys of a batch that is to be kept apart.
pub(super) struct KeysApart<'a> {
    validation: &'a Validation,
    points: Buckets,
    has_ranges: bool,
}

impl Validation {
    /// At least so many buckets for keys.
    pub fn new(buckets: usize) -> Self {
        Validation {
            latches: ValidationLatches::new(buckets),
            ranges: RwLock::new(()),
        }
    }
}

impl KeysApart<'_> {
    /// Waits until no transaction that concerns the keys is between validation and insert, and
    /// keeps others from it.
    pub fn enter(&self) -> Apart<'_> {
        Apart {
            // Before the buckets, as in a commit.
            _ranges: self.has_ranges.then(|| self.validation.ranges.write()),
            _points: Some(self.validation.latches.enter(&self.points)),
        }
    }
}

impl Engine {
    /// Lets transactions be validated. To be called before the first write.
    pub fn meet_at(&self, validation: Arc<Validation>) {
        let first = self.commit.validation.set(validation).is_ok();
        debug_assert!(first, "an engine belongs to one database");
    }

    /// [`KeysApart::enter`] for a write of one operation.
    #[inline]
    pub(super) fn keep_apart(&self, op: &SingleOp<'_>) -> Option<Apart<'_>> {
        let validation = self.commit.validation.get()?;
        planted!(InFlightMissed => return None);
        let latches = &validation.latches;
        let is_range = op.ty == ValueType::RangeDeletion;
        Some(Apart {
            _ranges: is_range.then(|| validation.ranges.write()),
            _points: (!is_range).then(|| latches.enter_one(latches.bucket(op.cf, op.key))),
        })
    }

    /// The keys of `batch`, if they are to be kept apart. What cannot be read is left out: the
    /// batch is going to be refused.
    #[inline]
    pub(super) fn keys_to_keep_apart(&self, batch: &Batch) -> Option<KeysApart<'_>> {
        let validation = self.commit.validation.get()?;
        let mut has_ranges = false;
        let points = batch.ops().filter_map(|op| match op {
            Ok(Op::Entry {
                ty: ValueType::RangeDeletion,
                ..
            }) => {
                has_ranges = true;
                None
            }
            Ok(Op::Entry { cf, key, .. }) => Some(validation.latches.bucket(cf, key)),
            _ => None,
        });
        Some(KeysApart {
            points: points.collect(),
            has_ranges,
            validation,
        })
    }

    /// Keeps all transactions from committing.
    pub(super) fn keep_transactions_out(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        Some(self.commit.validation.get()?.ranges.write())
    }

    /// Writes `batch` if no key of `noted` has been changed since, and gives it back.
    ///
    /// # Errors
    /// `Busy` if one has been changed; `InvalidArgument` if its column family was dropped; errors
    /// of [`newest_sequence`](Self::newest_sequence) and of
    /// [`write_and_return`](Self::write_and_return). Nothing was written then.
    pub fn write_validated(
        &self,
        validation: &Validation,
        noted: &[Noted<'_>],
        batch: Batch,
        spec: &WriteSpec,
    ) -> (Batch, Result<()>) {
        let latches = &validation.latches;
        let written = batch.ops().filter_map(|op| match op {
            Ok(Op::Entry { cf, key, .. }) => Some((cf, key)),
            _ => None,
        });
        let keys = noted.iter().map(|n| (n.family, n.key)).chain(written);
        let buckets: Buckets = keys.map(|(cf, key)| latches.bucket(cf, key)).collect();
        let _ranges = validation.ranges.read();
        let latched = latches.latch(&buckets);
        if let Err(e) = self.validate(noted) {
            return (batch, Err(e));
        }
        planted!(LatchesGivenUpEarly => drop(latched));
        let visible = self.latest_sequence_number();
        self.options.hook.hit(Point::Validated, visible);
        if batch.count() == 0 {
            return (batch, Ok(()));
        }
        self.write_and_return(batch, spec)
    }

    fn validate(&self, noted: &[Noted<'_>]) -> Result<()> {
        let mut family: Option<Arc<ColumnFamilyData>> = None;
        for Noted {
            family: id,
            key,
            since,
        } in noted
        {
            let cf = match family.take().filter(|cf| cf.id == *id) {
                Some(cf) => cf,
                None => self.family(*id).ok_or_else(|| no_access(*id))?,
            };
            if self.newest_sequence(&cf, key, *since)? > *since {
                return Err(Error::new(ErrorKind::Busy, ""));
            }
            family = Some(cf);
        }
        Ok(())
    }
}

/// The column family of a noted key was dropped, in RocksDB's words.
fn no_access(family: u32) -> Error {
    Error::invalid(format_args!("Could not access column family {family}"))
}
