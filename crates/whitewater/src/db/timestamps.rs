//! Timestamps of a column family: which writes need them, and how much of the history of
//! its keys is kept.

use super::Engine;
use crate::column_family::{ColumnFamilyData, check_timestamp};
use crate::options::read::WriteSpec;
use crate::version::set::CfVersion;
use crate::write::MemtableMap;
use std::sync::Arc;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::ValueType;
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::{Error, Result};

/// Which operations of a batch have a timestamp.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamped {
    /// Column families, each with a number of operations and the size of their timestamps
    /// in bytes. A column family appears once for each size.
    families: Vec<(u32, u32, usize)>,
    /// Set if that is unknown, because the batch was made from bytes.
    unknown: bool,
}

impl Stamped {
    /// For a batch that was made from bytes.
    pub fn unknown() -> Self {
        Stamped {
            families: Vec::new(),
            unknown: true,
        }
    }

    /// Notes an operation with a timestamp of `size` bytes.
    pub fn note(&mut self, cf: u32, size: usize) {
        let known = self
            .families
            .iter_mut()
            .find(|(id, _, s)| (*id, *s) == (cf, size));
        match known {
            Some((_, count, _)) => *count += 1,
            None => self.families.push((cf, 1, size)),
        }
    }

    /// Notes that of some column families as many operations as `counts` says have a timestamp of
    /// `size` bytes, and no others.
    pub fn restamp(&mut self, counts: &[(u32, u32)], size: usize) {
        let known = |cf| counts.iter().any(|(id, _)| *id == cf);
        self.families.retain(|(cf, ..)| !known(*cf));
        let counts = counts.iter().map(|(cf, count)| (*cf, *count, size));
        self.families.extend(counts);
    }

    /// Whether no operation is known to have a timestamp.
    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// Forgets all operations.
    pub fn clear(&mut self) {
        *self = Stamped::default();
    }

    /// Refuses a batch whose operations lack timestamps where they are required, or have
    /// them where they must not.
    ///
    /// # Errors
    /// `InvalidArgument` for these; `NotSupported` for single deletions.
    pub fn check(&self, batch: &Batch, memtables: &MemtableMap) -> Result<()> {
        if self.families.is_empty() && !memtables.any_has_timestamps() {
            return Ok(());
        }
        let size_of = |cf| memtables.get(cf).map_or(0, |m| m.timestamp_size());
        for (cf, _, given) in &self.families {
            if let Some(memtable) = memtables.get(*cf) {
                check_timestamp(memtable.family(), memtable.timestamp_size(), *given)?;
            }
        }
        let mut unstamped: Vec<(u32, u32)> = Vec::new();
        for op in batch.ops() {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            let size = size_of(cf);
            if size == 0 {
                continue;
            }
            if ty == ValueType::WideColumnEntity {
                return memtables.check_unstamped(cf); // there are none with a timestamp
            }
            check_type(ty)?;
            let end_is_short = ty == ValueType::RangeDeletion && value.len() < size;
            if key.len() < size || end_is_short {
                return memtables.check_unstamped(cf);
            }
            match unstamped.iter_mut().find(|(id, _)| *id == cf) {
                Some((_, count)) => *count += 1,
                None => unstamped.push((cf, 1)),
            }
        }
        for (cf, count) in unstamped {
            let stamped = self.families.iter().filter(|(id, ..)| *id == cf);
            if !self.unknown && stamped.map(|(_, n, _)| n).sum::<u32>() != count {
                memtables.check_unstamped(cf)?;
            }
        }
        Ok(())
    }
}

/// Refuses types of entries that cannot be written with a timestamp.
fn check_type(ty: ValueType) -> Result<()> {
    match ty {
        ValueType::Value | ValueType::Deletion | ValueType::Merge | ValueType::RangeDeletion => {
            Ok(())
        }
        ty => Err(Error::not_supported(format_args!(
            "writing entries of type {ty:?} with timestamps"
        ))),
    }
}

/// `batch`, whose keys have no timestamps yet, with `time` behind those that have `size_of` bytes
/// of it; `None` if there are no such keys.
///
/// # Errors
/// `InvalidArgument` with the text of `missing` if there are such keys and no time, and for a key
/// and value that are too long with it.
pub(crate) fn with_timestamp(
    batch: &Batch,
    size_of: impl Fn(u32) -> usize,
    time: Option<&[u8]>,
    missing: &str,
) -> Result<Option<(Batch, Stamped)>> {
    let (mut again, mut stamped) = (batch.empty_like(), Stamped::default());
    for op in batch.ops() {
        let op = op?;
        match op {
            Op::Entry { cf, ty, key, value } if size_of(cf) > 0 => {
                let time = time.ok_or_else(|| Error::invalid(missing))?;
                let key = [key, time].concat();
                crate::entry::check_lengths(&key, value)?;
                again.push(cf, ty, &key, value);
                stamped.note(cf, time.len());
            }
            op => again.push_op(&op),
        }
    }
    Ok((!stamped.is_empty()).then_some((again, stamped)))
}

