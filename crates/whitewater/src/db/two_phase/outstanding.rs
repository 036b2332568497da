//! The prepared sections that are not decided.
//!
//! A section is in the list from before its record is logged until its decision was
//! acknowledged. Invariants, together with the module above:
//! * X1: the log of a section is noted before the section's number can be visible.
//! * X2: a section leaves the list only when its decision is acknowledged. By then every
//!   memtable that a commit has inserted the section into keeps the section's log; if the prepare
//!   has inserted it, the list itself keeps that log until the decision's is durable.
//! * X8: a decision that fails leaves the section as it was, to be decided again.
//! * X9: a name is in the list once.
//!
//! The list is in shards by name, so that threads seldom meet at one lock: two of its changes for
//! each section are made while later writes wait for the writer. Who looks at all of it looks at
//! one shard after the other. That is as good as one moment: what X1 and X2 say of a section is
//! about the shard that it stays in.

use crate::memtable::sections::Section;
use crossbeam_utils::CachePadded;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use whitewater_concurrent::key_hash::KeyHasher;
use whitewater_concurrent::system::{self, Mutex, MutexGuard};
use whitewater_concurrent::undecided::{NumberRange, Undecided};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Error, Result, planted};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct OutstandingSections {
    hasher: KeyHasher,
    /// Leaf locks.
    shards: [CachePadded<Mutex<List>>; SHARDS],
    /// The newest decision that a flush or compaction has gone by. It is durable. A leaf lock.
    gone_by: Mutex<Decision>,
}

/// The number of shards.
const SHARDS: usize = 64;

impl Default for OutstandingSections {
    fn default() -> Self {
        OutstandingSections {
            hasher: KeyHasher::new(),
            shards: std::array::from_fn(|_| CachePadded::default()),
            gone_by: Mutex::default(),
        }
    }
}

/// A shard.
#[derive(Debug, Default)]
struct List {
    by_name: BTreeMap<Arc<[u8]>, Outstanding>,
    /// Whether there ever was a section.
    any: bool,
    /// For logs with decisions on sections in older logs: the oldest log with such a section. It is
    /// needed until the log with the decision is durable.
    decided_in: BTreeMap<u64, u64>,
    /// The newest decision that was acknowledged.
    last_decided: Decision,
}

/// Where the record of a decision is; all 0 stands for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Decision {
    /// Its last number.
    pub last: SequenceNumber,
    /// Its first number, which the record has.
    pub first: SequenceNumber,
    /// The log that has it.
    pub log: u64,
}

/// A section that is prepared or about to be.
#[derive(Debug)]
struct Outstanding {
    section: Arc<Section>,
    /// Where its record is, once it is logged.
    place: Option<Place>,
    /// A decision is under way.
    deciding: bool,
    /// The decision, once that is logged.
    decided: Option<Decision>,
    /// The numbers of its operations, if these are in memtables or tables before it is decided.
    ranges: Ranges,
    /// The numbers of the operations that the decision has inserted, which are decided with it.
    of_decision: Option<NumberRange>,
}

/// Number ranges of one section: mostly one.
pub(crate) type Ranges = SmallVec<[NumberRange; 1]>;

impl Outstanding {
    /// Where its record is, if it is prepared at the visible number `visible`.
    fn place_at(&self, visible: SequenceNumber) -> Option<Place> {
        let is_decided = self
            .decided
            .is_some_and(|decision| decision.last <= visible);
        let place = self.place.filter(|place| place.number <= visible);
        place.filter(|_| !is_decided)
    }
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// The log that has the section's record.
    log: u64,
    /// The sequence number of the record.
    number: SequenceNumber,
}

