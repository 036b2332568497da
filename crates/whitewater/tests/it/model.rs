//! Random operations against a model.
//!
//! A script of operations over several column families runs on a database with tiny buffers and on
//! `BTreeMap`s. Flushes, compactions, reopenings, crashes of the process, snapshots and iterators
//! come in between, and every read is compared. A failing script is reduced and printed.

use crate::harness::walk::{Bounds, Content, Walk};
use crate::harness::{
    DIR, Db, MEMTABLES, campaign, open_named, set_concurrent_inserts, set_memtable, show, tiny,
    views_hold,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, BottommostLevelCompaction, ChecksumType, CompactOptions, DBCompressionType,
    FlushOptions, Options, ReadOptions, SliceTransform, SnapshotWithThreadMode,
    WaitForCompactOptions, WriteBatch, WriteBufferManager, WriteOptions,
};

/// Column families that scripts use; "default" always exists.
const FAMILIES: [&str; 4] = ["default", "one", "two", "three"];

/// One change of one key or range.
#[derive(Debug, Clone)]
enum Change {
    Put(u8, Vec<u8>, Vec<u8>),
    Delete(u8, Vec<u8>),
    /// A key in the "s" part of the key space, to which a put and a single delete are applied in
    /// turn, and nothing else.
    SingleDelete(u8, Vec<u8>),
    Merge(u8, Vec<u8>, Vec<u8>),
    DeleteRange(u8, Vec<u8>, Vec<u8>),
    LogData(Vec<u8>),
}

/// One step of a script. Numbers select modulo the number of choices.
#[derive(Debug, Clone)]
enum Step {
    One(Change),
    Batch(Vec<Change>, bool),
    Flush(u8),
    FlushAll,
    Compact(u8, Option<Vec<u8>>, Option<Vec<u8>>, bool),
    WaitForCompact,
    /// Closes and opens with other options; `true` kills instead of closing.
    Reopen(u64, bool),
    Create(u8),
    Drop(u8),
    Snapshot,
    Release(u8),
    OpenIter(u8, Bounds, Option<u8>),
    UseIter(u8, u64),
    Check(u8, Option<u8>, u64),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |cf: &u8| FAMILIES[usize::from(*cf) % FAMILIES.len()];
        match self {
            Change::Put(cf, k, v) => write!(f, "put_cf({}, {}, {})", name(cf), show(k), show(v)),
            Change::Delete(cf, k) => write!(f, "delete_cf({}, {})", name(cf), show(k)),
            Change::SingleDelete(cf, k) => write!(f, "single_delete_cf({}, {})", name(cf), show(k)),
            Change::Merge(cf, k, v) => {
                write!(f, "merge_cf({}, {}, {})", name(cf), show(k), show(v))
            }
            Change::DeleteRange(cf, a, b) => {
                write!(f, "delete_range_cf({}, {}, {})", name(cf), show(a), show(b))
            }
            Change::LogData(d) => write!(f, "put_log_data({})", show(d)),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::One(change) => write!(f, "db.{change};"),
            Step::Batch(changes, sync) => {
                write!(f, "db.write(batch![")?;
                for change in changes {
                    write!(f, " {change};")?;
                }
                write!(f, " ], sync: {sync});")
            }
            other => write!(f, "{other:?};"),
        }
    }
}

fn key(rng: &mut StdRng) -> Vec<u8> {
    match rng.random_range(0..40) {
        0 => Vec::new(),
        1 => vec![0xff; rng.random_range(1..4)],
        2 => vec![0; rng.random_range(1..4)],
        3..=5 => format!("k{:02}", rng.random_range(0..100)).into_bytes(),
        6..=8 => format!("k{:03}{}", rng.random_range(0..200), "x".repeat(120)).into_bytes(),
        _ => format!("k{:03}", rng.random_range(0..200)).into_bytes(),
    }
}

fn value(rng: &mut StdRng) -> Vec<u8> {
    // Enough that memtables of 64 KiB fill up by themselves.
    let len = match rng.random_range(0..20) {
        0 => 0,
        1 | 2 => rng.random_range(2_000..20_000),
        3..=10 => rng.random_range(100..600),
        _ => rng.random_range(8..60),
    };
    let tag = format!("{:x}-", rng.random::<u32>());
    tag.bytes().cycle().take(len).collect()
}

