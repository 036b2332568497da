//! One run of a phase: a database on a file system that may fail, what it was asked, and what it
//! answered.

use super::history::{Change, Entry, History, State, Told, difference};
use crate::harness::walk::collect;
use crate::harness::{DIR, Db, open_named};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::FaultFs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BlockBasedOptions, DBCompressionType, Error, ErrorKind, Options, WriteBatch, WriteOptions,
};

/// Options with small limits, under which nothing happens at a time of the database's own choice.
pub fn options() -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.stay_stopped();
    o.create_missing_column_families(true);
    o.set_write_buffer_size(64 << 10);
    o.set_arena_block_size(4 << 10);
    o.set_target_file_size_base(8 << 10);
    o.set_max_bytes_for_level_base(16 << 10);
    o.set_max_bytes_for_level_multiplier(2.0);
    o.set_compression_type(DBCompressionType::None);
    o.set_disable_auto_compactions(true);
    o.set_max_background_jobs(2);
    o.set_bgerror_resume_retry_interval(64);
    o.set_stats_dump_period_sec(0);
    o.set_stats_persist_period_sec(0);
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    o.set_block_based_table_factory(&table);
    o
}

/// See the module.
pub struct Run {
    pub memory: MemFs,
    pub faults: FaultFs,
    pub options: Options,
    pub db: Option<Db>,
    pub history: History,
    /// Errors of calls, with what was called.
    pub errors: Vec<(String, Error)>,
    /// What must not happen, whatever fails.
    pub wrong: Vec<String>,
}

