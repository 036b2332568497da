//! Compactions of real tables through the version set.
//!
//! The tests use a small engine without memtables and logs: batches of writes become level-0
//! tables, compactions are picked and run, and what every live snapshot reads must not change.

use super::job;
use super::pick::{CompactCursor, Compaction, Moment, level_state, pick_automatic, pick_manual};
use crate::entry::get_context::GetContext;
use crate::options::compression::Compression;
use crate::options::{CfOptions, DbOptions};
use crate::read::lookup::Lookup;
use crate::read::testing::{Append, VecIterator};
use crate::snapshots::Live;
use crate::table_writer::source::Part;
use crate::table_writer::{Input, OutputContext, OutputSpec, write_tables};
use crate::version::range::KeyRange;
use crate::version::set::{CfVersion, VersionSet};
use crate::version::table_cache::TableCache;
use crate::version::{ObsoleteFiles, Version};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::key::{
    InternalComparator, MAX_SEQUENCE, ValueType, internal_key, user_key,
};
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{CompressionType, IoPriority, TableProperties, TableReadOptions};
use whitewater_storage::{ErrorKind, Result, filename};

const KEYS: u32 = 120;

type State = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(n: u32) -> Vec<u8> {
    format!("key{n:06}").into_bytes()
}

/// Tables, versions and a model of one column family.
struct Small {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    db: DbOptions,
    options: Arc<CfOptions>,
    comparator: InternalComparator,
    versions: VersionSet,
    tables: Arc<TableCache>,
    obsolete: Arc<ObsoleteFiles>,
    current: Arc<Version>,
    cursor: CompactCursor,
    cancel: AtomicBool,
    last: u64,
    state: State,
    /// The state that each live snapshot reads.
    snapshots: BTreeMap<u64, State>,
}

impl Small {
    fn create(fs: Arc<dyn Fs>, dir: &Path, options: CfOptions) -> Small {
        fs.create_dir_all(dir).unwrap();
        VersionSet::create_database(&fs, dir, "1d").unwrap();
        Small::open(fs, dir, Arc::new(options), 0, State::new(), BTreeMap::new())
    }

    fn open(
        fs: Arc<dyn Fs>,
        dir: &Path,
        options: Arc<CfOptions>,
        last: u64,
        state: State,
        snapshots: BTreeMap<u64, State>,
    ) -> Small {
        let obsolete = Arc::new(ObsoleteFiles::default());
        let options_of = |_: &str| Some(options.clone());
        let (versions, recovered) =
            VersionSet::recover(fs.clone(), dir.into(), 4000, obsolete.clone(), &options_of)
                .unwrap();
        assert_eq!(recovered.last_sequence, last);
        Small {
            tables: Arc::new(TableCache::new(fs.clone(), -1)),
            fs,
            dir: dir.into(),
            db: DbOptions::default(),
            comparator: InternalComparator::new(options.comparator.clone()),
            options,
            versions,
            obsolete,
            current: recovered.column_families[&0].current.clone(),
            cursor: CompactCursor::default(),
            cancel: AtomicBool::new(false),
            last,
            state,
            snapshots,
        }
    }

    fn reopen(self) -> Small {
        let Small {
            fs,
            dir,
            options,
            last,
            state,
            snapshots,
            ..
        } = self;
        Small::open(fs, &dir, options, last, state, snapshots)
    }