fn change(rng: &mut StdRng) -> Change {
    let cf = rng.random_range(0..4);
    let single = |rng: &mut StdRng| format!("s{:02}", rng.random_range(0..30)).into_bytes();
    match rng.random_range(0..100) {
        0..=49 => Change::Put(cf, key(rng), value(rng)),
        50..=62 => Change::Delete(cf, key(rng)),
        63..=68 => Change::Put(cf, single(rng), value(rng)),
        69..=74 => Change::SingleDelete(cf, single(rng)),
        75..=90 => Change::Merge(cf, key(rng), value(rng)),
        91..=97 => {
            let (a, b) = (key(rng), key(rng));
            // Single deletes and range deletions of a key do not go together.
            let low = |k: Vec<u8>| if k[..] >= b"s"[..] { b"kz".to_vec() } else { k };
            let (a, b) = (low(a), low(b));
            Change::DeleteRange(cf, a.clone().min(b.clone()), a.max(b))
        }
        _ => Change::LogData(value(rng)),
    }
}

fn bounds(rng: &mut StdRng) -> Bounds {
    let bound = |rng: &mut StdRng| rng.random_bool(0.4).then(|| key(rng));
    let (lower, upper) = (bound(rng), bound(rng));
    Bounds { lower, upper }
}

fn step(rng: &mut StdRng) -> Step {
    let cf = rng.random_range(0..4);
    let view = |rng: &mut StdRng| rng.random_bool(0.4).then(|| rng.random());
    match rng.random_range(0..1000) {
        0..=699 => Step::One(change(rng)),
        700..=779 => {
            let n = rng.random_range(0..12);
            Step::Batch((0..n).map(|_| change(rng)).collect(), rng.random_bool(0.2))
        }
        780..=795 => Step::Flush(cf),
        796..=800 => Step::FlushAll,
        801..=812 => {
            let edge = |rng: &mut StdRng| rng.random_bool(0.5).then(|| key(rng));
            Step::Compact(cf, edge(rng), edge(rng), rng.random_bool(0.5))
        }
        813..=815 => Step::WaitForCompact,
        816..=823 => Step::Reopen(rng.random(), rng.random_bool(0.5)),
        824..=829 => Step::Create(cf),
        830..=832 => Step::Drop(cf),
        833..=852 => Step::Snapshot,
        853..=868 => Step::Release(rng.random()),
        869..=884 => Step::OpenIter(cf, bounds(rng), view(rng)),
        885..=924 => Step::UseIter(rng.random(), rng.random()),
        _ => Step::Check(cf, view(rng), rng.random()),
    }
}

/// Options that must not change what is read.
fn harmless(variant: u64, fs: &MemFs) -> Options {
    let mut rng = StdRng::seed_from_u64(variant);
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    let mut t = BlockBasedOptions::default();
    let mut one_of = |choices: &[usize]| choices[rng.random_range(0..choices.len())];
    o.set_compression_type(
        [
            DBCompressionType::None,
            DBCompressionType::Snappy,
            DBCompressionType::Lz4,
            DBCompressionType::Zstd,
        ][one_of(&[0, 1, 2, 3])],
    );
    t.set_checksum_type([ChecksumType::CRC32c, ChecksumType::XXH3][one_of(&[0, 1])]);
    t.set_block_size(one_of(&[128, 512, 4096]));
    t.set_block_restart_interval(one_of(&[1, 3, 16]) as i32);
    if one_of(&[0, 1]) == 1 {
        t.set_bloom_filter(one_of(&[2, 10]) as f64, false);
    }
    if one_of(&[0, 1, 2]) == 0 {
        t.disable_cache();
    }
    o.set_block_based_table_factory(&t);
    o.set_level_compaction_dynamic_level_bytes(one_of(&[0, 1]) == 1);
    o.set_memtable_huge_page_size(one_of(&[0, 0, 2 << 20]));
    // Unless the run is about one of them.
    let memtable = MEMTABLES[one_of(&[0, 1, 2, 3, 4])];
    if std::env::var_os("WHITEWATER_MEMTABLE").is_none() {
        set_memtable(&mut o, memtable);
    }
    o.set_memtable_prefix_bloom_ratio(one_of(&[0, 2, 20]) as f64 / 100.0);
    o.set_memtable_whole_key_filtering(one_of(&[0, 1]) == 1);
    match one_of(&[0, 1, 2]) {
        0 => {}
        len => o.set_prefix_extractor(SliceTransform::create_fixed_prefix(len)),
    }
    o.set_memtable_protection_bytes_per_key(one_of(&[0, 1, 2, 4, 8]) as u32);
    if views_hold() {
        // Refused with unordered commit.
        o.set_max_successive_merges(one_of(&[0, 1, 3]));
    }
    match one_of(&[0, 1, 2]) {
        0 => {}
        1 => o.set_db_write_buffer_size(100_000),
        _ => {
            // No stalls: this thread holds iterators, and with them memory.
            let manager = WriteBufferManager::new_write_buffer_manager(120_000, false);
            o.set_write_buffer_manager(&manager);
        }
    }
    o.set_recycle_log_file_num(one_of(&[0, 2]));
    o.set_max_total_wal_size(one_of(&[0, 100_000]) as u64);
    o.set_max_manifest_file_size(one_of(&[1_000, 1 << 30]));
    o.set_max_background_jobs(one_of(&[2, 4]) as i32);
    o.set_max_write_buffer_number(one_of(&[2, 4]) as i32);
    o.set_min_write_buffer_number_to_merge(one_of(&[1, 3]) as i32);
    set_concurrent_inserts(&mut o, one_of(&[0, 1]) == 1);
    o.set_disable_auto_compactions(one_of(&[0, 0, 0, 1]) == 1);
    o.set_num_levels(7);
    o
}