impl OutstandingSections {
    /// Enters a section that is about to be logged. It leaves the list again when the
    /// result is dropped, and its numbers leave `undecided`, unless that is
    /// [kept](Entered::keep).
    ///
    /// # Errors
    /// `InvalidArgument` if a section of that name is outstanding (X9).
    pub fn enter<'a>(
        &'a self,
        section: &Arc<Section>,
        undecided: Option<&'a Undecided>,
    ) -> Result<Entered<'a>> {
        self.insert(section, None, Ranges::new())?;
        Ok(Entered {
            sections: self,
            section: section.clone(),
            undecided,
            kept: false,
        })
    }

    /// Enters a section that recovery has found in `log`, with the sequence number
    /// `number`. `ranges` are those that its operations have been inserted with and that are
    /// undecided.
    ///
    /// # Errors
    /// As for [`enter`](Self::enter).
    pub fn adopt(
        &self,
        section: &Arc<Section>,
        (log, number): (u64, SequenceNumber),
        ranges: Ranges,
    ) -> Result<()> {
        self.insert(section, Some(Place { log, number }), ranges)
    }

    fn insert(&self, section: &Arc<Section>, place: Option<Place>, ranges: Ranges) -> Result<()> {
        let mut list = self.shard(&section.name).lock();
        list.any = true;
        if list.by_name.contains_key(&section.name) {
            return Err(Error::invalid(format_args!(
                "Duplicate txn name {}",
                section.name.escape_ascii()
            )));
        }
        let outstanding = Outstanding {
            section: section.clone(),
            place,
            deciding: false,
            decided: None,
            ranges,
            of_decision: None,
        };
        list.by_name.insert(section.name.clone(), outstanding);
        Ok(())
    }

    /// Notes that the record of `section` is in `log` with the number `number`: X1. The
    /// number is not visible yet. Its operations are being inserted with the numbers `range`,
    /// if that is set.
    pub fn note_logged(
        &self,
        section: &Arc<Section>,
        (log, number): (u64, SequenceNumber),
        range: Option<NumberRange>,
    ) {
        if let Some(outstanding) = self.shard(&section.name).lock().find(section) {
            outstanding.place = Some(Place { log, number });
            outstanding.ranges.extend(range);
        }
    }

    /// Begins to decide on `section`. When that is done, its numbers leave `undecided`. When it
    /// fails, those of the decision leave `of_failed`.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not outstanding, or a decision is under way.
    pub fn begin_decision<'a>(
        &'a self,
        section: &Arc<Section>,
        undecided: Option<&'a Undecided>,
        of_failed: Option<&'a Undecided>,
    ) -> Result<Deciding<'a>> {
        let mut list = self.shard(&section.name).lock();
        match list.find(section) {
            Some(outstanding) if outstanding.place.is_some() && !outstanding.deciding => {
                outstanding.deciding = true;
            }
            _ => {
                return Err(Error::invalid(
                    "the transaction is not prepared, or is being decided on",
                ));
            }
        }
        planted!(DecidedEarly => if let Some(one) = list.find(section) {
            leave(undecided, one.ranges.iter().copied());
        });
        Ok(Deciding {
            sections: self,
            section: section.clone(),
            undecided,
            of_failed,
            done: false,
        })
    }

    /// Notes the `decision` on `section`, which is logged and not visible yet. Operations are being
    /// inserted with the numbers `range`, if that is set, which are decided with the section.
    /// Returns the log of the section; 0 if that is unknown.
    pub fn note_decided(
        &self,
        section: &Arc<Section>,
        decision: Decision,
        range: Option<NumberRange>,
    ) -> u64 {
        let mut list = self.shard(&section.name).lock();
        let Some(outstanding) = list.find(section) else {
            return 0;
        };
        let log = decision.log;
        outstanding.decided = Some(decision);
        outstanding.of_decision = range;
        let of_section = outstanding.place.map_or(0, |place| place.log);
        let mut waits = of_section < log;
        planted!(SectionLogLetGo => waits = false);
        if waits {
            let oldest = list.decided_in.entry(log).or_insert(of_section);
            *oldest = (*oldest).min(of_section); // upholds X2
        }
        of_section
    }

    /// The numbers of `section`'s operations that are undecided.
    pub fn ranges(&self, section: &Arc<Section>) -> Ranges {
        let mut list = self.shard(&section.name).lock();
        let outstanding = list.find(section);
        outstanding.map_or_else(Ranges::new, |one| one.ranges.clone())
    }

    /// The oldest log that is needed for sections, also for those whose decision is not durable:
    /// it may be in `unsynced` or a later log, of which nothing may be durable. To be asked for
    /// before memtables are looked at: X2.
    pub fn oldest_needed(&self, unsynced: u64) -> Option<u64> {
        let oldest_in = |mut list: MutexGuard<'_, List>| {
            list.decided_in.retain(|log, _| *log >= unsynced);
            let places = list.by_name.values().filter_map(|one| one.place);
            let places = places.map(|place| place.log);
            places.chain(list.decided_in.values().copied()).min()
        };
        self.lists().filter_map(oldest_in).min()
    }

    /// The newest decision that was acknowledged, if there was one.
    pub fn last_decided(&self) -> Option<Decision> {
        let newest = self.lists().map(|list| list.last_decided).max();
        newest.filter(|decision| decision.last > 0)
    }

    /// Notes that a flush or compaction goes by decisions up to `decision`, which is durable.
    pub fn note_gone_by(&self, decision: Decision) {
        let mut gone_by = self.gone_by.lock();
        *gone_by = decision.max(*gone_by);
    }

    /// What the manifest has to tell of decisions that tables go by: the number of the newest one
    /// and its log. It is durable.
    pub fn gone_by(&self) -> Option<(SequenceNumber, u64)> {
        let decision = *self.gone_by.lock();
        (decision.last > 0).then_some((decision.first, decision.log))
    }

    /// The oldest log that has a section that is not decided.
    pub fn oldest_log(&self) -> Option<u64> {
        let oldest_in = |list: MutexGuard<'_, List>| {
            let places = list.by_name.values().filter_map(|one| one.place);
            places.map(|place| place.log).min()
        };
        self.lists().filter_map(oldest_in).min()
    }

    /// The sections that are prepared at the visible number `visible`, each with the number
    /// of its record. No write is under way: all above `visible` have failed.
    pub fn prepared_at(&self, visible: SequenceNumber) -> Vec<(Arc<Section>, SequenceNumber)> {
        let mut prepared = Vec::new();
        for list in self.lists() {
            prepared.extend(list.by_name.values().filter_map(|one| {
                let place = one.place_at(visible)?;
                Some((one.section.clone(), place.number))
            }));
        }
        prepared.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        prepared
    }

    /// Notes that the sections that are [prepared at](Self::prepared_at) `visible` are in
    /// `log` now. Everything else is in tables.
    pub fn note_moved(&self, visible: SequenceNumber, log: u64) {
        for mut list in self.lists() {
            list.decided_in.clear();
            for one in list.by_name.values_mut() {
                if let Some(place) = one.place_at(visible) {
                    one.place = Some(Place { log, ..place });
                    one.decided = None; // the decision has failed: upholds X8
                }
            }
        }
    }

    /// How many bytes the sections take, about.
    pub fn memory(&self) -> u64 {
        let memory = |list: MutexGuard<'_, List>| -> u64 {
            list.by_name.values().map(|one| one.section.memory()).sum()
        };
        self.lists().map(memory).sum()
    }

    /// Whether there ever was a section.
    pub fn were_any(&self) -> bool {
        self.lists().any(|list| list.any)
    }

    /// The prepared sections that are not being decided on, by name.
    pub fn all(&self) -> Vec<Arc<Section>> {
        let is_waiting = |one: &&Outstanding| one.place.is_some() && !one.deciding;
        let mut waiting = Vec::new();
        for list in self.lists() {
            let of_shard = list.by_name.values().filter(is_waiting);
            waiting.extend(of_shard.map(|one| one.section.clone()));
        }
        waiting.sort_by(|a, b| a.name.cmp(&b.name));
        waiting
    }

    /// The shard that has a section of this name.
    fn shard(&self, name: &[u8]) -> &Mutex<List> {
        &self.shards[self.hasher.hash(0, name) as usize % SHARDS]
    }

    /// The shards, one after the other.
    fn lists(&self) -> impl Iterator<Item = MutexGuard<'_, List>> {
        self.shards.iter().map(|shard| shard.lock())
    }
}

