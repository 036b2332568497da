//! Operations that change slots. Each is announced before it begins and reported after it
//! ends.

use std::sync::Arc;

use rand::Rng;
use rand::seq::IndexedRandom;
use whitewater::{
    Error, ErrorKind, FlushOptions, IngestExternalFileOptions, SstFileWriter, WriteBatch,
    WriteOptions,
};

use super::super::journal::{Entry, Outcome};
use super::super::key_model::{Slot, Version};
use super::super::model::{Change, UncertainWrite};
use super::super::order::stamp;
use super::super::script;
use super::{Ingests, Log, Stop, Worker};

/// The largest number of changes in one write.
const MOST: usize = 12;

/// How a slot is changed.
#[derive(Debug, Clone, Copy)]
enum How {
    Put,
    PutAt,
    PutEntity,
    Merge,
    MergeAt,
    Delete,
    DeleteAt,
    SingleDelete,
}

/// The durability of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    Unlogged,
    Logged,
    Synced,
}

impl Worker<'_> {
    /// Whether `slot` is only put when it is empty and only removed by single deletions.
    fn is_single(&self, slot: Slot) -> bool {
        slot.family.is_multiple_of(2) && slot.key % 5 == 4 && !self.is_stamped(slot)
    }

    /// Whether keys have timestamps in the column family of `slot`. Single deletions do
    /// not support them.
    pub(super) fn is_stamped(&self, slot: Slot) -> bool {
        self.context.shape.order(slot.family).is_stamped()
    }

    pub(super) fn version(&mut self) -> Version {
        self.next += 1;
        self.next
    }

    fn write_options(&mut self, how: Durability) -> WriteOptions {
        let mut o = WriteOptions::default();
        o.set_protection_bytes_per_key(if self.rng.random() { 8 } else { 0 });
        o.set_sync(how == Durability::Synced);
        o.disable_wal(how == Durability::Unlogged);
        o
    }

    /// A random durability for a write of `changes`.
    fn durability(&mut self, changes: &[Change]) -> Durability {
        let is_unlogged = match self.context.log {
            Log::Synced => return Durability::Synced,
            Log::Always => false,
            Log::Never => true,
            // If an unlogged deletion were lost, a slot would be put twice before a single
            // deletion.
            Log::Mostly => {
                self.rng.random_bool(0.3) && !changes.iter().any(|c| self.is_single(c.slot))
            }
        };
        match is_unlogged {
            true => Durability::Unlogged,
            false if self.rng.random_bool(0.03) => Durability::Synced,
            false => Durability::Logged,
        }
    }

    /// Writes `changes`, if there are any, with a random durability.
    fn commit(
        &mut self,
        changes: Vec<Change>,
        make: impl FnOnce(&mut Self, &[Change], Durability) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        if changes.is_empty() {
            Ok(())
        } else {
            let how = self.durability(&changes);
            self.record(changes, how, |w, changes| make(w, changes, how))
        }
    }

    /// Flushes the log, and syncs it or not. The journal treats this as an empty write.
    pub(super) fn sync_log(&mut self) -> Result<(), Stop> {
        let sync = self.rng.random();
        let how = if sync {
            Durability::Synced
        } else {
            Durability::Logged
        };
        self.record(Vec::new(), how, |w, _| w.context.db.flush_wal(sync))
    }

    /// Flushes a column family, or all of them if unlogged batches must stay atomic.
    pub(super) fn flush(&mut self) -> Result<(), Stop> {
        if matches!(self.context.log, Log::Always | Log::Synced) {
            return self.maintain("flush", |w, family| w.context.db.flush_cf(&family.handle));
        }
        let (all, transient) = (self.context.options.is_atomic(), self.context.transient);
        // "All" means the known ones. Holding all turns prevents that a new one is created,
        // to which other threads might write.
        let turns: Option<Vec<_>> = if all {
            (0..self.context.shape.transient)
                .map(|name| transient.turn(name))
                .collect()
        } else {
            Some(Vec::new())
        };
        let Some(_turns) = turns else { return Ok(()) };
        self.refresh_families()?;
        let family = self.family();
        self.put(Entry::Begin(self.thread, Vec::new()))?;
        let flushed = if all {
            let all: Vec<_> = self.families.iter().map(|family| &family.handle).collect();
            self.context
                .db
                .flush_cfs_opt(&all, &FlushOptions::default())
        } else {
            self.context.db.flush_cf(&family.handle)
        };
        let number = (!all).then_some(family.number);
        let shape = self.context.shape;
        let outcome = match &flushed {
            Ok(()) => {
                let is_flushed = |slot: Slot| {
                    let family = number.unwrap_or(slot.family);
                    slot.family == family && shape.is_of(self.thread, slot)
                };
                self.kept.merge(&self.mine, is_flushed);
                Outcome::Flushed(number)
            }
            Err(_) => Outcome::Failed,
        };
        self.put(Entry::End(self.thread, outcome))?;
        match flushed {
            Err(e) if !self.families.iter().any(|f| self.is_gone(f.number, &e)) => {
                Ok(self.failed("flush", &e)?)
            }
            _ => Ok(()),
        }
    }

    /// Writes an entry to the journal.
    fn put(&self, entry: Entry) -> Result<(), Stop> {
        script::log(|| entry.to_string());
        self.context
            .journal
            .put(entry)
            .map_err(|_| Stop::NoListener)
    }

    /// Announces `changes`, makes them, and reports the outcome.
    fn record(
        &mut self,
        changes: Vec<Change>,
        how: Durability,
        make: impl FnOnce(&mut Self, &[Change]) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        self.put(match how {
            Durability::Unlogged => Entry::Loose(self.thread, changes.clone()),
            _ => Entry::Begin(self.thread, changes.clone()),
        })?;
        for uncertain in &mut self.uncertain {
            uncertain.forget(&changes);
        }
        self.begin_past(&changes);
        let made = make(self, &changes);
        let is_gone = |e| changes.iter().any(|c| self.is_gone(c.slot.family, e));
        let outcome = match (&made, how) {
            (Ok(()), Durability::Synced) => Outcome::Synced,
            (Ok(()), Durability::Logged) => Outcome::Acked,
            (Ok(()), Durability::Unlogged) => Outcome::Unlogged,
            (Err(e), _) if !self.context.faulty && is_gone(e) => Outcome::Refused,
            (Err(e), _) if is_overlap(e) => Outcome::Refused,
            (Err(_), _) if self.context.faulty => Outcome::Failed,
            (Err(e), _) => return Err(Stop::Wrong(format!("write of {changes:?}: {e}"))),
        };
        match how {
            _ if outcome == Outcome::Refused => {}
            _ if outcome == Outcome::Failed => {
                // A failed write is not visible, but the next opening may recover it. Only
                // the log makes that atomic.
                if how != Durability::Unlogged {
                    self.uncertain
                        .push(UncertainWrite::new(&self.kept, &changes));
                }
                self.mine.maybe_apply(&changes);
                self.kept.maybe_apply(&changes);
            }
            Durability::Unlogged => {
                self.mine.apply(&changes);
                self.kept.maybe_apply(&changes);
            }
            Durability::Logged | Durability::Synced => {
                self.mine.apply(&changes);
                self.kept.apply(&changes);
            }
        }
        self.extend_past(&changes);
        self.last = changes;
        script::log(|| format!("{how:?}"));
        self.put(Entry::End(self.thread, outcome))
    }

    /// A random change that `slot` allows, and what the slot holds then.
    fn change(&mut self, slot: Slot) -> Option<(How, Change)> {
        let held = self.mine.known(slot);
        let how = match (self.is_single(slot), held) {
            (true, None) => return None,
            (true, Some(None)) => How::Put,
            (true, Some(Some(_))) => How::SingleDelete,
            (false, _) if self.is_stamped(slot) => {
                *[How::PutAt, How::PutAt, How::MergeAt, How::DeleteAt]
                    .choose(&mut self.rng)
                    .expect("some")
            }
            (false, _) => *[How::Put, How::PutEntity, How::Merge, How::Delete]
                .choose(&mut self.rng)
                .expect("some"),
        };
        let held = match how {
            How::Put | How::PutAt | How::PutEntity | How::Merge | How::MergeAt => {
                Some(self.version())
            }
            How::Delete | How::DeleteAt | How::SingleDelete => None,
        };
        Some((how, Change { slot, held }))
    }

    pub(super) fn write_one(&mut self) -> Result<(), Stop> {
        let slot = self.slot();
        let Some((how, change)) = self.change(slot) else {
            return Ok(());
        };
        self.commit(vec![change], |w, _, how_long| {
            let (db, shape, o) = (w.context.db, w.context.shape, w.write_options(how_long));
            let (cf, key) = (w.of(slot), shape.key(slot));
            let value = change
                .held
                .map(|v| shape.value(slot, v))
                .unwrap_or_default();
            let at = stamp(w.next);
            match how {
                How::PutAt => db.put_cf_with_ts_opt(cf, key, at, value, &o),
                How::MergeAt => db.merge_cf_with_ts_opt(cf, key, at, value, &o),
                How::DeleteAt => db.delete_cf_with_ts_opt(cf, key, at, &o),
                How::Put => db.put_cf_opt(cf, key, value, &o),
                How::PutEntity => {
                    let columns = shape.columns(slot, change.held.unwrap_or_default());
                    db.put_entity_cf_opt(cf, key, &columns, &o)
                }
                How::Merge => db.merge_cf_opt(cf, key, value, &o),
                How::Delete => db.delete_cf_opt(cf, key, &o),
                // The database itself has no single deletion; a batch has.
                How::SingleDelete => {
                    let mut batch = WriteBatch::default();
                    batch.single_delete_cf(cf, key);
                    db.write_opt(batch, &o)
                }
            }
        })
    }

    pub(super) fn write_batch(&mut self) -> Result<(), Stop> {
        let shape = self.context.shape;
        let (mut batch, mut changes) = (WriteBatch::default(), Vec::<Change>::new());
        for _ in 0..self.rng.random_range(2..=MOST) {
            let slot = self.slot();
            // A second change of a slot could break the rule of single deletions.
            if changes.iter().any(|c| c.slot == slot) {
                continue;
            }
            let Some((how, change)) = self.change(slot) else {
                continue;
            };
            let (cf, key) = (self.of(slot), shape.key(slot));
            let value = change
                .held
                .map(|v| shape.value(slot, v))
                .unwrap_or_default();
            let at = stamp(self.next);
            match how {
                How::PutAt => batch.put_cf_with_ts(cf, key, at, value),
                How::MergeAt => batch.merge_cf_with_ts(cf, key, at, value),
                How::DeleteAt => batch.delete_cf_with_ts(cf, key, at),
                How::Put => batch.put_cf(cf, key, value),
                How::PutEntity => {
                    let columns = shape.columns(slot, change.held.unwrap_or_default());
                    batch.put_entity_cf(cf, key, &columns);
                }
                How::Merge => batch.merge_cf(cf, key, value),
                How::Delete => batch.delete_cf(cf, key),
                How::SingleDelete => batch.single_delete_cf(cf, key),
            }
            changes.push(change);
        }
        self.commit(changes, |w, _, how_long| {
            w.context.db.write_opt(batch, &w.write_options(how_long))
        })
    }

    /// Up to [`MOST`] adjacent keys of the thread, all in one column family.
    fn row(&mut self) -> Vec<Slot> {
        let from = self.slot();
        if from.family.is_multiple_of(2) {
            return Vec::new();
        }
        let shape = self.context.shape;
        let to = from.key + self.rng.random_range(1..=MOST as u32);
        let keys = from.key..to.min(shape.keys);
        let row = keys.map(|key| Slot { key, ..from });
        row.take_while(|&slot| shape.is_of(self.thread, slot))
            .collect()
    }

    pub(super) fn delete_range(&mut self) -> Result<(), Stop> {
        let mut row = self.row();
        let options = self.context.options;
        row.retain(|slot| options.deletes_ranges(slot.family));
        let gone = row.iter().map(|&slot| Change { slot, held: None });
        self.commit(gone.collect(), |w, changes, how_long| {
            let from = changes[0].slot;
            let last = changes[changes.len() - 1].slot;
            let to = Slot {
                key: last.key + 1,
                ..last
            };
            let o = w.write_options(how_long);
            let cf = w.of(from);
            let (db, at) = (w.context.db, stamp(w.next));
            let is_stamped = w.is_stamped(from);
            let (from, to) = (w.context.shape.key(from), w.context.shape.key(to));
            if is_stamped {
                db.delete_range_cf_with_ts_opt(cf, from, to, at, &o)
            } else {
                db.delete_range_cf_opt(cf, from, to, &o)
            }
        })
    }

    /// Makes `changes` that are durable at once.
    pub(super) fn ingest_changes(
        &mut self,
        changes: Vec<Change>,
        make: impl FnOnce(&mut Self, &[Change]) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        self.record(changes, Durability::Synced, make)
    }

    /// Keeps what was written before an ingestion, if it has to be.
    pub(super) fn sync_before_ingestion(&self) -> Result<(), Error> {
        match self.context.ingests {
            Ingests::AfterSync => self.context.db.flush_wal(true),
            Ingests::Anytime | Ingests::Never => Ok(()),
        }
    }

    /// Ingests a table. Where keys have timestamps, keys that exist cannot be ingested: the
    /// ingestion is refused and changes nothing.
    pub(super) fn ingest(&mut self) -> Result<(), Stop> {
        let row = self.row();
        let mut changes = Vec::new();
        for slot in row {
            let held = Some(self.version());
            changes.push(Change { slot, held });
        }
        if changes.is_empty() {
            return Ok(());
        }
        let name = format!("ingest-{}.sst", self.thread);
        let file = self.context.dir.with_file_name(name);
        self.record(changes, Durability::Synced, |w, changes| {
            let (shape, family) = (w.context.shape, changes[0].slot.family);
            let options = w
                .context
                .options
                .build(Arc::clone(&w.context.fs), shape, family)?;
            if w.context.fs.exists(&file)? {
                w.context.fs.remove(&file)?;
            }
            let mut table = SstFileWriter::create(&options);
            table.open(&file)?;
            for change in changes {
                let value = shape.value(change.slot, change.held.unwrap_or(0));
                let key = shape.key(change.slot);
                match (shape.order(family).is_stamped(), change.held) {
                    (true, Some(version)) => table.put_with_ts(key, stamp(version), value)?,
                    (false, Some(version)) if w.rng.random_bool(0.3) => {
                        table.put_entity(key, &shape.columns(change.slot, version))?
                    }
                    _ => table.put(key, value)?,
                }
            }
            table.finish()?;
            drop(table);
            w.sync_before_ingestion()?;
            let mut o = IngestExternalFileOptions::default();
            o.set_move_files(w.rng.random());
            let cf = Arc::clone(w.of(changes[0].slot));
            w.context
                .db
                .ingest_external_file_cf_opts(&cf, &o, vec![&file])
        })
    }
}

/// Whether `e` refuses a table because keys exist whose versions may be newer.
fn is_overlap(e: &Error) -> bool {
    e.kind() == ErrorKind::InvalidArgument
        && e.to_string()
            .contains("ingested tables must not overlap the keys that are there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater::{DB, Options};

    #[test]
    fn tables_for_keys_with_timestamps_that_are_there_are_known_as_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_u64_timestamp_comparator();
        let file = dir.path().join("table.sst");
        let mut table = SstFileWriter::create(&options);
        table.open(&file).expect("opens");
        table.put_with_ts("key", stamp(7), "7").expect("adds");
        table.finish().expect("finishes");
        let db = DB::open(&options, dir.path().join("db")).expect("opens");
        db.put_with_ts("key", stamp(6), "6").expect("writes");
        let refused = db.ingest_external_file(vec![&file]).expect_err("is there");
        assert!(is_overlap(&refused), "{refused}");
        let missing = db.ingest_external_file(vec![dir.path().join("none.sst")]);
        assert!(!is_overlap(&missing.expect_err("no such file")));
    }
}
