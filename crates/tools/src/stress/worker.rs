//! One thread's work: operations of the public interface by chance, on slots of its
//! own, and checks of what it reads.
//!
//! What a thread knows of its own slots is exact, for nobody else writes them, but
//! for writes that failed. Of others' it knows that values are theirs.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::{
    BoundColumnFamily, Error, IngestExternalFileOptions, ReadOptions, SnapshotWithThreadMode,
    SstFileWriter, WriteBatch, WriteOptions,
};

use super::draw::Drawn;
use super::journal::{Entry, Journal, Outcome};
use super::model::{Change, Expected, Shape, Slot, Torn, Version};
use super::store::{self, Db, total};

/// Most changes of one write.
const MOST: usize = 12;
/// Most snapshots that a thread holds.
const SNAPSHOTS: usize = 3;

/// Why a thread stops.
#[derive(Debug)]
pub enum Stop {
    /// Nobody listens any more.
    Alone,
    /// Something that must never happen.
    Wrong(String),
}

impl From<String> for Stop {
    fn from(what: String) -> Stop {
        Stop::Wrong(what)
    }
}

/// What all threads work with.
pub struct Site<'a> {
    /// The database.
    pub db: &'a Db,
    /// Where it is, and all else goes beside it.
    pub dir: &'a Path,
    /// Its file system.
    pub fs: Arc<dyn Fs>,
    /// Its options.
    pub drawn: &'a Drawn,
    /// Its size.
    pub shape: Shape,
    /// Who is told.
    pub journal: &'a dyn Journal,
    /// Whether operations may fail: the file system injects errors.
    pub faulty: bool,
    /// Whether tables are ingested, which survive the writes before them.
    pub ingests: bool,
}

/// A thread that works.
pub struct Worker<'a> {
    site: &'a Site<'a>,
    thread: u32,
    rng: StdRng,
    slots: Vec<Slot>,
    families: Vec<Arc<BoundColumnFamily<'a>>>,
    mine: Expected,
    next: Version,
    snapshots: VecDeque<(SnapshotWithThreadMode<'a, Db>, Expected)>,
    torn: Vec<Torn>,
}

/// What a thread leaves behind.
pub struct Legacy {
    /// What its slots may hold.
    pub mine: Expected,
    /// Its writes that failed.
    pub torn: Vec<Torn>,
    /// The last version it has given.
    pub next: Version,
}

impl<'a> Worker<'a> {
    /// Thread `thread`, for whose slots `mine` holds. Its values have versions from
    /// `next` on.
    ///
    /// # Errors
    /// A column family is missing.
    pub fn new(
        site: &'a Site<'a>,
        thread: u32,
        seed: u64,
        mine: Expected,
        next: Version,
    ) -> Result<Self, String> {
        let shape = site.shape;
        let family = |n| {
            let name = Shape::family_name(n);
            let handle = site.db.cf_handle(&name);
            handle.ok_or_else(|| format!("{name} is gone"))
        };
        Ok(Worker {
            thread,
            rng: StdRng::seed_from_u64(seed ^ u64::from(thread) << 48),
            slots: shape
                .slots()
                .filter(|&slot| shape.owner(slot) == thread)
                .collect(),
            families: (0..shape.families).map(family).collect::<Result<_, _>>()?,
            mine,
            next,
            snapshots: VecDeque::new(),
            torn: Vec::new(),
            site,
        })
    }

    /// One operation.
    ///
    /// # Errors
    /// What ends the thread.
    pub fn step(&mut self) -> Result<(), Stop> {
        match self.rng.random_range(0..1000) {
            0..450 => self.write_one(),
            450..600 => self.write_batch(),
            600..620 => self.delete_range(),
            620..625 if self.site.ingests => self.ingest(),
            625..825 => Ok(self.get()?),
            825..875 => Ok(self.get_many()?),
            875..945 => Ok(self.scan()?),
            945..965 => {
                self.take_snapshot();
                Ok(())
            }
            965..980 => Ok(self.check_snapshot()?),
            980..986 => self.maintain("flush", |w| w.site.db.flush_cf(&w.family())),
            986..989 => self.maintain("compaction", Self::compact),
            989..993 => self.sync_log(),
            993..998 => self.maintain("change of options", Self::set_options),
            998 if self.site.faulty => self.maintain("resumption", |w| w.site.db.resume()),
            _ => Ok(self.checkpoint()?),
        }
    }