impl Run {
    /// For the database on `memory`, which holds `state` and is not open.
    pub fn new(memory: MemFs, state: State, with: fn(&mut Options)) -> Self {
        let faults = FaultFs::new(Arc::new(memory.clone()));
        let mut options = options();
        with(&mut options);
        options.set_fs(Arc::new(faults.clone()));
        Run {
            memory,
            faults,
            options,
            db: None,
            history: History::since(state),
            errors: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Records an error of `what`. Returns the result otherwise.
    pub fn tell<T>(&mut self, what: &str, result: Result<T, Error>) -> Option<T> {
        result
            .map_err(|e| self.errors.push((what.to_owned(), e)))
            .ok()
    }

    /// The open database.
    ///
    /// # Panics
    /// When it is not open.
    pub fn db(&self) -> &Db {
        self.db.as_ref().expect("the database is open")
    }

    /// Opens it with the column families that it should have.
    pub fn open(&mut self) {
        let names: Vec<String> = self.history.visible().into_keys().collect();
        let opened = open_named(&self.options, Path::new(DIR), &names);
        self.db = self.tell("open", opened);
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.db = None;
    }

    /// Writes `entries` as one batch.
    pub fn write(&mut self, entries: Vec<Entry>, how: &WriteOptions, logged: bool) -> bool {
        let mut batch = WriteBatch::default();
        for (family, key, value) in &entries {
            let cf = self.db().cf_handle(family).expect("a column family");
            match value {
                Some(value) => batch.put_cf(&cf, key, value),
                None => batch.delete_cf(&cf, key),
            }
        }
        let done = self.db().write_opt(batch, how);
        let change = Change::Write(entries);
        match &done {
            Ok(()) if logged => self.history.note(change, Told::Done),
            Ok(()) => self.history.note(change, Told::Unlogged),
            // Later writes are refused: they are nowhere.
            Err(_) if self.history.has_failed() => {}
            Err(_) => self.history.note(change, Told::Failed),
        }
        self.tell("write", done).is_some()
    }

    /// Puts one value of `len` bytes.
    pub fn put(&mut self, family: &str, key: &str, len: usize) {
        let entry = entry(family, key, len);
        self.write(vec![entry], &WriteOptions::default(), true);
    }

    /// The same, durably.
    pub fn put_synced(&mut self, family: &str, key: &str, len: usize) {
        let mut how = WriteOptions::default();
        how.set_sync(true);
        if self.write(vec![entry(family, key, len)], &how, true) {
            self.history.all_durable();
        }
    }

    /// Waits until background jobs have come to an end.
    pub fn settle(&self) {
        if let Some(db) = &self.db {
            // A write will find out why it could not.
            let _ = db.wait_for_compact(&Default::default());
        }
    }

    /// Flushes all column families.
    pub fn flush(&mut self) {
        let db = self.db();
        let names: Vec<String> = self.history.visible().into_keys().collect();
        let families: Vec<_> = names.iter().filter_map(|n| db.cf_handle(n)).collect();
        let all: Vec<_> = families.iter().collect();
        let done = db.flush_cfs_opt(&all, &Default::default());
        drop(families);
        if self.tell("flush", done).is_some() {
            self.history.all_durable();
        }
    }

    /// The number of background failures.
    pub fn background_errors(&self) -> u64 {
        let count = self.db().property_int_value("rocksdb.background-errors");
        count.ok().flatten().unwrap_or(0)
    }

    /// Checks that the open database shows exactly what was acknowledged.
    pub fn check_visible(&self) -> Result<(), String> {
        let wanted = self.history.visible();
        let found = state_of(self.db(), wanted.keys())?;
        match found == wanted {
            true => Ok(()),
            false => Err(difference(&found, &wanted)),
        }
    }

    /// Checks that all errors of calls are I/O errors that name a file of a
    /// fault.
    pub fn check_errors(&self) -> Result<(), String> {
        self.errors
            .iter()
            .try_for_each(|(what, e)| self.check_error(what, e))
    }

    /// The same for one error.
    pub fn check_error(&self, what: &str, e: &Error) -> Result<(), String> {
        let text = e.to_string();
        let faults = self.faults.injected();
        let named = faults
            .iter()
            .any(|fault| text.contains(&*fault.path.to_string_lossy()));
        match named && e.kind() == ErrorKind::IOError {
            true => Ok(()),
            false => Err(format!("{what} fails with {:?}: {e}", e.kind())),
        }
    }
}

/// A put of `len` bytes that depend on key and length.
pub fn entry(family: &str, key: &str, len: usize) -> Entry {
    let text = format!("{family}.{key}.{len} ");
    let value = text.bytes().cycle().take(len).collect();
    (family.to_owned(), key.as_bytes().to_vec(), Some(value))
}

/// The content of `db` in the column families `names`.
pub fn state_of<'a>(db: &Db, names: impl Iterator<Item = &'a String>) -> Result<State, String> {
    let mut state = State::new();
    for name in names {
        let Some(cf) = db.cf_handle(name) else {
            continue;
        };
        let content = collect(db.raw_iterator_cf(&cf)).map_err(|e| format!("scan: {e}"))?;
        for (key, value) in content.iter().step_by(3) {
            let found = db.get_cf(&cf, key).map_err(|e| format!("get: {e}"))?;
            if found.as_ref() != Some(value) {
                return Err(format!("get and scan differ in {name}"));
            }
        }
        state.insert(name.clone(), content);
    }
    Ok(state)
}

/// Opens the database on `memory` with all of its column families. Returns it with its content.
pub fn open_anew(memory: &MemFs, with: fn(&mut Options)) -> Result<(Db, State), String> {
    let mut options = options();
    with(&mut options);
    options.set_fs(Arc::new(memory.clone()));
    // There is nothing to list. Opening says why, or makes a database.
    let names = Db::list_cf(&options, DIR).unwrap_or(vec!["default".to_owned()]);
    let opened = open_named(&options, Path::new(DIR), &names);
    let db = opened.map_err(|e| format!("does not open: {e}"))?;
    let state = state_of(&db, names.iter())?;
    Ok((db, state))
}

/// Repairs the database on `memory`.
pub fn repair(memory: &MemFs) -> Result<(), String> {
    let mut options = options();
    options.set_fs(Arc::new(memory.clone()));
    Db::repair(&options, DIR).map_err(|e| format!("the next repair: {e}"))
}

/// Continues to write, durably, and closes.
pub fn write_on(db: Db) -> Result<(), String> {
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    let done = db.put_opt(b"written", b"on", &synced);
    done.and_then(|()| db.flush())
        .and_then(|()| db.get(b"written"))
        .map_err(|e| format!("writing on: {e}"))
        .and_then(|found| match found.as_deref() {
            Some(b"on") => Ok(()),
            other => Err(format!("writing on: {other:?} is read")),
        })
}
