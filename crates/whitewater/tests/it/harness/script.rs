//! A run of writes, flushes, compactions, column family changes and reopenings whose every batch is
//! journalled, and the check of what a crash or a failure left of it.
//!
//! There is one writer, so commit order is the order of batches. Batch `n` stores `n` under "seq"
//! in the default column family. The check reads the state's place in the order from that, and then
//! compares all of the state.

use super::walk::{Content, collect};
use super::{DIR, Db, open_all, show, tiny};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::Fs;
use whitewater::{
    CompactOptions, DBCompressionType, DBPath, Error, ErrorKind, FlushOptions, Options, WriteBatch,
    WriteOptions,
};

/// One entry of a batch.
#[derive(Debug, Clone)]
enum Entry {
    Put(String, Vec<u8>, Vec<u8>),
    Delete(String, Vec<u8>),
    Append(String, Vec<u8>, Vec<u8>),
}

/// The stage of a column family's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Creating,
    Live,
    Dropping,
    Dropped,
}

/// What was asked of the database, and what it has answered.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    batches: Vec<Vec<Entry>>,
    /// The number of acknowledged batches: they survive the death of the process.
    pub acked: usize,
    /// The number of batches that survive a power cut.
    pub durable: usize,
    families: BTreeMap<String, Life>,
    /// A batch failed, so later ones must fail too.
    pub failed: bool,
    /// Tables are in several directories.
    paths: bool,
}

/// A journal that a sync hook reads while the script goes on.
pub type SharedJournal = Arc<Mutex<Journal>>;

impl Journal {
    /// The number of batches asked for.
    pub fn issued(&self) -> usize {
        self.batches.len()
    }

    /// The content of `family` after the first `n` batches.
    fn content(&self, family: &str, n: usize) -> Content {
        let mut content = Content::new();
        for entry in self.batches[..n].iter().flatten() {
            match entry {
                Entry::Put(f, k, v) if f == family => _ = content.insert(k.clone(), v.clone()),
                Entry::Delete(f, k) if f == family => _ = content.remove(k),
                Entry::Append(f, k, v) if f == family => match content.get_mut(k) {
                    None => _ = content.insert(k.clone(), v.clone()),
                    Some(old) => {
                        old.push(b',');
                        old.extend_from_slice(v);
                    }
                },
                _ => {}
            }
        }
        content
    }

    fn life(&self, family: &str) -> Life {
        match family {
            "default" => Life::Live,
            _ => self.families.get(family).copied().unwrap_or(Life::Dropped),
        }
    }

    /// Forgets batches after the first `n`, which a crash lost, and what is uncertain about column
    /// families. `names` are those that exist now.
    pub fn continue_from(&mut self, n: usize, names: &[String]) {
        self.batches.truncate(n);
        (self.acked, self.durable, self.failed) = (n, n, false);
        for (name, life) in &mut self.families {
            *life = match names.contains(name) {
                true => Life::Live,
                false => Life::Dropped,
            };
        }
    }
}

/// Checks that `db` holds a prefix of the batches of `after`, of at least `least`, and the column
/// families that it must. `before` is the journal from before the crash, `after` the one from after
/// it. Returns the prefix's length.
pub fn check_prefix(
    db: &Db,
    names: &[String],
    before: &Journal,
    after: &Journal,
    least: usize,
) -> Result<usize, String> {
    let text = db.get(b"seq").map_err(|e| format!("get seq: {e}"))?;
    let n = match &text {
        None => 0,
        Some(text) => std::str::from_utf8(text)
            .ok()
            .and_then(|t| t.parse().ok())
            .ok_or_else(|| format!("seq is {}", show(text)))?,
    };
    if n < least || n > after.issued() {
        return Err(format!(
            "state of batch {n}, where {least} to {} may be",
            after.issued()
        ));
    }
    for name in before.families.keys() {
        let must = before.life(name) == Life::Live && after.life(name) == Life::Live;
        if must && !names.contains(name) {
            return Err(format!("column family {name} is gone"));
        }
    }
    for name in names {
        if before.life(name) == Life::Dropped && after.life(name) == Life::Dropped {
            return Err(format!("column family {name} should not be there"));
        }
        let cf = db.cf_handle(name).expect("opened with this family");
        let found = collect(db.raw_iterator_cf(&cf)).map_err(|e| format!("scan of {name}: {e}"))?;
        compare(name, n, &found, &after.content(name, n))?;
    }
    Ok(n)
}

fn compare(name: &str, n: usize, found: &Content, wanted: &Content) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    let keys = found.keys().chain(wanted.keys());
    let differing = keys.filter(|k| found.get(*k) != wanted.get(*k));
    let text = |v: Option<&Vec<u8>>| v.map_or("None".to_owned(), |v| show(v));
    let list: Vec<String> = differing
        .take(4)
        .map(|k| {
            format!(
                "{}: is {}, should be {}",
                show(k),
                text(found.get(k)),
                text(wanted.get(k))
            )
        })
        .collect();
    Err(format!(
        "{name} is not as after batch {n}: {}",
        list.join("; ")
    ))
}

