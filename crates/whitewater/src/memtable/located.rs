//! Entries that have their places in memtables before their numbers are known.
//!
//! What takes time about an insert is finding the place of a key and copying
//! the value. A memtable that can does both before a writer takes its
//! sequence numbers; under them the entries are then only linked. That keeps
//! the time short in which other writers may have to wait for this one.
//!
//! Entries that are prepared and never linked are seen by nobody.

use super::inserter::is_delete;
use super::{Inserter, Memtable};
use crate::write::request::{Operations, SingleOp};
use smallvec::SmallVec;
use std::sync::Arc;
use whitewater_concurrent::art::{LeafHint, PendingSkipPointer, Prepared};
use whitewater_storage::Result;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::{SequenceNumber, ValueType};

/// A batch of more operations is not prepared: what is kept for each would
/// add up.
const MOST: u32 = 1024;

/// The entries of a batch, as far as their memtables could prepare them.
#[derive(Debug)]
pub(crate) enum LocatedBatch {
    /// The only one, which goes its way without the machinery for many.
    Single(LocatedEntry),
    Many(LocatedEntries),
}

/// An entry that was prepared.
#[derive(Debug)]
pub(crate) struct LocatedEntry {
    cf: u32,
    ty: ValueType,
    entry: Prepared,
}

/// What is left to do for an entry that was linked: nobody waits for it, and its
/// writer, who would have to wait for memory, has time when the write is acknowledged.
#[derive(Debug)]
pub(crate) struct DeferredWork {
    cf: u32,
    wayless: PendingSkipPointer,
}

/// See [`LocatedBatch`].
#[derive(Debug, Default)]
pub(crate) struct LocatedEntries {
    /// By the batch's operations, those that take no number left out.
    entries: Vec<Slot>,
    /// Some have to be inserted from the batch.
    gaps: bool,
}

/// An operation that takes a number.
#[derive(Debug)]
struct Slot {
    cf: u32,
    ty: ValueType,
    entry: Option<Prepared>,
}

/// Entries that follow each other and go to one memtable.
type Run<'b> = SmallVec<[(&'b [u8], &'b [u8]); 1]>;

impl LocatedBatch {
    /// Prepares `operations` for the memtables that `memtable_of` finds by column
    /// family; `foreseen` is the key of the only one. `None` when there is nothing to
    /// gain.
    #[inline]
    pub fn new<'m>(
        operations: Operations<'_>,
        foreseen: Option<LeafHint<'_>>,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
    ) -> Option<Self> {
        let batch = match operations {
            Operations::Single(one) => {
                return LocatedEntry::new(one, foreseen, memtable_of).map(LocatedBatch::Single);
            }
            Operations::Batch(batch) => batch,
        };
        match batch.count() {
            1 => LocatedEntry::new(only_entry(batch)?, foreseen, memtable_of)
                .map(LocatedBatch::Single),
            n if n <= MOST => LocatedEntries::new(batch, memtable_of).map(LocatedBatch::Many),
            _ => None,
        }
    }
}

/// The only operation of `batch` that takes a number.
fn only_entry(batch: &Batch) -> Option<SingleOp<'_>> {
    batch.ops().find_map(|op| match op {
        Ok(Op::Entry { cf, ty, key, value }) => Some(SingleOp { cf, ty, key, value }),
        _ => None,
    })
}

impl LocatedEntry {
    #[inline]
    fn new<'m>(
        one: SingleOp<'_>,
        foreseen: Option<LeafHint<'_>>,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
    ) -> Option<Self> {
        let SingleOp { cf, ty, key, value } = one;
        let memtable = memtable_of(cf).filter(|m| m.prepares(ty))?;
        let entry = memtable.prepare_one(foreseen, key, value);
        Some(LocatedEntry { cf, ty, entry })
    }

    /// Links it under `seq`, which was given out since, and counts it; the memtables
    /// are those it was prepared for. Returns whether to ask for a switch, and what is
    /// left to do.
    ///
    /// # Errors
    /// As for [`Inserter::add`].
    #[inline]
    pub fn link<'m>(
        self,
        seq: SequenceNumber,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
    ) -> Result<(bool, Option<DeferredWork>)> {
        let LocatedEntry { cf, ty, entry } = self;
        let Some(memtable) = memtable_of(cf) else {
            return Ok((false, None));
        };
        let wayless = memtable.link_on_top(ty, entry, seq)?;
        let full = memtable.count(1, u64::from(is_delete(ty)));
        Ok((full, wayless.map(|wayless| DeferredWork { cf, wayless })))
    }
}

