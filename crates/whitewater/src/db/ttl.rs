//! Values that expire: RocksDB's format for databases that are opened with a time to live.
//!
//! Every value and merge operand ends with the time at which it was written: four bytes,
//! little-endian, seconds since 1970. Reads remove them; a merge gives its result the time
//! of the merge. Only compactions drop values that are older than the column family allows,
//! so reads may still show them.

use super::Engine;
use crate::clock::Clock;
use crate::entry::answer::Answer;
use crate::operators::compaction_filter::{
    CompactionFilterContext, EntityDecision, EntryFilter, FilterSource, Verdict,
};
use crate::operators::merge::MergeOperator;
use crate::options::CfOptions;
use bytes::Bytes;
use std::sync::Arc;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::entity::WideColumn;
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result};

/// The size of a timestamp, in bytes.
pub(crate) const TIMESTAMP: usize = 4;

/// The time at which RocksDB's feature was released, in seconds since 1970: no timestamp is
/// older.
const FIRST: i32 = 1_368_146_402;

/// How long the values of a column family live, and the clock that measures it.
#[derive(Clone)]
pub(crate) struct TimeToLive {
    /// In seconds; values live forever if this is not positive.
    seconds: i32,
    clock: Clock,
    /// The user's compaction filters.
    inner: Option<Arc<dyn FilterSource>>,
}

impl TimeToLive {
    /// Gives a column family a time to live: its merge operator and compaction filter get
    /// wrapped so that they handle timestamps.
    pub fn give(options: &mut CfOptions, seconds: i32, clock: &Clock) {
        let factory = options.compaction_filter_factory.take();
        let time_to_live = TimeToLive {
            seconds,
            clock: clock.clone(),
            inner: options.compaction_filter.take().or(factory),
        };
        options.compaction_filter = Some(Arc::new(time_to_live));
        options.filter_added();
        options.values_have_times = true;
        let operator = options.merge_operator.take();
        options.merge_operator = operator.map(|inner| -> Arc<dyn MergeOperator> {
            Arc::new(TtlMerge {
                inner,
                clock: clock.clone(),
            })
        });
    }
}

impl FilterSource for TimeToLive {
    fn name(&self) -> String {
        "Delete By TTL".to_owned()
    }
    fn start<'a>(&'a self, context: CompactionFilterContext) -> Box<dyn EntryFilter + 'a> {
        Box::new(TtlFilter {
            oldest: (self.seconds > 0)
                .then(|| i64::try_from(self.clock.now()).unwrap_or(i64::MAX))
                .map(|now| now - i64::from(self.seconds)),
            inner: self.inner.as_ref().map(|inner| inner.start(context)),
        })
    }
}

/// Removes expired values, and asks the user's filter about the rest.
struct TtlFilter<'a> {
    /// Values that were written before this time have expired.
    oldest: Option<i64>,
    inner: Option<Box<dyn EntryFilter + 'a>>,
}

impl EntryFilter for TtlFilter<'_> {
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Verdict {
        let Some((content, written)) = value.split_last_chunk::<TIMESTAMP>() else {
            // Reads report that the value has no timestamp.
            return Verdict::Keep;
        };
        let time = i64::from(i32::from_le_bytes(*written));
        if self.oldest.is_some_and(|oldest| time < oldest) {
            return Verdict::Remove;
        }
        let Some(inner) = &mut self.inner else {
            return Verdict::Keep;
        };
        match inner.filter(level, key, content) {
            Verdict::Change(new) => Verdict::Change([&*new, written].concat().into()),
            verdict => verdict,
        }
    }

    /// Entities have no time: they were written without a time to live.
    fn filter_entity(
        &mut self,
        level: u32,
        key: &[u8],
        columns: &[WideColumn<'_>],
    ) -> EntityDecision {
        match &mut self.inner {
            Some(inner) => inner.filter_entity(level, key, columns),
            None => EntityDecision::Keep,
        }
    }
}