    fn with_context<T>(&self, f: impl FnOnce(&OutputContext<'_>) -> T) -> T {
        let snapshots: Vec<u64> = self.snapshots.keys().copied().collect();
        f(&OutputContext {
            fs: &self.fs,
            paths: &self.current.open_with.paths,
            versions: &self.versions,
            db: &self.db,
            options: &self.options,
            comparator: &self.comparator,
            cf_id: 0,
            cf_name: "default",
            db_id: "1d",
            session_id: "ABCDEFGHIJKLMNOPQRST",
            live: &Live::new(snapshots, None, MAX_SEQUENCE),
            limiter: None,
            gate: None,
            now: 1_700_000_000,
            cancel: &self.cancel,
        })
    }

    fn apply(&mut self, edit: VersionEdit) {
        let mut installed: Vec<CfVersion> = Vec::new();
        self.versions
            .log_and_apply(vec![edit], self.last, &[], &mut |c| installed = c.to_vec())
            .unwrap();
        self.current = installed[0].current.clone();
        drop(installed);
        self.purge();
    }

    fn purge(&self) {
        for file in self.obsolete.take() {
            self.fs.remove(&file.table_path()).unwrap();
        }
    }

    /// Makes a level-0 table of `count` random writes.
    fn flush(&mut self, rng: &mut StdRng, count: u32) {
        let (mut entries, mut tombstones) = (Vec::new(), Vec::new());
        for _ in 0..count {
            self.last += 1;
            let seq = self.last;
            let n = rng.random_range(0..KEYS);
            let (key, value) = (
                key(n),
                format!("value-{seq}-{}", "x".repeat(30)).into_bytes(),
            );
            let ty = match rng.random_range(0..20) {
                0 => {
                    let end = self::key(n + rng.random_range(1..15));
                    self.state.retain(|k, _| *k < key || *k >= end);
                    tombstones.push(RangeTombstone {
                        start: key,
                        end,
                        seq,
                    });
                    continue;
                }
                1..4 => ValueType::Deletion,
                4..7 => ValueType::Merge,
                _ => ValueType::Value,
            };
            let value = match ty {
                ValueType::Deletion => Vec::new(),
                _ => value,
            };
            entries.push((internal_key(&key, seq, ty), value.clone()));
            match ty {
                ValueType::Deletion => _ = self.state.remove(&key),
                ValueType::Merge => {
                    let joined = match self.state.get(&key) {
                        Some(old) => [old, &b","[..], &value].concat(),
                        None => value,
                    };
                    self.state.insert(key, joined);
                }
                _ => _ = self.state.insert(key, value),
            }
        }
        self.write_level0(entries, tombstones);
    }

    fn write_level0(&mut self, entries: Vec<(Vec<u8>, Vec<u8>)>, tombstones: Vec<RangeTombstone>) {
        let files = self.write(entries, tombstones, usize::MAX);
        assert!(files.len() <= 1);
        self.apply(VersionEdit {
            log_number: Some(1),
            new_files: files.into_iter().map(|f| (0, f)).collect(),
            ..VersionEdit::default()
        });
    }

    fn write(
        &self,
        entries: Vec<(Vec<u8>, Vec<u8>)>,
        tombstones: Vec<RangeTombstone>,
        max_index_size: usize,
    ) -> Vec<FileMetaData> {
        let spec = OutputSpec {
            level: 0,
            flush: false,
            priority: IoPriority::High,
            path_id: 0,
            bottommost: false,
            compression: Compression::default(),
            max_file_size: u64::MAX,
            max_index_size,
            epoch_number: self.versions.new_epoch_number(0),
            oldest_ancester_time: 0,
            inline_below: 0,
            grandparents: &[],
            history_low: &[],
            history_upto: &[],
        };
        let input = Input {
            source: Box::new(VecIterator::new(self.comparator.clone(), entries)),
            tombstones,
            key_not_below: &|_| false,
            blobs: None,
            counts_garbage: false,
            filter: None,
            part: Part::default(),
            abandoned: &AtomicBool::new(false),
        };
        let written = self.with_context(|ctx| write_tables(ctx, &spec, input));
        written.unwrap().files
    }

    fn run(&mut self, compaction: Compaction) {
        let done = self
            .with_context(|ctx| job::run(&compaction, ctx, &self.tables, None))
            .unwrap();
        self.apply(done.edit);
        drop(compaction);
        self.purge();
    }

    /// Runs all automatic compactions that are due, and returns their number.
    fn compact(&mut self) -> usize {
        for n in 0.. {
            let mut cursor = std::mem::take(&mut self.cursor);
            let picked = pick_automatic(
                &self.current,
                &self.options,
                &self.comparator,
                &mut cursor,
                &Moment::default(),
            );
            self.cursor = cursor;
            match picked {
                Some(compaction) => self.run(compaction),
                None => return n,
            }
            assert!(n < 1000, "compactions do not come to an end");
        }
        unreachable!()
    }

    /// Compacts everything down to the last level.
    fn compact_all(&mut self) {
        let last = self.options.num_levels - 1;
        for level in 0..=last {
            let output = match level {
                0 => {
                    let (user, now) = (&self.comparator.user, &Moment::default());
                    level_state(&self.current, &self.options, user, now).base_level
                }
                _ => (level + 1).min(last),
            };
            let picked = pick_manual(
                &self.current,
                &self.options,
                &self.comparator,
                level,
                output,
                KeyRange::closed(None, None),
                None,
            );
            if let Some(compaction) = picked {
                self.run(compaction.unwrap());
            }
        }
    }

    fn compact_level(&mut self, level: usize, output: usize) {
        let picked = pick_manual(
            &self.current,
            &self.options,
            &self.comparator,
            level,
            output,
            KeyRange::closed(None, None),
            None,
        );
        self.run(picked.unwrap().unwrap());
    }

    fn get(&self, user_key: &[u8], at: u64) -> Result<Option<Vec<u8>>> {
        let mut ctx = GetContext::new(user_key, Some(&Append));
        let options = TableReadOptions::default();
        let (tables, order) = (&self.tables, &self.comparator);
        Lookup::new(&self.current, tables, order, user_key, at, options).run(&mut ctx)?;
        Ok(ctx.finish()?.map(|v| v.to_vec()))
    }

    fn check(&self, what: &str) {
        let now = (&self.last, &self.state);
        for (at, expected) in self.snapshots.iter().chain([now]) {
            for n in 0..KEYS + 20 {
                let key = key(n);
                let found = self.get(&key, *at).unwrap();
                assert_eq!(
                    found.as_ref(),
                    expected.get(&key),
                    "{what}: key {n} at {at}"
                );
            }
        }
        let mut live: Vec<u64> = (self.current.levels.iter().flatten())
            .map(|f| f.meta.number)
            .collect();
        live.sort_unstable();
        let mut there: Vec<u64> = (self.fs.list(&self.dir).unwrap().iter())
            .filter_map(|name| match filename::parse(name) {
                Some(filename::FileType::Table(n)) => Some(n),
                _ => None,
            })
            .collect();
        there.sort_unstable();
        assert_eq!(there, live, "{what}");
    }
}

fn small_tables(dynamic: bool) -> CfOptions {
    CfOptions {
        merge_operator: Some(Arc::new(Append)),
        level_compaction_dynamic_level_bytes: dynamic,
        target_file_size_base: 2000,
        max_bytes_for_level_base: 6000,
        max_bytes_for_level_multiplier: 3.0,
        compression: CompressionType::None,
        ..CfOptions::default()
    }
}

#[test]
fn compactions_change_nothing_that_can_be_read() {
    let dir = Path::new("/db");
    for seed in 0..16 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut db = Small::create(Arc::new(MemFs::new()), dir, small_tables(seed % 2 == 0));
        let mut compactions = 0;
        for round in 0..40 {
            let what = format!("seed {seed}, round {round}");
            let count = rng.random_range(1..60);
            db.flush(rng, count);
            if rng.random_ratio(1, 4) {
                db.snapshots.insert(db.last, db.state.clone());
            }
            if db.snapshots.len() > 3 || rng.random_ratio(1, 8) {
                db.snapshots.pop_first();
            }
            compactions += db.compact();
            db.check(&what);
            if rng.random_ratio(1, 10) {
                db.compact_all();
                db.check(&what);
            }
            if rng.random_ratio(1, 8) {
                db = db.reopen();
                db.check(&what);
            }
        }
        assert!(compactions > 5, "seed {seed}: {compactions}");
        db.snapshots.clear();
        db.compact_all();
        db.check("at the end");
        let levels = &db.current.levels;
        assert!(levels[0].is_empty() && !levels[6].is_empty(), "seed {seed}");
    }
}

