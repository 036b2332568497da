//! What each step does to a database and to the model.

mod families;
mod files;
mod views;

use super::draw::{CHANGES, DB_CHANGES, Now};
use super::history::History;
use super::model::{Change, Cursor, FAMILIES, State, entity, family};
use super::opening::{Case, Opening};
use super::script::Step;
use crate::harness::walk::Content;
use crate::harness::{DIR, Db, show};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
pub use views::check_all;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BottommostLevelCompaction, CompactOptions, ErrorKind, FlushOptions, IngestExternalFileOptions,
    Options, SnapshotWithThreadMode, SstFileWriter, WaitForCompactOptions, WriteBatch,
    WriteOptions,
};

pub type Outcome = Result<(), String>;

pub const OUTSIDE: &str = "/data/outside";

/// What lives no longer than one opening of the database.
pub struct Session<'a> {
    pub case: &'a Case,
    pub opening: &'a Opening,
    /// The present lengths of prefixes.
    pub prefixes: BTreeMap<&'static str, Option<usize>>,
    pub db: &'a Db,
    pub fs: &'a MemFs,
    pub now: &'a Now,
    pub state: &'a mut State,
    pub history: &'a mut History,
    pub snapshots: Vec<(SnapshotWithThreadMode<'a, Db>, State)>,
    pub cursors: Vec<Cursor<'a>>,
    pub secondary: Option<Db>,
    /// Families that were created in this session. Their values do not expire in it.
    pub created: BTreeSet<&'static str>,
    pub files: u32,
}

pub fn said<T>(what: &str, result: Result<T, whitewater::Error>) -> Result<T, String> {
    result.map_err(|e| format!("{what}: {e}"))
}

fn pick<T>(items: &[T], n: u8) -> Option<usize> {
    (!items.is_empty()).then(|| usize::from(n) % items.len())
}