    /// Everything that the thread knows holds.
    ///
    /// # Errors
    /// What does not.
    pub fn check_all(&mut self) -> Result<(), String> {
        while !self.snapshots.is_empty() {
            self.check_snapshot()?;
        }
        let shape = self.site.shape;
        let is_mine = |slot| shape.owner(slot) == self.thread;
        match store::content(self.site.db, shape, &total, &is_mine) {
            Ok(content) => self.allows_all(|slot| content.get(&slot).copied()),
            Err(_) if self.site.faulty => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// The same on another site, which is the same database.
    #[must_use]
    pub fn move_to(self, site: &'a Site<'a>) -> Worker<'a> {
        Worker { site, ..self }
    }

    /// Ends the thread's work.
    pub fn retire(self) -> Legacy {
        Legacy {
            mine: self.mine,
            torn: self.torn,
            next: self.next,
        }
    }

    fn slot(&mut self) -> Slot {
        *self
            .slots
            .choose(&mut self.rng)
            .expect("every thread has slots")
    }

    fn family(&mut self) -> Arc<BoundColumnFamily<'a>> {
        let families = self.families.choose(&mut self.rng);
        Arc::clone(families.expect("there is one"))
    }

    fn of(&self, slot: Slot) -> &Arc<BoundColumnFamily<'a>> {
        &self.families[usize::from(slot.family)]
    }

    /// Slots that are only put where there is nothing, and deleted as what was put
    /// once.
    fn is_single(slot: Slot) -> bool {
        slot.family.is_multiple_of(2) && slot.key % 5 == 4
    }

    fn version(&mut self) -> Version {
        self.next += 1;
        self.next
    }

    fn write_options(sync: bool) -> WriteOptions {
        let mut o = WriteOptions::default();
        o.set_sync(sync);
        o
    }

    /// Makes `changes`, if there are any; now and then synced.
    fn commit(
        &mut self,
        changes: Vec<Change>,
        make: impl FnOnce(&mut Self, &[Change], bool) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        match changes.is_empty() {
            true => Ok(()),
            false => {
                let sync = self.rng.random_bool(0.03);
                self.record(changes, sync, |w, changes| make(w, changes, sync))
            }
        }
    }

    /// Makes durable what was written: a write of nothing that is synced.
    fn sync_log(&mut self) -> Result<(), Stop> {
        let sync = self.rng.random();
        self.record(Vec::new(), sync, |w, _| w.site.db.flush_wal(sync))
    }

    /// Tells of `changes`, makes them, and tells how that went.
    fn record(
        &mut self,
        changes: Vec<Change>,
        sync: bool,
        make: impl FnOnce(&mut Self, &[Change]) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        let journal = self.site.journal;
        let put = |entry| journal.put(entry).map_err(|_| Stop::Alone);
        put(Entry::Begin(self.thread, changes.clone()))?;
        for torn in &mut self.torn {
            torn.forget(&changes);
        }
        let made = make(self, &changes);
        match &made {
            Ok(()) => self.mine.apply(&changes),
            // What is not visible may still come back with the next opening.
            Err(_) if self.site.faulty => {
                self.torn.push(Torn::new(&self.mine, &changes));
                self.mine.doubt(&changes);
            }
            Err(e) => return Err(Stop::Wrong(format!("write of {changes:?}: {e}"))),
        }
        let outcome = match (made, sync) {
            (Err(_), _) => Outcome::Failed,
            (Ok(()), false) => Outcome::Acked,
            (Ok(()), true) => Outcome::Synced,
        };
        put(Entry::End(self.thread, outcome))
    }

    /// What may be done with `slot`: how, and what it holds then.
    fn change(&mut self, slot: Slot) -> Option<(How, Change)> {
        let held = self.mine.known(slot);
        let how = match (Self::is_single(slot), held) {
            (true, None) => return None,
            (true, Some(None)) => How::Put,
            (true, Some(Some(_))) => How::SingleDelete,
            (false, _) => *[How::Put, How::Put, How::Merge, How::Delete]
                .choose(&mut self.rng)
                .expect("some"),
        };
        let held = match how {
            How::Put | How::Merge => Some(self.version()),
            How::Delete | How::SingleDelete => None,
        };
        Some((how, Change { slot, held }))
    }

    fn write_one(&mut self) -> Result<(), Stop> {
        let slot = self.slot();
        let Some((how, change)) = self.change(slot) else {
            return Ok(());
        };
        self.commit(vec![change], |w, _, sync| {
            let (db, shape, o) = (w.site.db, w.site.shape, Self::write_options(sync));
            let (cf, key) = (w.of(slot), slot.bytes());
            let value = change
                .held
                .map(|v| shape.value(slot, v))
                .unwrap_or_default();
            match how {
                How::Put => db.put_cf_opt(cf, key, value, &o),
                How::Merge => db.merge_cf_opt(cf, key, value, &o),
                How::Delete => db.delete_cf_opt(cf, key, &o),
                // The database itself has no such call.
                How::SingleDelete => {
                    let mut batch = WriteBatch::default();
                    batch.single_delete_cf(cf, key);
                    db.write_opt(batch, &o)
                }
            }
        })
    }

    fn write_batch(&mut self) -> Result<(), Stop> {
        let shape = self.site.shape;
        let (mut batch, mut changes) = (WriteBatch::default(), Vec::<Change>::new());
        for _ in 0..self.rng.random_range(2..=MOST) {
            let slot = self.slot();
            // One change for each slot, or "once" would not hold.
            if changes.iter().any(|c| c.slot == slot) {
                continue;
            }
            let Some((how, change)) = self.change(slot) else {
                continue;
            };
            let (cf, key) = (self.of(slot), slot.bytes());
            let value = change
                .held
                .map(|v| shape.value(slot, v))
                .unwrap_or_default();
            match how {
                How::Put => batch.put_cf(cf, key, value),
                How::Merge => batch.merge_cf(cf, key, value),
                How::Delete => batch.delete_cf(cf, key),
                How::SingleDelete => batch.single_delete_cf(cf, key),
            }
            changes.push(change);
        }
        self.commit(changes, |w, _, sync| {
            w.site.db.write_opt(batch, &Self::write_options(sync))
        })
    }

    /// Up to [`MOST`] of the thread's keys in a row, all of one column family.
    fn row(&mut self) -> Vec<Slot> {
        let from = self.slot();
        if from.family.is_multiple_of(2) {
            return Vec::new();
        }
        let shape = self.site.shape;
        let to = from.key + self.rng.random_range(1..=MOST as u32);
        let keys = from.key..to.min(shape.keys);
        let row = keys.map(|key| Slot { key, ..from });
        row.take_while(|&slot| shape.owner(slot) == self.thread)
            .collect()
    }

    fn delete_range(&mut self) -> Result<(), Stop> {
        let row = self.row();
        let gone = row.iter().map(|&slot| Change { slot, held: None });
        self.commit(gone.collect(), |w, changes, sync| {
            let from = changes[0].slot;
            let last = changes[changes.len() - 1].slot;
            let to = Slot {
                key: last.key + 1,
                ..last
            };
            let (cf, o) = (w.of(from), Self::write_options(sync));
            w.site
                .db
                .delete_range_cf_opt(cf, from.bytes(), to.bytes(), &o)
        })
    }

    fn ingest(&mut self) -> Result<(), Stop> {
        let row = self.row();
        let mut changes = Vec::new();
        for slot in row {
            let held = Some(self.version());
            changes.push(Change { slot, held });
        }
        let name = format!("ingest-{}.sst", self.thread);
        let file = self.site.dir.with_file_name(name);
        self.commit(changes, |w, changes, _| {
            let options = w.site.drawn.options(Arc::clone(&w.site.fs))?;
            if w.site.fs.exists(&file)? {
                w.site.fs.remove(&file)?;
            }
            let mut table = SstFileWriter::create(&options);
            table.open(&file)?;
            for change in changes {
                let value = w.site.shape.value(change.slot, change.held.unwrap_or(0));
                table.put(change.slot.bytes(), value)?;
            }
            table.finish()?;
            drop(table);
            let mut o = IngestExternalFileOptions::default();
            o.set_move_files(w.rng.random());
            let cf = Arc::clone(w.of(changes[0].slot));
            w.site.db.ingest_external_file_cf_opts(&cf, &o, vec![&file])
        })
    }

    /// Whether `slot` may hold what was read of it.
    fn judge(&self, slot: Slot, read: Option<&[u8]>, how: &str) -> Result<(), String> {
        let shape = self.site.shape;
        let held = read.map(|bytes| shape.version(slot, bytes)).transpose()?;
        if shape.owner(slot) == self.thread && !self.mine.allows(slot, held) {
            let may = self.mine.of(slot);
            return Err(format!("{slot}: {how} found {held:?} instead of {may:?}"));
        }
        Ok(())
    }

    /// An error of reading: right only where errors are injected.
    fn failed(&self, what: &str, e: &Error) -> Result<(), String> {
        match self.site.faulty {
            true => Ok(()),
            false => Err(format!("{what}: {e}")),
        }
    }

    fn get(&mut self) -> Result<(), String> {
        let slot = match self.rng.random_bool(0.7) {
            true => self.slot(),
            false => Slot {
                family: self.rng.random_range(0..self.site.shape.families),
                key: self.rng.random_range(0..self.site.shape.keys),
            },
        };
        match self.site.db.get_pinned_cf(self.of(slot), slot.bytes()) {
            Ok(found) => self.judge(slot, found.as_deref(), "get"),
            Err(e) => self.failed("get", &e),
        }
    }

    fn get_many(&mut self) -> Result<(), String> {
        let slots: Vec<_> = (0..self.rng.random_range(1..20))
            .map(|_| self.slot())
            .collect();
        let keys = slots.iter().map(|&slot| (self.of(slot), slot.bytes()));
        let found = self.site.db.multi_get_cf(keys);
        for (slot, found) in slots.into_iter().zip(found) {
            match found {
                Ok(found) => self.judge(slot, found.as_deref(), "get of many")?,
                Err(e) => self.failed("get of many", &e)?,
            }
        }
        Ok(())
    }

    /// A few entries in a row: none of the thread's own is missing among them.
    fn scan(&mut self) -> Result<(), String> {
        let from = self.slot();
        let forward = self.rng.random();
        let mut left = self.rng.random_range(1..30);
        let mut it = self.site.db.raw_iterator_cf_opt(self.of(from), total());
        match forward {
            true => it.seek(from.bytes()),
            false => it.seek_for_prev(from.bytes()),
        }
        let mut at = from.key;
        loop {
            let item = it.item();
            if item.is_none()
                && let Err(e) = it.status()
            {
                return self.failed("scan", &e);
            }
            let found = item
                .map(|(key, _)| Slot::parse(from.family, key))
                .transpose()?;
            let stop = match (found, forward) {
                (Some(slot), _) => slot.key,
                (None, true) => self.site.shape.keys,
                (None, false) => u32::MAX,
            };
            // What was passed over is not there.
            while at != stop && at < self.site.shape.keys {
                self.judge(Slot { key: at, ..from }, None, "scan")?;
                at = if forward { at + 1 } else { at.wrapping_sub(1) };
            }
            let (Some(slot), Some((_, value))) = (found, item) else {
                return Ok(());
            };
            if at != slot.key {
                return Err(format!("scan from {from} came to {slot} at {at}"));
            }
            self.judge(slot, Some(value), "scan")?;
            left -= 1;
            if left == 0 {
                return Ok(());
            }
            at = if forward { at + 1 } else { at.wrapping_sub(1) };
            match forward {
                true => it.next(),
                false => it.prev(),
            }
        }
    }

    fn take_snapshot(&mut self) {
        if self.snapshots.len() < SNAPSHOTS {
            let snapshot = self.site.db.snapshot();
            self.snapshots.push_back((snapshot, self.mine.clone()));
        }
    }

    /// The oldest snapshot shows what held when it was taken.
    fn check_snapshot(&mut self) -> Result<(), String> {
        let Some((snapshot, then)) = self.snapshots.pop_front() else {
            return Ok(());
        };
        let read = || -> ReadOptions {
            let mut o = total();
            o.set_snapshot(&snapshot);
            o
        };
        // Others' writes may still come to it where the protocol says so.
        let (shape, strict) = (self.site.shape, self.site.drawn.is_strict());
        let counts = |slot| strict || shape.owner(slot) == self.thread;
        match store::content(self.site.db, shape, &read, &counts) {
            Ok(content) => {
                let now = std::mem::replace(&mut self.mine, then);
                let checked = self.allows_all(|slot| content.get(&slot).copied());
                self.mine = now;
                checked.map_err(|what| format!("snapshot: {what}"))
            }
            Err(_) if self.site.faulty => Ok(()),
            Err(e) => Err(format!("snapshot: {e}")),
        }
    }

    fn allows_all(&self, held: impl Fn(Slot) -> Option<Version>) -> Result<(), String> {
        for &slot in &self.slots {
            let held = held(slot);
            if !self.mine.allows(slot, held) {
                let may = self.mine.of(slot);
                return Err(format!("{slot}: {held:?} instead of {may:?}"));
            }
        }
        Ok(())
    }

    /// Something that changes no content.
    fn maintain(
        &mut self,
        what: &str,
        work: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        match work(self) {
            Ok(()) => Ok(()),
            Err(e) => Ok(self.failed(what, &e)?),
        }
    }

    fn compact(&mut self) -> Result<(), Error> {
        let (a, b) = (self.slot(), self.slot());
        let cf = self.family();
        let o = whitewater::CompactOptions::default();
        let (from, to) = (a.min(b).bytes(), a.max(b).bytes());
        (self.site.db).try_compact_range_cf_opt(&cf, Some(from), Some(to), &o)
    }

    fn set_options(&mut self) -> Result<(), Error> {
        let change = Drawn::change(&mut self.rng);
        let cf = self.family();
        self.site.db.set_options_cf(&cf, &[change])
    }

    /// A checkpoint holds what was acknowledged before it.
    fn checkpoint(&mut self) -> Result<(), String> {
        let name = format!("checkpoint-{}", self.thread);
        let dir = self.site.dir.with_file_name(name);
        let fs = &self.site.fs;
        let made = (|| {
            clear(&**fs, &dir)?;
            Checkpoint::new(self.site.db)?.create_checkpoint(&dir)?;
            store::open_to_read(&dir, Arc::clone(fs), self.site.drawn, self.site.shape)
        })();
        let copy = match made {
            Ok(copy) => copy,
            Err(e) => return self.failed("checkpoint", &e),
        };
        match store::content(&copy, self.site.shape, &total, &|_| true) {
            Ok(content) => {
                let checked = self.allows_all(|slot| content.get(&slot).copied());
                checked.map_err(|what| format!("checkpoint: {what}"))
            }
            Err(_) if self.site.faulty => Ok(()),
            Err(e) => Err(format!("checkpoint: {e}")),
        }
    }
}

/// How a slot is changed.
#[derive(Debug, Clone, Copy)]
enum How {
    Put,
    Merge,
    Delete,
    SingleDelete,
}

/// Removes the directory of a checkpoint, if it is there.
fn clear(fs: &dyn Fs, dir: &Path) -> Result<(), Error> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for name in fs.list(dir)? {
        fs.remove(&dir.join(name))?;
    }
    fs.remove_dir(dir)
}
