//! Column families whose keys have timestamps: reads of old versions, and trimming the
//! history.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::Rng;
use whitewater::{BoundColumnFamily, Error, ErrorKind};

use super::super::key_model::{Held, Slot, Version};
use super::super::model::Change;
use super::super::order::stamp;
use super::{Stop, Worker};

/// What slots may have held at each time since the thread began.
pub(super) struct PastValues {
    /// The earliest time that is read.
    since: Version,
    /// For each written slot: the times of its changes, and what it may have held from each
    /// on.
    held: BTreeMap<Slot, Vec<(Version, Vec<Held>)>>,
}

impl PastValues {
    /// Begins with `next` as the last version.
    pub(super) fn new(next: Version) -> PastValues {
        PastValues {
            since: next,
            held: BTreeMap::new(),
        }
    }

    /// Records the content of `slot` before its first write.
    fn begin(&mut self, slot: Slot, held: &[Held]) {
        let since = self.since;
        let begin = || vec![(since, held.to_vec())];
        self.held.entry(slot).or_insert_with(begin);
    }

    /// What `slot` may have held at `time`, if it was written since the thread began.
    pub(super) fn at(&self, slot: Slot, time: Version) -> Option<&[Held]> {
        let all = self.held.get(&slot)?;
        let before = all.iter().rev().find(|(from, _)| *from <= time);
        before.map(|(_, held)| held.as_slice())
    }
}

impl Worker<'_> {
    /// Called before `changes` are made.
    pub(super) fn begin_past(&mut self, changes: &[Change]) {
        for slot in changes.iter().map(|change| change.slot) {
            if self.is_stamped(slot) {
                self.past.begin(slot, self.mine.of(slot));
            }
        }
    }

    /// Called after `changes` were made or failed.
    pub(super) fn extend_past(&mut self, changes: &[Change]) {
        // A deletion has the timestamp of the value before it.
        let first = changes.iter().filter_map(|c| c.held).min();
        let mut time = first.map_or(self.next, |version| version - 1);
        for change in changes {
            time = change.held.unwrap_or(time);
            if let Some(all) = self.past.held.get_mut(&change.slot) {
                all.push((time, self.mine.of(change.slot).to_vec()));
            }
        }
    }

    /// A random time to read the column family of `slot` at; `None`, the usual case, is
    /// now.
    pub(super) fn time(&mut self, slot: Slot) -> Option<Version> {
        let is_past = self.is_stamped(slot) && self.rng.random_bool(0.4);
        is_past.then(|| self.any_time())
    }

    fn any_time(&mut self) -> Version {
        let times = self.past.since..=self.next;
        self.rng.random_range(times)
    }

    /// Handles an error of a read at `time`: it is a bug unless errors are injected or the
    /// history before `time` was trimmed.
    pub(super) fn failed_at(
        &self,
        what: &str,
        cf: &Arc<BoundColumnFamily<'_>>,
        time: Option<Version>,
        e: &Error,
    ) -> Result<(), String> {
        match time {
            Some(time) if self.is_forgotten(cf, time, e) => Ok(()),
            _ => self.failed(what, e),
        }
    }

    /// Whether `e` reports that the history at `time` was trimmed, and it was.
    fn is_forgotten(&self, cf: &Arc<BoundColumnFamily<'_>>, time: Version, e: &Error) -> bool {
        let low = self.context.db.get_full_history_ts_low(cf).ok();
        let low = low.and_then(|low| low.first_chunk().map(|low| u64::from_le_bytes(*low)));
        e.kind() == ErrorKind::InvalidArgument && low.is_some_and(|low| low > u64::from(time))
    }

    /// Trims the history of a column family to a random time.
    pub(super) fn trim_history(&mut self) -> Result<(), Stop> {
        let family = self.family();
        if !self.context.shape.order(family.number).is_stamped() {
            return Ok(());
        }
        let time = self.any_time();
        let raised = self
            .context
            .db
            .increase_full_history_ts_low(&family.handle, stamp(time));
        match raised {
            Err(e) if !self.is_gone(family.number, &e) => {
                Ok(self.failed_at("history", &family.handle, Some(time), &e)?)
            }
            _ => Ok(()),
        }
    }
}