/// Puts tables into three directories; one of them is the database's.
fn set_paths(options: &mut Options) {
    let path = |path, size| DBPath::new(path, size).expect("a path");
    let paths = [
        ("/data/flash", 60 << 10),
        (DIR, 150 << 10),
        ("/data/disk", 0),
    ];
    options.set_db_paths(&paths.map(|(p, size)| path(p, size)));
}

/// Runs scripts on one file system and keeps the journal.
pub struct Driver {
    pub journal: SharedJournal,
    /// Errors, with the calls that returned them.
    pub errors: Vec<(String, Error)>,
    options: Options,
    rng: StdRng,
    db: Option<Db>,
    next_family: usize,
}

impl Driver {
    /// A driver of the database on `fs`, which the first step opens.
    pub fn new(fs: Arc<dyn Fs>, journal: SharedJournal, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut options = tiny();
        options.set_fs(fs);
        options.set_max_manifest_file_size([400, 1_500][rng.random_range(0..2)]);
        options.set_recycle_log_file_num([0, 2][rng.random_range(0..2)]);
        options.set_max_background_jobs(2);
        options.set_wal_ttl_seconds([0, 0, 1_000_000][rng.random_range(0..3)]);
        if rng.random_bool(0.4) {
            options.set_wal_compression_type(DBCompressionType::Zstd);
        }
        options.set_track_and_verify_wals_in_manifest(rng.random_bool(0.5));
        if seed % 4 > 1 {
            journal.lock().paths = true;
            set_paths(&mut options);
        }
        if seed.is_multiple_of(2) {
            options.set_enable_blob_files(true);
            options.set_min_blob_size(150);
            options.set_blob_file_size(2_000);
            options.set_enable_blob_gc(true);
            options.set_blob_gc_age_cutoff([0.3, 1.0][seed as usize / 2 % 2]);
            options.set_blob_gc_force_threshold(0.3);
        }
        Driver {
            journal,
            errors: Vec::new(),
            options,
            rng,
            db: None,
            next_family: 0,
        }
    }

    fn note<T>(&mut self, what: &str, result: Result<T, Error>) -> Option<T> {
        result
            .map_err(|e| self.errors.push((what.to_owned(), e)))
            .ok()
    }

    fn live(&self) -> Vec<String> {
        let journal = self.journal.lock();
        let all = journal.families.iter();
        let live = all.filter(|(_, life)| **life == Life::Live);
        live.map(|(name, _)| name.clone()).collect()
    }

    /// Opens the database if it is not open; returns whether it is now.
    pub fn open(&mut self) -> bool {
        if self.db.is_none() {
            let opened = open_all(&self.options, Path::new(DIR));
            self.db = self.note("open", opened);
            if let Some(db) = &self.db {
                let mut journal = self.journal.lock();
                resolve(db, &self.options, &mut journal);
            }
        }
        self.db.is_some()
    }

    /// `length` steps.
    pub fn run(&mut self, length: usize) {
        for _ in 0..length {
            if !self.open() {
                continue;
            }
            match self.rng.random_range(0..100) {
                0..=69 => self.write(),
                70..=75 => self.flush_one(),
                76..=78 => self.flush_all(),
                79..=82 => self.compact(),
                83..=86 => self.create(),
                87..=88 => self.drop_family(),
                89..=91 => self.db = None,
                _ => self.sync_log(),
            }
        }
    }

    /// Writes one batch over several column families.
    pub fn write(&mut self) {
        let rng = &mut self.rng;
        let sync = rng.random_bool(0.15);
        let big = rng.random_bool(0.1);
        let mut families = vec!["default".to_owned()];
        let (mut entries, mut batch) = (Vec::new(), WriteBatch::default());
        families.extend(self.live());
        let rng = &mut self.rng;
        let n = self.journal.lock().issued() + 1;
        entries.push(Entry::Put(
            "default".into(),
            b"seq".into(),
            n.to_string().into(),
        ));
        for _ in 0..rng.random_range(1..6) {
            let family = families[rng.random_range(0..families.len())].clone();
            let key = format!("key{:02}", rng.random_range(0..40)).into_bytes();
            let len = if big { 7_000 } else { rng.random_range(0..300) };
            let value: Vec<u8> = n.to_string().bytes().cycle().take(len).collect();
            entries.push(match rng.random_range(0..10) {
                0 | 1 => Entry::Delete(family, key),
                2 | 3 => Entry::Append(family, b"history".into(), n.to_string().into()),
                _ => Entry::Put(family, key, value),
            });
        }
        let Some(db) = &self.db else { return };
        for entry in &entries {
            let cf = |name: &str| db.cf_handle(name).expect("a live column family");
            match entry {
                Entry::Put(f, k, v) => batch.put_cf(&cf(f), k, v),
                Entry::Delete(f, k) => batch.delete_cf(&cf(f), k),
                Entry::Append(f, k, v) => batch.merge_cf(&cf(f), k, v),
            }
        }
        let refused = self.journal.lock().failed;
        if !refused {
            self.journal.lock().batches.push(entries);
        }
        let mut options = WriteOptions::default();
        options.set_sync(sync);
        let done = db.write_opt(batch, &options);
        let mut journal = self.journal.lock();
        match done {
            Ok(()) => {
                assert!(!refused, "batch {n} is accepted after a failed write");
                journal.acked = n;
                if sync {
                    journal.durable = n;
                }
            }
            Err(_) => journal.failed = true,
        }
        drop(journal);
        self.note(&format!("write {n} (sync: {sync})"), done);
    }

