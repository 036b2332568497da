//! A walk over the keys of one column family in a batch.

use super::IndexedBatch;
use super::contents::Contents;
use super::look_up::InBatch;
use super::sorted::Place;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::{UserComparator, ValueType};

/// A cursor over the keys of a column family that a batch has operations on. It sees the batch as
/// it was when the cursor was made, and stands nowhere at first.
#[derive(Debug)]
pub(crate) struct BatchCursor {
    contents: Arc<Contents>,
    /// The index of the family in the contents; `None` if it has no operations.
    family: Option<usize>,
    /// Where the cursor stands, and the number of the newest operation there.
    place: Option<(Place, u32)>,
}

/// An operation of a batch, as its type, key and value.
pub(crate) type BatchEntry<'a> = (ValueType, &'a [u8], &'a [u8]);

impl IndexedBatch {
    /// A cursor over the column family with this id and comparator.
    ///
    /// # Errors
    /// `InvalidArgument` if the batch sorts the keys by another comparator; `Aborted` if the
    /// user's comparator panicked before.
    pub fn cursor(&self, id: u32, comparator: &UserComparator) -> Result<BatchCursor> {
        self.check()?;
        Ok(BatchCursor {
            family: self.contents.family(id, comparator)?,
            contents: self.contents.clone(),
            place: None,
        })
    }
}

impl BatchCursor {
    /// A cursor over nothing.
    pub fn empty() -> Self {
        BatchCursor {
            contents: Arc::default(),
            family: None,
            place: None,
        }
    }

    /// Moves to what `find` says.
    fn go(&mut self, find: impl FnOnce(&Contents, usize) -> Result<Option<Place>>) -> Result<()> {
        self.place = None;
        let Some(family) = self.family else {
            return Ok(());
        };
        let place = find(&self.contents, family)?;
        let sorted = &self.contents.families[family].sorted;
        self.place = place.and_then(|place| Some((place, sorted.get(place)?)));
        Ok(())
    }

    /// Moves to the first key.
    ///
    /// # Errors
    /// None, as the others have.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.go(|contents, family| Ok(contents.families[family].sorted.first()))
    }

    /// Moves to the last key.
    ///
    /// # Errors
    /// None, as the others have.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.go(|contents, family| Ok(contents.families[family].sorted.last()))
    }

    /// Moves to the first key at or after `target`.
    ///
    /// # Errors
    /// `Aborted` if the user's comparator panics. The cursor then stands nowhere.
    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.go(|contents, family| {
            let (Ok(place) | Err(place)) = contents.search(family, target)?;
            Ok(contents.families[family].sorted.at_or_after(place))
        })
    }

    /// Moves to the last key at or before `target`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.go(|contents, family| {
            Ok(match contents.search(family, target)? {
                Ok(place) => Some(place),
                Err(place) => contents.families[family].sorted.before(place),
            })
        })
    }

    /// Moves to the last key before `target`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        self.go(|contents, family| {
            let (Ok(place) | Err(place)) = contents.search(family, target)?;
            Ok(contents.families[family].sorted.before(place))
        })
    }

    /// Moves one key forward, if the cursor stands on one.
    pub fn next(&mut self) {
        self.place = self.place.and_then(|(place, _)| {
            let sorted = &self.contents.families[self.family?].sorted;
            let place = sorted.after(place)?;
            Some((place, sorted.get(place)?))
        });
    }

    /// Moves one key backward, if the cursor stands on one.
    pub fn prev(&mut self) {
        self.place = self.place.and_then(|(place, _)| {
            let sorted = &self.contents.families[self.family?].sorted;
            let place = sorted.before(place)?;
            Some((place, sorted.get(place)?))
        });
    }

    /// The key, if the cursor stands on one.
    pub fn key(&self) -> Option<&[u8]> {
        let newest = self.contents.operation(self.place?.1)?;
        Some(self.contents.key(newest))
    }

    /// The value of the newest operation on the key; empty for a deletion.
    pub fn newest_value(&self) -> Option<&[u8]> {
        let newest = self.contents.operation(self.place?.1)?;
        Some(self.contents.value(newest))
    }

    /// What the batch says about the key.
    pub fn resolve(&self) -> InBatch<'_> {
        match self.place {
            Some((_, newest)) => self.contents.resolve(newest),
            None => InBatch::NotFound,
        }
    }

    /// The numbers of the operations on the key, newest first: of all, or of those that decide its
    /// value.
    pub(super) fn operations(&self, all: bool) -> Vec<u32> {
        match self.place {
            Some((_, newest)) => self.contents.chain_of(newest, all),
            None => Vec::new(),
        }
    }

    /// The operation with this number.
    pub(super) fn entry(&self, number: u32) -> Option<BatchEntry<'_>> {
        let operation = self.contents.operation(number)?;
        let (key, value) = (self.contents.key(operation), self.contents.value(operation));
        Some((operation.ty, key, value))
    }
}