#[test]
fn a_file_holds_whole_user_keys_and_its_share_of_tombstones() {
    let mut db = Small::create(Arc::new(MemFs::new()), Path::new("/db"), small_tables(true));
    let mut entries = Vec::new();
    for n in 0..100 {
        for seq in [1000 - 10 * u64::from(n), 5000] {
            entries.push((internal_key(&key(n), seq, ValueType::Value), vec![7; 50]));
            db.snapshots.insert(seq, State::new());
        }
    }
    let tombstone = |a, b, seq| RangeTombstone {
        start: key(a),
        end: key(b),
        seq,
    };
    let tombstones = vec![
        tombstone(0, 200, 6000),
        tombstone(20, 30, 7000),
        tombstone(300, 400, 8000),
    ];
    db.last = 8000;
    db.snapshots.insert(6500, State::new());
    db.snapshots.insert(5500, State::new());
    db.write_level0(entries, tombstones);
    db.compact_all();
    let files = &db.current.levels[6];
    assert!(files.len() > 4, "{}", files.len());
    let mut points = 0;
    for pair in files.windows(2) {
        assert!(
            db.comparator
                .compare(&pair[0].meta.largest, &pair[1].meta.smallest)
                .is_lt()
        );
        // All tables end at a cut of the long tombstone, exclusively.
        let next = pair[1].range().start.unwrap();
        assert_eq!(pair[0].range().end, std::ops::Bound::Excluded(next));
    }
    for file in files {
        let open = db
            .tables
            .open(file, &db.comparator, &Default::default())
            .unwrap();
        let p = open.table.properties();
        points += p.num_entries - p.num_range_deletions;
        assert!(p.num_range_deletions > 0);
        assert_eq!(
            (file.meta.largest_seqno >= 5000, file.meta.epoch_number),
            (true, 1)
        );
        assert!(file.meta.tail_size > 0 && file.meta.tail_size < file.meta.size);
    }
    assert_eq!(points, 200);
    let last = files.last().unwrap();
    assert_eq!(last.range().end, std::ops::Bound::Excluded(&key(400)[..]));
    for n in [0, 25, 99, 150] {
        assert_eq!(db.get(&key(n), 8000).unwrap(), None);
        assert_eq!(db.get(&key(n), 5500).unwrap().is_some(), n < 100);
    }
}