impl Engine {
    /// Bytes of the timestamps of the keys of a column family; 0 if they have none or there is no
    /// such family.
    #[inline]
    pub fn timestamp_size(&self, cf: u32) -> usize {
        let generation = self.commit.generations.load();
        let memtable = generation.memtables.get(cf);
        memtable.map_or(0, |memtable| memtable.timestamp_size())
    }

    /// `batch`, whose keys have other timestamps, with `time` in them; keys without timestamps stay
    /// as they are.
    ///
    /// # Errors
    /// `InvalidArgument` for a timestamp of another size than the keys have; `Corruption`.
    pub(super) fn restamped(&self, batch: &Batch, time: &[u8]) -> Result<Batch> {
        let mut again = batch.empty_like();
        for op in batch.ops() {
            let op = op?;
            let Op::Entry { cf, ty, key, value } = op else {
                again.push_op(&op);
                continue;
            };
            let size = self.timestamp_size(cf);
            if size == 0 {
                again.push(cf, ty, key, value);
                continue;
            }
            if time.len() != size {
                return Err(Error::invalid(format_args!(
                    "commit timestamp of {} bytes for keys with timestamps of {size}",
                    time.len()
                )));
            }
            let key = &key[..key.len().saturating_sub(size)];
            again.push(cf, ty, &[key, time].concat(), value);
        }
        Ok(again)
    }

    /// Commits one operation with a timestamp.
    ///
    /// # Errors
    /// Errors of [`Engine::write_one`]; `InvalidArgument` when the keys of `cf` have no
    /// timestamps, or timestamps of another size.
    pub fn write_version(
        &self,
        cf: &ColumnFamilyData,
        ty: ValueType,
        (key, time): (&[u8], &[u8]),
        value: &[u8],
        spec: &WriteSpec,
    ) -> Result<()> {
        check_timestamp(&cf.name, cf.comparator.user.timestamp_size(), time.len())?;
        let key = [key, time].concat();
        crate::entry::check_lengths(&key, value)?;
        let mut batch = Batch::default();
        batch.push(cf.id, ty, &key, value);
        let mut stamped = Stamped::default();
        stamped.note(cf.id, time.len());
        self.write(batch, &stamped, spec)
    }

    /// Commits the deletion of the keys of `cf` from `range.0` to before `range.1`, with the
    /// timestamp `time`.
    ///
    /// # Errors
    /// Those of [`Engine::write_version`].
    pub fn delete_versions(
        &self,
        cf: &ColumnFamilyData,
        range: (&[u8], &[u8]),
        time: &[u8],
        spec: &WriteSpec,
    ) -> Result<()> {
        let end = [range.1, time].concat();
        let begin = (range.0, time);
        self.write_version(cf, ValueType::RangeDeletion, begin, &end, spec)
    }

    /// The limit of the history of `cf`; empty if there is none.
    ///
    /// # Errors
    /// `InvalidArgument` when the keys of `cf` have no timestamps.
    pub fn full_history_ts_low(&self, cf: &ColumnFamilyData) -> Result<Vec<u8>> {
        if cf.comparator.user.timestamp_size() == 0 {
            return Err(Error::invalid(
                "Timestamp is not enabled in this column family",
            ));
        }
        Ok(cf.pin().version.history_low.clone())
    }

    /// Raises the limit of the history of `cf`: of versions of a key with older timestamps,
    /// compactions keep only the newest.
    ///
    /// # Errors
    /// `InvalidArgument` when the keys of `cf` have no timestamps or timestamps of another
    /// size, and for a limit below the current one; errors of the manifest.
    pub fn increase_full_history_ts_low(
        &self,
        cf: &Arc<ColumnFamilyData>,
        low: &[u8],
    ) -> Result<()> {
        let size = cf.comparator.user.timestamp_size();
        if size == 0 {
            return Err(Error::invalid(
                "Timestamp is not enabled in this column family",
            ));
        }
        if size != low.len() {
            return Err(Error::invalid("ts_low size mismatch"));
        }
        Self::check_healthy(&self.lock_state())?;
        let edit = VersionEdit {
            column_family: cf.id,
            full_history_ts_low: Some(low.to_vec()),
            ..VersionEdit::default()
        };
        let last = self.latest_sequence_number();
        let mut install = |changed: &[CfVersion]| {
            // Declared before the guard, so it is dropped after the mutex is free.
            let mut old = Vec::new();
            let mut state = self.lock_state();
            for new in changed {
                if let Some(cf) = state.cfs.get_mut(&new.id) {
                    old.push(cf.set_version(new.current.clone()));
                    cf.publish();
                }
            }
        };
        self.files
            .versions
            .log_and_apply(vec![edit], last, &[], &mut install)
    }
}
