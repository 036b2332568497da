//! The operations of an indexed batch, and the index over them.

use super::look_up::{InBatch, Onto};
use super::sorted::{Place, Sorted};
use crate::entry::check_lengths;
use crate::panics::{Guarded, caught};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;
use whitewater_storage::batch::{self, Batch, Mark, Op, has_value};
use whitewater_storage::coding::varint_len;
use whitewater_storage::key::{UserComparator, ValueType};
use whitewater_storage::{Error, Result, planted};

/// Up to so many operations take no allocation.
const INLINE_OPERATIONS: usize = 8;

/// Says that an operation is the first one on its key.
const NONE: u32 = u32::MAX;

/// An indexed operation: where its key and value are in the batch's bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    key: u32,
    key_len: u32,
    value_len: u32,
    /// The operation before this one on the same key, or [`NONE`].
    previous: u32,
    /// The index in [`Contents::families`].
    family: u32,
    pub ty: ValueType,
}

/// A column family that the batch has operations on.
#[derive(Debug, Clone)]
pub(super) struct Family {
    id: u32,
    pub comparator: UserComparator,
    pub sorted: Sorted,
}

fn is_same(a: &UserComparator, b: &UserComparator) -> bool {
    match (a, b) {
        (UserComparator::Custom(a), UserComparator::Custom(b)) => {
            Arc::ptr_eq(a, b) || a.name() == b.name()
        }
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// The operations of an indexed batch. Iterators share them: who changes them while an iterator
/// lives makes a copy first, so an iterator sees the batch as it was when it was made.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    pub batch: Batch,
    operations: SmallVec<[Operation; INLINE_OPERATIONS]>,
    pub families: SmallVec<[Family; 1]>,
}

/// The end of the contents at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Savepoint {
    batch: Mark,
    operations: usize,
}

impl Contents {
    /// A batch that has no operations yet.
    pub fn of(batch: Batch) -> Self {
        Contents {
            batch,
            ..Contents::default()
        }
    }

    /// Empty contents, whose batch is protected if this one is.
    pub fn empty_like(&self) -> Self {
        Contents::of(self.batch.empty_like())
    }

    /// The operation with this number.
    pub fn operation(&self, number: u32) -> Option<&Operation> {
        self.operations.get(number as usize)
    }

    /// The key of an operation.
    pub fn key(&self, operation: &Operation) -> &[u8] {
        let start = operation.key as usize;
        let end = start + operation.key_len as usize;
        self.batch.bytes().get(start..end).unwrap_or_default()
    }

    /// The value, or the operand, of an operation.
    pub fn value(&self, operation: &Operation) -> &[u8] {
        if !has_value(operation.ty) {
            return &[];
        }
        let start = operation.key as usize
            + operation.key_len as usize
            + varint_len(operation.value_len.into());
        let end = start + operation.value_len as usize;
        self.batch.bytes().get(start..end).unwrap_or_default()
    }

    /// The index in `families` of the column family `id`.
    ///
    /// # Errors
    /// `InvalidArgument` if its keys were sorted by another comparator than `comparator`.
    pub fn family(&self, id: u32, comparator: &UserComparator) -> Result<Option<usize>> {
        let Some(at) = self.families.iter().position(|f| f.id == id) else {
            return Ok(None);
        };
        let sorted_by = &self.families[at].comparator;
        if !is_same(sorted_by, comparator) {
            return Err(Error::invalid(format_args!(
                "the batch sorts the keys of column family {id} by {}, the database by {}",
                sorted_by.name(),
                comparator.name()
            )));
        }
        Ok(Some(at))
    }

    /// A copy that sorts the keys of the column family `id` by `comparator`, unless this does.
    ///
    /// # Errors
    /// `Aborted` if the user's comparator panics.
    pub fn resorted(&self, id: u32, comparator: &UserComparator) -> Result<Option<Contents>> {
        let sorted_by = |id| {
            self.families
                .iter()
                .find(|f| f.id == id)
                .map(|f| &f.comparator)
        };
        if sorted_by(id).is_none_or(|sorted_by| is_same(sorted_by, comparator)) {
            return Ok(None);
        }
        let mut copy = self.empty_like();
        for op in batch::ops(self.batch.bytes()) {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            let sorted_by = if cf == id {
                Some(comparator)
            } else {
                sorted_by(cf)
            };
            let sorted_by = sorted_by.unwrap_or(&UserComparator::Bytewise);
            copy.push((cf, sorted_by), ty, key, value, true)?;
        }
        Ok(Some(copy))
    }

    /// The size of the timestamps that keys of the column family `id` are to get.
    pub fn timestamp_size(&self, id: u32) -> usize {
        let family = self.families.iter().find(|family| family.id == id);
        family.map_or(0, |family| family.comparator.timestamp_size())
    }

    /// The column families whose keys are to get timestamps, and the sizes of these.
    pub fn stamped_families(&self) -> impl Iterator<Item = (u32, usize)> {
        let sizes = self.families.iter();
        let sizes = sizes.map(|family| (family.id, family.comparator.timestamp_size()));
        sizes.filter(|(_, size)| *size > 0)
    }