/// What the database should hold, by column family name.
type State = BTreeMap<&'static str, Content>;

/// Applies a change to `state`. `None` if the script may not make it now.
fn apply(state: &mut State, change: &Change) -> Option<()> {
    let name = |cf: &u8| FAMILIES[usize::from(*cf) % FAMILIES.len()];
    match change {
        Change::Put(cf, k, v) => {
            let content = state.get_mut(name(cf))?;
            if k.first() == Some(&b's') && content.contains_key(k) {
                return None;
            }
            content.insert(k.clone(), v.clone());
        }
        Change::Delete(cf, k) => _ = state.get_mut(name(cf))?.remove(k),
        Change::SingleDelete(cf, k) => _ = state.get_mut(name(cf))?.remove(k)?,
        Change::Merge(cf, k, v) => {
            let content = state.get_mut(name(cf))?;
            match content.get_mut(k) {
                None => _ = content.insert(k.clone(), v.clone()),
                Some(old) => {
                    old.push(b',');
                    old.extend_from_slice(v);
                }
            }
        }
        Change::DeleteRange(cf, a, b) => {
            state.get_mut(name(cf))?.retain(|k, _| k < a || k >= b);
        }
        Change::LogData(_) => {}
    }
    Some(())
}

fn push(db: &Db, batch: &mut WriteBatch, change: &Change) {
    let cf = |cf: &u8| {
        let name = FAMILIES[usize::from(*cf) % FAMILIES.len()];
        db.cf_handle(name).expect("a live column family")
    };
    match change {
        Change::Put(c, k, v) => batch.put_cf(&cf(c), k, v),
        Change::Delete(c, k) => batch.delete_cf(&cf(c), k),
        Change::SingleDelete(c, k) => batch.single_delete_cf(&cf(c), k),
        Change::Merge(c, k, v) => batch.merge_cf(&cf(c), k, v),
        Change::DeleteRange(c, a, b) => batch.delete_range_cf(&cf(c), a, b),
        Change::LogData(d) => batch.put_log_data(d),
    }
}

/// A snapshot and what it must show.
type Held<'a> = (SnapshotWithThreadMode<'a, Db>, State);

/// What lives no longer than one opening of the database.
struct Session<'a> {
    db: &'a Db,
    state: &'a mut State,
    snapshots: Vec<Held<'a>>,
    walks: Vec<Walk<'a>>,
}

type Outcome = Result<(), String>;

fn said<T>(what: &str, result: Result<T, whitewater::Error>) -> Result<T, String> {
    result.map_err(|e| format!("{what}: {e}"))
}

fn pick<T>(items: &[T], n: u8) -> Option<usize> {
    (!items.is_empty()).then(|| usize::from(n) % items.len())
}

