//! Running a script on a database and on the model.

use super::draw::{self, CHANGES, DB_CHANGES, Draw, Nature, Now};
use super::model::{Bounds, Change, Cursor, FAMILIES, State, family, loose};
use super::script::{End, Step, check_bounds, key};
use crate::harness::walk::Content;
use crate::harness::{DIR, Db, show};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BottommostLevelCompaction, ColumnFamilyDescriptor, CompactOptions, ErrorKind, FlushOptions,
    IngestExternalFileOptions, Options, ReadOptions, SnapshotWithThreadMode, SstFileWriter,
    WaitForCompactOptions, WriteBatch, WriteOptions,
};

pub type Outcome = Result<(), String>;

const OUTSIDE: &str = "/data/outside";

/// A case, but for its script.
pub struct Case {
    pub seed: u64,
    pub nature: Nature,
    /// Names of options that keep their first value.
    pub plain: BTreeSet<String>,
}

/// One opening's options.
struct Opening {
    database: Options,
    families: BTreeMap<&'static str, Options>,
    prefixes: BTreeMap<&'static str, Option<usize>>,
    manual_wal_flush: bool,
    /// What was drawn, for people.
    text: String,
    /// The names of that.
    names: BTreeSet<String>,
}

impl Case {
    pub fn new(seed: u64, plain: BTreeSet<String>) -> (Case, Vec<(&'static str, String)>) {
        let mut draw = Draw::new(seed, &plain);
        let nature = Nature::draw(&mut draw);
        let drawn = draw.drawn;
        let case = Case {
            seed,
            nature,
            plain,
        };
        (case, drawn)
    }

    fn opening(&self, variant: u64, fs: &MemFs, now: &Now) -> Opening {
        let mut text = String::new();
        let mut names = BTreeSet::new();
        let mut note = |who: &str, draw: Draw<'_>| {
            let drawn = draw.drawn.iter().map(|(n, v)| format!(" {n}={v}"));
            text.push_str(&format!("\n    {who}:{}", drawn.collect::<String>()));
            names.extend(draw.drawn.iter().map(|(n, _)| (*n).to_owned()));
        };
        let mut draw = Draw::new(variant, &self.plain);
        let mut base = Options::default();
        draw::database(&mut base, &mut draw, Arc::new(fs.clone()), now);
        if self.nature.wal_dir {
            base.set_wal_dir("/data/logs");
        }
        let has = |draw: &Draw<'_>, name: &str, value: &str| {
            (draw.drawn.iter()).any(|(n, v)| *n == name && v == value)
        };
        let unordered = has(&draw, "commit_protocol", "Unordered");
        let manual_wal_flush = has(&draw, "manual_wal_flush", "true");
        note("database", draw);
        let (mut families, mut prefixes) = (BTreeMap::new(), BTreeMap::new());
        for (seed, name) in (variant.wrapping_add(1)..).zip(FAMILIES) {
            let mut draw = Draw::new(seed, &self.plain);
            let mut options = base.clone();
            prefixes.insert(name, draw::family(&mut options, &mut draw, &self.nature));
            draw::may_limit_merges(&mut options, &mut draw, unordered);
            families.insert(name, options);
            note(name, draw);
        }
        Opening {
            database: base,
            families,
            prefixes,
            manual_wal_flush,
            text,
            names,
        }
    }
}

impl Opening {
    fn descriptors(&self, names: &[&'static str]) -> Vec<ColumnFamilyDescriptor> {
        let of = |name: &&str| ColumnFamilyDescriptor::new(*name, self.families[name].clone());
        names.iter().map(of).collect()
    }
}

/// Everything that was written since a moment that a crash cannot undo.
struct History {
    base: State,
    since: Vec<Vec<Change>>,
    /// How many of these a crash cannot undo either.
    synced: usize,
}

impl History {
    /// All that there is stays.
    fn settle(&mut self, state: &State) {
        (self.base, self.synced) = (state.clone(), 0);
        self.since.clear();
    }