/// The current time as it is stored.
fn timestamp(clock: &Clock) -> [u8; TIMESTAMP] {
    // Truncated to 32 bits, as in RocksDB.
    (clock.now() as u32).to_le_bytes()
}

/// A value without its timestamp.
///
/// # Errors
/// `Corruption` for a value that has no timestamp, or one that is too old to be one.
fn strip(value: &Bytes) -> Result<Bytes> {
    let Some((content, written)) = value.split_last_chunk::<TIMESTAMP>() else {
        return Err(Error::corruption(
            "Error: value's length less than timestamp's",
        ));
    };
    if i32::from_le_bytes(*written) < FIRST {
        return Err(Error::corruption(
            "Error: Timestamp < ttl feature release time!",
        ));
    }
    Ok(value.slice(..content.len()))
}

/// A merge operator for values and operands with timestamps.
struct TtlMerge {
    inner: Arc<dyn MergeOperator>,
    clock: Clock,
}

impl TtlMerge {
    fn stamped(&self, mut value: Vec<u8>) -> Vec<u8> {
        value.extend_from_slice(&timestamp(&self.clock));
        value
    }
}

/// The operands without timestamps; `None` if an operand has none.
fn stripped<'a>(operands: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
    let strip = |operand: &&'a [u8]| Some(operand.split_last_chunk::<TIMESTAMP>()?.0);
    operands.iter().map(strip).collect()
}

impl MergeOperator for TtlMerge {
    fn name(&self) -> &str {
        "TtlMergeOperator"
    }
    fn full_merge(
        &self,
        key: &[u8],
        existing: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> Option<Vec<u8>> {
        let existing = match existing {
            Some(value) => Some(value.split_last_chunk::<TIMESTAMP>()?.0),
            None => None,
        };
        let merged = self.inner.full_merge(key, existing, &stripped(operands)?)?;
        Some(self.stamped(merged))
    }
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        let merged = self.inner.partial_merge(key, &stripped(operands)?)?;
        Some(self.stamped(merged))
    }
}

impl Engine {
    /// Gives a new column family a time to live, in seconds; not positive is forever.
    ///
    /// # Errors
    /// `InvalidArgument` if the database was opened without one.
    pub fn give_ttl(&self, options: &mut CfOptions, seconds: i32) -> Result<()> {
        if !self.options.stamps_values {
            let text = "the database was opened without a time to live";
            return Err(Error::invalid(text));
        }
        TimeToLive::give(options, seconds, &self.options.clock);
        Ok(())
    }

    /// Returns `value` with a timestamp, if values are stamped and entries of type `ty`
    /// have a value.
    #[inline]
    pub(super) fn stamp(&self, ty: ValueType, value: &[u8]) -> Option<Vec<u8>> {
        let has_value = matches!(ty, ValueType::Value | ValueType::Merge);
        (self.options.stamps_values && has_value)
            .then(|| [value, &timestamp(&self.options.clock)].concat())
    }

    /// Returns a batch as it is stored.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not a batch, or that do not match their checksums.
    pub(super) fn stamp_batch(&self, batch: Batch) -> Result<Batch> {
        if !self.options.stamps_values {
            return Ok(batch);
        }
        let mut stamped = Batch::default();
        if batch.is_protected() {
            batch.verify()?;
            stamped.protect()?;
        }
        for op in batch.ops() {
            match op? {
                Op::Entry { cf, ty, key, value } => {
                    let with_time = self.stamp(ty, value);
                    stamped.push(cf, ty, key, with_time.as_deref().unwrap_or(value));
                }
                op => stamped.push_op(&op),
            }
        }
        Ok(stamped)
    }
}

/// Returns a value that a read has found, as the caller wrote it.
///
/// # Errors
/// Errors of [`strip`].
#[inline]
pub(super) fn unstamped<A: Answer>(options: &CfOptions, found: Option<A>) -> Result<Option<A>> {
    match found {
        Some(value) if options.values_have_times => value.map_plain(strip).map(Some),
        found => Ok(found),
    }
}