/// An index is one block, and blocks have a largest size.
#[test]
fn a_table_ends_when_its_index_is_large_enough() {
    const MAX_INDEX: usize = 1000;
    let mut options = small_tables(false);
    options.table.block_size = 256;
    let db = Small::create(Arc::new(MemFs::new()), Path::new("/db"), options);
    let write = |max_index_size| {
        let entries = (0..2000).map(|n| {
            let key = internal_key(&key(n / 2), 5000 - u64::from(n), ValueType::Merge);
            (key, vec![7; 50])
        });
        db.write(entries.collect(), Vec::new(), max_index_size)
    };
    let [whole] = &write(usize::MAX)[..] else {
        panic!("more than one table");
    };
    let parts = write(MAX_INDEX);
    assert!(parts.len() > 3, "{} tables", parts.len());
    assert_eq!(parts[0].smallest, whole.smallest);
    assert_eq!(parts[parts.len() - 1].largest, whole.largest);
    for pair in parts.windows(2) {
        let (before, after) = (&pair[0].largest, &pair[1].smallest);
        assert!(user_key(before) < user_key(after), "a key in two tables");
    }
    for part in &parts {
        let path = filename::table(&db.dir, part.number);
        let file = db.fs.open_random(&path).unwrap();
        let index = TableProperties::read(file, part.size).unwrap().index_size;
        assert!(index <= 2 * MAX_INDEX as u64, "an index of {index} bytes");
    }
}

#[test]
fn failed_jobs_leave_no_files() {
    let rng = &mut StdRng::seed_from_u64(7);
    let mut db = Small::create(
        Arc::new(MemFs::new()),
        Path::new("/db"),
        small_tables(false),
    );
    for _ in 0..4 {
        db.flush(rng, 50);
    }
    let pick = |db: &Small| {
        let mut cursor = CompactCursor::default();
        pick_automatic(
            &db.current,
            &db.options,
            &db.comparator,
            &mut cursor,
            &Moment::default(),
        )
        .unwrap()
    };
    db.cancel = AtomicBool::new(true);
    let e = db
        .with_context(|ctx| job::run(&pick(&db), ctx, &db.tables, None))
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ShutdownInProgress);
    db.check("after a cancelled job");
    db.cancel = AtomicBool::new(false);
    // A damaged input: its blocks do not match their checksums.
    let victim = db.current.levels[0][1].meta.number;
    let path = filename::table(&db.dir, victim);
    let mut bytes = whitewater_storage::fs::read_file(&*db.fs, &path, 1 << 20).unwrap();
    bytes[10] ^= 1;
    let mut file = db.fs.create(&path).unwrap();
    file.append(&bytes).unwrap();
    drop(file);
    db.tables = Arc::new(TableCache::new(db.fs.clone(), 10));
    let e = db
        .with_context(|ctx| job::run(&pick(&db), ctx, &db.tables, None))
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    let tables = db.fs.list(&db.dir).unwrap();
    assert_eq!(tables.iter().filter(|n| n.ends_with(".sst")).count(), 4);
    assert!(pick(&db).inputs[0].1.len() == 4);
}

