//! Operations that read slots: gets, multi-gets, scans and snapshots.

use std::sync::Arc;

use rand::Rng;
use whitewater::{BoundColumnFamily, DBPinnableSlice, Error, ReadOptions};

use super::super::key_model::{Slot, Version};
use super::super::store::{self, total};
use super::{CheckedSnapshot, Worker};

/// The largest number of snapshots that a thread holds.
const SNAPSHOTS: usize = 3;

impl Worker<'_> {
    /// Checks that `slot` may hold what was read.
    pub(super) fn judge(&self, slot: Slot, read: Option<&[u8]>, how: &str) -> Result<(), String> {
        self.judge_at(slot, read, None, how)
    }

    /// Checks that `slot` may have held at `time` what was read.
    fn judge_at(
        &self,
        slot: Slot,
        read: Option<&[u8]>,
        time: Option<Version>,
        how: &str,
    ) -> Result<(), String> {
        let shape = self.context.shape;
        let held = read.map(|bytes| shape.version(slot, bytes)).transpose()?;
        let then = time.and_then(|time| self.past.at(slot, time));
        let may = then.unwrap_or_else(|| self.mine.of(slot));
        if shape.is_of(self.thread, slot) && !may.contains(&held) {
            return Err(format!(
                "{slot}: {how} at {time:?} found {held:?} instead of {may:?}"
            ));
        }
        Ok(())
    }

    /// Gets `slot`, at `time` if keys have timestamps.
    pub(super) fn get_at(
        &self,
        cf: &Arc<BoundColumnFamily<'_>>,
        slot: Slot,
        time: Option<Version>,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let shape = self.context.shape;
        let mut read = ReadOptions::default();
        shape.order(slot.family).read_at(&mut read, time);
        self.context
            .db
            .get_pinned_cf_opt(cf, shape.key(slot), &read)
    }

    pub(super) fn get(&mut self) -> Result<(), String> {
        let slot = if self.rng.random_bool(0.7) {
            self.slot()
        } else {
            Slot {
                family: self.family().number,
                key: self.rng.random_range(0..self.context.shape.keys),
            }
        };
        let time = self.time(slot);
        if !self.is_stamped(slot) && self.rng.random_bool(0.3) {
            return self.get_entity(slot);
        }
        let cf = self.of(slot);
        match self.get_at(cf, slot, time) {
            Ok(found) => self.judge_at(slot, found.as_deref(), time, "get"),
            Err(e) => self.failed_at("get", cf, time, &e),
        }
    }

    /// Gets the columns of `slot`.
    fn get_entity(&self, slot: Slot) -> Result<(), String> {
        let (cf, shape) = (self.of(slot), self.context.shape);
        match self.context.db.get_pinned_entity_cf(cf, shape.key(slot)) {
            Ok(None) => self.judge(slot, None, "get of columns"),
            Ok(Some(columns)) => {
                shape.check_columns(slot, &columns.iter().collect::<Vec<_>>())?;
                self.judge(slot, columns.default_column(), "get of columns")
            }
            Err(e) => self.failed("get of columns", &e),
        }
    }

    /// Gets several slots at once: only those with timestamps, or only those without.
    pub(super) fn get_many(&mut self) -> Result<(), String> {
        let shape = self.context.shape;
        let order = shape.order(self.family().number);
        let slots: Vec<_> = (0..self.rng.random_range(1..20))
            .map(|_| self.slot())
            .filter(|slot| shape.order(slot.family).is_stamped() == order.is_stamped())
            .collect();
        let keys = slots.iter().map(|&slot| (self.of(slot), shape.key(slot)));
        let mut read = ReadOptions::default();
        order.read_at(&mut read, None);
        let found = self.context.db.multi_get_cf_opt(keys, &read);
        for (slot, found) in slots.into_iter().zip(found) {
            match found {
                Ok(found) => self.judge(slot, found.as_deref(), "get of many")?,
                Err(e) => self.failed("get of many", &e)?,
            }
        }
        Ok(())
    }

    /// Scans a few entries: none of the thread's own may be missing.
    pub(super) fn scan(&mut self) -> Result<(), String> {
        let from = self.slot();
        let forward = self.rng.random();
        let mut left = self.rng.random_range(1..30);
        let shape = self.context.shape;
        let mut read = total();
        read.set_async_io(self.rng.random());
        // The key that the scan ends at if it finds nothing more.
        let end = match (self.rng.random_bool(0.3), self.rng.random_range(0..40)) {
            (false, _) if forward => shape.keys,
            (false, _) => u32::MAX,
            (true, n) if forward => {
                let key = shape.keys.min(from.key + n);
                read.set_iterate_upper_bound(shape.key(Slot { key, ..from }));
                key
            }
            (true, n) => {
                let key = from.key.saturating_sub(n);
                read.set_iterate_lower_bound(shape.key(Slot { key, ..from }));
                key.wrapping_sub(1)
            }
        };
        let time = self.time(from);
        shape.order(from.family).read_at(&mut read, time);
        let mut it = self.context.db.raw_iterator_cf_opt(self.of(from), read);
        if forward {
            it.seek(shape.key(from))
        } else {
            it.seek_for_prev(shape.key(from))
        }
        let mut at = from.key;
        loop {
            let item = it.item();
            if item.is_none()
                && let Err(e) = it.status()
            {
                return self.failed_at("scan", self.of(from), time, &e);
            }
            let found = item
                .map(|(key, _)| shape.slot(from.family, key))
                .transpose()?;
            let stop = found.map_or(end, |slot| slot.key);
            // Slots that the scan skipped must be empty.
            while at != stop && at != end && at < shape.keys {
                self.judge_at(Slot { key: at, ..from }, None, time, "scan")?;
                at = if forward { at + 1 } else { at.wrapping_sub(1) };
            }
            let (Some(slot), Some((_, value))) = (found, item) else {
                return Ok(());
            };
            if at != slot.key {
                return Err(format!("scan from {from} came to {slot} at {at}"));
            }
            self.judge_at(slot, Some(value), time, "scan")?;
            shape.check_columns(slot, &it.columns().unwrap_or_default())?;
            left -= 1;
            if left == 0 {
                return Ok(());
            }
            at = if forward { at + 1 } else { at.wrapping_sub(1) };
            if forward { it.next() } else { it.prev() }
        }
    }

    pub(super) fn take_snapshot(&mut self) {
        if self.snapshots.len() < SNAPSHOTS {
            self.snapshots.push_back(CheckedSnapshot {
                snapshot: self.context.db.snapshot(),
                mine: self.mine.clone(),
                families: self.families.clone(),
            });
        }
    }

    /// Checks that the oldest snapshot shows what held when it was taken.
    pub(super) fn check_snapshot(&mut self) -> Result<(), String> {
        let Some(taken) = self.snapshots.pop_front() else {
            return Ok(());
        };
        let CheckedSnapshot {
            snapshot,
            mine,
            families,
        } = taken;
        let read = || -> ReadOptions {
            let mut o = total();
            o.set_snapshot(&snapshot);
            o
        };
        // With unordered commit, a snapshot may still change for other threads' slots.
        let (shape, strict) = (self.context.shape, self.context.options.is_strict());
        let counts = |slot| strict || shape.is_of(self.thread, slot);
        let content = store::content(self.context.db, shape, &families, &read, &counts);
        let now = std::mem::replace(&mut self.mine, mine);
        let compared = self.compare(content, &families, "snapshot");
        self.mine = now;
        compared
    }
}
