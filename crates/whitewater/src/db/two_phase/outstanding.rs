//! The prepared sections that are not decided.
//!
//! A section is in the list from before its record is logged until its decision was
//! acknowledged. Invariants, together with the module above:
//! * X1: the log of a section is noted before the section's number can be visible.
//! * X2: a section leaves the list only when its commit is acknowledged. By then every
//!   memtable that the commit was inserted into keeps the section's log.
//! * X8: a decision that fails leaves the section as it was, to be decided again.
//! * X9: a name is in the list once.

use crate::memtable::sections::Section;
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Error, Result};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct OutstandingSections {
    /// A leaf lock.
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    by_name: BTreeMap<Box<[u8]>, Outstanding>,
    /// Whether there ever was a section.
    any: bool,
}

/// A section that is prepared or about to be.
#[derive(Debug)]
struct Outstanding {
    section: Arc<Section>,
    /// Where its record is, once it is logged.
    place: Option<Place>,
    /// A decision is under way.
    deciding: bool,
    /// The last number of the decision, once that is logged.
    decided: Option<SequenceNumber>,
}

impl Outstanding {
    /// Where its record is, if it is prepared at the visible number `visible`.
    fn place_at(&self, visible: SequenceNumber) -> Option<Place> {
        let is_decided = self.decided.is_some_and(|last| last <= visible);
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
    /// result is dropped, unless that is [kept](Entered::keep).
    ///
    /// # Errors
    /// `InvalidArgument` if a section of that name is outstanding (X9).
    pub fn enter(&self, section: &Arc<Section>) -> Result<Entered<'_>> {
        self.insert(section, None)?;
        Ok(Entered {
            sections: self,
            section: section.clone(),
        })
    }

    /// Enters a section that recovery has found in `log`, with the sequence number
    /// `number`.
    ///
    /// # Errors
    /// As for [`enter`](Self::enter).
    pub fn adopt(&self, section: &Arc<Section>, log: u64, number: SequenceNumber) -> Result<()> {
        self.insert(section, Some(Place { log, number }))
    }

    fn insert(&self, section: &Arc<Section>, place: Option<Place>) -> Result<()> {
        let mut list = self.list.lock();
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
        };
        list.by_name.insert(section.name.clone(), outstanding);
        Ok(())
    }

    /// Notes that the record of `section` is in `log` with the number `number`: X1. The
    /// number is not visible yet.
    pub fn note_logged(&self, section: &Arc<Section>, log: u64, number: SequenceNumber) {
        if let Some(outstanding) = self.list.lock().find(section) {
            outstanding.place = Some(Place { log, number });
        }
    }

    /// Begins to decide on `section`.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not outstanding, or a decision is under way.
    pub fn begin_decision(&self, section: &Arc<Section>) -> Result<Deciding<'_>> {
        let mut list = self.list.lock();
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
        Ok(Deciding {
            sections: self,
            section: section.clone(),
        })
    }

    /// Notes that the decision on `section` is logged, with numbers up to `last`, which
    /// is not visible yet. Returns the log of the section; 0 if that is unknown.
    pub fn note_decided(&self, section: &Arc<Section>, last: SequenceNumber) -> u64 {
        let mut list = self.list.lock();
        let Some(outstanding) = list.find(section) else {
            return 0;
        };
        outstanding.decided = Some(last);
        outstanding.place.map_or(0, |place| place.log)
    }

    /// The oldest log that has a section. To be asked for before memtables are looked at:
    /// X2.
    pub fn oldest_log(&self) -> Option<u64> {
        let list = self.list.lock();
        let places = list.by_name.values().filter_map(|one| one.place);
        places.map(|place| place.log).min()
    }

    /// The sections that are prepared at the visible number `visible`, each with the number
    /// of its record. No write is under way: all above `visible` have failed.
    pub fn prepared_at(&self, visible: SequenceNumber) -> Vec<(Arc<Section>, SequenceNumber)> {
        let list = self.list.lock();
        let prepared = list.by_name.values().filter_map(|one| {
            let place = one.place_at(visible)?;
            Some((one.section.clone(), place.number))
        });
        prepared.collect()
    }

    /// Notes that the sections that are [prepared at](Self::prepared_at) `visible` are in
    /// `log` now.
    pub fn note_moved(&self, visible: SequenceNumber, log: u64) {
        for one in self.list.lock().by_name.values_mut() {
            if let Some(place) = one.place_at(visible) {
                one.place = Some(Place { log, ..place });
                one.decided = None; // the decision has failed: upholds X8
            }
        }
    }

    /// Whether there ever was a section.
    pub fn were_any(&self) -> bool {
        self.list.lock().any
    }

    /// The prepared sections that are not being decided on, by name.
    pub fn all(&self) -> Vec<Arc<Section>> {
        let list = self.list.lock();
        let waiting = |one: &&Outstanding| one.place.is_some() && !one.deciding;
        let waiting = list.by_name.values().filter(waiting);
        waiting.map(|one| one.section.clone()).collect()
    }
}

impl List {
    fn find(&mut self, section: &Arc<Section>) -> Option<&mut Outstanding> {
        let found = self.by_name.get_mut(&section.name);
        found.filter(|one| Arc::ptr_eq(&one.section, section))
    }

    fn remove(&mut self, section: &Arc<Section>) {
        if self.find(section).is_some() {
            self.by_name.remove(&section.name);
        }
    }
}

/// A section that is being prepared.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    sections: &'a OutstandingSections,
    section: Arc<Section>,
}

impl Entered<'_> {
    /// The section is prepared.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.sections.list.lock().remove(&self.section);
    }
}

/// A section that is being decided on. Dropped, it is prepared as before: upholds X8.
#[derive(Debug)]
pub(crate) struct Deciding<'a> {
    sections: &'a OutstandingSections,
    section: Arc<Section>,
}

impl Deciding<'_> {
    /// The decision was acknowledged.
    pub fn done(self) {
        self.sections.list.lock().remove(&self.section);
    }
}

impl Drop for Deciding<'_> {
    fn drop(&mut self) {
        // Not there if the decision is done.
        if let Some(outstanding) = self.sections.list.lock().find(&self.section) {
            outstanding.deciding = false;
            outstanding.decided = None;
        }
    }
}