    /// Where `key` is in the family at `at`.
    ///
    /// # Errors
    /// `Aborted` if the user's comparator panics.
    pub fn search(&self, at: usize, key: &[u8]) -> Result<std::result::Result<Place, Place>> {
        let family = &self.families[at];
        let order = |comparator: &UserComparator, number| match self.operation(number) {
            Some(operation) => comparator.compare_bounds(self.key(operation), key),
            None => Ordering::Less,
        };
        match &family.comparator {
            // Calls for the orders that are built in, so that each search is compiled for its own.
            UserComparator::Bytewise => Ok(family
                .sorted
                .search(|number| order(&UserComparator::Bytewise, number))),
            comparator @ UserComparator::Custom(_) => {
                caught(Guarded::Comparator("a look-up in a batch"), || {
                    Ok(family.sorted.search(|number| order(comparator, number)))
                })
            }
            comparator => Ok(family.sorted.search(|number| order(comparator, number))),
        }
    }

    /// Adds an operation, and indexes it if `indexed`.
    ///
    /// # Errors
    /// `InvalidArgument` for a key and value that are too long, for a batch that would be too
    /// large, and for another comparator than before; `Aborted` if the user's comparator panics.
    /// Nothing was added then.
    pub fn push(
        &mut self,
        (id, comparator): (u32, &UserComparator),
        ty: ValueType,
        key: &[u8],
        value: &[u8],
        indexed: bool,
    ) -> Result<()> {
        check_lengths(key, value)?;
        let end = self.batch.bytes().len() + batch::entry_size(id, ty, key, value);
        if end as u64 > batch::MAX_SIZE {
            return Err(Error::invalid(format_args!(
                "write batch of {end} bytes: it must not be larger than {}",
                batch::MAX_SIZE
            )));
        }
        if !indexed {
            self.batch.push(id, ty, key, value);
            return Ok(());
        }
        let family = match self.family(id, comparator)? {
            Some(at) => at,
            None => {
                self.families.push(Family {
                    id,
                    comparator: comparator.clone(),
                    sorted: Sorted::default(),
                });
                self.families.len() - 1
            }
        };
        let place = self.search(family, key)?;
        let number = self.operations.len() as u32;
        let behind_key = match has_value(ty) {
            true => varint_len(value.len() as u64) + value.len(),
            false => 0,
        };
        self.batch.push(id, ty, key, value);
        let sorted = &mut self.families[family].sorted;
        let previous = place.ok().and_then(|place| sorted.get(place));
        // All of these fit: the batch is at most 4 GiB, and an entry takes more than a byte.
        self.operations.push(Operation {
            key: (end - behind_key - key.len()) as u32,
            key_len: key.len() as u32,
            value_len: if has_value(ty) { value.len() as u32 } else { 0 },
            previous: previous.unwrap_or(NONE),
            family: family as u32,
            ty,
        });
        match place {
            Ok(place) => sorted.set(place, number),
            Err(place) => sorted.insert(place, number),
        }
        Ok(())
    }

    /// The present end.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            batch: self.batch.mark(),
            operations: self.operations.len(),
        }
    }

    /// Removes what was added since `savepoint`.
    ///
    /// # Errors
    /// `Aborted` if the user's comparator panics. The index is then not complete.
    pub fn take_back(&mut self, savepoint: Savepoint) -> Result<()> {
        planted!(SavepointLeavesIndex => return Ok(()));
        while self.operations.len() > savepoint.operations
            && let Some(last) = self.operations.last()
        {
            let family = last.family as usize;
            let found = self.search(family, self.key(last))?;
            let previous = last.previous;
            self.operations.pop();
            let sorted = &mut self.families[family].sorted;
            match found {
                Ok(place) if previous == NONE => sorted.remove(place),
                Ok(place) => sorted.set(place, previous),
                Err(_) => {}
            }
        }
        self.batch.take_back(savepoint.batch);
        Ok(())
    }

    /// Removes all operations.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.operations.clear();
        self.families.clear();
    }

    /// The operations on the key of operation `newest`, from that one on to older ones.
    fn chain(&self, newest: u32) -> impl Iterator<Item = (u32, &Operation)> {
        let entry = |number| Some((number, self.operation(number)?));
        std::iter::successors(entry(newest), move |(_, operation)| {
            entry(operation.previous)
        })
    }

    /// The numbers of these operations: of all, or of those that decide the value of the key, which
    /// no newer put or deletion hides.
    pub fn chain_of(&self, newest: u32, all: bool) -> Vec<u32> {
        let mut numbers = Vec::new();
        for (number, operation) in self.chain(newest) {
            numbers.push(number);
            if !all && operation.ty != ValueType::Merge {
                break;
            }
        }
        numbers
    }

    /// What the operations on a key say, whose newest one is `newest`.
    pub fn resolve(&self, newest: u32) -> InBatch<'_> {
        let mut operands = Vec::new();
        let mut onto = Onto::Base;
        for (_, operation) in self.chain(newest) {
            match operation.ty {
                ValueType::Merge => {
                    operands.push(self.value(operation));
                    continue;
                }
                ValueType::Value => onto = Onto::Value(self.value(operation)),
                ValueType::WideColumnEntity => onto = Onto::Entity(self.value(operation)),
                _ => onto = Onto::Nothing,
            }
            break;
        }
        match onto {
            Onto::Value(value) if operands.is_empty() => InBatch::Value(value),
            Onto::Entity(entity) if operands.is_empty() => InBatch::Entity(entity),
            Onto::Nothing if operands.is_empty() => InBatch::Deleted,
            Onto::Base if operands.is_empty() => InBatch::NotFound,
            onto => {
                operands.reverse();
                InBatch::Merge { operands, onto }
            }
        }
    }
}