    fn flush_one(&mut self) {
        let mut families = self.live();
        families.push("default".into());
        let name = families[self.rng.random_range(0..families.len())].clone();
        let Some(db) = &self.db else { return };
        let cf = db.cf_handle(&name).expect("a live column family");
        let done = db.flush_cf(&cf);
        drop(cf);
        self.note("flush_cf", done);
    }

    fn flush_all(&mut self) {
        let mut families = self.live();
        families.push("default".into());
        let Some(db) = &self.db else { return };
        let cfs: Vec<_> = families.iter().filter_map(|n| db.cf_handle(n)).collect();
        let refs: Vec<_> = cfs.iter().collect();
        let done = db.flush_cfs_opt(&refs, &FlushOptions::default());
        drop(cfs);
        let mut journal = self.journal.lock();
        if done.is_ok() && !journal.failed {
            journal.durable = journal.acked;
        }
        drop(journal);
        self.note("flush_cfs", done);
    }

    fn compact(&mut self) {
        let Some(db) = &self.db else { return };
        let cf = db.cf_handle("default").expect("always there");
        let mut how = CompactOptions::default();
        if self.journal.lock().paths {
            how.set_target_path_id(self.rng.random_range(0..3));
        }
        let done = db.try_compact_range_cf_opt(&cf, None::<&[u8]>, None::<&[u8]>, &how);
        drop(cf);
        self.note("compact_range", done);
    }

    fn sync_log(&mut self) {
        let Some(db) = &self.db else { return };
        let done = db.flush_wal(true);
        let mut journal = self.journal.lock();
        if done.is_ok() && !journal.failed {
            journal.durable = journal.acked;
        }
        drop(journal);
        self.note("flush_wal", done);
    }

    fn create(&mut self) {
        if self.live().len() > 3 {
            return;
        }
        // Names are never used twice, so content belongs to one column family.
        let name = format!("family{}", self.next_family);
        self.next_family += 1;
        self.journal
            .lock()
            .families
            .insert(name.clone(), Life::Creating);
        let Some(db) = &self.db else { return };
        let done = db.create_cf(&name, &tiny());
        if done.is_ok() {
            self.journal.lock().families.insert(name, Life::Live);
        }
        self.note("create_cf", done);
    }

    fn drop_family(&mut self) {
        let Some(name) = self.live().first().cloned() else {
            return;
        };
        self.journal
            .lock()
            .families
            .insert(name.clone(), Life::Dropping);
        let Some(db) = &self.db else { return };
        let done = db.drop_cf(&name);
        if done.is_ok() {
            self.journal.lock().families.insert(name, Life::Dropped);
        }
        self.note("drop_cf", done);
    }

    /// Checks that the open database shows exactly what was acknowledged.
    pub fn check_visible(&self) -> Result<(), String> {
        let Some(db) = &self.db else { return Ok(()) };
        let mut journal = self.journal.lock().clone();
        journal.batches.truncate(journal.acked);
        let mut names = self.live();
        names.push("default".into());
        let least = journal.acked;
        check_prefix(db, &names, &journal, &journal, least).map(|_| ())
    }

    /// Closes the database.
    pub fn close(&mut self) {
        self.db = None;
    }
}

/// After opening: the outcome of what failed before is certain, and what is there now is in tables,
/// so it stays.
fn resolve(db: &Db, options: &Options, journal: &mut Journal) {
    let (Ok(text), Ok(names)) = (db.get(b"seq"), Db::list_cf(options, DIR)) else {
        return;
    };
    let text = String::from_utf8(text.unwrap_or(b"0".to_vec())).expect("digits");
    let n: usize = text.parse().expect("a number");
    let range = journal.acked..=journal.issued();
    assert!(range.contains(&n), "opened at batch {n}, not in {range:?}");
    journal.continue_from(n, &names);
}

/// Opens the database on `fs` and checks its content. Returns it, its column families, and the
/// length of the prefix.
pub fn reopen_and_check(
    fs: Arc<dyn Fs>,
    before: &Journal,
    after: &Journal,
    least: usize,
) -> Result<(Db, Vec<String>, usize), String> {
    let mut options = tiny();
    options.set_fs(fs);
    if before.paths {
        set_paths(&mut options);
    }
    let names = match Db::list_cf(&options, DIR) {
        Ok(names) => names,
        // Before the database was made there is nothing to list.
        Err(e) if after.durable == 0 && e.kind() == ErrorKind::IOError => {
            vec!["default".to_owned()]
        }
        Err(e) => return Err(format!("list_cf: {e}")),
    };
    let db =
        super::open_named(&options, Path::new(DIR), &names).map_err(|e| format!("open: {e}"))?;
    let n = check_prefix(&db, &names, before, after, least)?;
    Ok((db, names, n))
}
