//! Entries located in memtables before their sequence numbers are known.
//!
//! Where a memtable inserts in two phases ([`two_phase`](super::two_phase)), the
//! entries of a write are located before the writer reserves its numbers, and linked
//! once it has them. Located entries that are never linked stay invisible.

use super::inserter::is_delete;
use super::two_phase::{DeferredLink, LeafHint, UnlinkedEntry};
use super::{Inserter, Memtable};
use crate::memtable::operations::{Operations, SingleOp};
use crate::memtable::sections::EntryNumbers;
use smallvec::SmallVec;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::{SequenceNumber, ValueType};

/// The most operations of a batch that is located. What is kept for each of them adds
/// up, so larger batches are inserted in one phase.
const MAX_LOCATED: u32 = 1024;

/// The entries of a batch, located as far as their memtables allow.
#[derive(Debug)]
pub(crate) enum LocatedBatch {
    /// The only entry, without the machinery for several.
    Single(LocatedEntry),
    Many(LocatedEntries),
}

/// A located entry.
#[derive(Debug)]
pub(crate) struct LocatedEntry {
    cf: u32,
    ty: ValueType,
    entry: UnlinkedEntry,
}

/// What is left to do for a linked entry. It may wait for a cache miss, so it is run when
/// other writers wait for this one no longer, or only for the disk.
#[derive(Debug)]
pub(crate) struct DeferredWork {
    cf: u32,
    link: DeferredLink,
}

/// See [`LocatedBatch`].
#[derive(Debug, Default)]
pub(crate) struct LocatedEntries {
    /// One for each operation of the batch that takes a number.
    entries: Vec<Slot>,
    /// Some entries were not located and have to be inserted from the batch.
    gaps: bool,
}

/// An operation that takes a number.
#[derive(Debug)]
struct Slot {
    cf: u32,
    ty: ValueType,
    entry: Option<UnlinkedEntry>,
}

/// Consecutive entries of one memtable, as `(user key, value)`.
type Run<'b> = SmallVec<[(&'b [u8], &'b [u8]); 4]>;

impl LocatedBatch {
    /// Locates `operations` in the memtables that `memtable_of` finds by column family.
    /// `hint`, if set, is of the key of the only operation. Returns `None` if nothing is
    /// located: no memtable can, or the batch is larger than [`MAX_LOCATED`].
    #[inline]
    pub fn new<'m>(
        operations: Operations<'_>,
        hint: Option<LeafHint<'_>>,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
    ) -> Option<Self> {
        let batch = match operations {
            Operations::Single(op) => {
                return LocatedEntry::new(op, hint, memtable_of).map(LocatedBatch::Single);
            }
            Operations::Batch(batch) => batch,
            Operations::Section(write) => {
                let batch = write.only_inserted()?;
                let located = batch.count() <= MAX_LOCATED;
                let located = located.then(|| LocatedEntries::new(batch, memtable_of));
                return located.flatten().map(LocatedBatch::Many);
            }
        };
        match batch.count() {
            1 => LocatedEntry::new(only_entry(batch)?, hint, memtable_of).map(LocatedBatch::Single),
            n if n <= MAX_LOCATED => {
                LocatedEntries::new(batch, memtable_of).map(LocatedBatch::Many)
            }
            _ => None,
        }
    }
}

/// The only operation of `batch` that takes a number.
#[inline]
fn only_entry(batch: &Batch) -> Option<SingleOp<'_>> {
    batch.ops().find_map(|op| match op {
        Ok(Op::Entry { cf, ty, key, value }) => Some(SingleOp { cf, ty, key, value }),
        _ => None,
    })
}

impl LocatedEntry {
    #[inline]
    fn new<'m>(
        op: SingleOp<'_>,
        hint: Option<LeafHint<'_>>,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
    ) -> Option<Self> {
        let SingleOp { cf, ty, key, value } = op;
        let entry = memtable_of(cf)?.locate(ty, key, value, hint)?;
        Some(LocatedEntry { cf, ty, entry })
    }

    /// Links the entry under `seq`, which was allocated after it was located, and counts
    /// it. The memtables are those it was located in. Returns whether to ask for a
    /// switch. What is left to do goes to `deferred`.
    ///
    /// # Errors
    /// As for [`Inserter::add`].
    #[inline]
    pub fn link<'m>(
        self,
        seq: SequenceNumber,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
        deferred: &mut Option<DeferredWork>,
    ) -> Result<bool> {
        let LocatedEntry { cf, ty, entry } = self;
        let Some(memtable) = memtable_of(cf) else {
            return Ok(false);
        };
        memtable.note_first(seq);
        if let Some(link) = memtable.link_newest(ty, entry, seq)? {
            *deferred = Some(DeferredWork { cf, link });
        }
        Ok(memtable.count(1, u64::from(is_delete(ty))))
    }
}

