//! Whether a key has changed since a number.
//!
//! What has changed since a number keeps showing it while a write-conflict boundary at or below
//! the number lives (X6 of `snapshots`).

use super::Engine;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::panics::{Guarded, caught};
use crate::read::newest::{newer_version, newest_number};
use crate::snapshots::ReadPoint;
use std::sync::Arc;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Error, Result};

impl Engine {
    /// Whether `key` has changed since `point`: whether its newest change, visible or not, is one
    /// that `point` does not see. That may have a number up to the point's, if it was undecided
    /// then. A write that was rolled back, and one that failed and was not resumed from, may count.
    ///
    /// # Errors
    /// Those of [`newest_sequence`](Self::newest_sequence).
    pub fn changed_since(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        point: &ReadPoint,
    ) -> Result<bool> {
        let newest = self.newest_sequence(cf, key, point.all_visible_up_to())?;
        Ok(!point.sees(newest))
    }

    /// The sequence number of the newest change of `key`, visible or not, if it is above
    /// `above`. Otherwise any number up to that, since what cannot hold a larger one is not
    /// asked. A write that failed and was not resumed from may count.
    ///
    /// # Errors
    /// `NotSupported` for a column family that updates values in place: changes of it keep
    /// their numbers. Errors of reading tables.
    pub fn newest_sequence(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        above: SequenceNumber,
    ) -> Result<SequenceNumber> {
        let view = cf.pin();
        if view.options.inplace_update_support {
            return Err(Error::not_supported(format_args!(
                "column family [{}] updates values in place (inplace_update_support), so that \
                 changes of a key cannot be told",
                cf.name
            )));
        }
        let find = || self.newest_in(cf, &view, key, above);
        if view.options.runs_user_code() || view.version.open_with.runs_user_code {
            caught(Guarded::Comparator("a read"), find)
        } else {
            find()
        }
    }

    /// Whether `key`, given without timestamp, has a version above `time`, visible or not. A write
    /// that failed and was not resumed from may count.
    ///
    /// # Errors
    /// Errors of reading tables.
    pub fn changed_after(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        time: &[u8],
    ) -> Result<bool> {
        let view = cf.pin();
        caught(Guarded::Comparator("a read"), || {
            for mem in view.memtables() {
                if let Some(newer) = mem.newer_version(key, time)? {
                    return Ok(newer);
                }
            }
            let (version, tables) = (&view.version, &self.files.tables);
            newer_version(version, tables, &cf.comparator, key, time)
        })
    }

    fn newest_in(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        key: &[u8],
        above: SequenceNumber,
    ) -> Result<SequenceNumber> {
        let mut newest = 0;
        for mem in view.memtables() {
            newest = newest.max(mem.newest_number(key)?);
            if newest > above {
                return Ok(newest);
            }
        }
        let in_tables = newest_number(
            &view.version,
            &self.files.tables,
            &cf.comparator,
            key,
            above,
        )?;
        Ok(newest.max(in_tables))
    }
}
