//! Compaction filters: user code that removes or changes values while they are compacted.
//!
//! RocksDB's rules:
//! * The filter is asked about the newest entry of a user key among those compacted, if it is a
//!   plain value or a wide-column entity: no merge operand, no tombstone, nothing under a newer
//!   entry or a range tombstone. Neither older levels nor newer ones are consulted.
//! * Snapshots do not hold a filter back: a value that a snapshot still reads may be removed or
//!   changed. (This is only the newest entry, so a value that was overwritten since the
//!   snapshot was taken stays.)
//! * A removed entry becomes a tombstone, which is dropped where nothing lies below.
//! * Flushes, recovery and moves of files do not ask the filter. A manual compaction rewrites
//!   files that would otherwise only be moved.
//!
//! A panic of the filter fails the job that ran it: its tables are deleted, and its inputs
//! stay. The error has the filter's name and the panic's message. It is fatal (`db::failure`),
//! the caller that asked for the job, because the same entries would meet the same code again.

use crate::panics::text_of;
use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater_storage::entity::{self, WideColumn};
use whitewater_storage::{Error, ErrorKind, Result};

/// What to do with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Keep the value.
    Keep,
    /// Remove the key.
    Remove,
    /// Replace the value. A new value made for one entry must be leaked (`Vec::leak`) to live long
    /// enough, so a fixed set of values is better.
    Change(&'static [u8]),
}

/// What to do with an entry, with a new value that is given away. For interfaces to other
/// languages.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedDecision {
    /// Keep the value.
    Keep,
    /// Remove the key.
    Remove,
    /// Replace the value.
    Change(Vec<u8>),
}

/// What to do with a wide-column entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityDecision {
    /// Keep the entity.
    Keep,
    /// Remove the key.
    Remove,
    /// Replace the entity by a plain value.
    ChangeValue(Vec<u8>),
    /// Replace the columns by these pairs of names and values, in any order. Two of one name fail
    /// the compaction with `Corruption`.
    ChangeEntity(Vec<(Vec<u8>, Vec<u8>)>),
}

/// What to do with an entry, as used within the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Keep,
    Remove,
    Change(Cow<'static, [u8]>),
    /// Replace what is stored by this entity.
    Entity(Vec<u8>),
}

impl From<Decision> for Verdict {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Keep => Verdict::Keep,
            Decision::Remove => Verdict::Remove,
            Decision::Change(value) => Verdict::Change(Cow::Borrowed(value)),
        }
    }
}

impl From<OwnedDecision> for Verdict {
    fn from(decision: OwnedDecision) -> Self {
        match decision {
            OwnedDecision::Keep => Verdict::Keep,
            OwnedDecision::Remove => Verdict::Remove,
            OwnedDecision::Change(value) => Verdict::Change(Cow::Owned(value)),
        }
    }
}

/// Describes a compaction to a factory of filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionFilterContext {
    /// Whether the compaction rewrites all tables of the column family.
    pub is_full_compaction: bool,
    /// Whether a caller requested the compaction.
    pub is_manual_compaction: bool,
}

/// The source of jobs' filters. It is user code: panics are caught in [`ActiveFilter`].
pub(crate) trait FilterSource: Send + Sync {
    /// The name of the filter or factory, for the info log.
    fn name(&self) -> String;
    /// Returns the filter of one job, or of one part of it. A single thread uses it.
    fn start<'a>(&'a self, context: CompactionFilterContext) -> Box<dyn EntryFilter + 'a>;
}

/// Decides what to do with entries.
pub(crate) trait EntryFilter {
    /// Decides about a value that is compacted from `level`.
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Verdict;

    /// Decides about a wide-column entity.
    fn filter_entity(
        &mut self,
        _level: u32,
        _key: &[u8],
        _columns: &[WideColumn<'_>],
    ) -> EntityDecision {
        EntityDecision::Keep
    }
}

/// The filter of a running job.
pub(crate) struct ActiveFilter<'a> {
    filter: Box<dyn EntryFilter + 'a>,
    source: &'a dyn FilterSource,
    level: u32,
    removed: u64,
}

impl<'a> ActiveFilter<'a> {
    /// Makes a filter of `source` for entries compacted from `level`.
    ///
    /// # Errors
    /// `Aborted` if a factory panics.
    pub fn start(
        source: &'a dyn FilterSource,
        context: CompactionFilterContext,
        level: usize,
    ) -> Result<Self> {
        let filter = catch_unwind(AssertUnwindSafe(|| source.start(context)))
            .map_err(|panic| panicked(source, &*panic))?;
        Ok(ActiveFilter {
            filter,
            source,
            level: level as u32,
            removed: 0,
        })
    }

    /// Decides what to do with an entry.
    ///
    /// # Errors
    /// `Aborted` if the filter panics.
    pub fn decide(&mut self, key: &[u8], value: &[u8]) -> Result<Verdict> {
        let (filter, level) = (&mut self.filter, self.level);
        let verdict = catch_unwind(AssertUnwindSafe(|| filter.filter(level, key, value)))
            .map_err(|panic| panicked(self.source, &*panic))?;
        self.removed += u64::from(verdict == Verdict::Remove);
        Ok(verdict)
    }

    /// Decides what to do with a wide-column entity.
    ///
    /// # Errors
    /// `Aborted` if the filter panics; `Corruption` if it wants two columns of one name.
    pub fn decide_entity(&mut self, key: &[u8], columns: &[WideColumn<'_>]) -> Result<Verdict> {
        let (filter, level) = (&mut self.filter, self.level);
        let decide = || filter.filter_entity(level, key, columns);
        let decision = catch_unwind(AssertUnwindSafe(decide))
            .map_err(|panic| panicked(self.source, &*panic))?;
        self.removed += u64::from(decision == EntityDecision::Remove);
        Ok(match decision {
            EntityDecision::Keep => Verdict::Keep,
            EntityDecision::Remove => Verdict::Remove,
            EntityDecision::ChangeValue(value) => Verdict::Change(Cow::Owned(value)),
            EntityDecision::ChangeEntity(columns) => {
                let columns = columns.iter().map(|(n, v)| (&n[..], &v[..]));
                Verdict::Entity(entity::encode_sorted(columns.collect())?)
            }
        })
    }

    /// The number of entries removed so far.
    pub fn removed(&self) -> u64 {
        self.removed
    }
}

fn panicked(source: &dyn FilterSource, panic: &(dyn Any + Send)) -> Error {
    // The name comes from user code, too.
    let name = catch_unwind(AssertUnwindSafe(|| source.name())).unwrap_or_else(|_| "?".to_owned());
    Error::new(
        ErrorKind::Aborted,
        format_args!("the compaction filter {name} panicked: {}", text_of(panic)),
    )
}