impl DeferredWork {
    /// Does it. The memtables are those the entry was linked in.
    #[inline]
    pub fn run<'m>(self, memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>) {
        if let Some(memtable) = memtable_of(self.cf) {
            memtable.run_deferred(self.link);
        }
    }
}

impl LocatedEntries {
    fn new<'m>(
        batch: &Batch,
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
    ) -> Option<Self> {
        let mut located = LocatedEntries {
            entries: Vec::with_capacity(batch.count() as usize),
            gaps: false,
        };
        let mut run = Run::with_capacity(batch.count() as usize);
        let mut run_of: Option<&Memtable> = None;
        for op in batch.ops() {
            let Ok(Op::Entry { cf, ty, key, value }) = op else {
                continue;
            };
            let memtable = memtable_of(cf).filter(|m| m.two_phase_for(ty).is_some());
            let same = match (memtable, run_of) {
                (Some(a), Some(b)) => std::ptr::eq(&raw const **a, b),
                (None, None) => true,
                _ => false,
            };
            if !same {
                located.end_run(run_of, &mut run);
                run_of = memtable.map(|m| &**m);
            }
            located.entries.push(Slot {
                cf,
                ty,
                entry: None,
            });
            match memtable {
                Some(_) => run.push((key, value)),
                None => located.gaps = true,
            }
        }
        located.end_run(run_of, &mut run);
        let any = located.entries.iter().any(|slot| slot.entry.is_some());
        any.then_some(located)
    }

    /// Locates `run`, the last operations so far.
    fn end_run(&mut self, memtable: Option<&Memtable>, run: &mut Run<'_>) {
        if let Some(memtable) = memtable {
            let start = self.entries.len() - run.len();
            let mut slots = self.entries[start..].iter_mut();
            memtable.locate_batch(run, &mut |entry| {
                slots.next().expect("one for each").entry = Some(entry);
            });
        }
        run.clear();
    }

    /// Inserts `batch`, whose first entry gets the number `first`, and the others those that
    /// `numbers` says: links the entries that were located, and inserts the others. The
    /// memtables are those it was located in. Returns how many entries there are.
    ///
    /// # Errors
    /// As for [`Inserter::add`].
    pub fn insert<'m, 'b>(
        self,
        batch: &'b Batch,
        (first, numbers): (SequenceNumber, EntryNumbers<'_>),
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
        inserter: &mut Inserter<'m, 'b>,
    ) -> Result<u64> {
        if self.gaps || self.entries.is_empty() {
            return self.insert_mixed(batch, (first, numbers), memtable_of, inserter);
        }
        let mut at = 0;
        for Slot { cf, ty, entry } in self.entries {
            if let (Some(memtable), Some(entry)) = (memtable_of(cf), entry) {
                inserter.link(memtable, ty, entry, first + numbers.offset(at))?;
            }
            at += 1;
        }
        Ok(at)
    }

    /// [`LocatedEntries::insert`] where some entries were not located.
    fn insert_mixed<'m, 'b>(
        self,
        batch: &'b Batch,
        (first, numbers): (SequenceNumber, EntryNumbers<'_>),
        memtable_of: impl Fn(u32) -> Option<&'m Arc<Memtable>>,
        inserter: &mut Inserter<'m, 'b>,
    ) -> Result<u64> {
        let mut at = 0;
        let mut slots = self.entries.into_iter();
        for op in batch.ops() {
            let Op::Entry { cf, ty, key, value } = op? else {
                continue;
            };
            let entry = slots.next().and_then(|slot| slot.entry);
            if let Some(memtable) = memtable_of(cf) {
                let seq = first + numbers.offset(at);
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
        Ok(at)
    }
}