impl<'a> Session<'a> {
    pub fn run(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Write(changes, sync) => self.write(changes, *sync),
            Step::Flush(cf) => self.flush(&[family(*cf)]),
            Step::FlushAll => self.flush(&FAMILIES),
            Step::FlushWal(sync) => {
                said("flush_wal", self.db.flush_wal(*sync))?;
                if *sync {
                    self.history.settle(self.state);
                }
                Ok(())
            }
            Step::Compact(cf, from, to, how) => self.compact(*cf, from, to, *how),
            Step::WaitForCompact => self.wait(),
            Step::SetOptions(cf, n) => self.set_options(*cf, *n),
            Step::SetDbOptions(n) => {
                let change = DB_CHANGES[*n as usize % DB_CHANGES.len()];
                said("set_db_options", self.db.set_db_options(&[change]))
            }
            Step::Snapshot => {
                let taken = (self.db.snapshot(), self.state.clone());
                self.snapshots.push(taken);
                Ok(())
            }
            Step::Release(n) => {
                if let Some(i) = pick(&self.snapshots, *n) {
                    self.snapshots.remove(i);
                }
                Ok(())
            }
            Step::OpenIter(cf, bounds, view) => self.open_iter(*cf, bounds, *view),
            Step::UseIter(n, seed) => self.use_iter(*n, *seed),
            Step::Check(cf, view, seed) => self.check(*cf, *view, *seed),
            Step::PrefixScan(cf, view, key) => self.prefix_scan(*cf, *view, key),
            Step::WalkFamilies(view, seed) => self.walk_families(*view, *seed),
            Step::Ingest(cf, changes, how) => self.ingest(*cf, changes, *how),
            Step::Checkpoint(with_log) => self.checkpoint(*with_log),
            Step::Backup(how) => self.back_up(*how),
            Step::Export(cf) => self.export(*cf),
            Step::CompactFiles(cf, how) => self.compact_files(*cf, *how),
            Step::ListFiles(flush) => self.list(*flush),
            Step::LockWal(how) => self.lock_wal(*how),
            Step::ReadOnly => self.read_only(),
            Step::Secondary => self.secondary(),
            // Values expire in a step of their own, all at once.
            Step::Wait(_) if self.case.nature.expiry.is_some() => Ok(()),
            Step::Wait(seconds) => {
                self.now.fetch_add(*seconds, Ordering::Relaxed);
                Ok(())
            }
            Step::Expire => self.expire(),
            Step::Create(cf) => self.create(*cf),
            Step::Drop(cf) => self.drop_family(*cf),
            Step::Reopen(..) => unreachable!("ends a session"),
        }
    }

    fn live(&self) -> Vec<&'static str> {
        self.state.keys().copied().collect()
    }

    fn write(&mut self, changes: &[Change], sync: bool) -> Outcome {
        let mut batch = WriteBatch::default();
        let mut done = Vec::new();
        for change in changes {
            if !self.may(change) {
                continue;
            }
            if change.apply(self.case.nature.order, self.state).is_some() {
                change.push(self.db, &mut batch);
                done.push(change.clone());
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(sync);
        options.set_memtable_insert_hint_per_batch(batch.len() % 2 == 0);
        options.set_protection_bytes_per_key(if batch.len() % 3 == 0 { 8 } else { 0 });
        self.history.since.push(done);
        said("write", self.db.write_opt(batch, &options))?;
        if sync {
            self.history.settle(self.state);
        }
        Ok(())
    }

    /// Whether the tables of a family can hold `change`. Those with range deletions that another
    /// opening has written stay, and are compacted.
    fn may(&self, change: &Change) -> bool {
        let deletes_ranges = &self.opening.deletes_ranges;
        !matches!(change, Change::DeleteRange(..))
            || deletes_ranges.contains(family(change.family()))
    }

    fn flush(&mut self, names: &[&str]) -> Outcome {
        let names = names.iter().filter(|n| self.state.contains_key(**n));
        let names: Vec<_> = names.collect();
        let cfs: Vec<_> = (names.iter())
            .filter_map(|n| self.db.cf_handle(n))
            .collect();
        let refs: Vec<_> = cfs.iter().collect();
        if !refs.is_empty() {
            let done = self.db.flush_cfs_opt(&refs, &FlushOptions::default());
            said("flush_cfs", done)?;
        }
        for name in names {
            self.history.flushed(name);
        }
        Ok(())
    }

    fn wait(&mut self) -> Outcome {
        let options = WaitForCompactOptions::default();
        said("wait_for_compact", self.db.wait_for_compact(&options))
    }

    fn compact(
        &mut self,
        cf: u8,
        from: &Option<Vec<u8>>,
        to: &Option<Vec<u8>>,
        how: u64,
    ) -> Outcome {
        let name = family(cf);
        if !self.state.contains_key(name) {
            return Ok(());
        }
        let cf = self.db.cf_handle(name).expect("a live family");
        let mut options = CompactOptions::default();
        let bottommost = [
            BottommostLevelCompaction::Skip,
            BottommostLevelCompaction::IfHaveCompactionFilter,
            BottommostLevelCompaction::Force,
            BottommostLevelCompaction::ForceOptimized,
        ];
        let forced = how % 4 == 2;
        options.set_bottommost_level_compaction(bottommost[how as usize % 4]);
        options.set_exclusive_manual_compaction((how / 4).is_multiple_of(2));
        let moves = (how / 8).is_multiple_of(4);
        options.set_change_level(moves);
        options.set_target_level((how / 32 % 4) as i32 - 1);
        let done = (self.db).try_compact_range_cf_opt(&cf, from.as_ref(), to.as_ref(), &options);
        match done {
            Err(e) if moves && e.kind() != ErrorKind::Corruption => {}
            done => said("compact_range", done)?,
        }
        let all = from.is_none() && to.is_none() && forced && !moves;
        if self.case.nature.filter && all && self.snapshots.is_empty() && !self.case.nature.fifo {
            self.forget_filtered(name)?;
        }
        Ok(())
    }

    /// After a compaction of everything: the filter has seen all keys.
    fn forget_filtered(&mut self, name: &'static str) -> Outcome {
        let cf = self.db.cf_handle(name).expect("a live family");
        for n in 0..30 {
            let key = format!("f{n:02}");
            if let Some(value) = said("get", self.db.get_cf(&cf, &key))? {
                let value = show(&value);
                return Err(format!("{key} = {value} in {name} is not filtered"));
            }
        }
        Ok(())
    }

    fn set_options(&mut self, cf: u8, n: u64) -> Outcome {
        let name = family(cf);
        if !self.state.contains_key(name) {
            return Ok(());
        }
        let (option, value) = CHANGES[n as usize % CHANGES.len()];
        if self.case.plain.contains("set_options") {
            return Ok(());
        }
        let cf = self.db.cf_handle(name).expect("a live family");
        let done = self.db.set_options_cf(&cf, &[(option, value)]);
        if option == "prefix_extractor" && done.is_err() {
            return Ok(()); // memtables keep keys by prefix
        }
        said(&format!("set_options({option}={value})"), done)?;
        if let Some(length) = value.strip_prefix("fixed:") {
            let length = length.parse().expect("a number");
            self.prefixes.insert(name, Some(length));
        }
        Ok(())
    }

    fn create(&mut self, cf: u8) -> Outcome {
        let name = family(cf);
        if self.state.contains_key(name) {
            return Ok(());
        }
        self.barrier()?;
        let done = self.db.create_cf(name, &self.opening.families[name]);
        said("create_cf", done)?;
        self.state.insert(name, Content::new());
        self.prefixes.insert(name, self.opening.prefixes[name]);
        self.created.insert(name);
        self.history.settle(self.state);
        Ok(())
    }

    fn drop_family(&mut self, cf: u8) -> Outcome {
        let name = family(cf);
        if !self.state.contains_key(name) || name == "default" {
            return Ok(());
        }
        self.barrier()?;
        said("drop_cf", self.db.drop_cf(name))?;
        self.state.remove(name);
        for (_, state) in &mut self.snapshots {
            state.remove(name);
        }
        self.history.settle(self.state);
        Ok(())
    }

    /// To be called before changes that are durable at once and not in the log.
    fn barrier(&mut self) -> Outcome {
        self.secondary = None;
        said("flush_wal", self.db.flush_wal(true))
    }

    fn ingest(&mut self, cf: u8, changes: &[Change], how: u64) -> Outcome {
        let name = family(cf);
        if !self.state.contains_key(name) || self.case.nature.expiry.is_some() {
            // Values in such tables have no time.
            return Ok(());
        }
        self.files += 1;
        let path = Path::new(OUTSIDE).join(format!("{}.sst", self.files));
        let mut writer = SstFileWriter::create(&self.opening.families[name]);
        said("SstFileWriter::open", writer.open(&path))?;
        let order = self.case.nature.order;
        let changes: Vec<_> = changes.iter().filter(|change| self.may(change)).collect();
        for change in &changes {
            let done = match change {
                Change::Put(_, k, v) => writer.put(k, v),
                Change::PutEntity(_, k, v) => writer.put_entity(k, entity(k, v)),
                Change::Merge(_, k, v) => writer.merge(k, v),
                Change::Delete(_, k) | Change::SingleDelete(_, k) => writer.delete(k),
                Change::DeleteRange(_, a, b) if a == b => continue,
                Change::DeleteRange(_, a, b) => writer.delete_range(a, b),
            };
            said("SstFileWriter", done)?;
        }
        said("SstFileWriter::finish", writer.finish())?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(how.is_multiple_of(2));
        options
            .set_snapshot_consistency(!(how / 2).is_multiple_of(4) || !self.snapshots.is_empty());
        let cf = self.db.cf_handle(name).expect("a live family");
        let done = (self.db).ingest_external_file_cf_opts(&cf, &options, vec![&path]);
        said("ingest_external_file", done)?;
        // Range deletions of a table delete nothing in the same table.
        for change in changes {
            change.apply(order, self.state);
        }
        if how % 2 == 1 {
            said("remove", self.fs.remove(&path))?;
        }
        self.history.settle(self.state);
        Ok(())
    }

    /// Compares all families of another opening of the database.
    fn compare(&self, what: &str, db: &Db, state: &State) -> Outcome {
        let nature = &self.case.nature;
        check_all(db, state, nature).map_err(|e| format!("{what}: {e}"))
    }

    /// Options of a reader that runs while this database deletes tables, so it has to open all of
    /// them.
    fn reader(&self) -> Options {
        let mut options = self.opening.database.clone();
        options.set_max_open_files(-1);
        options
    }

    fn read_only(&mut self) -> Outcome {
        if self.case.nature.expiry.is_some() {
            return Ok(());
        }
        if self.opening.manual_wal_flush {
            said("flush_wal", self.db.flush_wal(false))?;
        }
        let descriptors = self.opening.descriptors(&self.live());
        let path = Path::new(DIR);
        let db = Db::open_cf_descriptors_read_only(&self.reader(), path, descriptors, false);
        self.compare("read-only", &said("open read-only", db)?, self.state)
    }

    fn secondary(&mut self) -> Outcome {
        if self.case.nature.expiry.is_some() {
            return Ok(());
        }
        if self.opening.manual_wal_flush {
            said("flush_wal", self.db.flush_wal(false))?;
        }
        let live = self.live();
        if self.secondary.is_none() {
            let descriptors = self.opening.descriptors(&live);
            let (path, own) = (Path::new(DIR), Path::new("/data/secondary"));
            let db = Db::open_cf_descriptors_as_secondary(&self.reader(), path, own, descriptors);
            self.secondary = Some(said("open secondary", db)?);
        }
        let db = self.secondary.as_ref().expect("opened");
        said("catch up", db.try_catch_up_with_primary())?;
        self.compare("secondary", db, self.state)
    }

    fn expire(&mut self) -> Outcome {
        let Some(ttl) = self.case.nature.expiry else {
            return Ok(());
        };
        // Values of families created in this session are old once the database is reopened.
        if self.case.nature.fifo || !self.created.is_empty() {
            return Ok(());
        }
        self.snapshots.clear();
        self.cursors.clear();
        self.now.fetch_add(ttl + 1, Ordering::Relaxed);
        for name in self.live() {
            let cf = self.db.cf_handle(name).expect("a live family");
            let mut options = CompactOptions::default();
            options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
            let all = None::<&[u8]>;
            let done = self.db.try_compact_range_cf_opt(&cf, all, all, &options);
            said("compact_range", done)?;
            self.state.insert(name, Content::new());
        }
        self.barrier()?;
        self.history.settle(self.state);
        self.check_everything()
    }
}