impl List {
    fn find(&mut self, section: &Arc<Section>) -> Option<&mut Outstanding> {
        let found = self.by_name.get_mut(&section.name);
        found.filter(|one| Arc::ptr_eq(&one.section, section))
    }

    fn remove(&mut self, section: &Arc<Section>) -> Option<Outstanding> {
        self.find(section)?;
        self.by_name.remove(&section.name)
    }

    fn remove_decided(&mut self, section: &Arc<Section>) -> Option<Outstanding> {
        let removed = self.remove(section)?;
        self.last_decided = self.last_decided.max(removed.decided.unwrap_or_default());
        Some(removed)
    }
}

/// A section that is being prepared.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    sections: &'a OutstandingSections,
    section: Arc<Section>,
    undecided: Option<&'a Undecided>,
    kept: bool,
}

impl Entered<'_> {
    /// The section is prepared.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // The prepare has failed: its numbers are never visible.
        let removed = self
            .sections
            .shard(&self.section.name)
            .lock()
            .remove(&self.section);
        leave(
            self.undecided,
            removed.into_iter().flat_map(|one| one.ranges),
        );
    }
}

/// A section that is being decided on. Dropped, it is prepared as before: upholds X8.
#[derive(Debug)]
pub(crate) struct Deciding<'a> {
    sections: &'a OutstandingSections,
    section: Arc<Section>,
    undecided: Option<&'a Undecided>,
    of_failed: Option<&'a Undecided>,
    done: bool,
}

impl Deciding<'_> {
    /// The decision was acknowledged: what was inserted at the prepare and what was inserted
    /// with the decision count from one instant on (X3).
    pub fn done(mut self) {
        self.done = true;
        let removed = self
            .sections
            .shard(&self.section.name)
            .lock()
            .remove_decided(&self.section);
        planted!(DecidedInTwoSteps => if let Some(one) = &removed {
            leave(self.undecided, one.ranges.iter().copied());
            system::sleep(Duration::from_millis(5));
        });
        let ranges = removed.map(|one| one.ranges.into_iter().chain(one.of_decision));
        leave(self.undecided, ranges.into_iter().flatten());
    }
}

impl Drop for Deciding<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut failed = None;
        if let Some(outstanding) = self
            .sections
            .shard(&self.section.name)
            .lock()
            .find(&self.section)
        {
            outstanding.deciding = false;
            outstanding.decided = None;
            // Its numbers are never visible.
            failed = outstanding.of_decision.take();
        }
        leave(self.of_failed, failed);
    }
}

/// Takes `ranges` out of `undecided`, all at one instant.
fn leave(undecided: Option<&Undecided>, ranges: impl IntoIterator<Item = NumberRange>) {
    let mut ranges = ranges.into_iter().peekable();
    if let Some(undecided) = undecided
        && ranges.peek().is_some()
    {
        undecided.decide(ranges.map(|range| range.first));
    }
}