    /// What was written to `cf` stays, and all before it.
    fn flushed(&mut self, cf: &str) {
        let touches = |batch: &Vec<Change>| batch.iter().any(|c| family(c.family()) == cf);
        let last = self.since.iter().rposition(touches);
        self.synced = self.synced.max(last.map_or(0, |at| at + 1));
    }
}

/// One opening of the database: what lives no longer than it.
struct Session<'a> {
    case: &'a Case,
    opening: &'a mut Opening,
    db: &'a Db,
    fs: &'a MemFs,
    now: &'a Now,
    state: &'a mut State,
    history: &'a mut History,
    snapshots: Vec<(SnapshotWithThreadMode<'a, Db>, State)>,
    cursors: Vec<Cursor<'a>>,
    secondary: Option<Db>,
    /// Families of this session, whose values do not expire in it.
    created: BTreeSet<&'static str>,
    files: u32,
}

fn said<T>(what: &str, result: Result<T, whitewater::Error>) -> Result<T, String> {
    result.map_err(|e| format!("{what}: {e}"))
}

fn pick<T>(items: &[T], n: u8) -> Option<usize> {
    (!items.is_empty()).then(|| usize::from(n) % items.len())
}

impl<'a> Session<'a> {
    fn run(&mut self, step: &Step) -> Outcome {
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
            Step::Ingest(cf, changes, how) => self.ingest(*cf, changes, *how),
            Step::Checkpoint(with_log) => self.checkpoint(*with_log),
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
            if change.apply(self.case.nature.order, self.state).is_some() {
                change.push(self.db, &mut batch);
                done.push(change.clone());
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(sync);
        options.set_memtable_insert_hint_per_batch(batch.len() % 2 == 0);
        self.history.since.push(done);
        said("write", self.db.write_opt(batch, &options))?;
        if sync {
            self.history.settle(self.state);
        }
        Ok(())
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

    /// After everything was compacted: the filter has seen all keys.
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
            self.opening.prefixes.insert(name, Some(length));
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

    /// Before what is durable at once and not in the log.
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
        for change in changes {
            let done = match change {
                Change::Put(_, k, v) => writer.put(k, v),
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
        // Range deletions of a table delete nothing in it.
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

    fn checkpoint(&mut self, with_log: bool) -> Outcome {
        self.files += 1;
        let path = format!("/data/copy{}", self.files);
        let checkpoint = said("checkpoint", Checkpoint::new(self.db))?;
        let log_size = if with_log { u64::MAX } else { 0 };
        let done = checkpoint.create_checkpoint_with_log_size(&path, log_size);
        said("create_checkpoint", done)?;
        let descriptors = self.opening.descriptors(&self.live());
        let mut database = self.opening.database.clone();
        database.set_wal_dir(&path);
        let copy = match self.case.nature.expiry {
            None => Db::open_cf_descriptors(&database, &path, descriptors),
            Some(ttl) => {
                let ttl = Duration::from_secs(ttl);
                Db::open_cf_descriptors_with_ttl(&database, &path, descriptors, ttl)
            }
        };
        self.compare("checkpoint", &said("open checkpoint", copy)?, self.state)
    }

    /// Options of a reader beside this database, which deletes tables: it has
    /// to open all of them.
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
        // The values of families of this session are old once it is reopened.
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

    /// The content of `name` in a view, and read options that select it.
    fn view(
        &self,
        name: &str,
        view: Option<u8>,
        mut options: ReadOptions,
    ) -> Option<(Content, ReadOptions)> {
        match view.and_then(|n| pick(&self.snapshots, n)) {
            None => Some((self.state.get(name)?.clone(), options)),
            Some(i) => {
                let (snapshot, state) = &self.snapshots[i];
                options.set_snapshot(snapshot);
                Some((state.get(name)?.clone(), options))
            }
        }
    }

    fn cursor(
        &self,
        name: &str,
        content: &Content,
        bounds: &Bounds,
        options: ReadOptions,
    ) -> Cursor<'a> {
        let cf = self.db.cf_handle(name).expect("a live family");
        let iter = self.db.raw_iterator_cf_opt(&cf, options);
        let nature = &self.case.nature;
        Cursor::new(iter, content, bounds, nature.order, nature.filter)
    }

    fn open_iter(&mut self, cf: u8, bounds: &Bounds, view: Option<u8>) -> Outcome {
        let name = family(cf);
        let Some((content, options)) = self.view(name, view, bounds.read_options()) else {
            return Ok(());
        };
        let cursor = self.cursor(name, &content, bounds, options);
        self.cursors.push(cursor);
        if self.cursors.len() > 6 {
            self.cursors.remove(0);
        }
        Ok(())
    }

    fn use_iter(&mut self, n: u8, seed: u64) -> Outcome {
        let Some(i) = pick(&self.cursors, n) else {
            return Ok(());
        };
        let mut rng = StdRng::seed_from_u64(seed);
        if rng.random_bool(0.1) {
            return self.cursors.remove(i).scan();
        }
        for _ in 0..rng.random_range(1..12) {
            self.cursors[i].step(&mut rng, &key)?;
        }
        Ok(())
    }

    fn prefix_scan(&mut self, cf: u8, view: Option<u8>, key: &[u8]) -> Outcome {
        let name = family(cf);
        let Some(length) = self.opening.prefixes[name].filter(|l| *l <= key.len()) else {
            return Ok(());
        };
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        let Some((content, options)) = self.view(name, view, options) else {
            return Ok(());
        };
        let mut cursor = self.cursor(name, &content, &Bounds::default(), options);
        cursor.with_prefix(key, length)
    }

    fn check(&mut self, cf: u8, view: Option<u8>, seed: u64) -> Outcome {
        let name = family(cf);
        let mut rng = StdRng::seed_from_u64(seed);
        let bounds = check_bounds(&mut rng);
        let Some((content, options)) = self.view(name, view, bounds.read_options()) else {
            return Ok(());
        };
        if rng.random_bool(0.4) {
            let mut cursor = self.cursor(name, &content, &bounds, options);
            if rng.random_bool(0.3) {
                return cursor.scan();
            }
            for _ in 0..15 {
                cursor.step(&mut rng, &key)?;
            }
            return Ok(());
        }
        let mut keys: Vec<Vec<u8>> = (0..8).map(|_| key(&mut rng)).collect();
        keys.extend((0..3).map(|_| format!("s{:02}", rng.random_range(0..30)).into_bytes()));
        keys.extend((0..3).map(|_| format!("f{:02}", rng.random_range(0..30)).into_bytes()));
        let cf = self.db.cf_handle(name).expect("a live family");
        let many = self
            .db
            .multi_get_cf_opt(keys.iter().map(|k| (&cf, k)), &options);
        let slices = keys.iter().map(Vec::as_slice);
        let batched = (self.db).batched_multi_get_cf_opt(&cf, slices, false, &options);
        for ((k, many), batched) in keys.iter().zip(many).zip(batched) {
            let want = content.get(k).map(Vec::as_slice);
            let single = said("get", self.db.get_cf_opt(&cf, k, &options))?;
            let slice = said("get_pinned", self.db.get_pinned_cf_opt(&cf, k, &options))?;
            let many = said("multi_get", many)?;
            let batched = said("batched_multi_get", batched)?;
            for (how, got) in [
                ("get", single.as_deref()),
                ("get_pinned", slice.as_deref()),
                ("multi_get", many.as_deref()),
                ("batched_multi_get", batched.as_deref()),
            ] {
                if got != want && !(got.is_none() && loose(self.case.nature.filter, k)) {
                    return Err(format!(
                        "{how}({}) of {name} (snapshot: {view:?}) is {}, should be {}",
                        show(k),
                        got.map_or("None".to_owned(), show),
                        want.map_or("None".to_owned(), show)
                    ));
                }
            }
            let may_exist = self.db.key_may_exist_cf_opt(&cf, k, &options);
            if single.is_some() && !may_exist && !loose(self.case.nature.filter, k) {
                return Err(format!("key_may_exist({}) of {name} is false", show(k)));
            }
        }
        Ok(())
    }

    fn check_everything(&mut self) -> Outcome {
        check_all(self.db, self.state, &self.case.nature)?;
        self.cursors.iter_mut().try_for_each(Cursor::scan)
    }
}

/// Compares all families.
fn check_all(db: &Db, state: &State, nature: &Nature) -> Outcome {
    for (name, content) in state {
        let cf = db.cf_handle(name).expect("a live family");
        let all = Bounds::default();
        let iter = db.raw_iterator_cf_opt(&cf, all.read_options());
        let mut cursor = Cursor::new(iter, content, &all, nature.order, nature.filter);
        cursor.scan().map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// Finds which of the states that a crash may leave is there, and makes it the
/// present one.
fn recovered(
    db: &Db,
    state: &mut State,
    history: &mut History,
    nature: &Nature,
    lossy: bool,
) -> Outcome {
    let total = history.since.len();
    let least = if lossy { history.synced } else { total };
    let mut candidate = history.base.clone();
    let mut why = String::new();
    for at in 0..=total {
        if at >= least {
            match check_all(db, &candidate, nature) {
                Ok(()) => {
                    *state = candidate;
                    history.settle(state);
                    return Ok(());
                }
                Err(e) if at == least => why = format!("not even what was synced: {e}"),
                Err(e) => _ = e,
            }
        }
        for change in history.since.get(at).into_iter().flatten() {
            let allowed = change.apply(nature.order, &mut candidate);
            assert!(allowed.is_some(), "it was allowed before");
        }
    }
    Err(format!(
        "no prefix of {total} writes, of which {least} must be there; {why}"
    ))
}

/// What is told about a failure.
pub struct Failure {
    pub why: String,
    /// Options of the last opening.
    pub options: String,
    /// Names of all options that were drawn in any opening.
    pub names: BTreeSet<String>,
}

/// Runs a script. What it did last is left in `failure` when it panics.
pub fn run(case: &Case, steps: &[Step], failure: &mut Failure) -> Outcome {
    let mut fs = MemFs::new();
    said("create_dir_all", fs.create_dir_all(Path::new(OUTSIDE)))?;
    let now: Now = Arc::new(AtomicU64::new(1_700_000_000));
    let mut state = State::from([("default", Content::new())]);
    let mut history = History {
        base: state.clone(),
        since: Vec::new(),
        synced: 0,
    };
    let (mut variant, mut end, mut rest, mut files) = (case.seed, End::Closed, steps, 0);
    let mut lossy = false;
    loop {
        let mut opening = case.opening(variant, &fs, &now);
        failure.options = opening.text.clone();
        failure.names.append(&mut opening.names);
        let names: Vec<_> = state.keys().copied().collect();
        let descriptors = opening.descriptors(&names);
        let opened = match case.nature.expiry {
            None => Db::open_cf_descriptors(&opening.database, DIR, descriptors),
            Some(ttl) => {
                let ttl = Duration::from_secs(ttl);
                Db::open_cf_descriptors_with_ttl(&opening.database, DIR, descriptors, ttl)
            }
        };
        let db = said(&format!("open after {end:?}"), opened)?;
        recovered(&db, &mut state, &mut history, &case.nature, lossy)
            .map_err(|e| format!("after {end:?}: {e}"))?;
        let mut session = Session {
            case,
            opening: &mut opening,
            db: &db,
            fs: &fs,
            now: &now,
            state: &mut state,
            history: &mut history,
            snapshots: Vec::new(),
            cursors: Vec::new(),
            secondary: None,
            created: BTreeSet::new(),
            files,
        };
        let mut next = None;
        for (i, step) in rest.iter().enumerate() {
            if let Step::Reopen(variant, end) = step {
                next = Some((*variant, *end, &rest[i + 1..]));
                break;
            }
            session.run(step).map_err(|e| format!("{step}\n  {e}"))?;
        }
        session.check_everything()?;
        files = session.files;
        let Some(after) = next else {
            return Ok(());
        };
        (variant, end, rest) = after;
        let cut = match end {
            End::Closed => None,
            End::Killed => Some(fs.crash_clone(1.0, variant)),
            End::PowerCut(keep) => Some(fs.crash_clone(f64::from(keep) / 100.0, variant)),
        };
        drop(session);
        drop(db);
        lossy = match end {
            End::Closed => false,
            End::Killed => opening.manual_wal_flush,
            End::PowerCut(_) => true,
        };
        if let Some(cut) = cut {
            fs = cut;
            // A copy may have been half made.
            files += 1_000;
            said("create_dir_all", fs.create_dir_all(Path::new(OUTSIDE)))?;
        }
    }
}