impl<'a> Session<'a> {
    fn run(&mut self, step: &Step) -> Outcome {
        match step {
            Step::One(change) => self.one(change),
            Step::Batch(changes, sync) => self.batch(changes, *sync),
            Step::Flush(cf) => match self.family(*cf) {
                Some(name) => {
                    let cf = self.db.cf_handle(name).expect("a live column family");
                    said("flush_cf", self.db.flush_cf(&cf))
                }
                None => Ok(()),
            },
            Step::FlushAll => {
                let names: Vec<_> = self.state.keys().copied().collect();
                let cfs: Vec<_> = names.iter().filter_map(|n| self.db.cf_handle(n)).collect();
                let refs: Vec<_> = cfs.iter().collect();
                said(
                    "flush_cfs",
                    self.db.flush_cfs_opt(&refs, &FlushOptions::default()),
                )
            }
            Step::Compact(cf, from, to, force) => self.compact(*cf, from, to, *force),
            Step::WaitForCompact => said(
                "wait_for_compact",
                self.db.wait_for_compact(&WaitForCompactOptions::default()),
            ),
            Step::Snapshot => {
                self.snapshots
                    .push((self.db.snapshot(), self.state.clone()));
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
            Step::Reopen(..) | Step::Create(_) | Step::Drop(_) => self.change_families(step),
        }
    }

    fn family(&self, cf: u8) -> Option<&'static str> {
        let name = FAMILIES[usize::from(cf) % FAMILIES.len()];
        self.state.contains_key(name).then_some(name)
    }

    fn one(&mut self, change: &Change) -> Outcome {
        if apply(self.state, change).is_none() {
            return Ok(());
        }
        let db = self.db;
        let cf = |cf: &u8| {
            let name = FAMILIES[usize::from(*cf) % FAMILIES.len()];
            db.cf_handle(name).expect("a live column family")
        };
        let done = match change {
            Change::Put(c, k, v) => db.put_cf(&cf(c), k, v),
            Change::Delete(c, k) => db.delete_cf(&cf(c), k),
            Change::Merge(c, k, v) => db.merge_cf(&cf(c), k, v),
            Change::DeleteRange(c, a, b) => db.delete_range_cf(&cf(c), a, b),
            Change::SingleDelete(..) | Change::LogData(_) => {
                let mut batch = WriteBatch::default();
                push(db, &mut batch, change);
                db.write(batch)
            }
        };
        said("write", done)
    }