impl DeferredWork {
    /// Does it, in the memtable that the entry was linked in.
    #[inline]
    pub fn run_deferred<'m>(self, memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>) {
        if let Some(memtable) = memtable_of(self.cf) {
            memtable.add_way(self.wayless);
        }
    }
}

impl LocatedEntries {
    fn new<'m>(
        batch: &Batch,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
    ) -> Option<Self> {
        let mut prepared = LocatedEntries::default();
        let mut run = Run::new();
        let mut run_of: Option<&Memtable> = None;
        for op in batch.ops() {
            let Ok(Op::Entry { cf, ty, key, value }) = op else {
                continue;
            };
            let memtable = memtable_of(cf).filter(|m| m.prepares(ty));
            let same = match (memtable, run_of) {
                (Some(a), Some(b)) => std::ptr::eq(&raw const **a, b),
                (None, None) => true,
                _ => false,
            };
            if !same {
                prepared.end_run(run_of, &mut run);
                run_of = memtable.map(|m| &**m);
            }
            prepared.entries.push(Slot {
                cf,
                ty,
                entry: None,
            });
            match memtable {
                Some(_) => run.push((key, value)),
                None => prepared.gaps = true,
            }
        }
        prepared.end_run(run_of, &mut run);
        let any = prepared.entries.iter().any(|slot| slot.entry.is_some());
        any.then_some(prepared)
    }

    /// Prepares `run`, the last operations so far.
    fn end_run(&mut self, memtable: Option<&Memtable>, run: &mut Run<'_>) {
        if let Some(memtable) = memtable {
            let start = self.entries.len() - run.len();
            let mut slots = self.entries[start..].iter_mut();
            memtable.prepare(run, &mut |entry| {
                slots.next().expect("one for each").entry = Some(entry);
            });
        }
        run.clear();
    }

    /// Inserts `batch`, whose first entry gets `first`: links what is
    /// prepared, and inserts the rest. The memtables are those it was prepared
    /// for.
    ///
    /// # Errors
    /// As for [`Inserter::add`].
    pub fn insert<'m, 'b>(
        self,
        batch: &'b Batch,
        first: SequenceNumber,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
        inserter: &mut Inserter<'m, 'b>,
    ) -> Result<SequenceNumber> {
        if self.gaps || self.entries.is_empty() {
            return self.insert_mixed(batch, first, memtable_of, inserter);
        }
        let mut seq = first;
        for Slot { cf, ty, entry } in self.entries {
            if let (Some(memtable), Some(entry)) = (memtable_of(cf), entry) {
                inserter.link(memtable, ty, entry, seq)?;
            }
            seq += 1;
        }
        Ok(seq)
    }

    /// [`LocatedEntries::insert`] where some are not prepared.
    fn insert_mixed<'m, 'b>(
        self,
        batch: &'b Batch,
        first: SequenceNumber,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
        inserter: &mut Inserter<'m, 'b>,
    ) -> Result<SequenceNumber> {
        let mut at = 0;
        let mut slots = self.entries.into_iter();
        for op in batch.ops() {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            let entry = slots.next().and_then(|slot| slot.entry);
            if let Some(memtable) = memtable_of(cf) {
                let seq = first + at;
                match entry {
                    Some(entry) => inserter.link(memtable, ty, entry, seq)?,
                    None => {
                        let sum = batch.sum(at as usize, cf, ty);
                        inserter.add_protected(memtable, ty, (key, value), sum, seq)?;
                    }
                }
            }
            at += 1;
        }
        Ok(first + at)
    }
}