#[test]
fn lost_entries_are_noticed() {
    let rng = &mut StdRng::seed_from_u64(1);
    let mut db = Small::create(
        Arc::new(MemFs::new()),
        Path::new("/db"),
        small_tables(false),
    );
    for _ in 0..4 {
        db.flush(rng, 50);
    }
    let mut cursor = CompactCursor::default();
    let picked = pick_automatic(
        &db.current,
        &db.options,
        &db.comparator,
        &mut cursor,
        &Moment::default(),
    )
    .unwrap();
    let source = job::input_version(&picked);
    let mut points = 0;
    for file in &db.current.levels[0] {
        let open = db
            .tables
            .open(file, &db.comparator, &Default::default())
            .unwrap();
        let p = open.table.properties();
        points += p.num_entries - p.num_range_deletions;
    }
    let check = |read| db.with_context(|ctx| job::check_count(&source, ctx, &db.tables, read));
    assert_eq!(check(points), Ok(()));
    for wrong in [points - 1, points + 1] {
        let e = check(wrong).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(
            e.to_string().contains(&format!("{wrong} entries read")),
            "{e}"
        );
    }
}

#[test]
fn tables_end_where_they_overlap_too_much_of_the_next_level() {
    let options = CfOptions {
        target_file_size_base: 4 << 10,
        max_compaction_bytes: 12 << 10,
        compression: CompressionType::None,
        ..CfOptions::default()
    };
    let mut db = Small::create(Arc::new(MemFs::new()), Path::new("/db"), options);
    let write = |db: &mut Small, keys: &mut dyn Iterator<Item = u32>| {
        let entry = |n| {
            (
                internal_key(&key(n), db.last + 1, ValueType::Value),
                vec![7; 100],
            )
        };
        let entries = keys.map(entry).collect();
        db.last += 1;
        db.write_level0(entries, Vec::new());
    };
    // Two tables are needed: a single one would only be moved.
    write(&mut db, &mut (0..1000));
    write(&mut db, &mut (0..1000));
    db.compact_level(0, 2);
    let below = db.current.levels[2].len();
    assert!(below > 20, "{below} tables");
    // A few keys over the whole range make one small table.
    write(&mut db, &mut (0..1000).step_by(20));
    write(&mut db, &mut (0..1000).step_by(20));
    db.compact_level(0, 1);
    let tables = &db.current.levels[1];
    assert!(tables.len() >= below / 5, "{} tables", tables.len());
    for table in tables {
        let range = table.range();
        let bytes = db.current.overlapping_bytes(2, &db.comparator.user, range);
        // The files that it has left behind, its own size, and the files in which it begins and
        // ends.
        assert!(bytes < (12 << 10) + 2 * (6 << 10), "{bytes}");
    }
}

#[test]
fn sequential_tables_are_moved_not_rewritten() {
    let mut db = Small::create(Arc::new(MemFs::new()), Path::new("/db"), small_tables(true));
    for n in 0..8 {
        let entries = (0..10).map(|i| {
            db.last += 1;
            (
                internal_key(&key(n * 10 + i), db.last, ValueType::Value),
                vec![1; 20],
            )
        });
        let entries = entries.collect();
        db.write_level0(entries, Vec::new());
    }
    let before: Vec<u64> = db.current.levels[0]
        .iter()
        .rev()
        .map(|f| f.meta.number)
        .collect();
    assert!(db.compact() > 0);
    let after: Vec<u64> = db.current.levels[6].iter().map(|f| f.meta.number).collect();
    assert_eq!(after, before);
}

/// Runs one of RocksDB's tools; `None` when it is not installed.
fn tool(name: &str, args: &[String]) -> Option<String> {
    let output = match Command::new(name).args(args).output() {
        Ok(output) => output,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
        Err(e) => panic!("{name}: {e}"),
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{name} {args:?}: {text}");
    Some(text)
}

#[test]
fn rocksdb_accepts_what_was_written() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("db");
    let rng = &mut StdRng::seed_from_u64(3);
    let mut db = Small::create(Arc::new(OsFs), &dir, small_tables(true));
    for round in 0..30 {
        db.flush(rng, 60);
        if round % 9 == 0 {
            db.snapshots.insert(db.last, db.state.clone());
        }
        db.compact();
    }
    db.check("on disk");
    let manifest = filename::manifest(&dir, db.versions.manifest_number());
    let arg = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let dump = tool("ldb", &["manifest_dump".into(), arg("path", &manifest)]);
    let Some(dump) = dump else { return };
    for number in db.current.levels.iter().flatten().map(|f| f.meta.number) {
        assert!(dump.contains(&format!(" {number}:")), "{number}: {dump}");
    }
    let options = "--try_load_options=false".to_owned();
    let checked = tool(
        "ldb",
        &[arg("db", &dir), options.clone(), "checkconsistency".into()],
    );
    assert!(checked.unwrap().contains("OK"));
    for file in db.current.levels.iter().flatten() {
        let path = filename::table(&dir, file.meta.number);
        tool("sst_dump", &[arg("file", &path), "--command=verify".into()]);
    }
}