    fn batch(&mut self, changes: &[Change], sync: bool) -> Outcome {
        let mut batch = WriteBatch::default();
        for change in changes {
            if apply(self.state, change).is_some() {
                push(self.db, &mut batch, change);
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(sync);
        options.set_memtable_insert_hint_per_batch(batch.len() % 2 == 0);
        options.set_protection_bytes_per_key(if batch.len() % 3 == 0 { 8 } else { 0 });
        said("write", self.db.write_opt(batch, &options))
    }

    fn compact(
        &mut self,
        cf: u8,
        from: &Option<Vec<u8>>,
        to: &Option<Vec<u8>>,
        force: bool,
    ) -> Outcome {
        let Some(name) = self.family(cf) else {
            return Ok(());
        };
        let cf = self.db.cf_handle(name).expect("a live column family");
        let mut options = CompactOptions::default();
        if force {
            options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        }
        let done = self
            .db
            .try_compact_range_cf_opt(&cf, from.as_ref(), to.as_ref(), &options);
        said("compact_range", done)
    }

    fn change_families(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Create(cf) if self.family(*cf).is_none() => {
                let name = FAMILIES[usize::from(*cf) % FAMILIES.len()];
                said("create_cf", self.db.create_cf(name, &tiny()))?;
                self.state.insert(name, Content::new());
                Ok(())
            }
            Step::Drop(cf) => match self.family(*cf) {
                Some(name) if name != "default" => {
                    said("drop_cf", self.db.drop_cf(name))?;
                    self.state.remove(name);
                    // No handle is left that could show the old content.
                    for (_, state) in &mut self.snapshots {
                        state.remove(name);
                    }
                    Ok(())
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The content of `name` in a view, and the read options for that view.
    fn view(
        &self,
        name: &str,
        view: Option<u8>,
        bounds: &Bounds,
    ) -> Option<(Content, ReadOptions)> {
        let mut options = bounds.read_options();
        match view.and_then(|n| pick(&self.snapshots, n)) {
            None => Some((self.state.get(name)?.clone(), options)),
            Some(i) => {
                let (snapshot, state) = &self.snapshots[i];
                options.set_snapshot(snapshot);
                Some((state.get(name)?.clone(), options))
            }
        }
    }

    fn open_iter(&mut self, cf: u8, bounds: &Bounds, view: Option<u8>) -> Outcome {
        let Some(name) = self.family(cf) else {
            return Ok(());
        };
        let Some((content, options)) = self.view(name, view, bounds) else {
            return Ok(());
        };
        let cf = self.db.cf_handle(name).expect("a live column family");
        let iter = self.db.raw_iterator_cf_opt(&cf, options);
        self.walks.push(Walk::new(iter, content, bounds.clone()));
        if self.walks.len() > 6 {
            self.walks.remove(0);
        }
        Ok(())
    }

    fn use_iter(&mut self, n: u8, seed: u64) -> Outcome {
        let Some(i) = pick(&self.walks, n) else {
            return Ok(());
        };
        let mut rng = StdRng::seed_from_u64(seed);
        if rng.random_bool(0.1) {
            return self.walks.remove(i).scan();
        }
        for _ in 0..rng.random_range(1..12) {
            self.walks[i].step(&mut rng, &key)?;
        }
        Ok(())
    }

    fn check(&mut self, cf: u8, view: Option<u8>, seed: u64) -> Outcome {
        let Some(name) = self.family(cf) else {
            return Ok(());
        };
        let mut rng = StdRng::seed_from_u64(seed);
        let range = bounds(&mut rng);
        let Some((content, options)) = self.view(name, view, &range) else {
            return Ok(());
        };
        let cf = self.db.cf_handle(name).expect("a live column family");
        if rng.random_bool(0.4) {
            let iter = self.db.raw_iterator_cf_opt(&cf, options);
            let mut walk = Walk::new(iter, content, range);
            if rng.random_bool(0.3) {
                return walk.scan();
            }
            for _ in 0..15 {
                walk.step(&mut rng, &key)?;
            }
            return Ok(());
        }
        let keys: Vec<Vec<u8>> = (0..8).map(|_| key(&mut rng)).collect();
        let many = self
            .db
            .multi_get_cf_opt(keys.iter().map(|k| (&cf, k)), &options);
        let pinned =
            self.db
                .batched_multi_get_cf_opt(&cf, keys.iter().map(Vec::as_slice), false, &options);
        for ((k, many), pinned) in keys.iter().zip(many).zip(pinned) {
            let want = content.get(k).map(Vec::as_slice);
            let single = said("get", self.db.get_cf_opt(&cf, k, &options))?;
            let slice = said("get_pinned", self.db.get_pinned_cf_opt(&cf, k, &options))?;
            let many = said("multi_get", many)?;
            let pinned = said("batched_multi_get", pinned)?;
            for (how, got) in [
                ("get", single.as_deref()),
                ("get_pinned", slice.as_deref()),
                ("multi_get", many.as_deref()),
                ("batched_multi_get", pinned.as_deref()),
            ] {
                if got != want {
                    return Err(format!(
                        "{how}({}) of {name} (snapshot: {view:?}) is {}, should be {}",
                        show(k),
                        got.map_or("None".to_owned(), show),
                        want.map_or("None".to_owned(), show)
                    ));
                }
            }
            if want.is_some() && !self.db.key_may_exist_cf_opt(&cf, k, &options) {
                return Err(format!("key_may_exist({}) of {name} is false", show(k)));
            }
        }
        Ok(())
    }

    fn check_everything(&mut self) -> Outcome {
        for (name, content) in self.state.iter() {
            let cf = self.db.cf_handle(name).expect("a live column family");
            let iter = self.db.raw_iterator_cf(&cf);
            Walk::new(iter, content.clone(), Bounds::default())
                .scan()
                .map_err(|e| format!("{name}: {e}"))?;
        }
        for walk in &mut self.walks {
            walk.scan()?;
        }
        Ok(())
    }
}

/// Runs a script; `seed` picks the first options.
fn run(seed: u64, steps: &[Step]) -> Outcome {
    let mut fs = MemFs::new();
    let mut state = State::from([("default", Content::new())]);
    let mut options = harmless(seed, &fs);
    let mut rest = steps;
    let mut sequence = 0;
    loop {
        let names: Vec<String> = state.keys().map(|n| (*n).to_owned()).collect();
        let db = said("open", open_named(&options, Path::new(DIR), &names))?;
        if db.latest_sequence_number() < sequence {
            return Err(format!("the sequence number went back from {sequence}"));
        }
        let mut session = Session {
            db: &db,
            state: &mut state,
            snapshots: Vec::new(),
            walks: Vec::new(),
        };
        let mut next = None;
        for (i, step) in rest.iter().enumerate() {
            if let Step::Reopen(variant, kill) = step {
                next = Some((*variant, *kill, &rest[i + 1..]));
                break;
            }
            session.run(step).map_err(|e| format!("{step}\n  {e}"))?;
        }
        session.check_everything()?;
        sequence = db.latest_sequence_number();
        let Some((variant, kill, after)) = next else {
            return Ok(());
        };
        if kill {
            fs = fs.crash_clone(1.0, variant);
        }
        drop(session);
        drop(db);
        options = harmless(variant, &fs);
        rest = after;
    }
}

/// [`run`] with panics as failures.
fn fails(seed: u64, steps: &[Step]) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| run(seed, steps))) {
        Ok(outcome) => outcome.err(),
        Err(panic) => Some(match panic.downcast_ref::<String>() {
            Some(text) => format!("panic: {text}"),
            None => format!("panic: {:?}", panic.downcast_ref::<&str>()),
        }),
    }
}

/// Drops steps, in ever smaller pieces, as long as `fails` returns a reason.
fn shrink(
    mut steps: Vec<Step>,
    mut why: String,
    fails: &dyn Fn(&[Step]) -> Option<String>,
) -> (Vec<Step>, String) {
    let mut piece = steps.len().div_ceil(2);
    let mut runs = 0;
    while piece > 0 && runs < 3_000 {
        let mut from = 0;
        while from < steps.len() && runs < 3_000 {
            let mut shorter = steps.clone();
            shorter.drain(from..(from + piece).min(steps.len()));
            runs += 1;
            // Failures also depend on background threads, so each script gets a few tries.
            match (0..2).find_map(|_| fails(&shorter)) {
                Some(e) => (steps, why) = (shorter, e),
                None => from += piece,
            }
        }
        piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
    }
    (steps, why)
}

fn round(seed: u64, length: usize) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut steps = vec![Step::Create(1), Step::Create(2)];
    steps.extend((0..length).map(|_| step(&mut rng)));
    let Some(why) = fails(seed, &steps) else {
        return;
    };
    if std::env::var_os("WHITEWATER_BUG").is_some() {
        panic!("seed {seed}: {why}"); // a planted bug, known already
    }
    eprintln!("seed {seed} fails, cutting down: {why}");
    let (steps, why) = shrink(steps, why, &|steps| fails(seed, steps));
    let script: Vec<String> = steps.iter().map(Step::to_string).collect();
    panic!(
        "seed {seed}: {why}\nminimal script ({} steps):\n{}",
        steps.len(),
        script.join("\n")
    );
}

#[test]
fn random_operations_match_a_model() {
    campaign("random_operations_match_a_model", 1, 12, |seed| {
        round(seed, 2_000)
    });
}

/// Short scripts find what depends on the beginning of a database's life.
#[test]
fn short_scripts_match_a_model() {
    campaign("short_scripts_match_a_model", 1_000, 60, |seed| {
        round(seed, 150)
    });
}

#[test]
fn a_failing_script_is_cut_down_to_what_matters() {
    let mut rng = StdRng::seed_from_u64(7);
    let steps: Vec<Step> = (0..200).map(|_| step(&mut rng)).collect();
    let flushes = |steps: &[Step]| steps.iter().filter(|s| matches!(s, Step::Flush(_))).count();
    assert!(flushes(&steps) > 2);
    let planted = |steps: &[Step]| (flushes(steps) >= 2).then(|| "planted".to_owned());
    let (steps, why) = shrink(steps, String::new(), &planted);
    assert_eq!(
        (steps.len(), flushes(&steps), why.as_str()),
        (2, 2, "planted")
    );
}

/// A single delete under a newer put. It must reach the level of the entry that it deletes.
/// Otherwise that entry comes back once the newer put meets a single delete, too.
#[test]
fn a_single_delete_under_newer_writes_still_deletes_what_lies_deeper() {
    let mut options = tiny();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_compression_type(DBCompressionType::None);
    options.set_level_compaction_dynamic_level_bytes(false);
    let db = open_named(&options, Path::new(DIR), &[]).unwrap();
    for i in 0..400 {
        db.put(format!("key{i:03}"), [7; 1_000]).unwrap();
    }
    let settle = || {
        db.flush().unwrap();
        let options = WaitForCompactOptions::default();
        db.wait_for_compact(&options).unwrap();
    };
    settle();
    let files = db.live_files().unwrap();
    let deep = files.iter().find(|f| f.level >= 2).expect("a deep table");
    let key = deep.start_key.clone().unwrap();

    let mut batch = WriteBatch::default();
    batch.single_delete(&key);
    batch.put(&key, b"newer");
    db.write(batch).unwrap();
    settle();
    assert_eq!(db.get(&key).unwrap().as_deref(), Some(&b"newer"[..]));
    let mut batch = WriteBatch::default();
    batch.single_delete(&key);
    db.write(batch).unwrap();
    settle();
    assert_eq!(db.get(&key).unwrap(), None);
}

/// Files that were only moved count towards their new level at once. Otherwise the level would stay
/// over its target until something else happens.
#[test]
fn a_level_that_got_files_by_a_move_is_compacted_on() {
    let fs = MemFs::new();
    let mut options = tiny();
    options.set_fs(Arc::new(fs));
    options.set_compression_type(DBCompressionType::None);
    options.set_level_compaction_dynamic_level_bytes(false);
    let mut idle = options.clone();
    idle.set_disable_auto_compactions(true);
    let db = open_named(&idle, Path::new(DIR), &[]).unwrap();
    for i in 0..400 {
        db.put(format!("key{i:03}"), [7; 1_000]).unwrap();
    }
    db.flush().unwrap();
    let levels = |db: &Db| -> Vec<i32> {
        let files = db.live_files().unwrap();
        files.iter().map(|f| f.level).collect()
    };
    assert!(levels(&db).len() > 1 && levels(&db).iter().all(|&l| l == 0));
    drop(db);
    let db = open_named(&options, Path::new(DIR), &[]).unwrap();
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    assert!(levels(&db).iter().any(|&l| l >= 2), "{:?}", levels(&db));
}

/// Flushes and compactions that end after their column family was dropped.
#[test]
fn dropping_a_column_family_in_the_middle_of_background_work_is_fine() {
    let fs = MemFs::new();
    let db = open_named(&harmless(1, &fs), Path::new(DIR), &[]).unwrap();
    for round in 0..20u32 {
        db.create_cf("brief", &tiny()).unwrap();
        let cf = db.cf_handle("brief").unwrap();
        for i in 0..60u32 {
            db.put_cf(&cf, i.to_be_bytes(), [round as u8; 700]).unwrap();
        }
        // The flush is held at its table's first sync until the family was dropped.
        let (dropping, dropped) = std::sync::mpsc::sync_channel::<()>(1);
        let (begun, flushing) = std::sync::mpsc::sync_channel::<()>(1);
        let dropped = std::sync::Mutex::new(dropped);
        fs.set_sync_hook(Arc::new(move |at| {
            if at.path.extension().is_some_and(|e| e == "sst") && !at.done {
                let _ = begun.try_send(());
                let _ = dropped.lock().expect("no panic").recv();
            }
        }));
        let mut options = FlushOptions::default();
        options.set_wait(false);
        db.flush_cf_opt(&cf, &options).unwrap();
        flushing.recv().unwrap();
        db.drop_cf("brief").unwrap();
        drop(dropping);
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        fs.clear_sync_hook();
        db.put(b"round", round.to_be_bytes()).unwrap();
    }
    assert_eq!(
        db.get(b"round").unwrap().as_deref(),
        Some(&19u32.to_be_bytes()[..])
    );
}
