//! Single keys of a batch, alone and over a database.

use super::IndexedBatch;
use crate::column_family::ColumnFamilyData;
use crate::db::ttl::TIMESTAMP;
use crate::entry::answer::Answer;
use crate::entry::blobs::NoBlobs;
use crate::operators::merge::{MergeOperator, Merger, full_merge};
use crate::options::CfOptions;
use bytes::Bytes;
use whitewater_storage::key::UserComparator;
use whitewater_storage::{Error, ErrorKind, Result};

/// What a batch says about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InBatch<'a> {
    /// Nothing.
    NotFound,
    /// The key has this value.
    Value(&'a [u8]),
    /// The key is this wide-column entity.
    Entity(&'a [u8]),
    /// The key is deleted.
    Deleted,
    /// Operands, oldest first, apply to something.
    Merge {
        operands: Vec<&'a [u8]>,
        onto: Onto<'a>,
    },
}

/// What the merge operands of a batch apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onto<'a> {
    /// A value in the batch.
    Value(&'a [u8]),
    /// A wide-column entity in the batch.
    Entity(&'a [u8]),
    /// Nothing, as the batch deleted the key before.
    Nothing,
    /// What the database has.
    Base,
}

/// How operands of a batch are applied in one column family.
#[derive(Clone, Copy)]
pub(crate) struct BatchMerger<'a> {
    pub operator: Option<&'a dyn MergeOperator>,
    /// The name of the column family, for errors.
    pub family: &'a str,
    /// Whether the operator takes values and operands with the time at which they were written.
    /// Those of a batch have none yet.
    pub values_have_times: bool,
    /// Whether the caller has named the key and the column family.
    pub asked_for_key: bool,
}

impl<'a> BatchMerger<'a> {
    /// For single keys of a column family.
    pub fn of(family: &'a str, options: &'a CfOptions) -> Self {
        BatchMerger {
            operator: options.merge_operator.as_deref(),
            family,
            values_have_times: options.values_have_times,
            asked_for_key: true,
        }
    }

    /// For calls that name no column family, and so have no operator.
    fn none() -> Self {
        BatchMerger {
            operator: None,
            family: "",
            values_have_times: false,
            asked_for_key: true,
        }
    }

    /// Applies `operands` (oldest first) to `existing`.
    ///
    /// # Errors
    /// `InvalidArgument` without an operator; errors of the operator.
    pub fn merge(
        &self,
        key: &[u8],
        existing: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> Result<Vec<u8>> {
        if self.operator.is_none() {
            return Err(Error::invalid(
                "Merge_operator must be set for column_family",
            ));
        }
        let merger = Merger {
            operator: self.operator,
            family: self.family,
            asked_for_key: self.asked_for_key,
        };
        if !self.values_have_times {
            return full_merge(merger, key, existing, operands);
        }
        // The operator looks at no time: any does.
        let stamped = |value: &[u8]| [value, &[0; TIMESTAMP]].concat();
        let existing = existing.map(stamped);
        let operands: Vec<Vec<u8>> = operands.iter().map(|operand| stamped(operand)).collect();
        let operands: Vec<&[u8]> = operands.iter().map(|operand| &operand[..]).collect();
        let mut merged = full_merge(merger, key, existing.as_deref(), &operands)?;
        merged.truncate(merged.len().saturating_sub(TIMESTAMP));
        Ok(merged)
    }
}

impl InBatch<'_> {
    /// The value, or the columns, of `key` if the batch decides it.
    ///
    /// # Errors
    /// `MergeInProgress` if there are operands for what the database has; errors of
    /// [`BatchMerger::merge`]; `Corruption` for an entity that is none.
    pub fn alone<A: Answer>(self, key: &[u8], merger: BatchMerger<'_>) -> Result<Option<A>> {
        match self {
            InBatch::Merge {
                onto: Onto::Base, ..
            } => Err(Error::new(ErrorKind::MergeInProgress, "")),
            found => found.over(key, merger, || Ok(None)),
        }
    }

    /// The value if the batch decides it without a merge.
    ///
    /// # Errors
    /// `MergeInProgress` if there are operands for what the database has; `InvalidArgument` if
    /// there are operands for what the batch has.
    pub fn without_operator<A: Answer>(self, key: &[u8]) -> Result<Option<A>> {
        match self {
            InBatch::Merge { onto, .. } if onto != Onto::Base => {
                Err(Error::invalid("Must provide a column family"))
            }
            InBatch::Merge { .. } => Err(Error::new(ErrorKind::MergeInProgress, "")),
            found => found.over(key, BatchMerger::none(), || Ok(None)),
        }
    }

    /// The value, or the columns, of `key` over the database, where `base` reads it. It is called
    /// only if the batch does not decide.
    ///
    /// # Errors
    /// Errors of `base` and of [`BatchMerger::merge`]; `Corruption` for an entity that is none.
    pub fn over<A: Answer>(
        self,
        key: &[u8],
        merger: BatchMerger<'_>,
        base: impl FnOnce() -> Result<Option<A>>,
    ) -> Result<Option<A>> {
        let (operands, onto) = match self {
            InBatch::NotFound => return base(),
            InBatch::Value(value) => return Ok(Some(A::of_value(value.to_vec().into()))),
            InBatch::Entity(stored) => return entity(key, stored).map(Some),
            InBatch::Deleted => return Ok(None),
            InBatch::Merge { operands, onto } => (operands, onto),
        };
        let found: Option<A> = match onto {
            Onto::Value(value) => {
                let merged = merger.merge(key, Some(value), &operands)?;
                return Ok(Some(A::of_value(merged.into())));
            }
            Onto::Entity(stored) => Some(entity(key, stored)?),
            Onto::Nothing => None,
            // Nothing is read for a merge that is going to fail.
            Onto::Base if merger.operator.is_none() => None,
            Onto::Base => base()?,
        };
        let merged = merger.merge(key, found.as_ref().map(A::merge_base), &operands)?;
        Ok(Some(match &found {
            Some(found) => found.with_merged(merged),
            None => A::of_value(merged.into()),
        }))
    }
}

/// The answer for the entity `stored` of `key` in a batch, which refers to no blob file.
fn entity<A: Answer>(key: &[u8], stored: &[u8]) -> Result<A> {
    A::of_entity(key, Bytes::copy_from_slice(stored), &NoBlobs)
}

impl IndexedBatch {
    /// What the batch says about `key` of `cf`. Operations that were not indexed are not seen.
    ///
    /// # Errors
    /// `InvalidArgument` if the batch sorts the keys of `cf` by another comparator; `Aborted` if
    /// the user's comparator panics, now or before.
    pub fn look_up(&self, cf: &ColumnFamilyData, key: &[u8]) -> Result<InBatch<'_>> {
        self.look_up_in(cf.id, &cf.comparator.user, key)
    }

    /// [`look_up`](Self::look_up) in the column family with this id and comparator.
    ///
    /// # Errors
    /// The same.
    pub fn look_up_in(
        &self,
        id: u32,
        comparator: &UserComparator,
        key: &[u8],
    ) -> Result<InBatch<'_>> {
        self.check()?;
        let Some(at) = self.contents.family(id, comparator)? else {
            return Ok(InBatch::NotFound);
        };
        let newest = match self.contents.search(at, key)? {
            Ok(place) => self.contents.families[at].sorted.get(place),
            Err(_) => None,
        };
        Ok(newest.map_or(InBatch::NotFound, |newest| self.contents.resolve(newest)))
    }

    /// The value, or the columns, of `key` of `cf` if the batch decides it; `None` if it is deleted
    /// or not in the batch.
    ///
    /// # Errors
    /// Errors of [`look_up`](Self::look_up) and [`InBatch::alone`].
    pub fn get<A: Answer>(&self, cf: &ColumnFamilyData, key: &[u8]) -> Result<Option<A>> {
        let options = cf.options();
        let merger = BatchMerger::of(&cf.name, &options);
        self.look_up(cf, key)?.alone(key, merger)
    }

    /// The value, or the columns, of `key` of `cf` over the database, where `base` reads it.
    ///
    /// # Errors
    /// Errors of [`look_up`](Self::look_up) and [`InBatch::over`].
    pub fn get_over<A: Answer>(
        &self,
        cf: &ColumnFamilyData,
        key: &[u8],
        base: impl FnOnce() -> Result<Option<A>>,
    ) -> Result<Option<A>> {
        match self.look_up(cf, key)? {
            found @ InBatch::Merge { .. } => {
                let options = cf.options();
                found.over(key, BatchMerger::of(&cf.name, &options), base)
            }
            InBatch::NotFound => base(),
            found => found.over(key, BatchMerger::none(), base),
        }
    }
}
